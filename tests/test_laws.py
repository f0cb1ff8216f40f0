"""Laws that hold for every graph: additivity, renaming, the order of byte accounts, evaluation."""

from collections import Counter
from dataclasses import replace
from types import MappingProxyType

import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from random_graphs import random_graph
from unrolling import unrolled

from symacct.account import derive
from symacct.convention import BYTES, convention
from symacct.derivation.differentiate import differentiate
from symacct.derivation.saved import saved
from symacct.derivation.static import parameters
from symacct.derivation.work import backward_work, forward_work
from symacct.errors import RuleError
from symacct.nodes import Carry, Graph, Node, Repeat
from symacct.terms import price

SEEDS = st.integers(min_value=0, max_value=2**32)
SUMS = ("params", "flops.forward.all", "flops.backward.all", "flops.optimizer", "bytes.step", "memory.static",
        "memory.activations")  # fmt: skip
few = settings(max_examples=25, deadline=None)


def renamed(graph: Graph, prefix: str) -> Graph:
    """Return the graph with every tensor, node and repeat under another name; the sizes stay."""

    def name(old):
        return None if old is None else f"{prefix}{old}"

    def node(n):
        if isinstance(n, Node):
            return replace(n, ins=tuple(map(name, n.ins)), outs=tuple(map(name, n.outs)), label=name(n.label))
        carry = tuple(Carry(name(c.init), name(c.enter), name(c.leave), name(c.result)) for c in n.carry)
        return replace(n, name=name(n.name), body=tuple(map(node, n.body)), carry=carry)

    def tensor(t):
        return replace(t, name=name(t.name), path=tuple(map(name, t.path)))

    return replace(
        graph,
        tensors=MappingProxyType({name(k): tensor(t) for k, t in graph.tensors.items()}),
        inputs=tuple(map(name, graph.inputs)),
        nodes=tuple(map(node, graph.nodes)),
        outputs=tuple(map(name, graph.outputs)),
        trainable=frozenset(map(name, graph.trainable)),
    )


def side_by_side(left: Graph, right: Graph) -> Graph:
    """Return one graph that holds both; they share their sizes and nothing else."""
    return replace(
        left,
        tensors=MappingProxyType({**left.tensors, **right.tensors}),
        inputs=(*left.inputs, *right.inputs),
        nodes=(*left.nodes, *right.nodes),
        outputs=(*left.outputs, *right.outputs),
        trainable=left.trainable | right.trainable,
        conditions=(*left.conditions, *right.conditions),
    )


def values(graph, sizes, **choices):
    """Return the additive quantities of a graph at its sizes."""
    account = derive(graph, optimizer="adamw", **choices).bind(sizes)
    return {name: account.value(name) for name in SUMS if is_derived(account, name)}


def is_derived(account, name):
    """Say whether a formula exists; where there is no single one, that is said and never guessed."""
    try:
        return account[name] is not None
    except RuleError:
        return False


@few
@given(SEEDS)
def test_names_do_not_matter(seed):
    """The account of a renamed graph is the account of the graph."""
    drawn = random_graph(seed)
    assert values(drawn.graph, drawn.sizes) == values(renamed(drawn.graph, "z/"), drawn.sizes)


@few
@given(SEEDS)
def test_disjoint_graphs_add(seed):
    """Two copies side by side cost twice as much."""
    drawn = random_graph(seed)
    both = side_by_side(renamed(drawn.graph, "p/"), renamed(drawn.graph, "q/"))
    once = values(drawn.graph, drawn.sizes)
    assert values(both, drawn.sizes) == {name: 2 * value for name, value in once.items()}


@few
@given(SEEDS)
def test_byte_accounts_are_ordered(seed):
    """Compulsory <= fused <= algorithmic <= issued, phase by phase."""
    drawn = random_graph(seed)
    graph = drawn.graph.bind(drawn.sizes)
    for name in ("bytes.forward", "bytes.backward", "bytes.step"):
        ways = {way: derive(graph, optimizer="adamw", convention=convention(bytes=way)) for way in BYTES}
        if not all(is_derived(account, name) for account in ways.values()):
            reject()
        moved = {way: account.value(name) for way, account in ways.items()}
        assert moved["compulsory"] <= moved["fused"] <= moved["algorithmic"] <= moved["issued"], (name, moved)


@pytest.mark.long
@few
@given(SEEDS)
def test_evaluating_and_deriving_commute(seed):
    """A formula at some sizes is what the graph bound to these sizes gives, where its conditions hold.

    Formulas are for counts of at least 1; no iterations at all is a small case, derived apart.
    """
    drawn = random_graph(seed)
    assume(all(size >= 1 for size in drawn.sizes.values()))
    symbolic = derive(drawn.graph, optimizer="adam")
    bound = symbolic.bind(drawn.sizes)
    for name in symbolic.names():
        if name == "tokens" or not is_derived(symbolic, name):
            continue
        formula = symbolic[name]
        if all(condition.holds(drawn.sizes) for condition in formula.when):
            at = {n: drawn.sizes[n] for n in formula.names()}
            assert formula.value(at) == bound.value(name), name


@few
@given(SEEDS)
def test_terms_add_up(seed):
    """Every total is the sum of its terms, and no term is 0."""
    drawn = random_graph(seed)
    account = derive(drawn.graph.bind(drawn.sizes), optimizer="sgd")
    for name in account.names():
        if name != "tokens" and not name.startswith("intensity") and is_derived(account, name):
            terms = account.terms(name)
            assert sum(t.expr for t in terms) == account.value(name)
            assert all(t.expr != 0 for t in terms)


@few
@given(SEEDS)
def test_repeats_unrolled_cost_the_same(seed):
    """A graph without repeats costs what the graph with repeats costs: bodies copied once per iteration."""
    drawn = random_graph(seed)
    graph = drawn.graph.bind(drawn.sizes)
    assume(any(isinstance(n, Repeat) for n in graph.nodes))
    flat = unrolled(graph)
    assume(len(set(flat.outputs)) == len(flat.outputs))
    try:
        repeated = raw(graph)
    except RuleError:  # it is said that no one formula holds for all iterations around
        reject()
    assert repeated == raw(flat)


def raw(graph: Graph):
    """Return work by phase and what is saved, dead ops included: unrolling makes the last ones dead."""
    step = differentiate(graph)
    forward = forward_work(graph)
    work = Counter()
    for row in (*forward, *backward_work(step, forward)):
        work[row.phase] += price(convention(), row, matmul=False)
    kept = saved(step, "backward")[0]
    return work, sum(s.elements for s in kept), sum(p.elements for p in parameters(graph, graph))
