"""`symacct solve`: answers against brute force, each with a check, and refusals beside their neighbours."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from math import ceil

import pytest
from sympy import Max, Min, ceiling
from sympy import floor as floored

from symacct.account import derive
from symacct.algebra.symbols import as_expr, symbol
from symacct.cli import main
from symacct.errors import FormulaError, RuleError, SizeError, SymacctError, UnitError, UnknownNameError
from symacct.planning.best_integer import best_integer
from symacct.planning.best_segment import best_segment
from symacct.planning.real_symbol import real_symbol
from symacct.planning.solve import solve
from symacct.planning.solve_integers import bounds, direction, holds_at, integer_set
from symacct.planning.solve_reading import without_states
from symacct.planning.solve_roots import Root
from symacct.planning.solve_sets import real_set
from symacct.readers.files import load
from symacct.syntax.source import caret

N = symbol("n")
RELATIONS = ("<=", ">=", "<", ">", "=")
INTENSITY = "989.5 TFLOP/s / (3.35 TB/s)"
SIZES = {"a": 12, "L": 12, "V": 50257, "s": 1024}


@pytest.fixture(scope="module")
def linear():
    """The account of a linear layer's forward pass."""
    return derive(load("linear"), workload="forward")


@pytest.fixture(scope="module")
def gpt():
    """The account of gpt with AdamW."""
    return derive(load("gpt"), optimizer="adamw")


