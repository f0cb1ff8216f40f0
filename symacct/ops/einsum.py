"""Contractions over named axes, in einsum notation, two operands at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from symacct.algebra.normal import product, same
from symacct.errors import GraphError, SizeError
from symacct.op import Example, Op
from symacct.ops.layout import require_floating
from symacct.tensor import Mask, Tensor, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

    from symacct.op import Call, Emit, NodeLike

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
OPERANDS = 2


@final
@dataclass(frozen=True, slots=True)
class Einsum(Op):
    """Contraction of two tensors over named axes.

    Letters (words) are local and positional; the result's axes are named by them.
    Counts: one fma for each point of the index space when an axis is summed, else one mul.
    The gradients of a contraction are contractions too, also where no axis is left to sum.

    Attributes:
        left: words of the first operand.
        right: words of the second operand.
        out: words of the result; every axis of an operand stands in the other one or here.
        contraction: whether the forward pair sums an axis.
        mask: a structural mask that the result gets (its axes named by the words of ``out``).
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    out: tuple[str, ...]
    contraction: bool
    mask: Mask | None = None

    def __post_init__(self) -> None:
        """Refuse words that would be stretched, dropped or repeated.

        Raises:
            GraphError: a word stands twice in one part, or in one of the three parts alone.
        """
        parts = (self.left, self.right, self.out)
        if any(len(set(part)) != len(part) for part in parts):
            raise GraphError(
                f"einsum {self.equation!r} has a word twice in one part",
                expected="each word once in an operand and in the result",
                got=self.equation,
            )
        lonely = [word for part in parts for word in part if sum(word in each for each in parts) == 1]
        if lonely:
            raise GraphError(
                f"the word {lonely[0]!r} of einsum {self.equation!r} stands alone",
                expected="each word of an operand in the other one or in the result, and no others there",
                got=repr(lonely[0]),
                fix="sum an axis that only one operand has before the product",
            )

    @property
    def sums(self) -> bool:
        """Whether an axis of the operands is not in the result."""
        return not {*self.left, *self.right} <= {*self.out}

    @property
    def kind(self) -> str:
        """A contraction, or an elementwise product."""
        return "contraction" if self.contraction else "elementwise"

    @property
    def equation(self) -> str:
        """The equation in words."""
        return f"{' '.join(self.left)}, {' '.join(self.right)} -> {' '.join(self.out)}".rstrip()

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the result.

        Raises:
            SizeError: one word meets two sizes.
            GraphError: an operand holds indices or a mask, or has another number of axes than words.
        """
        for tensor in ins:
            require_floating("einsum", tensor)
        sizes = bind_words(self.equation, (self.left, self.right), ins)
        dims = tuple(sizes[word] for word in self.out)
        return (value(self.out, dims, ins[0].dtype, self.mask or self._inherited(ins)),)

    def _inherited(self, ins: Sequence[Tensor]) -> Mask | None:
        """Return the mask of an operand, renamed to the words of the equation."""
        for words, tensor in zip((self.left, self.right), ins, strict=True):
            if tensor.mask is not None:
                return tensor.mask.renamed(dict(zip(tensor.axes, words, strict=True)))
        return None

    def points(self, ins: Sequence[Tensor]) -> Expr:
        """Return the size of the index space."""
        sizes = dict(zip(self.left, ins[0].dims, strict=True)) | dict(
            zip(self.right, ins[1].dims, strict=True)
        )
        return product(tuple(sizes.values()))

    def words(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[tuple[str, ...], ...]:
        """Return the words of the equation."""
        return (self.left, self.right, self.out)

    def issues(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[Expr, ...]:
        """Return one read of each operand per point of the index space."""
        points = self.points(ins)
        return (points, points)

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Contract the cotangent with the other operand."""
        words = (self.left, self.right)
        grads = {}
        for slot in sorted(wanted):
            other, mine = words[1 - slot], words[slot]
            mask = emit.tensor(node.ins[slot]).mask
            if mask is not None:
                mask = mask.renamed(dict(zip(emit.tensor(node.ins[slot]).axes, mine, strict=True)))
            pair = (self.out, other) if slot == 0 else (other, self.out)
            names = (g, node.ins[1]) if slot == 0 else (node.ins[0], g)
            op = Einsum(*pair, mine, self.contraction, mask)
            grads[slot] = emit(op, *names, to=slot)[0]
        return grads

    def run(self, call: Call) -> tuple[Any, ...]:
        """Call einsum with single letters."""
        words = dict.fromkeys((*self.left, *self.right))
        if len(words) > len(LETTERS):
            raise GraphError(f"einsum {self.equation!r} has more than {len(LETTERS)} axes")
        letter = dict(zip(words, LETTERS, strict=False))
        left, right, out = ("".join(letter[w] for w in part) for part in (self.left, self.right, self.out))
        return (call.xp.einsum(f"{left},{right}->{out}", *call.arrays),)

    def latex(self, *inputs: str) -> str:
        """Return the equation over its operands."""
        words = r"\,".join(self.left) + "," + r"\,".join(self.right) + r"\to " + r"\,".join(self.out)
        return rf"\operatorname{{einsum}}_{{{words}}}({', '.join(inputs)})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return a product, a batched one, a dot product, an elementwise and an outer one."""
        both = frozenset({0, 1})
        return tuple(
            Example(_einsum(*words), _tensors(words), both)
            for words in (
                ("B D", "D K", "B K"),
                ("B H S K", "B H T K", "B H S T"),
                ("D", "D", ""),
                ("B D", "D", "B"),
                ("B D", "D", "B D"),
                ("B", "D", "D B"),
            )
        )


