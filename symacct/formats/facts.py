"""What there is to say of a format, as rows: a name, an exact number, and how it comes about."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.formats.block import Block
from symacct.formats.floating import SPECIALS, Format
from symacct.formats.shown import dyadic, shown
from symacct.formats.table import find

if TYPE_CHECKING:
    from symacct.formats.block import Element
    from symacct.formats.integer import Integer


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a format: its name, its exact value, and why it is so."""

    name: str
    value: Fraction
    why: str


def facts(one: Element | Block) -> tuple[Fact, ...]:
    """Return the facts of a format.

    >>> from symacct.formats.table import find
    >>> {fact.name: str(fact.value) for fact in facts(find("bf16"))}["epsilon"]
    '1/128'
    """
    if isinstance(one, Block):
        return _block(one)
    return _floating(one) if isinstance(one, Format) else _integer(one)


def summary(name: str) -> tuple[str, str, str, str, str]:
    """Return bits, largest, smallest above zero, epsilon (or the step of integers) and meaning of a format.

    >>> summary("bf16")
    ('16', '≈3.38953e38', '≈9.18355e-41', '0.0078125', 'the upper half of an fp32 word')
    """
    one = find(name)
    found = {fact.name: fact.value for fact in facts(one)}
    smallest = found["smallest"] if isinstance(one, Block) else one.smallest
    step = found.get("epsilon", found.get("step"))
    shares = "" if step is None else shown(step)
    return shown(one.bits), shown(found["largest"]), shown(smallest), shares, one.about


def layout(one: Element | Block) -> str:
    """Return in words what a format is made of.

    >>> from symacct.formats.table import find
    >>> layout(find("tf32"))
    '1 sign, 8 exponent and 10 fraction bits, bias 127; 19 bits, stored in 32'
    """
    if isinstance(one, Block):
        outer = f", one {one.whole.name} scale for the tensor" if one.whole is not None else ""
        return f"{one.element.name} elements, one {one.scale.name} scale for {one.size} of them{outer}"
    if not isinstance(one, Format):
        return f"two's complement of {one.width} bits" + (
            f", {one.point} below the point" if one.point else ""
        )
    sign = "1 sign" if one.signed else "no sign"
    stored = f"{one.width} bits"
    if one.padding:
        stored = f"{one.width - one.padding} bits, stored in {one.width}"
    return f"{sign}, {one.exponent} exponent and {one.fraction} fraction bits, bias {one.bias}; {stored}"


def special(one: Element | Block) -> str:
    """Return in words which codes are no numbers, and what becomes of a number that is too large."""
    if isinstance(one, Block):
        return special(one.element)
    if not isinstance(one, Format):
        return "every code is a number; beyond the ends: the end (quantisation clamps; a plain cast may wrap)"
    over = {
        "ieee": "too large: infinity (the largest number where a conversion saturates)",
        "none": "too large: the largest number",
    }
    otherwise = "too large: not-a-number (the largest number where a conversion saturates)"
    return f"{SPECIALS[one.special]}; {over.get(one.special, otherwise)}"


def _floating(one: Format) -> tuple[Fact, ...]:
    precise = 1 << (one.fraction + 1)
    found = [
        Fact("bits stored", one.bits, "sign + exponent + fraction" + (" + padding" if one.padding else "")),
        Fact("largest", one.largest, dyadic(one.largest)),
        Fact(
            "smallest normal" if one.subnormal else "smallest",
            one.smallest_normal,
            dyadic(one.smallest_normal),
        ),
    ]
    if one.subnormal:
        found.append(Fact("smallest subnormal", one.smallest, dyadic(one.smallest)))
        half = one.smallest / 2
        found.append(Fact("rounds to zero up to", half, f"{dyadic(half)}, half of the smallest"))
    found.append(Fact("epsilon", one.epsilon, f"{dyadic(one.epsilon)}, from 1 to the next number"))
    found.append(Fact("unit roundoff", one.epsilon / 2, "no relative error of a normal number is larger"))
    found.append(Fact("finite numbers", Fraction(one.count), "both zeros counted once"))
    if one.signed and precise <= one.largest:
        found.append(Fact("integers exact up to", Fraction(precise), dyadic(Fraction(precise))))
    return tuple(found)


def _integer(one: Integer) -> tuple[Fact, ...]:
    return (
        Fact("bits stored", one.bits, "the sign counts with minus its weight"),
        Fact("largest", one.largest, f"(2^{one.width - 1} - 1) * {shown(one.step)}"),
        Fact("lowest", one.lowest, f"-2^{one.width - 1} * {shown(one.step)}"),
        Fact("step", one.step, "the same everywhere: an absolute error of at most half of it"),
        Fact("numbers", Fraction(one.count), dyadic(Fraction(one.count))),
    )


def _block(one: Block) -> tuple[Fact, ...]:
    element, scale = one.element, one.scale
    share = f"{shown(element.bits)} + {shown(scale.bits)}/{one.size}"
    outer = f"; and {shown(one.whole.bits)} bits a tensor" if one.whole is not None else ""
    top = element.largest * scale.largest
    least = element.smallest * scale.smallest
    under = " before the tensor's scale" if one.whole is not None else ""
    return (
        Fact("bits an element", one.bits, f"{share}{outer}"),
        Fact("bytes an element", one.bits / 8, f"({share}) / 8"),
        Fact("largest element", element.largest, f"of {element.name}, before the scale"),
        Fact("largest scale", scale.largest, dyadic(scale.largest)),
        Fact("largest", top, f"{dyadic(top)}{under}"),
        Fact("smallest", least, f"{dyadic(least)}{under}"),
        Fact("range in a block", element.largest / element.smallest, "largest over smallest element"),
    )
