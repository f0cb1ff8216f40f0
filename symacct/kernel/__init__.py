"""The certificate checker: the one package to trust. Standard library only; it imports nothing from outside.

A certificate is JSON: a statement about sizes, the hypotheses it stands on, a proof, and optionally the
ledger whose rows add up to the left side. `check` returns the theorem in words or raises `Refused`. It never
searches: whatever is hard to find stands in the certificate. ``python symacct/kernel FILE`` runs it alone.

Read in this order: `box` (numbers, and the shift, the one way to see a sign), `roundings`, `roots`, `logs`,
`sums`, `counts` (what is read as an atom), `facts`, `witness`, `hypotheses`, `claim`, `growth`; then a rule
a file (`equalities`, `orders`, `limits`, `splits`, `thresholds`, `minima`, `points`), and `checking`, which
puts them together. Each says first why what it does is sound.
"""

from .box import Box, Variable
from .checking import check, claim_of, run
from .claim import LIMITS, RELATIONS, Claim, Context
from .enclosure import value_at
from .form import canonical, digest, is_variable, load, variables
from .hypotheses import OPEN
from .poly import ONE, Monomial, Poly, Ratio, constant, join, put, unique
from .refusal import FORMAT, LARGEST_FILE, Meter, Refused
from .roundings import EXTREMES, ROUNDINGS
from .rules import RULES
from .theorem import infix

__all__ = [
    "EXTREMES", "FORMAT", "LARGEST_FILE", "LIMITS", "ONE", "OPEN", "RELATIONS", "ROUNDINGS", "RULES", "Box",
    "Claim", "Context", "Meter", "Monomial", "Poly", "Ratio", "Refused", "Variable", "canonical", "check",
    "claim_of", "constant", "digest", "infix", "is_variable", "join", "load", "put", "run", "unique",
    "value_at", "variables",
]  # fmt: skip
