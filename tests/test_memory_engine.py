"""Peaks as formulas: against the interpreter at integer sizes, and what is known of a chain of layers."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from random_graphs import random_graph

from symacct import load
from symacct.account import Account, derive
from symacct.algebra.evaluate import evaluate
from symacct.algebra.symbols import as_expr, symbol
from symacct.errors import RuleError, UsageError
from symacct.nodes import Graph, Node, Repeat, walk
from symacct.peaks.timeline import at_sizes, sizes_at, worst
from symacct.syntax import read_formula

if TYPE_CHECKING:
    from collections.abc import Mapping

CHOICES = (
    {},
    {"checkpoint": "every:k"},
    {"checkpoint": "every:2"},
    {"checkpoint": "every:k:full", "uneven": True},
    {"checkpoint": "every:3", "uneven": True},
    {"checkpoint": "store-nothing"},
    {"checkpoint": "store-nothing:full", "hold_output": True},
    {"grads": "kept"},
    {"update": "fused"},
    {"hold_output": True, "input_grad": True},
    {"saves": "torch"},
    {"saves": "lecture"},
    {"saves": "paper"},
    {"accumulate": "N"},
)
SIZES = {name: symbol(name) for name in ("B", "D", "L", "k")}


def account(graph: Graph, choices: Mapping[str, object]) -> Account:
    """Return the account of choices in fp32; one that need not divide where they say so."""
    plain = {name: value for name, value in choices.items() if name != "uneven"}
    found = derive(graph, precision="fp32", **plain)
    return found.uneven if choices.get("uneven") else found


def interpreted(one: Account, sizes: Mapping[str, int], name: str = "memory.peak") -> int:
    """Return a peak by the interpreter, every iteration written out."""
    bound = one.bind(sizes)
    ops = {n.outs[0] for n, _ in walk(bound.graph.nodes) if isinstance(n, Node) and not n.op.alias}
    lecture = bound.policy.saves == "lecture"  # outputs of the graph's own ops alone: not the loss put to it
    counted = (lambda s: s.saved and s.tensor.name in ops) if lecture else (lambda s: s.saved)
    only = counted if name == "memory.activations.peak" else None
    steps = at_sizes(bound.graph, bound.policy, sizes)
    return int(worst(steps, sizes_at(bound.graph, bound.policy, sizes), only).nbytes) + int(
        bound.beside(name)
    )


def counts(one: Account) -> set[str]:
    """Return the sizes that say how often something is repeated."""
    ranges = {s.name for r, _ in walk(one.source.nodes) if isinstance(r, Repeat) for s in r.hi.free_symbols}
    return ranges & one.source.sizes.keys()


def drawn(one: Account, dice: Random) -> dict[str, int]:
    """Draw sizes: counts of a few iterations, multiples of a segment half of the time."""
    sizes = {name: dice.choice((2, 3, 5, 9, 20)) for name in one.source.sizes}
    sizes |= {name: dice.randint(1, 4) for name in one.policy.names}
    return sizes | {
        name: sizes.get("k", 1) * dice.randint(1, 5) + dice.choice((0, 0, 1)) for name in sorted(counts(one))
    }


@pytest.mark.few(5)
@pytest.mark.parametrize("seed", [0, *range(2, 14), 15])
def test_formulas_agree_with_the_interpreter(seed: int) -> None:
    graph, dice = random_graph(seed).graph, Random(seed)
    one = account(graph, CHOICES[seed % len(CHOICES)])
    blocks = any(isinstance(node, Repeat) for node in one.graph.nodes)
    if one.policy.checkpoint.kind != "none" and not blocks:
        with pytest.raises(UsageError, match="no blocks to cut"):
            one.candidates()
        return
    for name in ("memory.peak", "memory.activations.peak"):
        try:
            found = one.candidates(name)
        except RuleError:  # it is said, and a bound count has its number all the same
            sizes = drawn(one, dice)
            assert one.value(name, sizes) == interpreted(one, sizes, name)
            continue
        for _ in range(6):
            sizes = drawn(one, dice)
            if all(condition.holds(sizes) for condition in one[name].when):
                assert max(evaluate(e, sizes) for e in found) == interpreted(one, sizes, name), (name, sizes)


@pytest.mark.parametrize("seed", range(100, 104))
def test_small_cases_are_exact(seed: int) -> None:
    graph, dice = random_graph(seed).graph, Random(seed)
    one = account(graph, CHOICES[seed % len(CHOICES)])
    for least, most in ((0, 2), (9, 13)):
        sizes = drawn(one, dice)
        sizes |= {name: dice.randint(least, most) for name in sorted(counts(one))}
        bound = one.bind(sizes)
        if one.policy.checkpoint.kind != "none" and not any(isinstance(n, Repeat) for n in bound.graph.nodes):
            continue
        expected = worst(
            at_sizes(bound.graph, bound.policy, sizes), sizes_at(bound.graph, bound.policy, sizes)
        )
        assert bound.value("memory.peak") == expected.nbytes + bound.beside("memory.peak"), sizes


def known(one: Account, name: str = "memory.peak") -> set[str]:
    """Return the candidates in elements, without what lives through the step and two scalars."""
    beside = one.beside(name)
    rest = 0 if name == "memory.activations.peak" else 2
    return {str((e - beside) / 4 - rest) for e in map(as_expr, one.candidates(name))}


def formulas(*texts: str) -> set[str]:
    """Return formulas in the order that formulas are written in."""
    from symacct.algebra.normal import normal

    return {str(normal(read_formula(text, {*SIZES, "N"}))) for text in texts}


PLAIN = ("(L + 1)*B*D + D^2", "3*B*D + (L - 1)*D^2", "B*D + L*D^2")
CUT = ("(L/k + k)*B*D + k*D^2", "(k + 2)*B*D + (L - k)*D^2", *PLAIN[1:])
UNEVEN = ("(ceil(L/k) + k)*B*D + (L - (ceil(L/k) - 1)*k)*D^2", *CUT[1:])


@pytest.mark.few(2)
@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize(
    ("choices", "expected", "when"),
    [
        ({}, PLAIN, ["L >= 2"]),
        ({"checkpoint": "every:k"}, CUT, ["L/k >= 2", "k divides L"]),
        ({"checkpoint": "every:k:full"}, CUT, ["L/k >= 2", "k divides L"]),
        ({"checkpoint": "every:k", "uneven": True}, UNEVEN, ["ceil(L/k) >= 2"]),
        ({"checkpoint": "every:1"}, ("(L + 1)*B*D + D^2", *PLAIN[1:]), ["L >= 2"]),
    ],
)
def test_the_peak_of_a_chain(choices, expected, when, held) -> None:
    one = account(load("mlp"), {**choices, "hold_output": held})
    lifted = [f"{text} + B*D" if held else text for text in expected]
    assert known(one) == formulas(*lifted)
    assert [condition.text for condition in one["memory.peak"].when] == when


def test_a_single_layer_is_a_case_of_its_own() -> None:
    for held, expected in ((False, ("2*B*D", "B*D + D^2")), (True, ("2*B*D + D^2",))):
        one = account(load("mlp").bind({"L": 1}), {"hold_output": held})
        assert known(one) == formulas(*expected)


@pytest.mark.parametrize("recompute", ["needed", "full"])
def test_what_runs_again_where_a_segment_is_shorter(recompute: str) -> None:
    one = account(load("deep_linear"), {"checkpoint": f"every:k:{recompute}", "uneven": True})
    left_out = "" if recompute == "full" else " - 2*B*D^2*ceil(L/k)"
    expected = read_formula(f"2*B*D^2*L{left_out}", set(SIZES))
    assert (one["flops.recompute"].expr - expected).expand() == 0
    with pytest.raises(UsageError, match="only segments of a length"):
        _ = account(load("deep_linear"), {"checkpoint": "store-nothing"}).uneven


def test_nothing_but_gradients_outlives_a_micro_batch() -> None:
    one = account(load("mlp"), {"accumulate": "N"})
    assert [condition.text for condition in one["memory.peak"].when] == ["L >= 2", "N >= 2"]
    assert not any(symbol("N") in e.free_symbols for e in one.candidates())
    assert one["flops.model"].expr == 3 * account(load("mlp"), {})["flops.forward"].expr * symbol("N") - 2 * (
        symbol("B") * symbol("D") ** 2 * symbol("N")
    )
    kept = account(load("mlp"), {"accumulate": "N", "grads": "kept"})
    assert known(kept) == known(account(load("mlp"), {"grads": "kept"}))


def test_a_level_that_rises_and_falls_is_said_and_has_its_number() -> None:
    one = derive(random_graph(366).graph, precision="fp32", hold_output=True)
    with pytest.raises(RuleError, match="rises and falls again"):
        one.candidates()
    sizes = dict.fromkeys(one.source.sizes, 3) | {"D": 4, "L": 20, "M": 20}
    assert one.value("memory.peak", sizes) == interpreted(one, sizes)
