"""What is said of a number format: its facts, and what becomes of numbers in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symacct.formats.block import Block
from symacct.formats.facts import facts, layout, special
from symacct.formats.quantise import neighbours
from symacct.formats.shown import code_text

if TYPE_CHECKING:
    from fractions import Fraction

    from symacct.formats.block import Element
    from symacct.formats.quantise import Neighbours, Quantised
    from symacct.formats.rounding import Rounded
    from symacct.formats.value import Value


@dataclass(frozen=True, slots=True)
class Given:
    """A number as it was written, and what the format makes of it."""

    text: str
    rounded: Rounded

    @property
    def code(self) -> str:
        """The code that stands for it."""
        return code_text(self.rounded.element, self.rounded.code)


@dataclass(frozen=True, slots=True)
class Code:
    """A code, and what it stands for."""

    code: str
    value: Value


@dataclass(frozen=True, slots=True)
class Scaled:
    """A block of numbers under one scale, and the same block without its largest one."""

    scale_code: str
    codes: tuple[str, ...]
    effect: Neighbours


@dataclass(frozen=True, slots=True)
class Answer:
    """What is asked of a number format.

    Attributes:
        format: the format.
        values: numbers, rounded one by one.
        quantised: numbers in blocks; None where the format has none, or no numbers are given.
        coded: codes with their values, where all are asked for.
    """

    format: Element | Block
    values: tuple[Given, ...] = ()
    quantised: Quantised | None = None
    coded: tuple[tuple[int, Value], ...] = ()

    @property
    def layout(self) -> str:
        """The bits of the format, in words."""
        return layout(self.format)

    @property
    def special(self) -> str:
        """Its special values."""
        return special(self.format)

    @property
    def facts(self) -> dict[str, Fraction]:
        """Its facts, by name."""
        return {fact.name: fact.value for fact in facts(self.format)}

    @property
    def codes(self) -> tuple[Code, ...]:
        """The codes that are asked for."""
        one = self.format
        return (
            () if isinstance(one, Block) else tuple(Code(code_text(one, c), value) for c, value in self.coded)
        )

    @property
    def blocks(self) -> tuple[Scaled, ...]:
        """The blocks of numbers."""
        made = self.quantised
        if made is None:
            return ()
        form = made.format
        return tuple(
            Scaled(
                code_text(form.scale, one.beside.scale_code),
                tuple(code_text(form.element, code) for code in one.beside.codes),
                one,
            )
            for one in neighbours(made)
        )
