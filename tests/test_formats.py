"""Number formats against independent implementations: every code, every midpoint, random numbers."""

from __future__ import annotations

import random
import struct
from fractions import Fraction
from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest
import torch

from symacct.errors import RuleError, SymacctError
from symacct.formats import BITS, ELEMENTS, Format, Integer, Value, find, read, rounded

MINE = {
    "fp64": np.float64, "fp32": np.float32, "fp16": np.float16, "bf16": ml_dtypes.bfloat16,
    "fp8_e4m3": ml_dtypes.float8_e4m3fn, "fp8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "fp8_e4m3_ieee": ml_dtypes.float8_e4m3, "fp8_e5m2": ml_dtypes.float8_e5m2,
    "fp8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz, "fp6_e2m3": ml_dtypes.float6_e2m3fn,
    "fp6_e3m2": ml_dtypes.float6_e3m2fn, "fp4_e2m1": ml_dtypes.float4_e2m1fn,
    "e8m0": ml_dtypes.float8_e8m0fnu,
}  # fmt: skip
TORCH = {
    "fp16": torch.float16, "bf16": torch.bfloat16, "fp8_e4m3": torch.float8_e4m3fn,
    "fp8_e4m3fnuz": torch.float8_e4m3fnuz, "fp8_e5m2": torch.float8_e5m2,
    "fp8_e5m2fnuz": torch.float8_e5m2fnuz,
    "fp32": torch.float32,
}  # fmt: skip
SMALL = [name for name in MINE if name not in {"fp64", "fp32"}]
WORD = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def word(name):
    return WORD[np.dtype(MINE[name]).itemsize * 8]


def as_value(number):
    """A float as a value, by way of its exact quotient."""
    number = float(number)
    if number != number:  # noqa: PLR0124
        return Value(kind="nan")
    if number in {float("inf"), float("-inf")}:
        return Value(kind="infinity", negative=number < 0)
    return Value(Fraction(abs(number)), bool(np.signbit(number)))


def plain(value):
    """What two not-a-numbers have in common, whatever their sign."""
    return Value(kind="nan") if value.kind == "nan" else value


@pytest.mark.few(2)
@pytest.mark.parametrize("name", SMALL)
def test_every_code_decodes_as_in_ml_dtypes(name):
    one = ELEMENTS[name]
    codes = np.arange(1 << one.width, dtype=np.uint32).astype(word(name))
    with np.errstate(all="ignore"):
        theirs = codes.view(MINE[name]).astype(np.float64)
    assert list(one.codes()) == codes.tolist()
    assert all(plain(one.decode(code)) == plain(as_value(theirs[code])) for code in one.codes())


@pytest.mark.few(3)
@pytest.mark.parametrize("name", [name for name in TORCH if name != "fp32"])
def test_every_code_decodes_as_in_torch(name):
    one = ELEMENTS[name]
    kept = torch.uint8 if one.width == 8 else torch.uint16
    theirs = torch.arange(1 << one.width, dtype=torch.int32).to(kept).view(TORCH[name]).double().tolist()
    assert all(plain(one.decode(code)) == plain(as_value(theirs[code])) for code in one.codes())


def same_code(one, mine, theirs):
    """Codes are equal, or both are not-a-number, of which there may be several."""
    return mine == theirs or one.decode(mine).kind == one.decode(theirs).kind == "nan"


def agree(name, numbers):
    """Numbers as fp32 are rounded as ml_dtypes rounds them, overflow included.

    From float64 it would go by way of fp32, and round twice. Its e8m0 is left out between 2^-127 and 2^-126,
    where fp32 is subnormal: it goes up there, whichever is nearer.
    """
    with np.errstate(all="ignore"):
        one, numbers = ELEMENTS[name], np.array(numbers, dtype=np.float32)
    with np.errstate(all="ignore"):
        theirs = numbers.astype(MINE[name]).view(word(name)).tolist()
    wrong = [
        (number, one.encode(as_value(number)), code)
        for number, code in zip(numbers.tolist(), theirs, strict=True)
        if not (name == "e8m0" and 2.0**-127 < number < 2.0**-126)
        and not same_code(one, one.encode(as_value(number)), code)
    ]
    assert not wrong, wrong[:3]


def magnitudes(one):
    return [one.decode(code).number for code in range(one.top + 1)]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", SMALL)
