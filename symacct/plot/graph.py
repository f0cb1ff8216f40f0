"""The picture of a graph with costs on its nodes: ops are boxes, repeats frames, edges follow the data."""

from __future__ import annotations

from fractions import Fraction
from textwrap import wrap
from typing import TYPE_CHECKING

from symacct.account import derive
from symacct.algebra.evaluate import evaluate
from symacct.algebra.symbols import as_expr
from symacct.errors import LimitError, ReadError, SymacctError, UsageError
from symacct.nodes import Repeat, walk
from symacct.plot.canvas import amount, number, require
from symacct.plot.graph_boxes import Text, folded
from symacct.plot.graph_costs import ELSEWHERE, costs
from symacct.plot.graph_scene import drawn
from symacct.plot.graph_svg import svg
from symacct.plot.graph_words import Cost, Labels, percent, readers
from symacct.printers import text
from symacct.printers.signs import signs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from symacct.account import Account
    from symacct.algebra.condition import Condition
    from symacct.nodes import Graph

ENDING = ".svg"
QUANTITY = "flops.model"
LINE, MOST_HEAD = 100, 12
"""Characters in a line over the picture, and lines of the formula there."""
MOST_NODES = 3_000
COUNTED = {
    "flops": "an op counts with its gradients",
    "bytes": "an op counts with its gradients",
    "memory": "what is saved counts for the op that makes it",
    "params": "",
}
"""What is put to a place beside its own, by the family of the quantity."""
NAMED = 5
"""How many of the largest costs are told to those who do not see the picture."""


def draw(account: Account, quantity: str | None, sizes: Mapping[str, int], path: Path) -> None:
    """Write the picture of a graph as an SVG file; the same graph gives the same bytes.

    Args:
        account: what was derived.
        quantity: what is put on the nodes; the FLOPs of contractions where nothing is said.
        sizes: all of them, or none.
        path: where to.

    Raises:
        UsageError: the ending is another than .svg, or some sizes are given and others not.
        UnknownNameError: there is no such quantity.
        RuleError: it is no sum, so that nodes have no parts of it.
        LimitError: the graph has too many nodes to be drawn.
        ReadError: the file cannot be written.
    """
    check(path)
    drawing = picture(account, quantity or usual(account), sizes)
    try:
        path.write_text(drawing, encoding="utf-8", newline="\n")
    except OSError as error:
        what = "a picture cannot be written"
        raise ReadError(what, where=str(path)[:200], got=str(error)[:120]) from None


def check(path: Path) -> None:
    """Refuse a file of another ending; cheap, before anything is derived.

    Raises:
        UsageError: the ending is another than .svg.
    """
    if path.suffix.lower() != ENDING:
        got = path.suffix or "no ending"
        raise UsageError("the picture of a graph is SVG", expected=ENDING, got=got, fix="name a file.svg")


def usual(account: Account) -> str:
    """Return the quantity that is drawn where none is named: FLOPs of contractions of all passes."""
    return QUANTITY if account.has(QUANTITY) else "flops.forward"


def picture(account: Account, quantity: str, sizes: Mapping[str, int] | None = None) -> str:
    """Return the picture of a graph as the text of an SVG file.

    Args:
        account: what was derived.
        quantity: what is put on the nodes: FLOPs, bytes, parameters, a category of memory.
        sizes: all of them, for values and shares; without them boxes have formulas.

    Raises:
        UsageError: some sizes are given and others not.
        UnknownNameError: there is no such quantity.
        RuleError: it is no sum, so that nodes have no parts of it.
        LimitError: the graph has too many nodes to be drawn.

    >>> from symacct import derive, load
    >>> picture(derive(load("mlp")), "flops.model").count("<rect")
    9
    """
    nodes = sum(1 for _ in walk(account.graph.nodes))
    if nodes > MOST_NODES:
        what = f"graph {account.graph.name} is too large for a picture"
        raise LimitError(what, expected=f"at most {MOST_NODES:,} nodes", got=f"{nodes:,}")
    found = placed(account, quantity, sizes or {})
    unit = str(account[quantity].unit)
    part = drawn(Labels(account.graph, found, unit, readers(account.graph)))
    shaded = any(cost.share is not None for cost in found.values())
    title = f"{account.graph.name}: {quantity}"
    lines = _lines(account, quantity, sizes or {}, found)
    return svg(part, title, [Text(title, "title"), *lines], _about(account, quantity, found),
               shaded=shaded)  # fmt: skip


