"""The kernel: every rule with a good certificate, each way to spoil it refused; alone, and within bounds."""

from __future__ import annotations

import ast
import copy
import json
import random
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from symacct import kernel
from symacct.cli.main import main

FOLDER = Path(kernel.__file__).parent
B, D, L, K, S, T, N = (["var", name] for name in ("B", "D", "L", "K", "S", "T", "N"))
SHIFT = {"kind": "shift"}
MINUS = ["+", B, ["*", "-1", D]]


def sealed(statement, proof, hypotheses=(), variables="B D L", ledger=None, **lower):
    data = {
        "format": kernel.FORMAT,
        "statement": statement,
        "variables": {name: lower.get(name, "1") for name in variables.split()},
        "hypotheses": list(hypotheses),
        "proof": {"uses": {}, **proof},
    }
    data |= {"ledger": ledger} if ledger else {}
    return {**data, "digest": kernel.digest(data)}


def said(left, relation, right, *growing):
    grows = {"growing": list(growing)} if growing else {}
    return {"relation": relation, "left": left, "right": right, **grows}


def refuted(left, relation, right, *growing):
    return {"relation": "refuted", "claim": said(left, relation, right, *growing)}


def resealed(certificate, change):
    new = copy.deepcopy(certificate)
    change(new)
    new["digest"] = kernel.digest(new)
    return new


def refuses(certificate, why):
    with pytest.raises(kernel.Refused, match=why):
        kernel.check(certificate)


H1 = {"name": "h1", "kind": "equal", "left": T, "right": S}
ROW = {
    "label": "up", "of": "up", "phase": "forward", "kind": "contraction", "primitive": "fma",
    "ranges": [["i", "0", L]], "price": "2", "count": ["*", B, D, K], "total": ["*", "2", B, D, K, L],
    "axes": {"left": ["b", "d"], "right": ["d", "k"], "out": ["b", "k"], "sizes": {"b": B, "d": D, "k": K}},
}  # fmt: skip
OTHER = {
    "label": "act", "of": "act", "phase": "forward", "kind": "elementwise", "primitive": "relu",
    "ranges": [["i", "0", L]], "price": "1", "count": ["+", B, ["var", "i"]],
    "total": ["+", ["*", B, L], ["/", ["*", L, ["+", L, "-1"]], "2"]],
}  # fmt: skip
SUM = ["sum", "i", "0", L, ["*", "1", ["+", B, ["var", "i"]]]]
FORM = ["+", ["*", B, ["var", "i"]], ["/", ["*", ["var", "i"], ["+", ["var", "i"], "-1"]], "2"]]
LEDGER = {"graph": "g", "quantity": "flops.forward", "rows": [ROW, OTHER]}
WHOLE = ["+", ROW["total"], OTHER["total"]]

