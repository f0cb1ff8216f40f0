"""Block formats: neighbours share a scale, and what that costs in bits and in error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symacct.errors import UsageError
from symacct.formats.floating import Format
from symacct.formats.integer import Integer

if TYPE_CHECKING:
    from fractions import Fraction

Element = Format | Integer


@dataclass(frozen=True, slots=True)
class Block:
    """Elements of one format, ``size`` of them under one scale; there may be a scale for the tensor too.

    Attributes:
        name: how it is called.
        element: the format of an element.
        size: how many neighbours share a scale.
        scale: the format of the scale.
        about: what it is.
        source: what says so.
        whole: the format of the one scale of a whole tensor, or None.

    >>> mxfp4 = Block("mxfp4", Format("e2m1", 2, 1, 1, "none"), 32, Format("e8m0", 8, 0, 127, "scale"))
    >>> mxfp4.bits
    Fraction(17, 4)
    """

    name: str
    element: Element
    size: int
    scale: Format
    about: str = ""
    source: str = ""
    whole: Format | None = None

    def __post_init__(self) -> None:
        """Check the size.

        Raises:
            UsageError: it is below 1.
        """
        if self.size < 1:
            raise UsageError("a block is too small", expected="at least 1 element", got=str(self.size))

    @property
    def bits(self) -> Fraction:
        """Bits of storage of an element: its own and its share of the block's scale.

        Blocks are taken to be full; the one scale of a tensor is not in it.
        """
        return self.element.bits + self.scale.bits / self.size
