"""From a graph to its account: every quantity a sum of terms, every term with the op it came from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sympy import Expr

from symacct.algebra.condition import Condition, merge
from symacct.algebra.evaluate import check_sizes, evaluate
from symacct.algebra.normal import normal, product, total
from symacct.algebra.symbols import as_expr
from symacct.build import Definition
from symacct.convention import Convention, convention as convention_named
from symacct.derivation.differentiate import Step, differentiate
from symacct.derivation.saved import Saved, saved
from symacct.derivation.static import Parameter, parameters
from symacct.derivation.traffic import Traffic, Traffics
from symacct.derivation.work import Row, backward_work, forward_work, optimizer_work
from symacct.derivation.workload import living, prepared
from symacct.errors import RuleError, unknown
from symacct.graph import Graph, Repeat, walk
from symacct.ops.optimizer import RULES
from symacct.policy import Policy, precision as precision_named
from symacct.quantity import Quantity
from symacct.units import ONE, Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FLOP, BYTE, PARAMETER, TOKEN = Unit("FLOP"), Unit("byte"), Unit("parameter"), Unit("token")
INTENSITY = Unit("FLOP/byte")
PHASES = {
    "flops.forward": ("forward",),
    "flops.backward": ("backward",),
    "flops.recompute": ("recompute",),
    "flops.model": ("forward", "backward"),
    "flops.hardware": ("forward", "backward", "recompute"),
}
TRAIN_ONLY = ("flops.backward", "flops.recompute", "flops.optimizer", "bytes.backward", "memory.gradients",
              "memory.master", "memory.optimizer", "memory.activations", "memory.data")  # fmt: skip
MOVES = {"bytes.forward": ("forward",), "bytes.backward": ("backward",), "bytes.step": ("forward", "backward", "optimizer")}
DIRECTIONS = {"": (False, True), ".read": (False,), ".written": (True,)}


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


class Account:
    """The account of a graph under a policy and a convention; ``account["flops.model"]`` is a quantity.

    Attributes:
        source: the graph as it was given.
        graph: the graph of the workload, without dead ops.
        policy: the choices of the run.
        convention: the choices of the account.
        dead: labels of ops that no output depends on; they are left out of every total.
    """

    def __init__(self, source: Graph, policy: Policy, convention: Convention) -> None:
        """Prepare the workload's graph; everything else is derived when it is asked for."""
        self.source = source
        self.policy = policy
        self.convention = convention
        self.graph, self.dead = living(prepared(source, policy.workload))
        self._terms: dict[tuple[str, bool, str], tuple[tuple[Term, ...], Expr]] = {}

    @property
    def trains(self) -> bool:
        """Whether there is a backward pass."""
        return self.policy.workload == "train"

    @cached_property
    def step(self) -> Step:
        """The graph with its backward pass (empty unless the workload is ``train``)."""
        if self.trains:
            return differentiate(self.graph, input_grad=self.policy.input_grad)
        return Step(self.graph, {}, (), {}, (), (), {})

    @cached_property
    def work(self) -> tuple[Row, ...]:
        """Counts of primitives, a row for each node and primitive."""
        forward = forward_work(self.graph)
        return (*forward, *backward_work(self.step, forward), *optimizer_work(self.step, self.policy.optimizer))

    @cached_property
    def traffic(self) -> tuple[Traffic, ...]:
        """Elements moved, under the byte account of the convention."""
        return Traffics(self.step, self.policy.optimizer).rows(self.convention.bytes)

    @cached_property
    def _saved(self) -> tuple[tuple[Saved, ...], tuple[Condition, ...]]:
        return saved(self.step, self.policy.saves)

    @property
    def saved(self) -> tuple[Saved, ...]:
        """What the forward pass keeps for the backward pass."""
        return self._saved[0]

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Every weight, and what it counts as."""
        return parameters(self.graph)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Conditions under which the formulas of this account hold."""
        return merge((*self.graph.conditions, *self.step.conditions))

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know: dead ops, trainable weights that no gradient reaches."""
        found = [f"no output depends on {label}: it is left out of every total" for label in self.dead]
        if self.trains:
            found += [
                f"no gradient reaches {name}, which is marked as trainable"
                for name in self.graph.tensors
                if name in self.graph.trainable and name not in self.step.gradients
            ]
        return tuple(found)

    # ---- quantities ----

    def names(self) -> tuple[str, ...]:
        """Return the quantities of this account, in the order of a report."""
        return tuple(name for name in QUANTITIES if self._has(name))

    def _has(self, name: str) -> bool:
        if name.startswith(TRAIN_ONLY) and not self.trains:
            return False
        if name.startswith(("flops.optimizer", "memory.optimizer", "memory.master")) and self.policy.optimizer is None:
            return False
        if name == "memory.kv_cache":
            return self.policy.workload == "decode"
        return name != "tokens" or self.graph.tokens is not None

    def __getitem__(self, name: str) -> Quantity:
        """Return a quantity by name.

        Raises:
            UnknownNameError: no such quantity, or this account has none of it.
        """
        self._known(name)
        if name == "tokens":
            return Quantity(as_expr(self.graph.tokens), TOKEN, self.conditions)
        if name.startswith("intensity."):
            return self._intensity(name)
        unit = _unit(name)
        return Quantity(self._total(name), unit, self._when(name))

    def _known(self, name: str) -> None:
        if name not in QUANTITIES:
            raise unknown("quantity", name, self.names())
        if not self._has(name):
            raise unknown("quantity of this account", name, self.names(), where=f"graph {self.graph.name}, {self.policy.describe()}")

    def _when(self, name: str) -> tuple[Condition, ...]:
        return merge((*self.conditions, *self._saved[1])) if name == "memory.activations" else self.conditions

    def _intensity(self, name: str) -> Quantity:
        forward = name == "intensity.forward"
        names = ["flops.forward.all"] if forward else ["flops.hardware.all"]
        names += ["flops.optimizer.all"] if not forward and self._has("flops.optimizer.all") else []
        flops = total(self[n].expr for n in names)
        moved = self["bytes.forward" if forward else "bytes.step"].expr
        if moved == 0:
            raise RuleError(f"{name} is not defined: graph {self.graph.name} moves no bytes")
        return Quantity(normal(flops / moved), INTENSITY, self.conditions)

    def terms(self, name: str) -> tuple[Term, ...]:
        """Return the terms of a quantity; their sum is the quantity.

        Raises:
            UnknownNameError: no such quantity, or it is no sum (an intensity).
        """
        self._known(name)
        if name == "tokens" or name.startswith("intensity."):
            raise RuleError(f"{name} is no sum of terms", expected="a quantity that adds up", got=name)
        rows = _FAMILIES[name.split(".")[0]](self, name)
        return tuple(term for term in rows if term.expr != 0)

    def priced(self, phase: str, *, matmul: bool) -> tuple[Term, ...]:
        """Return the FLOP terms of a phase: forward, backward, recompute or optimizer."""
        return self._kept("flops", phase, matmul)[0]

    def moved(self, phase: str, *, written: bool) -> tuple[Term, ...]:
        """Return the byte terms of a phase in one direction."""
        return self._kept("bytes", phase, written)[0]

    def _kept(self, family: str, phase: str, flag: bool) -> tuple[tuple[Term, ...], Expr]:  # noqa: FBT001
        """Return terms and their total, worked out once: several quantities are sums of them."""
        key = (phase, flag, family)
        if key not in self._terms:
            rows = _priced(self, phase, matmul=flag) if family == "flops" else _moved(self, phase, written=flag)
            terms = tuple(rows)
            self._terms[key] = terms, total(term.expr for term in terms)
        return self._terms[key]

    def _total(self, name: str) -> Expr:
        """Return the sum of a quantity's terms."""
        if name.startswith("flops."):
            base, scope = _scope(name)
            phases = ("optimizer",) if base == "flops.optimizer" else PHASES[base]
            return total(self._kept("flops", phase, scope == "matmul")[1] for phase in phases)
        if name.startswith("bytes."):
            phases, directions = _moves(self, name)
            return total(self._kept("bytes", phase, written)[1] for phase in phases for written in directions)
        return total(term.expr for term in self.terms(name))

    # ---- evaluation ----

    def bind(self, sizes: Mapping[str, int]) -> Account:
        """Return the account with sizes bound, derived again, so that small counts get their exact case."""
        counts = frozenset(
            str(s) for r, _ in walk(self.source.nodes) if isinstance(r, Repeat) for s in r.count.free_symbols
        )
        free = [name for name in self.source.sizes if name not in self.source.bound]
        checked = check_sizes(sizes, free, counts)
        return Account(self.source.bind(checked), self.policy, self.convention)

    def value(self, name: str, sizes: Mapping[str, int] | None = None) -> Expr:
        """Return a quantity as an exact number.

        The formula is evaluated where its conditions hold; where one fails, the exact small case is derived.
        """
        bound = self.bind(sizes) if sizes else self
        return evaluate(bound[name].expr, {})

    def _repr_latex_(self) -> str:
        from symacct.report import latex

        return latex(self)

    def _repr_html_(self) -> str:
        from symacct.report import html

        return html(self)


