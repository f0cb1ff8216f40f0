"""``symacct check GRAPH``: run it with torch at small sizes; counted beside derived."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import TYPE_CHECKING, Any

from symacct.cli import options, output
from symacct.errors import UsageError
from symacct.policy import GRADS, UPDATES

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Mapping

    from symacct.execution.check import CheckResult
    from symacct.execution.memory_check import MemoryCheck
    from symacct.report.blocks import Block
    from symacct.report.table import Table

FORMATS = ("text", "markdown", "json")
FAILED = 1
LONGEST_SEED = 20
FIXED: Mapping[str, Any] = {
    "precision": "fp32", "saves": "backward", "workload": "train", "optimizer": None, "lora": None,
    "checkpoint": "none",
}  # fmt: skip
"""What a check chooses itself."""

CHOICES: Mapping[str, Any] = {
    "checkpoints": None, "grads": GRADS[0], "update": UPDATES[0], "hold_output": False, "accumulate": "1",
    "input_grad": False, "all": False,
}  # fmt: skip
"""What a check of memory lets one choose, where nothing is said."""


def add(parser: ArgumentParser) -> None:
    """Add the arguments; a model is checked at small sizes too, so that its own are not put in."""
    options.add_graph(parser)
    options.add_at(parser)
    parser.add_argument("--seed", type=_seed, default=0, metavar="N", help="of the values drawn; default: 0")
    parser.add_argument(
        "--against",
        metavar="MODULE:FUNCTION",
        help="compare with your own torch module: FUNCTION(sizes) returns it and a tuple of its inputs "
        "(MODULE is imported, or my.py is run)",
    )
    _add_memory(parser)
    options.add_format(parser, FORMATS)
    parser.set_defaults(symbolic=True, **FIXED)
    parser.epilog = "Sizes that --at leaves out are chosen, small and distinct; a model's own sizes too."


def _add_memory(parser: ArgumentParser) -> None:
    """Add a check of memory, and the choices that it has."""
    memory = parser.add_argument_group("memory")
    memory.add_argument(
        "--memory",
        action="store_true",
        help="run training steps, track every tensor storage, and compare peaks and what is kept",
    )
    memory.add_argument(
        "--checkpoint",
        dest="checkpoints",
        metavar="POLICY,...",
        help="default: none, and where the graph repeats every:1, every:2, sqrt and store-nothing; "
        "see symacct list checkpoints",
    )
    memory.add_argument(
        "--grads", choices=GRADS, default=GRADS[0], help="gradients of a step; default: fresh"
    )
    memory.add_argument(
        "--update",
        choices=UPDATES,
        default=UPDATES[0],
        help="after backward, or on each gradient as it comes",
    )
    memory.add_argument("--hold-output", action="store_true", help="the caller holds the output")
    memory.add_argument(
        "--accumulate",
        default="1",
        metavar="N",
        help="micro-batches; their gradients against one batch's too",
    )
    memory.add_argument("--input-grad", action="store_true", help="form the gradients of the inputs too")
    memory.add_argument("--all", action="store_true", help="every row of every point; nothing folded")


def _seed(text: str) -> int:
    """Return the seed.

    Raises:
        ArgumentTypeError: it is no integer, or one with too many digits to read.
    """
    if not (text.isascii() and text.isdigit() and len(text) <= LONGEST_SEED):
        raise ArgumentTypeError(f"expected an integer from 0 to 2^63 - 2, got {text[:LONGEST_SEED]!r}")
    return int(text)


def run(args: Namespace) -> int:
    """Check, and write what was found; the status is 1 where anything differs."""
    from symacct.execution.framework import load_torch

    load_torch()
    _refuse(args)
    if args.memory:
        from symacct.cli.check_memory import run_memory

        return run_memory(args)
    result = _checked(args)
    given = {"target": args.graph, "assume": args.assume, "seed": args.seed, "against": args.against}
    output.emit(args.format, lambda _: _shown(result), lambda: output.envelope("check", given, result))
    return 0 if result.passed else FAILED


def _refuse(args: Namespace) -> None:
    """Refuse choices of a check of memory without one, and a check of two things at once.

    Raises:
        UsageError: there are some.
    """
    if args.memory and args.against is not None:
        raise UsageError(
            "memory is checked on the graph's own ops, not on a module",
            expected="--memory or --against",
            got="both",
            fix="check the module without --memory: its saved bytes are compared",
        )
    for name, usual in CHOICES.items():
        if not args.memory and getattr(args, name) != usual:
            flag = f"--{name.removesuffix('s') if name == 'checkpoints' else name}".replace("_", "-")
            raise UsageError(f"{flag} is a choice of a check of memory", expected="--memory", got="none")


def _checked(args: Namespace) -> CheckResult:
    from symacct.account import derive

    graph = options.read_graph(args)
    sizes = options.read_at(args, derive(graph).graph)
    if args.against is not None:
        from symacct.execution.against import check_against

        return check_against(graph, args.against, sizes)
    from symacct.execution.check import check

    return check(graph, sizes, args.seed)


def _shown(result: CheckResult) -> list[Block]:
    from symacct.report.blocks import Grid, Prose

    sizes = ", ".join(f"{n} = {size}" for n, size in result.sizes.items())
    broken = (f"small: these sizes break {one}; the exact case is derived apart" for one in result.small)
    head = Prose((f"graph {result.name} with torch at {sizes}", *broken))
    return [head, Grid(_table(result)), *listed(result), Prose((_verdict(result),))]


def listed(result: CheckResult | MemoryCheck) -> Iterator[Block]:
    """Yield what differs, and what is not compared."""
    from symacct.report.blocks import Prose
    from symacct.report.table import wrap

    for title, found in (("differences", result.differences), ("not vouched for", result.unvouched)):
        if found:
            yield Prose((title, *(piece for one in found for piece in wrap(f"  {one}", output.width()))))


def _verdict(result: CheckResult) -> str:
    verdicts = [row.verdict for row in result.rows]
    differing, unsure = verdicts.count("differs"), verdicts.count("not vouched")
    said = f"{differing} of {len(verdicts)} differ" if differing else "nothing differs"
    return f"{said}; {unsure} cannot be compared" if unsure else said


def _table(result: CheckResult) -> Table:
    from symacct.report.table import Column, Table

    titles = (Column("what"), Column("derived", right=True), Column("counted", right=True))
    rows = tuple(
        (row.what, f"{row.derived:,}", f"{row.counted:,}", row.unit, row.verdict, row.note)
        for row in result.rows
    )
    return Table((*titles, Column("unit"), Column("verdict"), Column("note")), rows)
