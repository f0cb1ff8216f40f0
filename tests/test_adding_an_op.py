"""The op that the documentation adds, tested as every op is."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import test_ops as every
import torch
from examples import Call, as_torch, inputs
from expected_counts import rows
from tape import size, xp64

from symacct import Builder, derive
from symacct.algebra.symbols import symbol
from symacct.ops.elementwise_table import DERIVATIVES, ROWS, TABLE, parts
from symacct.tensor import value

if TYPE_CHECKING:
    from types import ModuleType

PAGE = (Path(__file__).parent.parent / "docs" / "adding-an-op.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```py(?:thon)?\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
CHECKS = [name for name, one in vars(every).items() if "example" in getattr(one, "__annotations__", ())]
B, S = symbol("B"), symbol("S")
X = value(("B", "S"), (B, S))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The page's file, as a module."""
    file = tmp_path_factory.mktemp("ops") / "cumsum.py"
    file.write_text(BLOCKS[0], encoding="utf-8")
    spec = importlib.util.spec_from_file_location("added_cumsum", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", [name for name in CHECKS if name.startswith("test_")])
def test_it_passes_what_every_op_passes(name: str, page: ModuleType) -> None:
    """Each check of the registry, on each of its examples."""
    for example in page.CumSum.examples():
        getattr(every, name)(example)


def test_it_is_registered_by_standing_there(page: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is put into the folder is found, without a list."""
    import symacct.ops as package

    folder = str(Path(page.__file__).parent)
    monkeypatch.setattr(package, "__path__", [*package.__path__, folder])
    found = {kind.__name__ for kind in package._found()}
    assert found - {kind.__name__ for kind in package.OPS} == {"CumSum"}


def test_its_counts_are_the_ones_of_the_page(page: ModuleType) -> None:
    """An add for each element and a chain for each row, forward and backward."""
    row = eval(BLOCKS[2].strip().removeprefix("CumSum: ").removesuffix(","), {"rows": rows})  # noqa: S307
    op = page.CumSum("S")
    assert row(op, (X,), (X,)) == op.counts((X,), (X,)) == {"add": B * S, "chain": B}
    b = Builder("g", "B S")
    (y,) = b.apply(op, b.input("x", "B S", grad=True), label="sums")
    work = derive(b.build(y)).work
    assert [(row.phase, row.primitive, row.expr) for row in work] == [
        (phase, primitive, count)
        for phase in ("forward", "backward")
        for primitive, count in (("add", B * S), ("chain", B))
    ]


def test_its_values_are_those_of_torch(page: ModuleType) -> None:
    """From either end."""
    for example in page.CumSum.examples():
        (x,) = (as_torch(t, a) for t, a in zip(example.ins, inputs(example), strict=True))
        (y,) = example.op.run(Call(xp64(), [x], example.ins, example.ins, size))
        expected = x.cumsum(1) if not example.op.reverse else x.sum(1, keepdim=True) - x.cumsum(1) + x
        torch.testing.assert_close(y, expected)


def test_the_page_says_how_much_it_takes() -> None:
    """Its lines, with the import of the class and the line of the other page."""
    lines = len(BLOCKS[0].splitlines()) + len(BLOCKS[1].splitlines()) + 2
    assert f"Three places and\n{lines} lines in all" in PAGE


def test_a_row_of_the_table_needs_no_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The function of the page, put into the table, counts what it runs."""
    space: dict[str, Any] = {}
    exec(BLOCKS[3], space)  # noqa: S102 (a page's own block)
    for table in (TABLE, ROWS):
        monkeypatch.setitem(table, "softplus", space["FUNCTIONS"]["softplus"])  # type: ignore[arg-type]
    for table in (DERIVATIVES, ROWS):
        monkeypatch.setitem(table, "softplus_grad", space["DERIVATIVES"]["softplus_grad"])  # type: ignore[arg-type]
    assert parts("softplus") == {"exp": 1, "add": 1, "log": 1}
    assert parts("softplus_grad") == {"sigmoid": 1, "mul": 1}
    parts.cache_clear()
