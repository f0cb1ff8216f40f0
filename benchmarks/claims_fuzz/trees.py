"""Formulas as trees: printed as text or LaTeX, and computed, without symacct."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from .numbers import FUNCTIONS, divide


def num(value, below=1):
    """Return a number."""
    return ("num", Fraction(value) / below)


def var(name):
    """Return a size."""
    return ("var", name)


def add(*terms):
    """Return a sum, sums within it opened and zeros left out."""
    flat = []
    for term in terms:
        flat += term[1:] if term[0] == "add" else [term]
    flat = [term for term in flat if term != num(0)]
    return flat[0] if len(flat) == 1 else ("add", *flat) if flat else num(0)


def mul(*factors):
    """Return a product; ones are left out, a zero makes it zero."""
    flat = []
    for factor in factors:
        flat += factor[1:] if factor[0] == "mul" else [factor]
    scale = Fraction(1)
    for factor in flat:
        scale *= factor[1] if factor[0] == "num" else 1
    flat = [factor for factor in flat if factor[0] != "num"]
    if not flat or scale == 0:
        return ("num", scale)
    flat = flat if scale == 1 else [("num", scale), *flat]
    return flat[0] if len(flat) == 1 else ("mul", *flat)


def sub(left, right):
    """Return a difference."""
    return left if right == num(0) else add(left, mul(num(-1), right))


def div(above, below):
    """Return a quotient as it stands."""
    return above if below == num(1) else ("div", above, below)


def power(base, exponent):
    """Return a power with a positive integer exponent."""
    return base if exponent == 1 else num(1) if exponent == 0 else ("pow", base, exponent)


def call(name, *args):
    """Return a function's value."""
    return ("call", name, *args)


def quantity(name):
    """Return a quantity of a graph."""
    return ("quantity", name)


def parts(tree):
    """Return the trees directly inside."""
    return tuple(one for one in tree[1:] if isinstance(one, tuple))


def names(tree):
    """Return the sizes in a tree."""
    if tree[0] == "var":
        return {tree[1]}
    return set().union(*(names(one) for one in parts(tree))) if parts(tree) else set()


def quantities(tree):
    """Return the quantities in a tree."""
    if tree[0] == "quantity":
        return {tree[1]}
    return set().union(*(quantities(one) for one in parts(tree))) if parts(tree) else set()


def replace(tree, old, new):
    """Return a tree with one tree in the place of another one."""
    if tree == old:
        return new
    changed = [replace(one, old, new) if isinstance(one, tuple) else one for one in tree]
    return (
        add(*changed[1:]) if tree[0] == "add" else mul(*changed[1:]) if tree[0] == "mul" else tuple(changed)
    )


# ---- computing ----


def _code(tree):
    kind = tree[0]
    if kind == "num":
        value = tree[1]
        return f"({value})" if value.denominator == 1 else f"Fraction({value.numerator},{value.denominator})"
    if kind == "var":
        return f"at[{tree[1]!r}]"
    if kind == "quantity":
        return f"of({tree[1]!r}, at)"
    inside = [_code(one) for one in parts(tree)]
    if kind in ("add", "mul"):
        return "(" + ("+" if kind == "add" else "*").join(inside) + ")"
    if kind == "pow":
        return f"({inside[0]}**{tree[2]})"
    return f"divide({inside[0]},{inside[1]})" if kind == "div" else f"{tree[1]}({','.join(inside)})"


@lru_cache(maxsize=4000)
def _compiled(tree):
    known = {**FUNCTIONS, "divide": divide, "Fraction": Fraction}
    return eval(f"lambda at, of: {_code(tree)}", known)  # noqa: S307 - text made here, of numbers and names


def compiled(tree, of=None):
    """Return a tree as a function of sizes; `of` gives quantities at sizes."""
    function = _compiled(tree)
    return lambda at: function(at, of)


# ---- printing ----


def text(tree, style=""):
    """Print a tree as text, or as LaTeX; style ``tight`` lets numbers stand before letters."""
    return _sum(tree, style)


def _sum(tree, style):
    if tree[0] != "add":
        return _product(tree, style)
    shown = ""
    for term in tree[1:]:
        piece = _product(term, style)
        piece = f"({piece})" if term[0] == "add" else piece
        shown += f" - {piece[1:]}" if shown and piece.startswith("-") else f" + {piece}" if shown else piece
    return shown


def _product(tree, style):
    if tree[0] == "num":
        return _number(tree[1], style)
    if tree[0] == "div":
        if style == "latex":
            return f"\\frac{{{_sum(tree[1], style)}}}{{{_sum(tree[2], style)}}}"
        return f"{_factor(tree[1], style)}/{_factor(tree[2], style)}"
    if tree[0] != "mul":
        return _factor(tree, style)
    pieces = list(tree[1:])
    lead = ""
    if pieces[0][0] == "num":
        value = pieces.pop(0)[1]
        lead = "-" if value == -1 else _number(value, style, bracket=True)
    between = {"latex": " \\cdot ", "unicode": "·"}.get(style, "*")
    shown = between.join(_factor(one, style) for one in pieces)
    if lead in ("", "-"):
        return lead + shown
    tight = (
        style == "tight"
        and lead.lstrip("-").isdigit()
        and pieces[0][0] == "var"
        and pieces[0][1] not in SUFFIXES
    )
    return lead + ("" if tight else between) + shown


def _factor(tree, style):
    kind = tree[0]
    if kind in ("var", "quantity"):
        return tree[1]
    if kind == "call":
        return _call(tree, style)
    if kind == "pow":
        return _power(tree, style)
    if kind == "num" and tree[1].denominator == 1 and tree[1] >= 0:
        return str(tree[1])
    return _product(tree, style) if kind == "div" and style == "latex" else f"({_sum(tree, style)})"


def _power(tree, style):
    inside = _factor(tree[1], style)
    inside = f"({inside})" if tree[1][0] == "pow" or inside.startswith("\\frac") else inside
    if style == "unicode":
        return inside + str(tree[2]).translate(SUPERSCRIPTS)
    return f"{inside}^{{{tree[2]}}}" if style == "latex" else f"{inside}^{tree[2]}"


def _call(tree, style):
    args = [_sum(one, style) for one in tree[2:]]
    if style != "latex":
        return f"{tree[1]}({', '.join(args)})"
    if tree[1] == "sqrt":
        return f"\\sqrt{{{args[0]}}}"
    if tree[1] in ("ceil", "floor"):
        return f"\\l{tree[1]} {args[0]} \\r{tree[1]}"
    if tree[1] == "abs":
        return f"\\operatorname{{abs}}({args[0]})"
    name = "\\log_2" if tree[1] == "log2" else f"\\{tree[1]}"
    return f"{name}({', '.join(args)})"


SUFFIXES = ("k", "M", "B", "T")
"""Directly behind digits these may be meant as a thousand, a million, ...: that is refused."""
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _number(value, style, *, bracket=False):
    if value.denominator == 1:
        return str(value)
    if style == "decimal" and 1000 % value.denominator == 0:
        return f"{float(value):.3f}".rstrip("0")
    if style == "latex":
        sign = "-" if value < 0 else ""
        return f"{sign}\\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"
    return f"({value})" if bracket and value > 0 else str(value) if not bracket else f"-({-value})"
