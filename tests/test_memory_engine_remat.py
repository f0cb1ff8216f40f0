"""Regions that a graph runs again: built, read and written, bound, and held against tracked runs."""

from __future__ import annotations

import pickle

import pytest

from symacct import Builder, derive
from symacct.errors import GraphError, UnknownNameError, UsageError
from symacct.execution.schedule import Plan, run
from symacct.nodes import Graph, Remat
from symacct.peaks.timeline import at_sizes, sizes_at, worst
from symacct.policy import Policy, precision
from symacct.readers.graph_json import from_json, to_json
from symacct.report.outline import outline


def stack(*keep: str) -> Graph:
    """Residual layers whose inner part is run again."""
    b = Builder("stack", "B D F L")

    def inner(x):
        return b.linear(b.gelu(b.linear(x, "D -> F", name="up"), label="act"), "F -> D", name="down")

    return b.build(b.repeat("L", lambda x: x + b.remat(inner, x, name="ffn", keep=keep), b.input("x", "B D")))


def test_regions_survive() -> None:
    graph = stack()
    labels = ("layers/ffn/up/matmul", "layers/ffn/act", "layers/ffn/down/matmul")
    assert graph.remats == (Remat("layers/ffn", labels),)
    assert graph.bind({"D": 4}).remats == graph.remats
    assert pickle.loads(pickle.dumps(graph)) == graph  # noqa: S301
    assert from_json(to_json(graph)) == graph
    assert "layers/ffn: " + ", ".join(labels)[:40] in " ".join(outline(derive(graph)).split())
    assert (
        derive(graph, lora="r=2,on=up")["memory.activations"].expr == derive(graph)["memory.activations"].expr
    )


@pytest.mark.parametrize("sizes", [{"B": 2, "D": 3, "F": 5, "L": 3}, {"B": 7, "D": 3, "F": 2, "L": 1}])
def test_regions_agree_with_tracked_runs(sizes) -> None:
    graph, policy = stack(), Policy(precision=precision("fp32"))
    real = run(graph, sizes, Plan(("regions", "ffn"))).peak
    assert real == worst(at_sizes(graph, policy, sizes), sizes_at(graph, policy, sizes)).nbytes


def test_what_is_kept_is_not_run_again() -> None:
    once = derive(stack("act"), precision="fp32")
    assert str(once["memory.activations"].expr) == "4*B*D*L + 4*B*F*L"
    assert "layers/ffn/act" not in once.course.runs_again


def test_refusals() -> None:
    with pytest.raises(UnknownNameError, match="unknown node 'acts'"):
        stack("acts")
    b = Builder("g", "B D")
    x = b.input("x", "B D")
    with pytest.raises(GraphError, match="makes nothing"):
        b.remat(lambda x: x, x)
    with pytest.raises(GraphError, match="stands in another one"):
        b.remat(lambda x: b.remat(b.relu, x), x)
    with pytest.raises(UsageError, match="regions of its own"):
        derive(stack(), checkpoint="every:1").candidates()
    broken = to_json(stack()).replace('"layers/ffn/act",\n    "layers/ffn/down/matmul"', '"layers/add"')
    with pytest.raises(GraphError, match="no part of the graph that can be run again"):
        from_json(broken)
