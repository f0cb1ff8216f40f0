"""A condition to be solved, read: two sides in one unit, the unknown with its unit, and where it lies."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sympy import ceiling, floor

from symacct.account import Account
from symacct.algebra.condition import Condition
from symacct.algebra.domain import Domain, bound_of, domain_of
from symacct.algebra.evaluate import check_sizes, names_of, substitute
from symacct.algebra.factorials import COUNTED
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr, symbol
from symacct.claims import Claim, Dims, Sides, read_claim, resolve
from symacct.claims.check import walk
from symacct.claims.sides import Scope, Typed
from symacct.errors import FormulaError, SizeError, unknown
from symacct.evaluation.on_machine import QUANTITIES, OnMachine
from symacct.planning.real_symbol import as_real, real_symbol
from symacct.planning.solve_conditions import conditions_with
from symacct.planning.solve_defined import applied, needs_of_text
from symacct.planning.solve_unit import typed_of
from symacct.proof.lookup import ELSEWHERE, lookup, names_under
from symacct.proof.prove import placed
from symacct.quantity import Quantity, add_up
from symacct.terms import QUANTITIES as OF_GRAPHS
from symacct.units import ONE, Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sympy import Expr

    from symacct.machines.machine import Machine
    from symacct.planning.solve_defined import Need

RELATIONS = ("=", "<=", ">=", "<", ">")

NO_STATES = "no optimizer: memory has no states in it; --optimizer adamw adds them"
STATES = re.compile(r"memory\.(?:static|peak|optimizer)\b(?!\([^()]*optimizer)")
"""Quantities that the states of an optimizer are in, unless another choice of it is named."""
BARE = re.compile(r"([0-9.]+) read as \1 byte")
LARGE = 10**6
ROUNDINGS = frozenset({"ceil", "ceiling", "floor", "binomial", "factorial"})
BENT = frozenset({"abs", "max", "min"})
OWN = re.compile(r"is what \S+ = \.\.\. binds")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: for which values of a name does a condition hold?

    Attributes:
        text: the condition as it was written.
        name: the unknown.
        unit: the unit of the unknown; a size has none.
        relation: how the two sides are to compare.
        left: the left side in base units, sizes that are known put in.
        right: the right side.
        sides: both sides as they were read.
        size: whether the unknown is a size of the graph, an integer.
        domain: where sizes lie, and what holds between them where the formulas hold.
        account: what quantities were looked up in.
        notes: how the text was read.
        rounds: whether the text rounds something that holds the unknown, which is an integer then.
        bends: whether it has a maximum, a minimum or a size without sign of something with the unknown.
        stated: the part of it that is asked about: what is assumed, what is given, what the graph demands.
        needs: formulas that must have certain signs, so that both sides have a value as they are written.
        lets: names and what they stand for, as they were written.
        left_out: where sizes that the formulas do not serve are not looked at.
        again: gives both sides again with the unknown bound from the start, so that small counts are exact.
    """

    text: str
    name: str
    unit: Unit
    relation: str
    left: Expr
    right: Expr
    sides: Sides
    size: bool
    domain: Domain
    account: Account | None
    notes: tuple[str, ...]
    rounds: bool = False
    bends: bool = False
    stated: Domain = field(default_factory=Domain)
    needs: tuple[Need, ...] = ()
    lets: tuple[str, ...] = ()
    left_out: tuple[tuple[int, int | None], ...] = ()
    again: Callable[[int], tuple[Expr, Expr]] | None = field(repr=False, compare=False, default=None)

    @property
    def gap(self) -> Expr:
        """Left minus right."""
        return self.left - self.right

    @property
    def others(self) -> list[str]:
        """The names that stay symbols beside the unknown."""
        return [name for name in names_of(self.gap) if name != self.name]


