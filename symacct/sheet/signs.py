"""Relations and marks between formulas, in each notation."""

from __future__ import annotations

from html import escape

LATEX = {
    "<=": "\\le", ">=": "\\ge", "~": "\\sim", "=": "=", "<": "<", ">": ">", "|": "\\mid", ",": ",\\ ",
    "iff": "\\iff", "O(": "O\\mathopen{}\\left(", "Theta(": "\\Theta\\mathopen{}\\left(",
    "(": "\\left(", ")": "\\right)", "-> oo": "\\to \\infty",
}  # fmt: skip
SHOWN = {
    "<=": "≤", ">=": "≥", "~": "∼", "|": "∣", "iff": "⇔", "O(": "O(", "Theta(": "Θ(", "-> oo": "→ ∞",
}  # fmt: skip
NAMES = {"argmin": "\\arg\\min", "min": "\\min", "lim": "\\lim"}
CLOSE = frozenset({"O(", "Theta(", "(", ")"})


def latex_sign(name: str, of: str) -> str:
    r"""Return a sign in LaTeX; `of` is the name that varies, printed.

    >>> print(latex_sign("argmin", "k"), latex_sign("<=", ""))
    \arg\min_{k} \le
    """
    return f"{NAMES[name]}_{{{of}}}" if name in NAMES else LATEX[name]


def text_sign(name: str, of: str) -> str:
    """Return a sign as text.

    >>> text_sign("argmin", "k"), text_sign("<=", ""), text_sign("Theta(", "")
    ('argmin_k ', ' <= ', 'Theta(')
    """
    if name in NAMES:
        return f"{name}_{of} "
    return name if name in CLOSE else f"{name} " if name == "," else f" {name} "


def mathml_sign(name: str, of: str) -> str:
    """Return a sign in MathML.

    >>> mathml_sign("<=", "")
    '<mo>≤</mo>'
    """
    if name in NAMES:
        return f"<munder><mo>{'arg min' if name == 'argmin' else name}</mo>{of}</munder>"
    if name in {"O(", "Theta("}:
        return f"<mi>{SHOWN[name][0]}</mi><mo>(</mo>"
    return f"<mo>{escape(SHOWN.get(name, name))}</mo>"
