"""Binomials and factorials: read, printed, worked out, proved, refuted, and in the kernel.

What is true is asked of `math.comb` and `math.factorial` on grids of integers.
"""

from __future__ import annotations

import copy
import math
from fractions import Fraction
from itertools import product

import pytest

from symacct import kernel
from symacct.algebra.condition import Condition
from symacct.algebra.evaluate import evaluate
from symacct.algebra.factorials import Binomial, Factorial
from symacct.algebra.symbols import as_expr, symbol
from symacct.cli.main import main
from symacct.errors import FormulaError, LimitError, SizeError, UnitError
from symacct.printers import latex, mathml, text
from symacct.proof.certificate import certify_identity, certify_inequality, seal
from symacct.proof.enclosure import UndefinedError, sign_between, sign_of
from symacct.proof.prove import prove
from symacct.syntax import read_formula

n, k, s, t = map(symbol, ("n", "k", "s", "t"))


def comb(above: int, below: int) -> int:
    return math.comb(above, below) if below >= 0 else 0


# ---- read and print ----


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("n!", Factorial(n)),
        ("2n!", 2 * Factorial(n)),
        ("-n!", -Factorial(n)),
        ("n!^2", Factorial(n) ** 2),
        ("n!²", Factorial(n) ** 2),
        ("2^(n!)", 2 ** Factorial(n)),
        ("(2^n)!", Factorial(2**n)),
        ("(n + 1)!/n!", Factorial(n + 1) / Factorial(n)),
        ("[n + 1]!", Factorial(n + 1)),
        ("s!t!", Factorial(s) * Factorial(t)),
        ("s! t", Factorial(s) * t),
        ("(n!)!", Factorial(Factorial(n))),
        ("factorial(n)", Factorial(n)),
        ("binomial(s + t, s)", Binomial(s + t, s)),
        (r"\binom{s + t}{s}", Binomial(s + t, s)),
        (r"\dbinom ns", Binomial(n, s)),
        (r"\frac{(s+t)!}{s!\,t!}", Factorial(s + t) / (Factorial(s) * Factorial(t))),
        (r"\sqrt{n}!", Factorial(n ** as_expr(Fraction(1, 2)))),
        (r"2^{n!}", 2 ** Factorial(n)),
        ("5!", as_expr(120)),
        ("binomial(5, 2) + binomial(5, 6) + binomial(5, -1) + binomial(0, 0)", as_expr(11)),
    ],
)
def test_both_are_read(written, meant):
    found = read_formula(written, ["n", "s", "t"])
    assert found == meant
    for shown in (text(found), latex(found)):
        assert read_formula(shown, ["n", "s", "t"]) == found


@pytest.mark.parametrize(
    ("written", "what", "fix"),
    [
        ("n!!", "unclear what this factorial is of", "write (n!)! for the factorial of a factorial"),
        ("2^n!", "unclear what this factorial is of", "write 2^(n!) or (2^n)!"),
        ("n²!", "unclear what this factorial is of", "write (n²)!"),
        ("√n!", "unclear what this factorial is of", "write (√n)! or √(n!)"),
        ("n! 2", "a number stands directly behind", "write * or ^ between"),
        ("!n", "stands where a factor must", None),
        ("(-1)!", "a factorial of -1 has no value", None),
        ("3.5!", "a factorial of 7/2 has no value", None),
        ("binomial(-3, 2)", "a binomial of -3 has no value", None),
        ("binomial(5, 1/2)", "a binomial of 1/2 has no value", None),
        ("factorial(10^9)", "too large", None),
        ("binomial(10^9, 10^6)", "too large", None),
        ("binomial(n)", "binomial has 1 argument", None),
        ("binomial(n, 1, 2)", "binomial has 3 arguments", None),
        ("factorial(n, 1)", "factorial has 2 arguments", None),
        (r"{n \choose s}", "is not read here", r"write \binom{n}{k}"),
    ],
)
def test_what_is_unclear_or_undefined_is_refused(written, what, fix):
    with pytest.raises(FormulaError) as caught:
        read_formula(written, ["n", "s"])
    assert what in caught.value.what
    assert fix is None or caught.value.fix == fix


def test_a_unit_has_no_factorial():
    for claim, kind in (("5 GB! = 1", FormulaError), ("binomial(4 GB, 2) = 3", UnitError)):
        with pytest.raises(kind):
            prove(None, claim)
    with pytest.raises(UnitError):
        prove(None, "binomial(4, 2 GB) = 3")


