"""The rates of the machine at hand: contractions, other work, and bytes, each the largest that was seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symacct.errors import RuleError
from symacct.execution.measure_clock import timed
from symacct.machines import Figure, Machine, Named, Peak
from symacct.policy import DTYPE_BITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from symacct.execution.measure_clock import Spread
    from symacct.execution.measure_device import Device

    Tell = Callable[[str], None]

PEAK, VECTOR, COPY = "contractions", "other work", "copy"
SIDES = (256, 512, 1024, 2048, 4096, 8192, 16384)
ALWAYS = 512
LONGEST_CALL = Fraction(1, 4)
STRETCH = 4
ELEMENTS = tuple(2**power for power in (14, 16, 18, 20, 22, 24))
LONGEST_VECTOR = Fraction(1, 20)
VECTOR_WORK = {"add": 1, "mul": 1, "addcmul": 2}
COPIED, CACHES = 2**28, 8
PART = 8
"""Arrays take no more than this part of the memory."""
DIGITS = 4
SOURCE = "calibrated by symacct measure"


@dataclass(frozen=True, slots=True, eq=False)
class Rate:
    """One rate that was measured.

    Attributes:
        what: of contractions, of other work, or of a copy.
        dtype: the number format.
        work: FLOPs, or bytes read and written, of one call.
        shape: what was called.
        make: makes the arrays, and returns the call.
        spread: the times of the call.
    """

    what: str
    dtype: str
    work: int
    shape: str
    make: Callable[[], Callable[[], object]]
    spread: Spread

    @property
    def value(self) -> Fraction:
        """Work a second, by the median."""
        return self.work / self.spread.median

    @property
    def name(self) -> str:
        """What it is a rate of."""
        return self.what if self.what == COPY else f"{self.dtype} {self.what}"

    @property
    def unit(self) -> str:
        """The unit of the rate."""
        return "byte/second" if self.what == COPY else "FLOP/second"

    def note(self, setting: str) -> str:
        """Return what a reader of the number should know."""
        share = f"{float(self.spread.share * 100):.2g} %"
        return f"{self.shape}, median of {self.spread.count}, interquartile range {share}; {setting}"


def calibrate(device: Device, dtypes: tuple[str, ...], tell: Tell) -> tuple[Rate, ...]:
    """Return the largest rates of contractions and of other work in each format, and of a copy.

    A format that the device does not compute in is left out.
    """
    found = []
    for dtype in dtypes:
        if device.supports(dtype):
            tell(f"calibrating {dtype}: contractions")
            found.append(_largest(_contractions(device, dtype)))
            tell(f"calibrating {dtype}: other work")
            found.append(_largest(_vectors(device, dtype)))
    tell("calibrating: copy")
    return (*found, _copy(device))


def again(device: Device, rates: tuple[Rate, ...], dtype: str, tell: Tell) -> tuple[Rate, ...]:
    """Return the rates of a format and of the copy measured once more where that is faster.

    A machine that was busy while it was calibrated would seem slower than it is.
    """
    tell(f"calibrating {dtype} once more")
    found = []
    for rate in rates:
        others = [rate]
        if rate.what == PEAK and rate.dtype == dtype:
            others += _contractions(device, dtype)
        elif rate.what == COPY or rate.dtype == dtype:
            others.append(replace(rate, spread=timed(device.clock, rate.make())))
        found.append(_largest(others))
    return tuple(found)


def _largest(rates: Iterable[Rate]) -> Rate:
    return max(rates, key=lambda rate: rate.value)


def _measured(
    device: Device, what: str, dtype: str, work: int, shape: str, make: Callable[[], Callable[[], object]]
) -> Rate:
    return Rate(what, dtype, work, shape, make, timed(device.clock, make()))


# ---- contractions ----


def _contractions(device: Device, dtype: str) -> Iterator[Rate]:
    """Yield rates of square products, larger ones while a call stays short, then of long ones."""
    best = None
    for side in SIDES:
        work = 2 * side**3
        if best is not None and side > ALWAYS and work / best.value > LONGEST_CALL:
            break
        if side > ALWAYS and not _fits(device, 3 * side**2, dtype):
            break
        made = _product(device, dtype, (side, side, side))
        best = made if best is None or made.value > best.value else best
        longest = side
        yield made
    assert best is not None
    for shape in ((STRETCH, 1, 1), (1, STRETCH, 1), (1, 1, STRETCH)):
        m, k, n = (longest // 2 * factor for factor in shape)
        if 2 * m * k * n / best.value <= LONGEST_CALL:
            yield _product(device, dtype, (m, k, n))


def _product(device: Device, dtype: str, shape: tuple[int, int, int]) -> Rate:
    m, k, n = shape

    def make() -> Callable[[], object]:
        a, b, out = (device.drawn(one, dtype) for one in ((m, k), (k, n), (m, n)))
        return lambda: device.torch.mm(a, b, out=out)

    return _measured(device, PEAK, dtype, 2 * m * k * n, f"mm {m} x {k} by {k} x {n}", make)


# ---- other work, and bytes ----


def _vectors(device: Device, dtype: str) -> Iterator[Rate]:
    """Yield rates of elementwise kernels, on arrays from those that a cache holds."""
    for count in ELEMENTS:
        for name, each in VECTOR_WORK.items():
            made = _elementwise(device, dtype, name, each, count)
            yield made
        if made.spread.median > LONGEST_VECTOR or not _fits(device, 4 * count * STRETCH, dtype):
            break


def _elementwise(device: Device, dtype: str, name: str, each: int, count: int) -> Rate:
    def make() -> Callable[[], object]:
        call = getattr(device.torch, name)
        arrays = [device.drawn((count,), dtype) for _ in range(3 if each == 2 else 2)]
        out: Any = device.drawn((count,), dtype)
        return lambda: call(*arrays, out=out)

    return _measured(device, VECTOR, dtype, each * count, f"{name} of {count:,} elements", make)


def _copy(device: Device) -> Rate:
    """Return the rate of a copy well beyond the last cache; bytes read and written count."""
    nbytes = max(COPIED, CACHES * (device.cache or 0))
    nbytes = min(nbytes, (device.memory or PART * nbytes) // PART)
    count = nbytes // 4

    def make() -> Callable[[], object]:
        source, out = device.drawn((count,), "fp32"), device.drawn((count,), "fp32")
        return lambda: out.copy_(source)

    shape = f"copy of {count * 4 / 2**20:,.0f} MiB, read and written"
    return _measured(device, COPY, "fp32", 8 * count, shape, make)


def _fits(device: Device, elements: int, dtype: str) -> bool:
    return device.memory is None or elements * DTYPE_BITS[dtype] / 8 * PART <= device.memory


# ---- the machine ----


def machine_of(device: Device, rates: tuple[Rate, ...], today: str) -> Machine:
    """Return the machine that these rates are of, each a finite decimal with its source and date."""

    def figure(rate: Rate, unit: str) -> Figure:
        return Figure(rounded(rate.value), unit, SOURCE, today, rate.note(device.setting))

    peaks = [Peak(one.dtype, None, False, figure(one, "FLOP/second")) for one in rates if one.what == PEAK]  # noqa: FBT003
    vectors = [Named(one.dtype, figure(one, "FLOP/second")) for one in rates if one.what == VECTOR]
    copies = [figure(one, "byte/second") for one in rates if one.what == COPY]
    capacity = None
    if device.memory is not None:
        capacity = Figure(Fraction(device.memory), "byte", "as the operating system says", today)
    title = f"{device.part}, calibrated: {device.setting}"
    return Machine(
        device.kind, title, 1, tuple(peaks), tuple(vectors), bandwidth=copies[0], capacity=capacity
    )


def rounded(value: Fraction) -> Fraction:
    """Return a rate to four digits, as a whole number.

    >>> rounded(Fraction(10**12, 7)), rounded(Fraction(12))
    (Fraction(142900000000, 1), Fraction(12, 1))

    Raises:
        RuleError: it is less than one a second.
    """
    if value < 1:
        what = "a rate is less than one a second"
        raise RuleError(what, expected="a clock that runs as it should", got=f"{float(value):.3g}")
    scale = 10 ** max(0, len(str(int(value))) - DIGITS)
    return Fraction(round(value / scale) * scale)
