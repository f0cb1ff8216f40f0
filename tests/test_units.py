"""Units: factors against hand-written numbers, laws, refusals beside their valid neighbours."""

from __future__ import annotations

import pickle
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symacct.algebra.symbols import symbol
from symacct.errors import UnitError
from symacct.units import BASES, ONE, Unit, convert, is_unit, of_dims, read_unit, unit_names

POWERS = st.lists(st.tuples(st.sampled_from(BASES), st.integers(-3, 3)), max_size=5)


@pytest.mark.parametrize(
    ("text", "scale", "unit"),
    [
        ("FLOP", 1, "FLOP"),
        ("FLOPs", 1, "FLOP"),
        ("TFLOP/s", 10**12, "FLOP/second"),
        ("MAC", 2, "FLOP"),
        ("GMAC/s", 2 * 10**9, "FLOP/second"),
        ("Top/s", 10**12, "op/second"),
        ("GB", 10**9, "byte"),
        ("GiB", 2**30, "byte"),
        ("KiB", 2**10, "byte"),
        ("kB", 10**3, "byte"),
        ("Gbit/s", Fraction(10**9, 8), "byte/second"),
        ("bit", Fraction(1, 8), "byte"),
        ("B/s", 1, "byte/second"),
        ("day", 86400, "second"),
        ("year", 31557600, "second"),
        ("months", 2629800, "second"),
        ("h", 3600, "second"),
        ("ms", Fraction(1, 1000), "second"),
        ("µs", Fraction(1, 10**6), "second"),
        ("kWh", 3600000, "joule"),
        ("W", 1, "joule/second"),
        ("$/GPU/h", Fraction(1, 3600), "dollar/(device*second)"),
        ("%", Fraction(1, 100), "1"),
        ("tokens per second", 1, "token/second"),
        ("FLOP/(parameter*token)", 1, "FLOP/(parameter*token)"),
        ("FLOP/param/tok", 1, "FLOP/(parameter*token)"),
        ("byte²", 1, "byte^2"),
        ("s⁻¹", 1, "1/second"),
        ("1/s", 1, "1/second"),
        ("microsteps", 1, "microstep"),
        ("Mtoken", 10**6, "token"),
    ],
)
def test_factors(text, scale, unit):
    """A unit's text gives the factor and the base unit that a person would write down."""
    assert read_unit(text) == (Fraction(scale), Unit(unit))
    assert str(read_unit(text)[1]) == unit


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("FLOPS", "write FLOP for a count, FLOP/s for a rate"),
        ("TFLOPS", "write TFLOP for a count, TFLOP/s for a rate"),
        ("TOPS", "write Top for a count, Top/s for a rate"),
        ("Gb", "write Gbit for bits, GB for bytes"),
        ("Gbps", "write Gbit/s for bits, GB/s for bytes"),
        ("Mb", "write Mbit for bits, MB for bytes"),
        ("GBps", "write GB/s"),
        ("B", "write byte"),
        ("KB", "did you mean 'kB'?"),
        ("tokn", "did you mean 'token'?"),
        ("FLOP/s GPU", "write a/(b*c) or (a/b)*c"),
        ("2 GB", "put numbers before the unit"),
        ("", None),
        ("byte^", None),
        ("byte^99", None),
        ("(byte", None),
        ("byte)", None),
        ("*byte", None),
        ("byte ! s", None),
        ("x" * 300, None),
        ("(" * 100 + "s" + ")" * 100, None),
        ("__import__('os')", None),
    ],
)
def test_refusals(text, fix):
    """What may be read in two ways, or in none, is refused with the fix."""
    with pytest.raises(UnitError) as caught:
        read_unit(text)
    assert caught.value.fix == fix


def test_refusal_text():
    """A refusal in full."""
    with pytest.raises(UnitError) as caught:
        read_unit("Gbps")
    assert str(caught.value) == (
        "'Gbps' may be bits or bytes\n"
        "  expected  Gbit/s or GB/s\n"
        "  got       Gbps\n"
        "  fix       write Gbit/s for bits, GB/s for bytes"
    )


@given(POWERS, POWERS, st.integers(-3, 3))
def test_group_laws(left, right, exponent):
    """Units are a commutative group; text reads back to the unit; pickles are equal."""
    one, two = of_dims(left), of_dims(right)
    assert one.times(two) == two.times(one)
    assert one.times(two).over(two) == one
    assert one.over(one) == ONE
    assert one.power(exponent).times(one) == one.power(exponent + 1)
    assert Unit(str(one)) == one
    assert read_unit(str(one)) == (1, one)
    assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301
    assert hash(Unit(str(one))) == hash(one)


@pytest.mark.parametrize("text", ["NAN", "nan", "NaN", "2 nan/s", "GB*NaN", "inf", "Infinity", "pi", "e"])
def test_words_for_numbers_are_no_units(text):
    with pytest.raises(UnitError):
        read_unit(text)


@pytest.mark.long
@settings(max_examples=200)
@given(st.text(max_size=20) | st.text("GkMBbFLOPs/*^()1 2", max_size=12))
def test_any_text_is_read_or_refused(text):
    """No text makes the reader crash."""
    try:
        scale, unit = read_unit(text)
    except UnitError:
        return
    assert scale > 0
    assert Unit(str(unit)) == unit


def test_conversion():
    """Conversion is exact, symbolic too, and only between like units."""
    assert convert(80 * 10**9, Unit("byte"), "GiB") * 2**30 == 80 * 10**9
    assert convert(symbol("N") * 16, Unit("byte"), "GB") == symbol("N") / 62500000
    with pytest.raises(UnitError, match="byte cannot be converted to FLOP"):
        convert(1, Unit("byte"), "FLOP")


def test_units_that_have_prefixes_are_no_base_units():
    """A `Unit` is in base units only, so that equal units have equal text."""
    assert Unit("byte/second") == Unit("B/s")
    with pytest.raises(UnitError, match="'GB' is not a base unit"):
        Unit("GB")


def test_words():
    """The words that a formula may take for units."""
    assert [word for word in ("GB", "token", "h", "B", "heads", "Gb") if is_unit(word)] == [
        "GB",
        "token",
        "h",
    ]
    assert "microstep" in unit_names()
    assert Unit("FLOP/token").physical
    assert not Unit("token/step").physical


def test_base_units_need_no_pint():
    """Reading and combining base units leaves pint out; it costs half a second."""
    code = (
        "import sys; from symacct.units import *\n"
        "Unit('FLOP/(parameter*token)').times(Unit('token')); read_unit('bytes')\n"
        "assert 'pint' not in sys.modules; read_unit('GB'); assert 'pint' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
