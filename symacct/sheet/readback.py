r"""Every printed formula, read back by our own reader and proved to be the one that was meant.

LaTeX is read as between dollar signs, text as it stands; MathML is written out as text first.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from sympy import Integer, Rational

from symacct.algebra.normal import is_zero
from symacct.algebra.symbols import symbol
from symacct.errors import FormulaError, SymacctError
from symacct.printers.latex import LETTERS
from symacct.sheet.spelling import spelled
from symacct.sheet.statement import QUANTITIES
from symacct.syntax import fold, parse
from symacct.units import is_unit, read_unit

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.sheet.data import Math
    from symacct.syntax import Tree

SHAPES = {"msup": "(({})^({}))", "mfrac": "(({})/({}))", "msub": "{}{}"}
DIGITS = 40
OPERATORS = {"−": "-", "\u2062": "*", "·": "*", "\u2061": "", "|": ""}


def checked(math: Math, kind: str, where: str) -> str:
    r"""Return a formula, printed, after it was read back and proved identical.

    Args:
        math: the formula.
        kind: ``text``, ``latex`` or ``mathml``.
        where: the row, for the message.

    Raises:
        FormulaError: what was printed does not say what was meant.

    >>> from symacct.sheet.statement import formula
    >>> print(checked(formula("sqrt(L)/2", ["L"]), "latex", "row 1"))
    \frac{\sqrt{L}}{2}
    """
    printed = spelled(math, kind)
    try:
        plain = unmarked(printed) if kind == "mathml" else printed
        again = parse(plain, math.names, is_unit, QUANTITIES, latex=kind == "latex")
        same = is_same(value(math.tree), value(again))
    except SymacctError as error:
        raise _failed(printed, where, error.what) from None
    if not same:
        raise _failed(printed, where, "something else")
    return printed


def _failed(printed: str, where: str, got: str) -> FormulaError:
    what = "a formula does not read back as what was meant; the sheet is not written"
    return FormulaError(what, where=where, expected="the formula itself", got=f"{got}: {printed[:200]}")


def is_same(first: Expr, second: Expr) -> bool:
    """Say whether two expressions are equal; sympy does not see that a quotient to a power cancels itself."""
    return first == second or is_zero(first - second)


def value(tree: Tree) -> Expr:
    """Return the expression of a tree with a symbol for each quantity and for each base unit."""
    return fold(tree, _leaf, "")


def _named(kind: str, name: str) -> Expr:
    """Return a symbol of its own for a name of any length and letters."""
    return symbol(f"{kind}_{sha256(name.encode()).hexdigest()[:DIGITS]}")


def _leaf(leaf: Tree) -> Expr:
    if leaf.form == "name":
        return symbol(leaf.name)
    if leaf.form == "quantity":
        return _named("q", leaf.name)
    scale, unit = read_unit(leaf.name)
    base = Integer(1) if str(unit) == "1" else _named("u", str(unit))
    return Rational(scale.numerator, scale.denominator) * base


# ---- MathML ----


def unmarked(markup: str) -> str:
    """Return what MathML says as text of the formula language.

    >>> unmarked("<mfrac><mi>B</mi><mrow><mn>2</mn><mo>&#8290;</mo><mi>β</mi></mrow></mfrac>")
    '((B)/(2*beta))'
    """
    return _said(ET.fromstring(f"<math>{markup}</math>"))  # noqa: S314


def _said(node: ET.Element) -> str:  # noqa: PLR0911 (one for each element)
    parts = [_said(child) for child in node]
    text = node.text or ""
    if node.tag == "mo":
        return OPERATORS.get(text, text)
    if node.tag == "mi":
        return LETTERS[text].removeprefix("\\") if text in LETTERS else text
    if node.tag == "msup" and parts[0] == "10" and _is_ten(node):
        return f"10^({parts[1]})"
    if node.tag == "msub" and node[1].tag == "mtext":
        return f"{parts[0]}_{parts[1]}"
    if node.tag == "mfrac" and node.get("linethickness") == "0":
        return "binomial({},{})".format(*parts)
    if node.tag in SHAPES:
        return SHAPES[node.tag].format(*parts)
    joined = "".join((text, *parts))
    first = node[0] if len(node) else None
    bars = first is not None and first.tag == "mo" and first.text == "|"
    name = "sqrt" if node.tag == "msqrt" else "abs" if bars else ""
    return f"{name}({joined})" if name else joined


def _is_ten(node: ET.Element) -> bool:
    return all(child.tag == "mn" for child in node)
