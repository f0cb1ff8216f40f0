"""The builder: writes a graph the way a paper writes a model. Only it is mutable, until the graph is built."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sympy import Expr

from symacct.algebra.condition import Condition, merge
from symacct.algebra.normal import normal, same
from symacct.algebra.symbols import as_expr, check_name, index_symbol, symbol
from symacct.errors import GraphError, SizeError, SymacctError, unknown
from symacct.graph import Carry, Graph, Node, Repeat, Step_, check_range
from symacct.layers import Layers
from symacct.syntax import read_formula
from symacct.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from symacct.op import Op

    Dim = str | int | Expr


@dataclass(frozen=True, slots=True, eq=False)
class Var:
    """A tensor in a graph that is being built; ``+ - * /`` and unary ``-`` are elementwise ops."""

    builder: Builder
    name: str

    @property
    def tensor(self) -> Tensor:
        """The tensor behind the name."""
        return self.builder.tensors[self.name]

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the axes."""
        return self.tensor.axes

    @property
    def dims(self) -> tuple[Expr, ...]:
        """Symbolic sizes of the axes."""
        return self.tensor.dims

    def __add__(self, other: Var) -> Var:
        return self.builder.elementwise("add", self, other)

    def __sub__(self, other: Var) -> Var:
        return self.builder.elementwise("sub", self, other)

    def __mul__(self, other: Var) -> Var:
        return self.builder.elementwise("mul", self, other)

    def __truediv__(self, other: Var) -> Var:
        return self.builder.elementwise("div", self, other)

    def __neg__(self) -> Var:
        return self.builder.elementwise("neg", self)

    def __repr__(self) -> str:
        return self.tensor.describe()


