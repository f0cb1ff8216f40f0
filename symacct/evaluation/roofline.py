"""A graph under the roofs of a machine: what binds each op, from which size on, and how fast it can run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import names_of
from symacct.algebra.normal import normal, total
from symacct.algebra.symbols import symbol
from symacct.displayed import Displayed
from symacct.evaluation.operations import TENSOR, VECTOR, operations
from symacct.evaluation.rates import Rates, bandwidths
from symacct.evaluation.regions import regions
from symacct.evaluation.timing import MEMORY, QUANTITIES, Timed, bound, intensity, quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sympy import Expr

    from symacct.account import Account
    from symacct.evaluation.operations import Load, Operation
    from symacct.evaluation.regions import Region
    from symacct.evaluation.timing import Timing
    from symacct.machines import Figure, Machine

VERDICTS = {TENSOR: "compute-bound", VECTOR: "compute-bound", MEMORY: "memory-bound"}
RIDGE, MAIN = "I", "main memory"


@dataclass(frozen=True, slots=True)
class Roof:
    """A rate that ops of the graph are held against, and the ridge where it meets the bandwidth."""

    unit: str
    dtype: str
    figure: Figure | None
    ridge: Expr


@dataclass(frozen=True, slots=True)
class Level:
    """A bandwidth of the machine: what the graph's bytes would take over it, and what would bind then."""

    name: str
    figure: Figure
    seconds: Expr
    binds: str | None

    @property
    def verdict(self) -> str | None:
        """What the graph would be bound by; None while a size is free."""
        return VERDICTS.get(self.binds or "")


@dataclass(frozen=True, slots=True)
class Bound:
    """An op on the machine: its work, its time, and what bounds it where.

    Attributes:
        timing: the op, and its seconds.
        condition: where it is memory-bound; None where that is not known of one size.
    """

    timing: Timing
    condition: Region | None

    @property
    def verdict(self) -> str | None:
        """Whether it is compute-bound or memory-bound; None while a size is free."""
        return verdict(self.timing) or None


@dataclass(frozen=True, slots=True)
class Priced:
    """A quantity on the machine: its formula in the machine's symbols, and what it is at the sizes."""

    formula: Timed
    value: Expr

    @property
    def terms(self) -> tuple[Seconds, ...]:
        """The time of each op, as a formula."""
        return tuple(Seconds(*one) for one in self.formula.terms)


@dataclass(frozen=True, slots=True)
class Seconds:
    """The time of an op."""

    name: str
    expr: Expr


@dataclass(frozen=True, slots=True)
class Point:
    """An op, or the whole graph, in the picture: FLOPs for each byte, and FLOPs a second."""

    name: str
    intensity: Expr
    rate: Expr


