"""Elementwise functions and their neighbours: alignment by name, masks, refusals."""

from __future__ import annotations

import pytest
import torch
from expected_counts import PARTS
from sympy import Rational
from tape import Node, Tape, xp64

from symacct.algebra.symbols import as_expr, symbol
from symacct.errors import GraphError, RuleError, SizeError, SymacctError, UsageError
from symacct.op import PRIMITIVES
from symacct.ops.dropout import Dropout
from symacct.ops.elementwise import Elementwise
from symacct.ops.elementwise_table import ROWS, TABLE, parts
from symacct.ops.join import Concatenate, Slice
from symacct.ops.reduce import Expand, Reduce
from symacct.tensor import Mask, Tensor, value

B, D, F, S = map(symbol, "BDFS")
X = Tensor("x", ("B", "D"), (B, D))
IDS = Tensor("ids", ("B",), (B,), "index")
KEEP = Tensor("keep", ("B", "D"), (B, D), "mask")


def test_parts_are_primitives() -> None:
    """Every function is a primitive, or runs those that are worked out by hand."""
    for name in ROWS:
        assert parts(name) == PARTS.get(name, {name: 1}), name
        assert (name in PRIMITIVES) != (name in PARTS)
    assert set(PARTS) <= set(ROWS)


@pytest.mark.parametrize(
    ("function", "flops"),
    [
        ("relu", 1),
        ("gelu", 5),
        ("gelu_tanh", 8),
        ("silu", 2),
        ("scale", 1),
        ("gelu_grad", 11),
        ("silu_grad", 6),
    ],
)
def test_parts_sum_to_the_hand_count(function: str, flops: int) -> None:
    """x/2 (1 + erf(x c)) is a product, erf, an addition and two products; and so on."""
    assert sum(parts(function).values()) == flops


def test_derivatives_name_rows_with_as_many_operands() -> None:
    """Each derivative of the table names a function of the table and its number of operands."""
    for name, row in TABLE.items():
        assert len(row.grads) == row.arity, name
        for rule in row.grads:
            function, *operands = (rule or "g").split()
            assert function == "g" or len(operands) == ROWS[function].arity, (name, rule)


def test_one_tensor_in_two_slots_has_two_gradients() -> None:
    """x * x gives one gradient for each slot; each reads x."""
    tape = Tape(xp64())
    array = torch.arange(3.0)
    x = tape.give(value(("D",), (as_expr(3),)), array)
    out = tape(Elementwise("mul"), x, x)
    g = tape.give(value(("D",), (as_expr(3),)), array + 1)
    grads = Elementwise("mul").vjp(tape, Node((x, x), out), g, frozenset({0, 1}))
    assert grads[0] != grads[1]
    assert (tape.arrays[grads[0]] + tape.arrays[grads[1]]).tolist() == [0.0, 4.0, 12.0]


def test_masks() -> None:
    """The structural mask is that of the first operand that has one, and falls when an axis goes."""
    scores = value(("S", "T"), (S, S), mask=Mask("S", "T"))
    bias = value(("T",), (S,))
    assert Elementwise("add").infer(bias, scores)[0].mask == Mask("S", "T")
    assert Dropout(Rational(1, 2)).infer(scores)[1].mask == Mask("S", "T")
    assert Reduce("sum", ("T",)).infer(scores)[0].mask is None
    assert Slice("T", as_expr(0), as_expr(1)).infer(scores)[0].mask is None


def test_data_masks_multiply_values() -> None:
    """A mask may multiply a value; the product is a value, and the mask gets no gradient."""
    assert Elementwise("mul").infer(KEEP, X)[0].dtype == "float"
    assert Elementwise("greater").infer(X, X)[0].dtype == "mask"
    tape = Tape(xp64())
    names = tuple(tape.give(t, None) for t in (KEEP, X))
    with pytest.raises(RuleError, match="mul has no derivative in operand 1"):
        Elementwise("mul").vjp(tape, Node(names, names[1:]), names[1], frozenset({0}))


def test_statistics_take_the_dtype_of_values() -> None:
    """A statistic beside a value gives a value; alone it stays one."""
    stat = Tensor("mean", ("B",), (B,), "stat")
    assert Elementwise("sub").infer(X, stat)[0].dtype == "float"
    assert Elementwise("square").infer(stat)[0].dtype == "stat"


REFUSALS = [
    (
        lambda: Elementwise("add").infer(X, Tensor("one", ("D",), (as_expr(1),))),
        SizeError,
        (
            "axis D of add has two sizes\n  expected  D = D (from x[B, D])"
            "\n  got       D = 1 (from one[D=1])\n"
            "  fix       sizes bound so far: B=B, D=D; name the axes apart, or make the sizes equal"
        ),
    ),
    (
        lambda: Elementwise("gelu").infer(IDS),
        GraphError,
        (
            "gelu does not take ids[B]\n  expected  a value\n  got       index\n"
            "  fix       cast it, or look it up in a table"
        ),
    ),
    (
        lambda: Elementwise("where").infer(X, X, X),
        GraphError,
        (
            "where does not take x[B, D]\n  expected  a mask\n  got       float\n"
            "  fix       make a mask with greater"
        ),
    ),
    (
        lambda: Elementwise("add").infer(X, Tensor("y", ("B",), (B,), "fp32")),
        GraphError,
        (
            "the operands of add do not have one dtype\n  expected  float\n"
            "  got       x[B, D] float, y[B] fp32\n"
            "  fix       cast one of them"
        ),
    ),
    (
        lambda: Elementwise("add").infer(X),
        GraphError,
        "add takes 2 operands\n  expected  2\n  got       1: x[B, D]",
    ),
    (
        lambda: Elementwise("scale"),
        UsageError,
        "scale takes a constant\n  expected  a constant\n  got       None",
    ),
    (
        lambda: Reduce("sum", ("F",)).infer(X),
        GraphError,
        "sum names axis F, which x[B, D] has not\n  expected  one of: B D\n  got       F",
    ),
    (
        lambda: Reduce("sum", ()),
        GraphError,
        "sum needs axes to go, each once\n  expected  one axis or more, each once\n  got       none",
    ),
    (
        lambda: Expand(("B", "D"), (B, F)).infer(X),
        SizeError,
        (
            "axis D cannot be expanded\n  expected  D = D among the axes of the result\n"
            "  got       B = B, D = F\n"
            "  fix       keep the tensor's own axes and sizes; size 1 is not stretched"
        ),
    ),
    (
        lambda: Concatenate("B").infer(X, Tensor("w", ("B", "F"), (B, F))),
        GraphError,
        (
            "concatenate joins tensors that differ\n  expected  the axes and dtype of x[B, D] float\n"
            "  got       w[B, F] float"
        ),
    ),
    (
        lambda: Slice("D", as_expr(2), D + 1).infer(X),
        SizeError,
        (
            "slice 2:D + 1 is not inside axis D\n  expected  at least one of the positions 0 to D\n"
            "  got       2:D + 1 of x[B, D]"
        ),
    ),
    (
        lambda: Dropout(as_expr(1)),
        SizeError,
        (
            "a dropout rate of 1 leaves no element\n  expected  a number of at least 0 and less than 1\n"
            "  got       1"
        ),
    ),
]


@pytest.mark.parametrize(("call", "kind", "text"), REFUSALS)
def test_refusals(call: object, kind: type[SymacctError], text: str) -> None:
    """What does not fit is refused with its facts."""
    with pytest.raises(kind) as refused:
        call()  # type: ignore[operator]
    assert type(refused.value) is kind
    assert str(refused.value) == text
