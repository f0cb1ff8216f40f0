"""Witnesses operand by operand: what is the largest or least of several is taken apart.

``max(a, b) <= f`` is shown for each operand; of ``max(a, b) >= f`` one operand is enough, which is chosen
by trying the difference at a few sizes. What is left has no max or min.
"""

from __future__ import annotations

from math import ceil, comb, factorial, floor, log, prod, sqrt
from typing import TYPE_CHECKING, Any

from symacct import kernel
from symacct.algebra.budget import check_time
from symacct.proof.prefix import number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symacct.kernel import Box, Ratio
    from symacct.proof.witness import Finder

MOST_SPLITS, CLOSE = 300, 1e-9
Point = dict[str, float]
MADE = {"floor": floor, "ceil": ceil, "sqrt": sqrt, "log": log}


class TooManyError(Exception):
    """There are too many pairs of operands."""


def apart(finder: Finder, value: Ratio, *, strict: bool) -> dict[str, Any] | None:
    """Return a witness of a fraction with a max or min, or None."""
    work = _Splits(finder, strict=strict)
    try:
        return work.witness(value)
    except TooManyError:
        return None


class _Splits:
    def __init__(self, finder: Finder, *, strict: bool) -> None:
        self.finder, self.strict, self.left = finder, strict, MOST_SPLITS
        self.failed: set[str] = set()

    def witness(self, value: Ratio) -> dict[str, Any] | None:
        """Return a witness that a fraction is at least 0: by all operands, or by one that is enough."""
        check_time()
        self.left -= 1
        if self.left < 0:
            raise TooManyError
        if not self._tried(value):
            return None
        signs = _signs(self.finder, value)
        if not signs:
            return self._leaf(value)
        for name, helps in signs:
            if not helps:
                return self._all(value, name)
        return self._one(value, signs[0][0])

    def _leaf(self, value: Ratio) -> dict[str, Any] | None:
        key = kernel.unique(value)
        if key in self.failed:
            return None
        found = self.finder.find(value, strict=self.strict, depth=1)
        if found is None:
            self.failed.add(key)
        return found

    def _all(self, value: Ratio, name: str) -> dict[str, Any] | None:
        if any(g == name for m in value[1] for g, _ in m):
            return None
        word, each = self.finder.words[name], []
        for operand in word[1:]:
            found = self.witness(self.finder.replaced(value, name, operand))
            if found is None:
                return None
            each.append(found)
        return {"kind": "cases", "atom": word, "each": each}

    def _one(self, value: Ratio, name: str) -> dict[str, Any] | None:
        word, finder = self.finder.words[name], self.finder
        slope: Ratio = (
            {tuple(p for p in m if p[0] != name): c for m, c in value[0].items() if name in dict(m)},
            value[1],
        )  # fmt: skip
        slope = slope if word[0] == "max" else finder.box.negative(slope)
        if not finder.box.sure(slope):
            return None
        times: Any = finder.written(slope[0])
        times = times if value[1] == kernel.ONE else ["/", times, finder.written(value[1])]
        for side, operand in enumerate(word[1:]):
            rest = self.witness(finder.replaced(value, name, operand))
            if rest is not None:
                term = {"times": times, "factors": [{"atom": word, "side": str(side)}]}
                return {"kind": "sum", "scale": number(1), "terms": [term], "rest": rest}
        return None

    def _tried(self, value: Ratio) -> bool:
        """Say whether it is at least 0 at a few sizes."""
        for point in self.finder.points:
            found = value_at(self.finder.box, value, point)
            if found is not None and found < -CLOSE:
                return False
        return True


def _signs(finder: Finder, value: Ratio) -> list[tuple[str, bool]]:
    """Return the max and min in a fraction, the short ones first, and whether one operand is enough."""
    found: dict[str, set[bool]] = {}
    for m, c in value[0].items():
        for g, power in m:
            head = finder.words[g][0]
            if head in {"max", "min"}:
                found.setdefault(g, set()).add((c > 0) == (head == "max") and power == 1)
    order = sorted(found, key=lambda g: (len(finder.words[g]), g))
    return [(g, found[g] == {True}) for g in order]


def value_at(box: Box, value: Ratio, point: Mapping[str, float]) -> float | None:
    """Return about what a fraction is at sizes, relative to its terms; None where it has no value there."""
    try:
        tops = [float(c) * prod(generator_at(box, g, point) ** e for g, e in m) for m, c in value[0].items()]
        scale = max(map(abs, tops), default=0.0)
        return sum(tops) / scale if scale else 0.0
    except (ValueError, ZeroDivisionError, OverflowError, KeyError):
        return None


def generator_at(box: Box, name: str, point: Mapping[str, float]) -> float:
    """Return about what a variable or an atom is at sizes."""
    if name not in box.made:
        return point[name]
    head, parts = box.made[name]
    values = [fraction_at(box, part, point) for part in parts]
    if head in {"max", "min"}:
        return max(values) if head == "max" else min(values)
    if head in {"binomial", "factorial"}:
        whole = [round(one) for one in values]
        return float(comb(*whole) if head == "binomial" and whole[1] >= 0 else factorial(whole[0]))
    return float(MADE[head](values[0]))


def fraction_at(box: Box, value: Ratio, point: Mapping[str, float]) -> float:
    """Return about what a fraction is at sizes."""
    sums = [
        sum(float(c) * prod(generator_at(box, g, point) ** e for g, e in m) for m, c in poly.items())
        for poly in value
    ]
    return sums[0] / sums[1]


def points_of(given: Sequence[Mapping[str, int]], left_open: Mapping[str, Any]) -> list[Point]:
    """Return sizes with what hypotheses leave open at them."""
    found: list[Point] = []
    for sizes in given:
        point: Point = {name: float(size) for name, size in sizes.items()}
        exact = {name: kernel.value_at(str(size), {}, kernel.Meter())[0] for name, size in sizes.items()}
        try:
            for name, word in left_open.items():
                point[name] = float(kernel.value_at(word, exact, kernel.Meter())[0])
        except kernel.Refused:
            continue
        found.append(point)
    return found
