"""The fields of ops as JSON: one codec for each kind of field that an op may have."""

from __future__ import annotations

from dataclasses import dataclass, fields
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sympy import Expr

from symacct.algebra.normal import normal
from symacct.algebra.symbols import index_symbol, symbol
from symacct.errors import ReadError, SymacctError, unknown
from symacct.ops import OPS
from symacct.printers import text
from symacct.readers.values import shown
from symacct.syntax import fold, parse
from symacct.tensor import Mask

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from symacct.op import Op

LONGEST_FORMULA = 4000
CLASSES: Mapping[str, type[Op]] = {op.__name__: op for op in OPS}


@dataclass(frozen=True, slots=True)
class Names:
    """What formulas in a file may name: sizes, and the indices of repeats; and where the file is."""

    sizes: frozenset[str]
    indices: frozenset[str]
    where: str

    def expr(self, value: Any, what: str) -> Expr:
        """Return a formula.

        Raises:
            SymacctError: it is no text, or cannot be read.
        """
        if not isinstance(value, str) or len(value) > LONGEST_FORMULA:
            raise self.wrong(what, "a formula as text", value)
        try:
            tree = parse(value, self.sizes | self.indices)
            leaf = lambda part: index_symbol(part.name) if part.name in self.indices else symbol(part.name)  # noqa: E731
            return normal(fold(tree, leaf, value))
        except SymacctError as error:
            error.where = (
                f"{self.where}, {what}" if error.where is None else f"{self.where}, {what}: {error.where}"
            )
            raise
        except RecursionError:
            raise self.wrong(what, "a formula with fewer levels", value) from None

    def wrong(self, what: str, expected: str, value: Any) -> ReadError:
        """Return the error for a value of the wrong kind."""
        return ReadError(
            f"{what} has a value of the wrong kind", where=self.where, expected=expected, got=shown(value)
        )

    def word(self, value: Any, what: str) -> str:
        """Return a text."""
        if not isinstance(value, str):
            raise self.wrong(what, "text", value)
        return value

    def items(self, value: Any, what: str) -> list[Any]:
        """Return a list."""
        if not isinstance(value, list):
            raise self.wrong(what, "a list", value)
        return value

    def words(self, value: Any, what: str) -> tuple[str, ...]:
        """Return a list of texts as a tuple."""
        return tuple(self.word(item, what) for item in self.items(value, what))

    def mask(self, value: Any, what: str) -> Mask | None:
        """Return a structural mask, or None."""
        if value is None:
            return None
        if not isinstance(value, dict) or set(value) != {"rows", "cols", "window"}:
            raise self.wrong(what, "null, or rows, cols and window", value)
        window = None if value["window"] is None else self.expr(value["window"], what)
        return Mask(self.word(value["rows"], what), self.word(value["cols"], what), window)


def _flag(names: Names, value: Any, what: str) -> bool:
    if not isinstance(value, bool):
        raise names.wrong(what, "true or false", value)
    return value


def _integer(names: Names, value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise names.wrong(what, "an integer", value)
    return value


def _real(names: Names, value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise names.wrong(what, "a number", value)
    return float(value)


def _sized(names: Names, value: Any, what: str) -> tuple[str, Expr]:
    pair = names.items(value, what)
    if len(pair) != 2:
        raise names.wrong(what, "[axis, size]", value)
    return names.word(pair[0], what), names.expr(pair[1], what)


def _each(read: Callable[[Names, Any, str], Any]) -> Callable[[Names, Any, str], tuple[Any, ...]]:
    return lambda names, value, what: tuple(read(names, item, what) for item in names.items(value, what))


READERS: Mapping[str, Callable[[Names, Any, str], Any]] = {
    "str": Names.word,
    "bool": _flag,
    "int": _integer,
    "float": _real,
    "Expr": Names.expr,
    "Expr | None": lambda names, value, what: None if value is None else names.expr(value, what),
    "Mask | None": Names.mask,
    "tuple[str, ...]": Names.words,
    "tuple[int, ...]": _each(_integer),
    "tuple[Expr, ...]": _each(Names.expr),
    "Groups": _each(Names.words),
    "tuple[tuple[str, Expr], ...]": _each(_sized),
}
"""How to read a field, by its annotation. An op with another kind of field needs a row here."""


def written(value: Any) -> Any:
    """Return a field as JSON: formulas as text, tuples as lists.

    >>> written((("B", symbol("B") * 2), True, None))
    [['B', '2*B'], True, None]
    """
    if isinstance(value, Expr):
        return text(value)
    if isinstance(value, Mask):
        return {"rows": value.rows, "cols": value.cols, "window": written(value.window)}
    if isinstance(value, tuple):
        return [written(item) for item in value]
    return value


def op_data(op: Op) -> dict[str, Any]:
    """Return an op as its class's name and its fields."""
    return {"op": type(op).__name__, "fields": {f.name: written(getattr(op, f.name)) for f in fields(op)}}  # type: ignore[arg-type]


def read_op(name: Any, values: Any, names: Names, what: str) -> Op:
    """Return an op from its class's name and its fields, all of which must be there.

    Raises:
        SymacctError: there is no such op, or a field is missing, unknown or wrong.
    """
    if not isinstance(name, str) or name not in CLASSES:
        raise unknown("op", str(name)[:60], CLASSES, where=f"{names.where}, {what}")
    cls = CLASSES[name]
    expected = [f.name for f in fields(cls)]  # type: ignore[arg-type]
    if not isinstance(values, dict) or set(values) != set(expected):
        raise names.wrong(f"{what}, fields of {name}", f"{', '.join(expected) or 'none'}", values)
    read = {f.name: READERS[str(f.type)](names, values[f.name], f"{what}, {f.name}") for f in fields(cls)}  # type: ignore[arg-type]
    try:
        return cls(**read)
    except SymacctError as error:
        raise error.at(f"{names.where}, {what}") from None
