"""Attention cut into blocks: what it computes, and what slow memory sees of it."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import torch

from symacct.algebra.evaluate import evaluate
from symacct.algebra.normal import same
from symacct.algebra.symbols import symbol
from symacct.derivation.tiling import loaded_blocks, slow_traffic, tiled_attention_traffic
from symacct.derivation.work import forward_work
from symacct.errors import RuleError, SizeError
from symacct.execution.interpret import Interpreter, Place
from symacct.execution.torch_arrays import TorchArrays
from symacct.ops.layout import sized
from symacct.ops.tiled import Load

S, T, K, M, c, r = map(symbol, "STKMcr")
GRAPH = runpy.run_path(str(Path(__file__).parent.parent / "graphs" / "tiled_attention.py"))[
    "tiled_attention"
]()
SIZES = {"S": 6, "T": 8, "K": 4, "c": 2, "r": 3}


def test_blocks_compute_attention() -> None:
    """From an empty start the pass gives softmax(q k / sqrt(K)) v, whatever the blocks."""
    q, k, v = (torch.randn(n, 4, dtype=torch.float64) for n in (6, 8, 8))
    o, row = torch.zeros(6, 4, dtype=torch.float64), torch.zeros(6, dtype=torch.float64)
    arrays = {"q": q, "k": k, "v": v, "o": o, "top": torch.full_like(row, -torch.inf), "row": row}
    store = {(name, ()): array for name, array in arrays.items()}
    run = Interpreter(TorchArrays(torch, "fp64"), GRAPH.tensors.__getitem__, store)
    run.run(GRAPH.nodes, Place(SIZES))
    expected = torch.softmax(q @ k.T / 2, -1) @ v
    assert torch.allclose(store[GRAPH.outputs[0], ()], expected)


def test_blocks_do_not_change_the_products() -> None:
    """Both products together are 2 S T K fma, as without blocks."""
    fma = [row.expr for row in forward_work(GRAPH) if row.matmul and row.primitive == "fma"]
    assert same(sum(fma), 2 * S * T * K)


def test_slow_memory_sees_keys_once_and_queries_once_for_each_block_of_keys() -> None:
    """Keys and values are read once; q, o and the row statistics with every block of keys."""
    read, written = slow_traffic(GRAPH)
    assert same(read, 2 * T * K + T / c * (2 * S * K + 2 * S))
    assert same(written, T / c * (S * K + 2 * S))


def test_traffic_is_that_of_the_blocks_that_fit() -> None:
    """With M elements of fast memory traffic is 12 S T K^2 / M at leading order: the published bound."""
    found = tiled_attention_traffic(GRAPH, M)
    assert same(found, 2 * T * K + 4 * T * K / M * (3 * S * K + 4 * S))
    at = {"S": 2**20, "T": 2**20, "K": 128}
    ratio = evaluate(found, {**at, "M": 2**14}) / evaluate(found, {**at, "M": 2**15})
    assert abs(float(ratio) - 2) < 0.01


@pytest.mark.parametrize("memory", [2**12, 2**14, 2**16])
def test_loaded_blocks_fit_into_fast_memory(memory: int) -> None:
    """With c = M / 4K and r = min(c, K) the loaded blocks take at most M, and two numbers for each query."""
    keys = memory // (4 * 64)
    queries = min(keys, 64)
    taken = evaluate(loaded_blocks(GRAPH), {"c": keys, "r": queries, "K": 64})
    assert taken <= memory + 2 * queries


def test_blocks_must_divide() -> None:
    """Sizes that leave a part of a block are refused."""
    with pytest.raises(SizeError, match="condition"):
        GRAPH.bind({"T": 7, "c": 2})


def test_a_load_has_no_derivative() -> None:
    """A graph cut into blocks is one pass."""

    class Node:
        ins = ("k",)
        outs = ("block",)

    with pytest.raises(RuleError, match="no derivative"):
        Load("T", c, r).vjp(None, Node(), "g", frozenset({0}))  # type: ignore[arg-type]
    assert Load("T", c, r).infer(sized(T=6))[0].dims == (c,)
