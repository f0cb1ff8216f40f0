"""The tutorial: every command in it is run, in order and in one folder, and prints what is shown."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from symacct.cli.main import main

PAGE = Path(__file__).parent.parent / "docs" / "tutorial.md"
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"Save this one as `(\S+)`:\n\n```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LEFT_OUT = "..."


def commands():
    """Yield each command with the lines that are shown below it."""
    for block in CONSOLE.findall(PAGE.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            yield command, shown.rstrip("\n").split("\n")


def pieces(shown):
    """Return the pieces between what is left out."""
    found = [[]]
    for line in shown:
        if line == LEFT_OUT:
            found.append([])
        else:
            found[-1].append(line)
    return found


def is_shown(shown, lines):
    """Say whether the pieces stand in an output in order, the first at its start and the last at its end."""
    first, *rest = pieces(shown)
    if lines[: len(first)] != first or (not rest and len(lines) != len(first)):
        return False
    place = len(first)
    for piece in rest[:-1]:
        starts = range(place, len(lines) - len(piece) + 1)
        start = next((at for at in starts if lines[at : at + len(piece)] == piece), None)
        if start is None:
            return False
        place = start + len(piece)
    last = rest[-1] if rest else []
    return not last or (lines[-len(last) :] == last and place <= len(lines) - len(last))


@pytest.mark.parametrize(
    ("shown", "lines", "holds"),
    [
        (["a", "b"], ["a", "b"], True),
        (["a"], ["a", "b"], False),
        (["a", "..."], ["a", "b"], True),
        (["...", "b"], ["a", "b"], True),
        (["...", "b"], ["b", "c"], False),
        (["...", "b", "...", "d", "..."], ["a", "b", "c", "d", "e"], True),
        (["...", "d", "...", "b", "..."], ["a", "b", "c", "d", "e"], False),
        (["...", "b", "d", "..."], ["a", "b", "c", "d"], False),
    ],
)
def test_what_counts_as_shown(shown, lines, holds):
    """Left out is only what is marked."""
    assert is_shown(shown, lines) == holds


def test_every_command_prints_what_is_shown(tmp_path, monkeypatch, capsys):
    """As a reader would type them; a complaint has exit status 2, and nothing else has."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    ((name, text),) = FILE.findall(PAGE.read_text(encoding="utf-8"))
    Path(name).write_text(text, encoding="utf-8")
    found = list(commands())
    assert len(found) >= 15
    for command, shown in found:
        verb, *words = shlex.split(command)
        assert verb == "symacct"
        status = main(words)
        captured = capsys.readouterr()
        assert (status == 2) == bool(captured.err), command
        lines = (captured.out + captured.err).rstrip("\n").split("\n")
        assert is_shown(shown, lines), f"{command}\n" + "\n".join(lines)
    assert {path.name for path in tmp_path.iterdir()} >= {"ffn.py", "proof.json", "steps.svg"}


def test_links():
    """Each leads to a page that is there."""
    for link in re.findall(r"\]\(([^)#]+)\)", PAGE.read_text(encoding="utf-8")):
        assert (PAGE.parent / link).is_file(), link


def test_changelog_and_citation_name_the_version():
    """The package, the changelog and the citation file agree, and every verb is in the changelog."""
    from symacct import __version__
    from symacct.cli.main import VERBS

    root = PAGE.parent.parent
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {__version__}" in changelog
    assert f"\nversion: {__version__}\n" in (root / "CITATION.cff").read_text(encoding="utf-8")
    assert not [verb for verb in VERBS if f"`{verb}`" not in changelog]
