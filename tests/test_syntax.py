"""The formula reader against Python's own parser; refusals with their carets; no text that hangs."""

from __future__ import annotations

import ast
import contextlib
import operator
from fractions import Fraction

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from symacct.algebra.evaluate import evaluate
from symacct.algebra.normal import same
from symacct.algebra.symbols import symbol
from symacct.errors import FormulaError, SymacctError, UnknownNameError
from symacct.syntax import (
    parse,
    read_amount,
    read_equation,
    read_figure,
    read_formula,
    read_sizes,
)
from symacct.units import Unit, is_unit

NAMES = ["B", "D", "K", "L", "N", "S", "T", "a", "b", "ab", "E", "I", "beta", "d_ff", "词表"]
SIZES = {name: place + 2 for place, name in enumerate(NAMES)}
B, D, K, L, N, S, T = map(symbol, "BDKLNST")

OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def by_python(node):
    """The value that Python's parser gives a formula, with fractions for numbers."""
    if isinstance(node, ast.Expression):
        return by_python(node.body)
    if isinstance(node, ast.Constant):
        return Fraction(str(node.value))
    if isinstance(node, ast.Name):
        return Fraction(SIZES[node.id])
    if isinstance(node, ast.UnaryOp):
        return OPERATIONS[type(node.op)](by_python(node.operand))
    left, right = by_python(node.left), by_python(node.right)
    if isinstance(node.op, ast.Pow) and (abs(right) > 6 or right.denominator != 1):
        raise OverflowError
    return OPERATIONS[type(node.op)](left, right)


TOKENS = st.one_of(
    st.sampled_from(["B", "D", "ab", "beta", "词表"]),
    st.integers(0, 20).map(str),
    st.sampled_from(["0.5", "1.25"]),
)


@st.composite
def explicit_formulas(draw, depth=0):
    """Text with explicit operators only, which Python's grammar reads too."""
    count = draw(st.integers(1, 4))
    parts = []
    for place in range(count):
        if place:
            parts.append(draw(st.sampled_from(["+", "-", "*", "/", " + ", " - ", "*-", "**"])))
        elif draw(st.booleans()):
            parts.append("-")
        if parts and parts[-1] == "**":
            parts.append(str(draw(st.integers(0, 3))))
        elif depth < 3 and draw(st.integers(0, 3)) == 0:
            parts.append(f"({draw(explicit_formulas(depth=depth + 1))})")
        else:
            parts.append(draw(TOKENS))
    return "".join(parts)


@settings(max_examples=300, deadline=None)
@given(explicit_formulas(), st.booleans())
def test_precedence_is_pythons(text, caret):
    """On text that both grammars share, the value is the one that Python's parser gives."""
    written = text.replace("**", "^") if caret else text
    try:
        expected = by_python(ast.parse(text, mode="eval"))
        found = evaluate(read_formula(written, NAMES), SIZES)
    except (ZeroDivisionError, OverflowError, SyntaxError):
        return
    except SymacctError as error:
        assert "zero" in error.what  # noqa: PT017
        return
    assert found == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2BDK", 2 * B * D * K),
        ("6ND", 6 * N * D),
        ("2BD^2L", 2 * B * D**2 * L),
        ("6BD²L - 2BD²", 6 * B * D**2 * L - 2 * B * D**2),
        ("2S(T+1)", 2 * S * (T + 1)),
        ("(B)(D)", B * D),
        ("2√(L·B·S)", 2 * sympy.sqrt(L * B * S)),
        ("B×D · K", B * D * K),
        ("Ｂ＋１", None),
        ("(B＋１)／2", (B + 1) / 2),
        ("ab", symbol("ab")),
        ("2ab", 2 * symbol("ab")),
        ("2词表 D", 2 * symbol("词表") * D),
        ("E I beta", symbol("E") * symbol("I") * symbol("beta")),
        ("-B^2", -(B**2)),
        ("2^-3", sympy.Rational(1, 8)),
        ("2^3^2", sympy.Integer(512)),
        ("B/D*K", B * K / D),
        ("B/(D K)", B / (D * K)),
        ("0.1*B + 0.2*B - 0.3*B", sympy.Integer(0)),
        ("1/2*N", N / 2),
        ("1_000*B", 1000 * B),
        ("1e6 B", 1000000 * B),
        ("ceil(B/D) + floor(B/D)", sympy.ceiling(B / D) + sympy.floor(B / D)),
        ("max(B, D, 3)", sympy.Max(B, D, 3)),
        ("2min(B, D)", 2 * sympy.Min(B, D)),
        ("sqrt(B)^2", B),
        ("2^(L+1)", 2 ** (L + 1)),
        ("B−D", B - D),
    ],
)
def test_readings(text, expected):
    """What people write, read as they mean it."""
    if expected is None:
        with pytest.raises(UnknownNameError):
            read_formula(text, ["X"])
        assert same(read_formula(text, NAMES), B + 1)
    else:
        assert same(read_formula(text, NAMES), expected)


