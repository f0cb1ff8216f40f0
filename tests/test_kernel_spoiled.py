"""A sample of benchmarks/spoil.py: certificates of every rule, spoiled, sealed again, and judged."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path

import pytest

from symacct import kernel

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
SAMPLE = 600


@pytest.fixture(scope="module")
def spoil():
    spec = importlib.util.spec_from_file_location("spoil", FOLDER / "spoil.py")
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


@pytest.fixture(scope="module")
def good(spoil):
    found, missing = spoil.good()
    assert missing == 0
    return [one for _, one in found]


@pytest.mark.long
def test_every_rule_is_spoiled(good):
    """The certificates that are spoiled use each rule of the table, at the top or inside."""
    used = set()

    def walk(value):
        if isinstance(value, dict):
            used.add(value.get("rule"))
            for part in value.values():
                walk(part)
        elif isinstance(value, list):
            for part in value:
                walk(part)

    for one in good:
        assert kernel.check(one)
        walk(one["proof"])
    assert set(kernel.RULES) <= used


@pytest.mark.long
def test_what_still_passes_is_true(spoil, good):
    """The kernel refuses or accepts, and never fails; what it accepts is true wherever it is tried."""
    draw, accepted = random.Random(11), 0
    for _ in range(SAMPLE):
        new = spoil.spoiled(draw, draw.choice(good), draw.choice(good))
        try:
            kernel.check(new)
        except kernel.Refused:
            continue
        accepted += 1
        assert spoil.judged(draw, new) in {"true", "few points"}, kernel.canonical(new)
    assert accepted > SAMPLE // 20


FALSE = [
    {"relation": "=", "left": ["var", "B"], "right": "2"},
    {"relation": "<", "left": ["var", "B"], "right": ["var", "B"]},
    {"relation": "iff", "first": {"relation": "<=", "left": ["var", "B"], "right": "3"},
     "second": {"relation": "<=", "left": ["var", "B"], "right": "2"}},
]  # fmt: skip


@pytest.mark.parametrize("said", FALSE)
def test_the_judge_sees_what_is_false(spoil, said):
    """A false statement that was accepted would be found."""
    certificate = {
        "statement": said,
        "variables": {"B": "1"},
        "hypotheses": [],
        "proof": {"rule": "identity"},
    }
    assert spoil.judged(random.Random(1), certificate) == "FALSE"


def test_the_judge_sees_a_least_value_that_is_none(spoil):
    """Not least, not reached, or not the only place."""
    k = ["var", "k"]
    square = ["^", ["+", k, "-3"], "2"]
    for relation, right, place in (("min", "1", "3"), ("min", "0", "4"), ("argmin", "4", "4")):
        said = {"relation": relation, "left": square, "right": right, "over": "k"}
        proof = {"rule": "least", "place": place}
        certificate = {"statement": said, "variables": {"k": "1"}, "hypotheses": [], "proof": proof}
        assert spoil.judged(random.Random(1), certificate) == "FALSE"


def test_the_judge_sees_what_is_capped(spoil):
    """A limit where there are no large sizes is worth nothing."""
    big = ["var", "L"]
    said = {"relation": "O", "left": big, "right": "1", "growing": ["L"]}
    capped = {"name": "h1", "kind": "at_least", "left": "10", "right": big}
    certificate = {
        "statement": said, "variables": {"L": "1"}, "hypotheses": [capped],
        "proof": {"rule": "constants", "constant": "10", "from": {}},
    }  # fmt: skip
    assert spoil.judged(random.Random(1), certificate) == "FALSE"
