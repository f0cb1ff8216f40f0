"""One claim: a formula somebody states."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from symacct.algebra.symbols import check_name
from symacct.claims.parts import Parts, Relation, Span, binding_of, parts_of
from symacct.claims.statement import Statement
from symacct.errors import FormulaError, SymacctError, UnknownNameError, nearest, unknown
from symacct.syntax import AmbiguousError, Names, Source, Tokenizer, Tree, caret, readings, tree_of, walk
from symacct.syntax.refusals import completed, said
from symacct.syntax.words import KEYWORDS, NOTHING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from fractions import Fraction

    from symacct.syntax.words import Evidence

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
        tolerance: for ``A = B within P %``, the share that the sides may differ by.
        meanings: what each name is, and how words were read that are no name of their own.
    """

    left: Tree
    relation: Relation
    right: Tree
    where: tuple[Binding, ...]
    grows: tuple[str, ...]
    text: str
    names: frozenset[str]
    notes: tuple[str, ...] = ()
    tolerance: Fraction | None = None
    meanings: tuple[tuple[str, str], ...] = ()


def read_claim(
    text: str,
    names: Collection[str] | None,
    quantities: Collection[str] = (),
    lets: Iterable[str] = (),
    *,
    declared: Iterable[str] = (),
    beside: Iterable[str] = (),
    whole: str | None = None,
) -> Claim:
    """Return a claim, read.

    Args:
        text: ``QUANTITY-or-formula RELATION formula [where NAME = FORMULA, ...] [as NAME -> oo]``.
        names: the sizes; None where there is no graph: words that nobody declares are names then.
        quantities: the names of quantities.
        lets: more bindings, each ``NAME = FORMULA``.
        declared: more names: those that ``--names`` declares, and bound indices.
        beside: conditions and other parts of the statement that are read apart: what they show counts too.
        whole: the statement as it was written, where the text is only a part of it, at the same place.

    Raises:
        SymacctError: it cannot be read, or in two ways; the error has each reading.

    >>> text = "flops.model ~ 6*N*D where N = params, D = tokens"
    >>> claim = read_claim(text, ["B"], ["flops.model", "params", "tokens"])
    >>> claim.relation, claim.left.name, [one.name for one in claim.where]
    ('~', 'flops.model', ['N', 'D'])
    """
    given, conditions, more = tuple(lets), tuple(beside), tuple(declared)

    def read(one: str) -> Claim:
        return _read(one, names, quantities, given, more, conditions, whole)

    try:
        return read(text)
    except AmbiguousError as error:
        raise completed(error, read, parts_of(text, names or ()).text, whole) from None


def _read(
    text: str,
    names: Collection[str] | None,
    quantities: Collection[str],
    lets: tuple[str, ...],
    declared: tuple[str, ...],
    beside: tuple[str, ...],
    whole: str | None,
) -> Claim:
    parts = parts_of(text, names or ())
    bound = [
        Bound(name, span, Source(let).text, given=True) for let in lets for name, span in (binding_of(let),)
    ]
    bound += [Bound(name, span, parts.text, given=False) for name, span in parts.where]
    check_twice([one.name for one in bound], parts.text)
    sizes = frozenset(names or ()) | {check_name(name) for name in declared}
    evidence = names.evidence if isinstance(names, Names) else NOTHING
    reader = _Reader(sizes, quantities, parts, bound, free=names is None, evidence=evidence)
    reader.whole = whole
    for one in beside:
        reader.statement.condition(one)
    return reader.claim()


@dataclass(frozen=True, slots=True)
class Bound:
    """A name that is bound, and where its formula stands; `given` says that an option binds it."""

    name: str
    span: Span
    text: str
    given: bool

    @property
    def formula(self) -> str:
        """The text of the formula."""
        return self.text[self.span.start : self.span.end].strip()


