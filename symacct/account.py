"""From a graph to its account: every quantity a sum of terms, every term with the op it came from."""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from sympy import Max

from symacct import terms
from symacct.adapters import parse_lora
from symacct.algebra.condition import Condition, merge
from symacct.algebra.evaluate import check_sizes, evaluate
from symacct.algebra.normal import normal, total
from symacct.algebra.symbols import as_expr
from symacct.build import Definition
from symacct.convention import CHOICES, Convention
from symacct.convention import convention as named_convention
from symacct.derivation.again import traffic_again, work_again
from symacct.derivation.course import Course
from symacct.derivation.differentiate import Step, differentiate
from symacct.derivation.growth import cached_tokens
from symacct.derivation.lora import adapted
from symacct.derivation.ranges import over
from symacct.derivation.saved import Saved, saved
from symacct.derivation.static import Parameter, parameters, scales, trained
from symacct.derivation.traffic import Traffic, Traffics
from symacct.derivation.work import Row, backward_work, forward_work, optimizer_work
from symacct.derivation.timeline import weight
from symacct.derivation.workload import caches, living, prepared, without_empty
from symacct.errors import RuleError, UnknownNameError, UsageError, unknown
from symacct.nodes import Graph, repeat_counts
from symacct.ops.optimizer import RULES
from symacct.policy import Policy, whole_or_symbol
from symacct.policy import checkpoint as named_checkpoint
from symacct.policy import precision as named_precision
from symacct.quantity import Quantity
from symacct.terms import PEAKS, QUANTITIES, STATIC, Term, bytes_scope, flops_scope, unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sympy import Expr

    from symacct.derivation.folding import Size

TRAINING = (
    "flops.backward", "flops.recompute", "flops.optimizer", "bytes.backward", "memory.gradients",
    "memory.master", "memory.optimizer", "memory.activations",
)  # fmt: skip
"""Quantities that only training has."""

FORWARD = ("params", "tokens", "flops.forward", "memory.parameters", "memory.kv_cache")
"""Quantities that no backward pass is derived for."""

AGAIN = ("flops.recompute", "flops.hardware", "bytes.backward", "bytes.step", "intensity.step")
"""Quantities that hold what runs again in backward."""

SERVING = ("prefill", "decode")
"""Workloads that fill or read a cache of keys and values."""

UPDATING = ("flops.optimizer", "memory.optimizer")
"""Quantities that need an optimizer."""


