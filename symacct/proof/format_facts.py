"""Numbers of formats in a claim: ``epsilon(bf16)``, ``largest(fp8_e4m3)``, ``round(fp16, 1e-8)``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from symacct import formats
from symacct.errors import RuleError, SymacctError
from symacct.formats.shown import dyadic
from symacct.messages import Message

if TYPE_CHECKING:
    from collections.abc import Collection
    from fractions import Fraction

    from symacct.formats import Block, Element

FACTS = ("epsilon", "largest", "smallest", "bits", "round")
CALLED = re.compile(rf"(?<![\w.])({'|'.join(FACTS)})\(\s*([\w-]+)\s*(?:,([^(),]*))?\)")
SHORT = 10**6
"""Below this above and below a quotient is written as one."""


def named(text: str, taken: Collection[str], made: dict[str, str], notes: dict[str, None]) -> str:
    """Return a text with a name of at most its length in the place of each fact of a format.

    Args:
        text: the text.
        taken: words that mean something else.
        made: gets what each name stands for.
        notes: get what each fact is, with its source.

    Raises:
        SymacctError: there is no such format, or it has no such number.

    >>> made = {}
    >>> named("largest(fp8_e4m3) = 448", (), made, {}), made
    ('largest_fp8_e4m3  = 448', {'largest_fp8_e4m3': '448'})
    """

    def name(match: re.Match[str]) -> str:
        word, dtype, given = match.groups()
        if word in taken or (given is not None) != (word == "round"):
            return match.group()
        try:
            value = _fact(word, dtype, given)
        except SymacctError as error:
            raise error.at(match.group()) from None
        told = f"{len(made)}" if given is not None else dtype.replace("-", "_")
        one = f"{word}_{told}" if given is None else f"{word}_{dtype.replace('-', '_')}_{told}"
        made[one] = _written(value)
        notes[f"{match.group()} = {made[one]}{_source(dtype)}"] = None
        return one.ljust(len(match.group()))

    return CALLED.sub(name, text)


def _fact(word: str, dtype: str, given: str | None) -> Fraction:
    """Return a fact of a format: an exact number.

    Raises:
        SymacctError: there is no such format, or it has no such number.
    """
    if word == "bits" and dtype in formats.BITS:
        return formats.BITS[dtype]
    found = formats.find(dtype)
    if given is not None:
        if isinstance(found, formats.Block):
            raise _lacks(found, "numbers of its own: they share a scale")
        result = formats.rounded_text(given, found).result
        if not result.finite:
            what = Message("no_number", text=given.strip(), format=found.name)
            raise RuleError(what, expected=f"at most {_written(found.largest)}", got=str(result.kind))
        return result.number
    value: Fraction | None = getattr(found, word, None)
    if value is None:
        raise _lacks(found, word)
    return value


def _source(dtype: str) -> str:
    return "" if dtype in formats.STORED else f": {formats.find(dtype).source}"


def _lacks(found: Element | Block, what: str) -> RuleError:
    known = [word for word in FACTS[:-1] if hasattr(found, word)]
    said = Message("lacks", owner=found.name, what=what)
    return RuleError(said, expected=f"one of: {', '.join(known)}", got=what)


def _written(value: Fraction) -> str:
    """Return an exact number as a claim writes it, with a power of two where it is long.

    >>> from fractions import Fraction
    >>> _written(Fraction(448)), _written(Fraction(17, 4)), _written(Fraction(1, 2**24))
    ('448', '17/4', '2^-24')
    >>> _written(2**1024 - Fraction(2**971))
    '(2 - 2^-52) * 2^1023'
    """
    top, below = abs(value.numerator), value.denominator
    odd = top // (top & -top) if top else 0
    plain = bool(below & (below - 1)) or odd == top * below or (odd > 1 and max(top, below) < SHORT)
    return str(value) if plain else dyadic(value)
