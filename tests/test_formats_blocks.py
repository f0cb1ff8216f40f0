"""Block formats against small independent implementations in numpy and ml_dtypes, and what outliers do."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from symacct.errors import SymacctError
from symacct.formats import BITS, BLOCKS, Block, find, neighbours, quantise

ELEMENT = {
    "mxfp8": (ml_dtypes.float8_e4m3fn, 8, 448.0),
    "mxfp8_e5m2": (ml_dtypes.float8_e5m2, 15, 57344.0),
    "mxfp6_e2m3": (ml_dtypes.float6_e2m3fn, 2, 7.5),
    "mxfp6_e3m2": (ml_dtypes.float6_e3m2fn, 4, 28.0),
    "mxfp4": (ml_dtypes.float4_e2m1fn, 2, 6.0),
}
"""Of each MX format: the element in ml_dtypes, the exponent of its largest number, that number."""


def vector(seed, count=96):
    """Numbers of fp32 of many sizes, some zero, as arrays and exactly."""
    draw = np.random.default_rng(seed)
    made = (draw.standard_normal(count) * 2.0 ** draw.integers(-12, 12, count)).astype(np.float32)
    made[draw.random(count) < 0.1] = 0
    return made, [Fraction(float(number)) for number in made]


def mx(numbers, name):
    """The MX conversion in floating point: all its scalings are by powers of two, so that it is exact."""
    kind, top, most = ELEMENT[name]
    out = np.zeros_like(numbers)
    for start in range(0, len(numbers), 32):
        block = numbers[start : start + 32]
        largest = np.abs(block).max()
        scale = 2.0 ** (np.frexp(largest)[1] - 1 - top) if largest else 1.0
        out[start : start + 32] = np.clip(block / scale, -most, most).astype(kind).astype(np.float32) * scale
    return out


@pytest.mark.parametrize("name", sorted(ELEMENT))
@pytest.mark.parametrize("seed", range(5))
def test_mx_formats_as_numpy_has_them(name, seed):
    numbers, exact = vector(seed)
    made = quantise(exact, find(name))
    results = [result for group in made.groups for result in group.results]
    assert results == [Fraction(float(number)) for number in mx(numbers, name)]
    assert [len(group.values) for group in made.groups] == [32, 32, 32]


@pytest.mark.parametrize("seed", range(5))
def test_mxint8_as_numpy_has_it(seed):
    """Steps of 2^-6 of the block's largest power of two, to even, clamped at 127."""
    numbers, exact = vector(seed, 32)
    scale = 2.0 ** (np.frexp(np.abs(numbers).max())[1] - 1)
    theirs = np.clip(np.rint(numbers / scale * 64), -128, 127) / 64 * scale
    assert list(quantise(exact, find("mxint8")).groups[0].results) == [Fraction(float(n)) for n in theirs]


@pytest.mark.parametrize("seed", range(5))
def test_nvfp4_as_ml_dtypes_has_it(seed):
    """Scales and codes from float64; where a number is within its error of a midpoint, either neighbour."""
    numbers, exact = vector(seed, 64)
    made = quantise(exact, find("nvfp4"))
    wide = numbers.astype(np.float64)
    whole = np.float64(np.float32(np.abs(wide).max() / (6 * 448)))
    assert made.whole == Fraction(float(whole))
    for at, group in enumerate(made.groups):
        block = wide[16 * at : 16 * at + 16]
        scale = np.float32(np.abs(block).max() / 6 / whole).astype(ml_dtypes.float8_e4m3fn)
        assert group.scale_code == int(scale.view(np.uint8))
        scaled = np.float32(block / (float(scale) * whole))
        codes = np.clip(scaled, -6, 6).astype(ml_dtypes.float4_e2m1fn)
        mine = [float(find("fp4").decode(code).number) for code in group.codes]
        assert mine == codes.astype(np.float64).tolist()
        assert [Fraction(n) * group.scale for n in mine] == list(group.results)


def test_int8_under_fp16_as_torch_users_do():
    """Largest magnitude over 127, kept in fp16; then to the nearest, clamped."""
    numbers, exact = vector(3, 128)
    block = Block("int8", find("int8"), 128, find("fp16"))
    scale = float(np.float16(np.abs(numbers).max() / 127))
    theirs = np.clip(np.rint(numbers.astype(np.float64) / scale), -128, 127)
    [group] = quantise(exact, block).groups
    assert [float(find("int8").decode(code).number) for code in group.codes] == theirs.tolist()
    assert block.bits == Fraction(65, 8) == 8.125