GOOD = {
    "identity": sealed(said(["*", B, ["+", D, "1"]], "=", ["+", ["*", B, D], B]), {"rule": "identity"}),
    "fraction": sealed(
        said(["/", ["+", ["^", B, "2"], ["*", "-1", ["^", D, "2"]]], ["+", B, D]], "=", MINUS),
        {"rule": "identity"},
    ),
    "definition": sealed(
        said(["*", S, T], "=", ["^", S, "2"]),
        {"rule": "identity", "uses": {"h1": "substitution"}, "example": {"S": "2", "T": "2"}},
        [H1],
        "S T",
    ),
    "sum": sealed(
        said(SUM, "=", OTHER["total"]), {"rule": "identity", "closed": [{"sum": SUM, "form": FORM}]}
    ),
    "shift": sealed(said(["*", B, D], ">=", D), {"rule": "nonnegative", "witness": SHIFT}),
    "strict": sealed(said(["+", ["*", B, D], "1"], ">", D), {"rule": "nonnegative", "witness": SHIFT}),
    "square": sealed(
        said(["*", "2", B, D], "<=", ["+", ["^", B, "2"], ["^", D, "2"]]),
        {"rule": "nonnegative", "witness": {"kind": "sum", "terms": [{"factors": [{"square": MINUS}]}]}},
    ),
    "roots": sealed(
        said(["+", ["/", L, B], B], ">=", ["*", "2", ["sqrt", L]]),
        {
            "rule": "nonnegative",
            "witness": {
                "kind": "sum",
                "terms": [
                    {"times": ["/", "1", B], "factors": [{"square": ["+", ["sqrt", L], ["*", "-1", B]]}]}
                ],
            },
        },
    ),
    "cases": sealed(
        said(["max", B, D], "<=", ["+", B, D]),
        {"rule": "nonnegative", "witness": {"kind": "cases", "atom": ["max", B, D], "each": [SHIFT, SHIFT]}},
    ),
    "linear": sealed(
        said(["/", ["+", B, D], "2"], "<=", ["max", B, D]),
        {
            "rule": "nonnegative",
            "witness": {
                "kind": "sum",
                "scale": "2",
                "terms": [{"factors": [{"atom": ["max", B, D], "side": side}]} for side in "01"],
            },
        },
    ),
    "fact": sealed(
        said(["*", B, L], ">=", ["*", D, L]),
        {
            "rule": "nonnegative",
            "uses": {"h1": "fact"},
            "example": {"B": "2", "D": "1", "L": "1"},
            "witness": {"kind": "sum", "terms": [{"times": L, "factors": [{"hypothesis": "h1"}]}]},
        },
        [{"name": "h1", "kind": "at_least", "left": B, "right": D}],
    ),
    "both": sealed(
        said(["max", B, "1"], "=", B),
        {
            "rule": "both",
            "below": {"kind": "cases", "atom": ["max", B, "1"], "each": [SHIFT, SHIFT]},
            "above": {"kind": "sum", "terms": [{"factors": [{"atom": ["max", B, "1"], "side": "0"}]}]},
        },
        variables="B",
    ),
    "rate": sealed(
        said(["+", ["*", "6", B, L], ["*", "-2", B]], "~", ["*", "6", B, L], "L"),
        {
            "rule": "rate", "constant": ["/", "1", "3"], "over": [L], "from": {"L": "2"},
            "below": SHIFT, "above": SHIFT,
        },
        variables="B L",
    ),
    "root rate": sealed(
        said(["+", L, ["sqrt", L]], "~", L, "L"),
        {
            "rule": "rate", "constant": "1", "over": [["sqrt", L]], "from": {},
            "below": SHIFT, "above": SHIFT,
        },
        variables="L",
    ),
    "order": sealed(
        said(["+", ["*", "6", B, L], ["*", "-2", B]], "O", L, "L"),
        {"rule": "constants", "constant": ["*", "6", B], "from": {}, "below": SHIFT, "above": SHIFT},
        variables="B L",
    ),
    "theta": sealed(
        said(["+", ["*", "6", B, L], ["*", "-2", B]], "Theta", L, "L"),
        {
            "rule": "constants", "constant": ["*", "6", B], "from": {}, "below": SHIFT, "above": SHIFT,
            "least": ["*", "4", B], "witness": SHIFT,
        },
        variables="B L",
    ),
    "elsewhere": sealed(
        refuted(["*", "8", B, L], "~", ["*", "6", B, L], "L"),
        {
            "rule": "rate", "factor": ["/", "4", "3"], "constant": "0", "over": [L], "from": {},
            "below": SHIFT, "above": SHIFT,
        },
        variables="B L",
    ),
    "growth": sealed(
        refuted(["*", B, ["^", L, "2"]], "O", L, "L"),
        {"rule": "growth", "constant": B, "over": [L], "from": {}, "witness": SHIFT},
        variables="B L",
    ),
    "point": sealed(
        refuted(["*", B, D], "=", B), {"rule": "point", "point": {"B": "1", "D": "2"}}, variables="B D"
    ),
    "ledger": sealed(
        said(WHOLE, "=", WHOLE),
        {"rule": "identity", "closed": [{"sum": SUM, "form": FORM}]},
        variables="B D K L",
        ledger=LEDGER,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_good(name):
    """Each good certificate is accepted, from its JSON text too."""
    lines = kernel.check(kernel.load(json.dumps(GOOD[name]).encode()))
    assert lines[0]


def test_the_theorem_comes_back_in_words():
    """Sizes, hypotheses, rule and what was not checked all stand in the answer."""
    assert kernel.check(GOOD["definition"]) == [
        "S*T = S^2",
        "for all integers S >= 1, T >= 1",
        "given h1: T = S (used as substitution)",
        "by the rule identity",
    ]
    assert kernel.check(GOOD["rate"])[-1] == "by the rule rate: |left/right - 1| <= 1/3*(1/L) for L >= 2"
    assert kernel.check(GOOD["ledger"])[-3:] == [
        'not checked: that the ledger is the model you meant ("flops.forward" of "g")',
        "not checked: the prices of the counts",
        'not checked: the count of "relu" for "elementwise" (1 row)',
    ]


def put(*path):
    """Return a change: the last item is put at the path before it."""
    *keys, last, value = path

    def change(data):
        for key in keys:
            data = data[key]
        data[last] = value

    return change


SPOILED = [
    ("identity", put("statement", "right", ["+", ["*", B, D], D]), "the two sides differ"),
    ("identity", put("statement", "relation", "<="), "an identity proves = only"),
    ("identity", put("statement", "left", ["*", B, ["var", "X"]]), '"X" is not declared'),
    ("identity", put("statement", "left", ["/", B, ["+", B, ["*", "-1", D]]]), "a divisor is not seen"),
    ("identity", put("variables", {"B": "1", "D": "-1"}), "a bound of at least 0"),
    ("identity", put("proof", "rule", "magic"), '"magic" is no rule'),
    ("identity", put("proof", "extra", "1"), "not known"),
    ("identity", put("format", "symacct-certificate/0"), "the format"),
    ("fraction", put("variables", "B", "0"), None),
    ("definition", put("hypotheses", 0, "right", ["+", S, "1"]), "does not hold at the point"),
    ("definition", put("proof", "uses", {}), "the two sides differ"),
    ("definition", put("proof", "uses", {"h2": "substitution"}), "not stated"),
    ("definition", put("proof", "example", {"S": "2", "T": "3"}), "h1 does not hold"),
    ("definition", put("statement", said(T, "=", S)), "h1 is what is to be proved"),
    ("definition", put("statement", said(["*", "2", S], "=", ["*", "2", T])), "h1 is what is to be proved"),
    ("definition", put("hypotheses", 0, "right", ["+", T, "0"]), "the definitions are circular"),
    ("sum", put("proof", "closed", 0, "form", ["*", B, ["var", "i"]]), "the closed form over i is wrong"),
    ("sum", put("proof", "closed", []), "no closed form"),
    ("shift", put("statement", "right", ["*", "2", D]), "wrong sign"),
    ("shift", put("variables", "B", "0"), "wrong sign"),
    ("shift", put("statement", "relation", ">"), "wrong sign"),
    ("strict", put("statement", "left", 1, ["*", B, "0"]), "wrong sign"),
    ("square", put("statement", "left", 1, "3"), "wrong sign"),
    ("square", put("proof", "witness", "terms", 0, "times", "-1"), "weight of a term"),
    ("square", put("proof", "witness", "terms", 0, "times", "2"), "wrong sign"),
    ("square", put("proof", "witness", "scale", "0"), "the scale of a witness"),
    ("roots", put("statement", "right", 1, "3"), "wrong sign"),
    ("cases", put("proof", "witness", "each", [SHIFT]), "cases are those"),
    ("cases", put("statement", "right", B), "wrong sign"),
    ("linear", put("proof", "witness", "terms", 1, "factors", 0, "side", "2"), "no such side"),
    ("linear", put("proof", "witness", "terms", 1, "times", "-1"), "weight of a term"),
    ("linear", put("statement", "left", 1, ["+", B, D, "1"]), "wrong sign"),
    ("fact", put("proof", "uses", {}), "no inequality in use"),
    ("fact", put("hypotheses", 0, "right", ["*", "2", B]), "h1 does not hold"),
    ("both", put("proof", "above", SHIFT), "wrong sign"),
    ("rate", put("proof", "constant", ["/", "1", "4"]), "wrong sign"),
    ("rate", put("proof", "constant", L), "depends on what grows"),
    ("rate", put("proof", "constant", ["sqrt", L]), "depends on what grows"),
    ("rate", put("proof", "over", [B]), "made of what grows"),
    ("rate", put("statement", "left", 1, 1, "7"), "wrong sign"),
    ("rate", put("statement", "growing", []), "nothing grows"),
    ("rate", put("proof", "factor", "2"), "not known"),
    ("order", put("proof", "constant", "6"), "wrong sign"),
    ("theta", put("proof", "least", ["*", "5", B]), "wrong sign"),
    ("theta", put("proof", "least", "0"), "not seen to be positive"),
    ("elsewhere", put("proof", "factor", "1"), "wrong sign|something else"),
    ("elsewhere", put("statement", "claim", "left", 1, "6"), "wrong sign"),
    ("growth", put("statement", "claim", "left", ["*", B, L]), "wrong sign"),
    ("growth", put("proof", "constant", "0"), "not seen to be positive"),
    ("point", put("proof", "point", "D", "1"), "not seen to be false at this point"),
    ("point", put("proof", "point", "D", "0"), "out of bounds"),
    ("point", put("proof", "point", {"B": "1"}), "give each size a value"),
    ("ledger", put("ledger", "rows", 0, "count", ["*", B, D]), "another count than its axes"),
    ("ledger", put("ledger", "rows", 0, "axes", "sizes", "k", D), "another count than its axes"),
    ("ledger", put("ledger", "rows", 0, "axes", "out", ["b", "x"]), "do not agree"),
    ("ledger", put("ledger", "rows", 0, "price", "3"), "does not make its total"),
    ("ledger", put("ledger", "rows", 0, "price", B), "a price is a number"),
    ("ledger", put("ledger", "rows", 0, "ranges", [["i", "1", L]]), "does not make its total"),
    ("ledger", put("ledger", "rows", [ROW]), "do not add up"),
    ("ledger", put("ledger", "rows", [ROW, OTHER, OTHER]), "do not add up"),
    ("ledger", put("ledger", "rows", 0, "kind", "elementwise"), "only a contraction has axes"),
    ("ledger", put("ledger", "rows", 0, "label", 3), "labels"),
    ("ledger", put("ledger", "rows", 0, "ranges", [["i", "0", "1"]] * 2000), "too many ranges"),
    ("ledger", put("ledger", "rows", 0, "ranges", [["i", "0", L, "1"]]), "an index and two ends"),
    ("ledger", put("ledger", "rows", 0, "ranges", [["i", L, "0"]]), "may end before it starts"),
    ("ledger", put("ledger", "rows", 0, "price", ["/", "1", "0"]), "a divisor"),
    ("ledger", put("ledger", "rows", 0, "price", "1/0"), "no integer"),
    ("ledger", put("ledger", "rows", 0, "axes", "left", ["b", "b", "d"]), "twice in one operand"),
    ("ledger", put("ledger", "rows", 0, "axes", "left", ["b", ["d"]]), "an axis is a word"),
    ("ledger", put("ledger", "rows", 0, "axes", "sizes", "x", B), "do not agree"),
    ("ledger", put("ledger", "rows", 0, "primitive", "relu"), "only a contraction has axes"),
]


@pytest.mark.parametrize(
    ("name", "change", "why"), SPOILED, ids=[f"{n}-{i}" for i, (n, *_) in enumerate(SPOILED)]
)
def test_spoiled(name, change, why):
    """A spoiled certificate is refused though its digest fits, and without a new digest too."""
    spoiled = resealed(GOOD[name], change)
    if why is None:
        kernel.check(spoiled)
    else:
        refuses(spoiled, why)
    if {**spoiled, "proof": 0, "digest": 0} != {**GOOD[name], "proof": 0, "digest": 0}:
        refuses({**spoiled, "digest": GOOD[name]["digest"]}, "the digest does not fit|the format")


@pytest.mark.parametrize("name", GOOD)
def test_each_field_is_needed(name):
    """Without any one field a certificate is refused, and never fails otherwise."""
    for path in paths(GOOD[name]):
        new = copy.deepcopy(GOOD[name])
        holder = new
        for key in path[:-1]:
            holder = holder[key]
        if not isinstance(holder, dict) or path[-1] in {"text", "axes", "times", "digest"}:
            continue
        unused = path[0] == "variables" and path[1:] and path[-1] not in kernel.variables(said_in(new))
        if path == ("ledger",) or unused:
            continue
        del holder[path[-1]]
        new["digest"] = kernel.digest(new)
        if path[0] == "proof" and path[1:2] == ("from",) and len(path) == 3:
            continue  # a lower threshold may do as well
        with pytest.raises(kernel.Refused):
            kernel.check(new)


def said_in(certificate):
    statement = certificate["statement"]
    claim = statement.get("claim", statement)
    return [claim["left"], claim["right"]]


def paths(value, path=()):
    if path:
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield from paths(part, (*path, key))


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "junk", [None, True, 1, [], {}, "", "01", "+1", "-0", "1.0", ["var"], ["var", ["B"]], [["+"]]]
)
def test_junk_is_refused_wherever_it_stands(junk):
    """Whatever stands in the place of any part, the kernel refuses or accepts; it never fails."""
    draw = random.Random(5)
    for certificate in GOOD.values():
        every = list(paths({k: v for k, v in certificate.items() if k != "digest"}))
        for path in draw.sample(every, min(25, len(every))):
            new = resealed(certificate, put(*path, copy.deepcopy(junk)))
            try:
                kernel.check(new)
            except kernel.Refused:
                continue


# ---- traps ----


def test_a_slack_that_moves_is_no_constant():
    """With B >= L, what B has above L depends on L, so that it bounds nothing in the limit."""
    hypothesis = {"name": "h1", "kind": "at_least", "left": B, "right": L}
    proof = {
        "rule": "constants", "uses": {"h1": "substitution"}, "example": {"B": "1", "L": "1"},
        "constant": B, "from": {}, "below": SHIFT, "above": SHIFT,
    }  # fmt: skip
    refuses(sealed(said(["*", L, L], "O", L, "L"), proof, [hypothesis], "B L"), "no large sizes")


def test_a_scale_may_not_vanish():
    """A factor that is 0 at the corner would prove -1 >= 0 there with a hypothesis of the opposite sign."""
    hypothesis = {"name": "h1", "kind": "at_least", "left": "0", "right": N}
    witness = {"kind": "sum", "scale": N, "terms": [{"factors": [{"hypothesis": "h1"}]}]}
    proof = {"rule": "nonnegative", "uses": {"h1": "fact"}, "example": {"N": "0"}, "witness": witness}
    refuses(sealed(said("-1", ">=", "0"), proof, [hypothesis], "N", N="0"), "the scale of a witness")


def test_hypotheses_that_cannot_hold_prove_nothing():
    """An example is asked for, so that nothing follows from a contradiction."""
    hypothesis = {"name": "h1", "kind": "equal", "left": B, "right": "0"}
    proof = {"rule": "identity", "uses": {"h1": "substitution"}, "example": {"B": "1"}}
    refuses(
        sealed(said(["*", B, B], "=", ["*", "2", B]), proof, [hypothesis], "B"),
        "h1 does not hold",
    )


def test_a_limit_is_not_refuted_where_sizes_are_capped():
    """With 10 >= L there are no large L, and a claim about them is empty, not false."""
    hypothesis = {"name": "h1", "kind": "at_least", "left": "10", "right": L}
    proof = {
        "rule": "growth", "uses": {}, "example": {"L": "1"}, "constant": "1", "over": [L], "from": {},
        "witness": SHIFT,
    }  # fmt: skip
    refuses(sealed(refuted(["^", L, "2"], "O", L, "L"), proof, [hypothesis], "L"), "no large sizes")


def test_an_index_is_not_a_size():
    """An index hides nothing, its range does not run backwards, and its bound ends with it."""
    for index, lo, hi, why in (("B", "0", L, "not a new name"), ("i", "0", ["+", L, "-2"], "end before")):
        whole = ["sum", index, lo, hi, "1"]
        refuses(sealed(said(whole, "=", whole), {"rule": "identity"}), why)
    inside = ["sum", "i", "1", L, ["/", B, B]]
    refuses(sealed(said(["+", inside, ["var", "i"]], "=", L), {"rule": "identity"}), '"i" is not declared')


def test_quotients_are_whole():
    """With K dividing L, ceil(L/K) is L/K; without it, it is not."""
    claim = said(["*", K, ["ceil", ["/", L, K]]], "=", L)
    hypothesis = {"name": "h1", "kind": "divides", "left": K, "right": L}
    proof = {"rule": "identity", "uses": {"h1": "substitution"}, "example": {"K": "2", "L": "4"}}
    assert kernel.check(sealed(claim, proof, [hypothesis], "K L"))
    refuses(sealed(claim, {"rule": "identity"}, (), "K L"), "the two sides differ")
    root = ["sqrt", ["*", K, L]]
    refuses(sealed(said(["ceil", root], "=", root), proof, [hypothesis], "K L"), "the two sides differ")
    proof = {**proof, "rule": "nonnegative", "witness": SHIFT}
    assert kernel.check(sealed(said(L, ">=", K), proof, [hypothesis], "K L"))
    refuses(sealed(said(L, ">=", ["*", "2", K]), proof, [hypothesis], "K L"), "wrong sign")


def test_an_atom_without_names_is_no_number():
    """A root of 2 and a max of numbers are variables: no rounding and no range is read off them."""
    for atom in (["sqrt", "2"], ["max", "1", "2"]):
        refuses(sealed(said(["ceil", atom], "=", "0"), {"rule": "identity"}), "the two sides differ")
    low = ["+", "5", ["*", "-1", ["floor", ["sqrt", "2"]]]]
    whole = ["sum", "i", low, ["+", low, L], ["/", "1", ["+", ["var", "i"], "-4"]]]
    refuses(sealed(said(whole, "=", whole), {"rule": "identity"}), "a divisor is not seen")


def exact(expr, point, meter=None):
    """Return the value of an expression where it is exact."""
    low, high = kernel.value_at(expr, point, meter or kernel.Meter())
    assert low == high
    return low


def test_exact_at_a_point():
    """Floors, ceilings, extremes, roots and sums have exact values; an inexact root has two close ends."""
    expr = ["+", ["floor", ["/", B, "2"]], ["ceil", ["/", B, "2"]], ["max", B, "9"], ["min", B, "9"]]
    expr = [*expr, ["sqrt", ["+", B, "-1"]], ["sum", "i", "0", B, ["var", "i"]], ["^", B, "3"], ["^", B, "0"]]
    assert exact(expr, {"B": Fraction(5)}, kernel.Meter()) == 2 + 3 + 9 + 5 + 2 + 10 + 125 + 1
    low, high = kernel.value_at(["sqrt", B], {"B": Fraction(5)}, kernel.Meter())
    assert low**2 < 5 < high**2
    assert high - low < Fraction(1, 10**40)


# ---- what grows, and what is tied to it ----

AT_LEAST = {"name": "h1", "kind": "at_least"}
MOST = {"rule": "constants", "from": {}, "below": SHIFT, "above": SHIFT}


def by_fact(times="1", factor=("hypothesis", "h1")):
    return {"kind": "sum", "terms": [{"times": times, "factors": [dict([factor])]}]}


@pytest.mark.parametrize(
    "hypothesis",
    [
        {"name": "h1", "kind": "equal", "left": T, "right": L},
        {"name": "h1", "kind": "equal", "left": L, "right": T},
        {"name": "h1", "kind": "equal", "left": ["*", T, T], "right": ["max", L, "1"]},
        {**AT_LEAST, "left": T, "right": L},
        {**AT_LEAST, "left": ["*", "2", T], "right": ["+", T, L]},
        {"name": "h1", "kind": "divides", "left": L, "right": T},
    ],
)
@pytest.mark.parametrize("way", [{}, {"h1": "fact"}])
def test_a_size_tied_to_what_grows_is_no_constant(hypothesis, way):
    """With T = L, T*L is no O(L), whether the proof uses the hypothesis or leaves it aside."""
    proof = {**MOST, "uses": way, "example": {"T": "1", "L": "1"}, "constant": T}
    claim = said(["*", T, L], "O", L, "L")
    refuses(sealed(claim, proof, [hypothesis], "T L"), "depends on what grows|no large sizes")
    name = {**hypothesis, "left": ["var", "T", "T"]}
    refuses(sealed(claim, {**proof, "uses": {}}, [name], "T L"), "a variable has one name|depends on")


def test_ties_have_no_order():
    """With N = T and T >= L, N moves too, and so does what a definition of T leaves open."""
    ties = [
        {"name": "h2", "kind": "equal", "left": N, "right": T},
        {**AT_LEAST, "left": T, "right": L},
    ]
    proof = {**MOST, "example": dict.fromkeys("NTLD", "1"), "constant": N}
    claim = said(["*", N, L], "O", L, "L")
    for hypotheses in (ties, ties[::-1]):
        refuses(sealed(claim, proof, hypotheses, "N T L D"), "no large sizes")
    slack = {"name": "h0", "kind": "at_least", "left": T, "right": D}
    proof |= {"constant": T, "uses": {"h0": "substitution"}}
    refuses(sealed(said(["*", T, L], "O", L, "L"), proof, [slack, ties[1]], "N T L D"), "no large sizes")
    slack = {**slack, "right": N}
    twice = [slack, {**ties[0], "right": L}]
    refuses(sealed(said(["*", T, L], "O", L, "L"), proof, twice, "N T L D"), "no large sizes")


@pytest.mark.parametrize(
    "hypothesis",
    [
        {**AT_LEAST, "left": L, "right": T},
        {"name": "h1", "kind": "divides", "left": T, "right": L},
        {"name": "h1", "kind": "equal", "left": T, "right": N},
    ],
)
def test_what_leaves_large_sizes_ties_nothing(hypothesis):
    """With L >= T, or T dividing L, or T = N, there are large L to every T."""
    proof = {**MOST, "example": dict.fromkeys("TLN", "1"), "constant": T}
    assert kernel.check(sealed(said(["*", T, L], "O", L, "L"), proof, [hypothesis], "T L N"))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("10", L),
        (L, ["^", L, "2"]),
        (["/", "1", L], ["/", "1", "10"]),
        (["max", ["+", "3", ["*", "-1", L]], "1"], "2"),
    ],
)
def test_a_fact_may_not_cap_what_grows(left, right):
    """What holds for small L only would prove anything in the limit."""
    proof = {**MOST, "uses": {"h1": "fact"}, "example": {"L": "1"}, "constant": "10", "below": by_fact()}
    refuses(
        sealed(said(L, "O", "1", "L"), proof, [{**AT_LEAST, "left": left, "right": right}], "L"), "no large"
    )


