"""What each op, tensor or weight is charged: a price for each element of one iteration, times iterations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sympy import Integer

from symacct.algebra.normal import is_zero, normal, product
from symacct.algebra.symbols import as_expr
from symacct.nodes import Node, repeat_counts, walk
from symacct.ops.einsum import Einsum
from symacct.ops.optimizer import RULES
from symacct.printers import text as plain_text
from symacct.terms import bytes_scope, flops_scope, price

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sympy import Expr

    from symacct.account import Account
    from symacct.derivation.work import Row
    from symacct.terms import Term

ONE = Integer(1)
CONTRACTION = "contraction"
ROLES = {
    "memory.parameters": "weight", "memory.gradients": "weight gradient", "memory.optimizer": "state",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Charge:
    """One part of a quantity, taken apart: ``each * factors * times`` is the whole.

    Attributes:
        labels: the ops, tensors or weights that are charged alike; the rest is for each of them.
        phase: the pass, or the category of memory.
        path: names of the repeats around it.
        kind: what it is: a contraction, the primitives of another op, ``reads``, ``writes``.
        each: what one element, or one point of a contraction, is charged.
        factors: the sizes whose product is the number of elements in one iteration.
        times: how many iterations there are.
        equations: of each one, where they are contractions.
    """

    labels: tuple[str, ...]
    phase: str
    path: tuple[str, ...]
    kind: str
    each: Expr
    factors: tuple[Expr, ...]
    times: Expr
    equations: tuple[str, ...] = field(default=(), compare=False)

    @property
    def once(self) -> Expr:
        """All that are charged alike, in one iteration."""
        return product((len(self.labels), self.each, *self.factors))

    @property
    def whole(self) -> Expr:
        """The same in all iterations."""
        return product((self.once, self.times))


def charges(account: Account, name: str) -> list[Charge]:
    """Return the parts of a quantity, those that are charged alike together.

    >>> from symacct.account import derive
    >>> from symacct.readers.files import load
    >>> for one in charges(derive(load("deep_linear")), "flops.backward"):
    ...     print(one.labels, one.each, one.factors, one.times)
    ('layers/matmul/grad.carry.0', 'layers/matmul/grad.w') 2 (B, D, D) L - 1
    ('layers/matmul/grad.w_2',) 2 (B, D, D) 1
    """
    family = name.partition(".")[0]
    made = _flops if family == "flops" else _bytes if family == "bytes" else _held
    return alike(made(account, name), account)


def alike(found: Iterable[Charge], account: Account) -> list[Charge]:
    """Return charges with those joined that differ in their labels alone."""
    groups: dict[Charge, list[Charge]] = {}
    for one in found:
        ordered = tuple(sorted(one.factors, key=lambda factor: _place(factor, account)))
        groups.setdefault(replace(one, labels=(), factors=ordered), []).append(one)
    joined: dict[Charge, Expr] = {}
    for one, members in groups.items():
        labels = tuple(label for each in members for label in each.labels)
        equations = tuple(text for each in members for text in each.equations)
        apart = replace(one, labels=labels, equations=equations, times=ONE)
        joined[apart] = joined.get(apart, as_expr(0)) + one.times
    return [replace(one, times=normal(times)) for one, times in joined.items()]


def _place(factor: Expr, account: Account) -> tuple[int, int, str]:
    order = account.graph.order
    names = [order.index(one.name) for one in factor.free_symbols if one.name in order]
    return (min(names, default=-1), not factor.is_Symbol, plain_text(factor, order))


def split(whole: Expr, once: Expr, account: Account) -> tuple[Expr, Expr]:
    """Return what one iteration has, and how many there are, of a whole and what is counted at once."""
    counts = {*repeat_counts(account.graph), *account.policy.names}
    if not is_zero(once):
        times = normal(whole / once)
        if {one.name for one in times.free_symbols} <= counts:
            return once, times
    return whole, ONE


# ---- FLOPs ----


def _flops(account: Account, name: str) -> Iterator[Charge]:
    phases, matmul = flops_scope(name)
    graph, step = account.graph, account.step
    nodes = {one.label: one for part in (graph.nodes, step.backward) for one, _ in walk(part)
             if isinstance(one, Node)}  # fmt: skip
    for phase in phases:
        work = account.forward_work if phase == "forward" else account.work
        joined: dict[tuple[str, tuple[Expr, ...], Expr], list[tuple[Row, Expr]]] = {}
        for row in work:
            whole = price(account.convention, row, matmul=matmul) if row.phase == phase else as_expr(0)
            if whole != 0:
                factors, times, each = _taken_apart(row, whole, account, nodes)
                joined.setdefault((row.label, factors, times), []).append((row, each))
        for (label, factors, times), rows in joined.items():
            each = normal(sum(price for _, price in rows))
            first = rows[0][0]
            if each != 0:
                kind, equations = _kind(rows, nodes)
                yield Charge((label,), phase, first.path, kind, each, factors, times, equations)


def _taken_apart(
    row: Row, whole: Expr, account: Account, nodes: Mapping[str, Node]
) -> tuple[tuple[Expr, ...], Expr, Expr]:
    """Return the factors of one iteration, the iterations of all micro-batches, and the price."""
    attention = account.convention.attention
    counted = {"half": row.half, "exact": row.exact}.get(attention, row.expr)
    each = normal(whole / counted)
    _, times = split(row.expr, row.count, account)
    once = normal(counted / times)
    micro = ONE if row.phase == "optimizer" else account.micro_batches
    node = nodes.get(row.label)
    factors: tuple[Expr, ...] = (once,)
    if node is not None and isinstance(node.op, Einsum):
        sizes = _points(node, account)
        factors = sizes if is_zero(product(sizes) - once) else factors
    return factors, normal(times * micro), each


def _points(node: Node, account: Account) -> tuple[Expr, ...]:
    assert isinstance(node.op, Einsum)
    sizes: dict[str, Expr] = {}
    for words, name in zip((node.op.left, node.op.right), node.ins, strict=True):
        sizes |= zip(words, account.step.tensor(name).dims, strict=True)
    return tuple(size for size in sizes.values() if size != 1)


def _kind(rows: list[tuple[Row, Expr]], nodes: Mapping[str, Node]) -> tuple[str, tuple[str, ...]]:
    """Return which primitives make up the price, or a contraction and its equation."""
    row, _ = rows[0]
    node = nodes.get(row.label)
    if row.primitive == "fma" and node is not None and isinstance(node.op, Einsum):
        return CONTRACTION, (node.op.equation,)
    if len(rows) == 1:
        return row.primitive, ()
    made = " + ".join(one.primitive if each == 1 else f"{each} {one.primitive}" for one, each in rows)
    return made, ()


# ---- bytes that move ----


def _bytes(account: Account, name: str) -> Iterator[Charge]:
    phases, directions = bytes_scope(name, account.convention.bytes)
    for phase in phases:
        micro = ONE if phase == "optimizer" else account.micro_batches
        for row in account.traffic:
            if row.phase != phase or row.written not in directions or row.elements == 0:
                continue
            each = as_expr(account.policy.nbytes(row.dtype, row.role))
            factors, times = _shaped(row.elements, row.tensor, row.path, account)
            kind = "writes" if row.written else "reads, at most" if row.bound else "reads"
            yield Charge((row.tensor,), phase, row.path, kind, each, factors, normal(times * micro))


def _shaped(
    elements: Expr, name: str, path: tuple[str, ...], account: Account
) -> tuple[tuple[Expr, ...], Expr]:
    """Return elements as the product of a tensor's sizes, and how often that is."""
    step = account.step
    known = step.tensors.get(name) or account.graph.tensors.get(name) or account.whole.tensors.get(name)
    if known is None:
        return (elements,), ONE
    once, times = split(elements, known.numel, account)
    if once is elements and not is_zero(elements - known.numel):
        return (elements,), ONE
    number, rest = times.as_content_primitive() if not times.is_number or not path else (ONE, times)
    own = [number] if number != 1 else []
    return (*own, *(size for size in known.dims if size != 1)), rest


