"""Counts that come from an op's own run, against those that are worked out by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import torch
from examples import EXAMPLES, as_torch, differentiated, over
from expected_counts import EXPECTED, of_attention_again
from random_graphs import random_graph
from tape import xp64

from symacct.account import derive
from symacct.algebra.normal import normal, same
from symacct.algebra.symbols import as_expr, symbol
from symacct.counting import Counting
from symacct.errors import RuleError
from symacct.nodes import Node, walk
from symacct.op import Arrays, Call, Op
from symacct.ops import OPS
from symacct.ops.attention_grad import FusedAttentionGrad
from symacct.ops.elementwise import Elementwise
from symacct.ops.elementwise_table import ROWS, Row, parts
from symacct.ops.optimizer import RULES, Update
from symacct.ops.view import Keys
from symacct.readers.files import list_graphs, load
from symacct.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symacct.nodes import Graph
    from symacct.op import Example

N, D = symbol("N"), symbol("D")
X = Tensor("x", ("N", "D"), (N, D))


def check(op: Op, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> None:
    """Hold what run counts to what is expected, primitive by primitive."""
    found, expected = op.counts(ins, outs), EXPECTED[type(op)](op, ins, outs)
    assert set(found) == set(expected), op
    for primitive, count in expected.items():
        assert same(found[primitive], count), (op, primitive, found[primitive], count)
        assert found[primitive] == normal(found[primitive])


def test_every_op_is_worked_out_by_hand() -> None:
    """No op is left out, and none states counts of its own."""
    assert set(EXPECTED) == set(OPS)
    assert all("counts" not in vars(kind) and "recomputed" not in vars(kind) for kind in OPS)
    assert {kind for kind in OPS if kind.whole is not Op.whole} == {Elementwise}


@over(EXAMPLES)
def test_examples_count_what_is_expected(example: Example) -> None:
    """At integer sizes; the nodes of the gradient too."""
    tape, _, _ = differentiated(example, xp64(), as_torch)
    for ran in tape.ran:
        op = ran.op.substitute({name: as_expr(n) for name, n in (("B", 2), ("S", 3), ("D", 4))})
        check(op, ran.ins, ran.outs)


@pytest.mark.parametrize("name", [graph.name for graph in list_graphs()])
def test_shipped_graphs_count_what_is_expected(name: str) -> None:
    """At symbolic sizes, forward and backward."""
    check_graph(load(name))


@pytest.mark.few(21)
@pytest.mark.parametrize("seed", range(40))
def test_random_graphs_count_what_is_expected(seed: int) -> None:
    """At symbolic sizes, forward and backward."""
    check_graph(random_graph(seed).graph)


def check_graph(graph: Graph) -> None:
    """Check each node of a graph and of its backward pass."""
    step = derive(graph).step
    tensors = {**step.graph.tensors, **step.tensors}
    for node, _ in (*walk(step.graph.nodes), *walk(step.backward)):
        if isinstance(node, Node):
            ins, outs = ([tensors[name] for name in names] for names in (node.ins, node.outs))
            check(node.op, ins, outs)


@pytest.mark.parametrize("rule", RULES)
def test_updates_count_what_is_expected(rule: str) -> None:
    """At symbolic sizes."""
    check(Update(rule), (X,) * (2 + len(RULES[rule].states)), ())


@over({name: one for name, one in EXAMPLES.items() if isinstance(one.op, FusedAttentionGrad)})
def test_the_scores_made_again_are_told_apart(example: Example) -> None:
    """They are a part of the counts."""
    op, ins, outs = example.op, example.ins, example.op.infer(*example.ins)
    again, whole = op.recomputed(ins, outs), op.counts(ins, outs)
    expected = of_attention_again(op, ins, outs)
    assert {name: normal(n) for name, n in again.items()} == {name: normal(n) for name, n in expected.items()}
    assert all(n <= whole[name] for name, n in again.items())


# ---- what has no count ----


@dataclass(frozen=True, slots=True)
class Made(Keys):
    """A view whose run is given."""

    way: Any = None

    def run(self, call: Call) -> tuple[Any, ...]:
        """Run what was given."""
        return (self.way(call),)


UNKNOWN: Mapping[str, tuple[Any, str]] = {
    "primitive": (lambda call: call.xp.cumprod(call.arrays[0], 0), "the primitive cumprod has no count"),
    "method": (lambda call: call.arrays[0].softmax(-1), ".softmax of an array, which run asks for"),
    "operator": (lambda call: call.arrays[0] ** 2, "an operator of an array"),
    "product": (lambda call: call.arrays[0] @ call.arrays[0], "an operator of an array"),
    "value": (lambda call: call.arrays[0] or 0, "the value of an array"),
    "number": (lambda call: float(call.arrays[0]), "the value of an array"),
    "element": (lambda call: call.arrays[0][0], "an element of an array"),
    "rows": (lambda call: [row + 1 for row in call.arrays[0]], "an element of an array"),
    "loop": (lambda call: [call.arrays[0] for _ in range(call.size(N))], "needs to know a size"),
    "condition": (lambda call: call.size(N) > 3 and call.arrays[0], "needs to know a size"),
    "sizes": (
        lambda call: call.arrays[0] + call.xp.permute(call.arrays[0], (1, 0)),
        "arrays whose sizes differ",
    ),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_has_no_count_is_an_error(name: str) -> None:
    """A primitive, a method, an operator, a value: none of them is a silent zero."""
    way, match = UNKNOWN[name]
    with pytest.raises(RuleError, match=match) as refused:
        Made("N", "T", N, way).counts((X,), (X,))
    assert refused.value.expected
    assert refused.value.fix


def test_a_function_that_runs_the_unknown_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its price is asked of what it runs."""
    monkeypatch.setitem(ROWS, "sinc", Row(lambda xp, a: xp.sinc(a), "{a}"))  # type: ignore[arg-type]
    with pytest.raises(RuleError, match="the primitive sinc has no count"):
        parts("sinc")


