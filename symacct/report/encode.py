"""JSON of any result: one rule for each kind of value, and the keys of `symacct.report.keys`.

A number is ``value``, a JSON number, with ``exact``, its exact text, beside it. A formula is ``expr``, as it
may be typed, and ``latex``; one without sizes is a number too. Under the keys ``expr`` and ``value`` they
stand in the record itself, elsewhere in one of their own. Integers are JSON numbers, up to 2^53.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any

from sympy import Expr

from symacct.algebra.condition import Condition
from symacct.evaluation.regions import Region
from symacct.printers import latex, text
from symacct.report.conditions import said
from symacct.report.keys import FLAT, KEYS
from symacct.units import Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from symacct.formats import Value
    from symacct.planning.entries import Entry
    from symacct.planning.solve_roots import Root

LARGEST = 2**53
"""Up to which every program reads an integer exactly."""
DIGITS = 17


def encode(value: Any, order: Sequence[str] = ()) -> Any:
    """Return a value as JSON has it.

    Args:
        value: a result: text, numbers, formulas, conditions; dataclasses, sequences and mappings of them.
        order: the order in which formulas are printed.

    >>> from symacct.algebra.symbols import symbol
    >>> encode({"at": (("B", 8),), "share": Fraction(1, 3), "flops": 2 * symbol("B")})["share"]
    {'value': 0.3333333333333333, 'exact': '1/3'}
    """
    name = f"{type(value).__module__.removeprefix('symacct.')}.{type(value).__qualname__}"
    if name in OTHERS:
        return OTHERS[name](value, order)
    if name in KEYS:
        return _record(value, KEYS[name].split(), order)
    for kind, rule in RULES:
        if isinstance(value, kind):
            return rule(value, order)
    if is_dataclass(value):
        return _record(value, [one.name for one in fields(value)], order)
    raise TypeError(name)


def _integer(value: int, order: Sequence[str]) -> int | str:
    del order
    return value if abs(value) <= LARGEST else str(value)


def number(value: Fraction | Expr) -> dict[str, Any]:
    """Return a number and its exact text; no number where it is none, or too large for one."""
    if isinstance(value, Expr) and not value.is_Rational:
        about = float(value.evalf(DIGITS)) if value.is_number and value.is_real else None
        finite = about is not None and isfinite(about)
        return {"value": about if finite else None, "exact": text(value) if value.is_number else None}
    exact = Fraction(int(value.p), int(value.q)) if isinstance(value, Expr) else value
    return {"value": _float(exact), "exact": str(exact)}


def _float(exact: Fraction) -> int | float | None:
    if exact.denominator == 1 and abs(exact) <= LARGEST:
        return int(exact)
    try:
        return float(exact)
    except OverflowError:
        return None


def _formula(value: Expr, order: Sequence[str]) -> dict[str, Any]:
    return {"expr": text(value, order), "latex": latex(value, order), **number(value)}


def _region(value: Region, order: Sequence[str]) -> str:
    from symacct.report.roofline_words import condition

    return condition(value, order)


def _sequence(value: Iterable[Any], order: Sequence[str]) -> Any:
    """Return a list; of pairs whose first is a name, a record."""
    found = tuple(value)
    named = getattr(value, "_asdict", None)
    if named is not None:
        return _mapping(named(), order)
    if found and all(isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str) for one in found):
        return _mapping(dict(found), order)
    return [encode(one, order) for one in found]


def _mapping(value: Mapping[Any, Any], order: Sequence[str]) -> dict[str, Any]:
    return {str(key): encode(one, order) for key, one in value.items()}


RULES: tuple[tuple[Any, Callable[[Any, Sequence[str]], Any]], ...] = (
    ((str, bool, float, type(None)), lambda value, _: value),
    (int, _integer),
    (Fraction, lambda value, _: number(value)),
    (Expr, _formula),
    (Condition, said),
    (Unit, lambda value, _: str(value)),
    (Region, _region),
    ((tuple, list, frozenset), _sequence),
    (Mapping, _mapping),
)
"""What becomes of a value, by its type; the first that fits."""


# ---- results ----


def _record(value: Any, words: Iterable[str], order: Sequence[str]) -> dict[str, Any]:
    """Return a record of keys, each ``key`` or ``key=path``."""
    made: dict[str, Any] = {}
    for word in words:
        key, _, path = word.partition("=")
        if path.startswith("'"):
            made[key] = path.strip("'")
            continue
        owner, _, last = (path or key).rpartition(".")
        held = reached(value, owner) if owner else value
        part = reached(held, last)
        if part == () and _is_mapping(held, last):
            made[key] = {}
        elif key == "value" and isinstance(part, Expr) and (part.is_number or "expr" in made):
            made |= number(part)
        elif key in FLAT and isinstance(found := encode(part, order), dict):
            made |= found
        elif part is not None or key not in made:
            made[key] = encode(part, order)
    return made


def _is_mapping(owner: Any, name: str) -> bool:
    """Say whether a field holds pairs, each a name and what belongs to it."""
    kinds = {one.name: str(one.type) for one in fields(owner)} if is_dataclass(owner) else {}
    return kinds.get(name, "").startswith("tuple[tuple[str, ")


def reached(value: Any, path: str) -> Any:
    """Return an attribute, or one of an attribute: ``account.graph.name``; what is a method is called."""
    for name in path.split("."):
        if value is None:
            return None
        value = getattr(value, name)
        value = value() if callable(value) and not is_dataclass(value) else value
    return value


def _entry(value: Entry, order: Sequence[str]) -> dict[str, Any]:
    """Return a number of a plan: with its formula in LaTeX, and as it is shown."""
    from symacct.report.plan import as_latex, cell

    keys = ("symbol", "formula", "value", "unit", "bound", "description=about")
    return _record(value, keys, order) | {"latex": as_latex(value.formula), "text": cell(value)}


def _root(value: Root, order: Sequence[str]) -> dict[str, Any]:
    """Return a root: exact where it is known, and the bounds between which it lies."""
    near, exact = value.close(), value.exact
    known: dict[str, Any] = {"exact": None, "latex": None} if exact is None else _formula(exact, order)
    between = [str(near.low), str(near.high)]
    about = known.get("value", _float((near.low + near.high) / 2))
    return {"value": about, "exact": known["exact"], "latex": known["latex"], "between": between}


def _rounded(value: Value, order: Sequence[str]) -> dict[str, Any]:
    """Return a value of a number format; ``inf``, ``nan`` and ``-0`` are texts alone."""
    from symacct.formats.shown import exact_text

    del order
    return {"value": _float(value.number) if value.finite else None, "exact": exact_text(value)}


OTHERS: Mapping[str, Callable[[Any, Sequence[str]], Any]] = {
    "planning.entries.Entry": _entry,
    "planning.solve_roots.Root": _root,
    "formats.value.Value": _rounded,
}
"""Values whose records hold more than their parts, by class."""