def test_mathml_has_its_own_signs():
    assert 'linethickness="0"' in mathml(Binomial(n, k))
    assert "<mo>!</mo>" in mathml(Factorial(n))


# ---- values ----


def test_values_are_those_of_python():
    for above, below in product(range(9), range(-2, 11)):
        assert evaluate(Binomial(n - 1, k - 3), {"n": above + 1, "k": below + 3}) == comb(above, below)
    for size in range(12):
        assert evaluate(Factorial(n - 1), {"n": size + 1}) == math.factorial(size)
    assert evaluate(Binomial(n, 3), {"n": 10**9}) == math.comb(10**9, 3)


@pytest.mark.parametrize(
    ("expr", "at"),
    [
        (Factorial(n - 5), {"n": 4}),
        (Factorial(n / 2), {"n": 3}),
        (Binomial(n - 5, 2), {"n": 4}),
        (Binomial(n, k / 2), {"n": 4, "k": 1}),
        (Factorial(n), {"n": 10**9}),
        (Binomial(n, k), {"n": 10**9, "k": 10**8}),
    ],
)
def test_there_is_no_value_where_none_is_defined_or_it_is_too_large(expr, at):
    with pytest.raises((SizeError, LimitError)):
        evaluate(expr, at)


def test_signs_of_what_is_too_large_are_told():
    """Robbins' bounds hold a factorial: next to a power of its argument, and to another factorial."""
    at = {"n": 10**6, "k": 5 * 10**5}
    assert sign_of(Factorial(n) - n**1000)(at) == 1
    assert sign_of(Factorial(n) - n**n)(at) == -1
    assert sign_between(Binomial(n, k), 2 ** as_expr(60))(at) == 1
    assert sign_between(Factorial(n + 1), (n + 1) * Factorial(n))(at) == 0
    assert sign_between(Factorial(n + 1), n * Factorial(n))(at) == 1
    for expr in (Factorial(n / 7), Binomial(k - n, 2)):
        with pytest.raises(UndefinedError):
            sign_of(expr)(at)


# ---- verdicts ----

PROVED = [
    "binomial(s + t, s) = binomial(s + t - 1, s) + binomial(s + t - 1, s - 1)",
    "binomial(s + t, s) = binomial(s + t, t)",
    "binomial(n, 2) = n*(n-1)/2",
    "binomial(n, k) = factorial(n)/(factorial(k)*factorial(n-k)) if k <= n",
    "binomial(n, k)*binomial(k, j) = binomial(n, j)*binomial(n-j, k-j) if j <= k, k <= n",
    "factorial(n+1) = (n+1)*factorial(n)",
    "k*binomial(n, k) = n*binomial(n-1, k-1)",
    "(k+1)*binomial(n, k+1) = (n-k)*binomial(n, k)",
    "binomial(s+t, s) = binomial(s+t-1, s)*(s+t)/t",
    "binomial(2n, n) = 2*binomial(2n-1, n)",
    "binomial(n, k) = binomial(n, n-k)",
    "binomial(n, 0) = 1",
    "binomial(n, n) = 1",
    "binomial(n, n+1) = 0",
    "binomial(n-1, 0) = 1",
    "binomial(n, k) = 0 if k > n",
    "binomial(s+t, s) >= t + 1",
    "binomial(s+t, s) >= s + t",
    "binomial(n-1, k-1) <= binomial(n, k)",
    "binomial(n, k) >= 1 if k <= n",
    "binomial(n, 3) <= n^3/6",
    "factorial(n) >= n",
    "factorial(n) >= n^3 if n >= 6",
    "binomial(n, 2) = O(n^2)",
    "binomial(n, 2) = Theta(n^2)",
    "binomial(3 + t, 3) ~ t^3/factorial(3) as t -> oo",
]