def read_asked(
    account: Account | None,
    text: str,
    name: str,
    *,
    sizes: Mapping[str, int] | None = None,
    lets: Sequence[str] = (),
    assume: Iterable[str] = (),
    integer: bool = False,
    of: Callable[[Account, str], Quantity] = Account.__getitem__,
    machine: Machine | None = None,
    declared: Sequence[str] = (),
) -> Asked:
    """Return a question, read; `of` gives the quantities of an account, `machine` times, `declared` names.

    Raises:
        SymacctError: the condition cannot be read, units disagree, or the unknown is none.

    >>> asked = read_asked(None, "12 byte/parameter * N = 640 GB", "N")
    >>> str(asked.unit), asked.gap
    ('parameter', 12*N - 640000000000)
    """
    given = dict(sizes or {})
    size = account is not None and _check_size(account, text, name, given)
    rest: Mapping[str, int] = given
    placed_account = account
    if account is not None:
        placed_account, rest = _placed(account, text, given)
    names = None if account is None else {*account.source.sizes, *names_under(text, account.policy), name}
    timed = OnMachine(machine, of)
    assume = tuple(assume)
    typed = typed_of(text, name, names, lets, finder(placed_account, timed), declared, assume)
    claim = typed.claim
    if claim.relation not in RELATIONS:
        raise FormulaError(
            "a condition compares", where=claim.text[:72], expected=" ".join(RELATIONS), got=claim.relation
        )
    if not _occurs(name, claim, typed.sides, placed_account, size=size):
        near = sorted({*claim.names, *names_of(typed.sides.left.expr - typed.sides.right.expr)} - {name})
        raise unknown("name", name, near, where=f"--for {name}: it is not in {text.strip()[:60]}")
    raw = typed.sides.left.expr - typed.sides.right.expr
    rounds, bends = (_calls(name, claim, words) for words in (ROUNDINGS, BENT))
    whole = size or integer or rounds or raw.has(ceiling, floor, *COUNTED)
    known = _rest(claim, placed_account, rest, name)
    find = finder(placed_account, timed)
    stated = _stated(name, known, conditions_with(claim, assume, find), placed_account, whole=whole)
    domain = _narrowed(stated, (*typed.sides.left.when, *typed.sides.right.when))
    if name in stated.replaced:
        raise FormulaError(
            f"{name} is the unknown, and an assumption says what it is",
            got=f"{name} = {stated.replaced[name]}",
        )

    def put(expr: Expr) -> Expr:
        found = stated.apply(expr)
        return found if whole else normal(as_real(found, name))

    scope = _scope(claim, name, find, whole=whole)
    left, right = (put(scope.expr(tree, claim.text)) for tree in (claim.left, claim.right))
    needs = applied(needs_of_text(claim, scope), put)
    kept = (note for note in (*claim.notes, *typed.sides.notes) if not OWN.search(note))
    given_too = [f"{one} = {value}" for one, value in given.items()] if account is None else []
    notes = [*map(_in_gigabytes, kept), *given_too, *(one.strip() for one in assume)]
    if account is not None and without_states(account, [text, *lets]):
        notes.append(NO_STATES)
    again = None
    if size and account is not None:
        again = _again(account, text, name, given, lets, stated, machine, declared, assume)
    notes += timed.notes
    notes = list(dict.fromkeys(notes))
    unit = typed.unit.unit or ONE
    return Asked(text.strip(), name, unit, claim.relation, left, right, typed.sides, size, domain,
                 placed_account, tuple(notes), rounds, bends, stated, needs, tuple(lets), (),
                 again)  # fmt: skip


def _scope(claim: Claim, name: str, find: Callable[[str], Quantity] | None, *, whole: bool) -> Scope:
    """Return what the names of a claim stand for; the unknown for a real number unless it is an integer."""
    scope = Scope(find)
    if not whole:
        scope.bound[name] = Typed(real_symbol(name), Dims())
    for binding in claim.where:
        scope.bind(binding)
    return scope


def _stated(
    name: str,
    known: Mapping[str, Expr | int],
    assumed: Sequence[Condition],
    account: Account | None,
    *,
    whole: bool,
) -> Domain:
    """Return the domain that is asked about; names that are tied to a real unknown are real too.

    Raises:
        SizeError: it is empty.
    """
    given = [Condition("equal", symbol(one), as_expr(value)) for one, value in known.items()]
    demanded = [] if account is None else account.graph.conditions
    tied = {one for found in assumed if found.kind == "equal" and name in found.names for one in found.names}
    real = frozenset() if whole else frozenset({name, *tied} - set(known))
    return domain_of([*given, *assumed, *demanded], real=real, keep=[name])


def _narrowed(stated: Domain, when: Iterable[Condition]) -> Domain:
    """Return a domain with the conditions of formulas, which need not leave any size."""
    lower, conditions = dict(stated.lower), [*stated.conditions]
    for one in when:
        here = one.substitute(stated.replaced)
        bound = bound_of(here)
        if bound is not None and bound[1] is not None and bound[0] not in stated.real:
            lower[bound[0]] = max(lower.get(bound[0], 1), bound[1])
        elif not here.is_certain():
            conditions.append(here)
    return Domain(lower, tuple(dict.fromkeys(conditions)), stated.real, stated.replaced, stated.stated)


def _rest(
    claim: Claim, account: Account | None, sizes: Mapping[str, int], name: str
) -> dict[str, Expr | int]:
    """Return the sizes that are known and are still to be put in.

    Raises:
        SizeError: the unknown is one of them.
    """
    if name in sizes:
        what = f"{name} is the unknown, and is given"
        raise SizeError(what, where="--at", expected="values for other names", got=f"{name}={sizes[name]}")
    if account is None:
        return dict(check_sizes(sizes, claim.names))
    return {**account.graph.bound, **sizes}


