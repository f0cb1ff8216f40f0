"""The page of a lecture's numbers: each command runs, and each number stands in its output."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from symacct import derive, load
from symacct.algebra.evaluate import names_of
from symacct.cli import main
from symacct.evaluation.timing import quantity
from symacct.machines import load as machine

PAGE = Path(__file__).parent.parent / "docs" / "lecture-numbers.md"
ROW = re.compile(r"^\| (?P<what>[^|]+) \| (?P<number>[^|]+) \| `symacct (?P<words>[^`]+)` \|$", re.MULTILINE)
ROWS = [
    (one["words"], [part.strip() for part in one["number"].split(", ")])
    for one in ROW.finditer(PAGE.read_text(encoding="utf-8"))
]
STATUS = {"REFUTED": 1, "DOES NOT FIT": 1}


@pytest.mark.few(4)
@pytest.mark.parametrize(("words", "numbers"), ROWS, ids=[words[:60] for words, _ in ROWS])
def test_each_number_is_said_by_its_command(words, numbers, capsys, monkeypatch):
    """As a whole number of the output: 5 is not seen in 0.5, nor 448 in 4480."""
    monkeypatch.setenv("COLUMNS", "160")
    assert main(shlex.split(words)) == STATUS.get(numbers[0], 0)
    said = capsys.readouterr().out
    for number in numbers:
        assert re.search(rf"(?<![\w.]){re.escape(number)}(?![\w]|\.\d)", said), said


def test_every_row_is_read():
    """The table has as many rows as lines that start with a bar, without its head."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    assert len(ROWS) == len(lines) - 1


def test_no_capacity_in_a_time(tmp_path):
    """A step's time holds sizes, peaks and a bandwidth, and is there where no capacity is stated."""
    account = derive(load("mlp"), optimizer="adamw")
    names = set(names_of(quantity(account, None, "time.step").expr))
    assert {"P_bf16", "W_mem"} <= names
    assert all(name[:2] in {"P_", "V_", "W_"} for name in names - set(account.graph.order))
    text = """title = "a part"
    bandwidth = { value = 3.35, unit = "TB/s", source = "a sheet", date = "2024" }
    peaks = [{ dtype = "bf16", sparse = false, value = 989, unit = "TFLOP/s", source = "x", date = "2024" }]
    """
    held = 'capacity = { value = 80, unit = "GB", source = "a sheet", date = "2024" }\n'
    sizes = {"B": 64, "D": 512, "L": 4}
    times = set()
    for name, extra in (("without", ""), ("held", held)):
        path = tmp_path / f"{name}.toml"
        path.write_text(extra + text, encoding="utf-8")
        times.add(quantity(account, machine(str(path)), "time.step").value(sizes))
    assert len(times) == 1