@dataclass(frozen=True)
class Roofline(Displayed):
    """An account on a machine, at sizes (some may stay free).

    Attributes:
        account: the account.
        machine: the machine; None for formulas in machine symbols.
        sizes: the sizes that are bound.
        solved: the size that conditions are solved for.
        over: the cache or link whose bandwidth stands in the place of main memory's.
    """

    account: Account
    machine: Machine | None
    sizes: Mapping[str, int]
    solved: str | None = None
    over: str | None = None

    @property
    def rates(self) -> Rates:
        """The rates of the machine."""
        return Rates(self.machine, self.over)

    @property
    def main(self) -> str:
        """The name of the time that is shown: of a step, or of the forward pass."""
        return "time.step" if self.account.trains else "time.forward"

    def quantity(self, name: str) -> Timed:
        """Return a quantity at the sizes."""
        return quantity(self.account, self.machine, name, over=self.over).at(self.sizes)

    @cached_property
    def time(self) -> Timed:
        """The time shown, at the sizes."""
        return self.quantity(self.main)

    def formula(self, name: str) -> Timed:
        """Return a quantity at the sizes, in the symbols of the machine."""
        return quantity(self.account, self.machine, name, over=self.over, symbolic=True).at(self.sizes)

    def names(self) -> tuple[str, ...]:
        """Return the quantities that this account has on a machine."""
        serving = {"time.token"} if self.account.policy.workload != "decode" else set()
        step = set() if self.account.trains else {"time.step"}
        tokens = set() if self.account.has("tokens") else {"throughput.tokens"}
        return tuple(name for name in QUANTITIES if name not in serving | step | tokens)

    @property
    def quantities(self) -> dict[str, Priced]:
        """The quantities that this account has on the machine, by name."""
        return {name: Priced(self._in_symbols(name), self.quantity(name).expr) for name in self.names()}

    def _in_symbols(self, name: str) -> Timed:
        return quantity(self.account, self.machine, name, over=self.over, symbolic=True)

    @property
    def ops(self) -> tuple[Bound, ...]:
        """The ops that are timed, each with where it is memory-bound."""
        return tuple(Bound(one, self.region(one)) for one in self.time.timings)

    # ---- totals ----

    @property
    def flops(self) -> Expr:
        """All work of the ops that are timed."""
        return total(one.operation.flops for one in self.time.timings)

    @property
    def moved(self) -> Expr:
        """All bytes of the ops that are timed."""
        return total(one.operation.moved for one in self.time.timings)

    @property
    def intensity(self) -> Expr:
        """All work over all bytes."""
        return intensity(self.flops, self.moved, f"graph {self.account.graph.name}")

    @property
    def ratio(self) -> Expr | None:
        """All work over all bytes; None where no bytes move."""
        return None if self.moved == 0 else self.intensity

    @property
    def verdict(self) -> str | None:
        """Whether the graph is compute-bound or memory-bound; None while a size is free."""
        return VERDICTS.get(self.binds or "")

    @property
    def realised(self) -> Expr:
        """FLOPs a second, were each op as fast as its roof."""
        return normal(self.flops / self.time.expr)

    def seconds(self, resource: str) -> Expr:
        """Return the seconds of one resource, all ops together."""
        return total(dict(one.candidates).get(resource, 0) for one in self.time.timings)

    @property
    def binds(self) -> str | None:
        """What takes longest, were all ops to overlap; None while a size is free, or nothing is timed."""
        found = {name: self.seconds(name) for name in (MEMORY, TENSOR, VECTOR)}
        if any(one.free_symbols for one in found.values()) or not any(found.values()):
            return None
        return max(found, key=lambda name: found[name])

    def share(self, verdict: str) -> Expr | None:
        """Return the share of the time in ops of a verdict; None while a size is free."""
        if self.time.expr.free_symbols or self.time.expr == 0:
            return None
        bound_so = (one.expr for one in self.time.timings if VERDICTS.get(one.binds or "") == verdict)
        return normal(total(bound_so) / self.time.expr)

    # ---- roofs ----

    @cached_property
    def roofs(self) -> tuple[Roof, ...]:
        """The rates of work that the ops use, contractions first."""
        loads = [load for one in self.time.timings for load in one.operation.loads]
        used = sorted({(load.unit, load.dtype) for load in loads})
        found = []
        for unit, dtype in used:
            rate = self.rates.rate(unit, dtype)
            if rate is not None:
                ridge = normal(rate / self.rates.bandwidth())
                found.append(Roof(unit, dtype, self.rates.figure(unit, dtype), ridge))
        return tuple(found)

    @property
    def figures(self) -> dict[str, Figure | None]:
        """The figures of the machine that are used, by their symbols."""
        found = {f"{'P' if roof.unit == TENSOR else 'V'}_{roof.dtype}": roof.figure for roof in self.roofs}
        return found | {"W_mem": self.rates.bandwidth_figure()}

    @property
    def ridges(self) -> dict[str, Expr]:
        """FLOPs for each byte at which a rate of work meets the bandwidth."""
        return {f"{roof.unit}.{roof.dtype}": roof.ridge for roof in self.roofs}

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The bandwidths of the machine, all at once: main memory, caches, links of one direction."""
        if self.machine is None:
            return ()
        memory = self.machine.bandwidth
        named = {} if memory is None else {MAIN: memory}
        return tuple(self._level(*one) for one in (named | bandwidths(self.machine)).items())

    def _level(self, name: str, figure: Figure) -> Level:
        over = None if name == MAIN else name
        other = Roofline(self.account, self.machine, self.sizes, self.solved, over)
        return Level(name, figure, other.time.expr, other.binds)

    # ---- conditions ----

    def _solving(self) -> tuple[str, dict[str, int]] | None:
        """Return the size to solve for, and the values of the others."""
        order = self.account.graph.order
        name = self.solved or next((one for one in order if one not in self.sizes), next(iter(order), None))
        return None if name is None else (name, {k: n for k, n in self.sizes.items() if k != name})

    def ridge_symbol(self, load: Load | None) -> Expr:
        """Return the symbol of a ridge point in conditions: ``I`` of contractions, ``I_v`` of other work."""
        taken = self.account.graph.sizes
        name = next(name for name in (RIDGE, "ridge", "ridge_point") if name not in taken)
        tensor = load is None or load.unit == TENSOR or self.rates.joined
        return symbol(name if tensor else f"{name}_v")

    def region(self, timing: Timing) -> Region | None:
        """Return where an op is memory-bound, in terms of the ridge of its one kind of work."""
        one = timing.operation
        operation = next(
            o for o in self._symbolic if (o.label, o.phase, o.path) == (one.label, one.phase, one.path)
        )
        if len(operation.loads) != 1:
            return None
        return self._region(operation.loads[0], operation.flops, operation.moved)

    def whole_region(self) -> Region | None:
        """Return where all bytes together take longer than the contractions (else than all other work)."""
        main = self.main_load
        if main is None:
            return None
        loads = [load for one in self._symbolic for load in one.loads if load.unit == main.unit]
        if len({load.dtype for load in loads}) != 1:
            return None
        moved = total(one.moved for one in self._symbolic)
        return self._region(main, total(load.flops for load in loads), moved)

    @cached_property
    def _symbolic(self) -> tuple[Operation, ...]:
        return operations(self.account, step=self.account.trains)

    def _region(self, load: Load, work: Expr, moved: Expr) -> Region | None:
        solving = self._solving()
        if solving is None:
            return None
        name, others = solving
        work, moved = bound(work, others), bound(moved, others)
        ridge = self.ridge_of(load)
        if ridge is None or {*names_of(work), *names_of(moved)} - {name}:
            ridge = self.ridge_symbol(load)
        found = regions(work, normal(ridge * moved), (name,))
        return replace(found[0], ridge=self.ridge_symbol(load)) if found else None

    @property
    def main_load(self) -> Load | None:
        """The kind of work that the graph is held against: contractions where there are any."""
        loads = [load for one in self._symbolic for load in one.loads]
        return min(loads, key=lambda load: load.unit != TENSOR, default=None)

    def ridge_of(self, load: Load | None) -> Expr | None:
        """Return the ridge point of a kind of work on the machine."""
        if load is None or self.machine is None:
            return None
        rate = self.rates.rate(load.unit, load.dtype)
        return None if rate is None else normal(rate / self.rates.bandwidth())

    # ---- the picture ----

    def points(self) -> tuple[Point, ...]:
        """Return a point for each op that works and moves bytes, and one for the whole; sizes are bound."""
        found = [_point(one.operation.label, one.operation.flops, one.operation.moved, one.expr)
                 for one in self.time.timings]  # fmt: skip
        found.append(_point(self.account.graph.name, self.flops, self.moved, self.time.expr))
        return tuple(one for one in found if one is not None)


def _point(name: str, flops: Expr, moved: Expr, seconds: Expr) -> Point | None:
    if flops == 0 or moved == 0 or seconds == 0:
        return None
    return Point(name, normal(flops / moved), normal(flops / seconds))


def verdict(timing: Timing) -> str:
    """Return what is said of an op: compute-bound or memory-bound; of one that depends on sizes, nothing.

    Where the rate of some of its work is not known, that it is memory-bound is not known either.
    """
    said = VERDICTS.get(timing.binds or "", "")
    return f"{said} or compute (rate not known)" if said == VERDICTS[MEMORY] and not timing.known else said
