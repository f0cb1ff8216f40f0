"""What is transient at the peak, as formulas: against every moment of a step, at integer sizes."""

from fractions import Fraction
from itertools import product

import pytest
from random_graphs import random_graph

from symacct.account import derive
from symacct.algebra.evaluate import evaluate
from symacct.algebra.symbols import symbol
from symacct.algebra.winner import AtLargest
from symacct.cli.main import main
from symacct.errors import RuleError
from symacct.peaks.timeline import at_sizes, deaths, sizes_at
from symacct.printers import latex, mathml, text
from symacct.proof.lookup import lookup
from symacct.readers.files import load

POLICIES = ("none", "every:2", "sqrt", "store-nothing", "every:k")


def by_moments(account, sizes):
    """Look at every moment at which most is alive; return the least that is in no category then."""
    schedule = at_sizes(account.graph, account.running, sizes)
    size, ends = sizes_at(account.graph, account.policy, sizes), deaths(schedule)
    alive, moments = [], [(Fraction(0), Fraction(0))]
    for at, action in enumerate(schedule.actions):
        alive += action.makes
        whole = sum(map(size, alive))
        held = sum(size(one) for one in alive if one.saved or one.kind == "parameter gradient")
        moments.append((whole, whole - held))
        alive = [one for one in alive if one not in ends.get(at, ())]
    most = max(whole for whole, _ in moments)
    return min(rest for whole, rest in moments if whole == most)


def compared(account, points):
    """Compare the formula with the moments at points; return how many it holds at."""
    quantity, seen = account["memory.transient"], 0
    for sizes in points:
        if all(one.holds(sizes) for one in quantity.when):
            assert evaluate(quantity.expr, sizes) == by_moments(account, sizes), sizes
            seen += 1
    return seen


def grid(**ranges):
    return [dict(zip(ranges, point, strict=True)) for point in product(*ranges.values())]


@pytest.mark.few(2)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", ["mlp", "deep_linear"])
def test_the_formulas_are_exact(name, policy):
    """Also where two formulas are the peak (B = D, D = 2 B), which is where they change."""
    account = derive(load(name), precision="fp32", checkpoint=policy)
    ranges = {"B": (1, 2, 3, 4, 6), "D": (1, 2, 4, 6), "L": (4, 6, 9)}
    assert compared(account, grid(**ranges, **({"k": (2, 3)} if policy == "every:k" else {}))) >= 20


@pytest.mark.parametrize(
    "choices",
    [{"grads": "kept"}, {"update": "fused"}, {"hold_output": True}, {"accumulate": 3}, {"loss": "none"}],
)
def test_choices_of_a_run(choices):
    """What is kept, and until when, is another thing under each."""
    account = derive(load("mlp"), precision="fp32", **choices)
    assert compared(account, grid(B=(1, 2, 4), D=(1, 2, 4), L=(3, 5))) >= 9


@pytest.mark.parametrize("name", ["two_layer", "swiglu", "attention"])
def test_graphs_without_a_repeat(name):
    """Several sizes, several formulas."""
    account = derive(load(name), precision="fp32")
    names = list(account.graph.order)
    points = [dict.fromkeys(names, 4), *({**dict.fromkeys(names, 2), n: 12} for n in names)]
    assert compared(account, points) >= 1


@pytest.mark.parametrize("seed", range(10))
def test_random_graphs(seed):
    """At their sizes, and the same with these bound first."""
    drawn = random_graph(seed)
    account = derive(drawn.graph.bind(drawn.sizes), precision="fp32")
    assert compared(account, [{}]) == 1


def test_the_least_counts_where_several_are_largest():
    """Of equal formulas the smaller one; numbers and equal formulas are one."""
    B, D = symbol("B"), symbol("D")
    one = AtLargest(2 * B, 5, B + D, 3, 2 * D, 4)
    assert [evaluate(one, {"B": B, "D": D}) for B, D in ((3, 1), (2, 2), (1, 3))] == [5, 3, 4]
    assert one.subs({B: 2, D: 2}) == 3
    assert AtLargest(B, D, 2 * B, D) == D


def test_how_it_is_printed():
    """Each formula with where it holds, in every notation."""
    B, D = symbol("B"), symbol("D")
    one = AtLargest(2 * B, B, B + D, 3)
    assert text(one) == "at_largest(B where 2*B; 3 where B + D)"
    assert latex(one) == (
        r"\begin{cases} B & \text{where } 2 B \text{ is the largest} \\"
        r" 3 & \text{where } B + D \text{ is the largest} \end{cases}"
    )
    assert mathml(one).count("<mtr>") == 2


def test_a_claim_needs_one_formula():
    """Where it is another formula in each region a claim is refused; at sizes it is a number."""
    account = derive(load("mlp"), precision="fp32")
    with pytest.raises(RuleError, match="another formula") as caught:
        lookup(account)("memory.transient")
    assert "--at" in str(caught.value)
    bound = account.bind({"B": 2, "D": 3, "L": 4})
    assert lookup(bound)("memory.transient").expr == by_moments(bound, {})


def test_formulas_go_with_those_of_the_peak():
    """The largest of the formulas is the peak, and each is what is transient and what is not."""
    account = derive(load("mlp"), precision="fp32")
    wholes = {whole for whole, _ in account.transients()}
    assert set(account.candidates()) <= wholes
    assert "memory.transient" in account


def test_the_page_shows_each_with_its_region(capsys):
    """With every formula; and from which counts on, where that is not where those of the peak begin."""
    assert main(["memory", "mlp", "--precision", "fp32", "--all"]) == 0
    out = capsys.readouterr().out
    assert "  8*B*D + 8 where D >= B, 2*B >= D\n  4*B*D + 8 where D >= 2*B\n  for L >= 3\n" in out
    assert main(["memory", "mlp", "--precision", "fp32"]) == 0
    assert "transient" not in capsys.readouterr().out
