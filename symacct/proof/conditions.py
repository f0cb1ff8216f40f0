"""Which sizes a claim is about: ``if`` and ``--assume``, read alike."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from sympy import Mul

from symacct.algebra.condition import Condition
from symacct.algebra.domain import is_whole
from symacct.algebra.evaluate import names_of
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr
from symacct.algebra.terms import read
from symacct.errors import FormulaError
from symacct.syntax import read_formula

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from sympy import Expr

IF = re.compile(r"(?<![\w.])(?<!only )if(?!\w)(?!\s+and\s+only)")
END = re.compile(r"(?<![\w.])where(?!\w)|(?<![\w.])as\s+[\w\s,]{1,80}(?:->|→)")
JOINT = re.compile(r",|(?<!\w)and(?!\w)")
SIGN = re.compile(r"<<|>>|≪|≫|>=|=>|<=|=<|==|≥|≤|>|<|=|\||∣")
MEANT = {"=>": ">=", "≥": ">=", "=<": "<=", "≤": "<=", "==": "=", "∣": "|", "≪": "<<", "≫": ">>"}
EXPECTED = "FORMULA >= FORMULA, <=, >, <, = or k | L; commas between"


class Pair(NamedTuple):
    """A sign, the formulas on both sides of it, when what they name holds, and how their units were read."""

    sign: str
    left: Expr
    right: Expr
    when: tuple[Condition, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conditions:
    """What is said of the sizes of a claim.

    Attributes:
        texts: as it was written.
        conditions: the same, read.
        growing: sizes said to be large against others: D of ``S << D``.
        notes: how units were read.
    """

    texts: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    growing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def cut_conditions(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a claim with spaces in the place of its ``if``, and the conditions in it.

    >>> cut_conditions("memory.peak = 8*B*D if B >= k*D, k | L")
    ('memory.peak = 8*B*D', ('B >= k*D', 'k | L'))
    """
    start = IF.search(text) if isinstance(text, str) else None
    if start is None:
        return text, ()
    rest = END.search(text, start.end())
    end = rest.start() if rest else len(text)
    conditions = tuple(part.strip() for part in _parts(text[start.end() : end]))
    if not all(conditions):
        raise FormulaError(
            "if is followed by conditions", where=text[:72], expected=EXPECTED, got=text[start.start() :][:64]
        )
    gap = " " * (end - start.start())
    return f"{text[: start.start()]}{gap}{text[end:]}".rstrip(), conditions


def _parts(text: str) -> Iterator[str]:
    """Yield conditions between commas that stand outside brackets.

    >>> list(_parts("max(p, F) <= 12, k | L"))
    ['max(p, F) <= 12', ' k | L']
    """
    depth = begun = 0
    for place, char in enumerate(text):
        depth += (char in "([{⌈⌊") - (char in ")]}⌉⌋")
        joint = JOINT.match(text, place) if not depth else None
        if joint and place >= begun:
            yield text[begun:place]
            begun = joint.end()
    yield text[begun:]


def read_conditions(
    texts: Iterable[str],
    names: Collection[str],
    real: Collection[str] = (),
    pairs: Callable[[str], Iterable[Pair]] | None = None,
) -> Conditions:
    """Return conditions, read.

    Sizes are integers, so that ``B > D`` is ``B >= D + 1``; ``sqrt(n) > k`` stays strict, and so does what
    names a real number. ``1 <= k <= L`` is two conditions.

    Args:
        texts: ``F = 4*D``, ``B >= 8``, ``k | L`` (k divides L), ``S << D`` (D grows).
        names: the names that may stand in them.
        real: those that stand for real numbers.
        pairs: gives the formulas at each sign of a text, where more may stand in it than sizes.

    Raises:
        SymacctError: it is none of these, or a name is unknown.

    >>> found = read_conditions(["B > k*D", "k | L", "S << D"], ["B", "D", "L", "S", "k"])
    >>> [str(one) for one in found.conditions], found.growing
    (['B >= D*k + 1', 'k divides L'], ('D',))
    """
    written = tuple(text.strip() for text in texts)
    conditions: list[Condition] = []
    growing: list[str] = []
    notes: list[str] = []
    for text in written:
        for sign, left, right, when, said in pairs(text) if pairs else pairs_of(text, names):
            conditions += when
            notes += said
            if sign in ("<<", ">>"):
                growing.append(_large(left if sign == ">>" else right, text))
            else:
                conditions += _read(left, sign, right, real)
    return Conditions(written, tuple(conditions), tuple(growing), tuple(dict.fromkeys(notes)))


