"""A small exact linear program: weights of at least 0 that keep every coefficient at least 0."""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm

Row = dict[int, int]
Column = dict[object, Fraction]
RIGHT, ARTIFICIAL = -1, -2
MOST_PIVOTS, MOST_ENTRIES, LARGEST, MOST_PASSES = 250, 40_000, 4_000, 20


def weights(columns: list[Column], target: Column) -> list[Fraction] | None:
    """Return w >= 0 with ``sum(w * column) >= target`` in every row, or None where none is found.

    What plainly needs no weight is left out first. Then the first phase of the simplex method: rows are
    sparse and of integers, each known up to a positive factor; the first column that gains enters (Bland's
    rule), so that it ends, and how rows and columns are scaled does not matter.

    >>> one = Fraction(1)
    >>> weights([{"a": 2 * one}, {"a": -one, "b": one}], {"a": one, "b": one})
    [Fraction(1, 1), Fraction(1, 1)]
    """
    kept = _needed(columns, target)
    if kept is None:
        return None
    names, places = kept
    found = _solved(
        [{name: value for name, value in columns[place].items() if name in names} for place in places],
        {name: target.get(name, Fraction(0)) for name in names},
    )
    if found is None:
        return None
    weight = dict(zip(places, found, strict=True))
    return [weight.get(place, Fraction(0)) for place in range(len(columns))]


def _needed(columns: list[Column], target: Column) -> tuple[dict[object, None], list[int]] | None:
    """Return the rows and columns that are left to be weighed; None where no weights will do.

    A row that asks for no more than 0 and has no negative entry holds; one that asks for 0 and has no
    positive entry leaves weight 0 to its columns, and one that asks for more cannot be met. A column without
    a positive entry needs no weight.
    """
    names: dict[object, None] = dict.fromkeys([*target, *(name for column in columns for name in column)])
    places = list(range(len(columns)))
    for _ in range(MOST_PASSES):
        rows: dict[object, dict[int, Fraction]] = {name: {} for name in names}
        for place in places:
            for name, value in columns[place].items():
                if value and name in rows:
                    rows[name][place] = value
        barred: set[int] = set()
        for name, row in rows.items():
            asked, gains = target.get(name, 0), any(value > 0 for value in row.values())
            if asked > 0 and not gains:
                return None
            if asked <= 0 and not any(value < 0 for value in row.values()):
                del names[name]
            elif asked == 0 and not gains:
                barred.update(row)
        gaining = {place for name in names for place, value in rows[name].items() if value > 0}
        left = [place for place in places if place in gaining and place not in barred]
        if len(left) == len(places) and len(names) == len(rows):
            break
        places = left
    return names, places


def _solved(columns: list[Column], target: Column) -> list[Fraction] | None:
    """Return the weights that the simplex method finds."""
    rows, basis = _table(columns, target)
    if sum(map(len, rows)) > MOST_ENTRIES:
        return None
    goal: Row = {}
    for row, inside in zip(rows, basis, strict=True):
        if inside == ARTIFICIAL:
            for at, value in row.items():
                goal[at] = goal.get(at, 0) + value
    for _ in range(MOST_PIVOTS):
        if all(row.get(RIGHT, 0) == 0 for row, one in zip(rows, basis, strict=True) if one == ARTIFICIAL):
            return _values(rows, basis, len(columns))
        place = _enter(rows, basis, goal)
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


def _table(columns: list[Column], target: Column) -> tuple[list[Row], list[int]]:
    """Return the rows with a surplus each, right sides of at least 0, and what is in the basis."""
    found: dict[object, dict[int, Fraction]] = {name: {} for name in target}
    for j, column in enumerate(columns):
        for name, value in column.items():
            if value:
                found[name][j] = value
    rows, basis = [], []
    for at, (name, row) in enumerate(found.items()):
        right, surplus = target[name], len(columns) + at
        scale = lcm(right.denominator, *(value.denominator for value in row.values()))
        sign = scale if right > 0 else -scale
        whole = {j: int(value * sign) for j, value in row.items()}
        rows.append({**whole, surplus: -sign, **({RIGHT: int(right * sign)} if right else {})})
        basis.append(ARTIFICIAL if right > 0 else surplus)
    return rows, basis


def _enter(rows: list[Row], basis: list[int], goal: Row) -> tuple[int, int] | None:
    """Return which row leaves the basis and which column enters it."""
    entering = min((at for at, value in goal.items() if at >= 0 and value > 0), default=None)
    if entering is None:
        return None
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
