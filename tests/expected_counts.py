"""What each op is expected to count, worked out by hand: nothing here runs the op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sympy import Add, ceiling

from symacct.ops.attention import FusedAttention
from symacct.ops.attention_grad import FusedAttentionGrad
from symacct.ops.cache import Cached
from symacct.ops.cast import Cast
from symacct.ops.dropout import Dropout, DropoutGrad
from symacct.ops.einsum import Einsum
from symacct.ops.elementwise import Elementwise
from symacct.ops.grouped import GroupedMatmul
from symacct.ops.grouped_grad import GroupedWeightGrad
from symacct.ops.join import Concatenate, Pad, Slice
from symacct.ops.lookup import Embedding, EmbeddingGrad
from symacct.ops.loss import CrossEntropy, CrossEntropyGrad
from symacct.ops.norm import LayerNorm, RMSNorm
from symacct.ops.norm_grad import NormGrad, NormWeightGrad
from symacct.ops.optimizer import Update
from symacct.ops.reduce import Expand, Reduce
from symacct.ops.reduce_grad import MaxGrad, MeanGrad
from symacct.ops.rotary import Rotary
from symacct.ops.route import TopK, TopKGrad
from symacct.ops.softmax import LogSoftmax, LogSoftmaxGrad, Softmax, SoftmaxGrad
from symacct.ops.tiled import Load, Store
from symacct.ops.transpose import Transpose
from symacct.ops.view import Keys, Rearrange

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sympy import Expr

    from symacct.tensor import Tensor

    Tensors = Sequence[Tensor]
    Rule = Callable[[Any, Tensors, Tensors], Mapping[str, Any]]

PARTS = {
    "scale": {"mul": 1},
    "shift": {"add": 1},
    "maximum": {"max": 1},
    "greater": {"compare": 1},
    "relu": {"max": 1},
    "gelu": {"mul": 3, "erf": 1, "add": 1},
    "gelu_tanh": {"square": 1, "mul": 4, "add": 2, "tanh": 1},
    "silu": {"sigmoid": 1, "mul": 1},
    "div_grad": {"neg": 1, "mul": 1, "div": 2},
    "square_grad": {"mul": 2},
    "abs_grad": {"sign": 1, "mul": 1},
    "sqrt_grad": {"mul": 1, "div": 1},
    "rsqrt_grad": {"square": 1, "mul": 3},
    "sigmoid_grad": {"sub": 1, "mul": 2},
    "tanh_grad": {"square": 1, "sub": 1, "mul": 1},
    "relu_grad": {"compare": 1, "where": 1},
    "gelu_grad": {"mul": 6, "erf": 1, "exp": 1, "square": 1, "add": 2},
    "gelu_tanh_grad": {"square": 1, "mul": 8, "add": 4, "sub": 1, "tanh": 1},
    "silu_grad": {"sigmoid": 1, "sub": 1, "mul": 3, "add": 1},
    "maximum_first_grad": {"compare": 1, "where": 1},
    "maximum_second_grad": {"compare": 1, "where": 1},
    "where_true_grad": {"where": 1},
    "where_false_grad": {"where": 1},
}
"""Primitives for each element of a function that is not itself a primitive."""

UPDATES = {
    "sgd": {"mul": 1, "sub": 1},
    "momentum": {"mul": 2, "add": 1, "sub": 1},
    "adagrad": {"square": 1, "add": 2, "sqrt": 1, "mul": 1, "div": 1, "sub": 1},
    "rmsprop": {"square": 1, "add": 2, "sqrt": 1, "mul": 3, "div": 1, "sub": 1},
    "adam": {"square": 1, "add": 3, "sqrt": 1, "mul": 5, "div": 1, "sub": 1},
    "adamw": {"square": 1, "add": 3, "sqrt": 1, "mul": 6, "div": 1, "sub": 2},
    "amsgrad": {"square": 1, "add": 3, "sqrt": 1, "mul": 5, "div": 1, "sub": 1, "max": 1},
    "adam8bit": {
        "square": 1, "add": 3, "sqrt": 1, "mul": 7, "div": 3, "sub": 1, "abs": 2, "max": 2, "cast": 2,
    },
    "lion": {"mul": 6, "add": 2, "sign": 1, "sub": 2},
}  # fmt: skip
"""Primitives of an optimizer for each element; in blocks of 256, each largest is a chain of its own."""


def rows(op: Any, x: Tensor) -> Expr:
    """Return how many rows there are along the op's axis."""
    return x.numel / x.dim(op.axis)


