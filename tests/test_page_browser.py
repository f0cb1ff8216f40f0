"""The live page in a real browser: it says what Python says, bears readers, asks nothing of a network."""

from __future__ import annotations

import json
import math
import random
import re
from dataclasses import replace
from fractions import Fraction
from importlib import resources

import pytest
from browser import Browser, Tab, found
from page_oracle import expected
from pages import page_of
from shipped import NAMES as SHEETS
from shipped import shipped_sheet

from symacct.account import derive
from symacct.cli.main import main
from symacct.readers.files import load
from symacct.sheet.data import Bench, Sheet
from symacct.sheet.html import html_of
from symacct.sheet.making import of_account
from symacct.sheet.page.words import WORDS

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(found() is None, reason="no Chromium on this machine: apt-get install chromium"),
]

SETTINGS = 20
CLOSE = 1e-9
TRAIN = (("workload", ("train",)),)
MARK = '<script type="application/json" id="sheet-data">'
SET = """(setting) => {
  for (const [key, text, dice] of setting) {
    const { controls } = FIELDS.get(key);
    const control = controls[Math.floor(dice * controls.length)];
    control.value = text;
    control.dispatchEvent(new Event("input", { bubbles: true }));
  }
}"""
SHOWN = """() => Object.fromEntries([...document.querySelectorAll("output[data-of]")].map((one) => [
  `${one.dataset.of}/${one.dataset.place ?? one.dataset.name}`,
  { exact: one.dataset.exact, value: one.dataset.value, binds: one.dataset.binds, text: one.textContent },
]))"""
MESSAGE = "() => document.querySelector('.said').textContent"


@pytest.fixture(scope="module")
def browser():
    made = Browser()
    yield made
    made.close()


@pytest.fixture
def tab(browser):
    made = Tab(browser)
    yield made
    made.close()


@pytest.fixture
def lecture(tab):
    return tab.open(page_of("lecture").as_uri())


def data_of(page):
    """What a page computes from."""
    return json.loads(page.partition(MARK)[2].partition("</script>")[0])


# ---- settings: what a reader may choose, and what the page and Python say then ----


def settings(data, dice):
    """One random setting of a page, as its fields take it and as the oracle does."""
    sizes = {
        scope: {one["name"]: number(one, dice, scope) for one in known["sizes"]}
        for scope, known in data["scopes"].items()
    }
    choices = {
        one["id"]: {choice["name"]: dice.choice(choice["values"]) for choice in one["choices"]}
        for one in (*data["rows"], *data["benches"])
    }
    machine = dice.choice([one["name"] for one in data["machines"]]) if data["benches"] else None
    fields = {f"{scope}.{name}": text for scope, known in sizes.items() for name, text in known.items()}
    fields |= {f"{owner}.{name}": text for owner, known in choices.items() for name, text in known.items()}
    fields |= {"machine": machine} if machine else {}
    texts = [(key, str(text), dice.random()) for key, text in fields.items()]
    dice.shuffle(texts)
    return texts, (sizes, choices, machine)


def number(one, dice, scope):
    """A size: mostly one that divides others, or a square, so that conditions hold."""
    if not one["integer"]:
        below = dice.choice([1, 1, 2, 10, 1000]) if scope.startswith("row:") else 1
        return Fraction(dice.randint(1, 10**6), below)
    least = int(one["least"] or 1)
    return max(least, dice.choice([2 ** dice.randint(0, 14), 4 ** dice.randint(1, 5), dice.randint(1, 200)]))


def differences(data, shown, choices, wanted):
    """Where the page and Python do not say the same; and how many numbers were compared."""
    found, compared = [], 0
    for one in (*data["rows"], *data["benches"]):
        picked = "|".join(choices[one["id"]][choice["name"]] for choice in one["choices"])
        head = f"{one['id']}/{picked}/"
        for key, value in wanted.items():
            if key.startswith(head) and key.removeprefix(head) not in left_out(one, picked):
                there = shown.get(f"{one['id']}/{key[len(head) :]}", {})
                compared += value is not None
                if not says(there, value):
                    found.append((key, there, value))
    return found, compared


