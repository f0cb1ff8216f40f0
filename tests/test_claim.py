"""Claims: their grammar, the units of their parts, and refusals with the place and the corrected line."""

from __future__ import annotations

import pickle

import pytest

from symacct.algebra.normal import same
from symacct.algebra.symbols import symbol
from symacct.claims import read_claim, resolve
from symacct.errors import FormulaError, SymacctError, UnitError, UnknownNameError
from symacct.quantity import Quantity
from symacct.syntax import AmbiguousError, read_formula
from symacct.units import Unit

SIZES = ("B", "D", "L", "V", "b", "h")
TABLE = {
    "flops.model": ("6*B*D^2*L", "FLOP"),
    "flops.forward": ("2*B*D^2*L", "FLOP"),
    "params": ("D^2*L", "parameter"),
    "params.nonembedding": ("D^2*L", "parameter"),
    "tokens": ("B", "token"),
    "memory.parameters": ("2*D^2*L", "byte"),
    "memory.activations": ("2*B*D*L", "byte"),
    "memory.static": ("12*D^2*L", "byte"),
    "memory.peak": ("14*D^2*L", "byte"),
    "time.step": ("B", "second"),
    "time.forward": ("B", "second"),
    "throughput.tokens": ("1", "token/second"),
    "intensity.forward": ("B", "FLOP/byte"),
    "mfu.bound": ("1/B", "1"),
}
QUANTITIES = {name: Quantity(read_formula(text, SIZES), Unit(unit)) for name, (text, unit) in TABLE.items()}


def lookup(name):
    """The quantities of this test; another graph's are twice as large."""
    plain, _, graph = name.partition("(")
    return QUANTITIES[plain] * 2 if graph else QUANTITIES[plain]


def sides(text, sizes=SIZES, lets=()):
    """The sides of a claim."""
    return resolve(read_claim(text, sizes, QUANTITIES, lets), lookup)


@pytest.mark.parametrize(
    ("text", "relation", "grows"),
    [
        ("flops.model = 6*B*D^2*L", "=", ()),
        ("flops.model == 6BD²L", "=", ()),
        ("flops.model ~ 6BD²L as L -> oo", "~", ("L",)),
        ("flops.model ∼ 6BD²L as L, D → ∞", "~", ("L", "D")),
        ("flops.model ≈ 6BD²L within 3 %", "within", ()),
        ("flops.model = 6BD²L within 0.5% where N = params", "within", ()),
        ("flops.model <= 6BD²L", "<=", ()),
        ("flops.model ≥ 6BD²L", ">=", ()),
        ("flops.model < 6BD²L", "<", ()),
        ("flops.model > 0", ">", ()),
        ("memory.activations = O(L)", "O", ()),
        ("memory.activations = O(\\sqrt{L})", "O", ()),
        ("memory.activations ∈ Θ(L)", "Theta", ()),
        ("memory.activations is Theta(L) as L -> oo", "Theta", ("L",)),
        ("memory.activations O(L)", "O", ()),
        ("$\\text{flops.model} \\leq 6 B D^{2} L$", "<=", ()),
        ("memory.activations = \\mathcal{O}\\left(L\\right) as L \\to \\infty", "O", ("L",)),
        ("flops.model ＝ 6*B*D^2*L", "=", ()),
        ("flops.model = 6*N*D where N = params, D = tokens as L -> oo", "=", ("L",)),
        ("flops.model = 6*N*D as L -> oo where N = params; D = tokens", "=", ("L",)),
    ],
)
def test_relations(text, relation, grows):
    """Every relation, in its spellings, with what grows."""
    claim = read_claim(text, SIZES, QUANTITIES)
    assert (claim.relation, claim.grows) == (relation, grows)
    resolve(claim, lookup)
    assert pickle.loads(pickle.dumps(claim)) == claim  # noqa: S301 (our own value)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            "flops.model = 6*N*T where N = params.nonembedding, T = tokens",
            "6 read as 6 FLOP/(parameter·token)",
        ),
        ("flops.model = 6*params*tokens", "6 read as 6 FLOP/(parameter·token)"),
        ("memory.parameters = 2*params", "2 read as 2 byte/parameter"),
        ("memory.parameters = params/2", "1/2 read as 1/2 byte/parameter"),
        ("memory.static = 12*params", "12 read as 12 byte/parameter"),
        ("memory.static = w*params where w = 12", "w read as w byte/parameter"),
        ("memory.static = 8*(2*params + B*D)", "2 read as 2 byte/parameter"),
        ("params = 12*L*D^2", "12 read as 12 parameter"),
        ("params = D^2*L + V*D", "D^2*L + V*D read in parameter"),
        ("tokens = B*L", "B*L read in token"),
        ("flops.model = 6*B*D^2*L", "6 read as 6 FLOP"),
        ("intensity.forward = B", "B read in FLOP/byte"),
        ("params = 12*tokens", "12 read as 12 parameter/token"),
        ("6*B*D^2*L = flops.model", "6 read as 6 FLOP"),
    ],
)
def test_coefficients_carry_units(text, note):
    """A side without physical units takes the other side's, and the note says how."""
    found = sides(text)
    assert note in found.notes
    assert found.left.unit == found.right.unit


