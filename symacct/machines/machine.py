"""A machine as a value: its figures, each with unit, source and date. What is not known is absent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.errors import RuleError, UsageError
from symacct.messages import Message
from symacct.policy import DTYPE_BITS
from symacct.units import read_unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

BITS: Mapping[str, int | Fraction] = {**DTYPE_BITS, "fp6": 6, "fp4": 4}
DTYPES = frozenset(BITS)
NARROW, LARGEST_RATIO = 16, 8
INTEGERS = ("int64", "int32", "int8", "int4")
WIDEST = ("fp64", "fp32", "int32")
"""What products are summed in where nothing is said: the widest that there is, as frameworks do."""

SHARDED = Message("sharded")
LARGEST_COUNT = 10**7
SAME = Fraction(1, 1000)
SCALES = ("E", "P", "T", "G", "M", "k", "")


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a machine, exact and in base units, with where it stands.

    Attributes:
        value: the number.
        unit: its base unit.
        source: who says so.
        date: when: a year, with a month or a day where they are known.
        note: what a reader should know.

    >>> print(Figure(Fraction(335 * 10**10), "byte/second", "data sheet", "2024-07"))
    3.35 TB/s
    """

    value: Fraction
    unit: str
    source: str
    date: str
    note: str = ""

    def times(self, count: int | Fraction) -> Figure:
        """Return the figure of so many devices."""
        return replace(self, value=self.value * count)

    def __str__(self) -> str:
        """Return the number with a prefix that fits."""
        return in_words(self.value, self.unit)


@dataclass(frozen=True, slots=True)
class Peak:
    """The rate of contractions: for one format of the inputs, one of the sums, dense or 2:4 sparse."""

    dtype: str
    accumulate: str | None
    sparse: bool
    figure: Figure

    def __str__(self) -> str:
        """Return what the rate is of."""
        into = f" into {self.accumulate}" if self.accumulate else ""
        return f"{self.dtype}{into}{' with 2:4 sparsity' if self.sparse else ''}"


@dataclass(frozen=True, slots=True)
class Named:
    """A figure with a name: the vector rate of a format, a cache, a link (bytes in one direction)."""

    name: str
    figure: Figure


