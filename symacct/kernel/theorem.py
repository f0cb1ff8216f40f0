"""The theorem in words: what was proved, of which sizes, from what, and what was not checked.

Nothing here proves anything, but what it says is all that a reader sees: every part of the statement is said.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .form import mapping, short
from .hypotheses import SIGNS

if TYPE_CHECKING:
    from .box import Variable
    from .claim import Claim

LONGEST_TEXT = 2000
INDEPENDENT = ", each independently of the others"


def words(claim: Claim, stated: dict[str, Any], unchecked: list[str]) -> list[str]:
    """Return the theorem, what it stands on, and what was not checked."""
    lines = [("not always: " if claim.refuted else "") + sentence(claim.said)]
    lines += domain(claim.variables)
    strange = ((name, name.encode("ascii", "backslashreplace").decode()) for name in sorted(claim.variables))
    lines += [f"where {name} is written {code}" for name, code in strange if name != code]
    for name, one in claim.hypotheses.items():
        way = f"used as {claim.uses[name]}" if name in claim.uses else "not used by itself"
        lines.append(f"given {name}: {infix(one['left'])} {SIGNS[one['kind']]} {infix(one['right'])} ({way})")
    lines.append(by_rule(claim))
    for one in stated.get("rests", []):
        said = f"{short(one['quantity'])} of {short(one['graph'])} (fingerprint {short(one['fingerprint'])})"
        sizes = f" in the sizes {', '.join(one['sizes'])}" if one["sizes"] else ""
        lines.append(f"what the derivation says: {said} is {infix(one['formula'])}{sizes}")
    for key, what in (("read", "the claim as read"), ("text", "the text as typed")):
        if key in stated:
            unchecked = [*unchecked, f"{what}: {json.dumps(stated[key])[:LONGEST_TEXT]}"]
    return lines + [f"not checked: {what}" for what in unchecked]


def sentence(said: dict[str, Any]) -> str:
    """Return what is said, in words."""
    relation = said["relation"]
    if relation == "iff":
        return f"{sentence(said['first'])} if and only if {sentence(said['second'])}"
    if relation == "all":
        return "; ".join(map(sentence, said["claims"]))
    left, right = infix(said["left"]), infix(said["right"])
    if relation in {"min", "argmin"}:
        among = f" wherever that is one of these {said['over']}" if "where" in said else ""
        return f"{relation} over {said['over']} of {left} = {right}{among}"
    if "growing" not in said:
        return f"{left} {relation} {right}"
    apart = INDEPENDENT if len(said["growing"]) > 1 else ""
    grow = f" as {', '.join(said['growing'])} -> oo{apart}"
    if relation == "limit":
        return f"{left} tends to {right}{grow}"
    return (f"{left} is {relation}({right})" if relation != "~" else f"{left} ~ {right}") + grow


def domain(variables: dict[str, Variable]) -> list[str]:
    """Return which values the variables have."""
    lines = []
    for real, kind in ((False, "integers"), (True, "real numbers")):
        said = [bound(name, one) for name, one in sorted(variables.items()) if one.real == real]
        lines += [f"for all {kind} {', '.join(said)}"] if said else []
    return lines or ["there are no sizes in it"]


def bound(name: str, one: Variable) -> str:
    """Return a variable with its bound."""
    return name if one.least is None else f"{name} {'>' if one.above else '>='} {one.least}"


def by_rule(claim: Claim) -> str:
    """Return the rule, and the constants it showed."""
    proof = claim.proof
    const, least = (infix(proof.get(key, "1"), 1) for key in ("constant", "least"))
    factor = infix(proof.get("factor", "1"), 1)
    rate = " + ".join(f"1/{infix(one, 2)}" for one in proof.get("over", []))
    start = ", ".join(f"{g} >= {infix(low)}" for g, low in sorted(mapping(proof.get("from", {})).items()))
    lower = f", {'-' if 'turned' in proof else ''}left >= {least}*right" if "least" in proof else ""
    limit = claim.relation == "limit"
    tends = f"|left - {infix(proof.get('factor', claim.said.get('right', '1')), 1)}| <= {const}*({rate})"
    size = "-left" if "turned" in proof else "left"
    details = {
        "rate": tends if limit else f"|left/right - {factor}| <= {const}*({rate})",
        "constants": f"|left| <= {const}*|right|{lower}",
        "growth": f"{size} >= {const}/({rate})" if limit else f"{size} >= {const}*right/({rate})",
        "given": f"it is the hypothesis {proof.get('hypothesis')} itself, times {factor}",
    }
    for key, what in (("point", "false at"), ("lower", "less at"), ("missed", "not reached at")):
        at = ", ".join(f"{n} = {infix(v)}" for n, v in sorted(mapping(proof.get("point", {})).items()))
        details[key] = f"{what} {at}"
    detail = f": {details[proof['rule']]}" if proof["rule"] in details else ""
    return f"by the rule {proof['rule']}{detail}" + (f" for {start}" if start else "")


def infix(expr: Any, level: int = 0) -> str:
    """Return an expression that has been read as text; level 1 is for factors, 2 for divisors and bases."""
    if isinstance(expr, str):
        return f"({expr})" if expr.startswith("-") and level else expr
    head, *args = expr
    if head == "var":
        return str(args[0])
    if head == "sum":
        return f"sum({infix(args[3])}, {args[0]} = {infix(args[1])} .. {infix(args[2])} - 1)"
    if head == "+":
        text = " + ".join(map(infix, args)).replace("+ -", "- ")
    elif head == "*":
        first = infix(args[0], int(args[0][0] == "+"))
        text = "*".join([first, *(infix(arg, 2 if arg[0] == "/" else 1) for arg in args[1:])])
    elif head == "/":
        text = f"{infix(args[0], 1)}/{infix(args[1], 2)}"
    elif head == "^":
        text = f"{infix(args[0], 2)}^{args[1]}"
    else:
        return f"{head}({', '.join(map(infix, args))})"
    return f"({text})" if level > (head != "+") or (level and text.startswith("-")) else text