@pytest.mark.parametrize(
    "text",
    [
        "flops.model = 6 FLOP/parameter/token * params * tokens",
        "memory.parameters = 2 byte/parameter * params",
        "memory.peak <= 80 GB",
        "throughput.tokens = tokens/time.step",
        "time.forward(relu) <= 3 ms",
        "mfu.bound <= 1",
        "mfu.bound <= 50 %",
        "time.step = 0",
    ],
)
def test_written_units_need_no_note(text):
    """What is written out in full is read as it stands."""
    assert sides(text).notes == ()


def test_the_other_graph_is_looked_up():
    """`time.forward(relu)` is the quantity of another graph; sizes in brackets multiply."""
    assert same(sides("time.forward(relu) = 2*time.forward").left.expr, 2 * symbol("B"))
    assert same(sides("time.forward(B) = 1 s", ["B"]).left.expr, symbol("B") ** 2)


REFUSED = [
    ("memory.parameters = params", 20, "memory.parameters = params * 2 byte/parameter"),
    ("params + 2*tokens = 3", 9, "params + 2*tokens * n parameter/token = 3"),
    ("flops.model + V/(12*L) = 3", 14, "flops.model + V/(12*L) * 1 FLOP = 3"),
    ("memory.static = 16 byte/parameter * params + B*D", 45, None),
    ("flops.model = 3 MAC*B*D", 14, "flops.model = 3 MAC*B*D * 2 FLOP/MAC"),
    ("flops.model/time.step <= 989.5 TFLOP", 31, "flops.model/time.step <= 989.5 TFLOP/s"),
    ("flops.model = 6 FLOP*params*tokens", 16, "flops.model = 6 FLOP/(parameter*token)*params*tokens"),
    ("time.step = 3600 GPU*hour", 12, "time.step = 3600 GPU*hour / (n device)"),
    ("flops.model/tokens = 16 GFLOP", 21, "flops.model/tokens = 16 GFLOP/token"),
    ("memory.peak <= 80 Gb", 18, "memory.peak <= 80 Gbit"),
    ("flops.model/time.step <= 989 TFLOPS", 29, "flops.model/time.step <= 989 TFLOP/s"),
    ("memory.peak*memory.static = 3", 12, None),
    ("log(memory.peak) = 3", 4, None),
    ("flops.model <= memory.peak", 15, None),
]


@pytest.mark.parametrize(("text", "place", "line"), REFUSED)
def test_units_that_disagree(text, place, line):
    """The place is marked and the corrected line is given; where it is complete, it is accepted."""
    with pytest.raises(UnitError) as caught:
        sides(text)
    lines = str(caught.value).splitlines()
    assert lines[1] == f"  where     {text}"
    assert lines[2].index("^") == 12 + place
    if line is not None:
        assert caught.value.fix.startswith(f"write {line}")
        if " n " not in line and "(n " not in line:
            sides(line)


