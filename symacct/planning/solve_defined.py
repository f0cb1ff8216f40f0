"""Where a formula has a value: no divisor is 0, a root or factorial is of at least 0, a logarithm of more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sympy import Expr, Integer, Pow, log

from symacct.algebra.evaluate import names_of, substitute
from symacct.algebra.factorials import bases
from symacct.algebra.normal import normal
from symacct.algebra.sign import sign_on_box
from symacct.claims.check import walk
from symacct.errors import SymacctError
from symacct.printers import text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from symacct.algebra.condition import Condition
    from symacct.algebra.domain import Domain
    from symacct.claims import Claim
    from symacct.claims.sides import Scope
    from symacct.syntax import Tree

Signs = frozenset[int]
AT_LEAST, ABOVE, NOT_ZERO, ZERO = frozenset({0, 1}), frozenset({1}), frozenset({-1, 1}), frozenset({0})
WORDS = {AT_LEAST: ">=", ABOVE: ">", NOT_ZERO: "!=", ZERO: "="}
LOGARITHMS = ("log", "ln")
POSITIVE, NOT_NEGATIVE = ("positive",), ("positive", "nonnegative", "zero")


@dataclass(frozen=True, slots=True)
class Need:
    """A formula that must have one of some signs, so that something is defined or a condition holds.

    >>> from symacct.algebra.symbols import symbol
    >>> print(Need(symbol("n") - 3, AT_LEAST))
    n - 3 >= 0
    """

    expr: Expr
    signs: Signs

    def __str__(self) -> str:
        """Return what must hold."""
        return f"{text(self.expr)} {WORDS[self.signs]} 0"


def need_of(condition: Condition) -> Need | None:
    """Return a condition as what must have a sign; None for a divisor."""
    signs = {"at_least": AT_LEAST, "above": ABOVE, "equal": ZERO}.get(condition.kind)
    return None if signs is None else Need(normal(condition.left - condition.right), signs)


def needs_of(expr: Expr) -> Iterator[Need]:
    """Yield what a formula needs to have a real value.

    >>> from sympy import sqrt
    >>> from symacct.algebra.symbols import symbol
    >>> [str(one) for one in needs_of(1 / symbol("n") + sqrt(3 - symbol("n")))]
    ['n != 0', '-n + 3 >= 0']
    """
    for power in sorted(expr.atoms(Pow), key=lambda one: (one.count_ops(), str(one))):
        signs = _of_power(power.exp)
        if signs is not None and power.base.free_symbols:
            yield Need(power.base, signs)
    for one in sorted(expr.atoms(log), key=str):
        yield Need(one.args[0], ABOVE)
    for base, _ in bases(expr):
        if base.free_symbols:
            yield Need(base, AT_LEAST)


def _of_power(exponent: Expr) -> Signs | None:
    if not exponent.is_Rational:
        return ABOVE if exponent.free_symbols else None
    if exponent.is_Integer:
        return NOT_ZERO if exponent < 0 else None
    return AT_LEAST if exponent > 0 else ABOVE


def needs_of_text(claim: Claim, scope: Scope) -> tuple[Need, ...]:
    """Return what the formulas of a claim need as they are written: ``(x - 2)/(x - 2)`` is not defined at 2.

    Args:
        claim: the formulas.
        scope: what their names stand for, those that the claim binds too.

    >>> from symacct.claims import read_claim
    >>> from symacct.claims.sides import Scope
    >>> [str(one) for one in needs_of_text(read_claim("sqrt(x - 5)^2 <= 3/x", ["x"]), Scope(None))]
    ['x - 5 >= 0', 'x != 0']
    """
    texts = [(claim.left, claim.text), (claim.right, claim.text), *((b.tree, b.text) for b in claim.where)]
    found: dict[Need, None] = {}
    for tree, written in texts:
        for part in walk(tree):
            for inner, signs in _of_tree(part, scope, written):
                expr = normal(scope.expr(inner, written))
                if expr.free_symbols:
                    found[Need(expr, signs)] = None
    return tuple(found)


def _of_tree(part: Tree, scope: Scope, written: str) -> Iterator[tuple[Tree, Signs]]:
    if part.form == "quotient":
        yield part.parts[-1], NOT_ZERO
    elif part.form == "call" and part.name in ("sqrt", "binomial", "factorial"):
        yield part.parts[0], AT_LEAST
    elif part.form == "call" and part.name.startswith(LOGARITHMS):
        yield part.parts[0], ABOVE
    elif part.form == "power":
        try:
            exponent = scope.expr(part.parts[1], written)
        except SymacctError:
            return
        signs = _of_power(exponent) if exponent.is_Rational else None
        if signs is not None:
            yield part.parts[0], signs


def applied(needs: Iterable[Need], put: Callable[[Expr], Expr]) -> tuple[Need, ...]:
    """Return needs with sizes put in; those without a name that hold are left out."""
    found = (Need(put(one.expr), one.signs) for one in needs)
    return tuple(dict.fromkeys(one for one in found if one.expr.free_symbols or not _holds(one)))


def _holds(need: Need) -> bool:
    value = need.expr
    return (0 if value == 0 else 1 if value > 0 else -1) in need.signs


def is_certain(need: Need, domain: Domain) -> bool:
    """Say whether a need is seen to hold for all sizes of a domain (False: not seen).

    >>> from symacct.algebra.domain import Domain
    >>> from symacct.algebra.symbols import symbol
    >>> x, real = symbol("x"), Domain(real=frozenset({"x"}))
    >>> is_certain(Need(x, NOT_ZERO), real), is_certain(Need(x - 1, AT_LEAST), real)
    (True, False)
    """
    lower = {name: 0 if name in domain.real else domain.least(name) for name in names_of(need.expr)}
    answer = sign_on_box(need.expr, lower)[0]
    if answer in ("nonnegative", "nonpositive") and _is_strict(need.expr, domain, lower):
        answer = "positive" if answer == "nonnegative" else "negative"
    known = {"positive": {1}, "negative": {-1}, "zero": {0}, "nonnegative": {0, 1}, "nonpositive": {-1, 0}}
    return answer in known and known[answer] <= need.signs


def _is_strict(expr: Expr, domain: Domain, lower: Mapping[str, int]) -> bool:
    """Say whether a formula of one sign is not 0: with integers least, a part in real names stays."""
    least = {name: low for name, low in lower.items() if name not in domain.real}
    at_least = substitute(expr, {name: Integer(low) for name, low in least.items()})
    return bool(normal(at_least) != 0)