def test_counting_has_every_primitive() -> None:
    """What the protocol of arrays promises can be counted, and nothing else is there."""
    promised = {name for name in vars(Arrays) if not name.startswith("_")}
    own = {name for name in vars(Counting) if not name.startswith("_")}
    assert promised == own - {"array", "counts", "each"}


# ---- the arrays themselves ----


def test_plain_arrays_are_free() -> None:
    """Work among indices and masks is not counted; with values it is."""
    xp = Counting()
    x, ids = xp.array((N, D)), xp.arange(D)
    past = ids + 1 <= ids
    assert past.plain
    assert xp.counts() == {}
    assert (x * past).dims == (N, D)
    assert xp.counts() == {"mul": N * D}


def test_sizes_follow_torch() -> None:
    """Shapes are those that torch makes of the same calls."""
    xp, a = Counting(), torch.zeros(2, 3, 4)
    one = xp.array((2, 3, 4))
    flat = xp.reshape(one, (2, -1))
    assert flat.dims == tuple(a.reshape(2, -1).shape)
    assert xp.permute(one, (2, 0, 1)).dims == tuple(a.permute(2, 0, 1).shape)
    assert xp.sum(one, (0, 2)).dims == tuple(a.sum((0, 2)).shape)
    assert xp.concatenate([one, xp.slice(one, 1, 0, 2)], 1).dims == (2, 5, 4)
    assert xp.pad(one, 0, 1, 2).dims == (5, 3, 4)
    assert xp.einsum("abc,cd->bd", one, xp.array((4, 5))).dims == (3, 5)
    assert (one + xp.array((3, 1))).dims == tuple((a + torch.zeros(3, 1)).shape)
    assert xp.take(one, xp.array((7,), plain=True)).dims == (7, 3, 4)
    assert xp.topk(one, 2, 1)[0].dims == (2, 2, 4)


def test_an_einsum_is_what_its_op_is() -> None:
    """A contraction of its points, or products that are added up."""
    for products, expected in ((True, {"fma", "chain"}), (False, {"mul", "add", "chain"})):
        xp = Counting(products=products)
        xp.einsum("ab,bc->ac", xp.array((N, D)), xp.array((D, N)))
        assert set(xp.counts()) == expected


def test_a_sum_over_nothing_is_nothing() -> None:
    """No axes, no additions."""
    xp = Counting()
    xp.sum(xp.array((N,)), ())
    assert xp.counts() == {}