class Builder(Layers):
    """Collects tensors and nodes; every mismatch is an error that lists the sizes bound so far.

    >>> b = Builder("linear", {"B": "rows", "D": "inputs", "K": "outputs"})
    >>> x = b.input("x", "B D")
    >>> w = b.weight("w", "D K")
    >>> b.build(b.einsum("B D, D K -> B K", x, w)).outputs
    ('einsum',)
    """

    def __init__(
        self, name: str, sizes: Mapping[str, str] | str, *, tokens: Dim | None = None, doc: str = ""
    ) -> None:
        """Start a graph with its declared sizes: a mapping of names to meanings, or the names alone."""
        if isinstance(sizes, str):
            sizes = dict.fromkeys(sizes.split(), "")
        self.name = name
        self.sizes = {check_name(size): meaning for size, meaning in sizes.items()}
        self.doc = doc
        self.tensors: dict[str, Tensor] = {}
        self.indices: dict[str, Expr] = {}
        self._inputs: list[str] = []
        self._trainable: set[str] = set()
        self._labels: set[str] = set()
        self._scopes: list[list[Step_]] = [[]]
        self._path: tuple[str, ...] = ()
        self._prefix = ""
        self.conditions: list[Condition] = []
        self.tokens = None if tokens is None else self.size(tokens)

    # ---- sizes ----

    def size(self, dim: Dim) -> Expr:
        """Return a size: an integer, an expression, or a formula over the declared sizes.

        >>> Builder("g", "H K").size("H*K")
        H*K
        """
        if isinstance(dim, str):
            expr = normal(read_formula(dim, {*self.sizes, *self.indices}))
            return expr.xreplace({symbol(name): index for name, index in self.indices.items()})
        expr = normal(as_expr(dim))
        if expr.is_number and (not expr.is_integer or expr < 1):
            raise SizeError(
                f"a size must be an integer of at least 1, got {expr}",
                where=f"graph {self.name}",
                expected="an integer >= 1",
                got=str(expr),
            )
        known = {*self.sizes, *map(str, self.indices.values())}
        for free in sorted(str(s) for s in expr.free_symbols):
            if free not in known:
                raise unknown("size", free, self.sizes, where=f"graph {self.name}")
        return expr

    def _shape(self, axes: str, sizes: Mapping[str, Dim], name: str) -> tuple[tuple[str, ...], tuple[Expr, ...]]:
        names = tuple(axes.split())
        for axis in names:
            check_name(axis)
            if names.count(axis) > 1:
                raise GraphError(
                    f"axis {axis} appears twice in {name}[{axes}]",
                    where=f"graph {self.name}",
                    expected="each axis once in a tensor",
                    got=axes,
                    fix=f'give the second one its own name and this size: "... {axis}2", {axis}2="{axis}"',
                )
        for extra in sizes:
            if extra not in names:
                raise unknown("axis", extra, names, where=f"graph {self.name}, {name}[{axes}]")
        return names, tuple(self._axis_size(axis, sizes, name) for axis in names)

    def _axis_size(self, axis: str, sizes: Mapping[str, Dim], name: str) -> Expr:
        if axis in sizes:
            return self._positive(sizes[axis], f"{name}, axis {axis}")
        if axis in self.sizes:
            return symbol(axis)
        error = unknown("size", axis, self.sizes, where=f"graph {self.name}, tensor {name}")
        error.fix = f"declare {axis} as a size of the graph, or give it here: {axis}=..."
        raise error

    def _positive(self, dim: Dim, where: str) -> Expr:
        try:
            expr = self.size(dim)
        except SymacctError as error:
            raise error.at(f"graph {self.name}, {where}") from None
        if expr.is_number and (not expr.is_integer or expr < 1):
            raise SizeError(
                f"a size must be an integer of at least 1, got {expr}",
                where=f"graph {self.name}, {where}",
                expected="an integer >= 1",
                got=str(expr),
            )
        return expr

    def require(self, condition: Condition) -> None:
        """Record a condition under which the graph exists; refuse one that cannot hold."""
        if not condition.names and not condition.holds({}):
            raise SizeError(
                f"the sizes break a condition of graph {self.name}", expected=condition.text, got="it does not hold"
            )
        self.conditions.append(condition)

    # ---- sources ----

    def input(self, name: str, axes: str, *, dtype: str = "float", grad: bool = False, **sizes: Dim) -> Var:
        """Declare an input; ``grad`` marks one that a gradient is wanted for, ``dtype="index"`` integers."""
        return self._source(name, axes, "input", dtype, sizes, trainable=grad)

    def weight(self, name: str, axes: str, *, trainable: bool = True, **sizes: Dim) -> Var:
        """Declare a parameter: one per iteration inside a repeat's body, shared when declared outside."""
        return self._source(name, axes, "weight", "float", sizes, trainable=trainable)

    def constant(self, name: str, axes: str, *, dtype: str = "float", **sizes: Dim) -> Var:
        """Declare a constant of the model (a rotary table): no parameter, no input, never saved."""
        return self._source(name, axes, "constant", dtype, sizes, trainable=False)

    def _source(
        self, name: str, axes: str, role: str, dtype: str, sizes: Mapping[str, Dim], *, trainable: bool
    ) -> Var:
        if self._path and role == "input":
            raise GraphError(
                f"input {name} is declared inside repeat {self._path[-1]}",
                where=f"graph {self.name}",
                expected="inputs outside of repeats",
                got=f"path {'/'.join(self._path)}",
                fix="declare it before the repeat and close over it",
            )
        label = self._label(name, explicit=True)
        names, dims = self._shape(axes, sizes, label)
        self.tensors[label] = Tensor(label, names, dims, dtype, role, self._path)
        if role == "input":
            self._inputs.append(label)
        if trainable:
            self._trainable.add(label)
        return Var(self, label)

    # ---- nodes ----

    @contextmanager
    def region(self, name: str) -> Iterator[None]:
        """Put what is built inside under ``name/``."""
        before, self._prefix = self._prefix, f"{self._prefix}{check_name(name)}/"
        try:
            yield
        finally:
            self._prefix = before

    def apply(self, op: Op, *ins: Var, label: str) -> tuple[Var, ...]:
        """Add a node; ``label`` must be new here when it is given with a leading ``=``."""
        explicit = label.startswith("=")
        full = self._label(label.removeprefix("="), explicit=explicit)
        for var in ins:
            self._check_visible(var, full)
        try:
            results = op.infer(*(var.tensor for var in ins))
        except SymacctError as error:
            raise error.at(f"graph {self.name}, node {full}") from None
        outs = []
        for slot, result in enumerate(results):
            out = full if slot == 0 else f"{full}.{slot}"
            self.tensors[out] = Tensor(out, result.axes, result.dims, result.dtype, "activation", self._path, result.mask)
            outs.append(Var(self, out))
        names = tuple(var.name for var in outs)
        self._scopes[-1].append(Node(op, tuple(v.name for v in ins), names, full))
        return tuple(outs)

    def _check_visible(self, var: Var, label: str) -> None:
        if not isinstance(var, Var):
            raise GraphError(
                f"node {label} got {type(var).__name__} instead of a tensor", where=f"graph {self.name}",
                expected="tensors of this builder", got=repr(var)[:80],
                fix="use b.scale(x, c) or b.shift(x, c) for numbers",
            )  # fmt: skip
        if var.builder is not self:
            raise GraphError(f"node {label} got tensor {var.name} of another graph", where=f"graph {self.name}")
        if var.tensor.path != self._path[: len(var.tensor.path)]:
            raise GraphError(
                f"node {label} reads {var.name}, which lives inside repeat {var.tensor.path[-1]}",
                where=f"graph {self.name}",
                expected="a tensor made here or outside",
                got=f"path {'/'.join(var.tensor.path)}",
                fix="carry it out of the repeat",
            )

    def _label(self, name: str, *, explicit: bool) -> str:
        if explicit and not all(part and not part.isspace() for part in name.split("/")):
            raise GraphError(f"{name!r} is not a name", where=f"graph {self.name}", expected="words, joined by /")
        label = self._prefix + name
        if explicit and label in self._labels:
            raise GraphError(
                f"the name {label} is given twice",
                where=f"graph {self.name}",
                expected="one tensor, node or repeat for each name",
                got=f"a second {label}",
                fix="give it another name, or put it into a region",
            )
        count = 2
        while label in self._labels:
            label, count = f"{self._prefix}{name}_{count}", count + 1
        self._labels.add(label)
        return label

    # ---- repeats ----

    def repeat(
        self,
        count: Dim,
        body: Callable[..., Var | tuple[Var, ...]],
        carry: Var | tuple[Var, ...],
        *,
        name: str = "layers",
        index: str | None = None,
    ) -> Any:
        """Run ``body`` ``count`` times, handing the carry on; one body is built, whatever the count.

        ``body(*carry)`` returns the next carry; with ``index="i"`` it is ``body(i, *carry)`` and sizes may
        depend on ``i``, which runs from 0.
        """
        single = not isinstance(carry, tuple)
        inits = (carry,) if isinstance(carry, Var) else carry
        label = self._label(name, explicit=True)
        hi = self._count(count, label)
        at = index_symbol(index or f"i_{len(self._path)}")
        for var in inits:
            self._check_visible(var, label)
        enters, leaves, nodes = self._body(label, name, body, inits, at, index)
        self._check_carry(label, inits, enters, leaves)
        results = []
        for slot, init in enumerate(inits):
            out = f"{label}.{slot}" if not single else f"{label}.out"
            self.tensors[out] = Tensor(out, init.axes, init.dims, init.tensor.dtype, "activation", self._path)
            results.append(Var(self, out))
        carries = tuple(
            Carry(i.name, e.name, v.name, r.name) for i, e, v, r in zip(inits, enters, leaves, results, strict=True)
        )
        self._scopes[-1].append(Repeat(label, at, as_expr(0), hi, tuple(nodes), carries))
        return results[0] if single else tuple(results)

    def _count(self, count: Dim, label: str) -> Expr:
        expr = self.size(count) if not isinstance(count, int) or isinstance(count, bool) else as_expr(count)
        check_range(label, as_expr(0), expr)
        return expr

    def _body(
        self, label: str, name: str, body: Callable[..., Any], inits: tuple[Var, ...], at: Any, index: str | None
    ) -> tuple[tuple[Var, ...], tuple[Var, ...], list[Step_]]:
        saved = (self._prefix, self._path, dict(self.indices))
        self._prefix, self._path = f"{self._prefix}{name}/", (*self._path, label)
        if index is not None:
            if index in self.sizes or index in self.indices:
                raise GraphError(f"the index {index} of repeat {label} is already a size", where=f"graph {self.name}")
            self.indices[index] = at
        self._scopes.append([])
        try:
            enters = tuple(self._enter(label, slot, var) for slot, var in enumerate(inits))
            result = body(*((at,) if index is not None else ()), *enters)
        finally:
            nodes = self._scopes.pop()
            self._prefix, self._path, self.indices = saved
        leaves = result if isinstance(result, tuple) else (result,)
        return enters, leaves, nodes

    def _enter(self, label: str, slot: int, init: Var) -> Var:
        name = f"{label}/carry.{slot}"
        self.tensors[name] = Tensor(name, init.axes, init.dims, init.tensor.dtype, "activation", self._path)
        return Var(self, name)

    def _check_carry(
        self, label: str, inits: tuple[Var, ...], enters: tuple[Var, ...], leaves: tuple[Var, ...]
    ) -> None:
        where = f"graph {self.name}, repeat {label}"
        if len(leaves) != len(inits) or not all(isinstance(v, Var) for v in leaves):
            raise GraphError(
                "the body must return as many tensors as it carries", where=where,
                expected=str(len(inits)), got=f"{len(leaves)}: {leaves!r}"[:120],
            )  # fmt: skip
        for enter, leave in zip(enters, leaves, strict=True):
            if leave.name == enter.name:
                raise GraphError(
                    f"the carry {leave!r} is returned unchanged", where=where,
                    expected="a tensor made in the body", fix="close over it instead of carrying it",
                )  # fmt: skip
            if leave.tensor.path != enter.tensor.path or leave.tensor.role not in ("activation",):
                raise GraphError(
                    f"the carry leaves as {leave!r}, which this body does not make", where=where,
                    expected="a tensor made in the body", got=leave.tensor.role,
                )  # fmt: skip
            fits = len(leave.dims) == len(enter.dims) and all(map(same, leave.dims, enter.dims))
            if not fits or leave.tensor.dtype != enter.tensor.dtype:
                raise SizeError(
                    "a carry must leave the body with the sizes it entered with", where=where,
                    expected=f"{enter.tensor.describe()} ({enter.tensor.dtype})",
                    got=f"{leave.tensor.describe()} ({leave.tensor.dtype})",
                )  # fmt: skip

    # ---- the end ----

    def build(self, *outputs: Var) -> Graph:
        """Return the finished graph."""
        for var in outputs:
            if not isinstance(var, Var) or var.builder is not self or var.tensor.path:
                raise GraphError(
                    f"graph {self.name} returns {var!r}, which is no tensor of its outermost level",
                    expected="one tensor or a tuple of tensors",
                    fix="return the result of the last layer",
                )
        if not outputs:
            raise GraphError(f"graph {self.name} returns nothing", expected="one tensor or a tuple of tensors")
        return Graph(
            self.name,
            MappingProxyType(dict(self.sizes)),
            MappingProxyType(dict(self.tensors)),
            tuple(self._inputs),
            tuple(self._scopes[0]),
            tuple(var.name for var in outputs),
            frozenset(self._trainable),
            merge(self.conditions),
            self.tokens,
            self.doc,
        )