def test_every_midpoint_goes_to_the_even_code(name):
    """The midpoints of all neighbours, the one beyond the largest too, and a step of fp32 on either side."""
    one = ELEMENTS[name]
    held = magnitudes(one)
    middles = [float(a + b) / 2 for a, b in pairwise(held)]
    middles.append(float(one.largest + one.ulp(one.largest) / 2))
    ways = (np.float32(0), np.float32(np.inf))
    near = [np.nextafter(np.float32(middle), way) for middle in middles for way in ways]
    agree(name, [*middles, *near])
    if one.signed:
        agree(name, [-number for number in (*middles, *near)])


@pytest.mark.parametrize("name", SMALL)
def test_random_numbers_round_as_in_ml_dtypes(name):
    """Over the range of the format and beyond both ends, seeded."""
    draw, one = random.Random(name), ELEMENTS[name]
    low, high = one.least_exponent - one.fraction - 3, one.most_exponent + 3
    sign = (1, -1) if one.signed else (1,)
    numbers = [
        draw.choice(sign) * (1 + draw.random()) * 2.0 ** draw.randint(max(low, -148), min(high, 127))
        for _ in range(2000)
    ]
    agree(name, numbers)


def test_rounding_is_done_once():
    """A little more than the midpoint of 0 and 0.5 is 0.5; by way of fp32 it would be 0."""
    number = 0.25 + 2.0**-54
    assert np.float32(number) == 0.25
    assert rounded(as_value(number), ELEMENTS["fp4_e2m1"]).result.number == Fraction(1, 2)
    assert rounded(as_value(0.25), ELEMENTS["fp4_e2m1"]).result.number == 0


@pytest.mark.parametrize("name", ["fp8_e4m3", "fp8_e5m2", "fp8_e4m3fnuz", "fp16", "bf16", "fp32"])
def test_specials_round_as_in_ml_dtypes(name):
    agree(name, [0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, -1e300, 1e-300, -1e-300])


@pytest.mark.parametrize(
    ("name", "letter", "mark"), [("fp16", "e", "H"), ("fp32", "f", "I"), ("fp64", "d", "Q")]
)
def test_codes_and_rounding_as_in_struct(name, letter, mark):
    """Random codes decoded, and random numbers rounded, by Python's own packing."""
    draw, one = random.Random(letter), ELEMENTS[name]
    for _ in range(1500):
        code = draw.getrandbits(one.width)
        theirs = struct.unpack(f"<{letter}", struct.pack(f"<{mark}", code))[0]
        assert plain(one.decode(code)) == plain(as_value(theirs))
        number = draw.uniform(-2, 2) * 2.0 ** draw.randint(-30, 14)
        packed = struct.unpack(f"<{mark}", struct.pack(f"<{letter}", number))[0]
        assert one.encode(as_value(number)) == packed


def test_fp64_reads_decimals_as_python_does():
    """An exact decimal rounded to fp64 is what Python makes of its text."""
    draw = random.Random(64)
    for _ in range(2000):
        text = f"{draw.randint(-(10**20), 10**20)}e{draw.randint(-345, 290)}"
        code = ELEMENTS["fp64"].encode(read(text))
        assert code == struct.unpack("<Q", struct.pack("<d", float(text)))[0]


@pytest.mark.few(3)
@pytest.mark.parametrize("name", sorted(TORCH))
def test_random_numbers_round_as_in_torch(name):
    """From fp32, within the range: beyond it torch's conversions to fp8 may saturate."""
    draw, one = random.Random(name), ELEMENTS[name]
    low = max(one.least_exponent - 4, -125)
    numbers = [draw.choice((1, -1)) * (1 + draw.random()) * 2.0 ** draw.randint(low, 7) for _ in range(2000)]
    numbers = np.array(numbers, dtype=np.float32).tolist()
    theirs = torch.tensor(numbers, dtype=torch.float32).to(TORCH[name]).double().tolist()
    mine = [rounded(as_value(number), one).result for number in numbers]
    assert mine == [as_value(number) for number in theirs]


def test_tf32_is_fp32_without_its_last_13_bits():
    """Every stored word is one of fp32, and rounding is that of a fraction of 10 bits under 8 of exponent."""
    one, draw = ELEMENTS["tf32"], random.Random(32)
    for _ in range(1500):
        code = draw.getrandbits(19) << 13
        theirs = struct.unpack("<f", struct.pack("<I", code))[0]
        assert plain(one.decode(code)) == plain(as_value(theirs))
        number = Fraction(draw.uniform(1, 2))
        assert one.decode(one.encode(Value(number))).number == Fraction(round(number * 1024), 1024)
    with pytest.raises(SymacctError, match="0x3f800001 is no code of tf32"):
        one.decode(0x3F800001)
    assert one.decode(0x3F800000).number == 1


