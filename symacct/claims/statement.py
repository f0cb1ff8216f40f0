"""The words of one statement, read together: both sides, what is bound, and the conditions beside it."""

from __future__ import annotations

import re
from functools import reduce
from typing import TYPE_CHECKING

from symacct.errors import SymacctError
from symacct.syntax import AmbiguousError, Names, Tokenizer
from symacct.syntax.lookalikes import check_lookalikes
from symacct.syntax.words import NOTHING, Evidence
from symacct.units import is_unit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

COMPARED = re.compile(r"<<|>>|<=|>=|->|[≤≥<>=|∣~≈]|(?<!\w)(?:divides|and|iff|as|where)(?!\w)|,")
"""What stands between the formulas of a condition."""


class Statement:
    """What the parts of a statement show, so that a word is the same in all of them.

    Args:
        names: the declared names.
        quantities: the names of quantities.
        free: whether words that are not declared are new names.
        calc: whether numbers take suffixes wherever they stand.
    """

    def __init__(
        self, names: frozenset[str], quantities: Collection[str], *, free: bool, calc: bool = False
    ) -> None:
        """Begin without parts."""
        self.names = Names(names)
        self.quantities = frozenset(quantities)
        self.free = free
        self.calc = calc
        self.parts: list[Tokenizer] = []
        self.beside: list[Tokenizer] = []

    def part(
        self, padded: str, shown: str, *, latex: bool = False, names: frozenset[str] | None = None
    ) -> Tokenizer:
        """Add a formula, and return what will split it once all parts are there."""
        known = self.names if names is None else names
        how = {"free": self.free, "calc": self.calc, "latex": latex}
        made = Tokenizer(padded, known, is_unit, self.quantities, shown, **how)
        self.parts.append(made)
        return made

    def condition(self, text: str) -> None:
        """Add a condition that is read later, by somebody else; what cannot be read is left to that one."""
        for padded in _formulas(text):
            try:
                made = Tokenizer(padded, self.names, is_unit, self.quantities, text, free=self.free)
            except SymacctError:
                continue
            self.beside.append(made)

    def share(self, shown: str) -> None:
        """Let every part know what all of them show.

        Beside a graph every name is declared, and that a condition names a size says nothing of a ``9B``.

        Raises:
            FormulaError: two names look the same and are not.
        """
        found = reduce(Evidence.joined, (one.evidence for one in self.parts), NOTHING)
        every = reduce(Evidence.joined, (one.evidence for one in self.beside), found)
        for one in self.parts:
            one.evidence = every if self.free else found
        for one in self.beside:
            one.evidence = every
        self.names = Names(self.names, every)
        words = [raw.text for one in self.parts for raw in one.raws if raw.kind == "word"]
        words += [raw.text for one in self.beside for raw in one.raws if raw.kind == "word"]
        check_lookalikes([*sorted(self.names), *words], shown)

    def check_beside(self) -> None:
        """Check that the conditions can be read in one way.

        Raises:
            AmbiguousError: one cannot.
        """
        for one in self.beside:
            try:
                one.run()
            except AmbiguousError:
                raise
            except SymacctError:
                continue

    def new_names(self) -> Iterator[str]:
        """Yield the names that the parts have and nobody declares."""
        for one in (*self.parts, *self.beside):
            yield from (
                token.text for token in one.tokens if token.kind == "name" and self.is_new(token.text)
            )

    def is_new(self, name: str) -> bool:
        """Say whether a name is declared nowhere."""
        return name not in self.names

    def meanings(self, bound: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Return what each name and each doubtful word stands for, in the order of the text."""
        known = {name: f"where: {formula.strip()}" for name, formula in bound}
        found: dict[str, str] = {}
        for one in self.parts:
            for token in one.tokens:
                if token.kind == "name":
                    size = "a name" if self.free else "a size of the graph"
                    found.setdefault(token.text, known.get(token.text, size))
            found |= {word: meaning for word, meaning in one.meanings.items() if word not in found}
        return tuple(found.items())


def _formulas(text: str) -> Iterator[str]:
    """Yield the formulas of a condition, each behind as many spaces as there is text before it."""
    start = 0
    for sign in COMPARED.finditer(text):
        yield " " * start + text[start : sign.start()]
        start = sign.end()
    yield " " * start + text[start:]