def test_a_bound_may_not_cap_what_grows():
    """With T = 10 - L, the bound of T holds for small L only."""
    hypothesis = {"name": "h1", "kind": "equal", "left": T, "right": ["+", "10", ["*", "-1", L]]}
    proof = {
        **MOST, "uses": {"h1": "substitution"}, "example": {"T": "1", "L": "9"}, "constant": "9",
        "below": by_fact(factor=("bound", "T")),
    }  # fmt: skip
    refuses(sealed(said(L, "O", "1", "L"), proof, [hypothesis], "T L"), "h1 might leave no large")


def test_a_fact_of_large_sizes_is_a_fact():
    """L*D >= B is of use in a limit, and so is the bound of what grows."""
    hypothesis = {**AT_LEAST, "left": ["*", L, D], "right": B}
    proof = {**MOST, "uses": {"h1": "fact"}, "example": dict.fromkeys("BDL", "1"), "constant": D}
    proof["below"] = by_fact()
    assert kernel.check(sealed(said(B, "O", L, "L"), proof, [hypothesis]))
    proof = {**MOST, "constant": "1", "below": by_fact(factor=("bound", "L"))}
    assert kernel.check(sealed(said("1", "O", L, "L"), proof, variables="L"))


# ---- what the arithmetic means ----


