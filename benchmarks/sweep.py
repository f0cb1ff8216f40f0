"""A sweep of a 30-term formula over ten million points, beside the same formula written by hand in numpy."""

from __future__ import annotations

import resource
import time
from itertools import product

import numpy as np

from symacct.evaluation.arrays import compiled
from symacct.evaluation.sweep import sweep
from symacct.evaluation.sweep_cases import make_case

POWERS = list(product(range(1, 3), range(4), range(2), range(2)))[:30]
TERMS = [(2 + place, powers) for place, powers in enumerate(POWERS)]
NAMES = "BSDL"
GRID = {"B": range(1, 101), "S": range(128, 128 * 101, 128), "D": range(64, 64 * 101, 64), "L": range(2, 12)}


def text():
    return " + ".join(
        "*".join([str(c), *(f"{n}^{p}" for n, p in zip(NAMES, powers, strict=True) if p)])
        for c, powers in TERMS
    )


def by_hand(B, S, D, L):
    """Return the sum of the thirty terms as one writes it, products spelled out."""
    total = 0.0
    for c, (b, s, d, l) in TERMS:
        term = c * B
        for base, power in ((B, b - 1), (S, s), (D, d), (L, l)):
            for _ in range(power):
                term = term * base
        total = total + term
    return total


def columns():
    return [
        one.reshape(-1)
        for one in np.meshgrid(*(np.array(v, dtype=float) for v in GRID.values()), indexing="ij")
    ]


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def swept():
    total, count = 0.0, 0
    for block in sweep([make_case(None, [text()])], GRID):
        total += float(block.values[0].sum())
        count += len(block.values[0])
    return total, count


def hand_broadcast():
    axes = np.ix_(*(np.array(values, dtype=float) for values in GRID.values()))
    return float(by_hand(*axes).sum())


def hand_columns(points, size=1 << 16):
    total = 0.0
    for start in range(0, len(points[0]), size):
        total += float(by_hand(*(one[start : start + size] for one in points)).sum())
    return total


def compiled_columns(points, size=1 << 16):
    made = compiled(make_case(None, [text()]).columns[0].expr, np)
    total = 0.0
    for start in range(0, len(points[0]), size):
        total += float(
            made.step({n: one[start : start + size] for n, one in zip(NAMES, points, strict=True)}).sum()
        )
    return total


def main():
    seconds, (total, count) = min((timed(swept) for _ in range(3)), key=lambda one: one[0])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"sweep: {count:,} points in {seconds:.2f} s, peak memory of the process {peak:.0f} MiB")
    whole, other = min((timed(hand_broadcast) for _ in range(3)), key=lambda one: one[0])
    print(f"by hand, the whole grid broadcast: {whole:.2f} s; ratio {seconds / whole:.2f}")
    print(f"the two sums differ by {abs(total / other - 1):.1e} of one")
    points = columns()
    plain, _ = min((timed(lambda: hand_columns(points)) for _ in range(2)), key=lambda one: one[0])
    print(f"by hand, a column for each size, in blocks: {plain:.2f} s; ratio {seconds / plain:.2f}")
    nested, _ = min((timed(lambda: compiled_columns(points)) for _ in range(2)), key=lambda one: one[0])
    print(f"the compiled formula on the same columns: {nested:.2f} s; ratio {nested / plain:.2f}")


if __name__ == "__main__":
    main()