@pytest.mark.parametrize(("name", "width"), [("int4", 4), ("int8", 8)])
def test_integers_decode_and_clamp(name, width):
    """Codes are numpy's two's complement; rounding is numpy's to even, then a clamp."""
    one = ELEMENTS[name]
    assert [int(one.decode(code).number) for code in one.codes()] == [
        code - (1 << width) * (code >= 1 << (width - 1)) for code in range(1 << width)
    ]
    numbers = np.arange(-300, 300) / 2
    ends = -(1 << (width - 1)), (1 << (width - 1)) - 1
    theirs = np.clip(np.rint(numbers), *ends).tolist()
    assert [float(one.decode(one.encode(as_value(n))).number) for n in numbers] == theirs
    ours = np.arange(-8, 8).astype(ml_dtypes.int4).view(np.uint8) & 15
    assert name != "int4" or [one.encode(Value.of(Fraction(int(n)))) for n in range(-8, 8)] == ours.tolist()


@pytest.mark.parametrize("name", [n for n in MINE if n not in {"e8m0", "fp64"}])
def test_ranges_are_those_of_finfo(name):
    one, theirs = ELEMENTS[name], ml_dtypes.finfo(MINE[name])
    assert one.largest == Fraction(float(theirs.max))
    assert one.lowest == Fraction(float(theirs.min))
    assert one.smallest_normal == Fraction(float(theirs.smallest_normal))
    assert one.smallest == Fraction(float(theirs.smallest_subnormal))
    assert one.epsilon == Fraction(float(theirs.eps))
    assert one.bits == theirs.bits


@pytest.mark.few(2)
@pytest.mark.parametrize("name", SMALL)
def test_the_count_is_that_of_different_numbers(name):
    one = ELEMENTS[name]
    found = {value.number for value in map(one.decode, one.codes()) if value.finite}
    assert one.count == len(found)
    assert (max(found), min(found)) == (one.largest, one.lowest)
    assert min(number for number in found if number > 0) == one.smallest


def test_facts_of_the_field():
    """Figures that lectures and papers state, none of which stands in the code."""
    assert rounded(Value(Fraction(1, 10**8)), find("fp16")).result.number == 0
    assert rounded(Value(Fraction(1, 10**8)), find("bf16")).result.number != 0
    assert [find(n).largest for n in ("fp8_e4m3", "fp8_e5m2", "fp8_e4m3fnuz", "fp8_e4m3_ieee")] == [
        448,
        57344,
        240,
        240,
    ]
    assert magnitudes(find("e2m1")) == [0, Fraction(1, 2), 1, Fraction(3, 2), 2, 3, 4, 6]
    assert find("bf16").epsilon == Fraction(1, 2**7)
    assert find("fp16").largest == 65504 == (2 - Fraction(1, 2**10)) * 2**15
    assert find("fp16").smallest == Fraction(1, 2**24)
    assert (find("e8m0").smallest, find("e8m0").largest) == (Fraction(1, 2**127), 2**127)
    assert find("e8m0").decode(0xFF).kind == "nan"
    assert find("fp64").epsilon == Fraction(1, 2**52)


def test_why_e4m3_ends_at_448_or_240():
    """All ones is 480 under bias 7: not-a-number, it leaves 448; under bias 8 it is 240."""
    everything = Format("all", 4, 3, 7, "none")
    assert everything.largest == 480
    assert find("fp8_e4m3").largest == everything.decode(everything.top - 1).number
    assert find("fp8_e4m3fnuz").largest == everything.largest / 2
    assert find("fp8_e4m3_ieee").largest == everything.decode(0b1110111).number


def test_where_e4m3_overflows():
    """464 is as near to 448 as to 480, and 448 is even; a saturating conversion never leaves the range."""
    one = find("fp8_e4m3")
    kept, lost = rounded(Value(Fraction(464)), one), rounded(Value(Fraction(465)), one)
    assert (kept.result.number, kept.outcome) == (448, "rounded")
    assert (lost.result.kind, lost.outcome, lost.clamped.number) == ("nan", "overflow", 448)
    small = rounded(Value(Fraction(100), negative=True), find("fp4"))
    assert (small.result.number, small.outcome) == (-6, "saturated")
    assert rounded(Value(Fraction(13, 2)), find("fp4")).outcome == "rounded"


