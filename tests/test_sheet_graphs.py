"""Sheets of graphs: formulas that are too long, short sections, pages, titles, what is not broken."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
import tex

from symacct import derive
from symacct.cli.main import main
from symacct.readers.files import load
from symacct.sheet.data import Row, Section, Sheet, Words
from symacct.sheet.examples import of_account as example_sizes
from symacct.sheet.from_accounts import quantity_rows
from symacct.sheet.html import html_of
from symacct.sheet.markdown import markdown_of
from symacct.sheet.plain import text_of
from symacct.sheet.tex import tex_of

FILE = """
from symacct import graph

@graph({"B": "rows", "D": "width", "E": "outputs"})
def net(b):
    \"\"\"Three layers.\"\"\"
    x = b.linear(b.input("x", "B D"), "D -> E", name="one", bias=True)
    return b.softmax(b.linear(b.gelu(x), "E -> D", name="two", bias=True), "D")
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    (tmp_path / "my net.py").write_text(FILE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    return "my net.py"


def terms_of(text):
    """How many terms a sum has that was printed without brackets."""
    return len(re.findall(r" [+-] ", text)) + 1


@pytest.mark.few(1)
@pytest.mark.parametrize("target", ["mla", "gpt", "llama", "moe"])
def test_a_long_row_counts_terms_above_and_below(target):
    """Against the texts that derive prints: signs counted in the two sums of a fraction."""
    account = derive(load(target))
    for row in quantity_rows(account, {}, [], target=target):
        said = "".join(item.text for item in row.formula if hasattr(item, "code"))
        if "derive" not in said:
            continue
        numbers = [int(one) for one in re.findall(r"(\d+) terms?", said)]
        above, slash, below = str(account[row.quantity].expr).partition(")/(")
        assert numbers == [terms_of(one) for one in ((above, below) if slash else (above,))]
        assert "1 terms" not in said


def test_a_long_row_names_the_graph_as_it_was_typed(file, capsys, monkeypatch):
    monkeypatch.setattr("symacct.sheet.from_accounts.LONGEST_CARD", 10)
    assert main(["sheet", file, "--rows", "intensity"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"\d+ terms over \d+ terms; symacct derive 'my net.py' shows them", out)
    assert main(["sheet", file, "--rows", "intensity", "--lang", "zh"]) == 0
    assert re.search(r"\d+ 项比 \d+ 项；symacct derive 'my net.py' 列出各项", capsys.readouterr().out)
    assert main(["derive", file]) == 0


def test_one_term_is_one_term(monkeypatch):
    monkeypatch.setattr("symacct.sheet.from_accounts.LONGEST_CARD", 3)
    row = quantity_rows(derive(load("linear")), {}, ["flops.forward.matmul"])[0]
    shown = text_of(Sheet("t", "", (Section("s", (row,)),)), 200)
    assert " 1 term; symacct derive linear shows them" in shown


# ---- pages ----

PDFINFO = shutil.which("pdfinfo")
CLAIMS = """
[[claim]]
name = "wrong everywhere {0}"
graph = "gpt"
claim = "params.matmul = {0}*L*h"
expect = "refuted"
"""


@tex.needs("pdflatex")
@pytest.mark.parametrize(("count", "pages"), [(2, 1), (90, None)])
def test_a_card_of_more_pages_says_how_to_shorten_it(tmp_path, capsys, count, pages):
    """Against the objects of the PDF where it is not packed: what pdfinfo counts, if it is there."""
    file, made = tmp_path / "many.toml", tmp_path / "card.pdf"
    file.write_text("".join(CLAIMS.format(place) for place in range(3, 3 + count)), encoding="utf-8")
    assert main(["sheet", str(file), "-o", str(made)]) == 0
    err = capsys.readouterr().err
    found = re.search(r"note: this card has (\d+) pages", err)
    assert bool(found) == (pages is None)
    assert ("--rows params" in err) == (pages is None)
    if PDFINFO:
        said = subprocess.run([PDFINFO, str(made)], capture_output=True, text=True, check=True).stdout
        assert int(re.search(r"Pages:\s+(\d+)", said)[1]) == (int(found[1]) if found else pages)


@pytest.mark.long
@pytest.mark.skipif(not PDFINFO, reason="no pdfinfo")
@pytest.mark.parametrize("engine", tex.NEEDED)
def test_a_pdf_has_a_title_with_any_engine(tmp_path, engine):
    if engine not in tex.engines():
        pytest.skip(f"no {engine} here with all that a sheet asks for")
    sheet = Sheet("100 % of √L (½)", "", (Section("s", (Row("a", (Words("b"),)),)),))
    (tmp_path / "s.tex").write_text(tex_of(sheet), encoding="utf-8")
    subprocess.run([engine, "-interaction=batchmode", "s.tex"], cwd=tmp_path, check=True, capture_output=True)
    said = subprocess.run([PDFINFO, "s.pdf"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert re.search(r"Title:\s+100 % of √L \(½\)\n", said)


# ---- what stands together ----


def test_a_graph_has_short_sections_and_says_once_what_it_is(file, capsys):
    assert main(["sheet", file]) == 0
    out = capsys.readouterr().out
    titles = ["net: parameters and tokens", "net: work", "net: bytes moved", "net: memory"]
    assert [line for line in out.splitlines() if line.startswith("net: ")] == titles
    assert out.count("Three layers.") == 1


def test_a_title_that_is_that_of_the_sheet_stands_once(tmp_path):
    rows = (Row("a", (Words("b"),)),)
    once, twice = (Sheet("lengths", "", (Section(one, rows),)) for one in ("lengths", "others"))
    for made in (tex_of, markdown_of, html_of, text_of):
        assert len(re.findall(r"head\{lengths|<h2>lengths|^## lengths", made(once), re.MULTILINE)) == 0
        assert "others" in made(twice)
    assert text_of(once).count("lengths") == 1


@pytest.mark.parametrize(("lang", "said"), [("en", "refuted, e.g. at"), ("zh", "不成立，反例")])
def test_a_counterexample_stands_behind_its_verdict(tmp_path, capsys, monkeypatch, lang, said):
    monkeypatch.setenv("COLUMNS", "300")
    file = tmp_path / "one.toml"
    wrong = '[[claim]]\nname = "n"\ngraph = "deep_linear"\nclaim = "params = D^2*L^2 + 1"\nexpect = "refuted"'
    file.write_text(wrong, encoding="utf-8")
    assert main(["sheet", str(file), "--lang", lang]) == 0
    assert said in capsys.readouterr().out
    assert main(["sheet", str(file), "--lang", lang, "-o", str(tmp_path / "one.tex")]) == 0
    tex = (tmp_path / "one.tex").read_text(encoding="utf-8")
    assert re.search(r"D = 1\s*,\\allowbreak\\\s+L = 1", tex)


# ---- full sheets ----


@pytest.mark.parametrize(("lang", "said"), [("en", "meaning"), ("zh", "含义")])
def test_symbols_have_columns_of_their_own(file, tmp_path, lang, said):
    others = "quantity" if lang == "en" else "结论"
    for ending in (".txt", ".md", ".html", ".tex"):
        made = tmp_path / f"s{ending}"
        words = ["--style", "full", "--rows", "flops.forward", "--lang", lang, "-o", str(made)]
        assert main(["sheet", file, *words]) == 0
        text = made.read_text(encoding="utf-8")
        start = text.rindex(">", 0, text.index(said)) if ending == ".html" else 0
        assert text.index(said, start) < text.index(others, start)


@pytest.mark.few(3)
@pytest.mark.parametrize("target", ["gpt", "llama", "moe", "mla", "attention", "nanogpt"])
def test_example_sizes_are_those_of_a_small_model(target):
    """Few heads and experts, a head of several features, fewer key-value heads than heads."""
    account = derive(load(target))
    sizes, meanings = example_sizes(account), account.graph.sizes
    few = [
        sizes[name] for name in sizes if re.search(r"heads|experts", meanings.get(name, "").partition(";")[0])
    ]
    assert few
    assert all(size <= 16 for size in few)
    assert sizes.get("h", 64) // sizes.get("a", 8) >= 4
    assert all(one.holds(sizes) for one in account.conditions)
    assert sizes == example_sizes(derive(load(target)))


@pytest.mark.few(1)
@pytest.mark.parametrize("target", ["gpt", "mlp", "llama"])
def test_no_step_says_that_a_formula_is_itself(capsys, monkeypatch, target):
    """In the words of the sheet: neither side of a sign of equality is the other."""
    monkeypatch.setenv("COLUMNS", "2000")
    assert main(["sheet", target, "--style", "full", "--rows", "params,flops.model"]) == 0
    for line in capsys.readouterr().out.splitlines():
        parts = [one.partition(" [")[0].strip() for one in line.rpartition("  ")[2].split(" = ")]
        assert len(set(parts)) == len(parts), line
