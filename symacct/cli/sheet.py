"""``symacct sheet``: a sheet of formulas, each derived or judged as it is made; its ending is its format."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from symacct.cli import options, output
from symacct.errors import ReadError, UsageError, unknown

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from symacct.machines import Machine
    from symacct.sheet.data import Sheet

ENDINGS = (".tex", ".pdf", ".md", ".html", ".txt")
STYLES, LANGUAGES = ("card", "full"), ("en", "zh")
DIFFERS = 1
EPILOG = """\
WHAT is a sheet that ships (lecture, transformer, inference, number-formats, machines), a claim file, a graph
or a model; several stand one after another. a claim that got another verdict than its file expects is shown
as what it is worth.

exit status: 0 written; 1 written, and a claim differs from what is expected; 2 the input is wrong

examples:
  symacct sheet claims/lecture.toml --style card -o card.tex
  symacct sheet lecture --lang zh -o card.pdf
  symacct sheet gpt --style full --rows flops,memory --optimizer adamw -o gpt.html
  symacct sheet --new mine.toml
"""


def add(parser: ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("what", nargs="*", metavar="WHAT", help="sheets, claim files, graphs, models")
    parser.add_argument(
        "-o", dest="file", metavar="FILE", help=f"one of {', '.join(ENDINGS)}; default: text here"
    )
    parser.add_argument(
        "--style",
        choices=STYLES,
        default="card",
        help="two columns, a page for what ships; or everything; default: card",
    )
    parser.add_argument(
        "--rows",
        action="append",
        default=[],
        metavar="flops,memory",
        help="these rows alone: quantities, or their first words; calc, reported, machine, formats",
    )
    parser.add_argument(
        "--lang", choices=LANGUAGES, default="en", help="the language of the sheet; default: en"
    )
    parser.add_argument("--title", metavar="TEXT", help="what stands above it")
    parser.add_argument("--new", metavar="FILE.toml", help="write a commented claim file to start from")
    parser.add_argument(
        "--all", dest="folder", metavar="DIR", help="write every sheet that ships into a folder"
    )
    parser.add_argument(
        "--on", action="append", default=[], metavar="M[,M2]", help="machines, with their figures"
    )
    parser.add_argument(
        "--machines", action="append", default=[], metavar="DIR", help="a folder with machines"
    )
    options.add_run_python(parser)
    options.add_symbolic(parser)
    parser.add_argument(
        "--assume", action="append", default=[], metavar="'F = 4*D'", help="a formula in the place of a size"
    )
    options.add_at(parser)
    options.add_policy(parser)
    options.add_convention(parser)
    parser.epilog = EPILOG


def run(args: Namespace) -> int:
    """Make the sheet, and write it."""
    modes = [name for name in ("new", "folder") if getattr(args, name)]
    if modes and (args.what or args.file or len(modes) > 1):
        flag = "--new" if args.new else "--all"
        raise UsageError(f"{flag} stands alone", expected=f"symacct sheet {flag} NAME", got="more")
    if args.new:
        return _new(Path(args.new))
    if args.folder:
        return _all(Path(args.folder))
    if not args.what and not args.on:
        raise UsageError("a sheet is made of something", expected="WHAT, or --on MACHINE", got="nothing")
    ending = Path(args.file).suffix.lower() if args.file else ".txt"
    if ending not in ENDINGS:
        raise unknown("ending", ending or str(args.file), ENDINGS, where="-o")
    from symacct.readers.documents import documents

    with documents(args.what, every=args.run_python):
        sheet = _sheet(args)
        text = _rendered(sheet, ending)
    _write(sheet, text, Path(args.file) if args.file else None, ending)
    for line in sheet.differs:
        sys.stderr.write(f"differs: {line}\n")
    return DIFFERS if sheet.differs else 0


# ---- what a sheet is made of ----


def _sheet(args: Namespace) -> Sheet:
    from dataclasses import replace

    from symacct.sheet.data import Sheet
    from symacct.sheet.from_machines import machine_section
    from symacct.sheet.making import selected

    made = [sheet for what in args.what for sheet in _made(args, what)]
    machines = _machines(args)
    if machines:
        sections = tuple(machine_section(machine, args.lang) for machine in machines)
        made.append(Sheet("machines" if made else sections[0].title, "", sections, args.style, args.lang))
    joined = replace(made[0], machines=machines)
    for other in made[1:]:
        sections, differs = (*joined.sections, *other.sections), (*joined.differs, *other.differs)
        sizes, benches = {**other.sizes, **joined.sizes}, (*joined.benches, *other.benches)
        joined = replace(joined, sections=sections, differs=differs, sizes=sizes, benches=benches)
    if len(args.what) > 1:
        joined = replace(joined, title=", ".join(args.what), about="")
    chosen = selected(joined, options.words(args.rows))
    if not chosen.rows:
        raise UsageError("no row is left", expected="--rows that the sheet has", got=",".join(args.rows))
    return replace(chosen, title=args.title) if args.title else chosen


def _made(args: Namespace, what: str) -> Iterator[Sheet]:
    from symacct.sheet.layout import is_layout, layout_of_claims, read_layout, shipped_layouts
    from symacct.sheet.making import of_claims, of_layout

    shape = {"lang": args.lang, "style": args.style}
    path = _file(what)
    layout = read_layout(shipped_layouts()[what]) if what in shipped_layouts() else None
    if path is not None and path.suffix == ".toml":
        card = args.style == "card"
        layout = read_layout(path) if is_layout(path) else layout_of_claims(path) if card else None
    if layout is None and path is None:
        yield _of_graph(args, what)
        return
    options.refuse_choices(args, "claims make their own choices")
    if len(args.what) == 1 and (args.at or args.assume or args.symbolic):
        flag = "--at" if args.at else "--assume" if args.assume else "--symbolic"
        what = f"{flag} has no meaning here: claims make their own choices"
        raise UsageError(what, expected=f"no {flag}", got=flag)
    if layout is not None:
        yield of_layout(layout, **shape)
    elif path is not None:
        from symacct.readers.claim_files import read_claim_file

        yield of_claims([read_claim_file(path)], **shape)


def _file(what: str) -> Path | None:
    """Return the path of a claim file or of a layout; None for the name of a sheet, a graph or a model."""
    from symacct.readers.claim_files import shipped_claim_files

    return Path(what) if what.endswith(".toml") else shipped_claim_files().get(what)


def _of_graph(args: Namespace, what: str) -> Sheet:
    from symacct.account import derive
    from symacct.sheet.data import Bench, Sheet
    from symacct.sheet.making import of_account

    args.graph = what
    policy, convention = options.read_policy(args), options.read_convention(args)
    account = derive(options.read_graph(args), policy=policy, convention=convention)
    sizes = options.read_at(args, account.graph)
    rows = [name for name in options.words(args.rows) if name not in {"calc", "reported", "machine"}]
    about, sections = of_account(account, sizes, rows, lang=args.lang, style=args.style, target=what)
    benches = (Bench(account.graph.name, account),)
    given = {account.source.name: sizes}
    return Sheet(account.graph.name, about, sections, args.style, args.lang, sizes=given, benches=benches)


def _machines(args: Namespace) -> tuple[Machine, ...]:
    from symacct.machines import load

    return tuple(load(name, args.machines) for name in options.words(args.on))


# ---- what is written ----


def _rendered(sheet: Sheet, ending: str) -> str:
    from symacct.sheet.html import html_of
    from symacct.sheet.markdown import markdown_of
    from symacct.sheet.plain import text_of
    from symacct.sheet.tex import tex_of

    if ending == ".html" and sheet.benches:
        sys.stderr.write("deriving the choices of the page ...\n")
    if ending == ".txt":
        return text_of(sheet, output.width())
    return {".tex": tex_of, ".pdf": tex_of, ".md": markdown_of, ".html": html_of}[ending](sheet)


def _write(sheet: Sheet, text: str, path: Path | None, ending: str) -> None:
    if path is None:
        output.write(text)
    elif ending == ".pdf":
        from symacct.sheet.engine import pdf_of

        content, pages = pdf_of(text)
        _save(path, content)
        if sheet.style == "card" and pages > 1:
            sys.stderr.write(_long(sheet, pages))
    else:
        _save(path, text.encode())


def _long(sheet: Sheet, pages: int) -> str:
    """Return how a card that is longer than a page is made shorter: by the kinds of rows that it has."""
    from symacct.sheet.making import TOPICS

    kinds = [one for one in TOPICS if any(one in {*row.topic, row.mark} for row in sheet.rows)]
    some = ",".join(kinds[:-1][:2] or kinds)
    rows = f"fewer rows, --rows {some} (it has {', '.join(kinds)}), or " if kinds else ""
    return f"note: this card has {pages} pages; for one page: {rows}fewer claims, graphs or machines\n"


def _save(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        got = error.strerror or str(error)
        raise ReadError("the sheet cannot be written", where=str(path), expected="a file", got=got) from None


def _new(path: Path) -> int:
    from symacct.sheet.template import TEMPLATE

    if path.suffix != ".toml":
        raise UsageError("a claim file ends in .toml", where="--new", expected="mine.toml", got=str(path))
    if path.exists():
        raise UsageError("the file is there already", where="--new", expected="a new file", got=str(path))
    _save(path, TEMPLATE.encode())
    output.write(f"wrote {path}; try: symacct sheet {path} -o card.tex")
    return 0


def _all(folder: Path) -> int:
    from symacct.sheet.layout import read_layout, shipped_layouts
    from symacct.sheet.making import of_layout

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        got = error.strerror or str(error)
        raise ReadError("the folder cannot be made", where="--all", expected="a folder", got=got) from None
    status = 0
    for name, path in shipped_layouts().items():
        for lang in LANGUAGES:
            sheet = of_layout(read_layout(path), lang=lang)
            status = status or (DIFFERS if sheet.differs else 0)
            for ending in (".tex", ".md", ".html"):
                file = folder / f"{name}{'' if lang == 'en' else f'.{lang}'}{ending}"
                _save(file, _rendered(sheet, ending).encode())
                output.write(f"wrote {file}")
    return status
