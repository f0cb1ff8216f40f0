"""LaTeX, unicode and longest names, read by the one reader; carets under what was typed."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from symacct.algebra.evaluate import evaluate
from symacct.algebra.normal import same
from symacct.algebra.symbols import symbol
from symacct.errors import FormulaError, SymacctError
from symacct.printers import latex, text
from symacct.sheet.readback import value
from symacct.syntax import Tokenizer, guess_names, parse, read_formula, readings, tree_of, walk
from symacct.units import is_unit

LETTERS = "B C D E F H I K L N O P Q S T a b c h n s u"
WORDS = "n_layer n_ctx d_attn d_model d_ff MFU AI beta gamma lambda 词表 numbar n_kv_heads try"
NAMES = [*LETTERS.split(), *WORDS.split()]


def v(name):
    """The product of the symbols named."""
    return sympy.Mul(*map(symbol, name.split()))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("6ND", 6 * v("N D")),
        ("2BDK", 2 * v("B D K")),
        ("2BD^2L", 2 * v("B D D L")),
        ("12LHQT", 12 * v("L H Q T")),
        ("2*n_layer*n_ctx*d_attn", 2 * v("n_layer n_ctx d_attn")),
        ("2n_layer n_ctx d_attn", 2 * v("n_layer n_ctx d_attn")),
        ("72BLsh^2(1 + s/(6h))", 72 * v("B L s h h") * (1 + v("s") / (6 * v("h")))),
        ("72BLsh²[1 + s/(6h)]", 72 * v("B L s h h") * (1 + v("s") / (6 * v("h")))),
        ("\\frac{6ND}{n \\cdot P \\cdot u}", 6 * v("N D") / v("n P u")),
        ("\\dfrac{6ND}{nPu}L", 6 * v("N D L") / v("n P u")),
        ("\\frac12 B", v("B") / 2),
        ("d_{\\mathrm{model}}", v("d_model")),
        ("2d_{ff}L", 2 * v("d_ff L")),
        ("d_\\text{model}^2", v("d_model") ** 2),
        ("n_{\\text{kv heads}}", v("n_kv_heads")),
        ("\\text{MFU}", v("MFU")),
        ("\\mathrm{d\\_ff}^{2} L", v("d_ff d_ff L")),
        ("2√(L·c)", 2 * sympy.sqrt(v("L c"))),
        ("2√L", 2 * sympy.sqrt(v("L"))),
        ("√2 B", sympy.sqrt(2) * v("B")),
        ("2\\sqrt{L \\cdot c \\cdot s}", 2 * sympy.sqrt(v("L c s"))),
        ("\\sqrt[3]{B}", sympy.cbrt(v("B"))),
        ("34sbh + 5as²b", 34 * v("s b h") + 5 * v("a s s b")),
        ("min(1, AI/I)", sympy.Min(1, v("AI") / v("I"))),
        ("\\min\\left(1, \\frac{AI}{I}\\right)", sympy.Min(1, v("AI") / v("I"))),
        ("⌈L/K⌉", sympy.ceiling(v("L") / v("K"))),
        ("2⌊L/K⌋B", 2 * sympy.floor(v("L") / v("K")) * v("B")),
        ("\\lceil L/K \\rceil", sympy.ceiling(v("L") / v("K"))),
        ("\\left\\lceil \\frac{L}{K} \\right\\rceil", sympy.ceiling(v("L") / v("K"))),
        ("\\left| B - D \\right|", sympy.Abs(v("B") - v("D"))),
        ("\\left( B \\right) \\times \\left[ D \\right]", v("B D")),
        ("B\\,D\\;L\\quad K", v("B D L K")),
        ("（B＋Ｄ）／２", (v("B") + v("D")) / 2),
        ("max（B，D）", sympy.Max(v("B"), v("D"))),
        ("2词表·D", 2 * v("词表 D")),
        ("\\mathrm{词表} D", v("词表 D")),
        ("\\beta \\gamma \\lambda", v("beta gamma lambda")),
        ("βγλ", v("beta gamma lambda")),
        ("N S E I O Q", v("N S E I O Q")),
        ("I + 1", v("I") + 1),
        ("O(D+1)", v("O") * (v("D") + 1)),
        ("2\\log_2 \\left(B\\right)", 2 * sympy.log(v("B")) / sympy.log(2)),
        ("\\ln(B) + log2(8)", sympy.log(v("B")) + 3),
        ("1{,}000 B", 1000 * v("B")),
        ("$6ND$", 6 * v("N D")),
        ("\\(6ND\\)", 6 * v("N D")),
        ("2 numbar", 2 * v("numbar")),
        ("2*try", 2 * v("try")),
        ("2*lambda + 1", 2 * v("lambda") + 1),
    ],
)
def test_readings(written, expected):
    """What papers write, in each of their spellings."""
    assert same(read_formula(written, NAMES), expected)


@pytest.mark.parametrize(
    "written",
    [
        *(
            "\\frac{B}",
            "\\frac{B}{",
            "{B",
            "B}",
            "\\unknown{B}",
            "\\sqrt",
            "\\left",
            "\\",
            "\\frac",
            "B_{",
            "\\input{x}",
        ),
        *("⌈B)", "(B⌉", "[B)", "√BD", "√", "B/D(K)", "\\write18{id}", "\\mathrm{undeclared}", "\\sqrt[x]{B}"),
        *(
            "\ue000B\ue002",
            "\ue001sqrt\ue002(B)",
            "{" * 200 + "B" + "}" * 200,
            "\\frac{1}{0}",
            "Theta(B)",
            "|B|",
        ),
    ],
)
def test_refusals(written):
    """What is no formula is refused, LaTeX or not, and private marks are no way around it."""
    with pytest.raises(SymacctError):
        read_formula(written, NAMES)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            "\\frac{6NX}{D}",
            (
                "unknown name 'X'\n"
                "  where     \\frac{6NX}{D}\n"
                "                    ^\n"
                "  expected  one of: D, N\n"
                "  got       X"
            ),
        ),
        (
            "2\\fra{N}{D}",
            (
                "the LaTeX command \\fra is not read here\n"
                "  where     2\\fra{N}{D}\n"
                "             ^\n"
                "  expected  \\frac, \\sqrt, \\cdot, \\times, \\left, \\right, \\mathrm, Greek letters, ...\n"
                "  got       \\fra\n"
                "  fix       did you mean \\frac?"
            ),
        ),
        (
            "√ND",
            (
                "it is unclear how far the root goes\n"
                "  where     √ND\n"
                "              ^\n"
                "  expected  a bracket\n"
                "  got       D\n"
                "  fix       write √(N*D) or a space"
            ),
        ),
        (
            "N/D \\cdot 2 + N/D N",
            (
                "it is unclear whether this stands below the line\n"
                "  where     N/D \\cdot 2 + N/D N\n"
                "                              ^\n"
                "  expected  a bracket or a *\n"
                "  got       N\n"
                "  fix       write N/(D*N) or (N/D)*N"
            ),
        ),
    ],
)
def test_carets_stand_under_what_was_typed(written, message):
    """The place is that in the text as written, not in its plain form."""
    with pytest.raises(SymacctError) as caught:
        read_formula(written, ["N", "D"])
    assert str(caught.value) == message


def test_the_reading_is_echoed():
    """Where a name beats a unit, the reading says so."""

    def said(written, names):
        tokenizer = Tokenizer(written, names, is_unit)
        tree_of(tokenizer)
        return readings(tokenizer)

    assert said("2BDK", ["B", "D", "K"]) == []
    assert said("3 s b + 3s", ["s", "b"]) == ["s is a name here, not a unit; write second for the unit"]


def test_names_without_a_graph():
    """A word is one name; letters multiply where each of them stands alone too."""
    found = guess_names("2BD*B*D + 2*n_layer*beta + min(1, AI)")
    assert found == ["B", "D", "n_layer", "beta", "AI"]


def test_quantities_are_leaves():
    """Names with dots, and those of another graph."""
    known = ["flops.model", "time.forward", "params"]
    tree = parse("6*flops.model/time.forward(relu) + params (B+1)", ["B"], None, known)
    found, todo = [], [tree]
    while todo:
        one = todo.pop()
        found += [one.name] if one.form == "quantity" else []
        todo += one.parts
    assert sorted(found) == ["flops.model", "params", "time.forward(relu)"]
    with pytest.raises(SymacctError, match=r"did you mean 'flops\.model'"):
        parse("flops.modle", [], None, known)


EXPRESSIONS = st.recursive(
    st.one_of(st.sampled_from(list(map(symbol, NAMES))), st.integers(1, 9).map(sympy.Integer)),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] * pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] / (pair[1] + 1)),
        inner.map(lambda one: sympy.sqrt(one + 1)),
        st.tuples(inner, inner).map(lambda pair: sympy.Max(*pair)),
        st.tuples(inner, st.integers(2, 4)).map(lambda pair: sympy.ceiling(pair[0] / pair[1])),
    ),
    max_leaves=5,
)
SPELLINGS = {
    "printed": text,
    "compact": lambda expr: text(expr).replace(" ", ""),
    "spaced": lambda expr: text(expr).replace("*", " * ").replace("/", " / ").replace("(", " ( "),
    "signs": lambda expr: text(expr).replace("*", "·").replace("-", "−").replace("^2", "²"),
    "latex": latex,
    "tight latex": lambda expr: latex(expr).replace("\\left", "").replace("\\right", ""),
}


def agree(one, other, first):
    """Whether two formulas have one value at sizes that start somewhere."""
    names = sorted(free.name for free in one.free_symbols | other.free_symbols)
    sizes = {name: first + place for place, name in enumerate(names)}
    left, right = evaluate(one, sizes), evaluate(other, sizes)
    return left == right or abs((left - right).evalf(30)) < 1e-20


@pytest.mark.few(2)
@pytest.mark.parametrize("spelling", SPELLINGS)
@settings(max_examples=60, deadline=None)
@given(expr=EXPRESSIONS)
def test_print_then_read_is_the_identity(spelling, expr):
    """Text and LaTeX, spaced and compact, through the same reader."""
    printed = SPELLINGS[spelling](expr)
    try:
        back = read_formula(printed, NAMES)
    except FormulaError as error:
        assert "nested too deeply" in error.what  # noqa: PT017
        return
    assert back == expr or all(agree(back, expr, first) for first in (2, 5)), printed


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        (r"312 \times 10^{12}\,\mathrm{FLOP/s}", "312 * 10^12 FLOP/s"),
        (r"312 \cdot 10^{12} \text{FLOP/s}", "312e12 FLOP/s"),
        (r"5 \times 10^{-3}\,\mathrm{GB}", "5 MB"),
        ("10^{9} byte", "1e9 byte"),
    ],
)
def test_a_unit_follows_a_power_of_ten(written, plain):
    """Papers write rates so; the unit belongs to the power."""
    first, second = (parse(one, (), is_unit) for one in (written, plain))
    assert value(first) == value(second)


@pytest.mark.parametrize("written", ["B^2 byte", "10^(B) byte", "(2) byte", "B^{2}\\,\\mathrm{byte}"])
def test_a_unit_follows_whatever_has_a_value(written):
    """Behind a space; and nowhere else."""
    found = [part.name for part in walk(parse(written, ["B"], is_unit)) if part.form == "unit"]
    assert found == ["byte"]
    for wrong in ("byte", "B*byte", "B^byte", "byte B", "(2)byte"):
        with pytest.raises(SymacctError):
            parse(wrong, ["B"], is_unit)


def test_a_break_between_a_quantity_and_its_bracket():
    """A sheet's own LaTeX lets long choices stand on the next line; a line is no factor anywhere."""
    quantities = ["memory.peak", "epsilon", "round"]
    for written, name in (
        (r"\text{memory.peak}\allowbreak \text{(checkpoint=none)}", "memory.peak(checkpoint=none)"),
        (r"\text{epsilon}\allowbreak \text{(bf16)}", "epsilon(bf16)"),
        (r"\text{round}\allowbreak\text{(fp8\_e4m3, 1e-8)}", "round(fp8_e4m3, 1e-8)"),
    ):
        tree = parse(written, (), is_unit, quantities)
        assert (tree.form, tree.name) == ("quantity", name)
    assert same(read_formula(r"6\allowbreak N D", NAMES), 6 * v("N D"))


def test_powers_of_two_reach_as_far_as_formats_do():
    """The largest number of fp64, and no further; other powers stay short."""
    assert read_formula("2^1023*(2 - 2^-52)", ()) == 2**1024 - 2**971
    for written in ("2^1101", "3^65", "2^(-1101)", "2^1100*2^1100*2^1100*2^1100*2^1100*2^1100*2^1100*2^1100"):
        with pytest.raises(FormulaError, match="too large"):
            read_formula(written, ())
