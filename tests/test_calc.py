"""`symacct calc`: exact arithmetic with units, a sensible number of digits, one slip named and mended."""

from __future__ import annotations

import json
import random
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from symacct.claims import amount
from symacct.cli import main
from symacct.errors import SymacctError, UnitError
from symacct.report.amount import as_fraction, digits, shown
from symacct.units import Unit

DAYS = "6 FLOP/parameter/token * 70e9 parameter * 15e12 token / (1024 device * 989.5 TFLOP/s/device * 0.5)"


@pytest.fixture
def calc(capsys):
    """Run the verb; return status, output and errors."""

    def run(*arguments):
        status = main(["calc", *arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        ((DAYS, "--to", "day"), "143.9 day"),
        (("640 GB / (12 byte/param)",), "53.3e9 parameter"),
        (("8 byte/param * 7e9 param",), "56 GB = 52.15 GiB"),
        (("80 GiB", "--to", "GB"), "85.9 GB = 80 GiB"),
        (("N * 2 byte/parameter", "--let", "N = 70B parameter"), "140 GB = 130.4 GiB"),
        (("1e12 op / (394e12 op/s)",), "2.538 ms"),
        (("65536 FLOP / (838e12 FLOP/s)",), "0.07821 ns"),
        (("2 GB / (1.8e12 B/s)",), "1.111 ms"),
        (("1 + 1",), "2"),
        (("2^60 + 1",), "1,152,921,504,606,846,977"),
        (("3 * 1024 * 36 * 11",), "1,216,512"),
        (("1234567 token / (1 s)",), "1,234,567 token/s"),
        (("400 Gbit/s * 2 s", "--to", "GB"), "100 GB = 93.13 GiB"),
        (("2 $/GPU/hour * 1024 GPU * 2 day",), "98,304 dollar"),
        (("\\frac{640\\,\\mathrm{GB}}{12\\,\\mathrm{byte/param}}",), "53.3e9 parameter"),
        (("4.10e9 MAC", "--to", "FLOP"), "8.2e9 FLOP\nnote: 1 MAC = 2 FLOP"),
        (("1.2", "--to", "%"), "120 %\nnote: a share above 100 %"),
    ],
)
def test_results(calc, arguments, output):
    """A number, its unit, and what a reader should know."""
    status, out, err = calc(*arguments)
    assert (status, err) == (0, "")
    assert out.startswith(output)


def test_a_count_for_a_rate_is_refused(calc):
    """The place is marked and the corrected line is the right one."""
    status, out, err = calc(DAYS.replace("TFLOP/s", "TFLOP"), "--to", "day")
    assert (status, out) == (2, "")
    lines = err.splitlines()
    assert lines[1][lines[2].index("^") :].startswith("TFLOP/device")
    assert f"write {DAYS}" in err


REFUSED = {
    "2 GB + 3 TFLOP": ("byte and FLOP cannot be added", "2 GB + 3 TFLOP / (n FLOP/byte)"),
    "2 GB * 3 GB": ("byte is multiplied by byte", "2 GB * 3"),
    "1e6 token + 8 sequence": (
        "token and sequence cannot be added",
        "1e6 token + 8 sequence * n token/sequence",
    ),
    "8 step + 2 microstep": (
        "step and microstep cannot be added",
        "8 step + 2 microstep / (n microstep/step)",
    ),
    "140 GB + 70e9 parameter": (
        "byte and parameter cannot be added",
        "140 GB + 70e9 parameter * 2 byte/parameter",
    ),
    "4e9 MAC + 1e9 FLOP": ("MAC and FLOP cannot be added", "4e9 MAC * 2 FLOP/MAC + 1e9 FLOP"),
    "3 FLOP/byte + 3 FLOP": ("FLOP/byte and FLOP cannot be added", "3 FLOP/byte + 3 FLOP / (n byte)"),
    "90 device + 90": ("device and a pure number cannot be added", "90 device + 90 device"),
    "989.5 TFLOPS * 2 s": ("'TFLOPS' may be a count or a rate", "989.5 TFLOP/s * 2 s"),
    "400 Gb/s * 2 s": ("'Gb' may be bits or bytes", "400 Gbit/s * 2 s"),
    "400 Gbps * 2 s": ("'Gbps' may be bits or bytes", "400 Gbit/s * 2 s"),
    "640 GB / 12 byte/param": ("how far what stands below the line goes", "640 GB / (12 byte/param)"),
    "7 B parameter": ("'B' alone is no unit", "7 byte, or 7B before a unit"),
    "70e9 paramter": ("unknown unit 'paramter'", "70e9 parameter"),
}
WANTED = {
    ("1000 GPU*hour", "hour"): "1000 GPU*hour / (n device)",
    ("1e18 FLOP / (1024 * 989.5 TFLOP/s/device)", "s"): "1e18 FLOP / (1024 device * 989.5 TFLOP/s/device)",
    ("1e18 FLOP / (1024 device * 989.5 TFLOP/s)", "s"): "1e18 FLOP / (1024 device * 989.5 TFLOP/s/device)",
    ("1e18 FLOP / (989.5 TFLOP/s/device)", "s"): "1e18 FLOP / (989.5 TFLOP/s/device) / (n device)",
    ("6e12 FLOP", "TFLOP/s"): "6e12 FLOP/s",
}


