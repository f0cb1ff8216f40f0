"""A number rounded into a format, and what is lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symacct.formats.floating import Format
from symacct.formats.reading import read
from symacct.formats.value import Value

if TYPE_CHECKING:
    from fractions import Fraction

    from symacct.formats.block import Element

EXACT, ROUNDED, UNDERFLOW, OVERFLOW, SATURATED = "exact", "rounded", "underflow", "overflow", "saturated"


@dataclass(frozen=True, slots=True)
class Rounded:
    """A value, and what a format makes of it.

    Attributes:
        element: the format.
        given: the value.
        code: the code of the result.

    >>> from symacct.formats.table import find
    >>> from fractions import Fraction
    >>> small = rounded(Value(Fraction(1, 10**8)), find("fp16"))
    >>> small.result.number, small.outcome
    (Fraction(0, 1), 'underflow')
    """

    element: Element
    given: Value
    code: int

    @property
    def result(self) -> Value:
        """What the code stands for."""
        return self.element.decode(self.code)

    @property
    def clamped(self) -> Value:
        """What a saturating conversion gives instead; another value only where the number is too large."""
        return (
            self.element.decode(self.element.clamp(self.given)) if self.given.kind != "nan" else self.result
        )

    @property
    def error(self) -> Fraction | None:
        """Result less value; None where one of them is no number."""
        if not (self.given.finite and self.result.finite):
            return None
        return self.result.number - self.given.number

    @property
    def relative(self) -> Fraction | None:
        """The error over the value: negative where the magnitude shrinks; None of zero."""
        return None if self.error is None or not self.given.magnitude else self.error / self.given.number

    @property
    def ulps(self) -> Fraction | None:
        """The size of the error in steps of the format at the value."""
        return None if self.error is None else abs(self.error) / self.element.ulp(self.given.number)

    @property
    def outcome(self) -> str:
        """One of exact, rounded, underflow (to zero), overflow, saturated."""
        if self.given.same(self.result):
            return EXACT
        if not self.result.finite:
            return OVERFLOW
        if not self.result.magnitude:
            return UNDERFLOW
        limit = self.element.largest if not self.given.negative else -self.element.lowest
        beyond = not self.given.finite or self.given.magnitude > limit
        return SATURATED if beyond and self.result.magnitude == limit and _past(self, limit) else ROUNDED

    @property
    def subnormal(self) -> bool:
        """Whether the result has fewer digits than the format's others."""
        element, result = self.element, self.result
        return (
            isinstance(element, Format) and result.finite and 0 < result.magnitude < element.smallest_normal
        )


def _past(one: Rounded, limit: Fraction) -> bool:
    """Return whether a value is so far beyond the largest number that rounding alone does not reach it."""
    return not one.given.finite or one.given.magnitude - limit > one.element.ulp(limit) / 2


def rounded(value: Value, element: Element) -> Rounded:
    """Return a value rounded to the nearest number of a format, even codes where two are equally near.

    Raises:
        RuleError: the format holds nothing like the value.
    """
    return Rounded(element, value, element.encode(value))


def rounded_text(text: str, element: Element) -> Rounded:
    """Return what a format makes of a number as it is written, or what a code of it stands for.

    Raises:
        SymacctError: the text is no number and no code of the format, or the format cannot hold it.

    >>> from symacct.formats.table import find
    >>> rounded_text("0x7e", find("fp8_e4m3")).given.number
    Fraction(448, 1)
    """
    given = read(text)
    if isinstance(given, Value):
        return rounded(given, element)
    return Rounded(element, element.decode(given), given)