class _Reader:
    def __init__(
        self,
        sizes: frozenset[str],
        quantities: Collection[str],
        parts: Parts,
        bound: list[Bound],
        *,
        free: bool,
        evidence: Evidence,
    ) -> None:
        self.sizes = sizes
        self.whole: str | None = None
        self.parts = parts
        self.bound = bound
        self.free = free
        self.visible = sizes | {one.name for one in bound}
        self.statement = Statement(self.visible, quantities, free=free)
        self.statement.names = Names(self.visible, evidence)
        self.sides = [self.part(span, parts.text) for span in (parts.left, parts.right)]
        self.formulas = [self.part(one.span, one.text) for one in bound]

    def part(self, span: Span, text: str) -> Tokenizer:
        latex = text == self.parts.text and self.parts.is_latex(span)
        return self.statement.part(span.of(text), text, latex=latex)

    def claim(self) -> Claim:
        """Return the claim."""
        self.statement.share(self.parts.text)
        trees = [self.tree(one) for one in self.formulas]
        where = self.ordered(trees)
        left, right = map(self.tree, self.sides)
        self.statement.check_beside()
        relation, right = _order(self.parts, right)
        new = frozenset(self.statement.new_names()) if self.free else frozenset()
        _check_growing(self.parts, self.visible | new)
        own = {one.name for one in self.bound if one.name in names_in(trees[self.bound.index(one)])}
        names = Names(self.sizes | new | (own if self.free else set()), self.statement.names.evidence)
        said = [note for one in (*self.formulas, *self.sides) for note in readings(one)]
        hidden = [] if self.free else [one.name for one in where if one.name in self.sizes]
        notes = dict.fromkeys([*(HIDES.format(name, f"{name} = ...") for name in hidden), *said])
        meanings = self.statement.meanings((one.name, one.formula) for one in self.bound)
        return Claim(left, relation, right, where, self.parts.grows, self.parts.text, names, tuple(notes),
                     self.parts.tolerance, meanings)  # fmt: skip

    def tree(self, tokenizer: Tokenizer) -> Tree:
        """Return the tree of a part."""
        try:
            return tree_of(tokenizer)
        except UnknownNameError as error:
            raise self.offered(error) from None

    def offered(self, error: UnknownNameError) -> SymacctError:
        """Return the error for an unknown name, with sizes, quantities and bound names, and a ``where``."""
        bound = sorted(self.visible - self.sizes)
        lists = {
            "size": ("sizes", sorted(self.sizes)),
            "quantity": ("quantities", sorted(self.statement.quantities)),
            "name": ("bound", bound),
        }
        got = error.got or ""
        said = (f"{word}: {nearest(got, names, kind)}" for kind, (word, names) in lists.items() if names)
        error.expected = "; ".join(said)
        bind = f"bind it: ... where {error.got} = FORMULA"
        if error.got is None or "." in error.got or error.got in KEYWORDS or (error.fix or "")[:5] == "write":
            return error
        error.fix = f"{error.fix} or {bind}" if error.fix else bind
        return error

    def ordered(self, trees: list[Tree]) -> tuple[Binding, ...]:
        """Return the bindings in an order in which each uses earlier ones.

        Raises:
            FormulaError: one uses a name that is bound beside it, where that may be misread.
        """
        uses = [names_in(tree) & {one.name for one in self.bound} - {one.name} for one, tree in
                zip(self.bound, trees, strict=True)]  # fmt: skip
        own = {one.name for one, tree in zip(self.bound, trees, strict=True) if one.name in names_in(tree)}
        for one, used in zip(self.bound, uses, strict=True):
            for other in self.bound:
                if other.name in used and other.name not in own and self.may_be_misread(one, other):
                    raise self.chained(one, other)
        for one in self.bound:
            if one.name in own and one.name not in self.sizes and not (self.free and one.given):
                what, got = f"{one.name} is bound through itself", f"{one.name} = {one.formula}"
                raise FormulaError(what, where=one.text[:72], expected="a formula without it", got=got[:64])
        made: dict[str, Binding] = {}
        waiting = list(zip(self.bound, trees, uses, strict=True))
        while waiting:
            ready = [row for row in waiting if row[2] <= made.keys()]
            if not ready:
                first = waiting[0][0]
                what = f"{first.name} is bound through itself"
                raise FormulaError(
                    what, where=first.text[:72], expected="a formula without it", got=first.formula[:64]
                )
            made |= {one.name: Binding(one.name, tree, one.text) for one, tree, _ in ready}
            waiting = [row for row in waiting if row[0].name not in made]
        return tuple(made.values())

    def may_be_misread(self, one: Bound, other: Bound) -> bool:
        """Say whether a name in a binding may be what is bound beside it, or a size."""
        both_written = not one.given and not other.given
        return both_written or (other.name in self.sizes and not self.free)

    def chained(self, one: Bound, other: Bound) -> FormulaError:
        """Return the error for a binding that uses a name bound beside it, mended."""
        found = re.compile(rf"(?<![\w.]){re.escape(other.name)}(?!\w)")
        formula = other.formula
        simple = re.fullmatch(r"[\w.]+", formula) is not None
        inner = found.sub(lambda _: formula if simple else f"({formula})", one.formula)
        text, span = one.text, one.span
        if self.whole is not None and self.whole[span.start : span.end] == text[span.start : span.end]:
            text = self.whole
        line = f"{text[: span.start]} {inner} {text[span.end :].lstrip()}".strip()
        line = re.sub(r" +([,;])", r"\1", re.sub(r"  +", " ", line))
        fixes = [] if re.search(rf"(?<![\w.]){re.escape(one.name)}(?!\w)", inner) else [line]
        if other.name in self.sizes and not self.free:
            fixes.append(f"--rename {one.name}={other.name},...      (the size {other.name} of the graph)")
        place = text.find(other.name, span.start)
        return FormulaError(
            f"{one.name} uses {other.name}, which is bound beside it",
            where=caret(text, max(place, span.start)),
            expected="formulas that use no name bound beside them",
            got=f"{one.name} = {one.formula}"[:64],
            fix=said(fixes),
        )


def names_in(tree: Tree) -> frozenset[str]:
    """Return the names in a tree."""
    return frozenset(part.name for part in walk(tree) if part.form == "name")


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
    outside = tuple(one for one in claim.where if one.text != claim.text)
    made = read_claim(text, claim.names, quantities, declared=[one.name for one in outside])
    return replace(made, where=(*outside, *made.where))
