"""The builder: writes a graph as a paper writes a model. Only it is mutable, until the graph is built."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from symacct.algebra.condition import merge
from symacct.algebra.contradiction import implied, require_together
from symacct.build.layers import Layers
from symacct.build.networks import Networks
from symacct.build.remat import Remats
from symacct.build.repeats import Repeats
from symacct.build.scope import Var
from symacct.errors import GraphError
from symacct.nodes import Graph

if TYPE_CHECKING:
    from symacct.algebra.condition import Condition


class Builder(Networks, Repeats, Remats, Layers):
    """Collects tensors and nodes; every mismatch is an error that lists the sizes bound so far.

    >>> b = Builder("linear", {"B": "rows", "D": "inputs", "K": "outputs"})
    >>> x = b.input("x", "B D")
    >>> w = b.weight("w", "D K")
    >>> b.build(b.einsum("B D, D K -> B K", x, w)).outputs
    ('einsum',)
    """

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
            raise GraphError(
                f"graph {self.name} returns nothing", expected="one tensor or a tuple of tensors"
            )
        return Graph(
            self.name,
            MappingProxyType(dict(self.sizes)),
            MappingProxyType(dict(self.tensors)),
            tuple(self._inputs),
            tuple(self._scopes[0]),
            tuple(var.name for var in outputs),
            frozenset(self._trainable),
            self._conditions(),
            self.tokens,
            self.doc,
            aliases=MappingProxyType(dict(self.aliases)),
            remats=tuple(self.remats),
            layers=tuple(self._layers),
        )

    def _conditions(self) -> tuple[Condition, ...]:
        """Return the conditions without those that follow from others; refuse what no sizes satisfy."""
        known = merge(self.conditions)
        require_together(known, f"graph {self.name}")
        for one in known:
            others = tuple(other for other in known if other is not one)
            always = [other for other in others if other.kind != "equal"]
            known = others if implied(one, always) else known
        return known
