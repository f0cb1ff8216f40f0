"""Full sheets: each step follows from the one before; symbols, examples, terms by op and sources."""

from __future__ import annotations

import operator
import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shipped import shipped_sheet
from sympy import Integer, Rational

from symacct.account import derive
from symacct.algebra.evaluate import evaluate
from symacct.algebra.normal import is_zero, normal, total
from symacct.algebra.symbols import symbol
from symacct.errors import FormulaError
from symacct.nodes import Node, walk
from symacct.proof.prove import prove
from symacct.proof.threshold import BOTH_WAYS
from symacct.readers.claim_files import find_claim_file, read_claim_file
from symacct.readers.files import load
from symacct.sheet import steps_claims
from symacct.sheet.chain import chained, proved
from symacct.sheet.charges import charges
from symacct.sheet.data import Math, Sign, Words
from symacct.sheet.examples import example_sizes, of_account
from symacct.sheet.html import html_of
from symacct.sheet.making import of_account as sections_of
from symacct.sheet.making import of_claims
from symacct.sheet.markdown import markdown_of
from symacct.sheet.plain import text_of
from symacct.sheet.readback import value
from symacct.sheet.spelling import spelled
from symacct.sheet.steps import Derivation
from symacct.sheet.steps_words import SAID
from symacct.sheet.tex import tex_of
from symacct.sheet.words import word

CHOICES = {
    "deep_linear": {"optimizer": "adamw"},
    "gpt": {"optimizer": "adamw", "precision": "bf16-master"},
    "moe": {"optimizer": "sgd", "accumulate": "4"},
    "mlp": {"checkpoint": "none"},
}
B, D, L = map(symbol, "BDL")


def steps(account, name, above=(), lang="en"):
    sizes = of_account(account)
    return Derivation(account, name, sizes, above, lang=lang).steps()


def shown(step):
    return "".join(
        spelled(item, "text")
        if isinstance(item, Math)
        else f" {item.name} "
        if isinstance(item, Sign)
        else item.text
        for item in step.cell
    )


def plain(math):
    """The expression of a printed formula, its units taken as 1."""
    expr = value(math.tree)
    return normal(expr.subs({one: 1 for one in expr.free_symbols if one.name.startswith("u_")}))


# ---- quantities of a graph ----


@pytest.mark.few(2)
@pytest.mark.parametrize("name", CHOICES)
def test_charges_add_up_to_the_quantity(name):
    """Price times sizes times iterations, over all ops, is what was derived apart, for every sum of terms."""
    account = derive(load(name), **CHOICES[name])
    for quantity in account.names():
        if quantity != "tokens" and not quantity.startswith("intensity"):
            found = charges(account, quantity)
            assert is_zero(total(one.whole for one in found) - account[quantity].expr), quantity
            labels = [label for one in found for label in one.labels]
            assert not account.terms(quantity) or labels


@pytest.mark.few(1)
@pytest.mark.parametrize("name", CHOICES)
def test_every_step_is_equal_to_the_one_before(name):
    """Inside of a step all formulas are equal; the last one is the quantity; the parts add up to the sum."""
    account = derive(load(name), **CHOICES[name])
    for quantity in account.names():
        made = steps(account, quantity)
        expr = account[quantity].expr
        for step in made:
            values = [plain(item) for item in step.cell if isinstance(item, Math)]
            assert all(is_zero(one - values[0]) for one in values), (quantity, step.said)
        formulas = [item for step in made for item in step.cell if isinstance(item, Math)]
        assert not made or is_zero(plain(formulas[-1]) - expr), quantity


