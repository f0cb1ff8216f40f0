"""A vector in a block format: scales, codes, errors, and what the largest of a block does to the others."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.errors import RuleError, UsageError
from symacct.formats.floating import log2_floor
from symacct.formats.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symacct.formats.block import Block


@dataclass(frozen=True, slots=True)
class Group:
    """The elements under one scale.

    Attributes:
        values: what was given.
        scale: the scale with which elements are multiplied, a tensor's scale included.
        scale_code: the code that is stored for it.
        codes: the codes of the elements.
        results: what they stand for, scale included.
    """

    values: tuple[Fraction, ...]
    scale: Fraction
    scale_code: int
    codes: tuple[int, ...]
    results: tuple[Fraction, ...]

    @property
    def errors(self) -> tuple[Fraction, ...]:
        """Result less value, for each element."""
        return tuple(made - given for given, made in zip(self.values, self.results, strict=True))

    @property
    def largest(self) -> int:
        """The place of the element of the largest magnitude, the first of several."""
        return max(range(len(self.values)), key=lambda place: abs(self.values[place]))


@dataclass(frozen=True, slots=True)
class Quantised:
    """A vector in a block format.

    Attributes:
        format: the format.
        whole: the scale of the whole tensor; 1 where the format has none.
        groups: the blocks in order; the last may be short.
    """

    format: Block
    whole: Fraction
    groups: tuple[Group, ...]

    @property
    def stored_bits(self) -> Fraction:
        """Bits that are stored: elements, a scale for each block (a short one too), the tensor's scale."""
        count = sum(len(group.values) for group in self.groups)
        outer = self.format.whole.bits if self.format.whole is not None else 0
        return count * self.format.element.bits + len(self.groups) * self.format.scale.bits + outer


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What the others of a block lose beside its largest element, and what they would lose without it.

    Attributes:
        beside: the block as it is.
        without: the block with a zero in the place of its largest element.
        place: where that stands.
    """

    beside: Group
    without: Group
    place: int

    def worst(self, group: Group) -> Fraction:
        """Return the largest error of the others."""
        return max(
            (abs(error) for at, error in enumerate(group.errors) if at != self.place), default=Fraction(0)
        )

    def zeroed(self, group: Group) -> int:
        """Return how many of the others are not zero and become zero."""
        pairs = enumerate(zip(group.values, group.results, strict=True))
        return sum(1 for at, (given, made) in pairs if at != self.place and given and not made)


def quantise(values: Sequence[Fraction], block: Block) -> Quantised:
    """Return a vector in a block format.

    Powers of two as scales are chosen as the MX specification does: the largest power of two in the block
    over the largest power of two of the element format. Other scales are the largest magnitude over the
    largest element, rounded to the scale's format; a tensor's scale brings the largest of these to the
    largest scale. Elements are then rounded to nearest even, and stop at the largest.

    Raises:
        SymacctError: there are no values, or a scale is too large for its format.

    >>> from symacct.formats.table import find
    >>> made = quantise([Fraction(1), Fraction(2), Fraction(100)], find("mxfp4"))
    >>> made.groups[0].scale, [str(result) for result in made.groups[0].results]
    (Fraction(16, 1), ['0', '0', '96'])
    """
    if not values:
        raise UsageError("there is nothing to quantise", expected="at least one value", got="none")
    whole = _whole(max(map(abs, values)), block)
    size = block.size
    groups = (_group(values[start : start + size], block, whole) for start in range(0, len(values), size))
    return Quantised(block, whole, tuple(groups))


def neighbours(made: Quantised) -> tuple[Neighbours, ...]:
    """Return for each block what its largest element does to the others.

    >>> from symacct.formats.table import find
    >>> [effect] = neighbours(quantise([Fraction(1), Fraction(2), Fraction(100)], find("mxfp4")))
    >>> effect.worst(effect.beside), effect.worst(effect.without)
    (Fraction(2, 1), Fraction(0, 1))
    """
    tops = [abs(group.values[group.largest]) for group in made.groups]
    found = []
    for at, group in enumerate(made.groups):
        place = group.largest
        kept = tuple(Fraction(0) if here == place else value for here, value in enumerate(group.values))
        rest = max(*map(abs, kept), *tops[:at], *tops[at + 1 :], Fraction(0))
        found.append(Neighbours(group, _group(kept, made.format, _whole(rest, made.format)), place))
    return tuple(found)


def _whole(largest: Fraction, block: Block) -> Fraction:
    """Return the scale of a tensor, rounded to its format; 1 where there is none."""
    if block.whole is None or not largest:
        return Fraction(1)
    wanted = largest / block.element.largest / block.scale.largest
    return _kept(block.whole.decode(block.whole.encode(Value(wanted))), "the tensor's scale")


def _kept(scale: Value, what: str) -> Fraction:
    if not scale.finite:
        raise RuleError(f"{what} is too large for its format", expected="smaller values", got=scale.kind)
    return scale.number


def _group(values: Sequence[Fraction], block: Block, whole: Fraction) -> Group:
    """Return one block; where its scale is rounded to zero, so are its elements."""
    code = _scale(max(map(abs, values)), block, whole)
    scale = _kept(block.scale.decode(code), "the scale of a block") * whole
    scaled = [value / scale if scale else Fraction(0) for value in values]
    codes = tuple(block.element.clamp(Value.of(one)) for one in scaled)
    results = tuple(block.element.decode(one).number * scale for one in codes)
    return Group(tuple(values), scale, code, codes, results)


def _scale(largest: Fraction, block: Block, whole: Fraction) -> int:
    """Return the code of a block's scale."""
    scale = block.scale
    if scale.special != "scale":
        wanted = largest / block.element.largest / whole if whole else Fraction(0)
        return scale.clamp(Value(wanted)) if block.whole is not None else scale.encode(Value(wanted))
    exponent = log2_floor(largest) - block.element.most_exponent if largest else 0
    return scale.encode(Value(Fraction(2) ** exponent))
