"""Facts about the ops that models are made of, beyond what every op is tested for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Integer, sqrt
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import FlopCounterMode

from symacct.account import derive
from symacct.algebra.evaluate import evaluate
from symacct.algebra.normal import same
from symacct.algebra.symbols import symbol
from symacct.build import Builder
from symacct.errors import SizeError
from symacct.execution.interpret import Place
from symacct.execution.torch_arrays import TorchArrays
from symacct.op import Call
from symacct.ops.attention import FusedAttention
from symacct.ops.attention_grad import FusedAttentionGrad
from symacct.ops.grouped import GroupedMatmul
from symacct.ops.grouped_grad import GroupedWeightGrad
from symacct.ops.layout import sized
from symacct.ops.lookup import Embedding, EmbeddingGrad
from symacct.ops.loss import CrossEntropy
from symacct.ops.norm import LayerNorm, RMSNorm
from symacct.ops.rotary import Rotary
from symacct.ops.route import TopK
from symacct.ops.softmax import LogSoftmax, Softmax, SoftmaxGrad
from symacct.tensor import Mask, Tensor, value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sympy import Expr

    from symacct.op import Op

B, H, S, T, K = map(symbol, "BHSTK")
XP = TorchArrays(torch, "fp64")


def size(dim: Expr | int) -> int:
    """Return an integer dimension."""
    return int(dim)


def drawn(tensor: Tensor, high: int = 2) -> torch.Tensor:
    """Return random values, or indices below ``high``."""
    shape = [size(d) for d in tensor.dims]
    if tensor.dtype == "index":
        return torch.randint(0, high, shape)
    return torch.randn(shape, dtype=torch.float64)


def run(op: Op, ins: Sequence[Tensor], arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Run an op by its primitives."""
    return op.run(Call(XP, arrays, ins, op.infer(*ins), size))


def native(op: Op, ins: Sequence[Tensor], arrays: Sequence[Any]) -> Any:
    """Run an op as a user of torch would, and return its value."""
    return op.native(torch, Call(XP, arrays, ins, op.infer(*ins), size))[0]


def priced(counts: Mapping[str, Expr], prices: Mapping[str, int]) -> int:
    """Return the price of counts, where one is the price of whatever is not given."""
    return sum(prices.get(name, 1) * int(evaluate(n, {})) for name, n in counts.items())


# ---- softmax ----


@pytest.mark.parametrize("window", [None, Integer(2)])
def test_softmax_gives_excluded_pairs_probability_zero(window: Expr | None) -> None:
    """Rows sum to 1 over the allowed pairs alone; the mask travels on with the result and its gradient."""
    scores = replace(sized(H=2, S=3, T=5), mask=Mask("S", "T", window))
    (y,) = run(Softmax("T"), [scores], [drawn(scores)])
    assert torch.allclose(y.sum(-1), torch.ones(2, 3, dtype=torch.float64))
    pairs = int((y[0] > 0).sum())
    assert scores.mask is not None
    assert pairs == scores.mask.allowed(Integer(3), Integer(5))
    (out,) = Softmax("T").infer(scores)
    assert out.mask == scores.mask
    assert SoftmaxGrad("T").infer(out, sized(H=2, S=3, T=5))[0].mask == scores.mask


def test_log_softmax_is_66_when_finding_the_largest_is_free() -> None:
    """A published table has four operations per element and a logarithm per row; 66 on 2 rows of 8."""
    x = sized(B=2, V=8)
    counts = LogSoftmax("V").counts([x], [x])
    free = {"max": 0, "chain": 0}
    assert priced(counts, free) == 66
    assert priced(counts, {"chain": 0}) == 66 + 16


# ---- what torch keeps ----


