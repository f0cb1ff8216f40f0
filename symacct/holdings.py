"""Memory: its categories as terms, and peaks as formulas."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from sympy import Max

from symacct import terms
from symacct.algebra.extremum import standing
from symacct.algebra.normal import normal, total
from symacct.algebra.winner import AtLargest
from symacct.derivation.growth import cached_tokens
from symacct.derivation.ranges import over
from symacct.derivation.static import scales, trained
from symacct.derivation.workload import caches
from symacct.derived import Derived
from symacct.errors import unknown
from symacct.ops.optimizer import RULES
from symacct.peaks.invariants import check
from symacct.peaks.transient import transients
from symacct.terms import PEAKS, STATIC, Term, unit_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from sympy import Expr

    from symacct.algebra.condition import Condition
    from symacct.algebra.sparse import Poly
    from symacct.peaks.folding import Size


class Holdings(Derived):
    """The memory of an account."""

    def memory(self, item: str) -> tuple[Term, ...]:
        """Return the terms of a category of memory: ``parameters``, ``static``, ``activations``, ..."""
        if item in STATIC:
            return self._held(item)
        return {
            "static": self._static,
            "activations": self._activations,
            "data": self._data,
            "kv_cache": self._cache,
            "kv_cache.token": self._cache_of_a_token,
        }[item]()

    def _static(self) -> tuple[Term, ...]:
        parts = [part for part in STATIC if self.has(f"memory.{part}")]
        return tuple(term for part in parts for term in self.memory(part))

    def _activations(self) -> tuple[Term, ...]:
        if not self.recomputes:
            return tuple(terms.activations(self.saved, self.policy))
        kept = self.one_pass.saved_when_forward_ends(self.weigh(saved=True))
        return (*terms.kept(kept, self.graph), *terms.inputs(self.graph, self.one_pass.inputs, self.policy))

    def _data(self) -> tuple[Term, ...]:
        read = self.one_pass.inputs if self.recomputes else [s.tensor.name for s in self.saved]
        return tuple(terms.data(self.graph, read, self.policy))

    def _held(self, item: str) -> tuple[Term, ...]:
        """Return what lives from step to step; an update fused into backward leaves no gradients."""
        if item == "gradients" and self.policy.update == "fused":
            return ()
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
        tokens = cached_tokens(self.whole if self.policy.workload == "prefill" else self.source)
        if tokens is None:
            return ()
        unit = unit_of("memory.kv_cache.token")
        return tuple(replace(term, expr=normal(term.expr / tokens), unit=unit) for term in self._cache())

    def candidates(self, name: str = "memory.peak") -> tuple[Expr, ...]:
        """Return the formulas in bytes of which a peak is the largest.

        Raises:
            UnknownNameError: the quantity is no peak.
        """
        if name not in PEAKS[:2]:
            raise unknown("peak", name, PEAKS[:2])
        self.require(name)
        shape, known = self._formulas.get(name, (None, ()))
        if known and shape is self.course.shape:
            return known
        beside = self.beside(name)
        weigh = self.weigh(saved=name == "memory.activations.peak")
        found = self.course.formulas(weigh, beside)
        if self.trains:
            self._check(name, self.course.largest(weigh), beside)
        self._formulas[name] = self.course.shape, found
        return found

    def _check(self, name: str, polys: tuple[Poly, ...], beside: Expr) -> None:
        """Check what is true of every peak.

        Raises:
            DisagreementError: it is lower than it can be.
        """
        other = next(one for one in PEAKS[:2] if one != name)
        levels = self.course.levels(self.weigh(saved=other == "memory.activations.peak"))
        sides = {name: (polys, beside), other: (levels, self.beside(other))}
        saved, every = (sides[one] for one in PEAKS[:2])
        kept = total(term.expr for term in self.memory("activations"))
        conditions = (*self.conditions, *self.saved_conditions, *self.course.conditions)
        check(self.course, every, saved, kept, conditions)

    @property
    def saved_conditions(self) -> tuple[Condition, ...]:
        """When the formula for what is saved holds."""
        return () if self.recomputes else self.saved_when[1]

    @cached_property
    def _formulas(self) -> dict[str, tuple[object, tuple[Expr, ...]]]:
        """Candidates of each peak that were asked for, with the shape of the course that they are of."""
        return {}

    def beside(self, name: str) -> Expr:
        """Return the bytes that live through the whole step, which a peak stands on."""
        if name == "memory.activations.peak":
            return total(t.expr for t in terms.inputs(self.graph, self.course.inputs, self.policy))
        held = ["parameters", "master", "optimizer"] + (["gradients"] if self.policy.grads == "kept" else [])
        parts = [part for part in (*held, "kv_cache") if self.has(f"memory.{part}")]
        whole = [term.expr for part in parts for term in self.memory(part)]
        return total([*whole, *(t.expr for t in terms.inputs(self.graph, self.graph.inputs, self.policy))])

    def weigh(self, *, saved: bool) -> Callable[[Size], Fraction]:
        """Return the function that says how many bytes an element takes; 0 for one that does not count."""
        return self.course.weighed(saved=saved)

    def peak(self, name: str) -> Expr:
        """Return a peak as a formula: the largest of its candidates."""
        if name == "memory.transient":
            return self._transient()
        found = self.candidates(name)
        return standing(Max, found)

    def transients(self) -> tuple[tuple[Expr, Expr], ...]:
        """Return formulas of which the peak is the largest, each with what is transient where it is.

        Where several of them are the peak, the least of what is transient counts; see
        :func:`symacct.peaks.transient.transients`.
        """
        beside = self.beside("memory.peak")
        found = transients(self.course, self.weigh(saved=False))
        return tuple((normal(whole + beside), rest) for whole, rest in found)

    def _transient(self) -> Expr:
        """Return the peak less the categories alive then: one formula for each that the peak may be."""
        return AtLargest(*(expr for pair in self.transients() for expr in pair))
