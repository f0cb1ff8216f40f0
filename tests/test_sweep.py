"""Sweeps: every value against exact evaluation, small cases derived, nothing that overflows in silence."""

from __future__ import annotations

import csv
import io
import random
import sys
from fractions import Fraction

import numpy as np
import pytest
from sympy import Max, Min, ceiling, floor, sqrt

from symacct.account import derive
from symacct.algebra.evaluate import evaluate
from symacct.algebra.symbols import as_expr, symbol
from symacct.cli import main
from symacct.errors import (
    FormulaError,
    LimitError,
    RuleError,
    SizeError,
    SymacctError,
    UnknownNameError,
    UsageError,
)
from symacct.evaluation.arrays import compiled
from symacct.evaluation.sweep import sweep
from symacct.evaluation.sweep_cases import make_case
from symacct.evaluation.sweep_grid import grid_of, read_grid
from symacct.readers.files import load
from symacct.report.sweep import write_csv

NAMES = ("B", "D", "L")
B, D, L = map(symbol, NAMES)


def formula(seed):
    """Return a random formula: sums of products, quotients, roots, maxima, roundings."""
    r = random.Random(seed)

    def terms(count, least=1):
        powers = [[r.randint(0, 3) for _ in NAMES] for _ in range(count)]
        return sum(r.randint(least, 99) * B**b * D**d * L**l for b, d, l in powers) + 1

    shape = seed % 6
    if shape == 0:
        return terms(8)
    if shape == 1:
        return terms(3) / terms(3)
    if shape == 2:
        return terms(4) + as_expr(Fraction(r.randint(1, 9), 7)) * sqrt(B * D) + L / B**2
    if shape == 3:
        return Max(terms(3), terms(3)) + Min(terms(2), terms(2)) / (D + 1)
    if shape == 4:
        return ceiling(L / r.randint(2, 9)) * B * D + floor((B + D) / 3 + L / B) + ceiling(B * D / 3)
    return terms(5, least=-99)


@pytest.mark.few(4)
@pytest.mark.parametrize("seed", range(36))
def test_values_are_those_of_exact_evaluation(seed):
    """Float64 agrees within its stated bound, or where terms cancel within one against their absolute sum."""
    r = random.Random(seed)
    form = formula(seed)
    made = compiled(form, np)
    points = [{name: r.randint(1, 10 ** r.randint(1, 5)) for name in NAMES} for _ in range(40)]
    arrays = {name: np.array([point[name] for point in points], dtype=float) for name in NAMES}
    values = np.broadcast_to(made.step(arrays), (len(points),))
    for value, point in zip(values, points, strict=True):
        exact = evaluate(form, point)
        true = (
            Fraction(str(exact.evalf(50))) if not exact.is_Rational else Fraction(int(exact.p), int(exact.q))
        )
        size = abs(true)
        if made.cancels:
            absolute = sum((abs(term) for term in form.args), as_expr(0))
            size = Fraction(str(absolute.subs({symbol(n): v for n, v in point.items()}).evalf(40)))
        assert abs(Fraction(float(value)) - true) <= made.relative * size + Fraction(1, 10**40)


