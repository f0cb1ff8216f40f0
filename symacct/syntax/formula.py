"""Trees into exact expressions."""

from __future__ import annotations

from operator import neg, truediv
from typing import TYPE_CHECKING
from unicodedata import normalize

from sympy import Abs, Add, Expr, Max, Min, Mul, Pow, Rational, ceiling, floor, log, sqrt

from symacct.algebra.factorials import Binomial, Factorial, counted, is_counted
from symacct.algebra.symbols import check_name, symbol
from symacct.errors import FormulaError, SizeError
from symacct.syntax.parser import Tree, parse
from symacct.syntax.source import caret

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

LARGEST_EXPONENT, LARGEST_OF_TWO = 64, 1100
"""The second is that of a power of two: fp64 ends below 2^1024."""
MOST_BITS = 8192
TALLEST = 12
DEEPEST_SUMS = 5
HEAVIEST = 4000
MOST_EXPONENT_ATOMS = 8
FUNCTION_RULES: Mapping[str, Callable[..., Expr]] = {
    "abs": Abs,
    "binomial": Binomial,
    "ceil": ceiling,
    "ceiling": ceiling,
    "factorial": Factorial,
    "floor": floor,
    "ln": log,
    "log": log,
    "log2": lambda inside: log(inside, 2),
    "max": Max,
    "min": Min,
    "sqrt": sqrt,
}

OPERATORS: Mapping[str, Callable[..., Expr]] = {
    "sum": Add,
    "product": Mul,
    "negative": neg,
    "quotient": truediv,
}


def read_formula(text: str, names: Collection[str]) -> Expr:
    """Return the expression that a formula says, exact, as it was written (not expanded).

    Args:
        text: the formula: ``6*B*D^2*L - 2BD^2``.
        names: the declared names; any others are refused.

    Raises:
        FormulaError: it cannot be read; the error has a caret.
        UnknownNameError: a name is not declared.

    >>> read_formula("2BD^2L - 1/2", ["B", "D", "L"])
    2*B*D**2*L - 1/2
    >>> read_formula("a/b c", ["a", "b", "c"])
    Traceback (most recent call last):
    symacct.errors.FormulaError: it is unclear whether this stands below the line
      where     a/b c
                    ^
      expected  a bracket or a *
      got       c
      fix       write a/(b*c) or (a/b)*c
    """
    tree = parse(text, names)
    text = normalize("NFC", text)
    try:
        check_nesting(tree, text)
        return fold(tree, lambda leaf: symbol(leaf.name), text)
    except RecursionError:
        raise FormulaError(
            "a formula is nested too deeply", where=text[:64], expected="fewer levels"
        ) from None


def height(tree: Tree) -> int:
    """Return how many denominators, powers and functions stand in one another.

    sympy's time on them doubles with every two levels, so that a bound keeps any text harmless.

    >>> height(parse("1/(1 + 1/B) + sqrt(B)", ["B"]))
    2
    """
    heights = [height(part) for part in tree.parts]
    if tree.form == "quotient":
        return max(heights[0], 1 + heights[1])
    return max(heights, default=0) + (tree.form in {"power", "call"})


def check_nesting(tree: Tree, text: str, known: Mapping[str, int] | None = None) -> int:
    """Check that a formula is not nested so deeply that algebra on it takes long; return how deep sums are.

    Sums under powers and fractions are what costs: sympy's time grows fourfold with each of them. `known`
    says how deep those are that names stand for.

    Raises:
        FormulaError: it is.

    >>> tree = parse("1/(1 + 1/(B + 1)) + B", ["B"])
    >>> check_nesting(tree, "")
    2
    """
    deep, weight = _weight(tree, known or {})
    if height(tree) > TALLEST or weight > HEAVIEST:
        what = "fractions, powers and functions are nested too deeply"
        expected = f"at most {TALLEST} levels, and {DEEPEST_SUMS} of them with sums inside"
        raise FormulaError(what, where=caret(text, tree.start), expected=expected)
    return deep


def _weight(tree: Tree, known: Mapping[str, int]) -> tuple[int, int]:
    """Return how deep sums stand under powers and fractions, and four to that power, all added up."""
    inside = [_weight(part, known) for part in tree.parts]
    deep = max((deep for deep, _ in inside), default=known.get(tree.name, 0) if tree.form == "name" else 0)
    weight = sum(weight for _, weight in inside)
    if tree.form == "call" or (tree.form in {"power", "quotient"} and _holds_sum(tree, known)):
        below = inside[-1][0] if tree.form == "quotient" else deep
        deep = max(deep, below + 1)
        weight += 4 ** min(below + 1, TALLEST)
    return deep, weight


def _holds_sum(tree: Tree, known: Mapping[str, int]) -> bool:
    """Say whether there is a sum in the base of a power or below a line."""
    part = tree.parts[0] if tree.form == "power" else tree.parts[1]
    return any(one.form == "sum" or (one.form == "name" and one.name in known) for one in walk(part))


def walk(tree: Tree) -> Iterator[Tree]:
    """Yield a tree and all its parts."""
    yield tree
    for part in tree.parts:
        yield from walk(part)


