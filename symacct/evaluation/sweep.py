"""Formulas over grids of sizes, machines and policies: in blocks of float64 arrays, or exactly."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sympy import Integer

from symacct.algebra.condition import Condition
from symacct.algebra.evaluate import evaluate, names_of
from symacct.algebra.symbols import symbol
from symacct.errors import SizeError, SymacctError, UsageError, unknown
from symacct.evaluation.arrays import Compiled, compiled
from symacct.evaluation.sweep_cases import Case, Column, needed
from symacct.evaluation.sweep_grid import Grid, grid_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sympy import Expr


BLOCK = 1 << 16
SAMPLES = 24
EXACT = float(2**53)


@dataclass(frozen=True, slots=True)
class Block:
    """Some neighbouring points of a sweep.

    Attributes:
        case: the machine and policies.
        sizes: the values of the sizes, an array each, one entry for each point.
        values: for each formula an array of float64, or a list of exact numbers; NaN or
            None where there is none.
        notes: for points without a value, or with one of their own derivation, why; by place in the block.
    """

    case: Case
    sizes: dict[str, Any]
    values: tuple[Any, ...]
    notes: dict[int, str]


@dataclass(slots=True)
class Sweep:
    """A sweep, worked out block by block as it is iterated.

    Attributes:
        cases: machines and policies, with their formulas.
        grid: the sizes.
        exact: whether each point is evaluated exactly.
        block: how many points are held at a time.
        observed: the largest relative error seen at the points that were evaluated exactly too.
        checked: how many those were.
    """

    cases: tuple[Case, ...]
    grid: Grid
    exact: bool = False
    block: int = BLOCK
    observed: Fraction = Fraction(0)
    checked: int = 0
    bound: Fraction | None = field(default=Fraction(0))

    @property
    def count(self) -> int:
        """How many points there are in all."""
        return self.grid.count * len(self.cases)

    def __iter__(self) -> Iterator[Block]:
        """Yield all points in blocks, in the order of the grid, case by case.

        Raises:
            SizeError: a value is larger than a float64.
        """
        self.observed, self.checked, self.bound = Fraction(0), 0, Fraction(0)
        for case in self.cases:
            worker = _Exact(case, self.grid) if self.exact else _Arrays(case, self.grid, self)
            for part in self.grid.blocks(self.block):
                yield worker.block(part)

    def accuracy(self) -> str:
        """Return how exact the values are, after they were worked out."""
        if self.exact:
            return "exact"
        proved = "" if self.bound is None else f"relative error at most {float(self.bound):.1e}; "
        seen = f"{float(self.observed):.1e} is the largest of {self.checked} exact checks"
        return f"float64: {proved}{seen}"


def sweep(
    cases: Sequence[Case],
    over: Mapping[str, Sequence[int]] | Grid,
    *,
    exact: bool = False,
    block: int = BLOCK,
) -> Sweep:
    """Return formulas over a grid: an iterable of blocks, worked out in bounded memory.

    Args:
        cases: what is evaluated: see `sweep_cases.make_case`.
        over: the values of each size; points are all combinations.
        exact: evaluate each point with exact integers; a grid of one point is exact in any case.
        block: points held at a time.

    Raises:
        SizeError: a size has no values, or a value out of range.
        UnknownNameError: a size is in no formula.
        UsageError: numpy is not there.

    >>> from symacct.evaluation.sweep_cases import make_case
    >>> found = sweep([make_case(None, ["2*B*D^2"])], {"B": [1, 2], "D": [3, 10**6]})
    >>> [block.values[0].tolist() for block in found]
    [[18.0, 2000000000000.0, 36.0, 4000000000000.0]]
    >>> found.accuracy()
    'float64: relative error at most 3.3e-16; 0.0e+00 is the largest of 4 exact checks'
    """
    grid = over if isinstance(over, Grid) else grid_of(over)
    names = needed(cases)
    missing = [name for name in names if name not in grid.names]
    if missing:
        what = f"{len(missing)} size{'s have' if len(missing) > 1 else ' has'} no value: {', '.join(missing)}"
        raise SizeError(
            what,
            expected=f"values for each of: {', '.join(names)}",
            got=f"values for: {', '.join(grid.names)}",
        )
    known = {*names, *(name for case in cases if case.account for name in case.account.graph.order)}
    for name, values in grid.axes:
        if name not in known:
            raise unknown("size", name, known, where="the grid of a sweep")
        counts = set().union(*(_counts(case) for case in cases))
        if min(values) < 1 and name not in counts:
            raise SizeError(
                f"size {name} is not an integer of at least 1", expected="at least 1", got=str(min(values))
            )
    if grid.count > 1:
        numpy()
    return Sweep(tuple(cases), grid, exact or grid.count == 1, block)


def _counts(case: Case) -> set[str]:
    from symacct.counts import may_be_zero

    return set() if case.account is None else set(may_be_zero(case.account.graph))


def numpy() -> Any:
    """Return the module numpy.

    Raises:
        UsageError: it is not there.
    """
    try:
        import numpy as np
    except ImportError:
        raise UsageError(
            "a sweep needs numpy",
            expected="numpy 1.26 or later",
            got="no numpy",
            fix="pip install 'symacct[sweep]'",
        ) from None
    return np


# ---- points that break a condition ----


class _Points:
    """A case with the points at which its formulas do not hold: those get a derivation of their own."""

    def __init__(self, case: Case, grid: Grid) -> None:
        self.case, self.grid = case, grid
        counts = _counts(case)
        none = [symbol(name) for name, values in grid.axes if name in counts and 0 in values]
        self.when = (*case.when, *(Condition("at_least", count, Integer(1)) for count in none))
        self.axes = dict(grid.axes)
        self.own: dict[tuple[tuple[str, int], ...], Case | str] = {}

    def derived(self, sizes: Mapping[str, int], broken: Condition) -> tuple[list[Expr | None], str]:
        """Return the exact values at a point where a condition fails, and what is to be said of it."""
        names = [name for name in broken.names if name in sizes]
        key = tuple((name, sizes[name]) for name in names)
        if key not in self.own:
            try:
                self.own[key] = (
                    self.case.bound(dict(key)) if self.case.account else f"does not hold: {broken}"
                )
            except SymacctError as error:
                self.own[key] = f"{error.what}: {broken} does not hold"
        found = self.own[key]
        nothing: list[Expr | None] = [None] * len(self.case.columns)
        if isinstance(found, str):
            return nothing, found
        again = next((one for one in found.when if not one.holds(sizes)), None)
        if again is not None and again != broken:
            return _Points(found, self.grid).derived(sizes, again)
        if again is not None:
            return nothing, f"does not hold: {again}"
        values = [value_at(column, sizes) for column in found.columns]
        said = [value for value in values if isinstance(value, str)]
        return [None if isinstance(value, str) else value for value in values], (
            said or [f"derived for {_shown(key)}"]
        )[0]


def _shown(key: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{name} = {size}" for name, size in key)


def value_at(column: Column, sizes: Mapping[str, int]) -> Expr | str:
    """Return the exact value of a formula at a point, or why there is none."""
    try:
        return evaluate(column.expr, {name: sizes[name] for name in names_of(column.expr)})
    except SizeError as error:
        return error.what


class _Exact(_Points):
    def block(self, part: tuple[slice, ...]) -> Block:
        """Return a block of exact values."""
        from itertools import product

        values = [axis[one] for (_, axis), one in zip(self.grid.axes, part, strict=True)]
        points = [dict(zip(self.grid.names, point, strict=True)) for point in product(*values)]
        rows: list[list[Expr | None]] = []
        notes: dict[int, str] = {}
        for place, sizes in enumerate(points):
            broken = next((one for one in self.when if not one.holds(sizes)), None)
            if broken is not None:
                row, notes[place] = self.derived(sizes, broken)
            else:
                found = [value_at(column, sizes) for column in self.case.columns]
                notes.update((place, value) for value in found if isinstance(value, str))
                row = [None if isinstance(value, str) else value for value in found]
            rows.append(row)
        sizes_by_name = {name: [point[name] for point in points] for name in self.grid.names}
        columns = tuple(list(column) for column in zip(*rows, strict=True))
        return Block(self.case, sizes_by_name, columns, notes)


class _Arrays(_Points):
    def __init__(self, case: Case, grid: Grid, owner: Sweep) -> None:
        super().__init__(case, grid)
        self.owner, self.xp = owner, numpy()
        self.made = [compiled(column.expr, self.xp) for column in case.columns]
        for one in self.made:
            known = owner.bound is not None and not one.cancels and not one.jumps
            owner.bound = max(owner.bound or Fraction(0), one.relative) if known else None
        self.conditions = [(one, _Test(one, self.xp)) for one in self.when]
        self.floats = {name: self.xp.array(values, dtype=self.xp.float64) for name, values in grid.axes}
        self.pace = max(1, grid.count // SAMPLES)
        self.done = 0

    def block(self, part: tuple[slice, ...]) -> Block:
        """Return a block of float64 arrays."""
        xp, names = self.xp, self.grid.names
        shape = tuple(one.stop - one.start for one in part)
        at = {}
        for place, (name, one) in enumerate(zip(names, part, strict=True)):
            wide = [1] * len(shape)
            wide[place] = shape[place]
            at[name] = self.floats[name][one].reshape(wide)
        with xp.errstate(all="ignore"):
            values = [xp.broadcast_to(made.step(at), shape).reshape(-1) for made in self.made]
        values = [one if one.flags.writeable else one.copy() for one in values]
        notes: dict[int, str] = {}
        for condition, test in self.conditions:
            self._mend(test.broken(at, shape), condition, part, values, notes)
        for place, column in enumerate(self.case.columns):
            self._check_finite(values[place], column, part, notes)
        self._sample(values, part, notes)
        sizes = {name: xp.broadcast_to(at[name], shape).reshape(-1) for name in names}
        return Block(self.case, sizes, tuple(values), notes)

    def sizes(self, part: tuple[slice, ...], place: int) -> dict[str, int]:
        """Return the exact sizes of a point by its place in a block."""
        found: dict[str, int] = {}
        for (name, values), one in zip(reversed(self.grid.axes), reversed(part), strict=True):
            place, here = divmod(place, one.stop - one.start)
            found[name] = values[one.start + here]
        return {name: found[name] for name in self.grid.names}

    def _mend(
        self,
        broken: Any,
        condition: Condition,
        part: tuple[slice, ...],
        values: list[Any],
        notes: dict[int, str],
    ) -> None:
        """Put exact values, or nothing with the reason, where a condition fails."""
        for place in map(int, broken):
            if place in notes:
                continue
            own, notes[place] = self.derived(self.sizes(part, place), condition)
            for column, value in zip(values, own, strict=True):
                column[place] = float("nan") if value is None else float(value)

    def _check_finite(
        self, array: Any, column: Column, part: tuple[slice, ...], notes: dict[int, str]
    ) -> None:
        """Note where a formula has no value.

        Raises:
            SizeError: a value is larger than a float64.
        """
        total = float(self.xp.sum(array)) if array.size else 0.0
        if total - total == 0:
            return
        for place in map(int, self.xp.flatnonzero(~self.xp.isfinite(array))):
            if place in notes:
                continue
            sizes = self.sizes(part, place)
            value = value_at(column, sizes)
            if not isinstance(value, str):
                raise SizeError(
                    f"{column.text} is larger than a float64",
                    where=", ".join(f"{name} = {size}" for name, size in sizes.items()),
                    expected="at most 1.8e308", got=f"about 10^{len(str(int(abs(value)))) - 1}",
                    fix="sweep it exactly (--exact)",
                )  # fmt: skip
            array[place] = float("nan")
            notes[place] = value

    def _sample(self, values: list[Any], part: tuple[slice, ...], notes: Mapping[int, str]) -> None:
        """Compare some points with their exact values, evenly spread over the grid."""
        count = len(values[0]) if values else 0
        first = -self.done % self.pace
        for place in range(first, count, self.pace):
            if place in notes:
                continue
            sizes = self.sizes(part, place)
            for array, column in zip(values, self.case.columns, strict=True):
                value = value_at(column, sizes)
                if not isinstance(value, str):
                    self._compare(float(array[place]), value)
            self.owner.checked += 1
        self.done += count

    def _compare(self, got: float, value: Expr) -> None:
        exact = Fraction(int(value.p), int(value.q)) if value.is_Rational else Fraction(str(value.evalf(40)))
        error = abs(Fraction(got) - exact) / (abs(exact) or 1)
        self.owner.observed = max(self.owner.observed, error)


class _Test:
    """Where a condition fails on a block, decided exactly."""

    def __init__(self, condition: Condition, xp: Any) -> None:
        self.condition, self.xp = condition, xp
        self.sides: list[Compiled] = [compiled(side, xp) for side in (condition.left, condition.right)]

    def broken(self, at: Mapping[str, Any], shape: tuple[int, ...]) -> Any:
        """Return the places at which it fails."""
        xp = self.xp
        small = {name: at[name] for name in self.condition.names}
        left, right = (xp.asarray(side.step(small), dtype=xp.float64) for side in self.sides)
        whole = all(xp.all(xp.abs(side) < EXACT) and xp.all(side == xp.floor(side)) for side in (left, right))
        fails = self._by_integers(left, right) if whole else self._one_by_one(small)
        return xp.flatnonzero(xp.broadcast_to(fails, shape))

    def _by_integers(self, left: Any, right: Any) -> Any:
        if self.condition.kind == "at_least":
            return left < right
        if self.condition.kind == "above":
            return left <= right
        if self.condition.kind == "equal":
            return left != right
        divisor = self.xp.where(left == 0, 1.0, left)
        return self.xp.where(left == 0, right != 0, self.xp.fmod(right, divisor) != 0)

    def _one_by_one(self, small: Mapping[str, Any]) -> Any:
        xp = self.xp
        arrays = xp.broadcast_arrays(*small.values())
        flat = [array.reshape(-1) for array in arrays]
        fails = [
            not self.condition.holds({name: int(size) for name, size in zip(small, point, strict=True)})
            for point in zip(*flat, strict=True)
        ]
        return xp.array(fails).reshape(arrays[0].shape)
