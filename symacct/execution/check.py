"""Derived against counted: a graph is run with torch, and what torch counts stands beside what is derived."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from symacct.account import Account, derive
from symacct.algebra.evaluate import evaluate
from symacct.algebra.symbols import as_expr
from symacct.derivation.ranges import over
from symacct.derivation.workload import prepared
from symacct.errors import RuleError, SizeError, UsageError
from symacct.execution.count import Counted, count
from symacct.execution.gradients import TOLERANCE, disagreements, execute
from symacct.execution.saved import SavedBytes, compare_saved
from symacct.execution.sizes import choose_sizes
from symacct.execution.states import OPTIMIZERS, shapes, step_once
from symacct.execution.values import NotFiniteError
from symacct.execution.vouch import cannot_vouch, products_of_one, tolerance, unmodelled
from symacct.nodes import Node, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from symacct.build import Definition
    from symacct.execution.gradients import Disagreement
    from symacct.execution.interpret import Key
    from symacct.nodes import Graph

EQUAL, DIFFERS, NOT_VOUCHED = "equal", "differs", "not vouched"
PRECISIONS = ("fp32", "bf16-pure")
MOST: Mapping[str, int] = {
    "params": 2 * 10**8, "memory.activations": 4 * 10**9, "flops.forward.matmul": 10**12,
    "bytes.step": 8 * 10**9,
}  # fmt: skip
"""What a check runs at most; float64 takes twice these bytes."""
MOST_NODES = 200_000
LARGEST_SEED = 2**63 - 2


@dataclass(frozen=True, slots=True)
class Row:
    """One quantity: what is derived, what torch counts, and the verdict: equal, differs or not vouched."""

    what: str
    derived: int
    counted: int
    unit: str
    verdict: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check found.

    Attributes:
        name: of the graph.
        sizes: at which it ran.
        rows: the quantities.
        differences: where derived and counted part, op by op or array by array.
        unvouched: what the check says nothing about.
        small: conditions that these sizes break, so that the exact case was derived instead.
    """

    name: str
    sizes: Mapping[str, int]
    rows: tuple[Row, ...]
    differences: tuple[str, ...]
    unvouched: tuple[str, ...]
    small: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing differs."""
        return all(row.verdict != DIFFERS for row in self.rows)


def check(graph: Graph | Definition, sizes: Mapping[str, int] | None = None, seed: int = 0) -> CheckResult:
    """Run a graph with torch at small sizes and compare.

    Args:
        graph: a graph, or its definition.
        sizes: some or all sizes; those that are not given are chosen, small and distinct.
        seed: of the values.

    Raises:
        SizeError: sizes that break a condition of the graph, or no small sizes were found.
        UsageError: the seed is out of range.

    >>> from symacct.build import graph
    >>> @graph({"B": "rows", "D": "inputs", "K": "outputs"})
    ... def product(b):
    ...     return b.einsum("B D, D K -> B K", b.input("x", "B D"), b.weight("w", "D K"))
    >>> result = check(product)
    >>> result.sizes, result.passed
    ({'B': 2, 'D': 3, 'K': 4}, True)
    """
    if not 0 <= seed <= LARGEST_SEED:
        raise UsageError(
            "the seed is out of range",
            expected=f"an integer from 0 to {LARGEST_SEED}",
            got="less" if seed < 0 else "more",
        )
    account = derive(graph, precision="fp32", saves="torch")
    given = dict(sizes or {})
    partly = account.bind(given) if given else account
    known = {name: size for name, size in given.items() if name in account.graph.order}
    chosen = known | choose_sizes(partly.graph, partly.conditions)
    chosen = {name: chosen[name] for name in account.graph.order}
    small = _broken(account, chosen)
    return _checked(account.bind(chosen) if small else account, chosen, seed, small)


def _broken(account: Account, sizes: Mapping[str, int]) -> tuple[str, ...]:
    """Return why the formulas do not hold at these sizes: conditions, or no formula for any count."""
    empty = tuple(f"{name} >= 1" for name, size in sizes.items() if size == 0)
    try:
        when = account["memory.activations"].when
    except RuleError as error:
        return (f"a free count ({error.what})",)
    return empty + tuple(condition.text for condition in when if not condition.holds(sizes))


def _checked(account: Account, sizes: Mapping[str, int], seed: int, small: tuple[str, ...]) -> CheckResult:
    affordable(account, sizes)
    counted = count(account.step, sizes, seed=seed)
    saved = compare_saved(account, sizes, counted.kept)
    failed, arrays = _arrays(account, sizes, seed)
    rows = (
        *_flops(account, sizes, counted),
        _activations(account, saved),
        *arrays,
        *static_rows(account, sizes, counted.gradients),
    )
    differences = [
        f"saved by {label}: derived {a}, torch keeps {b}" for label, (a, b) in saved.differences.items()
    ]
    differences += [one.describe() for one in failed]
    unvouched = cannot_vouch(account)
    return CheckResult(account.source.name, sizes, rows, tuple(differences), unvouched, small)


def affordable(account: Account, sizes: Mapping[str, int]) -> None:
    """Refuse a run that would take this machine's memory, or hours.

    Raises:
        SizeError: the derived parameters, saved bytes or FLOPs are too many to run here.
    """
    for name, most in MOST.items():
        value = _value(account, name, sizes)
        if value > most:
            raise _too_large(account, f"{name} of at most {most:,} {account[name].unit}", value)
    around = (path for node, path in walk(account.graph.nodes) if isinstance(node, Node))
    nodes = sum(int(evaluate(over(as_expr(1), path), sizes)) for path in around)
    if nodes > MOST_NODES:
        raise _too_large(account, f"at most {MOST_NODES:,} ops, each iteration's counted", nodes)


def _too_large(account: Account, expected: str, value: int) -> SizeError:
    return SizeError(
        f"graph {account.source.name} is too large to run at these sizes",
        expected=expected,
        got=f"{value:,}",
        fix="check it at small sizes: leave them out, and they are chosen",
    )


def _value(account: Account, name: str, sizes: Mapping[str, int]) -> int:
    return int(evaluate(account[name].expr, sizes))


def compared(what: str, derived: int, counted: int, unit: str, note: str = "") -> Row:
    """Return a row with its verdict: equal, or differs.

    >>> compared("params", 12, 13, "parameter").verdict
    'differs'
    """
    return Row(what, derived, counted, unit, EQUAL if derived == counted else DIFFERS, note)


def _flops(account: Account, sizes: Mapping[str, int], counted: Counted) -> Iterator[Row]:
    for phase, found in (("forward", counted.forward), ("backward", counted.backward)):
        by_op = ", ".join(f"{op} {n}" for op, n in sorted(found.items())) or "no contraction"
        name = f"flops.{phase}.matmul"
        row = compared(name, _value(account, name, sizes), sum(found.values()), "FLOP", by_op)
        single = products_of_one(account, phase, sizes) if row.verdict == DIFFERS else 0
        if row.derived - single <= row.counted < row.derived:
            why = f"torch turns a product over an axis of size 1 into an elementwise one; {by_op}"
            row = replace(row, verdict=NOT_VOUCHED, note=why)
        yield row


def _activations(account: Account, saved: SavedBytes) -> Row:
    notes = ["fp32, saves torch"]
    notes += [f"besides, torch keeps {saved.masks} bytes of structural masks"] if saved.masks else []
    notes += [f"and {saved.copies} bytes of copies in another layout"] if saved.copies > 0 else []
    pair = (sum(saved.derived.values()), sum(saved.counted.values()))
    row = compared("memory.activations", *pair, "byte", "; ".join(notes))
    if saved.differences and unmodelled(account.graph):
        return Row(row.what, *pair, "byte", NOT_VOUCHED, row.note)
    return Row(row.what, *pair, "byte", DIFFERS, row.note) if saved.differences else row


def _arrays(account: Account, sizes: Mapping[str, int], seed: int) -> tuple[list[Disagreement], list[Row]]:
    """Compare outputs and gradients in float64, on positive values where others are not finite."""
    allowed, loosened = tolerance(account.graph, TOLERANCE)
    note = f"float64, to {allowed:g}" + (f", since the graph casts to {loosened}" if loosened else "")
    for positive in (False, True):
        options = {"dtype": "fp64", "seed": seed, "positive": positive}
        derived = execute(account.step, sizes, **options)  # type: ignore[arg-type]
        counted = count(account.step, sizes, **options)  # type: ignore[arg-type]
        totals = {
            "outputs": len(derived.outputs),
            "gradients": sum(g is not None for g in derived.gradients.values()),
        }
        try:
            failed = disagreements(derived, counted, allowed)
        except NotFiniteError as error:
            if positive:
                lost = f"{error.what}, so that nothing can be compared"
                return [], [Row(what, n, 0, "array", NOT_VOUCHED, lost) for what, n in totals.items()]
            continue
        break
    wrong = {what: sum(f"{one.what}s" == what for one in failed) for what in totals}
    return failed, [_agreeing(what, n, wrong[what], note) for what, n in totals.items()]


def _agreeing(what: str, total: int, wrong: int, note: str) -> Row:
    return Row(what, total, total - wrong, "array", DIFFERS if wrong else EQUAL, note)


def static_rows(account: Account, sizes: Mapping[str, int], gradients: Mapping[Key, Any]) -> Iterator[Row]:
    """Compare parameters, gradients and optimizer states with torch's own.

    Args:
        account: in fp32.
        sizes: all of its sizes.
        gradients: what torch formed, by tensor and iteration; None where none reached it.
    """
    graph = prepared(account.source, account.policy.workload)
    real = step_once("sgd", "fp32", list(shapes(graph, sizes))).parameters
    yield compared("memory.parameters", _value(account, "memory.parameters", sizes), real, "byte", "fp32")
    weights = [g for key, g in gradients.items() if graph.tensors[key[0]].role == "weight"]
    trained = [g for g in weights if g is not None]
    real = sum(g.nbytes for g in trained)
    yield compared("memory.gradients", _value(account, "memory.gradients", sizes), real, "byte", "fp32")
    for precision in PRECISIONS if trained else ():
        for optimizer in OPTIMIZERS:
            own = derive(account.source, precision=precision, optimizer=optimizer)
            states = step_once(optimizer, precision.removesuffix("-pure"), [tuple(g.shape) for g in trained])
            note = f"{states.counters} bytes of step counters apart" if states.counters else ""
            derived = _value(own, "memory.optimizer", sizes)
            yield compared(
                f"memory.optimizer ({optimizer}, {precision})", derived, states.states, "byte", note
            )
