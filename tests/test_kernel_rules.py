"""The rules for limits, minima, thresholds, cases and numbers: what is true, beside what is nearly true."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest
from sympy import Max, Min, Rational, ceiling, floor, log, sqrt

from symacct import derive, kernel, load
from symacct.algebra.condition import Condition
from symacct.algebra.symbols import as_expr, symbol
from symacct.cli.main import main
from symacct.kernel.enclosure import log_of, root_of
from symacct.proof.certificate import (
    POSITIVE,
    Least,
    certify_all,
    certify_argmin,
    certify_asymptotic,
    certify_identity,
    certify_iff,
    certify_inequality,
    certify_limit,
    certify_min,
    certify_order,
    certify_refuted_iff,
    certify_refuted_limit,
    certify_refuted_min,
    seal,
    statement_of,
    with_said,
)
from symacct.proof.rests import rest_of

n, k, p, q, x, y, B, D, L, T = map(symbol, ("n", "k", "p", "q", "x", "y", "B", "D", "L", "T"))
ONE, TWO, THREE, ZERO = map(as_expr, (1, 2, 3, 0))
REAL = {"k": POSITIVE}
FREE = Least(None, real=True)


def at_least(left, right):
    return Condition("at_least", as_expr(left), as_expr(right))


def above(left, right):
    return Condition("above", as_expr(left), as_expr(right))


def equal(left, right):
    return Condition("equal", as_expr(left), as_expr(right))


def order(left, right, growing="L", hypotheses=(), **more):
    return certify_order(left, as_expr(right), growing.split(), hypotheses=hypotheses, **more)


PAIRS = {
    # limits
    "a limit": (
        lambda: certify_limit((2 * n + 1) / n, TWO, ["n"]),
        lambda: certify_limit((2 * n + 1) / n, THREE, ["n"]),
    ),
    "a limit in other sizes": (
        lambda: certify_limit((D * n + B) / (n + 1), D, ["n"]),
        lambda: certify_limit((D * n + B) / (n + 1), B, ["n"]),
    ),
    "to 0": (lambda: certify_limit(D / n, ZERO, ["n"]), lambda: certify_limit(D / n, ZERO, ["D"])),
    "in two sizes": (
        lambda: certify_limit(1 / n + 1 / k, ZERO, ["n", "k"]),
        lambda: certify_limit(n / k, ONE, ["n", "k"]),
    ),
    "no limit": (
        lambda: certify_refuted_limit(n + 1, "limit", ONE, ["n"]),
        lambda: certify_refuted_limit(1 / n + 1, "limit", ONE, ["n"]),
    ),
    "a limit of what falls": (
        lambda: certify_refuted_limit(-n, "O", ONE, ["n"]),
        lambda: certify_refuted_limit(-1 / n, "O", ONE, ["n"]),
    ),
    "a negative right side": (
        lambda: certify_asymptotic(-n - 1, -n, ["n"]),
        lambda: certify_asymptotic(-n - 1, n, ["n"]),
    ),
    # what grows
    "both sizes grow freely": (
        lambda: order(2 * p + q, p + q, "p q", both=True),
        lambda: order(2 * p - q, p, "p q", both=True),
    ),
    "from a size on": (
        lambda: order(B * L, L, hypotheses=[at_least(L, 2 * B)]),
        lambda: order(B * L, L, hypotheses=[at_least(2 * B, L)]),
    ),
    "tied by an equality": (
        lambda: order(T * L, L**2, both=True, hypotheses=[equal(T, 2 * L)]),
        lambda: order(T * L, L, hypotheses=[equal(T, 2 * L)]),
    ),
    "tied the other way": (
        lambda: order(T * L, L**2, both=True, hypotheses=[equal(L, 2 * T + 1)]),
        lambda: order(T * L, L, hypotheses=[equal(L, 2 * T + 1)]),
    ),
    "multiples": (
        lambda: order(B * L, L, hypotheses=[Condition("divides", B, L)]),
        lambda: order(B * L, L, hypotheses=[Condition("divides", L, B)]),
    ),
    "squares": (
        lambda: order(L, L, both=True, hypotheses=[equal(L, ceiling(sqrt(L)) ** 2)]),
        lambda: order(L, L, both=True, hypotheses=[equal(L, ceiling(sqrt(L)))]),
    ),
    "a region of two sizes": (
        lambda: order(L + k, L, "L k", hypotheses=[at_least(L, 2 * k)]),
        lambda: order(L + k, L, "L k", hypotheses=[at_least(L, 2 * k), at_least(k, L)]),
    ),
    "not capped": (
        lambda: order(L, L, hypotheses=[at_least(L, 10)]),
        lambda: order(L, ONE, hypotheses=[at_least(10, L)]),
    ),
    "a coefficient of one sign": (
        lambda: order((B - 1) * L, L, both=True, bounds={"B": 2}),
        lambda: order((B - 1) * L, L, both=True),
    ),
    "what grows occurs": (
        lambda: order(D, ONE, both=True, rests=[rest_of(derive(load("deep_linear")), "params")]),
        lambda: order(D, ONE, both=True),
    ),
    "a real size grows": (
        lambda: certify_limit(x / (x + 1), ONE, ["x"], {"x": POSITIVE}),
        lambda: certify_limit(x / (x + 1), ONE, ["n"], {"x": POSITIVE}),
    ),
    # logarithms
    "a product": (
        lambda: certify_identity(log(n * k), log(n) + log(k)),
        lambda: certify_identity(log(n + k), log(n) + log(k)),
    ),
    "a power": (
        lambda: certify_identity(log(n**3), 3 * log(n)),
        lambda: certify_identity(log(n**3), 2 * log(n)),
    ),
    "a number": (
        lambda: certify_identity(log(2 * n), log(n) + log(2)),
        lambda: certify_identity(log(2 * n), log(n) + log(3)),
    ),
    "to base 2": (
        lambda: certify_identity(log(8 * n) / log(2), log(n) / log(2) + 3),
        lambda: certify_identity(log(8 * n) / log(2), log(n) / log(2) + 2),
    ),
    "below its size": (
        lambda: certify_inequality(log(n), "<=", n - 1),
        lambda: certify_inequality(log(n), "<=", n - 2),
    ),
    "of a real number": (
        lambda: certify_inequality(log(x), "<", x, {"x": POSITIVE}),
        lambda: certify_inequality(log(x), ">=", ZERO, {"x": POSITIVE}),
    ),
    "n log n": (lambda: order(3 * n * log(n), n**2, "n"), lambda: order(n * log(n), n, "n")),
    "n log n leads": (
        lambda: certify_asymptotic(n * log(n) + n, n * log(n), ["n"]),
        lambda: certify_asymptotic(n * log(n) + n, n, ["n"]),
    ),
    "a log has no bound": (
        lambda: certify_refuted_limit(n * log(n), "O", n, ["n"]),
        lambda: certify_refuted_limit(n, "O", n * log(n), ["n"]),
    ),
    "a ratio of logs": (
        lambda: certify_limit(log(2 * n) / log(n), ONE, ["n"]),
        lambda: certify_limit(log(n**2) / log(n), ONE, ["n"]),
    ),
    "a log falls behind": (
        lambda: certify_limit(log(n) / n, ZERO, ["n"]),
        lambda: certify_limit(log(n) / log(2 * n), ZERO, ["n"]),
    ),
    # minima
    "a least value": (
        lambda: certify_min(n / k + k, "k", 2 * sqrt(n), None, REAL),
        lambda: certify_min(n / k + k, "k", 2 * sqrt(n), None),
    ),
    "not reached": (
        lambda: certify_min(n / k + k, "k", 2 * sqrt(n), sqrt(n), REAL),
        lambda: certify_min(n / k + k, "k", sqrt(n), sqrt(n), REAL),
    ),
    "at the bound": (
        lambda: certify_min(n * k, "k", n),
        lambda: certify_min(n * k, "k", ZERO, None, REAL),
    ),
    "a vertex": (
        lambda: certify_min((k - 3) ** 2 + n, "k", n),
        lambda: certify_min((2 * k - 3) ** 2 + n, "k", n),
    ),
    "over all real numbers": (
        lambda: certify_min((x - 3) ** 2 + n, "x", n, THREE, {"x": FREE}),
        lambda: certify_min((x - 3) ** 2 + n, "x", n, THREE, {"x": Least(4, real=True)}),
    ),
    "rounded": (
        lambda: certify_min(k + ceiling(n / k), "k", ceiling(2 * sqrt(n))),
        lambda: certify_min(k + floor(n / k), "k", ceiling(2 * sqrt(n))),
    ),
    "under a condition": (
        lambda: certify_min(B * k, "k", B * D, D, 1, [at_least(k, D)]),
        lambda: certify_min(B * k, "k", B * D, D, 1, [above(k, D)]),
    ),
    "a place": (
        lambda: certify_argmin(n / k + k, "k", sqrt(n), REAL),
        lambda: certify_argmin(n / k + k, "k", sqrt(n) + 1, REAL),
    ),
    "the only place": (
        lambda: certify_argmin((k - 3) ** 2, "k", THREE),
        lambda: certify_argmin((k - 3) ** 2 * (k - 4) ** 2, "k", THREE),
    ),
    "a place where it is possible": (
        lambda: certify_argmin(L / k + k, "k", sqrt(L), 1, [Condition("divides", k, L)], where_possible=True),
        lambda: certify_argmin(L / k + k, "k", sqrt(L), 1, [Condition("divides", k, L)]),
    ),
    "less at a point": (
        lambda: certify_refuted_min("min", n / k + k, "k", 3 * sqrt(n), {"n": 4, "k": 2}, REAL),
        lambda: certify_refuted_min("min", n / k + k, "k", 2 * sqrt(n), {"n": 4, "k": 2}, REAL),
    ),
    "more everywhere": (
        lambda: certify_refuted_min("min", n / k + k, "k", sqrt(n), {"n": 4}, REAL),
        lambda: certify_refuted_min("min", n / k + k, "k", 2 * sqrt(n), {"n": 4}, REAL),
    ),
    "more at each divisor": (
        lambda: certify_refuted_min(
            "min", k + ceiling(n / k), "k", ceiling(2 * sqrt(n)), {"n": 5}, 1, [Condition("divides", k, n)]
        ),
        lambda: certify_refuted_min(
            "min", k + ceiling(n / k), "k", ceiling(2 * sqrt(n)), {"n": 6}, 1, [Condition("divides", k, n)]
        ),
    ),
    # thresholds
    "between integers": (
        lambda: certify_iff((2 * n, "<=", as_expr(7)), (n, "<=", THREE)),
        lambda: certify_iff((2 * n, "<=", as_expr(7)), (n, "<=", TWO)),
    ),
    "by a fraction": (
        lambda: certify_iff((3 * n, ">", 2 * k), (n, ">", 2 * k / 3)),
        lambda: certify_iff((3 * n, ">", 2 * k), (n, ">=", 2 * k / 3)),
    ),
    "between real numbers": (
        lambda: certify_iff((2 * x, "<", as_expr(7)), (x, "<", Rational(7, 2)), {"x": POSITIVE}),
        lambda: certify_iff((2 * x, "<", as_expr(7)), (x, "<=", THREE), {"x": POSITIVE}),
    ),
    "the larger of two": (
        lambda: certify_iff((Max(B, D), ">", D), (B, ">", D)),
        lambda: certify_iff((Max(B, D), ">=", D), (B, ">", D)),
    ),
    "no threshold": (
        lambda: certify_refuted_iff((2 * n, "<=", as_expr(6)), (n, "<=", TWO), {"n": 3}),
        lambda: certify_refuted_iff((2 * n, "<=", as_expr(6)), (n, "<=", TWO), {"n": 4}),
    ),
    # numbers
    "a root": (
        lambda: certify_inequality(sqrt(5), "<", as_expr(Rational(2236068, 10**6))),
        lambda: certify_inequality(sqrt(5), "<", as_expr(Rational(2236067, 10**6))),
    ),
    "two roots": (
        lambda: certify_inequality(sqrt(2) + sqrt(3), ">", THREE),
        lambda: certify_inequality(sqrt(2) + sqrt(3), ">", as_expr(Rational(3147, 1000))),
    ),
    "a log of a number": (
        lambda: certify_inequality(log(2), "<", as_expr(Rational(7, 10))),
        lambda: certify_inequality(log(2), "<", as_expr(Rational(69, 100))),
    ),
    # integers
    "pinned down": (
        lambda: certify_identity(n, ONE, 1, [at_least(1, n)]),
        lambda: certify_identity(n, ONE, 1, [at_least(2, n)]),
    ),
    "no integer between": (
        lambda: certify_inequality(n**2 - 3 * n + 2, ">=", ZERO),
        lambda: certify_inequality(n**2 - 4 * n + 3, ">=", ZERO),
    ),
    "no integer between, but real numbers": (
        lambda: certify_inequality(x**2 - 3 * x + 3, ">=", ZERO, {"x": POSITIVE}),
        lambda: certify_inequality(x**2 - 3 * x + 2, ">=", ZERO, {"x": POSITIVE}),
    ),
    "halves": (
        lambda: certify_identity(ceiling(n / 2) + floor(n / 2), n),
        lambda: certify_identity(ceiling(n / 2) + floor(n / 2), n + 1),
    ),
    "thirds": (
        lambda: certify_inequality(ceiling(n / 3), "<=", (n + 2) / 3),
        lambda: certify_inequality(ceiling(n / 3), "<=", (n + 1) / 3),
    ),
    # conditions
    "an equality used": (
        lambda: certify_identity(B**2 + B * n, B * D + B, 1, [equal(B + n, D + 1)]),
        lambda: certify_identity(B**2 + B * n, B * D, 1, [equal(B + n, D + 1)]),
    ),
    "an equality in an inequality": (
        lambda: certify_inequality(B * (n + k), "<=", B * D, 1, [equal(n + k, D)]),
        lambda: certify_inequality(B * (n + k), "<", B * D, 1, [equal(n + k, D)]),
    ),
    "a condition itself": (
        lambda: certify_inequality(2 * B, ">=", 2 * k * D, 1, [at_least(B, k * D)]),
        lambda: certify_inequality(2 * B, ">", 2 * k * D, 1, [at_least(B, k * D)]),
    ),
    "a strict condition": (
        lambda: certify_inequality(B, ">", D + n, 1, [above(B, D + n)]),
        lambda: certify_inequality(B, ">", D + n + 1, 1, [above(B, D + n)]),
    ),
    "one more, between integers": (
        lambda: certify_inequality(B, ">=", D + 1, 1, [above(B, D)]),
        lambda: certify_inequality(x, ">=", D + 1, {"x": POSITIVE}, [above(x, D)]),
    ),
    "a root in a condition": (
        lambda: certify_inequality(B, ">", D**2, 1, [above(sqrt(B), D)]),
        lambda: certify_inequality(B, ">", D**2, 1, [at_least(sqrt(B), D)]),
    ),
    "real numbers": (
        lambda: certify_inequality(x**2, ">=", x, {"x": Least(1, real=True)}),
        lambda: certify_inequality(x**2, ">=", x, {"x": POSITIVE}),
    ),
    "numbers of any sign": (
        lambda: certify_inequality(x**2 + y**2, ">=", 2 * x * y, {"x": FREE, "y": FREE}),
        lambda: certify_inequality(x * x, ">=", x * y, {"x": FREE, "y": FREE}),
    ),
    "a divisor above 0": (
        lambda: certify_inequality(1 / x, ">", ZERO, {"x": POSITIVE}),
        lambda: certify_inequality(1 / x, ">", ZERO, {"x": Least(0, real=True)}),
    ),
    # several parts
    "within a percentage": (
        lambda: certify_all([(100 * B + 1, "<=", 103 * B), (100 * B + 1, ">=", 97 * B)]),
        lambda: certify_all([(100 * B + 4, "<=", 103 * B), (100 * B + 4, ">=", 97 * B)]),
    ),
    "largest and least": (
        lambda: certify_identity(Max(B, D) + Min(B, D), B + D),
        lambda: certify_identity(Max(B, D) + Min(B, D), B + D + 1),
    ),
    "conditions that contradict": (
        lambda: certify_inequality(B, ">=", D, 1, [above(B, D), above(B, 2)]),
        lambda: certify_inequality(B, ">=", D + 5, 1, [above(B, D), above(D, B)]),
    ),
}


@pytest.mark.few(10)
@pytest.mark.parametrize("name", PAIRS)
def test_true_beside_nearly_true(name):
    """What is true has a certificate, from its file too; what is nearly true has none."""
    true, false = PAIRS[name]
    made = true()
    assert made is not None
    assert kernel.check(kernel.load(json.dumps(made).encode()))
    assert false() is None


def resealed(certificate, change):
    new = json.loads(json.dumps(certificate))
    change(new)
    return seal({key: part for key, part in new.items() if key != "digest"})


def refused(certificate, change, why):
    with pytest.raises(kernel.Refused, match=why):
        kernel.check(resealed(certificate, change))


def test_a_least_value_is_reached_in_the_domain():
    """A place that is no integer, or below the bound, or against a condition, is none."""
    made = certify_min(B * k, "k", B * D, D, 1, [at_least(k, D)])

    def elsewhere(place):
        def change(data):
            data["proof"]["place"] = place

        return change

    refused(made, elsewhere(["/", ["var", "D"], "2"]), "integer|wrong sign|differ")
    refused(made, elsewhere(["var", "k"]), "depends on what varies")
    refused(made, elsewhere(["var", "Z"]), "not declared")
    refused(made, lambda data: data["proof"]["holds"].pop(), "not shown to satisfy each condition")
    refused(made, lambda data: data["statement"].update(over="B"), "depends on|wrong sign|differ|satisfy")


def test_where_it_is_possible_the_example_has_it():
    """An argmin that is claimed where it is possible must be possible somewhere."""
    divides = [Condition("divides", k, L)]
    made = certify_argmin(L / k + k, "k", sqrt(L), 1, divides, where_possible=True)
    assert kernel.check(made)[0].endswith("= sqrt(L) wherever that is one of these k")
    refused(made, lambda data: data["proof"]["example"].update(L="6", k="3"), "not possible at the example")
    refused(made, lambda data: data["statement"].pop("where"), "not shown to satisfy")


def test_cases_cover_everything():
    """A case split has both sides, and each remainder."""
    made = certify_identity(ceiling(n / 2) + floor(n / 2), n)
    assert made["proof"]["rule"] == "residues"
    refused(made, lambda data: data["proof"]["each"].pop(), "one case for each remainder")
    refused(made, lambda data: data["proof"].update(modulus="3"), "one case for each remainder")
    refused(made, lambda data: data["proof"].update(quotient="n"), "no new name")
    refused(made, lambda data: data["variables"].update(n={"real": True, "least": "0"}), "is no integer")
    rounded = certify_min(k + ceiling(n / k), "k", ceiling(2 * sqrt(n)))
    cases = rounded["proof"]["value"]
    assert cases["rule"] == "cases"
    refused(rounded, lambda data: data["proof"]["value"]["each"].pop(), "two cases")
    refused(rounded, lambda data: data["proof"]["value"]["each"].reverse(), ".")
    refused(rounded, lambda data: data["proof"]["value"].update(name="h 1"), "no new name")


def test_an_assumption_of_a_case_is_not_one_of_the_whole():
    """What is assumed in one part is not known outside of it."""
    made = certify_iff((2 * n, "<=", as_expr(7)), (n, "<=", THREE))
    refused(made, lambda data: data["proof"].update({"if": data["proof"]["unless"]}), "not stated|wrong sign")
    refused(made, lambda data: data["statement"]["second"].update(relation="<"), "wrong sign|not stated")
    refused(made, lambda data: data["statement"]["second"].update(relation="="), "no comparison|comparison")


def test_what_is_said_is_said_in_full():
    """The text, the claim as read, and what it rests on stand in the answer, inside the digest."""
    account = derive(load("deep_linear"))
    rest = rest_of(account, "params")
    made = certify_order(D, ONE, ["L"], both=True, rests=[rest])
    made = with_said(made, text="D = Theta(1) as L -> oo", read="D is Theta(1)", rests=[rest])
    lines = kernel.check(made)
    assert lines[0] == "D is Theta(1) as L -> oo"
    assert 'not checked: the text as typed: "D = Theta(1) as L -> oo"' in lines
    assert 'not checked: the claim as read: "D is Theta(1)"' in lines
    said = f'"params" of "deep_linear" (fingerprint "{rest.fingerprint}")'
    assert f"what the derivation says: {said} is D^2*L in the sizes B, D, L" in lines
    assert kernel.check(certify_limit(1 / n + 1 / k, ZERO, ["n", "k"]))[0] == (
        "1/k + 1/n tends to 0 as n, k -> oo, each independently of the others"
    )
    with pytest.raises(kernel.Refused, match="the digest"):
        kernel.check({**made, "statement": {**made["statement"], "read": "something else"}})


def test_a_fingerprint_is_that_of_the_graph():
    """Another graph has another fingerprint; the same one derived again has the same."""
    first, again, other = (rest_of(derive(load(name)), "params") for name in ("mlp", "mlp", "deep_linear"))
    assert first.fingerprint == again.fingerprint
    assert first.fingerprint != other.fingerprint


def test_statements_are_compared_without_names_and_order():
    """The order and names of hypotheses do not matter; a bound, a side, a relation and a kind do."""
    given = [at_least(B, k * D), Condition("divides", k, L)]
    one, two = (certify_inequality(B * L, ">=", k * D * L, 1, h) for h in (given, given[::-1]))
    assert statement_of(one) == statement_of(two)
    others = [
        certify_inequality(B * L, ">=", k * D * L, 1, given[:1]),
        certify_inequality(B * L, ">=", k * D * L, {"B": 2}, given),
        certify_inequality(B * L + 1, ">=", k * D * L, 1, given),
        certify_inequality(k * D * L, "<=", B * L, 1, given),
    ]
    assert len({statement_of(made) for made in [one, *others]}) == len(others) + 1


@pytest.mark.parametrize(
    ("claim", "status"), [("2*n*k <= n^2 + k^2", 0), ("2*n*k <= n^2 + k^2 + 1", 1), ("n <= k", 1)]
)
def test_verify_tells_whose_certificate_it_is(claim, status, tmp_path, capsys):
    """A certificate is of its own claim, and of no neighbour's."""
    file = tmp_path / "c.json"
    file.write_text(json.dumps(certify_inequality(2 * n * k, "<=", n**2 + k**2)), encoding="utf-8")
    assert main(["verify", str(file), "--claim", claim]) == status
    said = capsys.readouterr()
    assert ("of this claim" in said.out) == (status == 0)
    assert ("of another claim" in said.err) == (status == 1)