@pytest.mark.parametrize(
    ("text", "kind", "what"),
    [
        ("flops.model", FormulaError, "a claim has a relation"),
        ("flops.model =", FormulaError, "the right side is empty"),
        ("= 3", FormulaError, "the left side is empty"),
        ("flops.model = 3 = 4", FormulaError, "a claim has one relation"),
        ("flops.model != 3", FormulaError, "a claim is not a denial"),
        ("flops.model = min(O(L), 2)", FormulaError, "O\\(\\) stands only as the whole right side"),
        ("flops.model >= O(L)", FormulaError, "O\\(\\) follows =, not >="),
        ("flops.model ∈ L", FormulaError, "what follows ∈ is an order of growth"),
        ("flops.model = N where N", FormulaError, "a name is bound as NAME = FORMULA"),
        ("flops.model = N where", FormulaError, "where binds nothing"),
        ("flops.model = N where N = 3, N = 4", FormulaError, "N is bound twice"),
        ("flops.model = a where a = c, c = a", FormulaError, "a uses c, which is bound beside it"),
        ("flops.model ≈ 3", FormulaError, "how near two sides are is not said"),
        ("flops.model <= 3 within 3 %", FormulaError, "within follows an equation"),
        ("flops.model = 3 within 3", FormulaError, "within is followed by a percentage"),
        ("flops.model = 3 as X -> oo", UnknownNameError, "unknown name 'X'"),
        ("flops.modle = 3", UnknownNameError, "unknown quantity 'flops.modle'"),
        ("2*params = 12*tokens", UnitError, "can be read in two ways"),
        ("flops.model = mfu where mfu = 2", UnitError, "mfu is above 1"),
        ("flops.model = B/D L", FormulaError, "it is unclear whether this stands below the line"),
    ],
)
def test_what_is_no_claim(text, kind, what):
    """Refusals by the grammar, by names and by units."""
    with pytest.raises(kind, match=what):
        sides(text)


def test_an_unknown_name_lists_what_is_known():
    """Sizes, quantities and bound names, and how to bind it."""
    with pytest.raises(UnknownNameError) as caught:
        read_claim("flops.model = 6*N*X where N = params", ["D", "B"], ["flops.model", "params"])
    assert str(caught.value) == (
        "unknown name 'X'\n"
        "  where     flops.model = 6*N*X where N = params\n"
        "                              ^\n"
        "  expected  sizes: B, D; quantities: flops.model, params; bound: N\n"
        "  got       X\n"
        "  fix       bind it: ... where X = FORMULA"
    )


def test_bound_names():
    """`--let` and `where` are one; order does not matter; what is hidden is told."""
    wanted = sides("flops.model = 6*params*tokens").right.expr
    for text, lets in (
        ("flops.model = c*N*T where N = params, T = tokens, c = 6", ()),
        ("flops.model = c*N*T where N = params", ("T = tokens", "c = a", "a = 6")),
        ("flops.model = c*N*T", ("c = 6", "N = params", "T = tokens")),
    ):
        assert same(sides(text, lets=lets).right.expr, wanted)
    notes = sides("flops.model = 6*N*D where N = params, D = tokens").notes
    assert "D is what D = ... binds, not the size of that name" in notes
    assert "h is a name here, not a unit; write hour for the unit" in sides("flops.model = 12h").notes
    for text in ("time.step <= 3 h", "time.step <= 3 GB/h/device"):
        with pytest.raises(AmbiguousError, match="h may be a name or the unit hour here"):
            sides(text)
    assert sides("memory.peak <= 80 GB + 3 GiB").notes == (
        "GB and GiB stand in one formula: 1 GiB = 1.0737 GB",
    )


def test_without_a_graph():
    """Letters are names; both sides are formulas."""
    found = resolve(read_claim("\\frac{6ND}{n \\cdot P} = 6*N*D/(n*P)", None))
    assert same(found.left.expr, found.right.expr)
    found = read_claim("72BLsh^2 = MFU*d_model*B*L*s where MFU = 1/2", None, declared=["h"])
    assert found.names == frozenset({*"BLsh", "d_model"})
    with pytest.raises(SymacctError):
        resolve(read_claim("flops.model = 3", ["B"], ["flops.model"]))


@pytest.mark.parametrize("depth", [3, 30])
def test_bound_names_do_not_hide_depth(depth):
    """A chain of fractions over names is as deep as the one written out."""
    lets = ["a0 = 1/(B + 1/3)", *(f"a{n} = 1/(B + a{n - 1})" for n in range(1, depth))]
    text = f"B = a{depth - 1}"
    if depth < 5:
        sides(text, lets=lets)
    else:
        with pytest.raises(FormulaError, match="nested too deeply"):
            sides(text, lets=lets)