def test_a_chain_of_layers_as_on_a_blackboard():
    """2 FLOP for each of B, D, D; two gradients, one where the input needs none; L - 1 times and once."""
    account = derive(load("deep_linear"))
    made = [(step.said, shown(step)) for step in steps(account, "flops.model")]
    said = dict(made)
    assert said["matmul (B D, D E → B E)"] == "(2 FLOP)*B*D*D = 2*B*D^2 [FLOP]"
    assert said["all iterations of layers"] == "L*2*B*D^2 = 2*B*D^2*L [FLOP]"
    both = "matmul/grad.carry.0 (B E, D E → B D), matmul/grad.w (B D, B E → D E)"
    assert said[both] == "2*(2 FLOP)*B*D*D = 4*B*D^2 [FLOP]"
    assert said["all iterations of layers/backward"] == "(L - 1)*4*B*D^2 = 4*B*D^2*L - 4*B*D^2 [FLOP]"
    assert any(words.startswith("not formed: the gradient of layers/carry.0") for words in said)
    assert said["the sum"] == "L*2*B*D^2 + (L - 1)*4*B*D^2 + 2*B*D^2 [FLOP]"
    assert made[-1] == ("multiplied out, like terms collected", "6*B*D^2*L - 2*B*D^2 [FLOP]")


def test_with_the_gradient_of_the_input_nothing_is_left_out():
    """The valid neighbour: then no gradient is missing, and every layer has both."""
    account = derive(load("deep_linear"), input_grad=True)
    said = [step.said for step in steps(account, "flops.backward")]
    assert not any(words.startswith("not formed") for words in said)


def test_bytes_are_elements_times_the_bytes_of_their_format():
    account = derive(load("deep_linear"), optimizer="adamw")
    said = {step.said: shown(step) for step in steps(account, "memory.optimizer")}
    assert said["w (2 states)"] == "(8 byte)*D*D = 8*D^2 [byte]"
    said = {step.said: shown(step) for step in steps(account, "memory.activations")}
    assert said["x"] == "(2 byte)*B*D = 2*B*D [byte]"


def test_a_quantity_refers_to_those_on_the_same_sheet():
    account = derive(load("gpt"))
    above = ["flops.forward", "flops.forward.matmul", "flops.backward", "flops.model"]
    assert [one.said for one in steps(account, "flops.forward.matmul", above)] == [
        "the same terms as flops.forward, derived there"
    ]
    first = steps(account, "flops.model", above)[0]
    assert first.said == "flops.forward + flops.backward, each as derived for itself"
    assert len(steps(account, "flops.model", above)) < len(steps(account, "flops.model"))


@pytest.mark.few(1)
@pytest.mark.parametrize("name", [*CHOICES, "llama"])
def test_the_same_terms_are_the_same_as_often(name):
    """A quantity refers to another only where both have the same terms, each as often, and so one sum."""
    account = derive(load(name), **CHOICES.get(name, {}))
    names = list(account.names())
    referred = 0
    for place, one in enumerate(names):
        made = steps(account, one, names)
        found = re.fullmatch(r"the same terms as (.+), derived there", made[0].said) if made else None
        if found is not None:
            referred += 1
            assert found[1] in names[:place]
            both = [Counter((t.label, t.expr) for t in account.terms(each)) for each in (one, found[1])]
            assert both[0] == both[1], (one, found[1])
            assert is_zero(account[one].expr - account[found[1]].expr)
    assert referred


def test_weights_and_gradients_are_not_the_weights_alone():
    """Gradients have terms equal to those of the weights: 4N is no 2N."""
    account = derive(load("gpt"))
    made = steps(account, "memory.static", ["memory.parameters", "memory.gradients", "memory.static"])
    assert made[0].said == "memory.parameters + memory.gradients, each as derived for itself"
    assert is_zero(account["memory.static"].expr - 2 * account["memory.parameters"].expr)