def kept_elements(forward: Callable[[], torch.Tensor]) -> int:
    """Return how many elements torch keeps in distinct storages."""
    kept: dict[int, torch.Tensor] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.detach()
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        result = forward()
    assert result.requires_grad
    return sum(tensor.untyped_storage().nbytes() // tensor.element_size() for tensor in kept.values())


KEEPING = [
    (op, ins, frozenset(slots))
    for op, ins, choices in (
        (LayerNorm("D"), (sized(B=3, D=4), sized(D=4), sized(D=4)), [{0, 1, 2}, {0}, {1}, {2}, {1, 2}]),
        (RMSNorm("D"), (sized(B=3, D=4), sized(D=4)), [{0, 1}, {0}, {1}]),
        (RMSNorm("D", weight=False), (sized(B=3, D=4),), [{0}]),
        (CrossEntropy("V"), (sized(B=3, V=4), sized("index", B=3)), [{0}]),
    )
    for slots in choices
]


@pytest.mark.parametrize(("op", "ins", "wanted"), KEEPING)
def test_torch_keeps_what_the_op_says(op: Op, ins: tuple[Tensor, ...], wanted: frozenset[int]) -> None:
    """The saved-tensor hooks of eager torch see the elements that the op states."""
    arrays = [drawn(t) for t in ins]
    for slot in wanted:
        arrays[slot].requires_grad_()
    outs = op.infer(*ins)
    kept = op.torch_keeps(ins, outs, wanted)
    assert kept is not None
    stated = [ins[slot].numel for slot in kept.ins] + [outs[slot].numel for slot in kept.outs]
    stated += [elements for _, elements, _ in kept.extra]
    assert sum(map(int, stated)) == kept_elements(lambda: native(op, ins, arrays))


# ---- attention ----


def heads(keys: Expr = T) -> tuple[Tensor, Tensor, Tensor]:
    """Return q, k and v of B sequences and H heads."""
    q = value(("B", "H", "S", "K"), (B, H, S, K))
    k = value(("B", "H", "T", "K"), (B, H, keys, K))
    return q, k, k


def products(op: FusedAttention | FusedAttentionGrad, counts: Mapping[str, Expr]) -> Expr:
    """Return the FLOPs of the contractions at 2 per fma."""
    assert op.contracted() == {"fma", "chain"}
    return 2 * counts["fma"]


def backward(
    op: FusedAttention, slots: tuple[int, ...] = (0, 1, 2)
) -> tuple[FusedAttentionGrad, list[Tensor]]:
    """Return the backward op and its inputs."""
    ins = heads()
    o, stat = op.infer(*ins)
    grad = FusedAttentionGrad(op.query_axis, op.key_axis, op.head_axis, op.mask, op.scale, slots)
    return grad, [o, *ins, o, stat]


def test_attention_products_are_four_forward_and_ten_backward() -> None:
    """Forward 4 BHSTK; backward 10 BHSTK, of which 2 BHSTK make the scores again."""
    op, ins = FusedAttention("S", "T", "K", None, 1 / sqrt(K)), heads()
    assert same(products(op, op.counts(ins, op.infer(*ins))), 4 * B * H * S * T * K)
    grad, grad_ins = backward(op)
    outs = grad.infer(*grad_ins)
    assert same(products(grad, grad.counts(grad_ins, outs)), 10 * B * H * S * T * K)
    assert same(products(grad, grad.recomputed(grad_ins, outs)), 2 * B * H * S * T * K)


@pytest.mark.parametrize(("slots", "expected"), [((2,), 4), ((0,), 6), ((1,), 6), ((0, 1), 8), ((1, 2), 8)])
def test_attention_backward_makes_only_wanted_products(slots: tuple[int, ...], expected: int) -> None:
    """A product is counted only where a wanted gradient needs it."""
    grad, ins = backward(FusedAttention("S", "T", "K"), slots)
    assert same(products(grad, grad.counts(ins, grad.infer(*ins))), expected * B * H * S * T * K)


def test_attention_counts_the_allowed_pairs_where_asked() -> None:
    """With pairs left out, only what is done for each pair shrinks; one division per result stays."""
    b = Builder("g", "B H S K")
    q, keys = b.input("q", "B H S K"), (b.input(name, "B H T K", T="S") for name in "kv")
    rows = {row.primitive: row for row in derive(b.build(b.attention(q, *keys, fused=True))).forward_work}
    full, causal = B * H * S**2, B * H * S * (S + 1) / 2
    assert same(rows["fma"].exact, 2 * causal * K)
    assert same(rows["fma"].half, full * K)
    assert same(rows["fma"].expr, 2 * full * K)
    assert all(same(rows[name].exact, causal) for name in ("exp", "max", "sub", "mul", "mask"))
    assert rows["div"].expr == rows["div"].exact == rows["div"].half == B * H * S * K
    assert same(rows["add"].exact, causal + B * H * S)
    assert rows["row_chain"].exact == 2 * B * H * S
    assert same(rows["chain"].exact, causal + B * H * S * K)
    assert {name for name, row in rows.items() if row.matmul} == {"fma", "chain"}


def test_fused_attention_is_scores_softmax_and_a_product() -> None:
    """It has the value of the three ops it replaces, mask and all."""
    q, k = sized(H=2, S=3, K=4), sized(H=2, T=5, K=4)
    arrays = [drawn(t) for t in (q, k, k)]
    fused, stat = run(FusedAttention("S", "T", "K", Mask("S", "T"), Integer(1)), (q, k, k), arrays)
    scores = torch.einsum("hsk,htk->hst", arrays[0], arrays[1])
    masked = replace(sized(H=2, S=3, T=5), mask=Mask("S", "T"))
    (weights,) = run(Softmax("T"), [masked], [scores])
    assert torch.allclose(fused, weights @ arrays[2])
    kept = torch.where(weights > 0, scores, -torch.inf)
    assert torch.allclose(stat, torch.logsumexp(kept, -1))


def test_torch_counts_what_the_products_count() -> None:
    """On its math path torch's own counter sees 2 per fma, grouped queries too."""
    op = FusedAttention("S", "T", "K", None, 1 / sqrt(Integer(4)))
    ins = (sized(B=2, G=2, R=3, S=5, K=4), sized(B=2, G=2, T=6, K=4), sized(B=2, G=2, T=6, K=4))
    with FlopCounterMode(display=False) as counter:
        native(op, ins, [drawn(t) for t in ins])
    assert counter.get_total_flops() == 2 * op.counts(ins, op.infer(*ins))["fma"]


# ---- rotary, embedding ----


def test_a_rotation_keeps_lengths_and_is_undone() -> None:
    """With cos and sin of angles the inverse gives x back; with any tables it is the transpose."""
    x, table = sized(B=2, S=3, K=4), sized(S=3, K=4)
    angle = torch.randn(3, 2, dtype=torch.float64).repeat(1, 2)
    arrays = [drawn(x), angle.cos(), angle.sin()]
    (turned,) = run(Rotary("K", "S"), (x, table, table), arrays)
    assert torch.allclose(turned.norm(dim=-1), arrays[0].norm(dim=-1))
    (back,) = run(Rotary("K", "S", inverse=True), (x, table, table), [turned, *arrays[1:]])
    assert torch.allclose(back, arrays[0])


def test_an_odd_number_of_features_cannot_turn() -> None:
    """Halves must be equal."""
    x, table = sized(S=2, K=3), sized(S=2, K=3)
    call = Call(XP, [drawn(x), drawn(table), drawn(table)], (x, table, table), (x,), Place({}).size)
    with pytest.raises(SizeError, match="size 3/2 is no integer"):
        Rotary("K", "S").run(call)


def test_an_embedding_reads_rows_and_its_gradient_writes_the_table() -> None:
    """Of a table of V rows forward reads the N that are asked for; the dense gradient is written whole."""
    table, ids = sized(V=100, D=4), sized("index", B=2, S=3)
    (out,) = Embedding().infer(table, ids)
    assert Embedding().reads((table, ids), (out,)) == (24, 6)
    grad = EmbeddingGrad("V", Integer(100))
    ins = (out, ids)
    (made,) = grad.infer(*ins)
    assert grad.writes(ins, (made,)) == (400,)
    assert grad.counts(ins, (made,)) == {"scatter_add": 24}


# ---- routing ----


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6), st.booleans())
def test_grouped_products_count_alike_however_rows_are_routed(
    chosen: list[tuple[int, int]],
    shared: bool,  # noqa: FBT001
) -> None:
    """Torch counts 2 N D F forward and 4 N D F backward for every routing, and so does the op."""
    n = len(chosen)
    x = sized(B=n, D=3) if shared else sized(B=n, k=2, D=3)
    ins = (x, sized(E=4, D=3, F=5), sized("index", B=n, k=2))
    op = GroupedMatmul("E", "D", "k")
    arrays = [drawn(ins[0]).requires_grad_(), drawn(ins[1]).requires_grad_(), torch.tensor(chosen)]
    with FlopCounterMode(display=False) as forward:
        y = native(op, ins, arrays)
    with FlopCounterMode(display=False) as back:
        y.sum().backward()
    outs = op.infer(*ins)
    fma = int(op.counts(ins, outs)["fma"])
    grad = GroupedWeightGrad("E", "D", Integer(4), ("E", "D", "F"))
    theirs = grad.counts((*outs, ins[0], ins[2]), (ins[1],))
    assert forward.get_total_flops() == 2 * fma
    assert back.get_total_flops() == 2 * fma + sum(map(int, theirs.values()))


