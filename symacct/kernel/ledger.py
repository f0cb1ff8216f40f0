"""The ledger: rows of a derivation that add up to the left side of a statement.

Each row is a price times a count, summed over its ranges, and must make its total; the count of a contraction
must be the product of the sizes of its distinct axes. The totals add up to the left side, as fractions. What
the rows are of, and what a count is worth, is not proved; the answer says so.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from .form import items, keys, mapping, short
from .poly import Ratio, constant
from .refusal import DEEPEST, need

if TYPE_CHECKING:
    from .box import Box

LABELS = ("label", "of", "phase", "kind", "primitive")


def check_ledger(ledger: Any, box: Box, left: Ratio) -> list[str]:
    """Refuse unless the rows add up to the left side; return what of them was taken as given."""
    keys(ledger, {"graph", "quantity", "rows"})
    total, given = constant(0), dict[str, int]()
    for row in items(ledger["rows"]):
        keys(row, {*LABELS, "ranges", "price", "count", "total"}, {"axes"})
        need(all(isinstance(row[key], str) for key in LABELS), "a row has labels")
        need(not box.names_in(box.read(row["price"])), "a price is a number")
        if "axes" in row:
            check_axes(row, box)
        else:
            what = f"the count of {short(row['primitive'])} for {short(row['kind'])}"
            given[what] = given.get(what, 0) + 1
        whole = box.read(row["total"])
        gap = box.minus(box.read(worth_of(row)), whole)
        need(not gap[0], f"row {short(row['label'])} does not make its total")
        total = box.plus(total, whole)
    need(not box.minus(total, left)[0], "the rows do not add up to the left side")
    graph = f"{short(ledger['quantity'])} of {short(ledger['graph'])}"
    counts = [f"{what} ({n} row{'s' * (n > 1)})" for what, n in given.items()]
    return [f"that the ledger is the model you meant ({graph})", "the prices of the counts", *counts]


def worth_of(row: dict[str, Any]) -> Any:
    """Return price times count, summed over the ranges of a row."""
    worth: Any = ["*", row["price"], row["count"]]
    need(len(items(row["ranges"])) <= DEEPEST // 2, "a row has too many ranges")
    for one in reversed(row["ranges"]):
        need(len(items(one)) == 3, "a range has an index and two ends")
        worth = ["sum", *one, worth]
    return worth


def check_axes(row: dict[str, Any], box: Box) -> None:
    """Refuse unless a contraction's count is the product of the sizes of its distinct axes."""
    keys(row["axes"], {"left", "right", "out", "sizes"})
    parts = [items(row["axes"][side]) for side in ("left", "right", "out")]
    need(all(isinstance(word, str) for part in parts for word in part), "an axis is a word")
    need(all(len(set(part)) == len(part) for part in parts), "an axis stands twice in one operand")
    (left, right, out), sizes = map(set, parts), mapping(row["axes"]["sizes"])
    need(out <= left | right == set(sizes), "the axes and their sizes do not agree")
    contracts = row["kind"] == "contraction" and row["primitive"] in {"fma", "chain"}
    need(contracts, "only a contraction has axes")
    counted = sizes.values() if row["primitive"] == "fma" else [sizes[word] for word in out]
    gap = box.minus(reduce(box.product, map(box.read, counted), constant(1)), box.read(row["count"]))
    need(not gap[0], f"row {short(row['label'])} has another count than its axes")
