"""``symacct show GRAPH``: the graph and its derived backward pass, and what is saved between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.cli import options, output

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from symacct.account import Account

FORMATS = ("text", "json")


def add(parser: ArgumentParser) -> None:
    """Add the arguments."""
    options.add_graph(parser)
    options.add_symbolic(parser)
    parser.add_argument("--source", action="store_true", help="print the Python source of a shipped graph")
    options.add_policy(parser)
    options.add_format(parser, FORMATS)


def run(args: Namespace) -> int:
    """Write the graph, or its source."""
    if args.source:
        from symacct.readers.files import source

        output.write(source(args.graph))
        return 0
    from symacct.account import derive

    policy = options.read_policy(args)
    account = derive(options.read_graph(args), policy=policy)
    if args.format == "json":
        from symacct.readers.graph_json import to_data

        given = {"target": args.graph, "assume": args.assume}
        output.write(output.envelope("show", given, to_data(account.source), policy=policy))
    else:
        output.write(_outlined(account))
    return 0


def _outlined(account: Account) -> str:
    from symacct.report.outline import outline
    from symacct.report.summary import facts_of_graph

    graph = account.graph
    lines = [account.policy.describe(), f"graph {graph.name}: {graph.doc}".rstrip(": ")]
    lines += [f"{word}: {fact}" for word, fact in facts_of_graph(account)]
    return "\n".join([*lines, "", outline(account, output.width())])
