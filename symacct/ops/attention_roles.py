"""What each axis of queries, keys and values is to attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symacct.errors import GraphError
from symacct.ops.einsum import LETTERS
from symacct.ops.layout import position, require_floating, require_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

    from symacct.tensor import Mask, Tensor

ATTENTION = "attention"


@dataclass(frozen=True, slots=True)
class Roles:
    """The axes of one use of attention.

    Attributes:
        batch: axes that q, k and v share.
        groups: further axes of q, whose queries share keys.
        feature: the axis of v that the result has in place of the head axis.
        rows: axes of one number for each query, in q's order.
        out: axes of the result.
    """

    batch: tuple[str, ...]
    groups: tuple[str, ...]
    feature: str
    rows: tuple[str, ...]
    out: tuple[str, ...]

    def size(self, axis: str, ins: Sequence[Tensor]) -> Expr:
        """Return the size of an axis, from the first of q, k, v that has it."""
        return next(t.dim(axis) for t in ins if axis in t.axes)


def check_roles(query: str, key: str, head: str, mask: Mask | None, ins: Sequence[Tensor]) -> Roles:
    """Return the roles of the axes of q, k and v.

    Raises:
        GraphError: an axis is missing, or its role cannot be told.
        SizeError: one axis has two sizes.

    >>> from symacct.ops.layout import sized
    >>> q, k, v = sized(G=2, R=3, S=4, K=8), sized(G=2, T=4, K=8), sized(G=2, T=4, V=5)
    >>> roles = check_roles("S", "T", "K", None, (q, k, v))
    >>> roles.batch, roles.groups, roles.out
    (('G',), ('R',), ('G', 'R', 'S', 'V'))
    """
    q, k, v = ins
    for tensor, axes in ((q, (query, head)), (k, (key, head)), (v, (key,))):
        require_floating(ATTENTION, tensor)
        for axis in axes:
            position(ATTENTION, tensor, axis)
    batch = tuple(axis for axis in k.axes if axis not in (key, head))
    groups = tuple(axis for axis in q.axes if axis not in (query, head, *batch))
    _check_batch(batch, query, q, k, v)
    feature = _feature(key, batch, k, v)
    if feature in (query, *groups) or key in q.axes:
        raise _unclear(
            "q has no axis of the keys, and v's feature axis is its own or the head axis",
            f"{q.describe()}, {v.describe()}",
        )
    for tensor, like in ((k, q), (v, k)):
        require_sizes(ATTENTION, tensor, like)
    if mask is not None and (mask.rows, mask.cols) != (query, key):
        raise _unclear(f"a mask over {query}, {key}", f"a mask over {mask.rows}, {mask.cols}")
    rows = tuple(axis for axis in q.axes if axis != head)
    out = tuple(feature if axis == head else axis for axis in q.axes)
    return Roles(batch, groups, feature, rows, out)


def _check_batch(batch: tuple[str, ...], query: str, q: Tensor, k: Tensor, v: Tensor) -> None:
    absent = [axis for axis in batch if axis not in q.axes or axis not in v.axes]
    if absent or query in batch:
        raise _unclear(
            f"q and v with every axis of {k.describe()} but the key and the head axis",
            f"{q.describe()} and {v.describe()}",
        )


def _feature(key: str, batch: tuple[str, ...], k: Tensor, v: Tensor) -> str:
    features = [axis for axis in v.axes if axis != key and axis not in batch]
    if len(features) != 1:
        raise _unclear(f"v with the axes of {k.describe()} and one feature axis", v.describe())
    return features[0]


def _unclear(expected: str, got: str) -> GraphError:
    return GraphError(
        "attention cannot tell what each axis is",
        expected=expected,
        got=got,
        fix="give q (batch, groups, query, head), k (batch, key, head) and v (batch, key, feature) axes",
    )


def letters(left: tuple[str, ...], right: tuple[str, ...], out: tuple[str, ...]) -> str:
    """Return an einsum of single letters over named axes.

    >>> letters(("S", "K"), ("T", "K"), ("S", "T"))
    'ab,cb->ac'
    """
    letter = dict(zip(dict.fromkeys((*left, *right)), LETTERS, strict=False))
    first, second, result = ("".join(letter[axis] for axis in part) for part in (left, right, out))
    return f"{first},{second}->{result}"