def lower(expr):
    return ["+", expr, "-1"]


TELESCOPE = ["sum", "i", "1", L, ["/", "1", ["*", ["var", "i"], ["+", ["var", "i"], "1"]]]]
FROM_0 = ["sum", "i", "0", L, ["/", "1", ["*", ["+", ["var", "i"], "1"], ["+", ["var", "i"], "2"]]]]
TRUE = [
    (FROM_0, ["+", "1", ["*", "-1", ["/", "1", ["+", L, "1"]]]]),
    (["floor", ["/", "5", "2"]], "2"),
    (["ceil", ["/", "-5", "2"]], "-2"),
    (["/", B, "-2"], ["*", ["/", "-1", "2"], B]),
    (["/", B, ["*", "-1", D]], ["*", "-1", ["/", B, D]]),
    (["^", B, "0"], "1"),
    (["sqrt", ["^", B, "2"]], B),
    (["sqrt", ["^", B, "4"]], ["^", B, "2"]),
    (["sqrt", ["*", "8", ["^", B, "3"]]], ["*", B, ["sqrt", "8"], ["sqrt", B]]),
    (["sqrt", ["/", "4", "9"]], ["/", "2", "3"]),
    (["sqrt", "0"], "0"),
    (["^", ["sqrt", ["+", B, D]], "5"], ["*", ["^", ["+", B, D], "2"], ["sqrt", ["+", B, D]]]),
    (TELESCOPE, ["+", "1", ["*", "-1", ["/", "1", L]]]),
    (["sum", "i", "0", L, ["/", D, B]], ["/", ["*", D, L], B]),
    (["sum", "i", "-2", L, B], ["*", B, ["+", L, "2"]]),
]


