"""Elementwise functions, each by its name in the table."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr
from symacct.build.scope import Scope, Var
from symacct.build.unknown_words import unknown_word
from symacct.build.words import fit, worded
from symacct.errors import GraphError, unknown
from symacct.ops.cast import Cast
from symacct.ops.elementwise import Elementwise
from symacct.ops.elementwise_table import TABLE
from symacct.syntax import read_formula

if TYPE_CHECKING:
    from collections.abc import Callable

    from sympy import Expr

    from symacct.tensor import Dim


def _function(self: Functions, *xs: Var, label: str | None = None) -> Var:
    """Stand for a function of the table, as a word."""
    raise NotImplementedError


CALL = signature(_function)


@worded
class Functions(Scope):
    """Elementwise functions: axes align by name and broadcast by name."""

    def elementwise(
        self, function: str, *xs: Var, constant: Dim | None = None, label: str | None = None
    ) -> Var:
        """Apply a function of the elementwise table; axes align by name and broadcast by name."""
        if function not in TABLE:
            raise unknown("elementwise function", function, TABLE)
        masks = list(dict.fromkeys(x.tensor.mask for x in xs if x.tensor.mask is not None))
        if len(masks) > 1:
            raise GraphError(
                f"{function} of tensors under different structural masks",
                expected="one mask",
                got=", ".join(map(str, masks)),
                fix="apply one mask to the result instead",
            )
        value = None if constant is None else normal(self._constant(constant))
        return self._one(Elementwise(function, value), *xs, label=label, default=function)

    def _constant(self, constant: Dim) -> Expr:
        if isinstance(constant, str):
            return read_formula(constant, set(self.sizes))
        return self._known(as_expr(constant))

    def __getattr__(self, function: str) -> Callable[..., Var]:
        """Offer every function of the elementwise table as a method: ``b.relu(x)``, ``b.silu(x)``."""
        if function.startswith("_"):
            raise AttributeError(function)
        if function not in TABLE:
            own = [word for word in dir(type(self)) if not word.startswith("_")]
            raise unknown_word(function, sorted({*TABLE, *own}), f"graph {self.__dict__.get('name')}")

        def call(*xs: Any, **named: Any) -> Var:
            fit(CALL, function, self.name, (self, *xs), named)
            return self.elementwise(function, *xs, **named)

        return call

    def scale(self, x: Var, constant: Dim, *, label: str | None = None) -> Var:
        """Multiply by a constant, which may be symbolic: ``b.scale(x, "1/sqrt(K)")``."""
        return self.elementwise("scale", x, constant=constant, label=label)

    def shift(self, x: Var, constant: Dim, *, label: str | None = None) -> Var:
        """Add a constant."""
        return self.elementwise("shift", x, constant=constant, label=label)

    def cast(self, x: Var, dtype: str, *, label: str | None = None) -> Var:
        """Copy into another dtype."""
        return self._one(Cast(dtype), x, label=label, default="cast")
