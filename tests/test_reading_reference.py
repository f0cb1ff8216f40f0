"""The reader of words beside a slow one that tries every reading: the same words, or both refuse."""

from __future__ import annotations

import random

import pytest
from reading_reference import UNITS, read

from symacct.claims.statement import Statement
from symacct.errors import SymacctError

WORDS = [
    "n",
    "m",
    "B",
    "k",
    "D",
    "s",
    "h",
    "BD",
    "nm",
    "GB",
    "ms",
    "byte",
    "token",
    "heads",
    "exp",
    "sqrt",
    "d_f",
]
NUMBERS = ["2", "12", "9", "80", "1e3", "0.5"]
JOINTS = ["*", " * ", " ", " ", "/", " + ", "-", "+"]


def formula(chance, size):
    """A random formula; not all of them can be parsed, but all can be cut into words."""
    parts = []
    for place in range(size):
        if place:
            parts.append(chance.choice(JOINTS))
        piece = chance.choice(WORDS)
        if chance.random() < 0.45:
            piece = chance.choice(NUMBERS) + chance.choice(["", "", " ", "*"]) + piece
        if chance.random() < 0.05:
            piece = chance.choice(["70B token", "4k byte", "2M token", "9B", "2k"])
        if piece.endswith(("sqrt", "exp")) or chance.random() < 0.04:
            piece += f"({chance.choice(['n', 'B', '2'])})"
        elif chance.random() < 0.15:
            piece += "^2"
        if chance.random() < 0.06:
            piece = f"({piece} + 1)" + chance.choice(["", " s", " GB", " h", "*n", " n"])
        parts.append(piece)
    return "".join(parts)


def statement(chance):
    """A random statement of a few words, the names declared in it, and whether there is no graph."""
    left, right = formula(chance, chance.randint(1, 2)), formula(chance, chance.randint(1, 2))
    free = chance.random() < 0.6
    declared = {word for word in WORDS if word not in UNITS | {"sqrt", "exp"} and chance.random() < 0.3}
    declared |= {word for word in ("s", "h") if chance.random() < 0.2}
    return f"{left} = {right}", frozenset(declared), free


def by_reader(text, declared, *, free):
    """How the reader reads each word of a statement; None where it refuses."""
    left, right = text.split(" = ")
    found = Statement(declared, (), free=free)
    parts = [found.part(left, left), found.part(right, right)]
    try:
        found.share(text)
        readings = []
        for one in parts:
            one.run()
            readings += kinds(one)
    except SymacctError:
        return None
    return readings


def kinds(one):
    """The kind of each word of a part, by the tokens that stand at its place."""
    found = []
    for raw in one.raws:
        if raw.kind != "word":
            continue
        first, last = one.source.start(raw.place), one.source.end(raw.end)
        inside = [token for token in one.tokens if first <= token.start < token.end <= last]
        kind = "suffix" if not inside else "product" if len(inside) > 1 else inside[0].kind
        found.append(kind)
    return found


def beside(chance):
    """A statement read by both, if they differ."""
    text, declared, free = statement(chance)
    expected, found = read(text, declared, free=free), by_reader(text, declared, free=free)
    return None if expected == found else (text, sorted(declared), free, expected, found)


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(8))
def test_every_reading_is_tried(seed):
    """Hundreds of statements each: one admissible reading is the one; none or several are refused."""
    chance = random.Random(seed)
    differ = [one for one in (beside(chance) for _ in range(400)) if one]
    assert not differ, differ[:3]


def test_the_statements_are_of_all_kinds():
    """Many are read, many are refused, and every kind of word is among those that are read."""
    chance = random.Random(99)
    seen = [
        read(text, declared, free=free) for text, declared, free in (statement(chance) for _ in range(500))
    ]
    assert {"name", "product", "unit", "suffix", "function"} <= {kind for one in seen if one for kind in one}
    assert 100 < sum(one is None for one in seen) < 400
