"""The integers at which a condition in one unknown holds, each border certain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sympy import Expr, Integer, Max, Min, ceiling, floor, log, sqrt

from symacct.algebra.budget import check_time
from symacct.algebra.evaluate import LARGEST_SIZE
from symacct.algebra.normal import normal
from symacct.algebra.sign import sign_on_box
from symacct.algebra.symbols import symbol
from symacct.algebra.value import value_of
from symacct.errors import LimitError, RuleError, SizeError
from symacct.planning.solve_sets import HOLDS, real_set, union_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Ranges = list[tuple[int, int | None]]
MOST_TRIED = 200_000
NOT_NEGATIVE = ("positive", "nonnegative", "zero")


def holds_at(gap: Expr, relation: str, name: str, size: int) -> bool:
    """Say whether ``gap RELATION 0`` holds at a size, exactly; not where the formula has no value.

    >>> holds_at(symbol("n") - 3, "<=", "n", 3)
    True
    """
    try:
        value = normal(value_of(gap, {name: size}))
    except SizeError:
        return False
    sign = 0 if value == 0 else 1 if value > 0 else -1
    return HOLDS[relation](sign)


def integer_set(gap: Expr, relation: str, name: str, least: int = 1) -> Ranges:
    """Return the ranges of integers, from `least` on, at which ``gap RELATION 0`` holds; no end is None.

    A `ceiling` or `floor` lies within 1 of what it rounds: where that leaves a doubt, each integer is tried.

    Raises:
        RuleError: it is neither algebraic nor seen to rise or to fall.
        LimitError: too many integers would have to be tried.

    >>> n = symbol("n")
    >>> integer_set(n**2 + n - 10**6, "<=", "n")
    [(1, 999)]
    >>> integer_set(ceiling(n / 8) - 12, "<=", "n")
    [(1, 96)]
    """
    form = normal(gap)
    if not form.has(symbol(name)):
        return [(least, None)] if holds_at(form, relation, name, least) else []
    if not form.has(ceiling, floor):
        return _from_reals(form, relation, name, least)
    between = bounds(form, name, least)
    if between is None:
        return _by_monotony(form, relation, name, least)
    low, high = between
    sure, maybe = _sandwiched(low, high, relation, name, least)
    doubtful = list(without(maybe, sure))
    if (
        any(last is None for _, last in doubtful)
        or sum((last or 0) - first + 1 for first, last in doubtful) > MOST_TRIED
    ):
        return _by_monotony(form, relation, name, least)
    found = list(sure)
    for first, last in doubtful:
        for size in range(first, (last or first) + 1):
            check_time()
            if holds_at(form, relation, name, size):
                found.append((size, size))
    return joined(found)


def _from_reals(form: Expr, relation: str, name: str, least: int) -> Ranges:
    """Return the integers at which a formula without roundings satisfies a relation."""
    try:
        return union_of(real_set(form, relation, name), least)
    except RuleError:
        return _by_monotony(form, relation, name, least)


def _sandwiched(low: Expr, high: Expr, relation: str, name: str, least: int) -> tuple[Ranges, Ranges]:
    """Return where a condition surely holds, and where it may."""
    if relation == "=":
        above = _from_reals(low, "<=", name, least)
        return [], list(overlap(above, _from_reals(high, ">=", name, least)))
    near, far = (high, low) if relation in ("<=", "<") else (low, high)
    return (
        _from_reals(near, relation, name, least),
        _from_reals(far, relation, name, least),
    )


def overlap(one: Ranges, other: Ranges) -> Iterator[tuple[int, int | None]]:
    """Yield the ranges of integers that are in both.

    >>> list(overlap([(1, 5), (9, None)], [(4, 12)]))
    [(4, 5), (9, 12)]
    """
    for first, last in one:
        for start, end in other:
            low = max(first, start)
            high = last if end is None else end if last is None else min(last, end)
            if high is None or low <= high:
                yield low, high


def without(whole: Ranges, part: Ranges) -> Iterator[tuple[int, int | None]]:
    """Yield the ranges of the whole that are not in the part."""
    for first, last in whole:
        start: int | None = first
        for low, high in sorted(part, key=lambda one: one[0]):
            if start is None or (high is not None and high < start) or (last is not None and low > last):
                continue
            if low > start:
                yield start, low - 1
            start = None if high is None else high + 1
        if start is not None and (last is None or start <= last):
            yield start, last


def joined(ranges: Ranges) -> Ranges:
    """Return ranges sorted, with neighbours joined.

    >>> joined([(4, 5), (1, 3), (9, None)])
    [(1, 5), (9, None)]
    """
    found: Ranges = []
    for first, last in sorted(ranges, key=lambda one: one[0]):
        if found and (found[-1][1] is None or found[-1][1] + 1 >= first):
            end = found[-1][1]
            found[-1] = (found[-1][0], None if end is None or last is None else max(end, last))
        else:
            found.append((first, last))
    return found


def bounds(  # noqa: PLR0911 (a case for each kind of formula)
    expr: Expr, name: str, least: int
) -> tuple[Expr, Expr] | None:
    """Return formulas without roundings between which a formula lies for all integers from `least` on.

    >>> n = symbol("n")
    >>> bounds(2 * ceiling(n / 3) + 1, "n", 1)
    (2*n/3 + 1, 2*n/3 + 3)
    """
    if not expr.has(ceiling, floor):
        return expr, expr
    near = _root_cut(expr)
    if near is not None:
        return near
    parts = [bounds(one, name, least) for one in expr.args]
    if any(part is None for part in parts):
        return None
    known = [part for part in parts if part is not None]
    if expr.is_Add or isinstance(expr, Max | Min):
        return normal(expr.func(*(low for low, _ in known))), normal(expr.func(*(high for _, high in known)))
    if isinstance(expr, ceiling):
        return known[0][0], normal(known[0][1] + 1)
    if isinstance(expr, floor):
        low = normal(known[0][0] - 1)
        return (Max(0, low) if _at_least_zero(known[0][0], name, least) else low), known[0][1]
    if expr.is_Mul:
        return _bounds_of_product(known, name, least)
    if expr.is_Pow and expr.exp.is_Rational:
        low, high = known[0]
        if sign_on_box(low, {name: least})[0] != "positive":
            return None
        pair = normal(low**expr.exp), normal(high**expr.exp)
        return pair if expr.exp > 0 else (pair[1], pair[0])
    return None


def _root_cut(expr: Expr) -> tuple[Expr, Expr] | None:
    """Return bounds of ``ceil(n/ceil(sqrt(n)))``, the segments of ``sqrt``; None for another formula.

    With s the root rounded up, n is above (s - 1)^2 and at most s^2: there are s - 1 segments, or s.
    """
    if not isinstance(expr, ceiling):
        return None
    for root in expr.args[0].atoms(ceiling):
        whole = normal(expr.args[0] * root)
        if whole.is_Symbol and root == ceiling(sqrt(whole)):
            return sqrt(whole) - 1, sqrt(whole) + 1
    return None


def _bounds_of_product(known: list[tuple[Expr, Expr]], name: str, least: int) -> tuple[Expr, Expr] | None:
    low = high = Integer(1)
    negative = False
    for one, other in known:
        below = one == other and sign_on_box(one, {name: least})[0] in ("negative", "nonpositive")
        sign = -1 if below else 1
        if not below and not _at_least_zero(one, name, least):
            return None
        negative ^= below
        low, high = normal(low * one * sign), normal(high * other * sign)
    return (-high, -low) if negative else (low, high)


def _at_least_zero(expr: Expr, name: str, least: int) -> bool:
    if isinstance(expr, Max) and any(one.is_Rational and one >= 0 for one in expr.args):
        return True
    return sign_on_box(expr, {name: least})[0] in NOT_NEGATIVE


def direction(  # noqa: PLR0911 (a case for each kind of formula)
    expr: Expr, name: str, least: int
) -> int | None:
    """Return whether a formula never falls (1), never rises (-1), stays (0), or is not seen to (None).

    >>> n = symbol("n")
    >>> direction(log(n) * n + 2**n, "n", 1), direction(1 / n, "n", 1), direction(n - 1 / n, "n", 1)
    (1, -1, 1)
    """
    at = symbol(name)
    if not expr.has(at):
        return 0
    if expr == at:
        return 1
    parts = [direction(one, name, least) for one in expr.args]
    if expr.is_Add or isinstance(expr, Max | Min):
        return _together(parts)
    if isinstance(expr, ceiling | floor | log):
        return parts[0]
    if expr.is_Mul:
        return _direction_of_product(expr.args, parts, name, least)
    if expr.is_Pow and expr.exp.is_Rational and _never_negative(expr.base, name, least):
        return None if parts[0] is None else parts[0] if expr.exp > 0 else -parts[0]
    if expr.is_Pow and expr.base.is_Rational and expr.base >= 1:
        return parts[1]
    return None


def _direction_of_product(
    factors: Sequence[Expr], ways: Sequence[int | None], name: str, least: int
) -> int | None:
    """Return the direction of a product of factors that each have one sign."""
    sizes: list[int | None] = []
    negative = False
    for factor, way in zip(factors, ways, strict=True):
        below = sign_on_box(factor, {name: least})[0] in ("negative", "nonpositive")
        if way is None or not (below or _never_negative(factor, name, least)):
            return None
        sizes.append(-way if below else way)
        negative ^= below
    found = _together(sizes)
    return -found if found is not None and negative else found


def _never_negative(expr: Expr, name: str, least: int) -> bool:
    return bool(expr.is_nonnegative) or sign_on_box(expr, {name: least})[0] in NOT_NEGATIVE


def _together(ways: list[int | None]) -> int | None:
    found = {way for way in ways if way != 0}
    return None if None in found or len(found) > 1 else (found.pop() if found else 0)


def _by_monotony(gap: Expr, relation: str, name: str, least: int) -> Ranges:
    """Return the integers where a rising or falling formula satisfies a relation, by bisection."""
    way = direction(gap, name, least)
    if way is None:
        what = f"the condition is not algebraic in {name}, and is not seen to rise or to fall"
        raise RuleError(
            what, expected="sums, products, powers, roots, max, min, ceil and floor", got=str(gap)[:64]
        )
    rising = gap if way >= 0 else -gap
    turned = relation if way >= 0 else {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}.get(relation, relation)
    reached, passed = (_first(rising, one, name, least) for one in (">=", ">"))
    if turned in ("<=", "<"):
        end = passed if turned == "<=" else reached
        return [(least, None if end is None else end - 1)] if end is None or end > least else []
    if turned in (">=", ">"):
        start = reached if turned == ">=" else passed
        return [] if start is None else [(start, None)]
    if reached is None or (passed is not None and passed <= reached):
        return []
    return [(reached, None if passed is None else passed - 1)]


def _first(rising: Expr, relation: str, name: str, least: int) -> int | None:
    """Return the first integer at which a rising formula satisfies a relation; None past the largest size."""
    if holds_at(rising, relation, name, least):
        return least
    step = 1
    while not holds_at(rising, relation, name, least + step):
        check_time()
        step *= 2
        if step > LARGEST_SIZE:
            what = f"no size up to {LARGEST_SIZE:.0e} reaches it, and none beyond is tried"
            raise LimitError(what, expected="a smaller size", got=str(rising)[:64])
    low, high = least + step // 2, least + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds_at(rising, relation, name, middle) else (middle, high)
    return high