def bind_words(equation: str, words: Sequence[tuple[str, ...]], ins: Sequence[Tensor]) -> dict[str, Expr]:
    """Return the size of each word; raise with the sizes bound so far where two differ.

    Raises:
        GraphError: a tensor has another number of axes than its part of the equation, or one appears twice.
        SizeError: one word meets two sizes; size 1 is not stretched.
    """
    sizes: dict[str, tuple[Expr, int, Tensor]] = {}
    for part, tensor in zip(words, ins, strict=True):
        if len(part) != len(tensor.axes):
            raise GraphError(
                f"{tensor.describe()} has {len(tensor.axes)} axes, its part of {equation!r} has {len(part)}",
                expected=f"{len(tensor.axes)} axes: {' '.join(tensor.axes)}",
                got=f"{len(part)} axes: {' '.join(part)}",
                fix="write one word for each axis of the tensor",
            )
        repeated = [word for word in part if part.count(word) > 1]
        if repeated:
            raise GraphError(
                f"axis {repeated[0]} appears twice in one operand of {equation!r}",
                expected="each axis once in a tensor (diagonals and traces are not supported)",
                got=" ".join(part),
                fix="give the second axis a name of its own",
            )
        for position, (word, dim) in enumerate(zip(part, tensor.dims, strict=True)):
            if word in sizes and not same(sizes[word][0], dim):
                bound = ", ".join(f"{w}={s}" for w, (s, _, _) in sizes.items())
                first, at, other = sizes[word]
                raise SizeError(
                    f"axis {word} of {equation!r} has two sizes",
                    expected=f"{word} = {first} (bound by axis {at} of {other.describe()})",
                    got=f"{word} = {dim} (axis {position + 1} of {tensor.describe()})",
                    fix=f"sizes bound so far: {bound}; name the axes apart, or make the sizes equal",
                )
            sizes.setdefault(word, (dim, position + 1, tensor))
    return {word: dim for word, (dim, _, _) in sizes.items()}


def _einsum(left: str, right: str, out: str) -> Einsum:
    a, b, c = (tuple(part.split()) for part in (left, right, out))
    return Einsum(a, b, c, contraction=bool((set(a) | set(b)) - set(c)))


def _tensors(words: tuple[str, ...]) -> tuple[Tensor, ...]:
    from symacct.algebra.symbols import as_expr

    known = {"B": 2, "D": 3, "K": 4, "H": 2, "S": 3, "T": 5}
    return tuple(
        value(tuple(part.split()), tuple(as_expr(known[w]) for w in part.split()))
        for part in words[:OPERANDS]
    )
