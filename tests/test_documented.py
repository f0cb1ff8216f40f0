"""The documentation does what it says: every command runs, and prints what is shown; nothing is left out."""

from __future__ import annotations

import doctest
import importlib.util
import re
import sys
from contextlib import contextmanager
from fractions import Fraction
from itertools import count, pairwise
from pathlib import Path

import pytest

from symacct.cli import options
from symacct.cli.main import VERBS, parser
from symacct.convention import CONVENTIONS, Convention
from symacct.policy import CHECKPOINTS, PRECISIONS, SAVES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def _runner():
    spec = importlib.util.spec_from_file_location("docs_run", DOCS / "run.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


RUN = _runner()
TEXTS = {name: path.read_text(encoding="utf-8") for name, path in RUN.PAGES.items()}
PAGES = pytest.mark.parametrize("name", TEXTS)
QUICK = ("docs/verbs/calc.md", "docs/verbs/dtype.md", "docs/verbs/compare.md", "docs/verbs/verify.md")
"""Pages whose commands are run in the quick tests."""
KNOWN = {}
"""What commands that need no file have printed already."""
ELSEWHERE = (
    "python3 -m venv",  # the README's own commands and the tutorial's, run by .ci/run in a new environment
    "python benchmarks/",
)
MEANT = {"--time 9s", ".pdf", "--machines machines"}
"""In examples of the help that are refused: too fast, no TeX engine, not measured."""
UNREAL = ("would take too long", "is above what can be")
"""What a measurement says to a clock that goes on evenly, whatever is timed."""
DRAWN_WITH = "3.11.2"
"""The matplotlib with which the stored picture was drawn."""
NUMBER = re.compile(r"\d[\d,.]*(?:e\d+)?")


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """A folder for one page; what a machine is measured with is a clock that is given."""
    monkeypatch.setenv("COLUMNS", RUN.COLUMNS)
    shell = RUN.opened(tmp_path)
    shell.known = KNOWN
    return shell


class Clock:
    """Every mark is 0.2 s after the one before."""

    def __init__(self):
        self.now = count()

    def mark(self):
        return next(self.now)

    def spans(self, marks):
        return [(b - a) * Fraction(1, 5) for a, b in pairwise(marks)]


@pytest.fixture
def _given_device(monkeypatch):
    torch = pytest.importorskip("torch")
    from symacct.execution import measure_calibrate, measure_device

    for name, value in {"SIDES": (16, 256), "ELEMENTS": (2**8,), "COPIED": 2**16}.items():
        monkeypatch.setattr(measure_calibrate, name, value)

    @contextmanager
    def given(kind, threads=None):
        yield measure_device.Device(torch, kind, Clock(), "a part", "torch of a test", 2**30)

    monkeypatch.setattr(measure_device, "opened", given)


# ---- commands ----


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in TEXTS]
)
@pytest.mark.usefixtures("_given_device")
def test_commands_print_what_is_shown(name, shell):
    """In order and in one folder, as a reader would type them."""
    for block in RUN.blocks(TEXTS[name]):
        if block.file is not None:
            shell.save(block.file, block.body)
        for one in RUN.commands(block):
            if one.command.startswith(ELSEWHERE):
                continue
            lines = RUN.lines_of(shell.run(one.command))
            said = f"{name}: {one.command}\n" + "\n".join(lines)
            if block.kind == "bash":
                measured = " measure " in one.command and any(word in said for word in UNREAL)
                assert shell.status in {0, 1} or measured, said
                _, _, comment = one.command.partition(" # ")
                missing = [n for n in NUMBER.findall(comment) if n.rstrip(",.") not in "\n".join(lines)]
                assert not missing, f"{missing}: {said}"
            elif block.measured:
                assert not set(map(label, one.lines)) - set(map(label, lines)) - {""}, said
            else:
                assert one.lines or not lines, f"run docs/run.py: {said}"
                assert RUN.is_shown(one.lines, lines), f"run docs/run.py: {said}"
    compare_pictures(shell.folder)


