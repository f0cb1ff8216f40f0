"""Sizes under other letters, all at once; and words that an option declares as names."""

from __future__ import annotations

import random

import pytest

from symacct.account import derive
from symacct.algebra.evaluate import evaluate
from symacct.cli import main
from symacct.errors import FormulaError, SymacctError, UnknownNameError
from symacct.proof.compare import compare_formulas
from symacct.proof.judge import judge
from symacct.proof.prove import prove
from symacct.readers.files import load
from symacct.readers.renamed import read_renames, renamed
from symacct.readers.stated import read_stated
from symacct.syntax import AmbiguousError

QUANTITIES = ("params", "flops.model", "flops.model.all", "memory.activations", "tokens")


@pytest.mark.parametrize("graph", ["linear", "mlp", "gpt", "attention"])
def test_the_account_is_the_same_under_other_letters(graph):
    """A random permutation of all sizes gives the same numbers at permuted sizes."""
    plain = load(graph)
    names = list(plain.sizes)
    other = random.Random(graph).sample(names, len(names))
    moved = derive(renamed(plain, dict(zip(other, names, strict=True))))
    sizes = {name: 2 * (place + 1) for place, name in enumerate(names)}
    named = dict(zip(other, sizes.values(), strict=True))
    account = derive(plain)
    for quantity in QUANTITIES:
        assert evaluate(account[quantity].expr, _used(account[quantity], sizes)) == evaluate(
            moved[quantity].expr, _used(moved[quantity], named)
        )


def _used(quantity, sizes):
    return {name: sizes[name] for name in (free.name for free in quantity.expr.free_symbols)}


def test_letters_are_given_all_at_once():
    """`N=H,H=K` is no chain: N is what was H, and H what was K."""
    assert read_renames("N=H, H=K") == {"N": "H", "H": "K"}
    graph = renamed(load("linear"), "N=B,B=D")
    assert list(graph.sizes) == ["N", "B", "K"]
    assert prove(derive(graph, workload="forward"), "flops.forward = 2*N*B*K").outcome == "proved"
    assert renamed(load("linear"), "") == load("linear")


@pytest.mark.parametrize(
    ("text", "kind", "what"),
    [
        ("N=X", UnknownNameError, "unknown size 'X'"),
        ("D=B", FormulaError, "D is a size of graph linear too"),
        ("N=B,N=D", FormulaError, "N is renamed twice"),
        ("N=B,M=B", FormulaError, "B is renamed twice"),
        ("N", FormulaError, "NEW=SIZE"),
        ("2N=B", FormulaError, "is not a name"),
    ],
)
def test_letters_that_are_refused(text, kind, what):
    """What is no size, what is taken, what is given twice."""
    with pytest.raises(kind, match=what) as caught:
        renamed(load("linear"), text)
    if "too" in what:
        renamed(load("linear"), caught.value.fix.removeprefix("write --rename "))


def test_options_and_keys(capsys):
    """The command line and claim files take the same."""
    told = ["prove", "linear", "flops.forward = 2NHK", "--rename", "N=B,H=D", "--workload", "forward"]
    assert main(told) == 0
    assert main(["prove", "2BDK = 2*B*D*K*1", "--names", "B,D,K"]) == 0
    assert main(["prove", "2BDK = 2BDK"]) == 2
    assert main(["prove", "2*n = n + n", "--rename", "n=m"]) == 2
    capsys.readouterr()
    entry = {"name": "a", "graph": "linear", "claim": "flops.forward = 2NHK", "rename": "N=B,H=D",
             "workload": "forward", "expect": "proved"}  # fmt: skip
    assert judge(read_stated(entry, "my.toml", 1)).ok
    alone = {"name": "b", "claim": "2BD = 2*D*B + 0*K", "names": "B,D", "expect": "proved"}
    assert judge(read_stated(alone, "my.toml", 2)).ok


def test_names_in_python():
    """Where a text is read without a graph, names can be declared."""
    assert prove(None, "6ND = 6*N*D", names=["N", "D"]).outcome == "proved"
    assert compare_formulas("2ND", "ND + DN", names=["N", "D"]).larger == "equal"
    for read in (lambda: prove(None, "6ND = 6DN"), lambda: compare_formulas("2ND", "2DN")):
        with pytest.raises(AmbiguousError):
            read()
    with pytest.raises(SymacctError):
        prove(None, "n = 1", names=["2n"])
