"""``symacct derive GRAPH``: the formulas, their values, and where each term comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.cli import options, output
from symacct.errors import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from symacct.account import Account
    from symacct.report.data import Report

FORMATS = ("text", "markdown", "latex", "json", "csv")


def add(parser: ArgumentParser) -> None:
    """Add the arguments."""
    options.add_graph(parser)
    options.add_symbolic(parser)
    parser.add_argument(
        "--explain",
        action="append",
        default=[],
        metavar="QUANTITY",
        help="each term of a quantity, with the op and the repeat it comes from",
    )
    parser.add_argument(
        "--only",
        "--quantity",
        action="append",
        default=[],
        metavar="NAME",
        help="show these quantities alone; a first word such as flops stands for its family",
    )
    options.add_at(parser)
    options.add_policy(parser)
    options.add_convention(parser)
    options.add_format(parser, FORMATS)


def run(args: Namespace) -> int:
    """Derive, and write the report."""
    from symacct.account import derive

    if args.explain and args.only:
        raise UsageError("--explain and --only choose different tables", expected="one of them", got="both")
    policy, convention = options.read_policy(args), options.read_convention(args)
    account = derive(options.read_graph(args), policy=policy, convention=convention)
    sizes = options.read_at(args, account.graph)
    _emit(args, account, sizes)
    return 0


def _emit(args: Namespace, account: Account, sizes: dict[str, int]) -> None:
    from symacct.report.blocks import Reported
    from symacct.report.explain import explanation
    from symacct.report.quantities import csv_of
    from symacct.report.summary import summary
    from symacct.report.tex import latex_of

    explain = options.words(args.explain)
    if explain:
        made = explanation(account, explain, sizes)
    else:
        made = summary(account, sizes, options.words(args.only))
    output.emit(
        args.format, lambda _: [Reported(made)], lambda: _json(args, account, sizes, made),
        latex=lambda: latex_of(made), csv=lambda: csv_of(made),
    )  # fmt: skip


def _json(args: Namespace, account: Account, sizes: dict[str, int], made: Report) -> str:
    from symacct.report.quantities import quantities
    from symacct.report.summary import chosen, view

    names = tuple(options.words(args.explain)) or chosen(account, options.words(args.only))
    given = output.given_graph(account, args.graph, sizes) | {"assume": args.assume}
    return output.envelope(
        "derive", given, quantities(view(account, sizes, names), names, made), order=account.graph.order,
        convention=account.convention, policy=account.policy,
    )  # fmt: skip
