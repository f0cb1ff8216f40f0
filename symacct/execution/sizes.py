"""Choose small sizes for a graph: distinct where that is possible, at least 2, with every condition met."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import check_sizes, evaluate, names_of
from symacct.algebra.symbols import as_expr
from symacct.errors import SizeError
from symacct.execution.interpret import Place
from symacct.nodes import Node, Repeat, bind_tensor
from symacct.ops.rotary import Rotary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sympy import Expr

    from symacct.algebra.condition import Condition
    from symacct.nodes import Graph, Step_

CANDIDATES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 24, 32, 64, 1)
MOST_TRIES = 20_000
WHOLE_RUN = 100
MOST_DIMS = 200
USUAL_COUNT = 3


@dataclass(frozen=True, slots=True)
class _Rule:
    """One thing that sizes must satisfy: its names, a test, its text, and what a test is worth in tries."""

    names: frozenset[str]
    holds: Callable[[Mapping[str, int]], bool]
    text: str
    cost: int = 0


@dataclass(slots=True)
class _Search:
    """A bounded search, one name after the other; a rule is tried as soon as all of its names have values.

    A rule without names is no part of it: no size could change what it says.
    """

    names: Sequence[str]
    rules: Sequence[_Rule]
    given: Mapping[str, int]
    distinct: bool
    least: int
    tries: int = 0
    failed: dict[str, int] = field(default_factory=dict)

    def find(self, chosen: dict[str, int], depth: int = 0) -> dict[str, int] | None:
        if depth == len(self.names):
            return chosen
        name = self.names[depth]
        for value in (self.given[name],) if name in self.given else CANDIDATES:
            if self.tries > MOST_TRIES:
                return None
            self.tries += 1
            apart = not self.distinct or name in self.given or value not in chosen.values()
            trial = {**chosen, name: value}
            if apart and (value >= self.least or name in self.given) and self._fits(trial, name):
                found = self.find(trial, depth + 1)
                if found is not None:
                    return found
        return None

    def _fits(self, chosen: Mapping[str, int], newest: str) -> bool:
        for rule in self.rules:
            if newest in rule.names and rule.names <= chosen.keys():
                self.tries += rule.cost
                if not rule.holds(chosen):
                    self.failed[rule.text] = self.failed.get(rule.text, 0) + 1
                    return False
        return True


def choose_sizes(
    graph: Graph, conditions: Sequence[Condition] = (), given: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Return a value for every free size of the graph, small and distinct where the conditions allow it.

    Args:
        graph: the graph.
        conditions: further conditions, such as those of its backward pass.
        given: sizes that are fixed.

    Raises:
        SizeError: no sizes were found in a bounded search, or a given one breaks a condition.
        UnknownNameError: a given name is no size of the graph.
    """
    counts = frozenset(n for r in _repeats(graph.nodes) for n in names_of(r.hi))
    fixed = check_sizes(given or {}, graph.order, counts)
    rules = [*_condition_rules((*graph.conditions, *conditions)), *_shape_rules(graph)]
    wishes = [*rules, *(wish for wish in _count_rules(graph) if wish.names - fixed.keys())]
    names = _order(graph, rules, fixed)
    tries = ((wishes, True, 2), (rules, True, 2), (wishes, False, 2), (rules, False, 2), (rules, False, 1))
    search = _Search(names, rules, fixed, distinct=False, least=1)
    for rule in rules:
        if not rule.names and not rule.holds({}):
            search.failed[rule.text] = 1
            raise _none(graph, search, fixed)
    for wanted, distinct, least in tries:
        search = _Search(names, wanted, fixed, distinct, least)
        found = search.find({})
        if found is not None:
            return {name: found[name] for name in graph.order}
    raise _none(graph, search, fixed)


def _none(graph: Graph, search: _Search, fixed: Mapping[str, int]) -> SizeError:
    worst = sorted(search.failed, key=lambda text: -search.failed[text])[:3]
    return SizeError(
        f"no small sizes were found for graph {graph.name}",
        expected="; ".join(worst) or "every condition met",
        got=f"{search.tries} tries" + "".join(f", {name}={value}" for name, value in fixed.items()),
        fix="give sizes that meet the conditions by hand",
    )


