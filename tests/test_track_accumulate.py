"""Gradients of micro-batches add up to the batch's, where rows do not depend on each other."""

from __future__ import annotations

from typing import Any

import pytest

from symacct import graph
from symacct.errors import RuleError, SizeError, UnknownNameError, UsageError
from symacct.execution.accumulate import accumulated

EQUAL = 1e-12


@graph({"B": "rows", "D": "features", "L": "layers"})
def chain(b: Any) -> Any:
    """Layers with bias, norm, dropout and a residual path; every row is on its own."""

    def layer(x: Any) -> Any:
        y = b.gelu(b.linear(b.layernorm(x, "D", name="norm"), "D -> F", F="2*D", bias=True, name="up"))
        return x + b.dropout(b.linear(y, "F -> D", name="down"))

    return b.repeat("L", layer, b.input("x", "B D"))


@graph({"B": "rows", "D": "features", "V": "classes"})
def classifier(b: Any) -> Any:
    """A loss of its own: the mean over the rows."""
    logits = b.linear(b.input("x", "B D"), "D -> V", name="head")
    return b.cross_entropy(logits, b.input("targets", "B", dtype="index"), "V")


@graph({"B": "rows", "D": "features"})
def coupled(b: Any) -> Any:
    """Softmax over the batch: each row depends on all others."""
    y = b.linear(b.input("x", "B D"), "D -> E", E="D", name="up")
    return b.square(b.softmax(y, "B"))


@graph({"B": "rows", "D": "features"})
def placed(b: Any) -> Any:
    """A parameter for each row."""
    return b.input("x", "B D") * b.weight("w", "B D")


CHAIN = {"B": 6, "D": 5, "L": 3}


@pytest.mark.parametrize("micro", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("loss", ["sum", "mean"])
def test_parts_of_any_size_add_up(micro: int, loss: str) -> None:
    assert accumulated(chain(), CHAIN, "B", micro, loss) < EQUAL


@pytest.mark.parametrize("micro", [2, 3, 5, 7])
def test_a_loss_that_is_a_mean_weighs_parts_by_their_share(micro: int) -> None:
    sizes = {"B": 7, "D": 3, "V": 4}
    assert accumulated(classifier(), sizes, "B", micro, "mean") < EQUAL
    assert accumulated(classifier(), sizes, "B", micro, "sum") > EQUAL


def test_rows_that_depend_on_each_other_show() -> None:
    sizes = {"B": 6, "D": 4}
    assert accumulated(coupled(), sizes, "B", 1, "sum") < EQUAL
    assert accumulated(coupled(), sizes, "B", 2, "sum") > 1e-3


def test_refusals() -> None:
    with pytest.raises(SizeError, match="6 rows cannot be cut into 7 parts"):
        accumulated(chain(), CHAIN, "B", 7, "sum")
    with pytest.raises(UsageError, match="a batch is cut into parts"):
        accumulated(chain(), CHAIN, "B", 0, "sum")
    with pytest.raises(UnknownNameError, match="unknown size 'C'"):
        accumulated(chain(), CHAIN, "C", 2, "sum")
    with pytest.raises(UnknownNameError, match="unknown loss"):
        accumulated(chain(), CHAIN, "B", 2, "max")
    with pytest.raises(RuleError, match="cannot be cut into micro-batches"):
        accumulated(placed(), {"B": 4, "D": 3}, "B", 2, "sum")