def left_out(one, picked):
    """What may be missing: the peak of a bench, which takes too long to derive for each choice."""
    if "quantities" not in (variant := known_variant(one, picked)):
        return set()
    return {"memory.peak"} - {quantity["name"] for quantity in variant["quantities"]}


def known_variant(one, picked):
    """What a row or a bench computes under its choices."""
    found = one["variants"][picked]
    return one["variants"][found] if isinstance(found, str) else found


def says(there, value):
    """Whether an output says a value: exactly, or to within the rounding of doubles."""
    if value is None:
        return not {"exact", "value", "binds"} & there.keys()
    if isinstance(value, str):
        return there.get("binds") == value
    if "exact" in there:
        exact = Fraction(there["exact"])
        return exact == value if not isinstance(value, float) else math.isclose(exact, value, rel_tol=CLOSE)
    return "value" in there and math.isclose(float(there["value"]), value, rel_tol=CLOSE)


@pytest.mark.parametrize("name", SHEETS)
def test_the_page_says_what_python_says(browser, name):
    """At 20 random settings, set as a reader sets them: every number, the times, and what binds."""
    page = page_of(name).read_text(encoding="utf-8")
    data, dice, compared = data_of(page), random.Random(name), 0
    tab = Tab(browser).open(page_of(name).as_uri())
    for _ in range(SETTINGS):
        texts, (sizes, choices, machine) = settings(data, dice)
        tab.call(SET, texts)
        wanted = expected(shipped_sheet(name), sizes, choices, machine, data=data)
        wrong, count = differences(data, tab.call(SHOWN), choices, wanted)
        assert not wrong, (texts, wrong[:3])
        compared += count
    assert compared > SETTINGS * max(1, len(data["rows"]) // 4)
    assert not tab.complaints()
    tab.close()


def test_a_wrong_number_in_the_page_is_found(tab, tmp_path):
    """The comparison above can fail."""
    page = page_of("lecture").read_text(encoding="utf-8")
    data, dice = data_of(page), random.Random(3)
    row = next(one for one in data["rows"] if one["scope"] == "linear")
    result = row["variants"][""]["results"][0]
    result["expr"] = ["*", "1000000001/1000000000", result["expr"]]
    head, _, rest = page.partition(MARK)
    script = json.dumps(data).replace("<", "\\u003c")
    (tmp_path / "wrong.html").write_text(f"{head}{MARK}{script}</script>{rest.partition('</script>')[2]}")
    tab.open((tmp_path / "wrong.html").as_uri())
    texts, (sizes, choices, machine) = settings(data, dice)
    tab.call(SET, texts)
    wrong, _ = differences(
        data, tab.call(SHOWN), choices, expected(shipped_sheet("lecture"), sizes, choices, machine, data=data)
    )
    assert [key for key, _, _ in wrong] == [f"{row['id']}//0"]


# ---- the evaluator alone ----


def random_formula(dice, deep=4):
    """A random formula of the page, and what it comes to; None where that is no number."""
    if deep == 0 or dice.random() < 0.15:
        if dice.random() < 0.5:
            name = dice.choice("BDL")
            return {"s": name}, {"B": Fraction(7), "D": Fraction(64), "L": Fraction(9, 4)}[name]
        value = Fraction(dice.randint(-20, 20), dice.choice([1, 1, 1, 2, 3, 7]))
        return str(value), value
    rule = dice.choice(["+", "+", "*", "*", "^", "max", "min", "floor", "ceil", "abs", "root", "log"])
    count = dice.randint(2, 3) if rule in {"+", "*", "max", "min"} else 1
    parts = [random_formula(dice, deep - 1) for _ in range(count)]
    exprs, values = [one for one, _ in parts], [value for _, value in parts]
    if rule == "^":
        exponent = dice.randint(-3, 4)
        return ["^", exprs[0], str(exponent)], worked(lambda: values[0] ** exponent)
    if rule == "root":
        return ["^", exprs[0], "1/2"], worked(lambda: square_root(values[0]))
    works = {
        "+": lambda: sum(values), "*": lambda: math.prod(values), "max": lambda: max(values),
        "min": lambda: min(values), "floor": lambda: Fraction(math.floor(sure(values[0]))),
        "ceil": lambda: Fraction(math.ceil(sure(values[0]))), "abs": lambda: abs(values[0]),
        "log": lambda: Fraction(0) if values[0] == 1 else math.log(values[0]),
    }  # fmt: skip
    return [rule, *exprs], None if None in values else worked(works[rule])


def worked(work):
    try:
        return work()
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None


def square_root(value):
    exact = isinstance(value, Fraction) and value >= 0
    if exact and all(math.isqrt(part) ** 2 == part for part in (value.numerator, value.denominator)):
        return Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
    return math.sqrt(value)


def sure(value):
    """A number whose whole part is beyond doubt."""
    if isinstance(value, float) and abs(value - round(value)) < 1e-6 * max(1, abs(value)):
        raise ValueError
    return value


EVALUATE = """(formulas) => {
  const sizes = new Map([["B", read("7")], ["D", read("64")], ["L", read("9/4")]]);
  return formulas.map((one) => {
    try {
      const value = evaluate(one, sizes);
      return isExact(value) ? exactly(value) : value;
    } catch (error) {
      return error instanceof Refusal ? null : `${error}`;
    }
  });
}"""


def test_random_formulas_come_to_what_python_computes(lecture):
    """Fractions exactly, roots and logarithms to within rounding, and no number where there is none."""
    dice = random.Random(11)
    made = [random_formula(dice) for _ in range(600)]
    found = lecture.call(EVALUATE, [one for one, _ in made])
    exact = 0
    for (formula, value), got in zip(made, found, strict=True):
        if isinstance(value, Fraction):
            exact += 1
            assert got == str(value), formula
        elif isinstance(value, float):
            assert got is None or math.isclose(float(Fraction(got)), value, rel_tol=1e-6, abs_tol=1e-9), (
                formula
            )
        elif got is not None:
            float(Fraction(got))  # Python had doubts, the page had none
    assert exact > 300


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        (["^", {"s": "D"}, "1/2"], "8"),
        (["^", "8/27", "-2/3"], "9/4"),
        (["sum", "i", "1", {"s": "D"}, ["*", "2", {"s": "i"}]], "4160"),
        (["sum", "i", "2", "1", {"s": "i"}], "0"),
        (["^", "0", "-1"], None),
        (["^", "-1", "1/2"], None),
        (["^", "2", "1000000000000"], None),
        (["^", "-1", "1000000000000001"], "-1"),
        (["^", ["+", "2", ["^", "10", "400"]], "1/2"], None),
        (["sum", "i", "1", "1000000000", "1"], None),
        (["sine", "1"], None),
        (["constructor", "1"], None),
        ({"s": "nobody"}, None),
        ("1//2", None),
        ("1/0", None),
    ],
)
def test_edges_of_formulas(lecture, formula, value):
    """Perfect roots stay exact; what cannot be worked out, or is not known, is refused."""
    assert lecture.call(EVALUATE, [formula]) == [value]


