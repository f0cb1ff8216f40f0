"""The data of live pages against proving, deriving and timing anew: an evaluator of its own, random sizes."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from page_oracle import expected, timed, under
from shipped import shipped_sheet

from symacct.account import derive
from symacct.machines import load as load_machine
from symacct.readers.files import load
from symacct.sheet.data import Bench, Section, Sheet
from symacct.sheet.from_accounts import quantity_rows
from symacct.sheet.page import page_data

SMALL = {"b": 2, "s": 8, "h": 6, "a": 3, "L": 4, "V": 11, "t": 5}
SIGNS = {">=": lambda a, b: a >= b, "=": lambda a, b: a == b, "|": lambda a, b: (b / a).denominator == 1}


def value(expr, sizes, shared):
    """Return what an expression of a page comes to: fractions, and floats where a root is none."""
    if isinstance(expr, str):
        return Fraction(expr)
    if isinstance(expr, dict):
        return sizes[expr["s"]] if "s" in expr else value(shared[expr["e"]], sizes, shared)
    form, *parts = expr
    if form == "sum":
        name, low, high, body = parts
        first, last = (int(value(end, sizes, shared)) for end in (low, high))
        return sum(
            (value(body, {**sizes, name: Fraction(n)}, shared) for n in range(first, last + 1)), Fraction(0)
        )
    found = [value(part, sizes, shared) for part in parts]
    if form == "^":
        return power(*found)
    rules = {"+": sum, "*": math.prod, "max": max, "min": min}
    if form == "binomial":
        above, below = map(int, found)
        return Fraction(math.comb(above, below) if below >= 0 else 0)
    one = {
        "factorial": lambda n: math.factorial(int(n)),
        "floor": math.floor,
        "ceil": math.ceil,
        "log": math.log,
        "abs": abs,
    }
    made = rules[form](found) if form in rules else one[form](found[0])
    return made if isinstance(made, float) else Fraction(made)


def power(base, exponent):
    """Return a power, exact where the root is."""
    if exponent.denominator == 1:
        return base ** int(exponent)
    if exponent.denominator == 2 and isinstance(base, Fraction):
        above, below = math.isqrt(base.numerator), math.isqrt(base.denominator)
        if above**2 == base.numerator and below**2 == base.denominator:
            return Fraction(above, below) ** exponent.numerator
    return float(base) ** float(exponent)


def fails(conditions, sizes, shared):
    """Return the conditions of a page that do not hold."""
    sides = ((one, *(value(one[side], sizes, shared) for side in ("left", "right"))) for one in conditions)
    return [one["text"] for one, left, right in sides if not SIGNS[one["form"]](left, right)]


def variant(variants, key):
    found = variants[key]
    return variants[found] if isinstance(found, str) else found


def shown(data, sizes, choices, machine):
    """Return what a script shows by the contract: numbers by their id, None where there is none."""
    shared, found = data["exprs"], {}
    machine = next(one for one in data["machines"] if one["name"] == machine)
    for row in data["rows"]:
        key, here = chosen(data, row, sizes, choices)
        made = variant(row["variants"], key)
        none = made["note"] or fails(made["conditions"], here, shared)
        for place, result in enumerate(made["results"]):
            found[f"{row['id']}/{key}/{place}"] = None if none else value(result["expr"], here, shared)
    for bench in data["benches"]:
        key, here = chosen(data, bench, sizes, choices)
        made = variant(bench["variants"], key)
        if made["note"]:
            continue
        none = fails(made["conditions"], here, shared)
        for one in made["quantities"]:
            bare = none or fails(one["conditions"], here, shared)
            found[f"{bench['id']}/{key}/{one['name']}"] = None if bare else value(one["expr"], here, shared)
        ops = [bench["ops"][place] for place in made["ops"]]
        times = {"time": None, "binds": None} if none else time_of(ops, here, shared, machine)
        times |= rates_of(made, here, shared, machine, times["time"])
        found |= {f"{bench['id']}/{key}/{name}": one for name, one in times.items()}
    return found


def chosen(data, row, sizes, choices):
    own = choices.get(row["id"], {})
    key = "|".join(own.get(choice["name"], choice["value"]) for choice in row["choices"])
    known = {one["name"]: Fraction(one["value"]) for one in data["scopes"][row["scope"]]["sizes"]}
    return key, {**known, **{n: Fraction(v) for n, v in sizes.get(row["scope"], {}).items()}}


def time_of(ops, sizes, shared, machine):
    """Return the time of ops on a machine and what binds, by the contract."""
    total, sums = Fraction(0), {"memory": Fraction(0), "tensor": Fraction(0), "vector": Fraction(0)}
    for op in ops:
        here = {"tensor": Fraction(0), "vector": Fraction(0)}
        here["memory"] = value(op["moved"], sizes, shared) / Fraction(machine["bandwidth"])
        for load_ in op["loads"]:
            joined = machine["one_peak"] or load_["unit"] == "tensor"
            rate = machine["peaks" if joined else "vectors"].get(load_["dtype"])
            if rate is None and joined:
                return {"time": None, "binds": None}
            if rate is not None:
                here["tensor" if joined else "vector"] += value(load_["flops"], sizes, shared) / Fraction(
                    rate
                )
        total += max(here.values())
        sums = {name: sums[name] + here[name] for name in sums}
    return {"time": total, "binds": max(sums, key=sums.__getitem__)}


def rates_of(made, sizes, shared, machine, time):
    """Return what a time comes to: tokens a second, and the share of the peak; nothing without a time."""
    names = ["mfu.bound"] + ["tokens/s"] * (made["tokens"] is not None)
    if time is None:
        return dict.fromkeys(names)
    peak = Fraction(machine["peaks"][made["dtype"]])
    found = {"mfu.bound": value(made["work"], sizes, shared) / peak / time}
    return found | {name: value(made["tokens"], sizes, shared) / time for name in names[1:]}


def agree(mine, theirs):
    """Say whether two numbers are one; those that are no fractions to twelve digits."""
    if isinstance(mine, float) or isinstance(theirs, float):
        return mine is not None and theirs is not None and math.isclose(mine, theirs, rel_tol=1e-12)
    return mine == theirs


def compare(sheet, data, sizes, choices, machine):
    mine = shown(data, sizes, choices, machine)
    theirs = expected(sheet, sizes, choices, machine, data)
    assert mine.keys() == theirs.keys()
    wrong = {key: (mine[key], theirs[key]) for key in mine if not agree(mine[key], theirs[key])}
    assert not wrong
    return mine


@pytest.fixture(scope="module")
def lecture():
    sheet = shipped_sheet("lecture")
    return sheet, page_data(sheet)


@pytest.fixture(scope="module")
def transformer():
    sheet = shipped_sheet("transformer")
    return sheet, page_data(sheet)


def randomly(data, seed):
    """Return random small sizes for every scope, and decimals for calculations."""
    dice = random.Random(seed)
    made = {}
    for name, scope in data["scopes"].items():
        free = {one["name"]: dice.randint(2, 9) for one in scope["sizes"] if one["integer"]}
        numbers = {
            one["name"]: Fraction(dice.randint(1, 400), 8) for one in scope["sizes"] if not one["integer"]
        }
        made[name] = {**free, **numbers}
    made.get("gpt", {})["h"] = made.get("gpt", {}).get("a", 1) * dice.randint(1, 3)
    return made


@pytest.mark.long
def test_the_lecture_at_random_sizes(lecture):
    sheet, data = lecture
    found = compare(sheet, data, randomly(data, 1), {}, "h100-sxm")
    assert sum(one is not None for one in found.values()) > 50


@pytest.mark.long
def test_a_transformer_under_choices(transformer):
    sheet, data = transformer
    choices = {
        "r14": {"optimizer": "sgd", "precision": "fp32"},
        "r16": {"optimizer": "adam8bit"},
        "r19": {"checkpoint": "every:1", "saves": "backward"},
        "r20": {"checkpoint": "selective:core", "saves": "torch"},
        "b1": {"precision": "bf16-master", "checkpoint": "every:1"},
    }
    found = compare(sheet, data, {"gpt": SMALL}, choices, "a100-sxm-80gb")
    assert all(one is not None for one in found.values())


@pytest.mark.long
def test_where_a_condition_fails_there_is_no_number(transformer):
    sheet, data = transformer
    found = compare(sheet, data, {"gpt": {**SMALL, "h": 7}}, {}, "h100-sxm")
    of_graph = {key: one for key, one in found.items() if not key.startswith("r28")}
    assert of_graph
    assert not any(one is not None for one in of_graph.values())


@pytest.mark.parametrize(("workload", "machine"), [("prefill", "tpu-v5e"), ("decode", "v100-sxm2")])
def test_a_bench_is_timed_as_elsewhere(workload, machine):
    account = derive(load("gpt"), optimizer="adamw")
    sheet = Sheet("", "", (), benches=(Bench("", account, (("workload", ("train", "prefill", "decode")),)),))
    data = page_data(sheet)
    choices = {"b1": {"workload": workload}}
    mine = shown(data, {"gpt": SMALL}, choices, machine)
    known = {name: size for name, size in SMALL.items() if name in under(account, choices["b1"]).graph.order}
    theirs = timed(under(account, choices["b1"]), known, machine)
    assert {name: mine[f"b1/{workload}/{name}"] for name in theirs} == theirs
    has = "bf16" in load_machine(machine).dtypes()
    assert (theirs["time"] is not None) == has


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["flops.model", "memory.static", "memory.activations", "bytes.step"])
def test_terms_add_up(name):
    account = derive(load("gpt"), optimizer="adamw")
    (row,) = (one for one in quantity_rows(account, {}, [name]) if one.quantity == name)
    data = page_data(Sheet("", "", (Section("", (row,)),)))
    sizes = {one: Fraction(size) for one, size in SMALL.items()}
    (made,) = data["rows"]
    for key in made["variants"]:
        for result in variant(made["variants"], key)["results"]:
            parts = [value(term["expr"], sizes, data["exprs"]) for term in result["terms"]]
            assert 2 <= len(parts) <= 8
            assert sum(parts) == value(result["expr"], sizes, data["exprs"])


def test_every_choice_that_changes_a_quantity_is_offered():
    account = derive(load("gpt"), optimizer="adamw")
    axes = {"precision": "fp32", "optimizer": "sgd", "checkpoint": "every:1", "saves": "torch"}
    for name in ("params", "flops.hardware", "memory.static", "memory.gradients", "memory.optimizer"):
        row = next(one for one in quantity_rows(account, {}, [name]) if one.quantity == name)
        (made,) = page_data(Sheet("", "", (Section("", (row,)),)))["rows"]
        offered = {choice["name"] for choice in made["choices"]}
        changes = {
            axis
            for axis, text in axes.items()
            if under(account, {axis: text})[name].expr != account[name].expr
        }
        assert changes <= offered, name
        assert len(made["variants"]) == math.prod(len(choice["values"]) for choice in made["choices"])


def test_formulas_of_choices_say_what_the_policy_does():
    account = derive(load("gpt"), optimizer="adamw")
    (row,) = (one for one in quantity_rows(account, {}, ["memory.static"]) if one.quantity == "memory.static")
    (made,) = page_data(Sheet("", "", (Section("", (row,)),)))["rows"]
    texts = {key: variant(made["variants"], key)["formula"] for key in made["variants"]}
    assert "<mn>4</mn>" in texts["bf16|sgd"]
    assert "<mn>16</mn>" in texts["fp32|adamw"]
    assert texts["bf16|adamw"] == ""  # the static formula stands


@pytest.mark.long
def test_rows_without_numbers_have_no_calculator(lecture):
    sheet, data = lecture
    with_one = {row["id"] for row in data["rows"]}
    marks = {f"r{place}": row.mark for place, row in enumerate(sheet.rows, 1)}
    assert not any(marks[ident] in {"refused", "reported"} for ident in with_one)
