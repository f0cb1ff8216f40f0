"""Policies: what a run chooses. Precision, optimizer, what is saved, which workload."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from symacct.errors import FormulaError, SizeError, UnitError, UsageError, unknown
from symacct.formats import BITS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from sympy import Expr

    from symacct.adapters import Lora

DTYPE_BITS: Mapping[str, Fraction] = BITS
"""Bits of storage of an element: in blocks with its share of the scales, tf32 in 32, a boolean in a byte."""

WORKLOADS = ("train", "forward", "prefill", "decode")
SAVES = ("backward", "torch", "paper", "lecture")
GRADS = ("fresh", "kept")
UPDATES = ("separate", "fused")
LOSSES = ("sum", "none")
RECOMPUTES = ("needed", "full")
CHECKPOINTS: Mapping[str, str] = MappingProxyType(
    {
        "none": "nothing is recomputed",
        "every:K": "the layers of a stack in segments of K (an integer or a new symbol)",
        "sqrt": "segments of the square root of the number of layers",
        "binomial:SLOTS": "as few iterations of each outermost repeat as SLOTS states kept at a time allow",
        "optimal:BYTES": "segments that run least again while what is saved fits into BYTES, such as 20GB",
        "selective:REGION": "the ops of a region (core, attention, ffn), or named ops; several with +",
        "store-nothing": "no layer is stored: each runs all before it again",
    }
)
"""Which parts of a graph are run again in backward; ``:needed`` or ``:full`` says how far."""
MOST_DIGITS = 9
MOST_SLOTS = 10_000
ITEMS = ("params", "grads", "master", "states", "activations")
NO_NUMBERS = ("bool", "int64", "int32")
COMPUTED = ("fp64", "fp32", "bf16", "fp16")
BYTE = 8
AMOUNT = re.compile(r"(?P<number>[0-9]{1,15}(\.[0-9]{1,9})?) *(?P<unit>[A-Za-z]{0,9})")
SCALES = (
    *(("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)),
    *(("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)),
)
PACKED = "packed: blocks and bytes not padded"
"""What is assumed of formats of blocks, and of less than a byte: elements times their bits, and no more."""
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
        """Return the name, and what a reader should know: for one by items, every item.

        >>> precision("params=mxfp4").describe().partition(" (")[2]
        'packed: blocks and bytes not padded)'
        """
        if self.name not in PRECISIONS:
            shown = ", ".join(f"{item} {getattr(self, item) or 'none'}" for item in ITEMS)
            kept = (getattr(self, item) for item in ITEMS)
            packed = any(DTYPE_BITS[one] % BYTE for one in kept if one is not None)
            return f"{shown} ({PACKED})" if packed else shown
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
        if dtype in NO_NUMBERS:
            raise UsageError(
                f"{item} cannot be {dtype}: it holds no numbers that are trained",
                expected="a number format such as bf16, fp8_e4m3, int8, mxfp4",
                got=f"{item}={dtype}",
            )
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
class Checkpoint:
    """Which parts of a graph keep their inputs alone and are run again in backward.

    Attributes:
        kind: none, every, sqrt, binomial, optimal, selective or store-nothing.
        every: how many layers make a segment.
        regions: names of regions or ops, for selective.
        recompute: ``needed`` ends at the last tensor that backward reads, ``full`` runs all of it.
        slots: how many states between iterations are kept at a time, for binomial.
        nbytes: what is saved takes at most so much, for optimal.
        segments: the units of the first and after the last op of each, for optimal, once they are found.
    """

    kind: str = "none"
    every: Expr | None = None
    regions: tuple[str, ...] = ()
    recompute: str = "needed"
    slots: int | None = None
    nbytes: int | None = None
    segments: tuple[tuple[int, int], ...] | None = None

    def describe(self) -> str:
        """Return the text that is read.

        >>> checkpoint("every:k:full").describe()
        'every:k:full'
        """
        details = [str(self.every)] if self.every is not None else []
        details += ["+".join(self.regions)] if self.regions else []
        details += [str(self.slots)] if self.slots is not None else []
        details += [_bytes_text(self.nbytes)] if self.nbytes is not None else []
        details += [self.recompute] if self.recompute != RECOMPUTES[0] else []
        return ":".join([self.kind, *details])


def checkpoint(text: str) -> Checkpoint:
    """Return a checkpoint policy from its text: ``none``, ``every:K[:needed|:full]``, ``optimal:20GB``, ...

    Raises:
        UnknownNameError: no such policy.
        UsageError: its details cannot be read.

    >>> checkpoint("every:4").every, checkpoint("selective:core+ffn").regions
    (4, ('core', 'ffn'))
    >>> checkpoint("binomial:3").slots, checkpoint("optimal:2GB").nbytes
    (3, 2000000000)
    """
    kind, *details = (part.strip() for part in text.strip().split(":"))
    kinds = [name.partition(":")[0] for name in CHECKPOINTS]
    if kind not in kinds:
        raise unknown("checkpoint policy", kind, kinds)
    recompute = details.pop() if details and details[-1] in RECOMPUTES else RECOMPUTES[0]
    wants = kind in ("every", "selective", "binomial", "optimal")
    if len(details) != (1 if wants else 0) or (wants and not details[0]):
        form = next(name for name in CHECKPOINTS if name.partition(":")[0] == kind)
        raise UsageError(
            f"checkpoint policy {text!r} cannot be read", expected=f"{form}, then :needed or :full", got=text
        )
    if kind == "every":
        return Checkpoint(kind, whole_or_symbol(details[0], "a segment"), (), recompute)
    if kind == "binomial":
        return Checkpoint(kind, recompute=recompute, slots=_slots(details[0]))
    if kind == "optimal":
        return Checkpoint(kind, recompute=recompute, nbytes=_read_bytes(details[0]))
    regions = tuple(part.strip() for part in details[0].split("+")) if wants else ()
    if not all(regions):
        raise UsageError("a region is empty", expected="NAME or NAME+NAME", got=text)
    return Checkpoint(kind, None, regions, recompute)


def _slots(text: str) -> int:
    """Return how many states are kept.

    Raises:
        UsageError: it is no integer of at least 1, or a very large one.
    """
    if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS and 0 < int(text) <= MOST_SLOTS:
        return int(text)
    raise UsageError(
        f"the number of states that are kept cannot be {text[:40]!r}",
        expected=f"an integer from 1 to {MOST_SLOTS}: the state that a repeat starts from is one of them",
        got=text[:40],
    )


def _read_bytes(text: str) -> int:
    """Return a number of bytes: ``4096``, ``20GB``, ``1.5 GiB``.

    Raises:
        UsageError: it is none.
    """
    from fractions import Fraction

    from symacct.units import Unit, read_unit

    found = AMOUNT.fullmatch(text)
    try:
        scale, unit = read_unit((found["unit"] if found else "") or "byte")
    except UnitError:
        found = None
    if found is not None and unit == Unit("byte"):
        amount = Fraction(found["number"]) * scale
        if amount.denominator == 1 and amount > 0:
            return int(amount)
    raise UsageError(
        f"{text[:40]!r} is no amount of memory",
        expected="a whole number of bytes, with a unit or without: 20GB, 512MiB, 4096",
        got=text[:40],
    )


def _bytes_text(nbytes: int) -> str:
    """Return bytes in the largest unit that leaves an integer.

    >>> [_bytes_text(one) for one in (20 * 10**9, 512 * 2**20, 4096, 4100)]
    ['20GB', '512MiB', '4KiB', '4100']
    """
    for unit, scale in SCALES:
        if nbytes % scale == 0:
            return f"{nbytes // scale}{unit}"
    return str(nbytes)


def whole_or_symbol(text: str, what: str) -> Expr:
    """Return an integer of at least 1, or a symbol.

    Raises:
        UsageError: it is neither.
    """
    from symacct.algebra.symbols import as_expr, check_name, symbol

    if text.isascii() and text.isdigit() and 0 < len(text) <= MOST_DIGITS and int(text) > 0:
        return as_expr(int(text))
    try:
        return symbol(check_name(text))
    except FormulaError as error:
        raise UsageError(
            f"{what} cannot be {text[:40]!r}",
            expected="an integer of at least 1, or a new symbol",
            got=text[:40],
        ) from error


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
        checkpoint: what is run again in backward instead of being kept.
        grads: ``fresh`` gradients are made by each step, ``kept`` ones live on from the step before.
        update: the optimizer runs after backward (``separate``), or on each gradient as it comes (``fused``).
        hold_output: whether the caller holds the output until the step ends.
        accumulate: how many micro-batches a step adds up, an integer or a symbol.
        lora: low-rank adapters that are trained in the place of the weights.
        loss: what backward starts from where the graph has no scalar loss: the ``sum`` of its outputs, or,
            with ``none``, cotangents that are given and live elsewhere. Memory over a step depends on it.
    """

    precision: Precision = field(default_factory=lambda: PRECISIONS["bf16"])
    optimizer: str | None = None
    saves: str = "backward"
    workload: str = "train"
    input_grad: bool = False
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    grads: str = "fresh"
    update: str = "separate"
    hold_output: bool = False
    accumulate: Expr | int = 1
    lora: Lora | None = None
    loss: str = "sum"

    def __post_init__(self) -> None:
        """Check the names."""
        from symacct.ops.optimizer import RULES

        if self.saves not in SAVES:
            raise unknown("saving policy", self.saves, SAVES)
        if self.workload not in WORKLOADS:
            raise unknown("workload", self.workload, WORKLOADS)
        if self.optimizer is not None and self.optimizer not in RULES:
            raise unknown("optimizer", self.optimizer, RULES)
        if self.grads not in GRADS:
            raise unknown("choice of gradients", self.grads, GRADS)
        if self.loss not in LOSSES:
            raise unknown("loss", self.loss, LOSSES)
        if self.update not in UPDATES:
            raise unknown("choice of update", self.update, UPDATES)
        if self.update == "fused" and (self.accumulate != 1 or self.grads == "kept"):
            raise UsageError(
                "an update fused into backward drops each gradient at once",
                expected="one micro-batch and fresh gradients",
                got=f"accumulate {self.accumulate}, gradients {self.grads}",
                fix="use the update separate",
            )

    def check(self) -> None:
        """Refuse choices that would change nothing, since nothing is trained.

        Raises:
            UsageError: there is one.
        """
        plain = Policy()
        for name in ("checkpoint", "grads", "update", "hold_output", "accumulate", "loss"):
            if self.workload != "train" and getattr(self, name) != getattr(plain, name):
                raise UsageError(
                    f"the choice {name.replace('_', '-')} has no meaning for the workload {self.workload}",
                    expected="the workload train, or no such choice",
                    got=self.workload,
                )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the symbols in the policy: the length of a segment, the number of micro-batches."""
        found = (self.checkpoint.every, self.accumulate)
        return tuple(dict.fromkeys(s.name for part in found for s in getattr(part, "free_symbols", ())))

    def bind(self, sizes: Mapping[str, int]) -> Policy:
        """Return the policy with its symbols replaced.

        Raises:
            SizeError: one is no integer of at least 1.
        """
        from symacct.algebra.evaluate import substitute
        from symacct.algebra.symbols import as_expr

        known = {name: as_expr(size) for name, size in sizes.items() if name in self.names}
        for name, size in known.items():
            if size.is_number and not (size.is_Integer and size >= 1):
                what, expected = f"{name} is out of range", "an integer of at least 1"
                raise SizeError(what, where=self.describe(), expected=expected, got=str(size)[:60])
        if not known:
            return self
        every = self.checkpoint.every
        checkpoint = replace(self.checkpoint, every=None if every is None else substitute(every, known))
        accumulate = substitute(as_expr(self.accumulate), known)
        return replace(self, checkpoint=checkpoint, accumulate=accumulate)

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
        return DTYPE_BITS[name] / 8

    def describe(self) -> str:
        """Return the choices in one line."""
        parts = [f"workload {self.workload}", f"precision {self.precision.describe()}"]
        parts += [f"optimizer {self.optimizer}"] if self.optimizer else []
        parts += [f"saves {self.saves}"] if self.workload == "train" else []
        parts += ["input gradients formed"] if self.input_grad else []
        parts += [f"checkpoint {self.checkpoint.describe()}"] if self.checkpoint.kind != "none" else []
        parts += [f"gradients {self.grads}"] if self.grads != GRADS[0] else []
        parts += [f"update {self.update}"] if self.update != UPDATES[0] else []
        parts += ["output held"] if self.hold_output else []
        parts += [f"{self.accumulate} micro-batches"] if self.accumulate != 1 else []
        parts += [self.lora.describe()] if self.lora is not None else []
        parts += ["cotangents given"] if self.loss != LOSSES[0] else []
        return ", ".join(parts)
