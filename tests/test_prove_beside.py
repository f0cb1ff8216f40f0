"""Names that a claim binds, in its conditions: the claim is that with the formulas written out."""

import json
from itertools import product

import pytest

from symacct import kernel
from symacct.claims import read_claim
from symacct.cli import main
from symacct.errors import SymacctError
from symacct.proof.beside import conditions_beside
from symacct.proof.certified import certify
from symacct.proof.compare import compare_formulas
from symacct.proof.prove import prove
from symacct.proof.read_line import names_line, read_line
from symacct.proof.stated import statement_of
from symacct.readers.files import load


def proof(text, **given):
    """Return the certificate of a claim without a graph, which the kernel accepts."""
    found = certify(prove(None, text, **given)).certificate
    assert kernel.check(found)
    return found


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("bound", "plain", "outcome"),
    [
        ("n <= 2*k if M >= n where M = 2*k", "n <= 2*k if 2*k >= n", "proved"),
        ("n <= 2*k where M = 2*k if M >= n", "n <= 2*k if 2*k >= n", "proved"),
        ("n <= 2*k if M > n where M = 2*k + 1", "n <= 2*k if 2*k + 1 > n", "proved"),
        ("n <= 2*k if M >= n where M = 2*k + 1", "n <= 2*k if 2*k + 1 >= n", "refuted"),
        ("n >= 4 if 2 <= m <= M, 2*m <= n where M = n - 2", "n >= 4 if 2 <= m <= n - 2, 2*m <= n", "proved"),
        ("L >= 2*k if M | L where M = 2*k", "L >= 2*k if 2*k | L", "proved"),
        ("L >= 3*k if M | L where M = 2*k", "L >= 3*k if 2*k | L", "refuted"),
        ("r <= 3*q if r = W where W = 2*q", "r <= 3*q if r = 2*q", "proved"),
        ("2MN <= N^2 + M^2 if MN >= 3 where M = 2*k", "4*k*N <= N^2 + 4*k^2 if 2*k*N >= 3", "proved"),
        (
            "n*M <= k iff n <= k/M if M >= 4 where M = 2*k",
            "n*(2*k) <= k iff n <= k/(2*k) if 2*k >= 4",
            "proved",
        ),
        ("n + W = O(n) as n -> oo if W <= n where W = k", "n + k = O(n) as n -> oo if k <= n", "proved"),
    ],
)
def test_a_bound_name_in_a_condition_is_its_formula(bound, plain, outcome):
    one, other = prove(None, bound), prove(None, plain)
    assert (one.outcome, other.outcome) == (outcome, outcome)
    assert one.box.stated == other.box.stated


@pytest.mark.parametrize("most", range(1, 5))
@pytest.mark.parametrize("shape", ["{} if {} where {}", "{0} where {2} if {1}"])
def test_verdicts_agree_with_all_small_sizes(most, shape):
    """`n <= c*k` where n is at most 2*k + 1, by trying every small n and k."""
    text = shape.format(f"n <= {most}*k", "M >= n", "M = 2*k + 1")
    holds = all(n <= most * k for n, k in product(range(1, 30), repeat=2) if 2 * k + 1 >= n)
    assert prove(None, text).outcome == ("proved" if holds else "refuted")


def test_options_say_the_same():
    written = prove(None, "n <= 2*k if M >= n where M = 2*k")
    given = prove(None, "n <= 2*k", lets=["M = 2*k"], assume=["M >= n"])
    mixed = prove(None, "n <= 2*k where M = 2*k", assume=["M >= n"])
    assert written.outcome == given.outcome == mixed.outcome == "proved"
    assert written.box.stated == given.box.stated == mixed.box.stated


@pytest.mark.parametrize("text", ["n <= 2*k if M >= n where M = 2*k", "n <= 2*k where M = 2*k if M >= n"])
def test_a_certificate_holds_the_claim_as_read(text):
    made = proof(text)
    assert made["statement"]["read"] == "n <= 2*k if M >= n where M = 2*k"
    again = proof(made["statement"]["read"])
    assert statement_of(again) == statement_of(made)
    other = proof("n <= 2*k if M >= n + 1 where M = 2*k")
    assert statement_of(other) != statement_of(made)
    assert other["hypotheses"] != made["hypotheses"]


def test_a_certificate_is_written_and_checked(tmp_path, capsys):
    path = tmp_path / "proof.json"
    assert main(["prove", "n <= 2*k if M >= n where M = 2*k", "--certificate", str(path)]) == 0
    assert "M >= n" in json.loads(path.read_text())["statement"]["read"]
    assert main(["verify", str(path)]) == 0


def test_quantities_in_conditions_have_their_units():
    graph = load("mlp")
    text = "6*N >= 60 parameter if N >= 10 where N = params"
    found = prove(graph, text)
    assert found.outcome == "proved"
    assert "10 read as 10 parameter" in found.notes
    assert read_line(found) == text
    with pytest.raises(SymacctError, match="cannot be compared"):
        prove(graph, "6*N >= 60 parameter if N >= 10 byte where N = params")
    with pytest.raises(SymacctError, match="cannot be compared"):
        prove(graph, "6*N >= 60 parameter if N >= T where N = params, T = tokens")


