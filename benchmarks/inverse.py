"""Prints random formulas in each notation, reads them back, and compares what they come to.

A formula has every form of the language: numbers, names of any kind, quantities, amounts, sums, products,
quotients, powers, roots, functions. It is read with its names declared, others beside them, and again as a
claim without a graph where its names can be told apart there. What is read must be the same in normal form,
and at exact points by the arithmetic written here.

Run with a number of formulas and a seed: ``python benchmarks/inverse.py 20000 0``.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, comb, factorial, floor, isqrt
from multiprocessing import Pool

from mpmath import mp, mpf

from symacct.algebra.symbols import symbol
from symacct.claims import read_claim
from symacct.errors import SymacctError
from symacct.printers import latex, text
from symacct.printers.latex import LETTERS as GREEK
from symacct.sheet.data import Math
from symacct.sheet.markdown import _math as in_markdown
from symacct.sheet.readback import is_same, value
from symacct.sheet.spelling import spelled
from symacct.sheet.statement import QUANTITIES
from symacct.syntax import Tree, fold, walk
from symacct.units import read_unit

LETTERS = ("B", "D", "K", "L", "N", "S", "a", "b", "h", "k", "s", "e", "E", "O", "J", "W")
WHOLE = (
    "d_ff",
    "n_kv_heads",
    "W_mem",
    "x1",
    "x_1",
    "alpha",
    "β",
    "mu",
    "Omega",
    "词表",
    "batch大小",
    "é",
    "max_len",
)
WORDS = (
    "rows",
    "BD",
    "ab",
    "heads",
    "min",
    "log",
    "GB",
    "ms",
    "s2",
    "per",
    "Theta",
    "second",
    "token",
    "eps",
)
USED = ("params", "tokens", "flops.model", "memory.activations.peak", "time.forward(relu)", "bits(bf16)")
UNITS = (
    *("byte", "GB", "KiB", "s", "h", "ms", "min", "TB/s", "B/s", "FLOP/(param*token)", "%", "GPU*h"),
    *("byte/param", "J", "s^2", "FLOP/s"),
)
NUMBERS = (
    "0",
    "1",
    "2",
    "3",
    "12",
    "64",
    "0.5",
    "1.25",
    "9.75",
    "70e9",
    "6.3e24",
    "7.82e-9",
    "1000000",
    "1024",
)
CALLS = {
    "sqrt": 1,
    "log": 1,
    "log2": 1,
    "ceil": 1,
    "floor": 1,
    "abs": 1,
    "max": 2,
    "min": 2,
    "factorial": 1,
    "binomial": 2,
}
FORMS = ("sum", "product", "quotient", "power", "negative", "call", "amount")
EXPONENTS = ("2", "3", "10", "0.5", "-1", "-2", "1/2", "2/3", "1.5")
LETTERS_GREEK = {letter: command[1:] for letter, command in GREEK.items()}
LIMITS = ("too long", "too involved", "too large", "too deeply", "too large to evaluate")
"""What the reader says beyond its limits."""
LONGEST, POINTS, LARGEST, MOST_FACTORS = 400, 3, 5000, 200
PRECISE = 60
mp.dps = PRECISE


# ---- random formulas ----


def made(  # noqa: PLR0911 (one for each form)
    dice: random.Random, names: tuple[str, ...], deep: int, *, units: bool = True
) -> Tree:
    """Return a random formula of at most so many levels."""
    forms = ("number", "name", "name", *(("quantity",) if units else ()))
    form = dice.choice((*forms, *FORMS, *FORMS) if deep else forms)
    if form == "number":
        return number(dice.choice(NUMBERS))
    if form in {"name", "quantity"}:
        return Tree(form, 0, 0, (), dice.choice(names if form == "name" else USED))
    if form == "amount":
        unit = Tree("unit", 0, 0, (), dice.choice(UNITS))
        return Tree("product", 0, 0, (number(dice.choice(NUMBERS)), unit)) if units else number("2")

    def part() -> Tree:
        return made(dice, names, deep - 1, units=units)

    if form == "call":
        name = dice.choice(tuple(one for one in CALLS if one not in names))
        return Tree("call", 0, 0, tuple(part() for _ in range(CALLS[name])), name)
    if form == "power":
        return Tree("power", 0, 0, (part(), exponent(dice, names)))
    if form == "quotient" and dice.random() < 0.3:
        return Tree("quotient", 0, 0, (number(dice.choice("1234")), number(dice.choice("2357"))))
    count = {"negative": 1, "quotient": 2}.get(form, dice.randint(2, 4))
    return Tree(form, 0, 0, tuple(part() for _ in range(count)))


def exponent(dice: random.Random, names: tuple[str, ...]) -> Tree:
    """Return what a part is raised to: a number, or a small formula."""
    name = Tree("name", 0, 0, (), dice.choice(names))
    pick = dice.random()
    if pick < 0.1:
        return name
    if pick < 0.2:
        return Tree("sum", 0, 0, (name, number("1")))
    above, _, below = dice.choice(EXPONENTS).partition("/")
    bare = number(above.lstrip("-"))
    found = Tree("negative", 0, 0, (bare,)) if above[0] == "-" else bare
    return Tree("quotient", 0, 0, (found, number(below))) if below else found


def number(written: str) -> Tree:
    """Return a number."""
    return Tree("number", 0, 0, (), "", Fraction(written))


# ---- arithmetic of our own ----


def worth(tree: Tree, sizes: dict[str, Fraction]) -> Fraction | mpf:
    """Return what a formula comes to: exact where it can be, else to sixty digits."""
    if tree.form == "number":
        return tree.value
    if tree.form == "unit":
        scale, unit = read_unit(tree.name)
        return scale * sizes[str(unit)]
    if not tree.parts:
        return sizes[tree.name]
    parts = [worth(part, sizes) for part in tree.parts]
    if tree.form == "call":
        return called(tree.name, parts)
    if tree.form == "power":
        return raised(*parts)
    total = parts[0]
    for part in parts[1:]:
        first, other = alike(total, part)
        total = (
            first + other
            if tree.form == "sum"
            else first * other
            if tree.form == "product"
            else first / other
        )
    return -total if tree.form == "negative" else total


def alike(*parts: Fraction | mpf) -> list:
    """Return numbers that can be worked out together."""
    if all(isinstance(one, Fraction) for one in parts):
        return list(parts)
    return [inexact(one) for one in parts]


def inexact(one: Fraction | mpf) -> mpf:
    return mpf(one.numerator) / mpf(one.denominator) if isinstance(one, Fraction) else one


def raised(base: Fraction | mpf, power: Fraction | mpf) -> Fraction | mpf:
    """Return a power of a real number that is real."""
    if isinstance(power, Fraction) and power.denominator == 1:
        if abs(power) > LARGEST:
            raise ValueError
        return base ** int(power)
    if base < 0:
        raise ValueError
    if isinstance(base, Fraction) and power == Fraction(1, 2) and (root := exact_root(base)) is not None:
        return root
    first, second = inexact(base), inexact(power)
    return first**second


def exact_root(value_: Fraction) -> Fraction | None:
    """Return the square root where it is a fraction."""
    above, below = isqrt(value_.numerator), isqrt(value_.denominator)
    return Fraction(above, below) if Fraction(above, below) ** 2 == value_ else None


def called(name: str, parts: list) -> Fraction | mpf:  # noqa: PLR0911 (one for each kind)
    """Return a function of numbers."""
    if name in {"max", "min"}:
        return (max if name == "max" else min)(*alike(*parts))
    if name in {"binomial", "factorial"}:
        return counted(parts)
    (one,) = parts
    if name == "abs":
        return abs(one)
    if name in {"ceil", "floor"}:
        if isinstance(one, Fraction):
            return Fraction((ceil if name == "ceil" else floor)(one))
        near = mp.nint(one)
        exact = abs(one - near) < mpf(10) ** (20 - PRECISE) * (1 + abs(one))
        return Fraction(int(near if exact else (mp.ceil if name == "ceil" else mp.floor)(one)))
    if name == "sqrt":
        return raised(one, Fraction(1, 2))
    if one <= 0:
        raise ValueError
    return mp.log(inexact(one)) / (mp.log(2) if name == "log2" else 1)


def counted(parts: list) -> Fraction:
    """Return a factorial or a binomial of integers that are not too large."""
    if not all(isinstance(one, Fraction) and one.denominator == 1 and abs(one) < LARGEST for one in parts):
        raise ValueError
    n, *below = map(int, parts)
    if n < 0 or (not below and n > MOST_FACTORS):
        raise ValueError
    return Fraction(comb(n, below[0]) if below and below[0] >= 0 else 0 if below else factorial(n))


def same_at(first: Tree, second: Tree, dice: random.Random) -> bool:
    """Say whether two formulas come to the same at points where the first has a value."""
    leaves = [part for one in (first, second) for part in walk(one) if not part.parts]
    keys = {str(read_unit(one.name)[1]) if one.form == "unit" else one.name for one in leaves} - {""}
    for _ in range(POINTS):
        sizes = {key: Fraction(dice.randint(1, 12)) for key in sorted(keys)} | {"1": Fraction(1)}
        try:
            expected = worth(first, sizes)
        except (ValueError, ZeroDivisionError, OverflowError):
            continue
        if not equal(expected, worth(second, sizes)):
            return False
    return True


def equal(first: Fraction | mpf, second: Fraction | mpf) -> bool:
    """Say whether two numbers are equal, exactly where both are exact."""
    if isinstance(first, Fraction) and isinstance(second, Fraction):
        return first == second
    gap = abs(inexact(first) - inexact(second))
    return bool(gap <= mpf(10) ** (20 - PRECISE) * (1 + abs(inexact(first))))


# ---- print and read ----


def has_value(tree: Tree, dice: random.Random) -> bool:
    """Say whether a formula has a value at some point, and is one that the algebra takes."""
    leaves = [part for part in walk(tree) if not part.parts]
    for _ in range(POINTS):
        sizes = {one.name: Fraction(dice.randint(1, 12)) for one in leaves if one.form != "unit"}
        sizes |= {str(read_unit(one.name)[1]): Fraction(2) for one in leaves if one.form == "unit"}
        try:
            worth(tree, sizes)
            value(tree)
        except (ValueError, ZeroDivisionError, OverflowError, SymacctError):
            continue
        return True
    return False


def plainly(tree: Tree) -> Tree:
    """Return a formula with each Greek letter by its name, which is the same one."""
    name = LETTERS_GREEK.get(tree.name, tree.name)
    return replace(tree, name=name, parts=tuple(plainly(part) for part in tree.parts))


def again(shown: str, names: tuple[str, ...] | None) -> Tree:
    """Return the formula that is read, as a side of a claim."""
    dollars = shown.startswith("$")
    stated = f"{shown[:-1]} = 1$" if dollars else f"{shown} = 1"
    return plainly(read_claim(stated, names, QUANTITIES).left)


def printed(tree: Tree, names: tuple[str, ...]) -> dict[str, str]:
    """Return a formula in each notation."""
    plain = spelled(Math(tree, "", frozenset(names)), "text")
    read = read_claim(f"{plain} = 1", names, QUANTITIES)
    tex = spelled(Math(read.left, read.text, frozenset(names)), "latex")
    shown = in_markdown(tex).replace("$`", "$").replace("`$", "$")
    return {"text": plain, "LaTeX": f"${tex}$", "Markdown": shown}


def sympy_printed(tree: Tree, names: tuple[str, ...]) -> dict[str, str]:
    """Return the expression of a formula, which has no units, by the printers of expressions."""
    expr = fold(tree, lambda leaf: symbol(leaf.name), "")
    return {"text of an expression": text(expr, names), "LaTeX of an expression": f"${latex(expr, names)}$"}


def is_read_alone(tree: Tree, shown: str, reader: Reader) -> bool:
    """Say whether a formula can be told apart in a claim without a graph.

    It has no quantity, and no name is made of the letters of others.
    """
    used = {part.name for part in walk(tree) if part.form == "name"}
    letters = {name for name in used if len(name) == 1}
    forms = {part.form for part in walk(tree)}
    if "quantity" in forms or ("unit" in forms and shown.startswith("$") and not reader.tex_units):
        return False
    longer = [name for name in used if len(name) > 1]
    return all(name in reader.words and not set(name) <= letters for name in longer)


@dataclass(frozen=True)
class Reader:
    """What a reader takes without a graph: the names of more letters, and whether LaTeX has units."""

    words: frozenset[str]
    tex_units: bool


def reader_here() -> Reader:
    tree = read_claim(r"$2\,\mathrm{byte} = 1$", None, QUANTITIES).left
    return Reader(words_alone(), any(part.form == "unit" for part in walk(tree)))


def words_alone() -> frozenset[str]:
    """Return the names of more letters that the reader takes for one name without a graph."""
    found = set()
    for name in (*WHOLE, *WORDS):
        try:
            found |= {name} & read_claim(f"2*{name} = 1", None, QUANTITIES).names
        except SymacctError:
            continue
    return frozenset(found)


def check(tree: Tree, shown: str, names: tuple[str, ...] | None, dice: random.Random) -> str:
    """Return what went wrong; nothing where a formula is read as what was printed."""
    try:
        tree, found = plainly(tree), again(shown, names)
        if not same_at(tree, found, dice):
            return "other values"
        return "" if is_same(value(tree), value(found)) else "another normal form"
    except SymacctError as error:
        return f"refused: {error.what}"
    except (ValueError, ZeroDivisionError, OverflowError):
        return "no value"


def batch(work: tuple[int, int]) -> tuple[Counter[str], list[str]]:
    """Print and read so many formulas; return counts by notation, and what went wrong."""
    seed, count = work
    dice, counts, wrong = random.Random(seed), Counter[str](), list[str]()
    reader = reader_here()
    while counts["formulas"] < count:
        pool = dice.choice(((*LETTERS, *WHOLE, *WORDS), (*LETTERS, *WHOLE), LETTERS))
        names = tuple(dice.sample(pool, dice.randint(1, 6)))
        units = dice.random() < 0.6
        tree = made(dice, names, dice.choice((1, 2, 2, 3)), units=units)
        if len(spelled(Math(tree, "", frozenset(names)), "text")) > LONGEST or not has_value(tree, dice):
            continue
        calls = {part.name.removesuffix("2") for part in walk(tree) if part.form == "call"}
        if calls & set(names):
            continue  # a function whose name is a size's is read as that size, and cannot be printed
        counts["formulas"] += 1
        others = tuple(dict.fromkeys((*names, *dice.sample((*LETTERS, *WHOLE, *WORDS), 4))))
        others = tuple(name for name in others if name in names or name not in calls)
        shown = printed(tree, others) | ({} if units else sympy_printed(tree, names))
        for notation, one in shown.items():
            modes = [(others, "declared")]
            modes += [(None, "alone")] if is_read_alone(tree, one, reader) else []
            for given, mode in modes:
                counts[f"{notation}, {mode}"] += 1
                said = check(tree, one, given, dice)
                if said.startswith("refused") and said.endswith(LIMITS):
                    counts["beyond the limits of the reader"] += 1
                elif said:
                    wrong.append(f"{notation}, {mode} {given or ''}: {said}: {one}")
    return counts, wrong


def main(count: int = 20_000, seed: int = 0, processes: int = 2) -> int:
    """Print and read `count` formulas; return 1 where anything went wrong."""
    start, size, wrong = time.perf_counter(), 200, 0
    work = [(seed * 1_000_003 + place, size) for place in range(-(-count // size))]
    counts = Counter[str]()
    with Pool(processes) as pool:
        for more, found in pool.imap_unordered(batch, work):
            counts += more
            wrong += len(found)
            for one in found:
                print(one, flush=True)
    for name, number_ in sorted(counts.items()):
        print(f"{number_:8,} {name}")
    print(f"{wrong} wrong, {time.perf_counter() - start:.0f} s")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
