"""What people write first in Python: assert a verdict, walk through an account, substitute, pass a module."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import sympy
import torch

import symacct
from symacct.algebra.summation import sum_over
from symacct.algebra.symbols import index_symbol, symbol
from symacct.errors import FormulaError, SymacctError, UnknownNameError, UsageError

CLAIMS = {
    "flops.model = 6*B*D^2*L - 2*B*D^2": "proved",
    "flops.model <= 6*B*D^2*L": "proved",
    "flops.model = 6*B*D^2*L": "refuted",
    "flops.model >= 6*B*D^2*L": "refuted",
}
GRAPHS = ("mlp", "gpt", "moe", "relu", "lora", "llama-3-8b")
PLAIN = {"D": sympy.Symbol("D"), "B": sympy.Symbol("B"), "L": sympy.Symbol("L")}
D, B, L, S = symbol("D"), symbol("B"), symbol("L"), symbol("S")
FORMULAS = (
    D**2 * L,
    sympy.Max(D, B) + sympy.ceiling(D / 3),
    sympy.sqrt(D + B) / (D + 1),
    sympy.Min(D * B, L**2) - 7 * D,
    sum_over(D / (index_symbol("i") + 1), index_symbol("i"), 0, L),
)


@pytest.mark.parametrize(("claim", "outcome"), CLAIMS.items())
def test_a_verdict_is_true_if_and_only_if_it_is_proved(claim: str, outcome: str) -> None:
    verdict = symacct.prove(symacct.load("deep_linear"), claim)
    assert verdict.outcome == outcome
    assert bool(verdict) is (outcome == "proved")


def test_an_undecided_verdict_is_neither_true_nor_false() -> None:
    from symacct.proof.decide import Decision

    proved = symacct.prove(None, "n + n = 2*n")
    undecided = symacct.Verdict(proved.claim, Decision("undecided", "it is not known"))
    with pytest.raises(UsageError, match="outcome"):
        bool(undecided)


@pytest.mark.few(4)
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("choices", [{}, {"optimizer": "adamw"}, {"workload": "forward"}])
def test_an_account_is_a_mapping_of_its_quantities(name: str, choices: dict[str, str]) -> None:
    account = symacct.derive(symacct.load(name), **choices)
    names = list(account)
    assert names == list(account.keys()) == [key for key, _ in account.items()]
    assert len(account) == len(names) == len(set(names))
    assert set(account.names()) <= set(names)
    assert all(key in account and account[key].unit is not None for key in names)
    assert ("memory.optimizer" in account) is ("optimizer" in choices)
    assert ("flops.backward" in account) is (choices.get("workload") != "forward")


def test_what_an_account_does_not_have_is_missing_as_from_a_mapping() -> None:
    account = symacct.derive(symacct.load("mlp"))
    assert "params" in account
    assert "parms" not in account
    assert 3 not in account
    assert account.get("parms") is None
    assert account.get("params") == account["params"]
    for kind in (KeyError, UnknownNameError):
        with pytest.raises(kind, match="did you mean 'params'"):
            account["parms"]
    assert account == account  # noqa: PLR0124 (an account is itself alone)
    assert account != symacct.derive(symacct.load("mlp"))
    assert len({account, account}) == 1


@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_a_symbol_of_the_same_name_is_the_size(formula: sympy.Expr) -> None:
    values = {"D": 8, "B": 5, "L": 3}
    own = formula.subs({symbol(name): value for name, value in values.items()}).doit()
    assert own.is_number
    assert formula.subs({PLAIN[name]: value for name, value in values.items()}).doit() == own
    assert formula.subs(values).doit() == own
    assert formula.subs([(PLAIN[name], value) for name, value in values.items()]).doit() == own
    other = {sympy.Symbol(name, positive=True): value for name, value in values.items()}
    assert formula.subs(other).doit() == own
    exact = {PLAIN[name]: sympy.Integer(value) for name, value in values.items()}
    assert formula.xreplace(exact).doit() == own


@pytest.mark.parametrize("old", [PLAIN["D"] ** 2, PLAIN["D"] * PLAIN["B"], sympy.sqrt(PLAIN["D"])], ids=str)
def test_a_formula_of_other_symbols_is_refused_and_not_lost(old: sympy.Expr) -> None:
    with pytest.raises(FormulaError, match="is not the size"):
        (D**2 + D * B).subs(old, 3)
    with pytest.raises(FormulaError, match="is not the size"):
        (D**2 + D * B).xreplace({old: sympy.Integer(3)})


def test_an_index_and_a_size_of_one_name_stay_apart() -> None:
    i, size = index_symbol("i"), symbol("i")
    assert (i + size).subs(i, 3) == size + 3
    assert (i + size).subs(size, 3) == i + 3
    assert (i + size).xreplace({size: sympy.Integer(3)}) == i + 3


def test_sizes_are_symbols_to_sympy() -> None:
    assert PLAIN["D"] != D
    assert pickle.loads(pickle.dumps(D**2 + 1)) == D**2 + 1  # noqa: S301 (made here)
    assert sympy.sqrt(D**2) == D
    assert sympy.latex(D**2) == "D^{2}"


def test_a_like_symbol_does_not_stand_in_for_a_size() -> None:
    """Sympy caches by equality: were they equal, a formula of sizes could come back with the other in it."""
    t, h = sympy.symbols("t h", integer=True, positive=True)
    assert str(4 * t * h / (24 * h**2)) == "t/(6*h)"
    assert t / (6 * h) != symbol("t") / (6 * symbol("h"))
    mine = 4 * symbol("t") * symbol("h") / (24 * symbol("h") ** 2)
    assert mine.free_symbols == {symbol("t"), symbol("h")}
    assert mine.subs(symbol("t"), symbol("h")) == sympy.Rational(1, 6)
    assert mine.subs(t, symbol("h")) == sympy.Rational(1, 6)


class _Net(torch.nn.Module):
    pass


class _Config:
    def save_pretrained(self, folder: str) -> None:
        pass


class _Hub(torch.nn.Module):
    config = _Config()


@pytest.mark.parametrize("call", [symacct.load, symacct.derive])
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (torch.nn.Linear(3, 4), "check my.py:net --against"),
        (_Net(), "writing-a-graph"),
        (_Hub(), "save_pretrained"),
        (torch.nn.Linear, "check my.py:net --against"),
        (lambda b: b, "@symacct.graph"),
        ({"model_type": "gpt2"}, "config.json"),
        (7, "writing-a-graph"),
        (None, "writing-a-graph"),
    ],
    ids=["linear", "own", "hub", "class", "function", "dict", "number", "none"],
)
def test_what_is_no_graph_is_refused_with_the_way_on(call: object, value: object, words: str) -> None:
    with pytest.raises(SymacctError) as caught:
        call(value)
    assert words in str(caught.value)


def test_a_graph_is_loaded_from_a_path_and_not_from_a_graph() -> None:
    folder = Path(__file__).parent.parent / "graphs"
    assert symacct.load(folder / "mlp.py").name == "mlp"
    with pytest.raises(UsageError, match="graph already"):
        symacct.load(symacct.load("mlp"))


def test_a_refusal_imports_no_torch() -> None:
    code = (
        "import sys, symacct\n"
        "try: symacct.load(len)\n"
        "except symacct.SymacctError: print('torch' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
