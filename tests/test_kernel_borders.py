"""Certificates written by hand at the borders of the rules: each would be false, or say nothing."""

from __future__ import annotations

import pytest

from symacct import kernel

B, D, K, L, T, X = (["var", name] for name in "BDKLTX")
SHIFT = {"kind": "shift"}
REAL = {"real": True}
POSITIVE = {"real": True, "least": "0", "above": True}


def minus(*parts):
    first, *rest = parts
    return ["+", first, *(["*", "-1", part] for part in rest)]


def h(number, kind, left, right):
    return {"name": f"h{number}", "kind": kind, "left": left, "right": right}


def said(left, relation, right, *growing):
    return {
        "relation": relation,
        "left": left,
        "right": right,
        **({"growing": list(growing)} if growing else {}),
    }


def certificate(statement, proof, variables, hypotheses=()):
    data = {
        "format": kernel.FORMAT,
        "statement": statement,
        "variables": variables if isinstance(variables, dict) else dict.fromkeys(variables, "1"),
        "hypotheses": list(hypotheses),
        "proof": {"uses": {}, **proof},
    }
    return {**data, "digest": kernel.digest(data)}


def order(constant, **more):
    return {"rule": "constants", "constant": constant, "from": {}, "below": SHIFT, "above": SHIFT} | more


def witness(*terms, **more):
    return {"kind": "sum", "terms": [{"factors": list(one)} for one in terms], **more}


def sign(proof, **more):
    return {"rule": "nonnegative", "witness": proof, **more}


GROWTH = {
    "a square that is twice another": (
        said(L, "O", L, "L"),
        order("1", uses={"h2": "substitution"}, example={"L": "16", "T": "8"}, **{"from": {"L": "2"}}),
        "LT",
        [h(1, "equal", L, ["^", ["ceil", ["sqrt", L]], "2"]), h(2, "equal", T, ["/", L, "2"])],
    ),
    "what divides moves with what it divides": (
        said(["+", K, L], "O", ["+", K, L], "K", "L"),
        order("1", example={"K": "2", "L": "2"}),
        "KL",
        [h(1, "divides", K, L), h(2, "divides", L, K)],
    ),
    "a root that divides": (
        said(["+", K, L], "O", ["+", K, L], "K", "L"),
        order("1", example={"K": "4", "L": "2"}),
        "KL",
        [h(1, "divides", ["sqrt", K], L)],
    ),
    "0 divides nothing large": (
        said(L, "O", L, "L"),
        order("1", example={"L": "0", "B": "0"}),
        {"L": "0", "B": "0"},
        [h(1, "divides", B, L)],
    ),
    "a product caps": (
        said(L, "O", L, "L"),
        order("1", example={"L": "1", "B": "1", "D": "1"}),
        "LBD",
        [h(1, "at_least", ["*", L, ["min", minus(B, D), "1"]], "-10")],
    ),
    "a difference put in caps": (
        said(L, "O", ["*", T, L], "L"),
        order("1", uses={"h1": "substitution"}, example={"L": "1", "T": "3"}),
        "LT",
        [h(1, "above", T, ["+", L, "1"])],
    ),
    "a definition below its bound": (
        said(L, "O", L, "L"),
        order("1", uses={"h1": "substitution"}, example={"L": "1", "T": "9"}),
        "LT",
        [h(1, "equal", T, minus("10", L))],
    ),
    "an equality that is not put in": (
        said(L, "O", L, "L"),
        order("1", uses={"h1": "fact"}, example={"L": "2", "T": "2"}),
        "LT",
        [h(1, "equal", T, L)],
    ),
    "a circle of three": (
        said(["+", K, L, T], "O", ["+", K, L, T], "K", "L", "T"),
        order("1", example={"K": "1", "L": "1", "T": "1"}),
        "KLT",
        [h(1, "at_least", K, L), h(2, "at_least", L, T), h(3, "at_least", T, K)],
    ),
    "a start that moves": (
        said(["+", K, L], "O", L, "K", "L"),
        order("2", **{"from": {"L": K}}, below=witness([{"hypothesis": "from L"}])),
        "KL",
    ),
    "a limit that moves": (
        said(["/", L, K], "limit", ["/", L, K], "K", "L"),
        {"rule": "rate", "constant": "0", "over": [K], "from": {}, "below": SHIFT, "above": SHIFT},
        "KL",
    ),
    "a logarithm that is 0 has no rate": (
        said(["/", "1", L], "limit", "0", "L"),
        {"rule": "rate", "constant": "1", "over": [["log", L]], "from": {}, "below": SHIFT, "above": SHIFT},
        "L",
    ),
    "what does not grow has no rate": (
        said(["/", L, ["*", L, B]], "limit", "0", "L"),
        {"rule": "rate", "constant": "1", "over": [B], "from": {}, "below": SHIFT, "above": SHIFT},
        "LB",
    ),
    "a case in which nothing is large": (
        said(L, "O", "1", "L"),
        {
            "rule": "cases",
            "left": "10",
            "right": L,
            "name": "c",
            "each": [
                {**order("10"), "uses": {"c": "fact"}, "below": witness([{"hypothesis": "c"}])},
                {**order("10"), "uses": {"c": "fact"}},
            ],
        },
        "L",
    ),
}

