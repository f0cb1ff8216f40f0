"""Policies: what a run chooses. Precision, optimizer, what is saved, which workload."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from symacct.errors import UsageError, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

DTYPE_BITS: Mapping[str, int] = MappingProxyType(
    {"fp64": 64, "fp32": 32, "tf32": 32, "bf16": 16, "fp16": 16, "fp8": 8,
     "int64": 64, "int32": 32, "int8": 8, "int4": 4, "bool": 8}
)  # fmt: skip
"""Bits of storage of an element; tf32 is stored in 32, a boolean in a byte (as torch does)."""

WORKLOADS = ("train", "forward", "prefill", "decode")
SAVES = ("backward", "torch", "paper", "lecture")
ITEMS = ("params", "grads", "master", "states", "activations")
COMPUTED = ("fp64", "fp32", "bf16", "fp16")
NOTES = MappingProxyType({"bf16": "no fp32 copy of the parameters"})


@dataclass(frozen=True, slots=True)
class Precision:
    """Dtypes of the categories of training memory; ``master`` may be absent."""

    name: str
    params: str
    grads: str
    master: str | None
    states: str
    activations: str

    def describe(self) -> str:
        """Return the name, and what a reader should know: for one by items, every item."""
        if self.name not in PRECISIONS:
            return ", ".join(f"{item} {getattr(self, item) or 'none'}" for item in ITEMS)
        note = NOTES.get(self.name)
        return f"{self.name} ({note})" if note else self.name


PRECISIONS: Mapping[str, Precision] = MappingProxyType(
    {
        p.name: p
        for p in (
            Precision("bf16", "bf16", "bf16", None, "fp32", "bf16"),
            Precision("bf16-master", "bf16", "bf16", "fp32", "fp32", "bf16"),
            Precision("bf16-master-fp32grad", "bf16", "fp32", "fp32", "fp32", "bf16"),
            Precision("bf16-pure", "bf16", "bf16", None, "bf16", "bf16"),
            Precision("fp32", "fp32", "fp32", None, "fp32", "fp32"),
        )
    }
)


def precision(text: str) -> Precision:
    """Return a precision by name, or from its items: ``params=bf16,grads=fp32,master=fp32,states=fp32``.

    Gradients and activations follow the parameters; where these are stored in 8 bits or less, or as integers,
    they are bf16 unless given.

    >>> precision("params=bf16,grads=fp32,master=fp32,states=fp32").master
    'fp32'
    """
    if text in PRECISIONS:
        return PRECISIONS[text]
    if "=" not in text:
        raise unknown("precision", text, PRECISIONS)
    given: dict[str, str] = {}
    for part in text.split(","):
        item, _, dtype = (piece.strip() for piece in part.partition("="))
        if item not in ITEMS:
            raise unknown("precision item", item, ITEMS)
        if item in given:
            raise UsageError(f"precision item {item} is given twice", expected="each item once", got=text)
        if dtype != "none" and dtype not in DTYPE_BITS:
            raise unknown("dtype", dtype, DTYPE_BITS)
        given[item] = dtype
    if "params" not in given:
        raise UsageError("a precision by items needs params", expected="params=DTYPE,...", got=text)
    params = given["params"]
    computed = params if params in COMPUTED else "bf16"
    master = given.get("master")
    return Precision(
        text,
        params,
        given.get("grads", computed),
        None if master in (None, "none") else master,
        given.get("states", "fp32"),
        given.get("activations", computed),
    )


@dataclass(frozen=True, slots=True)
class Policy:
    """What a run chooses.

    Attributes:
        precision: dtypes by category.
        optimizer: its name, or None.
        saves: which forward tensors are kept for backward: what ``backward`` reads, what eager ``torch``
            keeps, the ``paper`` account (masks one byte, no statistics), or ``lecture`` (each op's output).
        workload: train, forward, prefill or decode.
        input_grad: whether the gradients of floating inputs are formed too.
    """

    precision: Precision = field(default_factory=lambda: PRECISIONS["bf16"])
    optimizer: str | None = None
    saves: str = "backward"
    workload: str = "train"
    input_grad: bool = False

    def __post_init__(self) -> None:
        """Check the names."""
        from symacct.ops.optimizer import RULES

        if self.saves not in SAVES:
            raise unknown("saving policy", self.saves, SAVES)
        if self.workload not in WORKLOADS:
            raise unknown("workload", self.workload, WORKLOADS)
        if self.optimizer is not None and self.optimizer not in RULES:
            raise unknown("optimizer", self.optimizer, RULES)

    def dtype(self, dtype: str, role: str) -> str:
        """Return the number format of a tensor of this dtype and role."""
        p = self.precision
        if dtype == "float":
            return {"weight": p.params, "weight gradient": p.grads, "state": p.states}.get(
                role, p.activations
            )
        if dtype == "stat":
            return "fp32" if DTYPE_BITS[p.activations] < DTYPE_BITS["fp32"] else p.activations
        return {"mask": "bool", "index": "int64"}.get(dtype, dtype)

    def nbytes(self, dtype: str, role: str) -> Fraction:
        """Return bytes per element.

        >>> Policy().nbytes("float", "weight"), Policy().nbytes("stat", "activation")
        (Fraction(2, 1), Fraction(4, 1))
        """
        name = self.dtype(dtype, role)
        if name not in DTYPE_BITS:
            raise unknown("dtype", name, DTYPE_BITS)
        return Fraction(DTYPE_BITS[name], 8)

    def describe(self) -> str:
        """Return the choices in one line."""
        parts = [f"workload {self.workload}", f"precision {self.precision.describe()}"]
        parts += [f"optimizer {self.optimizer}"] if self.optimizer else []
        parts += [f"saves {self.saves}"] if self.workload == "train" else []
        parts += ["input gradients formed"] if self.input_grad else []
        return ", ".join(parts)
