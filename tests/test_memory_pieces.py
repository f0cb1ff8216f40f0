"""The algebra of peaks on random loops: its candidates against every turn written out."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from symacct.algebra.evaluate import evaluate
from symacct.algebra.sparse import Ring
from symacct.algebra.symbols import as_expr, symbol
from symacct.errors import RuleError
from symacct.peaks.folding import Event, Loop, Size
from symacct.peaks.pieces import Composer, rest_symbol
from symacct.peaks.turns import turn_symbol

B, D, N = symbol("B"), symbol("D"), symbol("N")
TURN, INNER = turn_symbol("outer"), turn_symbol("inner")
SAME = (B, D, 2 * B, B + D, B * D, 3 * D)
VARYING = (*SAME, B * (TURN + 1), D * (N - TURN), B * TURN, D * TURN**2 + D)


def event(made, dropped):
    """Return a step that makes and drops storages of these sizes."""
    makes, drops = (
        tuple(Size(as_expr(e), "float", "value", saved=False, name="x") for e in some)
        for some in (made, dropped)
    )
    return Event("op", "forward", runs=True, makes=makes, drops=drops)


def steps(sizes, most=3):
    """Return a strategy for some steps with sizes from a list."""
    some = st.lists(st.sampled_from(sizes), max_size=2)
    return st.lists(st.builds(event, some, some), min_size=1, max_size=most).map(tuple)


@st.composite
def loops(draw, sizes, counts):
    """Draw a loop with up to one turn apart at each end, and a loop inside of its body."""
    first, last = (draw(st.lists(steps(SAME, 2), max_size=1).map(tuple)) for _ in range(2))
    body = draw(steps(sizes))
    if draw(st.booleans()):
        inner = Loop("inner", draw(st.sampled_from(counts)), (), draw(steps(sizes, 2)), ())
        body = (*body[:1], inner, *body[1:])
    return Loop("outer", N, first, body, last)


def candidates(loop):
    """Return the ring and the candidates of a loop."""
    formulas = [B, D, N, *VARYING, N - TURN]
    turns = [f(name) for name in ("outer", "inner") for f in (turn_symbol, rest_symbol)]
    ring = Ring([*formulas, *turns], {N: loop.least})
    return ring, Composer(ring, lambda size: Fraction(1)).piece((loop,), {})


def levels(items, sizes):
    """Yield what each step makes, and what it drops."""
    for item in items:
        if isinstance(item, Event):
            yield (
                sum(evaluate(s.elements, sizes) for s in item.makes),
                sum(evaluate(s.elements, sizes) for s in item.drops),
            )
            continue
        count = int(evaluate(item.count, sizes))
        for turn in range(count):
            tail = turn - (count - len(item.last))
            part = item.first[turn] if turn < len(item.first) else item.last[tail] if tail >= 0 else item.body
            yield from levels(part, {**sizes, turn_symbol(item.name).name: turn})


def written_out(loop, sizes):
    """Return the peak and the net with every turn written out."""
    level = peak = 0
    for made, dropped in levels((loop,), sizes):
        peak = max(peak, level + made)
        level += made - dropped
    return peak, level


def compare(loop):
    ring, piece = candidates(loop)
    peaks, net = [ring.expr(poly) for poly in piece.peaks], ring.expr(piece.net)
    for b, d, more in product((1, 4), (1, 3), (0, 1, 4)):
        sizes = {"B": b, "D": d, "N": loop.least + more}
        peak, level = written_out(loop, sizes)
        assert (max(evaluate(e, sizes) for e in peaks), evaluate(net, sizes)) == (peak, level), sizes


@settings(max_examples=40, deadline=None)
@given(loops(SAME, (as_expr(2), N)))
def test_turns_that_are_alike(loop):
    compare(loop)


@settings(max_examples=40, deadline=None)
@given(loops(VARYING, (as_expr(2), N, TURN + 1, N - TURN)))
def test_turns_that_grow_or_shrink(loop):
    try:
        candidates(loop)
    except RuleError:  # the level rises and falls again, and is said to
        reject()
    compare(loop)


def turns_of(made, dropped):
    """Return a loop whose turns make and drop storages of these sizes."""
    return Loop("outer", N, (), (event(made, dropped),), ())


def test_a_level_that_rises_more_and_more_slowly_is_highest_at_its_end():
    """Each turn keeps as much as there are turns to come, itself among them, and makes B for a while."""
    loop = turns_of([D * (N - TURN), B], [B])
    compare(loop)
    ring, piece = candidates(loop)
    assert [str(ring.expr(poly).expand()) for poly in piece.peaks] == ["B + D*N**2/2 + D*N/2"]


def test_a_level_that_rises_and_falls_is_refused():
    """It rises by less each turn, and after half of the turns it falls."""
    with pytest.raises(RuleError, match="rises and falls again"):
        candidates(turns_of([D * (N - TURN)], [D * TURN]))
