"""Static memory and parameters: what each tensor of the model holds, whatever the batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from symacct.algebra.normal import total
from symacct.derivation.ranges import over
from symacct.derivation.storage import Storage
from symacct.nodes import Graph, Node, Repeat, walk
from symacct.ops.lookup import Embedding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sympy import Expr

    from symacct.derivation.differentiate import Step
    from symacct.ops.optimizer import Rule
    from symacct.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Parameter:
    """One weight of the model, all iterations together.

    Attributes:
        tensor: the weight.
        elements: how many parameters it holds.
        active: those that one token touches (experts count with the chosen ones).
        uses: parameters that contractions read, once per use; experts as one token touches them.
        table: whether lookups read it.
        trainable: whether a gradient is wanted.
    """

    tensor: Tensor
    elements: Expr
    active: Expr
    uses: Expr
    table: bool
    trainable: bool


def parameters(graph: Graph, living: Graph) -> tuple[Parameter, ...]:
    """Return every weight with what it counts as; a tied one stands once.

    ``living`` is the graph without dead ops: their weights are parameters too, but nothing uses them.
    """
    repeats = {r.name: r for r, _ in walk(graph.nodes) if isinstance(r, Repeat)}
    tables, active, uses = _readers(living)
    found = []
    for name in graph.weights:
        tensor = graph.tensors[name]
        path = tuple(repeats[r] for r in tensor.path)
        elements = over(tensor.numel, path)
        touched = over(active[name], path) if name in active else elements
        used = total(uses.get(name, []))
        found.append(Parameter(tensor, elements, touched, used, name in tables, name in graph.trainable))
    return tuple(found)


def trained(step: Step) -> dict[str, tuple[tuple[Repeat, ...], ...]]:
    """Return, for each weight that a gradient reaches, the repeats around it with the iterations it reaches.

    A weight inside a repeat has no gradient, and no state, in iterations that no cotangent comes to. There is
    one path for each range of iterations that was differentiated apart.
    """
    forward = {r.name: r for r, _ in walk(step.graph.nodes) if isinstance(r, Repeat)}
    backward = {r.name: r for r, _ in walk(step.backward) if isinstance(r, Repeat)}

    def narrowed(name: str) -> Repeat:
        r = backward[name]
        return replace(forward[str(r.of)], lo=r.lo, hi=r.hi)

    weights = [name for name in step.gradients if step.graph.tensors[name].role == "weight"]
    return {
        name: tuple(tuple(narrowed(r) for r in step.tensor(g).path) for g in step.gradients[name])
        for name in weights
    }


def scales(step: Step, rule: Rule) -> dict[str, Expr]:
    """Return how many scales the states of each trained weight have, all iterations together."""
    tensors = step.graph.tensors
    return {
        name: total(over(rule.scales(tensors[name].numel), path) for path in paths)
        for name, paths in trained(step).items()
    }


def _readers(graph: Graph) -> tuple[set[str], Mapping[str, Expr], Mapping[str, list[Expr]]]:
    """Return the weights that lookups read, what one token touches of some, and the uses by contractions."""
    storage = Storage(graph)
    tables: set[str] = set()
    active: dict[str, Expr] = {}
    uses: dict[str, list[Expr]] = {}
    for node, path in walk(graph.nodes):
        if not isinstance(node, Node) or node.op.alias:
            continue
        ins = [graph.tensors[name] for name in node.ins]
        for slot, name in enumerate(node.ins):
            root = storage.parameter(name)
            if root is None:
                continue
            own = getattr(node.op, "active", None)
            touched = ins[slot].numel if own is None else own(slot, ins)  # a slice is read in part
            if own is not None:
                active[root] = touched
            if isinstance(node.op, Embedding):
                tables.add(root)
            elif node.op.contracted():
                uses.setdefault(root, []).append(over(touched, path))
    return tables, active, uses