def _check_size(account: Account, text: str, name: str, given: Mapping[str, int]) -> bool:
    """Say whether the unknown is a size of the graph; check that it can be solved for.

    Raises:
        SizeError: it is bound, or stands for other sizes.
    """
    source = account.source
    if name in source.aliases:
        formula = source.aliases[name]
        names = names_of(formula)
        raise SizeError(
            f"{name} stands for {formula}", where=f"--for {name}, graph {source.name}",
            expected=f"one of: {', '.join(sorted(account.graph.order))}", got=name,
            fix=f"write --for {names[-1]}, and bind {', '.join(names[:-1])} with --at",
        )  # fmt: skip
    bound = {**account.graph.bound, **given}
    if name in bound:
        free = [one for one in account.graph.order if one not in bound]
        raise SizeError(
            f"{name} is the unknown, and is {bound[name]}", where=f"--for {name}, graph {source.name}",
            expected=f"one of: {', '.join(free) or 'none is free'}", got=name,
            fix="leave it out of --at" if name in given else "write --symbolic for a model",
        )  # fmt: skip
    return name in source.sizes or name in names_under(text, account.policy)


def without_states(account: Account, texts: Iterable[str]) -> bool:
    """Say whether texts name memory that an optimizer's states would be in, and a step has none.

    >>> from symacct.account import derive
    >>> from symacct.readers.files import load
    >>> without_states(derive(load("mlp")), ["memory.peak <= 80 GB"])
    True
    >>> without_states(derive(load("mlp"), optimizer="sgd"), ["memory.peak <= 80 GB"])
    False
    """
    named = any(STATES.search(text) for text in texts)
    return named and account.trains and account.policy.optimizer is None


def _in_gigabytes(note: str) -> str:
    """Return how a bare number was read, with what was likely meant."""
    found = BARE.fullmatch(note)
    if found is None or float(found[1]) >= LARGE:
        return note
    return f"{note}: write {found[1]} GB"


def _placed(account: Account, text: str, given: Mapping[str, int]) -> tuple[Account, Mapping[str, int]]:
    """Return an account with sizes bound, and those to be put in later: symbols of other choices too."""
    under = names_under(text, account.policy)
    own = [name for name in under if name not in account.policy.names]
    bound, rest = placed(account, {name: size for name, size in given.items() if name not in own})
    return bound, {**rest, **{name: given[name] for name in under if name in given}}


def _occurs(name: str, claim: Claim, sides: Sides, account: Account | None, *, size: bool) -> bool:
    """Say whether the unknown is in the text, or is a size of the graph."""
    trees = (claim.left, claim.right, *(one.tree for one in claim.where if one.name != name))
    written = any(part.form == "name" and part.name == name for tree in trees for part in walk(tree))
    return written or size or (account is not None and name in names_of(sides.left.expr - sides.right.expr))


def _calls(name: str, claim: Claim, words: frozenset[str]) -> bool:
    """Say whether a text has a function of something with the unknown in it, or with what is bound."""
    trees = (claim.left, claim.right, *(one.tree for one in claim.where))
    bound = {one.name for one in claim.where}
    calls = [part for tree in trees for part in walk(tree) if part.form == "call" and part.name in words]
    return any(one.form == "name" and one.name in {name, *bound} for call in calls for one in walk(call))


def _again(
    account: Account,
    text: str,
    name: str,
    given: Mapping[str, int],
    lets: Sequence[str],
    stated: Domain,
    machine: Machine | None,
    declared: Sequence[str] = (),
    assume: Sequence[str] = (),
) -> Callable[[int], tuple[Expr, Expr]]:
    """Return what derives the account anew with the unknown bound, and gives both sides."""

    def sides(size: int) -> tuple[Expr, Expr]:
        bound, _ = _placed(account, text, {**given, name: size})
        names = {*account.source.sizes, *names_under(text, account.policy), name}
        claim = read_claim(text, names, QUANTITIES, lets, declared=declared, beside=assume)
        found = resolve(claim, finder(bound, OnMachine(machine)))
        left, right = (substitute(stated.apply(one.expr), {name: size}) for one in (found.left, found.right))
        return left, right

    return sides


def finder(
    account: Account | None, of: Callable[[Account, str], Quantity] = Account.__getitem__
) -> Callable[[str], Quantity] | None:
    """Return what finds quantities by name; ``flops.forward(core)`` is that of a region of the graph.

    >>> from symacct.account import derive
    >>> from symacct.readers.files import load
    >>> print(finder(derive(load("gpt")))("flops.forward(core)"))
    4*L*b*h*s^2 FLOP when a divides h
    """
    find = lookup(account, of)
    if account is None or find is None:
        return None

    def found(name: str) -> Quantity:
        inside = ELSEWHERE.fullmatch(name)
        part = None if inside is None else region(account, inside.group(1), inside.group(2))
        return find(name) if part is None else part

    return found


def region(account: Account, name: str, label: str) -> Quantity | None:
    """Return what the ops under a label have of a quantity; None where no op stands under it.

    What has an equals sign is no label: ``memory.peak(checkpoint=none)`` is of another choice.
    """
    if "=" in label or name not in OF_GRAPHS or name == "tokens" or name.startswith("intensity"):
        return None
    whole = account[name]
    terms = [term for term in account.terms(name) if f"/{label.strip()}/" in f"/{term.label}/"]
    if not terms:
        return None
    total = add_up((Quantity(term.expr, term.unit) for term in terms), whole.unit)
    return Quantity(total.expr, total.unit, whole.when)
