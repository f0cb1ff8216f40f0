"""Wrong numbers that people met with shapes: indices, leading axes, sizes that do not divide.

Each test carries a public case and other sizes; the source stands in its docstring.
"""

from __future__ import annotations

import pytest
from decoders import inputs
from sympy import Integer

from symacct import Builder, derive, load
from symacct.errors import GraphError, SizeError, UnitError
from symacct.quantity import Quantity
from symacct.units import Unit


@pytest.mark.parametrize("equation", ["ii->i", "ii->", "i i -> i", "ii,i->i"])
def test_a_diagonal_and_a_trace_are_refused_by_name(equation):
    """Never 2*i^2: https://github.com/arogozhnikov/einops/issues/305."""
    b, x, y = inputs(x={"p": 3, "q": 3}, y={"p": 3})
    operands = (x, y) if "," in equation else (x,)
    with pytest.raises(GraphError, match=r"axis i appears twice in one operand .*\n.*diagonals and traces"):
        b.einsum(equation, *operands)
    assert b.einsum("ij,i->j", x, y).axes == ("j",)


def test_a_message_names_the_index_its_places_and_both_sizes():
    """The index c was blamed for b = 4 against b = 6: https://github.com/numpy/numpy/issues/11221."""
    b, x, y = inputs(x={"p": 3, "q": 3, "r": 4, "s": 5, "t": 6}, y={"p": 3, "q": 4, "r": 5})
    with pytest.raises(GraphError) as caught:
        b.einsum("aabcb,abc->a", x, y)
    assert "b is axis 3 and 5, of sizes 4 and 6" in caught.value.got
    b, x, y = inputs(x={"p": 3, "q": 6, "r": 5}, y={"p": 3, "q": 4, "r": 5})
    with pytest.raises(SizeError) as caught:
        b.einsum("abc,abc->a", x, y)
    assert caught.value.what == "axis b of 'abc,abc->a' has two sizes"
    assert caught.value.expected == "b = 6 (bound by axis 2 of x[p=3, q=6, r=5])"
    assert caught.value.got == "b = 4 (axis 2 of y[p=3, q=4, r=5])"


@pytest.mark.parametrize(("left", "right"), [(1, 5), (5, 1), (1, 2)])
def test_size_one_is_not_stretched(left, right):
    """torch and numpy broadcast a named axis of size 1; here both sizes are named."""
    b, x, y = inputs(x={"p": 2, "q": 3, "r": left}, y={"r": right, "s": 7})
    with pytest.raises(SizeError, match=rf"axis j of .*\n.*j = {left} .*\n.*j = {right} "):
        b.einsum("bij,jk->bik", x, y)
    b, x, y = inputs(x={"p": 2, "q": 3, "r": right}, y={"r": right, "s": 7})
    assert b.einsum("bij,jk->bik", x, y).dims == (2, 3, 7)


@pytest.mark.parametrize(
    "equation", ["...ab, ...bc -> ...ac", "...ab,...bc->...ac", " ... a b , ... b c ->... a c"]
)
def test_blanks_around_an_ellipsis_change_nothing(equation):
    """https://github.com/numpy/numpy/issues/10794."""
    b, x, y = inputs(x={"G": 2, "H": 3, "p": 5, "q": 7}, y={"G": 2, "H": 3, "q": 7, "r": 11})
    product = b.einsum(equation, x, y)
    assert product.dims == (2, 3, 5, 11)
    assert derive(b.build(product), workload="forward").value("flops.forward") == 2 * 2 * 3 * 5 * 7 * 11


@pytest.mark.parametrize(
    ("leading", "inner", "outer"),
    [
        ({"B": 2, "S": 3}, 5, 7),  # https://github.com/sovrasov/flops-counter.pytorch/issues/28 and /121
        ({"B": 1, "S": 22528}, 64, 256),  # https://github.com/TylerYep/torchinfo/issues/77
        ({"B": 32}, 10, 10),  # https://github.com/open-mmlab/mmcv/issues/2936
        ({"B": 4, "H": 6, "S": 9, "R": 2}, 3, 8),
    ],
)
@pytest.mark.parametrize("bias", [True, False])
def test_a_linear_layer_counts_every_leading_axis(leading, inner, outer, bias):
    """210 MAC and 42 additions for (2, 3, 5) to 7; 369,098,752 MAC; 3,200 MAC."""
    b, x = inputs(x={**leading, "D": inner})
    account = derive(b.build(b.linear(x, "D -> K", K=outer, bias=bias)), workload="forward")
    rows = 1
    for size in leading.values():
        rows *= size
    assert account["flops.forward"].to("MAC") == rows * inner * outer
    assert account.value("flops.forward.all") == rows * outer * (2 * inner + bias)
    assert account.value("params") == outer * (inner + bias)


def test_work_per_row_is_not_work_per_batch():
    """100 MAC was said of 3,200: https://github.com/open-mmlab/mmcv/issues/2936."""
    account = derive(load("linear"), workload="forward", sizes={"B": 32, "D": 10, "K": 10})
    flops, rows = account["flops.forward"], Quantity(Integer(32), Unit("sequence"))
    assert (flops / rows).to("MAC/sequence") == 100
    with pytest.raises(UnitError, match="FLOP/sequence"):
        flops + flops / rows


@pytest.mark.parametrize(
    ("width", "count", "word"), [(100, 8, "8 does not divide 100"), (7, 2, "2 does not divide 7")]
)
def test_a_head_of_a_broken_size_is_refused(width, count, word):
    """No head has 12.5 features."""
    b, x = inputs(x={"B": 2, "D": width})
    with pytest.raises(SizeError, match=word):
        b.rearrange("B (H K) -> B H K", x, H=count)
    free = Builder("heads", "B D H")
    y = free.rearrange("B (H K) -> B H K", free.input("x", "B D"))
    free.linear(free.input("z", "B D"), "D -> H K", K="D/H")
    built = free.build(y)
    assert [c.text for c in built.conditions] == ["H divides D"]
    with pytest.raises(SizeError, match="H divides D"):
        built.bind({"D": width, "H": count})
    assert built.bind({"D": width * count, "H": count}).tensors[y.name].dim("K") == width


def test_a_size_written_as_a_quotient_carries_its_condition():
    """A weight of D/H features a head exists only where H divides D, whoever wrote the graph."""
    b = Builder("heads", "B D H")
    built = b.build(b.linear(b.input("x", "B D"), "D -> H K", K="D/H"))
    assert [c.text for c in derive(built)["params"].when] == ["H divides D"]
    with pytest.raises(SizeError, match="H divides D"):
        derive(built).value("params", {"B": 1, "D": 100, "H": 8})


def test_an_axis_of_size_zero_is_refused():
    """Sizes are at least 1, so that nothing is divided by zero: https://github.com/ultralytics/thop/pull/153."""
    b = Builder("empty", "N")
    with pytest.raises(SizeError, match=r"integer of at least 1, got 0\n +where +graph empty, x, axis N"):
        b.input("x", "M N", M=4, N=0)
    with pytest.raises(SizeError, match="N is too small"):
        derive(load("dot")).value("flops.forward", {"N": 0})
