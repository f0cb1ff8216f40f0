"""Sheets: each printed formula says what was meant, what is wrong is shown as wrong, text stays text."""

from __future__ import annotations

import math
import random
import re
from fractions import Fraction
from html.parser import HTMLParser

import pages
import pytest
from shipped import shipped_sheet

from symacct import formats
from symacct.cli.main import main
from symacct.errors import FormulaError, ReadError, SymacctError, UnknownNameError
from symacct.machines import load as load_machine
from symacct.machines.catalogue import names as machine_names
from symacct.sheet import readback
from symacct.sheet.data import Math, Words
from symacct.sheet.html import html_of
from symacct.sheet.layout import read_layout, shipped_layouts
from symacct.sheet.making import of_claims, of_layout, selected
from symacct.sheet.markdown import markdown_of
from symacct.sheet.plain import text_of
from symacct.sheet.readback import checked, unmarked, value
from symacct.sheet.spelling import spelled
from symacct.sheet.statement import QUANTITIES, formula
from symacct.sheet.tex import tex_of
from symacct.syntax import parse, walk
from symacct.units import is_unit, read_unit

KINDS = ("text", "latex", "mathml")
UNITS = ("byte", "FLOP/s", "FLOP/(param*token)", "GB", "%")
NAMES = ("B", "D", "L", "d_ff", "n_kv_heads", "beta", "h")
CALLS = {
    "sqrt": math.sqrt, "abs": abs, "ceil": math.ceil, "ceiling": math.ceil, "floor": math.floor,
    "log": math.log, "ln": math.log, "log2": math.log2, "max": max, "min": min,
}  # fmt: skip


def worth(tree, sizes):  # noqa: PLR0911
    """What a tree comes to: plain arithmetic, without the algebra that sheets are checked with."""
    if tree.form == "number":
        return tree.value
    if tree.form in {"name", "quantity"}:
        return sizes[tree.name]
    if tree.form == "unit":
        return read_unit(tree.name)[0] * sizes[str(read_unit(tree.name)[1])]
    parts = [worth(part, sizes) for part in tree.parts]
    if tree.form == "sum":
        return sum(parts)
    if tree.form == "product":
        return math.prod(parts)
    if tree.form == "negative":
        return -parts[0]
    if tree.form == "quotient":
        return parts[0] / parts[1]
    return parts[0] ** parts[1] if tree.form == "power" else CALLS[tree.name](*parts)


def read_again(one, kind):
    """The tree that a printed formula is read as."""
    printed = spelled(one, kind)
    plain = unmarked(printed) if kind == "mathml" else printed
    return parse(plain, one.names, is_unit, QUANTITIES, latex=kind == "latex")


def says_the_same(one, kind, seed=1):
    """Whether a printed formula, read again, comes to the same at random sizes."""
    dice = random.Random(seed)
    again = read_again(one, kind)
    sizes = {}
    for part in (*walk(one.tree), *walk(again)):
        key = str(read_unit(part.name)[1]) if part.form == "unit" else part.name
        sizes.setdefault(key, Fraction(dice.randint(2, 40)))
    try:
        first, second = float(worth(one.tree, sizes)), float(worth(again, sizes))
    except ZeroDivisionError:
        return says_the_same(one, kind, seed + 1)
    return math.isclose(first, second, rel_tol=1e-9)


def random_text(dice, deep=3):  # noqa: PLR0911
    """A random formula that people could write."""
    kind = dice.choice("nnvvvv" if deep == 0 else "nvvsspppqwcu-")
    if kind == "n":
        return dice.choice(["2", "3", "12", "0.5", "1.25", "6e3", "70e9", "1/3"])
    if kind == "v":
        return dice.choice(NAMES)
    parts = [random_text(dice, deep - 1) for _ in range(dice.randint(2, 3))]
    if kind == "s":
        return "(" + dice.choice([" + ", " - "]).join(parts) + " + 7)"
    if kind == "p":
        return "*".join(f"({part})" if "/" in part else part for part in parts)
    if kind == "q":
        return f"({parts[0]})/({parts[1]} + 1)"
    if kind == "w":
        return f"(abs({parts[0]}))^(1/2)" if dice.random() < 0.3 else f"({parts[0]})^{dice.choice('23')}"
    if kind == "c":
        name = dice.choice(["sqrt", "ceil", "floor", "max", "min", "log2", "log"])
        return (
            f"{name}({parts[0]} + 9, {parts[1]})"
            if name in {"max", "min"}
            else f"{name}(abs({parts[0]}) + 9)"
        )
    if kind == "u":
        return f"({parts[0]})*(4 {dice.choice(UNITS)})"
    return f"(50 - {parts[0]})"


