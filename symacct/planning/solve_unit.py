"""The unit of an unknown: the one that makes both sides of a condition agree."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from symacct.claims import Claim, Dims, Sides, read_claim, resolve
from symacct.claims.check import UnlikeError, walk
from symacct.claims.sides import Scope
from symacct.errors import FormulaError, SymacctError, UnitError
from symacct.evaluation.on_machine import QUANTITIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from symacct.quantity import Quantity

POWERS = (Fraction(1), Fraction(-1), Fraction(1, 2), Fraction(-1, 2), Fraction(1, 3), Fraction(-1, 3))
MOST_BELOW = 2


class Typed(NamedTuple):
    """A condition, read with a unit of the unknown, and how little was absorbed for it."""

    claim: Claim
    sides: Sides
    unit: Dims
    cost: tuple[int, int]


def typed_of(
    text: str,
    name: str,
    names: set[str] | None,
    lets: Sequence[str],
    find: Callable[[str], Quantity] | None,
    declared: Sequence[str] = (),
    beside: Sequence[str] = (),
) -> Typed:
    """Return the condition with the unit that the unknown must have; a size has none.

    Raises:
        SymacctError: it cannot be read, or has no unit that fits.
    """
    quantities = QUANTITIES if find is not None else ()
    more: dict[str, Any] = {"declared": dict.fromkeys([name, *declared]), "beside": beside}
    plain = read_claim(text, names, quantities, lets, **more)
    if any(one.name == name for one in plain.where):
        what = f"{name} is the unknown, and is bound"
        raise FormulaError(
            what, where=text.strip()[:72], expected="another name, or no binding", got=f"{name} = ..."
        )
    first: SymacctError | None = None
    ways: list[Typed] = []
    tried = [Dims()]
    for dims in tried:
        try:
            ways.append(_read(text, name, names, quantities, lets, find, dims, more))
        except SymacctError as error:
            if dims.pure:
                if not isinstance(error, UnitError):
                    raise
                first = error
                tried += list(_candidates(error))
        if dims.pure and (not ways or ways[0].cost[0]):
            tried += [one for one in (*_between(plain, find), *_counting(plain)) if one not in tried]
    if not ways:
        assert first is not None
        raise first
    return min(ways, key=lambda one: one.cost)


def _candidates(error: SymacctError) -> Iterator[Dims]:
    if isinstance(error, UnlikeError):
        yield from _roots_of(error.wanted.over(error.found))


def _roots_of(ratio: Dims) -> Iterator[Dims]:
    """Yield the units that an unknown may have so that a power of it brings two units together."""
    for power in POWERS:
        dims = ratio.power(power)
        if dims.unit is not None and not dims.pure and _sensible(dims):
            yield dims


def _between(claim: Claim, find: Callable[[str], Quantity] | None) -> list[Dims]:
    """Return the units that may connect the two sides of a claim, each read by itself."""
    scope = Scope(find)
    try:
        for binding in claim.where:
            scope.bind(binding)
        left, right = (scope.checker(claim.text).dims(side) for side in (claim.left, claim.right))
    except SymacctError:
        return []
    return list(_roots_of(left.over(right)))


def _sensible(dims: Dims) -> bool:
    """Say whether a unit is one that an unknown may have: one thing, or one per one or two others."""
    above = [power for _, power in dims.powers if power > 0]
    below = [power for _, power in dims.powers if power < 0]
    return sum(above) <= 1 and sum(below) >= -MOST_BELOW


def _counting(claim: Claim) -> list[Dims]:
    """Return the counting units that are written in a claim, each alone."""
    trees = (claim.left, claim.right, *(one.tree for one in claim.where))
    units = [Dims.read(part.name) for tree in trees for part in walk(tree) if part.form == "unit"]
    names = {base for unit in units for base, _ in unit.powers if not Dims(((base, Fraction(1)),)).physical}
    return [Dims(((base, Fraction(1)),)) for base in sorted(names)]


def _read(
    text: str,
    name: str,
    names: set[str] | None,
    quantities: Sequence[str],
    lets: Sequence[str],
    find: Callable[[str], Quantity] | None,
    dims: Dims,
    more: dict[str, Any],
) -> Typed:
    own = [] if dims.pure else [f"{name} = {name}{_factor(dims)}"]
    claim = read_claim(text, names, quantities, [*own, *lets], **more)
    sides = resolve(claim, find)
    scope = Scope(find)
    bound = [scope.bind(one).dims for one in claim.where]
    absorbed = sum(" read as " in note or " read in " in note for note in sides.notes)
    powers = [power for one in bound for _, power in one.powers]
    return Typed(claim, sides, dims, (absorbed, sum(int(abs(p)) + (p < 0) for p in powers)))


def _factor(dims: Dims) -> str:
    """Return ``* (1 token)^2 / (1 device)``."""
    parts = [f" {'*' if power > 0 else '/'} (1 {base})^{abs(power)}" for base, power in dims.powers]
    return "".join(parts)
