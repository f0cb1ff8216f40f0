"""Random conditions in one unknown, solved, against brute force that shares nothing with the solver.

Each condition is made as a tree, written as text for the solver, and worked out here at each integer with
fractions and numbers of many digits. A value is missing as soon as one part has none: a divisor that is 0, a
root of less than 0, a logarithm of what is not above 0.

    python benchmarks/solve_fuzz.py --count 2000 --seed 1
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from fractions import Fraction
from typing import Any

from mpmath import mp

from symacct.errors import SymacctError
from symacct.planning.solve import solve

TRIED = 260
FAR = (500, 999, 1000, 1024, 4096, 10**4, 10**5 + 1, 10**6, 10**9)
RELATIONS = ("<=", ">=", "<", ">", "=")
DIGITS, SECONDS = 80, 20
TINY = mp.mpf(10) ** -50
Tree = tuple[Any, ...]


class NoValue(Exception):  # noqa: N818 (a value is missing, which is no error)
    """A part has no real value."""


# ---- conditions ----


def number(r: random.Random) -> Tree:
    """Return a number."""
    return ("n", Fraction(r.randint(1, 60), r.choice((1, 1, 1, 2, 3, 4))))


def linear(r: random.Random) -> Tree:
    """Return ``x + c``, ``c - x`` or a multiple of x."""
    x: Tree = ("x",)
    return r.choice((
        ("+", x, number(r)), ("-", number(r), x), ("-", x, number(r)), ("*", number(r), x), x,
        ("-", number(r), ("*", number(r), x)),
    ))  # fmt: skip


def tree(r: random.Random, depth: int, kinds: str) -> Tree:
    """Return a random formula of x."""
    if depth <= 0:
        return r.choice((linear(r), linear(r), number(r), ("x",)))
    form = r.choice(kinds)
    if form in "+-*":
        return (form, tree(r, depth - 1, kinds), tree(r, depth - 2, kinds))
    if form == "/":
        return ("/", tree(r, depth - 1, kinds), linear(r))
    if form in "sla|cf":
        return (form, tree(r, depth - 1, kinds))
    if form in "mM":
        return (form, tree(r, depth - 1, kinds), tree(r, depth - 2, kinds))
    return ("^", linear(r), r.choice((2, 2, 3)))


def written(part: Tree) -> str:
    """Return a formula as text."""
    form, *parts = part
    if form == "n":
        return str(parts[0]) if parts[0].denominator == 1 else f"({parts[0]})"
    if form == "x":
        return "x"
    if form == "^":
        return f"({written(parts[0])})^{parts[1]}"
    if form in "+-*/":
        return f"(({written(parts[0])}) {form} ({written(parts[1])}))"
    name = {
        "s": "sqrt",
        "l": "log",
        "a": "abs",
        "|": "abs",
        "c": "ceil",
        "f": "floor",
        "m": "min",
        "M": "max",
    }
    return f"{name[form]}({', '.join(map(written, parts))})"


# ---- brute force ----


def value(part: Tree, x: Fraction) -> Any:
    """Return the value of a formula.

    Raises:
        NoValue: a part has none.
    """
    form, *parts = part
    if form == "n":
        return parts[0]
    if form == "x":
        return x
    if form == "^":
        return value(parts[0], x) ** parts[1]
    found = [value(one, x) for one in parts]
    return OPERATIONS[form](*found)


def number_of(one: Any) -> Any:
    """Return a value as a number of many digits."""
    return mp.mpf(one.numerator) / one.denominator if isinstance(one, Fraction) else one


def sign(one: Any) -> int:
    """Return the sign of a value."""
    if isinstance(one, Fraction):
        return (one > 0) - (one < 0)
    return 0 if abs(one) < TINY else 1 if one > 0 else -1


def both(operation: Any) -> Any:
    """Return an operation of fractions, or of numbers where one of two is none."""

    def made(one: Any, other: Any) -> Any:
        if isinstance(one, Fraction) and isinstance(other, Fraction):
            return operation(one, other)
        return operation(number_of(one), number_of(other))

    return made


def divided(one: Any, other: Any) -> Any:
    """Return a quotient."""
    if sign(other) == 0:
        raise NoValue
    return both(lambda a, b: a / b)(one, other)


def root(one: Any) -> Any:
    """Return a square root, a fraction where it is one."""
    if sign(one) < 0:
        raise NoValue
    if sign(one) == 0:
        return Fraction(0)
    if isinstance(one, Fraction):
        parts = [int(mp.floor(mp.sqrt(n) + mp.mpf("0.5"))) for n in (one.numerator, one.denominator)]
        if parts[0] ** 2 == one.numerator and parts[1] ** 2 == one.denominator:
            return Fraction(*parts)
    return mp.sqrt(number_of(one))


def logarithm(one: Any) -> Any:
    """Return a logarithm."""
    if sign(one) <= 0:
        raise NoValue
    return Fraction(0) if one == 1 else mp.log(number_of(one))


def rounded(one: Any, *, up: bool) -> Any:
    """Return the next integer."""
    if isinstance(one, Fraction):
        return Fraction(-(-one.numerator // one.denominator) if up else one.numerator // one.denominator)
    near = mp.nint(one)
    if abs(one - near) < TINY:
        return Fraction(int(near))
    return Fraction(int(mp.ceil(one) if up else mp.floor(one)))


def chosen(one: Any, other: Any, way: int) -> Any:
    """Return the larger of two values, or the smaller one."""
    return one if sign(both(lambda a, b: a - b)(one, other)) * way >= 0 else other


OPERATIONS: dict[str, Any] = {
    "+": both(lambda a, b: a + b), "-": both(lambda a, b: a - b), "*": both(lambda a, b: a * b),
    "/": divided, "s": root, "l": logarithm, "a": abs, "|": abs,
    "c": lambda one: rounded(one, up=True), "f": lambda one: rounded(one, up=False),
    "m": lambda a, b: chosen(a, b, -1), "M": lambda a, b: chosen(a, b, 1),
}  # fmt: skip


def holds(left: Tree, relation: str, right: Tree, x: Fraction) -> bool:
    """Say whether a condition holds at a value of x."""
    try:
        found = sign(both(lambda a, b: a - b)(value(left, x), value(right, x)))
    except NoValue:
        return False
    return {"<=": found <= 0, ">=": found >= 0, "<": found < 0, ">": found > 0, "=": found == 0}[relation]


# ---- one case ----

DEMANDS = (
    ((), lambda _: True),
    (("x <= {a}",), lambda x, a: x <= a),
    (("x >= {a}",), lambda x, a: x >= a),
    (("{a} | x",), lambda x, a: x % a == 0),
    (("x | {a}",), lambda x, a: a % x == 0),
    (("x < {a}", "x > 3"), lambda x, a: 3 < x < a),
    (("2*x <= {a}", "3 | x"), lambda x, a: 2 * x <= a and x % 3 == 0),
)  # fmt: skip


def demanded(r: random.Random) -> tuple[list[str], Any]:
    """Return assumptions, and what says whether an integer satisfies them."""
    texts, test = r.choice(DEMANDS) if r.random() < 0.4 else DEMANDS[0]
    a = r.choice((2, 4, 7, 12, 30, 60, 100))
    return [one.format(a=a) for one in texts], (lambda x: test(x, a) if texts else True)


def case(seed: int) -> tuple[str, str]:
    """Solve one random condition; return what came of it, and what was wrong."""
    r = random.Random(seed)
    kinds = r.choice(
        ("+-*", "+-*s", "+-s/", "+-s|", "+-mM/", "+-cf*", "+-l", "+-*/s^", "+-scM", "+-*^|/", "-ls/")
    )
    left, right = tree(r, r.randint(1, 3), kinds), tree(r, r.randint(0, 2), kinds)
    relation = r.choice(RELATIONS)
    if r.random() < 0.2:
        right = number(r)
    if "x" not in written(left) + written(right):
        return "no unknown", ""
    text = f"{written(left)} {relation} {written(right)}"
    if r.random() < 0.5:
        assumed, test = demanded(r)
        return whole(text, left, relation, right, assumed, test)
    return real(text, left, relation, right, r)


def whole(
    text: str, left: Tree, relation: str, right: Tree, assumed: list[str], test: Any
) -> tuple[str, str]:
    """Compare the integers of an answer with those of brute force."""
    try:
        found = solve(None, text, "x", integer=True, assume=assumed, seconds=SECONDS)
    except ValueError as error:
        return f"not read: {str(error)[-20:]}", ""
    except SymacctError as error:
        if "no sizes satisfy" in error.what:
            some = any(test(x) for x in range(1, TRIED))
            return "empty", f"{text} with {assumed}: said to be empty" if some else ""
        return f"refused: {error.what[:50]}", ""
    ranges = found.ranges
    if found.kind in ("every", "none") and not ranges:
        ranges = ((1, None),) if found.kind == "every" else ()
    for x in (*range(1, TRIED), *FAR):
        ours = any(first <= x and (last is None or x <= last) for first, last in ranges) and test(x)
        if ours != (test(x) and holds(left, relation, right, Fraction(x))):
            return "wrong", f"{text} with {assumed}: {found.kind} {found.ranges} {found.reason}, at x = {x}"
    for first, last in ranges:
        if not test(first) or (last is not None and not test(last)):
            return "wrong", f"{text} with {assumed}: {found.ranges}, an end is none of those assumed"
    return f"integers: {found.kind}", _wrong_check(found, left, relation, right, text)


def _wrong_check(found: Any, left: Tree, relation: str, right: Tree, text: str) -> str:
    for one in found.checks:
        if one.left is not None and one.at.is_Rational:
            at = Fraction(int(one.at.p), int(one.at.q))
            if one.holds != holds(left, relation, right, at):
                return f"{text}: the check at {at} says {one.holds}"
    return ""


def real(text: str, left: Tree, relation: str, right: Tree, r: random.Random) -> tuple[str, str]:
    """Compare the intervals of an answer with random rational numbers, and with integers."""
    try:
        found = solve(None, text, "x", seconds=SECONDS)
    except ValueError as error:
        return f"not read: {str(error)[-20:]}", ""
    except SymacctError as error:
        return f"refused: {error.what[:50]}", ""
    if found.asked.rounds or found.ranges:
        return whole(text, left, relation, right, [], lambda _: True)
    points = [Fraction(x) for x in (*range(1, 80), *FAR)]
    points += [Fraction(r.randint(1, 900), r.choice((2, 3, 7, 10, 11))) for _ in range(120)]
    points += [
        end.low + Fraction(way, 10**6)
        for span in found.spans for end in (span.low, span.high) if end is not None and end.rational
        for way in (-1, 0, 1)
    ]  # fmt: skip
    for x in points:
        if x <= 0:
            continue
        ours = found.kind == "every" or any(_inside(span, x) for span in found.spans)
        if ours != holds(left, relation, right, x):
            return "wrong", f"{text}: {found.kind} {[_said(one) for one in found.spans]}, at x = {x}"
    return f"reals: {found.kind}", ""


def _inside(span: Any, x: Fraction) -> bool:
    low = -1 if span.low is None else span.low.compared(x)
    high = 1 if span.high is None else span.high.compared(x)
    return (low < 0 or (low == 0 and span.low_in)) and (high > 0 or (high == 0 and span.high_in))


def _said(span: Any) -> str:
    low, high = ("" if end is None else f"{float(end.close().low):.6g}" for end in (span.low, span.high))
    return f"{'[' if span.low_in else '('}{low}, {high}{']' if span.high_in else ')'}"


def main() -> int:
    """Run cases; print what came of them, and each that is wrong."""
    mp.dps = DIGITS
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", default="", help="print the seeds of cases whose outcome has these words")
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    wrong = 0
    for seed in range(given.seed, given.seed + given.count):
        kind, said = case(seed)
        counts[kind] += 1
        if given.show and given.show in kind:
            print(f"seed {seed}: {kind}")
        if said:
            wrong += 1
            print(f"seed {seed}: {said}")
    for kind, count in sorted(counts.items()):
        print(f"{count:7}  {kind}")
    print(f"{wrong:7}  wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