def random_formulas(count, seed=0):
    """So many random formulas that can be read."""
    dice = random.Random(seed)
    while count:
        text = random_text(dice)
        try:
            one = formula(text, NAMES)
            sizes = dict.fromkeys((*NAMES, "byte", "FLOP/second", "FLOP/(parameter*token)", "1"), Fraction(7))
            sizes |= {
                str(read_unit(part.name)[1]): Fraction(3) for part in walk(one.tree) if part.form == "unit"
            }
            value = worth(one.tree, sizes)
            readback.value(one.tree)
        except (FormulaError, ValueError, ZeroDivisionError, OverflowError, TypeError):
            continue
        if not isinstance(value, complex) and math.isfinite(float(value)):
            count -= 1
            yield one


@pytest.fixture(scope="module")
def shipped():
    """Each sheet that ships, in both languages."""
    return {(name, lang): shipped_sheet(name, lang) for name in shipped_layouts() for lang in ("en", "zh")}


# ---- print, read, prove identical ----


@pytest.mark.long
def test_every_formula_of_every_shipped_sheet_says_what_was_meant(shipped):
    maths = [(row.name, one) for (_, lang), sheet in shipped.items() if lang == "en"
             for row in sheet.rows for one in row.maths]  # fmt: skip
    assert len(maths) > 100
    wrong = [(name, kind) for name, one in maths for kind in KINDS if not says_the_same(one, kind)]
    assert not wrong


@pytest.mark.long
def test_random_formulas_say_what_was_meant():
    """By the check that sheets make, and by plain arithmetic."""
    for number, one in enumerate(random_formulas(300)):
        for kind in KINDS:
            checked(one, kind, one.text)
            assert says_the_same(one, kind, number), (kind, one.text)


def test_a_formula_that_does_not_read_back_stops_the_sheet(monkeypatch):
    """A printer once wrote -12BD^2 for -2BD^2."""
    one = formula("6*B*D^2*L - 2*B*D^2", ["B", "D", "L"])
    monkeypatch.setattr(readback, "spelled", lambda *_: "6 B D^{2} L - 12 B D^{2}")
    with pytest.raises(FormulaError) as caught:
        checked(one, "latex", "row 6BD")
    assert caught.value.where == "row 6BD"
    assert "does not read back" in caught.value.what


@pytest.mark.parametrize(
    ("text", "names", "shown"),
    [
        ("n_kv_heads*d", ["n_kv_heads", "d"], r"\mathrm{n\_kv\_heads} \cdot d"),
        ("numbar + overhat", ["numbar", "overhat"], r"\mathrm{numbar} + \mathrm{overhat}"),
        ("a_b_c^2", ["a_b_c"], r"\mathrm{a\_b\_c}^{2}"),
        ("312 TFLOP/s", [], r"312\,\mathrm{TFLOP/s}"),
        ("50 %", [], r"50\,\mathrm{\%}"),
        ("beta*词", ["beta", "词"], r"\beta \cdot \text{词}"),
        ("70e9 param", [], r"70 \times 10^{9}\,\mathrm{param}"),
        ("2BD/(B+1)", ["B", "D"], r"\frac{2 B D}{B + 1}"),
        ("sqrt(L)*(B + D)", ["L", "B", "D"], r"\sqrt{L} (B + D)"),
        ("6*N*params", ["N"], r"6 N \cdot \mathrm{params}"),
    ],
)
def test_latex_that_went_wrong_elsewhere(text, names, shown):
    """Names lost underscores, ended as accents or got two subscripts; units lost their space or their line.

    Sources: sympy issue 12090, pint issue 200, and names as model files write them.
    """
    assert checked(formula(text, names), "latex", "") == shown


