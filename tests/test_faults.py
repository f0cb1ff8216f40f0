"""Wrong numbers that people met with elementwise work, fusion and the shape of graphs.

Each test carries a public case and other sizes; the source stands in its docstring.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import networkx as nx
import pytest
from decoders import assert_formula, at, inputs, part

from symacct import Builder, derive, graph, load
from symacct.algebra.normal import total
from symacct.cli import main
from symacct.convention import convention
from symacct.errors import GraphError, UnknownNameError

# ---- elementwise work ----


@pytest.mark.parametrize(("rows", "width"), [(2, 8), (5, 3)])
def test_log_softmax_is_not_free(rows, width):
    """66 FLOP for 2 rows of 8, the search for the largest apart: https://github.com/ultralytics/thop/pull/153."""
    b, x = inputs(x={"B": rows, "D": width})
    graphs = {
        "log": b.build(b.log_softmax(x, "D")),
        "plain": b.build(b.softmax(x, "D")),
    }
    priced = replace(convention(), prices=(("max", Fraction(0)),))
    log, plain = (derive(g, workload="forward", convention=priced) for g in graphs.values())
    assert log.value("flops.forward.all") == 4 * rows * width + rows
    assert derive(graphs["log"], workload="forward").value("flops.forward.all") == 5 * rows * width + rows
    assert log.value("flops.forward.all") - plain.value("flops.forward.all") == rows
    with pytest.raises(UnknownNameError, match="softmin"):
        b.softmin(x)


@graph({"N": "tokens", "D": "features", "H": "heads", "L": "layers"}, tokens="N")
def vit(b):
    """The layers of a small vision transformer."""

    def block(x):
        y = b.layernorm(x, "D", name="attention_norm")
        q, k, v = (b.linear(y, "D -> H K", K="D/H", bias=True, name=name) for name in "qkv")
        scores = b.softmax(b.einsum("N H K, M H K -> H N M", q, k, label="core/scores"), "M")
        mixed = b.einsum("H N M, M H K -> N H K", scores, v, label="core/mix")
        x = x + b.linear(mixed, "H K -> D", bias=True, name="o")
        y = b.linear(b.layernorm(x, "D", name="ffn_norm"), "D -> F", F="4*D", bias=True, name="up")
        return x + b.linear(b.gelu(y), "F -> D", bias=True, name="down")

    return b.layernorm(b.repeat("L", block, b.input("x", "N D")), "D")


@pytest.mark.parametrize(
    "sizes", [{"N": 197, "D": 192, "H": 3, "L": 12}, {"N": 50, "D": 128, "H": 4, "L": 5}]
)
def test_two_totals_are_reconciled_term_by_term(sizes):
    """A counter without attention products and norms is 178,831,872 + 945,600 MAC short.

    https://github.com/facebookresearch/fvcore/issues/129 (12 layers of 192 features on 197 tokens)
    """
    whole = derive(vit, workload="forward", sizes=sizes)
    short = derive(vit, workload="forward", sizes=sizes, convention=convention(attention="none"))
    missing = {t.label: t.expr for t in whole.terms("flops.forward")}
    for term in short.terms("flops.forward"):
        missing[term.label] -= term.expr
    assert {label for label, expr in missing.items() if expr} == {"layers/core/scores", "layers/core/mix"}
    n, d, layers = sizes["N"], sizes["D"], sizes["L"]
    assert sum(missing.values()) / 2 == layers * 2 * n * n * d
    assert sum(missing.values()) == whole.value("flops.forward") - short.value("flops.forward")
    normed = total(row.expr for row in whole.work if row.kind == "norm" and row.primitive == "sub")
    assert normed == (2 * layers + 1) * n * d


@pytest.mark.parametrize("name", ["relu", "gelu"])
def test_a_total_of_zero_has_shares_of_zero(name, capsys):
    """A percent column divided by zero: https://github.com/sovrasov/flops-counter.pytorch/issues/65."""
    assert main(["derive", name, "--at", "B=2,D=3"]) == 0
    assert "0 (no contraction)" in capsys.readouterr().out


# ---- fusion ----


@pytest.mark.parametrize("n", [10**6, 12345])
@pytest.mark.parametrize(
    ("account", "streams"), [("algorithmic", 5), ("fused", 3), ("compulsory", 3), ("issued", 5)]
)
def test_a_fused_chain_moves_what_crosses_its_border(n, account, streams):
    """gelu(x + y) on 10^6 elements at 16 bits: 6e6 bytes as one op, 10e6 as two; the report says which."""
    b, x, y = inputs(x={"n": n}, y={"n": n})
    built = b.build(b.gelu(x + y))
    moved = derive(built, workload="forward", convention=convention(bytes=account))
    assert moved.value("bytes.forward") == 2 * streams * n
    assert account == "algorithmic" or f"bytes {account}" in moved.convention.describe()


def test_work_that_a_compiler_might_drop_is_in_the_model():
    """x*0 + y is two operations an element; https://github.com/stas00/ml-engineering/pull/47."""
    b = Builder("kept", "n")
    x, y = b.input("x", "n"), b.input("y", "n")
    assert_formula(derive(b.build(b.scale(x, 0) + y), workload="forward"), "flops.forward.all", "2*n")


