"""Elementwise functions over operands whose axes align by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from sympy import sqrt

from symacct.algebra.symbols import as_expr, symbol
from symacct.errors import GraphError, RuleError, UsageError, unknown
from symacct.op import Example, Op
from symacct.ops.broadcast import aligned, joined
from symacct.ops.elementwise_table import ROWS, TABLE, Row
from symacct.ops.reduce import unbroadcast
from symacct.printers import latex
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

    from symacct.op import Call, Emit, NodeLike


@final
@dataclass(frozen=True, slots=True)
class Elementwise(Op):
    """A function of the table, applied to each element; the operands' axes align by name.

    ``Elementwise("add")(x, b)``, ``Elementwise("scale", 1 / sqrt(K))(scores)``
    The result has the axes of the first operand, then the new ones of the later operands.
    Counts: the function once for each element of the result, priced as a whole or by what its row runs.

    >>> from symacct.algebra.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> x, b = Tensor("x", ("B", "D"), (B, D)), Tensor("b", ("D",), (D,))
    >>> Elementwise("add").infer(x, b)[0].axes, Elementwise("gelu").counts((x,), (x,))
    (('B', 'D'), {'gelu': B*D})

    Attributes:
        function: a name of the table.
        constant: what ``scale`` multiplies by and ``shift`` adds; it may hold sizes.
    """

    function: str
    constant: Expr | None = None

    def __post_init__(self) -> None:
        """Refuse a name that is not in the table, and a constant where none belongs."""
        if self.function not in ROWS:
            raise unknown("elementwise function", self.function, TABLE)
        if ROWS[self.function].constant != (self.constant is not None):
            takes = "a constant" if ROWS[self.function].constant else "no constant"
            raise UsageError(f"{self.function} takes {takes}", expected=takes, got=str(self.constant))

    @property
    def row(self) -> Row:
        """The row of the table."""
        return ROWS[self.function]

    kind: ClassVar[str] = "elementwise"

    @property
    def whole(self) -> str:
        """The function."""
        return self.function

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the result; raise SizeError where one name has two sizes."""
        if len(ins) != self.row.arity:
            raise GraphError(
                f"{self.function} takes {self.row.arity} operands",
                expected=str(self.row.arity),
                got=f"{len(ins)}: {', '.join(t.describe() for t in ins)}",
            )
        axes, dims = joined(self.function, ins)
        dtype = self._dtype(ins)
        mask = next((t.mask for t in ins if t.mask is not None), None)
        return (value(axes, dims, self.row.output or dtype, mask),)

    def _dtype(self, ins: Sequence[Tensor]) -> str:
        """Return the dtype of the operands that are values; statistics take that of the others."""
        dtypes = []
        for slot, tensor in enumerate(ins):
            wants_mask = slot in self.row.masks
            if wants_mask != (tensor.dtype == "mask") and not (
                tensor.dtype == "mask" and self.function == "mul"
            ):
                raise _refused(self.function, "a mask" if wants_mask else "a value", tensor)
            if tensor.floating or (tensor.dtype == "index" and self.function == "greater"):
                dtypes.append(tensor.dtype)
            elif tensor.dtype != "mask":
                raise _refused(self.function, "a value", tensor)
        found = list(dict.fromkeys(d for d in dtypes if d != "stat")) or dtypes[:1]
        if len(found) != 1:
            raise GraphError(
                f"the operands of {self.function} do not have one dtype",
                expected=found[0] if found else "at least one value",
                got=", ".join(f"{t.describe()} {t.dtype}" for t in ins),
                fix="cast one of them",
            )
        return found[0]

    def issues(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[Expr, ...]:
        """Return one read of each operand for each element of the result."""
        return (outs[0].numel,) * len(ins)

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Apply each operand's derivative, then sum over the axes the operand lacks."""
        grads = {}
        for slot in sorted(wanted):
            tensor = emit.tensor(node.ins[slot])
            full = self._gradient(emit, node, g, slot)
            grads[slot] = unbroadcast(emit, full, tensor, slot)
        return grads

    def _gradient(self, emit: Emit, node: NodeLike, g: str, slot: int) -> str:
        rule = self.row.grads[slot] if self.row.grads else None
        tensor = emit.tensor(node.ins[slot])
        if rule is None or not tensor.floating:
            raise RuleError(
                f"{self.function} has no derivative in operand {slot + 1}",
                expected="a function of the table with a derivative, of an operand that is a value",
                got=f"{tensor.describe()} {tensor.dtype}",
                fix="mark as trainable only what the loss is differentiable in, once",
            )
        if rule == "g":
            return g
        function, *operands = rule.split()
        names = {"g": g, "y": node.outs[0], **dict(zip("abc", node.ins, strict=False))}
        op = Elementwise(function, self.constant if ROWS[function].constant else None)
        return emit(op, *(names[operand] for operand in operands), to=slot)[0]

    def _operands(self, call: Call) -> list[Any]:
        axes = call.outs[0].axes
        operands = [aligned(call.xp, a, t.axes, axes) for a, t in zip(call.arrays, call.ins, strict=True)]
        return operands if self.constant is None else [*operands, call.number(self.constant)]

    def run(self, call: Call) -> tuple[Any, ...]:
        """Apply the row to the aligned operands."""
        return (self.row.run(call.xp, *self._operands(call)),)

    def native(self, torch: Any, call: Call) -> tuple[Any, ...]:
        """Call torch's own function where there is one."""
        if self.row.native is None:
            return self.run(call)
        return (self.row.native(torch, *self._operands(call)),)

    def latex(self, *inputs: str) -> str:
        """Return the row's notation of the operands."""
        grouped = dict(zip("abc", map(_grouped, inputs), strict=False))
        constant = "" if self.constant is None else _grouped(latex(self.constant))
        return self.row.latex.format(*inputs, k=constant, **grouped)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return every row on operands of one shape, and the ways of aligning on a few."""
        plain = (_example(name, *["B D"] * row.arity) for name, row in ROWS.items())
        spread = (("add", "B S D", "D"), ("sub", "D", "B D"), ("mul", "B D", "B"), ("div", "B", "D B"))
        more = (
            ("maximum", "D", "B D"),
            ("where", "S", "B S D", "B"),
            ("greater", "B", "D"),
            ("add", "B D", ""),
        )
        masked = Example(cls("mul"), (_tensor("B D"), _tensor("D", "mask")), frozenset({0}))
        return (*plain, *(_example(*words) for words in (*spread, *more)), masked)


def _grouped(text: str) -> str:
    return rf"\left({text}\right)" if " + " in text or " - " in text or text.startswith("-") else text


def _refused(function: str, wanted: str, tensor: Tensor) -> GraphError:
    return GraphError(
        f"{function} does not take {tensor.describe()}",
        expected=wanted,
        got=tensor.dtype,
        fix="make a mask with greater" if wanted == "a mask" else "cast it, or look it up in a table",
    )


def _tensor(words: str, dtype: str = "float") -> Tensor:
    sizes = {"B": 2, "S": 3, "D": 4}
    return value(tuple(words.split()), tuple(as_expr(sizes[word]) for word in words.split()), dtype)


def _example(function: str, *words: str) -> Example:
    row = ROWS[function]
    constant = 1 / sqrt(symbol("D")) if row.constant else None
    ins = tuple(_tensor(one, "mask" if slot in row.masks else "float") for slot, one in enumerate(words))
    wanted = frozenset(slot for slot, rule in enumerate(row.grads) if rule is not None)
    return Example(Elementwise(function, constant), ins, wanted)
