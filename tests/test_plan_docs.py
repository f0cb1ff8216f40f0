"""The pages on plans and utilisation: each command does what stands beside it, each example runs."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from symacct.cli import main

DOCS = Path(__file__).parent.parent / "docs"
COMMAND = re.compile(r"^symacct (?P<words>[^#\n]*)(?:# (?P<said>.*))?$", re.MULTILINE)
SHELL = re.compile(r"^```bash\n(.*?)^```", re.DOTALL | re.MULTILINE)
PYTHON = re.compile(r"^```pycon\n(.*?)^```", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"\d[\d,.]*(?:e\d+)?")


def commands():
    """Yield the commands of both pages, with what is said of them."""
    for name in ("plan.md", "mfu.md"):
        for block in SHELL.findall((DOCS / name).read_text(encoding="utf-8")):
            for found in COMMAND.finditer(block):
                yield found["words"].strip(), (found["said"] or "").strip()


@pytest.mark.parametrize(("words", "said"), list(commands()))
def test_commands(words, said, capsys, monkeypatch):
    """It runs, and every number that stands beside it is in its output."""
    monkeypatch.setenv("COLUMNS", "160")
    quoted = re.findall(r'"([^"]*)"|(\S+)', words)
    assert main([one or other for one, other in quoted]) == 0
    out = capsys.readouterr().out
    for number in NUMBER.findall(said):
        assert number.rstrip(",.") in out


@pytest.mark.parametrize("name", ["plan.md", "mfu.md"])
def test_examples(name):
    """One after the other, with what they print."""
    text = (DOCS / name).read_text(encoding="utf-8")
    session = "\n".join(f"from fractions import Fraction\n{block}" for block in PYTHON.findall(text))
    test = doctest.DocTestParser().get_doctest(session, {}, name, name, 0)
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    runner.run(test, out=told.append)
    assert test.examples
    assert runner.failures == 0, "".join(told)
