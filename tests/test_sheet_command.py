"""``symacct sheet``: what is written where, what is refused, and what a TeX engine makes of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tex

from symacct.cli.main import main
from symacct.sheet import engine

WRONG = 2
GOLDENS = Path(__file__).parent.parent / "sheets"
"""The card takes under 3 s of processor time on a quiet machine; tests share theirs."""
HOSTILE = r"\input{x} 100% #1 & x_y ^2 {a} $m$ ~ <b> | `c` √L ≤ 词元"


def complaint(capsys, *words):
    """What the command says of wrong input."""
    assert main(["sheet", *words]) == WRONG
    out, err = capsys.readouterr()
    assert not out
    return err


# ---- what is written ----


@pytest.mark.parametrize(
    ("ending", "start"),
    [(".tex", "% Made by"), (".md", "# relu"), (".html", "<!DOCTYPE html>"), (".txt", "relu\n")],
)
def test_the_ending_names_the_format(tmp_path, ending, start):
    path = tmp_path / f"out{ending}"
    assert main(["sheet", "relu", "--rows", "flops", "-o", str(path)]) == 0
    assert path.read_text(encoding="utf-8").startswith(start)


def test_text_comes_here_without_a_file(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    assert main(["sheet", "deep_linear", "--rows", "flops.model", "--at", "B=2,D=3,L=4"]) == 0
    out = capsys.readouterr().out
    assert "flops.model = 6*B*D^2*L - 2*B*D^2 [FLOP]" in " ".join(out.split())
    assert "derived 396 FLOP" in out


def test_formulas_are_factored_as_the_field_does(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    assert main(["sheet", "gpt", "--rows", "flops.model,memory.static", "--optimizer", "adamw"]) == 0
    out = capsys.readouterr().out
    flat = " ".join(out.split())
    assert "flops.model = 72*b*s*h^2*L*(1 + s/(6*h)" in flat
    assert "memory.static = 12*N [byte]" in flat
    assert "N = params" in flat


def test_a_full_sheet_has_symbols_terms_and_shares(capsys):
    words = ["--style", "full", "--rows", "flops", "--at", "B=2,D=3,L=4"]
    assert main(["sheet", "mlp", *words]) == 0
    out = capsys.readouterr().out
    assert "symbols" in out
    assert "flops.model, by op" in out
    assert "100.0%" in out


def test_the_claim_file_of_the_lecture_makes_its_card(tmp_path):
    path = tmp_path / "card.md"
    assert main(["sheet", "claims/lecture.toml", "--style", "card", "-o", str(path)]) == 0
    assert path.read_text(encoding="utf-8") == (GOLDENS / "lecture.md").read_text(encoding="utf-8")


def test_all_sheets_are_written_by_one_command(tmp_path, monkeypatch, capsys):
    """Here with one small layout in the place of those that ship."""
    layout = tmp_path / "small.toml"
    row = '{ claim = "6BD²L is not exact" }'
    layout.write_text(f'claims = ["chain"]\n[[section]]\ntitle = "s"\nrows = [{row}]\n', encoding="utf-8")
    monkeypatch.setattr("symacct.sheet.layout.shipped_layouts", lambda: {"small": layout})
    assert main(["sheet", "--all", str(tmp_path / "made")]) == 0
    names = ("small.tex", "small.md", "small.html", "small.zh.tex", "small.zh.md", "small.zh.html")
    assert capsys.readouterr().out.count("wrote ") == len(names)
    assert {path.name for path in (tmp_path / "made").iterdir()} == set(names)


def test_machines_stand_with_their_sources(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    assert main(["sheet", "--on", "h100-sxm", "--style", "full"]) == 0
    out = capsys.readouterr().out
    assert "bf16 into fp32 with 2:4 sparsity" in " ".join(out.split())
    assert "NVIDIA H100 Tensor Core GPU data sheet, 2024" in " ".join(out.split())


def test_chinese_sheets_have_chinese_words(capsys):
    assert main(["sheet", "chain", "--lang", "zh"]) == 0
    out = capsys.readouterr().out
    assert "成立条件" in out
    assert "已证" in out


def test_a_new_claim_file_is_judged_as_it_says(tmp_path, capsys):
    path = tmp_path / "mine.toml"
    assert main(["sheet", "--new", str(path)]) == 0
    capsys.readouterr()
    assert main(["prove", str(path)]) == 0
    assert "5 of 5 claims are as expected; 1 reported only" in capsys.readouterr().out
    assert main(["sheet", str(path), "-o", str(tmp_path / "card.tex")]) == 0


def test_a_title_of_ones_own(capsys):
    assert main(["sheet", "chain", "--title", "My card"]) == 0
    assert capsys.readouterr().out.startswith("My card\n")


# ---- what is refused ----


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ([], "a sheet is made of something"),
        (["chain", "-o", "x.docx"], "unknown ending '.docx'"),
        (["chain", "-o", "x"], "unknown ending 'x'"),
        (["chain", "--rows", "flopz"], "unknown kind of row 'flopz'"),
        (["chain", "--rows", "bytes"], "no row is left"),
        (["chain", "--optimizer", "adamw"], "--optimizer has no meaning here: claims make their own choices"),
        (["chain", "--at", "B=2"], "--at has no meaning here: claims make their own choices"),
        (["--all", "/proc/nope"], "the folder cannot be made"),
        (["no_such_graph"], "unknown graph or model 'no_such_graph'"),
        (["no/such.toml"], "no/such.toml"),
        (["chain", "--new", "x.toml"], "--new stands alone"),
        (["--new", "x.txt"], "a claim file ends in .toml"),
        (["chain", "-o", "/no/such/folder/x.md"], "the sheet cannot be written"),
        (["chain", "--lang", "de"], "unknown choice of --lang 'de'"),
    ],
)
def test_wrong_input_is_refused(capsys, words, what):
    assert what in complaint(capsys, *words)


def test_a_new_file_never_overwrites(tmp_path, capsys):
    path = tmp_path / "mine.toml"
    path.write_text("mine", encoding="utf-8")
    assert "the file is there already" in complaint(capsys, "--new", str(path))
    assert path.read_text(encoding="utf-8") == "mine"


def test_without_an_engine_a_pdf_is_refused_with_a_way_out(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(engine.shutil, "which", lambda _: None)
    said = complaint(capsys, "chain", "-o", str(tmp_path / "x.pdf"))
    assert "there is no TeX engine on this machine" in said
    assert "write the sheet as .tex" in said


@tex.needs("pdflatex")
def test_an_engine_that_fails_is_reported():
    with pytest.raises(engine.RuleError, match="could not make the PDF"):
        engine.pdf_of("\\documentclass{article}\\begin{document}\\nosuch\\end{document}")


# ---- with an engine ----

SHEETS = ("inference", "lecture", "machines", "number-formats", "transformer")
MARGIN = ("margin=7.5mm", "margin=7.5mm,bottom=12mm")
"""A card on a page that is a little shorter: fonts of other machines take more room."""


@tex.needs("pdflatex", "xelatex")
@pytest.mark.parametrize("name", SHEETS)
def test_the_shipped_cards_fit_one_page(tmp_path, name):
    text = (GOLDENS / f"{name}.tex").read_text(encoding="utf-8")
    for one in {"pdflatex", "xelatex"} & set(tex.engines()):
        assert tex.compiled(text.replace(*MARGIN), tmp_path, one) == ([], 1)


@tex.needs("pdflatex")
@pytest.mark.parametrize("name", SHEETS)
def test_the_cards_fit_one_page_in_the_fonts_that_every_tex_has(tmp_path, name):
    """Computer Modern is wider than the Latin Modern that is taken where it is."""
    text = (GOLDENS / f"{name}.tex").read_text(encoding="utf-8")
    plain = re.sub(r"\\IfFileExists\{lmodern\.sty\}.*", "", text).replace(*MARGIN)
    assert "lmodern" not in plain
    assert tex.compiled(plain, tmp_path, "pdflatex") == ([], 1)


@tex.needs("xelatex", chinese=True)
@pytest.mark.parametrize("name", SHEETS)
def test_the_chinese_cards_fit_one_page(tmp_path, name):
    text = (GOLDENS / f"{name}.zh.tex").read_text(encoding="utf-8")
    assert text.startswith("% !TEX program = xelatex\n")
    assert tex.compiled(text.replace(*MARGIN), tmp_path, "xelatex") == ([], 1)


@tex.needs("pdflatex")
@pytest.mark.parametrize("hostile", [HOSTILE[:-3], "a_b_c n_kv_heads numbar 312 TFLOP/s 100% --"])
def test_hostile_titles_compile(tmp_path, hostile):
    path = tmp_path / "card.pdf"
    assert main(["sheet", "chain", "--title", hostile, "-o", str(path)]) == 0
    assert path.read_bytes().startswith(b"%PDF")


# ---- a copy of a claim file that ships ----


@pytest.fixture
def copied(tmp_path):
    """Write a changed copy of the claims on number formats, make its card, and return status and text."""
    claims = (GOLDENS.parent / "claims" / "number-formats.toml").read_text(encoding="utf-8")

    def made(change):
        path, out = tmp_path / "number-formats.toml", tmp_path / "card.md"
        path.write_text(change(claims), encoding="utf-8")
        return main(["sheet", str(path), "-o", str(out)]), out.read_text(encoding="utf-8")

    return made


def test_a_copy_has_the_layout_of_the_file_that_ships(copied):
    """Wherever it lies: an installed package has its own copy of the claims."""
    assert copied(str) == (0, (GOLDENS / "number-formats.md").read_text(encoding="utf-8"))


def test_a_claim_made_false_in_a_copy_is_refuted_with_its_right_term(copied, capsys):
    true, false = 'claim = "epsilon(bf16) = 8*epsilon(fp16)"', 'claim = "epsilon(bf16) = 4*epsilon(fp16)"'
    status, card = copied(lambda text: text.replace(true, false))
    assert status == 1
    row = next(line for line in card.splitlines() if "steps of bf16 and fp16" in line)
    assert "**refuted**" in row
    assert "right:" in row
    assert "expected proved, got refuted" in capsys.readouterr().err


def test_a_claim_added_to_a_copy_is_not_lost(copied):
    more = '\n[[claim]]\nname = "one of my own"\nclaim = "bits(fp32) = 4*bits(fp8_e4m3)"\nexpect = "proved"\n'
    status, card = copied(lambda text: text + more)
    assert status == 0
    assert "one of my own" in card.splitlines()[-3]


def test_a_file_that_only_shares_the_name_keeps_all_its_rows(copied):
    status, card = copied(lambda _: '[[claim]]\nname = "mine"\nclaim = "2*x = x + x"\nexpect = "proved"\n')
    assert status == 0
    assert sum(line.startswith("| ") for line in card.splitlines()) == 3


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('rows = [{ quantity = "flops.model", graph = "gpt", at = "b=0" }]', "section 1, row 1"),
        ('rows = [{ quantity = "flops.model", graph = "nosuch" }]', "section 1, row 1"),
        ('rows = [{ quantity = "flops.model", graph = "gpt", optimizer = "nosuch" }]', "section 1, row 1"),
        ('machine = "nosuch"', "section 1"),
        ('formats = ["nosuch"]', "section 1"),
    ],
)
def test_a_wrong_layout_says_where_it_is_wrong(tmp_path, capsys, text, place):
    path = tmp_path / "mine.toml"
    path.write_text(f"[[section]]\n{text}\n", encoding="utf-8")
    assert f"where     {path}, {place}" in complaint(capsys, str(path))
