"""What stands on the cards that ship: right terms that are right, limits that test each term, sources."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from shipped import shipped_sheet

from symacct.errors import ReadError
from symacct.policy import PRECISIONS, precision
from symacct.proof.judge import judge
from symacct.readers.claim_files import claims_in, read_claim_file
from symacct.readers.stated import Stated
from symacct.sheet.data import Math, Row, Section, Sheet, Words
from symacct.sheet.from_claims import Claims
from symacct.sheet.html import html_of
from symacct.sheet.layout import claim_path, read_layout, shipped_layouts
from symacct.sheet.making import of_claims, of_layout
from symacct.sheet.markdown import markdown_of
from symacct.sheet.plain import text_of
from symacct.sheet.spelling import spelled
from symacct.sheet.statement import Statement
from symacct.sheet.tex import tex_of
from symacct.syntax.parser import Tree

WRONG = ("refuted", "leading order", "upper bound", "lower bound")
SLIP = {"calc": "2 byte/param * 52e12 param", "to": "GB", "value": "104", "within": "1 %"}
RIGHT = {"instead": "2 byte/param * 52e9 param"}
HUNDRED = Tree("number", 0, 0, value=Fraction(100))


@pytest.fixture(scope="module")
def shipped():
    """Each sheet that ships."""
    return {name: shipped_sheet(name) for name in shipped_layouts()}


def row_of(**stated):
    return Claims().row(Stated("one", "one", **stated), Path())


def printed(row):
    return " ".join(text_of(Sheet("", "", (Section("", (row,)),)), 400).split()).partition(" Derived ")[0]


# ---- over the layouts that ship ----


def said(cell):
    """What a cell says: trees and words, whatever text they were read from."""
    return "".join(spelled(item, "text") if isinstance(item, Math) else str(item) for item in cell)


@pytest.mark.long
def test_no_right_term_is_the_formula_it_stands_for(shipped):
    rows = [row for sheet in shipped.values() for row in sheet.rows if row.instead]
    assert len(rows) > 25
    assert not [row.name for row in rows if said(row.instead) == said(row.formula)]


def test_a_refuted_calculation_is_never_called_right(shipped):
    """What it comes to stands as that; what is called right comes to what was claimed."""
    rows = [row for sheet in shipped.values() for row in sheet.rows
            if row.mark == "refuted" and row.topic == {"calc"}]  # fmt: skip
    assert len(rows) >= 4
    for row in rows:
        assert "; comes to " in [item.text for item in row.worth if isinstance(item, Words)], row.name
        judged = row.origin.judged
        assert bool(row.instead) == bool(judged.stated.instead) == (judged.right is not None)
        assert row.instead or row.note, row.name


def test_what_is_published_names_who_did(shipped):
    rows = [row for sheet in shipped.values() for row in sheet.rows if "published" in row.name]
    assert len(rows) >= 6
    assert all(row.source and row.source in row.notes("card") for row in rows)


def stated_on_cards():
    """Each claim of a card that is about a limit, with the folder of its file."""
    for path in shipped_layouts().values():
        layout = read_layout(path)
        names = {entry.get("claim") for part in layout.parts for entry in part.rows}
        for name in layout.claims:
            file = claim_path(name, layout.folder)
            for one in read_claim_file(file).claims:
                if one.name in names and one.grow:
                    yield one, file.parent


def scaled(text, names, lets):
    """A claim with each term of each sum on its right scaled by 100, one at a time; all of it too."""
    found = Statement(text, names, lets)
    left = spelled(found.math(found.claim.left, found.claim.text), "text")
    for tree in every(found.claim.right):
        right = spelled(found.math(tree, found.claim.text), "text")
        yield f"{left} {found.claim.relation} {right}"


def times(tree):
    return Tree("product", tree.start, tree.end, (HUNDRED, tree))


def every(tree):
    yield times(tree)
    for place, part in enumerate(tree.parts):
        changed = [times(part)] if tree.form == "sum" else []
        changed += list(every(part))[1:]
        for one in changed:
            yield replace(tree, parts=(*tree.parts[:place], one, *tree.parts[place + 1 :]))


LIMITS = {one.name: (one, folder) for one, folder in stated_on_cards()}


@pytest.mark.few(4)
@pytest.mark.parametrize("name", LIMITS)
def test_each_term_of_a_leading_order_counts(name, monkeypatch):
    """A term that may be a hundred times as large, and all stays proved, is not what the limit says."""
    stated, folder = LIMITS[name]
    accounts = {}
    monkeypatch.setattr("symacct.proof.prove._explained", lambda verdict, *_: verdict)
    for text in (stated.claim if stated.expect == "proved" else "", stated.instead):
        if " ~ " not in text:
            continue
        plain = replace(stated, instead="", expect="proved", claim=text)
        proved = judge(plain, folder, accounts)
        assert proved.got == "proved"
        claim = proved.verdict.claim
        changed = list(scaled(text, claim.names - {one.name for one in claim.where}, stated.let))
        assert changed
        for other in changed:
            found = judge(replace(plain, claim=other), folder, accounts)
            assert found.got.startswith(("refuted", "undecided")), f"{other}: {found.got} {found.detail}"


def test_the_limit_of_a_decode_step_that_tested_no_cache_is_found_out():
    """Weights outgrow the cache where features grow: a hundred caches are proved as well."""
    for factor in ("", "100*"):
        claim = f"bytes.forward ~ memory.parameters + {factor}memory.kv_cache - 2 byte*V*D"
        one = Stated("one", "one", "llama", claim, grow="D,F,V", choices=(("workload", "decode"),))
        assert judge(one).got == "proved"


# ---- calculations with the right one ----


def test_a_right_calculation_is_judged_and_shown():
    row = row_of(expect="refuted", **SLIP, **RIGHT)
    assert "refuted 104 GB; comes to 104,000 GB" in printed(row)
    assert "right: (2 byte/param)*(52e9 param) = 104 GB" in printed(row)


def test_without_one_nothing_is_called_right():
    row = row_of(expect="refuted", **SLIP)
    assert not row.instead
    assert "right" not in printed(row)
    assert "comes to 104,000 GB" in printed(row)


def test_a_right_calculation_that_comes_to_something_else_differs():
    for instead, ok in (("2 byte/param * 52e9 param", True), ("2 byte/param * 53e9 param", False)):
        found = judge(Stated("one", "one", expect="refuted", **SLIP, instead=instead))
        assert (found.got, found.ok, found.right is not None) == ("refuted", ok, ok)
    assert found.detail.startswith("instead is another amount than 104 GB")
    assert not Claims().row(Stated("one", "one", expect="refuted", **SLIP, instead=instead), Path()).instead


def test_a_right_calculation_of_a_machine():
    row = row_of(calc="bandwidth/peak", on="h100-sxm", value="295", within="1 %", expect="refuted",
                 instead="peak/bandwidth")  # fmt: skip
    assert "right: peak/bandwidth = 295.4 FLOP/byte" in printed(row)


def test_a_right_calculation_needs_a_value():
    text = '[[claim]]\nname = "a"\ncalc = "1 GB"\n{}instead = "2 GB"\n'
    assert claims_in(text.format('value = "2"\nto = "GB"\n'), Path("my.toml")).claims[0].instead == "2 GB"
    with pytest.raises(ReadError) as caught:
        claims_in(text.format(""), Path("my.toml"))
    assert "instead is the calculation that comes to the value" in str(caught.value)


# ---- names of a right term ----


@pytest.mark.parametrize(
    ("claim", "instead", "right"),
    [
        ("2*B/A = 2/M where B = M/A", "2*B/A = 2/M where B = A/M", "right: B = A/M"),
        ("2*B/A = 3/M where B = A/M", "2*B/A = 2/M where B = A/M", "right: 2*B/A = 2/M"),
        ("B/A = 3/M where B = M/A", "B/A = 1/M where B = A/M", "right: B/A = 1/M where B = A/M"),
    ],
)
def test_names_that_stand_for_something_else_are_printed(claim, instead, right):
    row = row_of(claim=claim, instead=instead, expect="refuted")
    assert row.mark == "refuted"
    assert printed(row).split(" right: ")[1].startswith(right.removeprefix("right: "))
    assert (" where " in printed(row)) == (" where " in right)


def test_conditions_of_a_right_term_stand_behind_one_if():
    row = row_of(claim="x = 2*x", instead="x = x if 2 | x, 3 | x", expect="upper bound")
    assert "right: x = x if 2 | x, 3 | x" in printed(row)


# ---- notes and sources ----

LAYOUT = """
claims = ["mine.toml"]

