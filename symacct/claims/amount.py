"""One formula with numbers and units, worked out exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import evaluate
from symacct.claims.check import UnlikeError, unit_warnings
from symacct.claims.claim import Binding, check_twice
from symacct.claims.dims import Dims
from symacct.claims.parts import binding_of
from symacct.claims.repair import mended
from symacct.claims.sides import Scope, Typed
from symacct.claims.statement import Statement
from symacct.errors import SymacctError, UnknownNameError
from symacct.syntax import AmbiguousError, Source, Tokenizer, Tree, caret, readings, tree_of, walk
from symacct.syntax.refusals import completed
from symacct.units import ONE, Unit, convert, read_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

ONE_MAC = "1 MAC = 2 FLOP"
ABOVE_ONE = (
    "a share above 100 %: is a MAC counted as 2 FLOP, and is the peak that of all devices, and not sparse?"
)


@dataclass(frozen=True, slots=True)
class Amount:
    """An exact value in base units, its unit, and the notes that a reader should see."""

    value: Expr
    unit: Unit
    notes: tuple[str, ...] = ()

    def to(self, unit: str | None) -> Converted:
        """Return the number in a unit; in base units where none is named.

        Raises:
            UnitError: the amount is of another kind.
        """
        value = self.value if unit is None else convert(self.value, self.unit, unit)
        return Converted(value, str(self.unit) if unit is None else unit, self.notes)


@dataclass(frozen=True, slots=True)
class Converted:
    """An exact value in a unit that was asked for."""

    value: Expr
    unit: str
    notes: tuple[str, ...] = ()


def amount(text: str, to: str | None = None, lets: Sequence[str] = (), names: Sequence[str] = ()) -> Amount:
    """Return what a formula of numbers and units comes to, exactly, in base units.

    Args:
        text: the formula: ``640 GB / (12 byte/param)``.
        to: the unit that it is to have, checked against the formula's.
        lets: names, each ``NAME = FORMULA``.
        names: words that are names, as ``--names`` declares them; each needs a value all the same.

    Raises:
        UnitError: units disagree; the error has the place and the corrected line.
        SymacctError: the formula cannot be read, or has no value.

    >>> found = amount("2 byte/parameter * 70e9 parameter", "GB")
    >>> found.value, str(found.unit)
    (140000000000, 'byte')
    """
    wanted = None if to is None else read_unit(to)[1]
    unbound = [name for name in names if name not in {binding_of(let)[0] for let in lets}]
    if unbound:
        what, fix = f"{unbound[0]} has no value", f"write --let '{unbound[0]} = ...'"
        raise UnknownNameError(what, expected="a value for each name", got=unbound[0], fix=fix)
    try:
        return _worked_out(text, to, wanted, lets)
    except AmbiguousError as error:
        raise completed(error, lambda other: _Read(other, lets), Source(text).text) from None
    except UnlikeError as error:
        tree = _Read(text, lets).tree
        if not any(part is error.part or part == error.part for part in walk(tree)):
            raise
        source = Source(text).text
        raise mended(error, tree, source, lambda other: _works(other, to, wanted, lets)) from None


def _works(text: str, to: str | None, wanted: Unit | None, lets: Sequence[str]) -> bool:
    try:
        return bool(_worked_out(text, to, wanted, lets))
    except SymacctError:
        return False


class _Read:
    """A formula and its bindings, read together: each binding uses earlier ones."""

    def __init__(self, text: str, lets: Sequence[str]) -> None:
        found = [(*binding_of(let), Source(let).text) for let in lets]
        check_twice([name for name, _, _ in found], "; ".join(lets))
        statement = Statement(frozenset(), (), free=False, calc=True)
        parts: list[tuple[str, Tokenizer, str]] = []
        known: frozenset[str] = frozenset()
        for name, span, let in found:
            parts.append((name, statement.part(span.of(let), let, names=known), let))
            known |= {name}
        whole = Source(text).text
        last = statement.part(whole, whole, names=known)
        statement.share(whole)
        self.bindings = [Binding(name, _tree(one), let) for name, one, let in parts]
        self.tree = _tree(last)
        self.notes = readings(last)


def _tree(tokenizer: Tokenizer) -> Tree:
    try:
        return tree_of(tokenizer)
    except UnknownNameError as error:
        let = f"--let {error.got}=..."
        error.fix = (
            f"{error.fix} or write {let}"
            if error.fix
            else f"write {let}; a unit stands after a number or a value"
        )
        raise


def _worked_out(text: str, to: str | None, wanted: Unit | None, lets: Sequence[str]) -> Amount:
    scope = Scope(None)
    read = _Read(text, lets)
    tree, bindings = read.tree, read.bindings
    for binding in bindings:
        scope.bind(binding)
    text = Source(text).text
    typed = scope.typed(tree, text)
    if wanted is not None:
        _check_wanted(typed, tree, text, to or "", wanted, scope)
    written = [
        part.name for one in (tree, *(b.tree for b in bindings)) for part in walk(one) if part.form == "unit"
    ]
    notes = [*read.notes, *unit_warnings(written)]
    if typed.dims.mac != (Dims.read(to).mac if to else 0):
        notes.append(ONE_MAC)
    value = evaluate(typed.expr, {})
    if to is not None and to.strip() in {"%", "percent"} and value > 1:
        notes.append(ABOVE_ONE)
    return Amount(value, typed.dims.unit or ONE, tuple(notes))


def _check_wanted(typed: Typed, tree: Tree, text: str, to: str, wanted: Unit, scope: Scope) -> None:
    """Check that a formula has the unit that is wanted.

    Raises:
        UnitError: it has another.
    """
    if typed.dims.unit == wanted:
        return
    error = UnlikeError(
        f"the unit of the formula is {typed.dims}, not {to}",
        where=caret(text, tree.start),
        expected=f"{wanted}      (for --to {to})" if to != str(wanted) else f"{wanted}",
        got=f"{typed.dims}      (of {scope.checker(text).slice(tree)})",
    )
    error.first, error.part, error.wanted, error.found = tree, tree, Dims.of(wanted), typed.dims
    raise error
