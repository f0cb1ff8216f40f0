"""The notebooks: each runs, and prints what is stored with it; nothing of the run is stored."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

FOLDER = Path(__file__).parent.parent / "notebooks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
PICTURES = ("image/png", "image/svg+xml")
STAMP = re.compile(r"20\d\d-\d\d-\d\dT|\"(execution\"|iopub|shell|transient|duration)")


def runner():
    """Return the module that runs them."""
    spec = importlib.util.spec_from_file_location("notebooks_run", FOLDER / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stored(name):
    """Return a notebook as it is stored."""
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def said(notebook):
    """Return what each cell shows, without the bytes of pictures."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            shown = {"text": output.get("text", ""), **output.get("data", {})}
            found.append((cell.id, {kind: text for kind, text in shown.items() if kind not in PICTURES}))
    return found


def test_there_are_five():
    """A story in each."""
    assert len(NAMES) == 5


@pytest.mark.long
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", NAMES)
def test_it_prints_what_is_stored(name):
    """Every cell, in a kernel of its own."""
    before, after = stored(name), runner().executed(FOLDER / f"{name}.ipynb")
    for one, other in zip(said(before), said(after), strict=True):
        assert other == one


@pytest.mark.parametrize("name", NAMES)
def test_what_is_stored(name):
    """Valid, short, run in order without an error, and nothing of the machine or the time."""
    notebook = stored(name)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert len(notebook.cells) <= 45
    assert not [output for cell in code for output in cell.outputs if output.output_type == "error"]
    assert not [output for cell in code for output in cell.outputs if output.get("name") == "stderr"]
    text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    assert not STAMP.search(text)
    assert not re.search(r"/(home|root|tmp|work|Users|usr)/", text)
    assert notebook.metadata.kernelspec.name == "python3"


@pytest.mark.parametrize("name", NAMES)
def test_storing_again_changes_nothing(name):
    """The file is what its own cleaning writes."""
    text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    assert nbformat.writes(runner().cleaned(stored(name))) + "\n" == text


def test_pieces_of_a_stream_are_joined():
    """How a kernel cuts what is printed is not stored."""
    pieces = [nbformat.v4.new_output("stream", name="stdout", text=text) for text in ("a\n", "b\n")]
    other = nbformat.v4.new_output("display_data", data={"text/plain": "c"})
    found = runner().joined([*pieces, other, pieces[0].copy()])
    assert [one.get("text") for one in found] == ["a\nb\n", None, "a\n"]


@pytest.mark.parametrize("given", ["1-lecture", "1-lecture.ipynb", "notebooks/1-lecture.ipynb"])
def test_a_notebook_is_run_by_its_name_or_its_file(monkeypatch, capsys, given):
    """With a run that does nothing, so that the file is what it was."""
    module = runner()
    monkeypatch.setattr(module, "executed", lambda path: path)
    monkeypatch.setattr(module.nbformat, "write", lambda _, __: None)
    module.main([given])
    assert re.fullmatch(r"1-lecture\.ipynb: stored, \d+ KiB\n", capsys.readouterr().out)


@pytest.mark.parametrize("given", ["nosuch", "1-lecture.py", ""])
def test_an_unknown_notebook_is_refused_with_those_that_are_there(given):
    """And nothing is run, whatever stands beside it."""
    module = runner()
    module.executed = None
    with pytest.raises(SystemExit, match="there is no notebook") as caught:
        module.main(["1-lecture", given])
    assert all(name in str(caught.value) for name in NAMES)
