"""Terms: rows of the derivation, priced; and the names of the quantities that they add up to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symacct.algebra.normal import product, total
from symacct.algebra.symbols import as_expr
from symacct.derivation.ranges import over
from symacct.nodes import Graph, Repeat, walk
from symacct.ops.optimizer import RULES, SCALE
from symacct.units import ONE, Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from fractions import Fraction

    from sympy import Expr

    from symacct.convention import Convention
    from symacct.derivation.saved import Saved
    from symacct.derivation.static import Parameter
    from symacct.derivation.traffic import Traffic
    from symacct.derivation.work import Row
    from symacct.policy import Policy

UNITS = {
    "flops": Unit("FLOP"),
    "bytes": Unit("byte"),
    "memory": Unit("byte"),
    "params": Unit("parameter"),
    "tokens": Unit("token"),
    "memory.kv_cache.token": Unit("byte/token"),
    "intensity": Unit("FLOP/byte"),
}
"""The unit of each family of quantities, and of those that differ from their family."""

PHASES = {
    "flops.forward": ("forward",),
    "flops.backward": ("backward",),
    "flops.recompute": ("recompute",),
    "flops.optimizer": ("optimizer",),
    "flops.model": ("forward", "backward"),
    "flops.hardware": ("forward", "backward", "recompute"),
}
MOVES = {
    "bytes.forward": ("forward",),
    "bytes.backward": ("backward", "recompute"),
    "bytes.step": ("forward", "backward", "recompute", "optimizer"),
}
DIRECTIONS = {"": (False, True), ".read": (False,), ".written": (True,)}
PARAMETERS = ("params", "params.trainable", "params.active", "params.matmul", "params.nonembedding")
STATIC = ("parameters", "gradients", "master", "optimizer")
PEAKS = ("memory.activations.peak", "memory.peak", "memory.transient")
"""Quantities that are a maximum over the steps of a schedule: no sums of terms."""
MEMORY = (
    *STATIC, "static", "data", "activations", "activations.peak", "kv_cache", "kv_cache.token", "peak",
    "transient",
)  # fmt: skip


def _listed() -> Iterator[str]:
    yield from (*PARAMETERS, "tokens")
    for name in PHASES:
        yield from (name, f"{name}.matmul", f"{name}.all")
    for name in MOVES:
        yield from (f"{name}{direction}" for direction in DIRECTIONS)
    yield from ("intensity.forward", "intensity.step")
    yield from (f"memory.{item}" for item in MEMORY)


QUANTITIES: tuple[str, ...] = tuple(_listed())
"""Names of the quantities an account may have, in the order of a report."""


@dataclass(frozen=True, slots=True)
class Term:
    """One line of an explanation.

    Attributes:
        label: the op, tensor or weight it came from, as a path.
        phase: forward, backward, recompute, optimizer, or a category of memory.
        path: names of the repeats around it.
        note: what the op is; for saved tensors who made it and what it is kept for.
        expr: its part of the total, all iterations together.
        unit: its unit.
    """

    label: str
    phase: str
    path: tuple[str, ...]
    note: str
    expr: Expr
    unit: Unit


def unit_of(name: str) -> Unit:
    """Return the unit of a quantity.

    >>> str(unit_of("flops.model.all")), str(unit_of("memory.kv_cache.token"))
    ('FLOP', 'byte/token')
    """
    return UNITS.get(name) or UNITS.get(name.partition(".")[0], ONE)


def flops_scope(name: str) -> tuple[tuple[str, ...], bool]:
    """Return the phases of a FLOP quantity, and whether it holds contractions alone.

    Without a suffix the optimizer counts everything and the rest contractions.

    >>> flops_scope("flops.model"), flops_scope("flops.optimizer")
    ((('forward', 'backward'), True), (('optimizer',), False))
    """
    base, _, last = name.rpartition(".")
    if last not in ("matmul", "all"):
        return PHASES[name], name != "flops.optimizer"
    return PHASES[base], last == "matmul"


def bytes_scope(name: str, account: str) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    """Return the phases and the directions (written or not) of a byte quantity."""
    base, direction = next((name.removesuffix(d), d) for d in (".read", ".written", "") if name.endswith(d))
    once = account == "compulsory" and base == "bytes.step"
    return ("step", "optimizer") if once else MOVES[base], DIRECTIONS[direction]


def priced(work: Iterable[Row], convention: Convention, phase: str, *, matmul: bool) -> Iterator[Term]:
    """Yield the FLOP terms of a phase, primitives of one node joined."""
    joined: dict[str, tuple[Row, list[Expr]]] = {}
    for row in work:
        if row.phase == phase:
            flops = price(convention, row, matmul=matmul)
            if flops != 0:
                joined.setdefault(row.label, (row, []))[1].append(flops)
    for row, parts in joined.values():
        yield Term(row.label, row.phase, row.path, row.kind, total(parts), UNITS["flops"])


def price(convention: Convention, row: Row, *, matmul: bool) -> Expr:
    """Return the FLOPs of a row under a convention; 0 where the convention leaves it out."""
    if (matmul or not convention.elementwise) and not row.matmul:
        return as_expr(0)
    each = _each(convention, row)
    expr = {"half": row.half, "exact": row.exact}.get(convention.attention, row.expr)
    return product((as_expr(each), expr)) if each else as_expr(0)


def _each(convention: Convention, row: Row) -> Fraction | int:
    if convention.head == "left out" and row.matmul and "head" in row.of.split("/"):
        return 0
    if row.primitive == "one_hot":
        return 2 if convention.embedding == "matmul" else 0
    if row.primitive == "vector_use":
        return 2 if convention.vectors == "matmul" else 0
    if row.between and row.matmul and convention.attention == "none":
        return 0
    return convention.price(row.primitive)


def moved(traffic: Iterable[Traffic], policy: Policy, phase: str, *, written: bool) -> Iterator[Term]:
    """Yield the byte terms of a phase in one direction."""
    verb = "writes" if written else "reads"
    for row in traffic:
        if row.phase == phase and row.written is written:
            each = as_expr(policy.nbytes(row.dtype, row.role))
            most = ", at most" if row.bound else ""
            note = f"{verb} {row.tensor} ({policy.dtype(row.dtype, row.role)}{most})"
            whole = product((each, row.elements))
            yield Term(row.label, row.phase, row.path, note, whole, UNITS["bytes"])


def counted(parameters: Iterable[Parameter], name: str) -> Iterator[Term]:
    """Yield the terms of a count of parameters."""
    for p in parameters:
        if name == "params.trainable" and not p.trainable:
            continue
        if name == "params.nonembedding" and p.table:
            continue
        expr = {"params.active": p.active, "params.matmul": p.uses}.get(name, p.elements)
        yield Term(p.tensor.name, "parameters", p.tensor.path, _dims(p), expr, UNITS["params"])


def _dims(p: Parameter) -> str:
    shape = " ".join(p.tensor.axes)
    return f"[{shape}]" + (" table" if p.table else "") + ("" if p.trainable else " frozen")


def held(
    parameters: Iterable[Parameter],
    reached: Mapping[str, Expr],
    policy: Policy,
    item: str,
    scales: Mapping[str, Expr] | None = None,
) -> Iterator[Term]:
    """Yield the terms of a category of static memory; ``reached`` are the elements that have a gradient.

    ``scales`` are the numbers of block scales, where the optimizer keeps its states in blocks.
    """
    master = policy.precision.master
    if item == "master" and master is None:
        return
    role = {"parameters": "weight", "gradients": "weight gradient"}.get(item, "state")
    rule = RULES[policy.optimizer] if item == "optimizer" and policy.optimizer else None
    for p in parameters:
        t = p.tensor
        if item != "parameters" and t.name not in reached:
            continue
        stored = (rule.dtype if rule else None) or t.dtype
        each = policy.nbytes(str(master) if item == "master" else stored, role)
        times = len(rule.states) if rule else 1
        elements = p.elements if item == "parameters" else reached[t.name]
        expr = product((as_expr(each), times, elements))
        yield Term(t.name, item, t.path, _dims(p), expr, UNITS["memory"])
        if rule and scales and t.name in scales:
            whole = product((as_expr(policy.nbytes(SCALE, role)), scales[t.name]))
            note = f"{SCALE} scales of blocks of {rule.block}"
            yield Term(f"{t.name}/scales", item, t.path, note, whole, UNITS["memory"])


def activations(saved: Iterable[Saved], policy: Policy) -> Iterator[Term]:
    """Yield what is saved for backward: made by, kept for."""
    for s in saved:
        each = as_expr(policy.nbytes(s.tensor.dtype, s.tensor.role))
        note = f"made by {s.maker}, kept for {', '.join(s.readers)}" + (f" ({s.reason})" if s.reason else "")
        whole = product((each, s.elements))
        yield Term(s.tensor.name, "saved", s.tensor.path, note, whole, UNITS["memory"])


def data(graph: Graph, read: Sequence[str], policy: Policy) -> Iterator[Term]:
    """Yield the graph inputs that backward does not read."""
    yield from inputs(graph, [name for name in graph.inputs if name not in read], policy, "data")


def inputs(graph: Graph, names: Sequence[str], policy: Policy, phase: str = "saved") -> Iterator[Term]:
    """Yield graph inputs."""
    for name in names:
        t = graph.tensors[name]
        each = as_expr(policy.nbytes(t.dtype, t.role))
        yield Term(name, phase, (), "input", product((each, t.numel)), UNITS["memory"])


def kept(saved: Mapping[str, Expr], graph: Graph) -> Iterator[Term]:
    """Yield what is kept when the forward pass ends, where a part of the graph runs again in backward."""
    for name, expr in saved.items():
        path = graph.tensors[name].path if name in graph.tensors else ()
        yield Term(
            name, "saved", path, "kept for backward, or to run its segment again", expr, UNITS["memory"]
        )


def cache(graph: Graph, policy: Policy) -> Iterator[Term]:
    """Yield the keys and values that decoding keeps."""
    repeats = {r.name: r for r, _ in walk(graph.nodes) if isinstance(r, Repeat)}
    for t in graph.tensors.values():
        if t.role == "cache":
            each = as_expr(policy.nbytes(t.dtype, t.role))
            elements = over(t.numel, tuple(repeats[r] for r in t.path))
            whole = product((each, elements))
            yield Term(t.name, "cache", t.path, "keys or values", whole, UNITS["memory"])