@pytest.mark.parametrize("by", [2, 3, 7, 10])
def test_roundings_are_exact(by):
    """A ceiling of a quotient of integers is never off by one."""
    form = ceiling(B / by) + floor((B + 1) / by + D / by)
    made = compiled(form, np)
    sizes = np.arange(1, 5000, dtype=float)
    values = made.step({"B": sizes, "D": np.array([5.0])})
    for size, value in zip(range(1, 5000), values, strict=True):
        assert value == -(-size // by) + (size + 1 + 5) // by


def test_roundings_of_what_is_too_large_are_refused():
    """Past 2^53 an integer is no float64: the point is to be exact."""
    made = make_case(None, ["ceil(B*D/3)"])
    with pytest.raises(RuleError, match="rounded to an integer is too large"):
        list(sweep([made], {"B": [2**30], "D": [2**30, 2**31]}))
    exact = list(sweep([made], {"B": [2**30], "D": [2**30, 2**31]}, exact=True))
    assert exact[0].values[0] == [-(-(2**60) // 3), -(-(2**61) // 3)]


@pytest.mark.parametrize("block", [1, 2, 5, 7, 64])
def test_blocks_are_the_grid_in_its_order(block):
    """Blocks of any size give the same points."""
    grid = grid_of({"B": [1, 2, 3], "D": [5, 6], "L": [7, 8, 9, 10]})
    found = list(sweep([make_case(None, ["B*100 + D*10 + L"])], grid, block=block))
    assert all(len(one.values[0]) <= block for one in found)
    values = [value for one in found for value in one.values[0].tolist()]
    assert values == [b * 100 + d * 10 + l for b in (1, 2, 3) for d in (5, 6) for l in (7, 8, 9, 10)]
    assert [grid.point(n)["L"] for n in range(4)] == [7, 8, 9, 10]


@pytest.mark.few(1)
@pytest.mark.parametrize("graph", ["deep_linear", "mlp", "gpt"])
def test_small_counts_get_their_own_derivation(graph):
    """Where a condition of a formula fails, the value is that of a derivation with the sizes bound."""
    account = derive(load(graph), optimizer="adamw")
    names = ["flops.model", "memory.static", "memory.activations", "bytes.step"]
    case = make_case(account, names)
    over = {name: [2, 4] for name in account.graph.order[:3] if name != "L"} | {"L": [0, 1, 2, 5]}
    over |= {name: [4] for name in account.graph.order if name not in over}
    over = {name: values for name, values in over.items() if name in account.graph.order}
    for exact in (False, True):
        for one in sweep([case], over, exact=exact):
            for place in range(0, len(one.values[0]), 3):
                sizes = {name: int(values[place]) for name, values in one.sizes.items()}
                for name, column in zip(names, one.values, strict=True):
                    try:
                        true = account.value(name, sizes)
                    except SymacctError:
                        assert one.notes[place]
                        assert column[place] is None or np.isnan(column[place])
                    else:
                        assert float(column[place]) == float(true), (sizes, name)


def test_points_that_break_a_graph_are_empty_with_the_reason():
    """Heads that do not divide the width have no derivation: never a wrong number."""
    case = make_case(derive(load("gpt")), ["memory.static"])
    over = {"a": [12], "h": range(96, 109), "L": [2], "V": [100], "s": [16], "b": [1]}
    (block,) = sweep([case], over)
    for place, value in enumerate(block.values[0].tolist()):
        width = int(block.sizes["h"][place])
        assert np.isnan(value) == (width % 12 != 0)
        assert (width % 12 == 0) or "a divides h" in block.notes[place]


def test_overflow_names_its_point():
    """A value above the largest float64 is an error; its neighbour below is none."""
    case = make_case(None, ["B^20 * D^6"])
    with pytest.raises(SizeError, match="larger than a float64") as caught:
        list(sweep([case], {"B": [10, 10**14], "D": [10, 10**10]}))
    assert caught.value.where == "B = 100000000000000, D = 10000000000"
    (block,) = sweep([case], {"B": [10], "D": [10, 10**10]})
    assert block.values[0].tolist() == pytest.approx([1e26, 1e80], rel=1e-14)
    (exact,) = sweep([case], {"B": [10**14], "D": [10**10]}, exact=True)
    assert exact.values[0] == [10**340]


def test_large_products_are_no_machine_integers():
    """7.25e24 is above 2^63, and comes out."""
    case = make_case(None, ["6*N*D"])
    (block,) = sweep([case], {"N": [70 * 10**9, 10**12], "D": [15 * 10**12]})
    assert block.values[0].tolist() == [6 * 70e9 * 15e12, 6 * 1e12 * 15e12]


def test_no_value_is_empty_with_the_reason():
    """A divisor that is 0 at a point."""
    (block,) = sweep([make_case(None, ["1/(B - 2)"])], {"B": [1, 2, 3]})
    assert block.values[0][[0, 2]].tolist() == [-1, 1]
    assert "divides by zero" in block.notes[1]


def test_single_points_are_exact():
    """One point is an exact number, a fraction if need be."""
    found = sweep([make_case(None, ["B/3"])], {"B": [10**15]})
    assert next(iter(found)).values[0] == [as_expr(Fraction(10**15, 3))]
    assert found.accuracy() == "exact"


# ---- the face ----


@pytest.mark.parametrize(
    ("text", "axes"),
    [
        ("B=1..64:*2", {"B": [1, 2, 4, 8, 16, 32, 64]}),
        ("B=1..9:4,S=512,1024", {"B": [1, 5, 9], "S": [512, 1024]}),
        ("L=3", {"L": [3]}),
        ("h=1k,2Ki,3", {"h": [1000, 2048, 3]}),
        ("L=0..2", {"L": [0, 1, 2]}),
    ],
)
def test_grids_are_read(text, axes):
    """Values, ranges, steps and factors."""
    assert {name: list(values) for name, values in read_grid(text).axes} == axes


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("512", FormulaError), ("B=", FormulaError), ("B=1.5", FormulaError), ("B=8..1", FormulaError),
        ("B=1..8:*1", FormulaError), ("B=1..8:0", FormulaError), ("B=1,1", SizeError),
        ("B=1,B=2", FormulaError),
        ("B=1..1000T", LimitError), ("B=-1", SizeError), ("B=2^3", FormulaError), ("2B=1", FormulaError),
        ("B=99999999999999999999", SizeError), ("A=1..1M,B=1..1M", LimitError),
    ],
)  # fmt: skip
def test_grids_are_refused(text, error):
    """What is no grid."""
    with pytest.raises(error):
        read_grid(text)


def test_sizes_must_be_those_of_the_formulas():
    """A size without values, and one that is in no formula."""
    case = make_case(derive(load("linear")), ["flops.model"])
    with pytest.raises(SizeError, match="no value: D, K"):
        sweep([case], {"B": [1]})
    with pytest.raises(UnknownNameError, match="unknown size 'Q'"):
        sweep([case], {"B": [1], "D": [1], "K": [1], "Q": [1]})
    with pytest.raises(SizeError, match="at least 1"):
        sweep([case], {"B": [0], "D": [1], "K": [1]})


def test_numpy_may_be_missing(monkeypatch):
    """Without numpy a grid is refused with the way to get it; one point needs none."""
    monkeypatch.setitem(sys.modules, "numpy", None)
    case = make_case(None, ["B*2"])
    with pytest.raises(UsageError, match="needs numpy"):
        sweep([case], {"B": [1, 2]})
    assert next(iter(sweep([case], {"B": [4]}))).values[0] == [8]


def test_csv_of_the_command_line(tmp_path, capsys):
    """Machines and precisions are columns; every cell is the account's own value."""
    file = tmp_path / "out.csv"
    what = ["sweep", "gpt2", "flops.model/peak,memory.static", "--over", "B=1,2,S=64", "-o", str(file)]
    policies = ["--precision", "bf16,bf16-master", "--optimizer", "adamw"]
    arguments = [*what, *policies, "--on", "h100-sxm,a100-sxm-80gb"]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "peak = 312 TFLOP/s of bf16, dense, a100-sxm-80gb" in out
    assert "exact checks" in out
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert len(rows) == 8
    account = derive(load("gpt2"), optimizer="adamw", precision="bf16-master")
    row = next(
        one
        for one in rows
        if one["machine"] == "a100-sxm-80gb" and one["precision"] == "bf16-master" and one["B"] == "2"
    )
    flops = account.value("flops.model", {"B": 2, "S": 64})
    assert float(row["flops.model/peak [second]"]) == pytest.approx(float(flops) / 312e12, rel=1e-15)
    assert int(row["memory.static [byte]"]) == account.value("memory.static", {"B": 2, "S": 64})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["linear", "flops.model"], "there is no grid"),
        (["linear", "flops.modle", "--over", "B=1,2,D=1,K=1"], "did you mean 'flops.model'"),
        (["linear", "flops.model,", "--over", "B=1,2,D=1,K=1"], "a quantity is empty"),
        (["linear", "flops.model + memory.static", "--over", "B=1,2,D=1,K=1"], "cannot be added"),
        (["linear", "flops.model/peak", "--over", "B=1,2,D=1,K=1", "--on", "h1000"], "h1000"),
        (["linear", "flops.model", "--over", "B=1,2,D=1,K=1", "-o", "/nowhere/at/all.csv"], "cannot write"),
    ],
)
def test_command_line_refuses(capsys, arguments, said):
    """Wrong input is status 2 with its error."""
    assert main(["sweep", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_progress_is_told(monkeypatch):
    """Long work says how far it is."""
    monkeypatch.setattr("symacct.report.sweep.EVERY", -1.0)
    told = []
    found = sweep([make_case(None, ["B*2"])], {"B": range(1, 11)}, block=3)
    assert write_csv(found, io.StringIO(), lambda done, whole: told.append((done, whole))) == 10
    assert told == [(3, 10), (6, 10), (9, 10), (10, 10)]


def test_the_first_line_says_each_choice_once(capsys):
    """What differs from row to row stands in the rows; states that are not there are named."""
    words = ["sweep", "mlp", "memory.peak", "--over", "B=1,2", "--at", "D=8,L=4"]
    assert main([*words, "--checkpoint", "every:2,sqrt"]) == 0
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first.count("checkpoint") == 1
    assert first.endswith("saves backward, optimizer none; checkpoint as in the rows")
    assert second.startswith("note: no optimizer")
    assert main([*words, "--optimizer", "adamw"]) == 0
    err = capsys.readouterr().err
    assert "optimizer adamw" in err
    assert "no optimizer" not in err
    assert main(["sweep", "mlp", "flops.model", *words[3:], "--precision", "bf16,fp32"]) == 0
    err = capsys.readouterr().err
    assert err.splitlines()[0].count("precision") == 1
    assert "optimizer" not in err


def test_an_error_shows_the_formula_as_it_was_written(capsys):
    """Once, with the caret under what is wrong."""
    assert main(["sweep", "mlp", "2*memory.pek", "--over", "B=1,2", "--at", "D=8,L=4"]) == 2
    where, mark = capsys.readouterr().err.splitlines()[1:3]
    assert where.split() == ["where", "2*memory.pek"]
    assert mark.index("^") == where.index("memory.pek")