@pytest.mark.parametrize(
    "value", [Fraction(1, 7), Fraction(1), Fraction(2), Fraction(3), Fraction(10**30, 7)]
)
def test_roots_and_logarithms_lie_between_their_bounds(value):
    """Against Python's floats, and against the square itself."""
    low, high = root_of(value)
    assert low**2 <= value <= high**2
    low, high = log_of(value)
    assert high - low < Fraction(1, 10**30)
    assert low - Fraction(1, 10**9) < Fraction(math.log(value)) < high + Fraction(1, 10**9)


def test_logarithms_add_up_between_their_bounds():
    """log(a*b) = log a + log b, with bounds that stay around it; exp of a sum is checked by powers."""
    for a in (Fraction(3, 2), Fraction(7), Fraction(1, 1000)):
        for b in (Fraction(2), Fraction(22, 7)):
            one, two, both = log_of(a), log_of(b), log_of(a * b)
            assert one[0] + two[0] <= both[1]
            assert both[0] <= one[1] + two[1]
    third = log_of(Fraction(2))
    power = Fraction(1)
    total = Fraction(0)
    for term in range(40):  # e^(log 2) = 2 lies between the sums at both ends
        total += power
        power = power * third[0] / (term + 1)
    assert abs(total - 2) < Fraction(1, 10**20)