@pytest.mark.parametrize("text", REFUSED)
def test_slips(text):
    """Each slip is named, and the corrected line is read, where it is complete."""
    with pytest.raises(SymacctError) as caught:
        amount(text)
    what, line = REFUSED[text]
    assert what in caught.value.what
    assert caught.value.fix.startswith(f"write {line}")
    if " n " not in line and "(n " not in line and "or" not in line:
        amount(line)


@pytest.mark.parametrize(("text", "to"), WANTED)
def test_slips_that_the_wanted_unit_shows(text, to):
    """The result would have another unit than was asked for."""
    with pytest.raises(UnitError) as caught:
        amount(text, to)
    assert caught.value.fix.startswith(f"write {WANTED[text, to]}")
    if "(n " not in WANTED[text, to]:
        amount(WANTED[text, to], to)


@pytest.mark.parametrize("share", ["50", "1.2"])
def test_an_mfu_above_one(share):
    """50 for 50 % is mended; a little more than 1 has other causes."""
    with pytest.raises(UnitError, match="MFU is above 1") as caught:
        amount("2*MFU", None, [f"MFU = {share}"])
    assert (caught.value.fix == "write MFU = 50 %") == (share == "50")
    assert amount("2*MFU", None, ["MFU = 50 %"]).value == 1


def test_json(calc):
    """One envelope, exact inside."""
    status, out, _ = calc("2 GB * 3", "--to", "GiB", "--format", "json")
    found = json.loads(out)
    assert status == 0
    assert found["schema"] == "symacct/2"
    assert found["command"] == "calc"
    assert found["input"] == {"expression": "2 GB * 3", "to": "GiB", "let": []}
    assert Fraction(found["result"]["exact"]) == Fraction(6 * 10**9, 2**30)
    assert found["result"]["value"] == float(Fraction(6 * 10**9, 2**30))
    assert found["result"]["unit"] == "GiB"
    assert set(found["result"]) >= {"expr", "unit", "latex", "value", "exact", "text"}


@pytest.mark.parametrize(
    "arguments", [(), ("2+",), ("7 GB", "--to", "s"), ("2*M",), ("1", "--to", "furlong")]
)
def test_wrong_input(calc, arguments):
    """Status 2, a message, no traceback."""
    status, out, err = calc(*arguments)
    assert (status, out) == (2, "")
    assert err
    assert "Traceback" not in err


def test_digits_and_prefixes():
    """Against Python's own decimal formatting, over many sizes."""
    chance = random.Random(1)
    for _ in range(300):
        value = Fraction(chance.randint(1, 10**6), chance.randint(1, 999)) * Fraction(10) ** chance.randint(
            -12, 12
        )
        back = Fraction(digits(value).replace(",", ""))
        assert abs(back / value - 1) < Fraction(1, 150)
        if 1 <= value < 1000:
            assert abs(back / value - 1) < Fraction(1, 1500)
    assert as_fraction(amount("sqrt(2)").value) ** 2 - 2 < Fraction(1, 10**30)
    assert shown(amount("0 s").value, Unit("second")) == "0 second"


def test_a_small_fuzz():
    """Nothing but our own error comes out, quickly; nothing is executed."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
    try:
        import fuzz_reader
    finally:
        sys.path.pop(0)
    chance = random.Random(11)
    for _ in range(1500):
        text = chance.choice(fuzz_reader.MAKERS)(chance).replace("SPOT", str(fuzz_reader.SPOT))
        try:
            fuzz_reader.read_all(text, chance)
        except SymacctError as error:
            str(error)
    assert not fuzz_reader.SPOT.exists()
