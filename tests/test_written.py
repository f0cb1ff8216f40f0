"""Formulas with every sign: read back as the same tree, by our reader and by Python's own parser."""

from __future__ import annotations

import ast
import random
from fractions import Fraction

import pytest

from symacct.claims.unit_words import unit_words
from symacct.claims.written import number, written
from symacct.errors import UnitError
from symacct.syntax import Tree, parse
from symacct.units import is_unit, read_unit

NAMES = (
    "B",
    "D",
    "s",
    "h",
    "min",
    "per",
    "GB",
    "rows",
    "BD",
    "alpha",
    "β",
    "词表",
    "d_ff",
    "x1",
    "log",
    "eps",
)
QUANTITIES = ("params", "flops.model", "time.forward(relu)")
DECLARED = ("params", "flops.model", "time.forward")
UNITS = (
    "byte",
    "GB",
    "s",
    "h",
    "TB/s",
    "FLOP/(param*token)",
    "%",
    "ms",
    "min",
    "GPU*h",
    "B/s",
    "tokens",
    "s^2",
)
NUMBERS = ("0", "1", "2", "12", "9.5", "0.125", "70e9", "6.3e24", "1000000", "7.82e-9", "1234567", "3e150")
CALLS = {"sqrt": 1, "log2": 1, "ceil": 1, "floor": 1, "abs": 1, "max": 2, "min": 3}
COUNT = 3000


def leaf(form, name="", value="0"):
    return Tree(form, 0, 0, (), name, Fraction(value))


def node(form, *parts, name=""):
    return Tree(form, 0, 0, parts, name)


def grown(dice, names, deep, *, units=True):
    """A random tree of any form."""
    forms = ("number", "name", "name", "quantity") if units else ("number", "name")
    if deep:
        forms += ("sum", "product", "quotient", "power", "negative", "call") * 2 + ("amount",) * units
    form = dice.choice(forms)
    if form == "number":
        return leaf("number", value=dice.choice(NUMBERS))
    if form in {"name", "quantity"}:
        return leaf(form, dice.choice(names if form == "name" else QUANTITIES))
    if form == "amount":
        return node("product", leaf("number", value=dice.choice(NUMBERS)), leaf("unit", dice.choice(UNITS)))

    def part():
        return grown(dice, names, deep - 1, units=units)

    if form in {"sum", "product"}:
        return node(form, *(part() for _ in range(dice.randint(2, 4))))
    if form == "call":
        name = dice.choice([one for one in CALLS if one not in names])
        return node("call", *(part() for _ in range(CALLS[name])), name=name)
    return node(form, *(part() for _ in range(1 if form == "negative" else 2)))


def plain(tree):
    """A tree without places, units by what they mean."""
    if tree.form == "number":
        return tree.value
    if tree.form == "unit":
        return read_unit(tree.name)
    if not tree.parts:
        return tree.form, tree.name
    return tree.form, tree.name, *map(plain, tree.parts)


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(4))
def test_a_written_tree_is_read_as_the_same_tree(seed):
    dice = random.Random(seed)
    for _ in range(COUNT // 4):
        names = dice.sample(NAMES, dice.randint(1, 8))
        tree = grown(dice, names, dice.choice((1, 2, 3, 4)))
        shown = written(tree, names)
        assert plain(parse(shown, names, is_unit, DECLARED)) == plain(tree), shown


OPERATORS = {ast.Add: "sum", ast.Mult: "product", ast.Div: "quotient", ast.Pow: "power"}


def of_python(node_):  # noqa: PLR0911 (one for each form)
    """Python's reading of a formula, in two-part form."""
    if isinstance(node_, ast.Expression):
        return of_python(node_.body)
    if isinstance(node_, ast.Constant):
        return Fraction(str(node_.value))
    if isinstance(node_, ast.Name):
        return node_.id
    if isinstance(node_, ast.Call):
        return node_.func.id, *map(of_python, node_.args)
    if isinstance(node_, ast.UnaryOp):
        return "negative", of_python(node_.operand)
    left, right = of_python(node_.left), of_python(node_.right)
    if isinstance(node_.op, ast.Sub):
        return "sum", left, ("negative", right)
    return OPERATORS[type(node_.op)], left, right


def in_pairs(tree):
    """A tree in two-part form."""
    if tree.form == "number":
        return tree.value
    if not tree.parts:
        return tree.name
    parts = [in_pairs(part) for part in tree.parts]
    if tree.form == "call":
        return tree.name, *parts
    found = parts[0]
    for part in parts[1:]:
        found = tree.form, found, part
    return found if len(parts) > 1 else (tree.form, found)


def test_python_reads_the_same():
    """Precedence is Python's: its own parser agrees on the tree."""
    dice = random.Random(7)
    names = ("B", "D", "rows", "alpha", "d_ff", "eps")
    for _ in range(COUNT):
        tree = grown(dice, names, dice.choice((1, 2, 3, 4)), units=False)
        shown = written(tree, names)
        found = of_python(ast.parse(shown.replace("^", "**"), mode="eval"))
        assert found == in_pairs(tree), shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("(48-24) GB", None),
        ("6ND", "6*N*D"),
        ("6BD^2L-2BD^2", "6*B*D^2*L - 2*B*D^2"),
        ("10 GB / (3.35 TB/s)", "(10 GB)/(3.35 TB/s)"),
        ("34 s b h", "34*s*b*h"),
        ("10 second + 2 hour", "10 second + 2 hour"),
        ("5 s", "5 second"),
        ("\\frac{a}{b} c", "(a/b)*c"),
        ("-a^2*b", "-a^2*b"),
        ("-(a*b)", "-(a*b)"),
        ("70B param * N", "(70e9 param)*N"),
        ("2^{10}", "2^10"),
        ("x⁻²", "x^(-2)"),
        ("√L", "sqrt(L)"),
        ("3 $ + 2 %", "3 dollar + 2 %"),
    ],
)
def test_forms(text, shown):
    """A few forms, reviewed by eye; a unit behind a bracket only where the reader knows it."""
    names = set("NDBLabcxhs") if "34" in text or "hour" in text else set("NDBLabcx")
    if shown is None:
        tree = node("product", parse("48-24", ()), leaf("unit", "GB"))
        assert written(tree) == "(48 - 24) GB"
    else:
        assert written(parse(text, names, is_unit), names) == shown


def test_a_unit_that_is_a_name_is_written_in_full():
    """Short names give way one by one; where all are names nothing is printed."""
    assert unit_words("TB/s", ["s"]) == "TB/second"
    assert unit_words("s", ["s", "second"]) == "seconds"
    assert unit_words("GB", ["G", "B"]) == "GB"
    assert unit_words("GB", ["GB"]) == "gigabyte"
    assert unit_words("s", []) == "second"
    assert unit_words("GPU h", []) == "GPU*hour"
    with pytest.raises(UnitError, match="cannot be written"):
        unit_words("day", ["day", "days"])


def test_numbers_are_exact():
    """Every number printed is that number."""
    dice = random.Random(3)
    for _ in range(COUNT):
        value = Fraction(dice.randint(0, 10 ** dice.randint(0, 30)), 10 ** dice.randint(0, 25))
        for names in ((), ("eps",)):
            assert Fraction(number(value, names)) == value
    assert Fraction(number(Fraction(10) ** 395 * 7)) == 7 * Fraction(10) ** 395
