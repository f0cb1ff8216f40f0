"""Saved bytes, derived beside counted, by the op that made them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import evaluate
from symacct.algebra.symbols import as_expr
from symacct.nodes import Node, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from symacct.account import Account
    from symacct.execution.kept import KeptStorage
    from symacct.nodes import Graph

MASK_DTYPE = "bool"


@dataclass(frozen=True, slots=True)
class SavedBytes:
    """Bytes kept for backward, by the op that made them (an input by its own name).

    Attributes:
        derived: of the account.
        counted: of torch's saved tensors.
        masks: structural masks that torch keeps as booleans and the account knows without storing them.
        copies: copies of saved tensors in another layout, beyond the tensors themselves.
    """

    derived: Mapping[str, int]
    counted: Mapping[str, int]
    masks: int
    copies: int

    @property
    def differences(self) -> dict[str, tuple[int, int]]:
        """Derived and counted bytes where they differ, by op."""
        labels = sorted({*self.derived, *self.counted})
        pairs = {label: (self.derived.get(label, 0), self.counted.get(label, 0)) for label in labels}
        return {label: pair for label, pair in pairs.items() if pair[0] != pair[1]}


def compare_saved(account: Account, sizes: Mapping[str, int], kept: Iterable[KeptStorage]) -> SavedBytes:
    """Return what the account says is saved beside what torch keeps."""
    makers = _makers(account.graph)
    derived: Counter[str] = Counter()
    for s in account.saved:
        label = s.tensor.name if s.maker == "input" else s.maker
        each = as_expr(account.policy.nbytes(s.tensor.dtype, s.tensor.role))
        derived[label] += int(evaluate(each * s.elements, sizes))
    counted: Counter[str] = Counter()
    masks = copies = 0
    for storage in kept:
        copies += storage.copied
        if storage.dtype == MASK_DTYPE and not storage.known:
            masks += storage.nbytes
        else:
            counted[makers.get(storage.name, storage.name)] += storage.nbytes
    return SavedBytes(derived, counted, masks, copies)


def _makers(graph: Graph) -> dict[str, str]:
    """Return the label of the node that makes each tensor."""
    return {name: node.label for node, _ in walk(graph.nodes) if isinstance(node, Node) for name in node.outs}