def test_bits_an_element():
    """Elements and their share of a scale; half a byte is half a byte."""
    expected = {
        "mxfp4": "17/32",
        "mxfp8": "33/32",
        "mxfp6_e2m3": "25/32",
        "nvfp4": "9/16",
        "int4": "1/2",
        "fp4": "1/2",
    }
    assert {name: BITS[name] / 8 for name in expected} == {
        name: Fraction(of) for name, of in expected.items()
    }
    assert all(BITS[name] == one.bits for name, one in BLOCKS.items())


def test_stored_bits_count_short_blocks_and_the_tensor():
    """33 elements are two blocks of MXFP4, and three of NVFP4 with the tensor's scale beside."""
    numbers = [Fraction(1)] * 33
    assert quantise(numbers, find("mxfp4")).stored_bits == 33 * 4 + 2 * 8
    assert quantise(numbers, find("nvfp4")).stored_bits == 33 * 4 + 3 * 8 + 32
    full = quantise(numbers[:32], find("mxfp4"))
    assert full.stored_bits == 32 * find("mxfp4").bits


def test_an_outlier_costs_its_neighbours():
    """Beside 100 the step of MXFP4 is 8 (1, 2 and 3 vanish); without it they are exact."""
    [effect] = neighbours(quantise([Fraction(n) for n in (1, 2, 100, 3)], find("mxfp4")))
    assert (effect.place, effect.beside.scale, effect.without.scale) == (2, 16, Fraction(1, 2))
    assert (effect.worst(effect.beside), effect.worst(effect.without)) == (3, 0)
    assert (effect.zeroed(effect.beside), effect.zeroed(effect.without)) == (3, 0)


def test_an_outlier_stays_in_its_block_unless_the_tensor_has_a_scale():
    """MX blocks know nothing of each other; under NVFP4's scale of the tensor others' can become 0."""
    calm, wild = [Fraction(1)] * 32, [Fraction(10) ** 9] + [Fraction(0)] * 31
    first = quantise(calm + wild, find("mxfp4")).groups[0]
    assert first.results == tuple(calm)
    vanished = quantise(calm + wild, find("nvfp4")).groups[0]
    assert (vanished.scale, set(vanished.results)) == (0, {0})
    assert neighbours(quantise(calm + wild, find("nvfp4")))[2].without.results[1] == 0


def test_without_the_largest_the_scale_of_the_tensor_is_another():
    """Without 1000 the tensor's scale is that of 1, which is then kept to the precision of fp32."""
    [effect] = neighbours(quantise([Fraction(n) for n in ("1000", "1", "1/2")], find("nvfp4")))
    assert (effect.zeroed(effect.beside), effect.worst(effect.beside)) == (2, 1)
    assert effect.worst(effect.without) < Fraction(1, 2**23)


def test_what_mx_cuts_off():
    """The scale comes from the largest power of two, so that 7.9 stops at 6, the largest element."""
    [group] = quantise([Fraction(79, 10)], find("mxfp4")).groups
    assert (group.scale, group.results) == (1, (6,))


def test_zeros_stay_zero():
    for name in BLOCKS:
        made = quantise([Fraction(0)] * 3, find(name))
        assert made.groups[0].results == (0, 0, 0)
        assert neighbours(made)[0].without.results == (0, 0, 0)
    [group] = quantise([Fraction(1, 2**200)], find("nvfp4")).groups
    assert (group.scale, group.results) == (0, (0,))


def test_the_ends_of_the_scale():
    """Below 2^-127 the scale stays there; beyond 2^127 there is none."""
    [group] = quantise([Fraction(1, 2**140)], find("mxfp4")).groups
    assert (group.scale, group.results) == (Fraction(1, 2**127), (0,))
    assert quantise([Fraction(2) ** 129], find("mxfp4")).groups[0].scale == 2**127
    with pytest.raises(SymacctError, match="the scale of a block is too large"):
        quantise([Fraction(2) ** 130], find("mxfp4"))
    with pytest.raises(SymacctError, match="the scale of a block is too large"):
        quantise([Fraction(2) ** 30], Block("x", find("int8"), 8, find("fp16")))
    with pytest.raises(SymacctError, match="the tensor's scale is too large"):
        quantise([Fraction(2) ** 200], find("nvfp4"))


def test_refusals():
    with pytest.raises(SymacctError, match="nothing to quantise"):
        quantise([], find("mxfp4"))
    with pytest.raises(SymacctError, match="a block is too small"):
        Block("x", find("int8"), 0, find("fp16"))
