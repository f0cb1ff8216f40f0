"""Gradients of several micro-batches against those of one batch, as rows of a check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.errors import SymacctError
from symacct.execution.accumulate import LOSSES, accumulated
from symacct.execution.check import DIFFERS, EQUAL, NOT_VOUCHED, Row
from symacct.execution.gradients import TOLERANCE
from symacct.execution.sizes import choose_sizes
from symacct.execution.vouch import tolerance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from symacct.nodes import Graph


def batch_of(graph: Graph) -> str | None:
    """Return the size that a batch is cut along: the first axis of an input that no parameter has.

    >>> from symacct import load
    >>> batch_of(load("mlp")), batch_of(load("gpt"))
    ('B', 'b')
    """
    fixed = {
        s for t in graph.tensors.values() if t.role == "weight" for dim in t.dims for s in dim.free_symbols
    }
    for name in graph.inputs:
        for dim in graph.tensors[name].dims[:1]:
            if dim.is_Symbol and dim not in fixed and dim.name in graph.order:
                return str(dim.name)
    return None


def batch_rows(graph: Graph, given: Mapping[str, int], micro: int, seed: int) -> Iterator[Row]:
    """Yield a row for each loss and for a batch that the micro-batches divide, and one that they do not.

    A graph whose output is a scalar has a loss of its own, so that one of the two is what it is.
    """
    batch = batch_of(graph)
    what = f"gradients of {micro} micro-batches"
    if batch is None:
        yield Row(what, 0, 0, "array", NOT_VOUCHED, "no input has an axis that could be the batch")
        return
    own = all(not graph.tensors[name].dims for name in graph.outputs if graph.tensors[name].floating)
    for rows in (given[batch],) if batch in given else (2 * micro, 2 * micro + 1):
        try:
            sizes = choose_sizes(graph, (), {**given, batch: rows})
            found = {loss: accumulated(graph, sizes, batch, micro, loss, seed) for loss in LOSSES}
        except SymacctError as error:
            yield Row(f"{what} of {batch} = {rows}", 0, 0, "array", NOT_VOUCHED, error.what)
            continue
        if own:
            best = min(found, key=lambda loss: found[loss])
            found = {best: found[best]}
        for loss, difference in found.items():
            yield _row(graph, f"{what} of {batch} = {rows}, {loss}", difference)


def _row(graph: Graph, what: str, difference: float) -> Row:
    allowed, _ = tolerance(graph, TOLERANCE)
    same = difference <= allowed
    note = f"float64, to {allowed:g}; the largest difference is {difference:.1e}"
    note += "" if same else ": the rows of a batch depend on each other"
    return Row(what, 1, int(same), "batch", EQUAL if same else DIFFERS, note)