@pytest.mark.parametrize(("left", "right"), TRUE, ids=[kernel.infix(left) for left, _ in TRUE])
def test_true_identities(left, right):
    """What an expression stands for, exactly; one more, twice and nothing are refused."""
    closed = [
        {"sum": TELESCOPE, "form": ["/", "-1", ["var", "i"]]},
        {"sum": FROM_0, "form": ["/", "-1", ["+", ["var", "i"], "1"]]},
    ]
    proof = {"rule": "identity", "closed": closed}
    assert kernel.check(sealed(said(left, "=", right), proof))
    for wrong in (["+", right, "1"], ["*", "-1", right], ["*", "2", right]):
        if right != "0" or wrong[0] == "+":
            refuses(sealed(said(left, "=", wrong), proof), "the two sides differ")


@pytest.mark.parametrize(
    ("expr", "why"),
    [
        (["floor", B, D], "other operands"),
        (["sqrt", B, D], "other operands"),
        (["/", B, D, L], "other operands"),
        (["^", B, "2", "3"], "an exponent"),
        (["^", B, "-1"], "an exponent"),
        (["^", B, "65"], "an exponent"),
        ("\u0664", "no integer"),
        ("--4", "no integer"),
        (["mod", B, D], "other operands|no such operation"),
        (["sqrt", ["+", B, "-2"]], "under a root"),
        (["sqrt", "-4"], "under a root"),
        (["/", "1", "0"], "a divisor"),
        (["sum", "i", "1", L], "a sum has"),
        (["sum", "i", "0", ["/", L, "2"], B], "does not end at integers"),
        (["sum", "i", "-1", L, ["/", "1", ["+", ["var", "i"], "1"]]], "a divisor"),
        (["sum", "i", "0", L, ["/", "1", ["var", "i"]]], "a divisor"),
    ],
)
def test_no_expression(expr, why):
    """What has no value for some size, or no meaning, is refused."""
    refuses(sealed(said(expr, "=", expr), {"rule": "identity"}), why)


def test_the_shift_has_all_its_terms():
    """(y + 1)^n needs every binomial: B^2 >= 2*B - 1 holds, and nothing larger."""
    for left, right, top in ((["^", B, "2"], ["*", "2", B], "1"), (["^", B, "3"], ["*", "3", B], "2")):
        claim = said(["+", left, top], ">=", right)
        assert kernel.check(sealed(claim, {"rule": "nonnegative", "witness": SHIFT}))
        claim = said(lower(["+", left, top]), ">=", right)
        refuses(sealed(claim, {"rule": "nonnegative", "witness": SHIFT}), "wrong sign")


def test_cases_do_not_reach_into_a_divisor():
    """With a max in the divisor too, putting one operand for it above alone would be another fraction."""
    top = ["max", B, D]
    witness = {"kind": "cases", "atom": top, "each": [SHIFT, SHIFT]}
    claim = said(["/", "1", top], "<=", "1")
    refuses(sealed(claim, {"rule": "nonnegative", "witness": witness}), "do not reach into a divisor")
    changed = sealed(said(top, "<=", ["+", B, D]), {"rule": "nonnegative", "witness": witness})
    refuses(resealed(changed, put("proof", "witness", "atom", ["+", B, D])), "those of a min or max")
    refuses(resealed(changed, put("proof", "witness", "each", 0, "kind", "magic")), "no such witness")