def label(line):
    """Return the fact that a line of a measurement states: the words before a colon."""
    found = re.match(r"([^:\d]+|\w+\d+ [^:]+):", line)
    return found[1] if found else ""


def compare_pictures(folder):
    """Compare pictures with those that are stored; drawings of matplotlib where it is the same."""
    import matplotlib as mpl

    for path in (DOCS / "pictures").iterdir():
        if (made := folder / path.name).is_file():
            stored, drawn = path.read_bytes(), made.read_bytes()
            assert stored[:16] == drawn[:16], path.name
            if path.suffix == ".svg" or mpl.__version__ == DRAWN_WITH:
                assert stored == drawn, f"run docs/run.py: {path.name}"


@PAGES
def test_the_page_is_what_is_made(name):
    """Flags of a verb as the parser has them, rows of a sheet as they stand in the sheet."""
    text = TEXTS[name]
    assert RUN.with_rows(RUN.with_flags(name, text)) == text


@pytest.mark.few(1)
@PAGES
def test_examples_in_python(name, tmp_path, monkeypatch):
    """Sessions print what is shown; other blocks run, in the order of the page."""
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "page"}
    for block in RUN.blocks(TEXTS[name]):
        if block.kind == "python" and block.file is None:
            exec(compile(block.body, name, "exec", dont_inherit=True), space)  # noqa: S102 (a page's own block)
    session = "".join(f"{block.body}\n" for block in RUN.blocks(TEXTS[name]) if block.kind == "pycon")
    told = []
    test = doctest.DocTestParser().get_doctest(session, {}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    runner.run(test, out=told.append)
    assert runner.failures == 0, "".join(told)


@PAGES
def test_links(name):
    """Each leads to a file that is there, and to a heading of it."""
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", TEXTS[name]):
        file, _, heading = link.partition("#")
        path = (RUN.PAGES[name].parent / file).resolve() if file else RUN.PAGES[name]
        assert path.exists(), link
        if heading:
            titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]


@pytest.mark.few(4)
@pytest.mark.parametrize("verb", [None, *VERBS])
@pytest.mark.usefixtures("_given_device")
def test_examples_of_the_help(verb, shell, monkeypatch):
    """Each runs, one after the other; a measurement is made first where one is read."""
    monkeypatch.chdir(shell.folder)
    monkeypatch.setattr(shell, "known", {})
    Path("claims").symlink_to(ROOT / "claims")
    written = "\n".join(TEXTS.values())
    for line in re.findall(r"^  (symacct (?:.*\\\n)?.*)$", parser(verb).epilog or "", re.MULTILINE):
        if line not in written:
            out = shell.run(line.replace("\\\n", " "))
            fine = any(word in line for word in MEANT) or any(word in out for word in UNREAL)
            assert shell.status in {0, 1} or fine, f"{line}\n{out}"


# ---- what is shown ----


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
    assert RUN.is_shown(shown, lines) == holds


@pytest.mark.parametrize(
    ("shown", "made"),
    [
        ([], ["a 1", "b 2", "c 3", "d 4"]),
        (["a", "..."], ["a 1", "..."]),
        (["...", "c 0", "..."], ["...", "c 3", "..."]),
        (["...", "b 7", "c 8", "..."], ["...", "b 2", "c 3", "..."]),
        (["...", "c 3", "d"], ["...", "c 3", "d 4"]),
    ],
)
def test_what_is_shown_is_renewed(shown, made):
    """Of each piece as many lines as before, where they are most alike; the result is shown of the output."""
    lines = ["a 1", "b 2", "c 3", "d 4"]
    assert RUN.renewed(shown, lines) == made
    assert RUN.is_shown(made, lines)