class Account:
    """The account of a graph under a policy and a convention; ``account["flops.model"]`` is a quantity.

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
        self._uneven = uneven
        self.source = source if policy.lora is None else adapted(source, policy.lora)
        self.policy = policy
        self.convention = convention
        policy.check()
        self._whole = prepared(self.source, policy.workload)
        self.graph, self.dead = living(without_empty(self._whole))
        self._parts: dict[tuple[str, str, bool], tuple[tuple[Term, ...], Expr]] = {}

    @property
    def trains(self) -> bool:
        """Whether there is a backward pass."""
        return self.policy.workload == "train"

    # ---- what is derived ----

    @cached_property
    def step(self) -> Step:
        """The graph with its backward pass (empty unless the workload is ``train``)."""
        if self.trains:
            return differentiate(self.graph, input_grad=self.policy.input_grad)
        return Step(self.graph, {}, (), {}, (), (), {})

    @cached_property
    def course(self) -> Course:
        """The step through memory: peaks, what is kept, what runs again."""
        return Course(self.graph, self.policy, uneven=self._uneven)

    @property
    def uneven(self) -> Account:
        """The same account where a segment's length need not divide the count: the last one may be shorter.

        Raises:
            UsageError: nothing is cut into segments of a length.
        """
        if self.policy.checkpoint.kind != "every":
            raise UsageError(
                "only segments of a length may leave a shorter one",
                where=self.policy.describe(),
                expected="checkpoint every:K",
                got=f"checkpoint {self.policy.checkpoint.describe()}",
            )
        return Account(self.source, self.policy, self.convention, uneven=True)

    @cached_property
    def _pass(self) -> Course:
        """The course of one micro-batch: what it keeps, and what runs again in it."""
        if self.micro_batches == 1:
            return self.course
        return Course(self.graph, replace(self.policy, accumulate=1))

    @property
    def recomputes(self) -> bool:
        """Whether a part of the graph runs again in backward."""
        return self.trains and (self.policy.checkpoint.kind != "none" or bool(self.graph.remats))

    @cached_property
    def forward_work(self) -> tuple[Row, ...]:
        """Counts of primitives in the forward pass, a row for each node and primitive."""
        return forward_work(self.graph)

    @cached_property
    def work(self) -> tuple[Row, ...]:
        """Counts of primitives of a whole step."""
        update = optimizer_work(self.step, self.policy.optimizer)
        again = work_again(self._pass, self.forward_work) if self.recomputes else ()
        return (*self.forward_work, *backward_work(self.step, self.forward_work), *again, *update)

    @cached_property
    def traffic(self) -> tuple[Traffic, ...]:
        """Elements moved, under the byte account of the convention."""
        rows = Traffics(self.step, self.policy.optimizer).rows(self.convention.bytes)
        again = traffic_again(self._pass, rows, self.convention.bytes) if self.recomputes else ()
        return (*rows, *again)

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
        return parameters(self._whole, self.graph)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Conditions under which the formulas of this account hold."""
        return merge((*self.graph.conditions, *self.step.conditions))

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know: dead ops, trainable weights that no gradient reaches."""
        found = list(self.graph.notes)
        found += [f"no output depends on {label}: it is left out of every total" for label in self.dead]
        if self.trains:
            found += [
                f"no gradient reaches {name}, which is marked as trainable"
                for name in self.graph.tensors
                if name in self.graph.trainable and name not in self.step.gradients
            ]
        return tuple(found)

    # ---- quantities ----

    def names(self) -> tuple[str, ...]:
        """Return the quantities of this account that are sums of terms, in the order of a report."""
        return tuple(name for name in QUANTITIES if name not in PEAKS and self.has(name))

    def has(self, name: str) -> bool:
        """Say whether this account has a quantity: some belong to training, an optimizer, or decoding."""
        if name not in QUANTITIES or (name.startswith(TRAINING) and not self.trains):
            return False
        if name.startswith(UPDATING):
            return self.policy.optimizer is not None
        if name.startswith("memory.kv_cache"):
            served = self.policy.workload in SERVING and caches(self.source) is not None
            return served and (name == "memory.kv_cache" or cached_tokens(self.source) is not None)
        return name != "tokens" or self.graph.tokens is not None

    def __getitem__(self, name: str) -> Quantity:
        """Return a quantity by name.

        Raises:
            UnknownNameError: no such quantity, or this account has none of it.
        """
        self.require(name)
        when = self.graph.conditions if name.startswith(FORWARD) else self.conditions
        if name in PEAKS:
            return Quantity(self._peak(name), unit_of(name), merge((*when, *self.course.conditions)))
        kept = name in ("memory.activations", "memory.data")
        if self.recomputes and (kept or name.startswith(AGAIN)):
            when = merge((*when, *self.course.conditions))
        elif kept:
            when = merge((*when, *self._saved[1]))
        return Quantity(self._total(name), unit_of(name), when)

    def candidates(self, name: str = "memory.peak") -> tuple[Expr, ...]:
        """Return the formulas in bytes of which a peak is the largest, sorted by their text.

        Raises:
            UnknownNameError: the quantity is no peak.
        """
        if name not in PEAKS[:2]:
            raise unknown("peak", name, PEAKS[:2])
        self.require(name)
        saved = name == "memory.activations.peak"
        beside = self.beside(name)
        found = self.course.candidates(self._weigh(saved=saved))
        return tuple(normal(self.course.formula(poly) + beside) for poly in found)

    def beside(self, name: str) -> Expr:
        """Return the bytes that live through the whole step, which a peak stands on."""
        if name == "memory.activations.peak":
            return total(t.expr for t in terms.inputs(self.graph, self.course.inputs, self.policy))
        held = ["parameters", "master", "optimizer"] + (["gradients"] if self.policy.grads == "kept" else [])
        parts = [f"memory.{part}" for part in (*held, "kv_cache")]
        whole = [self._total(part) for part in parts if self.has(part)]
        return total([*whole, *(t.expr for t in terms.inputs(self.graph, self.graph.inputs, self.policy))])

    def _weigh(self, *, saved: bool) -> Callable[[Size], Fraction]:
        def weigh(size: Size) -> Fraction:
            return weight(self.policy, size) if size.saved or not saved else Fraction(0)

        return weigh

    def _peak(self, name: str) -> Expr:
        """Return a peak as a formula: the largest of its candidates."""
        if name == "memory.transient":
            return self._transient()
        found = self.candidates(name)
        return found[0] if len(found) == 1 else Max(*found, evaluate=False)

    def _transient(self) -> Expr:
        """Return the peak less the categories alive then, where one formula is the peak at all sizes.

        Raises:
            RuleError: which formula is the peak depends on the sizes.
        """
        found = self.course.parts(self._weigh(saved=False))
        if len(found) > 1:
            raise RuleError(
                f"what is transient at the peak of graph {self.graph.name} depends on the sizes",
                expected="sizes at which one formula is the peak",
                got=f"{len(found)} formulas, one for each region",
                fix="bind the sizes (--at)",
            )
        return self.course.restored(found[0])

    def require(self, name: str) -> None:
        """Check that this account has a quantity.

        Raises:
            UnknownNameError: no such quantity, or this account has none of it: with the choice that would.
        """
        if name not in QUANTITIES:
            raise unknown("quantity", name, self.names(), where=f"graph {self.graph.name}")
        if not self.has(name):
            raise UnknownNameError(
                f"this account has no {name}",
                where=f"graph {self.graph.name}, {self.policy.describe()}",
                expected=f"one of: {', '.join(known for known in self.names() if _akin(known, name))}",
                got=name,
                fix=_why_absent(name, serves=self.policy.workload in SERVING),
            )

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
        found = terms.counted(self.parameters, name) if family == "params" else self._memory(item)
        return tuple(term for term in found if term.expr != 0)

    def _part(self, family: str, phase: str, flag: bool) -> tuple[tuple[Term, ...], Expr]:  # noqa: FBT001
        """Return the terms of a phase and their total, worked out once: several quantities add them up."""
        key = (family, phase, flag)
        if key not in self._parts:
            if family == "flops":
                work = self.forward_work if phase == "forward" else self.work
                rows = tuple(terms.priced(work, self.convention, phase, matmul=flag))
            else:
                rows = tuple(terms.moved(self.traffic, self.policy, phase, written=flag))
            kept = tuple(self._accumulated(term) for term in rows if term.expr != 0)
            self._parts[key] = kept, total(term.expr for term in kept)
        return self._parts[key]

    @property
    def micro_batches(self) -> Expr:
        """How many micro-batches a step adds up."""
        return as_expr(self.policy.accumulate)

    def _accumulated(self, term: Term) -> Term:
        """Return a term for all micro-batches of a step; the update runs once."""
        once = self.micro_batches == 1 or term.phase == "optimizer"
        return term if once else replace(term, expr=normal(term.expr * self.micro_batches))

    def _memory(self, item: str) -> tuple[Term, ...]:
        if item == "static":
            parts = [part for part in STATIC if self.has(f"memory.{part}")]
            return tuple(term for part in parts for term in self._memory(part))
        if item == "activations" and self.recomputes:
            kept = self._pass.saved_when_forward_ends(self._weigh(saved=True))
            inputs = terms.inputs(self.graph, self._pass.inputs, self.policy)
            return (*terms.kept(kept, self.graph), *inputs)
        if item == "activations":
            return tuple(terms.activations(self.saved, self.policy))
        if item == "data":
            read = self._pass.inputs if self.recomputes else [s.tensor.name for s in self.saved]
            return tuple(terms.data(self.graph, read, self.policy))
        if item == "gradients" and self.policy.update == "fused":
            return ()
        if item == "kv_cache":
            return self._cache()
        if item == "kv_cache.token":
            return self._cache_of_a_token()
        reached = {
            name: total(over(self.graph.tensors[name].numel, path) for path in paths)
            for name, paths in trained(self.step).items()
        }
        rule = RULES[self.policy.optimizer] if self.policy.optimizer else None
        blocks = scales(self.step, rule) if rule is not None and rule.block else None
        return tuple(terms.held(self.parameters, reached, self.policy, item, blocks))

    def _cache(self) -> tuple[Term, ...]:
        """Return the keys and values of a decoding step, or those that a prefill leaves behind."""
        if self.policy.workload == "decode":
            return tuple(terms.cache(self.graph, self.policy))
        found = caches(self.source)
        return () if found is None else tuple(terms.cache(found, self.policy))

    def _cache_of_a_token(self) -> tuple[Term, ...]:
        """Return what one token adds to the cache: the cache over the tokens it holds."""
        tokens = cached_tokens(self._whole if self.policy.workload == "prefill" else self.source)
        if tokens is None:
            return ()
        unit = unit_of("memory.kv_cache.token")
        return tuple(replace(term, expr=normal(term.expr / tokens), unit=unit) for term in self._cache())

    # ---- evaluation ----

    def bind(self, sizes: Mapping[str, int]) -> Account:
        """Return the account with sizes bound, derived again, so that small counts get their exact case."""
        counts = frozenset(repeat_counts(self.source))
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
        from symacct.report import latex

        return latex(self)

    def _repr_html_(self) -> str:
        from symacct.report import html

        return html(self)


def _akin(name: str, other: str) -> bool:
    return name.partition(".")[0] == other.partition(".")[0]


def _why_absent(name: str, *, serves: bool) -> str:
    if name.startswith(UPDATING):
        return "name an optimizer (--optimizer adamw)"
    if name == "memory.kv_cache.token" and serves:
        return (
            "read memory.kv_cache at a length: tokens differ in what they add (a window), or are not stated"
        )
    if name.startswith("memory.kv_cache"):
        return "use the workload prefill or decode"
    return "the graph states no tokens" if name == "tokens" else "use the workload train"


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
    if isinstance(graph, str):
        raise UsageError(
            f"{graph!r} is a name, not a graph",
            expected="a graph, or its definition",
            got=repr(graph),
            fix=f"write symacct.derive(symacct.load({graph!r}))",
        )
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
