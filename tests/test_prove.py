"""Proving: published claims with their verdicts, what is true instead, refusals, exit statuses, budgets."""

import json
import os
import re
import subprocess
import sys
from itertools import product

import pytest

from symacct.account import derive
from symacct.algebra.evaluate import evaluate
from symacct.algebra.normal import same, total
from symacct.cli import main
from symacct.errors import SizeError, SymacctError
from symacct.proof.prove import prove
from symacct.readers.files import load
from symacct.syntax import read_formula

CHAIN = "flops.model = 6*B*D^2*L"
SCALING = "flops.model ~ 6*N*D where N = params.nonembedding, D = tokens"


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command in process and return its status, output and complaint."""
    monkeypatch.setenv("COLUMNS", "100")

    def call(*words):
        status = main(list(words))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


CHAIN_SAID = """\
convention default (attention full); workload train, precision bf16 (no fp32 copy of the
parameters), saves backward
graph deep_linear: L linear layers of D to D, without biases.
claim: flops.model = 6*B*D^2*L
read: flops.model = 6*B*D^2*L
names: B: rows; D: features; L: layers
read: 6 read as 6 FLOP
flops.model: (6*B*D^2*L - 2*B*D^2) FLOP

REFUTED as written: the two sides differ

what is true instead
as written if: the gradient of the input is formed (--input-grad)
leading order: as L -> oo; as B, D, L -> oo together, in fixed proportion
  leading term 6*B*D^2*L, remainder -2*B*D^2
  relative error (claim - exact)/exact = 1/(3*L - 1)
  at most 10 % from L = 4 on
  at most 1 % from L = 34 on
upper bound: claim is never below exact
difference: claim - exact = (2*B*D^2) FLOP
  exact has -2*B*D^2 from layers/matmul/grad.carry.0 (backward)
