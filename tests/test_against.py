"""A user's own module beside a graph: what agrees, what differs, and references that do not work."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

torch = pytest.importorskip("torch")

from symacct.build import Builder  # noqa: E402
from symacct.errors import UsageError  # noqa: E402
from symacct.execution.against import check_against  # noqa: E402

if TYPE_CHECKING:
    from symacct.nodes import Graph

SOURCE = """
import torch

class Net(torch.nn.Module):
    def __init__(self, d, f, bias):
        super().__init__()
        self.up = torch.nn.Linear(d, f, bias=bias)
        self.down = torch.nn.Linear(f, d, bias=bias)

    def forward(self, x):
        return {"out": self.down(torch.relu(self.up(x)))}

def net(sizes):
    return Net(sizes["D"], sizes["F"], False), (torch.randn(sizes["B"], sizes["D"]),)

def biased(sizes):
    return Net(sizes["D"], sizes["F"], True), (torch.randn(sizes["B"], sizes["D"]),)

def misfit(sizes):
    return Net(sizes["D"], sizes["F"], True), (torch.randn(sizes["B"], sizes["F"]),)

def failing(sizes):
    raise ValueError("no such size")

class Shifted(Net):
    def __init__(self, d, f):
        super().__init__(d, f, False)

    def forward(self, x):
        table = torch.linspace(0, 1, x.shape[-1])
        picked = torch.arange(x.shape[0]).repeat(2)
        return super().forward(x)["out"].index_select(0, picked) * table

def shifted(sizes):
    return Shifted(sizes["D"], sizes["F"]), (torch.randn(sizes["B"], sizes["D"]),)

def alone(sizes):
    return Net(2, 3, False)
"""


@pytest.fixture
def module(tmp_path: Path) -> str:
    """Write the module, and return its path."""
    path = tmp_path / "nets.py"
    path.write_text(SOURCE)
    return str(path)


def two_layers() -> Graph:
    """Return the graph of the module without biases."""
    b = Builder("two_layers", "B D F")
    hidden = b.relu(b.linear(b.input("x", "B D"), "D -> F", name="up"))
    return b.build(b.linear(hidden, "F -> D", name="down"))


def test_a_module_of_the_same_net_agrees(module: str) -> None:
    """FLOPs, parameters and saved bytes are the same."""
    result = check_against(two_layers(), f"{module}:net", {"B": 5})
    assert result.passed
    assert result.sizes["B"] == 5
    assert {row.what for row in result.rows} >= {"flops.backward.matmul", "params", "memory.activations"}


def test_a_bias_that_the_graph_has_not_is_a_difference(module: str) -> None:
    """The verdict says which quantity differs, and what it is made of on both sides."""
    result = check_against(two_layers(), f"{module}:biased", {"B": 5, "D": 2, "F": 3})
    assert not result.passed
    assert [row.what for row in result.rows if row.verdict == "differs"] == ["params", "params.trainable"]
    assert result.differences[:2] == (
        "params, derived: down/weight 6, up/weight 6", "params, counted: 17",
    )  # fmt: skip


def test_saved_tensors_that_the_graph_has_none_of_are_listed_by_shape(module: str) -> None:
    """Constants that a module makes for itself are kept for backward, and no tensor of the graph."""
    result = check_against(two_layers(), f"{module}:shifted", {"B": 5, "D": 2, "F": 3})
    assert not result.passed
    (line,) = [one for one in result.differences if one.startswith("counted, and of a size")]
    assert "[2] float32 of the module itself 1" in line
    assert "[10] int64 of the module itself 1" in line
    assert "[5, 3]" not in line
    assert any("rotary tables, position ids" in one for one in result.differences)


def test_a_module_in_the_current_directory_is_found(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a name, without its folder being on the path."""
    monkeypatch.chdir(Path(module).parent)
    monkeypatch.setattr("sys.path", list(sys.path))
    assert check_against(two_layers(), "nets:net").passed
    sys.modules.pop("nets")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (":misfit", "the module raised RuntimeError"),
        (":failing", "raised ValueError: no such size"),
        (":alone", "does not return a module and its inputs"),
        (":absent", "has no function absent"),
        ("", "--against needs a module and a function"),
    ],
)
def test_a_reference_that_does_not_work_is_an_error_that_names_it(module: str, name: str, text: str) -> None:
    """Nothing that a user's code raises is shown as a bug of ours."""
    with pytest.raises(UsageError, match=text):
        check_against(two_layers(), module + name, {"B": 5})


def test_a_module_that_cannot_be_imported_is_an_error() -> None:
    """The name is not that of a module."""
    with pytest.raises(UsageError, match="importing no_such_module raised ModuleNotFoundError"):
        check_against(two_layers(), "no_such_module:net")
