"""Random small models as text, and what they cost by walking through every turn with fractions.

The walk shares nothing with the engine: sizes are Python fractions, formulas are evaluated by Python.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from random import Random
from typing import TYPE_CHECKING

from symacct import Builder

if TYPE_CHECKING:
    from collections.abc import Callable

    from symacct.build.scope import Var
    from symacct.nodes import Graph

SIZES = ("B", "D", "E", "F", "L")
PLAIN = (
    "{a}", "{a} + {n}", "{a} - {n}", "{n}*{a}", "{a}/2", "{a}/3", "{a}*{b}", "({a} + {b})/2", "{a} - {b}",
    "{a}/{b}", "{a}/({b} - 1)", "{a}*({a} + 1)/2", "ceil({a}/2)", "2*{a} - {b}", "({a} - 1)/2",
    "min({a}, {b})", "{a}/(5 - {b})", "({a} - {n})/({b} + 1)", "{a}*{b} - {n}", "max({a} - {n}, 1)", "3",
)  # fmt: skip
INDEXED = (
    "{i} + 1", "{a} - {i}", "{a} + {i}", "{n}*{i} + {a}", "{a} - {n}*{i}", "2*{i} - {a}", "{a}*({i} + 1)",
    "({a} - {b})*{i} + {n}", "{i}*({i} + 1)/2 + 1", "{a}/2 + {i}", "{i}*({a} - {i}) + 1", "{i}*{a}/{b} + 1",
    "{i}/2 + 1", "{a} - {i}**2", "{i}",
)  # fmt: skip
NESTED = ("{j} - {k} + 1", "{a} - {j} - {k}", "{a} - {k} + {j}")


class NoCountError(Exception):
    """A count would be negative or fractional."""


@dataclass
class Walk:
    """What a program costs at sizes."""

    env: dict[str, Fraction]
    params: int = 0
    matmul: int = 0
    tanh: int = 0
    empty: bool = False
    short: bool = False
    around: list[int] = field(default_factory=list)

    def count(self, text: str, least: int) -> int:
        """Return a count; refuse one that is none."""
        return self.whole(value(text, self.env), least)

    @staticmethod
    def whole(found: Fraction, least: int) -> int:
        if found.denominator != 1 or found < least:
            raise NoCountError(str(found))
        return int(found)


def value(text: str, env: dict[str, Fraction]) -> Fraction:
    """Return a formula's value, by Python."""
    python = re.sub(r"(?<![\w.])(\d+)", r"Fraction(\1)", text)
    try:
        return Fraction(eval(python, {"Fraction": Fraction, "ceil": ceil, "min": min, "max": max} | env))  # noqa: S307
    except ZeroDivisionError:
        raise NoCountError(text) from None


class Writing:
    """A program in the words of the builder; sizes stay symbols, or integers stand in their place."""

    def __init__(self, program: Program, sizes: dict[str, int] | None) -> None:
        self.program = program
        self.sizes = sizes
        self.made = 0
        self.b = Builder("random", dict.fromkeys(SIZES if sizes is None else ("Z",), "a size"))

    def graph(self) -> Graph:
        x = self.b.input("x", "B X", B=self.put("B"), X=self.put(self.program.width))
        return self.b.build(self.run(self.program.steps, x))

    def put(self, text: str) -> str:
        """Return a formula as the builder reads it."""
        if self.sizes is not None:
            text = re.sub(r"\b([BDEFL])\b", lambda m: f"({self.sizes[m[1]]})", text)
        return text.replace("**", "^")

    def name(self, letter: str) -> str:
        self.made += 1
        return f"{letter}{self.made}"

    def run(self, steps: list, x: Var) -> Var:
        for kind, *rest in steps:
            if kind in ("repeat", "causal"):
                x = getattr(self, kind)(x, *rest)
            else:
                x = self.there(x, getattr(self, kind), *rest)
        return x

    def repeat(self, x: Var, count: str, index: str, body: list) -> Var:
        name = self.name("r")
        return self.b.repeat(self.put(count), lambda _, x: self.run(body, x), x, name=name, index=index)

    def there(self, x: Var, word: Callable[..., Var], size: str, *rest: str) -> Var:
        """Turn x into another axis by a weight, hand it to a word, and turn what is left back."""
        width = self.put(self.program.width)
        w = self.b.weight(self.name("in"), "X Y", X=width, Y=self.put(size))
        left = word(self.b.einsum("B X, X Y -> B Y", x, w), *map(self.put, rest))
        back = self.b.weight(self.name("out"), "Y X", Y=left.dims[1], X=width)
        return self.b.einsum("B Y, Y X -> B X", left, back)

    def tanh(self, y: Var) -> Var:
        return self.b.tanh(y)

    def slice(self, y: Var, start: str, stop: str) -> Var:
        return self.b.slice(y, "Y", start, stop)

    def topk(self, y: Var, k: str) -> Var:
        return self.b.topk(y, "Y", k, "k")[0]

    def split(self, y: Var, by: str) -> Var:
        return self.b.reduce("B h k -> B k", self.b.rearrange("B (h k) -> B h k", y, h=by))

    def rotary(self, y: Var) -> Var:
        tables = [self.b.constant(self.name("t"), "B Y", B=y.dims[0], Y=y.dims[1]) for _ in "cs"]
        return self.b.rotary(y, *tables, axis="Y", positions="B")

    def causal(self, x: Var, rows: str, cols: str, window: str | None) -> Var:
        b = self.b
        q = b.weight(self.name("q"), "S K", S=self.put(rows), K=2)
        k = b.weight(self.name("k"), "T K", T=self.put(cols), K=2)
        mask = b.causal("S", "T", window=None if window is None else self.put(window))
        scores = b.einsum("S K, T K -> S T", q, k, mask=mask)
        return b.tanh(x) * b.reduce("S T -> ", b.tanh(scores))


