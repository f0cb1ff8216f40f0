"""Names that no size of a graph may have, because times are written with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.errors import GraphError
from symacct.formats import BITS

if TYPE_CHECKING:
    from collections.abc import Iterable

RATES = frozenset({"W_mem", *(f"{kind}_{dtype}" for kind in ("P", "V") for dtype in BITS)})
"""Rates of a machine that is left open: of contractions, of other work, of bytes."""


def free_names(names: Iterable[str], where: str) -> None:
    """Refuse a size that is named like a rate of a machine.

    Raises:
        GraphError: one is.

    >>> free_names(["B", "peak"], "graph g")
    >>> free_names(["P_bf16"], "graph g")
    Traceback (most recent call last):
    symacct.errors.GraphError: P_bf16 is no name for a size: times are written with it
      where     graph g
      expected  a name that is no rate of a machine (P_..., V_..., W_mem)
      got       P_bf16
      fix       call it P
    """
    for name in names:
        if name in RATES:
            raise GraphError(
                f"{name} is no name for a size: times are written with it",
                where=where,
                expected="a name that is no rate of a machine (P_..., V_..., W_mem)",
                got=name,
                fix=f"call it {name[0]}",
            )