def test_what_a_claim_binds_hides_a_size_in_its_own_conditions():
    """D is what is bound in the whole of the claim; outside of it, it may be either."""
    graph = load("mlp")
    inside = prove(graph, "D >= 5 token if D >= 5 where D = tokens")
    assert inside.outcome == "proved"
    assert [str(one) for one in inside.box.stated] == ["B >= 5"]
    for given in ({"lets": []}, {"lets": ["N = params"]}):
        with pytest.raises(SymacctError, match="D is a size, and the claim binds it") as refused:
            prove(graph, "2*D >= D where D = tokens", assume=["D >= 5"], **given)
        assert refused.value.got == "D = tokens"
    assert prove(graph, "2*T >= T where T = tokens", assume=["D >= 5"]).outcome == "proved"


def test_an_unknown_name_is_still_one():
    with pytest.raises(SymacctError, match="unknown name 'P'"):
        prove(load("mlp"), "2*N >= N if P >= 3 where N = params")


def test_a_minimum_sees_through_what_is_bound():
    """A largest of several stands in a condition, over a real k, through a name."""
    plain = prove(None, "min_k(k + L/k) = 2*sqrt(L) if max(k + 1, 3) <= 5")
    bound = prove(None, "min_k(k + L/k) = 2*sqrt(L) if max(M, 3) <= 5 where M = k + 1")
    assert (plain.outcome, plain.decision.reason) == (bound.outcome, bound.decision.reason)
    assert bound.outcome != "proved"
    letters = prove(None, "min_k(k + L/k) = 2*sqrt(L) if max(kL, 1) <= 5*L^2")
    assert letters.decision.reason == plain.decision.reason


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "text",
    [
        "min_k(k + L/k) = 2*r where r = sqrt(L)",
        "min_k(k + M/k) = 2*sqrt(M) where M = 3*L",
        "min_k(k + L/k) = 2*sqrt(L) if M >= 4 where M = 2*L",
        "argmin_k(k + L/k) = r where r = sqrt(L)",
        "argmin_k(k + M/k) = sqrt(M) where M = 3*L if L >= 2",
        "lim_n(M/n) = 2 where M = 2*n + 1",
        "lim_n(2 + k/n) = M if M = k where M = 2",
    ],
)
def test_minima_and_limits_bind_names(text):
    found = prove(None, text)
    assert found.outcome == "proved"
    assert prove(None, read_line(found)).outcome == "proved"
    assert "where " in read_line(found)
    wrong = text.replace(" = ", " = 1 + ", 1)
    assert prove(None, wrong).outcome != "proved"


def test_other_questions_read_the_same():
    assert compare_formulas("2*n", "k", ["M = k"], ["M >= 4*n"]).larger == "B or equal"
    claim = read_claim("n <= 2*k where M = 2*k", None, beside=["M >= n"])
    assert conditions_beside(claim, (), ["M >= n"]) == conditions_beside(claim, ["M >= n"])


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("text", "given", "outcome"),
    [
        ("a*d = h", {}, "proved"),
        ("a*d = h + 1", {}, "refuted"),
        ("2*b*d <= b*h if a >= 2", {}, "proved"),
        ("2*b*d <= b*h if d >= 2", {}, "refuted"),
        ("h >= 64*a if d >= 64", {}, "proved"),
        ("h >= 64*a", {"assume": ["d >= 64"]}, "proved"),
        ("h >= 64*a", {"assume": ["d >= 63"]}, "refuted"),
        ("D = h where D = d*a", {}, "proved"),
        ("a*d = 64", {"sizes": {"h": 64}}, "proved"),
        ("d = 3*s where d = 3*s", {}, "proved"),
        ("a*d = h", {"lets": ["d = 2"]}, "refuted"),
        ("min_d(d + h/d) = 2*sqrt(h)", {}, "proved"),
    ],
)
def test_names_that_the_graph_gives_to_quotients(text, given, outcome):
    """d is h/a of gpt, but where a claim binds it, or lets it vary."""
    assert prove(load("gpt"), text, **given).outcome == outcome


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("quotient", "plain"),
    [
        ("h/a >= 64", "h >= 64*a"),
        ("h/a > 63", "h >= 63*a + 1"),
        ("64 <= h/(a*b)", "h >= 64*a*b"),
        ("h/a <= b/a^2", "b >= a*h"),
        ("1/a >= b/h", "h >= a*b"),
        ("h/(a + 1) >= 64", "h/(a + 1) >= 64"),
    ],
)
def test_a_condition_on_a_quotient_is_one_of_its_parts(quotient, plain):
    one, other = (prove(None, f"h + a + b >= 3 if {text}").box.stated for text in (quotient, plain))
    assert one == other
    assert prove(None, f"h + a + b >= 3 if {quotient}").outcome == "proved"


def test_an_unknown_name_lists_few_others():
    with pytest.raises(SymacctError) as refused:
        prove(load("gpt"), "a*q = h")
    sizes, quantities, bound = refused.value.expected.split("; ")
    assert sizes == "sizes: L, V, a, b, h, s, t"
    assert quantities.count(",") == 12
    assert quantities.endswith("more (see symacct list quantities)")
    assert bound == "bound: d"


def test_numbers_of_formats_are_no_integers():
    said = names_line(prove(None, "epsilon(bf16) + x <= largest(fp8_e4m3) if x <= 2"), None)
    assert said == "x: integers of at least 1; epsilon(bf16) = 2^(-7); largest(fp8_e4m3) = 448"
