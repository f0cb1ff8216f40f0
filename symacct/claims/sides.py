"""A claim with its quantities looked up: two sides of one unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sympy import Expr, Rational

from symacct.algebra.condition import Condition, merge
from symacct.algebra.symbols import symbol
from symacct.claims.check import SHARES, Checker, UnlikeError, unit_warnings
from symacct.claims.claim import Binding, Claim, rewritten
from symacct.claims.coefficients import NoReadingError, absorbed
from symacct.claims.dims import Dims, dotted
from symacct.claims.repair import mended
from symacct.errors import FormulaError, SymacctError, UnitError
from symacct.messages import Message
from symacct.syntax import Tree, caret, check_nesting, fold, walk
from symacct.units import ONE, Unit, read_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from symacct.quantity import Quantity

    Lookup = Callable[[str], Quantity]

ROOTS_AND_LOGS: Mapping[str, str] = {"sqrt": ">=", "log": ">", "ln": ">", "log2": ">"}
COUNTED = frozenset({"binomial", "factorial"})
WHOLE = "whole"
CHECK_PEAK = "count a MAC as 2 FLOP on both sides, and take the dense peak of all devices"


class Typed(NamedTuple):
    """What a part of a formula is worth: an expression in base units, and the unit."""

    expr: Expr
    dims: Dims


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a claim: its formula in base units, its unit, and when what it names holds."""

    expr: Expr
    unit: Unit
    when: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Sides:
    """Both sides of a claim, in one unit.

    `notes` say how units were read; `divisors` are what the claim divides by, as written: nothing is claimed
    where one of them is 0. `inside` is what it takes roots and factorials (``>=``) and logarithms (``>``) of,
    which must be at least 0, or above 0, and what must be an integer for a factorial or a binomial
    (``whole``), also where the root, the logarithm or the factorial cancels.
    """

    left: Side
    right: Side
    notes: tuple[str, ...] = ()
    divisors: tuple[Expr, ...] = ()
    inside: tuple[tuple[str, Expr], ...] = ()


class Scope:
    """What names and quantities stand for; every text of a claim is evaluated in one."""

    def __init__(self, lookup: Lookup | None) -> None:
        """Start without bindings."""
        self.lookup = lookup
        self.bound: dict[str, Typed] = {}
        self.found: dict[str, Quantity] = {}
        self.deep: dict[str, int] = {}

    def bind(self, binding: Binding) -> Typed:
        """Bind a name.

        Raises:
            SymacctError: the formula's units disagree, or an MFU is above 1.
        """
        typed = self.typed(binding.tree, binding.text)
        check_share(binding, typed)
        self.deep[binding.name] = check_nesting(binding.tree, binding.text, self.deep)
        self.bound[binding.name] = typed
        return typed

    def typed(self, tree: Tree, text: str) -> Typed:
        """Return what a formula of one text is worth."""
        checker = self.checker(text)
        dims = checker.dims(tree)
        checker.whole(dims, tree)
        return Typed(self.expr(tree, text), dims)

    def checker(self, text: str) -> Checker:
        """Return what finds the units in a text."""
        constants = {name for name, typed in self.bound.items() if typed.dims.pure and typed.expr.is_Rational}
        return Checker(text, lambda leaf: self.dims(leaf, text), frozenset(constants))

    def dims(self, leaf: Tree, text: str) -> Dims:
        """Return the unit of a name or a quantity."""
        if leaf.form == "name":
            return self.bound[leaf.name].dims if leaf.name in self.bound else Dims()
        return Dims.of(self.quantity(leaf, text).unit)

    def quantity(self, leaf: Tree, text: str) -> Quantity:
        """Return a quantity, looked up once."""
        if leaf.name not in self.found:
            place = caret(text, leaf.start)
            if self.lookup is None:
                what = f"{leaf.name} is a quantity of a graph, and there is no graph"
                raise FormulaError(what, where=place, expected="names and numbers", got=leaf.name)
            try:
                self.found[leaf.name] = self.lookup(leaf.name)
            except SymacctError as error:
                raise error.at(place) from None
        return self.found[leaf.name]

    def expr(self, tree: Tree, text: str) -> Expr:
        """Return the expression of a formula, in base units."""
        check_nesting(tree, text, self.deep)
        return fold(tree, lambda leaf: self.leaf(leaf, text), text)

    def leaf(self, leaf: Tree, text: str) -> Expr:
        """Return the expression of a name, a quantity, or the factor of a unit."""
        if leaf.form == "unit":
            scale = read_unit(leaf.name)[0]
            return Rational(scale.numerator, scale.denominator)
        if leaf.form == "name":
            return self.bound[leaf.name].expr if leaf.name in self.bound else symbol(leaf.name)
        return self.quantity(leaf, text).expr

    def physical(self, tree: Tree, text: str) -> bool:
        """Say whether a formula writes a physical unit, or names something that has one."""
        return any(
            (Dims.read(part.name) if part.form == "unit" else self.dims(part, text)).physical
            for part in walk(tree)
            if part.form in {"unit", "name", "quantity"}
        )

    def when(self, tree: Tree, bound: Mapping[str, Binding]) -> tuple[Condition, ...]:
        """Return the conditions of the quantities that a formula names, through bindings too."""
        names, todo = set(), [tree]
        conditions: list[Condition] = []
        while todo:
            for part in walk(todo.pop()):
                if part.form == "quantity":
                    conditions += self.found[part.name].when
                elif part.name in bound and part.form == "name" and part.name not in names:
                    names.add(part.name)
                    todo.append(bound[part.name].tree)
        return merge(conditions)