# ---- what a reader types ----

STATE = """(key) => {
  const views = VIEWS.filter((view) => view.fields.includes(FIELDS.get(key)));
  const boxes = views.map((view) => view.why.closest(".calc, .bench"));
  return {
    invalid: FIELDS.get(key).controls.map((one) => one.getAttribute("aria-invalid")),
    numbers: boxes.flatMap((box) => [...box.querySelectorAll("[data-exact], [data-value], [data-binds]")])
      .map((one) => one.dataset.name ?? one.dataset.of),
    why: views.map((view) => (view.why.hidden ? "" : view.why.textContent)),
  };
}"""


@pytest.mark.parametrize("text", ["1.5", "0", "-3", "", "1e400", "1e19", "9" * 41, "1e-1"])
def test_what_is_no_size_gives_no_number(lecture, text):
    """It is marked in every row that shares it, said why, and nothing that was shown before stays."""
    before = lecture.call(STATE, "gpt.b")
    assert len(before["numbers"]) > 5
    assert set(before["invalid"]) == {"false"}
    lecture.evaluate("FIELDS.get('gpt.b').controls[1].focus(); FIELDS.get('gpt.b').controls[1].select()")
    if text:
        lecture.type(text)
    else:
        lecture.call(SET, [("gpt.b", "", 0)])
    during = lecture.call(STATE, "gpt.b")
    assert set(during["numbers"]) <= {"params", "memory.static"}, (
        "but those of the bench that do not depend on it"
    )
    assert set(during["invalid"]) == {"true"}
    assert all(why.startswith("b: ") for why in during["why"])
    lecture.call(SET, [("gpt.b", "1e3", 0)])
    after = lecture.call(STATE, "gpt.b")
    assert after["numbers"] == before["numbers"]
    assert set(after["invalid"]) == {"false"}
    assert not lecture.complaints()


