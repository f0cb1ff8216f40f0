"""The documentation: no word of the builder is left out, and the files about the whole agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from symacct import Builder, __version__
from symacct.cli.main import VERBS
from symacct.ops.elementwise_table import TABLE

DOCS = Path(__file__).parent.parent / "docs"
BESIDE = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")


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


def beside(name):
    """A text of the root folder."""
    return (DOCS.parent / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", BESIDE)
def test_pages_beside_the_readme_name_what_is_there(name):
    """Each link, and each file or folder that is named by its path."""
    text = beside(name)
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)\)", text)
    paths = re.findall(r"\b(?:symacct|tests|docs|notebooks|models|machines|claims)/[a-z_][\w/.-]*\b/?", text)
    assert not [one for one in (*links, *paths) if not (DOCS.parent / one).exists()]
    assert f"({name})" in beside("README.md")


def test_contributing_says_what_ci_runs():
    """The linters, the packages that long tests ask for, and the commands that CI reads in the README."""
    ci, said, hooks = beside(".ci/run"), beside("CONTRIBUTING.md"), beside(".pre-commit-config.yaml")
    for linter in re.search(r"the linters \| `(.*)` \|", said)[1].split(" && "):
        assert f".venv/bin/{linter}" in ci
        assert f"entry: {linter.partition(' .')[0].partition(' --')[0]}" in hooks
    packages = re.search(r'^PACKAGES="(.*)"$', ci, re.MULTILINE)[1].split()
    assert set(packages) <= set(re.findall(r"[\w-]+", said))
    headings = re.findall(r"command_under '(.*?)'", ci)
    assert headings == ["## See it", "## Test it"]
    assert all(f"\n{heading}\n" in beside("README.md") for heading in headings)
    assert "bash .ci/run" in beside(".github/workflows/ci.yml")