def _unit(name: str) -> Unit:
    return {"flops": FLOP, "bytes": BYTE, "memory": BYTE, "params": PARAMETER}.get(name.split(".")[0], ONE)


# ---- terms by family ----


def _flops(account: Account, name: str) -> Iterator[Term]:
    base, scope = _scope(name)
    for phase in ("optimizer",) if base == "flops.optimizer" else PHASES[base]:
        yield from account.priced(phase, matmul=scope == "matmul")


def _priced(account: Account, phase: str, *, matmul: bool) -> Iterator[Term]:
    """Yield the FLOP terms of a phase, primitives of one node joined."""
    joined: dict[str, tuple[Row, list[Expr]]] = {}
    for row in account.work:
        if row.phase == phase:
            priced = price(account.convention, row, matmul=matmul)
            if priced != 0:
                joined.setdefault(row.label, (row, []))[1].append(priced)
    for row, parts in joined.values():
        yield Term(row.label, row.phase, row.path, row.kind, total(parts), FLOP)


def _scope(name: str) -> tuple[str, str]:
    base, _, last = name.rpartition(".")
    if last in ("matmul", "all"):
        return base, last
    return name, "all" if name == "flops.optimizer" else "matmul"


def price(convention: Convention, row: Row, *, matmul: bool) -> Expr:
    """Return the FLOPs of a row under a convention; 0 where the convention leaves it out."""
    c = convention
    if (matmul or not c.elementwise) and not row.matmul:
        return as_expr(0)
    if c.head == "left out" and row.matmul and "head" in row.of.split("/"):
        return as_expr(0)
    if row.primitive == "one_hot":
        each = 2 if c.embedding == "matmul" else 0
    elif row.primitive == "vector_use":
        each = 2 if c.vectors == "matmul" else 0
    elif row.between and c.attention == "none":
        each = 0
    else:
        each = c.price(row.primitive)  # type: ignore[assignment]
    if each == 0:
        return as_expr(0)
    expr = {"half": row.half, "exact": row.exact}.get(c.attention, row.expr)
    return product((as_expr(each), expr))


