"""``symacct memory GRAPH --checkpoint every:k --best``: the best length of a segment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.cli import output
from symacct.errors import UsageError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping, Sequence

    from symacct.account import Account
    from symacct.planning.best_integer import BestInteger
    from symacct.planning.best_segment import Best

PEAKS = ("memory.activations.peak", "memory.peak")
FORMATS = ("text", "markdown", "json")


def best(args: Namespace, accounts: Sequence[Account], sizes: Mapping[str, int]) -> str:
    """Return the best length for both peaks: formulas with regions, and the integer where sizes are bound.

    Raises:
        UsageError: there are several policies, or none whose segments have a name for their length.
    """
    from symacct.planning.best_integer import best_integer
    from symacct.planning.best_segment import BestLength, best_segment

    account = accounts[0]
    named = account.policy.checkpoint.every is not None and account.policy.names
    if len(accounts) != 1 or not named:
        raise UsageError(
            "the best length of a segment is asked of one policy, whose length has a name",
            expected="--checkpoint every:k --best, and no --at k=...",
            got=f"--checkpoint {args.checkpoint}",
        )
    if args.format not in FORMATS:
        raise UsageError("--best has no such format", expected=", ".join(FORMATS), got=args.format)
    bound = account.bind(sizes) if sizes else account
    whole = set(account.graph.order) <= sizes.keys()
    found = [(best_segment(bound, name), best_integer(bound, name) if whole else None) for name in PEAKS]
    if args.format == "json":
        result = {one.quantity: BestLength(one, integer) for one, integer in found}
        return output.envelope(
            "memory", {"target": args.graph, "at": dict(sizes)}, result, order=account.source.order,
            convention=account.convention, policy=account.policy,
        )  # fmt: skip
    return "\n\n".join(_shown(args.format, one, integer, account.source.order) for one, integer in found)


def _shown(form: str, found: Best, integer: BestInteger | None, order: Sequence[str]) -> str:
    from symacct.report.best_segment import best_notes, best_table, integer_lines
    from symacct.report.table import as_markdown, as_text, wrap

    width = output.width()
    table = best_table(found, order)
    lines = [f"best {found.name} for {found.quantity}", ""]
    if found.cases:
        lines += [as_markdown(table) if form == "markdown" else as_text(table, width), ""]
    lines += [piece for note in best_notes(found, order) for piece in wrap(note, width)]
    return "\n".join([*lines, *(["", *integer_lines(integer)] if integer is not None else [])])
