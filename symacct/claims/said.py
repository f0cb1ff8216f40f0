"""A claim in full, on one line of the formula language: every ``*``, units, functions, what each name is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from symacct.claims.written import written
from symacct.errors import SymacctError
from symacct.syntax import parse, walk
from symacct.units import is_unit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from symacct.claims.claim import Binding, Claim
    from symacct.syntax import Tree

ORDERS = ("O", "Theta")
COMPARED = re.compile(r"<=|>=|=<|==|≤|≥|≦|≧|<|>|=|\||∣|(?<!\w)divides(?!\w)")
PLAIN = {"≤": "<=", "≦": "<=", "=<": "<=", "≥": ">=", "≧": ">=", "==": "=", "∣": "|", "divides": "|"}


def said(claim: Claim, conditions: Iterable[str] = (), *, head: str = "", iff: str = "") -> str:
    """Return a claim in full, as it may be typed: read again, with the same options, it is the same claim.

    What options bind (``--let``, a machine) is no part of it; `names_said` says it.

    Args:
        claim: the claim, read.
        conditions: what follows ``if``, each in full.
        head: ``min_k`` or the like, of which the left side is the formula.
        iff: the other half of a claim about a threshold, in full.

    >>> from symacct.claims import read_claim
    >>> names = ["params", "tokens", "flops.model"]
    >>> claim = read_claim("flops.model ~ 6ND where N = params, D = tokens as L -> oo", ["L"], names)
    >>> print(said(claim, ["L >= 2"]))
    flops.model ~ 6*N*D if L >= 2 where N = params, D = tokens as L -> oo
    """
    taken = names_of(claim)
    parts = [related(claim.left, claim.relation, claim.right, taken, head)]
    if claim.tolerance is not None:
        percent = claim.tolerance * 100
        parts.append(f"within {percent if percent.denominator == 1 else float(percent)} %")
    tails = {
        "iff ": [iff] if iff else [],
        "if ": list(conditions),
        "where ": [
            f"{one.name} = {written(one.tree, taken)}" for one in claim.where if one.text == claim.text
        ],
        "as ": [f"{', '.join(claim.grows)} -> oo"] if claim.grows else [],
    }
    parts += [f"{word}{', '.join(texts)}" for word, texts in tails.items() if texts]
    return " ".join(parts)


def names_of(claim: Claim) -> frozenset[str]:
    """Return every name of a claim: sizes, and what it binds."""
    return claim.names | {one.name for one in claim.where}


def related(left: Tree, relation: str, right: Tree, taken: Collection[str], head: str = "") -> str:
    """Return two formulas and what stands between them, in full.

    >>> print(related(parse("2BD", "BD"), "Theta", parse("B", "B"), ["B", "D"]))
    2*B*D = Theta(B)
    """
    first, second = written(left, taken), written(right, taken)
    first = f"{head}({first})" if head else first
    sign = "=" if relation == "within" else relation
    return f"{first} = {relation}({second})" if relation in ORDERS else f"{first} {sign} {second}"


def condition_said(text: str, taken: Collection[str]) -> str:
    """Return a condition in full; one that is no comparison of formulas alone stays as it was written.

    >>> condition_said("B >= 2kD", ["B", "k", "D"]), condition_said("k divides L", ["k", "L"])
    ('B >= 2*k*D', 'k | L')
    """
    found = COMPARED.search(text)
    if found is None:
        return text.strip()
    try:
        left, right = (parse(part, taken, is_unit) for part in (text[: found.start()], text[found.end() :]))
    except SymacctError:
        return text.strip()
    return f"{written(left, taken)} {PLAIN.get(found[0], found[0])} {written(right, taken)}"


def names_said(claim: Claim, meanings: Mapping[str, str], about: str) -> str:
    """Return what each name of a claim is, in the order in which they stand in it; names alike together.

    Args:
        claim: the claim.
        meanings: what sizes mean, by name.
        about: what the others are.

    >>> from symacct.claims import read_claim
    >>> claim = read_claim("2*n <= k + l + m where m = n", None, (), ["l = 2"])
    >>> print(names_said(claim, {"n": "rows"}, "sizes"))
    n: rows; k: sizes; l = 2
    """
    taken = names_of(claim)
    bound = [one for one in claim.where if not _of_itself(one)]
    groups: dict[str, list[str]] = {}
    used: dict[str, None] = {}
    for tree in (claim.left, claim.right, *(one.tree for one in claim.where)):
        used |= {part.name: None for part in walk(tree) if part.form == "name"}
    for name in used:
        if all(name != one.name for one in bound):
            groups.setdefault(meanings.get(name) or about, []).append(name)
    found = [f"{', '.join(names)}: {meaning}" for meaning, names in groups.items()]
    outside = [one for one in bound if one.text != claim.text and one.name in used]
    return "; ".join([*found, *(f"{one.name} = {written(one.tree, taken)}" for one in outside)])


def _of_itself(binding: Binding) -> bool:
    """Say whether a name is bound to itself with a unit, as symbols of a machine are."""
    return any(part.form == "name" and part.name == binding.name for part in walk(binding.tree))
