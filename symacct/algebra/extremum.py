"""The largest and the least of several formulas; those of many are never compared pair by pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sympy import Expr, Heaviside, Max, Min

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

MOST_COMPARED = 4
"""Of how many arguments sympy is asked whether one is never the largest."""


class _Of:
    """A maximum or minimum as it stands: to put in a size, or to derive, does not compare its arguments.

    To sympy it is a ``Max`` or ``Min``, and made again from other arguments it is one of those, or this.
    """

    __slots__ = ()
    kind: type[Expr]
    args: tuple[Expr, ...]

    @property
    def func(self) -> type[Expr]:
        """What it is made again by."""
        return self.kind

    def _eval_subs(self, old: Expr, new: Expr) -> Expr:
        return extremum(self.kind, [arg._subs(old, new) for arg in self.args])  # noqa: SLF001 (sympy's protocol)

    def _xreplace(self, rule: Mapping[Expr, Expr]) -> tuple[Expr, bool]:
        if self in rule:
            return rule[self], True
        both = [arg._xreplace(rule) for arg in self.args]  # noqa: SLF001 (sympy's protocol)
        if not any(changed for _, changed in both):
            return self, False
        return extremum(self.kind, [arg for arg, _ in both]), True

    def fdiff(self, argindex: int) -> Expr:
        """Return the derivative by an argument: 1 where it is the largest (the least), or else 0."""
        own = self.args[argindex - 1]
        gap = own - standing(self.kind, [arg for arg in self.args if arg != own])
        return Heaviside(gap if self.kind is Max else -gap)


class _Largest(_Of, Max):  # type: ignore[misc]
    __slots__ = ()
    kind = Max


class _Least(_Of, Min):  # type: ignore[misc]
    __slots__ = ()
    kind = Min


_Largest.__name__, _Least.__name__ = Max.__name__, Min.__name__  # by which sympy sorts, hashes and prints
STANDING: dict[object, type[Expr]] = {Max: _Largest, Min: _Least}


def extremum(func: Callable[..., Expr], args: Iterable[Expr]) -> Expr:
    """Return a function of its arguments; a maximum or minimum of many is not compared pair by pair.

    >>> from symacct.algebra.symbols import symbol
    >>> extremum(Max, [symbol(name) for name in "ABCDEB"])
    Max(A, B, C, D, E)
    """
    found = tuple(args)
    return standing(func, found) if is_many(func, found) else func(*found)


def standing(func: object, args: Iterable[Expr]) -> Expr:
    """Return a maximum or minimum as it stands: none of its arguments is compared with another.

    >>> from symacct.algebra.symbols import symbol
    >>> A, B = symbol("A"), symbol("B")
    >>> standing(Max, [A, A + B]), standing(Max, [A])
    (Max(A, A + B), A)
    """
    found: Any = tuple(dict.fromkeys(args))
    made: Any = STANDING[func] if len(found) > MOST_COMPARED else func
    return found[0] if len(found) == 1 else made(*found, evaluate=False)


def is_many(func: object, args: Sequence[Expr]) -> bool:
    """Say whether a maximum or minimum has too many arguments to compare them."""
    return func in STANDING and len(args) > MOST_COMPARED and any(arg.free_symbols for arg in args)