def _moves(account: Account, name: str) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    """Return the phases and directions that a byte quantity adds up."""
    base, direction = next((name.removesuffix(d), d) for d in (".read", ".written", "") if name.endswith(d))
    compulsory = account.convention.bytes == "compulsory" and base == "bytes.step"
    return ("step", "optimizer") if compulsory else MOVES[base], DIRECTIONS[direction]


def _bytes(account: Account, name: str) -> Iterator[Term]:
    phases, directions = _moves(account, name)
    for phase in phases:
        for written in directions:
            yield from account.moved(phase, written=written)


def _moved(account: Account, phase: str, *, written: bool) -> Iterator[Term]:
    """Yield the byte terms of a phase in one direction."""
    for row in account.traffic:
        if row.phase == phase and row.written is written:
            each = account.policy.nbytes(row.dtype, row.role)
            note = f"{'writes' if written else 'reads'} {row.tensor} ({account.policy.dtype(row.dtype, row.role)})"
            yield Term(row.label, row.phase, row.path, note, product((as_expr(each), row.elements)), BYTE)


def _params(account: Account, name: str) -> Iterator[Term]:
    for p in account.parameters:
        kept = {
            "params.trainable": p.trainable,
            "params.nonembedding": not p.table,
        }.get(name, True)
        expr = {"params.active": p.active, "params.matmul": p.uses}.get(name, p.elements)
        if kept:
            yield Term(p.tensor.name, "parameters", p.tensor.path, _dims(p), expr, PARAMETER)


def _dims(p: Parameter) -> str:
    shape = " ".join(p.tensor.axes)
    return f"[{shape}]" + (" table" if p.table else "") + ("" if p.trainable else " frozen")


def _memory(account: Account, name: str) -> Iterator[Term]:
    item = name.removeprefix("memory.")
    if item == "static":
        for part in ("parameters", "gradients", "master", "optimizer"):
            if account._has(f"memory.{part}"):  # noqa: SLF001
                yield from _memory(account, f"memory.{part}")
    elif item == "activations":
        yield from _activations(account)
    elif item == "data":
        kept = {s.tensor.name for s in account.saved}
        for input_name in account.graph.inputs:
            t = account.graph.tensors[input_name]
            if input_name not in kept:
                each = account.policy.nbytes(t.dtype, t.role)
                yield Term(t.name, "data", (), "input", product((as_expr(each), t.numel)), BYTE)
    elif item == "kv_cache":
        yield from _cache(account)
    else:
        yield from _static(account, item)