@pytest.fixture
def run(capsys):
    """Run the verb; return status, output and errors."""

    def runs(*arguments):
        status = main(["solve", *arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return runs


def about(found):
    """Return the one real value of an answer as a float."""
    (value,) = found.values
    return float(value.close().low) if isinstance(value, Root) else float(value)


# ---- published numbers ----


@pytest.mark.parametrize(
    ("text", "name", "value", "unit"),
    [
        ("12 byte/parameter * N = 640 GB", "N", 53.333e9, "parameter"),
        ("12 byte/parameter * N = 80 GB", "N", 6.6667e9, "parameter"),
        ("18 byte/parameter * N = 640 GB", "N", 35.556e9, "parameter"),
        ("6*N*D = 1e24 FLOP where D = 20 token/parameter * N", "N", 9.1287e10, "parameter"),
        ("6 FLOP/parameter/token * 70e9 parameter * D = 1e24 FLOP", "D", 2.38095e12, "token"),
        ("6 FLOP/parameter/token*N*D/(506.624 PFLOP/s) = T where N = 70B parameter, D = 15T token",
         "T", 12435258.4, "second"),
        ("34*s*b*h = 5*a*s^2*b where b = 1, a = 96, h = 96*128", "s", 870.4, "1"),
        ("x^3 = 2", "x", 2 ** (1 / 3), "1"),
        ("x^5 + x = 3", "x", 1.132997566, "1"),
        ("sqrt(x) + x = 10", "x", 7.298437881, "1"),
        ("12 byte/parameter * N + 2 GB = 640 GB", "N", 53.1667e9, "parameter"),
    ],
)  # fmt: skip
def test_published_numbers_come_out_with_their_unit(text, name, value, unit):
    """The unknown takes the unit that makes both sides agree."""
    found = solve(None, text, name)
    assert about(found) == pytest.approx(value, rel=1e-4)
    assert str(found.asked.unit) == unit
    assert all(check.holds for check in found.checks)


def test_devices_for_a_deadline():
    """70B parameters, 15T tokens, half of the peak, 30 days."""
    text = ("6 FLOP/parameter/token*N*D/(n*mfu*P) <= 30 day where N = 70e9 parameter, D = 15e12 token, "
            "mfu = 0.5, P = 989.5 TFLOP/s/device")  # fmt: skip
    found = solve(None, text, "n", integer=True)
    needed = Fraction(6 * 70 * 10**9 * 15 * 10**12 * 2, 9895 * 10**11 * 30 * 86400)
    assert found.smallest == ceil(needed) == 4913
    assert [(int(one.at), one.holds) for one in found.checks] == [(4912, False), (4913, True)]


def test_devices_as_a_formula():
    """With every size a symbol, the answer is the formula, and it is put in again."""
    found = solve(None, "6*N*D/(n*P) = T", "n")
    assert str(found.formula) == "6*D*N/(P*T)"
    assert [check.said for check in found.checks] == ["both sides are equal"]


@pytest.mark.parametrize(("D", "K", "edge"), [(4096, 4096, 345.15), (4096, 11008, 327.81), (512, 512, None)])
def test_critical_batch(linear, D, K, edge):
    """B > I*D*K/(D*K - I*(D + K)), and none where the product is too small."""
    found = solve(linear, f"intensity.forward > {INTENSITY}", "B", sizes={"D": D, "K": K})
    if edge is None:
        assert found.kind == "none"
        assert "tends to 256, against 295.373" in found.reason
        return
    (span,) = found.spans
    intensity = Fraction(9895, 10) / Fraction(335, 100)
    assert span.low.low == intensity * D * K / (D * K - intensity * (D + K))
    assert round(float(span.low.low), 2) == edge
    assert found.smallest == ceil(edge)


def test_critical_batch_as_a_formula():
    """The condition under which there is one comes with it; otherwise there is none."""
    found = solve(None, "2*B*D*K/(2*(B*D + D*K + B*K)) > I", "B")
    D, K, I = map(symbol, "DKI")
    first, other = found.cases
    at = {D: 4096, K: 11008, I: as_expr(Fraction(9895, 335) * 10)}
    assert first.relation == ">"
    assert float(first.value.subs(at)) == pytest.approx(327.81, abs=0.01)
    (positive,) = first.positive
    assert positive.subs(at) > 0
    assert positive.subs({D: 512, K: 512, I: 295}) < 0
    assert other.relation == "none"


def test_where_attention_passes_a_share(gpt):
    """The products of attention are half of the forward pass from 6h + V/(2L) on."""
    found = solve(gpt, "flops.forward(core) >= 1/2 * flops.forward", "s")
    h, V, L = map(symbol, "hVL")
    assert found.formula == 6 * h + V / (2 * L)
    at = {"a": 12, "L": 12, "V": 50257, "h": 768, "b": 2}
    numbers = solve(gpt, "flops.forward(core) >= 1/2 * flops.forward", "s", sizes=at)
    assert numbers.smallest == ceil(6 * 768 + Fraction(50257, 24))
    assert [check.holds for check in numbers.checks] == [False, True]


def test_width_for_a_memory(gpt):
    """The largest h is a multiple of the heads; the next multiple does not fit."""
    found = solve(gpt, "memory.static <= 80 GB", "h", sizes=SIZES)
    params = gpt["params"].subs(**SIZES).expr
    best = max(h for h in range(12, 9000, 12) if 12 * params.subs(symbol("h"), h) <= 80 * 10**9)
    assert found.largest == best
    assert [(int(one.at), one.holds) for one in found.checks][-2:] == [(best, True), (best + 12, False)]


def test_small_counts_are_derived_by_themselves():
    """A formula that holds from some count on does not speak of those below."""
    account = derive(load("deep_linear"))
    found = solve(account, "flops.model >= 1", "L", sizes={"B": 1, "D": 1})
    assert found.smallest == 1
    assert all(
        account.value("flops.model", {"B": 1, "D": 1, "L": int(one.at)}) == one.left for one in found.checks
    )


# ---- brute force ----


def conditions(seed):
    """Return a random condition in n: polynomials, quotients, maxima, roundings."""
    r = random.Random(seed)

    def poly():
        return sum(r.randint(-9, 9) * N**power for power in range(r.randint(1, 3))) + r.randint(-40, 40)

    shape = seed % 6
    if shape == 0:
        return poly() * N + r.randint(-200, 200)
    if shape == 1:
        return Max(poly(), poly(), r.randint(1, 5) * N) - r.randint(1, 200)
    if shape == 2:
        return (
            as_expr(r.randint(1, 300)) / N + r.randint(1, 4) * ceiling(N / r.randint(2, 7)) - r.randint(1, 60)
        )
    if shape == 3:
        return Min(poly(), r.randint(1, 9) * N) + r.randint(-30, 10)
    if shape == 4:
        return poly() / (N + r.randint(1, 5)) - r.randint(-3, 3)
    return floored(N / r.randint(2, 9)) * r.randint(1, 5) + N - r.randint(1, 99)


@pytest.mark.few(9)
@pytest.mark.parametrize("seed", range(48))
def test_integers_are_those_of_brute_force(seed):
    """Every integer up to 300 is in the answer exactly if the condition holds there."""
    gap = conditions(seed)
    relation = RELATIONS[seed % 5]
    ranges = integer_set(gap, relation, "n")
    for size in range(1, 300):
        inside = any(first <= size and (last is None or size <= last) for first, last in ranges)
        assert inside == holds_at(gap, relation, "n", size), (gap, relation, size)


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(24))
def test_real_sets_are_those_of_sampling(seed):
    """Rational points are in an interval exactly if the condition holds there."""
    gap = conditions(6 * (seed // 4) + (0, 1, 3, 4)[seed % 4])
    relation = RELATIONS[seed % 4]
    spans = real_set(gap, relation, "n")
    for step in range(1, 400):
        at = Fraction(step, 7)
        value = gap.subs(N, as_expr(at)) if step % 7 else gap.subs(N, step // 7)
        holds = {"<=": value <= 0, ">=": value >= 0, "<": value < 0, ">": value > 0}[relation]
        assert any(_inside(span, at) for span in spans) == bool(holds), (gap, relation, at)


def _inside(span, at):
    low = -1 if span.low is None else span.low.compared(at)
    high = 1 if span.high is None else span.high.compared(at)
    return (low < 0 or (low == 0 and span.low_in)) and (high > 0 or (high == 0 and span.high_in))


@pytest.mark.few(8)
@pytest.mark.parametrize("seed", range(20))
def test_bounds_and_directions_hold(seed):
    """What lies below, above, and which way a formula goes, tried at integers."""
    r = random.Random(seed)
    form = (
        r.randint(1, 9) * ceiling(N / r.randint(2, 6)) * N
        + floored(N / r.randint(2, 5))
        + 60 / N * (seed % 2)
    )
    low, high = bounds(form, "n", 1)
    way = direction(form, "n", 1)
    values = [form.subs(N, size) for size in range(1, 40)]
    for size, value in enumerate(values, start=1):
        assert low.subs(N, size) <= value <= high.subs(N, size)
    if way == 1:
        assert values == sorted(values)


@pytest.mark.few(3)
@pytest.mark.parametrize("count", [1, 2, 7, 12, 96, 97, 300])
@pytest.mark.parametrize("text", ["L/k + k", "ceil(L/k) + k", "max(3*k, L/k) + ceil(k/7)", "L*L/k^2 + 5*k"])
def test_best_integers_are_those_of_brute_force(text, count):
    """The best k is the exact integer, all of them where several are."""
    found = solve(None, f"argmin_k({text})", sizes={"L": count})
    form = found.asked.left
    values = {k: form.subs(symbol("k"), k) for k in range(1, 2 * count + 3)}
    least = min(values.values())
    best = [k for first, last in found.ranges for k in range(first, last + 1)]
    assert best == [k for k, value in values.items() if value == least]


def test_best_as_a_formula():
    """A convex formula has its best value at a root."""
    assert solve(None, "argmin_k(L*c/k + s*k)").formula == (
        symbol("L") * symbol("c") / symbol("s")
    ) ** as_expr(Fraction(1, 2))
    assert solve(None, "argmax_k(100*k - k^2)").ranges == ((50, 50),)
    with pytest.raises(RuleError, match="no best k"):
        solve(None, "argmin_k(1/k)")


SYMBOLIC = (
    "a*x + b {} c", "a*x {} b*x + c", "c - a*x {} b", "a*x^2 {} b*c", "a*x^2 + b*x {} c", "a/x + b {} c",
    "a*b*x/(a*b + a*x + b*x) {} c", "x*(a - b) {} c", "x*(a - b) + c {} 0", "a*x/(x + b) {} c",
    "max(a*x, b*x) {} c", "a*sqrt(x) {} b", "a*x^3 {} b - c", "c - a*x^2 {} b*x",
    "x^2*(a - b) + c {} 0", "min(x/a, x/b) {} c", "max(a*x + b, b*x + 2) {} c",
    "min(a*x - b, x) {} c",
)  # fmt: skip


@pytest.mark.few(3)
@pytest.mark.parametrize("text", SYMBOLIC)
@pytest.mark.parametrize("relation", RELATIONS[:4])
def test_formulas_are_right_at_sizes(text, relation):
    """At sizes and values of the unknown, the formula says what the condition does."""
    r = random.Random(text + relation)
    try:
        found = solve(None, text.format(relation), "x")
    except RuleError:
        assert "max" in text or "min" in text
        return
    for _ in range(60):
        at = {symbol(name): r.choice([1, 2, 3, 5, 8, 20]) for name in "abc"}
        x = as_expr(Fraction(r.randint(1, 60), r.choice([1, 2, 4, 7])))
        if found.asked.gap.subs(at).subs(real_symbol("x"), x) == 0:
            continue
        holds = _compares(found.asked.gap.subs(at).subs(real_symbol("x"), x), relation)
        if found.kind in ("none", "every"):
            assert holds == (found.kind == "every")
            continue
        case = next(one for one in found.cases if all(p.subs(at) > 0 for p in one.positive))
        says = (
            case.relation == "every"
            if case.value is None
            else _compares(x - case.value.subs(at), case.relation)
        )
        assert says == holds, (at, x, case)


def _compares(gap, relation):
    return bool({"<=": gap <= 0, ">=": gap >= 0, "<": gap < 0, ">": gap > 0}[relation])


# ---- none, every, refusals ----


@pytest.mark.parametrize(
    ("text", "options", "kind", "reason"),
    [
        ("x + 5 <= 3", {}, "none", "above the right one for every x"),
        ("x + 5 <= 3", {"integer": True}, "none", "at x = 1 the left side is already above"),
        ("x^2 = 10", {"integer": True}, "none", "equal between 3 and 4"),
        ("x - x + 2 <= 1", {}, "none", "does not depend on x"),
        ("x - x + 2 >= 1", {}, "every", "does not depend on x"),
        ("x + 5 >= 3", {}, "every", "for every x above 0"),
        ("x/(x + 1) >= 2", {"integer": True}, "none", "tends to 1, against 2"),
        ("a*x <= -b", {}, "none", "whatever a, b are"),
    ],
)
def test_none_and_every_have_their_reason(text, options, kind, reason):
    """An answer that is no number says why."""
    found = solve(None, text, "x", **options)
    assert found.kind == kind
    assert reason in found.reason


@pytest.mark.parametrize(
    ("text", "name", "options", "error", "said"),
    [
        (
            "12 byte/parameter * N = 640 GFLOP",
            "N",
            {},
            UnitError,
            "byte/parameter and FLOP cannot be compared",
        ),
        ("12 byte + N = 640 GFLOP", "N", {}, UnitError, "cannot be"),
        ("2*x ~ 3", "x", {}, FormulaError, "a condition compares"),
        ("2*x = 3", "y", {}, UnknownNameError, "unknown name 'y'"),
        ("2*x = 3 where x = 2", "x", {}, FormulaError, "is the unknown, and is bound"),
        ("2*x = 3", "x", {"sizes": {"x": 2}}, SizeError, "is the unknown, and is given"),
        ("a*x^3 + b*x + c = 0", "x", {}, RuleError, "no formula solves it for x"),
        ("log(x) + x = 3", "x", {}, RuleError, "no quotient of polynomials and roots"),
        ("x^30 * (x + 1)^30 = 7", "x", {}, RuleError, "degree 60"),
        ("argmin_k(L/k", "k", {}, FormulaError, "stands in brackets"),
        ("argmin_k(L/k)", "j", {}, FormulaError, "k varies, and j is asked for"),
    ],
)
def test_refusals(text, name, options, error, said):
    """What cannot be solved says what it is."""
    with pytest.raises(error, match=said.replace("(", r"\(")) as caught:
        solve(None, text, name, **options)
    assert isinstance(caught.value, SymacctError)


@pytest.mark.parametrize(
    ("name", "sizes", "said"),
    [("d", {}, "d stands for"), ("t", {}, "t is the unknown, and is s"), ("q", {}, "unknown name 'q'"),
     ("h", {"h": 12}, "h is the unknown, and is 12")],
)  # fmt: skip
def test_refusals_of_a_graph(gpt, name, sizes, said):
    """A name that is bound, or stands for others, cannot be solved for."""
    with pytest.raises(SymacctError, match=said):
        solve(gpt, "memory.static <= 80 GB", name, sizes=sizes)


def test_what_is_rounded_is_an_integer():
    """ceil(x) is not x: the answer is one over integers, and says so."""
    found = solve(None, "ceil(x)*floor(x) <= 20", "x")
    assert found.ranges == ((1, 4),)
    assert "x is rounded, so an integer" in found.notes
    assert solve(None, "x*x <= 20", "x").kind == "numbers"


# ---- the face ----


def test_command_line(run):
    """The answer, the machine's figures with their source, and the check."""
    status, out, _ = run("12 byte/parameter * N = 640 GB", "--for", "N")
    assert status == 0
    assert "solution: N = 53.3333e9 parameter (exactly 160000000000/3)" in out
    assert "both sides are equal" in " ".join(out.split())
    asked = ("linear", "--given", "intensity.forward > peak/bandwidth", "--for", "B")
    status, out, _ = run(*asked, "--workload", "forward", "--on", "h100-sxm", "--at", "D=4096,K=4096")
    assert status == 0
    assert "real numbers: B > 345.153" in out
    assert "smallest: 346" in out
    assert "machine: bandwidth = 3.35 TB/s" in out


def test_json_holds_the_check(run):
    """Numbers are exact."""
    asked = ("gpt", "--given", "memory.static <= 80 GB", "--for", "h")
    status, out, _ = run(*asked, "--at", "a=12,L=12,V=50257,s=1024", "--format", "json")
    result = json.loads(out)["result"]
    assert status == 0
    assert result["largest"] == 11604
    assert [(one["at"]["value"], one["holds"]) for one in result["checks"]] == [
        (12, True),
        (11604, True),
        (11616, False),
    ]
    assert result["intervals"][0]["high"]["exact"] is not None
    assert run("x + 5 <= 3", "--for", "x", "--format", "json")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("gpt", "--for", "h"), "there is no condition"),
        (("x = 3",), "nothing is asked for"),
        (("x = 3", "--for", "x", "--optimizer", "adamw"), "has no meaning here"),
        (("linear", "--given", "bytes.forward <= capacity", "--for", "B", "--on", "h1000"), "h1000"),
        (("x = $(touch /tmp/no)", "--for", "x"), "x"),
    ],
)
def test_command_line_refuses(run, arguments, said):
    """Wrong input is status 2 with its error."""
    status, _, error = run(*arguments)
    assert status == 2
    assert said in error


# ---- quantities under other choices, the best segment, what is said beside an answer ----


def test_quantities_of_other_choices_are_read_as_a_claim_reads_them():
    """Checkpoints save nothing up to B = D: memory.peak(checkpoint=none) is another account's."""
    account = derive(load("mlp"), checkpoint="every:k", optimizer="adamw")
    sizes = {"D": 16, "L": 36, "k": 3}
    found = solve(account, "memory.peak >= memory.peak(checkpoint=none)", "B", sizes=sizes)
    plain = derive(load("mlp"), optimizer="adamw")
    holds = [
        account.value("memory.peak", {**sizes, "B": B})
        >= plain.value("memory.peak", {"D": 16, "L": 36, "B": B})
        for B in (1, found.largest, found.largest + 1, 10 * found.largest)
    ]
    assert holds == [True, True, False, False]
    region = solve(derive(load("gpt")), "flops.forward(core) >= 1/2 * flops.forward", "s")
    assert region.formula is not None


def test_a_symbol_of_another_choice_is_the_unknown():
    """The q of checkpoint=every:q: which lengths keep the peak below a bound."""
    account = derive(load("mlp"), sizes={"B": 64, "D": 16, "L": 12})
    found = solve(account, "memory.peak(checkpoint=every:q) <= 26000 byte", "q")
    other = derive(load("mlp"), sizes={"B": 64, "D": 16, "L": 12}, checkpoint="every:q")
    wanted = [q for q in (1, 2, 3, 4, 6, 12) if other.bind({"q": q}).value("memory.peak", {}) <= 26000]
    assert wanted
    ours = [q for q in (1, 2, 3, 4, 6, 12) if any(a <= q <= (b or q) for a, b in found.ranges)]
    assert ours == wanted


@pytest.mark.long
def test_no_length_matters_is_an_answer(run):
    """Where k is not in the formula every k is as good: an answer, checked by every k's own derivation."""
    line = ("mlp", "--checkpoint", "every:k", "--optimizer", "adamw", "--at", "B=8,D=16,L=36")
    status, out, _ = run(*line, "--given", "argmin_k(memory.peak)")
    assert (status, "EVERY k: k is not in the formula" in out) == (0, True)
    account = derive(load("mlp"), checkpoint="every:k", optimizer="adamw", sizes={"B": 8, "D": 16, "L": 36})
    found = solve(account, "argmin_k(memory.peak)")
    assert (found.kind, found.smallest, found.largest) == ("every", 1, None)
    assert set(found.whole.peaks) == {111_108}


@pytest.mark.long
def test_the_best_segment_comes_with_its_regions(run):
    """With sizes open the cases of the search for it, at sizes the best integer; brackets may be left out."""
    account = derive(load("mlp"), checkpoint="every:k", optimizer="adamw")
    found = solve(account, "argmin_k memory.peak")
    assert found.segment == best_segment(account)
    assert len(found.segment.cases) == 4
    assert found.formula is None
    one = solve(account, "argmin_k(memory.activations.peak)")
    assert (str(one.formula), str(one.segment.cases[0].k), one.whole) == ("sqrt(L)", "sqrt(L)", None)
    sizes = {"B": 800, "D": 16, "L": 36}
    bound = solve(account, "argmin_k memory.peak", sizes=sizes)
    assert bound.whole == best_integer(account.bind(sizes))
    assert bound.smallest == bound.whole.divisor[0] == 6
    status, out, _ = run("mlp", "argmin_k memory.peak", "--checkpoint", "every:k", "--format", "json")
    made = json.loads(out)["result"]
    assert (status, made["condition"], len(made["segment"]["cases"])) == (0, "argmin_k memory.peak", 4)


def test_memory_without_states_says_so(run):
    """The first line says that there is no optimizer where its states could be meant."""
    line = ("gpt", "memory.peak <= 80 GB", "--for", "b", "--at", "a=12,L=12,V=50257,s=1024,h=768")
    status, out, _ = run(*line)
    assert status == 0
    assert "optimizer none" in out.split("graph gpt")[0]
    assert "note: no optimizer" in out
    assert "no optimizer" not in run(*line, "--optimizer", "adamw")[1]
    other = ("gpt", "flops.forward <= 80 GFLOP", *line[2:])
    assert "optimizer none" not in run(*other)[1]
    named = without_states(derive(load("gpt")), ["memory.peak(optimizer=adamw) <= 80 GB"])
    assert not named


def test_a_bare_number_of_bytes_is_noticed(run):
    """80 is 80 byte, which is said with what was likely meant; large numbers are bytes."""
    line = ("--for", "b", "--at", "a=12,L=12,V=50257,s=1024,h=768", "--optimizer", "adamw")
    assert "80 read as 80 byte: write 80 GB" in run("gpt", "memory.peak <= 80", *line)[1]
    assert "write" not in run("gpt", "memory.peak <= 80000000000", *line)[1]
    assert "write" not in run("gpt", "memory.peak <= 80 GB", *line)[1]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("argmin_k(memory.pek)", "memory.pek"),
        ("argmin_k memory.pek", "memory.pek"),
        ("argmin_k(2*memory.pek + k)", "memory.pek"),
        (
            "argmin_k(k + L/k + L/k + L/k + L/k + L/k + L/k + L/k + L/k + L/k + L/k + memory.pek)",
            "memory.pek",
        ),
    ],
)
def test_errors_show_what_was_written(text, wrong):
    """Not the equation that it was read as; the caret stands under what is wrong."""
    account = derive(load("mlp"), checkpoint="every:k")
    with pytest.raises(UnknownNameError) as caught:
        solve(account, text)
    assert caught.value.where == caret(text, text.index(wrong))


def test_a_name_that_is_not_in_a_formula():
    """The text as it was written, with brackets."""
    with pytest.raises(UnknownNameError) as caught:
        solve(None, "argmin_k(L)")
    assert caught.value.where == "--for k: it is not in argmin_k(L)"


def test_one_condition_is_asked(run):
    """Beside the graph, or after --given."""
    status, _, err = run("gpt", "memory.static <= 80 GB", "--given", "params <= 4", "--for", "h")
    assert (status, "one condition is solved" in err) == (2, True)
