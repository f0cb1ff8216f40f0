"""What stands in the brackets of a quantity: a region, a graph, choices; what is put in before sizes are."""

from __future__ import annotations

import pytest

from symacct import derive, load, prove
from symacct.algebra.normal import total
from symacct.cli.main import main
from symacct.errors import RuleError, SymacctError, UnknownNameError, UsageError
from symacct.proof.lookup import lookup, names_under, place
from symacct.readers.files import list_graphs

GRAPHS = ("gpt", "llama", "attention", "mlp", "moe", "deep_linear")
QUANTITIES = ("flops.forward", "flops.model", "params", "memory.activations", "bytes.forward")


@pytest.mark.few(8)
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_the_regions_of_a_graph_add_up_to_the_whole(name, quantity):
    """Labels that are no parts of one another share the terms of a quantity out, each to one region."""
    account = derive(load(name))
    find = lookup(account)
    terms = account.terms(quantity)
    firsts = dict.fromkeys(term.label.split("/")[0] for term in terms)
    shares = [total(t.expr for t in terms if t.label.split("/")[0] == first) for first in firsts]
    assert total(shares) - account[quantity].expr == 0
    for label in dict.fromkeys(term.label for term in terms):
        own = total(t.expr for t in terms if f"/{label}/" in f"/{t.label}/")
        found = find(f"{quantity}(region={label})")
        assert found.expr - own == 0
        assert found.unit == account[quantity].unit


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("graph", "claim", "outcome"),
    [
        ("attention", "flops.forward(core) <= flops.forward", "proved"),
        ("attention", "flops.forward(region=core) = 4*B*H*K*S^2", "proved"),
        ("attention", "flops.forward(region=core) = 4*B*H*K*S^2 + 1", "refuted"),
        ("gpt", "params(region=ffn) = 8*L*h^2 + 5*L*h", "proved"),
        ("gpt", "flops.forward(region=embedding) = 0", "proved"),
        ("gpt", "flops.forward(region=attention/core) = flops.forward(region=core)", "proved"),
        ("relu", "flops.forward.all(graph=gelu) = 5*flops.forward.all", "proved"),
        ("relu", "flops.forward.all(gelu) = 5*flops.forward.all(relu)", "refused"),
        ("mlp", "params(graph=gpt, region=ffn) <= params(graph=gpt)", "proved"),
        ("deep_linear", "memory.activations(checkpoint=none, region=layers) <= memory.activations", "proved"),
    ],
)
def test_a_claim_names_regions_and_graphs(graph, claim, outcome):
    """By keyword, or by a word alone that is one of both."""
    if outcome == "refused":
        with pytest.raises(UsageError, match="is a region of"):
            prove(load(graph), claim)
    else:
        assert prove(load(graph), claim).outcome == outcome


def test_a_word_that_is_a_region_and_a_graph_is_refused_with_both_readings():
    """For what adds up over ops; a time has no regions, so that the word is the graph."""
    account = derive(load("gpt"))
    with pytest.raises(UsageError) as caught:
        place(account, "flops.forward(attention)")
    assert caught.value.expected == "flops.forward(region=attention) or flops.forward(graph=attention)"
    assert place(account, "flops.forward(region=attention)").account is account
    assert place(account, "flops.forward(graph=attention)").account.graph.name == "attention"
    assert place(account, "time.forward(attention)").account.graph.name == "attention"


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("flops.forward(regon=core)", UnknownNameError, "did you mean 'region'"),
        ("flops.forward(region=cor)", UnknownNameError, "did you mean 'core'"),
        ("flops.forward(cores)", UnknownNameError, "unknown region or graph"),
        ("flops.forward(graph=gtp)", UnknownNameError, "did you mean 'gpt'"),
        ("flops.forward(axis=h)", UsageError, "kept for later"),
        ("flops.forward(region=core, region=ffn)", UsageError, "made once"),
        ("flops.forward(region=)", UsageError, "made once"),
        ("memory.peak(region=core)", RuleError, "does not add up"),
        ("intensity.forward(region=core)", RuleError, "does not add up"),
        ("tokens(region=core)", RuleError, "does not add up"),
        ("time.forward(region=core)", RuleError, "does not add up"),
    ],
)
def test_what_is_no_place_is_refused(name, kind, words):
    """Unknown keywords, regions and graphs; the valid neighbours stand above."""
    with pytest.raises(kind) as caught:
        lookup(derive(load("gpt")))(name)
    assert words in str(caught.value)


