"""Conventions: the choices on which published numbers differ. Data, never formulas."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from symacct.errors import UsageError, unknown
from symacct.op import PRIMITIVES
from symacct.ops.elementwise_table import ROWS, parts

if TYPE_CHECKING:
    from collections.abc import Mapping

ZERO_PRICED = frozenset({"chain", "row_chain", "cast", "gather", "mask"})
BASE_PRICES: Mapping[str, Fraction] = MappingProxyType(
    {name: Fraction(0 if name in ZERO_PRICED else 2 if name == "fma" else 1) for name in PRIMITIVES}
)
"""FLOP for each primitive: an fma is two, moving and selecting by position is nothing, the rest is one."""

ATTENTION = ("full", "half", "exact", "none")
EMBEDDING = ("lookup", "matmul")
HEAD = ("counted", "left out")
VECTORS = ("elementwise", "matmul")
BYTES = ("algorithmic", "issued", "fused", "compulsory")
CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"attention": ATTENTION, "embedding": EMBEDDING, "head": HEAD, "vectors": VECTORS, "bytes": BYTES}
)


@dataclass(frozen=True, slots=True)
class Convention:
    """One way to price counts.

    Attributes:
        name: its name.
        about: one line.
        attention: pairs of query and key that count: all S*T, half of them, the exact allowed number, or
            none of the products between activations.
        embedding: a lookup costs nothing (its backward one add per element), or a product with one-hot rows.
        head: whether the product with the vocabulary counts (region ``head``).
        vectors: parameters used elementwise (norm scales, biases) are elementwise work, or priced as if each
            were a matmul weight: 2 FLOP per use forward and 4 backward.
        bytes: which byte account: see :mod:`symacct.derivation.traffic`.
        strict: a sum of n terms costs n - 1 additions.
        elementwise: whether anything but contractions counts in the ``.all`` totals.
        prices: prices of primitives or elementwise functions that differ from the base table.
        leading: the account keeps a leading term only, and says so.
    """

    name: str = "default"
    about: str = ""
    attention: str = "full"
    embedding: str = "lookup"
    head: str = "counted"
    vectors: str = "elementwise"
    bytes: str = "algorithmic"
    strict: bool = False
    elementwise: bool = True
    prices: tuple[tuple[str, Fraction], ...] = ()
    leading: bool = False

    def price(self, primitive: str) -> Fraction:
        """Return FLOP per count of a primitive, or of an elementwise function as the sum of its parts.

        >>> CONVENTIONS["default"].price("fma"), CONVENTIONS["lecture"].price("gelu")
        (Fraction(2, 1), Fraction(20, 1))
        """
        own = dict(self.prices)
        if primitive in own:
            return own[primitive]
        if primitive in ("chain", "row_chain"):
            return Fraction(-1 if self.strict else 0)
        if primitive in BASE_PRICES:
            return BASE_PRICES[primitive]
        if primitive in ROWS:
            return sum((n * self.price(part) for part, n in parts(primitive).items()), Fraction(0))
        raise unknown("primitive", primitive, [*BASE_PRICES, *ROWS])

    def describe(self) -> str:
        """Return the choices that differ from the default, for the first line of an output."""
        base = Convention()
        parts = [
            f"{field} {getattr(self, field)}"
            for field in (*CHOICES, "strict", "elementwise")
            if getattr(self, field) != getattr(base, field)
        ]
        parts += [f"{primitive} {price}" for primitive, price in self.prices]
        parts += ["leading term only"] if self.leading else []
        return (
            f"{self.name} (attention {self.attention}"
            + "".join(f", {p}" for p in parts if not p.startswith("attention"))
            + ")"
        )


def _preset(name: str, about: str, **choices: object) -> Convention:
    return replace(Convention(), name=name, about=about, **choices)  # type: ignore[arg-type]


CONVENTIONS: Mapping[str, Convention] = MappingProxyType(
    {
        c.name: c
        for c in (
            _preset("default", "2 FLOP per fma, all S*T pairs, lookups free, elementwise work in .all"),
            _preset(
                "lecture",
                "as default, with gelu 20 and relu 1 (a resource-accounting lecture)",
                prices=(("gelu", Fraction(20)), ("gelu_tanh", Fraction(20)), ("relu", Fraction(1))),
            ),
            _preset("strict", "a sum of n terms costs n - 1 additions", strict=True),
            _preset("torch", "what torch.utils.flop_counter counts: contractions alone", elementwise=False),
            _preset(
                "palm",
                "6N + 12LHQT: parameters used elementwise are priced like matmul weights (PaLM, appendix B)",
                vectors="matmul",
            ),
            _preset("megatron", "contractions, all pairs, the logits counted (Megatron-LM)"),
            _preset(
                "kaplan",
                "6ND with N the non-embedding matmul parameters (Kaplan et al. 2020); leading term",
                attention="none",
                head="left out",
                elementwise=False,
                leading=True,
            ),
            _preset(
                "chinchilla",
                "6ND with N the matmul parameters, the head among them (Hoffmann et al. 2022); leading term",
                attention="none",
                elementwise=False,
                leading=True,
            ),
            _preset(
                "nanogpt",
                "6N + 12LHQT with N without the tables that lookups alone read (nanoGPT)",
                vectors="matmul",
            ),
        )
    }
)


def convention(name: str | Convention = "default", **choices: str) -> Convention:
    """Return a preset by name, with single choices changed.

    >>> convention("default", attention="exact").attention
    'exact'
    """
    if isinstance(name, Convention):
        chosen = name
    elif name in CONVENTIONS:
        chosen = CONVENTIONS[name]
    else:
        raise unknown("convention", name, CONVENTIONS)
    for choice, value in choices.items():
        if choice not in CHOICES:
            raise unknown("convention choice", choice, CHOICES)
        if value not in CHOICES[choice]:
            raise UsageError(
                f"{choice} has no setting {value!r}", expected=" | ".join(CHOICES[choice]), got=value
            )
        chosen = replace(chosen, **{choice: value})  # type: ignore[arg-type]
    return chosen