def test_a_condition_that_fails_is_said_and_nothing_else(lecture):
    """Heads must divide the features: where they do not, there is no number."""
    lecture.call(SET, [("gpt.a", "7", 0), ("gpt.h", "64", 0)])
    row = next(one for one in data_of(page_of("lecture").read_text(encoding="utf-8"))["rows"]
               if one["scope"] == "gpt")  # fmt: skip
    shown = lecture.call(SHOWN)[f"{row['id']}/0"]
    assert "exact" not in shown
    assert "holds only where a | h" in lecture.evaluate(
        f"document.getElementById('{row['id']}-why').textContent"
    )


# ---- the link ----


def test_a_link_restores_what_was_set(browser, lecture):
    """In a fresh page of a fresh profile."""
    data = data_of(page_of("lecture").read_text(encoding="utf-8"))
    texts, _ = settings(data, random.Random(5))
    lecture.call(SET, texts)
    shown = lecture.call(SHOWN)
    address = lecture.evaluate("link.write(), location.href")
    fresh = Tab(browser).open(address)
    assert fresh.call(SHOWN) == shown
    assert fresh.call(MESSAGE) == ""
    fresh.evaluate("reset()")
    assert "#" not in fresh.evaluate("location.href")
    fresh.evaluate("location.hash = 'gpt.b=3'; new Promise((done) => setTimeout(done, 50))")
    assert fresh.evaluate("FIELDS.get('gpt.b').text") == "3"
    fresh.close()


BAD_LINKS = [
    "gpt.b=<img src=x onerror=pwned=1>",
    "gpt.b=%3Cscript%3Epwned%3D1%3C%2Fscript%3E",
    "<script>pwned=1</script>",
    "gpt.b=1e999999",
    "gpt.b=1e400",
    "gpt.b=" + "9" * 50000,
    "gpt.b=1.5",
    "gpt.b=",
    "gpt.nobody=3",
    "__proto__.b=3",
    "constructor=3",
    "machine=abacus",
    "b1.workload=sleep",
    "%E0%A4%A=1",
    "gpt.b",
    "&".join(f"x{place}=1" for place in range(3000)),
]


@pytest.mark.parametrize("bad", BAD_LINKS, ids=range(len(BAD_LINKS)))
def test_a_bad_link_is_survived_and_named(tab, bad):
    """Its good part holds; the rest is left out, and said so; nothing in it is markup or script."""
    tab.open(f"{page_of('lecture').as_uri()}#gpt.L=7&{bad}")
    assert tab.call(MESSAGE).startswith("ignored in the link: ")
    assert len(tab.call(MESSAGE)) < 400
    field = tab.evaluate("[FIELDS.get('gpt.L').text, FIELDS.get('gpt.b').text === FIELDS.get('gpt.b').start]")
    assert field == ["7", True]
    assert tab.evaluate("[typeof pwned, document.images.length, document.scripts.length]") == [
        "undefined",
        0,
        2,
    ]
    assert not tab.complaints()


