"""The formula language: user text is read by our own tokenizer and parser, never evaluated.

`source` brings plain text, LaTeX and full-width signs into one plain form; `scan` cuts it into pieces;
`context` gathers what a whole statement shows of its words; `tokens` decides each word, and `doubts` says why
one is refused; `parser` builds a tree; `formula` folds a tree into an exact expression.
"""

from symacct.syntax.figures import read_amount, read_figure, read_sizes
from symacct.syntax.formula import check_nesting, fold, read_equation, read_formula, walk
from symacct.syntax.names import guess_names
from symacct.syntax.parser import Tree, parse, readings, tree_of
from symacct.syntax.refusals import AmbiguousError
from symacct.syntax.source import Source, caret
from symacct.syntax.tokens import Tokenizer
from symacct.syntax.words import FUNCTIONS, Names

__all__ = [
    "FUNCTIONS",
    "AmbiguousError",
    "Names",
    "Source",
    "Tokenizer",
    "Tree",
    "caret",
    "check_nesting",
    "fold",
    "guess_names",
    "parse",
    "read_amount",
    "read_equation",
    "read_figure",
    "read_formula",
    "read_sizes",
    "readings",
    "tree_of",
    "walk",
]