def of_attention(op: Any, ins: Tensors, outs: Tensors) -> Mapping[str, Expr]:
    """Scores, scale, softmax without its division, logsumexp, the weighted sum, its division."""
    q, k, _ = ins
    lines, result = outs[1].numel, outs[0].numel
    points, head = lines * k.dim(op.key_axis), q.dim(op.head_axis)
    return {
        "fma": points * head + points * (result / lines),
        "chain": points + result,
        "mul": points,
        "max": points,
        "sub": points,
        "exp": points,
        "add": points + lines,
        "row_chain": 2 * lines,
        "log": lines,
        "div": result,
        **({} if op.mask is None else {"mask": points}),
    }


def of_attention_again(op: Any, ins: Tensors, _: Tensors) -> Mapping[str, Expr]:
    """Scores, scale, exponentials."""
    points = ins[5].numel * ins[2].dim(op.key_axis)
    each = dict.fromkeys(("chain", "mul", "sub", "exp", *([] if op.mask is None else ["mask"])), points)
    return {"fma": points * ins[1].dim(op.head_axis), **each}


def of_attention_grad(op: Any, ins: Tensors, outs: Tensors) -> Mapping[str, Expr]:
    """The probabilities again, one product for each wanted gradient, and what scores need."""
    parts = dict(of_attention_again(op, ins, outs))
    lines, result = ins[5].numel, ins[4].numel
    points = lines * ins[2].dim(op.key_axis)
    head, feature = ins[1].dim(op.head_axis), result / lines
    for slot, made in zip(op.slots, outs, strict=True):
        parts["fma"] += points * (feature if slot == 2 else head)
        parts["chain"] += made.numel
    if {0, 1} & set(op.slots):
        parts["fma"] += points * feature
        parts["chain"] += points
        parts["mul"] += 2 * points + result
        parts["sub"] += points
        parts |= {"add": result, "row_chain": lines}
    return parts


def of_einsum(op: Any, ins: Tensors, outs: Tensors) -> Mapping[str, Expr]:
    """One fma for each point in a contraction, also where none is summed; else a product and its sum."""
    sizes = dict(zip(op.left, ins[0].dims, strict=True)) | dict(zip(op.right, ins[1].dims, strict=True))
    points = 1
    for dim in sizes.values():
        points *= dim
    if op.contraction:
        return {"fma": points, "chain": outs[0].numel}
    return {"mul": points, **({"add": points, "chain": outs[0].numel} if op.sums else {})}


def of_cross_entropy(_: Any, ins: Tensors, __: Tensors) -> Mapping[str, Any]:
    """Log-softmax, one gather a row, then the mean and its sign."""
    n, r = ins[0].numel, ins[1].numel
    parts = {"max": n, "sub": 2 * n, "exp": n, "add": n + r, "log": r, "chain": 2 * r + 1}
    return {**parts, "gather": r, "div": 1, "neg": 1}


def of_layer_norm(op: Any, ins: Tensors, _: Tensors) -> Mapping[str, Expr]:
    """Mean, subtract it, variance, its reciprocal root, scale, weight, bias."""
    n, r = ins[0].numel, rows(op, ins[0])
    parts = {"add": (2 + op.bias) * n + r, "chain": 2 * r, "div": 2 * r, "sub": n}
    return {**parts, "square": n, "rsqrt": r, "mul": (1 + op.weight) * n}


def of_rms_norm(op: Any, ins: Tensors, _: Tensors) -> Mapping[str, Expr]:
    """Mean square, its reciprocal root, scale, weight."""
    n, r = ins[0].numel, rows(op, ins[0])
    return {"square": n, "add": n + r, "chain": r, "div": r, "rsqrt": r, "mul": (1 + op.weight) * n}


def of_norm_grad(op: Any, ins: Tensors, _: Tensors) -> Mapping[str, Expr]:
    """The normalised x, the cotangent times the weight, one or two means, and the rest."""
    n, r, c = ins[1].numel, rows(op, ins[1]), int(op.centred)
    sums = {"add": (1 + c) * n, "div": (1 + c) * r, "chain": (1 + c) * r}
    return {"sub": (1 + 2 * c) * n, "mul": (4 + op.weight) * n, **sums}


def of_norm_weight_grad(op: Any, ins: Tensors, outs: Tensors) -> Mapping[str, Expr]:
    """The normalised x, times the cotangent, summed over the rows if there are any."""
    n = ins[1].numel
    sums = {"add": n, "chain": outs[0].numel} if len(ins[1].axes) > 1 else {}
    return {"mul": 2 * n, **({"sub": n} if op.centred else {}), **sums}


def of_reduce(op: Any, ins: Tensors, outs: Tensors) -> Mapping[str, Expr]:
    """One add or max for each element, a chain for each result; a mean divides, a maximum is taken."""
    read, made = ins[0].numel, outs[0].numel
    last = {"sum": {}, "mean": {"div": made}, "max": {"gather": made}}[op.how]
    return {"max" if op.how == "max" else "add": read, "chain": made, **last}