REALS = """() => [...SCOPES.values()].flatMap((sizes) => [...sizes.values()]).filter((one) => !one.integer)
  .map((one) => one.field.key)"""


@pytest.mark.parametrize("text", ["1e-999", "1e-31", "1e-30", "1e30", "1e31", "1/3", "0.000001"])
def test_no_number_however_small_or_large_stops_the_page(lecture, text):
    """A number above 0 in a calculation: accepted, or refused in words; what follows is still computed."""
    real = lecture.call(REALS)[0]
    lecture.evaluate(f"location.hash = '{real}={text}&gpt.b=3'; new Promise((done) => setTimeout(done, 100))")
    refused = text in {"1e-999", "1e-31", "1e31"}
    assert lecture.call(MESSAGE).startswith("ignored in the link: ") is refused
    held = lecture.evaluate(f"[FIELDS.get('{real}').problem, FIELDS.get('gpt.b').text]")
    assert held == ["", "3"]
    shown = lecture.call(SHOWN)
    first = {key: one["exact"] for key, one in shown.items() if key.startswith("b1/") and "exact" in one}
    lecture.evaluate("location.hash = 'gpt.b=3'; new Promise((done) => setTimeout(done, 100))")
    again = lecture.call(SHOWN)
    assert first == {key: one["exact"] for key, one in again.items() if key in first}
    assert not lecture.complaints()


def test_a_calculator_that_fails_shows_no_number_and_stops_no_other(lecture):
    """An error of the page itself, put there by the test."""
    before = lecture.call(SHOWN)
    lecture.evaluate("VIEWS[3].draw = () => { throw new TypeError('of the test'); }")
    lecture.call(SET, [("gpt.b", "5", 0)])
    lecture.evaluate("VIEWS.forEach((view) => view.refresh())")
    failed = lecture.evaluate("[VIEWS[3].data.id, VIEWS[3].why.hidden, VIEWS[3].why.textContent]")
    assert failed[1:] == [False, "an error of this page: TypeError: of the test"]
    after = lecture.call(SHOWN)
    assert "exact" not in after[f"{failed[0]}/0"]
    assert after["b1/tokens"]["exact"] != before["b1/tokens"]["exact"]


def test_every_sentence_of_the_script_has_its_chinese():
    """And nothing that is in the table is never said."""
    folder = resources.files("symacct.sheet.page").joinpath("script")
    script = "".join(one.read_text(encoding="utf-8") for one in folder.iterdir())
    said = set(re.findall(r'(?:say|Refusal|button)\("([^"]+)"', script))
    said |= {one for pair in re.findall(r'say\(\w+ \? "([^"]+)" : "([^"]+)"', script) for one in pair}
    assert len(said) > 30
    assert said <= WORDS.keys()
    for english, (_, chinese) in WORDS.items():
        assert sorted(re.findall(r"\{\d\}", english)) == sorted(re.findall(r"\{\d\}", chinese)), english


# ---- no network, a policy that holds ----


@pytest.mark.parametrize("name", [f"{sheet}{lang}" for sheet in SHEETS for lang in ("", ".zh")])
def test_a_page_asks_for_nothing_and_complains_of_nothing(tab, name):
    """One file, below 1 MB, opened from disk."""
    path = page_of(name)
    assert path.stat().st_size < 1_000_000
    tab.open(path.as_uri())
    tab.call(SET, [(tab.evaluate("[...FIELDS.keys()][0]"), "2", 0.5)])
    assert tab.requests() == [path.as_uri()]
    assert not tab.complaints()
    words = tab.evaluate("document.querySelector('.tools').textContent")
    assert ("复原" in words) == (".zh" in name)


