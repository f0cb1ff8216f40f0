"""``symacct calc EXPRESSION --to UNIT``: arithmetic with units, exact inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.cli import options, output

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

FORMATS = ("text", "json")


def add(parser: ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "expression",
        metavar="EXPRESSION",
        help="numbers and units: '640 GB / (12 byte/param)'; a unit stands after a number and a space",
    )
    parser.add_argument("--to", metavar="UNIT", help="the unit of the result, which the formula must have")
    parser.add_argument(
        "--let",
        action="append",
        default=[],
        metavar="'N = 70B parameter'",
        help="what a name in the formula stands for (may be repeated)",
    )
    options.add_names(parser)
    options.add_format(parser, FORMATS)


def run(args: Namespace) -> int:
    """Work the formula out, and write the result."""
    from symacct.claims import amount
    from symacct.report.amount import whole
    from symacct.report.blocks import Prose

    found = amount(args.expression, args.to, args.let, options.words(args.names))
    text = whole(found.value, found.unit, args.to)
    given = {"expression": args.expression, "to": args.to, "let": args.let}
    output.emit(
        args.format,
        lambda _: [Prose((text, *(f"note: {note}" for note in found.notes)))],
        lambda: output.envelope("calc", given, found.to(args.to), text=text),
    )
    return 0