def of_softmax(op: Any, ins: Tensors, _: Tensors) -> Mapping[str, Expr]:
    """The largest of a row, subtract it, exponentials, their sum, divide."""
    parts = dict.fromkeys(("max", "sub", "exp", "add", "div"), ins[0].numel)
    masked = {} if ins[0].mask is None else {"mask": ins[0].numel}
    return {**parts, **masked, "chain": 2 * rows(op, ins[0])}


def of_log_softmax(op: Any, ins: Tensors, _: Tensors) -> Mapping[str, Expr]:
    """The largest of a row, subtract it, exponentials, their sum, its logarithm, subtract it."""
    n, r = ins[0].numel, rows(op, ins[0])
    return {"max": n, "sub": 2 * n, "exp": n, "add": n, "log": r, "chain": 2 * r}


def of_softmax_grad(op: Any, ins: Tensors, _: Tensors) -> Mapping[str, Expr]:
    """Two products, a sum and a difference for each element."""
    n = ins[0].numel
    return {"mul": 2 * n, "add": n, "sub": n, "chain": rows(op, ins[0])}


def of_log_softmax_grad(op: Any, ins: Tensors, _: Tensors) -> Mapping[str, Expr]:
    """Exponentials, the sum of the cotangent, a product and a difference for each element."""
    return {**dict.fromkeys(("exp", "add", "mul", "sub"), ins[0].numel), "chain": rows(op, ins[0])}


def of_top_k(op: Any, ins: Tensors, _: Tensors) -> Mapping[str, Expr]:
    """The comparisons of k passes, each over the scores that are left."""
    passes = Add(*(ins[0].dim(op.axis) - n for n in range(1, int(op.k) + 1))) if op.k.is_Integer else None
    if passes is None:
        passes = op.k * ins[0].dim(op.axis) - op.k * (op.k + 1) / 2
    return {"compare": rows(op, ins[0]) * passes}


def of_update(op: Any, ins: Tensors, _: Tensors) -> Mapping[str, Expr]:
    """The primitives of the rule for each element."""
    n = ins[0].numel
    parts = {name: count * n for name, count in UPDATES[op.rule].items()}
    return {**parts, "chain": 2 * ceiling(n / 256)} if op.rule == "adam8bit" else parts


def nothing(*_: Any) -> Mapping[str, Expr]:
    """Elements are copied, or seen in another way."""
    return {}


def scattered(_: Any, ins: Tensors, __: Tensors) -> Mapping[str, Expr]:
    """Each element of the cotangent is added where it belongs."""
    return {"scatter_add": ins[0].numel}


EXPECTED: Mapping[type, Rule] = {
    **dict.fromkeys(
        (Cached, Concatenate, Expand, Keys, Load, Pad, Rearrange, Slice, Store, Transpose), nothing
    ),
    **dict.fromkeys((EmbeddingGrad, MaxGrad, TopKGrad), scattered),
    Cast: lambda _, ins, __: {"cast": ins[0].numel},
    CrossEntropy: of_cross_entropy,
    CrossEntropyGrad: lambda _, ins, __: {
        **dict.fromkeys(("exp", "cast", "sub", "mul"), ins[0].numel),
        "div": 1,
    },
    Dropout: lambda _, ins, __: {"mask": ins[0].numel, "mul": 2 * ins[0].numel},
    DropoutGrad: lambda _, ins, __: {"mul": 2 * ins[0].numel},
    Einsum: of_einsum,
    Elementwise: lambda op, _, outs: {op.function: outs[0].numel},
    Embedding: lambda _, __, outs: {"gather": outs[0].numel},
    FusedAttention: of_attention,
    FusedAttentionGrad: of_attention_grad,
    GroupedMatmul: lambda op, ins, outs: {
        "fma": outs[0].numel * ins[0].dim(op.in_axis),
        "chain": outs[0].numel,
    },
    GroupedWeightGrad: lambda op, ins, _: dict.fromkeys(
        ("mul", "scatter_add"), ins[0].numel * ins[1].dim(op.in_axis)
    ),
    LayerNorm: of_layer_norm,
    LogSoftmax: of_log_softmax,
    LogSoftmaxGrad: of_log_softmax_grad,
    MeanGrad: lambda _, __, outs: {"div": outs[0].numel},
    NormGrad: of_norm_grad,
    NormWeightGrad: of_norm_weight_grad,
    RMSNorm: of_rms_norm,
    Reduce: of_reduce,
    Rotary: lambda _, ins, __: {"mul": 2 * ins[0].numel, "neg": ins[0].numel / 2, "add": ins[0].numel},
    Softmax: of_softmax,
    SoftmaxGrad: of_softmax_grad,
    TopK: of_top_k,
    Update: of_update,
}
"""The counts of each op, of ``(op, ins, outs)``; views and copies count nothing."""
