"""The best length of a segment, as a table and as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sympy import Add, Mul, Rational, sqrt

from symacct.printers import text
from symacct.report.conditions import listed
from symacct.report.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from sympy import Expr

    from symacct.planning.best_integer import BestInteger
    from symacct.planning.best_regions import Case
    from symacct.planning.best_segment import Best

SAVED = {True: "at most the peak without checkpoints", False: "nothing saved", None: ""}
HALF = Rational(1, 2)


def best_table(found: Best, order: Sequence[str] = ()) -> Table:
    r"""Return the cases as a table: the length, when it is best, the peak there in bytes, what it saves.

    >>> from symacct import derive, load
    >>> from symacct.planning.best_segment import best_segment
    >>> from symacct.report.table import as_markdown
    >>> found = best_segment(derive(load("mlp"), checkpoint="every:k"), "memory.activations.peak")
    >>> print(as_markdown(best_table(found)).splitlines()[-1])
    | sqrt(L) | every size | 4\*B\*D\*sqrt(L) | at most the peak without checkpoints |
    """
    columns = (
        Column(found.name),
        Column("best where"),
        Column(f"{found.quantity} there [byte]"),
        Column("against none"),
    )
    return Table(columns, tuple(_row(found, case, order) for case in found.cases))


def _row(found: Best, case: Case, order: Sequence[str]) -> tuple[str, ...]:
    bound = not found.high.free_symbols and not case.conditions
    where = ", ".join(listed(case.conditions, order)) or ("these sizes" if bound else "every size")
    peaks = [shown(one, order) for one in case.peaks]
    peak = peaks[0] if len(peaks) == 1 else f"max({', '.join(peaks)})"
    return shown(case.k, order), where, peak, SAVED[case.saves]


def best_notes(found: Best, order: Sequence[str] = ()) -> list[str]:
    """Return what a reader should know of the table."""
    k, high = found.name, shown(found.high, order)
    length, parts = found.apart
    lines = [f"real {k} from {found.low} to {high}, on the formulas of the peak; convex in {k}, so proved"]
    serves = [f"{k} divides {high}", f"{high}/{k} >= {parts}"]
    serves += [f"{k} >= {length}"] if length > found.low else []
    lines.append(f"the formulas are the peak where {' and '.join(serves)}")
    lines += [f"nothing is saved at any such {k} where {_where(one, order)}" for one in found.nothing_saved]
    return [*lines, *found.notes]


def _where(case: Case, order: Sequence[str]) -> str:
    return " and ".join(listed(case.conditions, order)) or "these sizes hold"


def integer_lines(found: BestInteger) -> list[str]:
    r"""Return the best integer and what stands beside it.

    >>> from fractions import Fraction
    >>> from symacct.planning.best_integer import BestInteger
    >>> low, high = Fraction(8), Fraction(9)
    >>> found = BestInteger("k", 2, "memory.peak", 1, low, (1, low), (2, high), high, ())
    >>> print("\n".join(integer_lines(found)))
    best k              1: 8 byte
    among divisors      1: 8 byte
    k = ceil(sqrt(2))   2: 9 byte
    without checkpoints 9 byte
    every k from 1 to 2 was looked at, those too that do not divide 2; the smallest of several
    """
    name, count = found.name, found.count
    rows = [
        (f"best {name}", f"{found.k}: {_bytes(found.peak)}"),
        ("among divisors", f"{found.divisor[0]}: {_bytes(found.divisor[1])}"),
        (f"{name} = ceil(sqrt({count}))", f"{found.root[0]}: {_bytes(found.root[1])}"),
        ("without checkpoints", _bytes(found.plain) + ("" if found.saves else ": no length saves anything")),
    ]
    width = max(len(first) for first, _ in rows)
    lines = [f"{first:<{width}} {second}" for first, second in rows]
    tried = f"every {name} from 1 to {count} was looked at, those too that do not divide {count}"
    return [*lines, f"{tried}; the smallest of several"]


def _bytes(value: Fraction) -> str:
    return f"{int(value):,} byte" if value.denominator == 1 else f"{value} byte"


def shown(expr: Expr, order: Sequence[str] = ()) -> str:
    """Return a formula as text, with one root in the place of a product of roots.

    >>> from symacct.algebra.symbols import symbol
    >>> B, D, L = symbol("B"), symbol("D"), symbol("L")
    >>> shown(2 * D * sqrt(B) * sqrt(L) / sqrt(B + D) + 1)
    '2*D*sqrt(B*L/(B + D)) + 1'
    """
    terms: list[Expr] = []
    roots: dict[Expr, Expr] = {}
    for term in Add.make_args(expr):
        factors = Mul.make_args(term)
        under = [one for one in factors if one.is_Pow and abs(one.exp) == HALF and one.base.free_symbols]
        if not under:
            terms.append(term)
            continue
        inside = Mul(*(one.base ** (2 * one.exp) for one in under))
        numbers = [one for one in factors if one.is_Pow and one.exp == HALF and one.base.is_Integer]
        inside *= Mul(*(one.base for one in numbers))
        stand = sqrt(inside) if len(under) == 1 and not numbers else _stand(len(roots))
        roots[stand] = inside
        terms.append(Mul(*(one for one in factors if one not in under and one not in numbers), stand))
    whole = text(Add(*terms), order)
    for stand, inside in roots.items():
        if stand.is_Symbol:
            whole = whole.replace(str(stand), f"sqrt({text(inside, order)})")
    return whole


def _stand(place: int) -> Expr:
    from symacct.algebra.symbols import symbol

    return symbol(f"root_{place}_of")
