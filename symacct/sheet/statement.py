"""Statements as cells: a claim's text taken apart, so that each part is a formula, a sign or words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from symacct.claims import read_claim
from symacct.evaluation.machine_names import NAMES, RIDGE
from symacct.proof.conditions import cut_conditions
from symacct.proof.extremum import read_extremum
from symacct.proof.format_facts import FACTS
from symacct.proof.machine_facts import RATE
from symacct.proof.threshold import is_threshold, read_threshold
from symacct.report.names import MEANINGS
from symacct.sheet.data import Cell, Item, Math, Sign, Words
from symacct.syntax import Source, guess_names, parse, walk
from symacct.units import is_unit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from symacct.claims.claim import Claim

QUANTITIES = frozenset({*MEANINGS, *FACTS})
"""What is read as one word: quantities, and numbers of a format such as ``epsilon(bf16)``."""
FIGURES = frozenset({*NAMES, RIDGE})
FORMATS = "formats"
COMPARED = re.compile(r"<=|>=|≤|≥|<|>|=|\||∣")
PLAIN = {"≤": "<=", "≥": ">=", "∣": "|"}


def formula(text: str, names: Collection[str]) -> Math:
    """Return one formula, read.

    Raises:
        SymacctError: it cannot be read.

    >>> formula("2BDK", ["B", "D", "K"]).tree.form
    'product'
    """
    composed = Source(text).text
    return Math(parse(composed, names, is_unit, QUANTITIES), composed, frozenset(names))


def comparison(text: str, names: Collection[str]) -> Cell:
    """Return a condition such as ``B >= k*D`` or ``k | L``; words where it is no comparison.

    >>> [type(item).__name__ for item in comparison("B >= 2*D", ["B", "D"])]
    ['Math', 'Sign', 'Math']
    """
    text = text.replace(" divides ", " | ")
    found = COMPARED.search(text)
    if found is None:
        return (Words(text),)
    left, right = (formula(part.strip(), names) for part in (text[: found.start()], text[found.end() :]))
    return (left, Sign(PLAIN.get(found[0], found[0])), right)


def figures(text: str) -> frozenset[str]:
    """Return what a text names of a machine: its figures, and symbols of rates.

    >>> sorted(figures("time.forward = max(4*n/W_mem, n/V_bf16)")), sorted(figures("peak/bandwidth"))
    (['V_bf16', 'W_mem'], ['bandwidth', 'peak'])
    """
    words = re.findall(r"(?<![\w.])[a-z]+(?![\w.(])", text)
    return frozenset({*FIGURES.intersection(words), *(one.group() for one in RATE.finditer(text))})


class Statement:
    """A claim's text as cells.

    Attributes:
        quantity: the name of the derived quantity on the left, where it stands there alone.
        cell: the whole statement; without the left side where that is a quantity alone.
        where: what names stand for.
        regions: which sizes it is about.
        names: the names it may use.
        topic: first words of the quantities in it.
    """

    def __init__(
        self, text: str, names: Collection[str] | None, lets: Iterable[str] = (), of: Iterable[str] = ()
    ) -> None:
        """Read a claim.

        Args:
            text: the claim.
            names: the sizes; None guesses them.
            lets: names of its own, each ``NAME = FORMULA``.
            of: what it names of a machine.

        Raises:
            SymacctError: it cannot be read.
        """
        bare, regions = cut_conditions(text)
        lets = tuple(lets)
        if names is not None:
            names = {*names, *of}
        extremum = read_extremum(bare)
        written = read_threshold(bare, names) if is_threshold(bare) else None
        stated = extremum.equation if extremum else written.condition if written else bare
        self.claim = read_claim(stated, names, QUANTITIES, lets)
        self.names = self.claim.names | {one.name for one in self.claim.where}
        self.quantity = ""
        if extremum:
            inner = formula(extremum.inner, self.names)
            claimed = formula(extremum.claimed, self.names)
            opened, closed = ((Sign("("),), (Sign(")"),)) if inner.tree.form != "quantity" else ((), ())
            head = Sign(f"{extremum.form} {extremum.name}")
            self.cell: Cell = (head, *opened, inner, *closed, Sign("="), claimed)
        elif written:
            right = read_claim(written.threshold, self.names, QUANTITIES, ())
            self.cell = (*self.sides(self.claim), Sign("iff"), *self.sides(right))
        else:
            self.cell = tuple(self.shown(self.claim))
        self.where = tuple(self.bindings())
        self.regions = tuple(comparison(one, self.names) for one in regions)
        trees = [self.claim.left, self.claim.right, *(one.tree for one in self.claim.where)]
        used = [part.name for tree in trees for part in walk(tree) if part.form == "quantity"]
        first = {name.partition(".")[0].partition("(")[0] for name in used}
        self.topic = frozenset(FORMATS if one in FACTS else one for one in first)

    def math(self, tree: object, text: str) -> Math:
        """Return a part of a claim as a formula."""
        return Math(tree, text, self.names)  # type: ignore[arg-type]

    def sides(self, claim: Claim) -> Iterator[Item]:
        """Yield left side, relation and right side."""
        yield self.math(claim.left, claim.text)
        yield from self.related(claim)

    def shown(self, claim: Claim) -> Iterator[Item]:
        """Yield a claim; a quantity alone on the left goes to its own column."""
        if claim.left.form == "quantity" and "(" not in claim.left.name:
            self.quantity = claim.left.name
            rest = list(self.related(claim))
            yield from rest[1:] if claim.relation == "=" else rest
        else:
            yield from self.sides(claim)

    def related(self, claim: Claim) -> Iterator[Item]:
        """Yield relation and right side."""
        right = self.math(claim.right, claim.text)
        if claim.relation in {"O", "Theta"}:
            yield from (Sign("="), Sign(f"{claim.relation}("), right, Sign(")"))
        else:
            yield from (Sign(claim.relation), right)

    def bindings(self) -> Iterator[Cell]:
        """Yield what each name stands for."""
        for one in self.claim.where:
            name = formula(one.name, [one.name])
            yield (name, Sign("="), self.math(one.tree, one.text))


def guessed(text: str, of: Iterable[str] = ()) -> Cell:
    """Return a statement that nobody judges, as formulas where it reads as some, else as words.

    Args:
        text: the statement.
        of: what it names of a machine.
    """
    from symacct.errors import SymacctError

    try:
        found = Statement(text, None, (), of)
    except SymacctError:
        return (Words(text, code=True),)
    return tuple(found.sides(found.claim)) if found.quantity else found.cell


def names_in(text: str) -> tuple[str, ...]:
    """Return the names of a formula for which none are declared.

    >>> names_in("6*N*D")
    ('N', 'D')
    """
    return tuple(guess_names(text, (), is_unit))
