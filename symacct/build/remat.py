"""Regions that are run again in backward, written around a part of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symacct.build.scope import Scope, Var
from symacct.build.words import handed, worded
from symacct.errors import GraphError, unknown
from symacct.nodes import Node, Remat, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from symacct.tensor import Dim


@worded
class Remats(Scope):
    """Regions of which the inputs alone are kept for backward."""

    def __init__(
        self,
        name: str,
        sizes: Mapping[str, str] | str,
        *,
        tokens: Dim | None = None,
        doc: str = "",
        where: Mapping[str, Dim] | None = None,
    ) -> None:
        """Start a graph; see :class:`symacct.build.scope.Scope`."""
        super().__init__(name, sizes, tokens=tokens, doc=doc, where=where)
        self.remats: list[Remat] = []
        self._again: str | None = None

    def remat(
        self, body: Callable[..., Any], *xs: Var, name: str = "remat", keep: tuple[str, ...] = ()
    ) -> Any:
        """Build ``body(*xs)`` as a region that is run again in backward, and return what the body returns.

        Its nodes stand under ``name/``. The outputs of the nodes that ``keep`` names (as the body calls them)
        are kept all the same, and these nodes are not run again.

        Raises:
            GraphError: the body makes nothing, or another such region.
            UnknownNameError: ``keep`` names no node of the region.

        >>> from symacct.build import Builder
        >>> b = Builder("g", "B D")
        >>> x, w = b.input("x", "B D"), b.weight("w", "D E", E="D")
        >>> y = b.remat(lambda x: b.relu(b.einsum("B D, D E -> B E", x, w, label="up")), x, keep=("up",))
        >>> b.build(y).remats
        (Remat(name='remat', labels=('remat/up', 'remat/relu'), keep=('remat/up',)),)
        """
        label = self._label(name, explicit=False)
        where = f"graph {self.name}, region {label}"
        if self._again is not None:
            raise GraphError(
                "a region that is run again stands in another one",
                where=where,
                expected="regions beside each other",
                got=f"it is inside {self._again}",
                fix="leave one of them out",
            )
        for var in xs:
            self._check_visible(var, label)
        nodes = self._scopes[-1]
        before, self._again = len(nodes), label
        try:
            with self.region(label.removeprefix(self._prefix)):
                result = handed(body, xs, where)
        finally:
            self._again = None
        made = tuple(nodes[before:])
        if not made:
            raise GraphError(
                "a region that is run again makes nothing",
                where=where,
                expected="a body with at least one op",
                got=repr(result)[:80],
            )
        own = [node.label for node, _ in walk(made) if isinstance(node, Node)]
        self.remats.append(
            Remat(label, tuple(node.label for node in made), tuple(_kept(label, own, one) for one in keep))
        )
        return result


def _kept(region: str, labels: list[str], name: str) -> str:
    """Return the label of a node of a region that is named as the body calls it, or in full."""
    full = f"{region}/{name}"
    if full in labels or name in labels:
        return full if full in labels else name
    raise unknown(
        "node", name, [label.removeprefix(f"{region}/") for label in labels], where=f"region {region}"
    )
