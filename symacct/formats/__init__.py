"""Number formats: sign, exponent, fraction and special values; rounding into one, and what is lost."""

from symacct.formats.block import Block, Element
from symacct.formats.floating import Format
from symacct.formats.integer import Integer
from symacct.formats.table import BITS, BLOCKS, ELEMENTS, find
from symacct.formats.value import Value

__all__ = ["BITS", "BLOCKS", "ELEMENTS", "Block", "Element", "Format", "Integer", "Value", "find"]
