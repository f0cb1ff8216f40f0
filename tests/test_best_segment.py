"""The best length of a segment: against brute force, against closed forms, refused where unknown."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from random import Random

import pytest

from symacct import derive, graph, load
from symacct.algebra import budget
from symacct.algebra.evaluate import evaluate
from symacct.algebra.symbols import symbol
from symacct.errors import LimitError, SizeError, UsageError
from symacct.planning import best_segment as segment
from symacct.planning.best_cells import Box, Cell
from symacct.planning.best_integer import best_integer
from symacct.planning.best_segment import best_segment
from symacct.report.best_segment import best_notes, best_table, integer_lines, shown
from symacct.report.conditions import said
from symacct.report.table import as_text

B, D, L = symbol("B"), symbol("D"), symbol("L")


def at_k(exprs, sizes, k):
    known = {symbol(name): size for name, size in sizes.items()}
    return max(Fraction(str(one.xreplace({**known, symbol("k"): k}))) for one in exprs)


def near(expr, sizes):
    return float(evaluate(expr, {str(s): sizes[str(s)] for s in expr.free_symbols}))


@pytest.fixture(scope="module")
def mlp():
    return best_segment(derive(load("mlp"), checkpoint="every:k", precision="fp32"))


@pytest.fixture(scope="module")
def deep():
    return best_segment(derive(load("deep_linear"), checkpoint="every:k"))


def test_mlp_with_fresh_gradients(mlp):
    """The root of L*B/(B + D), unless B/D (or L/2, for L <= 3) is smaller; nothing is saved for B <= D."""
    rows = [(shown(case.k), [said(one) for one in case.conditions], case.saves) for case in mlp.cases]
    assert rows == [
        ("sqrt(B*L/(B + D))", ["B >= D", "B^2 + B*D >= D^2*L", "B*L + D*L >= 4*B"], True),
        ("B/D", ["B >= D", "D^2*L >= B^2 + B*D"], True),
        ("L/2", ["4*B >= B*L + D*L"], True),
        ("1", ["D >= B"], False),
    ]
    assert mlp.nothing_saved == mlp.cases[3:]


def test_mlp_is_the_closed_form(mlp):
    """From L = 4 on the cases are max(1, min(sqrt(L*B/(B + D)), B/D))."""
    random = Random(7)
    for _ in range(120):
        sizes = {"B": random.randint(1, 90), "D": random.randint(1, 90), "L": random.randint(4, 90)}
        b, d, n = sizes.values()
        best = max(1.0, min((n * b / (b + d)) ** 0.5, b / d))
        found = [case for case in mlp.cases if case.holds(sizes)]
        assert found
        assert all(abs(near(case.k, sizes) - best) < 1e-9 for case in found), sizes


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["mlp", "deep_linear"])
def test_no_length_on_a_fine_grid_is_better(name, request):
    """Every case that holds has the peak it states, and no rational length has a smaller one."""
    found = request.getfixturevalue("mlp" if name == "mlp" else "deep")
    precision = "fp32" if name == "mlp" else "bf16"
    exprs = derive(load(name), checkpoint="every:k", precision=precision).candidates()
    random, least = Random(11), found.apart[0] * found.apart[1]
    for _ in range(10):
        sizes = {"B": random.randint(1, 60), "D": random.randint(1, 30), "L": random.randint(least, 40)}
        grid = [Fraction(found.low) + Fraction(i * (sizes["L"] - found.low), 150) for i in range(151)]
        smallest = min(at_k(exprs, sizes, k) for k in grid)
        held = [case for case in found.cases if case.holds(sizes)]
        assert held, sizes
        for case in held:
            k, peak = near(case.k, sizes), max(near(one, sizes) for one in case.peaks)
            assert found.low - 1e-9 <= k <= sizes["L"] + 1e-9
            assert peak <= smallest * (1 + 1e-12)
            assert abs(peak - float(at_k(exprs, sizes, Fraction(k)))) < 1e-9 * peak


def test_saves_nothing_is_true_of_integers(mlp):
    """For B <= D no integer length has a smaller peak than no checkpoints; for B > D one has."""
    for b, d, n in ((3, 3, 8), (2, 9, 12), (5, 7, 9), (1, 1, 4), (7, 6, 12), (20, 3, 9)):
        account = derive(load("mlp"), checkpoint="every:k", precision="fp32", sizes={"B": b, "D": d, "L": n})
        found = best_integer(account)
        assert found.saves is (b > d)
        assert min(found.peaks) == found.peak
    assert all(case.holds({"B": 2, "D": 9, "L": 12}) for case in mlp.nothing_saved)


@pytest.mark.few(2)
@pytest.mark.parametrize(("name", "quantity", "grads"), [
    ("mlp", "memory.activations.peak", "fresh"),
    ("mlp", "memory.peak", "kept"),
    ("deep_linear", "memory.activations.peak", "fresh"),
    ("deep_linear", "memory.peak", "kept"),
])  # fmt: skip
def test_root_of_l(name, quantity, grads):
    """What is saved, and all of it where gradients are kept, is smallest at sqrt(L) for every size."""
    found = best_segment(derive(load(name), checkpoint="every:k", grads=grads), quantity)
    assert [(str(case.k), case.conditions, case.saves) for case in found.cases] == [("sqrt(L)", (), True)]


def test_two_linears_and_biases():
    """A block with two linear layers and biases has its own answer: no better length on a grid."""

    @graph({"B": "rows", "D": "features", "L": "layers"}, tokens="B")
    def twice(b):
        def layer(x):
            for part in ("one", "two"):
                w, c = b.weight(f"w_{part}", "D E", E="D"), b.weight(f"c_{part}", "E", E="D")
                x = b.relu(b.einsum("B D, D E -> B E", x, w, label=part) + c)
            return x

        return b.repeat("L", layer, b.input("x", "B D"))

    account = derive(twice, checkpoint="every:k")
    found = best_segment(account, "memory.activations.peak")
    exprs = account.candidates("memory.activations.peak")
    assert found.cases
    assert [shown(case.k) for case in found.cases] != ["sqrt(L)"]
    for sizes in ({"B": 3, "D": 5, "L": 16}, {"B": 40, "D": 2, "L": 100}, {"B": 2, "D": 50, "L": 30}):
        case = next(case for case in found.cases if case.holds(sizes))
        grid = [Fraction(100 + i, 100) for i in range(0, 100 * (sizes["L"] - 1), 7)]
        smallest = min(at_k(exprs, sizes, k) for k in grid)
        assert max(near(one, sizes) for one in case.peaks) <= smallest * (1 + 1e-12)


@pytest.mark.long
def test_two_formulas_of_gpt():
    """Of gpt two formulas are the largest of what is saved; four lengths may be best, one at every size."""
    account = derive(load("gpt"), checkpoint="every:k")
    found = best_segment(account, "memory.activations.peak")
    exprs = account.candidates("memory.activations.peak")
    assert {shown(case.k) for case in found.cases} == {
        "1", "L", "(2*V + 6*h + 8)/(5*a*s + 34*h + 16)", "sqrt(2*L*h/(5*a*s + 34*h + 16))",
    }  # fmt: skip
    random = Random(3)
    for _ in range(40):
        sizes = {n: random.choice((1, 2, 9, 64, 700)) for n in ("a", "b", "h", "s")}
        sizes |= {"V": random.choice((1, 50, 4000, 10**6)), "L": random.choice((9, 50, 3000))}
        held = [case for case in found.cases if case.holds(sizes)]
        assert held, sizes
        for case in held:
            peak = max(near(one, sizes) for one in case.peaks)
            tried = [Fraction(1) + Fraction(i * (sizes["L"] - 1), 60) for i in range(61)]
            assert peak <= float(min(at_k(exprs, sizes, k) for k in tried)) * (1 + 1e-12)


@pytest.mark.long
def test_too_many_formulas_say_so_and_numbers_do_not():
    """With all sizes open the peak of gpt is left underived, with the reason; at sizes it is exact."""
    account = derive(load("gpt"), checkpoint="every:k")
    open_ = best_segment(account)
    assert open_.cases == ()
    assert "44 formulas" in open_.notes[-1]
    found = best_segment(account.bind({"b": 8, "s": 1024, "h": 768, "a": 12, "L": 12, "V": 50257}))
    assert [(str(case.k), case.saves) for case in found.cases] == [("2", True)]


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "count"), [("mlp", 12), ("deep_linear", 13), ("mlp", 55)])
def test_integers_are_derived_one_by_one(name, count):
    """The peaks are those of the policy at each integer, also where many lengths share a form."""
    for quantity in ("memory.peak", "memory.activations.peak"):
        account = derive(load(name), checkpoint="every:k", sizes={"B": 60, "D": 9, "L": count})
        found = best_integer(account, quantity)
        tried = range(1, count + 1) if count < 20 else (1, 2, 5, 6, 7, 11, 13, 18, 19, 27, 28, 29, 40, 54, 55)
        for k in tried:
            own = derive(load(name), checkpoint=f"every:{k}", sizes={"B": 60, "D": 9, "L": count})
            assert found.peaks[k - 1] == own.value(quantity)
        assert found.k == found.peaks.index(min(found.peaks)) + 1
        assert count % found.divisor[0] == 0
        assert found.root[0] == isqrt(count - 1) + 1


@pytest.mark.long
def test_a_rounded_real_length_is_no_worse_than_any_divisor(mlp):
    """The formulas at the real best are at most the peak at every divisor that they serve."""
    random = Random(5)
    for _ in range(6):
        sizes = {
            "B": random.randint(1, 70),
            "D": random.randint(1, 30),
            "L": random.choice((6, 12, 16, 24, 36)),
        }
        account = derive(load("mlp"), checkpoint="every:k", precision="fp32", sizes=sizes)
        peaks = best_integer(account).peaks
        case = next(case for case in mlp.cases if case.holds(sizes))
        lowest = max(near(one, sizes) for one in case.peaks)
        for k in (k for k in range(1, sizes["L"]) if sizes["L"] % k == 0):
            assert lowest <= float(peaks[k - 1]) * (1 + 1e-12)


def test_sum_of_a_length_and_its_segments():
    """min(k + ceil(n/k)) is ceil(2*sqrt(n)), reached at ceil(sqrt(n)); over divisors alone it is not."""
    for n in range(1, 400):
        best = min(k + -(-n // k) for k in range(1, n + 1))
        root = isqrt(n - 1) + 1
        assert best == isqrt(4 * n - 1) + 1
        assert root + -(-n // root) == best
    assert min(k + 7 // k for k in (1, 7)) == 8 > isqrt(27) + 1 == 6


def test_the_best_length_need_not_divide():
    """With 13 layers a length that does not divide 13 is best for what is saved."""
    found = best_integer(
        derive(load("mlp"), checkpoint="every:k", sizes={"B": 60, "D": 9, "L": 13}), "memory.activations.peak"
    )
    assert 13 % found.k
    assert found.peak < found.divisor[1]


def test_signs_hold_where_they_are_proved():
    """A sign that is proved in a cell holds at random sizes of it; one that is not certain is left open."""
    cell = Cell(Box({B: 1, D: 1, L: 2}), [B - D, B**2 + B * D - L * D**2])
    assert cell.sign(B * (B + D) + 1) == 1
    assert cell.sign(D - B * L) == -1
    assert cell.sign(B - 2 * D) is None
    assert cell.sign(B * 0) == 0
    assert Cell(cell.box).sign(B - D) is None


def test_refusals():
    """A length without a name, an open size, too many lengths: each refused, beside its valid neighbour."""
    with pytest.raises(UsageError, match="length with a name"):
        best_segment(derive(load("mlp"), checkpoint="every:4"))
    with pytest.raises(SizeError, match="looked for at sizes") as error:
        best_integer(derive(load("mlp"), checkpoint="every:k", sizes={"B": 2, "L": 3}))
    assert error.value.fix == "--at D=..."
    with pytest.raises(LimitError, match="5000 lengths"):
        best_integer(derive(load("mlp"), checkpoint="every:k", sizes={"B": 2, "D": 2, "L": 5000}))
    assert best_integer(derive(load("mlp"), checkpoint="every:k", sizes={"B": 2, "D": 2, "L": 1})).k == 1


def test_text(mlp):
    """The table, its notes and the lines of the integer read as they should."""
    text = as_text(best_table(mlp), 200)
    assert "sqrt(B*L/(B + D))" in text
    assert "nothing saved" in text
    assert best_notes(mlp) == [
        "real k from 1 to L, on the formulas of the peak; convex in k, so proved",
        "the formulas are the peak where k divides L and L/k >= 2",
        "nothing is saved at any such k where D >= B",
    ]
    found = best_integer(derive(load("mlp"), checkpoint="every:k", sizes={"B": 2, "D": 9, "L": 12}))
    assert "without checkpoints 3,964 byte: no length saves anything" in integer_lines(found)


def test_the_search_ends_by_steps_and_not_by_time(monkeypatch):
    """A clock that races changes nothing; with too few steps it is said that no formula was derived."""
    account = derive(load("mlp"), checkpoint="every:k", precision="fp32")
    found = best_segment(account)
    ticks = iter(range(0, 10**9, 900))
    monkeypatch.setattr(budget, "thread_time", lambda: next(ticks))
    assert best_segment(account) == found
    assert found.cases
    monkeypatch.setattr(segment, "MOST_STEPS", 1_000)
    short = best_segment(account)
    assert not short.cases
    assert short.notes[-1].startswith("no formula was derived with these sizes open: it takes too many steps")
