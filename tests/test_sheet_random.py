"""Ten thousand random formulas over all forms of the language, printed, read back, and proved the same."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from symacct.algebra.normal import is_zero
from symacct.errors import SymacctError
from symacct.sheet.readback import unmarked, value
from symacct.sheet.spelling import spelled
from symacct.sheet.statement import QUANTITIES, formula
from symacct.syntax import parse, walk
from symacct.units import is_unit, read_unit

KINDS = ("text", "latex", "mathml")
TEN = Fraction(10)
COUNT, PARTS, LONGEST = 10_000, 4, 160
NAMES = ("B", "D", "L", "h", "d_ff", "n_kv_heads", "beta", "alpha", "Omega", "lambda", "W_mem", "x_1", "词")
UNITS = ("byte", "GB", "KiB", "FLOP", "TFLOP/s", "FLOP/(param*token)", "byte/param", "%", "s", "day")
NUMBERS = ("2", "3", "12", "0.5", "1.25", "6e3", "70e9", "1.5e-3", "6.3e24", "1/3", "0", "1")
FORMS = (
    "number",
    "name",
    "quantity",
    "amount",
    "sum",
    "product",
    "quotient",
    "power",
    "root",
    "call",
    "minus",
)
USED_QUANTITIES = ("params", "tokens", "flops.model", "memory.activations.peak", "bytes.forward")


def written(dice, deep=3):
    """A random formula as people write them; each form of the language has its turn."""
    form = dice.choice(FORMS[:4] if deep == 0 else FORMS)
    part = [written(dice, deep - 1) for _ in range(dice.randint(2, 3))] if deep else []
    simple = {
        "number": lambda: dice.choice(NUMBERS),
        "name": lambda: dice.choice(NAMES),
        "quantity": lambda: dice.choice(USED_QUANTITIES),
        "amount": lambda: f"({dice.choice(NUMBERS[:9])} {dice.choice(UNITS)})",
    }
    made = {
        "sum": lambda: f"({dice.choice([' + ', ' - ']).join([part[0], *(f'({one})' for one in part[1:])])})",
        "product": lambda: "*".join(f"({one})" for one in part),
        "quotient": lambda: f"({part[0]})/({part[1]})",
        "power": lambda: f"({part[0]})^{dice.choice(['2', '3', '(1/2)', '(-1)', '(-2)'])}",
        "root": lambda: f"sqrt({part[0]})",
        "call": lambda: dice.choice(
            [f"max({part[0]}, {part[1]})", f"min({part[0]}, {part[1]})", f"ceil({part[0]})",
             f"floor({part[0]})", f"log({part[0]})", f"log2({part[0]})", f"abs({part[0]})"]
        ),
        "minus": lambda: f"(-({part[0]}))",
    }  # fmt: skip
    return (simple | made)[form]()


def shape(tree):  # noqa: PLR0911
    """A tree without its places, in one form: products and sums flat, a number's sign and fraction in it.

    Two trees of one shape mean the same formula: only associativity, -(a*b) = (-a)*b and the arithmetic of
    plain numbers are used.
    """
    if tree.form == "number":
        return tree.value
    if tree.form == "unit":
        scale, unit = read_unit(tree.name)
        return _product([scale, ("unit", str(unit))])
    if not tree.parts:
        return (tree.form, tree.name)
    parts = [shape(part) for part in tree.parts]
    if tree.form == "sum":
        return ("sum", *(inner for one in parts for inner in (one[1:] if _is(one, "sum") else (one,))))
    if tree.form == "negative":
        return _product([Fraction(-1), parts[0]])
    if tree.form == "product":
        return _product(parts)
    if tree.form == "power" and parts[0] == TEN and isinstance(parts[1], Fraction) and parts[1] % 1 == 0:
        return TEN ** int(parts[1])
    if tree.form == "quotient" and isinstance(parts[1], Fraction) and parts[1]:
        return _product([1 / parts[1], parts[0]])
    return (tree.form, tree.name, *parts)


def _product(parts):
    """A flat product with its plain number in front; a sum that a minus stands before keeps it outside."""
    number, rest = Fraction(1), []
    for one in parts:
        for inner in one[1:] if _is(one, "product") else (one,):
            if isinstance(inner, Fraction):
                number *= inner
            else:
                rest.append(inner)
    if not rest:
        return number
    return rest[0] if number == 1 and len(rest) == 1 else ("product", number, *rest)


def _is(one, form):
    return isinstance(one, tuple) and one[0] == form


def again(one, kind):
    """The tree that a printed formula is read as."""
    printed = spelled(one, kind)
    plain = unmarked(printed) if kind == "mathml" else printed
    return parse(plain, one.names, is_unit, QUANTITIES, latex=kind == "latex")


def is_same(first, second):
    """Whether two trees mean the same: by their shapes, else by the exact algebra."""
    if shape(first) == shape(second):
        return True
    return is_zero(value(first) - value(second))


def readable(dice):
    """A random formula that can be read and has a value."""
    while True:
        text = written(dice, dice.choice((1, 2, 2, 3)))
        if len(text) > LONGEST:
            continue
        try:
            one = formula(text, NAMES)
        except SymacctError:
            continue
        if not _divides_by_zero(one.tree):
            return one


def _divides_by_zero(tree):
    zero = [part.parts[1] for part in walk(tree) if part.form == "quotient"]
    zero += [part.parts[0] for part in walk(tree) if part.form in {"power", "call"} and part.parts]
    return any(part.form == "number" and part.value == 0 for one in zero for part in walk(one))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(PARTS))
def test_random_formulas_read_back_as_what_was_meant(seed):
    dice = random.Random(seed)
    seen = set()
    for _ in range(COUNT // PARTS):
        one = readable(dice)
        seen |= {part.form for part in walk(one.tree)} | {
            part.name for part in walk(one.tree) if part.form == "call"
        }
        for kind in KINDS:
            assert is_same(one.tree, again(one, kind)), (kind, one.text, spelled(one, kind))
    assert seen >= {"number", "name", "quantity", "unit", "sum", "product", "quotient", "power", "negative"}
    assert seen >= {"sqrt", "max", "min", "ceil", "floor", "log", "log2", "abs"}


def test_shapes_tell_formulas_apart():
    """The quick way of the test above does not call unlike formulas alike."""
    pairs = (
        ("B/(D*L)", "B/D*L"), ("-(B + D)", "-B + D"), ("2^(1/2)", "2*(1/2)"), ("B - D", "D - B"),
        ("max(B, D)", "min(B, D)"), ("12*B*D^2", "2*B*D^2"), ("1 GB", "1 GiB"),
    )  # fmt: skip
    for texts in pairs:
        first, second = (formula(text, NAMES).tree for text in texts)
        assert shape(first) != shape(second)
        assert not is_same(first, second)