@dataclass(frozen=True, slots=True)
class Machine:
    """One device, or several with ideal even sharding.

    Attributes:
        name: as it is written after ``--on``.
        title: the part.
        count: how many devices; all figures but those of links are theirs together.
        peaks: rates of contractions.
        vectors: rates of all other work, by number format, where they are published.
        bandwidth: of main memory.
        capacity: of main memory, nominal.
        caches: bandwidths between main memory and the processors.
        links: bandwidths to other devices, each for one device and one direction.
        power: of the devices alone.
        one_peak: whether all work is held against the peak of contractions.
    """

    name: str
    title: str
    count: int = 1
    peaks: tuple[Peak, ...] = ()
    vectors: tuple[Named, ...] = ()
    bandwidth: Figure | None = None
    capacity: Figure | None = None
    caches: tuple[Named, ...] = ()
    links: tuple[Named, ...] = ()
    power: Figure | None = None
    one_peak: bool = False

    # ---- rates ----

    def peak(self, dtype: str, *, accumulate: str | None = None, sparse: bool = False) -> Figure:
        """Return the rate of contractions with inputs of a number format.

        Where sums may be held in several formats and none is named, the widest is meant.

        Raises:
            RuleError: the machine has no such rate; those that it has are listed.
        """
        of_dtype = [peak for peak in self.peaks if peak.dtype == dtype]
        fitting = [peak for peak in of_dtype if peak.sparse is sparse]
        if accumulate is not None:
            fitting = [peak for peak in fitting if peak.accumulate == accumulate]
        elif len(fitting) > 1:
            fitting = sorted(fitting, key=lambda peak: _width(peak.accumulate))[:1]
        if fitting:
            return fitting[0].figure
        raise self._no_peak(dtype, of_dtype, accumulate, sparse=sparse)

    def _no_peak(
        self, dtype: str, of_dtype: list[Peak], accumulate: str | None, *, sparse: bool
    ) -> RuleError:
        peak = str(Peak(dtype, accumulate, sparse, _NOTHING))
        wanted = peak if sparse else f"{peak}, dense"
        known = [str(peak) for peak in of_dtype] if of_dtype else self.dtypes()
        fix = None
        if of_dtype and not sparse and all(peak.sparse for peak in of_dtype):
            fix = f"{of_dtype[0].figure} is with 2:4 sparsity: no peak for dense work"
        return RuleError(
            Message("no_peak" if sparse else "no_dense_peak", machine=self.name, peak=peak),
            where=f"machine {self.name}",
            expected=f"one of: {', '.join(known) or 'none is known'}",
            got=wanted,
            fix=fix or "choose another --precision or machine: nothing is put in the place of a missing peak",
        )

    def vector_peak(self, dtype: str) -> Figure | None:
        """Return the rate of work that is no contraction; None where it is not known."""
        return next((one.figure for one in self.vectors if one.name == dtype), None)

    def needed(self, what: str) -> Figure:
        """Return ``bandwidth``, ``capacity`` or ``power``.

        Raises:
            RuleError: it is not known.
        """
        found: Figure | None = getattr(self, what)
        if found is None:
            raise RuleError(
                Message("lacks", owner=self.name, what=what),
                where=f"machine {self.name}",
                expected=f"a machine whose {what} is known",
                got=f"none is stated: {self.title}",
                fix="choose another machine, or write a file of your own (--machines DIR)",
            )
        return found

    def dtypes(self) -> tuple[str, ...]:
        """Return the formats with a dense peak, in the order of the file."""
        return tuple(dict.fromkeys(peak.dtype for peak in self.peaks if not peak.sparse))

    def meant(self, value: Fraction, dtype: str | None = None) -> str | None:
        """Return what a rate that somebody states is on this machine; None where it is none of its peaks.

        Args:
            value: in base units, to a thousandth.
            dtype: the format of the inputs, where it is known.
        """
        near = [
            (abs(value - peak.figure.value), peak)
            for peak in self.peaks
            if dtype in (None, peak.dtype) and abs(value - peak.figure.value) <= SAME * peak.figure.value
        ]
        if not near:
            return None
        least = min(distance for distance, _ in near)
        said = [f"{peak}{'' if peak.sparse else ', dense'}" for distance, peak in near if distance == least]
        return f"{in_words(value, near[0][1].figure.unit)} is the peak of {'; of '.join(said)}"

    def doubts(self) -> tuple[str, ...]:
        """Return peaks that are out of proportion: a format of fewer bits is twice as fast for half the bits.

        Formats of 16 bits and less alone are compared: wider ones may have no unit for contractions at all.
        """
        dense = [peak for peak in self.peaks if not peak.sparse and BITS[peak.dtype] <= NARROW]
        found = []
        for one in dense:
            for other in dense:
                fair = Fraction(BITS[other.dtype]) / Fraction(BITS[one.dtype])
                if one.figure.value > LARGEST_RATIO * fair * other.figure.value:
                    found.append(f"{one.figure} for {one} is out of proportion to {other.figure} for {other}")
        return tuple(found)

    # ---- several ----

    @property
    def bound(self) -> str:
        """What is to be said beside each number of several devices; empty for one."""
        return SHARDED if self.count > 1 else ""

    def times(self, count: int) -> Machine:
        """Return so many of this device: rates, capacity and power together, links each.

        Raises:
            UsageError: the number is out of range, or these are several already.
        """
        if not 1 <= count <= LARGEST_COUNT or self.count != 1:
            raise UsageError(
                "a number of devices is out of range",
                expected=f"an integer from 1 to {LARGEST_COUNT}, of one device",
                got=f"{str(count)[:64]} of {self.count} x {self.name}",
            )
        if count == 1:
            return self
        return replace(
            self,
            name=f"{count}x{self.name}",
            count=count,
            peaks=tuple(replace(peak, figure=peak.figure.times(count)) for peak in self.peaks),
            vectors=_each(self.vectors, count),
            caches=_each(self.caches, count),
            bandwidth=_of(self.bandwidth, count),
            capacity=_of(self.capacity, count),
            power=_of(self.power, count),
        )


_NOTHING = Figure(Fraction(0), "1", "", "")


def _width(accumulate: str | None) -> int:
    return WIDEST.index(accumulate) if accumulate in WIDEST else len(WIDEST)


def _each(named: Iterable[Named], count: int) -> tuple[Named, ...]:
    return tuple(replace(one, figure=one.figure.times(count)) for one in named)


def _of(figure: Figure | None, count: int) -> Figure | None:
    return None if figure is None else figure.times(count)


def in_words(value: Fraction, unit: str) -> str:
    """Return a positive number with the prefix that leaves at least 1 of it; bytes as B, seconds as s.

    >>> in_words(Fraction(9894 * 10**11), "FLOP/second"), in_words(Fraction(700), "joule/second")
    ('989.4 TFLOP/s', '700 W')
    """
    short = "W" if unit == "joule/second" else unit.replace("second", "s").replace("byte", "B")
    for prefix in SCALES:
        whole = short if prefix or not short.startswith("B") else short.replace("B", "byte", 1)
        scale = read_unit(prefix + whole)[0]
        if value >= scale or not prefix:
            number = value / scale
            text = f"{float(number):,.6g}" if number < 1000 else f"{round(number):,}"
            return f"{text} {prefix}{whole}"
    return f"{value} {unit}"
