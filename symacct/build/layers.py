"""Layers of a model: regions that checkpoint policies count, whatever repeat they stand in."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from symacct.build.scope import Scope
from symacct.build.words import worded
from symacct.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from symacct.tensor import Dim


@worded
class Layers(Scope):
    """Regions that are layers of the model."""

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
        self._layers: list[str] = []
        self._layer: str | None = None

    @contextmanager
    def layer(self, name: str) -> Iterator[None]:
        """Put what is built inside under ``name/``, as one layer of the model: what checkpoints count.

        A repeat whose body marks no layers has one in each iteration.

        Raises:
            GraphError: it stands in another layer, makes nothing, or its name is given twice.

        >>> from symacct.build import Builder
        >>> b = Builder("g", "B D L")
        >>> def pair(x):
        ...     with b.layer("local"):
        ...         x = b.relu(b.linear(x, "D -> D2", D2="D"))
        ...     with b.layer("full"):
        ...         return b.relu(b.linear(x, "D2 -> D", D="D"))
        >>> b.build(b.repeat("L", pair, b.input("x", "B D"))).layers
        ('layers/local', 'layers/full')
        """
        label = self._prefix + name
        where = f"graph {self.name}, layer {label}"
        inside = self._layer is not None
        if inside or label in self._layers:
            raise GraphError(
                "a layer stands in another one" if inside else f"layer {label} is given twice",
                where=where,
                expected="layers beside each other, each with a name of its own",
                got=f"it is inside {self._layer}" if inside else f"a second {label}",
                fix="use b.region for a part of a layer",
            )
        nodes = self._scopes[-1]
        before, self._layer = len(nodes), label
        try:
            with self.region(name):
                yield
        finally:
            self._layer = None
        if len(nodes) == before:
            raise GraphError("a layer makes nothing", where=where, expected="at least one op", got="none")
        self._layers.append(label)