def test_what_is_lost():
    """Of 0.1 in fp16: 0.4 of a step; of a number below half of the smallest: all of it."""
    lost = rounded(Value(Fraction(1, 10)), find("fp16"))
    assert lost.error == Fraction(1638, 16384) - Fraction(1, 10)
    assert (lost.ulps, lost.relative) == (Fraction(2, 5), lost.error * 10)
    gone = rounded(Value(Fraction(1, 2**25), negative=True), find("fp16"))
    assert (gone.relative, gone.outcome, gone.result) == (-1, "underflow", Value(negative=True))
    assert rounded(Value(Fraction(1, 2**25) + Fraction(1, 2**90)), find("fp16")).result.number == Fraction(
        1, 2**24
    )
    assert rounded(Value(), find("fp16")).relative is None
    assert rounded(Value(kind="infinity"), find("fp16")).error is None
    assert rounded(Value(Fraction(3, 2**24)), find("fp16")).subnormal


@pytest.mark.few(8)
@pytest.mark.parametrize("name", sorted(set(ELEMENTS) - {"e8m0", "mxint8_element"}))
def test_laws_of_rounding(name):
    """What is held is kept; order is kept; the sign turns the result; no error beyond half a step."""
    one, draw = ELEMENTS[name], random.Random(name)
    span = one.most_exponent
    numbers = sorted(
        Fraction(draw.uniform(1, 2)) * Fraction(2) ** draw.randint(max(-span, -40), span - 1)
        for _ in range(300)
    )
    results = [rounded(Value(number), one) for number in numbers]
    kept = [result.result.number for result in results]
    assert kept == sorted(kept)
    for number, result in zip(numbers, results, strict=True):
        assert result.ulps <= Fraction(1, 2)
        again = rounded(result.result, one)
        assert again.result.same(result.result)
        assert again.outcome == "exact"
        assert rounded(Value(number, negative=True), one).result.number == -result.result.number


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("fp4", Value(kind="nan"), "fp4_e2m1 cannot hold not-a-number"),
        ("int8", Value(kind="nan"), "int8 cannot hold not-a-number"),
        ("e8m0", Value(), "e8m0 cannot hold zero"),
        ("e8m0", Value(Fraction(1), negative=True), "e8m0 cannot hold a negative number"),
        ("e8m0", Value(kind="infinity", negative=True), "e8m0 cannot hold a negative number"),
    ],
)
def test_what_a_format_has_no_code_for_is_refused(name, value, message):
    """ml_dtypes gives some code for these (-0, not-a-number); a missing code is an error here."""
    with pytest.raises(RuleError, match=message):
        rounded(value, find(name))
    assert rounded(Value(Fraction(1)), find(name)).outcome == "exact"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Format("x", 0, 3, 7), lambda: Format("x", 4, 0, 7), lambda: Format("x", 4, 3, 7, "odd"),
        lambda: Format("x", 100, 100, 7), lambda: Format("x", 4, 3, 7, padding=-1), lambda: Integer("x", 1),
        lambda: Integer("x", 65), lambda: Integer("x", 8, point=8), lambda: find("fp16").decode(-1),
        lambda: find("int8").decode(256),
    ],
)  # fmt: skip
def test_what_is_no_format_is_refused(make):
    with pytest.raises(SymacctError):
        make()


def test_names():
    """Other names, capitals and hyphens; a name of two formats is refused, one of none offers the nearest."""
    known = {
        "half": "fp16",
        "float16": "fp16",
        "bfloat16": "bf16",
        "E4M3": "fp8_e4m3",
        "fp8-e5m2": "fp8_e5m2",
        "FP4": "fp4_e2m1",
    }
    assert {name: find(name).name for name in known} == known
    for name, both in {
        "fp8": ("fp8_e4m3", "fp8_e5m2"),
        "fp6": ("fp6_e2m3", "fp6_e3m2"),
        "mxfp6": ("mxfp6_e2m3", "mxfp6_e3m2"),
    }.items():
        with pytest.raises(SymacctError) as refused:
            find(name)
        assert refused.value.expected == " or ".join(both)
    with pytest.raises(SymacctError, match=r"did you mean 'bf16'\?"):
        find("bff16")
    assert BITS["fp8"] == 8
