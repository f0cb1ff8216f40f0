"""The integers at which a condition in one unknown holds, each border certain."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sympy import Expr, Integer, Max, Min, ceiling, floor, log, sqrt

from symacct.algebra.budget import check_time
from symacct.algebra.evaluate import LARGEST_SIZE
from symacct.algebra.factorials import COUNTED, Binomial, Factorial, bases, expanded
from symacct.algebra.normal import normal
from symacct.algebra.sign import sign_on_box
from symacct.algebra.symbols import symbol
from symacct.errors import LimitError, RuleError
from symacct.planning.exact_sign import sign_at
from symacct.planning.real_symbol import as_size
from symacct.planning.solve_defined import ABOVE, AT_LEAST, ZERO, Need, need_of, needs_of
from symacct.planning.solve_sets import HOLDS, real_set, union_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from symacct.algebra.condition import Condition

Ranges = list[tuple[int, int | None]]
MOST_TRIED, MOST_LOGARITHMS, FEW = 200_000, 4_000, 100
RELATION_OF = {AT_LEAST: ">=", ABOVE: ">", ZERO: "="}
NOT_NEGATIVE = ("positive", "nonnegative", "zero")


def holds_at(gap: Expr, relation: str, name: str, size: int, needs: Iterable[Need] = ()) -> bool:
    """Say whether ``gap RELATION 0`` holds at a size, exactly; not where something has no value.

    >>> holds_at(symbol("n") - 3, "<=", "n", 3)
    True
    """
    at = Fraction(size)
    if any(sign_at(need.expr, name, at) not in need.signs for need in needs):
        return False
    sign = sign_at(gap, name, at)
    return sign is not None and HOLDS[relation](sign)


def integer_set(gap: Expr, relation: str, name: str, least: int = 1, needs: Iterable[Need] = ()) -> Ranges:
    """Return the ranges of integers, from `least` on, at which ``gap RELATION 0`` holds; no end is None.

    A `ceiling` or `floor` lies within 1 of what it rounds: where that leaves a doubt, each integer is tried.
    Integers at which a formula has no value, or a need fails, are none of them.

    Raises:
        RuleError: it is neither algebraic nor seen to rise or to fall.
        LimitError: too many integers would have to be tried.

    >>> n = symbol("n")
    >>> integer_set(n**2 + n - 10**6, "<=", "n")
    [(1, 999)]
    >>> integer_set(ceiling(n / 8) - 12, "<=", "n")
    [(1, 96)]
    >>> integer_set(log(12 - n) - 1, ">=", "n")
    [(1, 9)]
    """
    whole = as_size(gap, name)
    form = normal(expanded(whole))
    needs = (*needs, *(Need(base, AT_LEAST) for base, _ in bases(whole)))
    needs = tuple(Need(as_size(one.expr, name), one.signs) for one in needs if one.expr.free_symbols)
    if not any(one.has(ceiling, floor, *COUNTED) for one in (form, *(need.expr for need in needs))):
        try:
            return union_of(real_set(form, relation, name, needs), least)
        except RuleError:
            pass
    where = defined_set(form, name, least, needs)
    return joined([one for part in where for one in _within(form, relation, name, part)])


def conditions_set(conditions: Iterable[Condition], name: str, least: int) -> Ranges:
    """Return the integers, from `least` on, that satisfy the conditions on them alone that compare.

    >>> from symacct.algebra.condition import Condition
    >>> from symacct.algebra.symbols import as_expr
    >>> conditions_set([Condition("at_least", as_expr(1024), symbol("S"))], "S", 1)
    [(1, 1024)]
    """
    found: Ranges = [(least, None)]
    for one in conditions:
        need = need_of(one) if one.names == [name] else None
        if need is not None:
            found = list(overlap(found, integer_set(need.expr, RELATION_OF[need.signs], name, least)))
    return found


def defined_set(gap: Expr, name: str, least: int, needs: Iterable[Need] = ()) -> Ranges:
    """Return the integers, from `least` on, at which a formula has a value and needs hold.

    >>> n = symbol("n")
    >>> defined_set(log(12 - n) / (n - 3), "n", 1)
    [(1, 2), (4, 11)]
    """
    found: Ranges = [(least, None)]
    todo = [*needs, *needs_of(gap)]
    for need in dict.fromkeys(todo):
        if not need.expr.has(symbol(name)):
            found = found if sign_at(need.expr, name, Fraction(least)) in need.signs else []
            continue
        relations = [RELATION_OF[need.signs]] if need.signs in RELATION_OF else ["<", ">"]
        holding = [one for sign in relations for one in integer_set(need.expr, sign, name, least)]
        found = list(overlap(found, joined(holding)))
    return found


def _within(form: Expr, relation: str, name: str, part: tuple[int, int | None]) -> Ranges:
    """Return the integers of a run, at all of which a formula has a value, that satisfy a relation."""
    first, last = part
    if not form.has(symbol(name)):
        return [part] if holds_at(form, relation, name, first) else []
    if last is not None and last - first < FEW:
        return _each(form, relation, name, [part])
    return list(overlap(_from(form, relation, name, first, last), [part]))


def _from(form: Expr, relation: str, name: str, least: int, last: int | None) -> Ranges:
    """Return the integers from one on at which a formula that has values satisfies a relation."""
    between = bounds(form, name, least) if form.has(ceiling, floor, log) else None
    if between is not None:
        sure, maybe = _sandwiched(*between, relation, name, least, last)
        doubtful = list(overlap(list(without(maybe, sure)), [(least, last)]))
        if _count(doubtful) <= (MOST_LOGARITHMS if form.has(log) else MOST_TRIED):
            return joined([*sure, *_each(form, relation, name, doubtful)])
    if direction(form, name, least) is None and last is not None and last - least < MOST_TRIED:
        return _each(form, relation, name, [(least, last)])
    return _by_monotony(form, relation, name, least, last)


def _count(ranges: Ranges) -> float:
    return sum(float("inf") if last is None else last - first + 1 for first, last in ranges)


def _each(form: Expr, relation: str, name: str, ranges: Ranges) -> Ranges:
    """Return the integers of finite runs that satisfy a relation, each tried."""
    found: Ranges = []
    for first, last in ranges:
        for size in range(first, (last or first) + 1):
            check_time()
            if holds_at(form, relation, name, size):
                found.append((size, size))
    return joined(found)


def _from_reals(form: Expr, relation: str, name: str, least: int, last: int | None) -> Ranges:
    """Return the integers at which a formula without roundings satisfies a relation."""
    try:
        return union_of(real_set(form, relation, name), least)
    except RuleError:
        return _by_monotony(form, relation, name, least, last)


def _sandwiched(
    low: Expr, high: Expr, relation: str, name: str, least: int, last: int | None
) -> tuple[Ranges, Ranges]:
    """Return where a condition surely holds, and where it may."""

    def holding(form: Expr, sign: str) -> Ranges:
        return _from_reals(form, sign, name, least, last)

    if relation == "=":
        return [], list(overlap(holding(low, "<="), holding(high, ">=")))
    near, far = (high, low) if relation in ("<=", "<") else (low, high)
    return holding(near, relation), holding(far, relation)


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


def bounds(  # noqa: C901, PLR0911 (a case for each kind of formula)
    expr: Expr, name: str, least: int
) -> tuple[Expr, Expr] | None:
    """Return formulas without roundings between which a formula lies for all integers from `least` on.

    A logarithm of y lies between 1 - 1/y and 2*sqrt(y) - 2.

    >>> n = symbol("n")
    >>> bounds(2 * ceiling(n / 3) + 1, "n", 1)
    (2*n/3 + 1, 2*n/3 + 3)
    """
    if not expr.has(ceiling, floor, log):
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
    if isinstance(expr, log):
        low, high = known[0]
        if sign_on_box(low, {name: least})[0] != "positive":
            return None
        return normal(1 - 1 / low), normal(2 * sqrt(high) - 2)
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

    Looked at are sizes at which it has a value.

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
    if isinstance(expr, ceiling | floor | log | Factorial):
        return parts[0]
    if isinstance(expr, Binomial):
        return _direction_of_binomial(expr, name, least)
    if expr.is_Mul:
        return _direction_of_product(expr.args, parts, name, least)
    defined = expr.is_Pow and expr.exp.is_Rational and expr.exp.q > 1
    if defined or (expr.is_Pow and expr.exp.is_Rational and _never_negative(expr.base, name, least)):
        return None if parts[0] is None else parts[0] if expr.exp > 0 else -parts[0]
    if expr.is_Pow and expr.base.is_Rational and expr.base >= 1:
        return parts[1]
    return None


def _direction_of_binomial(expr: Expr, name: str, least: int) -> int | None:
    """Return 1 where neither what is taken nor what is left falls: C(k + m, k) rises in both."""
    n, k = expr.args
    found = _together([direction(normal(one), name, least) for one in (k, n - k)])
    return None if found == -1 else found


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
    root = expr.is_Pow and expr.exp.is_Rational and expr.exp.q > 1
    return root or bool(expr.is_nonnegative) or sign_on_box(expr, {name: least})[0] in NOT_NEGATIVE


def _together(ways: list[int | None]) -> int | None:
    found = {way for way in ways if way != 0}
    return None if None in found or len(found) > 1 else (found.pop() if found else 0)


def _by_monotony(gap: Expr, relation: str, name: str, least: int, last: int | None = None) -> Ranges:
    """Return the integers where a rising or falling formula satisfies a relation, by bisection."""
    way = direction(gap, name, least)
    if way is None:
        what = f"the condition is not algebraic in {name}, and is not seen to rise or to fall"
        raise RuleError(
            what, expected="sums, products, powers, roots, max, min, ceil and floor", got=str(gap)[:64]
        )
    rising = gap if way >= 0 else -gap
    turned = relation if way >= 0 else {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}.get(relation, relation)
    reached, passed = (_first(rising, one, name, least, last) for one in (">=", ">"))
    if turned in ("<=", "<"):
        end = passed if turned == "<=" else reached
        return [(least, last if end is None else end - 1)] if end is None or end > least else []
    if turned in (">=", ">"):
        start = reached if turned == ">=" else passed
        return [] if start is None else [(start, last)]
    if reached is None or (passed is not None and passed <= reached):
        return []
    return [(reached, last if passed is None else passed - 1)]


def _first(rising: Expr, relation: str, name: str, least: int, last: int | None = None) -> int | None:
    """Return the first integer at which a rising formula satisfies a relation; None past the last one."""
    if holds_at(rising, relation, name, least):
        return least
    if last is not None and not holds_at(rising, relation, name, last):
        return None
    step = 1
    while (last is None or least + step < last) and not holds_at(rising, relation, name, least + step):
        check_time()
        step *= 2
        if step > LARGEST_SIZE:
            what = f"no size up to {LARGEST_SIZE:.0e} reaches it, and none beyond is tried"
            raise LimitError(what, expected="a smaller size", got=str(rising)[:64])
    low, high = least + step // 2, least + step if last is None else min(last, least + step)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds_at(rising, relation, name, middle) else (middle, high)
    return high
