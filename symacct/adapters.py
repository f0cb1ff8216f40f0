"""Low-rank adapters as a choice of a run: the rank, which weights get one, and how its result is scaled."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from symacct.errors import UsageError, brief, unknown

KEYS = ("r", "on", "alpha")
LARGEST_RANK = 10**6
USUAL = ("q", "v")
WRITTEN = "r=16,on=q,v or r=r,on=q,v,alpha=32"


@dataclass(frozen=True, slots=True)
class Lora:
    """Frozen weights, and beside some of them a product of two small ones: ``x W + (alpha/r) (x A) B``.

    Source: Hu et al. 2021 (arXiv:2106.09685), section 4.1: W is frozen, A and B are trained, their product
    is scaled by alpha/r. A run without ``alpha`` has no scale (alpha = r), and no product for it.

    >>> Lora(16).describe(), Lora("r", ("o",), Fraction(32)).describe()
    ('lora r=16 on q,v', 'lora r=r on o, alpha 32')

    Attributes:
        rank: the inner size, or the name of a new symbol for it.
        on: which weights get an adapter: last words of their names, or names of regions.
        alpha: the scale times the rank; None: the product is not scaled.
    """

    rank: int | str
    on: tuple[str, ...] = USUAL
    alpha: Fraction | None = None

    def __post_init__(self) -> None:
        """Refuse a rank that is no size, and no or empty names."""
        if isinstance(self.rank, bool) or not isinstance(self.rank, int | str):
            raise _refused_rank(str(self.rank))
        if isinstance(self.rank, int) and not 1 <= self.rank <= LARGEST_RANK:
            raise _refused_rank(str(self.rank))
        if isinstance(self.on, str) or not self.on or not all(self.on):
            raise UsageError(
                "adapters need the names of weights", expected="a tuple of names: ('q', 'v')",
                got=repr(self.on)[:80],
            )  # fmt: skip
        if len(set(self.on)) != len(self.on):
            raise UsageError(
                "a weight is named twice", expected="each name once", got=brief(", ".join(self.on))
            )
        if self.alpha is not None and not (isinstance(self.alpha, int | Fraction) and self.alpha > 0):
            raise UsageError("alpha is no number above 0", expected="alpha=32", got=brief(str(self.alpha)))

    def describe(self) -> str:
        """Return the choice in a few words."""
        scale = "" if self.alpha is None else f", alpha {self.alpha}"
        return f"lora r={self.rank} on {','.join(self.on)}{scale}"


def parse_lora(text: str) -> Lora:
    """Return adapters from the words of a flag: ``r=16,on=q,v``; ``on`` takes every name up to the next key.

    Raises:
        UsageError: no rank, a key twice, a value that is not as it should be.
        UnknownNameError: a key that is none of r, on, alpha.

    >>> parse_lora("r=16,on=q,v,alpha=32")
    Lora(rank=16, on=('q', 'v'), alpha=Fraction(32, 1))
    >>> parse_lora("r=r").on
    ('q', 'v')
    """
    given: dict[str, list[str]] = {}
    last = ""
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if equals:
            if key not in KEYS:
                raise unknown("choice of --lora", key, KEYS, where=f"--lora {brief(text)}")
            if key in given:
                raise _misread(f"{key} is given twice", "each key once", text)
            last, given[key] = key, [value]
        elif last == "on":
            given["on"].append(key)
        else:
            raise _misread(f"{brief(key)!r} is not read", WRITTEN, text)
    if "r" not in given:
        raise _misread("adapters need a rank", WRITTEN, text)
    if not all(all(values) for values in given.values()):
        raise _misread("a value is empty", WRITTEN, text)
    alpha = _number(given["alpha"][0], text) if "alpha" in given else None
    return Lora(_rank(given["r"][0], text), tuple(given.get("on", USUAL)), alpha)


def _rank(word: str, text: str) -> int | str:
    if re.fullmatch(r"[0-9]{1,9}", word):
        return int(word)
    if re.fullmatch(r"[^\W\d]\w{0,30}", word):
        return word
    raise _misread("the rank is no size", "an integer of at least 1, or a letter for it", text)


def _number(word: str, text: str) -> Fraction:
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9}|/[1-9][0-9]{0,8})?", word):
        raise _misread("alpha is no number", "alpha=32", text)
    return Fraction(word)


def _misread(what: str, expected: str, text: str) -> UsageError:
    return UsageError(what, where="--lora", expected=expected, got=brief(text))


def _refused_rank(got: str) -> UsageError:
    return UsageError(
        "the rank of the adapters is no size",
        expected=f"an integer from 1 to {LARGEST_RANK}, or the name of a new symbol",
        got=brief(got),
    )