def test_the_policy_stops_other_scripts_and_requests(lecture):
    """Neither a script that was put in, nor an image, nor a request."""
    lecture.evaluate("""
      const script = document.createElement("script"); script.textContent = "window.pwned = 1";
      document.body.append(script);
      const frame = document.createElement("p"); frame.innerHTML = "<i onclick='pwned = 1'>x</i>";
      document.body.append(frame); frame.firstChild.click();
    """)
    asked = lecture.evaluate("fetch('https://example.org/').then(() => 'asked', () => 'stopped')")
    assert [lecture.evaluate("typeof pwned"), asked] == ["undefined", "stopped"]
    assert any("Content Security Policy" in one for one in lecture.complaints())


def test_without_the_script_the_sheet_reads(tab):
    """All rows, no empty controls."""
    tab.send("Emulation.setScriptExecutionDisabled", value=True)
    tab.open(page_of("lecture").as_uri())
    counted = "['tr[id]', 'input'].map((kind) => document.querySelectorAll(kind).length)"
    rows, inputs = tab.evaluate(counted)
    assert rows > 40
    assert inputs == 0


# ---- keyboard, labels, a phone, the dark, paper ----

CONTROLS = (
    "[...document.querySelectorAll('button, input, select, summary')].filter((one) => one.checkVisibility())"
)


def test_every_control_is_reached_by_tab(lecture):
    """In the order of the page."""
    count = lecture.evaluate(f"window.controls = {CONTROLS}; controls.length")
    assert count > 100
    reached = []
    for _ in range(count):
        lecture.press("Tab")
        reached.append(lecture.evaluate("controls.indexOf(document.activeElement)"))
    assert reached == list(range(count))
    ring = lecture.evaluate("controls[3].focus(), getComputedStyle(controls[3]).outlineStyle")
    assert ring == "solid"


def test_arrow_keys_change_what_has_the_focus(lecture):
    """A select chooses the next, a size grows by one, and numbers follow."""
    before = lecture.call(SHOWN)
    lecture.evaluate("FIELDS.get('machine').controls[0].focus()")
    lecture.press("ArrowDown")
    lecture.press("ArrowDown")
    assert lecture.evaluate("FIELDS.get('machine').text !== FIELDS.get('machine').start")
    lecture.evaluate("FIELDS.get('linear.D').controls[0].focus()")
    lecture.press("ArrowUp")
    assert lecture.evaluate("Number(FIELDS.get('linear.D').text) - Number(FIELDS.get('linear.D').start)") == 1
    assert lecture.call(SHOWN) != before


def test_every_control_has_a_name(lecture):
    """As assistive software reads it."""
    tree = lecture.send("Accessibility.getFullAXTree")["nodes"]
    kinds = {"textbox", "spinbutton", "combobox", "button"}
    named = [one["name"]["value"].strip() for one in tree if one.get("role", {}).get("value") in kinds]
    assert len(named) > 100
    assert all(named)
    assert {"machine", "copy link", "reset"} <= set(named)


CELLS = """() => {
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  const wrong = [];
  let seen = 0;
  const cells = "td, th, .field, .tile, .bars .name, .steps span:not(.roll)";
  for (const cell of document.querySelectorAll(cells)) {
    if (!cell.checkVisibility() || !cell.clientWidth) continue;
    seen += 1;
    const text = cell.textContent.slice(0, 60);
    if (cell.scrollWidth > cell.clientWidth + 1) wrong.push(["wider than its cell", text]);
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      if (node.parentElement.closest("math, select, .unseen, .exact, .bars .name")) continue;
      for (const { 0: word, index } of node.data.matchAll(/[\\p{Script=Latin}\\d]+/gu)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        const lines = new Set([...range.getClientRects()].map((one) => Math.round(one.top)));
        if (lines.size > 1) wrong.push(["a word on two lines", word, text]);
      }
    }
  }
  return [seen, wrong.slice(0, 3)];
}"""


