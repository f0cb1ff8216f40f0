"""What is known to be at least 0, to be multiplied and subtracted in a witness.

A square is at least 0. A hypothesis in use says so of its left side less its right side. A declared bound
says so of a variable less its bound. An atom has the facts of its operation (`roundings`, `logs`, `counts`).
Two
consecutive integers e - 1 and e have a product of at least 0, as no integer lies strictly between 0 and 1;
e must be seen to be an integer. `strict` is kept beside each: a fact that is more than 0, where the
hypothesis is strict, the variable is above its bound, or the rounding says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .counts import COUNTS, fact_of_count
from .form import field, integer, keys, known, operation
from .logs import fact_of_log
from .poly import Ratio, constant
from .refusal import need
from .roundings import fact_of

if TYPE_CHECKING:
    from .box import Box

KINDS = {"square", "hypothesis", "bound", "atom", "consecutive"}


def fact(box: Box, factor: Any) -> tuple[Ratio, bool]:
    """Return what is at least 0, and whether it is more than 0."""
    keys(factor, set(), {*KINDS, "side"})
    kinds = set(factor) - {"side"}
    need(len(kinds) == 1 and ("side" in factor) == (kinds == {"atom"}), "a factor says one thing")
    if "square" in factor:
        base = box.read(factor["square"])
        return box.product(base, base), False
    if "hypothesis" in factor:
        name = factor["hypothesis"]
        found: Ratio = known(box.facts, name, "inequality in use")
        return found, name in box.strict
    if "bound" in factor:
        return bound(box, factor["bound"])
    if "consecutive" in factor:
        value = box.read(factor["consecutive"])
        need(box.integral(value), "what has a consecutive integer is not seen to be an integer")
        return box.product(value, box.minus(value, constant(1))), False
    side = integer(field(factor, "side"))
    head = operation(factor["atom"])[0]
    rule = fact_of_log if head == "log" else fact_of_count if head in COUNTS else fact_of
    return rule(box, factor["atom"], side)


def bound(box: Box, name: Any) -> tuple[Ratio, bool]:
    """Return what a variable is above its declared bound."""
    one = known(box.declared, name, "declared size")
    need(one.least is not None, f"{name} has no bound")
    return box.minus(box.named(name), constant(one.least)), one.above
