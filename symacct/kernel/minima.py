"""The rules ``least`` and ``only``, for ``min`` and ``argmin`` over one variable k of its declared kind.

The domain of k, at given sizes: values of its kind from its bound on at which all hypotheses hold. A place
k0 is a formula without k. That it lies in the domain is shown in ``holds``, without k and without the
hypotheses that name it, in this order: it is an integer, if k is one; it is at least the bound, or above
it; each hypothesis that names k holds with k0 in its place.

``least``, for min f = m: f >= m for all k of the domain (``bound``), k0 lies in it, and f at k0 is m
(``value``).
``only``, for argmin f = k0: k0 lies in the domain, and f is more than at k0 for all k of the domain above k0
(``above``, with the hypothesis ``apart``: k > k0) and for all below it (``below``, with k < k0).
With ``"where": "possible"`` argmin is claimed only where k0 lies in the domain, and nothing is to be shown of
that; the example then must have k = k0. What lies in the domain may be used: the hypotheses with k0 in the
place of k, named ``.._there``, and k0 >= bound, named ``least_there``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .form import items, known, replaced, variables
from .refusal import need
from .splits import hypothesis

if TYPE_CHECKING:
    from .claim import Claim

RELATION = {"equal": "=", "at_least": ">=", "above": ">"}


def domain_of(claim: Claim, place: Any) -> list[dict[str, Any]]:
    """Return what a place must satisfy to lie in the domain, as claims; the first may be that it is whole."""
    name = claim.said["over"]
    one = known(claim.variables, name, "declared variable")
    names = variables(place)
    need(name not in names, "the place depends on what varies")
    need(names <= set(claim.variables), "the place names what is not declared")
    asked: list[dict[str, Any]] = [] if one.real else [{"relation": "whole", "left": place}]
    asked += at_bound(claim, place)
    for given in naming(claim, name):
        left, right = (replaced(given[side], {name: place}) for side in ("left", "right"))
        if given["kind"] == "divides":
            asked.append({"relation": "whole", "left": ["/", right, left]})
        else:
            asked.append({"relation": RELATION[given["kind"]], "left": left, "right": right})
    return asked


def at_bound(claim: Claim, place: Any) -> list[dict[str, Any]]:
    """Return that a place is at least the declared bound of what varies, if it has one."""
    one = claim.variables[claim.said["over"]]
    if one.least is None:
        return []
    return [{"relation": ">" if one.above else ">=", "left": place, "right": str(one.least)}]


def naming(claim: Claim, name: str) -> list[dict[str, Any]]:
    """Return the hypotheses that name a variable."""
    return [one for one in claim.hypotheses.values() if name in variables([one["left"], one["right"]])]


def lies(claim: Claim, place: Any) -> None:
    """Refuse unless a place is shown to lie in the domain."""
    from .rules import establish

    asked, holds = domain_of(claim, place), items(claim.proof["holds"])
    need(len(asked) == len(holds), "the place is not shown to satisfy each condition")
    for said, proof in zip(asked, holds, strict=True):
        establish(claim.under(said, proof, without=claim.said["over"]))


def there(claim: Claim, place: Any) -> list[dict[str, Any]]:
    """Return as hypotheses what a place in the domain satisfies."""
    name = claim.said["over"]
    found = [hypothesis("least_there", said) for said in at_bound(claim, place)]
    for one in naming(claim, name):
        sides = {side: replaced(one[side], {name: place}) for side in ("left", "right")}
        found.append({**one, **sides, "name": f"{one['name']}_there"})
    return found


def by_least(claim: Claim) -> None:
    """No k gives less, and a place gives as much."""
    from .rules import establish

    need(claim.relation == "min" and not claim.refuted, "this proves a least value only")
    said, name = claim.said, claim.said["over"]
    need(name not in variables(said["right"]), "the least value depends on what varies")
    place = claim.proof["place"]
    lies(claim, place)
    bound = {"relation": ">=", "left": said["left"], "right": said["right"]}
    establish(claim.under(bound, claim.proof["bound"]))
    value = {"relation": "=", "left": replaced(said["left"], {name: place}), "right": said["right"]}
    establish(claim.under(value, claim.proof["value"], without=name))


def by_only(claim: Claim) -> None:
    """Every other k gives more."""
    from .rules import establish

    need(claim.relation == "argmin" and not claim.refuted, "this proves where a least value is only")
    said, name, place = claim.said, claim.said["over"], claim.said["right"]
    if "where" in said:
        need(
            said["where"] == "possible" and claim.proof["holds"] == [], "the place is assumed to be possible"
        )
        domain_of(claim, place)
    else:
        lies(claim, place)
    more = {"left": said["left"], "right": replaced(said["left"], {name: place}), "relation": ">"}
    for key, relation in (("above", ">"), ("below", "<")):
        apart = {"relation": relation, "left": ["var", name], "right": place}
        given = [hypothesis("apart", apart), *there(claim, place)]
        establish(claim.under(more, claim.proof[key], more=given))
