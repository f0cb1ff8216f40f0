"""Python that a document names runs only where the command line says so; what it prints stays off stdout."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from symacct.cli.main import main
from symacct.errors import UsageError
from symacct.proof.judge import judge, judge_file
from symacct.readers.claim_files import read_claim_file
from symacct.readers.documents import documents
from symacct.sheet.layout import read_layout
from symacct.sheet.making import of_claims, of_layout

if TYPE_CHECKING:
    from pathlib import Path

NET = """
from pathlib import Path

from symacct import graph

Path(__file__).with_name("ran").touch()
print("loading")


@graph({"B": "rows", "D": "width"}, tokens="B")
def net(b):
    print("building")
    return b.linear(b.input("x", "B D"), "D -> E", E="D")
"""
CLAIM = '[[claim]]\nname = "one"\ngraph = "%s"\nclaim = "%s"\nexpect = "%s"\n'
DOCUMENTS = {
    "graph.toml": CLAIM % ("net.py:net", "params = D^2", "proved"),
    "file.toml": CLAIM % ("net.py", "params = D^2", "proved"),
    "refused.toml": CLAIM % ("net.py:net", "params = D^2", "refused"),
    "inside.toml": CLAIM % ("linear", "params(net.py) = D^2", "proved"),
    "quantity.toml": '[[section]]\ntitle = "s"\nrows = [{ quantity = "params", graph = "net.py:net" }]\n',
    "bench.toml": '[[section]]\ntitle = "s"\nrows = [{ claim = "one" }]\n[[bench]]\ngraph = "net.py:net"\n',
    "claims.toml": 'claims = ["graph.toml"]\n[[section]]\ntitle = "s"\nrows = [{ claim = "one" }]\n',
}
DOCUMENTS["bench.toml"] = 'claims = ["mlp.toml"]\n' + DOCUMENTS["bench.toml"]
BESIDE = {"mlp.toml": CLAIM % ("mlp", "params = params", "proved"), "net.py": NET, "other.py": NET}
CLAIMS = [name for name, text in DOCUMENTS.items() if "[[claim]]" in text]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (DOCUMENTS | BESIDE).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def commands():
    for name in CLAIMS:
        yield ("prove", name)
    for name in DOCUMENTS:
        yield ("sheet", name)
    yield ("sheet", "quantity.toml", "-o", "made.html")
    yield ("sheet", "graph.toml", "other.py:net")


@pytest.mark.parametrize("words", [*commands()], ids=" ".join)
def test_a_document_runs_no_python(words, folder, capsys):
    """The status is that of wrong input, whatever the claim expects, and the fix is named."""
    assert main(list(words)) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "--run-python" in shown.err
    assert "net.py" in shown.err
    assert not (folder / "made.html").exists()
    assert (folder / "ran").exists() is ("other.py:net" in words)


@pytest.mark.few(5)
@pytest.mark.parametrize("words", [*commands()], ids=" ".join)
def test_it_runs_where_that_is_said(words, folder, capsys):
    """The flag allows every file that the document names."""
    assert main([*words, "--run-python"]) == int("refused.toml" in words)
    assert (folder / "ran").exists()
    assert "building" not in capsys.readouterr().out


@pytest.mark.few(4)
@pytest.mark.parametrize("name", ["graph.toml", "claims.toml", "quantity.toml", "file.toml"])
@pytest.mark.parametrize("file", ["net.py:net", "net.py", "./net.py:net"])
def test_a_file_that_is_named_beside_the_document_runs(name, file, folder):
    """The same file, however its path is written; another one is refused above."""
    assert main(["sheet", name, file]) == 0


def test_the_flag_has_no_meaning_without_a_document(folder, capsys):
    """What stands on the command line runs anyway."""
    assert main(["prove", "net.py:net", "params = D^2", "--run-python"]) == 2
    assert "no meaning" in capsys.readouterr().err
    assert main(["prove", "net.py:net", "params = D^2"]) == 0
    assert main(["prove", "linear", "params(net.py) = D^2"]) == 0


def test_python_too_asks_for_leave(folder):
    """The functions under the commands refuse, and run inside of a context that allows it."""
    file = read_claim_file(folder / "graph.toml")
    layout = read_layout(folder / "quantity.toml")
    for call in (
        lambda: judge_file(file),
        lambda: judge(file.claims[0], folder),
        lambda: of_claims([file]),
        lambda: of_layout(layout),
    ):
        with pytest.raises(UsageError, match="is not run"):
            call()
        assert not (folder / "ran").exists()
    with documents(every=True):
        assert all(one.ok for one in judge_file(file))
        assert of_layout(layout).rows
    with documents(["net.py:net"]):
        assert judge(file.claims[0], folder).ok


def test_what_a_graph_prints_is_no_part_of_the_output(folder, capsys):
    """JSON stays JSON; the words are on the other stream."""
    for words in (("derive", "net.py", "--only", "params"), ("show", "net.py:net")):
        assert main([*words, "--format", "json"]) == 0
        shown = capsys.readouterr()
        json.loads(shown.out)
        assert "loading" in shown.err
        assert "building" in shown.err