@pytest.mark.parametrize(
    ("left", "right", "atom", "side"),
    [
        (["floor", ["/", B, D]], ["/", B, D], ["floor", ["/", B, D]], "0"),
        (["/", B, D], ["+", ["floor", ["/", B, D]], "1"], ["floor", ["/", B, D]], "1"),
        (["/", B, D], ["ceil", ["/", B, D]], ["ceil", ["/", B, D]], "0"),
        (["ceil", ["/", B, D]], ["+", ["/", B, D], "1"], ["ceil", ["/", B, D]], "1"),
        (["min", B, D], B, ["min", B, D], "0"),
        (["min", B, D], D, ["min", B, D], "1"),
        (D, ["max", B, D], ["max", B, D], "1"),
    ],
)
def test_facts_of_atoms(left, right, atom, side):
    """Each fact holds in its own direction, on its own side."""
    witness = {"kind": "sum", "terms": [{"factors": [{"atom": atom, "side": side}]}]}
    good = sealed(said(left, "<=", right), {"rule": "nonnegative", "witness": witness})
    assert kernel.check(good)
    refuses(resealed(good, put("statement", "relation", ">=")), "wrong sign")
    less = resealed(good, put("statement", "relation", "<"))
    if atom[0] in kernel.ROUNDINGS and side == "1":  # x < floor(x) + 1, and ceil(x) < x + 1
        assert kernel.check(less)
    else:
        refuses(less, "wrong sign")
    for other in ("-1", "2", str(1 - int(side))):
        refuses(
            resealed(good, put("proof", "witness", "terms", 0, "factors", 0, "side", other)),
            "wrong sign|no such side",
        )
    root = put("proof", "witness", "terms", 0, "factors", 0, "atom", ["sqrt", B])
    refuses(resealed(good, root), "have facts")


# ---- hypotheses at their edges ----


def test_a_bound_is_as_large_as_it_says():
    """With B >= 5, B*D >= 5*D, and no more."""
    proof = {
        "rule": "nonnegative", "uses": {"h1": "bound"}, "example": {"B": "5", "D": "1"}, "witness": SHIFT,
    }  # fmt: skip
    hypothesis = {**AT_LEAST, "left": B, "right": "5"}
    certificate = sealed(said(["*", B, D], ">=", ["*", "5", D]), proof, [hypothesis], "B D")
    assert kernel.check(certificate)[2] == "given h1: B >= 5 (used as bound)"
    refuses(resealed(certificate, put("statement", "right", 1, "6")), "wrong sign")
    refuses(resealed(certificate, put("proof", "example", "B", "4")), "h1 does not hold")
    refuses(resealed(certificate, put("hypotheses", 0, "left", ["*", "2", B])), "is not about one size")
    refuses(resealed(certificate, put("hypotheses", 0, "kind", "equal")), "is no bound")
    refuses(resealed(certificate, put("proof", "uses", "h1", "fact")), "wrong sign")
    twice = resealed(certificate, put("hypotheses", [hypothesis, hypothesis]))
    refuses(twice, "a name of its own")
    both = [hypothesis, {**hypothesis, "name": "h2", "right": D}]
    certificate["proof"]["uses"] = {"h1": "bound", "h2": "substitution"}
    refuses(resealed(certificate, put("hypotheses", both)), "has a further bound")
    certificate["proof"]["uses"] = {"h1": "substitution", "h2": "substitution"}
    refuses(resealed(certificate, put("hypotheses", both)), "has two definitions")


@pytest.mark.parametrize(("k", "size"), [("2", "3"), ("0", "1"), ("4", "2")])
def test_an_example_must_divide(k, size):
    """2 does not divide 3, and 0 divides 0 alone."""
    hypothesis = {"name": "h1", "kind": "divides", "left": K, "right": L}
    proof = {"rule": "identity", "example": {"K": k, "L": size}}
    refuses(sealed(said(K, "=", K), proof, [hypothesis], "K L", K="0", L="0"), "does not hold at the point")
    proof["example"] = {"K": "0", "L": "0"}
    assert kernel.check(sealed(said(K, "=", K), proof, [hypothesis], "K L", K="0", L="0"))


def test_quotients_are_of_positive_sizes():
    """What may be 0 is no multiple with a quotient of at least 1."""
    hypothesis = {"name": "h1", "kind": "divides", "left": K, "right": L}
    proof = {"rule": "nonnegative", "uses": {"h1": "substitution"}, "example": {"K": "2", "L": "4"}}
    certificate = sealed(said(L, ">=", K), {**proof, "witness": SHIFT}, [hypothesis], "K L")
    assert kernel.check(certificate)
    for size in "KL":
        refuses(resealed(certificate, put("variables", size, "0")), "is not about positive sizes")


def test_a_slack_is_at_least_0():
    """With B >= D, B*L >= D*L, and not B*L >= D*L + 1."""
    proof = {"rule": "nonnegative", "uses": {"h1": "substitution"}, "example": dict.fromkeys("BDL", "1")}
    hypothesis = {**AT_LEAST, "left": B, "right": D}
    certificate = sealed(said(["*", B, L], ">=", ["*", D, L]), {**proof, "witness": SHIFT}, [hypothesis])
    assert kernel.check(certificate)
    refuses(resealed(certificate, put("statement", "left", ["+", ["*", B, L], "-1"])), "wrong sign")
    refuses(resealed(certificate, put("statement", "relation", ">")), "wrong sign")


def test_only_what_grows_has_a_threshold():
    """Starting a size that does not grow at 5 would prove B >= 5."""
    refuses(resealed(GOOD["order"], put("proof", "from", {"B": "5"})), '"B" is not said to grow')


def test_a_ratio_that_tends_to_1_is_not_refuted():
    """A factor must be seen to differ from 1, and for Theta to be 0."""
    same = ["*", "8", B, L]
    certificate = resealed(GOOD["elsewhere"], put("statement", refuted(same, "~", same, "L")))
    refuses(resealed(certificate, put("proof", "factor", "1")), "tend to something else")
    certificate = resealed(certificate, put("statement", "claim", "relation", "Theta"))
    refuses(resealed(certificate, put("proof", "factor", "1")), "tend to something else")
    less = resealed(GOOD["elsewhere"], put("statement", refuted(["*", "2", B, L], "~", same, "L")))
    assert kernel.check(resealed(less, put("proof", "factor", ["/", "1", "4"])))
    none = resealed(GOOD["elsewhere"], put("statement", refuted(B, "Theta", ["*", B, L], "L")))
    none["proof"] |= {"factor": "0", "constant": "1"}
    assert kernel.check(none)
    refuses(resealed(none, put("statement", "claim", "relation", "O")), "a rate is about ~ and limits only")


