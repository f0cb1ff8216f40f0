"""A sheet as PDF, by a TeX engine of this machine; its own shell stays closed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from symacct.errors import RuleError
from symacct.sheet.tex import needs_unicode

ANY, UNICODE = ("pdflatex", "xelatex", "lualatex"), ("xelatex", "lualatex")
FLAGS = ("-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape")
SECONDS = 120
SHOWN = 160
PAGES = re.compile(r"Output written on sheet\.pdf \((\d+) page")


def engine_for(text: str) -> str:
    """Return the path of a TeX engine that can set a document.

    Raises:
        RuleError: there is none on this machine.
    """
    fitting = UNICODE if needs_unicode(text) else ANY
    found = next((path for name in fitting if (path := shutil.which(name))), None)
    if found is None:
        raise RuleError(
            "there is no TeX engine on this machine that makes this PDF",
            expected=" or ".join(fitting),
            got="none of them",
            fix="write the sheet as .tex and compile it elsewhere, or as .html; on Debian: "
            "apt-get install texlive-latex-extra texlive-xetex texlive-lang-chinese",
        )
    return found


def pdf_of(text: str) -> tuple[bytes, int]:
    """Return a LaTeX document as PDF, and how many pages it has.

    Raises:
        RuleError: there is no engine, or it fails; its first complaint is shown.
    """
    engine = engine_for(text)
    with TemporaryDirectory() as folder:
        (Path(folder) / "sheet.tex").write_text(text, encoding="utf-8")
        command = [engine, *FLAGS, "sheet.tex"]
        try:
            done = subprocess.run(  # noqa: S603 (the engine was found on the path, its arguments are fixed)
                command, cwd=folder, capture_output=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            what = "the TeX engine did not end in time"
            raise RuleError(what, where=engine, expected=f"at most {SECONDS} s") from None
        made = Path(folder) / "sheet.pdf"
        if done.returncode or not made.is_file():
            raise _failed(engine, done.stdout.decode("utf-8", "replace"))
        return made.read_bytes(), _pages(done.stdout.decode("utf-8", "replace"))


def _pages(log: str) -> int:
    r"""Return how many pages an engine says it wrote; lines of a log end anywhere.

    >>> _pages("Output written on sheet.pdf (12 pa\nges, 4 bytes).")
    12
    """
    found = PAGES.search(log.replace("\n", ""))
    return int(found[1]) if found else 1


def _failed(engine: str, log: str) -> RuleError:
    said = next((line for line in log.splitlines() if line.startswith("!")), "no reason")
    fix = "write the sheet as .tex and look at the log, or install the package that is named"
    return RuleError(
        "the TeX engine could not make the PDF", where=engine, expected="a PDF", got=said[:SHOWN], fix=fix
    )
