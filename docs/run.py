"""Run the commands of the documentation and store what they print: ``python docs/run.py [PAGE ...]``.

A block of a page that opens with ``console`` holds commands, each after ``$ ``, and what they print; a line
``...`` stands for lines that are left out, and a command below which nothing stands gets all of its output.
Blocks of ``bash`` hold commands alone. The commands of a page run in order, in one new folder, 100 columns
wide; a block after ``save this as `NAME`:`` is a file there. A block ``console measured`` depends on the
machine: it is run again with ``--measured`` alone. The page of a verb has the verb's flags between two marks.
"""  # noqa: INP001

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from io import StringIO
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from symacct.cli import options
from symacct.cli.main import Parser, parser
from symacct.cli.main import main as symacct

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PAGES = {
    path.relative_to(ROOT).as_posix(): path for path in (ROOT / "README.md", *sorted(HERE.rglob("*.md")))
}
"""Every page by its path from the root of the repository."""

CONFIG = ROOT / "models" / "gpt2.json"
"""The file that stands for ``config.json``, which a reader brings along."""

FENCE = re.compile(r"^```(?P<kind>\w+)(?P<mark>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
SAVED = re.compile(r"[Ss]ave [^`]*as `(?P<name>[\w.-]+)`:\n\n\Z")
PROMPT = re.compile(r"^\$ (?=\S)", re.MULTILINE)
ROWS = re.compile(
    r"(?<=<!-- rows of )(?P<file>\S+) -->\n(?P<head>.*?---.*?\n)(?P<rows>.*?)(?=<!-- /rows -->)", re.DOTALL
)
FLAGS = re.compile(r"(?<=<!-- flags -->\n).*?(?=<!-- /flags -->)", re.DOTALL)
LEFT_OUT = "..."
COLUMNS = "100"


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page; ``file`` is the name to save it under."""

    kind: str
    mark: str
    body: str
    span: tuple[int, int]
    file: str | None = None

    @property
    def measured(self) -> bool:
        """Whether the output depends on the machine."""
        return self.mark.strip() == "measured"


@dataclass(frozen=True, slots=True)
class Shown:
    """A command as it is written, and the lines below it."""

    written: str
    lines: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The command on one line."""
        return self.written.replace("\\\n", " ")


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    for found in FENCE.finditer(text):
        saved = SAVED.search(text, max(0, found.start() - 300), found.start())
        file = saved["name"] if saved else None
        yield Block(found["kind"], found["mark"], found["body"], found.span("body"), file)


def commands(block: Block) -> list[Shown]:
    """Return the commands of a block, with what is shown below each."""
    if block.file is not None:
        return []
    if block.kind == "bash":
        joined = block.body.replace("\\\n", "\0").splitlines()
        return [Shown(line.replace("\0", "\\\n")) for line in joined if line.strip() and line[0] != "#"]
    if block.kind != "console":
        return []
    found = []
    for part in PROMPT.split(block.body)[1:]:
        lines = part.rstrip("\n").split("\n")
        own = next(at for at, line in enumerate(lines) if not line.endswith("\\")) + 1
        found.append(Shown("\n".join(lines[:own]), tuple(lines[own:])))
    return found


# ---- running ----


@dataclass(slots=True)
class Shell:
    """A folder in which commands run, one after the other, in this process."""

    folder: Path
    status: int = 0
    known: dict[str, tuple[int, str]] = field(default_factory=dict)

    def save(self, name: str, text: str) -> None:
        """Write a file of the page."""
        (self.folder / name).write_text(text, encoding="utf-8")

    def run(self, command: str) -> str:
        """Run a line and return what it prints, complaints last; what needs no file is run once."""
        before = self._names()
        free = not any(name in command for name in before) and command != "echo $?"
        if free and command in self.known:
            self.status, out = self.known[command]
            return out
        with chdir(self.folder):
            out = self._line(command)
        if free and self._names() == before:
            self.known[command] = self.status, out
        return out

    def _names(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}

    def _line(self, command: str) -> str:
        words = shlex.shlex(command, posix=True, punctuation_chars="&>")
        words.whitespace_split = True
        said = ""
        for joint, part in groupby(words, key="&&".__eq__):
            if not joint:
                said += self._one(list(part))
        return said

    def _one(self, words: list[str]) -> str:
        target = words[words.index(">") + 1] if ">" in words else None
        words = words[: words.index(">")] if ">" in words else words
        if words == ["echo", "$?"]:
            return f"{self.status}\n"
        if words[0] != "symacct":
            done = subprocess.run(words, capture_output=True, text=True, check=True)  # noqa: S603
            return done.stdout
        out, err = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            self.status = symacct(words[1:])
        if target is not None:
            self.save(target, out.getvalue())
            return err.getvalue()
        return out.getvalue() + err.getvalue()


def opened(folder: Path) -> Shell:
    """Return a shell in a folder, with the file that a reader brings along."""
    os.environ["COLUMNS"] = COLUMNS
    shell = Shell(folder)
    facts = json.loads(CONFIG.read_text(encoding="utf-8"))
    shell.save("config.json", json.dumps(facts["config"]))
    return shell


# ---- what is shown of an output ----


def pieces(shown: Sequence[str]) -> list[list[str]]:
    """Return the pieces between what is left out."""
    found: list[list[str]] = [[]]
    for line in shown:
        if line == LEFT_OUT:
            found.append([])
        else:
            found[-1].append(line)
    return found


def is_shown(shown: Sequence[str], lines: Sequence[str]) -> bool:
    """Say whether the pieces stand in an output in order, the first at its start and the last at its end."""
    first, *rest = pieces(shown)
    if list(lines[: len(first)]) != first or (not rest and len(lines) != len(first)):
        return False
    place = len(first)
    for piece in rest[:-1]:
        starts = range(place, len(lines) - len(piece) + 1)
        start = next((at for at in starts if list(lines[at : at + len(piece)]) == piece), None)
        if start is None:
            return False
        place = start + len(piece)
    last = rest[-1] if rest else []
    return not last or (list(lines[-len(last) :]) == last and place <= len(lines) - len(last))


def renewed(shown: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Return what is shown of an output, renewed: of each piece, as many lines where they are most alike."""
    if LEFT_OUT not in shown:
        return list(lines)
    if is_shown(shown, lines):
        return list(shown)
    first, *rest = pieces(shown)
    found, place = list(lines[: len(first)]), len(first)
    for number, piece in enumerate(rest, start=1):
        found.append(LEFT_OUT)
        if not piece:
            continue
        starts = range(place, max(place, len(lines) - len(piece)) + 1)
        at = max(starts, key=lambda start: _alike(piece, lines[start : start + len(piece)]))
        at = len(lines) - len(piece) if number == len(rest) else at
        found += lines[at : at + len(piece)]
        place = at + len(piece)
    return found


def _alike(piece: Sequence[str], lines: Sequence[str]) -> float:
    return SequenceMatcher(None, "\n".join(piece), "\n".join(lines), autojunk=False).ratio()


def lines_of(out: str) -> list[str]:
    """Return the lines of an output."""
    return out.rstrip().splitlines() if out.strip() else []


# ---- the flags of a verb ----


def flags_of(verb: str) -> str:
    """Return a table of a verb's arguments, and the names of the choices that it shares with others."""
    common = Parser()
    options.add_policy(common)
    options.add_convention(common)
    shared = {row[0]: row[1] for row in _rows(common)}
    own = [row for row in _rows(parser(verb)) if shared.get(row[0]) != row[1]]
    left = [flag for flag, said in _rows(parser(verb)) if shared.get(flag) == said]
    table = ["| argument | meaning |", "|---|---|", *(f"| {flag} | {said} |" for flag, said in own)]
    if left:
        names = ", ".join(re.sub(r"[ ][^`]*", "", flag) for flag in left)
        table += ["", f"And the choices of [a run and an account](shared-flags.md): {names}."]
    return "\n".join(["", *table, "", ""])


def _rows(made: Parser) -> Iterator[tuple[str, str]]:
    for action in made._actions:  # noqa: SLF001 (argparse has no other list of them)
        if action.dest == "help":
            continue
        choices = "|".join(map(str, action.choices)) if action.choices else ""
        value = "" if action.nargs == 0 else str(action.metavar or choices or action.dest.upper())
        named = [f"{option} {value}".strip() for option in action.option_strings] or [value]
        said = (action.help or "").replace("%%", "%")
        yield tuple(text.replace("|", r"\|") for text in (", ".join(f"`{one}`" for one in named), said))


# ---- storing ----


def stored(text: str, shell: Shell, *, measured: bool) -> str:
    """Return a page with what its commands print now."""
    made, place = "", 0
    for block in blocks(text):
        if block.file is not None:
            shell.save(block.file, block.body)
        if block.kind != "console" or (block.measured and not measured):
            continue
        body = ""
        for one in commands(block):
            lines = renewed(one.lines, lines_of(shell.run(one.command)))
            body += "".join(f"{line}\n" for line in (f"$ {one.written}", *lines))
        made += text[place : block.span[0]] + body
        place = block.span[1]
    return made + text[place:]


def with_flags(name: str, text: str) -> str:
    """Return the page of a verb with the verb's flags between the marks; any other page as it is."""
    folder, _, file = name.rpartition("/")
    if folder != "docs/verbs" or FLAGS.search(text) is None:
        return text
    return FLAGS.sub(lambda _: flags_of(file.removesuffix(".md")), text)


def with_rows(text: str) -> str:
    """Return a page with its rows of a sheet as they stand in the sheet now, found by their names."""

    def renew(found: re.Match[str]) -> str:
        sheet = (ROOT / found["file"]).read_text(encoding="utf-8").splitlines(keepends=True)
        known = {_name(row): row for row in sheet if row.startswith("|")}
        rows = "".join(known[_name(row)] for row in found["rows"].splitlines(keepends=True))
        return f"{found['file']} -->\n{found['head']}{rows}"

    return ROWS.sub(renew, text)


def _name(row: str) -> str:
    return row.split("|")[1].partition(" `")[0].strip()


def keep_pictures(folder: Path) -> None:
    """Keep the pictures that a page's commands have drawn, where the documentation shows them."""
    for path in (HERE / "pictures").iterdir():
        if (folder / path.name).is_file():
            path.write_bytes((folder / path.name).read_bytes())


def main(words: Sequence[str]) -> None:
    """Renew these pages, or all."""
    names = [word for word in words if word != "--measured"] or PAGES
    for name in names:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        with TemporaryDirectory() as folder:
            made = with_rows(with_flags(name, text))
            new = stored(made, opened(Path(folder)), measured="--measured" in words)
            keep_pictures(Path(folder))
        if new != text:
            path.write_text(new, encoding="utf-8")
        sys.stdout.write(
            f"{path.relative_to(ROOT)}: {'renewed: look at it' if new != text else 'as it was'}\n"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
