"""A statement on the way to a certificate: what it declares, assumes and says, and a box to search in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from sympy import Max, Min

from symacct import kernel
from symacct.algebra.budget import check_time
from symacct.algebra.condition import Condition
from symacct.algebra.evaluate import names_of
from symacct.algebra.normal import normal
from symacct.algebra.symbols import symbol
from symacct.kernel.rules import establish
from symacct.proof.anchors import anchors, counts_in
from symacct.proof.apart import points_of
from symacct.proof.prefix import Prefix, number, to_prefix
from symacct.proof.sizes import made
from symacct.proof.witness import Finder, Words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sympy import Expr

    from symacct.kernel import Box

Certificate = dict[str, Any]
Proof = dict[str, Any]
MOST_POINTS, TRIED = 4_000, 40


class Least(NamedTuple):
    """A variable as it is declared: an integer of at least `least`, or a real number, above it perhaps.

    A real number without any bound has `least` None.
    """

    least: int | None
    real: bool = False
    above: bool = False

    @property
    def said(self) -> Any:
        """The declaration as the kernel reads it."""
        if not self.real:
            return str(self.least)
        bound = {} if self.least is None else {"least": str(self.least)}
        return {"real": True, **bound, **({"above": True} if self.above else {})}


class Rest(NamedTuple):
    """A derived formula that a claim rests on, as what the derivation says.

    Attributes:
        quantity: its name: ``flops.model``.
        graph: the graph's name.
        fingerprint: the graph's fingerprint.
        formula: the formula.
        sizes: the free sizes of the graph, any of which may grow.
    """

    quantity: str
    graph: str
    fingerprint: str
    formula: Expr
    sizes: tuple[str, ...] = ()

    @property
    def said(self) -> dict[str, Any]:
        """The record as the kernel reads it."""
        return {
            "quantity": self.quantity, "graph": self.graph, "fingerprint": self.fingerprint,
            "formula": to_prefix(normal(self.formula)), "sizes": list(self.sizes),
        }  # fmt: skip


POSITIVE = Least(0, real=True, above=True)
Bounds = Mapping[str, int | Least] | int


LOOK = 5000


class _Timed(kernel.Meter):
    """The kernel's meter, which looks at the clock every so often as a proof is searched for."""

    def __init__(self) -> None:
        """Start at 0."""
        super().__init__()
        self.seen = 0

    def spend(self, work: int) -> None:
        """Count work, and stop where the time is used up."""
        super().spend(work)
        if self.work - self.seen > LOOK:
            self.seen = self.work
            check_time()


