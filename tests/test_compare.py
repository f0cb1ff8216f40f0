"""Comparing: differences against values at points, crossings, what dominates, and refusals."""

import json
from itertools import product

import pytest

from symacct.account import derive
from symacct.algebra.evaluate import evaluate, names_of
from symacct.algebra.normal import same, total
from symacct.cli import main
from symacct.proof.compare import compare_accounts, compare_formulas
from symacct.readers.files import load
from symacct.syntax import read_formula


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command in process and return its status, output and complaint."""
    monkeypatch.setenv("COLUMNS", "100")

    def call(*words):
        status = main(list(words))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


PAIRS = [
    ("2*n*k", "n^2 + k^2", "B or equal"),
    ("n^2 + k^2", "2*n*k", "A or equal"),
    ("6*n*k", "2*n*k + 4*k", "A or equal"),
    ("n*(k + 5) - 20", "2*n*k", "either"),
    ("n + 1", "n", "A"),
    ("n*(k + 1)", "n*k + n", "equal"),
    ("4 byte/parameter * 3 parameter", "12 byte", "equal"),
]


@pytest.mark.parametrize(("first", "second", "larger"), PAIRS)
def test_which_is_the_larger_agrees_with_values(first, second, larger):
    """What is said for all sizes holds at every small point, and the witnesses are as they say."""
    found = compare_formulas(first, second)
    assert found.larger == larger
    names = sorted({*names_of(found.left), *names_of(found.right)})
    allowed = {
        "A": {1},
        "B": {-1},
        "equal": {0},
        "A or equal": {0, 1},
        "B or equal": {0, -1},
        "either": {0, 1, -1},
    }
    for sizes in product(range(1, 9), repeat=len(names)):
        at = dict(zip(names, sizes, strict=True))
        gap = evaluate(found.left, at) - evaluate(found.right, at)
        assert int(bool(gap > 0)) - int(bool(gap < 0)) in allowed[larger]
    for point, sign in ((found.a_larger, 1), (found.b_larger, -1)):
        assert point is None or (point.left - point.right) * sign > 0


@pytest.mark.parametrize(("first", "second", "larger"), PAIRS)
def test_at_a_crossing_both_are_equal(first, second, larger):
    """Putting the value of a crossing in makes the difference 0; just above it the sign is as it says."""
    found = compare_formulas(first, second)
    for one in found.crossings:
        others = [name for name in names_of(found.difference) if name != one.name]
        for sizes in product((2, 3, 11), repeat=len(others)):
            at = dict(zip(others, sizes, strict=True))
            where = evaluate(one.value, at)
            here = found.difference.subs({s: at.get(s.name, where) for s in found.difference.free_symbols})
            assert here == 0
            above = found.difference.subs(
                {s: at.get(s.name, where + 1) for s in found.difference.free_symbols}
            )
            assert one.above is None or (above > 0) == one.above


def test_two_conventions_differ_by_op():
    """The ops that differ add up to the difference; strict leaves out one addition for each sum."""
    graph = load("gpt")
    found = compare_accounts(derive(graph), derive(graph, convention="strict"))
    assert found.larger == "A"
    assert same(total(one.left - one.right for one in found.parts), found.difference)
    assert "layers/attention/q/matmul" in {one.label for one in found.parts}


def test_full_and_exact_attention_cross_at_one_token(run):
    """A causal mask allows all pairs of one token, and half of them in the limit."""
    status, said, _ = run("compare", "gpt", "--attention", "full,exact", "--quantity", "flops.forward")
    assert status == 0
    assert "A is never below B" in said
    assert "equal at: s = 1; above it A is the larger" in said
    assert "tends to 2 as s -> oo" in said


def test_two_checkpoint_policies(run):
    """Segments against keeping everything, with the policy's symbol and a size for it."""
    words = ("compare", "mlp", "--checkpoint", "none,every:k", "--quantity", "flops.hardware")
    status, out, _ = run(*words)
    assert status == 0
    assert "difference: A - B = (-2*B*D^2*L) FLOP" in out
    status, out, _ = run(*words, "--at", "k=2,L=8")
    assert status == 0
    assert "difference: A - B = (-16*B*D^2) FLOP" in out
    assert "checkpoint every:2" in out


def test_other_choices_of_a_policy(run):
    """Four micro-batches are four times one; one value of a flag, commas included, stands for both."""
    status, out, _ = run("compare", "gpt", "--accumulate", "1,4")
    assert status == 0
    assert "ratio: A / B = 1/4" in out
    held = (
        "--grads",
        "fresh,kept",
        "--update",
        "separate",
        "--hold-output",
        "--lora",
        "r=4,on=attention/q,attention/v",
    )
    status, out, _ = run("compare", "gpt", "gpt", *held, "--quantity", "params")
    assert status == 0
    assert "lora" in out


def test_two_graphs(run):
    """A chain of linear layers and a multilayer perceptron without bias cost the same matmuls."""
    status, said, _ = run("compare", "deep_linear", "mlp", "--at", "B=4")
    assert (status, said.splitlines()[-1]) == (0, "A and B are equal, for all sizes")


def test_json_is_exact(run):
    """The envelope, and formulas that read back."""
    status, said, _ = run("compare", "gpt", "--convention", "default,strict", "--format", "json")
    found = json.loads(said)
    assert (status, found["schema"], found["command"]) == (0, "symacct/2", "compare")
    assert found["input"]["inputs"]["b"]["convention"]["name"] == "strict"
    names = [*load("gpt").order]
    a, b, gap = (read_formula(found["result"][key]["expr"], names) for key in ("a", "b", "difference"))
    assert same(a - b, gap)
    terms = found["result"]["terms"]
    pairs = ([read_formula(term[side]["expr"], names) for side in ("a", "b")] for term in terms)
    assert same(total(left - right for left, right in pairs), gap)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gpt",), "there is nothing to compare with\n"),
        (("gpt", "llama", "mlp"), "too many words\n"),
        (("gpt", "lama"), "unknown graph or model 'lama'\n"),
        (("gpt", "llama", "--quantity", "flop"), "unknown quantity 'flop'\n"),
        (("gpt", "llama", "--quantity", "memory.peak"), "memory.peak is not compared: it is the largest"),
        (("gpt", "--convention", "default,strict,palm"), "--convention has 3 values\n"),
        (("gpt", "--convention", "default,strickt"), "unknown convention 'strickt'\n"),
        (("gpt", "llama", "--at", "Z=3"), "unknown size 'Z'\n"),
        (("n", "k + 1 byte"), "the unit"),
        (("n", "k", "--at", "n=3"), "--at is for graphs\n"),
        (("gpt", "llama", "--let", "N = 3"), "--let is for formulas\n"),
    ],
)
def test_refusals(run, words, said):
    """Each says what is wrong; the status is 2."""
    status, out, complaint = run("compare", *words)
    assert (status, out) == (2, "")
    assert complaint.startswith(said) or said in complaint or "cannot be" in complaint