smallest counterexample: B = 1, D = 1, L = 1: left 4 FLOP, right 6 FLOP
"""


def test_six_b_d_squared_l_is_a_leading_term(run):
    """The published formula of a chain is its leading term; the text of the verdict is pinned."""
    assert run("prove", "deep_linear", CHAIN) == (1, CHAIN_SAID, "")


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("deep_linear", "flops.model <= 6*B*D^2*L"), 0),
        (("deep_linear", "flops.model ~ 6*B*D^2*L"), 0),
        (("deep_linear", CHAIN, "--input-grad"), 0),
        (("deep_linear", "flops.model < 6*B*D^2*L"), 0),
        (("deep_linear", "flops.model >= 6*B*D^2*L"), 1),
        (("deep_linear", "flops.model = 6*B*D^2*L - 2*B*D^2"), 0),
        (("deep_linear", "--let", "W = 2*B*D^2", "flops.model = 3*L*W - W"), 0),
        (("deep_linear", "flops.model = O(L)", "--grow", "L"), 0),
        (("deep_linear", "flops.model = Theta(L^2)", "--grow", "L"), 1),
        (("gpt", SCALING), 1),
        (("gpt", SCALING, "--grow", "h"), 0),
        (("gpt", SCALING, "--assume", "s << h"), 0),
        (("gpt2", "params = 124439808"), 0),
        (("2*n*k <= n^2 + k^2",), 0),
        (("ceil(n/k)*k >= n",), 0),
        (("max(a, b) <= a + b",), 0),
        (("n = n + 1",), 1),
        (("a^2*b <= c", "--assume", "c = a^2*b"), 0),
        (("n <= 8", "--at", "n=8"), 0),
        (("n*log(n) = O(n^2)",), 0),
        (("2^n >= n",), 3),
        (("1 - ceil(2/k) < min(2 - m, 0)",), 1),
        (("a*n <= b iff n <= b/a",), 0),
        (("a*n <= b iff n < b/a",), 1),
        (("2*n*k/(n + k) <= 5 iff n <= 5*k/(2*k - 5)", "--assume", "k >= 3"), 0),
        (("gpt", "flops.modell = 1"), 2),
        (("gpt", "flops.model = 6*q"), 2),
        (("gpt", "memory.parameters = params"), 2),
        (("gpt", "flops.model"), 2),
        (("gpt",), 2),
        (("gtp", CHAIN), 2),
        (("n = n", "--at", "m=3"), 2),
        (("n = n", "--grow", "m"), 2),
        (("a", "b", "c"), 2),
        (("deep_linear", CHAIN, "--at", "L=2.5"), 2),
    ],
)
def test_exit_statuses(run, words, status):
    """0 proved as written, 1 refuted or weaker, 2 wrong input, 3 undecided."""
    found, said, complaint = run("prove", *words)
    assert found == status
    assert bool(complaint) == (status == 2)
    assert bool(said) == (status != 2)


def test_six_n_d_of_a_transformer_has_its_difference_by_op_and_its_regime(run):
    """6ND leaves out attention and the head, and counts vectors that do no matmul."""
    verdict = prove(derive(load("gpt")), SCALING)
    assert verdict.outcome == "refuted"
    assert verdict.weaker == ("leading order as h -> oo",)
    sums = [total(getattr(one, side) for one in verdict.parts) for side in ("exact", "claimed")]
    assert same(sums[1] - sums[0], verdict.instead.difference)
    assert {one.label for one in verdict.parts if one.exact != 0 and one.phase == "forward"} == {
        "layers/attention/core/scores", "layers/attention/core/mix", "head/logits",
    }  # fmt: skip
    vectors = {one.label for one in verdict.parts if one.claimed != 0}
    assert "layers/ffn/up/bias" in vectors
    assert all(label.endswith(("bias", "weight")) and "matmul" not in label for label in vectors)
    _, said, _ = run("prove", "gpt", SCALING)
    assert "small where 13 << 12*h, s << 6*h, 1 << 6*h*L, V << 12*h*L" in said
    assert "limit: left / right tends to (2*s + 12*h)/(12*h + 13) as L -> oo" in said


def test_what_is_never_small_against_the_leading_term_is_not_said_to_be(run):
    """k*ceil(n/k) is at least n; only where every term goes to 0 one says which."""
    _, said, _ = run("prove", "ceil(n/k)*k >= n")
    assert "small where" not in said
    _, said, _ = run("prove", "n + k >= n")
    assert "leading term n" in said


UNKNOWN = """\
unknown name 'q'
  where     flops.model = 6*q
                            ^
  expected  sizes: B, D, L; quantities: """


UNLIKE = """\
byte and parameter cannot be compared
  where     memory.parameters = params
                                ^
  expected  byte      (as memory.parameters)
  got       parameter      (of params)
  fix       write memory.parameters = params * 2 byte/parameter      \