ON_MACHINES = """
[[claim]]
name = "a figure"
claim = "floor(ridge/(1 FLOP/byte)) = 295"
on = "lecture:h100"
expect = "proved"

[[claim]]
name = "a time"
graph = "linear"
workload = "forward"
on = "lecture:h100"
at = "D=4096,K=4096"
claim = "time.forward > bytes.forward/bandwidth iff B > 345"
expect = "proved"

[[claim]]
name = "rates as symbols"
graph = "relu"
workload = "forward"
claim = "time.forward = max(4*B*D/W_mem, B*D/V_bf16)"
expect = "proved"

[[claim]]
name = "a calculation"
calc = "x*peak/bandwidth"
let = ["x = 2"]
on = "lecture:h100"

[[claim]]
name = "numbers of formats"
claim = "largest(fp8_e4m3) = 2^8*(2 - epsilon(bf16)*64)"
expect = "refuted"
instead = "largest(fp8_e4m3) = 448"

[[claim]]
name = "a number in a format"
claim = "round(bf16, 513/512) = 1"
expect = "proved"
"""


def test_figures_of_machines_and_formats_are_set_as_formulas(tmp_path):
    """None of them is shown as code, each reads back, and each says which machine it is of."""
    sheet = sheet_of(tmp_path, ON_MACHINES)
    assert not sheet.differs
    for row in sheet.rows:
        assert not any(isinstance(item, Words) and item.code for item in (*row.formula, *row.instead))
        for one in row.maths:
            for kind in KINDS:
                checked(one, kind, row.name)
    rows = {row.name: row for row in sheet.rows}
    assert "lecture:h100" in [
        item.text for cell in rows["a time"].holds for item in cell if isinstance(item, Words)
    ]
    assert rows["a number in a format"].topic == {"formats"}
    made = tex_of(sheet)
    for shown in (
        r"\frac{4 B D}{W_{\mathrm{mem}}}",
        r"\text{largest}\allowbreak \text{(fp8\_e4m3)} = 448",
        r"\text{round}\allowbreak \text{(bf16, 513/512)} = 1",
        r"\frac{x \cdot \mathrm{peak}}{\mathrm{bandwidth}}",
    ):
        assert shown in made


# ---- what is wrong is shown as wrong ----

FALSE = """
[[claim]]
name = "false on purpose"
graph = "deep_linear"
claim = "flops.model = 7*B*D^2*L"
expect = "proved"

[[claim]]
name = "false with a false right term"
graph = "deep_linear"
claim = "flops.model = 5*B*D^2*L"
instead = "flops.model = 6*B*D^2*L"
expect = "refuted"

[[claim]]
name = "true"
graph = "deep_linear"
claim = "flops.model = 6*B*D^2*L - 2*B*D^2"
expect = "proved"

[[claim]]
name = "somebody's word"
claim = "MFU >= 1/2"
expect = "reported"
source = "a book"

[[claim]]
name = "a count and a rate"
claim = "1 TFLOP = 1 TFLOP/s"
expect = "refused"
"""


def sheet_of(tmp_path, text, **shape):
    from symacct.readers.claim_files import read_claim_file

    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return of_claims([read_claim_file(path)], **shape)


def test_a_false_claim_is_refuted_with_its_right_term(tmp_path):
    sheet = sheet_of(tmp_path, FALSE)
    rows = {row.name: row for row in sheet.rows}
    assert [row.mark for row in sheet.rows] == ["refuted", "refuted", "proved", "reported", "refused"]
    exact = "6*B*D^2*L - 2*B*D^2"
    for name in ("false on purpose", "false with a false right term"):
        (shown,) = (item for item in rows[name].instead if isinstance(item, Math))
        assert spelled(shown, "text") == exact
    assert [line.partition(":")[0] for line in sheet.differs] == [
        "false on purpose", "false with a false right term",
    ]  # fmt: skip
    for made in (tex_of(sheet), markdown_of(sheet), html_of(sheet), text_of(sheet)):
        line = next(line for line in made.splitlines() if "false on purpose" in line or "false on" in line)
        assert "refuted" in line
        assert "proved" not in line
        assert "a book" in made


def test_the_command_says_which_claim_differs(tmp_path, capsys):
    path = tmp_path / "mine.toml"
    path.write_text(FALSE, encoding="utf-8")
    assert main(["sheet", str(path), "-o", str(tmp_path / "out.md")]) == 1
    assert capsys.readouterr().err.startswith("differs: false on purpose: expected proved, got refuted")
    assert (tmp_path / "out.md").is_file()


