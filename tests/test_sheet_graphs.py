"""Sheets of graphs: what stands in the place of a formula that is too long."""

from __future__ import annotations

import re

import pytest

from symacct import derive
from symacct.cli.main import main
from symacct.readers.files import load
from symacct.sheet.data import Section, Sheet
from symacct.sheet.from_accounts import quantity_rows
from symacct.sheet.plain import text_of

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
