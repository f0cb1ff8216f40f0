"""``symacct dtype NAME [VALUE ...]``: a number format, and what becomes of numbers in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from symacct.cli import output

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from fractions import Fraction

    from symacct.formats import Block, Element, Quantised, Value
    from symacct.formats.answer import Given

FORMATS = ("text", "markdown", "json")
NEGATIVE = re.compile(r"^[-−](?:\d|\.\d|inf|nan)", re.IGNORECASE)
"""What is a number although it begins as a flag does."""
MOST_VALUES, WIDEST_TABLE = 4096, 8


def add(parser: ArgumentParser) -> None:
    """Add the arguments."""
    parser._negative_number_matcher = NEGATIVE  # noqa: SLF001
    parser.add_argument("name", metavar="NAME", help="a format: fp16, bf16, e4m3, mxfp4, ... (list dtypes)")
    parser.add_argument(
        "values",
        nargs="*",
        metavar="VALUE",
        help="numbers, read exactly: 0.1, -1e-8, 1/3, 2^-24, inf; 0x7e is a code; a vector for block formats",
    )
    parser.add_argument("--all-values", action="store_true", help="every code and what it stands for")
    parser.add_argument("--block", type=int, metavar="N", help="put N elements under one scale")
    parser.add_argument("--scale", metavar="FORMAT", help="the format of that scale; default: fp16")
    parser.add_argument("--format", choices=FORMATS, default=FORMATS[0], help=f"default: {FORMATS[0]}")


def run(args: Namespace) -> int:
    """Write the format, and what becomes of the values.

    Raises:
        SymacctError: the format is unknown, or a value cannot be read.
    """
    from symacct.formats import Block
    from symacct.formats.answer import Answer
    from symacct.report.dtype import blocks

    one = _format(args)
    if isinstance(one, Block):
        made, values = _vector(args.values, one), []
    else:
        made, values = None, _rounded(args.values, one)
    answer = Answer(one, tuple(values), made, tuple(_codes(one) if args.all_values else ()))
    given = {name: getattr(args, name) for name in ("name", "values", "all_values", "block", "scale")}
    output.emit(
        args.format, lambda math: blocks(answer, math=math), lambda: output.envelope("dtype", given, answer)
    )
    return 0


def _format(args: Namespace) -> Element | Block:
    """Return the format that is named, in blocks where these are asked for."""
    from symacct.errors import UsageError
    from symacct.formats import Block, Format, find

    one = find(args.name)
    if args.block is None:
        if args.scale is not None:
            raise UsageError("--scale needs a block", expected="--block N --scale FORMAT", got="no --block")
        return one
    if isinstance(one, Block):
        what = f"{one.name} has blocks of its own"
        raise UsageError(what, expected=f"no --block, or {one.element.name}", got=f"--block {args.block}")
    scale = find(args.scale or "fp16")
    if not isinstance(scale, Format):
        raise UsageError("a scale is a floating-point number", expected="fp16, fp32, e8m0", got=scale.name)
    name = f"{one.name} in blocks of {args.block} under {scale.name}"
    return Block(name, one, args.block, scale, "group quantisation", "largest magnitude over largest element")


def _bounded(values: list[str]) -> list[str]:
    from symacct.errors import LimitError

    if len(values) > MOST_VALUES:
        raise LimitError("too many values", expected=f"at most {MOST_VALUES}", got=str(len(values)))
    return values


def _rounded(values: list[str], one: Element) -> list[Given]:
    """Return each value as it is written, with what the format makes of it."""
    from symacct.errors import SymacctError, brief
    from symacct.formats import rounded_text
    from symacct.formats.answer import Given

    found = []
    for text in _bounded(values):
        try:
            found.append(Given(brief(text, 24), rounded_text(text, one)))
        except SymacctError as error:
            raise error.at(f"value {brief(text, 40)}") from None
    return found


def _vector(values: list[str], one: Block) -> Quantised | None:
    """Return the values in blocks, or None where there are none."""
    from symacct.errors import FormulaError, brief
    from symacct.formats import Value, quantise, read

    numbers: list[Fraction] = []
    for text in _bounded(values):
        given = read(text)
        if not isinstance(given, Value) or not given.finite:
            what = f"{brief(text, 40)!r} cannot stand in a block"
            raise FormulaError(what, expected="a finite number: 0.1, -1e-8, 1/3, 2^-24", got=brief(text, 40))
        numbers.append(given.number)
    return quantise(numbers, one) if numbers else None


def _codes(one: Element | Block) -> list[tuple[int, Value]]:
    """Return every code with what it stands for.

    Raises:
        LimitError: there are too many, or the format has codes only of elements.
    """
    from symacct.errors import LimitError, UsageError
    from symacct.formats import Block

    if isinstance(one, Block):
        what, element = f"{one.name} has no codes but those of its elements and scales", one.element.name
        raise UsageError(what, expected="a format of one number", got=one.name, fix=f"dtype {element}")
    if one.width > WIDEST_TABLE:
        expected = f"a format of at most {WIDEST_TABLE} bits"
        fix = "give the values or the codes (0x...) you want to see"
        raise LimitError(f"{one.name} has 2^{one.width} codes", expected=expected, got=one.name, fix=fix)
    return [(code, one.decode(code)) for code in one.codes()]