def shown(graph: Graph) -> str | None:
    """Return how a graph shows itself in a notebook; None where it cannot be derived or drawn."""
    account = derive(graph)
    try:
        return picture(account, usual(account))
    except SymacctError:
        return None


def placed(account: Account, quantity: str, sizes: Mapping[str, int]) -> dict[str, Cost]:
    """Return the cost of each place: its formula, and at sizes its value and its share of the whole.

    >>> from symacct import derive, load
    >>> found = placed(derive(load("linear")), "flops.model", {"B": 2, "D": 3, "K": 5})
    >>> [(place, str(cost.expr), int(cost.value), cost.share) for place, cost in found.items()]
    [('linear/matmul', '4*B*D*K', 120, Fraction(1, 1))]
    """
    formulas = costs(account, quantity)
    closed = not account.graph.order and not account.policy.names
    if not sizes and not closed:
        return {place: Cost(expr) for place, expr in formulas.items()}
    values = costs(require(account, sizes), quantity)
    exact = {place: evaluate(expr, {}) for place, expr in values.items()}
    whole = sum((number(value) for value in exact.values()), Fraction(0))
    zero = as_expr(0)
    found = {}
    for place in dict.fromkeys((*formulas, *exact)):
        value = exact.get(place, zero)
        share = number(value) / whole if whole else Fraction(0)
        found[place] = Cost(formulas.get(place, value), value, share)
    return found


def _lines(
    account: Account, quantity: str, sizes: Mapping[str, int], found: Mapping[str, Cost]
) -> list[Text]:
    """Return what stands over the picture: the whole, when it holds, at which sizes, by which choices."""
    whole = account[quantity]
    order, unit = account.graph.order, str(whole.unit)
    said = [Text(line, "cost") for line in folded(f"{signs(whole.expr, order)} {unit}", LINE, MOST_HEAD)]
    values = [number(cost.value) for cost in found.values() if cost.value is not None]
    if values and whole.expr.free_symbols:
        said.append(Text(f"= {amount(sum(values, Fraction(0)), unit)}", "worth"))
    notes = [", ".join(f"{name} = {size:,}" for name, size in sizes.items())] if sizes else []
    notes += [_when(whole.when)] if whole.when else []
    notes += [
        account.policy.describe(),
        f"convention {account.convention.describe()}",
        _reading(account, quantity),
    ]
    if ELSEWHERE in found:
        notes.append(f"on no node: {text(found[ELSEWHERE].expr, order)} {unit}")
    if account.dead:
        notes.append(f"left out, as no output depends on it: {', '.join(account.dead)}")
    return [*said, *(Text(line, "note") for note in notes for line in wrap(note, LINE))]


def _when(conditions: tuple[Condition, ...]) -> str:
    return "holds for " + ", ".join(condition.text for condition in conditions)


def _reading(account: Account, quantity: str) -> str:
    """Return how the picture is read."""
    repeats = any(isinstance(node, Repeat) for node, _ in walk(account.graph.nodes))
    said = [COUNTED[quantity.partition(".")[0]]] if account.trains else []
    said += ["in a frame, costs are of all its iterations together"] if repeats else []
    return "; ".join([*(one for one in said if one), "a dashed border is a tensor from outside"])


def _about(account: Account, quantity: str, found: Mapping[str, Cost]) -> str:
    """Return what the picture shows, in words: the whole, and the largest parts."""
    whole = account[quantity]
    order, unit = account.graph.order, str(whole.unit)
    said = [f"{account.graph.doc} {quantity} = {text(whole.expr, order)} {unit}."]
    costly = [(place, cost) for place, cost in found.items() if place and cost.share]
    costly.sort(key=lambda one: (-(one[1].share or 0), one[0]))
    parts = [f"{place} {percent(cost.share)}" for place, cost in costly[:NAMED] if cost.share is not None]
    said += [f"The largest parts: {', '.join(parts)}."] if parts else []
    return " ".join(said)
