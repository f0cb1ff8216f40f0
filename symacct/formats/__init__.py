"""Number formats: sign, exponent, fraction and special values; rounding into one, and what is lost."""

from symacct.formats.block import Block, Element
from symacct.formats.floating import SPECIALS, Format
from symacct.formats.integer import Integer
from symacct.formats.quantise import Group, Neighbours, Quantised, neighbours, quantise
from symacct.formats.reading import read
from symacct.formats.rounding import Rounded, rounded, rounded_text
from symacct.formats.table import BITS, BLOCKS, ELEMENTS, SEVERAL, STORED, find
from symacct.formats.value import Value

__all__ = [
    "BITS",
    "BLOCKS",
    "ELEMENTS",
    "SEVERAL",
    "SPECIALS",
    "STORED",
    "Block",
    "Element",
    "Format",
    "Group",
    "Integer",
    "Neighbours",
    "Quantised",
    "Rounded",
    "Value",
    "find",
    "neighbours",
    "quantise",
    "read",
    "rounded",
    "rounded_text",
]
