"""Reports: shares, conditions, small cases, wrapping, and every format against the account itself."""

import csv
import io
import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import Integer

from symacct import report
from symacct.account import derive
from symacct.algebra.condition import Condition
from symacct.algebra.normal import normal, same
from symacct.build import Builder
from symacct.errors import UnknownNameError
from symacct.evaluation.timing import QUANTITIES as ON_MACHINE
from symacct.execution.sizes import choose_sizes
from symacct.nodes import repeat_counts
from symacct.printers import text
from symacct.readers.files import list_graphs, load
from symacct.report.conditions import said
from symacct.report.explain import explanation
from symacct.report.factor import factored
from symacct.report.figures import percent, rounded, scaled, shares, valued
from symacct.report.names import GROUPS, MEANINGS
from symacct.report.outline import outline
from symacct.report.page import html_of
from symacct.report.plain import markdown_of, text_of
from symacct.report.quantities import csv_of
from symacct.report.summary import summary, view
from symacct.report.table import Column, Table, as_markdown, as_text, breadth, wrap
from symacct.report.tex import latex_of
from symacct.syntax import read_formula
from symacct.terms import QUANTITIES

GRAPHS = [entry.name for entry in list_graphs()]


def carrying_two():
    """A graph whose formulas hold for two layers or more: the last iteration differs from the rest."""
    b = Builder("two", {"B": "rows", "D": "features", "L": "layers"})

    def layer(x, y):
        w, v = b.weight("w", "D E", E="D"), b.weight("v", "D E", E="D")
        return b.einsum("B D, D E -> B E", x, w), b.einsum("B D, D E -> B E", y + x, v)

    return b.build(b.repeat("L", layer, (b.input("x", "B D"), b.input("y", "B D")))[1])


@pytest.fixture(scope="module")
def chain():
    return derive(load("deep_linear"), optimizer="adamw")


def names_in(made):
    return [line.name for line in made.lines]


def test_every_quantity_has_a_meaning_and_a_place():
    known = {*QUANTITIES, *ON_MACHINE}
    assert set(MEANINGS) == known
    placed = [name for group in GROUPS for name in group.names]
    assert len(placed) == len(set(placed))
    short = {name for name in QUANTITIES if name.startswith("flops") and name.count(".") == 1}
    assert set(placed) == known - short


@pytest.mark.few(6)
@pytest.mark.parametrize("name", GRAPHS)
def test_parts_of_a_section_add_up_to_its_total(name):
    account = derive(load(name), optimizer="adamw")
    for group in GROUPS:
        parts = [part for part in group.parts if part in account.names()]
        if group.total in account.names():
            assert same(sum((account[part].expr for part in parts), Integer(0)), account[group.total].expr)


@pytest.mark.few(7)
@pytest.mark.parametrize("name", GRAPHS)
def test_terms_add_up_and_values_agree_with_a_second_derivation(name):
    account = derive(load(name))
    sizes = choose_sizes(account.graph, account.conditions)
    made = explanation(account, ["flops.model.all", "memory.activations"], sizes)
    for section in made.sections:
        *lines, whole = section.lines
        terms = [line for line in lines if line.level]
        assert same(sum((line.expr for line in terms), Integer(0)), whole.expr)
        assert (
            sum((line.value for line in terms), Integer(0)) == whole.value == account.value(whole.name, sizes)
        )
        assert (whole.share or 0) == (1000 if whole.value else 0)
        for line in lines:
            exact = Fraction(1000 * int(line.value), int(whole.value)) if whole.value else Fraction(0)
            assert 2 * line.share <= 2 * exact + 1 < 2 * line.share + 2, (section.title, line.name)


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=12))
def test_each_share_is_rounded_by_itself(parts):
    found = shares([Integer(part) for part in parts], Integer(sum(parts)))
    if sum(parts) == 0:
        assert found == [0] * len(parts)
        return
    exact = [Fraction(1000 * part, sum(parts)) for part in parts]
    assert all(-1 <= 2 * (true - part) < 1 for true, part in zip(exact, found, strict=True))
    assert len({*zip(parts, found, strict=True)}) == len({*parts}), "what is equal has equal shares"


def test_a_share_that_depends_on_sizes_is_left_out(chain):
    lines = {line.name: line for line in summary(chain).lines}
    assert lines["flops.forward.matmul"].share is None
    assert lines["memory.optimizer"].share == 667
    at = {line.name: line for line in summary(chain, {"B": 8, "D": 4, "L": 2}).lines}
    assert at["flops.forward.matmul"].share == 400


