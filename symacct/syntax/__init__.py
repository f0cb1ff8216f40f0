"""The formula language: user text is read by our own tokenizer and parser, never evaluated.

`source` brings plain text, LaTeX and full-width signs into one plain form; `tokens` splits it, with `words`
for products of names; `parser` builds a tree; `formula` folds a tree into an exact expression.
"""

from symacct.syntax.figures import read_amount, read_figure, read_sizes
from symacct.syntax.formula import check_nesting, fold, read_equation, read_formula, walk
from symacct.syntax.parser import Tree, doubtful_words, parse, readings
from symacct.syntax.source import Source, caret
from symacct.syntax.words import FUNCTIONS, guess_names

__all__ = [
    "FUNCTIONS",
    "Source",
    "Tree",
    "caret",
    "check_nesting",
    "doubtful_words",
    "fold",
    "guess_names",
    "parse",
    "read_amount",
    "read_equation",
    "read_figure",
    "read_formula",
    "read_sizes",
    "readings",
    "walk",
]