def pairs_of(text: str, names: Collection[str]) -> list[Pair]:
    """Return the formulas at each sign of a condition, which name sizes alone.

    Raises:
        SymacctError: there is no sign, a formula cannot be read, or a name is unknown.

    >>> [tuple(map(str, pair[:3])) for pair in pairs_of("1 <= k < L", ["k", "L"])]
    [('<=', '1', 'k'), ('<', 'k', 'L')]
    """
    exprs = [read_formula(side.strip(), names) for side in sides_of(text)]
    return [Pair(sign, *pair) for sign, pair in zip(signs_of(text), pairwise(exprs), strict=True)]


def signs_of(text: str) -> list[str]:
    """Return the signs of a condition, each in one spelling."""
    return [MEANT.get(one.group(), one.group()) for one in SIGN.finditer(text)]


def sides_of(text: str) -> list[str]:
    """Return the formulas between the signs of a condition, each behind as many spaces as text before it.

    Raises:
        FormulaError: there is no sign, or nothing stands beside one.
    """
    if "!=" in text or "≠" in text:
        fix = f"write {text.replace('!=', '! =').strip()} where a factorial is meant"
        raise FormulaError("a condition is not a denial", where=text.strip(), got="!=", fix=fix)
    starts = [0, *(one.end() for one in SIGN.finditer(text))]
    ends = [*(one.start() for one in SIGN.finditer(text)), len(text)]
    sides = [" " * start + text[start:end] for start, end in zip(starts, ends, strict=True)]
    if len(sides) == 1 or not all(side.strip() for side in sides):
        raise _unread(text)
    return sides


def _large(size: Expr, text: str) -> str:
    if not size.is_Symbol:
        raise _unread(text)
    return str(size.name)


def _read(left: Expr, sign: str, right: Expr, real: Collection[str]) -> Iterator[Condition]:
    if sign[0] == "<":
        left, right, sign = right, left, f">{sign[1:]}"
    if sign == "|":
        yield Condition("divides", left, right)
    elif sign == "=":
        yield Condition("equal", left, right)
    elif sign == ">=":
        yield Condition("at_least", *_cleared(left, right))
    else:
        yield from over_integers([Condition("above", *_cleared(left, right))], real)


def _cleared(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Return both sides times the sizes that stand below in one: ``h/a >= 64`` is ``h >= 64*a``."""
    below: dict[Expr, Expr] = {}
    for monomial in read(normal(left - right)):
        for base, power in monomial:
            if base.is_Symbol and base.is_positive and power < 0:
                below[base] = max(below.get(base, as_expr(0)), as_expr(-power))
    if not below:
        return left, right
    factor = Mul(*(base**power for base, power in below.items()))
    return normal(left * factor), normal(right * factor)


def over_integers(conditions: Iterable[Condition], real: Collection[str]) -> Iterator[Condition]:
    """Yield conditions, ``left > right`` as ``left >= right + 1`` where both sides are integers.

    >>> from symacct.algebra.symbols import symbol
    >>> above = Condition("above", symbol("B"), symbol("D"))
    >>> [str(one) for real in ((), ("D",)) for one in over_integers([above], real)]
    ['B >= D + 1', 'B > D']
    """
    for one in conditions:
        gap = normal(one.left - one.right) if one.kind == "above" else None
        whole = gap is not None and is_whole(gap) and not set(names_of(gap)) & set(real)
        yield Condition("at_least", one.left, one.right + 1) if whole else one


def _unread(text: str) -> FormulaError:
    return FormulaError("cannot use a condition", where=text[:72], expected=EXPECTED, got=text[:64])