# ---- parameters, and memory ----


def _held(account: Account, name: str) -> Iterator[Charge]:
    for term in account.terms(name):
        each = _each(term, name, account)
        factors, times = _shaped(normal(term.expr / each), term.label, term.path, account)
        kind = _states(term, account) or ("table" if term.note.endswith(" table") else "")
        yield Charge((term.label,), term.phase, term.path, kind, each, factors, times)


def _states(term: Term, account: Account) -> str:
    if term.phase != "optimizer" or account.policy.optimizer is None:
        return ""
    states = len(RULES[account.policy.optimizer].states)
    return f"{states} states" if states > 1 else ""


def _each(term: Term, name: str, account: Account) -> Expr:
    """Return what one element is charged: 1 parameter, or the bytes of its format."""
    if name.startswith("params"):
        return ONE
    graph, policy = account.graph, account.policy
    tensor = graph.tensors.get(term.label) or account.whole.tensors.get(term.label)
    if tensor is None:
        return ONE
    if term.phase == "master":
        return as_expr(policy.nbytes(str(policy.precision.master), "state"))
    role = ROLES.get(f"memory.{term.phase}", tensor.role)
    if role != "state" or policy.optimizer is None:
        return as_expr(policy.nbytes(tensor.dtype, role))
    rule = RULES[policy.optimizer]
    return as_expr(policy.nbytes(rule.dtype or tensor.dtype, role)) * max(1, len(rule.states))