def test_a_definition_leaves_large_sizes_in_a_refutation():
    """T = L + 1 leaves large L; T = L - 5 has none below 6, L/2 not all, and a slack has nothing to say."""
    proof = {
        "rule": "growth", "uses": {"h1": "substitution"}, "constant": "1", "over": [L], "from": {},
        "witness": SHIFT, "example": {"L": "1", "T": "2"},
    }  # fmt: skip
    hypothesis = {"name": "h1", "kind": "equal", "left": T, "right": ["+", L, "1"]}
    certificate = sealed(refuted(["*", T, L], "O", L, "L"), proof, [hypothesis], "T L", T="2")
    assert kernel.check(certificate)
    refuses(resealed(certificate, put("variables", "T", "3")), "does not hold|out of bounds|no large sizes")
    changed = resealed(certificate, put("proof", "example", {"L": "2", "T": "3"}))
    refuses(resealed(changed, put("variables", "T", "3")), "h1 might leave no large sizes")
    changed = resealed(changed, put("proof", "example", {"L": "2", "T": "4"}))
    half = resealed(changed, put("hypotheses", 0, "right", ["+", ["/", L, "2"], "3"]))
    half["proof"]["constant"] = ["/", "1", "2"]
    assert kernel.check(resealed(half, put("format", kernel.FORMAT)))  # L = 2, 4, 6, ... are enough
    refuses(resealed(changed, put("hypotheses", 0, "kind", "at_least")), "h1 might leave no large sizes")
    refuses(resealed(certificate, put("proof", "uses", {})), "no large sizes")
    refuses(resealed(certificate, put("proof", "over", [L, L])), "growth is that of one size")
    refuses(resealed(certificate, put("proof", "over", [])), "a rate needs something that grows")


def test_a_point_refutes_each_relation_at_its_edge():
    """At equality < and > are false and <= and >= are true; one apart, the other way round."""
    for relation, left, false in (
        ("=", "1", False), ("=", "2", True), ("<", "1", True), (">", "1", True), ("<=", "1", False),
        (">=", "1", False), ("<=", "2", True), (">=", "0", True), ("<", "0", False), (">", "2", False),
    ):  # fmt: skip
        certificate = sealed(refuted(left, relation, B), {"rule": "point", "point": {"B": "1"}}, (), "B")
        if false:
            assert kernel.check(certificate)
        else:
            refuses(certificate, "the claim is not seen to be false at this point")


@pytest.mark.parametrize(
    ("expr", "why"),
    [
        (["^", B, "2", "3"], "an exponent"),
        (["^", B, "65"], "an exponent"),
        (["/", B, D, D], "other operands"),
        (["/", B, "0"], "a division"),
        (["floor", B, D], "other operands"),
        (["mod", B], "no such operation"),
        (["sum", "B", "0", D, "1"], "a new index"),
        (["sum", "i", "0", ["/", D, "2"], "1"], "no such range"),
        (["sum", "i", "0", "10001", "1"], "no such range"),
        (["sum", "i", "2", "1", "1"], "no such range"),
        (["sqrt", "-1"], "the root of"),
        (["var", "X"], "no size of the point"),
    ],
)
def test_no_value_at_a_point(expr, why):
    """At a point too, what has no value is refused."""
    with pytest.raises(kernel.Refused, match=why):
        exact(expr, {"B": Fraction(2), "D": Fraction(5)})


def test_each_rule_proves_its_own_relations():
    """A sign is no equality, and what proves a claim does not refute it."""
    wrong = {
        "shift": ["=", "~", "O"], "both": ["<=", "<"], "rate": ["O", "Theta", "="], "order": ["~", "<="],
        "elsewhere": ["O", "="], "growth": ["=", ">="],
    }  # fmt: skip
    for name, relations in wrong.items():
        for relation in relations:
            if relation in kernel.LIMITS and "L" not in kernel.variables(said_in(GOOD[name])):
                continue
            new = copy.deepcopy(GOOD[name])
            claim = new["statement"].get("claim", new["statement"])
            claim["relation"] = relation
            claim.pop("growing", None)
            claim |= {"growing": ["L"]} if relation in kernel.LIMITS else {}
            if "from" in new["proof"] and relation not in kernel.LIMITS:
                new["proof"]["from"] = {}
            refuses(resealed(new, put("format", kernel.FORMAT)), "proves?|is about|refutes?")
    plain = resealed(GOOD["point"], put("statement", GOOD["point"]["statement"]["claim"]))
    refuses(plain, "a point refutes")
    limit = resealed(GOOD["point"], put("statement", refuted(["*", B, D], "O", B, "D")))
    refuses(limit, "a point refutes relations only")
    for name in ("identity", "shift", "both", "order"):
        statement = {"relation": "refuted", "claim": GOOD[name]["statement"]}
        refuses(resealed(GOOD[name], put("statement", statement)), "only")
    bound = {"name": "h1", "kind": "at_least", "left": B, "right": "2"}
    growth = resealed(GOOD["growth"], put("hypotheses", [bound]))
    growth["proof"] |= {"uses": {"h1": "bound"}, "example": {"B": "2", "L": "1"}}
    assert kernel.check(growth)


# ---- words ----


def random_expression(draw, depth):
    if depth == 0 or draw.random() < 0.2:
        return draw.choice([B, D, "2", "-3", "1"])
    head = draw.choice(["+", "*", "^", "/", "max"])
    if head == "^":
        return ["^", random_expression(draw, depth - 1), draw.choice("0123")]
    count = 2 if head == "/" else draw.randint(1, 3)
    return [head, *(random_expression(draw, depth - 1) for _ in range(count))]


def test_words_mean_what_was_proved():
    """The text of an expression has the value that the expression has: alone, as a factor, as a divisor."""
    draw, sizes, seen = random.Random(1), {"B": Fraction(3), "D": Fraction(5)}, 0
    for _ in range(1500):
        expr = random_expression(draw, 4)
        try:
            value = exact(expr, sizes)
        except kernel.Refused:
            continue
        for level, around in enumerate(("{}", "7*{}*7", "7/{}")):
            if level < 2 or value:
                text = around.format(kernel.infix(expr, level))
                code = re.sub(r"(\d+)", r"Fraction(\1)", text).replace("^", "**")
                found = eval(code, {"Fraction": Fraction, "max": lambda *all_: max(all_), **sizes})  # noqa: S307
                assert found == (value, 49 * value, 7 / value if value else 0)[level], text
                seen += 1
    assert seen > 2000
    text = kernel.infix(["*", "2", ["sum", "i", ["+", B, "-1"], ["+", B, D], ["+", ["var", "i"], "1"]]])
    assert text == "2*sum(i + 1, i = B - 1 .. B + D - 1)"