def fold(tree: Tree, leaf: Callable[[Tree], Expr], text: str) -> Expr:
    """Return the expression of a tree, with `leaf` giving those of names, quantities and units.

    Raises:
        FormulaError: it divides by zero, takes a root of a negative number, or has too large a power.
    """
    if tree.form == "number":
        return Rational(tree.value.numerator, tree.value.denominator)
    if tree.form in {"name", "quantity", "unit"}:
        return leaf(tree)
    parts = [fold(part, leaf, text) for part in tree.parts]
    if tree.form == "power":
        return _power(parts[0], parts[1], tree, text)
    if tree.form == "call":
        return _call(tree, parts, text)
    if tree.form == "quotient" and parts[1] == 0:
        raise _error("a formula divides by zero", tree.parts[1], text, "a divisor that is not 0", "0")
    return _bounded(OPERATORS[tree.form](*parts), tree, text)


def _error(what: str, tree: Tree, text: str, expected: str, got: str) -> FormulaError:
    return FormulaError(what, where=caret(text, tree.start), expected=expected, got=got[:64])


def _power(base: Expr, exponent: Expr, tree: Tree, text: str) -> Expr:
    shown = text[tree.parts[1].start : tree.parts[1].end]
    if exponent.is_Rational:
        most = LARGEST_OF_TWO if base == 2 and exponent.is_Integer else LARGEST_EXPONENT
        if abs(exponent) > most or exponent.q > most:
            expected = f"an exponent of at most {most}"
            raise _error("an exponent is too large", tree.parts[1], text, expected, shown)
        if base == 0 and exponent < 0:
            raise _error("a formula divides by zero", tree.parts[0], text, "a divisor that is not 0", "0")
        _check_bits(base, exponent, tree, text)
    elif len(list(_atoms(exponent))) > MOST_EXPONENT_ATOMS or any(part.is_Pow for part in _atoms(exponent)):
        raise _error(
            "an exponent is too involved", tree.parts[1], text, "a number or a simple formula", shown
        )
    return _bounded(Pow(base, exponent), tree, text)


def _atoms(expr: Expr) -> list[Expr]:
    found: list[Expr] = []
    todo = [expr]
    while todo and len(found) <= MOST_EXPONENT_ATOMS * 4:
        one = todo.pop()
        if one.is_Pow or not one.args:
            found.append(one)
        todo.extend(one.args)
    return found


def _check_bits(base: Expr, exponent: Expr, tree: Tree, text: str) -> None:
    coefficient, _ = base.as_coeff_Mul()
    bits = (
        max(int(abs(coefficient.p)).bit_length(), int(coefficient.q).bit_length())
        if coefficient.is_Rational
        else 1
    )
    if bits * abs(exponent) > MOST_BITS:
        raise _error(
            "a number is too large", tree, text, f"at most {MOST_BITS} bits", text[tree.start : tree.end]
        )


def _bounded(result: Expr, tree: Tree, text: str) -> Expr:
    """Return a result, after checking that its number and its exponents are real and of bounded size."""
    coefficient, rest = result.as_coeff_Mul()
    if not coefficient.is_Rational or (result.is_number and result.is_real is False):
        what = "a formula has no real value"
        raise _error(what, tree, text, "a root of a number of at least 0", text[tree.start : tree.end])
    if max(int(abs(coefficient.p)).bit_length(), int(coefficient.q).bit_length()) > MOST_BITS:
        raise _error(
            "a number is too large", tree, text, f"at most {MOST_BITS} bits", text[tree.start : tree.end]
        )
    for factor in Mul.make_args(rest):
        if factor.is_Pow and factor.exp.is_Rational and abs(factor.exp) > LARGEST_EXPONENT**2:
            expected = f"an exponent of at most {LARGEST_EXPONENT**2}"
            raise _error("an exponent is too large", tree, text, expected, str(factor.exp))
    return result


def _call(tree: Tree, parts: list[Expr], text: str) -> Expr:
    if tree.name not in FUNCTION_RULES:
        what = f"{tree.name}() stands only as the whole right side of a claim"
        raise _error(what, tree, text, "a formula, or X = O(...)", text[tree.start : tree.end])
    if tree.name.startswith(("log", "ln")) and parts[0].is_number and not parts[0].is_positive:
        raise _error("a formula has no real value", tree, text, "the log of a positive number", str(parts[0]))
    made = FUNCTION_RULES[tree.name](*parts)
    if is_counted(made) and made.is_number:
        try:
            counted(made)
        except SizeError as error:
            raise _error(error.what, tree, text, error.expected or "", error.got or "") from None
    return _bounded(made, tree, text)


def read_equation(text: str, names: Collection[str]) -> tuple[str, Expr]:
    """Return the name on the left of an ``=`` and the formula on its right.

    Raises:
        FormulaError: there is not exactly one ``=``, or the left side is no name.

    >>> read_equation("F = 4*D", ["D"])
    ('F', 4*D)
    """
    left, equals, right = str(text).replace("＝", "=").partition("=")
    if not equals or "=" in right:
        what = "an equation is written NAME = FORMULA"
        raise FormulaError(what, where=str(text)[:64], expected="F = 4*D", got=str(text)[:64])
    return check_name(left.strip()), read_formula(right, names)