def test_a_declared_name_beats_a_function():
    """`min(` is a function unless `min` is declared."""
    assert read_formula("min(B + 1)", ["B", "min"]) == symbol("min") * (B + 1)
    assert same(read_formula("min(B + 1, B)", ["B", "m", "i", "n"]), B)


def test_a_word_is_one_name():
    """A word splits into declared letters alone; one that holds longer names is refused with its product."""
    for written, line in (("abcd", "ab*cd"), ("2abB", "2ab*B"), ("2词表D + 1", "2词表*D + 1")):
        with pytest.raises(UnknownNameError) as caught:
            read_formula(written, ["abc", "ab", "cd", "B", "词表", "D"])
        assert caught.value.fix == f"write {line}"
        read_formula(line, ["abc", "ab", "cd", "B", "词表", "D"])
    with pytest.raises(UnknownNameError):
        read_formula("a" * 5000 + "x", ["a", "aa", "aaa"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "B/D K",
            (
                "it is unclear whether this stands below the line\n"
                "  where     B/D K\n"
                "                ^\n"
                "  expected  a bracket or a *\n"
                "  got       K\n"
                "  fix       write B/(D*K) or (B/D)*K"
            ),
        ),
        (
            "6*N*X",
            (
                "unknown name 'X'\n"
                "  where     6*N*X\n"
                "                ^\n"
                "  expected  one of: I, K, L, N, S, T, a, ab, b, beta, d_ff, 词表, and 3 more\n"
                "  got       X"
            ),
        ),
        (
            "betta",
            (
                "unknown name 'betta'\n"
                "  where     betta\n"
                "            ^\n"
                "  expected  one of: I, K, L, N, S, T, a, ab, b, beta, d_ff, 词表, and 3 more\n"
                "  got       betta\n"
                "  fix       did you mean 'beta'?"
            ),
        ),
        (
            "1,000",
            (
                "a comma stands outside a function\n"
                "  where     1,000\n"
                "             ^\n"
                "  expected  one formula\n"
                "  got       ,\n"
                "  fix       leave the comma out: 1000 or 1_000"
            ),
        ),
        (
            "D2",
            (
                "a number stands directly behind a name\n"
                "  where     D2\n"
                "             ^\n"
                "  expected  an operator between them\n"
                "  got       D2\n"
                "  fix       write D^2 or 2*D"
            ),
        ),
    ],
)
def test_refusals_in_full(text, message):
    """The text of refusals, with the caret under the place."""
    with pytest.raises(SymacctError) as caught:
        read_formula(text, NAMES)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "B+",
            "*B",
            "(B",
            "B)",
            "()",
            "B D 2",
            "B!!",
            "B=2",
            "B^",
            "^B",
            "max()",
            "max",
            "sqrt(B, D)",
        ),
        *(
            "1/0",
            "1/(B-B)",
            "0^-1",
            "log(0)",
            "log(-1)",
            "sqrt(-1)",
            "(-2)^(1/2)",
            "B^99",
            "2^(2^(2^B))",
            "9" * 201,
        ),
        *(
            "1e999",
            "(10^64)^64",
            "B/D(K)",
            "1/2BD",
            "B..D",
            "1.2.3",
            "B½",
            "$",
            "__import__('os').system('id')",
        ),
        *("B\x00D", "B\u202eD", "x" * 20000, "B^(D/0)", "B⁻", "e", "pi", "oo", "B if D else K", "[B)", "B@D"),
    ],
)
def test_refusals(text):
    """What cannot be read is refused in the project's format, never evaluated."""
    with pytest.raises(SymacctError) as caught:
        read_formula(text, NAMES)
    assert str(caught.value)


PIECES = st.sampled_from(
    [
        *"BDK2()^*/+- ,²√0",
        "10",
        "64",
        "sqrt(",
        "max(",
        "min(",
        "ceil(",
        "log(",
        "abs(",
        "0.5",
        "(1/2)",
        "beta",
        "1e9",
    ]
)
ANY_TEXT = st.one_of(
    st.text(max_size=60),
    st.text("BDKLab2103.()^*/+- ,²√_%eE词", max_size=40),
    st.lists(PIECES, max_size=40).map("".join),
)


@pytest.mark.long
@settings(max_examples=300, deadline=5000)
@given(ANY_TEXT)
def test_any_text_is_read_or_refused(text):
    """No text makes the reader crash, or take long."""
    for read in (
        lambda one: read_formula(one, NAMES),
        lambda one: parse(one, NAMES, is_unit),
        read_sizes,
        read_amount,
    ):
        with contextlib.suppress(SymacctError):
            read(text)


