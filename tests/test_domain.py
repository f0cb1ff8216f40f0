"""Domains and points against brute force: what is empty, which sizes lie inside, which is the smallest."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import pytest

from symacct.algebra.condition import Condition
from symacct.algebra.domain import Domain, domain_of
from symacct.algebra.symbols import as_expr, symbol
from symacct.errors import DisagreementError, SizeError
from symacct.proof import certified, decide
from symacct.proof.growth import rays, regimes_of, trend
from symacct.proof.points import Space, sample
from symacct.proof.prove import prove

NAMES = ("a", "b", "c")
MOST = 14


def linear(rng):
    """A small integer formula, and the same as a function."""
    parts = [rng.choice((0, 0, 1, 1, 2, -1)) for _ in NAMES]
    constant, product_of = rng.randint(-4, 6), rng.choice((None, None, ("a", "b"), ("b", "c")))

    def at(sizes):
        more = 0 if product_of is None else sizes[product_of[0]] * sizes[product_of[1]]
        return sum(c * sizes[n] for c, n in zip(parts, NAMES, strict=True)) + constant + more

    expr = sum((c * symbol(n) for c, n in zip(parts, NAMES, strict=True)), as_expr(constant))
    if product_of is not None:
        expr += symbol(product_of[0]) * symbol(product_of[1])
    return expr, at


def condition(rng):
    """A random condition, and what says whether it holds."""
    kind = rng.choice(("at_least", "at_least", "above", "equal", "divides"))
    (left, one), (right, other) = linear(rng), linear(rng)
    if kind == "divides":
        name, size = rng.choice(NAMES), rng.choice((2, 3, 4))
        return Condition(kind, as_expr(size), symbol(name)), lambda at: at[name] % size == 0
    if kind == "equal":
        name = rng.choice(NAMES)
        left, one = symbol(name), lambda at: at[name]
    tests = {"at_least": lambda x, y: x >= y, "above": lambda x, y: x > y, "equal": lambda x, y: x == y}
    return Condition(kind, left, right), lambda at: tests[kind](one(at), other(at))


def grid(checks):
    """All sizes up to a bound that satisfy all checks."""
    for values in product(range(1, MOST), repeat=len(NAMES)):
        at = dict(zip(NAMES, values, strict=True))
        if all(check(at) for check in checks):
            yield at


@pytest.mark.few(17)
@pytest.mark.parametrize("seed", range(120))
def test_points_lie_inside_and_nothing_is_called_empty_that_is_not(seed):
    """Every point satisfies every condition; a domain that is refused has none on the grid."""
    rng = random.Random(seed)
    made = [condition(rng) for _ in range(rng.randint(1, 3))]
    checks = [check for _, check in made]
    inside = list(grid(checks))
    try:
        domain = domain_of([one for one, _ in made])
    except SizeError:
        assert not inside
        return
    points = sample(Space(NAMES, domain), (), 60)
    for point in points:
        assert all(check(point) for check in checks), (seed, point)
    if inside:
        assert points, seed


@pytest.mark.few(7)
@pytest.mark.parametrize("seed", range(80))
def test_the_smallest_counterexample_is_the_smallest(seed):
    """By its sum, then in the order of names, of all sizes on the grid that fail."""
    rng = random.Random(1000 + seed)
    made = [condition(rng) for _ in range(rng.randint(0, 2))]
    (left, one), (right, other) = linear(rng), linear(rng)
    failing = [at for at in grid([check for _, check in made]) if not one(at) <= other(at)]
    try:
        decision = decide.decide(left, "<=", right, domain_of([cond for cond, _ in made]))
    except SizeError:
        assert not failing
        return
    if decision.outcome == "proved":
        assert not failing
    if failing and decision.outcome == "refuted" and decision.point.smallest:
        shown = [name for name, _ in decision.point.sizes]
        best = min(
            ({name: at[name] for name in shown} for at in failing),
            key=lambda at: (sum(at.values()), tuple(at[name] for name in sorted(at))),
        )
        if sum(best.values()) <= MOST:
            assert dict(decision.point.sizes) == best, seed


def test_an_equality_keeps_that_sizes_are_integers():
    """a = d/3 makes d a multiple of 3; D = sqrt(n) makes n a square."""
    a, d, D, n = map(symbol, ("a", "d", "D", "n"))
    domain = domain_of([Condition("equal", a, d / 3)])
    assert domain.replaced == {"d": 3 * a}
    domain = domain_of([Condition("equal", D, n ** Fraction(1, 2))])
    assert domain.replaced == {"n": D**2}
    assert all(point["n"] == point["D"] ** 2 for point in sample(Space(("n", "D"), domain)))


def test_helper_names_are_names_of_the_user():
    """No size is made up that a claim could name."""
    assert prove(None, "L = D + L_more", assume=["L >= D"]).outcome == "refuted"
    assert prove(None, "L = k*L_times", assume=["k | L"]).outcome == "refuted"
    assert prove(None, "L_more >= 1", assume=["L >= D"]).outcome == "proved"


def test_a_certificate_does_not_outvote_a_point(monkeypatch):
    """Even where every certificate is accepted, a claim that fails at sizes is refuted."""
    monkeypatch.setattr(decide, "certify_relation", lambda *_: {"proof": {"rule": "identity"}})
    n = symbol("n")
    assert decide.decide(n + 1, "<=", n, Domain()).outcome == "refuted"
    assert decide.decide(n, "<=", n + 1, Domain()).outcome == "proved"
    assert decide.decide(n**2, ">=", 100 * n - 2499, Domain()).outcome == "refuted"


def test_without_a_certificate_nothing_is_proved(monkeypatch):
    """It holds at all points that were tried, and that is said."""
    monkeypatch.setattr(certified, "_asked", lambda _: None)
    for claim in (
        "n + 1 > n", "2*n = n + n", "n^2 + n ~ n^2 as n -> oo", "min_k(n/k + k) = 2*sqrt(n)",
        "lim_n((n + 1)/n) = 1", "2*n <= 6 iff n <= 3", "n + 1 = n within 10 % if n >= 10",
    ):  # fmt: skip
        found = prove(None, claim)
        assert found.outcome == "undecided", claim
        assert "not proved" in found.decision.reason


def test_two_ways_to_evaluate_that_disagree_are_no_verdict(monkeypatch):
    """A point that fails in one way and holds in the other is an internal error that names it."""
    n = symbol("n")
    monkeypatch.setattr(decide, "sign_between", _wrong_once(decide.sign_between))
    with pytest.raises(DisagreementError, match="n = 1"):
        decide.decide(n + 1, ">", n, Domain())


def _wrong_once(real):
    def sign_between(left, right):
        if left.is_number and right.is_number:
            return real(left, right)
        return lambda _: -1

    return sign_between


@pytest.mark.few(15)
@pytest.mark.parametrize("seed", range(60))
def test_trends_along_rays_are_those_of_values(seed):
    """The order and the factor of a formula along a ray, against its values far out."""
    rng = random.Random(seed)
    a, b = symbol("a"), symbol("b")
    tops = [
        c * a**p * b**q
        for c, p, q in ((rng.randint(-3, 3), rng.randint(0, 2), rng.randint(0, 2)) for _ in range(3))
    ]
    expr = sum(tops, as_expr(1)) / (a + rng.randint(1, 3) * b)
    regime = regimes_of([], {}, ("a", "b"), frozenset())
    for ray in rays(regime, [expr])[:12]:
        found = trend(ray.along(expr))
        if found is None or found.factor == 0:
            continue
        far = [{name: c * 10**n for name, c in ray.multiples} for n in (9, 12)]
        low, high = (
            Fraction(str(expr.xreplace({symbol(k): as_expr(v) for k, v in at.items()}))) for at in far
        )
        if low:
            assert abs(high / low / Fraction(1000) ** int(found.power) - 1) < Fraction(1, 10**6)
        factor = Fraction(str(found.factor))
        assert abs(high / Fraction(10**12) ** int(found.power) / factor - 1) < Fraction(1, 10**6)
