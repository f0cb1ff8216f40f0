"""``symacct show GRAPH``: the graph and its derived backward pass, what is saved between them, a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.cli import options, output
from symacct.errors import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from symacct.account import Account

FORMATS = ("text", "json")
OF_PICTURE = ("at", "quantity", "attention", "bytes")
"""Flags without a meaning where nothing is drawn."""
EPILOG = """\
examples:
  symacct show gpt
  symacct show llama --workload decode --format json
  symacct show mlp --picture graph.svg --at B=64,D=16,L=12
  symacct show moe --picture graph.svg --quantity bytes.step
"""


def add(parser: ArgumentParser) -> None:
    """Add the arguments."""
    options.add_graph(parser)
    options.add_symbolic(parser)
    parser.add_argument("--source", action="store_true", help="print the Python source of a shipped graph")
    options.add_at(parser)
    options.add_policy(parser)
    options.add_convention(parser)
    parser.add_argument(
        "--picture", metavar="FILE.svg", help="draw the graph, with what each op costs; with --at at sizes"
    )
    parser.add_argument(
        "--quantity", metavar="NAME", help="what is drawn as cost; default: flops.model (contractions)"
    )
    options.add_format(parser, FORMATS)
    parser.epilog = EPILOG


def run(args: Namespace) -> int:
    """Write the graph, or its source; draw it where that is asked for."""
    _check(args)
    if args.source:
        from symacct.readers.files import source

        output.write(source(args.graph))
        return 0
    from symacct.account import derive

    policy = options.read_policy(args)
    account = derive(options.read_graph(args), policy=policy, convention=options.read_convention(args))
    if args.picture:
        _draw(args, account)

    def record() -> str:
        from symacct.readers.graph_json import to_data

        given = {"target": args.graph, "assume": args.assume}
        return output.envelope("show", given, to_data(account.source), policy=policy)

    from symacct.report.blocks import Prose

    output.emit(args.format, lambda _: [Prose((_outlined(account),))], record)
    return 0


def _check(args: Namespace) -> None:
    """Refuse what has no meaning without a picture, and a file that is none; cheap, before a derivation."""
    if args.source and args.format != "text":
        raise UsageError(
            "--source is Python", expected="no --format", got=f"--format {args.format}",
            fix=f"without --source: symacct show {args.graph} --format {args.format}",
        )  # fmt: skip
    if args.picture is not None:
        from pathlib import Path

        from symacct.plot.graph import check

        if args.source:
            raise UsageError("--source draws nothing", expected="no --picture", got=args.picture)
        check(Path(args.picture))
        return
    given = [name for name in OF_PICTURE if getattr(args, name)]
    given += ["convention"] if args.convention != "default" else []
    if given:
        raise UsageError(
            f"--{given[0]} is for a picture", expected=f"no --{given[0]}", got=f"--{given[0]}",
            fix="add --picture graph.svg; symacct derive prices a graph as text",
        )  # fmt: skip


def _draw(args: Namespace, account: Account) -> None:
    from pathlib import Path

    from symacct.plot.graph import draw

    sizes = options.read_at(args, account.graph)
    draw(account, args.quantity, sizes, Path(args.picture))


def _outlined(account: Account) -> str:
    from symacct.report.outline import outline
    from symacct.report.summary import facts_of_graph

    graph = account.graph
    lines = [account.policy.describe(), f"graph {graph.name}: {graph.doc}".rstrip(": ")]
    lines += [f"{word}: {fact}" for word, fact in facts_of_graph(account)]
    return "\n".join([*lines, "", outline(account, output.width())])
