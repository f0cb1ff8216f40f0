"""What stands beside a claim on a sheet: all its conditions, how sizes grow, a verdict that was reached."""

from __future__ import annotations

from pathlib import Path

import pytest

from symacct.readers.stated import Stated
from symacct.sheet.data import Section, Sheet
from symacct.sheet.from_claims import Claims
from symacct.sheet.plain import text_of

PEAK = "memory.peak = 4 byte*((L/k + k + 1)*B*D + (L + k)*D^2) + 8 byte if B >= k*D"
DEVICES = {"calc": "8 * 80 GB / (12 byte/param)", "to": "param", "claim": ""}


def shown(*stated):
    claims = Claims()
    rows = [claims.row(one, Path()) for one in stated]
    text = text_of(Sheet("", "", (Section("", tuple(rows)),)), 400)
    return rows, " ".join(text.split()), claims


def claim(text, **more):
    return Stated("one", "one", **{"claim": text, "expect": "proved", **more})


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("stated", "conditions"),
    [
        (
            claim(PEAK, graph="mlp", choices=(("precision", "fp32"), ("checkpoint", "every:k"))),
            ["B >= k*D", "L/k >= 2", "k | L"],
        ),
        (claim("memory.activations >= 18*b*s*h*L if s >= 2", graph="gpt"), ["s >= 2", "a | h"]),
        (
            claim("params = 12*L*h^2 + 13*L*h + s*h + 2*h + 4*h^2", graph="gpt", assume=("V = 4*h",)),
            ["V = 4*h", "a | h"],
        ),
    ],
    ids=["a region", "a least value", "an assumption"],
)
def test_conditions_of_the_derivation_stand_beside_those_of_the_claim(stated, conditions):
    """Without them the formula is false: at B = 8, D = 2, L = k = 2 the first is 328 against 312."""
    (row,), text, _ = shown(stated)
    assert row.mark == "proved"
    assert all(text.count(condition) == 1 for condition in conditions if condition != "s >= 2")
    assert len(row.holds) == len(set(map(str, row.holds)))
    assert all(condition in text for condition in conditions)


def test_sizes_that_grow_together_keep_their_proportion():
    """n/m has no bound of its own, so that nothing is proved of it."""
    (row,), text, _ = shown(claim("n*m + n^2 = O(n*m)"))
    assert row.mark == "undecided"
    (row,), text, _ = shown(claim("n*m + n = O(n*m)"))
    assert row.mark == "proved"
    assert "as m , n -> oo in fixed proportion" in text.replace("m,", "m ,")
    assert "proportion" not in shown(claim("n + 1 ~ n"))[1]


@pytest.mark.parametrize(
    ("more", "mark", "words"),
    [
        ({"value": "53e9", "within": "1 %", "expect": "proved"}, "computed", "computed 53.3e9 param"),
        ({"value": "50e9", "within": "1 %", "expect": "refuted"}, "refuted", "refuted 50e9 param"),
        ({"value": "53e9", "within": "1 %", "expect": "reported"}, "reported", "reported 53e9 param"),
        ({"value": "53,333,333,333", "within": "1 %", "expect": "proved"}, "refused", "a comma stands"),
        ({"value": "53e9", "within": "one percent", "expect": "proved"}, "refused", "unknown name 'one'"),
    ],
)
def test_a_calculation_is_refuted_only_where_it_was_judged(more, mark, words):
    (row,), text, _ = shown(Stated("one", "one", **{**DEVICES, **more}))
    assert row.mark == mark
    assert words in text


def test_each_claim_is_shown_with_the_account_of_its_own_choices():
    """The first claim's account has no backward pass at all."""
    rows, text, _ = shown(
        claim("flops.forward = 2*B*D*K", graph="linear", choices=(("workload", "forward"),)),
        claim("flops.backward = 3*B*D*K", graph="linear", expect="refuted"),
    )
    assert [row.mark for row in rows] == ["proved", "refuted"]
    assert "right: 2*B*D*K [FLOP]" in text


def test_what_is_refused_stands_as_it_was_written():
    rows, text, claims = shown(claim("1/0 = 1"), claim("6*B*D*byte = 2", graph="linear"))
    assert [row.mark for row in rows] == ["refused", "refused"]
    assert "6*B*D*byte = 2" in text
    assert len(claims.differs) == 2


def test_a_size_that_is_called_like_a_unit_is_said_to_be_one():
    (row,), text, _ = shown(claim("2s + s = 4*s"))
    assert row.mark == "refuted"
    assert "s: a size, not a unit" in text
    (row,), text, _ = shown(claim("1 day = 86400 s"))
    assert row.mark == "proved"