def test_leading_order_and_bounds_show_the_right_term(shipped):
    rows = [row for sheet in shipped.values() for row in sheet.rows]
    weaker = [row for row in rows if row.mark in {"leading order", "upper bound", "lower bound", "refuted"}]
    assert len(weaker) >= 8
    assert all(row.instead or (row.topic == {"calc"} and row.note) for row in weaker)
    assert not any(row.instead for row in rows if row.mark in {"proved", "derived", "reported"})


def test_what_is_reported_has_a_source(shipped):
    rows = [row for row in shipped["lecture", "en"].rows if row.mark == "reported"]
    assert [row.name for row in rows] == ["MFU", "GPT-4", "Lineage", "H100, 1979 TFLOP/s", "Timing a GPU"]
    assert all(row.source for row in rows)


SECTIONS = """
about = "costs"
about_zh = "开销"

[[claim]]
name = "first"
claim = "n + n = 2*n"
expect = "proved"

[[claim]]
section = "Work"
section_zh = "计算量"
name = "second"
name_zh = "第二"
claim = "n*n = n^2"
expect = "proved"

[[claim]]
name = "third"
name_zh = "第三"
calc = "2*3"
"""


@pytest.mark.parametrize(
    ("lang", "title", "sections"),
    [
        ("en", "costs", [("costs", ["first"]), ("Work", ["second", "third"])]),
        ("zh", "开销", [("开销", ["first"]), ("计算量", ["第二", "第三"])]),
    ],
)
def test_a_claim_file_has_sections_and_names_in_both_languages(tmp_path, lang, title, sections):
    sheet = sheet_of(tmp_path, SECTIONS, lang=lang)
    assert sheet.title == title
    assert [(one.title, [row.name for row in one.rows]) for one in sheet.sections] == sections


# ---- tables of machines and formats ----


def machines():
    """Every machine that ships with figures."""
    return [load_machine(name) for name in machine_names() if name != "cpu"]


def test_every_machine_that_has_a_peak_is_in_the_table(shipped):
    table = next(one for one in shipped["machines", "en"].sections if one.heads)
    known = {one.name for one in machines() if one.peaks and ":" not in one.name}
    assert {row.name for row in table.rows} == known
    assert all(row.source and len(row.cells) == len(table.heads) - 1 for row in table.rows)
    plain = {row.name: [item.text for cell in row.cells for item in cell] for row in table.rows}
    for one in machines():
        if one.name in known and "bf16" in one.dtypes():
            assert Fraction(plain[one.name][0]) * 10**12 == one.peak("bf16").value
            assert Fraction(plain[one.name][4]) * 10**9 == one.needed("bandwidth").value
            assert Fraction(plain[one.name][5]) * 10**9 == one.needed("capacity").value
            ridge = one.peak("bf16").value / one.needed("bandwidth").value
            assert abs(Fraction(plain[one.name][6]) - ridge) < ridge / 1000


def test_the_table_of_formats_says_what_the_formats_are(shipped):
    """Each power of two in it is the exact number; what stands behind it is that number, rounded."""
    table = next(one for one in shipped["number-formats", "en"].sections if one.heads)
    for row in table.rows:
        one = formats.find(row.name)
        facts = (one.largest, one.smallest_normal, one.smallest if one.subnormal else None, one.epsilon)
        for cell, exact in zip(row.cells[2:6], facts, strict=True):
            powers = [item for item in cell if isinstance(item, Math)]
            assert bool(powers) == (exact is not None)
            for place, power in enumerate(powers):
                shown = worth(power.tree, {})
                assert abs(shown - exact) <= (exact / 1000 if place else 0), row.name
    assert table.rows[0].name == "fp64"


