"""The formats that there are, each a row, and how their names are read."""

from __future__ import annotations

from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from symacct.errors import UnknownNameError, brief, unknown
from symacct.formats.block import Block
from symacct.formats.floating import Format
from symacct.formats.integer import Integer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symacct.formats.block import Element

IEEE = "IEEE 754-2019, section 3.6"
IEEE_LIKE = "the rules of IEEE 754-2019, section 3.4; float8_e4m3 of ml_dtypes"
FP8 = "Micikevicius et al. 2022, FP8 Formats for Deep Learning, arXiv 2209.05433; OCP OFP8 1.0"
FNUZ = "Noune et al. 2022, 8-bit Numerical Formats for Deep Neural Networks, arXiv 2206.02915"
MX = "OCP Microscaling Formats (MX) Specification 1.0, sections 5 and 6"
NV = "NVIDIA, Introducing NVFP4 (technical blog, 2025); Pretraining LLMs with NVFP4, arXiv 2509.25149"
TF32 = "NVIDIA A100 Tensor Core GPU Architecture (2020)"
BF16 = "Kalamkar et al. 2019, A Study of BFLOAT16, arXiv 1905.12322"

_ELEMENTS: tuple[Element, ...] = (
    Format("fp64", 11, 52, 1023, "ieee", "double precision", IEEE),
    Format("fp32", 8, 23, 127, "ieee", "single precision", IEEE),
    Format("tf32", 8, 10, 127, "ieee", "what tensor cores read of an fp32 word; stored in 32 bits", TF32, 13),
    Format("bf16", 8, 7, 127, "ieee", "the upper half of an fp32 word", BF16),
    Format("fp16", 5, 10, 15, "ieee", "half precision", IEEE),
    Format("fp8_e4m3", 4, 3, 7, "fn", "weights and activations; all ones is not-a-number, so ±448", FP8),
    Format(
        "fp8_e4m3fnuz",
        4,
        3,
        8,
        "fnuz",
        "MI300: all ones is a number (480) and bias 8 halves it, so ±240",
        FNUZ,
    ),
    Format("fp8_e4m3_ieee", 4, 3, 7, "ieee", "the rules of IEEE 754 in 8 bits, so ±240", IEEE_LIKE),
    Format("fp8_e5m2", 5, 2, 15, "ieee", "gradients; the upper half of an fp16 word", FP8),
    Format("fp8_e5m2fnuz", 5, 2, 16, "fnuz", "MI300: bias 16, all codes but one are numbers", FNUZ),
    Format("fp6_e2m3", 2, 3, 1, "none", "element of MXFP6", MX),
    Format("fp6_e3m2", 3, 2, 3, "none", "element of MXFP6", MX),
    Format("fp4_e2m1", 2, 1, 1, "none", "element of MXFP4 and NVFP4", MX),
    Format("e8m0", 8, 0, 127, "scale", "scale of the MX formats: powers of two", MX),
    Integer("int64", 64, "indices", "two's complement"),
    Integer("int32", 32, "sums of int8 products", "two's complement"),
    Integer("int8", 8, "quantised weights and activations", "two's complement"),
    Integer("int4", 4, "quantised weights", "two's complement"),
    Integer("mxint8_element", 8, "element of MXINT8: steps of 2^-6", MX, 6),
)

ELEMENTS: Mapping[str, Element] = MappingProxyType({one.name: one for one in _ELEMENTS})
"""Formats of one number."""


def _block(name: str, element: str, size: int, scale: str, about: str, source: str, whole: str = "") -> Block:
    tensor = ELEMENTS[whole] if whole else None
    kept, outer = ELEMENTS[scale], tensor if isinstance(tensor, Format) else None
    assert isinstance(kept, Format)
    return Block(name, ELEMENTS[element], size, kept, about, source, outer)


_BLOCKS = (
    _block("mxfp8", "fp8_e4m3", 32, "e8m0", "e4m3 elements under scales", MX),
    _block("mxfp8_e5m2", "fp8_e5m2", 32, "e8m0", "e5m2 elements under scales", MX),
    _block("mxfp6_e2m3", "fp6_e2m3", 32, "e8m0", "e2m3 elements under scales", MX),
    _block("mxfp6_e3m2", "fp6_e3m2", 32, "e8m0", "e3m2 elements under scales", MX),
    _block("mxfp4", "fp4_e2m1", 32, "e8m0", "e2m1 elements under scales", MX),
    _block("mxint8", "mxint8_element", 32, "e8m0", "fixed-point elements under scales", MX),
    _block(
        "nvfp4", "fp4_e2m1", 16, "fp8_e4m3", "e2m1 elements, e4m3 scales, an fp32 scale a tensor", NV, "fp32"
    ),
)