def test_a_value_below_a_condition_is_the_exact_small_case():
    account = derive(carrying_two())
    assert [said(one) for one in account["flops.model"].when] == ["L >= 2"]
    shown = view(account, {"B": 2, "D": 3, "L": 1}, ["flops.model"])
    assert [said(one) for one in shown.small] == ["L >= 2"]
    made = summary(account, {"B": 2, "D": 3, "L": 1})
    line = next(line for line in made.lines if line.name == "flops.model.matmul")
    unrolled = derive(carrying_two().bind({"L": 1}))["flops.model"].expr
    assert same(line.expr, unrolled)
    assert line.value == unrolled.subs({one: {"B": 2, "D": 3}[one.name] for one in unrolled.free_symbols})
    small = dict(made.facts)["small"]
    assert small == "the general formulas want L >= 2; these are the exact ones for L = 1, derived apart"
    assert "small" not in dict(summary(account, {"B": 2, "D": 3, "L": 2}).facts)


@pytest.mark.parametrize(
    ("left", "right", "shown"),
    [
        ("L - 2", "0", "L >= 2"),
        ("1024", "S", "S <= 1024"),
        ("B", "D + 1", "B >= D + 1"),
        ("0", "3 - B*D", "B*D >= 3"),
    ],
)
def test_conditions_read_as_people_write_them(left, right, shown):
    names = ["B", "D", "L", "S"]
    condition = Condition("at_least", read_formula(left, names), read_formula(right, names))
    assert said(condition, names) == shown


def test_other_conditions_stay_as_they_are():
    graph = load("gpt")
    assert [said(one, graph.order) for one in graph.conditions if one.kind == "divides"] == ["a divides h"]


def test_no_layers_at_all_cost_nothing(chain):
    made = summary(chain, {"B": 8, "D": 4, "L": 0})
    values = {line.name: line.value for line in made.lines}
    assert values["flops.model.matmul"] == values["memory.static"] == 0
    assert dict(made.facts)["small"].startswith("the general formulas want L >= 1;")


def test_values_stay_formulas_where_a_size_is_free(chain):
    made = summary(chain, {"D": 4}, ["flops.model"])
    assert text(made.lines[0].value, made.order) == "96*B*L - 32*B"
    assert dict(made.facts)["free"] == "B, L: values that hold them stay formulas"


def test_a_graph_without_contractions_says_so():
    lines = {line.name: line for line in summary(derive(load("relu"))).lines}
    assert lines["flops.forward.matmul"].remark == "no contraction"
    assert not lines["flops.forward.all"].remark
    assert "0 (no contraction)" in text_of(summary(derive(load("relu")), None, ["flops.forward"]))


def test_an_unknown_quantity_names_the_nearest(chain):
    assert names_in(summary(chain, None, ["params.active"])) == ["params.active"]
    with pytest.raises(UnknownNameError) as error:
        summary(chain, None, ["params.activ"])
    assert str(error.value).endswith("fix       did you mean 'params.active'?")
    with pytest.raises(UnknownNameError):
        explanation(chain, ["flops"])


def test_sizes_that_differ_only_in_case_are_warned_about():
    b = Builder("pair", {"b": "rows", "B": "columns"})
    graph = b.build(b.einsum("b B, B -> b", b.input("x", "b B"), b.weight("w", "B")))
    facts = summary(derive(graph)).facts
    assert ("warning", "sizes B (columns) and b (rows) differ only in case") in facts


@pytest.mark.few(2)
@pytest.mark.parametrize("name", GRAPHS)
def test_factored_formulas_read_back_to_the_same(name):
    account = derive(load(name))
    counts, order = repeat_counts(account.graph), account.graph.order
    for quantity in account.names():
        expr = account[quantity].expr
        shown = text(factored(expr, counts), order)
        assert same(normal(read_formula(shown, order)), expr), quantity


def test_a_total_is_a_multiple_of_its_repeat():
    made = summary(derive(load("gpt")), None, ["params"])
    params = next(line for line in made.lines if line.name == "params")
    assert text(factored(params.expr, made.counts), made.order) == "L*(12*h^2 + 13*h) + s*h + h*V + 2*h"


FORMULA = st.lists(
    st.sampled_from(["6*B*D^2*L", "x", "layers/attention/core", "词表*B", "sqrt(a)/sqrt(h)"]), min_size=1
)


@given(FORMULA, st.integers(1, 60))
def test_wrapping_loses_nothing_and_keeps_the_width(parts, width):
    words = " + ".join(parts)
    lines = wrap(words, width)
    assert "".join("".join(lines).split()) == "".join(words.split())
    assert all(breadth(line) <= max(2, width) for line in lines)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_names_in_a_table_are_never_broken(width):
    """A long number beside a name takes no room from it; a name breaks after a slash alone."""
    names = ("memory.activations.peak", "layers/attention_norm/layernorm", "gradient of layers/matmul")
    table = Table((Column("term"), Column("value", breaks=False)), tuple((name, "9" * 40) for name in names))
    written = [line.split("  ")[0].strip() for line in as_text(table, width).splitlines()[2:]]
    assert set(written) <= {
        "memory.activations.peak", "layers/attention_norm/", "layernorm", "layers/attention_norm/layernorm",
        "gradient of", "layers/matmul", "gradient of layers/matmul",
    }  # fmt: skip


