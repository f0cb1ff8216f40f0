"""Uses of the ops that models are made of which are refused, and how the refusals read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from sympy import Integer

from symacct.algebra.symbols import symbol
from symacct.errors import GraphError, RuleError, SizeError, SymacctError
from symacct.ops.attention import FusedAttention
from symacct.ops.grouped import GroupedMatmul
from symacct.ops.layout import sized
from symacct.ops.lookup import Embedding
from symacct.ops.loss import CrossEntropy
from symacct.ops.norm import LayerNorm, RMSNorm
from symacct.ops.rotary import Rotary
from symacct.ops.route import TopK
from symacct.ops.softmax import LogSoftmax, Softmax, SoftmaxGrad
from symacct.tensor import Mask, Tensor

if TYPE_CHECKING:
    from symacct.op import Op

B, D, F = map(symbol, "BDF")


def test_the_backward_of_a_composite_has_no_derivative() -> None:
    """A missing rule is an error, not a zero."""

    class Node:
        ins = ("y", "g")
        outs = ("dx",)

    with pytest.raises(RuleError, match="SoftmaxGrad has no derivative"):
        SoftmaxGrad("V").vjp(None, Node(), "g", frozenset({0}))  # type: ignore[arg-type]


MASKED = replace(sized(S=3, T=3), mask=Mask("S", "T"))
REFUSED: list[tuple[Op, tuple[Tensor, ...], type[SymacctError], str]] = [
    (Softmax("W"), (sized(B=2, V=3),), GraphError, "softmax works over axis W"),
    (Softmax("S"), (MASKED,), GraphError, "softmax over axis S of masked scores"),
    (LogSoftmax("T"), (MASKED,), GraphError, "excluded pairs have no finite logarithm"),
    (LayerNorm("D"), (sized(B=2, D=3), sized(D=3)), GraphError, "layer norm has 2 inputs"),
    (
        LayerNorm("D"),
        (sized(B=2, D=3), sized(D=4), sized(D=3)),
        SizeError,
        "axis D of layer norm has two sizes",
    ),
    (RMSNorm("D"), (sized(B=2, D=3), sized(B=2)), GraphError, "its axes do not fit"),
    (CrossEntropy("V"), (sized(B=2, V=3), sized(B=2)), GraphError, "needs indices"),
    (CrossEntropy("V"), (sized(B=2, V=3), sized("index", S=2)), GraphError, "its axes do not fit"),
    (Embedding(), (sized(V=5, B=3), sized("index", B=2)), GraphError, "embedding cannot look"),
    (Embedding(), (sized(V=5, D=3), sized(B=2)), GraphError, "needs indices"),
    (Rotary("K", "S"), (sized(S=2, K=4), sized(K=4), sized(K=4)), GraphError, "has two axes"),
    (Rotary("K", "S"), (sized(S=2, K=4), sized(S=3, K=4), sized(S=3, K=4)), SizeError, "another size than x"),
    (TopK("E", Integer(4), "k"), (sized(B=2, E=3),), SizeError, "takes more than"),
    (TopK("E", Integer(2), "B"), (sized(B=2, E=3),), GraphError, "which .* has already"),
    (
        FusedAttention("S", "T", "K"),
        (sized(S=2, K=4), sized(H=2, T=3, K=4), sized(T=3, K=4)),
        GraphError,
        "cannot tell",
    ),
    (
        FusedAttention("S", "T", "K", Mask("T", "S")),
        (sized(S=2, K=4), sized(T=3, K=4), sized(T=3, K=4)),
        GraphError,
        "cannot tell",
    ),
    (
        GroupedMatmul("E", "D", "k"),
        (sized(B=2, D=3), sized(E=4, D=3), sized("index", B=2, k=2)),
        GraphError,
        "needs weights of experts",
    ),
]


@pytest.mark.parametrize(("op", "ins", "kind", "message"), REFUSED)
def test_what_does_not_fit_is_refused(
    op: Op, ins: tuple[Tensor, ...], kind: type[SymacctError], message: str
) -> None:
    """The error says what, and holds what was expected, what came, and a fix."""
    with pytest.raises(kind, match=message) as caught:
        op.infer(*ins)
    assert caught.value.expected
    assert caught.value.got
    assert caught.value.fix


def test_a_refusal_reads_as_a_whole() -> None:
    """The text of one refusal, beside its valid neighbour."""
    x, w = Tensor("x", ("B", "D"), (B, D)), Tensor("w", ("D",), (F,))
    assert RMSNorm("D").infer(x, replace(w, dims=(D,)))
    with pytest.raises(SizeError) as caught:
        RMSNorm("D").infer(x, w)
    assert str(caught.value) == (
        "axis D of RMS norm has two sizes\n"
        "  expected  D (from x[B, D])\n"
        "  got       F (from w[D=F])\n"
        "  fix       name the axes apart, or make the sizes equal"
    )