@pytest.mark.few(1)
@pytest.mark.parametrize("claim", PROVED)
def test_true_claims_are_proved(claim):
    verdict = prove(None, claim)
    assert verdict.outcome == "proved"
    assert kernel.check(verdict.decision.certificate)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("claim", "sizes"),
    [
        ("binomial(n, 2) = n^2/2", {"n": 1}),
        ("factorial(n) <= n^3", {"n": 6}),
        ("binomial(n, k) >= 1", {"n": 1, "k": 2}),
        ("binomial(n, k) = n^k/factorial(k)", {"n": 1, "k": 2}),
        ("binomial(n, k) = binomial(n, k+1)", {"n": 1, "k": 1}),
        ("factorial(n) > 2^n", {"n": 1}),
        ("binomial(s + t, s) = binomial(s + t - 1, s) + binomial(s + t - 1, s + 1)", None),
        ("binomial(s + t, s) <= (s + t)^2", None),
    ],
)
def test_false_claims_are_refuted_at_the_smallest_sizes(claim, sizes):
    verdict = prove(None, claim)
    assert verdict.outcome == "refuted"
    point = verdict.decision.point
    assert point.smallest
    at = dict(point.sizes)
    assert sizes is None or at == sizes
    left, right = verdict.sides.left.expr, verdict.sides.right.expr
    assert [evaluate(one, at) for one in (left, right)] == [point.left, point.right]


@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        ("binomial(s + t, s) ~ s^t/t! as s -> oo", "undecided"),
        ("s^t/t! = Theta(s^t) as s -> oo", "undecided"),
        ("s*(t+1)! ~ s*t!*(t+1) as s -> oo", "proved"),
        ("s/t! + 1 ~ s/t! as s -> oo", "proved"),
        ("s*factorial(t + 2000) ~ s*factorial(t + 2000) + 1 as s -> oo", "proved"),
        ("s*binomial(10^6*t, t) ~ s*binomial(10^6*t, t) + 1 as s -> oo", "proved"),
        ("s*binomial(10^6*t, t) ~ 2*s*binomial(10^6*t, t) as s -> oo", "refuted"),
        ("s*t! = O(t!) as s -> oo", "refuted"),
    ],
)
def test_sizes_at_which_a_factorial_is_too_large_are_left_out(claim, outcome):
    """Each ray has one value of t, and its factorial may have too many digits; s alone grows."""
    assert prove(None, claim).outcome == outcome


@pytest.mark.parametrize(
    "claim",
    [
        "binomial(n-5, 2) - binomial(n-5, 2) = 0",
        "binomial(n/2, 2) - binomial(n/2, 2) = 0",
        "factorial(n/2) = factorial(n/2)",
        "binomial(n, k/2) >= 0",
        "factorial(n - 2)/factorial(n - 2) = 1",
        "binomial(n, k) = factorial(n)/(factorial(k)*factorial(n-k))",
        "binomial(n - 5, 0) = 1",
        "0*factorial(n/2) = O(n)",
    ],
)
def test_what_is_not_defined_everywhere_is_never_proved(claim):
    assert prove(None, claim).outcome != "proved"


def test_a_condition_that_defines_it_is_taken():
    assert prove(None, "binomial(n/2, 1) = n/2 if 2 | n").outcome == "proved"
    assert prove(None, "binomial(n - 5, 0) = 1 if n >= 5").outcome == "proved"


# ---- the kernel ----


def worth(expr, at):
    """Return the value of a prefix form, by `math`."""
    if isinstance(expr, str):
        return Fraction(expr)
    head, *parts = expr
    if head == "var":
        return at[parts[0]]
    found = [worth(part, at) for part in parts if head != "^"]
    if head == "^":
        return worth(parts[0], at) ** int(parts[1])
    if head == "binomial":
        return Fraction(comb(int(found[0]), int(found[1])))
    if head == "factorial":
        return Fraction(math.factorial(int(found[0])))
    return {"+": sum, "*": math.prod, "/": lambda v: v[0] / v[1]}[head](found)


VAR = {name: ["var", name] for name in ("n", "k")}


def plus(name, number):
    return ["+", VAR[name], str(number)]


def readings(least_n, least_k, anchors, factorials):
    """Return a box in which n is k + a slack where ``factorials``, and both are at least so much."""
    box = kernel.Box({"n": kernel.Variable(least_n), "k": kernel.Variable(least_k)})
    box.anchors, box.factorials = anchors, factorials
    return box


def in_atoms(box, value, at):
    """Return what a fraction is at sizes, with each atom worked out from what it is made of."""

    def generator(name):
        if name not in box.made:
            return at[name]
        head, parts = box.made[name]
        inside = [fraction(one) for one in parts]
        assert all(one.denominator == 1 for one in inside)
        return Fraction(comb(*map(int, inside)) if head == "binomial" else math.factorial(int(inside[0])))

    def fraction(one):
        top, below = (
            sum(c * math.prod(generator(g) ** e for g, e in m) for m, c in poly.items()) for poly in one
        )
        return top / below

    return fraction(value)