def check_share(binding: Binding, typed: Typed) -> None:
    """Check that a bound MFU or HFU is at most 1.

    Raises:
        UnitError: it is above 1, or has a unit.
    """
    if binding.name.lower() not in SHARES:
        return
    place = caret(binding.text, binding.tree.start)
    if not typed.dims.pure:
        what = f"{binding.name} is a share, a pure number"
        raise UnitError(what, where=place, expected="FLOP/s over FLOP/s", got=str(typed.dims))
    if typed.expr.is_Rational and typed.expr > 1:
        percent = typed.expr <= 100
        written = binding.text[binding.tree.start : binding.tree.end]
        raise UnitError(
            f"{binding.name} is above 1",
            where=place,
            expected="at most 1: achieved FLOP/s over peak FLOP/s of all devices",
            got=written[:64],
            fix=f"write {binding.name} = {written} %" if percent and typed.expr > 2 else CHECK_PEAK,
        )


def resolve(claim: Claim, lookup: Lookup | None = None) -> Sides:
    """Return the two sides of a claim, in one unit.

    Args:
        claim: the claim.
        lookup: gives a quantity by its name, that of another graph as ``time.forward(relu)``.

    Raises:
        UnitError: the units disagree; the error has the place and the corrected line.
        SymacctError: a quantity is unknown, or a formula has no value.

    >>> from symacct.claims.claim import read_claim
    >>> from symacct.quantity import Quantity
    >>> from symacct.algebra.symbols import as_expr
    >>> table = {"flops.model": "FLOP", "params": "parameter", "tokens": "token"}
    >>> found = {name: Quantity(as_expr(1), Unit(unit)) for name, unit in table.items()}
    >>> resolve(read_claim("flops.model = 6*params*tokens", [], found), found.__getitem__).notes
    ('6 read as 6 FLOP/(parameter·token)',)
    """
    scope = Scope(lookup)
    try:
        return _resolved(claim, scope)
    except UnlikeError as error:
        trees = (claim.left, claim.right, *(one.tree for one in claim.where if one.text == claim.text))
        if not any(error.part is one for tree in trees for one in walk(tree)):
            raise
        whole = Tree("sum", 0, len(claim.text), trees)
        raise mended(error, whole, claim.text, lambda text: _agrees(claim, text, scope)) from None


def _agrees(claim: Claim, text: str, scope: Scope) -> bool:
    """Say whether the units of another text of a claim agree."""
    try:
        found = _resolved(rewritten(claim, text, scope.found), Scope(scope.lookup))
    except SymacctError:
        return False
    return bool(found)


def _resolved(claim: Claim, scope: Scope) -> Sides:
    for binding in claim.where:
        scope.bind(binding)
    notes = _agreed(claim, scope)
    bound = {one.name: one for one in claim.where}
    trees = (claim.left, claim.right)
    unit = next(found for tree in trees if (found := _unit(tree, claim, scope)) is not None)
    left, right = (Side(scope.expr(tree, claim.text), unit, scope.when(tree, bound)) for tree in trees)
    units = [
        part.name
        for tree in (*trees, *(one.tree for one in claim.where))
        for part in walk(tree)
        if part.form == "unit"
    ]
    said = tuple(dict.fromkeys([*claim.notes, *notes, *unit_warnings(units)]))
    needs = dict.fromkeys(_needs(claim, scope))
    divisors = tuple(expr for relation, expr in needs if relation == "!=")
    return Sides(left, right, said, divisors, tuple(one for one in needs if one[0] != "!="))


def _needs(claim: Claim, scope: Scope) -> Iterator[tuple[str, Expr]]:
    """Yield what must be other than 0, at least 0 or above 0 for a claim and its bindings to have a value."""
    texts = [(claim.left, claim.text), (claim.right, claim.text), *((b.tree, b.text) for b in claim.where)]
    for tree, text in texts:
        for part in walk(tree):
            inside = part.parts[-1] if part.form == "quotient" else part.parts[0] if part.parts else part
            if _is_named(inside):
                for relation in _relations(part, scope, text):
                    yield relation, scope.expr(inside, text)
            if part.form == "call" and part.name in COUNTED:
                yield from ((WHOLE, scope.expr(one, text)) for one in part.parts if _is_named(one))