@pytest.mark.parametrize(
    ("section", "what"),
    [
        ('machines = "h100-sxm"', "machines is a list of names"),
        ('machines = ["h100-sxm"]\nformats = ["fp16"]', "a section has rows, or a machine"),
        ('machines = ["h100"]', "h100"),
        ('formats = ["fp16", "mxfp4"]', "mxfp4 is no floating-point format"),
        ('formats = ["mxfp4", "fp16"]', "fp16 stands in another table"),
        ('formats = ["fp99"]', "unknown dtype 'fp99'"),
        ("formats = []", "a section has rows, or a machine"),
    ],
)
def test_tables_are_read_strictly(tmp_path, section, what):
    path = tmp_path / "mine.toml"
    path.write_text(f'[[section]]\ntitle = "t"\n{section}\n', encoding="utf-8")
    with pytest.raises(SymacctError) as caught:
        of_layout(read_layout(path))
    assert what in str(caught.value)
    path.write_text('[[section]]\ntitle = "t"\nformats = ["fp16"]\n', encoding="utf-8")
    sheet = of_layout(read_layout(path))
    for made in (tex_of(sheet), markdown_of(sheet), html_of(sheet), text_of(sheet)):
        assert "65504" in made
    assert selected(sheet, ["formats"]).rows == sheet.rows


# ---- Markdown as GitHub reads it ----

KEPT = re.compile(r"\$`([^`]*)`\$")
PLAIN = re.compile(r"(?<![\w$\\])\$(?!\s)([^$\n]+?)(?<!\s)\$(?![\w$])")


def test_markdown_has_no_formula_that_github_reads_otherwise(shipped):
    """Marks of Markdown stand in the form that keeps them; no dollar is left, no bar ends a cell."""
    for (name, lang), sheet in shipped.items():
        made = markdown_of(sheet)
        kept = KEPT.findall(made)
        rest = KEPT.sub("", made)
        plain = PLAIN.findall(rest)
        left = PLAIN.sub("", rest).replace("\\$", "")
        assert "$" not in left, (name, lang)
        assert not any(set(one) & set("_*~<>&[]#|`") for one in plain)
        assert not any("|" in one or "$" in one for one in kept)
        for one in (*kept, *plain):
            depth = 0
            for char in re.sub(r"\\[{}]", "", one):
                depth += {"{": 1, "}": -1}.get(char, 0)
                assert depth >= 0
            assert depth == 0
            assert one.count("\\left") == one.count("\\right") + one.count("\\leftarrow")


# ---- hostile text ----

HOSTILE = (
    r"\input{/etc/passwd} 100% #1 & x_y ^2 {a} $m$ ~ <script>alert(1)</script> | `c` [l](http://e) *b* \"",
    "]]> <!-- --> --- -- ''quoted'' \u200b\u202e é ≤ √L",
)