@pytest.mark.long
def test_every_reading_has_the_value_of_what_is_read():
    """With any anchors, on a grid past every border: k = 0, k = n, k > n, n = 0."""
    for up, right in ((0, 0), (2, 1), (3, 0), (3, 3), (1, 2)):
        anchors = [["binomial", plus("n", up), plus("k", right)], ["factorial", plus("n", 3)]]
        for a, b in product((-1, 0, 1, 2), (-2, -1, 0, 1, 2)):
            for expr in (
                ["binomial", plus("n", a), plus("k", b)],
                ["binomial", plus("n", a), ["+", VAR["n"], ["*", "-1", VAR["k"]], str(b)]],
                ["binomial", plus("n", a), str(b)],
                ["binomial", plus("n", a), plus("n", b)],
                ["factorial", plus("n", a)],
            ):
                box = readings(1, 0, anchors, factorials=True)
                value = box.read(expr)
                for size, taken in product(range(1, 6), range(7)):
                    at = {"n": Fraction(size), "k": Fraction(taken)}
                    assert in_atoms(box, value, at) == worth(expr, at), (expr, at, anchors)


def test_every_fact_holds_wherever_it_is_taken():
    """The facts of a factorial and of a binomial, where the kernel gives them."""
    taken = 0
    for least, first in product((0, 2, 3), (0, 1, 2)):
        box = readings(least, first, [], factorials=False)
        atom = ["binomial", ["+", VAR["n"], VAR["k"]], VAR["k"]]
        for expr in (atom, ["factorial", VAR["n"]]):
            for side in range(16):
                try:
                    fact, strict = kernel.facts.fact(box, {"atom": expr, "side": str(side)})
                except kernel.Refused:
                    continue
                taken += 1
                for size, more in product(range(6), range(6)):
                    at = {"n": Fraction(least + size), "k": Fraction(first + more)}
                    assert in_atoms(box, fact, at) >= 0
                    assert not strict
    assert taken > 60


@pytest.mark.parametrize(
    ("expr", "size"),
    [
        (["binomial", plus("n", -1), "2"], 0),
        (["factorial", plus("n", -1)], 0),
        (["factorial", ["/", VAR["n"], "2"]], 1),
        (["binomial", VAR["n"], ["/", VAR["n"], "2"]], 1),
        (["binomial", VAR["n"]], 1),
        (["factorial", VAR["n"], "1"], 1),
        (["factorial", "501"], 0),
        (["factorial", VAR["n"]], None),
        (["binomial", VAR["n"], "501"], None),
        (["factorial", "-1"], 0),
    ],
)
def test_the_kernel_refuses_what_may_be_undefined_or_is_too_large(expr, size):
    """As a formula for all sizes, and at the size; one that is not given is too large to work out."""
    if size is not None:
        with pytest.raises(kernel.Refused):
            readings(0, 0, [], factorials=False).read(expr)
    with pytest.raises(kernel.Refused):
        kernel.value_at(expr, {"n": Fraction(10**6 if size is None else size)}, kernel.Meter())


def test_binomials_of_other_arguments_are_other_atoms():
    """C(n, k) and C(k, n) share their names, and are not one; C(n, k) and C(n, n - k) are."""
    box = readings(0, 0, [], factorials=False)
    one = box.read(["binomial", VAR["n"], VAR["k"]])
    assert one != box.read(["binomial", VAR["k"], VAR["n"]])
    assert one == box.read(["binomial", VAR["n"], ["+", VAR["n"], ["*", "-1", VAR["k"]]]])


def test_a_binomial_does_not_stay_large_as_what_is_taken_grows():
    """C(n, k) >= 1 says that k is at most n: as k grows it fails, so that nothing follows of large k."""
    certificate = {
        "format": kernel.FORMAT,
        "statement": {"relation": "O", "left": VAR["k"], "right": VAR["k"], "growing": ["k"]},
        "variables": {"n": "1", "k": "1"},
        "hypotheses": [
            {"name": "h1", "kind": "at_least", "left": ["binomial", VAR["n"], VAR["k"]], "right": "1"}
        ],
        "proof": {
            "rule": "constants",
            "uses": {},
            "constant": "1",
            "from": {},
            "below": {"kind": "shift"},
            "above": {"kind": "shift"},
            "example": {"n": "1", "k": "1"},
        },
    }
    with pytest.raises(kernel.Refused, match="might leave no large sizes"):
        kernel.check(seal(certificate))


