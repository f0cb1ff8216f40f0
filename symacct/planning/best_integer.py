"""The best integer length of a segment, by looking at every one: those too that do not divide the count.

Few are derived one by one. For many, a course is derived once in three counts, the number of segments, their
length and that of the last one, and evaluated; what it does not serve, small counts, is derived by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt, prod
from types import MappingProxyType
from typing import TYPE_CHECKING

from symacct.account import Account
from symacct.algebra.budget import check_time
from symacct.algebra.evaluate import evaluate
from symacct.algebra.normal import normal
from symacct.algebra.sparse import degree
from symacct.algebra.symbols import as_expr, symbol
from symacct.errors import LimitError, RuleError, SizeError, UsageError
from symacct.peaks.course import WRITTEN, Course
from symacct.peaks.forms import Former
from symacct.peaks.layers import layer_counts, structure
from symacct.peaks.placement import Cut, outermost
from symacct.peaks.shaping import shaped
from symacct.policy import Checkpoint

if TYPE_CHECKING:
    from symacct.algebra.sparse import Poly

MOST = 4_000
"""The largest count whose lengths are all looked at."""
FEW = 40
"""Up to this count every length is derived by itself."""
NAMES = ("parts_", "length_", "last_")


@dataclass(frozen=True, slots=True)
class BestInteger:
    """The best length among all integers.

    Attributes:
        name: what the length is called.
        count: how many layers are cut, L.
        quantity: the peak that is smallest.
        k: the best length, the smallest of several.
        peak: the bytes there.
        divisor: the best length among those that divide the count, and the bytes there.
        root: the root of the count rounded up, and the bytes there.
        plain: the bytes without checkpoints.
        peaks: the bytes at every length, from 1 on.
    """

    name: str
    count: int
    quantity: str
    k: int
    peak: Fraction
    divisor: tuple[int, Fraction]
    root: tuple[int, Fraction]
    plain: Fraction
    peaks: tuple[Fraction, ...]

    @property
    def saves(self) -> bool:
        """Whether the best length needs less than no checkpoints."""
        return self.peak < self.plain


def best_integer(account: Account, quantity: str = "memory.peak") -> BestInteger:
    """Return the integer length of a segment with the smallest peak.

    Args:
        account: with checkpoint ``every:k`` and every size bound but k.
        quantity: ``memory.peak`` or ``memory.activations.peak``.

    Raises:
        SizeError: a size is open.
        LimitError: there are too many lengths.

    >>> from symacct import derive, load
    >>> account = derive(load("mlp"), checkpoint="every:k", sizes={"B": 64, "D": 16, "L": 10})
    >>> found = best_integer(account)
    >>> found.k, int(found.peak), found.divisor[0], found.root[0], int(found.plain)
    (3, 22020, 2, 4, 30212)
    """
    name = length_name(account)
    counts = layer_counts(account.source)
    open_ = sorted(account.graph.order)
    if open_ or not all(one.is_Integer for one in counts):
        raise SizeError(
            "the best integer is looked for at sizes",
            expected="a size for each name",
            got=f"none for: {', '.join(open_)}",
            fix=f"--at {','.join(f'{one}=...' for one in open_)}",
        )
    count = max(map(int, counts))
    if not 1 <= count <= MOST:
        raise LimitError(
            f"{count} lengths would have to be looked at", expected=f"1 to {MOST}", got=str(count)
        )
    few = count <= FEW or len(counts) > 1 or structure(account.source).several
    peaks = tuple(_peaks(account, name, quantity, count, few=few))
    k = peaks.index(min(peaks)) + 1
    if count > FEW and _direct(account, name, quantity, k) != peaks[k - 1]:
        raise RuleError(
            f"the formulas do not give the peak at {name} = {k}", where=f"graph {account.graph.name}"
        )
    divisor = min(
        (d for d in range(1, count + 1) if all(int(n) % d == 0 for n in counts)),
        key=lambda d: (peaks[d - 1], d),
    )
    root = isqrt(count - 1) + 1
    plain = _smallest(replaced(account, Checkpoint()), quantity)
    return BestInteger(
        name,
        count,
        quantity,
        k,
        peaks[k - 1],
        (divisor, peaks[divisor - 1]),
        (root, peaks[root - 1]),
        plain,
        peaks,
    )


def length_name(account: Account) -> str:
    """Return what the length of a segment is called.

    Raises:
        UsageError: the account has no such name.
    """
    every = account.policy.checkpoint.every
    if account.policy.checkpoint.kind != "every" or every is None or not every.is_Symbol:
        raise UsageError(
            "the best segment is looked for under checkpoints of a length with a name",
            expected="checkpoint every:k",
            got=account.policy.checkpoint.describe(),
            fix="--checkpoint every:k",
        )
    return str(every)


def replaced(account: Account, checkpoint: Checkpoint) -> Account:
    """Return an account under another checkpoint policy."""
    return Account(account.source, replace(account.policy, checkpoint=checkpoint), account.convention)


def _direct(account: Account, name: str, quantity: str, k: int) -> Fraction:
    return _smallest(account.bind({name: k}), quantity)


def _smallest(account: Account, quantity: str) -> Fraction:
    """Return a peak where all sizes are known."""
    found = [evaluate(one, {}) for one in account.candidates(quantity)]
    return max(Fraction(int(one.p), int(one.q)) for one in found)


def _peaks(account: Account, name: str, quantity: str, count: int, *, few: bool) -> list[Fraction]:
    families = [] if few else [_Family(account, quantity, count, parts) for parts in (None, 2)]
    found = []
    for k in range(1, count + 1):
        check_time()
        value = next((v for one in families if (v := one.at(k)) is not None), None)
        found.append(_direct(account, name, quantity, k) if value is None else value)
    return found


class _Family:
    """The peak of all lengths with a shorter last segment, in one form.

    Args:
        account: with every size bound but the length.
        quantity: the peak.
        count: how many iterations are cut.
        parts: how many segments there are, where that is a number.
    """

    def __init__(self, account: Account, quantity: str, count: int, parts: int | None) -> None:
        self.count = count
        self.parts = parts
        self.found: tuple[Poly, ...] = ()
        self.least: dict[str, int] = {}
        try:
            self._derive(account, quantity)
        except RuleError:
            self.found = ()

    def _derive(self, account: Account, quantity: str) -> None:
        graph, policy = account.graph, account.policy
        shape = shaped(graph, policy, WRITTEN)
        segments, length, last = (symbol(one) for one in NAMES)
        many = segments if self.parts is None else as_expr(self.parts)
        ((repeat, _),) = shape.cuts.items()
        stands = next(r for r in outermost(shape.graph) if r.name == repeat).count
        into = {**shape.into, str(stands): normal((many - 1) * length + last)}
        cuts = MappingProxyType({repeat: Cut(many, length, last)})
        shape = replace(shape, cuts=cuts, into=into, conditions=(), back=MappingProxyType({}))
        course = Course(graph, policy, shape, Former(shape, policy).form())
        weigh = account.weigh(saved=quantity == "memory.activations.peak")
        self.ring = course.ring
        beside = evaluate(account.beside(quantity), {})
        self.beside = Fraction(int(beside.p), int(beside.q))
        found = course.candidates(weigh)
        used = {
            base for place, base in enumerate(self.ring.bases) if any(degree(one, place) for one in found)
        }
        if not used <= {segments, length, last}:
            raise RuleError("a count is left open", got=str(sorted(used, key=str))[:64])
        self.found = found
        self.least = {str(one): int(value) for one, value in course.least.items()}

    def at(self, k: int) -> Fraction | None:
        """Return the peak at a length, or None where the form does not serve it."""
        parts = -(-self.count // k)
        last = self.count - (parts - 1) * k
        known = dict(zip(NAMES, (parts, k, last), strict=True))
        if not self.found or last == k or (self.parts is not None and parts != self.parts):
            return None
        if any(known[name] < least for name, least in self.least.items()):
            return None
        pairs = zip(self.ring.bases, self.ring.least, strict=True)
        values = [known.get(str(base), least) - least for base, least in pairs]
        return max(_value(poly, values) for poly in self.found) + self.beside


def _value(poly: Poly, values: list[int]) -> Fraction:
    return sum((Fraction(c) * prod(map(pow, values, powers)) for powers, c in poly.items()), Fraction(0))
