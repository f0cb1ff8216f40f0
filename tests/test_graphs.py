"""The shipped graphs: what they are worth, against published accounts and public modules."""

from __future__ import annotations

import subprocess
import sys

import pytest

from symacct import derive, load
from symacct.algebra.normal import same
from symacct.readers.files import list_graphs, source
from symacct.readers.graph_check import check
from symacct.syntax import read_formula

NAMES = [entry.name for entry in list_graphs()]


def formula(graph, text):
    return read_formula(text, set(graph.sizes))


def assert_quantity(graph, name, text, **choices):
    """Compare a derived quantity with a formula, as polynomials."""
    derived = derive(graph, **choices)[name].expr
    assert same(derived, formula(graph, text)), f"{graph.name}: {name} = {derived}, not {text}"


@pytest.mark.parametrize("entry", list_graphs(), ids=NAMES)
def test_a_list_entry_is_what_the_graph_says(entry):
    """Reading a file without running it finds the sizes, meanings and first line that running it finds."""
    graph = load(entry.name)
    assert dict(entry.sizes) == dict(graph.sizes)
    assert entry.about == graph.doc.split("\n")[0]
    assert entry.about.endswith(".")
    assert all(entry.sizes.values())
    assert check(graph) is graph


def test_listing_imports_no_sympy_and_runs_nothing():
    """Lists stay instant: no algebra, no builder, no graph file is imported."""
    code = (
        "import sys; from symacct.readers.files import list_graphs, list_models;"
        "list_graphs(), list_models();"
        "print([m for m in ('sympy', 'pint', 'networkx', 'torch', 'symacct.build') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "quantity", "text"),
    [
        ("dot", "flops.forward", "2*N"),
        ("matvec", "flops.forward", "2*M*N"),
        ("matmul", "flops.forward", "2*B*D*K"),
        ("matmul", "params", "0"),
        ("linear", "flops.forward", "2*B*D*K"),
        ("linear", "flops.model", "4*B*D*K"),
        ("relu", "flops.forward.all", "B*D"),
        ("two_layer", "flops.forward", "2*B*D^2 + 2*B*D*K"),
        ("two_layer", "flops.backward", "2*B*D^2 + 4*B*D*K"),
        ("two_layer", "params", "D^2 + D*K"),
        ("deep_linear", "flops.model", "6*B*D^2*L - 2*B*D^2"),
        ("mlp", "flops.model", "6*B*D^2*L - 2*B*D^2"),
        ("attention", "params", "4*D*H*K"),
        ("attention", "flops.forward", "8*B*S*D*H*K + 4*B*S^2*H*K"),
        ("swiglu", "params", "3*D*F"),
        ("swiglu", "flops.forward", "6*B*S*D*F"),
        ("moe", "params", "D*E + 3*D*E*F"),
        ("moe", "params.active", "D*E + 3*D*F*k"),
        ("moe", "flops.forward", "2*B*S*D*E + 6*B*S*D*F*k"),
        ("llama", "params", "2*V*D + L*(2*D*H*K + 2*D*G*K + 3*D*F + 2*D) + D"),
        ("gpt", "params", "V*h + s*h + L*(12*h^2 + 13*h) + 2*h"),
        ("gpt", "flops.forward", "L*(24*b*s*h^2 + 4*b*s^2*h) + 2*b*s*h*V"),
        ("gpt", "flops.model", "72*b*L*s*h^2*(1 + s/(6*h) + V/(12*h*L))"),
    ],
)
def test_a_published_formula_comes_out(name, quantity, text):
    """Formulas of lectures and papers, none of which is written down in the graph."""
    assert_quantity(load(name), quantity, text)


def test_activations_of_a_gpt_layer():
    """A layer keeps 34sbh + 5as^2b bytes at 16 bits (Korthikanti et al. 2022, table 2)."""
    graph = load("gpt")
    kept = derive(graph, saves="paper")["memory.activations"].expr
    assert same(kept.coeff(graph_symbol("L")), formula(graph, "34*s*b*h + 5*a*s^2*b"))


def graph_symbol(name):
    from symacct.algebra.symbols import symbol

    return symbol(name)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("layers/attention/", "9*s*b*h + 5*a*s^2*b"),
        ("layers/ffn/", "17*s*b*h"),
        ("layers/attention/core/", "2*s*b*h + 5*a*s^2*b"),
    ],
)
def test_activations_of_a_gpt_layer_by_region(part, text):
    """Attention makes 11sbh + 5as^2b and the MLP 19sbh, of which 2sbh each are made by the norm before."""
    graph = load("gpt")
    terms = derive(graph, saves="paper").terms("memory.activations")
    kept = sum(term.expr for term in terms if term.label.startswith(part))
    assert same(kept, formula(graph, f"L*({text})"))


def test_gpt_at_the_sizes_of_gpt2_small():
    """124,439,808 parameters and 854,438,400 training FLOPs a token at 1024 tokens."""
    sizes = {"b": 1, "s": 1024, "a": 12, "h": 768, "L": 12, "V": 50257}
    account = derive(load("gpt"))
    assert account.value("params", sizes) == 124_439_808
    assert account.value("flops.model", sizes) == 854_438_400 * 1024


def test_llama_at_the_sizes_of_llama_2_7b():
    """6,738,415,616 parameters and 46,084,915,200 training FLOPs a token at 4096 tokens."""
    sizes = {"B": 2, "S": 4096, "L": 32, "D": 4096, "F": 11008, "H": 32, "G": 32, "K": 128, "V": 32000}
    account = derive(load("llama"))
    assert account.value("params", sizes) == 6_738_415_616
    assert account.value("flops.model", sizes) == 46_084_915_200 * 2 * 4096


def test_decoding_reads_one_token_against_all_keys():
    """A decoded token multiplies with T keys and values; the cache holds both for every layer."""
    graph = load("llama")
    account = derive(graph, workload="decode")
    linears = "2*B*(L*(2*D*H*K + 2*D*G*K + 3*D*F) + D*V)"
    assert same(account["flops.forward"].expr, formula(graph, f"{linears} + 4*B*L*T*H*K"))
    assert same(account["memory.kv_cache"].expr, formula(graph, "4*B*T*L*G*K"))


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        ('"a d -> h", bias=True', '"a d -> h"', "-L*h"),
        ('f="4*h"', 'f="8*h"', "L*(8*h^2 + 4*h)"),
        ('"b s h, V h -> b s V", x, table', '"b s h, V h -> b s V", x, b.weight("own", "V h")', "V*h"),
        ('x = b.layernorm(b.repeat("L", block, x), "h", name="norm")', 'x = b.repeat("L", block, x)', "-2*h"),
    ],
)
def test_a_changed_copy_changes_by_what_was_changed(tmp_path, old, new, change):
    """A reader copies a graph and changes one thing: the parameters change by that and nothing else."""
    text = source("gpt")
    assert old in text
    path = tmp_path / "mine.py"
    path.write_text(text.replace(old, new), encoding="utf-8")
    before, after = load("gpt"), load(f"{path}:gpt")
    difference = derive(after)["params"].expr - derive(before)["params"].expr
    assert same(difference, formula(before, change))