def test_spoiled_certificates_are_refused():
    """Other anchors change nothing; other statements are refused."""
    made = certify_identity(Binomial(n, k), Binomial(n - 1, k) + Binomial(n - 1, k - 1))
    assert made["proof"]["anchors"]
    for anchors in (
        ["1"],
        [["var", "n"]],
        [["factorial", ["factorial", VAR["n"]]]],
        [["binomial", VAR["n"]]],
    ):
        spoiled = copy.deepcopy(made)
        spoiled["proof"]["anchors"] = anchors
        with pytest.raises(kernel.Refused):
            kernel.check(seal(spoiled))
    for sides in (Binomial(n - 1, k) + Binomial(n - 1, k + 1), Binomial(n, k + 1), Binomial(k, n)):
        assert certify_identity(Binomial(n, k), sides) is None
    less = [Condition("at_least", n, k)]
    split = certify_identity(Binomial(n, k), Factorial(n) / (Factorial(k) * Factorial(n - k)), 1, less)
    assert split["proof"]["factorials"] == "1"
    bare = copy.deepcopy(split)
    del bare["proof"]["factorials"]
    with pytest.raises(kernel.Refused):
        kernel.check(seal(bare))
    bare = {**copy.deepcopy(split), "hypotheses": []}
    bare["proof"] = {key: one for key, one in bare["proof"].items() if key != "example"} | {"uses": {}}
    with pytest.raises(kernel.Refused):
        kernel.check(seal(bare))


def test_bounds_that_fail_somewhere_have_no_certificate():
    """Each holds almost everywhere: brute force finds where it fails, and no certificate is found."""
    for left, right in (
        (Factorial(n), n**2 - 2 * n + 3),
        (Binomial(s + t, s), s * t + 2),
        (Binomial(n, k), k),
        (Factorial(n), n**3 / 4),
    ):
        at = [{"n": a, "k": b, "s": a, "t": b} for a, b in product(range(1, 8), repeat=2)]
        assert any(evaluate(left - right, one) < 0 for one in at)
        assert certify_inequality(left, ">=", right) is None


# ---- verbs ----


def said(capsys, *words):
    status = main(list(words))
    return status, capsys.readouterr()


def test_verbs_take_both(capsys, tmp_path):
    assert said(capsys, "calc", "binomial(10, 3) + 5!")[1].out.startswith("240")
    out = said(capsys, "solve", "binomial(s + t, s) >= 100", "--at", "s=3", "--for", "t")[1].out
    assert min(t for t in range(1, 20) if math.comb(3 + t, 3) >= 100) == 7
    assert "integers: t >= 7" in out
    out = said(capsys, "solve", "factorial(n) <= 1000", "--for", "n")[1].out
    assert "integers: 1 <= n <= 6" in out
    out = said(capsys, "solve", "binomial(n-3, 2) <= 10", "--for", "n")[1].out
    assert "integers: 3 <= n <= 8" in out
    out = said(capsys, "sweep", "deep_linear", "binomial(L, 2)", "--over", "L=1..4", "--exact")[1].out
    assert [line.split(",")[-2] for line in out.splitlines()[1:5]] == ["0", "1", "3", "6"]
    assert main(["calc", "factorial(10^9)"]) == 2
    file = tmp_path / "pascal.json"
    claim = "binomial(n, k) = binomial(n-1, k) + binomial(n-1, k-1)"
    assert main(["prove", claim, "--certificate", str(file)]) == 0
    assert main(["verify", str(file)]) == 0
    assert "binomial(n, k)" in capsys.readouterr().out


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["txt", "md", "tex", "html"])
def test_sheets_read_back(capsys, tmp_path, kind):
    file = tmp_path / "binomials.toml"
    file.write_text(
        '[[claim]]\nname = "two"\nclaim = "binomial(n, 2) = n^2/2"\nexpect = "refuted"\n'
        'instead = "binomial(n, 2) = n*(n-1)/2"\n\n'
        '[[claim]]\nname = "falling"\nclaim = "(n+2)! = (n+2)*(n+1)*n!"\nexpect = "proved"\n',
        encoding="utf-8",
    )
    sheet = tmp_path / f"sheet.{kind}"
    assert main(["sheet", str(file), "-o", str(sheet)]) == 0
    shown = sheet.read_text(encoding="utf-8")
    assert {"txt": "binomial(n, 2)", "html": 'linethickness="0"'}.get(kind, r"\binom{n}{2}") in shown