class Tags(HTMLParser):
    """The tags and the data of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.said = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.said.append(data)


@pytest.fixture
def hostile(tmp_path):
    """A sheet whose every text is hostile."""
    claims = "".join(
        f"[[claim]]\nname = {_quoted(text)}\nclaim = 'n + n = 2*n'\nexpect = 'reported'\n"
        f"source = {_quoted(text)}\ncomment = {_quoted(text)}\n"
        for text in HOSTILE if text.isprintable()
    )  # fmt: skip
    return sheet_of(
        tmp_path, f"about = {_quoted(HOSTILE[1])}\nsource = {_quoted(HOSTILE[0])}\n{claims}", style="full"
    )


def _quoted(text):
    return (
        '"'
        + "".join(char if char.isalnum() and char.isascii() else f"\\u{ord(char):04x}" for char in text)
        + '"'
    )


def test_hostile_text_stays_text_in_html(hostile):
    page = Tags()
    page.feed(html_of(hostile))
    assert not any(tag in {"a", "img", "link", "iframe"} for tag, _ in page.tags)
    own = [{"type": "application/json", "id": "sheet-data"}, {}]
    assert [dict(attrs) for tag, attrs in page.tags if tag == "script"] in ([], own)
    assert any(HOSTILE[0] in said for said in page.said)
    assert not any("http" in value for _, attrs in page.tags for value in attrs.values() if value)


def test_hostile_text_stays_text_in_latex(hostile):
    made = tex_of(hostile)
    body = made[made.index("\\begin{document}") :]
    assert "\\textbackslash{}input\\{/etc/passwd\\} 100\\% \\#1 \\& x\\_y \\textasciicircum{}2" in body
    assert "\\input" not in made
    assert "\u202e" not in made


def test_hostile_text_stays_text_in_markdown(hostile):
    made = markdown_of(hostile)
    assert "<script>" not in made.replace("\\<script\\>", "")
    assert "\\[l\\](http" in made
    bars = {line.replace("\\|", "").count("|") for line in made.splitlines() if line.startswith("|")}
    assert bars == {6}


@pytest.mark.long
def test_a_file_of_its_own_needs_no_network(shipped):
    made = html_of(shipped["lecture", "zh"])
    page = Tags()
    page.feed(made)
    assert not any({"src", "href"} & set(attrs) for _, attrs in page.tags)
    assert "url(" not in made
    assert "@import" not in made
    assert len(made.encode()) < 1_000_000


# ---- layouts, and the goldens ----


@pytest.mark.long
def test_the_shipped_sheets_are_as_reviewed(shipped):
    """Remade here, and compared with the files that people looked at."""
    made = {}
    for (name, lang), sheet in shipped.items():
        assert not sheet.differs
        stem = name if lang == "en" else f"{name}.{lang}"
        for ending, render in ((".tex", tex_of), (".md", markdown_of), (".html", html_of)):
            made[stem + ending] = render(sheet)
    stored = pages.stored(made)
    assert stored.keys() == {*pages.SHEETS.iterdir(), *pages.GOLDENS.iterdir()}
    differ = [path.name for path, text in stored.items() if text != path.read_text(encoding="utf-8")]
    assert not differ, "look at them; then: python tests/pages.py"


def test_a_stored_page_is_whole_again():
    """What is left out of a page is put back as it was."""
    page = (pages.SHEETS / pages.SHOWN).read_text(encoding="utf-8")
    assert pages.whole(pages.bare(page)) == page
    assert len(pages.bare(page)) < len(page) - 50_000


def test_rows_are_selected_by_topic(shipped):
    card = shipped["lecture", "en"]
    chosen = selected(card, ["intensity"])
    assert {row.quantity for row in chosen.rows} == {"intensity.forward"}
    assert {row.mark for row in selected(card, ["reported"]).rows} == {"reported"}
    assert selected(card, []) is card
    with pytest.raises(UnknownNameError, match="unknown kind of row"):
        selected(card, ["flopz"])


def test_every_row_has_a_chinese_name():
    for path in shipped_layouts().values():
        layout = read_layout(path)
        assert all(part.head.texts["title_zh"] for part in layout.parts)
        entries = [entry for part in layout.parts for entry in part.rows]
        assert all(entry.texts.get("name_zh") or entry.texts.get("say_zh") for entry in entries)


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ('{ claim = "x", say = "y", source = "z" }', "a row states one thing"),
        ('{ say = "y" }', "what is reported has a source"),
        ('{ quantity = "flops.model" }', "a quantity is one of a graph"),
        ('{ clam = "x" }', "unknown key 'clam'"),
        ('"x"', "a row is a table"),
    ],
)
def test_layouts_are_read_strictly(tmp_path, rows, what):
    path = tmp_path / "mine.toml"
    path.write_text(f'title = "t"\n[[section]]\ntitle = "s"\nrows = [{rows}]\n', encoding="utf-8")
    with pytest.raises(ReadError) as caught:
        read_layout(path)
    assert what in str(caught.value)
    assert "section 1" in str(caught.value.where)


def test_a_layout_names_claims_that_there_are(tmp_path):
    path = tmp_path / "mine.toml"
    text = 'claims = ["chain"]\n[[section]]\ntitle = "s"\nrows = [{{ claim = "{}" }}]\n'
    path.write_text(text.format("6BD²L is not exact"), encoding="utf-8")
    assert of_layout(read_layout(path)).rows[0].mark == "leading order"
    path.write_text(text.format("6BD²L is not exakt"), encoding="utf-8")
    with pytest.raises((ReadError, UnknownNameError)) as caught:
        of_layout(read_layout(path))
    assert "6BD²L is not exact" in str(caught.value)


def test_long_names_that_begin_alike_are_not_one():
    """Names of quantities of any length stand for themselves when a formula is read back."""
    long = ["memory.activations.peak(checkpoint=every:1)", "memory.activations.peak(checkpoint=every:2)"]
    first, second = (value(formula(name, []).tree) for name in long)
    assert first != second
