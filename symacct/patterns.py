"""Axis patterns in words: ``"B S D, D F -> B S F"``, ``"... (H K) -> ... H K"``.

Three stages: text to items, items to axes of the tensors at hand, axes to sizes (the ops do the last).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from symacct.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symacct.tensor import Tensor

ELLIPSIS = "..."
LONGEST = 2000
TOKEN = re.compile(r"\s*(\.\.\.|…|[()]|\w+)")

Groups = tuple[tuple[str, ...], ...]


def sides(pattern: str) -> tuple[str, str]:
    """Split a pattern at its arrow.

    >>> sides("B S D -> B D")
    ('B S D', 'B D')
    """
    parts = pattern.replace("→", "->").split("->")
    if len(parts) != 2 or len(pattern) > LONGEST:
        raise GraphError(
            f"the pattern {pattern[:80]!r} needs one arrow",
            expected="words -> words",
            got=f"{len(parts) - 1} arrows",
            fix='write it like "B S D, D F -> B S F"',
        )
    return parts[0].strip(), parts[1].strip()


def words(text: str, pattern: str) -> tuple[tuple[str, ...], ...]:
    """Return the groups of a side: one-word groups for plain axes, more for parentheses.

    >>> words("... (H K) D", "")
    (('...',), ('H', 'K'), ('D',))
    """
    groups: list[tuple[str, ...]] = []
    inside: list[str] | None = None
    at = 0
    while at < len(text.rstrip()):
        match = TOKEN.match(text, at)
        if match is None:
            raise _bad(pattern, f"unexpected {text[at:].strip()[:1]!r}")
        at, token = match.end(), match.group(1).replace("…", ELLIPSIS)
        if token == "(" and inside is None:
            inside = []
        elif token == ")" and inside is not None:
            groups.append(tuple(inside))
            inside = None
        elif token in "()":
            raise _bad(pattern, f"unbalanced {token!r}")
        elif token[0].isdigit():
            raise _bad(pattern, f"{token!r} is not an axis name; size-1 axes are not part of a pattern")
        elif inside is None:
            groups.append((token,))
        else:
            inside.append(token)
    if inside is not None:
        raise _bad(pattern, "unbalanced '('")
    return tuple(groups)


def einsum_words(equation: str, tensors: Sequence[Tensor]) -> tuple[Groups, tuple[str, ...]]:
    """Return the words of each operand and of the result, ellipses filled in.

    Without any blank inside a term (``"bij,jk->bik"``) each letter is an axis, as in numpy.
    """
    left, right = sides(equation)
    terms = left.split(",")
    if len(terms) != len(tensors):
        raise GraphError(
            f"einsum {equation!r} has {len(terms)} operands",
            expected=str(len(terms)),
            got=f"{len(tensors)} tensors",
        )
    if _compact(terms, right, tensors):
        terms, right = [_spaced(term) for term in terms], _spaced(right)
    operands = [_plain(words(term, equation), equation) for term in terms]
    for operand, tensor in zip(operands, tensors, strict=True):
        _check_once(equation, operand, tensor)
    filled = [fill(operand, tensor.axes, equation) for operand, tensor in zip(operands, tensors, strict=True)]
    out = _plain(words(right, equation), equation)
    if ELLIPSIS in out:
        spread = dict.fromkeys(
            axis
            for operand, full in zip(operands, filled, strict=True)
            if ELLIPSIS in operand
            for axis in full
            if axis not in operand
        )
        at = out.index(ELLIPSIS)
        out = (*out[:at], *spread, *out[at + 1 :])
    _check_out(equation, filled, out)
    return tuple(filled), out


def _check_once(equation: str, operand: tuple[str, ...], tensor: Tensor) -> None:
    """Refuse a word that stands twice in one operand, and say of each where, and with which sizes."""
    repeated = [w for w in dict.fromkeys(operand) if operand.count(w) > 1 and w != ELLIPSIS]
    if not repeated:
        return
    full = fill(operand, tensor.axes, equation)
    places = "; ".join(_places(word, full, tensor) for word in repeated)
    raise GraphError(
        f"axis {repeated[0]} appears twice in one operand of {equation!r}",
        expected="each axis once in a tensor (diagonals and traces are not supported)",
        got=f"{' '.join(operand)} for {tensor.describe()}: {places}",
        fix="give the second axis a name of its own",
    )


def _places(word: str, operand: tuple[str, ...], tensor: Tensor) -> str:
    found = [at for at, other in enumerate(operand) if other == word]
    text = f"{word} is axis {' and '.join(str(at + 1) for at in found)}"
    if len(operand) != len(tensor.axes):
        return text
    return f"{text}, of sizes {' and '.join(str(tensor.dims[at]) for at in found)}"


def _check_out(equation: str, operands: list[tuple[str, ...]], out: tuple[str, ...]) -> None:
    known = {word for operand in operands for word in operand}
    for word in out:
        if word not in known:
            raise _bad(equation, f"axis {word} of the result is in no operand")
        if out.count(word) > 1:
            raise _bad(equation, f"axis {word} appears twice in the result")


def fill(operand: tuple[str, ...], axes: tuple[str, ...], pattern: str) -> tuple[str, ...]:
    """Replace an ellipsis by the axes it stands for."""
    if operand.count(ELLIPSIS) > 1:
        raise _bad(pattern, "two ellipses in one term")
    if ELLIPSIS not in operand:
        return operand
    at = operand.index(ELLIPSIS)
    after = len(operand) - at - 1
    spread = axes[at : len(axes) - after] if after else axes[at:]
    if len(axes) < len(operand) - 1:
        raise _bad(pattern, f"a tensor of {len(axes)} axes is too small for {' '.join(operand)}")
    clash = [axis for axis in spread if axis in operand]
    if clash:
        raise _bad(pattern, f"axis {clash[0]} is written and also stands under the ellipsis")
    return (*operand[:at], *spread, *operand[at + 1 :])


def _plain(groups: Groups, pattern: str) -> tuple[str, ...]:
    for group in groups:
        if len(group) != 1:
            raise _bad(pattern, "parentheses belong to rearrange, not to einsum")
    return tuple(group[0] for group in groups)


def _compact(terms: list[str], right: str, tensors: Sequence[Tensor]) -> bool:
    stripped = [term.strip() for term in (*terms, right)]
    letters = [term.replace(ELLIPSIS, "") for term in stripped]
    if any(" " in term.replace("... ", ELLIPSIS) or not (term == "" or term.isalpha()) for term in letters):
        return False
    if not any(len(term) > 1 for term in letters):
        return False
    fits = (
        len(part) == len(tensor.axes) or (ELLIPSIS in term and len(part) <= len(tensor.axes))
        for part, term, tensor in zip(letters, stripped, tensors, strict=False)
    )
    return all(fits)


def _spaced(term: str) -> str:
    return " ".join(
        token if token == ELLIPSIS else " ".join(token) for token in re.findall(r"\.\.\.|\w+", term)
    )


def _bad(pattern: str, why: str) -> GraphError:
    return GraphError(
        f"cannot read the pattern {pattern!r}: {why}",
        expected='axis words, "...", and in rearrange "(H K)"',
        got=pattern,
        fix='write it like "B S D, D F -> B S F" or "... (H K) -> ... H K"',
    )
