"""MFU and HFU from a measurement: model FLOPs, and with what is run again, over what the peak allows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.account import Account, derive
from symacct.algebra.evaluate import names_of
from symacct.algebra.normal import normal
from symacct.displayed import Displayed
from symacct.errors import UsageError
from symacct.planning.causes import ImpossibleError, impossible
from symacct.planning.devices import Devices, devices_of
from symacct.planning.entries import Entry, Rule, Stated, fraction, share, worked_out
from symacct.planning.measurement import Measurement, check, length, measured_entries, tokens_of_batch
from symacct.planning.peaks import peak_of
from symacct.planning.subject import Subject, batch_size, of_account, of_parameters, work_of_step
from symacct.policy import Policy
from symacct.readers.files import load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from symacct.build import Definition
    from symacct.machines import Machine
    from symacct.nodes import Graph

__all__ = ["ImpossibleError", "Measurement", "Utilisation", "mfu"]

LEAST = Fraction(1, 100)
"""A utilisation below this is likely a slip."""
TERA = "TFLOP/(device*s)"
RULES = (
    Rule("throughput.tokens", "R", "r*n", "token/second", "of all devices"),
    Rule("throughput.tokens", "R", "D/t", "token/second", "of all devices"),
    Rule("achieved", "X", "c*R/n", "FLOP/(device*second)", "model FLOP/s of one", to=TERA),
    Rule("achieved", "X", "c*D/V", "FLOP/(device*second)", "model FLOP/s of one", to=TERA),
    Rule("achieved", "X", "F/(n*t)", "FLOP/(device*second)", "model FLOP/s of one", to=TERA),
    Rule("achieved", "X", "F/V", "FLOP/(device*second)", "model FLOP/s of one", to=TERA),
    Rule("mfu", "u", "X/P", "1", "model FLOPs over the peak"),
    Rule("achieved.hardware", "Y", "h*R/n", "FLOP/(device*second)", "with what is run again", to=TERA),
    Rule("achieved.hardware", "Y", "h*D/V", "FLOP/(device*second)", "with what is run again", to=TERA),
    Rule("achieved.hardware", "Y", "J/(n*t)", "FLOP/(device*second)", "with what is run again", to=TERA),
    Rule("achieved.hardware", "Y", "J/V", "FLOP/(device*second)", "with what is run again", to=TERA),
    Rule("hfu", "v", "Y/P", "1", "hardware FLOPs over the peak"),
)
ONLY_TIME = (
    "data loading", "communication", "host work", "evaluation and saving", "idle time",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Utilisation(Displayed):
    """What a measurement says of a machine's use.

    Attributes:
        subject: the model; None where a rate of work was stated.
        devices: what it ran on.
        entries: the numbers.
        counted: pairs of a word and what is in the numerator, or only costs time.
        notes: what a reader should know.
    """

    subject: Subject | None
    devices: Devices
    entries: tuple[Entry, ...]
    counted: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]

    @property
    def quantities(self) -> dict[str, Entry]:
        """The numbers, by name."""
        return {entry.name: entry for entry in self.entries}

    def __getitem__(self, name: str) -> Entry:
        """Return a number by name.

        Raises:
            UsageError: there is none of this name.
        """
        for entry in self.entries:
            if entry.name == name:
                return entry
        known = ", ".join(entry.name for entry in self.entries)
        raise UsageError(f"there is no {name} here", expected=f"one of: {known}", got=name)

    @property
    def mfu(self) -> Fraction:
        """Model FLOPs over what the peak allows."""
        return self["mfu"].value

    @property
    def hfu(self) -> Fraction | None:
        """Hardware FLOPs over what the peak allows; None where they are not known."""
        return next((entry.value for entry in self.entries if entry.name == "hfu"), None)


def mfu(
    model: Graph | Definition | Account | str | None = None,
    measured: Measurement | None = None,
    *,
    params: Stated | None = None,
    active: Stated | None = None,
    shape: Mapping[str, int] | None = None,
    seq: int | None = None,
    recompute: Stated | None = None,
    on: str | Machine | None = None,
    devices: int | None = None,
    peak: Stated | None = None,
    dtype: str | None = None,
    at_most: Stated = 1,
    sizes: Mapping[str, int] | None = None,
    policy: Policy | None = None,
    convention: str = "default",
    dirs: Sequence[str | Path] = (),
) -> Utilisation:
    """Return MFU and HFU.

    Args:
        model: a graph, an account, or the name of a shipped graph or model.
        measured: what was measured.
        params: how many parameters, where there is no graph.
        active: how many of them a token touches.
        shape: sizes ``L``, ``H``, ``K``, ``S``, to count the attention of a model without a graph.
        seq: tokens per sequence, for a batch in sequences.
        recompute: the share of forward that is run again, for a model without a graph.
        on: a machine, or its name.
        devices: how many, where the name does not say.
        peak: the dense peak of one device that the catalogue does not have.
        dtype: the number format of contractions.
        at_most: what the value cannot exceed; 1 where nothing is said.
        sizes: sizes of the graph; the number of sequences may be left open where a batch or a rate is given.
        policy: the choices of the run.
        convention: how counts are priced.
        dirs: folders with machines of the user's.

    Raises:
        ImpossibleError: the value is above 1; its causes are ranked.
        SymacctError: something is missing, or has another unit.

    >>> made = mfu(measured=Measurement(time="0.8 s", tokens=4096), params="7B", on="a100-sxm-80gb",
    ...     recompute="100%")
    >>> f"{float(made.mfu):.1%} {float(made.hfu):.1%}"
    '68.9% 91.9%'
    """
    measured = measured or Measurement()
    check(measured)
    chosen = policy or Policy()
    subject = _subject(model, measured, params, chosen, convention, sizes or {}, active, shape, recompute)
    account = None if subject is None else subject.account
    precision = (account.policy if account else chosen).precision
    other = peak_of(account, dtype)
    machine = devices_of(on, count=devices, peak=peak, dtype=dtype or precision.activations, dirs=dirs)
    if machine is None:
        what = "utilisation is of a machine's peak"
        raise UsageError(what, expected="--on MACHINE, or --peak RATE --devices N", got="neither")
    table = {entry.symbol: entry for entry in (*machine.entries, *measured_entries(measured, machine.count))}
    table.pop("K", None)
    if subject is not None:
        table |= {entry.symbol: entry for entry in subject.entries if entry.symbol in "NAgcwhFJD"}
        table |= {
            entry.symbol: entry for entry in _tokens(subject, measured, table, seq or (shape or {}).get("S"))
        }
    table |= {entry.symbol: entry for entry in worked_out(RULES, table)}
    if "u" not in table:
        raise _unmeasured(table)
    limit = share(at_most, "--at-most")
    for symbol in "uv":
        if symbol in table and table[symbol].value > limit:
            raise impossible(table, symbol, limit, machine, subject)
    return Utilisation(
        subject,
        machine,
        tuple(table.values()),
        tuple(_counted(subject)),
        (
            *(account.warnings if account else ()),
            *_of_each(table),
            *_notes(table, is_graph=account is not None),
            *([other] if other else []),
        ),
    )


def _subject(
    model: Graph | Definition | Account | str | None,
    measured: Measurement,
    params: Stated | None,
    policy: Policy,
    convention: str,
    sizes: Mapping[str, int],
    active: Stated | None,
    shape: Mapping[str, int] | None,
    recompute: Stated | None,
) -> Subject | None:
    if measured.achieved is not None:
        if model is not None or params is not None:
            what = "a rate of FLOPs needs no model: its numerator is counted already"
            raise UsageError(what, expected="--achieved alone, or a model and a time", got="both")
        return None
    if (model is None) == (params is None):
        raise UsageError(
            "utilisation is of a model, or of a number of parameters", expected="one of them",
            got="neither" if model is None else "both", fix="write symacct mfu MODEL, or --params 70B",
        )  # fmt: skip
    if params is not None:
        return of_parameters(params, policy, active=active, shape=shape, recompute=recompute)
    if isinstance(model, Account):
        account = model
    else:
        graph = load(model) if isinstance(model, str) else model
        account = derive(graph, policy=policy, convention=convention)  # type: ignore[arg-type]
    if account.graph.tokens is None or not (measured.given() and set(measured.given()) - {"time"}):
        return work_of_step(account, sizes)
    return of_account(account, sizes)


def _tokens(
    subject: Subject, measured: Measurement, table: Mapping[str, Entry], seq: int | None
) -> list[Entry]:
    """Return the tokens done in the time, where they follow from a batch."""
    if measured.batch is None:
        return []
    found: list[Entry] = []
    account = subject.account
    if seq is not None:
        found = [length(seq)]
    elif account is not None and (batch := batch_size(account)) is not None:
        each = normal(account["tokens"].expr)
        if batch in names_of(each):
            each = account.bind({batch: 1})["tokens"].expr
            found = [length(fraction(each))]
    return [*found, *tokens_of_batch({**table, **{entry.symbol: entry for entry in found}})]


def _unmeasured(table: Mapping[str, Entry]) -> UsageError:
    has_time = "t" in table or "V" in table
    return UsageError(
        "nothing says what was done in the time" if has_time else "nothing says how fast it was",
        expected="--tokens, --batch, or all sizes of the graph (--at)" if has_time else "--time",
        got="a time alone" if has_time else "no time",
        fix="add --batch '512 sequence' or --tokens 4M",
    )  # fmt: skip


def _counted(subject: Subject | None) -> list[tuple[str, str]]:
    """Return what is in the numerator, and what only costs time."""
    if subject is None:
        return [("counted", "whatever the stated rate counts; check that recompute is not in it")]
    account = subject.account
    if account is None:
        shaped = (
            " and attention"
            if subject.at
            else "; attention is left out (--layers, --heads, --head-size, --seq)"
        )
        counted = f"each active weight, as in a contraction{shaped}"
        return [
            ("counted", counted),
            ("only costs time", ", ".join(("all other work", "what is run again", *ONLY_TIME))),
        ]
    model = "flops.model" if account.trains else "flops.forward"
    whole = account[model].expr
    rest = normal((account[f"{model}.all"].expr - whole) / whole) if whole != 0 else None
    found = [
        f"{'forward and backward' if account.trains else 'forward'} contractions, weights' and attention's"
    ]
    if account.convention.attention != "full":
        found.append(f"attention {account.convention.attention}")
    costs = ["elementwise work, norms, softmax, loss"]
    if rest is not None and not names_of(rest):
        costs[0] += f" ({float(fraction(rest)):.2%} of it)"
    costs += ["lookups of embeddings"]
    costs += ["what is run again (HFU has it)", "the optimizer"] if account.trains else []
    return [("counted", ", ".join(found)), ("only costs time", ", ".join((*costs, *ONLY_TIME)))]


def _of_each(table: Mapping[str, Entry]) -> list[str]:
    """Return a note where a rate of all devices is likely that of one: tiny, and plausible for one."""
    rate, value, count = table.get("R"), table["u"].value, table["n"].value
    if rate is None or rate.formula or not (value < LEAST <= value * count <= 1):
        return []
    tokens, each = f"{float(rate.value):.6g}", float(value * count)
    said = (
        f"{tokens} token/s is taken as that of all {int(count):,} devices together; were it each device's, "
    )
    return [f"{said}MFU would be {100 * each:.4g} %: write {tokens} token/(s*device)"]


def _notes(table: Mapping[str, Entry], *, is_graph: bool) -> list[str]:
    found = []
    if "h" in table and table["h"].value == table["c"].value:
        found.append("HFU is MFU: nothing is run again (--checkpoint, or --recompute with --params)")
    over = [symbol for symbol in "cF" if symbol in table and is_graph]
    found += [f"the formula of {one} is over the sizes of the graph" for one in over]
    if "F" in table and table["n"].value > 1:
        found.append("the sizes are those of one step on all devices together")
    return found
