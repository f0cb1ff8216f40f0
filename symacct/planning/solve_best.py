"""Where a formula is smallest or largest: as a formula where it is convex, and the exact integer."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sympy import Integer, Max, Min, ceiling, floor

from symacct.algebra.budget import check_time
from symacct.algebra.evaluate import names_of, substitute
from symacct.algebra.factorials import COUNTED
from symacct.algebra.normal import normal
from symacct.algebra.stationary import is_convex, stationary
from symacct.algebra.symbols import symbol
from symacct.algebra.value import value_of
from symacct.errors import FormulaError, LimitError, RuleError, SizeError
from symacct.evaluation.doubled import doubled
from symacct.planning.exact_sign import sign_at, sign_of
from symacct.planning.solve_answer import Check, Solution
from symacct.planning.solve_cases import begins, cases_of, demands, is_meant, is_served, with_demands
from symacct.planning.solve_checks import allowed, among, step
from symacct.planning.solve_defined import is_certain, needs_of
from symacct.planning.solve_formula import BIND, Case
from symacct.planning.solve_integers import MOST_TRIED, bounds, integer_set, joined, overlap
from symacct.planning.solve_sides import derived_at, sides_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sympy import Expr

    from symacct.planning.solve_cases import Cases
    from symacct.planning.solve_integers import Ranges
    from symacct.planning.solve_reading import Asked

HEAD = re.compile(r"\s*\\?(arg)?(min|max)_\{?(\w+)\}?\s*\(")
BARE = re.compile(r"\s*\\?arg(min|max)_(?:\{(\w+)\}|(\w+))\s+(?=[^\s(=<>])")
"""The same of a formula without brackets: ``argmin_k memory.peak``."""
DOUBLINGS, ROUNDS, MOST_MOVES = 40, 60, 1000


@dataclass(frozen=True, slots=True)
class Objective:
    """A formula that is to be smallest, or largest.

    Attributes:
        name: the size that varies.
        inner: the text of the formula.
        rest: what follows it: ``where ...``.
        largest: whether the largest value is wanted.
        start: where in the text the formula begins.
    """

    name: str
    inner: str
    rest: str
    largest: bool
    start: int = 0

    @property
    def equation(self) -> str:
        """The text of an equation that reads the formula."""
        return doubled(self.inner, self.rest)


def read_best(text: str, name: str | None) -> Objective | None:
    """Return what is to be smallest or largest, or None where a text is no such question.

    Raises:
        FormulaError: a bracket is open, or two names vary.

    >>> read_best("argmin_k(L/k + k)", None).inner
    'L/k + k'
    >>> read_best("argmin_k memory.peak", None).inner
    'memory.peak'
    """
    head = HEAD.match(text)
    if head is None:
        return _bare(text, name)
    depth, end = 1, head.end()
    while end < len(text) and depth:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    rest = text[end:].strip()
    word = head.group(2)
    if depth or (rest and not rest.startswith("where")):
        expected = f"{word}_{head.group(3)}(FORMULA) [where NAME = FORMULA]"
        raise FormulaError(
            f"what is to be a {word}imum stands in brackets",
            where=text[:72],
            expected=expected,
            got=rest[:40],
        )
    _check_name(text, head.group(3), name)
    return Objective(head.group(3), text[head.end() : end - 1], rest, word == "max", head.end())


def _bare(text: str, name: str | None) -> Objective | None:
    """Return what is to be smallest or largest where it stands in no brackets."""
    head = BARE.match(text)
    if head is None:
        return None
    varies = head.group(2) or head.group(3)
    _check_name(text, varies, name)
    inner, where, rest = text[head.end() :].partition(" where ")
    return Objective(varies, inner.strip(), (where + rest).strip(), head.group(1) == "max", head.end())


def _check_name(text: str, varies: str, name: str | None) -> None:
    """Refuse a question of one name that is asked for another.

    Raises:
        FormulaError: it is.
    """
    if name is not None and name != varies:
        what = f"{varies} varies, and {name} is asked for"
        raise FormulaError(what, where=text[:72], expected=f"--for {varies}", got=f"--for {name}")


def best(asked: Asked, objective: Objective) -> Solution:
    """Return where a formula is best: as a formula over real values, or the exact integers.

    Raises:
        RuleError: it is not seen to be convex while other sizes are open, or it has no best value.
    """
    inner = normal(-asked.left if objective.largest else asked.left)
    name = asked.name
    free = {*names_of(inner)} - {name}
    if free and inner.has(symbol(name)):
        return _as_formula(asked, inner)
    if free:
        return Solution(
            asked, "every", _indifferent(with_demands(asked)), notes=(*among(asked), *_smaller(asked))
        )
    cases = cases_of(asked)
    asked = replace(asked, left_out=tuple(cases.left))
    ranges = _smallest(asked, _served(asked, inner, cases), cases, largest=objective.largest)
    if not inner.has(symbol(name)) and ranges == [(step(asked, 1, 1) or 1, None)] and not cases.left:
        checks = tuple(_checks(asked, ranges))[:1]
        said = _indifferent(with_demands(asked))
        return Solution(asked, "every", said, ranges=tuple(ranges), checks=checks, notes=among(asked))
    checks = tuple(_checks(asked, ranges))
    notes = (*cases.notes(asked), *among(asked), *_real(asked, inner))
    word = "larger" if objective.largest else "smaller"
    reason = f"every {with_demands(asked)} that could give a {word} value was tried"
    reason = cases.among(asked) or reason
    return Solution(asked, "best", reason, ranges=tuple(ranges), checks=checks, notes=notes)


def _indifferent(name: str) -> str:
    return f"{name.partition(' ')[0]} is not in the formula: every {name} is as good"


def _smaller(asked: Asked) -> tuple[str, ...]:
    least = asked.domain.least(asked.name)
    return (f"{asked.name} below {least} is not looked at",) if least > begins(asked) else ()


def _served(asked: Asked, inner: Expr, cases: Cases) -> Ranges:
    """Return the best integers of those that the formulas serve."""
    if not any(True for _ in cases.served):
        return []
    if not inner.has(symbol(asked.name)):
        first = next((size for size in _first_served(asked, cases)), None)
        return [] if first is None else [(max(first, low), high) for low, high in cases.served]
    return _search(asked, inner, max(1, asked.domain.least(asked.name)), cases.served)


def _first_served(asked: Asked, cases: Cases) -> Iterator[int]:
    for first, last in cases.served:
        for size in range(first, first + ROUNDS if last is None else min(last, first + ROUNDS) + 1):
            if is_meant(asked, size) and is_served(asked, size):
                yield size


def _as_formula(asked: Asked, inner: Expr) -> Solution:
    _check_free(asked)
    bent = asked.bends or inner.has(Max, Min, ceiling, floor, *COUNTED)
    at = None if bent else stationary(inner, asked.name, asked.domain)
    if at is None or not is_convex(inner, asked.name, asked.domain):
        what = f"no formula is known for the best {asked.name}"
        raise RuleError(what, expected="a convex formula whose derivative is 0 at a root", fix=BIND)
    value = substitute(asked.left, {asked.name: at})
    reason = f"convex for all real {asked.name} > 0, and the derivative is 0 there"
    note = f"an integer {asked.name} that is best lies next to it"
    check = Check(at, value, None, holds=True, said="the derivative is 0")
    return Solution(asked, "best", reason, cases=(Case((), "=", at),), checks=(check,), notes=(note,))


def _check_free(asked: Asked) -> None:
    """Refuse conditions on what varies, and needs that may fail: the formula for all real values has neither.

    Raises:
        RuleError: there are some.
    """
    bound = [str(one) for one in asked.domain.conditions if asked.name in one.names]
    least = asked.domain.least(asked.name)
    bound += [f"{asked.name} >= {least}"] if least > 1 else []
    real = replace(asked.domain, real=asked.domain.real | {asked.name})
    needs = (*asked.needs, *needs_of(asked.left))
    bound += [str(one) for one in needs if asked.name in names_of(one.expr) and not is_certain(one, real)]
    if bound:
        what = f"where {asked.name} is best among those with {', '.join(bound)} depends on the sizes"
        raise RuleError(what, expected="no condition on it, or numbers for all other sizes", fix=BIND)


def _real(asked: Asked, inner: Expr) -> tuple[str, ...]:
    """Return where the formula is best over real values, where that is known."""
    if asked.bends or inner.has(Max, Min, ceiling, floor, *COUNTED):
        return ()
    at = stationary(inner, asked.name, asked.domain)
    if at is None or demands(asked) or not is_convex(inner, asked.name, asked.domain):
        return ()
    return (f"over real values: {at}",)


def _smallest(asked: Asked, ranges: Ranges, cases: Cases, *, largest: bool) -> Ranges:
    """Return the best integers, those too that are derived by themselves.

    Raises:
        RuleError: there is none.
    """
    sign = -1 if largest else 1
    values = {size: sign * pair[0] for size, pair in cases.alone.items() if pair is not None}
    found = [sign * sides_at(asked, ranges[0][0])[0]] if ranges else []
    if not found and not values:
        raise RuleError(f"no {asked.name} satisfies the conditions of the formulas", got=asked.text[:64])
    smallest = min([*found, *values.values()])
    kept = cases.ranged(size for size, value in values.items() if value == smallest)
    return joined([*kept, *(ranges if found == [smallest] else [])])


def _value(inner: Expr, asked: Asked, size: int) -> Expr | None:
    """Return the value of a formula at a size; None where it has none, also as it is written."""
    name = asked.name
    if any(sign_at(one.expr, name, Fraction(size)) not in one.signs for one in asked.needs):
        return None
    try:
        return normal(value_of(inner, {name: size}))
    except SizeError:
        return None


def _search(asked: Asked, inner: Expr, least: int, served: Ranges) -> Ranges:
    """Return the integers of those that are served at which a formula is smallest.

    A good value bounds where a better one may be: there a formula from below is not above it.

    Raises:
        RuleError: it falls without end, or too many integers would have to be tried.
    """
    between = bounds(inner, asked.name, least)
    if between is None:
        raise RuleError(
            "no bound of the formula is known",
            expected="sums and products without signs that change",
            got=str(inner)[:64],
        )
    start = _descend(asked, inner, least)
    found = _value(inner, asked, start)
    assert found is not None
    where = list(overlap(integer_set(normal(between[0] - found), "<=", asked.name, least), served))
    if any(last is None for _, last in where):
        what = f"the formula has no best {asked.name}: it goes on as {asked.name} grows"
        raise RuleError(what, expected="a formula that turns", got=str(asked.left)[:64])
    count = sum((last or 0) - first + 1 for first, last in where)
    if count > MOST_TRIED:
        raise LimitError(
            f"{count} integers would have to be tried", expected=f"at most {MOST_TRIED}", got=str(count)
        )
    chosen: list[int] = [start]
    for size in _each(where):
        check_time()
        value = _value(inner, asked, size) if _tried(asked, size) else None
        way = None if value is None or size == start else sign_of(normal(value - found))
        if value is not None and way is not None and way <= 0:
            chosen = [size] if way < 0 else [*chosen, size]
            found = value
    return joined([(size, size) for size in sorted(chosen)])


def _tried(asked: Asked, size: int) -> bool:
    return is_meant(asked, size) and is_served(asked, size)


def _each(ranges: Ranges) -> Iterator[int]:
    for first, last in ranges:
        yield from range(first, (last or first) + 1)


def _descend(asked: Asked, inner: Expr, least: int) -> int:
    """Return an integer with a small value: the best power of two, then smaller steps downhill."""
    tried: dict[int, Expr] = {}

    def value(size: int) -> Expr | None:
        if size not in tried and size >= least and _tried(asked, size):
            found = _value(inner, asked, size)
            if found is not None:
                tried[size] = found
        return tried.get(size)

    for power in range(DOUBLINGS):
        value(least - 1 + 2**power)
    for size in range(least, least + ROUNDS):
        value(size)
    if not tried:
        raise RuleError(f"no {asked.name} satisfies the conditions of the formulas", got=str(inner)[:64])
    here = min(tried, key=lambda size: (tried[size], size))
    pace = max(1, here // 2)
    for _ in range(MOST_MOVES):
        check_time()
        near = [
            size
            for size in (here - pace, here + pace)
            if value(size) is not None and tried[size] < tried[here]
        ]
        if near:
            here = min(near, key=lambda size: tried[size])
        elif pace == 1:
            break
        else:
            pace //= 2
    return here


def _checks(asked: Asked, ranges: Ranges) -> Iterator[Check]:
    """Yield the values at the best integers and at their neighbours."""
    ours = {size for first, last in ranges for size in (first, last or first)}
    for size in sorted({near for one in ours for near in (one - 1, one, one + 1) if near >= 1}):
        if allowed(asked, size) and derived_at(asked, size) is not None:
            inside = any(first <= size and (last is None or size <= last) for first, last in ranges)
            said = "the best" if inside else "no better"
            yield Check(Integer(size), sides_at(asked, size)[0], None, inside, said)
