"""What was measured: tokens in a time, a rate of tokens, or FLOP/s; every number with a unit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.errors import UnitError, UsageError
from symacct.planning.entries import Entry, Rule, Stated, fraction, stated, worked_out
from symacct.units import Unit, of_dims

if TYPE_CHECKING:
    from collections.abc import Mapping

DEVICE_TIME = Unit("device*second")
COUNTED = ("token", "sequence")
OVER = ("device", "microstep", "step")
BATCH = tuple(
    of_dims([(what, 1), *((one, -1) for one in some)])
    for what in COUNTED
    for some in ((), ("device",), ("microstep",), ("device", "microstep"), ("step",), ("device", "step"))
)
"""Units that a batch may have: ``16 sequence/(device*microstep)``."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What somebody measured, each as text with a unit or as an exact number.

    Attributes:
        time: of the tokens, or of one step; or device-time, as in ``2.79M hour*device``.
        tokens: done in the time.
        batch: of one step, for all devices unless its unit says otherwise.
        accumulate: micro-steps of a step, where the batch is that of one.
        tokens_per_second: of all devices, or ``token/(s*device)``.
        achieved: FLOP/s that somebody worked out: ``420 TFLOP/(s*device)``.
    """

    time: Stated | None = None
    tokens: Stated | None = None
    batch: Stated | None = None
    accumulate: Stated | None = None
    tokens_per_second: Stated | None = None
    achieved: Stated | None = None

    def given(self) -> list[str]:
        """Return the names of what is given."""
        return [name for name in self.__slots__ if getattr(self, name) is not None]


ALONE = ("tokens_per_second", "achieved")


def check(measured: Measurement) -> None:
    """Check that one thing was measured.

    Raises:
        UsageError: too little is given, or too much.
    """
    given = measured.given()
    for name in ALONE:
        if name in given and len(given) > 1:
            rest = ", ".join(_flag(one) for one in given if one != name)
            what = f"{_flag(name)} is a rate already"
            raise UsageError(what, expected=f"{_flag(name)} alone", got=f"{_flag(name)} and {rest}")
    if not set(given) & {"time", *ALONE}:
        raise UsageError(
            "nothing was measured", expected="--time, --tokens-per-second or --achieved",
            got=", ".join(map(_flag, given)) or "none of them", fix="add --time 250ms --batch '512 sequence'",
        )  # fmt: skip
    if "tokens" in given and "batch" in given:
        raise UsageError("tokens and a batch say the same", expected="one of them", got="both")
    if "accumulate" in given and "batch" not in given:
        what = "--accumulate belongs to a batch of one micro-step"
        raise UsageError(what, expected="--batch '16 sequence/(device*microstep)'", got="no batch")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def measured_entries(measured: Measurement, devices: int) -> list[Entry]:
    """Return what was measured as numbers that rules use.

    Raises:
        UnitError: a unit is missing, is another, or leaves open what is meant.
    """
    found: list[Entry] = []
    if measured.time is not None:
        q = stated(measured.time, "a time", "", "250 ms", ["second", str(DEVICE_TIME)])
        each = q.unit == DEVICE_TIME
        about = "measured, all devices together" if each else "measured"
        symbol, name = ("V", "time.devices") if each else ("t", "time")
        found.append(
            Entry(name, symbol, "", fraction(q.expr), q.unit, about, to="device*hour" if each else "")
        )
    if measured.tokens is not None:
        q = stated(measured.tokens, "a number of tokens", "token", "15T")
        found.append(Entry("tokens", "D", "", fraction(q.expr), q.unit, "done in the time"))
    if measured.tokens_per_second is not None:
        example = "238.3k token/s"
        q = stated(
            measured.tokens_per_second, "a rate of tokens", "token/second", example, ["token/(device*second)"]
        )
        whole = q.unit == Unit("token/second")
        about = "measured, of all devices" if whole else "measured, of one device"
        found.append(Entry("throughput.tokens", "R" if whole else "r", "", fraction(q.expr), q.unit, about))
    if measured.achieved is not None:
        found.append(_achieved(measured.achieved, devices))
    if measured.batch is not None:
        found += _batch(measured)
    return found


def _achieved(given: Stated, devices: int) -> Entry:
    per_device = Unit("FLOP/(device*second)")
    q = stated(given, "a rate of work", "", "420 TFLOP/(s*device)", ["FLOP/second", str(per_device)])
    if q.unit != per_device and devices > 1:
        raise UnitError(
            f"{given} may be of one device or of all {devices:,}", expected=f"{given}/device",
            got=str(given)[:64],
            fix=f"write the rate of one device: '{_of_one(given)}', if it is one's",
        )  # fmt: skip
    return Entry(
        "achieved", "X", "", fraction(q.expr), per_device, "FLOP/s as stated, its numerator unchecked"
    )


def _of_one(given: Stated) -> str:
    """Return a rate as one of each device: ``140 TFLOP/(s*device)``.

    >>> _of_one("141.5 TFLOP/s"), _of_one("3e15 FLOP/second")
    ('141.5 TFLOP/(s*device)', '3e15 FLOP/(second*device)')
    """
    above, slash, below = str(given).strip().rpartition("/")
    return f"{above}/({below}*device)"[:64] if slash else f"{given}/device"[:64]


def _batch(measured: Measurement) -> list[Entry]:
    example = "512 sequence, or 16 sequence/(device*microstep)"
    q = stated(measured.batch or "", "a batch", "", example, [str(one) for one in BATCH])
    dims = {name: power for name, power in q.unit.dims if name != "step"}
    unit = of_dims(dims.items())
    found = [
        Entry("batch", "b", "", fraction(q.expr), unit, "of one step" if "microstep" not in dims else "")
    ]
    if "microstep" in dims and measured.accumulate is None:
        raise UnitError(
            "a batch of one micro-step is not that of a step", expected="the micro-steps of a step",
            got=str(measured.batch)[:64], fix="add --accumulate 4",
        )  # fmt: skip
    if measured.accumulate is not None:
        if "microstep" not in dims:
            raise UnitError(
                "the batch is that of a whole step, micro-steps are in it",
                expected="a batch such as 16 sequence/(device*microstep), or no --accumulate",
                got=f"{measured.batch}, and --accumulate {measured.accumulate}"[:80],
            )  # fmt: skip
        times = stated(measured.accumulate, "micro-steps", "microstep", "4", ["microstep/step"])
        found.append(
            Entry("accumulate", "k", "", fraction(times.expr), Unit("microstep"), "micro-steps of a step")
        )
    return found


def tokens_of_batch(known: Mapping[str, Entry]) -> list[Entry]:
    """Return the tokens of a step, from a batch whose unit says what it is of.

    Raises:
        UnitError: it is in sequences, and nothing says how long one is.
    """
    dims = dict(known["b"].unit.dims)
    factors = ["b", *(["S"] if "sequence" in dims else []), *(["n"] if "device" in dims else [])]
    factors += ["k"] if "microstep" in dims else []
    if "S" in factors and "S" not in known:
        raise UnitError(
            "a batch of sequences is no number of tokens", expected="its length, or a batch in tokens",
            got=f"{known['b'].value} sequence", fix="add --seq 2048, or the size of the graph to --at",
        )  # fmt: skip
    rule = Rule("tokens", "D", "*".join(factors), "token", "of one step")
    return list(worked_out([rule], known))


def length(tokens: int | Fraction) -> Entry:
    """Return the tokens of a sequence."""
    return Entry("sequence", "S", "", Fraction(tokens), Unit("token/sequence"), "tokens per sequence")
