"""Live pages as data: formulas as trees, sizes at the start, calculations, layouts with benches, refusals."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from sympy import Sum, cos
from sympy import symbols as sympy_symbols

from symacct.algebra.condition import Condition
from symacct.algebra.symbols import as_expr, index_symbol, symbol
from symacct.cli import main
from symacct.errors import ReadError, RuleError, SizeError, UnknownNameError
from symacct.machines import load as load_machine
from symacct.machines import names as machine_names
from symacct.readers.stated import Stated
from symacct.sheet.data import Section, Sheet
from symacct.sheet.from_claims import Claims
from symacct.sheet.layout import read_layout
from symacct.sheet.page import page_data, page_json
from symacct.sheet.page.expression import prefix
from symacct.sheet.page.starts import start_of

MACHINES = Path(__file__).parent.parent / "machines"
B, D, L = symbol("B"), symbol("D"), symbol("L")


def of(*stated):
    claims = Claims()
    return Sheet("", "", (Section("", tuple(claims.row(one, Path()) for one in stated)),))


def claim(text, **more):
    return Stated("one", "one", claim=text, **{"expect": "proved", **more})


def test_each_kind_of_node():
    n = index_symbol("n")
    expr = Sum(1 / (n + 1), (n, 0, L - 1))
    assert prefix(expr).plain() == [
        "sum",
        "n",
        "0",
        ["+", "-1", {"s": "L"}],
        ["^", ["+", "1", {"s": "n"}], "-1"],
    ]
    assert prefix(L ** as_expr(Fraction(1, 2))).plain() == ["^", {"s": "L"}, "1/2"]


def test_a_node_that_no_script_evaluates_is_refused():
    with pytest.raises(RuleError, match="cos"):
        prefix(cos(sympy_symbols("x")))


def test_the_order_of_a_sum_is_that_of_its_text():
    assert prefix(B + D).plain() == prefix(D + B).plain() == ["+", {"s": "B"}, {"s": "D"}]


def test_a_claim_has_both_sides_and_its_conditions():
    (row,) = page_data(of(claim("flops.model = 6*B*D^2*L - 2*B*D^2", graph="deep_linear")))["rows"]
    made = row["variants"][""]
    assert (row["scope"], row["uses"]) == ("deep_linear", ["B", "D", "L"])
    assert [one["label"] for one in made["results"]] == ["claimed", "right"]
    assert {one["unit"] for one in made["results"]} == {"FLOP"}


def test_sides_that_are_no_equation_about_a_quantity_are_left_and_right():
    (row,) = page_data(of(claim("2*n*k <= n^2 + k^2")))["rows"]
    assert [one["label"] for one in row["variants"][""]["results"]] == ["left side", "right side"]
    assert row["scope"] == "row:r1"


def test_a_region_is_a_condition():
    (row,) = page_data(of(claim("max(B, D) = B if B >= D, D | B")))["rows"]
    assert {one["form"] for one in row["variants"][""]["conditions"]} == {">=", "|"}


def test_a_claim_at_sizes_starts_there_and_is_general():
    stated = claim(
        "memory.parameters = 128 byte", graph="linear", at="B=1,D=4,K=8", choices=(("precision", "fp32"),)
    )
    data = page_data(of(stated))
    assert {one["name"]: one["value"] for one in data["scopes"]["linear"]["sizes"]} == {"D": "4", "K": "8"}
    assert data["rows"][0]["uses"] == ["D", "K"]


@pytest.mark.parametrize("text", ["1 TFLOP = 1 TFLOP/s", "flops.nothing = 1"])
def test_what_is_refused_has_no_calculator(text):
    assert page_data(of(claim(text, expect="refused", graph="linear")))["rows"] == []


def test_numbers_of_a_calculation_become_inputs():
    stated = Stated(
        "one", "one", calc="N * 989.5 TFLOP/s * 50 % / (2 * n^2)", to="TFLOP/s", let=("N = 1024", "n = 3"),
        expect="reported",
    )  # fmt: skip
    row = of(replace(stated, expect="proved"))
    data = page_data(row)
    sizes = data["scopes"]["row:r1"]["sizes"]
    assert [(one["label"], one["value"], one.get("unit", "")) for one in sizes] == [
        ("N", "1024", ""), ("n", "3", ""), ("989.5 TFLOP/s", "989.5", "TFLOP/s"),
        ("50 %", "50", "%"), ("2", "2", ""),
    ]  # fmt: skip
    assert not any(one["integer"] for one in sizes)
    assert data["rows"][0]["variants"][""]["results"][0]["unit"] == "TFLOP/s"


def test_rates_of_a_machine_are_reals_with_units():
    stated = claim(
        "time.forward = max(4*B*D/W_mem, B*D/V_bf16)", graph="relu", choices=(("workload", "forward"),)
    )
    sizes = {one["name"]: one for one in page_data(of(stated))["scopes"]["relu"]["sizes"]}
    assert sizes["W_mem"]["integer"] is False
    assert Fraction(sizes["W_mem"]["value"]) == load_machine("h100-sxm").bandwidth.value
    assert sizes["B"]["integer"] is True


def test_machines_are_exact_and_those_without_numbers_are_left_out():
    found = {one["name"]: one for one in page_data(Sheet("", "", ()))["machines"]}
    assert set(machine_names()) - set(found) == {"cpu"}
    for name, one in found.items():
        machine = load_machine(name)
        assert {k: Fraction(v) for k, v in one["peaks"].items()} == {
            d: machine.peak(d).value for d in machine.dtypes()
        }
        for figure in ("bandwidth", "capacity"):
            known = getattr(machine, figure)
            assert one[figure] == ("" if known is None else str(known.value))


def test_json_closes_no_script_and_is_the_same_each_time():
    sheet = of(claim("2*n*k <= n^2 + k^2"))
    sheet = replace(sheet, sections=(*sheet.sections,))
    text = page_json(sheet)
    assert "<" not in text
    assert text == page_json(of(claim("2*n*k <= n^2 + k^2")))
    assert json.loads(text) == page_data(sheet)


def test_starts_satisfy_conditions_that_can_hold_together():
    k = symbol("k")
    conditions = [
        Condition("divides", k, L),
        Condition("at_least", L / k, as_expr(3)),
        Condition("at_least", B, 4 * D),
    ]
    found = start_of(["B", "D", "L", "k"], {"D": 100}, conditions, ["L"])
    assert found["D"] == 100
    assert all(one.holds(found) for one in conditions)
    never = [Condition("at_least", B, D + 1), Condition("at_least", D, B + 1)]
    assert start_of(["B", "D"], {}, never).keys() == {"B", "D"}


LAYOUT = """\
title = "mine"
sizes = { linear = "B=2,D=3,K=4" }
[[bench]]
graph = "linear"
%s
[[section]]
title = "one"
rows = [{ quantity = "flops.model", graph = "linear" }]
"""


def test_a_layout_names_benches_and_sizes(tmp_path):
    from symacct.sheet.making import of_layout

    file = tmp_path / "mine.toml"
    file.write_text(LAYOUT % 'title = "a product"')
    data = page_data(of_layout(read_layout(file)))
    (bench,) = data["benches"]
    assert (bench["id"], bench["title"], bench["scope"]) == ("b1", "a product", "linear")
    assert {one["name"]: one["value"] for one in data["scopes"]["linear"]["sizes"]} == {
        "B": "2",
        "D": "3",
        "K": "4",
    }
    refused = [one for one in bench["variants"].values() if not isinstance(one, str) and one["note"]]
    assert all(not one["quantities"] for one in refused)


@pytest.mark.parametrize(
    ("line", "error"), [("colour = 'red'", ReadError), ("optimizer = 'sgdd'", UnknownNameError)]
)
def test_a_bench_that_cannot_be_is_refused(tmp_path, line, error):
    from symacct.sheet.making import of_layout

    file = tmp_path / "mine.toml"
    file.write_text(LAYOUT % line)
    with pytest.raises(error):
        of_layout(read_layout(file))


def test_a_page_starts_with_the_machine_it_was_made_for(tmp_path, monkeypatch):
    """``--on`` with a machine of one's own: it leads the list, and the shipped ones stay to be chosen."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "mine.toml").write_text((MACHINES / "l40s.toml").read_text("utf-8"), "utf-8")
    page = tmp_path / "page.html"
    monkeypatch.chdir(tmp_path)
    assert main(["sheet", "linear", "--on", "mine", "--machines", "own", "-o", str(page)]) == 0
    held = re.search(r'id="sheet-data">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    data = json.loads(held[1])
    names = [machine["name"] for machine in data["machines"]]
    assert data["machine"] == names[0] == "mine"
    assert {"h100-sxm", "l40s"} < set(names)
    assert data["machines"][0]["bandwidth"] == str(864 * 10**9)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"gpt": {"b": 8}}, ""),
        ({"gpt": {"b": 0}}, "a page starts from sizes of 1 or more"),
        ({"gpt": {"zz": 8}}, "unknown size 'zz'"),
        ({"nosuch": {"b": 3}}, "unknown graph of this sheet 'nosuch'"),
    ],
)
def test_sizes_to_start_from_are_those_of_a_graph_on_the_page(sizes, words):
    sheet = replace(of(claim("flops.model >= 6*b*s*h*V", graph="gpt")), sizes=sizes)
    if not words:
        scope = page_data(sheet)["scopes"]["gpt"]["sizes"]
        assert {one["name"]: one["value"] for one in scope}["b"] == "8"
        return
    with pytest.raises((SizeError, UnknownNameError), match=words):
        page_data(sheet)


def test_an_order_of_growth_is_no_amount():
    """L in O(L) is a number; what it bounds is bytes."""
    (row,) = page_data(of(claim("memory.activations = O(L)", graph="deep_linear")))["rows"]
    results = row["variants"][""]["results"]
    assert [(one["label"], one["unit"]) for one in results] == [("left side", "byte"), ("order", "1")]