def test_the_rule_in_words():
    """Each rule says what it has shown."""
    last = {name: kernel.check(certificate)[-1] for name, certificate in GOOD.items()}
    assert last["theta"] == "by the rule constants: |left| <= 6*B*|right|, left >= 4*B*right"
    assert last["elsewhere"] == "by the rule rate: |left/right - 4/3| <= 0*(1/L)"
    assert last["root rate"] == "by the rule rate: |left/right - 1| <= 1*(1/sqrt(L))"
    assert last["growth"] == "by the rule growth: left >= B*right/(1/L)"
    assert last["point"] == "by the rule point: false at B = 1, D = 2"
    assert kernel.check(GOOD["growth"])[0] == "not always: B*L^2 is O(L) as L -> oo"
    assert kernel.check(sealed(said("1", "=", "1"), {"rule": "identity"}, variables=""))[1] == (
        "there are no sizes in it"
    )


def test_a_name_that_reads_like_another_is_spelt_out():
    """Two sizes that look the same do not make a false theorem in words."""
    strange = "B\ufe0f"
    point = {"rule": "point", "point": {"B": "1", strange: "2"}}
    lines = kernel.check(sealed(refuted(B, "=", ["var", strange]), point, variables=f"B {strange}"))
    assert lines[2] == f"where {strange} is written B\\ufe0f"


# ---- bounds, and standing alone ----


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"{", "Expecting"),
        (b"\xff", "codec"),
        (b'{"a": 1}', "a number is written as text"),
        (b'{"a": 1.5}', "a number is written as text"),
        (b'{"a": NaN}', "a number is written as text"),
        (b'{"a": "1", "a": "2"}', "a key is given twice"),
        (b"[" * 130 + b"]" * 130, "nested deeper"),
        (b" " * (kernel.LARGEST_FILE + 1), "larger than"),
        (b'{"a": "\\\\", "b": "[[["}', None),
    ],
)
def test_unreadable(raw, why):
    """Broken, deep, large or ambiguous JSON is unreadable."""
    if why is None:
        assert kernel.load(raw) == {"a": "\\", "b": "[[["}
        return
    with pytest.raises(ValueError, match=why):
        kernel.load(raw)


BOMBS = {
    "digits": "9" * 701,
    "exponent": ["^", B, "65"],
    "power": ["^", ["^", ["^", B, "64"], "64"], "64"],
    "number": ["^", ["^", ["^", "99", "64"], "64"], "64"],
    "terms": ["^", ["+", B, D, L, "1", ["*", B, D], ["*", B, L], ["*", D, L]], "40"],
    "sums": ["sum", "i", "0", "9999", ["sum", "j", "0", "9999", "1"]],
    "parts": ["sum", "i", "1", "2001", ["/", "1", ["+", ["*", ["var", "i"], ["^", "97", "64"]], "1"]]],
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", BOMBS)
def test_bombs(name):
    """Small files that ask for much work are refused, in a proof and at a point."""
    bomb = BOMBS[name]
    if name != "terms":  # which is a number at a point
        refuses(
            sealed(refuted(bomb, "=", B), {"rule": "point", "point": {"B": "1", "D": "1", "L": "1"}}), "."
        )
    if name not in {"sums", "parts"}:
        refuses(sealed(said(bomb, "=", bomb), {"rule": "identity"}), "large|work|integer|range")


def test_atoms_that_double_are_refused():
    """T1 = max(T0, 2*T0) and so on: each name holds the last one twice."""
    sizes = [f"T{n}" for n in range(30)]
    hypotheses, uses = [], {}
    for n, (one, last) in enumerate(zip(sizes[1:], sizes, strict=False)):
        right = ["max", ["var", last], ["*", "2", ["var", last]]]
        hypotheses.append({"name": f"h{n}", "kind": "equal", "left": ["var", one], "right": right})
        uses[f"h{n}"] = "substitution"
    example = {one: str(2**n) for n, one in enumerate(sizes)}
    proof, last = {"rule": "identity", "uses": uses, "example": example}, ["var", sizes[-1]]
    refuses(sealed(said(last, "=", last), proof, hypotheses, " ".join(sizes)), "an atom is too large")


@pytest.mark.long
def test_many_terms_are_work():
    """A sum of very many sizes is refused before it takes long."""
    sizes = [f"x{n}" for n in range(800)]
    whole = ["+", *(["/", ["var", one], ["+", ["var", one], "1"]] for one in sizes)]
    refuses(sealed(said(whole, "=", whole), {"rule": "identity"}, variables=" ".join(sizes)), "too much work")


def test_it_imports_the_standard_library_alone():
    """No import of the package beside its own files, nor of anything installed, and no assertion."""
    files = sorted(FOLDER.glob("*.py"))
    own = {file.stem for file in files}
    assert not own & set(sys.stdlib_module_names), "a folder that is run stands first among what is imported"
    for file in files:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            assert not isinstance(node, ast.Assert)
            if isinstance(node, ast.ImportFrom) and node.level:
                assert node.level == 1
                assert {node.module} <= own | {None}
            elif isinstance(node, ast.ImportFrom | ast.Import):
                module = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
                assert str(module).partition(".")[0] in sys.stdlib_module_names


def test_a_rule_a_file_with_its_proof():
    """Each file is short, and says first why what it does is sound."""
    for file in sorted(FOLDER.glob("*.py")):
        text = file.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 220, file.name
        assert ast.get_docstring(ast.parse(text)), file.name


@pytest.mark.parametrize("flags", [("-S",), ("-O",), ("-S", "-O", "-I")])
def test_it_runs_alone(tmp_path, flags):
    """As a script, without site packages and with assertions off, it accepts and refuses alike."""
    for certificate, status in ((GOOD["square"], 0), ({**GOOD["square"], "digest": "0"}, 1), ("{", 2)):
        file = tmp_path / "c.json"
        file.write_text(certificate if status == 2 else json.dumps(certificate), encoding="utf-8")
        command = [sys.executable, *flags, str(FOLDER), str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == status
        assert done.stdout.startswith(
            ("accepted: 2*B*D <= B^2 + D^2", "refused: the digest", "unreadable")[status]
        )


def test_the_verb(tmp_path, capsys):
    """``symacct verify`` answers with the theorem, the reason, or why the file cannot be read."""
    file = tmp_path / "c.json"
    file.write_text(json.dumps(GOOD["point"]), encoding="utf-8")
    assert main(["verify", str(file)]) == 0
    assert "not always: B*D = B" in capsys.readouterr().out
    file.write_text(json.dumps({**GOOD["point"], "digest": ""}), encoding="utf-8")
    assert main(["verify", str(file)]) == 1
    assert capsys.readouterr().err.startswith("refused: ")
    assert main(["verify", str(tmp_path / "none.json")]) == 2


def test_the_verb_does_not_start_the_formula_engine(tmp_path):
    """Verifying imports no sympy."""
    code = (
        "import sys; from symacct.cli.main import main; main(['verify', 'x']); print('sympy' in sys.modules)"
    )
    command, env = [sys.executable, "-c", code], {"PYTHONPATH": str(FOLDER.parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=env)
    assert done.stdout.strip() == "False"