[[section]]
title = "Work"
note = "n: a size"
rows = [
  {{ claim = "a", name = "as published"{} }},
  {{ claim = "b", name = "mine", note = "by hand" }},
]
"""
CLAIMS = """
source = "a file"

[[claim]]
name = "a"
claim = "n + n = 2*n"
expect = "proved"
source = "a book"

[[claim]]
name = "b"
claim = "n*n = n^2"
expect = "proved"
source = "a slip"

[[claim]]
name = "c"
claim = "n >= 1"
expect = "reported"

[[claim]]
name = "d"
claim = "n >= 1"
expect = "proved"
"""


def laid(tmp_path, more):
    (tmp_path / "mine.toml").write_text(CLAIMS, encoding="utf-8")
    path = tmp_path / "card.toml"
    path.write_text(LAYOUT.format(more), encoding="utf-8")
    return of_layout(read_layout(path))


@pytest.mark.few(2)
@pytest.mark.parametrize("made", [tex_of, markdown_of, html_of, text_of])
def test_notes_and_cited_sources_are_in_every_format(tmp_path, made):
    text = made(laid(tmp_path, ", cited = true"))
    for one in ("n: a size", "a book", "by hand"):
        assert one in text
    assert "a slip" not in text
    assert "a book" not in made(laid(tmp_path, ""))


def test_cited_is_a_flag_and_wants_a_source(tmp_path):
    with pytest.raises(ReadError, match="cited is true or false"):
        laid(tmp_path, ', cited = "a book"')
    (tmp_path / "mine.toml").write_text(CLAIMS.replace('source = "a book"', ""), encoding="utf-8")
    (tmp_path / "card.toml").write_text(LAYOUT.format(", cited = true"), encoding="utf-8")
    layout = read_layout(tmp_path / "card.toml")
    with pytest.raises(ReadError, match="a cited row has a source"):
        of_layout(layout)


def test_the_source_of_a_file_is_of_what_is_reported(tmp_path):
    """What was worked out here is nobody's word."""
    path = tmp_path / "mine.toml"
    path.write_text(CLAIMS, encoding="utf-8")
    rows = {row.name: row for row in of_claims([read_claim_file(path)]).rows}
    assert {name: row.source for name, row in rows.items()} == {
        "a": "a book", "b": "a slip", "c": "a file", "d": "",
    }  # fmt: skip


def test_a_refused_row_says_why_in_its_note_where_it_has_one():
    row = Row("one", mark="refused", comment="65520 is no number in fp16", note="rounds to infinity")
    assert row.notes("card") == "rounds to infinity"
    assert replace(row, note="").notes("card") == row.comment


@pytest.mark.parametrize(("text", "packed"), [("params=mxfp4", True), ("params=int4", True),
                                              ("params=nvfp4", True), ("params=fp8", False),
                                              ("params=bf16,grads=fp32", False)])  # fmt: skip
def test_formats_of_blocks_and_of_less_than_a_byte_say_that_nothing_is_padded(text, packed):
    assert precision(text).describe().endswith(" (packed: blocks and bytes not padded)") == packed
    assert not any("packed" in one.describe() for one in PRECISIONS.values())
