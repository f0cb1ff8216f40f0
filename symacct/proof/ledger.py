"""The ledger of a certificate: the rows of a derivation, priced, in a form that the kernel adds up again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sympy import Integer

from symacct.algebra.evaluate import names_of
from symacct.algebra.normal import is_zero, normal
from symacct.algebra.summation import sum_over
from symacct.nodes import Node, Repeat, walk
from symacct.ops.einsum import Einsum
from symacct.proof.certificate import accepted, seal
from symacct.proof.prefix import to_prefix
from symacct.terms import price

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

    from symacct.convention import Convention
    from symacct.derivation.differentiate import Step
    from symacct.derivation.work import Row

Certificate = dict[str, Any]


def with_ledger(
    certificate: Certificate,
    rows: Sequence[Row],
    step: Step,
    convention: Convention,
    *,
    quantity: str,
    matmul: bool = True,
) -> Certificate | None:
    """Return the certificate with the rows that its left side is the sum of, or None if the kernel refuses.

    Args:
        certificate: of a statement whose left side is the derived quantity.
        rows: the rows of its phases.
        step: the graph and its backward pass, for the axes of contractions and the ranges of repeats.
        convention: what a count is worth.
        quantity: its name.
        matmul: whether the quantity holds contractions alone.
    """
    found = _Places(step)
    written: list[dict[str, Any]] = []
    closed: dict[str, dict[str, Any]] = {}
    for row in rows:
        total = price(convention, row, matmul=matmul)
        if total != 0:
            written.append(found.row(row, total, closed))
    proof = certificate["proof"]
    forms = [*proof.get("closed", []), *closed.values()]
    made = seal(
        {
            **{key: value for key, value in certificate.items() if key != "digest"},
            "ledger": {"graph": step.graph.name, "quantity": quantity, "rows": written},
            "proof": {**proof, "closed": forms} if forms else proof,
        }
    )
    return made if accepted(made) else None


class _Places:
    """Where rows come from: nodes by label, repeats by name."""

    def __init__(self, step: Step) -> None:
        self.tensors = {**step.graph.tensors, **step.tensors}
        self.nodes: dict[str, Node] = {}
        self.repeats: dict[tuple[str, str], tuple[Repeat, ...]] = {}
        for nodes in (step.graph.nodes, step.backward):
            for node, path in walk(tuple(nodes)):
                if isinstance(node, Node):
                    self.nodes[node.label] = node
                    self.repeats[node.label, "/".join(r.name for r in path)] = path

    def row(self, row: Row, total: Expr, closed: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """Return one row; where its parts do not make the total, the total is all that is said."""
        path = self.repeats.get((row.label, "/".join(row.path)), ())
        each = normal(total / row.expr) if row.expr != 0 else Integer(0)
        priced = each.is_Rational and len(path) == len(row.path)
        ranges: list[list[Any]] = []
        count, worth = row.count, normal(each * row.count)
        if priced:
            for repeat in reversed(path):
                summed = sum_over(worth, repeat.index, repeat.lo, repeat.hi)
                if repeat.index in worth.free_symbols:
                    self._close(repeat, worth, ranges, each, count, closed)
                worth = summed
                ranges.insert(0, [repeat.index.name, to_prefix(repeat.lo), to_prefix(repeat.hi)])
        priced = priced and is_zero(worth - total)
        said = {
            "label": row.label, "of": row.of, "phase": row.phase, "kind": row.kind,
            "primitive": row.primitive, "ranges": ranges if priced else [],
            "price": to_prefix(each if priced else Integer(1)),
            "count": to_prefix(count if priced else total), "total": to_prefix(normal(total)),
        }  # fmt: skip
        axes = self._axes(row, path) if priced else None
        return said if axes is None else {**said, "axes": axes}

    def _close(
        self,
        repeat: Repeat,
        worth: Expr,
        ranges: list[list[Any]],
        each: Expr,
        count: Expr,
        closed: dict[str, dict[str, Any]],
    ) -> None:
        """Add the closed form of a sum whose body depends on its index."""
        inner: Any = ["*", to_prefix(each), to_prefix(count)]
        for one in reversed(ranges):
            inner = ["sum", *one, inner]
        whole = ["sum", repeat.index.name, to_prefix(repeat.lo), to_prefix(repeat.hi), inner]
        form = sum_over(worth, repeat.index, Integer(0), repeat.index)
        closed[str(whole)] = {"sum": whole, "form": to_prefix(form)}

    def _axes(self, row: Row, path: Sequence[Repeat]) -> dict[str, Any] | None:
        """Return the axes of a contraction whose sizes do not change from iteration to iteration."""
        node = self.nodes.get(row.label)
        indices = {repeat.index.name for repeat in path}
        plain = row.kind == "contraction" and row.primitive in {"fma", "chain"}
        if node is None or not isinstance(node.op, Einsum) or not plain or indices & set(names_of(row.count)):
            return None
        words = (node.op.left, node.op.right)
        sizes = {
            word: dim
            for part, name in zip(words, node.ins, strict=True)
            for word, dim in zip(part, self.tensors[name].dims, strict=True)
        }
        return {
            "left": list(node.op.left), "right": list(node.op.right), "out": list(node.op.out),
            "sizes": {word: to_prefix(normal(dim)) for word, dim in sizes.items()},
        }  # fmt: skip