RELATIONS = {
    "a real number between two integers": (
        said(["*", X, minus(X, "1")], ">=", "0"),
        sign(witness([{"consecutive": X}])),
        {"X": POSITIVE},
    ),
    "a real number is no integer": (
        said(X, ">=", "1"),
        sign({"kind": "whole", "witness": SHIFT}),
        {"X": POSITIVE},
    ),
    "a half is no integer": (
        said(["/", B, "2"], ">=", "1"),
        sign({"kind": "whole", "witness": SHIFT}),
        "B",
    ),
    "more than -1 is not more than 0": (
        said(minus(B, "1"), ">", "0"),
        sign({"kind": "whole", "witness": SHIFT}),
        "B",
    ),
    "a variable without a bound has no sign": (said(X, ">=", "0"), sign(SHIFT), {"X": REAL}),
    "nor has it a bound": (said(X, ">=", "0"), sign(witness([{"bound": "X"}])), {"X": REAL}),
    "its root is not there": (said(["sqrt", X], ">=", "0"), sign(SHIFT), {"X": REAL}),
    "at least 0 is not more": (said(X, ">", "0"), sign(SHIFT), {"X": {"real": True, "least": "0"}}),
    "a quotient by what may be 0": (
        said(["/", X, X], "=", "1"),
        {"rule": "identity"},
        {"X": {"real": True, "least": "0"}},
    ),
    "a strict fact times 0": (
        said(["*", "0", B], ">", "0"),
        sign(
            {"kind": "sum", "terms": [{"times": "0", "factors": [{"hypothesis": "h1"}]}]},
            uses={"h1": "fact"},
            example={"B": "2", "D": "1"},
        ),
        "BD",
        [h(1, "above", B, D)],
    ),
    "a strict fact times what may be 0": (
        said(["*", X, minus(B, D)], ">", "0"),
        sign(
            {"kind": "sum", "terms": [{"times": X, "factors": [{"hypothesis": "h1"}]}]},
            uses={"h1": "fact"},
            example={"B": "2", "D": "1", "X": "1"},
        ),
        {"B": "1", "D": "1", "X": {"real": True, "least": "0"}},
        [h(1, "above", B, D)],
    ),
    "between real numbers there is no next": (
        said(X, ">=", ["+", D, "1"]),
        sign(witness([{"hypothesis": "h1"}]), uses={"h1": "fact"}, example={"X": "3", "D": "1"}),
        {"X": POSITIVE, "D": "1"},
        [h(1, "above", X, D)],
    ),
    "a fact with a minus": (
        said(D, ">=", B),
        sign(
            {"kind": "sum", "terms": [{"times": "-1", "factors": [{"hypothesis": "h1"}]}]},
            uses={"h1": "fact"},
            example={"B": "2", "D": "1"},
        ),
        "BD",
        [h(1, "at_least", B, D)],
    ),
    "an inequality is no equality": (
        said(B, "=", D),
        {
            "rule": "identity",
            "uses": {"h1": "fact"},
            "example": {"B": "2", "D": "1"},
            "multiples": [{"hypothesis": "h1", "times": "1"}],
        },
        "BD",
        [h(1, "at_least", B, D)],
    ),
    "a logarithm of what may be 0": (
        said(["log", X], "=", ["log", X]),
        {"rule": "identity"},
        {"X": {"real": True, "least": "0"}},
    ),
    "a logarithm below 1": (said(["log", X], ">=", "0"), sign(SHIFT), {"X": POSITIVE}),
    "a logarithm of a sum": (
        said(["log", ["+", B, D]], "=", ["+", ["log", B], ["log", D]]),
        {"rule": "identity"},
        "BD",
    ),
    "numbers are numbers": (said(B, ">=", "1"), {"rule": "numbers"}, "B"),
    "numbers too close": (said(["sqrt", "2"], "=", ["sqrt", "2"]), {"rule": "numbers"}, {}),
    "a weak hypothesis for a strict claim": (
        said(B, ">", D),
        {"rule": "given", "hypothesis": "h1", "factor": "1", "example": {"B": "1", "D": "1"}},
        "BD",
        [h(1, "at_least", B, D)],
    ),
    "a hypothesis turned round": (
        said(D, ">=", B),
        {"rule": "given", "hypothesis": "h1", "factor": "-1", "example": {"B": "1", "D": "1"}},
        "BD",
        [h(1, "at_least", B, D)],
    ),
    "0 times a hypothesis": (
        said("1", "=", "2"),
        {"rule": "given", "hypothesis": "h1", "factor": "0", "example": {"B": "1", "D": "1"}},
        "BD",
        [h(1, "equal", B, D)],
    ),
    "a lemma that is not true": (
        said(B, ">=", "2"),
        {
            "rule": "have",
            "name": "l",
            "lemma": said(B, ">=", "2"),
            "because": {**sign(SHIFT), "uses": {}},
            "then": {"rule": "given", "uses": {}, "hypothesis": "l", "factor": "1"},
        },
        "B",
    ),
    "a lemma under the name of a hypothesis": (
        said(B, ">=", D),
        {
            "rule": "have",
            "name": "h1",
            "lemma": said(B, ">=", "1"),
            "because": {**sign(SHIFT), "uses": {}},
            "then": {"rule": "given", "uses": {}, "hypothesis": "h1", "factor": "1"},
            "example": {"B": "1", "D": "1"},
        },
        "BD",
        [h(1, "at_least", B, D)],
    ),
    "cases of one's own": (
        said(B, ">=", D),
        {
            "rule": "cases",
            "name": "c",
            "left": B,
            "right": D,
            "each": [
                {"rule": "given", "uses": {}, "hypothesis": "c", "factor": "1"},
                {"rule": "given", "uses": {}, "hypothesis": "c", "factor": "1"},
            ],
        },
        "BD",
    ),
    "a case where nothing is defined": (
        said("1", ">=", "0"),
        {
            "rule": "cases",
            "name": "c",
            "left": ["/", "1", minus(B, "1")],
            "right": "0",
            "each": [{**sign(SHIFT), "uses": {}}] * 2,
        },
        "B",
    ),
    "all of nothing": ({"relation": "all", "claims": []}, {"rule": "all", "each": []}, "B"),
    "one part of two": (
        {"relation": "all", "claims": [said(B, ">=", "1"), said(B, ">=", "2")]},
        {"rule": "all", "each": [{**sign(SHIFT), "uses": {}}]},
        "B",
    ),
    "a statement by itself": ({"relation": "whole", "left": B}, {"rule": "integral"}, "B"),
    "iff of an equality": (
        {"relation": "iff", "first": said(B, "=", B), "second": said(D, "=", D)},
        {"rule": "iff", "if": {"rule": "identity", "uses": {}}, "unless": {"rule": "identity", "uses": {}}},
        "BD",
    ),
}

