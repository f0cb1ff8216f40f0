"""A claim in its context: what is declared, what is assumed, and the proof that is offered for it.

The claim is about all values of the declared variables at which the hypotheses hold. Rules that split a
claim make claims of the parts (`Claim.under`), with more variables, more hypotheses, or fewer of them; each
says why its parts are enough. All parts of one certificate share one meter.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from . import growth, hypotheses
from .box import Box, Variable
from .counts import check_anchor
from .form import canonical, check_form, integer, is_name, items, keys, known, mapping, short, variables
from .form import field as entry
from .refusal import MOST_ANCHORS, Meter, need

if TYPE_CHECKING:
    from .poly import Ratio

RELATIONS, LIMITS = ("=", "<=", ">=", "<", ">"), ("~", "O", "Theta", "limit")
MINIMA = ("min", "argmin")
KEYS = {
    **{one: frozenset({"left", "right"}) for one in RELATIONS},
    **{one: frozenset({"left", "right", "growing"}) for one in LIMITS},
    **{one: frozenset({"left", "right", "over"}) for one in MINIMA},
    "iff": frozenset({"first", "second"}),
    "all": frozenset({"claims"}),
    "whole": frozenset({"left"}),
}
STATED = {"text", "read", "rests"}


@dataclass
class Context:
    """What a claim stands in.

    Attributes:
        variables: what is declared.
        hypotheses: what is assumed, by name.
        closed: closed forms of sums.
        anchors: factorials and binomials in which others are written.
        factorials: whether binomials are written in factorials.
        free: sizes that a derivation says are free in a graph that the statement rests on.
        meter: the work so far.
    """

    variables: dict[str, Variable]
    hypotheses: dict[str, Any] = field(default_factory=dict)
    closed: dict[str, Any] = field(default_factory=dict)
    anchors: list[Any] = field(default_factory=list)
    factorials: bool = False
    free: frozenset[str] = frozenset()
    meter: Meter = field(default_factory=Meter)


class Claim:
    """A relation under its hypotheses, with the box in which its proof is checked."""

    def __init__(self, context: Context, said: Any, proof: Any, *, refuted: bool = False) -> None:
        """Read what is said and put the hypotheses that the proof names to use."""
        context.meter.part()
        self.context, self.said, self.proof, self.refuted = context, said, mapping(proof), refuted
        context.meter.spend(len(context.hypotheses) + check_said(said))
        self.relation: str = said["relation"]
        self.variables, self.hypotheses = context.variables, context.hypotheses
        self.growing = items(said["growing"]) if self.relation in LIMITS else []
        need(self.growing or self.relation not in LIMITS, "nothing grows")
        for name in self.growing:
            known(self.variables, name, "declared size")
        self.uses = mapping(entry(self.proof, "uses"))
        need(set(self.uses) <= set(self.hypotheses), "the proof uses a hypothesis that is not stated")
        self.box = Box(self.variables, context.meter)
        self.box.closed = context.closed
        self.box.anchors, self.box.factorials = context.anchors, context.factorials
        self.box.moving = set(self.growing)
        hypotheses.starts(self)
        hypotheses.put_to_use(self)
        if self.growing:
            growth.check(self)

    @property
    def left(self) -> Ratio:
        """The left side."""
        return self.box.read(self.said["left"])

    @property
    def right(self) -> Ratio:
        """The right side."""
        return self.box.read(self.said["right"])

    def fixed(self, key: str) -> Ratio:
        """Return a constant of the proof, which must not depend on what grows."""
        value = self.box.read(entry(self.proof, key))
        need(not self.box.names_in(value) & self.box.moving, f"the {key} depends on what grows")
        return value

    def fixed_side(self) -> Ratio:
        """Return the right side of a limit, which must not depend on what grows."""
        value = self.right
        need(not self.box.names_in(value) & self.box.moving, "the limit depends on what grows")
        return value

    def under(
        self,
        said: Any,
        proof: Any,
        *,
        more: list[dict[str, Any]] | None = None,
        declared: dict[str, Variable] | None = None,
        without: str = "",
    ) -> Claim:
        """Return a part: more hypotheses and variables, or without one variable and what names it."""
        names = {**self.variables, **(declared or {})}
        names.pop(without, None)
        given = {
            name: one
            for name, one in self.hypotheses.items()
            if not without or without not in variables([one["left"], one["right"]])
        }
        for one in more or []:
            need(is_name(one["name"]) and one["name"] not in given, f"{short(one['name'])} is no new name")
            given[one["name"]] = one
        context = replace(self.context, variables=names, hypotheses=given)
        return Claim(context, said, proof)


def check_said(said: Any) -> int:
    """Return how long a statement is; refuse what is none of a known form."""
    relation = entry(said, "relation")
    need(isinstance(relation, str) and relation in KEYS, f"no such relation: {short(relation)}")
    keys(said, {"relation", *KEYS[relation]}, {"where"} if relation == "argmin" else set())
    size = sum(check_form(said[side]) for side in ("left", "right") if side in said)
    parts = [said[key] for key in ("first", "second") if key in said]
    for part in [*parts, *items(said.get("claims", []))]:
        size += check_said(part)
        need(part["relation"] in RELATIONS or not parts, "iff is between comparisons")
        need(part["relation"] != "whole", "this is no statement by itself")
    return size


def context_of(data: dict[str, Any]) -> Context:
    """Return what a certificate declares and assumes."""
    declared = {name: variable(name, one) for name, one in mapping(data["variables"]).items()}
    context = Context(declared, free=free_sizes(mapping(data["statement"])))
    for one in items(data["hypotheses"]):
        keys(one, {"name", "kind", "left", "right"})
        fresh = is_name(one["name"]) and one["name"] not in context.hypotheses
        need(fresh, "a hypothesis has a name of its own")
        hypotheses.check_stated(one, context.variables)
        context.hypotheses[one["name"]] = one
    for one in items(mapping(data["proof"]).get("closed", [])):
        keys(one, {"sum", "form"})
        context.closed[canonical(one["sum"])] = one["form"]
    context.anchors = items(data["proof"].get("anchors", []))
    need(len(context.anchors) <= MOST_ANCHORS, "there are too many anchors")
    for one in context.anchors:
        check_anchor(one)
    need(data["proof"].get("factorials", "1") == "1", "factorials is 1 where it stands")
    context.factorials = "factorials" in data["proof"]
    return context


def free_sizes(statement: dict[str, Any]) -> frozenset[str]:
    """Return the free sizes of the graphs that a statement rests on; refuse what cannot be said of them."""
    found: set[str] = set()
    for one in items(statement.get("rests", [])):
        keys(one, {"quantity", "graph", "fingerprint", "formula", "sizes"})
        said = all(isinstance(one[key], str) for key in ("quantity", "graph", "fingerprint"))
        need(said and all(map(is_name, items(one["sizes"]))), "what a statement rests on is said in words")
        check_form(one["formula"])
        found |= set(one["sizes"])
    return frozenset(found)


def variable(name: Any, one: Any) -> Variable:
    """Return a declared variable: a bound alone declares an integer."""
    need(is_name(name), f"no name: {short(name)}")
    if isinstance(one, str):
        least = integer(one)
        need(least >= 0, "a size has a bound of at least 0")
        return Variable(least)
    keys(one, {"real"}, {"least", "above"})
    need(one["real"] is True and one.get("above", True) is True, "real and above are true where they stand")
    if "least" not in one:
        need("above" not in one, "nothing to be above of")
        return Variable(None, real=True)
    least = integer(one["least"])
    need(least >= 0, "a size has a bound of at least 0")
    return Variable(least, real=True, above="above" in one)
