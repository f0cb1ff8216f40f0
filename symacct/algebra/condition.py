"""Conditions under which a formula holds: ``L >= 2``, ``sqrt(n) > k``, ``G divides H``, ``T = S``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from symacct.algebra.evaluate import evaluate, names_of, substitute
from symacct.algebra.normal import normal
from symacct.printers import text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sympy import Expr

Kind = Literal["at_least", "above", "divides", "equal"]
WORDS: dict[Kind, str] = {"at_least": ">=", "above": ">", "divides": "divides", "equal": "="}


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition: left >= right, left > right, left divides right, or left = right.

    >>> from symacct.algebra.symbols import as_expr, symbol
    >>> condition = Condition("at_least", symbol("L"), as_expr(2))
    >>> print(condition, condition.holds({"L": 1}), condition.is_certain())
    L >= 2 False False
    """

    kind: Kind
    left: Expr
    right: Expr

    def __post_init__(self) -> None:
        """Bring both sides into normal form."""
        object.__setattr__(self, "left", normal(self.left))
        object.__setattr__(self, "right", normal(self.right))

    @property
    def text(self) -> str:
        """The condition as it is read: ``L >= 2``."""
        return f"{text(self.left)} {WORDS[self.kind]} {text(self.right)}"

    def __str__(self) -> str:
        """Return the text."""
        return self.text

    @property
    def names(self) -> list[str]:
        """The sorted names of the sizes in it."""
        return sorted({*names_of(self.left), *names_of(self.right)})

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Return whether it holds at these sizes.

        Raises:
            SizeError: a name has no size.
        """
        left, right = evaluate(self.left, sizes), evaluate(self.right, sizes)
        if self.kind == "equal":
            return bool(normal(left - right) == 0)
        if self.kind in ("at_least", "above"):
            return bool(left > right) or (self.kind == "at_least" and bool(normal(left - right) == 0))
        if left == 0:
            return bool(right == 0)
        return bool(normal(right / left).is_Integer)

    def is_certain(self) -> bool:
        """Return whether it is seen to hold for all sizes of at least 1 (False: not seen)."""
        if self.kind == "equal":
            return bool(normal(self.left - self.right) == 0)
        if self.kind == "divides":
            return self._surely_divides()
        gap = normal(self.left - self.right)
        return _never_negative(gap) if self.kind == "at_least" else bool(gap.is_positive)

    def _surely_divides(self) -> bool:
        if self.left == 0:
            return bool(self.right == 0)
        ratio = normal(self.right / self.left)
        return bool(ratio.is_integer) and not ratio.is_Float

    def is_impossible(self) -> bool:
        """Return whether it is seen to fail for all sizes of at least 1 (False: not seen)."""
        if self.names:
            gap = normal(self.right - self.left)
            short = self.kind != "divides" and _never_negative(gap - int(self.kind != "above"))
            return short or (self.kind == "equal" and _never_negative(-gap - 1))
        return not self.holds({})

    def substitute(self, mapping: Mapping[str, Expr | int]) -> Condition:
        """Return the condition with symbols replaced by name."""
        return Condition(self.kind, substitute(self.left, mapping), substitute(self.right, mapping))


def _never_negative(expr: Expr) -> bool:
    """Return whether all coefficients are at least 0 once every size is written as 1 plus something."""
    if expr.is_Rational:
        return bool(expr >= 0)
    if not expr.is_polynomial(*expr.free_symbols):
        return bool(expr.is_nonnegative)
    lower = {free: 0 if free.is_positive is None else 1 for free in expr.free_symbols}
    shifted = normal(expr.xreplace({free: free + lower[free] for free in lower}))
    return all(term.as_coeff_Mul()[0] >= 0 for term in (shifted.args if shifted.is_Add else (shifted,)))


def merge(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return the conditions without those that are certain, repeated, or weaker than another, sorted by text.

    >>> from symacct.algebra.symbols import as_expr, symbol
    >>> L = symbol("L")
    >>> [str(one) for one in merge(Condition("at_least", L, as_expr(n)) for n in (1, 3, 2))]
    ['L >= 3']
    """
    found = [one for one in dict.fromkeys(conditions) if not one.is_certain()]
    kept = [one for one in found if not any(_implies(other, one) for other in found if other is not one)]
    return tuple(sorted(kept, key=lambda one: (one.kind, one.text)))


def _implies(strong: Condition, weak: Condition) -> bool:
    """Return whether one ``at_least`` is seen to imply a different one."""
    if strong.kind != "at_least" or weak.kind != "at_least" or strong == weak:
        return False
    gap = normal(weak.left - weak.right - strong.left + strong.right)
    return bool(gap.is_Rational and gap > 0)
