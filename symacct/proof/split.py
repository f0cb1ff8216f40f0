"""A relation between largest and least values, operand by operand.

``max(a, b) <= f`` is two relations; of ``max(a, b) >= f`` one of two is enough. What is enough only together
(a weighted mean of a and b) is left to a witness.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from sympy import Add, Max, Min

from symacct.algebra.normal import normal
from symacct.algebra.sign import sign_on_box
from symacct.algebra.terms import read
from symacct.proof.compiled import compiled
from symacct.proof.sizes import made

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sympy import Expr

    from symacct.proof.decide import Box

    Prove = Callable[[Expr, bool], bool]

GOOD = {False: ("positive", "nonnegative", "zero"), True: ("positive",)}
TRIED = 24
MOST_SPLITS = 400


class TooManyError(Exception):
    """There are too many pairs of operands."""


def by_operands(gap: Expr, box: Box, prove: Prove, *, strict: bool) -> bool:
    """Say whether a formula is at least 0 (above 0) on a box, taking each max and min apart.

    Args:
        gap: the formula.
        box: the sizes.
        prove: what looks for a witness for a formula without max and min.
        strict: whether it must be above 0.
    """
    names = sorted({free.name for free in gap.free_symbols})
    sizes = list(islice(made(names, box.lower, box.conditions).valid(), TRIED))
    work = _Splits(box, prove, sizes, strict=strict)
    try:
        return work.holds(normal(gap))
    except TooManyError:
        return False


class _Splits:
    def __init__(self, box: Box, prove: Prove, sizes: Sequence[Mapping[str, int]], *, strict: bool) -> None:
        self.box, self.prove, self.sizes, self.strict = box, prove, sizes, strict
        self.left = MOST_SPLITS

    def holds(self, gap: Expr) -> bool:
        """Say whether a formula is seen to be at least 0: by all operands, or by one that is enough."""
        self.left -= 1
        if self.left < 0:
            raise TooManyError
        if not self._tried(gap):
            return False
        signs = _signs(gap)
        for atom, sign in signs.items():
            if sign < 0:
                return all(self.holds(_put(gap, atom, one)) for one in atom.args)
        for atom in signs:
            return any(self.holds(_put(gap, atom, one)) for one in atom.args)
        if gap.has(Max, Min):
            return False
        return sign_on_box(gap, self.box.lower)[0] in GOOD[self.strict] or self.prove(gap, self.strict)

    def _tried(self, gap: Expr) -> bool:
        """Say whether it is at least 0 at a few sizes."""
        value = compiled(gap)
        found = (value(one) for one in self.sizes)
        return all(one is None or one > 0 or (one == 0 and not self.strict) for one in found)


def _put(gap: Expr, atom: Expr, operand: Expr) -> Expr:
    """Return a formula with an operand in the place of a max or min."""
    return normal(gap.xreplace({atom: operand}))


def _signs(gap: Expr) -> dict[Expr, int]:
    """Return the max and min in a formula: 1 where one operand is enough, -1 where all are needed."""
    found: dict[Expr, set[bool]] = {}
    for monomial, c in read(Add(gap)).items():
        for base, power in monomial:
            if isinstance(base, Max | Min):
                helps = (c > 0) == isinstance(base, Max) and power == 1
                found.setdefault(base, set()).add(helps)
    order = sorted(found, key=lambda one: (len(one.args), str(one)))
    return {atom: 1 if found[atom] == {True} else -1 for atom in order}