def _activations(account: Account) -> Iterator[Term]:
    paper = account.policy.saves == "paper"
    for s in account.saved:
        if paper and s.tensor.dtype == "mask":
            each = as_expr(1)
        else:
            each = as_expr(account.policy.nbytes(s.tensor.dtype, s.tensor.role))
        note = f"made by {s.maker}, kept for {', '.join(s.readers)}" + (f" ({s.reason})" if s.reason else "")
        yield Term(s.tensor.name, "saved", s.tensor.path, note, product((each, s.elements)), BYTE)


def _cache(account: Account) -> Iterator[Term]:
    repeats = {r.name: r for r, _ in walk(account.graph.nodes) if isinstance(r, Repeat)}
    for t in account.graph.tensors.values():
        if t.role == "cache":
            from symacct.derivation.ranges import over

            each = account.policy.nbytes(t.dtype, t.role)
            elements = over(t.numel, tuple(repeats[r] for r in t.path))
            yield Term(t.name, "cache", t.path, "keys or values", product((as_expr(each), elements)), BYTE)


def _static(account: Account, item: str) -> Iterator[Term]:
    p, optimizer = account.policy.precision, account.policy.optimizer
    for parameter in account.parameters:
        t = parameter.tensor
        if item != "parameters" and t.name not in account.step.gradients:
            continue
        if item == "master" and p.master is None:
            continue
        role = {"parameters": "weight", "gradients": "weight gradient"}.get(item, "state")
        each = account.policy.nbytes(t.dtype, role) if item != "master" else account.policy.nbytes(str(p.master), role)
        times = len(RULES[optimizer].states) if item == "optimizer" and optimizer else 1
        expr = product((as_expr(each), as_expr(times), parameter.elements))
        yield Term(t.name, item, t.path, _dims(parameter), expr, BYTE)


_FAMILIES = {"flops": _flops, "bytes": _bytes, "params": _params, "memory": _memory}


def _listed() -> Iterator[str]:
    yield from ("params", "params.trainable", "params.active", "params.matmul", "params.nonembedding", "tokens")
    for name in (*PHASES, "flops.optimizer"):
        yield from (name, f"{name}.matmul", f"{name}.all")
    for name in MOVES:
        yield from (name, f"{name}.read", f"{name}.written")
    yield from ("intensity.forward", "intensity.step")
    yield from (f"memory.{item}" for item in ("parameters", "gradients", "master", "optimizer", "static", "data",
                                              "activations", "kv_cache"))  # fmt: skip


QUANTITIES: tuple[str, ...] = tuple(_listed())
"""Names of the quantities an account may have."""


def derive(
    graph: Graph | Definition,
    *,
    policy: Policy | None = None,
    convention: str | Convention = "default",
    sizes: Mapping[str, int] | None = None,
    **choices: object,
) -> Account:
    """Return the account of a graph.

    Args:
        graph: a graph, or its definition.
        policy: the choices of the run; single ones may be given by name instead:
            ``workload``, ``precision``, ``optimizer``, ``saves``, ``input_grad``.
        convention: how counts are priced, by name or as a value.
        sizes: sizes to bind first.
        **choices: fields of the policy.

    >>> from symacct.build import graph
    >>> @graph({"B": "rows", "D": "inputs", "K": "outputs"})
    ... def product(b):
    ...     return b.einsum("B D, D K -> B K", b.input("x", "B D"), b.weight("w", "D K"))
    >>> print(derive(product)["flops.model"])
    4*B*D*K FLOP
    """
    source = graph() if isinstance(graph, Definition) else graph
    if sizes:
        source = source.bind(sizes)
    return Account(source, _policy(policy, choices), convention_named(convention))


def _policy(policy: Policy | None, choices: Mapping[str, object]) -> Policy:
    from dataclasses import fields, replace

    known = [f.name for f in fields(Policy)]
    for name in choices:
        if name not in known:
            raise unknown("choice of a policy", name, known)
    given = dict(choices)
    if isinstance(given.get("precision"), str):
        given["precision"] = precision_named(str(given["precision"]))
    return replace(policy or Policy(), **given)  # type: ignore[arg-type]
