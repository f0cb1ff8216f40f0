"""Words of other libraries that are no words of the builder, each with how the same is written here."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from symacct.errors import UnknownNameError, brief, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

CONVOLUTION = (
    "there is no convolution: declare patches, x[B P C R] of P places, C channels and R weights of a kernel, "
    'and write b.einsum("B P C R, C R F -> B P F", x, w)'
)
PRODUCT = 'b.einsum("B D, D K -> B K", x, w) names the axis that is summed'
SHAPE = 'b.rearrange("B S (H K) -> B H S K", x, H=...) splits, merges and reorders axes by name'
PARTS = 'b.slice(x, "D", start, stop) takes a part of an axis'
JOIN = 'b.concatenate([x, y], "D") joins tensors along an axis that they have'
SUM = 'b.reduce("B D -> B", x, "mean") takes a sum, mean or max'
WORDS = {
    "a convolution": (("conv", "unfold", "im2col", "fold"), CONVOLUTION),
    "a product": (("matmul", "bmm", "mm", "addmm", "baddbmm", "dot", "tensordot", "outer"), PRODUCT),
    "a change of shape": (
        ("view", "reshape", "permute", "transpose", "swapaxes", "flatten", "movedim", "squeeze", "unsqueeze"),
        SHAPE,
    ),
    "a part": (("split", "chunk", "narrow", "select", "index_select", "unbind"), PARTS),
    "joining": (("cat", "concat", "stack", "hstack", "vstack"), JOIN),
    "a reduction": (("mean", "avg_pool", "max_pool", "amax", "adaptive_avg_pool", "var"), SUM),
    "a loop": (("loop", "scan", "for_each", "layers", "stack_layers"), 'b.repeat("L", body, x) runs a body'),
}
"""What is meant, the words for it (also as beginnings, before a digit: conv2d), and what to write."""


class UnknownWordError(UnknownNameError, AttributeError):
    """A builder has no such word; ``hasattr`` takes it for a plain no."""


def unknown_word(word: str, words: Sequence[str], where: str) -> UnknownWordError:
    """Return the error for a word that the builder has not.

    >>> unknown_word("conv2d", ["relu"], "graph g").fix.partition(":")[0]
    'there is no convolution'
    >>> unknown_word("rellu", ["relu", "gelu"], "graph g").fix
    "did you mean 'relu'?"
    """
    near = get_close_matches(word, words, n=1, cutoff=0.7)
    return UnknownWordError(
        f"unknown builder method {brief(word)!r}",
        where=where,
        expected=f"one of: {nearest(brief(word), words, 'op')}",
        got=brief(word),
        fix=_elsewhere(word) or (f"did you mean {near[0]!r}?" if near else None),
    )


def _elsewhere(word: str) -> str | None:
    """Return how what a word of another library means is written here."""
    bare = word.lower().rstrip("0123456789d_")
    for begins, fix in WORDS.values():
        if word.lower() in begins or bare in begins or bare.startswith("conv"):
            return CONVOLUTION if bare.startswith("conv") else fix
    return None