@dataclass(frozen=True)
class Case:
    """One claim in its context: variables, hypotheses by name, and what is said of two formulas.

    Attributes:
        left: the left side.
        relation: ``=``, an inequality, ``~``, ``O``, ``Theta`` or ``limit``.
        right: the right side.
        variables: what is declared.
        hypotheses: the conditions by name.
        growing: what grows.
        hints: formulas whose squares may help.
        refuted: whether the claim is to be refuted.
        rests: what the derivation says, on which the claim rests.
        counts: the factorials and binomials in it.
        factorials: whether its binomials are written in factorials.
    """

    left: Expr
    relation: str
    right: Expr
    variables: Mapping[str, Least]
    hypotheses: Mapping[str, Condition] = field(default_factory=dict)
    growing: tuple[str, ...] = ()
    hints: tuple[Expr, ...] = ()
    refuted: bool = False
    rests: tuple[Rest, ...] = ()
    counts: tuple[Expr, ...] = ()
    factorials: bool = False

    @property
    def said(self) -> dict[str, Any]:
        """The claim as the kernel reads it."""
        sides = {"relation": self.relation, "left": to_prefix(self.left), "right": to_prefix(self.right)}
        return {**sides, "growing": list(self.growing)} if self.growing else sides

    def under(self, left: Expr, relation: str, right: Expr, **more: Condition) -> Case:
        """Return another claim in the same context, with further hypotheses."""
        hypotheses = {**self.hypotheses, **{name: turned(one) for name, one in more.items()}}
        return replace(
            self, left=normal(left), relation=relation, right=normal(right), hypotheses=hypotheses,
            growing=(), refuted=False,
        )  # fmt: skip

    def without(self, name: str) -> Case:
        """Return the claim without a variable and what names it."""
        kept = {key: one for key, one in self.hypotheses.items() if name not in one.names}
        return replace(
            self, variables={n: one for n, one in self.variables.items() if n != name}, hypotheses=kept
        )

    def declared(self, name: str, least: Least) -> Case:
        """Return the claim with one more variable."""
        return replace(self, variables={**self.variables, name: least})

    # ---- the kernel's view ----

    def context(self) -> kernel.Context:
        """Return the kernel's context."""
        variables = {name: kernel.Variable(*one) for name, one in self.variables.items()}
        free = frozenset(name for one in self.rests for name in one.sizes)
        given = {one["name"]: one for one in self.given()}
        offered = self.offered()
        return kernel.Context(
            variables, given, free=free, meter=_Timed(), anchors=offered.get("anchors", []),
            factorials="factorials" in offered,
        )  # fmt: skip

    def offered(self) -> dict[str, Any]:
        """Return how a proof says in what factorials and binomials are written."""
        found = anchors(self.counts, factorials=self.factorials) if self.counts else []
        said: dict[str, Any] = {"anchors": [to_prefix(one) for one in found]} if found else {}
        return {**said, "factorials": "1"} if self.factorials else said

    def given(self) -> list[dict[str, Any]]:
        """Return the hypotheses as the kernel reads them."""
        return [
            {"name": name, "kind": c.kind, "left": to_prefix(c.left), "right": to_prefix(c.right)}
            for name, c in self.hypotheses.items()
        ]

    def proved(self, proof: Proof) -> Proof | None:
        """Return a proof if the kernel accepts it in this context."""
        try:
            establish(kernel.Claim(self.context(), self.said, proof, refuted=self.refuted))
        except kernel.Refused:
            return None
        return proof

    def box(
        self, uses: Mapping[str, str], starts: Mapping[str, Prefix] | None = None
    ) -> tuple[Box, Finder] | None:
        """Return the kernel's own box for these hypotheses, and a finder in it."""
        start = {} if starts is None else dict(starts)
        try:
            claim = kernel.Claim(self.context(), self.said, {"rule": "", "uses": dict(uses), "from": start})
        except kernel.Refused:
            return None
        open_ = {
            kernel.OPEN.format(name): to_prefix(c.right / c.left if c.kind == "divides" else c.left - c.right)
            for name, c in self.hypotheses.items()
        }
        points = points_of(
            self.some(), {name: word for name, word in open_.items() if name in claim.box.lower}
        )
        words = Words(claim.box, open_)
        for side in ("left", "right"):
            words.keep(self.said[side])
        return claim.box, Finder(claim.box, words, [to_prefix(one) for one in self.hints], points)

    def some(self) -> list[dict[str, int]]:
        """Return a few sizes that satisfy all hypotheses."""
        lower = {name: (one.least or 0) + one.above for name, one in self.variables.items()}
        return list(
            islice(made(list(self.variables), lower, list(self.hypotheses.values())).valid(400), TRIED)
        )

    # ---- how hypotheses can be used ----

    def ways(self) -> list[dict[str, str]]:
        """Return which hypotheses to use, and how: none, those that can be, and all as facts."""
        uses = self.usable()
        found = [{}, uses]
        if any(side.has(Max, Min) for side in (self.left, self.right)):  # seldom decided without them
            found = [uses, {}]
        if any(one.kind == "equal" for one in self.hypotheses.values()):
            found.append(self.facts())
        if self.hints:  # a least value by a square: nothing is put in for what is under its root
            found = [{n: "fact" for n, one in self.hypotheses.items() if one.kind != "divides"}, *found]
        return [one for n, one in enumerate(found) if one not in found[:n]]

    def facts(self) -> dict[str, str]:
        """Return each hypothesis as a fact, or as a bound, or as a definition where it says what divides."""
        usable = self.usable()
        return {
            name: way if way == "bound" or self.hypotheses[name].kind == "divides" else "fact"
            for name, way in usable.items()
        }

    def usable(self) -> dict[str, str]:
        """Return how each hypothesis can be used: as a bound, a definition, or a fact."""
        ways: dict[str, str] = {}
        bounded, defined = set(self.growing), dict[str, set[str]]()
        for name, c in self.hypotheses.items():
            if c.kind in {"at_least", "above"} and c.left.is_Symbol and c.right.is_Integer:
                ways[name] = "bound"
                bounded.add(c.left.name)
        order = sorted(self.hypotheses.items(), key=lambda pair: pair[1].kind != "equal")
        for name, c in order:
            if name in ways:
                continue
            target, source = (c.right, c.left) if c.kind == "divides" else (c.left, c.right)
            inside = set(names_of(source))
            reached = inside | {deep for one in inside for deep in defined.get(one, set())}
            plain = target.is_Symbol and target.name not in bounded and target.name not in defined
            if plain and target.name not in reached:
                ways[name] = "substitution"
                defined[target.name] = reached
                for one, deep in defined.items():
                    if target.name in deep:
                        defined[one] = deep | reached
            elif c.kind != "divides":
                ways[name] = "fact"
        return ways

    def first(self, way: Callable[[Case, dict[str, str]], Proof | None]) -> Proof | None:
        """Return the first proof of a way, over the ways to use hypotheses."""
        for uses in self.ways():
            try:
                if found := way(self, uses):
                    return found
            except kernel.Refused:  # a search that takes more work than the kernel allows
                continue
        return None

    # ---- the whole certificate ----

    def certificate(
        self,
        proof: Proof | None,
        statement: dict[str, Any] | None = None,
        example: Mapping[str, Prefix] | None = None,
    ) -> Certificate | None:
        """Return the certificate if the kernel accepts it."""
        if proof is None:
            return None
        said = self.said if statement is None else statement
        said = {"relation": "refuted", "claim": said} if self.refuted else said
        said |= {"rests": [one.said for one in self.rests]} if self.rests else {}
        if (self.hypotheses or "where" in said) and proof["rule"] not in {"point", "lower", "missed"}:
            proof = {**proof, "example": dict(example or self.example())}
        proof = {**proof, **self.offered()}
        made_ = seal(
            {
                "format": kernel.FORMAT,
                "statement": said,
                "variables": {name: one.said for name, one in self.variables.items()},
                "hypotheses": self.given(),
                "proof": proof,
            }
        )
        return made_ if accepted(made_) else None

    def example(self) -> dict[str, Prefix]:
        """Return sizes that satisfy all hypotheses, or nothing where a short search finds none."""
        return next(self.examples(), {})

    def examples(self, most: int = 1) -> Iterator[dict[str, Prefix]]:
        """Yield sizes that satisfy all hypotheses; real numbers are tried as integers, and as halves."""
        lower = {name: (one.least or 0) + one.above for name, one in self.variables.items()}
        conditions = list(self.hypotheses.values())
        space = made(list(self.variables), lower, conditions)
        for found in islice(space.valid(MOST_POINTS), most):
            yield {name: str(found[name]) for name in self.variables}
        if any(one.real for one in self.variables.values()):
            yield from islice(self._fractions(lower, conditions), most)

    def _fractions(
        self, lower: Mapping[str, int], conditions: list[Condition]
    ) -> Iterator[dict[str, Prefix]]:
        space = made(list(self.variables), lower, ())
        for found in space.valid(400):
            for parts in (2, 3, 10):
                real = {
                    name: Fraction(size, parts) if self.variables[name].real else Fraction(size)
                    for name, size in found.items()
                }
                fits = all(v > (one.least or 0) for n, v in real.items() if (one := self.variables[n]).above)
                if fits and all(one.holds(real) for one in conditions):
                    yield {name: number(value) for name, value in real.items()}


