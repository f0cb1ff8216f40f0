"""The sign of a formula for all sizes from a corner on, with a witness that a proof can use."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Literal

from sympy import Expr, Integer, Pow, integer_nthroot

from symacct.algebra.budget import check_time
from symacct.algebra.evaluate import evaluate, names_of
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr
from symacct.algebra.tables import Number, Terms, build, polynomial_ring, primitive, shifted, to_ring
from symacct.algebra.terms import fraction, read
from symacct.errors import RuleError, SizeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Answer = Literal["positive", "nonnegative", "zero", "negative", "nonpositive", "mixed", "unknown"]
OPPOSITE: dict[Answer, Answer] = {
    "positive": "negative",
    "nonnegative": "nonpositive",
    "negative": "positive",
    "nonpositive": "nonnegative",
}
STEPS = (0, 1, 10**6, 3, 30, 10**3)
MOST_POINTS = 600
MOST_EXPONENT = 5_000
MOST_MOVED = 50_000
"""Terms that a shift may make; past it the sign is read off the polynomial as it stands, from 0 on."""


@dataclass(frozen=True, slots=True)
class Shift:
    """Why a sign is certain: after ``x = start + y`` all coefficients of the polynomial have one sign.

    Attributes:
        polynomial: the numerator times a positive monomial, in the generators `x` of `starts`.
        starts: each generator with the value from which it counts; a generator is a size, the root of one, or
            an atom such as `ceiling`.
        coefficients: the coefficients of the shifted polynomial, all of one sign.
        denominators: sums below the line and their powers, each of which has a certain sign by itself.
    """

    polynomial: Expr
    starts: tuple[tuple[Expr, int], ...]
    coefficients: tuple[Fraction, ...]
    denominators: tuple[tuple[Expr, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Points:
    """Integer sizes, and the exact values there, which have different signs."""

    points: tuple[tuple[tuple[str, int], ...], ...]
    values: tuple[Expr, ...]


Witness = Shift | Points | None


def sign_on_box(expr: Expr | int, lower: Mapping[str, int] | int = 1) -> tuple[Answer, Witness]:
    """Return the sign for all integer sizes of at least `lower`, and why.

    Args:
        expr: a formula; sums below the line must have a sign that can be seen.
        lower: the least value by name, or one for all sizes; 1 for names that are left out.

    Returns:
        The answer and a `Shift` (certain signs), `Points` ("mixed") or None ("unknown").

    >>> from symacct.algebra.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> sign_on_box(B * D - 1)[0], sign_on_box(B * D - 1, {"B": 2})[0], sign_on_box(-B)[0]
    ('nonnegative', 'positive', 'negative')
    >>> answer, witness = sign_on_box(B - D)
    >>> answer, witness.points, witness.values
    ('mixed', ((('B', 1), ('D', 2)), (('B', 2), ('D', 1))), (-1, 1))
    """
    form = normal(as_expr(expr))
    starts = {name: lower if isinstance(lower, int) else lower.get(name, 1) for name in names_of(form)}
    top, below = fraction(read(form))
    if not top:
        return "zero", Shift(Integer(0), (), ())
    answer, witness = _sign_of_sum(top, starts)
    if answer != "unknown" and witness is not None:
        flips = _flips(below, starts)
        if flips is not None:
            shown = tuple(sorted(below.items(), key=lambda one: one[0].sort_key()))
            seen = Shift(witness.polynomial, witness.starts, witness.coefficients, shown)
            return OPPOSITE[answer] if flips else answer, seen
    points = _mixed_points(form, starts)
    return ("mixed", points) if points else ("unknown", None)


def _flips(below: Mapping[Expr, int], starts: Mapping[str, int]) -> bool | None:
    """Return whether the denominators are negative together, or None where one has no certain sign."""
    negative = False
    for base, count in below.items():
        answer, _ = _sign_of_sum(read(base), starts)
        if answer not in {"positive", "negative"}:
            return None
        negative ^= answer == "negative" and count % 2 == 1
    return negative


def _start(base: Expr, starts: Mapping[str, int]) -> int | None:
    """Return an integer below all values of a generator, or None where none of at least 0 is known."""
    if base.is_Symbol:
        return starts[base.name]
    if base.is_Integer:
        return int(base)
    if base.is_Add:
        answer, _ = _sign_of_sum(read(base), starts)
        return 0 if answer in {"positive", "nonnegative"} else None
    if base.is_positive and base.is_integer:
        return 1
    return 0 if base.is_nonnegative else None


def _sign_of_sum(table: Terms, starts: Mapping[str, int]) -> tuple[Answer, Shift | None]:
    """Return the sign of a sum without sums below, by shifting to the corner."""
    plain, positive = _cleared(table, starts)
    if any(power < 0 for monomial in plain for _, power in monomial):
        return "unknown", None
    ring, scales = polynomial_ring([plain])
    froms: dict[Expr, int] = {}
    for base, scale in scales.items():
        start = _start(base, starts)
        if start is None or not positive:
            return "unknown", None
        froms[base if scale == 1 else Pow(base, Integer(1) / scale)] = int(integer_nthroot(start, scale)[0])
    moved = to_ring(ring, scales, plain)
    if sum(prod(power + 1 for power in powers) for powers in moved.itermonoms()) > MOST_MOVED:
        froms = dict.fromkeys(froms, 0)
    moved = moved.compose([(x, x + start) for x, start in zip(ring.gens, froms.values(), strict=True)])
    values = [Fraction(int(value.numerator), int(value.denominator)) for value in moved.values()]
    constant = (
        Fraction(int(moved.const().numerator), int(moved.const().denominator)) if values else Fraction(0)
    )
    shift = Shift(build(plain), tuple(froms.items()), tuple(sorted(values)))
    if all(value > 0 for value in values):
        return ("positive" if constant else "nonnegative"), shift
    if all(value < 0 for value in values):
        return ("negative" if constant else "nonpositive"), shift
    return "unknown", None


def _cleared(table: Terms, starts: Mapping[str, int]) -> tuple[Terms, bool]:
    """Return the table times a monomial, without negative powers, and whether that monomial is positive."""
    if len(table) == 1:
        ((monomial, _),) = table.items()
        least: dict[Expr, Number] = dict(monomial)
    else:
        least = dict(primitive(table)[1])
    down = {base: power for base, power in least.items() if power < 0}
    positive = all((_start(base, starts) or 0) > 0 or bool(base.is_positive) for base in down)
    return shifted(table, frozenset((base, -power) for base, power in down.items())), positive


def _mixed_points(form: Expr, starts: Mapping[str, int]) -> Points | None:
    """Return two points where the formula is negative and positive, if a short search finds them.

    A size in an exponent is not tried where the power would have a million digits.
    """
    found: dict[bool, tuple[tuple[tuple[str, int], ...], Expr]] = {}
    raised = {free.name for power in form.atoms(Pow) for free in power.exp.free_symbols}
    for point in islice(_points(starts), MOST_POINTS):
        check_time()
        if any(point[name] > MOST_EXPONENT for name in raised):
            continue
        try:
            value = evaluate(form, point)
        except (SizeError, RuleError):
            continue
        if value.is_positive or value.is_negative:  # of a number that may be 0 neither is known
            found.setdefault(bool(value.is_positive), (tuple(point.items()), value))
        if len(found) == len((True, False)):
            points, values = zip(found[False], found[True], strict=True)
            return Points(points, values)
    return None


def _points(starts: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Return points in the box: first all corners of a coarse grid, then of a finer one."""
    names = sorted(starts)
    count = 2
    while count < len(STEPS) and (count + 1) ** len(names) <= MOST_POINTS:
        count += 1
    for steps in sorted(
        product(STEPS[:count], repeat=min(len(names), 9)), key=lambda one: prod(map(bool, one))
    ):
        padded = (*steps, *[1] * (len(names) - len(steps)))
        yield {name: starts[name] + step for name, step in zip(names, padded, strict=True)}