class Program:
    """A random model: a list of steps over one tensor [B, axis]."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.names = 0
        self.steps = [self.step(()) for _ in range(self.random.choice((1, 1, 2, 3)))]
        self.width = self.formula(())

    # ---- making ----

    def formula(self, indices: tuple[str, ...], *, small: bool = False) -> str:
        """Return a formula that often is a count."""
        r = self.random
        known = dict(zip("ab", r.sample(SIZES[1:], 2), strict=True)) | {"n": r.randint(1, 4)}
        shapes = PLAIN[:10] if small and not indices else PLAIN
        if indices and r.random() < 0.7:
            shapes = INDEXED + (2 * NESTED if len(indices) > 1 else ())
            known |= {"i": r.choice(indices), "j": indices[0], "k": indices[-1]}
        return r.choice(shapes).format(**known)

    def step(self, indices: tuple[str, ...]) -> tuple:
        r = self.random
        kinds = ["tanh", "slice", "split", "topk", "rotary", "causal"]
        kinds += ["repeat"] * (3 if len(indices) < 2 else 0)
        kind = r.choice(kinds)
        if kind == "repeat":
            index = f"{'ijk'[len(indices)]}{self.fresh()}"
            body = [self.step((*indices, index)) for _ in range(r.choice((1, 1, 2)))]
            return ("repeat", self.formula(indices), index, body)
        if kind == "slice":
            start = r.choice(("0", "0", self.formula(indices, small=True)))
            return ("slice", self.formula(indices), start, self.formula(indices, small=True))
        if kind == "topk":
            return ("topk", self.formula(indices), self.formula(indices))
        if kind == "split":
            return ("split", self.formula(indices), self.formula(indices))
        if kind == "causal":
            window = self.formula(indices) if r.random() < 0.5 else None
            return ("causal", self.formula(indices), self.formula(indices), window)
        return (kind, self.formula(indices))

    def fresh(self) -> int:
        self.names += 1
        return self.names

    def build(self, sizes: dict[str, int] | None = None) -> Graph:
        """Build the graph, with integers written in the place of sizes where they are given."""
        return Writing(self, sizes).graph()

    # ---- walking ----

    def walk(self, sizes: dict[str, int]) -> Walk:
        """Go through every turn; raise where a count is none."""
        w = Walk({name: Fraction(size) for name, size in sizes.items()})
        w.count(self.width, 1)
        self._walk(self.steps, w)
        return w

    def _walk(self, steps: list, w: Walk) -> None:
        for kind, *rest in steps:
            rows, width = int(w.env["B"]), w.count(self.width, 1)
            if kind == "repeat":
                self._repeat(rest, w)
            elif kind == "causal":
                self._causal(rest, w, rows * width)
            else:
                whole = w.count(rest[0], 1)
                left = self._left(kind, rest, whole, w)
                w.params += width * (whole + left)
                w.matmul += 2 * rows * width * (whole + left)
                w.tanh += rows * whole * (kind == "tanh")

    @staticmethod
    def _left(kind: str, rest: list, whole: int, w: Walk) -> int:
        if kind == "slice":
            start, stop = w.count(rest[1], 0), w.count(rest[2], 1)
            if not start < stop <= whole:
                raise NoCountError(f"{start}:{stop} of {whole}")
            return stop - start
        if kind == "topk":
            k = w.count(rest[1], 1)
            if k > whole:
                raise NoCountError(f"{k} of {whole}")
            return k
        if kind == "split":
            return w.whole(Fraction(whole) / w.count(rest[1], 1), 1)
        if kind == "rotary":
            w.whole(Fraction(whole, 2), 1)
        return whole

    @staticmethod
    def _causal(rest: list, w: Walk, elements: int) -> None:
        rows, cols = w.count(rest[0], 1), w.count(rest[1], 1)
        if rest[2] is not None:
            w.count(rest[2], 1)
        if cols < rows:
            raise NoCountError("more queries than keys")
        w.params += 2 * (rows + cols)
        w.matmul += 4 * rows * cols
        w.tanh += rows * cols + elements

    def _repeat(self, rest: list, w: Walk) -> None:
        count, index, body = rest
        turns = w.count(count, 0)
        w.empty |= turns == 0
        w.short |= turns <= 2
        for turn in range(turns):
            w.env[index] = Fraction(turn)
            self._walk(body, w)
        w.env.pop(index, None)
