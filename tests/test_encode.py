"""One encoder for every result: numbers with their exact text, formulas, conditions, records by keys."""

import json
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from importlib import import_module

import pytest
from sympy import Integer, Rational, sqrt

from symacct.account import derive
from symacct.algebra.condition import Condition
from symacct.algebra.symbols import symbol
from symacct.readers.files import load
from symacct.report.encode import encode
from symacct.report.keys import KEYS
from symacct.units import Unit

B, D = symbol("B"), symbol("D")


@dataclass(frozen=True)
class Part:
    """A record without keys of its own."""

    name: str
    expr: object
    value: object
    at: tuple[tuple[str, int], ...] = ()


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (None, None), (True, True), ("", ""), (8, 8), (2**53, 2**53), (2**53 + 1, str(2**53 + 1)),
        (Fraction(1, 3), {"value": 1 / 3, "exact": "1/3"}),
        (Fraction(10**400), {"value": None, "exact": str(10**400)}),
        (Fraction(2**60), {"value": float(2**60), "exact": str(2**60)}),
        (Rational(-1, 4), {"expr": "-1/4", "latex": "-\\frac{1}{4}", "value": -0.25, "exact": "-1/4"}),
        (sqrt(2), {"expr": "sqrt(2)", "latex": "\\sqrt{2}", "value": 2**0.5, "exact": "sqrt(2)"}),
        (D * B**2, {"expr": "B^2*D", "latex": "B^{2} D", "value": None, "exact": None}),
        (Condition("at_least", B - 2, Integer(0)), "B >= 2"), (Unit("byte"), "byte"),
        ((1, 2), [1, 2]), ((("a", 1), ("b", 2)), {"a": 1, "b": 2}), ((), []),
    ],
)  # fmt: skip
def test_each_kind_of_value_has_one_form(given, made):
    """And JSON holds it."""
    assert encode(given, ("B", "D")) == made
    assert json.loads(json.dumps(encode(given))) == made


def test_a_record_has_its_fields():
    """What stands under expr and value is in the record itself; one at sizes before the formula's."""
    assert encode(Part("x", 2 * B, Integer(16), (("B", 8),)), ("B",)) == {
        "name": "x", "expr": "2*B", "latex": "2 B", "value": 16, "exact": "16", "at": {"B": 8},
    }  # fmt: skip
    assert encode(Part("x", Integer(3), None))["value"] == 3
    assert encode(Part("x", 2 * B, None))["at"] == {}


@pytest.mark.parametrize("name", KEYS)
def test_keys_are_of_attributes_that_their_class_has(name):
    """Each once; the first attribute of each path is a field or a property."""
    module, _, kind = name.rpartition(".")
    found = derive(load("linear")) if kind == "Account" else getattr(import_module(f"symacct.{module}"), kind)
    words = [word.partition("=") for word in KEYS[name].split()]
    assert len({key for key, _, _ in words}) == len(words)
    known = {*dir(found), *(one.name for one in (fields(found) if is_dataclass(found) else ()))}
    for key, _, path in words:
        assert path.startswith("'") or (path or key).partition(".")[0] in known


def test_what_is_no_value_is_refused():
    """An object without a form is a mistake of whoever made the result."""
    with pytest.raises(TypeError, match="object"):
        encode(object())