def made_case(
    left: Expr,
    relation: str,
    right: Expr,
    bounds: Bounds = 1,
    hypotheses: Sequence[Condition] = (),
    growing: Sequence[str] = (),
    *,
    also: Sequence[Expr] = (),
    refuted: bool = False,
    rests: Sequence[Rest] = (),
) -> Case:
    """Return a case about everything that is named in it."""
    used = {name for side in (left, right, *also) for name in names_of(side)} | set(growing)
    used |= {name for one in hypotheses for name in one.names}
    given = {} if isinstance(bounds, int) else dict(bounds)
    default = bounds if isinstance(bounds, int) else 1
    variables = {name: _least(given.get(name, default)) for name in sorted(used)}
    freed = [_freed(turned(one), growing) for one in hypotheses]
    named = {f"h{n}": one for n, one in enumerate(freed, 1)}
    return Case(
        normal(left),
        relation,
        normal(right),
        variables,
        named,
        tuple(growing),
        refuted=refuted,
        rests=tuple(rests),
        counts=counts_in([left, right, *also, *(side for one in freed for side in (one.left, one.right))]),
    )


def _least(one: int | Least) -> Least:
    return one if isinstance(one, Least) else Least(one)


def _freed(condition: Condition, growing: Sequence[str]) -> Condition:
    """Return ``D = 2*F + 1``, where D grows, as ``F = (D - 1)/2``: what grows is not put in."""
    left, names = condition.left, names_of(condition.right)
    grows = condition.kind == "equal" and left.is_Symbol and left.name in growing
    if not grows or len(names) != 1 or names[0] in growing:
        return condition
    other = symbol(names[0])
    slope = normal(condition.right.diff(other))
    if not slope.is_Rational or slope == 0:
        return condition
    return Condition("equal", other, (left - condition.right + slope * other) / slope)


def turned(condition: Condition) -> Condition:
    """Return an equation with a bare name on its left, where it has one on its right."""
    turn = condition.kind == "equal" and not condition.left.is_Symbol and condition.right.is_Symbol
    return Condition("equal", condition.right, condition.left) if turn else condition


def seal(certificate: Certificate) -> Certificate:
    """Return the certificate with the digest of its statement, bounds, hypotheses and ledger."""
    return {**certificate, "digest": kernel.digest(certificate)}


def accepted(certificate: Certificate) -> bool:
    """Say whether the kernel accepts a certificate."""
    try:
        kernel.check(certificate)
    except kernel.Refused:
        return False
    return True
