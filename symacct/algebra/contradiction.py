"""Whether conditions contradict one another: by weights for inequalities, by residues for divisibility."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import lcm, prod
from typing import TYPE_CHECKING

from sympy import Add, Poly

from symacct.algebra.feasible import weights
from symacct.algebra.normal import normal
from symacct.errors import SizeError
from symacct.printers import text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sympy import Expr

    from symacct.algebra.condition import Condition

    Row = dict[object, Fraction]

LARGEST_MODULUS = 24
MOST_RESIDUES = 20_000
ONE = Fraction(1)


def contradictory(conditions: Iterable[Condition]) -> bool:
    """Return whether it is seen that no sizes of at least 1 satisfy all conditions (False: not seen).

    >>> from symacct.algebra.condition import Condition
    >>> from symacct.algebra.symbols import as_expr, symbol
    >>> E, k = symbol("E"), symbol("k")
    >>> contradictory([Condition("at_least", E, k), Condition("equal", k, E + 2)])
    True
    >>> contradictory([Condition("divides", as_expr(2), E), Condition("divides", as_expr(2), E + 1)])
    True
    """
    given = [one for one in conditions if not one.is_certain()]
    if any(one.is_impossible() for one in given):
        return True
    return _falls_short(given) or _never_divides(given)


def require_together(conditions: Sequence[Condition], where: str, fix: str | None = None) -> None:
    """Refuse conditions of a graph that no sizes satisfy; equalities are left out, as decoding drops them.

    `fix` says what mends it, where that is known.

    Raises:
        SizeError: there are no such sizes.
    """
    always = [one for one in conditions if one.kind != "equal" or not one.names]
    if contradictory(always):
        raise SizeError(
            "no sizes satisfy all conditions of the graph",
            where=where,
            expected="conditions that hold together",
            got=", ".join(one.text for one in always if not one.is_certain()),
            fix=fix or "choose other sizes, or write the words that ask for these otherwise",
        )


def failing(condition: Condition, sizes: str) -> str:
    """Return what is said of a condition that fails at sizes.

    >>> from symacct.algebra.condition import Condition
    >>> from symacct.algebra.symbols import as_expr
    >>> failing(Condition("divides", as_expr(2), as_expr(7)), "L=7")
    '2 does not divide 7: L=7'
    """
    if condition.kind != "divides":
        return sizes
    return f"{text(condition.left)} does not divide {text(condition.right)}: {sizes}"


def implied(condition: Condition, others: Sequence[Condition]) -> bool:
    """Return whether an inequality is seen to follow from others, for sizes of at least 1.

    >>> from symacct.algebra.condition import Condition
    >>> from symacct.algebra.symbols import as_expr, symbol
    >>> S, T = symbol("S"), symbol("T")
    >>> known = [Condition("at_least", T, S), Condition("at_least", S, as_expr(4))]
    >>> implied(Condition("at_least", T, as_expr(3)), known)
    True
    """
    if condition.kind != "at_least":
        return False
    target = _row(condition.left - condition.right)
    columns = [_negated(row) for row in _rows(others)]
    return target is not None and weights(columns, _negated(target)) is not None


def _falls_short(conditions: Sequence[Condition]) -> bool:
    """Return whether a sum of what must be at least 0, with weights, is at most -1 for all sizes."""
    columns = [_negated(row) for row in _rows(conditions)]
    return bool(columns) and weights(columns, {(): ONE}) is not None


def _rows(conditions: Iterable[Condition]) -> list[Row]:
    """Return what is at least 0: coefficients by monomial, each size written as 1 and something."""
    found = []
    for one in conditions:
        gaps = {"at_least": [one.left - one.right], "equal": [one.left - one.right, one.right - one.left]}
        found += [row for gap in gaps.get(one.kind, []) if (row := _row(gap)) is not None]
    return found


def _row(gap: Expr) -> Row | None:
    form = normal(gap)
    names = sorted(form.free_symbols, key=str)
    if not form.is_polynomial(*names):
        return None
    moved = normal(form.xreplace({name: name + (1 if name.is_positive else 0) for name in names}))
    row: Row = {}
    for term in Add.make_args(moved):
        value, rest = term.as_coeff_Mul()
        row[() if rest == 1 else rest] = Fraction(int(value.p), int(value.q))
    return row


def _negated(row: Row) -> Row:
    return {name: -value for name, value in row.items()}


def _never_divides(conditions: Sequence[Condition]) -> bool:
    """Return whether no residues satisfy all divisibilities by numbers, and the equalities, at once."""
    numbers = [one for one in conditions if one.kind == "divides" and one.left.is_Integer]
    known = [(int(c.left), c.right) for c in numbers if c.right.is_polynomial(*c.right.free_symbols)]
    modulus = lcm(*(by for by, _ in known))
    names = sorted({name for _, over in known for name in over.free_symbols}, key=str)
    if not known or modulus > LARGEST_MODULUS or modulus ** len(names) > MOST_RESIDUES:
        return False
    tests = [(by, Poly(over, *names).terms()) for by, over in known if over.free_symbols]
    return not any(
        all(_value(terms, point) % by == 0 for by, terms in tests)
        for point in product(range(modulus), repeat=len(names))
    )


def _value(terms: Sequence[tuple[tuple[int, ...], Expr]], point: Sequence[int]) -> int:
    return sum(
        int(value) * prod(base**power for base, power in zip(point, powers, strict=True))
        for powers, value in terms
    )