def test_ops_that_are_charged_alike_keep_their_own_equations():
    """What each op's gradient contracts is that of the graph's own nodes."""
    account = derive(load("gpt"))
    said = [step.said for step in steps(account, "flops.forward")]
    nodes = {one.label: one.op for one, _ in walk(account.graph.nodes) if isinstance(one, Node)}
    pairs = [pair for words in said for pair in re.findall(r"([\w/.]+) \(([^()]*→[^()]*)\)", words)]
    assert {"attention/core/scores", "attention/core/mix", "ffn/up/matmul", "ffn/down/matmul"} <= {
        a for a, _ in pairs
    }
    for label, equation in pairs:
        op = nodes.get(label) or nodes[f"layers/{label}"]
        assert equation == op.equation.replace("->", "→"), label


def test_a_step_that_is_not_equal_stops_the_sheet(monkeypatch):
    assert proved("2*B*D", 2 * B * D, "BD", "here").text == "2*B*D"
    with pytest.raises(FormulaError, match="not equal to the one before"):
        chained(["2*B*D", "3*B*D"], 2 * B * D, "BD", "here", "FLOP", "en")
    account = derive(load("deep_linear"))
    found = charges(account, "flops.forward")
    wrong = [replace(found[0], times=L + 1)]
    monkeypatch.setattr("symacct.sheet.steps.charges", lambda *_: wrong)
    with pytest.raises(FormulaError) as caught:
        steps(account, "flops.forward")
    assert caught.value.where == "flops.forward"


def test_long_formulas_are_cut_and_what_is_cut_is_said():
    many = total(Integer(place) * symbol(f"n_{place}") for place in range(2, 90))
    (words,) = chained([str(many)], many, [], "here", "FLOP", "en")
    assert words.text == "(88 terms, too long to be shown)"


# ---- examples ----


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["deep_linear", "gpt", "llama", "moe", "mla", "attention"])
def test_example_sizes_satisfy_the_conditions(name):
    account = derive(load(name))
    sizes = of_account(account)
    assert sizes == of_account(derive(load(name)))
    for quantity in account.names():
        assert all(one.holds(sizes) for one in account[quantity].when)
        assert evaluate(account[quantity].expr, sizes) >= 0


def test_no_example_where_nothing_fits():
    from symacct.algebra.condition import Condition

    assert example_sizes(["B"], [Condition("at_least", B, Integer(2))])["B"] >= 2
    assert example_sizes(["B"], [Condition("at_least", Integer(0), B)]) == {}


# ---- claims ----

CLAIMS = """
[[claim]]
name = "leading"
graph = "deep_linear"
claim = "flops.model = 6*N*T"
let = ["N = params", "T = tokens"]
grow = "L"
expect = "leading order"

[[claim]]
name = "wrong"
graph = "deep_linear"
claim = "flops.model = 7*B*D^2*L"
expect = "refuted"

[[claim]]
name = "bound"
graph = "deep_linear"
claim = "flops.model <= 6*B*D^2*L"
expect = "proved"

[[claim]]
name = "crossing"
claim = "2*n <= n + 5 iff n <= 5"
expect = "proved"

[[claim]]
name = "between"
claim = "3*n > 200 iff n > 66"
expect = "proved"

[[claim]]
name = "weights alone"
graph = "deep_linear"
claim = "flops.model ~ 6*B*D^2"
grow = "L"
expect = "refuted"

[[claim]]
name = "drafts"
claim = "(1 - q^3)/(1 - q) = 1 + q + q^2"
assume = ["q >= 2"]
expect = "proved"

[[claim]]
name = "days"
calc = "6 FLOP/(param*token) * P * 15e12 token / (1024 * 989.5 TFLOP/s * 50 %)"
let = ["P = 70e9 param"]
to = "day"
value = "144"
within = "0.1 %"
"""


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    path = tmp_path_factory.mktemp("claims") / "mine.toml"
    path.write_text(CLAIMS, encoding="utf-8")
    return of_claims([read_claim_file(path)], style="full")


@pytest.fixture(scope="module")
def told(judged):
    return {row.name: [(one.said, shown(one)) for one in row.steps] for row in judged.rows if row.steps}


