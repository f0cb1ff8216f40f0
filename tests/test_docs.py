"""The documentation: its examples run as they are written, and no word of the builder is left out."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from symacct import Builder
from symacct.ops.elementwise import TABLE

DOCS = Path(__file__).parent.parent / "docs"
BLOCK = re.compile(r"^```pycon\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", ["writing-a-graph.md", "memory-static.md"])
def test_the_examples_run(name):
    """One after the other, in one session, with what they print."""
    text = (DOCS / name).read_text(encoding="utf-8")
    session = "\n".join(f"{block}\n" for block in BLOCK.findall(text))
    test = doctest.DocTestParser().get_doctest(session, {}, name, name, 0)
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    runner.run(test, out=told.append)
    assert test.examples
    assert runner.failures == 0, "".join(told)


def test_no_word_of_the_builder_is_left_out():
    """Every public method, and every function that it offers by name."""
    text = (DOCS / "writing-a-graph.md").read_text(encoding="utf-8")
    methods = [name for name in dir(Builder) if not name.startswith("_")]
    missing = [name for name in (*methods, *TABLE) if not re.search(rf"\bb\.{name}\b", text)]
    assert not missing
