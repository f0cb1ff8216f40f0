"""One claim: a formula somebody states."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from symacct.claims.parts import Parts, Relation, Span, binding_of, parts_of
from symacct.errors import FormulaError, SymacctError, UnknownNameError, unknown
from symacct.syntax import Source, Tree, caret, guess_names, parse, readings
from symacct.units import is_unit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

ORDERS = {"O", "Theta"}
HIDES = "{} is what {} binds, not the size of that name"


@dataclass(frozen=True, slots=True)
class Binding:
    """A name that ``where`` or ``--let`` binds, its formula, and the text in which the formula stands."""

    name: str
    tree: Tree
    text: str


@dataclass(frozen=True, slots=True)
class Claim:
    """Two formulas and a relation between them.

    Attributes:
        left: the left side; places are those in `text`.
        relation: ``O`` and ``Theta`` are read off the right side, whose argument is then the right side.
        right: the right side.
        where: names and what they stand for, in the order in which they may use one another.
        grows: what goes to infinity, as stated; empty where nothing is stated.
        text: the claim as it was written, in composed Unicode.
        names: the sizes that the sides may name.
        notes: how doubtful words were read, and which sizes are hidden.
    """

    left: Tree
    relation: Relation
    right: Tree
    where: tuple[Binding, ...]
    grows: tuple[str, ...]
    text: str
    names: frozenset[str]
    notes: tuple[str, ...] = ()


def read_claim(
    text: str,
    names: Collection[str] | None,
    quantities: Collection[str] = (),
    lets: Iterable[str] = (),
) -> Claim:
    """Return a claim, read.

    Args:
        text: ``QUANTITY-or-formula RELATION formula [where NAME = FORMULA, ...] [as NAME -> oo]``.
        names: the sizes; None where there is no graph: letters are names then.
        quantities: the names of quantities.
        lets: more bindings, each ``NAME = FORMULA``.

    Raises:
        SymacctError: it cannot be read; the error has a caret.

    >>> text = "flops.model ~ 6*N*D where N = params, D = tokens"
    >>> claim = read_claim(text, ["B"], ["flops.model", "params", "tokens"])
    >>> claim.relation, claim.left.name, [one.name for one in claim.where]
    ('~', 'flops.model', ['N', 'D'])
    """
    parts = parts_of(text, names or ())
    given = [(*binding_of(let), let) for let in lets]
    bound = [*((name, span, Source(let).text) for name, span, let in given)]
    bound += [(name, span, parts.text) for name, span in parts.where]
    check_twice([name for name, _, _ in bound], parts.text)
    sizes = frozenset(names if names is not None else _guessed(parts, bound))
    reader = _Reader(sizes, frozenset(quantities), guessed=names is None)
    where = reader.bindings(bound)
    visible = sizes | {one.name for one in where}
    left, right = (reader.side(span, parts.text, visible) for span in (parts.left, parts.right))
    relation, right = _order(parts, right)
    _check_growing(parts, visible)
    hidden = [HIDES.format(one.name, f"{one.name} = ...") for one in where if one.name in sizes and names]
    notes = tuple(dict.fromkeys([*hidden, *reader.notes]))
    return Claim(left, relation, right, where, parts.grows, parts.text, sizes, notes)


class _Reader:
    def __init__(self, sizes: frozenset[str], quantities: frozenset[str], *, guessed: bool) -> None:
        self.sizes = sizes
        self.quantities = quantities
        self.guessed = guessed
        self.notes: list[str] = []

    def side(self, span: Span, text: str, names: frozenset[str]) -> Tree:
        """Return the tree of a part of a text."""
        padded = span.of(text)
        try:
            tree = parse(padded, names, is_unit, self.quantities, shown=text)
        except UnknownNameError as error:
            raise self.offered(error, names) from None
        self.notes += readings(padded, names, self.quantities)
        return tree

    def offered(self, error: UnknownNameError, names: frozenset[str]) -> SymacctError:
        """Return the error for an unknown name, with sizes, quantities and bound names, and a ``where``."""
        bound = sorted(names - self.sizes)
        lists = {"sizes": sorted(self.sizes), "quantities": sorted(self.quantities), "bound": bound}
        error.expected = "; ".join(f"{word}: {', '.join(found)}" for word, found in lists.items() if found)
        bind = f"bind it: ... where {error.got} = FORMULA"
        if error.got is None or "." in error.got or (error.fix or "").endswith("for the unit"):
            return error
        error.fix = f"{error.fix} or {bind}" if error.fix else bind
        return error

    def bindings(self, bound: list[tuple[str, Span, str]]) -> tuple[Binding, ...]:
        """Return the bindings in an order in which each uses earlier ones."""
        made: list[Binding] = []
        waiting = list(bound)
        while waiting:
            failed: list[tuple[str, Span, str]] = []
            first: SymacctError | None = None
            for name, span, text in waiting:
                later = {other for other, _, _ in waiting} - {name}
                known = (self.sizes - later) | {one.name for one in made}
                try:
                    made.append(Binding(name, self.side(span, text, known), text))
                except UnknownNameError as error:
                    first = first or error
                    failed.append((name, span, text))
            if first and len(failed) == len(waiting):
                raise first
            waiting = failed
        return tuple(made)


def _guessed(parts: Parts, bound: list[tuple[str, Span, str]]) -> set[str]:
    """Return the letters and words of a claim without a graph, as names."""
    spans = [(parts.left, parts.text), (parts.right, parts.text), *((span, text) for _, span, text in bound)]
    taken = {name for name, _, _ in bound}
    found: set[str] = set()
    for span, text in spans:
        plain = Source(span.of(text)).plain
        found |= set(guess_names(plain, taken, is_unit))
    return found


def check_twice(names: list[str], text: str) -> None:
    """Check that no name is bound twice.

    Raises:
        FormulaError: one is.
    """
    for place, name in enumerate(names):
        if name in names[:place]:
            raise FormulaError(f"{name} is bound twice", where=text[:72], expected=f"one formula for {name}")


def _check_growing(parts: Parts, names: frozenset[str]) -> None:
    for name in parts.grows:
        if name not in names:
            raise unknown("name", name, names, where=f"as {', '.join(parts.grows)} -> oo")


def _order(parts: Parts, right: Tree) -> tuple[Relation, Tree]:
    """Return the relation, and the right side without the O() around it."""
    if right.form == "call" and right.name in ORDERS:
        if parts.relation not in {"=", "~", "O", "<="} or (parts.relation == "<=" and right.name != "O"):
            what = f"{right.name}() follows =, not {parts.relation}"
            raise FormulaError(what, where=caret(parts.text, right.start), expected=f"= {right.name}(...)")
        name: Relation = "O" if right.name == "O" else "Theta"
        return name, right.parts[0]
    if parts.relation == "O":
        what = "what follows ∈ is an order of growth"
        raise FormulaError(what, where=caret(parts.text, right.start), expected="O(...) or Theta(...)")
    return parts.relation, right


def rewritten(claim: Claim, text: str, quantities: Collection[str]) -> Claim:
    """Return the claim that another text makes, with the same sizes, quantities and bindings from outside."""
    made = read_claim(text, claim.names, quantities)
    outside = tuple(one for one in claim.where if one.text != claim.text)
    return replace(made, where=(*outside, *made.where))
