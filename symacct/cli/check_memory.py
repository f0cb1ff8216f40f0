"""``symacct check GRAPH --memory``: peaks and what is kept, derived, interpreted and tracked."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from symacct.cli import options, output

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Mapping, Sequence

    from symacct.execution.check import Row
    from symacct.execution.memory_check import MemoryCheck
    from symacct.execution.memory_compare import MemoryRow
    from symacct.policy import Policy
    from symacct.report.blocks import Block
    from symacct.report.table import Table

FAILED, FEW = 1, 2
"""The status where anything differs, and up to how many points every row is shown."""
VERDICTS = ("equal", "differs", "not vouched")
OTHERS = "parameters, states, micro-batches"


def run_memory(args: Namespace) -> int:
    """Check, and write what was found; the status is 1 where anything differs."""
    from symacct.account import derive
    from symacct.execution.memory_check import check_memory, usual
    from symacct.syntax import read_sizes

    graph = options.read_graph(args)
    args.checkpoint = args.checkpoints or args.checkpoint
    sizes = options.read_at(args, derive(graph).graph)
    own = {name: n for name, n in read_sizes(",".join(args.at)).items() if name in options.policy_names(args)}
    texts = options.words([args.checkpoint])
    policies = [options.stated_policy(args, text) for text in texts]
    if args.checkpoints is None:
        policies = list(usual(graph, policies[0]))
    found = check_memory(graph, {**sizes, **own}, policies, args.seed)
    output.emit(
        args.format,
        lambda _: _shown(found, policies[0], every=args.all),
        lambda: output.envelope("check", _given(args, policies), found),
    )
    return 0 if found.passed else FAILED


def _given(args: Namespace, policies: Sequence[Policy]) -> dict[str, Any]:
    return {
        "target": args.graph,
        "assume": args.assume,
        "seed": args.seed,
        "memory": True,
        "policies": [policy.describe() for policy in policies],
    }


def _shown(found: MemoryCheck, policy: Policy, *, every: bool) -> list[Block]:
    """Return the summary, and the rows: all where they are few or asked for, else those that differ."""
    from dataclasses import replace

    from symacct.cli.check import listed
    from symacct.policy import Checkpoint
    from symacct.report.blocks import Grid, Prose

    plain = replace(policy, checkpoint=Checkpoint())
    shown: list[Block] = [Prose((f"memory of graph {found.name} with torch: {plain.describe()}",))]
    shown.append(Grid(_summary(found)))
    whole = every or len(list(groupby(found.rows, key=_point))) <= FEW
    for name, rows in groupby(found.rows, key=lambda row: row.policy):
        points = [list(some) for _, some in groupby(rows, key=_point)]
        own = [row for some in points if whole or _differs(some) for row in some]
        shown += [Prose((f"checkpoint {name}",)), Grid(_table(own))] if own else []
    others = [row for row in found.others if whole or _differs([row])]
    shown += [Grid(_others(others))] if others else []
    last = _verdict(found) + ("" if whole else " (--all shows every row)")
    return [*shown, *listed(found), Prose((last,))]


def _point(row: MemoryRow) -> tuple[str, Mapping[str, int]]:
    return row.policy, row.sizes


def _differs(rows: Sequence[MemoryRow | Row]) -> bool:
    return any(row.verdict == "differs" for row in rows)


def _summary(found: MemoryCheck) -> Table:
    """Return a row for each policy: its points, and how many rows are equal, differ and cannot be told."""
    from symacct.report.table import Column, Table

    lines = []
    for name, rows in groupby(found.rows, key=lambda row: row.policy):
        own = list(rows)
        lines.append((name, str(len(list(groupby(own, key=_point)))), *_counts(own)))
    if found.others:
        lines.append((OTHERS, "", *_counts(found.others)))
    titles = (Column(title, right=True) for title in ("points", *VERDICTS))
    return Table((Column("checkpoint"), *titles), tuple(lines))


def _counts(rows: Sequence[MemoryRow | Row]) -> tuple[str, ...]:
    return tuple(str(sum(row.verdict == verdict for row in rows)) for verdict in VERDICTS)


def _verdict(found: MemoryCheck) -> str:
    verdicts = [row.verdict for row in found.rows] + [row.verdict for row in found.others]
    differing, unsure = verdicts.count("differs"), verdicts.count("not vouched")
    said = (
        f"{differing} of {len(verdicts)} differ" if differing else f"nothing differs in {len(verdicts)} rows"
    )
    return f"{said}; {unsure} cannot be compared" if unsure else said


def _table(rows: Sequence[MemoryRow]) -> Table:
    from symacct.report.table import Column, Table

    numbers = (Column(title, right=True) for title in ("derived", "interpreted", "tracked"))
    return Table((Column("what"), *numbers, Column("unit"), Column("verdict")), tuple(_lines(rows)))


def _lines(rows: Sequence[MemoryRow]) -> Iterator[tuple[str, ...]]:
    """Yield the rows, those of each point under its sizes."""
    for sizes, some in groupby(rows, key=lambda row: row.sizes):
        own = list(some)
        at = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        yield (f"at {at} ({own[0].note})", "", "", "", "", "")
        for row in own:
            found = "" if row.interpreted is None else f"{row.interpreted:,}"
            yield (f"  {row.what}", f"{row.derived:,}", found, f"{row.counted:,}", row.unit, row.verdict)


def _others(others: Sequence[Row]) -> Table:
    from symacct.report.table import Column, Table

    titles = (Column("what"), Column("derived", right=True), Column("tracked", right=True))
    rows = tuple(
        (row.what, f"{row.derived:,}", f"{row.counted:,}", row.unit, row.verdict, row.note) for row in others
    )
    return Table((*titles, Column("unit"), Column("verdict"), Column("note")), rows)
