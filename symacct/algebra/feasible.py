"""A small exact linear program: weights of at least 0 that keep every coefficient at least 0."""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm

Row = dict[int, int]
RIGHT, ARTIFICIAL = -1, -2
MOST_PIVOTS, MOST_ENTRIES, LARGEST, GREEDY = 250, 40_000, 4_000, 120


def weights(columns: list[dict[object, Fraction]], target: dict[object, Fraction]) -> list[Fraction] | None:
    """Return w >= 0 with ``sum(w * column) >= target`` in every row, or None where none is found.

    The first phase of the simplex method. Rows are sparse and of integers, each known up to a positive
    factor; what enters has the largest gain, and after a while the first that has one (Bland's rule), so
    that it ends.

    >>> one = Fraction(1)
    >>> weights([{"a": 2 * one}, {"a": -one, "b": one}], {"a": one, "b": one})
    [Fraction(1, 1), Fraction(1, 1)]
    """
    rows, basis = _table(columns, target)
    if sum(map(len, rows)) > MOST_ENTRIES:
        return None
    goal: Row = {}
    for row, inside in zip(rows, basis, strict=True):
        if inside == ARTIFICIAL:
            for at, value in row.items():
                goal[at] = goal.get(at, 0) + value
    for step in range(MOST_PIVOTS):
        if all(row.get(RIGHT, 0) == 0 for row, one in zip(rows, basis, strict=True) if one == ARTIFICIAL):
            return _values(rows, basis, len(columns))
        place = _enter(rows, basis, goal, greedy=step < GREEDY)
        if place is None or max(map(abs, rows[place[0]].values())).bit_length() > LARGEST:
            return None
        leaving, entering = place
        pivot = rows[leaving]
        for other, row in enumerate(rows):
            if other != leaving and row.get(entering):
                rows[other] = _without(row, pivot, entering)
        goal = _without(goal, pivot, entering)
        basis[leaving] = entering
    return None


def _table(
    columns: list[dict[object, Fraction]], target: dict[object, Fraction]
) -> tuple[list[Row], list[int]]:
    """Return the rows with a surplus each, right sides of at least 0, and what is in the basis."""
    names = list(dict.fromkeys([*target, *(name for column in columns for name in column)]))
    place = {name: at for at, name in enumerate(names)}
    found: list[dict[int, Fraction]] = [{} for _ in names]
    for j, column in enumerate(columns):
        for name, value in column.items():
            if value:
                found[place[name]][j] = value
    rows, basis = [], []
    for at, (name, row) in enumerate(zip(names, found, strict=True)):
        right, surplus = target.get(name, Fraction(0)), len(columns) + at
        scale = lcm(right.denominator, *(value.denominator for value in row.values()))
        sign = scale if right > 0 else -scale
        whole = {j: int(value * sign) for j, value in row.items()}
        rows.append({**whole, surplus: -sign, **({RIGHT: int(right * sign)} if right else {})})
        basis.append(ARTIFICIAL if right > 0 else surplus)
    return rows, basis


def _enter(rows: list[Row], basis: list[int], goal: Row, *, greedy: bool) -> tuple[int, int] | None:
    """Return which row leaves the basis and which column enters it."""
    gains = [(value, -at) for at, value in goal.items() if at >= 0 and value > 0]
    if not gains:
        return None
    entering = -max(gains)[1] if greedy else min(-at for _, at in gains)
    best: tuple[Fraction, int, int] | None = None
    for place, row in enumerate(rows):
        below = row.get(entering, 0)
        if below > 0:
            ratio = (Fraction(row.get(RIGHT, 0), below), basis[place], place)
            best = ratio if best is None or ratio < best else best
    return None if best is None else (best[2], entering)


def _without(row: Row, pivot: Row, column: int) -> Row:
    """Return a row less so much of the pivot that a column vanishes from it, in lowest integers."""
    up, down = pivot[column], row.get(column, 0)
    if not down:
        return row
    shared = gcd(up, down)
    up, down = up // shared, down // shared
    new = {at: up * value for at, value in row.items()}
    for at, value in pivot.items():
        left = new.get(at, 0) - down * value
        if left:
            new[at] = left
        else:
            new.pop(at, None)
    scale = gcd(*new.values()) if new else 1
    return {at: value // scale for at, value in new.items()} if scale > 1 else new


def _values(rows: list[Row], basis: list[int], count: int) -> list[Fraction]:
    found = [Fraction(0)] * count
    for row, inside in zip(rows, basis, strict=True):
        if 0 <= inside < count:
            found[inside] = Fraction(row.get(RIGHT, 0), row[inside])
    return found
