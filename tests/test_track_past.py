"""What torch keeps of a past that no gradient reaches, by a program written out by hand."""

from __future__ import annotations

from functools import partial
from typing import Any
from weakref import ref

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from symacct import graph
from symacct.account import derive
from symacct.execution.check import EQUAL
from symacct.execution.memory_check import check_memory
from symacct.policy import Policy, precision
from symacct.policy import checkpoint as segments

B, D = 2, 3
X = 4 * B * D
"""The bytes of one tensor; the input counts as saved, too."""


@graph({"B": "rows", "D": "features", "L": "turns"})
def past(b: Any) -> Any:
    """From the second turn on no gradient reaches q, which the first turn reads."""
    x, w, v = b.input("x", "B D"), b.weight("w", "D E", E="D"), b.weight("v", "D E", E="D")
    q = b.shift(b.square(b.exp(b.einsum("B D, D E -> B E", x, w))), 1)
    s = b.tanh(b.einsum("B D, D E -> B E", x, v))

    def body(p: Any, q: Any, s: Any) -> Any:
        del p
        return b.tanh(q), b.tanh(s), b.sigmoid(s)

    p, _, _ = b.repeat("L", body, (s, q, s), name="r")
    return b.reduce("B E ->", p, "sum")


def turns(count: int, q: Any, s: Any) -> tuple[Any, Any, Any]:
    """Return what some turns hand on."""
    for _ in range(count):
        p, q, s = torch.tanh(q), torch.tanh(s), torch.sigmoid(s)
    return p, q, s


def kept_by_torch(count: int, every: int | None) -> int:
    """Return the bytes of all arrays of the forward pass that live when only the loss is left of it."""
    seen: dict[int, tuple[Any, int]] = {}

    class Seeing(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            made = func(*args, **(kwargs or {}))
            storage = made.untyped_storage()
            seen[id(storage)] = (ref(storage), storage.nbytes())
            return made

    x = torch.ones(B, D)
    w, v = (torch.ones(D, D, requires_grad=True) for _ in range(2))
    before = {id(one.untyped_storage()) for one in (x, w, v)}

    def forward() -> Any:
        q = torch.square(torch.exp(x @ w)) + 1
        s = torch.tanh(x @ v)
        left = count
        while left:
            now = min(every or left, left)
            run = partial(turns, now)
            if every is None:
                p, q, s = run(q, s)
            else:
                p, q, s = checkpoint(run, q, s, use_reentrant=False, preserve_rng_state=False)
            left -= now
        return torch.autograd.graph.get_gradient_edge(p.sum())

    with Seeing():
        edge = forward()
    found = sum(nbytes for at, (one, nbytes) in seen.items() if at not in before and one() is not None)
    torch.autograd.backward([edge], [torch.ones(())])
    return found


@pytest.mark.parametrize(("policy", "every"), [("none", None), ("every:1", 1), ("every:2", 2)])
def test_a_segment_keeps_the_past_of_what_enters_it(policy: str, every: int | None) -> None:
    kept_by_torch(1, 1)  # the first checkpoint of a process leaves cycles that keep arrays alive
    account = derive(past(), precision="fp32", checkpoint=policy)
    for count in range(1, 6):
        bound = account.bind({"B": B, "D": D, "L": count})
        assert int(bound["memory.activations"].expr) - X == kept_by_torch(count, every), count


def test_the_formulas_say_so_too() -> None:
    saved = derive(past(), precision="fp32", checkpoint="every:1")["memory.activations"].expr
    assert str(saved) == "8*B*D*L + 8*B*D"
    plans = [Policy(precision("fp32"), checkpoint=segments(text)) for text in ("every:1", "every:2:full")]
    found = check_memory(past(), {"B": B, "D": D}, plans)
    assert {row.verdict for row in found.rows} == {EQUAL}
