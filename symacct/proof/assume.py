"""Assumptions: what a proof may use about the sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sympy import Symbol

from symacct.algebra.condition import Condition
from symacct.algebra.evaluate import names_of, substitute
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr, symbol
from symacct.errors import FormulaError
from symacct.proof.decide import Box
from symacct.proof.sizes import is_whole
from symacct.syntax import read_formula

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from sympy import Expr

SIGNS = ("<<", ">>", ">=", "<=", "=", "|")
SLACK = "{}_more"
MULTIPLE = "{}_times"


@dataclass(slots=True)
class Assumptions:
    """Assumptions in the form that decisions use.

    Attributes:
        replaced: sizes that stand for a formula (``F = 4*D``; ``k | L`` makes L a multiple of k).
        lower: least values.
        conditions: what is assumed and has no simpler form; counterexamples must satisfy it.
        growing: sizes said to be large against others (``S << D`` lets D grow).
        texts: the assumptions as written.
    """

    replaced: dict[str, Expr] = field(default_factory=dict)
    lower: dict[str, int] = field(default_factory=dict)
    conditions: list[Condition] = field(default_factory=list)
    growing: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def apply(self, expr: Expr) -> Expr:
        """Return a formula with the assumed sizes put in, until none is left."""
        for _ in self.replaced:
            expr = substitute(expr, self.replaced)
        return normal(expr)

    def box(self, when: Iterable[Condition]) -> Box:
        """Return the box of an account's conditions under these assumptions."""
        lower = dict(self.lower)
        rest: list[Condition] = []
        for condition in (*self.conditions, *when):
            known = condition.substitute(self.replaced)
            if not known.is_certain() and not _raise(known, lower):
                rest.append(known)
        return Box(lower, tuple(dict.fromkeys(rest)))


def _raise(condition: Condition, lower: dict[str, int]) -> bool:
    """Turn ``size - c >= 0`` into a least value; say whether it was one."""
    if condition.kind != "at_least":
        return False
    gap = normal(condition.left - condition.right)
    names = names_of(gap)
    if len(names) != 1:
        return False
    start = normal(symbol(names[0]) - gap)
    if not start.is_Integer:
        return False
    lower[names[0]] = max(lower.get(names[0], 1), int(start))
    return True


def read_assumptions(texts: Iterable[str], names: Collection[str]) -> Assumptions:
    """Return assumptions, read.

    ``F = 4*D`` and ``H*K = D`` (one side a single size), ``B >= 8``, ``B >= 4*D``, ``k | L`` (k divides L),
    ``S << D`` (D grows).

    Raises:
        SymacctError: it is none of these, or a name is unknown.

    >>> found = read_assumptions(["F = 4*D", "B >= 8"], ["B", "D", "F"])
    >>> found.replaced, found.lower
    ({'F': 4*D}, {'B': 8})
    """
    found = Assumptions()
    for text in texts:
        sign = next((s for s in SIGNS if s in text), None)
        if sign is None:
            raise _unread(text)
        left, _, right = text.partition(sign)
        if sign in ("<<", ">>"):
            _grow(found, (right if sign == "<<" else left).strip(), text, names)
        else:
            _relate(found, read_formula(left, names), sign, read_formula(right, names), text)
        found.texts.append(text.strip())
    return found


def _grow(found: Assumptions, name: str, text: str, names: Collection[str]) -> None:
    if not isinstance(read_formula(name, names), Symbol):
        raise _unread(text)
    found.growing.append(name)


def _relate(found: Assumptions, left: Expr, sign: str, right: Expr, text: str) -> None:
    if sign == "|":
        _divide(found, left, right, text)
    elif sign == "=":
        _equal(found, left, right, text)
    elif sign == ">=":
        _at_least(found, left, right)
    else:
        _at_least(found, right, left)


def _divide(found: Assumptions, by: Expr, whole: Expr, text: str) -> None:
    if not isinstance(whole, Symbol):
        raise _unread(text)
    found.replaced[whole.name] = normal(by * symbol(MULTIPLE.format(whole.name)))


def _equal(found: Assumptions, left: Expr, right: Expr, text: str) -> None:
    for name, formula in ((left, right), (right, left)):
        if isinstance(name, Symbol) and name.name not in {*names_of(formula), *found.replaced}:
            found.replaced[name.name] = normal(formula)
            return
    raise _unread(text)


def _at_least(found: Assumptions, left: Expr, right: Expr) -> None:
    """Record ``left >= right``: a least value, a size with a slack, or a condition."""
    condition = Condition("at_least", normal(left), normal(right))
    if _raise(condition, found.lower):
        return
    if isinstance(left, Symbol) and left.name not in names_of(right) and is_whole(right):
        slack = SLACK.format(left.name)
        found.replaced[left.name] = normal(right + symbol(slack))
        found.lower[slack] = 0
        return
    found.conditions.append(condition)


def _unread(text: str) -> FormulaError:
    return FormulaError(
        f"cannot use the assumption {text[:80]!r}",
        expected="NAME = FORMULA, NAME >= FORMULA, k | L, or S << D",
        got=text[:80],
        fix="write one side as a single size",
    )


def bind(assumptions: Assumptions, sizes: Mapping[str, Expr | int]) -> None:
    """Add sizes with known values to what is replaced."""
    assumptions.replaced |= {name: as_expr(value) for name, value in sizes.items()}
