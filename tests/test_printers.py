"""Printers: text reads back by our reader, LaTeX and MathML by small readers of the tests' own."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html import unescape

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from symacct.algebra.normal import factored, normal, same
from symacct.algebra.summation import sum_over
from symacct.algebra.symbols import index_symbol, symbol
from symacct.errors import FormulaError
from symacct.printers import escape, latex, mathml, name_latex, terms_in_order, text
from symacct.syntax import read_formula

NAMES = ["B", "D", "beta", "d_ff", "词", "S", "E"]
SYMBOLS = list(map(symbol, NAMES))
B, D, BETA, D_FF, WORD, S, E = SYMBOLS
LEAVES = st.one_of(
    st.sampled_from(SYMBOLS),
    st.integers(-12, 12).map(sympy.Integer),
    st.fractions(-2, 2, max_denominator=7).map(sympy.Rational),
)


def _combine(inner):
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda pair: pair[0] + pair[1]),
        pairs.map(lambda pair: pair[0] - pair[1]),
        pairs.map(lambda pair: pair[0] * pair[1]),
        pairs.map(lambda pair: pair[0] / (pair[1] ** 2 + 1)),
        st.tuples(inner, st.integers(-3, 3)).map(lambda pair: (pair[0] ** 2 + 1) ** pair[1]),
        inner.map(lambda one: sympy.sqrt(one**2 + 2)),
        pairs.map(lambda pair: sympy.Max(*pair)),
        pairs.map(lambda pair: sympy.ceiling(pair[0] / (pair[1] ** 2 + 2))),
        st.sampled_from(SYMBOLS).map(lambda one: one ** sympy.Rational(3, 2)),
        st.sampled_from(SYMBOLS).map(lambda one: 2 ** (one + 1)),
    )


FORMULAS = st.recursive(LEAVES, _combine, max_leaves=6)
ORDERS = st.permutations(NAMES).flatmap(
    lambda names: st.integers(0, len(NAMES)).map(lambda size: names[:size])
)


@settings(max_examples=150, deadline=None)
@given(FORMULAS, ORDERS)
def test_text_reads_back(expr, order):
    """Print, then read, is the identity."""
    printed = text(expr, order)
    try:
        back = read_formula(printed, NAMES)
    except FormulaError as error:
        assert "nested too deeply" in error.what or "too large" in error.what  # noqa: PT017
        return
    assert same(back, expr), printed


def read_latex(printed):
    """Our LaTeX as text notation, by rewriting from the inside out, knowing nothing of the printer."""
    commands = {name_latex(name): name for name in NAMES}
    for command in sorted(commands, key=len, reverse=True):
        if command.startswith("\\"):
            printed = printed.replace(command, f" {commands[command]} ")
    printed = printed.replace("\\left\\lceil", "ceil(").replace("\\right\\rceil", ")")
    printed = printed.replace("\\max\\left(", "max(").replace("\\left(", "(").replace("\\right)", ")")
    printed = printed.replace("\\cdot", "*")
    group = r"\{([^{}]*)\}"
    while "{" in printed:
        before = printed
        printed = re.sub(rf"\\frac{group}{group}", r"((\1)/(\2))", printed)
        printed = re.sub(rf"\\sqrt{group}", r" sqrt(\1)", printed)
        printed = re.sub(rf"\^{group}", r"^(\1)", printed)
        assert before != printed, printed
    return printed


@settings(max_examples=150, deadline=None)
@given(FORMULAS, ORDERS)
def test_latex_reads_back(expr, order):
    """LaTeX, read by the test's own reader, is the same formula."""
    try:
        back = read_formula(read_latex(latex(expr, order)), NAMES)
    except FormulaError as error:
        assert "nested too deeply" in error.what or "too large" in error.what  # noqa: PT017
        return
    assert same(back, expr)


def read_mathml(element):
    """MathML turned into the text notation, element by element."""
    inside = [read_mathml(child) for child in element]
    if element.tag in {"mi", "mn", "mo"}:
        signs = {"−": "-", "·": "*", "\u2062": " ", "\u2061": "", "⌈": " ceil(", "⌉": ")", "β": "beta"}
        return signs.get(element.text, element.text)
    if element.tag == "mfrac":
        return f"(({inside[0]})/({inside[1]}))"
    if element.tag == "msup":
        return f"{inside[0]}^({inside[1]})"
    if element.tag == "msqrt":
        return f" sqrt({' '.join(inside)})"
    assert element.tag in {"math", "mrow"}
    joined = ""
    for part in inside:
        joined += part if part.startswith("(") and joined.endswith("max") else f" {part}"
    return joined