def test_a_text_that_hangs_is_filled_line_by_line():
    """Lines below the first are filled up to the width, broken at words, and joined to the same text."""
    words = "h (features; d = h/a of them in a head), L (layers), V (vocabulary), memory.activations.peak"
    for width in range(30, 90):
        first, *rest = wrap(words, width, "  ")
        assert all(line.startswith("  ") and breadth(line) <= width for line in rest)
        assert " ".join([first, *(line.strip() for line in rest)]) == words


@pytest.mark.parametrize("width", [60, 80, 132])
def test_text_keeps_to_its_width_and_loses_nothing(width):
    made = summary(derive(load("gpt"), optimizer="adamw"))
    table = text_of(made, width).split("\n\n", 1)[1]
    assert max(map(breadth, table.splitlines())) <= width
    squeezed = "".join(table.split())
    assert all(line.name in squeezed for line in made.lines if breadth(line.name) < 12)


def test_a_table_is_aligned_and_headings_stand_alone():
    rows = ("first", ("a", "1", ""), "  a remark", ("bb", "22", ""))
    table = Table((Column("name"), Column("n", right=True), Column("none")), rows).trimmed()
    assert as_text(table, 40).splitlines() == [
        "name   n",
        "----  --",
        "first",
        "a      1",
        "  a remark",
        "bb    22",
    ]
    assert as_markdown(table).splitlines()[2:4] == ["| **first** |  |", "| a | 1 |"]


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0, "FLOP", "0"),
        (999, "byte", "999"),
        (1000, "byte", "1,000 (1 kB, 0.977 KiB)"),
        (2**34, "byte", "17,179,869,184 (17.2 GB, 16 GiB)"),
        (999_999, "FLOP", "999,999 (1 MFLOP)"),
        (70 * 10**9, "parameter", "70,000,000,000 (70B)"),
        (12 * 10**23, "FLOP", "1,200,000,000,000,000,000,000,000 (1.2e24 FLOP)"),
    ],
)
def test_values_are_exact_with_a_scale(value, unit, shown):
    assert valued(Integer(value), unit) == shown


def test_fractions_are_exact_and_rounded():
    assert valued(Integer(1024) / 3, "FLOP/byte") == "1,024/3 (341 FLOP/byte)"
    assert rounded(Fraction(0)) == "0"
    assert scaled(Fraction(-5000), "FLOP") == "-5 kFLOP"
    assert percent(-15) == "-1.5%"


@pytest.mark.parametrize("name", ["deep_linear", "gpt", "moe"])
def test_csv_holds_the_formulas(name):
    account = derive(load(name))
    rows = list(csv.DictReader(io.StringIO(csv_of(summary(account)))))
    for row in rows:
        assert same(normal(read_formula(row["formula"], account.graph.order)), account[row["quantity"]].expr)
    terms = list(csv.DictReader(io.StringIO(csv_of(explanation(account, ["flops.forward.all"])))))
    labels = sorted(term.label for term in account.terms("flops.forward.all"))
    assert sorted(row["term"] for row in terms if row["term"]) == labels
    assert terms[-1]["quantity"] == "flops.forward.all"


def test_latex_is_a_balanced_tabular_with_escaped_names():
    account = derive(load("gpt"), workload="forward")
    made = latex_of(explanation(account, ["flops.forward.all"], {"b": 1, "s": 8}))
    body = [line for line in made.splitlines() if not line.startswith("%")]
    assert body[0].startswith("\\begin{tabular}")
    assert body[-1] == "\\end{tabular}"
    assert "attention\\_norm" in made
    for line in body[1:-1]:
        assert line.count("{") == line.count("}")
        assert line.count("$") % 2 == 0
        assert line == "\\hline" or line.endswith(" \\\\")
        assert line.startswith(("\\hline", "\\multicolumn")) or line.count("&") == 2


def test_notebooks_get_html_and_latex(chain):
    page = chain._repr_html_()
    assert page == report.html(chain) == html_of(summary(chain))
    assert page.count("<tr>") == page.count("</tr>")
    assert "<math>" in page
    assert chain._repr_latex_() == report.latex(chain)
    assert report.text(chain, 90) == text_of(summary(chain), 90)
    assert report.markdown(chain) == markdown_of(summary(chain))


def test_markdown_rows_have_one_width(chain):
    rows = [
        line
        for line in markdown_of(summary(chain, {"B": 1, "D": 2, "L": 3})).splitlines()
        if line.startswith("|")
    ]
    assert {row.count("|") for row in rows} == {5}


@pytest.mark.parametrize("name", GRAPHS)
def test_an_outline_names_every_node_and_everything_saved(name):
    account = derive(load(name))
    shown = outline(account, 10_000)
    from symacct.nodes import walk

    for node, _ in [*walk(account.graph.nodes), *walk(account.step.backward)]:
        assert node.label in shown
    for one in account.saved:
        assert f"{one.tensor.name} is saved for the gradient of {', '.join(one.readers)}" in shown


def test_json_text_has_no_floats():
    assert json.loads(json.dumps({"value": text(Integer(10) ** 40)}))["value"] == "1" + "0" * 40
