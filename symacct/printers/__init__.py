"""Formulas as text, LaTeX and MathML, in the declared order of their symbols."""

from symacct.printers.latex import escape, latex, name_latex
from symacct.printers.mathml import mathml
from symacct.printers.text import text
from symacct.printers.walk import degree, terms_in_order

__all__ = ["degree", "escape", "latex", "mathml", "name_latex", "terms_in_order", "text"]