@settings(max_examples=100, deadline=None)
@given(FORMULAS, ORDERS)
def test_mathml_reads_back(expr, order):
    """MathML is well-formed and, read by the test's own reader, the same formula."""
    printed = read_mathml(ET.fromstring(mathml(expr, order))).replace("max  (", "max(")  # noqa: S314 (our own text)
    try:
        back = read_formula(printed, NAMES)
    except FormulaError as error:
        assert "nested too deeply" in error.what or "too large" in error.what, printed  # noqa: PT017
        return
    assert same(back, expr), printed


@pytest.mark.parametrize(
    ("expr", "order", "plain", "tex"),
    [
        (6 * B * D**2 * S - 2 * B * D**2, "BDS", "6*B*D^2*S - 2*B*D^2", "6 B D^{2} S - 2 B D^{2}"),
        (6 * B * D**2 * S - 2 * B * D**2, "SDB", "6*S*D^2*B - 2*D^2*B", "6 S D^{2} B - 2 D^{2} B"),
        (-12 * B * D**2, "", "-12*B*D^2", "-12 B D^{2}"),
        (B / 2 + D / 3, "", "B/2 + D/3", "\\frac{B}{2} + \\frac{D}{3}"),
        (3 * B / (2 * D), "", "3*B/(2*D)", "\\frac{3 B}{2 D}"),
        (1 / B, "", "1/B", "\\frac{1}{B}"),
        ((2 * B + D) / (B + D), "", "(2*B + D)/(B + D)", "\\frac{2 B + D}{B + D}"),
        (2 * sympy.sqrt(B) * sympy.sqrt(D), "", "2*sqrt(B*D)", "2 \\sqrt{B D}"),
        (B ** sympy.Rational(3, 2), "", "B*sqrt(B)", "B \\sqrt{B}"),
        (3 * 2**B * D, "", "3*2^B*D", "3 \\cdot 2^{B} D"),
        (sympy.Max(B, D + 1), "", "max(B, D + 1)", "\\max\\left(B, D + 1\\right)"),
        (sympy.ceiling(B / D), "", "ceil(B/D)", "\\left\\lceil \\frac{B}{D} \\right\\rceil"),
        (BETA * D_FF * WORD, "", "beta*d_ff*词", "\\beta \\cdot \\mathrm{d\\_ff} \\cdot \\mathrm{词}"),
        (B + D**2 + 1, "", "D^2 + B + 1", "D^{2} + B + 1"),
        (1 - B, "", "-B + 1", "-B + 1"),
        (factored(6 * B * D + 4 * B), "", "2*B*(3*D + 2)", "2 B \\cdot \\left(3 D + 2\\right)"),
        (sympy.Integer(0), "", "0", "0"),
        (sympy.Rational(-3, 4), "", "-3/4", "-\\frac{3}{4}"),
    ],
)
def test_forms(expr, order, plain, tex):
    """A few forms, reviewed by eye."""
    assert text(expr, list(order)) == plain
    assert latex(expr, list(order)) == tex


def test_sums_show():
    """A sum that stays is shown as one."""
    standing = sum_over(S / (index_symbol("i") + 1), index_symbol("i"), 0, B)
    assert text(standing) == "S*sum(1/(i + 1), i = 0 .. B - 1)"
    assert latex(standing) == "S \\cdot \\left(\\sum_{i=0}^{B - 1} \\frac{1}{i + 1}\\right)"
    assert "∑" in unescape(mathml(standing))


def test_order_of_terms():
    """Terms come by total degree, then in the declared order, whatever order they were added in."""
    expr = normal((B + D + 1) ** 2)
    assert terms_in_order(expr, ["D", "B"]) == [D**2, 2 * B * D, B**2, 2 * D, 2 * B, 1]


def test_escapes():
    """Characters that are special in LaTeX are escaped; `numbar` is no accent."""
    assert escape("a_b % #1 & {x} \\ ~ ^ $") == (
        "a\\_b \\% \\#1 \\& \\{x\\} \\textbackslash{} \\textasciitilde{} \\textasciicircum{} \\$"
    )
    assert latex(symbol("numbar")) == "\\mathrm{numbar}"
    assert latex(symbol("β")) == "\\beta"
