"""Inverse questions: for which values of a name does a condition hold, with a check of every answer."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sympy import Integer, ceiling, floor

from symacct.account import Account, derive
from symacct.algebra.budget import check_time, within
from symacct.algebra.condition import Condition
from symacct.algebra.evaluate import evaluate, names_of
from symacct.algebra.factorials import COUNTED
from symacct.algebra.normal import normal
from symacct.algebra.sign import sign_on_box
from symacct.algebra.symbols import symbol
from symacct.build import Definition
from symacct.errors import LimitError, RuleError, SizeError, SymacctError
from symacct.evaluation.doubled import undoubled
from symacct.nodes import Graph
from symacct.planning.exact_sign import sign_of
from symacct.planning.solve_answer import Kind, Solution
from symacct.planning.solve_best import best, read_best
from symacct.planning.solve_cases import (
    begins,
    cases_of,
    demands,
    is_meant,
    is_served,
    meant,
    own_conditions,
    own_texts,
    said,
    with_demands,
)
from symacct.planning.solve_checks import among, check_formula, check_integers, check_root, step
from symacct.planning.solve_defined import is_certain, need_of, needs_of
from symacct.planning.solve_formula import BIND, bare, solved
from symacct.planning.solve_integers import Ranges, integer_set, joined, overlap
from symacct.planning.solve_none import reason_of
from symacct.planning.solve_reading import Asked, read_asked
from symacct.planning.solve_segment import is_segment, with_segment
from symacct.planning.solve_sets import HOLDS, real_set
from symacct.planning.solve_sides import gap_sign
from symacct.planning.solve_uneven import uneven

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sympy import Expr

    from symacct.algebra.condition import Kind as ConditionKind
    from symacct.machines.machine import Machine
    from symacct.planning.solve_best import Objective
    from symacct.planning.solve_cases import Cases
    from symacct.planning.solve_formula import Case
    from symacct.planning.solve_sets import Span

SECONDS = 60.0
"""What an answer leaves out does not depend on time: a question that takes longer has no answer."""
ROUNDED = {
    "<=": "the largest is the floor of it",
    "<": "the largest is the last integer below it",
    ">=": "the smallest is the ceil of it",
    ">": "the smallest is the first integer above it",
    "=": "it is one only where the formula is",
}


def solve(
    account: Account | Graph | Definition | None,
    text: str,
    name: str | None = None,
    *,
    sizes: Mapping[str, int] | None = None,
    lets: Sequence[str] = (),
    assume: Iterable[str] = (),
    integer: bool = False,
    machine: Machine | None = None,
    seconds: float = SECONDS,
    names: Iterable[str] = (),
) -> Solution:
    """Return for which values of a name a condition holds, or at which value a formula is best.

    Args:
        account: the derivation that quantities are looked up in, or a graph to derive as by default; None for
            formulas alone.
        text: the condition, ``memory.static <= 80 GB``; or ``argmin_k(L/k + k)``.
        name: the unknown: a size of the graph, which is an integer, or any other name, a real number above 0.
        sizes: sizes to bind first.
        lets: names and what they stand for.
        assume: what may be assumed about sizes.
        integer: look for integers alone.
        machine: where times are meant: ``time.step <= 1 second``.
        seconds: processor time; an answer does not depend on it.
        names: words that are names, as ``--names`` declares them.

    Raises:
        SymacctError: the condition cannot be read, units disagree, or there is no way to solve it.

    >>> found = solve(None, "12 byte/parameter * N = 640 GB", "N")
    >>> found.values, str(found.asked.unit)
    ((160000000000/3,), 'parameter')
    >>> solve(None, "12 byte/parameter * N <= 640 GB", "N", integer=True).largest
    53333333333
    """
    if isinstance(account, Graph | Definition):
        account = derive(account)
    objective = read_best(text, name)
    stated = objective.equation if objective else text
    unknown = objective.name if objective else _named(name)
    assume = tuple(assume)
    asking = partial(
        read_asked,
        account,
        stated,
        unknown,
        lets=lets,
        assume=assume,
        integer=integer or objective is not None,
        machine=machine,
        declared=tuple(names),
    )
    try:
        asked, sizes = _asked(asking, sizes, single=objective is None)
    except SymacctError as error:
        raise undoubled(error, stated, text.strip(), objective.start) if objective else error from None
    asked = replace(asked, text=text.strip())
    _check_possible(asked)
    try:
        with within(seconds):
            if _is_partial(asked):
                asked = replace(asking(sizes=sizes, of=uneven), text=asked.text, notes=asked.notes)
            if objective is None:
                answer = _solved(asked, whole=integer or asked.size)
                check_time()
                return answer
            found = _best(asked, objective)
            check_time()
        if is_segment(asked.account, objective, assume):
            found = with_segment(asked, objective, found)
        if isinstance(found, RuleError):
            raise found
        return replace(found, objective=objective.inner.strip())
    except LimitError as error:
        what = f"the question cannot be answered: {error.what}"
        raise RuleError(
            what, where=text.strip()[:72], expected=error.expected, got=error.got, fix=error.fix
        ) from None


def _asked(
    asking: Callable[..., Asked], sizes: Mapping[str, int] | None, *, single: bool
) -> tuple[Asked, Mapping[str, int] | None]:
    """Return a question, with the sizes that are known; those of both sides alike are as small as may be."""
    asked = asking(sizes=sizes)
    alike = in_both_alike(asked) if single else ()
    if not alike:
        return asked, sizes
    sizes = {**(sizes or {}), **dict(alike)}
    asked = asking(sizes=sizes)
    return replace(asked, notes=(*asked.notes, *map(_said_alike, alike))), sizes


def _check_possible(asked: Asked) -> None:
    """Refuse a question at sizes at which its formulas never hold.

    Raises:
        SizeError: they do not.
    """
    for condition in asked.domain.conditions:
        derives = asked.again is not None and condition in own_conditions(asked)
        derives |= bool(set(condition.names) & asked.domain.real)
        if condition.is_impossible() and not derives:
            raise SizeError("the formulas do not hold at these sizes", expected=str(condition), got="never")


def in_both_alike(asked: Asked) -> tuple[tuple[str, int], ...]:
    """Return the sizes by powers of which both sides are multiplied alike, each with its least value.

    A size stands in nothing else: neither in a condition nor in what must be defined.
    """
    if not asked.others or set(names_of(bare(normal(asked.gap)))) != {asked.name}:
        return ()
    elsewhere = {one for condition in asked.domain.conditions for one in condition.names}
    elsewhere |= {one for value in asked.stated.replaced.values() for one in names_of(value)}
    elsewhere |= {
        one for need in asked.needs for one in names_of(need.expr) if not is_certain(need, asked.domain)
    }
    if elsewhere & set(asked.others):
        return ()
    return tuple((one, asked.domain.least(one)) for one in asked.others)


def _said_alike(one: tuple[str, int]) -> str:
    return f"{one[0]} multiplies both sides alike; it is {one[1]} here"


def _is_partial(asked: Asked) -> bool:
    """Say whether the formulas of a graph serve some integers alone, while no other size is open."""
    free = {*names_of(asked.left), *names_of(asked.right)} - {asked.name}
    return asked.again is not None and not free and bool(own_conditions(asked))


def _best(asked: Asked, objective: Objective) -> Solution | RuleError:
    """Return where a formula is best by looking at it alone, or why that does not say."""
    try:
        return best(asked, objective)
    except RuleError as error:
        return error


def _named(name: str | None) -> str:
    if name is None:
        raise RuleError("a condition is solved for a name", expected="--for NAME", got="none")
    return name


def _solved(asked: Asked, *, whole: bool) -> Solution:
    gap = normal(asked.gap)
    if asked.name not in names_of(gap) and (asked.others or not _is_bound(asked)):
        return _constant(asked, gap)
    rounds = asked.rounds or gap.has(ceiling, floor, *COUNTED)
    if asked.others:
        return _formula(asked, gap, whole=whole or rounds)
    if whole or rounds:
        found = _integers(asked, gap)
        counted = gap.has(*COUNTED) and not gap.has(ceiling, floor)
        stands = "stands in a factorial or binomial" if counted else "is rounded"
        return (
            found if whole else replace(found, notes=(*found.notes, f"{asked.name} {stands}, so an integer"))
        )
    return _numbers(asked, gap)


def _is_bound(asked: Asked) -> bool:
    """Say whether something but the relation bears on the unknown."""
    if own_texts(asked) or begins(asked) > 1 or demands(asked):
        return True
    return any(asked.name in names_of(one.expr) for one in (*asked.needs, *needs_of(normal(asked.gap))))


def _constant(asked: Asked, gap: Expr) -> Solution:
    """Return the answer where the unknown is not in the condition."""
    known = {"positive": 1, "negative": -1, "zero": 0}.get(sign_on_box(gap, asked.domain.lower)[0])
    if known is None and not asked.others:
        known = sign_of(evaluate(gap, {}))
    if known is None:
        what = f"{asked.name} is not in it: whether it holds depends on {', '.join(asked.others)}"
        raise RuleError(what, expected="a condition on the unknown", got=asked.text[:72])
    kind: Kind = "every" if HOLDS[asked.relation](known) else "none"
    return Solution(asked, kind, f"it does not depend on {asked.name}")


def _formula(asked: Asked, gap: Expr, *, whole: bool) -> Solution:
    """Return the answer as a formula in the names that are left."""
    _check_defined(asked)
    cases = solved(gap, asked.relation, asked.name, asked.domain)
    rest = {one.relation for one in cases[1:]}
    if cases[0].value is not None and rest <= {"none"} and _never(asked, cases[0]):
        against = [str(one) for one in asked.stated.conditions if asked.name in one.names]
        least = asked.stated.least(asked.name)
        against += [f"{asked.name} >= {least}"] if least > 1 or not against else []
        what = f"{asked.name} {cases[0].relation} {cases[0].value} is against {', '.join(against)}"
        return Solution(asked, "none", what)
    if len(cases) == 1 and cases[0].value is None:
        kind: Kind = "every" if cases[0].relation == "every" else "none"
        return Solution(
            asked, kind, f"whatever {', '.join(asked.others)} {'is' if len(asked.others) == 1 else 'are'}"
        )
    checks = tuple(check for case in cases if (check := check_formula(asked, case)) is not None)
    notes = (f"{asked.name} is an integer: {ROUNDED[cases[0].relation]}",) if whole else ()
    return Solution(asked, "formula", cases=cases, checks=checks, notes=notes)


def _check_defined(asked: Asked) -> None:
    """Refuse a formula that is not defined for all sizes.

    Raises:
        RuleError: where it is depends on the sizes.
    """
    for one in (*asked.needs, *needs_of(normal(asked.left)), *needs_of(normal(asked.right))):
        if asked.name in names_of(one.expr) and not is_certain(one, asked.domain):
            what = f"where both sides have a value depends on the sizes: {one}"
            raise RuleError(what, expected="numbers for all other sizes", fix=BIND)


def _never(asked: Asked, case: Case) -> bool:
    """Say whether what is demanded of the unknown contradicts an answer."""
    kinds: dict[str, tuple[ConditionKind, bool]] = {
        ">=": ("at_least", False), ">": ("above", False), "=": ("equal", False),
        "<=": ("at_least", True), "<": ("above", True),
    }  # fmt: skip
    kind, exchanged = kinds[case.relation]
    assert case.value is not None
    sides = (symbol(asked.name), case.value)
    answer = Condition(kind, *(reversed(sides) if exchanged else sides))
    try:
        asked.stated.with_conditions(answer)
    except SizeError:
        return True
    return False


def _numbers(asked: Asked, gap: Expr) -> Solution:
    """Return the answer as intervals of real numbers above 0."""
    ours = demands(asked)
    if any(one.kind == "divides" for one in ours):
        what = f"{asked.name} is a real number, which nothing divides"
        raise RuleError(what, expected="--integer", got=", ".join(map(str, ours)))
    bounds = [need for one in ours if (need := need_of(one)) is not None]
    spans = tuple(real_set(gap, asked.relation, asked.name, (*asked.needs, *bounds)))
    if not spans:
        return Solution(asked, "none", reason_of(asked, None))
    if spans == tuple(real_set(Integer(0), "=", asked.name, bounds)):
        satisfying = f" with {', '.join(map(str, ours))}" if ours else ""
        return Solution(asked, "every", f"it holds for every {asked.name} above 0{satisfying}")
    ends = dict.fromkeys(end for span in spans for end in (span.low, span.high) if end is not None)
    return Solution(asked, "numbers", spans=spans, checks=tuple(check_root(asked, end) for end in ends))


# ---- integers ----


def _integers(asked: Asked, gap: Expr) -> Solution:
    """Return the answer as ranges of integers."""
    cases = cases_of(asked)
    asked = replace(asked, left_out=tuple(cases.left))
    ranges = tuple(_allowed(asked, _holding(asked, gap, cases)))
    reason = cases.among(asked)
    plain = cases.steady is None and not cases.left and not cases.parted
    spans = _around(asked, gap) if plain else ()
    notes = (*cases.notes(asked), *among(asked))
    if not ranges:
        why = _against(asked, gap) or _beside(asked, spans) or reason_of(asked, step(asked, begins(asked), 1))
        return Solution(
            asked, "none", "; ".join(filter(None, (reason, why))), spans=spans, notes=cases.notes(asked)
        )
    checks = tuple(check_integers(asked, ranges))
    if ranges == tuple(meant(asked)) and not reason:
        return Solution(
            asked,
            "every",
            f"it holds for every {with_demands(asked)} from {begins(asked)} on",
            ranges=ranges,
            checks=checks,
            notes=notes,
        )
    return Solution(asked, "integers", reason, spans=spans, ranges=ranges, checks=checks, notes=notes)


def _against(asked: Asked, gap: Expr) -> str:
    """Return which integers would satisfy a condition, but for what is demanded of them; else nothing."""
    ours = ", ".join(map(str, demands(asked)))
    least = max(1, asked.domain.least(asked.name))
    try:
        free = integer_set(gap, asked.relation, asked.name, least, asked.needs) if ours else []
    except RuleError:
        return ""
    return f"{said(asked.name, free)} would satisfy it, against {ours}" if free else ""


def _beside(asked: Asked, spans: Sequence[Span]) -> str:
    """Return that a condition holds for real numbers, but for no integer; nothing where it holds for none."""
    if not spans or asked.relation == "=":
        return ""
    return f"it holds for real numbers, and no integer {with_demands(asked)} is one of them"


def _holding(asked: Asked, gap: Expr, cases: Cases) -> Ranges:
    """Return the integers that satisfy the condition: by the formulas, and those that were derived."""
    least = max(1, asked.domain.least(asked.name))
    bounds = [need for one in demands(asked) if (need := need_of(one)) is not None]
    found = integer_set(gap, asked.relation, asked.name, least, (*asked.needs, *bounds))
    found = list(overlap(found, cases.served))
    alone = {size for size, pair in cases.alone.items() if pair and HOLDS[asked.relation](gap_sign(pair))}
    if not cases.parted:
        return joined([*found, *cases.ranged(sorted(alone))])
    last = cases.left[0][0] - 1 if cases.left else max(cases.alone, default=0)
    runs: Ranges = []
    fresh = True
    for size in range(1, last + 1):
        if not is_meant(asked, size):
            continue
        inside = (
            any(True for _ in overlap(found, [(size, size)])) if is_served(asked, size) else size in alone
        )
        if inside:
            runs = [*runs, (size, size)] if fresh else [*runs[:-1], (runs[-1][0], size)]
        fresh = not inside
    if cases.steady in alone:
        return [*runs[:-1], (runs[-1][0], None)]
    return [*runs, *overlap(found, [(last + 1, None)])]


def _around(asked: Asked, gap: Expr) -> tuple[Span, ...]:
    """Return the real numbers around the integers, where the condition is algebraic."""
    if gap.has(ceiling, floor, *COUNTED):
        return ()
    try:
        bounds = [need for one in demands(asked) if (need := need_of(one)) is not None]
        return tuple(real_set(gap, asked.relation, asked.name, (*asked.needs, *bounds)))
    except RuleError:
        return ()


def _allowed(asked: Asked, ranges: Ranges) -> Iterator[tuple[int, int | None]]:
    """Yield ranges whose ends satisfy what the graph demands: multiples of the heads, say."""
    for first, last in ranges:
        low = step(asked, first, 1)
        high = None if last is None else step(asked, last, -1)
        if low is not None and (last is None or (high is not None and low <= high)):
            yield low, high
