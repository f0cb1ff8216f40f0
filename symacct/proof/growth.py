"""Claims about growth: what grows, the rays along which it may, and what both sides do along each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice, product
from typing import TYPE_CHECKING

from sympy import Dummy, Expr, Integer, Symbol, log

from symacct.algebra.budget import check_time
from symacct.algebra.domain import Domain, domain_of
from symacct.algebra.evaluate import names_of, substitute
from symacct.algebra.factorials import expanded
from symacct.algebra.leading import leading_term
from symacct.algebra.normal import is_zero, normal
from symacct.errors import FormulaError, RuleError, SizeError
from symacct.messages import Message
from symacct.nodes import repeat_counts
from symacct.proof.points import Space

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from symacct.account import Account
    from symacct.algebra.condition import Condition

TIME = Dummy("t", positive=True, integer=True)
SLOW = Symbol("log t", positive=True)
REST = "o(1) "
STEPS = (720720 * 10**2, 720720 * 10**6, 720720 * 10**11, 720720 * 10**2500)
"""The last is beyond every number that can be written as a bound."""
PROPORTIONS = (1, 2, 3, 5, 4, 7, 6)
MOST_RAYS, MOST_FIXED, MOST_TRIED, MOST_SETS = 48, 24, 1500, 60


@dataclass(frozen=True, slots=True)
class Regime:
    """What goes to infinity.

    Attributes:
        growing: the sizes that grow freely, together, in every fixed proportion.
        following: those that an equality ties to them.
        domain: the domain in which they stay free.
    """

    growing: tuple[str, ...]
    following: tuple[str, ...]
    domain: Domain


@dataclass(frozen=True, slots=True)
class Ray:
    """Fixed sizes, and multiples of one t for those that grow; of its square where they are squares."""

    fixed: tuple[tuple[str, int], ...]
    multiples: tuple[tuple[str, int], ...]
    power: int = 1

    def along(self, expr: Expr) -> Expr:
        """Return a formula along the ray, as one in t."""
        values = {name: Integer(value) for name, value in self.fixed}
        return substitute(expr, values | {name: c * TIME**self.power for name, c in self.multiples})

    def trend(self, expr: Expr) -> Trend | None:
        """Return how a formula grows along the ray; None where that is not seen, or it has no value there.

        A fixed size may be one whose factorial has too many digits.
        """
        try:
            return trend(self.along(expr))
        except SizeError:
            return None

    def describe(self) -> str:
        """Return the ray in words."""
        fixed = [f"{name} = {value}" for name, value in self.fixed]
        if len(self.multiples) == 1:
            return ", ".join(fixed)
        growing = [f"{name} = {c}*t" if c != 1 else f"{name} = t" for name, c in self.multiples]
        return ", ".join((*fixed, *growing))


@dataclass(frozen=True, slots=True)
class Trend:
    """How a formula grows along a ray: ``factor * t^power * log(t)^logs``; the formula 0 has factor 0."""

    power: Fraction
    logs: Fraction
    factor: Expr

    @property
    def order(self) -> tuple[Fraction, Fraction]:
        """How fast it grows."""
        return self.power, self.logs


def regimes_of(
    conditions: Sequence[Condition], lower: dict[str, int], growing: Sequence[str], real: frozenset[str]
) -> Regime:
    """Return what grows under conditions: sizes that an equality ties to it follow.

    Raises:
        SizeError: the conditions hold what should grow fast, or do not say what grows with it.

    >>> from symacct.algebra.condition import Condition
    >>> from symacct.algebra.symbols import symbol
    >>> D, H, K = map(symbol, "DHK")
    >>> found = regimes_of([Condition("equal", D, 2 * H * K)], {}, ("D", "H", "K"), frozenset())
    >>> found.growing, found.following
    (('H', 'K'), ('D',))
    """
    domain = domain_of(conditions, lower, real=real, keep=growing)
    for one in conditions:
        _check_tie(one, growing, domain)
    free = tuple(dict.fromkeys(_carriers(growing, domain)))
    moving = tuple(
        name for name, value in sorted(domain.replaced.items()) if set(names_of(value)) & set(free)
    )
    return Regime(free, moving, domain)


def _carriers(growing: Sequence[str], domain: Domain) -> Iterator[str]:
    """Yield what grows freely: a size that an equality gives by one other grows with that one."""
    for name in growing:
        value = domain.replaced.get(name)
        if value is None:
            yield name
        elif not set(names_of(value)) & set(growing):
            yield from names_of(value)


def _check_tie(one: Condition, growing: Sequence[str], domain: Domain) -> None:
    """Refuse an equality that ties what grows to several sizes, of which any could follow."""
    if one.kind != "equal" or not set(one.names) & set(growing):
        return
    others = [name for name in one.names if name not in growing]
    for name in set(one.names) & set(growing):
        value = domain.replaced.get(name)
        if value is not None and not names_of(value):
            raise _held(name, [one], f"it is {value}")
    if len(others) > 1 and len(set(one.names) & set(growing)) == 1:
        (name,) = set(one.names) & set(growing)
        ways = " or ".join(f"as {name}, {other} -> oo" for other in others)
        what = f"{name} grows, and {one} does not say what grows with it"
        raise SizeError(what, expected="sizes that can grow together", got=str(one), fix=f"write {ways}")


def _held(name: str, conditions: Sequence[Condition], why: str) -> SizeError:
    got = ", ".join(str(one) for one in conditions)[:200]
    return SizeError(f"{name} cannot grow: {why}", expected="a size that is free to grow", got=got)


def rays(regime: Regime, exprs: Sequence[Expr]) -> list[Ray]:
    """Return rays along which what grows stays in the domain, with fixed sizes of many kinds.

    Raises:
        SizeError: a condition lets none of it grow.

    >>> from symacct.algebra.symbols import symbol
    >>> regime = regimes_of([], {}, ("L",), frozenset())
    >>> rays(regime, [symbol("L") * symbol("B")])[0].describe()
    'B = 1'
    """
    shown = {name for expr in exprs for name in names_of(expr)} | set(regime.growing)
    space = Space(tuple(sorted(shown - set(regime.domain.replaced))), regime.domain)
    fixed = [name for name in space.free if name not in regime.growing]
    found: list[Ray] = []
    for power in (1, 2):
        for ray in islice(_candidates(space, fixed, regime.growing), MOST_TRIED):
            check_time()
            if _stays(replace(ray, power=power), space):
                found.append(replace(ray, power=power))
                if len(found) >= MOST_RAYS:
                    break
        if found:
            return found
    _refuse_held(regime)
    return found


def _candidates(space: Space, fixed: Sequence[str], growing: Sequence[str]) -> Iterator[Ray]:
    """Yield rays: all ones first, then other proportions, then other fixed sizes, then both."""
    sets = list(_fixed_sets(space, fixed))
    ways = list(islice(_proportions(len(growing)), MOST_SETS))
    seen = set()
    for far in range(max(len(sets), len(ways))):
        for near in range(min(far, MOST_FIXED) + 1):
            for at, way in ((near, far), (far, near)):
                if at < len(sets) and way < len(ways) and (at, way) not in seen:
                    seen.add((at, way))
                    yield Ray(sets[at], tuple(zip(growing, ways[way], strict=True)))


def _proportions(count: int) -> Iterator[tuple[int, ...]]:
    yield (1,) * count
    if count == 1:
        return
    for place in range(count):
        for c in PROPORTIONS[1:3]:
            yield tuple(c if at == place else 1 for at in range(count))
    small = PROPORTIONS if count == 2 else PROPORTIONS[:3]
    yield from (way for way in product(small, repeat=count) if len(set(way)) > 1)
    yield from (tuple(1000 if at == place else 1 for at in range(count)) for place in range(count))


def _fixed_sets(space: Space, fixed: Sequence[str]) -> Iterator[tuple[tuple[str, int], ...]]:
    """Yield values of the sizes that do not grow: small ones first, each apart, then mixed."""
    if not fixed:
        yield ()
        return
    least = {name: space.domain.least(name) for name in fixed}
    found = dict.fromkeys([tuple(least.items())])
    for step in (1, 2, 4, 11):
        found[tuple((name, low + step) for name, low in least.items())] = None
        for one in fixed:
            found[tuple((name, low + step * (name == one)) for name, low in least.items())] = None
    for number, point in enumerate(space.small(400)):
        if number % 7 == 0:
            found[tuple((name, int(point[name])) for name in fixed)] = None
    yield from islice(found, 4 * MOST_FIXED)


def _stays(ray: Ray, space: Space) -> bool:
    """Say whether points far out on a ray satisfy all conditions."""
    for far in STEPS:
        point = {**dict(ray.fixed), **{name: c * far**ray.power for name, c in ray.multiples}}
        if space.whole(point) is None:
            return False
    return True


def _refuse_held(regime: Regime) -> None:
    """Raise what holds a growing size fast, where one condition does."""
    for one in regime.domain.conditions:
        if one.kind != "equal" and set(one.names) & set(regime.growing):
            narrow = Regime(regime.growing, (), domain_of([one]))
            space = Space(tuple(sorted({*one.names, *regime.growing})), narrow.domain)
            fixed = [name for name in space.free if name not in regime.growing]
            tried = islice(_candidates(space, fixed, regime.growing), MOST_TRIED)
            if not any(_stays(ray, space) for ray in tried):
                name = next(name for name in regime.growing if name in one.names)
                others = [other for other in one.names if other not in regime.growing]
                error = _held(name, [one], f"{one}")
                if others:
                    error.fix = (
                        f"let {', '.join(others)} grow too: as {', '.join((*regime.growing, *others))} -> oo"
                    )
                raise error


def trend(expr: Expr) -> Trend | None:
    """Return how a formula in t grows; None where that is not seen.

    >>> trend(3 * TIME * log(2 * TIME) + TIME).order
    (Fraction(1, 1), Fraction(1, 1))
    """
    try:
        form = normal(_without_logs(normal(expanded(expr))))
        if form == 0:
            return Trend(Fraction(0), Fraction(0), Integer(0)) if is_zero(expr) else None
        power, leading = _step(form, TIME)
        leading = normal(leading.xreplace({one: Integer(0) for one in leading.free_symbols if _is_rest(one)}))
        if leading == 0:
            return None
        logs, leading = _step(leading, SLOW)
    except (RuleError, FormulaError, SizeError, ValueError):
        return None
    if leading.free_symbols or leading.is_zero is not False:
        return None
    return Trend(power, logs, leading)


def _step(form: Expr, at: Expr) -> tuple[Fraction, Expr]:
    """Return the highest power of a symbol, and what stands before it."""
    if at not in form.free_symbols:
        return Fraction(0), form
    leading, _ = leading_term(form, [at.name])
    power = Fraction(0)
    for term in leading.as_ordered_terms():
        found = term.as_powers_dict().get(at, Integer(0))
        power = Fraction(int(found.p), int(found.q))
    rest = normal(leading / at ** Integer(power.numerator) if power.denominator == 1 else leading / at**found)
    return power, rest


def _is_rest(at: Symbol) -> bool:
    return str(at.name).startswith(REST)


def _without_logs(expr: Expr) -> Expr:
    """Return a formula with each logarithm of what grows as a multiple of log t, a number, and a rest.

    The rest falls like a power of t. It is kept apart, as what it is multiplied by may grow.
    """
    for atom in sorted(expr.atoms(log), key=lambda one: len(str(one))):
        (inside,) = atom.args
        if TIME not in inside.free_symbols:
            continue
        power, factor = _step(normal(inside), TIME)
        if power == 0 or factor.free_symbols or not factor.is_positive:
            what = f"{atom} is not seen to grow like log t"
            raise RuleError(what, expected="the logarithm of what grows like a power", got=str(atom)[:64])
        number = Integer(power.numerator) / Integer(power.denominator)
        exact = is_zero(inside - factor * TIME**number)
        rest = Integer(0) if exact else Symbol(f"{REST}{inside}", positive=True)
        expr = expr.xreplace({atom: number * SLOW + log(factor) + rest})
    return expr


def ways_of(
    account: Account | None, stated: Sequence[str], left: Expr, right: Expr
) -> tuple[tuple[str, ...], ...]:
    """Return what may grow: as stated, or each repeat count alone, then all sizes."""
    if stated:
        return (tuple(stated),)
    present = sorted({*names_of(left), *names_of(right)})
    counts = [] if account is None else [n for n in repeat_counts(account.graph) if n in present]
    return (*((name,) for name in counts), *([tuple(present)] if present else []))


def together(growing: Sequence[str]) -> str:
    """Return what grows, in words: several sizes grow in fixed proportion.

    >>> together(("L",)), together(("B", "L"))
    ('L -> oo', 'B, L -> oo together, in fixed proportion')
    """
    return Message("grow_together" if len(growing) > 1 else "grows", sizes=tuple(growing))