LEAST = {
    "an index that a place would be caught by": (
        {
            "relation": "argmin",
            "left": ["+", K, ["sum", "i", "0", "1", K]],
            "right": ["var", "i"],
            "over": "K",
        },
        {
            "rule": "only",
            "holds": [],
            "above": {**sign(SHIFT), "uses": {}},
            "below": {**sign(SHIFT), "uses": {}},
        },
        {"K": REAL},
    ),
    "a place between integers": (
        {"relation": "min", "left": ["^", minus(["*", "2", K], "3"), "2"], "right": "0", "over": "K"},
        {
            "rule": "least",
            "place": ["/", "3", "2"],
            "holds": [{"rule": "integral", "uses": {}}, {"rule": "numbers", "uses": {}}],
            "bound": {**sign(witness([{"square": minus(["*", "2", K], "3")}])), "uses": {}},
            "value": {"rule": "numbers", "uses": {}},
        },
        "K",
    ),
    "a place below the bound": (
        {"relation": "min", "left": K, "right": "0", "over": "K"},
        {
            "rule": "least",
            "place": "0",
            "holds": [{"rule": "integral", "uses": {}}, {"rule": "numbers", "uses": {}}],
            "bound": {**sign(SHIFT), "uses": {}},
            "value": {"rule": "numbers", "uses": {}},
        },
        "K",
    ),
    "a bound that is not reached": (
        {"relation": "min", "left": X, "right": "0", "over": "X"},
        {
            "rule": "least",
            "place": "0",
            "holds": [{"rule": "numbers", "uses": {}}],
            "bound": {**sign(SHIFT), "uses": {}},
            "value": {"rule": "numbers", "uses": {}},
        },
        {"X": POSITIVE},
    ),
    "a place where a condition fails": (
        {"relation": "min", "left": K, "right": "1", "over": "K"},
        {
            "rule": "least",
            "place": "1",
            "holds": [
                {"rule": "integral", "uses": {}},
                {"rule": "numbers", "uses": {}},
                {"rule": "numbers", "uses": {}},
            ],
            "bound": {**sign(SHIFT), "uses": {}},
            "value": {"rule": "numbers", "uses": {}},
            "example": {"K": "2"},
        },
        "K",
        [h(1, "at_least", K, "2")],
    ),
    "what is claimed varies": (
        {"relation": "min", "left": K, "right": K, "over": "K"},
        {
            "rule": "least",
            "place": "1",
            "holds": [{"rule": "integral", "uses": {}}, {"rule": "numbers", "uses": {}}],
            "bound": {**sign(SHIFT), "uses": {}},
            "value": {"rule": "identity", "uses": {}},
        },
        "K",
    ),
    "less outside the domain": (
        {"relation": "refuted", "claim": {"relation": "min", "left": K, "right": "2", "over": "K"}},
        {"rule": "lower", "point": {"K": "1"}},
        "K",
        [h(1, "at_least", K, "2")],
    ),
    "missed but for one": (
        {
            "relation": "refuted",
            "claim": {"relation": "min", "left": ["^", minus(K, "3"), "2"], "right": "0", "over": "K"},
        },
        {
            "rule": "missed",
            "point": {},
            "upto": "2",
            "beyond": {
                **sign(witness([{"hypothesis": "beyond"}, {"hypothesis": "beyond"}])),
                "uses": {"beyond": "fact"},
            },
        },
        "K",
    ),
    "real numbers one by one": (
        {"relation": "refuted", "claim": {"relation": "min", "left": X, "right": "0", "over": "X"}},
        {"rule": "missed", "point": {}, "upto": "2", "beyond": {**sign(SHIFT), "uses": {}}},
        {"X": POSITIVE},
    ),
}