@pytest.mark.parametrize("what", ["lecture", "transformer", "gpt", "llama"])
def test_columns_are_as_wide_as_their_words(tab, tmp_path, what):
    """On each screen: no word is broken, and what is wider than its cell breaks or scrolls inside of it."""
    path = page_of(what) if what in SHEETS else tmp_path / f"{what}.html"
    if what not in SHEETS:
        account = derive(load(what))
        rows, many = of_account(account, {}, []), Sheet(what, "", (), benches=(Bench(what, account, TRAIN),))
        path.write_text(html_of(replace(many, about=rows[0], sections=rows[1])), encoding="utf-8")
    tab.open(path.as_uri())
    for width in (1600, 1280, 900, 390):
        tab.resize(width)
        seen, wrong = tab.call(CELLS)
        assert seen > 60
        assert not wrong, width


# ---- choices that do not go together, machines that state too little ----

BENCH = """() => {
  const { box, selects, boxes, machines } = VIEWS.find((view) => view.data.id === "b1");
  const text = (part) => box.querySelector(part)?.textContent ?? "";
  return {
    shown: [...boxes].filter(([, field]) => !field.hidden).map(([one]) => one.name),
    selects: selects.map((one) => [one.value, one.disabled]),
    off: [...machines.options].filter((one) => one.disabled).map((one) => one.value),
    time: text('[data-name="time"]'), about: text(".bench > .note"),
    figure: text("figure"), why: text(".why"),
    quantities: box.querySelectorAll(".quantities tr").length, held: text(".held"),
  };
}"""


def test_a_choice_without_meaning_gives_way(tab):
    """Decoding keeps its numbers whatever is run again in training; sizes that it alone has come and go."""
    tab.open(page_of("transformer").as_uri())
    training = tab.call(BENCH)
    assert "t" not in training["shown"]
    assert "optimizer adamw" in training["about"]
    tab.call(SET, [("b1.checkpoint", "every:1", 0), ("b1.workload", "decode", 0)])
    decoding = tab.call(BENCH)
    assert "t" in decoding["shown"]
    assert ["none", True] in decoding["selects"]
    assert decoding["time"].endswith("s")
    assert "checkpoint every:1 is left out" in decoding["about"]
    tab.call(SET, [("b1.workload", "train", 0)])
    assert ["every:1", False] in tab.call(BENCH)["selects"]


def test_a_machine_without_a_bandwidth_keeps_the_rest(tab):
    """It cannot be chosen; a link that names it leaves quantities and memory, and says what is missing."""
    tab.open(page_of("transformer").as_uri())
    before = tab.call(BENCH)
    assert "lecture:a100" in before["off"]
    assert "h100-sxm" not in before["off"]
    tab.call(SET, [("machine", "lecture:a100", 0)])
    after = tab.call(BENCH)
    assert "states no bandwidth" in after["why"]
    assert after["time"] == "–"
    assert after["quantities"] == before["quantities"]
    assert after["figure"].startswith("roofline")


def meet(one, other):
    """Whether two boxes have more than an edge in common."""
    return all(min(one[i + 1], other[i + 1]) - max(one[i], other[i]) > 2 for i in (0, 2))


def test_the_largest_ops_have_names_that_do_not_meet(tab):
    """In the roofline, on a desk and on a phone; dots grow with the share of the time."""
    tab.open(page_of("transformer").as_uri())
    for width in (1280, 390):
        tab.resize(width)
        boxes = tab.evaluate("""[...document.querySelectorAll(".roofline text")].map((one) => {
          const { left, right, top, bottom } = one.getBoundingClientRect();
          return [left, right, top, bottom, one.classList.contains("named")];
        })""")
        assert sum(one[4] for one in boxes) == 3
        pairs = [(a, b) for place, a in enumerate(boxes) for b in boxes[:place]]
        assert not [pair for pair in pairs if meet(*pair)]
    radii = tab.evaluate(
        "[...document.querySelectorAll('.roofline circle')].map((one) => one.r.baseVal.value)"
    )
    assert radii == sorted(radii, reverse=True)
    assert radii[0] > 3 * radii[-1]


