"""The formula language: user text is read by our own tokenizer and parser, never evaluated."""

from symacct.syntax.figures import read_amount, read_figure, read_sizes
from symacct.syntax.formula import fold, read_equation, read_formula
from symacct.syntax.parser import Tree, doubtful_words, parse
from symacct.syntax.tokens import FUNCTIONS, caret

__all__ = [
    "FUNCTIONS",
    "Tree",
    "caret",
    "doubtful_words",
    "fold",
    "parse",
    "read_amount",
    "read_equation",
    "read_figure",
    "read_formula",
    "read_sizes",
]