def test_a_leading_order_step_by_step(told):
    said = dict(told["leading"])
    assert said["as stated"] == "flops.model = 6*N*T"
    assert said["with names replaced by what they stand for"] == "flops.model = 6*params*tokens"
    assert said["with what was derived put in"] == "6*B*D^2*L - 2*B*D^2 = 6*B*D^2*L [FLOP]"
    assert said["left less right, multiplied out and collected"].endswith("= -2*B*D^2 [FLOP]")
    assert said["left over right as L -> oo: the limit"] == "1"
    assert said["relative error, (claimed - exact)/exact"] == "1/(3*L - 1)"
    assert said["below 10 % from there on"] == "L >= 4"


def test_what_is_refuted_shows_both_values(told):
    at, values = next(one for one in told["wrong"] if one[0].startswith("it fails at"))
    sizes = {name: int(size) for name, size in re.findall(r"(\w) = (\d+)", at)}
    rows, features, layers = (sizes[name] for name in "BDL")
    exact, claimed = 6 * rows * features**2 * layers - 2 * rows * features**2, 7 * rows * features**2 * layers
    assert values == f"{exact} [FLOP], {claimed} [FLOP]"
    assert exact != claimed


def test_bounds_thresholds_and_calculations(told):
    assert dict(told["bound"])["left less right, multiplied out and collected"].endswith("= -2*B*D^2 [FLOP]")
    assert dict(told["crossing"])["both sides are equal there, solved for n"] == "n = 5"
    days = dict(told["days"])
    assert "(989.5e12 FLOP/second)*0.5" in days["amounts in base units"]
    seconds = Fraction(6 * 70 * 10**9 * 15 * 10**12 * 2, 1024 * 9895 * 10**11)
    assert days["worked out"] == f"({seconds})*(1 second)"
    assert days["in day"] == "143.9 day"


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("left", "right", "bound"),
    [
        ("2*n", "c", "c/2"),
        ("n/C", "c/W", "c*C/W"),
        ("n^3", "c*n^2", "c"),
        ("c*n/(n + c)", "c/2", "c"),
        ("1/n", "c/C", "C/c"),
    ],
)
def test_a_threshold_is_proved_on_either_side(left, right, bound):
    """By a certificate of both directions, whether the difference is linear in the size or not."""
    way = "<" if left == "1/n" else ">"
    found = prove(None, f"{left} > {right} iff n {way} {bound}")
    assert found.outcome == "proved"
    assert found.decision.certificate is not None
    assert found.decision.reason == BOTH_WAYS
    for sizes in product((1, 2, 5, 8), repeat=4):
        given = dict(zip(("n", "c", "C", "W"), map(Fraction, sizes), strict=True))
        one, other, edge = (eval(text.replace("^", "**"), {}, given) for text in (left, right, bound))  # noqa: S307
        assert (one > other) == (given["n"] < edge if way == "<" else given["n"] > edge)


def test_a_difference_that_is_a_number_has_no_coefficients():
    assert prove(None, "4 <= 5").decision.reason == "the difference is a number, with that sign"
    assert prove(None, "5 <= 4").decision.reason == "the difference is a number, without that sign"
    assert "coefficients" in prove(None, "n <= 2*n").decision.reason
    assert prove(None, "2*n <= n").decision.reason == "it fails at a point"


@pytest.mark.few(1)
@pytest.mark.parametrize("relation", ["<", "<=", ">", ">="])
@given(st.fractions(-20, 20, max_denominator=9))
def test_the_first_integer_beyond_a_number(relation, number):
    side, first = steps_claims.first_beyond(relation, Rational(number.numerator, number.denominator))
    test = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}[relation]
    true = [n for n in range(-25, 26) if test(n, number)]
    assert side == relation[0]
    assert first == (max(true) if side == "<" else min(true))


