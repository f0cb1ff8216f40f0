"""Every row of every sheet that ships, as printed: read with its graph and without it, it is the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from shipped import NAMES, shipped_sheet

from symacct.claims import read_claim
from symacct.proof.judge import _dtype, machine_of
from symacct.proof.prove import prove
from symacct.proof.read_line import read_line
from symacct.sheet.markdown import _math
from symacct.sheet.readback import is_same, value
from symacct.sheet.spelling import spelled
from symacct.sheet.statement import QUANTITIES, Math
from symacct.syntax import read_sizes, walk

LETTERS = re.compile(r"[a-zA-Z]")


@pytest.fixture(scope="module")
def shipped():
    """Each sheet that ships, in full."""
    return [shipped_sheet(name, style="full") for name in NAMES]


def notations(one):
    """A formula as a reader copies it."""
    tex = spelled(one, "latex")
    return spelled(one, "text"), f"${tex}$", _math(tex).replace("$`", "$").replace("`$", "$")


def side(shown, names):
    """The formula that is read, as a side of a claim."""
    return read_claim(f"{shown[:-1]} = 1$" if shown[0] == "$" else f"{shown} = 1", names, QUANTITIES).left


def is_alone(one, shown):
    """Whether a formula can be read without a graph: letters and numbers, in LaTeX without a unit."""
    parts = list(walk(one.tree))
    forms = {part.form for part in parts}
    if "quantity" in forms or (shown[0] == "$" and "unit" in forms):
        return False
    return all(LETTERS.fullmatch(part.name) or "_" in part.name for part in parts if part.form == "name")


@pytest.mark.long
def test_every_formula_is_read_with_and_without_a_graph(shipped):
    """Every formula of every row and step, in text, LaTeX and Markdown."""
    maths = {}
    for sheet in shipped:
        for row in sheet.rows:
            cells = [
                row.formula,
                *row.holds,
                row.worth,
                row.instead,
                *row.cells,
                *(s.cell for s in row.steps),
            ]
            found = [one for cell in cells for one in cell if isinstance(one, Math)]
            maths |= {(one.text[one.tree.start : one.tree.end], one.names): one for one in found}
    assert len(maths) > 900
    alone = 0
    for one in maths.values():
        for shown in notations(one):
            assert is_same(value(side(shown, one.names)), value(one.tree)), shown
            if is_alone(one, shown):
                assert is_same(value(side(shown, None)), value(one.tree)), shown
                alone += 1
    assert alone > 1500


@pytest.mark.long
def test_every_claim_is_read_as_printed_with_the_same_verdict(shipped):
    """The line that says how a claim was read, typed again beside the same graph."""
    seen = 0
    for sheet in shipped:
        for row in sheet.rows:
            judged = row.origin.judged if row.origin else None
            if judged is None or judged.verdict is None:
                continue
            again, line = judged_again(judged, row.origin.account)
            assert again.outcome == judged.verdict.outcome, line
            assert read_line(again) == line
            seen += 1
    assert seen > 150


def judged_again(judged, account):
    """The verdict on the line that a verdict prints, and the line."""
    stated, line = judged.stated, read_line(judged.verdict)
    grow = tuple(name.strip() for name in stated.grow.split(",") if name.strip())
    on = machine_of(stated.on, Path())
    sizes = read_sizes(stated.at) if stated.at else None
    dtype = _dtype(stated) if account is None else None
    return prove(
        account,
        line,
        sizes=sizes,
        lets=stated.let,
        assume=stated.assume,
        grow=grow,
        brief=True,
        on=on,
        dtype=dtype,
    ), line
