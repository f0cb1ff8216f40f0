"""Repeats: a body built once, run a symbolic number of times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symacct.algebra.normal import same
from symacct.algebra.symbols import as_expr, index_symbol
from symacct.build.scope import Scope, Var
from symacct.build.words import handed, worded
from symacct.errors import GraphError, SizeError
from symacct.nodes import Carry, Repeat, Step_, check_range
from symacct.tensor import Dim, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from sympy import Expr, Symbol


@worded
class Repeats(Scope):
    """A repeat is one node with a body, whatever its count."""

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
        check_range(label, as_expr(0), self._formula(count))
        hi = self._count(count, 0, f"repeat {label}")
        at = index_symbol(index or self._fresh_index())
        for var in inits:
            self._check_visible(var, label)
        enters, leaves, nodes = self._body(label, name, body, inits, (at, hi), index)
        self._check_carry(label, inits, enters, leaves)
        results = []
        for slot, init in enumerate(inits):
            out = f"{label}.{slot}" if not single else f"{label}.out"
            t = init.tensor
            self.tensors[out] = Tensor(out, t.axes, t.dims, t.dtype, "activation", self._path, t.mask)
            results.append(Var(self, out))
        carries = tuple(
            Carry(i.name, e.name, v.name, r.name)
            for i, e, v, r in zip(inits, enters, leaves, results, strict=True)
        )
        self._scopes[-1].append(Repeat(label, at, as_expr(0), hi, tuple(nodes), carries))
        return results[0] if single else tuple(results)

    def _body(
        self,
        label: str,
        name: str,
        body: Callable[..., Any],
        inits: tuple[Var, ...],
        turns: tuple[Symbol, Expr],
        index: str | None,
    ) -> tuple[tuple[Var, ...], tuple[Var, ...], list[Step_]]:
        at, hi = turns
        if index is not None and (index in self.sizes or at in self._ranges):
            raise GraphError(
                f"the index {index} of repeat {label} is already a size or an index around it",
                where=f"graph {self.name}",
                expected="a name of its own",
                got=index,
            )
        saved = (self._prefix, self._path, dict(self.indices), self._ranges)
        self._prefix, self._path = f"{self._prefix}{name}/", (*self._path, label)
        self._ranges = {**self._ranges, at: (as_expr(0), hi)}
        if index is not None:
            self.indices[index] = at
        self._scopes.append([])
        try:
            enters = tuple(self._enter(label, slot, var) for slot, var in enumerate(inits))
            values = (*((at,) if index is not None else ()), *enters)
            result = handed(body, values, f"graph {self.name}, repeat {label}")
        finally:
            nodes = self._scopes.pop()
            self._prefix, self._path, self.indices, self._ranges = saved
        leaves = result if isinstance(result, tuple) else (result,)
        return enters, leaves, nodes

    def _fresh_index(self) -> str:
        """Return an index that is no size and no index around."""
        name = f"i_{len(self._path)}"
        while name in self.sizes or index_symbol(name) in self._ranges:
            name += "_"
        return name

    def _enter(self, label: str, slot: int, init: Var) -> Var:
        name = f"{label}/carry.{slot}"
        t = init.tensor
        self.tensors[name] = Tensor(name, t.axes, t.dims, t.dtype, "activation", self._path, t.mask)
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
            if leave.tensor.path != enter.tensor.path or leave.tensor.role != "activation":
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
            mask = leave.tensor.mask
            if mask is not None:
                mask = mask.renamed(dict(zip(leave.axes, enter.axes, strict=True)))
            if mask != enter.tensor.mask:
                raise GraphError(
                    "a carry must leave the body under the mask it entered with", where=where,
                    expected=str(enter.tensor.mask), got=str(mask),
                    fix="apply the mask inside the body alone, or before the repeat and keep it",
                )  # fmt: skip
