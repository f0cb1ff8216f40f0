"""The documentation: no word of the builder is left out, and the files about the whole agree."""

from __future__ import annotations

import re
from pathlib import Path

from symacct import Builder, __version__
from symacct.cli.main import VERBS
from symacct.ops.elementwise_table import TABLE

DOCS = Path(__file__).parent.parent / "docs"


def test_no_word_of_the_builder_is_left_out():
    """Every public method, and every function that it offers by name."""
    text = (DOCS / "writing-a-graph.md").read_text(encoding="utf-8")
    methods = [name for name in dir(Builder) if not name.startswith("_")]
    missing = [name for name in (*methods, *TABLE) if not re.search(rf"\bb\.{name}\b", text)]
    assert not missing


def test_changelog_and_citation_name_the_version():
    """The package, the changelog and the citation file agree, and every verb is in the changelog."""
    root = DOCS.parent
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {__version__}" in changelog
    assert f"\nversion: {__version__}\n" in (root / "CITATION.cff").read_text(encoding="utf-8")
    assert not [verb for verb in VERBS if f"`{verb}`" not in changelog]