# ---- the graph itself ----


def test_parallel_edges_stay_apart():
    """x times x has two edges, and the longer one decides: https://github.com/networkx/networkx/issues/5987."""
    b, x = inputs(x={"p": 3, "q": 3})
    view = b.build(b.einsum("ij,jk->ik", x, x, label="square")).network()
    assert sorted(slot for *_, slot in view.edges(keys=True)) == [0, 1]
    for *_, slot, data in view.edges(keys=True, data=True):
        data["weight"] = [5, 40][slot]
    assert nx.dag_longest_path_length(view) == 40


def test_a_second_op_of_the_same_name_is_refused():
    """Two ops named "norm" would be one vertex."""
    b, x = inputs(x={"B": 2, "D": 3})
    y = b.layernorm(x, "D", name="norm")
    with pytest.raises(GraphError, match="the name norm/weight is given twice"):
        b.layernorm(y, "D", name="norm")
    first = b.relu(y, label="act")
    with pytest.raises(GraphError, match="the name act is given twice"):
        b.relu(first, label="act")
    assert b.build(b.relu(first, label="act2")).outputs == ("act2",)


def test_dead_work_is_listed_apart():
    """What no output depends on is in no total, and a warning names it."""
    b = Builder("dead", "B D K")
    x = b.input("x", "B D")
    b.linear(x, "D -> K", name="lost")
    account = derive(b.build(b.linear(x, "D -> K", name="used")))
    assert account.dead == ("lost/matmul",)
    assert_formula(account, "flops.forward", "2*B*D*K")
    assert any("no output depends on lost/matmul" in words for words in account.warnings)


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_a_model_without_layers_keeps_its_head(layers):
    """An empty sum is 0; head and embedding remain."""
    sizes = {"b": 2, "s": 3, "a": 1, "h": 4, "L": layers, "V": 7}
    account = derive(load("gpt"))
    assert account.value("params", sizes) == 7 * 4 + 3 * 4 + 2 * 4 + layers * (12 * 16 + 13 * 4)
    assert account.value("flops.forward", sizes) == 2 * 6 * 4 * 7 + layers * (24 * 6 * 16 + 4 * 2 * 9 * 4)
    assert at(account, "flops.model", "layers/", **sizes) == 3 * layers * (24 * 6 * 16 + 4 * 2 * 9 * 4)
    chain = derive(load("deep_linear"))
    assert chain.value("flops.model", {"B": 2, "D": 3, "L": layers}) == max(0, 6 * layers - 2) * 2 * 9


def patterned(kinds, rows=1, width=1):
    """Return the account of layers of listed hidden widths, as a pattern of repeats would be written."""

    @graph({"B": "rows", "D": "features"})
    def layers(b):
        x = b.input("x", "B D")
        for place, hidden in enumerate(kinds):
            with b.region(f"layer{place}"):
                x = b.linear(b.linear(x, "D -> F", F=hidden, name="up"), "F -> D", name="down")
        return x

    return derive(layers, workload="forward", sizes={"B": rows, "D": width})


@pytest.mark.parametrize(("wide", "narrow", "every", "count"), [(8, 2, 3, 10), (5, 3, 2, 7)])
def test_layers_that_differ_are_summed_one_by_one(wide, narrow, every, count):
    """Layers 3, 6 and 9 of ten are wider: 152, not ten times a layer. A repeat of groups says the same."""
    kinds = [wide if place % every == 0 else narrow for place in range(1, count + 1)]
    listed = patterned(kinds)
    assert listed.value("flops.forward") == sum(4 * hidden for hidden in kinds)
    assert (wide, narrow, every, count) != (8, 2, 3, 10) or listed.value("flops.forward") == 152

    @graph({"D": "features", "N": "groups", "R": "layers after the last group"})
    def grouped(b):
        def layer(x, hidden):
            return b.linear(b.linear(x, "D -> F", F=hidden, name="up"), "F -> D", name="down")

        def group(x):
            for place in range(every):
                with b.region(f"layer{place}"):
                    x = layer(x, wide if place == every - 1 else narrow)
            return x

        x = b.repeat("N", group, b.input("x", "D"), name="groups")
        return b.repeat("R", lambda x: layer(x, narrow), x, name="rest")

    whole, rest = divmod(count, every)
    account = derive(grouped, workload="forward")
    assert account.value("flops.forward", {"D": 1, "N": whole, "R": rest}) == listed.value("flops.forward")


def test_a_size_that_depends_on_the_layer_is_summed_over_it():
    """Hidden widths 1, 2, .., L: a sum, in closed form."""

    @graph({"B": "rows", "D": "features", "L": "layers"})
    def pyramid(b):
        def layer(i, x):
            return b.linear(b.linear(x, "D -> F", F=i + 1, name="up"), "F -> D", name="down")

        return b.repeat("L", layer, b.input("x", "B D"), index="i")

    account = derive(pyramid, workload="forward")
    assert_formula(account, "flops.forward", "2*B*D*L*(L + 1)")
    assert part(account, "flops.forward", "layers/") == account["flops.forward"].expr
    assert account.value("flops.forward", {"B": 3, "D": 5, "L": 4}) == sum(
        4 * 15 * hidden for hidden in (1, 2, 3, 4)
    )