def test_keywords_bring_no_names():
    """The symbols of a policy are names in a claim; a region and a graph are none."""
    policy = derive(load("gpt")).policy
    assert names_under("memory.activations(region=core, checkpoint=every:q) <= params", policy) == ["q"]
    assert names_under("params(graph=mlp) = 1", policy) == []


def test_every_shipped_graph_is_named_alone():
    """A word alone that is a graph, and no region, is that graph."""
    account = derive(load("dot"))
    for entry in list_graphs():
        if entry.name == "dot":
            continue
        assert place(account, f"params({entry.name})").account.graph.name == entry.name


def told(run, *words):
    status = main(list(words))
    shown = run.readouterr()
    return status, " ".join((shown.out + shown.err).split())


@pytest.mark.parametrize("factor", [1, 2, 3])
@pytest.mark.parametrize("width", [1, 4, 7])
def test_compare_puts_in_what_is_assumed_before_the_sizes(capsys, factor, width):
    """As one count of layers and as one size: both orders of thought come to one number."""
    layers = factor * width
    status, said = told(
        capsys, "compare", "mlp", "linear", "--assume", f"L = {factor}*D", "--at", f"D={width},K=5,B=1",
        "--quantity", "params",
    )  # fmt: skip
    assert status == 0
    assert f"A: {layers * width**2} parameter" in said
    assert f"B: {5 * width} parameter" in said
    at = f"D={width},K=5,B=1,L={layers}"
    direct = told(capsys, "compare", "mlp", "linear", "--at", at, "--quantity", "params")[1]
    assert direct.partition(" B: 5")[2].partition("B: ")[2] in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--assume", "L=3*K", "--at", "D=4,K=5,B=1"), "A: 240 parameter"),
        (("--assume", "L=3*D", "--at", "D=4,K=48,B=1,L=12"), "equal"),
    ],
)
def test_sizes_of_both_graphs_meet_in_an_assumption(capsys, words, said):
    """A size of B stands for one of A; a size that has its value anyway may be given."""
    status, shown = told(capsys, "compare", "mlp", "linear", "--quantity", "params", *words)
    assert status == 0
    assert said in shown


@pytest.mark.parametrize(
    "words",
    [("--assume", "B >= 8", "--at", "B=1"), ("--assume", "2 | D", "--at", "D=3"),
     ("--assume", "L=3*D", "--at", "D=4,L=13"), ("--assume", "D <= 3", "--at", "D=4")],
)  # fmt: skip
def test_an_assumption_that_fails_at_the_sizes_is_refused(capsys, words):
    """Nothing that is assumed is dropped."""
    status, said = told(capsys, "compare", "mlp", "linear", "--quantity", "params", *words)
    assert status == 2
    assert "fails" in said or "bound already" in said


def test_compare_reads_regions(capsys):
    """One region of two graphs, and what each op has of it."""
    status, said = told(capsys, "compare", "gpt", "llama", "--quantity", "flops.forward(region=core)")
    assert status == 0
    assert "4*L*b*h*s^2" in said.replace("L*4*b*s^2*h", "4*L*b*h*s^2") or "s^2" in said
    status, said = told(
        capsys, "compare", "gpt", "--convention", "default,strict", "--quantity", "params(region=core)"
    )
    assert status == 0
    with pytest.raises(SymacctError):
        lookup(derive(load("gpt")))("params(region=nothing)")