@dataclass(frozen=True, slots=True)
class Definition:
    """A graph as its author wrote it: a function over a builder, with its sizes. Calling it builds the graph."""

    name: str
    sizes: Mapping[str, str]
    function: Callable[[Builder], Var | tuple[Var, ...]]
    tokens: Dim | None = None
    doc: str = ""

    def __call__(self, **sizes: int) -> Graph:
        """Build the graph, with some sizes bound where they are given."""
        builder = Builder(self.name, self.sizes, tokens=self.tokens, doc=self.doc)
        result = self.function(builder)
        graph = builder.build(*(result if isinstance(result, tuple) else (result,)))
        return graph.bind(sizes) if sizes else graph


def graph(
    sizes: Mapping[str, str], *, tokens: Dim | None = None
) -> Callable[[Callable[[Builder], Var | tuple[Var, ...]]], Definition]:
    """Declare a graph: a decorator that states its sizes and what they mean.

    >>> @graph({"B": "rows", "D": "inputs", "K": "outputs"}, tokens="B")
    ... def product(b):
    ...     '''One matrix product.'''
    ...     return b.einsum("B D, D K -> B K", b.input("x", "B D"), b.weight("w", "D K"))
    >>> product().name, product.doc
    ('product', 'One matrix product.')
    """

    def declare(function: Callable[[Builder], Var | tuple[Var, ...]]) -> Definition:
        return Definition(function.__name__, dict(sizes), function, tokens, (function.__doc__ or "").strip())

    return declare
