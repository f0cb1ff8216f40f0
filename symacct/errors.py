"""Errors with their facts as fields: what, where, expected, got, fix.

One base class; the command line turns it into its text and exit status 2, and anything else is a
bug that shows its traceback.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FIELDS = ("where", "expected", "got", "fix")
SHOWN_NAMES = 12
CLOSE = 0.5
TRIED = 5
DIGITS = re.compile(r"\d+")
LONGEST_NAME = 80
LISTED = {
    "quantity": "quantities",
    "graph or model": "graphs, list models",
    "shipped graph": "graphs",
    "elementwise function": "ops",
    "op": "ops",
    "dtype": "dtypes",
    "unit": "units",
    "machine": "machines",
    "claim file": "claims",
    "optimizer": "optimizers",
}
"""What ``symacct list`` shows names of a kind under."""
SEEN = {"verb": "symacct --help"}
"""Where else all names of a kind stand."""


class SymacctError(Exception):
    """The input is wrong; the text says what, where, what was expected, what came, and how to mend it.

    >>> print(SymacctError("axis D has two sizes", expected="D", got="F", fix="swap the axes of w"))
    axis D has two sizes
      expected  D
      got       F
      fix       swap the axes of w
    """

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        expected: str | None = None,
        got: str | None = None,
        fix: str | None = None,
    ) -> None:
        """Keep the facts; the text is made only when it is asked for."""
        super().__init__(what)
        self.what = what
        self.where = where
        self.expected = expected
        self.got = got
        self.fix = fix

    def __str__(self) -> str:
        """Lay the facts out, one a line, leaving out those that are absent."""
        lines = [self.what]
        for field in FIELDS:
            value = getattr(self, field)
            if value is not None:
                lines.append(f"  {field:<9} {value}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle with every field."""
        return (_rebuild, (type(self), {name: getattr(self, name) for name in ("what", *FIELDS)}))

    def at(self, where: str) -> SymacctError:
        """Return this error with its place filled in, if none was known yet."""
        if self.where is None:
            self.where = where
        return self


def _rebuild(kind: type[SymacctError], fields: dict[str, str]) -> SymacctError:
    what = fields.pop("what")
    return kind(what, **fields)


class GraphError(SymacctError):
    """The graph is not well formed: names, axes, order, repeats."""


class SizeError(SymacctError):
    """Two sizes that must agree do not, or a size is not an integer of at least 1."""


class UnitError(SymacctError):
    """Two units that must agree do not, or a unit is unknown."""


class FormulaError(SymacctError):
    """A formula cannot be read."""


class UnknownNameError(SymacctError, KeyError):
    """A name is not among the known ones; the nearest is named. A mapping's key may be such a name."""


class ReadError(SymacctError):
    """A file (graph, model, configuration) cannot be read."""


class RuleError(SymacctError):
    """There is no rule for this; a missing rule is never a zero."""


class LimitError(RuleError):
    """Something is too large, or takes too long, for the bounds set here; it may well be true."""


class DisagreementError(SymacctError):
    """Two of our own ways to come to one answer disagree: a fault of symacct, and never an answer.

    Args:
        what: the disagreement.
        graph: the graph that it was met at, if any.
        facts: as in every error.
    """

    def __init__(self, what: str, *, graph: object = None, **facts: str | None) -> None:
        """Keep the graph, by which whoever tells of the fault identifies it."""
        super().__init__(what, **facts)
        self.graph = graph


class UsageError(SymacctError):
    """The command line or a call is not as it should be."""


def unknown(kind: str, name: str, known: Iterable[str], *, where: str | None = None) -> UnknownNameError:
    """Return the error for a name that is not known: the valid names sorted, the nearest one named.

    A name whose digits differ is another one (a size, a version, a number of bits) and never meant.

    >>> print(unknown("graph", "mlpp", ["mlp", "gpt"]))
    unknown graph 'mlpp'
      expected  one of: gpt, mlp
      got       mlpp
      fix       did you mean 'mlp'?
    >>> unknown("size", "N", ["B", "B"]).expected
    'one of: B'
    >>> unknown("model", "llama-3-9b", ["llama-3-8b"]).fix is None
    True
    """
    names, short = sorted(set(known)), brief(name)
    near = _meant(short, names)
    return UnknownNameError(
        f"unknown {kind} {short!r}",
        where=where,
        expected=f"one of: {nearest(short, names, kind)}" if names else f"no {kind} is known here",
        got=short,
        fix=f"did you mean {near!r}?" if near else None,
    )


def _meant(name: str, names: Sequence[str]) -> str | None:
    """Return the name that is like another one, and has the same digits."""
    digits = DIGITS.findall(name)
    close = get_close_matches(name, names, n=TRIED, cutoff=CLOSE)
    folded = [one for one in names if one.lower() == name.lower()]
    return next((one for one in (*close, *folded) if DIGITS.findall(one) == digits), None)


def brief(text: str, most: int = LONGEST_NAME) -> str:
    """Return a text, cut where it is longer than a message should be.

    >>> len(brief("a" * 5000))
    80
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def nearest(name: str, names: Sequence[str], kind: str = "") -> str:
    """Return names for a message: all of them where they are few, else the nearest to a name.

    >>> nearest("b", ["a", "b", "c"])
    'a, b, c'
    >>> nearest("a7", [f"a{i}" for i in range(40)], "quantity")[-43:]
    ', and 28 more (see symacct list quantities)'
    """
    if len(names) <= SHOWN_NAMES:
        return ", ".join(names)
    close = set(get_close_matches(name, names, n=SHOWN_NAMES, cutoff=0.0))
    place = f"symacct list {LISTED[kind]}" if kind in LISTED else SEEN.get(kind)
    hint = f" (see {place})" if place else ""
    return f"{', '.join(one for one in names if one in close)}, and {len(names) - len(close)} more{hint}"
