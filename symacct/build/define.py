"""Declaring a graph: a function over a builder, with its sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from symacct.build.builder import Builder
from symacct.build.words import KINDS
from symacct.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from symacct.build.scope import Var
    from symacct.nodes import Graph
    from symacct.tensor import Dim


SYMBOLIC = {
    "truth value of Relational": (
        "sizes are symbols here: which of two is larger is not known",
        "a graph that is the same for all sizes",
        "write two graphs, one for each case",
    ),
    "cannot be interpreted as an integer": (
        "a size is a symbol here, and no number to count with",
        "a loop that is a node of the graph",
        'write b.repeat("L", body, x) in the place of a loop of Python',
    ),
    "Cannot convert": (
        "a size is a symbol here, and no number",
        "a formula over sizes",
        'write it as text: "H*K", "ceil(S/2)"',
    ),
}
"""What sympy and Python say when a size is used as a number, and what is meant: what, expected, fix."""


def branched(error: TypeError, where: str) -> GraphError | None:
    """Return the error for code that asks sizes for a number; None where another thing went wrong.

    >>> branched(TypeError("cannot determine truth value of Relational: B > D"), "graph g").fix
    'write two graphs, one for each case'
    """
    said = str(error)
    found = next((words for key, words in SYMBOLIC.items() if key in said and _of_sizes(said)), None)
    if found is None:
        return None
    what, expected, fix = found
    mine = GraphError(what, where=where, expected=expected, got=said.partition(": ")[2] or said, fix=fix)
    mine.__traceback__ = error.__traceback__
    return mine


def _of_sizes(said: str) -> bool:
    """Return whether an error of Python speaks of a formula."""
    return any(word in said for word in ("Relational", "Symbol", "Mul", "Add", "Pow", "symbols to", "expr"))


@dataclass(frozen=True, slots=True)
class Definition:
    """A graph as its author wrote it: a function over a builder, with its sizes. Calling it builds it."""

    name: str
    sizes: Mapping[str, str]
    function: Callable[[Builder], Var | tuple[Var, ...]]
    tokens: Dim | None = None
    doc: str = ""
    where: Mapping[str, Dim] = field(default_factory=dict)

    def __call__(self, **sizes: int) -> Graph:
        """Build the graph, with some sizes bound where they are given."""
        builder = Builder(self.name, self.sizes, tokens=self.tokens, doc=self.doc, where=self.where)
        try:
            result = self.function(builder)
        except TypeError as error:
            told = branched(error, f"graph {self.name}")
            if told is None:
                raise
            raise told from error
        graph = builder.build(*(result if isinstance(result, tuple) else (result,)))
        return graph.bind(sizes) if sizes else graph


def graph(
    sizes: Mapping[str, str], *, tokens: Dim | None = None, where: Mapping[str, Dim] | None = None
) -> Callable[[Callable[[Builder], Var | tuple[Var, ...]]], Definition]:
    """Declare a graph: a decorator that states its sizes and what they mean.

    ``where={"d": "h/a"}`` names a quotient or product of sizes, which can then be bound like a size.

    >>> @graph({"B": "rows", "D": "inputs", "K": "outputs"}, tokens="B")
    ... def product(b):
    ...     '''One matrix product.'''
    ...     return b.einsum("B D, D K -> B K", b.input("x", "B D"), b.weight("w", "D K"))
    >>> product().name, product.doc
    ('product', 'One matrix product.')

    Raises:
        GraphError: the sizes are not names with what they mean; ``@graph`` alone has none.
    """
    for what, given, kind in (
        ("sizes", sizes, "Mapping[str, str]"),
        ("where", where or {}, "Mapping[str, Dim]"),
    ):
        if not KINDS[kind].holds(given):
            raise GraphError(
                f"graph takes {KINDS[kind].text} for {what}",
                expected='@graph({"B": "rows", "D": "features"})',
                got=repr(given)[:80],
            )

    def declare(function: Callable[[Builder], Var | tuple[Var, ...]]) -> Definition:
        doc = (function.__doc__ or "").strip()
        return Definition(function.__name__, dict(sizes), function, tokens, doc, dict(where or {}))

    return declare