def test_a_threshold_between_integers_is_solved_and_rounded(told):
    said = dict(told["between"])
    assert said["both sides are equal there, solved for n"] == "n = 200/3 ≈ 66.67"
    assert said["above that n the left side is the larger, so that the condition says"] == "n > 200/3 ≈ 66.67"
    assert said["n is an integer, for which that is the same as"] == "n > 66"
    assert not any("is an integer" in words for words, _ in told["crossing"]), "nothing is rounded there"


def test_what_grows_without_bound_has_a_turned_limit(told):
    turned = "right over left as L -> oo: the limit; left over right grows without bound"
    assert dict(told["weights alone"])[turned] == "0"


def test_a_share_of_1_is_shown_at_a_half(told):
    assert dict(told["drafts"])["for example at q = 1/2"] == "1.75, 1.75"


def test_what_is_put_in_must_be_what_the_words_say(monkeypatch, tmp_path):
    """The steps read the claim anew; a quantity that is not the one that was judged stops the sheet."""
    path = tmp_path / "mine.toml"
    path.write_text(CLAIMS, encoding="utf-8")

    def other(account):
        return lambda name: replace(account[name], expr=account[name].expr + 1)

    monkeypatch.setattr(steps_claims, "lookup", other)
    with pytest.raises(FormulaError, match="not what its words say"):
        of_claims([read_claim_file(path)], style="full")
    assert of_claims([read_claim_file(path)], style="card").rows


# ---- Chinese ----


@pytest.mark.long
@pytest.mark.parametrize("name", ["inference", "transformer"])
def test_a_chinese_card_has_the_programs_words_in_chinese(name):
    made = shipped_sheet(name, "zh")
    words = [
        item.text
        for row in made.rows
        for cell in (*row.holds, row.worth)
        for item in cell
        if isinstance(item, Words)
    ]
    shown = " ".join(word(one, "zh") for one in words)
    for text in (
        "prefill",
        "decode",
        "convention",
        "attention",
        "saves",
        "checkpoint",
        "day",
        "token",
        "within",
        "as ",
    ):
        assert not re.search(rf"(?<![a-z.-]){text}(?![a-z.-])", shown), text
    text = text_of(made)
    assert "：" in text
    assert not re.search(r"[一-鿿] ?[;:] ", text), "signs are full width"
    assert "; " not in re.sub(r"(?m)^    .*$", "", text)


# ---- the whole sheet ----


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_full_sheet_has_all_five_parts_in_every_format(lang):
    from symacct.sheet.data import Sheet

    account = derive(load("deep_linear"))
    about, sections = sections_of(account, {}, ["flops", "memory"], lang=lang, style="full")
    sheet = Sheet("t", about, sections, "full", lang)
    assert "B = 16, D = 32, L = 4" in about
    for made in (tex_of(sheet), markdown_of(sheet), html_of(sheet), text_of(sheet)):
        flat = made.replace("\\allowbreak{}", "").replace("\\", "")
        assert ("flops.model，按运算" if lang == "zh" else "flops.model, by op") in flat
        assert SAID["collected"][lang == "zh"].split("，")[0][:6] in flat
        assert "2 FLOP per fma" in re.sub(r"\s+", " ", flat)
        assert "360 kFLOP" in re.sub(r"\s+", " ", flat)
    symbols = sections[0]
    assert [spelled(row.formula[0], "text") for row in symbols.rows] == ["B", "D", "L", "N"]
    assert [row.formula[1].text for row in symbols.rows] == [" [1]"] * 3 + [" [parameter]"]


def test_claims_that_ship_have_steps_in_both_languages():
    file = read_claim_file(find_claim_file("chain"))
    for lang in ("en", "zh"):
        sheet = of_claims([file], lang=lang, style="full")
        judged = [row for row in sheet.rows if row.mark not in {"", "reported", "refused"}]
        assert judged
        assert all(row.steps for row in judged)
        assert "deep" in text_of(sheet)
    assert not any(row.steps for row in of_claims([file]).rows)
