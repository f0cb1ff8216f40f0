"""The best length of a segment: as a formula with the sizes where it is best, or as an exact number.

The peak is the largest of formulas ``a*k + b/k + c`` in the length k. They are read at every real k, from the
least one they serve up to the count of iterations, and their maximum is made smallest. With other sizes open,
these are split by signs, each proved, until one length is best; where that is out of reach, it is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sympy import Integer

from symacct.algebra.budget import check_time, counted
from symacct.algebra.maxima import Contest
from symacct.algebra.normal import normal
from symacct.algebra.sparse import Ring
from symacct.algebra.symbols import symbol
from symacct.errors import LimitError, RuleError
from symacct.peaks.layers import layer_counts, structure
from symacct.planning.best_cells import Box
from symacct.planning.best_integer import length_name, replaced
from symacct.planning.best_number import best_number
from symacct.planning.best_points import curve
from symacct.planning.best_regions import Case, Regions
from symacct.policy import Checkpoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr, Symbol

    from symacct.account import Account
    from symacct.planning.best_integer import BestInteger
    from symacct.planning.best_points import Curve

PEAK = "memory.peak"
MOST_CURVES = 6
"""Up to how many formulas lengths are compared in sizes that are open."""
MOST_STEPS = 20_000_000
"""Steps of proofs about sizes that are open: products of terms, and entries of systems of inequalities."""


@dataclass(frozen=True, slots=True)
class Best:
    """The best real length of a segment.

    Attributes:
        quantity: the peak that is smallest.
        name: what the length is called.
        low: the least length that is looked at: the formulas serve from there on.
        high: the largest one, the count of iterations.
        cases: lengths with the sizes where they are best, None where none was derived.
        nothing_saved: the cases in which no length gives less than no checkpoints: proved.
        apart: least values of the length and of the number of segments for which the formulas are the peak.
        notes: what else a reader should know.
    """

    quantity: str
    name: str
    low: int
    high: Expr
    cases: tuple[Case, ...]
    nothing_saved: tuple[Case, ...]
    apart: tuple[int, int]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BestLength:
    """The best length of a segment by regions; and the best integer, where the sizes are bound."""

    best: Best
    integer: BestInteger | None = None


def best_segment(account: Account, quantity: str = PEAK) -> Best:
    """Return the best length of a segment over real lengths.

    Args:
        account: under checkpoint ``every:k`` with a name for the length; sizes may be bound.
        quantity: ``memory.peak`` or ``memory.activations.peak``.

    Raises:
        UsageError: the length has no name.
        RuleError: several repeats of different counts are cut, or a peak has other powers of the length.

    >>> from symacct import derive, load
    >>> found = best_segment(derive(load("mlp"), checkpoint="every:k"), "memory.activations.peak")
    >>> [(str(case.k), case.conditions) for case in found.cases]
    [('sqrt(L)', ())]
    """
    k = symbol(length_name(account))
    counts = list(dict.fromkeys(layer_counts(account.source)))
    if structure(account.source).several:
        raise RuleError(
            "layers of several kinds have no best length as a formula",
            expected="one repeat whose iterations are the layers",
            got="segments that go through bodies, or from repeat to repeat",
            fix="bind all sizes (--at), and every integer length is looked at",
        )
    if len(counts) != 1:
        got = ", ".join(map(str, counts))
        raise RuleError("repeats of different counts are cut alike", expected="one count", got=got)
    exprs = account.candidates(quantity)
    apart = _apart(account, quantity, k, counts[0])
    low, notes = _lowest(account, quantity, k, exprs, apart[0])
    curves = [curve(one, k) for one in exprs]
    plain = replaced(account, Checkpoint()).candidates(quantity)
    try:
        with counted(MOST_STEPS):
            cases = _cases(curves, k, (Integer(low), counts[0]), plain, apart)
    except RuleError as error:
        check_time()
        cases = ()
        notes = [
            *notes,
            f"no formula was derived with these sizes open: {error.what}; bind more sizes (--at)",
        ]
    nothing = tuple(case for case in cases if case.saves is False)
    return Best(quantity, str(k), low, counts[0], cases, nothing, apart, tuple(notes))


def _apart(account: Account, quantity: str, k: Symbol, count: Expr) -> tuple[int, int]:
    """Return from which length, and from how many segments on, the formulas are the peak."""
    least = {normal(k): 1, normal(count / k): 1}
    for one in account[quantity].when:
        if one.kind == "at_least" and one.left in least and one.right.is_Integer:
            least[one.left] = max(least[one.left], int(one.right))
    return least[normal(k)], least[normal(count / k)]


def _lowest(
    account: Account, quantity: str, k: Symbol, exprs: Sequence[Expr], least: int
) -> tuple[int, list[str]]:
    """Return the least length that the formulas are seen to serve, and what is known of smaller ones."""
    low = least
    while low > 1:
        own = replaced(
            account, Checkpoint("every", Integer(low - 1), (), account.policy.checkpoint.recompute)
        )
        own_exprs = own.candidates(quantity)
        here = [normal(one.xreplace({k: Integer(low - 1)})) for one in exprs]
        ring = Ring([*here, *own_exprs], {})
        if not Contest(ring, ()).same([ring.poly(e) for e in here], [ring.poly(e) for e in own_exprs]):
            break
        low -= 1
    own_ = "has formulas of its own and is not among these lengths"
    return low, [f"{k} = {size} {own_}" for size in range(1, low)]


def _cases(
    curves: Sequence[Curve],
    k: Symbol,
    ends: tuple[Expr, Expr],
    plain: Sequence[Expr],
    apart: tuple[int, int],
) -> tuple[Case, ...]:
    parts = [part for one in curves for part in (one.rise, one.fall, one.rest)]
    free = {s for part in (*parts, *plain, ends[1]) for s in part.free_symbols}
    if not free:
        return _number(curves, k, ends, plain)
    if len(curves) > MOST_CURVES:
        raise LimitError(f"the peak is the largest of {len(curves)} formulas, more than {MOST_CURVES}")
    least = {one: apart[0] * apart[1] if one == ends[1] else 1 for one in free}
    box = Box(least)
    for part in (*parts, *plain, ends[1]):
        if not box.covers(part):
            raise RuleError("a formula is no polynomial in the sizes", got=str(part)[:64])
    if any(box.factored(one.fall) not in ((0, ()), (1, ())) for one in curves):
        raise RuleError("a formula may grow more slowly for longer segments, so that it is not convex")
    regions = Regions(box, k, ends, plain)
    found = regions.cases(curves)
    if regions.open:
        raise RuleError("two formulas cross at a length that is no quotient of sizes")
    return found


def _number(
    curves: Sequence[Curve], k: Symbol, ends: tuple[Expr, Expr], plain: Sequence[Expr]
) -> tuple[Case, ...]:
    low, high = (Fraction(int(end)) for end in ends)
    found = best_number(curves, k, min(low, high), high)
    if found is None:
        raise RuleError("a formula is not convex in the length")
    at, top = found
    whole = at.of((_exact(top.rise), _exact(top.rest) - max(map(_exact, plain)), _exact(top.fall)))
    peak = normal(top.rise * at.expr + top.fall / at.expr + top.rest)
    return (Case(at.expr, (), (peak,), whole.sign < 0),)


def _exact(value: Expr) -> Fraction:
    return Fraction(int(value.p), int(value.q))
