"""What every op must say about itself.

An op is one frozen dataclass that holds, in one place, its shape rule, how an array module runs it, its
derivative, the elements it touches and its LaTeX. The methods are abstract, so a missing rule cannot be a
zero. What it counts is no further rule: arrays that know their sizes alone go through ``run`` and count.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, final

from sympy import Basic

from symacct.algebra.evaluate import evaluate, substitute
from symacct.algebra.symbols import as_expr
from symacct.counting import PLAIN, Counting
from symacct.errors import RuleError
from symacct.tensor import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sympy import Expr

    from symacct.tensor import Mask, Tensor

    Size = Callable[[Expr | int], int]
    Counts = Mapping[str, Expr]

PRIMITIVES = (
    "fma", "chain", "row_chain", "add", "sub", "mul", "div", "neg", "abs", "square", "compare", "max",
    "where", "exp", "log", "sqrt", "rsqrt", "tanh", "erf", "sigmoid", "sign",
    "cast", "gather", "mask", "scatter_add",
)  # fmt: skip
"""Every primitive an op may count; the convention prices each.

``fma`` is one multiply and one add. ``chain`` counts accumulation chains: a sum of n terms is n
``add`` (or ``fma``) and one ``chain``, and a strict account takes one addition off per chain.
``row_chain`` is a chain too, of an op that holds both contractions and reductions of rows (fused
attention): those of its softmax, which are no part of ``.matmul``.
Counts may also name a function of the elementwise table (``relu``, ``gelu``, ``silu_grad``), so that a
convention can price it as a whole, or by the primitives that its row runs.
"""


class Emit(Protocol):
    """How a vjp emits new nodes: it sees tensors by name and gets the names of the results back."""

    def __call__(self, op: Op, *ins: str, to: int | None = None) -> tuple[str, ...]:
        """Add a node and return the names of its outputs; ``to`` is the input slot this gradient is for."""
        ...

    def tensor(self, name: str) -> Tensor:
        """Return the tensor of that name."""
        ...


class NodeLike(Protocol):
    """The node a vjp is asked for: the names of its inputs and outputs."""

    @property
    def ins(self) -> tuple[str, ...]:
        """Names of the inputs."""
        ...

    @property
    def outs(self) -> tuple[str, ...]:
        """Names of the outputs: the value first, then the auxiliary ones."""
        ...


class Arrays(Protocol):
    """The array module that ops run on: torch, or plain numbers that count their own operations.

    Arrays also support ``+ - * / -x`` and comparison with arrays and Python numbers, with numpy's
    broadcasting by position (ops align axes first, with ``permute`` and ``reshape``).
    """

    def einsum(self, equation: str, *arrays: Any) -> Any: ...  # letters, e.g. "ab,bc->ac"
    def exp(self, a: Any) -> Any: ...
    def log(self, a: Any) -> Any: ...
    def sqrt(self, a: Any) -> Any: ...
    def rsqrt(self, a: Any) -> Any: ...
    def tanh(self, a: Any) -> Any: ...
    def erf(self, a: Any) -> Any: ...
    def sigmoid(self, a: Any) -> Any: ...
    def abs(self, a: Any) -> Any: ...
    def sign(self, a: Any) -> Any: ...
    def square(self, a: Any) -> Any: ...
    def maximum(self, a: Any, b: Any) -> Any: ...
    def where(self, condition: Any, a: Any, b: Any) -> Any: ...
    def mask(
        self, a: Any, allowed: Any, fill: float
    ) -> Any: ...  # a where allowed, else fill: counted as mask
    def sum(self, a: Any, axes: Sequence[int]) -> Any: ...  # the axes are dropped
    def max(self, a: Any, axes: Sequence[int]) -> Any: ...
    def argmax(self, a: Any, axes: Sequence[int]) -> Any: ...  # flat index over the axes, in order
    def block_max(self, a: Any, block: int) -> Any: ...  # of a vector: the largest of each element's block
    def cumsum(self, a: Any, axis: int, *, reverse: bool = False) -> Any: ...  # running sums
    def topk(self, a: Any, k: int, axis: int) -> tuple[Any, Any]: ...  # values, indices
    def permute(self, a: Any, order: Sequence[int]) -> Any: ...
    def reshape(self, a: Any, shape: Sequence[int]) -> Any: ...
    def expand(self, a: Any, shape: Sequence[int]) -> Any: ...  # size-1 axes are repeated
    def concatenate(self, arrays: Sequence[Any], axis: int) -> Any: ...
    def slice(self, a: Any, axis: int, start: int, stop: int) -> Any: ...
    def pad(self, a: Any, axis: int, before: int, after: int) -> Any: ...  # with zeros
    def take(self, table: Any, ids: Any) -> Any: ...  # rows of axis 0
    def rows(self, table: Any, ids: Any) -> Any: ...  # the same, read in place by a product: no gather
    def take_along(self, a: Any, ids: Any, axis: int) -> Any: ...
    def scatter_add(self, rows: Any, ids: Any, count: int) -> Any: ...  # [.., *rest] -> [count, *rest]
    def one_hot(self, ids: Any, count: int) -> Any: ...  # a boolean array with a last axis added
    def arange(self, count: int) -> Any: ...
    def full(self, shape: Sequence[int], value: float) -> Any: ...
    def bernoulli(self, shape: Sequence[int], keep: float) -> Any: ...  # boolean
    def cast(self, a: Any, dtype: str) -> Any: ...
    def shape(self, a: Any) -> tuple[int, ...]: ...


@dataclass(frozen=True, slots=True)
class Call:
    """One use of an op.

    Attributes:
        xp: the array module.
        arrays: the inputs.
        ins: what the inputs are: axes, symbolic sizes, dtypes.
        outs: what the outputs are to be.
        size: turns a symbolic size into the number of this run; counting leaves it a symbol.
    """

    xp: Arrays
    arrays: Sequence[Any]
    ins: Sequence[Tensor]
    outs: Sequence[Tensor]
    size: Size

    def at(self, axis: str, slot: int = 0) -> int:
        """Return where an axis stands in an input."""
        return self.ins[slot].axes.index(axis)

    def number(self, constant: Expr) -> Any:
        """Return the value of a constant, which may hold sizes."""
        sizes = {free.name: self.size(free) for free in constant.free_symbols}
        if any(isinstance(size, Basic) for size in sizes.values()):
            return constant
        return float(evaluate(constant, sizes))


@dataclass(frozen=True, slots=True)
class Example:
    """A small typed use of an op, run by every registry-wide test.

    ``ins`` have integer dims; ``wanted`` are the input slots whose gradient is tested.
    """

    op: Op
    ins: tuple[Tensor, ...]
    wanted: frozenset[int]


class Op(ABC):
    """One operation. Output 0 is the value; further outputs are auxiliary and get no cotangent."""

    __slots__ = ()

    @property
    @abstractmethod
    def kind(self) -> str:
        """What the ledger groups by: contraction, elementwise, reduction, softmax, norm, view, lookup, ..."""

    @abstractmethod
    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the outputs' axes, dims, dtypes and masks (unnamed tensors), or raise SizeError."""

    @abstractmethod
    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Emit nodes that turn the cotangent ``g`` of output 0 into those of the wanted inputs."""

    @abstractmethod
    def run(self, call: Call) -> tuple[Any, ...]:
        """Compute the outputs from primitives of ``call.xp``.

        Sizes come from ``call.size`` and may stay symbols: only primitives depend on what they are.
        """

    @abstractmethod
    def latex(self, *inputs: str) -> str:
        """Return the op applied to the inputs as LaTeX."""

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return small typed uses that every registry-wide test runs."""

    def needs(self, ins: Sequence[Tensor]) -> tuple[tuple[Expr, int], ...]:
        """Return the counts that the op takes, sizes of its results apart, each with the least it may be."""
        return ()

    @property
    def alias(self) -> bool:
        """Whether output 0 is a view of input 0: no bytes move and the storage is shared."""
        return False

    @property
    def moves(self) -> bool:
        """Whether elements are read or written at all: a view moves nothing."""
        return not self.alias

    @property
    def chosen(self) -> frozenset[int]:
        """Input slots of which the data chooses what is read, so that ``reads`` is an upper bound."""
        return frozenset()

    @property
    def whole(self) -> str | None:
        """The name of its work as a whole, counted once for each element; None: the primitives of ``run``."""
        return None

    def again(self, call: Call) -> Any:
        """Run the part of ``run`` that repeats forward work (part of hardware, not of model FLOPs)."""
        return ()

    @final
    def counts(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> Counts:
        """Return counts of primitives (or of a function that is priced as a whole), never FLOPs.

        Raises:
            RuleError: ``run`` does what has no count.
        """
        if self.whole is not None:
            return {self.whole: outs[0].numel}
        return _counted(self, _nameless(ins), _nameless(outs), again=False)

    @final
    def recomputed(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> Counts:
        """Return the part of the counts that repeats forward work."""
        return _counted(self, _nameless(ins), _nameless(outs), again=True)

    def words(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[tuple[str, ...], ...]:
        """Return the op's own names of the axes of its inputs and outputs: equal names are one axis."""
        return tuple(t.axes for t in (*ins, *outs))

    def mask_of(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> Mask | None:
        """Return the structural mask, over these names, that leaves pairs out of the op's work."""
        for tensor, words in zip((*ins, *outs), self.words(ins, outs), strict=True):
            if tensor.mask is not None:
                return tensor.mask.renamed(dict(zip(tensor.axes, words, strict=True)))
        return None

    def contracted(self) -> frozenset[str]:
        """Return the primitives that belong to ``.matmul`` totals: all of them for a contraction."""
        return frozenset(PRIMITIVES) if self.kind == "contraction" else frozenset()

    def reads(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[Expr, ...]:
        """Return the elements touched of each input; all of them unless an op says otherwise."""
        return tuple(t.numel for t in ins)

    def writes(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[Expr, ...]:
        """Return the elements written of each output; all of them unless an op says otherwise."""
        return tuple(t.numel for t in outs)

    def issues(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[Expr, ...]:
        """Return the reads of each input slot when nothing is reused: one for each point of the op."""
        return self.reads(ins, outs)

    def native(self, torch: Any, call: Call) -> tuple[Any, ...]:
        """Run as a user of torch would write it (one framework call where there is one)."""
        return self.run(call)

    def torch_keeps(
        self, ins: Sequence[Tensor], outs: Sequence[Tensor], wanted: frozenset[int]
    ) -> Kept | None:
        """Return what eager torch keeps for backward if that differs from what backward reads."""
        return None

    def substitute(self, sizes: Mapping[str, Expr]) -> Op:
        """Return the op with every symbolic field replaced by name."""
        changed = {}
        for field in fields(self):  # type: ignore[arg-type]
            old = getattr(self, field.name)
            new = _substituted(old, sizes)
            if new is not old:
                changed[field.name] = new
        return replace(self, **changed) if changed else self  # type: ignore[type-var]


class View(Op):
    """An op whose result shares the storage of its input: no element moves and nothing is computed."""

    __slots__ = ()

    kind: ClassVar[str] = "view"

    @property
    def alias(self) -> bool:
        """The storage is shared with the input."""
        return True


@dataclass(frozen=True, slots=True)
class Kept:
    """What eager torch keeps of one node: slots of inputs and outputs, and copies with a reason."""

    ins: frozenset[int] = frozenset()
    outs: frozenset[int] = frozenset()
    extra: tuple[tuple[str, Expr, str], ...] = ()
    """(reason, elements, dtype) for copies that torch makes and the graph has no tensor for."""


def _nameless(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple(value(t.axes, t.dims, t.dtype, t.mask) for t in tensors)


@lru_cache(maxsize=1 << 12)
def _counted(op: Op, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], *, again: bool) -> Counts:
    """Return what is counted when arrays that know their sizes alone are run."""
    contracted = op.contracted()
    xp = Counting(products=bool(contracted), rows="chain" in contracted and "row_chain" not in contracted)
    arrays = [xp.array(t.dims, plain=t.dtype in PLAIN) for t in ins]
    try:
        (op.again if again else op.run)(Call(xp, arrays, ins, outs, as_expr))
    except TypeError as error:
        raise RuleError(
            f"{type(op).__name__} cannot be counted: its run needs to know a size",
            expected="sizes that are symbols, seen by primitives alone",
            got=str(error),
            fix="leave loops and conditions over sizes to a primitive of symacct.op.Arrays",
        ) from error
    return xp.counts()


def _substituted(value: Any, sizes: Mapping[str, Expr]) -> Any:
    if isinstance(value, Basic):
        return substitute(value, sizes)
    if hasattr(value, "substitute"):
        return value.substitute(sizes)
    if isinstance(value, tuple):
        new = tuple(_substituted(item, sizes) for item in value)
        return value if all(a is b for a, b in zip(new, value, strict=True)) else new
    return value