def test_a_page_that_says_something_else_is_found(shell):
    """And mended: a number that a command does not print."""
    page = '```console\n$ symacct calc "2 * 80 GB"\n161 GB\n$ echo $?\n1\n```\n'
    made = RUN.stored(page, shell, measured=False)
    assert made == '```console\n$ symacct calc "2 * 80 GB"\n160 GB = 149 GiB\n$ echo $?\n0\n```\n'
    assert RUN.stored(made, shell, measured=False) == made


# ---- nothing is left out ----


@pytest.mark.parametrize("verb", VERBS)
def test_a_page_for_each_verb(verb):
    """With its flags, an exit status, an error and a use in Python; the index leads to it."""
    text = TEXTS[f"docs/verbs/{verb}.md"]
    flags = [flag for flag in parser(verb).flags() if flag not in {"--help", "--format"}]
    assert not [flag for flag in flags if not re.search(rf"{flag}(?![\w-])", text)]
    assert text.startswith(f"# symacct {verb}\n")
    headings = re.findall(r"^## (.*)$", RUN.FENCE.sub("", text), re.MULTILINE)
    assert headings == ["By use", "Flags", "Exit status and errors", "In Python"]
    assert re.search(rf"^\$ symacct {verb} ", text, re.MULTILINE)
    assert f"](verbs/{verb}.md)" in TEXTS["docs/README.md"]
    own = text.partition("## By use")[2].partition("## Flags")[0]
    named = {flag for other in VERBS for flag in parser(other).flags()}
    assert not set(re.findall(r"(?<![\w-])--[a-z][\w-]*", own)) - named


def test_flags_that_verbs_share():
    """Each has a row on the page about them, with the values that it takes."""
    common = parser("derive")
    text = TEXTS["docs/verbs/shared-flags.md"]
    for action in common._actions:
        for flag in action.option_strings:
            if flag.startswith("--") and flag not in {"--help", "--only", "--quantity", "--explain"}:
                row = re.search(rf"^\| `{flag}[ `].*$", text, re.MULTILINE)
                assert row, flag
                if flag != "--format":
                    assert not [one for one in action.choices or () if f"`{one}`" not in row[0]]
    assert options.BYTES == ("algorithmic", "issued", "fused", "compulsory")


def test_pictures_are_shown_and_small():
    """Each stands on a page, made by a command there."""
    for path in (DOCS / "pictures").iterdir():
        assert path.stat().st_size < 200_000
        shown = [text for text in TEXTS.values() if f"pictures/{path.name})" in text]
        assert any(f"--picture {path.name}" in text for text in shown), path.name


def test_the_index_names_every_page():
    """And no page stands apart."""
    for name in TEXTS:
        if name not in {"README.md", "docs/README.md"}:
            assert f"]({name.removeprefix('docs/')})" in TEXTS["docs/README.md"], name


def test_every_preset_is_on_the_page_of_conventions():
    """Each convention in a row, with the choices in which it differs; and each policy by name."""
    text = TEXTS["docs/conventions.md"]
    presets = text.partition("### Presets")[2].partition("## Bytes")[0]
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|(.*)$", presets, re.MULTILINE)
    stated = {name: said for names, said in rows for name in re.findall(r"`(\w+)`", names)}
    assert set(CONVENTIONS) == set(stated)
    base = Convention()
    for name, one in CONVENTIONS.items():
        for field in (
            "attention",
            "embedding",
            "head",
            "vectors",
            "bytes",
            "strict",
            "elementwise",
            "leading",
        ):
            if getattr(one, field) != getattr(base, field):
                assert f"`{field} {getattr(one, field)}`".lower() in stated[name].lower(), (name, field)
        for primitive, price in one.prices:
            assert f"`{primitive} {price}`" in stated[name], (name, primitive)
    for name in (*PRECISIONS, *SAVES):
        assert f"| `{name}` |" in text
    for name in CHECKPOINTS:
        assert f"| `{name.partition(':')[0]}" in text
