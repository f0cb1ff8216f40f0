"""What a count needs: when a formula is whole and at least a bound, whatever the indices around it are.

This is the one place through which each size, repeat, slice, window, choice and token count of a graph goes.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from sympy import Dummy, Expr, Poly, Pow, Symbol

from symacct.algebra.condition import Condition, merge
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr
from symacct.algebra.whole import at_least, at_least_one, parted, positive, whole
from symacct.errors import SizeError
from symacct.printers import text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Ranges = Mapping[Symbol, tuple[Expr, Expr]]

MOST_TURNS = 64
"""How many turns of a repeat are looked at one by one where a formula neither rises nor falls."""


def needs(
    expr: Expr | int, least: int, ranges: Ranges | None = None, known: Sequence[Condition] = ()
) -> tuple[Condition, ...]:
    """Return the conditions under which a formula is a whole number of at least ``least``.

    Args:
        expr: a formula over sizes, and over indices of repeats.
        least: the bound.
        ranges: each index around it with its first value and the one after its last, outermost first. The
            formula is held to the bound at all of them; a repeat that runs 0 times asks for nothing.
        known: conditions that hold anyway: they say which sign stands below a line.

    Raises:
        SizeError: it holds for no sizes; or it cannot be told when it holds (a root, an index below a line).

    >>> from symacct.algebra.symbols import index_symbol, symbol
    >>> L, D, i = symbol("L"), symbol("D"), index_symbol("i")
    >>> [str(c) for c in needs(L / 2, 0)], needs(3 * L, 1)
    (['2 divides L'], ())
    >>> [str(c) for c in needs(D - i, 1, {i: (as_expr(0), L)})]
    ['D >= L']
    """
    form = normal(as_expr(expr))
    if form.is_number:
        _require_count(form, least)
        return ()
    if least <= 1 and _is_plain(form):
        return ()
    around = dict(ranges or {})
    if any(normal(hi - lo) == 0 for index, (lo, hi) in around.items() if index in form.free_symbols):
        return ()
    known = [one for one in known if one.kind != "equal"]  # decoding drops equalities
    found: list[Condition] = []
    for part in _without_indices(form, around):
        found += whole(part, (*known, *found))
    for end in _ends(form, around):
        found += _bounded(end, least, (*known, *found))
    return merge(found)


def equal(left: Expr, right: Expr, ranges: Ranges) -> tuple[Condition, ...]:
    """Return when two formulas are equal for all values of the indices around them."""
    gap = normal(left - right)
    if not ranges.keys() & gap.free_symbols:
        return (Condition("equal", left, right),)
    return merge(Condition("equal", part, as_expr(0)) for part in _without_indices(gap, ranges))


def _is_plain(form: Expr) -> bool:
    """Return whether a formula is a product of sizes and whole numbers, as most are."""
    parts = form.args if form.is_Mul else (form,)
    return all((part.is_Symbol or part.is_Integer) and part.is_positive for part in parts)


def _require_count(form: Expr, least: int) -> None:
    """Refuse a number that is not whole, or smaller than the bound."""
    if not form.is_Integer or form < least:
        raise SizeError(
            f"{form} is no integer of at least {least}", expected=f"an integer >= {least}", got=text(form)
        )


def _bounded(form: Expr, least: int, known: Sequence[Condition]) -> Iterator[Condition]:
    """Yield that a whole formula without indices is at least a number.

    A quotient that is whole is at least n where it is more than n - 1.
    """
    if at_least_one(form) and least <= 1:
        return
    over, by = parted(form, known)
    yield from positive(by, known)
    if Condition("at_least", over - (least - 1) * by, as_expr(1)).is_certain():
        return
    if by.is_Integer:
        yield from at_least(normal(over - least * by), 0)
    else:
        yield from at_least(normal(over - (least - 1) * by), 1)


def _without_indices(form: Expr, ranges: Ranges) -> list[Expr]:
    """Return formulas without indices that are all whole where the formula is, at every turn.

    A polynomial in an index is whole at all turns where its differences at the first one are.
    """
    parts = [form]
    for index, (lo, hi) in reversed(tuple(ranges.items())):
        parts = [new for part in parts for new in _differences(part, index, lo, hi)]
    return parts


def _differences(form: Expr, index: Symbol, lo: Expr, hi: Expr) -> list[Expr]:
    if index not in form.free_symbols:
        return [form]
    count = normal(hi - lo)
    if _whole_powers(form, index):
        return [at(form, index, lo)]
    degree = _degree(form, index)
    if degree is None:
        if count.is_Integer and count <= MOST_TURNS:
            return [at(form, index, normal(lo + k)) for k in range(int(count))]
        raise _refused(form, index, "a sum of products of sizes and indices, no index below a line")
    row = [at(form, index, normal(lo + k)) for k in range(degree + 1)]
    found = []
    while row:
        found.append(row[0])
        row = [normal(b - a) for a, b in pairwise(row)]
    return found[: int(count)] if count.is_Integer else found


def _whole_powers(form: Expr, index: Symbol) -> bool:
    """Return whether an index stands in exponents of numbers, in a formula that has no fraction."""
    powers = [p for p in form.atoms(Pow) if index in p.exp.free_symbols]
    if not powers or any(not p.base.is_Integer or p.base < 1 or _rise(p.exp, index) < 0 for p in powers):
        return False
    bare = form.xreplace({p: Dummy(integer=True) for p in powers})
    over, by = parted(bare)
    return by == 1 and (index not in bare.free_symbols or over.is_polynomial(index))


def _rise(exponent: Expr, index: Symbol) -> int:
    """Return 1 where an exponent rises with an index by whole steps and begins at 0 or more, else -1."""
    step = normal(exponent.diff(index))
    start = at(exponent, index, as_expr(0))
    rises = step.is_Integer and step >= 0 and start.is_integer
    return 1 if rises and Condition("at_least", start, as_expr(0)).is_certain() else -1


def _degree(form: Expr, index: Symbol) -> int | None:
    """Return the degree in an index, or None where a formula is no polynomial in it."""
    if not form.is_polynomial(index) and not normal(form).is_polynomial(index):
        over, by = parted(form)
        if index in by.free_symbols or not over.is_polynomial(index):
            return None
        return int(Poly(over, index).degree())
    return int(Poly(form, index).degree())


def _ends(form: Expr, ranges: Ranges) -> list[Expr]:
    """Return formulas without indices, the smallest of which is the smallest value of the formula."""
    parts = [form]
    for index, (lo, hi) in reversed(tuple(ranges.items())):
        parts = [new for part in parts for new in _lowest(part, index, lo, hi)]
    return list(dict.fromkeys(parts))


def _lowest(form: Expr, index: Symbol, lo: Expr, hi: Expr) -> list[Expr]:
    """Return a formula at the values of one index among which it is smallest."""
    if index not in form.free_symbols:
        return [form]
    first, last = at(form, index, lo), at(form, index, normal(hi - 1))
    signs = _signs(form, index)
    if signs is not None and lo.is_nonnegative:
        if signs <= {1}:
            return [first]
        if signs <= {-1}:
            return [last]
    degree = _degree(form, index)
    if degree == 1 or (degree == 2 and _surely(-_coefficients(form, index)[2])):
        return [first, last]
    count = normal(hi - lo)
    if count.is_Integer and count <= MOST_TURNS:
        return [at(form, index, normal(lo + k)) for k in range(int(count))]
    raise _refused(form, index, f"a formula that only rises, or only falls, with {index}")


def _signs(form: Expr, index: Symbol) -> set[int] | None:
    """Return the signs with which a formula moves with an index, or None where one is not known."""
    powers = [p for p in form.atoms(Pow) if index in p.exp.free_symbols]
    if any(not p.base.is_Integer or p.base < 1 or _rise(p.exp, index) < 0 for p in powers):
        return None
    stands = {p: Dummy("p", integer=True, positive=True) for p in powers}
    bare = normal(form.xreplace(stands))
    gens = (index, *stands.values())
    over, by = parted(bare)
    if by.free_symbols & set(gens) or not over.is_polynomial(*gens):
        return None
    signs = set()
    for place, value in Poly(over, *gens).terms():
        if any(place):
            sign = 1 if _surely(value / by) else -1 if _surely(-value / by) else 0
            signs.add(sign)
    return None if 0 in signs else signs


def _coefficients(form: Expr, index: Symbol) -> list[Expr]:
    over, by = parted(form)
    return [normal(value / by) for value in reversed(Poly(over, index).all_coeffs())]


def _surely(form: Expr) -> bool:
    return Condition("at_least", normal(form), as_expr(0)).is_certain()


def at(form: Expr, index: Symbol, value: Expr) -> Expr:
    """Return a formula at one value of an index."""
    return normal(form.xreplace({index: value}))


def _refused(form: Expr, index: Symbol, expected: str) -> SizeError:
    return SizeError(
        f"it cannot be told when {text(form)} is a count at every {index}",
        expected=expected,
        got=text(form),
        fix=f"give what depends on {index} in another way, or the repeat a count of at most {MOST_TURNS}",
    )
