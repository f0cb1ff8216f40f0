"""``symacct dtype NAME [VALUE ...]``: a number format, and what becomes of numbers in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from symacct.cli import output

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from fractions import Fraction

    from symacct.formats import Block, Element, Quantised, Rounded, Value

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

    one = _format(args)
    if isinstance(one, Block):
        made, rounded = _vector(args.values, one), []
    else:
        made, rounded = None, _rounded(args.values, one)
    codes = _codes(one) if args.all_values else []
    if args.format == "json":
        given = {name: getattr(args, name) for name in ("name", "values", "all_values", "block", "scale")}
        output.write(output.envelope("dtype", given, _record(one, rounded, made, codes)))
    else:
        from symacct.cli.dtype_page import page

        output.write(page(one, rounded, made, codes, markdown=args.format == "markdown"))
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


def _rounded(values: list[str], one: Element) -> list[tuple[str, Rounded]]:
    """Return each value as it is written, with what the format makes of it."""
    from symacct.errors import SymacctError, brief
    from symacct.formats import rounded_text

    found = []
    for text in _bounded(values):
        try:
            found.append((brief(text, 24), rounded_text(text, one)))
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


def _record(
    one: Element | Block,
    values: list[tuple[str, Rounded]],
    made: Quantised | None,
    codes: list[tuple[int, Value]],
) -> dict[str, Any]:
    """Return the result for machines: numbers exact, as text."""
    from symacct.formats.facts import facts, layout, special

    record: dict[str, Any] = {
        "name": one.name,
        "about": one.about,
        "source": one.source,
        "layout": layout(one),
        "special": special(one),
        "facts": {fact.name: str(fact.value) for fact in facts(one)},
        "values": [_rounding_record(text, rounding) for text, rounding in values],
        "blocks": [] if made is None else _block_records(made),
        "codes": [_code_record(one, code, value) for code, value in codes],
    }
    if made is not None:
        record |= {"stored_bits": str(made.stored_bits), "tensor_scale": str(made.whole)}
    return record


def _code_record(one: Element | Block, code: int, value: Value) -> dict[str, str]:
    from symacct.formats import Block
    from symacct.formats.shown import code_text, exact_text

    assert not isinstance(one, Block)
    return {"code": code_text(one, code), "value": exact_text(value)}


def _rounding_record(text: str, one: Rounded) -> dict[str, Any]:
    from symacct.formats.shown import code_text, exact_text

    parts = {"error": one.error, "relative": one.relative, "ulps": one.ulps}
    return {
        "given": text,
        "value": exact_text(one.given),
        "code": code_text(one.element, one.code),
        "result": exact_text(one.result),
        "saturated": exact_text(one.clamped),
        **{name: None if part is None else str(part) for name, part in parts.items()},
        "outcome": one.outcome,
    }


def _block_records(made: Quantised) -> list[dict[str, Any]]:
    from symacct.formats import neighbours
    from symacct.formats.shown import code_text

    return [
        {
            "scale": str(effect.beside.scale),
            "scale_code": code_text(made.format.scale, effect.beside.scale_code),
            "values": [str(value) for value in effect.beside.values],
            "codes": [code_text(made.format.element, code) for code in effect.beside.codes],
            "results": [str(result) for result in effect.beside.results],
            "errors": [str(error) for error in effect.beside.errors],
            "largest": effect.place,
            "errors_without_largest": [str(error) for error in effect.without.errors],
        }
        for effect in neighbours(made)
    ]