def _order(graph: Graph, rules: Sequence[_Rule], fixed: Mapping[str, int]) -> list[str]:
    """Put fixed names first, then each name next to those it shares a rule with."""
    left = [name for name in graph.order if name not in fixed]
    order = [name for name in graph.order if name in fixed]
    while left:
        near = [n for n in left if any(n in r.names and r.names - {n} <= set(order) for r in rules)]
        linked = [n for n in near if any({n} < r.names <= {*order, n} for r in rules)]
        order.append((linked or left)[0])
        left.remove(order[-1])
    return order


def _condition_rules(conditions: Sequence[Condition]) -> Iterator[_Rule]:
    for condition in conditions:
        yield _Rule(frozenset(condition.names), condition.holds, condition.text)


def _count_rules(graph: Graph) -> Iterator[_Rule]:
    """Wish for a few iterations of every repeat, so that its steady part is run more than once."""
    for repeat in _repeats(graph.nodes):
        if not any(around.index in repeat.hi.free_symbols for around in _repeats(graph.nodes)):
            yield _at_least(repeat.count, USUAL_COUNT, f"{repeat.name} runs {USUAL_COUNT} times")


def _at_least(expr: Expr, least: int, text: str) -> _Rule:
    def holds(sizes: Mapping[str, int]) -> bool:
        value = evaluate(expr, sizes)
        return bool(value.is_Integer and value >= least)

    return _Rule(frozenset(names_of(expr)), holds, text)


def _shape_rules(graph: Graph) -> Iterator[_Rule]:
    """Every size is an integer of at least 1 in every iteration, and every op accepts its operands."""
    plain: dict[Expr, None] = {}
    indexed = {repeat.index.name for repeat in _repeats(graph.nodes)}
    for tensor in graph.tensors.values():
        plain |= {dim: None for dim in tensor.dims if not dim.is_Symbol and not dim.is_Integer}
    for dim in [dim for dim in plain if not indexed & {*names_of(dim)}][:MOST_DIMS]:
        yield _at_least(dim, 1, f"{dim} is an integer of at least 1")
    for node in _nodes(graph.nodes):
        if isinstance(node.op, Rotary):
            dim = graph.tensors[node.ins[0]].dim(node.op.axis)
            yield _at_least(dim / 2, 1, f"{dim} is even (rotary embedding {node.label})")
    names = frozenset(graph.order)
    alike = frozenset(repeat.name for repeat in _repeats(graph.nodes) if not _varies(graph, repeat))
    yield _Rule(
        names,
        lambda sizes: _runs(graph, alike, graph.nodes, Place(sizes)),
        "every op accepts its operands",
        WHOLE_RUN,
    )


def _varies(graph: Graph, repeat: Repeat) -> bool:
    """Return whether anything in a repeat's body depends on its index."""
    first = {repeat.index.name: as_expr(0)}
    inside = (t for t in graph.tensors.values() if repeat.name in t.path)
    return (
        any(repeat.index in dim.free_symbols for tensor in inside for dim in tensor.dims)
        or any(repeat.index in (r.lo + r.hi).free_symbols for r in _repeats(repeat.body))
        or any(node.op.substitute(first) != node.op for node in _nodes(repeat.body))
    )


def _runs(graph: Graph, alike: frozenset[str], nodes: tuple[Step_, ...], place: Place) -> bool:
    """Infer every node's result at these sizes and indices; iterations that are alike, once."""
    try:
        return all(_accepts(graph, alike, node, place) for node in nodes)
    except SizeError:
        return False


def _accepts(graph: Graph, alike: frozenset[str], node: Step_, place: Place) -> bool:
    if isinstance(node, Repeat):
        lo, hi = place.size(node.lo), place.size(node.hi)
        some = range(lo, min(hi, lo + 1) if node.name in alike else hi)
        places = (place.inside((node.name,), node.index, i) for i in some)
        return hi >= lo and all(_runs(graph, alike, node.body, inner) for inner in places)
    ins = [bind_tensor(graph.tensors[name], place.exact) for name in node.ins]
    made = node.op.substitute(place.exact).infer(*ins)
    dims = (dim for tensor in (*ins, *made) for dim in tensor.dims)
    return all(dim.is_Integer and dim >= 1 for dim in dims)


def _repeats(nodes: tuple[Step_, ...]) -> Iterator[Repeat]:
    for node in nodes:
        if isinstance(node, Repeat):
            yield node
            yield from _repeats(node.body)


def _nodes(nodes: tuple[Step_, ...]) -> Iterator[Node]:
    for node in nodes:
        if isinstance(node, Repeat):
            yield from _nodes(node.body)
        else:
            yield node
