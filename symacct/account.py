"""From a graph to its account: every quantity a sum of terms, every term with the op it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from symacct import terms
from symacct.adapters import parse_lora
from symacct.algebra.condition import merge
from symacct.algebra.evaluate import check_sizes, evaluate
from symacct.algebra.normal import normal, total
from symacct.algebra.symbols import as_expr, symbol
from symacct.build import Definition
from symacct.build.no_graph import no_graph
from symacct.convention import CHOICES, Convention
from symacct.convention import convention as named_convention
from symacct.counts import may_be_zero
from symacct.derivation.lora import adapted
from symacct.displayed import rendered
from symacct.errors import RuleError, UsageError, unknown
from symacct.holdings import Holdings
from symacct.nodes import Graph
from symacct.peaks.transient import holds_from
from symacct.policy import Policy, whole_or_symbol
from symacct.policy import checkpoint as named_checkpoint
from symacct.policy import precision as named_precision
from symacct.quantity import Quantity
from symacct.terms import PEAKS, QUANTITIES, Term, bytes_scope, flops_scope, unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sympy import Expr, Symbol


FORWARD = ("params", "tokens", "flops.forward", "memory.parameters", "memory.kv_cache")
"""Quantities that no backward pass is derived for."""

AGAIN = ("flops.recompute", "flops.hardware", "bytes.backward", "bytes.step", "intensity.step")
"""Quantities that hold what runs again in backward."""

FUSED = ("bytes.forward", "intensity.forward")
"""Quantities that hold, in the account ``fused``, what the forward pass does not write but runs again."""


class Account(Holdings, Mapping[str, Quantity]):
    """The account of a graph under a policy and a convention; ``account["flops.model"]`` is a quantity.

    It is a mapping of the names of the quantities that it has; each is derived when it is read.

    >>> from symacct.readers.files import load
    >>> account = derive(load("mlp"))
    >>> "flops.model" in account, "memory.optimizer" in account, len(account) == len(dict(account))
    (True, False, True)

    Attributes:
        source: the graph as it was given, with the adapters of the policy.
        graph: the graph of the workload, without dead ops.
        policy: the choices of the run.
        convention: the choices of the account.
        dead: labels of ops that no output depends on; they are left out of every total.
    """

    def __init__(
        self, source: Graph, policy: Policy, convention: Convention, *, uneven: bool = False
    ) -> None:
        """Prepare the workload's graph; everything else is derived when it is asked for."""
        super().__init__(source, policy, convention, uneven=uneven)
        self._parts: dict[tuple[str, str, bool], tuple[tuple[Term, ...], Expr]] = {}

    @property
    def symbols(self) -> Mapping[str, Symbol]:
        """The symbols of the sizes, and of what the policy leaves open, by name: what sympy knows them by.

        >>> from symacct.readers.files import load
        >>> account = derive(load("mlp"), accumulate="M")
        >>> D = account.symbols["D"]
        >>> account["params"].expr.diff(D), sorted(account.symbols)
        (2*D*L, ['B', 'D', 'L', 'M'])
        """
        names = (*self.source.order, *self.policy.names)
        return MappingProxyType({name: symbol(name) for name in names})

    # ---- quantities ----

    def __getitem__(self, name: str) -> Quantity:
        """Return a quantity by name.

        Raises:
            UnknownNameError: no such quantity, or this account has none of it.
        """
        self.require(name)
        when = self.graph.conditions if name.startswith(FORWARD) else self.conditions
        if name in PEAKS:
            found = self.peak(name)
            own = holds_from(self.course) if name == "memory.transient" else self.course.conditions
            return Quantity(found, unit_of(name), merge((*when, *own)))
        kept = name in ("memory.activations", "memory.data")
        again = (*AGAIN, *FUSED) if self.convention.bytes == "fused" else AGAIN
        if self.recomputes and (kept or name.startswith(again)):
            when = merge((*when, *self.course.conditions))
        elif kept:
            when = merge((*when, *self.saved_when[1]))
        return Quantity(self._total(name), unit_of(name), when)

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the quantities, in the order of a report."""
        return (name for name in QUANTITIES if name in self)

    def __len__(self) -> int:
        """Return how many quantities there are."""
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        """Say whether there is a quantity of this name; nothing is derived."""
        return isinstance(name, str) and self.has(name)

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def _total(self, name: str) -> Expr:
        """Return a quantity's formula."""
        family = name.partition(".")[0]
        if family == "tokens":
            return normal(as_expr(self.graph.tokens) * self.micro_batches)
        if family == "intensity":
            return self._intensity(name)
        if family == "flops":
            phases, matmul = flops_scope(name)
            return total(self._part("flops", phase, matmul)[1] for phase in phases)
        if family == "bytes":
            phases, directions = bytes_scope(name, self.convention.bytes)
            return total(self._part("bytes", phase, written)[1] for phase in phases for written in directions)
        return total(term.expr for term in self.terms(name))

    def _intensity(self, name: str) -> Expr:
        forward = name == "intensity.forward"
        names = ["flops.forward.all"] if forward else ["flops.hardware.all", "flops.optimizer.all"]
        flops = total(self._total(part) for part in names if self.has(part))
        moved = self._total("bytes.forward" if forward else "bytes.step")
        if moved == 0:
            raise RuleError(f"{name} is not defined: graph {self.graph.name} moves no bytes")
        return normal(flops / moved)

    def terms(self, name: str) -> tuple[Term, ...]:
        """Return the terms of a quantity, none of them 0; their sum is the quantity.

        Raises:
            UnknownNameError: no such quantity.
            RuleError: it is no sum (an intensity, the number of tokens).
        """
        self.require(name)
        family, _, item = name.partition(".")
        if family in ("tokens", "intensity") or name in PEAKS:
            raise RuleError(
                f"{name} is no sum of terms",
                expected="a quantity that adds up",
                got=name,
                fix="see symacct memory for what is alive at a peak" if name in PEAKS else None,
            )
        if family == "flops":
            phases, matmul = flops_scope(name)
            return tuple(t for phase in phases for t in self._part("flops", phase, matmul)[0])
        if family == "bytes":
            phases, directions = bytes_scope(name, self.convention.bytes)
            return tuple(t for p in phases for w in directions for t in self._part("bytes", p, w)[0])
        found = terms.counted(self.parameters, name) if family == "params" else self.memory(item)
        return tuple(term for term in found if term.expr != 0)

    def _part(self, family: str, phase: str, flag: bool) -> tuple[tuple[Term, ...], Expr]:  # noqa: FBT001
        """Return the terms of a phase and their total, worked out once: several quantities add them up."""
        key = (family, phase, flag)
        if key not in self._parts:
            if family == "flops":
                work = self.work if phase == "recompute" else self.work_once
                work = self.forward_work if phase == "forward" else work
                rows = tuple(terms.priced(work, self.convention, phase, matmul=flag))
            else:
                moving = self.traffic_again if phase == "recompute" else self.traffic_once
                rows = tuple(terms.moved(moving, self.policy, phase, written=flag))
            kept = tuple(self._accumulated(term) for term in rows if term.expr != 0)
            self._parts[key] = kept, total(term.expr for term in kept)
        return self._parts[key]

    def _accumulated(self, term: Term) -> Term:
        """Return a term for all micro-batches of a step; the update runs once."""
        once = self.micro_batches == 1 or term.phase == "optimizer"
        return term if once else replace(term, expr=normal(term.expr * self.micro_batches))

    # ---- evaluation ----

    def bind(self, sizes: Mapping[str, int]) -> Account:
        """Return the account with sizes bound, derived again, so that small counts get their exact case."""
        counts = frozenset(may_be_zero(self.source))
        free = [name for name in self.source.sizes if name not in self.source.bound]
        chosen = check_sizes({n: v for n, v in sizes.items() if n in self.policy.names}, self.policy.names)
        own = {name: size for name, size in sizes.items() if name not in chosen}
        checked = check_sizes(self.source.resolved(own), free, counts)
        return Account(self.source.bind(checked), self.policy.bind(chosen), self.convention)

    def value(self, name: str, sizes: Mapping[str, int] | None = None) -> Expr:
        """Return a quantity as an exact number; where a condition fails the exact small case is derived."""
        bound = self.bind(sizes) if sizes else self
        return evaluate(bound[name].expr, {})

    def __repr__(self) -> str:
        """Name the graph and the choices."""
        return (
            f"Account({self.graph.name}: {self.policy.describe()}; convention {self.convention.describe()})"
        )

    def _repr_latex_(self) -> str:
        found: str = rendered("latex", self)
        return found

    def _repr_html_(self) -> str:
        found: str = rendered("html", self)
        return found


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
            ``workload``, ``precision``, ``optimizer``, ``saves``, ``checkpoint``, ``lora``, ... (fields of
            :class:`symacct.policy.Policy`), each as a value or as the text of its flag.
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
    if not isinstance(graph, Graph | Definition):
        raise no_graph(graph)
    source = graph() if isinstance(graph, Definition) else graph
    chosen = _policy(policy, choices)
    if chosen.lora is not None:
        source = adapted(source, chosen.lora)
    if sizes:
        source = source.bind(sizes)
    return Account(source, chosen, named_convention(convention))


def _policy(policy: Policy | None, choices: Mapping[str, object]) -> Policy:
    known = [f.name for f in fields(Policy)]
    for name in choices:
        if name in CHOICES:
            raise UsageError(
                f"{name} is a choice of the convention, not of the policy",
                expected=", ".join(known),
                got=name,
                fix=f"pass convention=symacct.convention.convention('default', {name}=...)",
            )
        if name not in known:
            raise unknown("choice of a policy", name, known)
    readers: Mapping[str, Callable[[str], object]] = {
        "precision": named_precision,
        "checkpoint": named_checkpoint,
        "lora": parse_lora,
        "accumulate": lambda text: whole_or_symbol(text, "the number of micro-batches"),
    }
    given = {
        name: readers[name](value) if isinstance(value, str) and name in readers else value
        for name, value in choices.items()
    }
    return replace(policy or Policy(), **given)  # type: ignore[arg-type]
