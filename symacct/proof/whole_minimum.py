"""The least value of ``k + ceiling(m/k)`` over integers, and where other least values may be.

With s = ceiling(sqrt(m)) and c = ceiling(m/s) the proof that s + c <= ceiling(2*sqrt(m)) has two cases. If
c < s, then s + c - 1 <= 2*(s - 1) < 2*sqrt(m). If c >= s, then c = s as m <= s^2, and m > (c - 1)*s, so
that m >= s^2 - s + 1 and 4*m > (2*s - 1)^2. All witnesses are written down here, none is searched for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sympy import Integer, ceiling, sqrt

from symacct.algebra.normal import is_zero, normal
from symacct.algebra.symbols import symbol
from symacct.proof.prefix import Prefix, to_prefix
from symacct.proof.tangent import roots_of

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.proof.case import Case, Proof


def places(case: Case, name: str) -> list[Expr]:
    """Return formulas for the variable at which the least value may be reached.

    Where a quadratic has its vertex, where ``b*k - a`` is 0 in a square that shows the least value, or
    first of all; for an integer rounded up.
    """
    found: list[Expr] = []
    at, real = symbol(name), case.variables[name].real
    slope, square = (
        normal(case.left.diff(at)),
        normal(case.left.diff(at, 2)) if not case.left.has(ceiling) else 0,
    )
    if square != 0 and at not in getattr(square, "free_symbols", {at}):
        found.append(normal(at - slope / square))
    found += [normal(at - root / normal(root.diff(at))) for root in roots_of(case.left, name)]
    rounded = [one if real or one.is_Integer else normal(ceiling(one)) for one in found]
    least = case.variables[name].least
    return rounded if least is None else [*rounded, Integer(least)]


def quotient(case: Case, name: str) -> tuple[Expr, Proof, Proof] | None:
    """Return where ``k + ceiling(m/k)`` is least, that it is nowhere less, and that it is so much there."""
    at = symbol(name)
    rest = normal(case.left - at)
    if rest.func is not ceiling or case.right.func is not ceiling:
        return None
    size = normal(rest.args[0] * at)
    if at in size.free_symbols or not is_zero(normal(case.right.args[0]) ** 2 - 4 * size):
        return None
    words = _Words(to_prefix(size), to_prefix(at), to_prefix(rest), to_prefix(case.right))
    bound = {"rule": "nonnegative", "uses": {}, "witness": words.above(words.k, words.c)}
    return ceiling(sqrt(size)), bound, words.value()


class _Words:
    """The expressions of the proof."""

    def __init__(self, size: Prefix, k: Prefix, c: Prefix, claimed: Prefix) -> None:
        self.m, self.k, self.c, self.claimed = size, k, c, claimed
        self.root: Prefix = ["sqrt", size]
        self.s: Prefix = ["ceil", self.root]
        self.most: Prefix = ["ceil", ["/", size, self.s]]

    def above(self, k: Prefix, c: Prefix) -> Any:
        """Return the witness that k + c is at least what is claimed: ``(k - sqrt(m))^2 >= 0``."""
        terms = [
            {"times": k, "factors": [{"atom": c, "side": "0"}]},
            {"times": k, "factors": [{"atom": self.claimed, "side": "1"}]},
            {"factors": [{"square": ["+", k, ["*", "-1", self.root]]}]},
        ]
        return {"kind": "whole", "witness": {"kind": "sum", "scale": k, "terms": terms}}

    def value(self) -> Any:
        """Return the proof that s + ceiling(m/s) is what is claimed, in two cases."""
        large = self._lemma("most", self.s, self.most, self._at_most(), {},
                            self._lemma("room", self.m, self._least_size(), self._room(), {"large": "fact"},
                                        self._both(self._large(), ("large", "most", "room"))))  # fmt: skip
        small = self._both(self._small(), ("large",))
        return {
            "rule": "cases",
            "uses": {},
            "name": "large",
            "left": self.most,
            "right": self.s,
            "each": [large, small],
        }

    def _both(self, below: Any, used: tuple[str, ...]) -> Any:
        uses = dict.fromkeys(used, "fact")
        return {"rule": "both", "uses": uses, "below": below, "above": self.above(self.s, self.most)}

    def _lemma(
        self, name: str, left: Prefix, right: Prefix, witness: Any, uses: dict[str, str], then: Any
    ) -> Any:
        lemma = {"relation": ">=", "left": left, "right": right}
        because = {"rule": "nonnegative", "uses": uses, "witness": witness}
        return {"rule": "have", "uses": {}, "name": name, "lemma": lemma, "because": because, "then": then}

    def _at_most(self) -> Any:
        """Return the witness of s >= ceiling(m/s), as m <= s^2."""
        terms = [
            {"times": self.s, "factors": [{"atom": self.most, "side": "1"}]},
            {"factors": [{"square": ["+", self.s, ["*", "-1", self.root]]}]},
            {"times": ["*", "2", self.root], "factors": [{"atom": self.s, "side": "0"}]},
        ]
        return {"kind": "whole", "witness": {"kind": "sum", "scale": self.s, "terms": terms}}

    def _least_size(self) -> Prefix:
        return ["+", ["^", self.s, "2"], ["*", "-1", self.s], "1"]

    def _room(self) -> Any:
        """Return the witness of m >= s^2 - s + 1, where ceiling(m/s) >= s."""
        terms = [
            {"times": self.s, "factors": [{"atom": self.most, "side": "1"}]},
            {"times": self.s, "factors": [{"hypothesis": "large"}]},
        ]
        return {"kind": "whole", "witness": {"kind": "sum", "terms": terms}}

    def _large(self) -> Any:
        """Return the witness of s + c <= ceiling(2*sqrt(m)), where c is s."""
        wide: Prefix = ["+", ["*", "2", self.root], ["*", "2", self.s], "-1"]
        terms = [
            {"times": wide, "factors": [{"atom": self.claimed, "side": "0"}]},
            {"times": wide, "factors": [{"hypothesis": "most"}]},
            {"times": "4", "factors": [{"hypothesis": "room"}]},
        ]
        return {"kind": "whole", "witness": {"kind": "sum", "scale": wide, "terms": terms}}

    def _small(self) -> Any:
        """Return the witness of s + c <= ceiling(2*sqrt(m)), where c is less than s."""
        terms = [
            {"factors": [{"atom": self.claimed, "side": "0"}]},
            {"factors": [{"hypothesis": "large"}]},
            {"times": "2", "factors": [{"atom": self.s, "side": "1"}]},
        ]
        return {"kind": "whole", "witness": {"kind": "sum", "terms": terms}}
