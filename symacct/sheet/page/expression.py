"""Expressions as prefix lists that a script evaluates, and a pool that writes shared parts once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sympy import Abs, Max, Min, Pow, Sum, ceiling, floor, log

from symacct.algebra.factorials import Binomial, Factorial
from symacct.errors import RuleError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sympy import Expr

CALLS = {
    Max: "max",
    Min: "min",
    floor: "floor",
    ceiling: "ceil",
    log: "log",
    Abs: "abs",
    Pow: "^",
    Binomial: "binomial",
    Factorial: "factorial",
}
SHUFFLED = frozenset({"+", "*", "max", "min"})
SHORTEST = 30
"""Characters from which on a part that stands in several places is written once."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """One node: its form, and what it takes; a number is ``#`` with its text, a size ``s`` with its name.

    >>> from symacct.algebra.symbols import symbol
    >>> prefix(2 * symbol("B") ** 3 / 5).plain()
    ['*', '2/5', ['^', {'s': 'B'}, '3']]
    """

    form: str
    parts: tuple[Prefix, ...] = ()
    text: str = ""

    def plain(self) -> Any:
        """Return it as JSON, nothing shared."""
        if self.form in "#s":
            return self.text if self.form == "#" else {"s": self.text}
        named = [self.text] if self.form == "sum" else []
        return [self.form, *named, *(part.plain() for part in self.parts)]


def prefix(expr: Expr) -> Prefix:
    """Return an expression as a tree; the order of what a sum, a product or a maximum takes is its text's.

    Raises:
        RuleError: it holds something that no script evaluates.
    """
    if expr.is_Rational:
        return Prefix("#", text=f"{expr.p}/{expr.q}" if expr.q != 1 else str(expr.p))
    if expr.is_Symbol:
        return Prefix("s", text=expr.name)
    if isinstance(expr, Sum):
        ((index, low, high),) = expr.limits
        return Prefix("sum", (prefix(low), prefix(high), prefix(expr.function)), index.name)
    form = "+" if expr.is_Add else "*" if expr.is_Mul else CALLS.get(expr.func, "")
    if not form:
        known = "numbers, sizes, sums, products, powers, " + ", ".join(sorted(CALLS.values()))
        what = f"no script evaluates {expr.func.__name__}"
        raise RuleError(what, expected=known, got=str(expr)[:64])
    parts = [prefix(part) for part in expr.args]
    if form in SHUFFLED:
        parts.sort(key=lambda part: (part.form != "#", json.dumps(part.plain())))
    return Prefix(form, tuple(parts))


class Pool:
    """Writes data that holds trees; a long tree that stands in several places is written once."""

    def __init__(self) -> None:
        """Start empty."""
        self.counts: dict[Prefix, int] = {}
        self.places: dict[Prefix, int] = {}
        self.shared: list[Any] = []

    def written(self, data: Any) -> Any:
        """Return the data with its trees as JSON; `shared` then holds what they refer to.

        >>> from symacct.algebra.symbols import symbol
        >>> pool, long = Pool(), prefix(symbol("first") + symbol("second") + symbol("third"))
        >>> pool.written({"a": long, "b": [long]}), len(pool.shared)
        ({'a': {'e': 0}, 'b': [{'e': 0}]}, 1)
        """
        for tree in _trees(data):
            self._count(tree)
        return self._filled(data)

    def _count(self, tree: Prefix) -> None:
        seen = self.counts.get(tree, 0)
        self.counts[tree] = seen + 1
        if not seen:
            for part in tree.parts:
                self._count(part)

    def _filled(self, data: Any) -> Any:
        if isinstance(data, Prefix):
            return self._tree(data)
        if isinstance(data, dict):
            return {key: self._filled(value) for key, value in data.items()}
        return [self._filled(one) for one in data] if isinstance(data, list) else data

    def _tree(self, tree: Prefix) -> Any:
        if tree in self.places:
            return {"e": self.places[tree]}
        if not tree.parts:
            return tree.plain()
        named = [tree.text] if tree.form == "sum" else []
        made = [tree.form, *named, *(self._tree(part) for part in tree.parts)]
        if self.counts[tree] < 2 or _is_short(tree):
            return made
        self.places[tree] = len(self.shared)
        self.shared.append(made)
        return {"e": self.places[tree]}


def _is_short(tree: Prefix) -> bool:
    return len(json.dumps(tree.plain())) < SHORTEST


def _trees(data: Any) -> Iterator[Prefix]:
    if isinstance(data, Prefix):
        yield data
    elif isinstance(data, dict | list):
        values: Iterable[Any] = data.values() if isinstance(data, dict) else data
        for value in values:
            yield from _trees(value)