def _is_named(tree: Tree) -> bool:
    return any(leaf.form in {"name", "quantity"} for leaf in walk(tree))


def _relations(part: Tree, scope: Scope, text: str) -> Iterator[str]:
    """Yield how what a formula divides by, or takes a root, power or logarithm of, must compare with 0."""
    if part.form == "quotient":
        yield "!="
    elif part.form == "call" and part.name in ROOTS_AND_LOGS:
        yield ROOTS_AND_LOGS[part.name]
    elif part.form == "call" and part.name in COUNTED:
        yield ">="
    elif part.form == "power":
        exponent = scope.expr(part.parts[1], text)
        if not exponent.is_nonnegative:
            yield "!="
        if not exponent.is_integer:
            yield ">="


def _unit(tree: Tree, claim: Claim, scope: Scope) -> Unit | None:
    """Return a side's unit where it has one, ONE where no side has."""
    known = [_known(one, claim, scope) for one in (claim.left, claim.right)]
    mine = _known(tree, claim, scope)
    other = next((dims for dims in known if dims is not None and dims.physical), None)
    other = other or next((dims for dims in known if dims is not None and not dims.pure), None)
    return (other or mine or Dims()).unit or ONE


def _known(tree: Tree, claim: Claim, scope: Scope) -> Dims | None:
    try:
        return scope.checker(claim.text).dims(tree)
    except SymacctError:
        return None


def _agreed(claim: Claim, scope: Scope) -> list[str]:
    """Return how units were read so that both sides agree.

    Raises:
        UnitError: they do not, in any reading.
    """
    checker = scope.checker(claim.text)
    left, right = _known(claim.left, claim, scope), _known(claim.right, claim, scope)
    for tree, dims in ((claim.left, left), (claim.right, right)):
        if dims is not None:
            checker.whole(dims, tree)
    if left is not None and left == right:
        return []
    if (left is not None and _is_zero(claim.left)) or (right is not None and _is_zero(claim.right)):
        for tree in (claim.left, claim.right):
            checker.dims(tree)
        return []
    readings = _readings(claim, scope, checker, ((claim.right, left), (claim.left, right)))
    if readings is None:
        checker.dims(claim.left), checker.dims(claim.right)
        raise _unlike_sides(claim, checker, left or Dims(), right or Dims())
    return readings


def _readings(
    claim: Claim, scope: Scope, checker: Checker, targets: Iterable[tuple[Tree, Dims | None]]
) -> list[str] | None:
    """Return the one way in which coefficients carry what is missing; None where there is none.

    Raises:
        UnitError: there are two, and not one side alone is a pure number.
    """
    found: dict[int, list[str]] = {}
    pure: list[int] = []
    for tree, target in targets:
        if target is None or target.mac:
            continue
        physical = scope.physical(tree, claim.text)
        try:
            found[tree.start] = absorbed(tree, target, checker, physical=physical)
        except NoReadingError:
            continue
        dims = _known(tree, claim, scope)
        pure += [tree.start] if dims is not None and dims.pure else []
    if len(found) == 2 and len(pure) != 1:
        raise _two_readings(claim, found)
    return found[pure[0]] if len(found) == 2 else next(iter(found.values()), None)


def _is_zero(tree: Tree) -> bool:
    return tree.form == "number" and tree.value == 0


def _two_readings(claim: Claim, readings: Mapping[int, list[str]]) -> UnitError:
    got = "; or ".join(", ".join(notes) for notes in readings.values())
    return UnitError(
        "the units of a claim can be read in two ways",
        where=caret(claim.text, claim.right.start),
        expected="one reading that makes both sides agree",
        got=got,
        fix="write the unit of a coefficient: 2 byte/parameter",
    )


def _unlike_sides(claim: Claim, checker: Checker, left: Dims, right: Dims) -> UnlikeError:
    """Return the error for two sides of unlike units; the one that is no bare quantity is marked."""
    first, wanted, part, found = claim.left, left, claim.right, right
    if claim.right.form == "quantity" and claim.left.form != "quantity":
        first, wanted, part, found = claim.right, right, claim.left, left
    error = UnlikeError(
        Message("not_compared", left=_side(wanted), right=_side(found)),
        where=caret(claim.text, part.start),
        expected=f"{wanted}      (as {checker.slice(first)})",
        got=f"{found}      (of {checker.slice(part)})",
    )
    error.first, error.part, error.wanted, error.found = first, part, wanted, found
    return error


def _side(dims: Dims) -> str:
    return dotted(dims)
