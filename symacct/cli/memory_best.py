"""``symacct memory GRAPH --checkpoint every:k --best``: the best length of a segment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.cli import output
from symacct.errors import UsageError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Mapping, Sequence

    from symacct.account import Account
    from symacct.planning.best_integer import BestInteger
    from symacct.planning.best_segment import Best
    from symacct.report.blocks import Block

PEAKS = ("memory.activations.peak", "memory.peak")
FORMATS = ("text", "markdown", "json")


def best(args: Namespace, accounts: Sequence[Account], sizes: Mapping[str, int]) -> None:
    """Write the best length for both peaks: formulas with regions, and the integer where sizes are bound.

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

    def record() -> str:
        result = {one.quantity: BestLength(one, integer) for one, integer in found}
        return output.envelope(
            "memory", {"target": args.graph, "at": dict(sizes)}, result, order=account.source.order,
            convention=account.convention, policy=account.policy,
        )  # fmt: skip

    def shown(math: bool) -> list[Block]:  # noqa: ARG001, FBT001
        return [block for one, integer in found for block in _shown(one, integer, account.source.order)]

    output.emit(args.format, shown, record)


def _shown(found: Best, integer: BestInteger | None, order: Sequence[str]) -> Iterator[Block]:
    from symacct.report.best_segment import best_notes, best_table, integer_lines
    from symacct.report.blocks import Grid, Prose
    from symacct.report.table import wrap

    yield Prose((f"best {found.name} for {found.quantity}",))
    if found.cases:
        yield Grid(best_table(found, order))
    yield Prose(tuple(piece for note in best_notes(found, order) for piece in wrap(note, output.width())))
    if integer is not None:
        yield Prose(tuple(integer_lines(integer)))
