"""Low-rank adapters as a user of torch writes them: frozen linear layers, and two small ones beside each."""

from __future__ import annotations

from math import sqrt
from typing import Any

import torch


class Adapted(torch.nn.Module):
    """A frozen linear layer without a bias, or with one, and a path of low rank beside it."""

    def __init__(
        self, wide: int, out: int, rank: int, scale: float | None = None, *, bias: bool = False
    ) -> None:
        super().__init__()
        self.frozen = torch.nn.Linear(wide, out, bias=bias).requires_grad_(requires_grad=False)
        self.a = torch.nn.Linear(wide, rank, bias=False)
        self.b = torch.nn.Linear(rank, out, bias=False)
        self.scale = scale

    def forward(self, x: Any) -> Any:
        beside = self.b(self.a(x))
        return self.frozen(x) + (beside if self.scale is None else beside * self.scale)


def plain(wide: int, out: int, *, bias: bool = False) -> Any:
    """Return a frozen linear layer."""
    return torch.nn.Linear(wide, out, bias=bias).requires_grad_(requires_grad=False)


class Attention(torch.nn.Module):
    """Causal attention with adapters on queries and values."""

    def __init__(self, length: int, width: int, heads: int, features: int, rank: int) -> None:
        super().__init__()
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        self.register_buffer("later", later[:, None, :])
        inner = heads * features
        self.heads, self.features = heads, features
        self.q, self.v = Adapted(width, inner, rank), Adapted(width, inner, rank)
        self.k, self.o = plain(width, inner), plain(inner, width)

    def split(self, x: Any) -> Any:
        return x.reshape(*x.shape[:2], self.heads, self.features)

    def forward(self, x: Any) -> Any:
        q, k, v = (self.split(part(x)) for part in (self.q, self.k, self.v))
        scores = torch.einsum("bshk,bthk->bsht", q, k) / sqrt(self.features)
        chances = scores.masked_fill(self.later, float("-inf")).softmax(-1)
        mixed = torch.einsum("bsht,bthk->bshk", chances, v)
        return self.o(mixed.reshape(*x.shape[:2], -1))


def chain(sizes: dict[str, int]) -> tuple[Any, tuple[Any, ...]]:
    """L adapted layers of D to D; the last size is the rank."""
    layers = [Adapted(sizes["D"], sizes["D"], sizes["r"]) for _ in range(sizes["L"])]
    return torch.nn.Sequential(*layers), (torch.randn(sizes["B"], sizes["D"]),)


def scaled(sizes: dict[str, int]) -> tuple[Any, tuple[Any, ...]]:
    """The same with alpha/r = 2."""
    layers = [Adapted(sizes["D"], sizes["D"], sizes["r"], 2.0) for _ in range(sizes["L"])]
    return torch.nn.Sequential(*layers), (torch.randn(sizes["B"], sizes["D"]),)


def biased(sizes: dict[str, int]) -> tuple[Any, tuple[Any, ...]]:
    """One layer with a bias of D to F, and a frozen one after it."""
    first = Adapted(sizes["D"], sizes["F"], sizes["r"], bias=True)
    return torch.nn.Sequential(first, plain(sizes["F"], sizes["D"], bias=True)), (
        torch.randn(sizes["B"], sizes["D"]),
    )


def attention(sizes: dict[str, int]) -> tuple[Any, tuple[Any, ...]]:
    """One attention layer."""
    module = Attention(*(sizes[name] for name in "SDHKr"))
    return module, (torch.randn(sizes["B"], sizes["S"], sizes["D"]),)