@pytest.mark.parametrize("name", [*GROWTH, *RELATIONS, *LEAST])
def test_refused(name):
    """Each would prove something false, or something about nothing."""
    parts = {**GROWTH, **RELATIONS, **LEAST}[name]
    with pytest.raises(kernel.Refused):
        kernel.check(certificate(*parts))


def accepted(*parts):
    return kernel.check(certificate(*parts))[0]


def test_their_neighbours_hold():
    """What differs from some of them in one place is true, and accepted."""
    assert accepted(said(["*", B, minus(B, "1")], ">=", "0"), sign(witness([{"consecutive": B}])), "B")
    assert accepted(said(["log", B], ">=", "0"), sign(SHIFT), "B")
    assert accepted(said(X, ">", "0"), sign(SHIFT), {"X": POSITIVE})
    assert accepted(said(["/", X, X], "=", "1"), {"rule": "identity"}, {"X": POSITIVE})
    rate = {"rule": "rate", "constant": "1", "over": [["log", L]], "from": {"L": "2"}, "above": SHIFT}
    fact = {"atom": ["log", L], "side": "0"}
    below = {"kind": "sum", "scale": ["*", L, ["log", L]], "terms": [{"factors": [fact]}]}
    assert accepted(said(["/", "1", L], "limit", "0", "L"), {**rate, "below": below}, "L")
    start = order("2", **{"from": {"L": B}}, below=witness([{"hypothesis": "from L"}]))
    assert accepted(said(["+", B, L], "O", L, "L"), start, "BL")
    given = {"rule": "given", "hypothesis": "h1", "factor": "1", "example": {"B": "2", "D": "1"}}
    assert accepted(said(B, ">", D), given, "BD", [h(1, "above", B, D)])


@pytest.mark.long
def test_work_is_bounded_over_all_parts_together():
    """What is little work once is too much in many parts, and so are the parts themselves."""
    power = said(["^", ["+", B, D, L, "1"], "16"], "=", ["^", ["+", "1", L, D, B], "16"])
    one = {"rule": "identity", "uses": {}}

    def times(count, claim):
        proof = {"rule": "all", "each": [one] * count}
        return certificate({"relation": "all", "claims": [claim] * count}, proof, "BDL")

    assert kernel.check(times(1, power))
    with pytest.raises(kernel.Refused, match="too much work"):
        kernel.check(times(60, power))
    with pytest.raises(kernel.Refused, match="too many parts"):
        kernel.check(times(500, said(B, "=", B)))
