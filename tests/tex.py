"""TeX for tests: which engines of this machine can set a sheet, and what they say of one."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache

import pytest

from symacct.sheet import engine

ALWAYS = ("geometry.sty", "multicol.sty", "iftex.sty", "amsmath.sty", "xcolor.sty", "tabularx.sty")
NEEDED = {
    "pdflatex": ("article.cls", "fix-cm.sty"),
    "xelatex": ("fontspec.sty", "lmroman10-regular.otf"),
    "lualatex": ("fontspec.sty", "luaotfload.sty", "lmroman10-regular.otf"),
}
CHINESE = {"xelatex": ("ctex.sty", "xeCJK.sty"), "lualatex": ("ctex.sty", "luatexja.sty")}
CHINESE_FONT = "FandolSong-Regular.otf"
BAD_LINES = re.compile(r"^!|Missing character|LaTeX Warning|Overfull .hbox \((?:[5-9]|\d\d+)\.")


@cache
def has(file):
    """Whether TeX finds a file on this machine."""
    finder = shutil.which("kpsewhich")
    return bool(finder) and not subprocess.run([finder, file], capture_output=True, check=False).returncode


def engines(*, chinese=False):
    """The engines that find all that a sheet asks for."""
    more = (
        {name: (*files, CHINESE_FONT) for name, files in CHINESE.items()}
        if chinese
        else dict.fromkeys(NEEDED, ())
    )
    asked = {name: (*ALWAYS, *NEEDED[name], *files) for name, files in more.items()}
    return [name for name, files in asked.items() if shutil.which(name) and all(map(has, files))]


def needs(*names, chinese=False):
    """Skip a test, with the reason, where none of the engines is whole; and it is a long one."""
    there = set(engines(chinese=chinese)) & set(names or NEEDED)
    reason = f"no {' or '.join(names or NEEDED)} here with all that a sheet asks for"
    return lambda test: pytest.mark.long(pytest.mark.skipif(not there, reason=reason)(test))


def compiled(text, folder, name):
    """The log of a compilation, and the number of pages."""
    (folder / "sheet.tex").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [name, *engine.FLAGS, "sheet.tex"],
        cwd=folder,
        capture_output=True,
        timeout=engine.SECONDS,
        check=False,
    )
    log = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, log[-1500:]
    pages = re.search(r"Output written on sheet\.pdf \((\d+) page", log.replace("\n", ""))
    return [line for line in log.splitlines() if BAD_LINES.search(line)], int(pages[1])
