"""Random graphs: what is derived is what torch counts, and the derived gradients are autograd's."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from agreement import compare  # noqa: E402
from random_graphs import random_graph  # noqa: E402

EXAMPLES = 60


@pytest.mark.long
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 10))
def test_a_random_graph_derives_what_torch_counts(seed: int, steps: int) -> None:
    """FLOPs forward and backward, saved bytes, outputs and gradients agree."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        outcome = compare(random_graph(seed, steps))
    finally:
        torch.set_num_threads(threads)
    assert not outcome.problems


@pytest.mark.long
def test_random_graphs_are_not_trivial() -> None:
    """Most seeds compare contractions, saved bytes and gradients, and most of them by formula."""
    outcomes = [compare(random_graph(seed)) for seed in range(20)]
    assert sum(o.flops > 0 and o.saved > 0 and o.gradients > 0 for o in outcomes) >= 15
    assert sum(o.formula for o in outcomes) >= 15
