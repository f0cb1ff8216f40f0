"""Proofs of ``=`` and of inequalities, searched for in the kernel's own box."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sympy import Integer, Max, Min, ceiling, floor

from symacct.algebra.budget import check_time
from symacct.algebra.condition import Condition
from symacct.algebra.evaluate import names_of
from symacct.algebra.factorials import Binomial
from symacct.algebra.normal import normal
from symacct.algebra.sign import sign_on_box
from symacct.algebra.symbols import symbol
from symacct.proof.case import Least
from symacct.proof.compiled import compiled
from symacct.proof.linear import combination
from symacct.proof.prefix import number, to_prefix

if TYPE_CHECKING:
    from collections.abc import Callable

    from sympy import Expr

    from symacct.proof.case import Case, Proof

HOLDS: dict[str, Callable[[Fraction | int], bool]] = {
    "=": lambda gap: gap == 0,
    "<=": lambda gap: gap <= 0,
    ">=": lambda gap: gap >= 0,
    "<": lambda gap: gap < 0,
    ">": lambda gap: gap > 0,
}
QUOTIENT = "quotient"
MOST_MODULUS, DEEPEST, MOST_ATOMS = 6, 2, 2


def relation(case: Case, depth: int = 0) -> Proof | None:  # noqa: PLR0911 (a way each)
    """Return a proof of a relation, or None: by numbers, a hypothesis, a witness, or case by case."""
    check_time()
    if not plausible(case):
        return None
    if found := given(case):
        return found
    numbers = not names_of(case.left) and not names_of(case.right)
    if numbers and (found := case.proved({"rule": "numbers", "uses": {}})):
        return found
    ways = [identity, equal] if case.relation == "=" else [ordered]
    if case.relation == "=" and depth < DEEPEST and (found := case.first(identity) or residues(case, depth)):
        return found
    for way in ways:
        if found := case.first(way):
            return found
    if depth < DEEPEST:
        found = residues(case, depth) or (largest(case, depth) if case.hypotheses or depth else None)
        return found or beyond(case, depth)
    return None


def plausible(case: Case) -> bool:
    """Say whether a relation holds at a few points; what fails is not searched for."""
    value = compiled(case.left - case.right)
    for sizes in case.some():
        gap = value(sizes)
        if gap is not None and not HOLDS[case.relation](gap):
            return False
    return True


def identity(case: Case, uses: dict[str, str]) -> Proof | None:
    """Prove that both sides are the same fraction, or differ by multiples of what is 0."""
    if found := case.proved({"rule": "identity", "uses": uses}):
        return found
    if not any(case.hypotheses[name].kind == "equal" and way == "fact" for name, way in uses.items()):
        return None
    opened = case.box(uses)
    if opened is None:
        return None
    box, finder = opened
    gap = box.minus(box.read(case.said["left"]), box.read(case.said["right"]))
    terms = combination(finder, gap)
    return case.proved({"rule": "identity", "uses": uses, "multiples": terms}) if terms else None


def equal(case: Case, uses: dict[str, str]) -> Proof | None:
    """Prove that each side is at most the other."""
    opened = case.box(uses)
    if opened is None:
        return None
    box, finder = opened
    left, right = (box.read(case.said[side]) for side in ("left", "right"))
    below = finder.find(box.minus(right, left))
    above = finder.find(box.minus(left, right)) if below else None
    return case.proved({"rule": "both", "uses": uses, "below": below, "above": above}) if above else None


def ordered(case: Case, uses: dict[str, str]) -> Proof | None:
    """Prove an inequality by a witness."""
    opened = case.box(uses)
    if opened is None:
        return None
    box, finder = opened
    left, right = (box.read(case.said[side]) for side in ("left", "right"))
    gap = box.minus(right, left) if case.relation[0] == "<" else box.minus(left, right)
    witness = finder.find(gap, strict=case.relation in "<>")
    return case.proved({"rule": "nonnegative", "uses": uses, "witness": witness}) if witness else None


def given(case: Case) -> Proof | None:
    """Prove what is a hypothesis itself, up to a factor."""
    gap = case.left - case.right if case.relation[0] != "<" else case.right - case.left
    for name, one in case.hypotheses.items():
        if one.kind == "divides" or normal(one.left - one.right) == 0:
            continue
        ratio = normal(gap / (one.left - one.right))
        if ratio.is_Rational and ratio != 0:
            factor = number(Fraction(int(ratio.p), int(ratio.q)))
            if found := case.proved({"rule": "given", "uses": {}, "hypothesis": name, "factor": factor}):
                return found
    return None


def residues(case: Case, depth: int) -> Proof | None:
    """Prove it remainder by remainder, where a size over a number is rounded."""
    target = _rounded(case)
    if target is None:
        return None
    name, modulus = target
    least = case.variables[name].least
    if case.variables[name].real or least is None:
        return None
    quotient = next(fresh for n in range(100) if (fresh := f"{QUOTIENT}{n or ''}") not in case.variables)
    each: list[Any] = []
    for r in range(modulus):
        size = Condition("equal", symbol(name), modulus * symbol(quotient) + r)
        part = case.declared(quotient, Least(max(0, -(-(least - r) // modulus))))
        found = relation(
            part.under(case.left, case.relation, case.right, **{f"remainder_{quotient}": size}), depth + 1
        )
        if found is None:
            return None
        each.append(found)
    proof = {
        "rule": "residues", "uses": {}, "name": f"remainder_{quotient}", "of": name,
        "modulus": str(modulus), "quotient": quotient, "each": each,
    }  # fmt: skip
    return case.proved(proof)


def _rounded(case: Case) -> tuple[str, int] | None:
    """Return a size that is rounded after a division by a small number, and that number."""
    for side in (case.left, case.right):
        for atom in sorted(side.atoms(ceiling, floor), key=str):
            inside = normal(atom.args[0])
            for name in names_of(inside):
                slope = normal(inside.diff(symbol(name)))
                if slope.is_Rational and 1 < slope.q <= MOST_MODULUS and name in case.variables:
                    return name, int(slope.q)
    return None


def largest(case: Case, depth: int) -> Proof | None:
    """Prove it in two cases, where two operands of a max or min are compared."""
    atoms = [atom for side in (case.left, case.right) for atom in side.atoms(Max, Min)]
    if len(atoms) > MOST_ATOMS or any(len(atom.args) > 2 for atom in atoms):
        return None
    for side in (case.left, case.right):
        for atom in sorted(side.atoms(Max, Min), key=str):
            one, other = sorted(atom.args, key=str)[:2]
            found = by_comparing(case, one, other, f"case{depth}", depth)
            if found:
                return found
    return None


def beyond(case: Case, depth: int) -> Proof | None:
    """Prove it in two cases, where a binomial is 0 in one of them: where more is taken than there is."""
    for one in case.counts:
        gap = normal(one.args[0] - one.args[-1]) if isinstance(one, Binomial) else Integer(0)
        known = any(c.names == names_of(gap) for c in case.hypotheses.values())
        ahead = [free for free in sorted(gap.free_symbols, key=str) if normal(gap.diff(free)) == 1]
        if ahead and not known and sign_on_box(gap, 0)[0] == "mixed":
            return by_comparing(case, ahead[0], normal(ahead[0] - gap), f"taken{depth}", depth)
    return None


def by_comparing(case: Case, one: Expr, other: Expr, name: str, depth: int) -> Proof | None:
    """Prove it where one formula is at least another, and where it is less."""
    each = []
    for kind, left, right in (("at_least", one, other), ("above", other, one)):
        condition = Condition(kind, left, right)  # type: ignore[arg-type]
        part = case.under(case.left, case.relation, case.right, **{name: condition})
        found = relation(part, depth + 1)
        if found is None:
            return None
        each.append(found)
    sides = {"left": to_prefix(normal(one)), "right": to_prefix(normal(other))}
    return case.proved({"rule": "cases", "uses": {}, "name": name, **sides, "each": each})


def square(case: Case, root: Expr, name: str) -> Proof | None:
    """Prove ``left >= right`` where the difference is a square over a size."""
    opened = case.box({})
    if opened is None:
        return None
    box, finder = opened
    below = box.minus(*(box.read(case.said[side]) for side in ("left", "right")))[1]
    scale = finder.written(below)
    term = {"times": ["/", scale, ["var", name]], "factors": [{"square": to_prefix(root)}]}
    witness = {"kind": "sum", "scale": scale, "terms": [term]}
    return case.proved({"rule": "nonnegative", "uses": {}, "witness": witness})
