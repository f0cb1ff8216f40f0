"""A small exact linear program: weights of at least 0 that keep every coefficient at least 0."""

from __future__ import annotations

from fractions import Fraction

Row = list[Fraction]
MOST_PIVOTS, MOST_CELLS = 150, 40_000


def weights(columns: list[dict[object, Fraction]], target: dict[object, Fraction]) -> list[Fraction] | None:
    """Return w >= 0 with ``sum(w * column) >= target`` in every row, or None where none is found.

    The first phase of the simplex method, over fractions, with Bland's rule so that it ends.

    >>> one = Fraction(1)
    >>> weights([{"a": 2 * one}, {"a": -one, "b": one}], {"a": one, "b": one})
    [Fraction(1, 1), Fraction(1, 1)]
    """
    names = list(dict.fromkeys([*target, *(name for column in columns for name in column)]))
    count, height = len(columns), len(names)
    if height * (count + 2 * height) > MOST_CELLS:
        return None
    table = [_row(name, place, columns, target, height) for place, name in enumerate(names)]
    basis = [count + place if row[-2] == 0 else count + height + place for place, row in enumerate(table)]
    rows = [[*row[:-2], row[-1]] for row in table]
    for _ in range(MOST_PIVOTS):
        artificial = [place for place, name in enumerate(basis) if name >= count + height]
        if all(rows[place][-1] == 0 for place in artificial):
            found = [Fraction(0)] * count
            for place, name in enumerate(basis):
                if name < count:
                    found[name] = rows[place][-1]
            return found
        gains = (sum((rows[p][j] for p in artificial), Fraction(0)) for j in range(count + height))
        entering = next((j for j, gain in enumerate(gains) if gain > 0 and j not in basis), None)
        if entering is None:
            return None
        ratios = [
            (rows[p][-1] / rows[p][entering], basis[p], p) for p in range(height) if rows[p][entering] > 0
        ]
        if not ratios:
            return None
        _pivot(rows, min(ratios)[2], entering)
        basis[min(ratios)[2]] = entering
    return None


def _row(
    name: object,
    place: int,
    columns: list[dict[object, Fraction]],
    target: dict[object, Fraction],
    height: int,
) -> Row:
    """Return one row: weights, surplus variables, whether it needs an artificial one, right side."""
    right = target.get(name, Fraction(0))
    sign = 1 if right > 0 else -1
    surplus = [Fraction(-sign if j == place else 0) for j in range(height)]
    cells = [sign * column.get(name, Fraction(0)) for column in columns]
    return [*cells, *surplus, Fraction(int(right > 0)), abs(right)]


def _pivot(rows: list[Row], place: int, column: int) -> None:
    scale = rows[place][column]
    rows[place] = [cell / scale for cell in rows[place]]
    for other, row in enumerate(rows):
        if other != place and row[column]:
            factor = row[column]
            rows[other] = [a - factor * b for a, b in zip(row, rows[place], strict=True)]
