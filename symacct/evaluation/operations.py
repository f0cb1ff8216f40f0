"""Ops with their work and their bytes, joined: what a roofline is drawn from. Nothing is counted here."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from symacct.algebra.normal import normal, total
from symacct.algebra.symbols import as_expr
from symacct.nodes import Node, walk
from symacct.terms import moved, price

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sympy import Expr

    from symacct.account import Account
    from symacct.derivation.work import Row

TENSOR, VECTOR = "tensor", "vector"
PHASES = ("forward", "backward", "recompute", "optimizer")
ONCE, RUN = "step", " .. "
LAST = 10**9
Key = tuple[str, str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Load:
    """Work in one number format: contractions for the unit ``tensor``, the rest for ``vector``."""

    unit: str
    dtype: str
    flops: Expr


@dataclass(frozen=True, slots=True)
class Operation:
    """One op, all its iterations together.

    Attributes:
        label: its label; ``a .. b`` for a fused run.
        phase: forward, backward or optimizer; ``step`` where a whole pass counts as one.
        path: names of the repeats around it.
        kind: what it is.
        loads: its work.
        moved: its bytes.
        uneven: whether its sizes differ from one iteration to another.
        chosen: whether the data chooses what it reads: its bytes are at most these.
    """

    label: str
    phase: str
    path: tuple[str, ...]
    kind: str
    loads: tuple[Load, ...]
    moved: Expr
    uneven: bool = False
    chosen: bool = False

    @property
    def flops(self) -> Expr:
        """All its work."""
        return total(load.flops for load in self.loads)


@dataclass(slots=True)
class _Part:
    """What is known of an op so far."""

    kinds: dict[str, None] = field(default_factory=dict)
    loads: dict[tuple[str, str], list[Expr]] = field(default_factory=lambda: defaultdict(list))
    moved: list[Expr] = field(default_factory=list)
    uneven: bool = False
    chosen: bool = False


def operations(account: Account, *, step: bool) -> tuple[Operation, ...]:
    """Return the ops of the forward pass, or of a whole step, in the order in which they run.

    Under the byte account ``fused`` a run of ops is one; under ``compulsory`` a whole pass is.

    >>> from symacct.account import derive
    >>> from symacct.readers.files import load
    >>> [(op.label, op.phase) for op in operations(derive(load("linear")), step=True)]
    [('linear/matmul', 'forward'), ('linear/matmul/grad.weight', 'backward')]
    """
    moves = account.convention.bytes
    runs = _runs(account) if moves == "fused" else {}
    whole = (ONCE if step else "forward") if moves == "compulsory" else ""
    parts: dict[Key, _Part] = defaultdict(_Part)
    micro = account.micro_batches
    for row in account.work if step else account.forward_work:
        flops = price(account.convention, row, matmul=False)
        if flops != 0:
            flops = flops if row.phase == "optimizer" else normal(flops * micro)
            part = parts[_key(row.label, _phase(row.phase), row.path, runs, whole)]
            part.kinds[row.kind] = None
            part.loads[TENSOR if row.matmul else VECTOR, _format(account, row)].append(flops)
            part.uneven |= not row.count.free_symbols <= row.expr.free_symbols
    for moving in account.traffic:
        key = _key(moving.label, _phase(moving.phase), moving.path, runs, whole)
        if moving.bound and key in parts:
            parts[key].chosen = True
    for phase in ((whole, "optimizer") if whole else PHASES) if step else (whole or "forward",):
        times = as_expr(1) if phase == "optimizer" else micro
        for written in (False, True):
            for term in moved(account.traffic, account.policy, phase, written=written):
                part = parts[_key(term.label, _phase(phase), term.path, runs, whole)]
                part.moved.append(normal(term.expr * times))
    made = (_made(key, part) for key, part in parts.items())
    kept = [one for one in made if one.loads or one.moved != 0]
    places = _places(account)
    return tuple(sorted(kept, key=lambda one: places.get((one.phase, one.label.split(RUN)[0]), LAST)))


def _places(account: Account) -> dict[tuple[str, str], int]:
    """Return the place of each op in a step."""
    nodes = [("forward", node) for node, _ in walk(account.step.graph.nodes)]
    nodes += [("backward", node) for node, _ in walk(account.step.backward)]
    labels = [(phase, node.label if isinstance(node, Node) else node.name) for phase, node in nodes]
    return {label: place for place, label in reversed(list(enumerate(labels)))}


def _key(
    label: str, phase: str, path: tuple[str, ...], runs: Mapping[tuple[str, str], str], whole: str
) -> Key:
    if whole and phase != "optimizer":
        return whole, whole, ()
    return phase, runs.get((phase, label), label), path


def _phase(phase: str) -> str:
    return "backward" if phase == "recompute" else phase


def _made(key: Key, part: _Part) -> Operation:
    phase, label, path = key
    loads = tuple(Load(unit, dtype, total(flops)) for (unit, dtype), flops in part.loads.items())
    kind = next(iter(part.kinds), "move") if len(part.kinds) < 2 else "several ops"
    return Operation(label, phase, path, kind, loads, total(part.moved), part.uneven, part.chosen)


def _format(account: Account, row: Row) -> str:
    """Return the number format that an op computes in: that of its activations; of states, in the update."""
    policy = account.policy
    if row.phase == "optimizer":
        return policy.dtype("float", "state")
    dtype = policy.dtype(row.dtype, "activation")
    comparing = not row.matmul and (dtype == "bool" or dtype.startswith("int"))
    return policy.precision.activations if comparing else dtype


def _runs(account: Account) -> dict[tuple[str, str], str]:
    """Return the fused run that each op belongs to, by phase and label."""
    ends = {}
    for row in account.traffic:
        if RUN in row.label:
            first, last = row.label.split(RUN)
            ends[row.phase, first] = (last, row.label)
    found: dict[tuple[str, str], str] = {}
    forward = account.step.graph.nodes
    for nodes, phase in ((forward, "forward"), (account.step.backward, "backward"), (forward, "recompute")):
        last, run = "", ""
        for node, _ in walk(nodes):
            if not isinstance(node, Node):
                continue
            if not run and (phase, node.label) in ends:
                last, run = ends[phase, node.label]
            if run:
                found[_phase(phase), node.label] = run
            if node.label == last:
                last, run = "", ""
    return found