(the bytes of one parameter: 2 in bf16, 4 in fp32)
"""


def test_refusals_say_where(run):
    """An unknown name lists what there is; a unit error shows the corrected line."""
    _, _, complaint = run("prove", "deep_linear", "flops.model = 6*q")
    assert complaint.startswith(UNKNOWN)
    assert complaint.endswith("fix       bind it: ... where q = FORMULA\n")
    _, _, complaint = run("prove", "deep_linear", "memory.parameters = params")
    assert complaint == UNLIKE


def test_a_graph_alone_and_a_claim_file_with_flags_are_refused(run):
    """What is missing, or has no meaning, is said."""
    assert run("prove", "gpt")[2] == (
        "nothing is claimed of gpt\n  expected  GRAPH CLAIM, CLAIM, or FILE.toml\n  got       gpt\n"
        '  fix       symacct prove gpt "flops.model = ..."\n'
    )
    assert run("prove", "chain", "--at", "B=8")[2] == (
        "--at has no meaning for a file: each of its claims says its own\n"
        "  expected  symacct prove FILE.toml [--format FORMAT]\n  got       --at\n"
    )


@pytest.mark.parametrize("sizes", [{}, {"L": 1}, {"L": 2, "B": 3}])
def test_a_verdict_at_sizes_is_that_of_the_graph_with_these_sizes(sizes):
    """Below the least size of a general formula the exact small case is derived."""
    account = derive(load("deep_linear"))
    verdict = prove(account, CHAIN, sizes=sizes)
    for b, d, layers in product((1, 2), (1, 3), (1, 2, 5)):
        at = {"B": b, "D": d, "L": layers} | sizes
        counted = account.value("flops.model", at)
        free = {name: size for name, size in at.items() if name not in sizes}
        assert evaluate(verdict.left, free) == counted


def test_decoding_takes_the_number_of_keys():
    """One query against T keys: the sizes of decoding are put into its formulas."""
    account = derive(load("gpt"), workload="decode")
    verdict = prove(account, "memory.kv_cache = 4*b*t*h*L", sizes={"t": 1000, "h": 64})
    assert verdict.outcome == "proved"
    with pytest.raises(SymacctError):
        prove(account, "memory.kv_cache = 4*b*t*h*L", sizes={"t": 0})


def test_sizes_that_break_a_condition_are_refused():
    """A verdict is never one about formulas that do not hold."""
    with pytest.raises(SizeError):
        prove(derive(load("gpt")), "flops.model = 1", sizes={"a": 3, "h": 4})


def test_json_has_the_envelope_and_exact_formulas(run):
    """Every formula reads back to what the verdict holds."""
    status, said, _ = run("prove", "deep_linear", CHAIN, "--format", "json")
    found = json.loads(said)
    assert (status, found["schema"], found["command"]) == (1, "symacct/2", "prove")
    assert (found["convention"]["name"], found["policy"]["workload"]) == ("default", "train")
    result = found["result"]
    assert (result["verdict"], result["relation"], result["derived_side"]) == ("refuted", "=", "left")
    point = result["counterexample"]
    assert (point["sizes"], point["smallest"]) == ({"B": 1, "D": 1, "L": 1}, True)
    assert (point["left"]["value"], point["right"]["value"]) == (4, 6)
    names = ["B", "D", "L"]
    left, right = (read_formula(result[side]["expr"], names) for side in ("left", "right"))
    difference = result["correction"]["difference"]
    assert same(read_formula(difference["expr"], names), right - left)
    (term,) = result["terms"]
    assert (term["label"], term["phase"]) == ("layers/matmul/grad.carry.0", "backward")
    assert (term["exact"]["expr"], term["claimed"]["value"]) == ("-2*B*D^2", 0)
    error = result["correction"]["leading"][0]["relative_error"]["expr"]
    assert same(read_formula(error, names), (right - left) / left)
    thresholds = result["correction"]["leading"][0]["thresholds"]
    starts = {one["tolerance"]["exact"]: one["from"]["value"] for one in thresholds}
    assert starts == {"1/100": 34, "1/10": 4}


def test_the_error_is_below_its_bound_exactly_from_the_start_on():
    """34 is the least number of layers from which on 6BD²L is within 1 %."""
    account = derive(load("deep_linear"))
    way = prove(account, CHAIN).instead.leading[0]
    for one in way.thresholds:
        start = int(one.start)
        for layers in range(2, 60):
            error = abs(evaluate(way.error, {"L": layers}))
            assert (error <= one.tolerance) == (layers >= start)


def test_a_derived_side_on_the_right_is_still_the_exact_one(run):
    """Left and right may change places; error and bound are of the claim."""
    account = derive(load("deep_linear"))
    straight, turned = prove(account, CHAIN), prove(account, "6*B*D^2*L = flops.model")
    assert (straight.turned, turned.turned) == (False, True)
    assert turned.instead.bound == straight.instead.bound == "upper"
    assert same(turned.instead.difference, straight.instead.difference)
    assert turned.parts == straight.parts


@pytest.mark.long
def test_output_does_not_depend_on_the_hash_seed():
    """Two processes with other seeds write the same bytes."""
    said = set()
    for seed in ("1", "77"):
        command = [sys.executable, "-m", "symacct", "prove", "gpt", SCALING]
        env = {**os.environ, "COLUMNS": "100", "PYTHONHASHSEED": seed}
        done = subprocess.run(command, capture_output=True, env=env, timeout=120, check=False)
        assert (done.returncode, done.stderr) == (1, b"")
        said.add(done.stdout)
    assert len(said) == 1


def test_quantities_of_another_graph():
    """A claim may name another graph, derived under the same choices; an unknown one names the nearest."""
    relu = derive(load("relu"), workload="forward")
    assert prove(relu, "5*flops.forward.all = flops.forward.all(gelu)").outcome == "proved"
    assert prove(relu, "flops.forward.all = flops.forward.all(gelu)").outcome == "refuted"
    with pytest.raises(SymacctError, match="gellu"):
        prove(relu, "flops.forward.all = flops.forward.all(gellu)")


@pytest.mark.few(1)
@pytest.mark.parametrize("flag", [["--optimizer", "adamw"], ["--input-grad"], ["--attention", "exact"]])
def test_choices_of_a_derivation_need_one(flag, capsys):
    """A flag that would change nothing is refused, for formulas alone and for files."""
    for what in ("2*B = B + B", "chain"):
        assert main(["prove", what]) == 0
        capsys.readouterr()
        assert main(["prove", what, *flag]) == 2
        assert f"{flag[0]} has no meaning" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("claim", "assume", "outcome"),
    [
        ("(n^2-1)/(n-1) = n+1", [], "undecided"),
        ("(n^2-1)/(n-1) = n+1", ["n >= 2"], "proved"),
        ("(n-1)/(n-1) = 1", [], "undecided"),
        ("(n-1)^2/(n-1) >= n - 1", [], "undecided"),
        ("(n-1)*(n-1)^-1 = 1", [], "undecided"),
        ("x*n/n = x", [], "proved"),
        ("(n+1)/(n+1) = 1", [], "proved"),
        ("a/b = 1 where a = n, b = n - 3", [], "undecided"),
    ],
)
def test_nothing_is_proved_where_it_divides_by_zero(claim, assume, outcome):
    """A pole that cancels is a pole all the same; the reason names the divisor and the sizes."""
    verdict = prove(None, claim, assume=assume)
    assert verdict.outcome == outcome
    assert outcome == "proved" or "it divides by n - " in verdict.decision.reason


@pytest.mark.long
def test_minima_thresholds_and_limits_write_certificates(tmp_path, capsys):
    """What is proved of them has one; a minimum that is refuted has none."""
    file = tmp_path / "c.json"
    proved = ("lim_n(n/(n+1)) = 1", "min_k(n/k + k) = 2*sqrt(n)", "a*n <= b iff n <= b/a")
    for claim in proved:
        assert main(["prove", claim, "--certificate", str(file)]) == 0
        assert main(["verify", str(file), "--claim", claim]) == 0
        assert main(["verify", str(file), "--claim", re.sub("(?<![a-z])n(?![a-z])", "m", claim)]) == 1
    file.unlink()
    assert main(["prove", "min_k(L/k + k) = 3*sqrt(L)", "--certificate", str(file)]) == 1
    assert "not written" in capsys.readouterr().out
    assert not file.exists()


@pytest.mark.parametrize(
    "claim",
    [
        "sqrt(-D^2 + 2*D + 1) + 2*D*m = D + 1 + 2*D*m",
        "sqrt(2*D + 1 - D^2) <= D + 1",
        "sqrt(3 - D) + D <= 5*D",
        "sqrt(3 - D) ~ D",
    ],
)
def test_a_root_of_what_falls_below_0_is_not_judged_and_not_refused(claim):
    """It has no value for large sizes, and no leading term."""
    found = prove(None, claim)
    assert found.outcome == "undecided"
    assert re.search("root|no value", found.decision.reason)
