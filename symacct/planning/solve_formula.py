"""A condition solved as a formula, where sizes beside the unknown stay symbols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sympy import Integer, Max, Min, sqrt
from sympy import fraction as over

from symacct.algebra.budget import check_time
from symacct.algebra.normal import normal
from symacct.algebra.sign import sign_on_box
from symacct.algebra.symbols import symbol
from symacct.algebra.tables import Number, Terms, build, from_number, plain, primitive
from symacct.algebra.terms import fraction, read
from symacct.errors import RuleError
from symacct.planning.solve_sets import branches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

    from symacct.algebra.domain import Domain

FLIPPED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "=": "="}
SIGNS = {"positive": 1, "negative": -1, "zero": 0}
MOST_PIECES = 6
AT_LEAST, AT_MOST = ("positive", "nonnegative", "zero"), ("negative", "nonpositive")
BIND = "give more sizes with --at, so that one name stays"


@dataclass(frozen=True, slots=True)
class Case:
    """What is true of the unknown where some formulas are above 0, or else.

    Attributes:
        positive: formulas that must be above 0 for this case; none for what is true always, or otherwise.
        relation: how the unknown compares with the value; ``every`` and ``none`` have no value.
        value: a formula.
    """

    positive: tuple[Expr, ...]
    relation: str
    value: Expr | None = None


def solved(gap: Expr, relation: str, name: str, domain: Domain) -> tuple[Case, ...]:
    """Return for which values of a name ``gap RELATION 0`` holds, as formulas in the other names.

    Raises:
        RuleError: no formula is known: give more sizes.

    >>> from symacct.algebra.domain import Domain
    >>> B, D, K, I = map(symbol, "BDKI")
    >>> for case in solved(B * D * K / (B * D + B * K + D * K) - I, ">", "B", Domain()):
    ...     print(case.positive, case.relation, case.value)
    (-D*I + D*K - I*K,) > D*I*K/(-D*I + D*K - I*K)
    () none None
    """
    forms = branches(normal(gap))
    if len(forms) == 1:
        return _Formula(forms[0], relation, name, domain).cases()
    if relation == "=" or not _steers(gap, relation):
        raise RuleError(
            "a formula with maxima has no single solution", expected="numbers for all other sizes", fix=BIND
        )
    kept = _binding(forms, relation, domain)
    if len(kept) > MOST_PIECES:
        what = f"{len(kept)} formulas may be the maximum, depending on the sizes"
        raise RuleError(what, expected=f"at most {MOST_PIECES}, or numbers for all other sizes", fix=BIND)
    return _together([_Formula(form, relation, name, domain).cases() for form in kept])


def _binding(forms: Sequence[Expr], relation: str, domain: Domain) -> list[Expr]:
    """Return the formulas that no other one is beyond for all sizes: the rest never binds."""
    sign = 1 if relation in ("<=", "<") else -1
    kept: list[Expr] = []
    for form in forms:
        check_time()
        gaps = ((other, sign_on_box(normal((other - form) * sign), domain.lower)[0]) for other in kept)
        signs = dict(gaps)
        if not any(answer in AT_LEAST for answer in signs.values()):
            kept = [other for other in kept if signs[other] not in AT_MOST]
            kept.append(form)
    return kept


def _together(found: Sequence[tuple[Case, ...]]) -> tuple[Case, ...]:
    """Return where all of several conditions hold: the unknown is on the same side of each value.

    Raises:
        RuleError: it is not.
    """
    kinds = {cases[0].relation for cases in found}
    others = {case.relation for cases in found for case in cases[1:]}
    if len(kinds) != 1 or not kinds <= {"<=", "<", ">=", ">"} or not others <= {"none"}:
        what = "which maximum binds depends on the sizes"
        raise RuleError(what, expected="numbers for all other sizes", fix=BIND)
    kind = kinds.pop()
    values = [cases[0].value for cases in found if cases[0].value is not None]
    value = Min(*values) if kind in ("<=", "<") else Max(*values)
    positive = tuple(dict.fromkeys(one for cases in found for one in cases[0].positive))
    return (Case(positive, kind, value), *([Case((), "none")] if others else []))


def _steers(gap: Expr, relation: str) -> bool:
    """Say whether every maximum must stay below, or every minimum above: all of their arguments then must."""
    wanted, other = (Max, Min) if relation in ("<=", "<") else (Min, Max)
    form = normal(gap)
    if form.has(other):
        return False
    for term in form.as_ordered_terms():
        if term.has(wanted):
            coefficient, atom = term.as_independent(*term.atoms(wanted))
            if not isinstance(atom, wanted) or sign_on_box(coefficient)[0] != "positive":
                return False
    return True


class _Formula:
    """One formula without maxima, as a polynomial in the unknown over a denominator of known sign."""

    def __init__(self, gap: Expr, relation: str, name: str, domain: Domain) -> None:
        known = {one.name: one for one in gap.free_symbols}
        self.name, self.at, self.lower = name, known.get(name, symbol(name)), domain.lower
        table, below = fraction(read(gap))
        powers: dict[Number, Terms] = {}
        for monomial, value in table.items():
            if any(base.has(self.at) for base, _ in monomial if base != self.at):
                what = f"the condition is no sum of powers of {name}"
                raise RuleError(what, expected="numbers for all other sizes", fix=BIND)
            power = dict(monomial).get(self.at, 0)
            rest = frozenset(pair for pair in monomial if pair[0] != self.at)
            powers.setdefault(power, {})[rest] = value
        least = min(powers, default=0)
        self.parts = {
            from_number(plain(power - least)): normal(build(rest)) for power, rest in powers.items()
        }
        flips = 1
        for base, count in below.items():
            sign = SIGNS.get(sign_on_box(base, self.lower)[0])
            if not sign:
                what = f"it divides by {base}, whose sign depends on the sizes"
                raise RuleError(what, expected="numbers for all other sizes", fix=BIND)
            flips *= sign if count % 2 else 1
        self.relation = relation if flips > 0 else FLIPPED[relation]

    def cases(self) -> tuple[Case, ...]:
        """Return the cases."""
        degrees = sorted(self.parts)
        if len(degrees) == 1:
            return self._one_power(self.parts[degrees[0]])
        if len(degrees) == 2:
            return self._two_powers(*degrees)
        if degrees == [0, 1, 2]:
            return self._quadratic()
        what = f"no formula solves it for {self.name}: the powers {', '.join(map(str, degrees))} stand in it"
        raise RuleError(what, expected="at most a quadratic, or two powers", fix=BIND)

    def sign(self, expr: Expr) -> str:
        """Return what is known of the sign of a formula in the other names."""
        return sign_on_box(expr, self.lower)[0]

    def _one_power(self, value: Expr) -> tuple[Case, ...]:
        """Solve ``c*x^p RELATION 0``: the sign of c decides for all x alike."""
        sign = self.sign(value)
        true = {"positive": (">", ">="), "negative": ("<", "<="), "zero": ("=", "<=", ">=")}
        if sign not in true:
            what = f"whether it holds does not depend on {self.name}, but on the sign of {value}"
            raise RuleError(what, expected="numbers for all other sizes", fix=BIND)
        return (Case((), "every" if self.relation in true[sign] else "none"),)

    def _two_powers(self, low: Expr, high: Expr) -> tuple[Case, ...]:
        """Solve ``a*x^p + b RELATION 0``."""
        b, a = self.parts[low], self.parts[high]
        root = Integer(1) / (high - low)
        signs = self.sign(a), self.sign(b)
        if signs[0] in ("positive", "negative"):
            return self._one_sided(a, b, root, rising=signs[0] == "positive")
        if signs[1] not in ("positive", "negative"):
            what = f"the signs of {a} and of {b} depend on the sizes"
            raise RuleError(what, expected="numbers for all other sizes", fix=BIND)
        value = tidy(normal((-b / a) ** root))
        crossing = a if signs[1] == "negative" else -a
        relation = self.relation if signs[1] == "negative" else FLIPPED[self.relation]
        same = {"positive": (">", ">="), "negative": ("<", "<=")}[signs[1]]
        otherwise = "every" if self.relation in same else "none"
        return (Case((bare(crossing),), relation, value), Case((), otherwise))

    def _one_sided(self, a: Expr, b: Expr, root: Expr, *, rising: bool) -> tuple[Case, ...]:
        """Solve where the sign of the leading coefficient is known: x compares with a root above 0."""
        relation = self.relation if rising else FLIPPED[self.relation]
        ratio = normal(-b / a)
        sign = self.sign(ratio)
        if sign in ("negative", "nonpositive", "zero"):
            return (Case((), "every" if relation in (">", ">=") else "none"),)
        value = tidy(normal(ratio**root))
        if sign == "positive":
            return (Case((), relation, value),)
        top = normal(-b if rising else b)
        return (Case((bare(top),), relation, value), Case((), "every" if relation in (">", ">=") else "none"))

    def _quadratic(self) -> tuple[Case, ...]:
        """Solve ``a*x^2 + b*x + c RELATION 0`` where one root is above 0 for all sizes, or two are."""
        c, b, a = (self.parts[Integer(power)] for power in range(3))
        signs = [self.sign(part) for part in (a, b, c)]
        relation = self.relation
        if signs[0] == "negative":
            a, b, c, relation = -a, -b, -c, FLIPPED[relation]
            signs = [self.sign(part) for part in (a, b, c)]
        inside = normal(b**2 - 4 * a * c)
        upper = (-b + sqrt(inside)) / (2 * a)
        if signs[0] == "positive" and signs[2] in ("negative", "nonpositive"):
            return (Case((), relation, upper),)
        if signs in (["positive", "positive", "positive"], ["positive", "nonnegative", "positive"]):
            return (Case((), "every" if relation in (">", ">=") else "none"),)
        if signs[0] == "positive" and signs[1] in ("positive", "nonnegative"):
            rest = "every" if relation in (">", ">=") else "none"
            return (Case((bare(-c),), relation, upper), Case((), rest))
        what = "how many roots are above 0 depends on the sizes"
        raise RuleError(what, expected="numbers for all other sizes", fix=BIND)


def bare(expr: Expr) -> Expr:
    """Return a formula of the same sign without its content and its common monomial.

    >>> bare(symbol("a") ** 2 / 3 - symbol("a") / 2)
    2*a - 3
    """
    content, _, rest = primitive(read(expr))
    return normal(build(rest) * (1 if content > 0 else -1))


def tidy(value: Expr) -> Expr:
    """Return a quotient with its signs turned where it begins with a minus above and below.

    >>> a, b = symbol("a"), symbol("b")
    >>> tidy(-a / (a - b)), tidy(-a / b)
    (a/(-a + b), -a/b)
    """
    top, below = over(value)
    return (-top) / (-below) if below.is_Add and top.could_extract_minus_sign() else value
