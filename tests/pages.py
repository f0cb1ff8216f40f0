"""Stored pages: each without its style and its script, which are one file each in the package.

Run as a script, it makes all sheets anew: those to be shown in `sheets/`, other pages in `tests/goldens/`.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from symacct.cli.main import main
from symacct.sheet.html import SCRIPT, _digest, _part

SHEETS = Path(__file__).parent.parent / "sheets"
GOLDENS = Path(__file__).parent / "goldens"
SHOWN = "lecture.html"
"""The page that the README shows; it is stored whole."""


@cache
def parts():
    """The style and the script of every page."""
    return _part("page.css"), "\n" + "\n".join(_part(f"script/{name}.js") for name in SCRIPT.split())


def bare(page):
    """A page without its style, its script and what its policy knows them by."""
    style, script = parts()
    for text in (f"<style>{style}</style>", f"<script>{script}</script>"):
        assert page.count(text) == 1, "a page has one style and one script"
        page = page.replace(text, text[: text.index(">") + 1] + text[text.rindex("<") :])
    for text in parts():
        page = page.replace(_digest(text), "''")
    return page


def whole(page):
    """A stored page as it was made."""
    style, script = parts()
    page = page.replace("style-src ''", f"style-src {_digest(style)}")
    page = page.replace("script-src ''", f"script-src {_digest(script)}")
    page = page.replace("<style></style>", f"<style>{style}</style>")
    return page.replace("<script></script>", f"<script>{script}</script>")


@cache
def folder():
    """A folder for as long as the tests run; it goes with them."""
    return TemporaryDirectory(prefix="pages-")


@cache
def page_of(name):
    """The file of a shipped page, whole, to be opened in a browser."""
    path = SHEETS / f"{name}.html"
    if not path.exists():
        path = Path(folder().name) / path.name
        path.write_text(whole((GOLDENS / path.name).read_text(encoding="utf-8")), encoding="utf-8")
    return path


def stored(made):
    """What is stored, by its place, of the files that are made, by their name."""
    found = {}
    for name, text in made.items():
        page = name.endswith(".html") and name != SHOWN
        found[(GOLDENS if page else SHEETS) / name] = bare(text) if page else text
    return found


def renew():
    """Make all sheets, and store them."""
    with TemporaryDirectory() as folder:
        status = main(["sheet", "--all", folder])
        made = {path.name: path.read_text(encoding="utf-8") for path in Path(folder).iterdir()}
    for path, text in stored(made).items():
        path.write_text(text, encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(renew())