BLOCKS: Mapping[str, Block] = MappingProxyType({one.name: one for one in _BLOCKS})
"""Formats in which neighbours share a scale."""

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "float64": "fp64", "double": "fp64", "binary64": "fp64", "float32": "fp32", "float": "fp32",
        "single": "fp32", "binary32": "fp32", "bfloat16": "bf16", "float16": "fp16", "half": "fp16",
        "binary16": "fp16", "e4m3": "fp8_e4m3", "e4m3fn": "fp8_e4m3", "float8_e4m3fn": "fp8_e4m3",
        "e4m3fnuz": "fp8_e4m3fnuz", "float8_e4m3fnuz": "fp8_e4m3fnuz", "e5m2": "fp8_e5m2",
        "float8_e5m2": "fp8_e5m2", "e5m2fnuz": "fp8_e5m2fnuz", "float8_e5m2fnuz": "fp8_e5m2fnuz",
        "float8_e4m3": "fp8_e4m3_ieee", "e2m3": "fp6_e2m3", "e3m2": "fp6_e3m2", "fp4": "fp4_e2m1",
        "e2m1": "fp4_e2m1", "float4_e2m1fn": "fp4_e2m1", "float8_e8m0fnu": "e8m0", "ue8m0": "e8m0",
        "mxfp8_e4m3": "mxfp8", "mxfp4_e2m1": "mxfp4", "long": "int64",
    }
)  # fmt: skip
"""Other names; ``float8_e4m3`` is ml_dtypes' name of the format with infinities."""

SEVERAL: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "fp8": ("fp8_e4m3", "fp8_e5m2"), "float8": ("fp8_e4m3", "fp8_e5m2"),
        "fp6": ("fp6_e2m3", "fp6_e3m2"), "mxfp6": ("mxfp6_e2m3", "mxfp6_e3m2"),
    }
)  # fmt: skip
"""Names that stand for several formats, which are equal in bits alone."""

STORED: Mapping[str, str] = MappingProxyType(
    {
        "fp8": "either of fp8_e4m3 and fp8_e5m2, where bits alone count",
        "fp4": "another name for fp4_e2m1",
        "bool": "a byte, as torch stores it",
    }
)
"""What else has a size in memory, and what it is."""

BITS: Mapping[str, Fraction] = MappingProxyType(
    {
        **{name: one.bits for name, one in (*ELEMENTS.items(), *BLOCKS.items()) if name != "mxint8_element"},
        "fp8": ELEMENTS["fp8_e4m3"].bits,
        "fp4": ELEMENTS["fp4_e2m1"].bits,
        "bool": Fraction(8),
    }
)
"""Bits of storage of an element by name, scales of blocks included; a boolean takes a byte, as in torch."""


def find(name: str) -> Element | Block:
    """Return the format of a name, or of another name for it; capitals and hyphens do not matter.

    Raises:
        UnknownNameError: the name is unknown, or stands for several formats.

    >>> find("half").name, find("MXFP4").bits
    ('fp16', Fraction(17, 4))
    >>> find("fp8")
    Traceback (most recent call last):
    symacct.errors.UnknownNameError: 'fp8' names several formats
      expected  fp8_e4m3 or fp8_e5m2
      got       fp8
      fix       name one of them: they differ in range and precision
    """
    key = name.strip().lower().replace("-", "_")
    key = ALIASES.get(key, key)
    if key in SEVERAL:
        raise UnknownNameError(
            f"{brief(name)!r} names several formats",
            expected=" or ".join(SEVERAL[key]),
            got=brief(name),
            fix="name one of them: they differ in range and precision",
        )
    if key in ELEMENTS:
        return ELEMENTS[key]
    if key in BLOCKS:
        return BLOCKS[key]
    raise unknown("dtype", name, [*ELEMENTS, *BLOCKS, *ALIASES])