@pytest.mark.few(6)
@pytest.mark.parametrize(
    "text",
    [
        *(
            "(" * 5000,
            "-" * 9000 + "B",
            "B" * 9999,
            "B+" * 4999 + "B",
            "(" * 99 + "B" + ")" * 99,
            "B^" * 99 + "B",
        ),
        *(
            "sqrt(" * 90 + "B" + ")" * 90,
            "(B/(D+" * 45 + "1" + "))" * 45,
            "(B+" * 98 + "1" + ")^2" * 98,
            "B/" * 999 + "B",
        ),
        *(
            "2^" * 50 + "2",
            "((B+D+1)^64)^64",
            "max(" * 90 + "B,D" + ")" * 90,
            "ceil(B/D)*" * 900 + "1",
            "1e200^64",
        ),
    ],
)
def test_hostile_text(text):
    """Deep, long and tall text ends, read or refused."""
    with contextlib.suppress(SymacctError):
        read_formula(text, NAMES)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("B=8,D=4k,L=12", {"B": 8, "D": 4000, "L": 12}),
        ("B=8; D=2Ki", {"B": 8, "D": 2048}),
        ("B=1_000,D=1e6,N=1.5B,T=2T", {"B": 1000, "D": 10**6, "N": 1500000000, "T": 2 * 10**12}),
        ("词表=32k，B＝1", {"词表": 32000, "B": 1}),
        ("", {}),
        ("B=7Gi", {"B": 7 * 2**30}),
    ],
)
def test_sizes(text, sizes):
    """Lists of sizes, with suffixes."""
    assert read_sizes(text) == sizes


@pytest.mark.parametrize(
    "text",
    [
        "B=2.5",
        "B=0x10",
        "B=1,B=2",
        "B",
        "B=",
        "=3",
        "B=4K",
        "B=1,000",
        "2B=3",
        "B=1e-3",
        "B=--1",
        "B==1",
        "B=9e999",
    ],
)
def test_sizes_that_are_refused(text):
    """Neighbours of the valid ones."""
    with pytest.raises(FormulaError):
        read_sizes(text)


def test_amounts_and_figures():
    """Numbers with suffixes and units, exact."""
    assert read_figure("70.6B") == 70600000000
    assert read_amount("2GB") == (2 * 10**9, Unit("byte"))
    assert read_amount("80 GiB") == (80 * 2**30, Unit("byte"))
    assert read_amount("70B parameter") == (70 * 10**9, Unit("parameter"))
    assert read_amount("989.5 TFLOP/s") == (9895 * 10**11, Unit("FLOP/second"))
    assert read_amount("1e-3 s") == (Fraction(1, 1000), Unit("second"))
    assert read_amount("2B") == (2 * 10**9, Unit("1"))
    for text in ("GB", "", "2 Gb", "2 x", "two GB"):
        with pytest.raises(SymacctError):
            read_amount(text)


def test_units_in_formulas():
    """A unit is read after a number and a space, or in a term with another unit; a declared name beats it."""

    def units(text, names):
        found, todo = [], [parse(text, names, is_unit)]
        while todo:
            tree = todo.pop()
            found += [tree.name] if tree.form == "unit" else []
            todo += tree.parts
        return sorted(found)

    assert units("6 FLOP/(parameter*token) * N", ["N"]) == ["FLOP/(parameter*token)"]
    assert units("70B parameter * 2 byte/parameter", []) == ["byte/parameter", "parameter"]
    assert units("34 s b h", ["s", "b", "h"]) == []
    assert units("3 GB/s * 2 s^2/s", []) == ["GB/s", "s^2/s"]
    assert units("10^9 byte + 10⁹ byte", []) == ["byte", "byte"]
    assert units("(6 FLOP)/token", []) == ["FLOP", "token"]
    assert units("2 B/parameter + 3 bytes per token", []) == ["B/parameter", "bytes/token"]
    assert units("N FLOP + N^2 s", ["N"]) == ["FLOP", "s"]
    assert units("(80-16) GB + ceil(N) ms", ["N"]) == ["GB", "ms"]
    for text in ("3 h + h", "FLOP", "2 B", "N*FLOP", "7 B parameter", "640 GB / 12 byte/param"):
        with pytest.raises(SymacctError):
            units(text, ["N"])


def test_equations():
    """A name and a formula."""
    assert read_equation("F = 4*D", NAMES) == ("F", 4 * D)
    for text in ("F", "F = D = B", "2F = D", "= D", "F ="):
        with pytest.raises(FormulaError):
            read_equation(text, NAMES)
