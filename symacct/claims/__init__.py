"""Claims: a formula that somebody states, read, with the unit of every part checked."""

from symacct.claims.amount import Amount, amount
from symacct.claims.claim import Binding, Claim, read_claim
from symacct.claims.dims import Dims
from symacct.claims.parts import Relation
from symacct.claims.sides import Side, Sides, resolve

__all__ = [
    "Amount",
    "Binding",
    "Claim",
    "Dims",
    "Relation",
    "Side",
    "Sides",
    "amount",
    "read_claim",
    "resolve",
]