def test_one_token_touches_the_weights_of_its_choices() -> None:
    """Two of eight experts: a quarter of the weights; other inputs count whole."""
    op = GroupedMatmul("E", "D", "k")
    N, D, F = map(symbol, "NDF")
    x, weights = value(("N", "D"), (N, D)), value(("E", "D", "F"), (Integer(8), D, F))
    ids = value(("N", "k"), (N, Integer(2)), "index")
    assert same(op.active(1, (x, weights, ids)), 2 * D * F)
    assert same(op.active(0, (x, weights, ids)), N * D)
    touched = op.reads((x, weights, ids), op.infer(x, weights, ids))[1]
    assert evaluate(touched, {"N": 1, "D": 3, "F": 5}) == 30
    assert evaluate(touched, {"N": 100, "D": 3, "F": 5}) == 120


def test_symbolic_fields_are_bound_by_name() -> None:
    """The number of choices, a scale and a window follow the sizes."""
    k, W = symbol("k"), symbol("W")
    assert TopK("E", k, "c").substitute({"k": Integer(2)}) == TopK("E", Integer(2), "c")
    op = FusedAttention("S", "T", "K", Mask("S", "T", W), 1 / sqrt(K))
    bound = op.substitute({"W": Integer(8), "K": Integer(16)})
    assert bound == FusedAttention("S", "T", "K", Mask("S", "T", Integer(8)), Integer(1) / 4)