def test_a_lecture_is_printed_on_four_sheets(lecture):
    """As tables; what is closed on the screen is not printed."""
    lecture.media("print")
    assert lecture.evaluate("getComputedStyle(document.querySelector('tr.has-live')).display") == "table-row"
    assert lecture.printed().count(b"/Type /Page\n") <= 4


WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize("name", [*SHEETS, "transformer.zh"])
def test_a_page_scrolls_up_and_down_alone(tab, name):
    """From a phone's 360 px on, with long numbers, with complaints, and with everything open."""
    tab.resize(360, 740)
    tab.open(page_of(name).as_uri())
    keys = tab.evaluate(
        "[...FIELDS.values()].filter((one) => one.controls[0]?.type === 'number').map((one) => one.key)"
    )
    assert tab.evaluate(WIDE) == 0
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for text in ("999999999999999999", "-1"):
        tab.call(SET, [(key, text, 0) for key in keys])
        assert tab.evaluate(WIDE) == 0
    for width in (560, 800, 1000, 1400):
        tab.resize(width)
        assert tab.evaluate(WIDE) == 0, width


CONTRAST = """() => {
  const parsed = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([red, green, blue]) => [red, green, blue].map((one) => one / 255)
    .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((all, one, place) => all + one * [0.2126, 0.7152, 0.0722][place], 0);
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = parsed(getComputedStyle(one).backgroundColor);
      if ((colour[3] ?? 1) === 1) return colour;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const worst = [];
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (element.closest("script, title")) continue;
    const style = getComputedStyle(element);
    const ink = light(parsed(element.closest("svg") ? style.fill : style.color));
    const paper = light(behind(element));
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    worst.push([ratio, walker.currentNode.data.slice(0, 30)]);
  }
  return worst.sort((a, b) => a[0] - b[0]).slice(0, 3).concat([[worst.length, ""]]);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(tab, scheme):
    """By at least 4.5 to 1, messages too."""
    tab.media(scheme=scheme)
    tab.open(page_of("lecture").as_uri())
    tab.call(SET, [("linear.B", "0", 0)])
    *worst, (count, _) = tab.call(CONTRAST)
    assert count > 400
    assert worst[0][0] >= 4.5, worst
    dark = tab.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")


def test_paper_has_values_and_no_buttons(lecture):
    """What was set is printed; what can only be pressed is not."""
    lecture.call(SET, [("gpt.b", "17", 0)])
    lecture.media("print")
    assert (
        lecture.evaluate("[...document.querySelectorAll('button')].some((one) => one.checkVisibility())")
        is False
    )
    style = lecture.evaluate("""(() => {
      const input = FIELDS.get("gpt.b").controls[0]; const style = getComputedStyle(input);
      return [input.value, input.checkVisibility(), style.borderTopWidth, style.appearance];
    })()""")
    assert style == ["17", True, "0px", "none"]
    assert lecture.printed().startswith(b"%PDF")


@pytest.mark.parametrize("width", [360, 1280])
def test_words_of_any_length_do_not_widen_a_page(tab, tmp_path, width):
    """A title, a source and a comment of 400 letters."""
    word = "x" * 400
    claims = f'about = "{word}"\n[[claim]]\nname = "{"y" * 110}"\nclaim = "2*n = n + n"\n'
    path, page = tmp_path / "mine.toml", tmp_path / "mine.html"
    path.write_text(f'{claims}source = "{word}"\ncomment = "{word}"\nexpect = "reported"\n', encoding="utf-8")
    assert main(["sheet", str(path), "-o", str(page)]) == 0
    tab.resize(width)
    tab.open(page.as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
