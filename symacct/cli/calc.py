"""``symacct calc EXPRESSION --to UNIT``: arithmetic with units, exact inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symacct.cli import options, output

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from symacct.claims import Amount

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

    found = amount(args.expression, args.to, args.let, options.words(args.names))
    text = whole(found.value, found.unit, args.to)
    if args.format == "json":
        given = {"expression": args.expression, "to": args.to, "let": args.let}
        output.write(output.envelope("calc", given, _record(found, args.to, text)))
    else:
        output.write("\n".join([text, *(f"note: {note}" for note in found.notes)]))
    return 0


def _record(found: Amount, to: str | None, text: str) -> dict[str, Any]:
    """Return a quantity's record: exact in the unit that is asked for, and how it is shown to people."""
    from symacct.printers import latex
    from symacct.printers import text as printed
    from symacct.units import convert

    value = found.value if to is None else convert(found.value, found.unit, to)
    return {
        "expr": printed(value),
        "unit": str(found.unit) if to is None else to,
        "latex": latex(value),
        "when": [],
        "terms": [],
        "value": printed(value),
        "shown": text,
        "notes": list(found.notes),
    }
