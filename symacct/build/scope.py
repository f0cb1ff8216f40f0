"""The state of a graph that is being built: sizes, sources, nodes, names and regions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from symacct.algebra.needs import equal, needs
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr, check_name, symbol
from symacct.build.reserved import free_names
from symacct.build.words import worded
from symacct.counts import of_node
from symacct.errors import GraphError, SizeError, SymacctError, unknown
from symacct.nodes import Node, Step_
from symacct.syntax import read_formula
from symacct.tensor import Dim, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sympy import Expr, Symbol

    from symacct.algebra.condition import Condition
    from symacct.op import Op


@dataclass(frozen=True, slots=True, eq=False)
class Var:
    """A tensor in a graph that is being built; ``+ - * /`` and unary ``-`` are elementwise ops."""

    is_tensor: ClassVar[bool] = True

    builder: Scope
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
        return self._with("add", self, other)

    def __sub__(self, other: Var) -> Var:
        return self._with("sub", self, other)

    def __mul__(self, other: Var) -> Var:
        return self._with("mul", self, other)

    def __truediv__(self, other: Var) -> Var:
        return self._with("div", self, other)

    def __neg__(self) -> Var:
        return self._with("neg", self)

    def __radd__(self, other: Any) -> Var:
        return self._with("add", other, self)

    def __rsub__(self, other: Any) -> Var:
        return self._with("sub", other, self)

    def __rmul__(self, other: Any) -> Var:
        return self._with("mul", other, self)

    def __rtruediv__(self, other: Any) -> Var:
        return self._with("div", other, self)

    def __matmul__(self, other: Any) -> NoReturn:
        raise self._no("x @ w", other, 'b.einsum("B D, D K -> B K", x, w) names the axis that is summed')

    def __pow__(self, other: Any) -> NoReturn:
        raise self._no("x ** n", other, "write b.square(x), or a product")

    def _with(self, function: str, *xs: Any) -> Var:
        found: Var = getattr(self.builder, function)(*xs)
        return found

    def _no(self, what: str, other: Any, fix: str) -> GraphError:
        """Return the error for an operator that says too little."""
        return GraphError(
            f"{what} is no op of a graph",
            where=f"graph {self.builder.name}",
            expected="+, -, * or / of two tensors, or a word of the builder",
            got=f"{self!r} and {repr(other)[:80]}",
            fix=fix,
        )

    def __repr__(self) -> str:
        return self.tensor.describe()


@worded
class Scope(ABC):
    """Collects tensors and nodes; the words a model is written in are added by its subclasses."""

    @abstractmethod
    def elementwise(
        self, function: str, *xs: Var, constant: Dim | None = None, label: str | None = None
    ) -> Var:
        """Apply a function of the elementwise table."""

    def __init__(
        self,
        name: str,
        sizes: Mapping[str, str] | str,
        *,
        tokens: Dim | None = None,
        doc: str = "",
        where: Mapping[str, Dim] | None = None,
    ) -> None:
        """Start a graph with its declared sizes: a mapping of names to meanings, or the names alone."""
        if isinstance(sizes, str):
            sizes = dict.fromkeys(sizes.split(), "")
        self.name = name
        self.sizes = {check_name(size): meaning for size, meaning in sizes.items()}
        free_names([*self.sizes, *(where or {})], f"graph {name}")
        self.doc = doc
        self.tensors: dict[str, Tensor] = {}
        self.indices: dict[str, Expr] = {}
        self._inputs: list[str] = []
        self._trainable: set[str] = set()
        self._labels: set[str] = set()
        self._scopes: list[list[Step_]] = [[]]
        self._path: tuple[str, ...] = ()
        self._ranges: dict[Symbol, tuple[Expr, Expr]] = {}
        self._settled: set[tuple[Expr, int, tuple[tuple[Symbol, tuple[Expr, Expr]], ...]]] = set()
        self._prefix = ""
        self.conditions: list[Condition] = []
        self.tokens = None if tokens is None else self._count(tokens, 1, "tokens")
        self.aliases = {check_name(alias): self.size(formula) for alias, formula in (where or {}).items()}

    # ---- sizes ----

    def size(self, dim: Dim) -> Expr:
        """Return a size: an integer, an expression, or a formula over the declared sizes.

        >>> from symacct.build import Builder
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
        return self._known(expr)

    def _known(self, expr: Expr) -> Expr:
        """Return a formula; refuse one that holds what is no size of the graph."""
        known = {*self.sizes, *map(str, self.indices.values())}
        for free in sorted(str(s) for s in expr.free_symbols):
            if free not in known:
                raise unknown("size", free, self.sizes, where=f"graph {self.name}")
        return expr

    def _shape(
        self, axes: str, sizes: Mapping[str, Dim], name: str
    ) -> tuple[tuple[str, ...], tuple[Expr, ...]]:
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
            if error.where in (None, f"graph {self.name}"):
                error.where = f"graph {self.name}, {where}"
            raise
        if expr.is_number and (not expr.is_integer or expr < 1):
            raise SizeError(
                f"a size must be an integer of at least 1, got {expr}",
                where=f"graph {self.name}, {where}",
                expected="an integer >= 1",
                got=str(expr),
            )
        return self._needs(expr, 1, where)

    def _count(self, dim: Dim, least: int, where: str) -> Expr:
        """Return a count: a formula over sizes and indices, with what it needs recorded."""
        return self._needs(self._formula(dim), least, where)

    def _formula(self, dim: Dim) -> Expr:
        """Return a formula over sizes and indices; a number may be any."""
        return self.size(dim) if isinstance(dim, str) or not as_expr(dim).is_number else normal(as_expr(dim))

    def _needs(self, expr: Expr, least: int, where: str) -> Expr:
        """Record what a formula needs to be a count: ``D/H`` wants ``H divides D``, ``S-3`` that S >= 4.

        It is held to the bound at every value of the indices around it.

        Raises:
            SizeError: it is a count for no sizes, or it cannot be told for which.
        """
        key = (expr, least, tuple(self._ranges.items()))
        if key in self._settled:
            return expr
        self._settled.add(key)
        try:
            found = needs(expr, least, self._ranges, self.conditions)
        except SizeError as error:
            raise error.at(f"graph {self.name}, {where}") from None
        for condition in found:
            self.note(condition)
        return expr

    def note(self, condition: Condition) -> None:
        """Record a condition unless it is certain; one that holds an index is meant for all its values."""
        if {index.name for index in self._ranges}.isdisjoint(condition.names):
            if not condition.is_certain() and condition not in self.conditions:
                self.require(condition)
        elif condition.kind == "equal":
            for known in equal(condition.left, condition.right, self._ranges):
                self.note(known)
        else:
            divides = condition.kind == "divides"
            gap = condition.right / condition.left if divides else condition.left - condition.right
            self._needs(normal(gap), 0, condition.text)

    def require(self, condition: Condition) -> None:
        """Record a condition under which the graph exists; refuse one that cannot hold."""
        if condition.is_impossible() and (condition.kind != "equal" or not condition.names):
            raise SizeError(
                f"the sizes break a condition of graph {self.name}",
                expected=condition.text,
                got="it does not hold" if not condition.names else "it holds for no sizes",
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
            self.tensors[out] = Tensor(
                out, result.axes, result.dims, result.dtype, "activation", self._path, result.mask
            )
            outs.append(Var(self, out))
        for expr, least in of_node(op, [var.tensor for var in ins], [var.tensor for var in outs]):
            self._needs(expr, least, f"node {full}")
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
            raise GraphError(
                f"node {label} got tensor {var.name} of another graph", where=f"graph {self.name}"
            )
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
            raise GraphError(
                f"{name!r} is not a name", where=f"graph {self.name}", expected="words, joined by /"
            )
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

    def _one(self, op: Op, *ins: Var, label: str | None, default: str) -> Var:
        return self.apply(op, *ins, label=default if label is None else f"={label}")[0]
