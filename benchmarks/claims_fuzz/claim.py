"""A claim as the fuzzer holds it, and how it is printed."""

from __future__ import annotations

from dataclasses import dataclass, field

from .trees import names, quantities, replace, text, var

SIGNS = {
    "latex": {"<=": "\\le", ">=": "\\ge", "~": "\\sim", "=": "=", "<": "<", ">": ">"},
    "unicode": {"<=": "≤", ">=": "≥"},
}


@dataclass(frozen=True)
class Condition:
    """``left sign right``; ``|`` says that left divides right. `assume` says it on the command line."""

    left: tuple
    sign: str
    right: tuple
    assume: bool = False

    def text(self):
        """Print it."""
        return f"{text(self.left)} {self.sign} {text(self.right)}"


@dataclass(frozen=True)
class Claim:
    """A claim: a relation, one as sizes grow, a threshold, a minimum or a limit.

    `made` is true where it was made true, false where it was spoiled, None where nothing is known.
    """

    kind: str
    form: str
    left: tuple
    sign: str
    right: tuple
    conditions: tuple = ()
    grows: tuple = ()
    grow_option: bool = False
    name: str = ""
    threshold: tuple = ()
    percent: object = None
    binds: tuple = ()
    graph: str = ""
    policy: tuple = ()
    at: tuple = ()
    style: str = ""
    units: tuple = ("", "")
    unit_form: str = ""
    made: object = None
    may_refuse: bool = False
    twist: str = ""
    extra: dict = field(default_factory=dict, compare=False)

    @property
    def names(self):
        """The sizes that the claim names, what varies in a minimum left out."""
        found = names(self.left) | names(self.right)
        for one in self.conditions:
            found |= names(one.left) | names(one.right)
        if self.form == "iff":
            found |= {self.threshold[0]} | names(self.threshold[2])
        return tuple(sorted(found - ({self.name} if self.form in ("min", "argmin", "lim") else set())))

    @property
    def is_whole(self):
        """Whether every name of a condition, and all that grows or varies, stands in the sides too."""
        sides = (
            names(self.left) | names(self.right) | (set(self.threshold[:1]) if self.form == "iff" else set())
        )
        if self.graph:
            return self.form != "iff" or bool(sides)
        used = set(self.grows)
        for one in self.conditions:
            used |= names(one.left) | names(one.right)
        varies = {self.name} if self.name else set()
        return used <= sides | varies and varies <= names(self.left) and not varies & names(self.right)

    @property
    def quantities(self):
        """The quantities that the claim names."""
        return quantities(self.left) | quantities(self.right)

    @property
    def options(self):
        """The named arguments of prove."""
        found = {"assume": tuple(one.text() for one in self.conditions if one.assume)}
        if self.grow_option and self.grows:
            found["grow"] = self.grows
        if self.at:
            found["sizes"] = dict(self.at)
        return {key: value for key, value in found.items() if value}

    def text(self):
        """Print the claim."""
        left, right = self._side(self.left), self._side(self.right)
        shown = self._stated(left, right)
        inside = [self._bound(one).text() for one in self.conditions if not one.assume]
        shown += f" if {', '.join(inside)}" if inside else ""
        if self.binds:
            shown += " where " + ", ".join(f"{name} = {text(tree)}" for name, tree in self.binds)
        if self.grows and not self.grow_option:
            shown += f" as {', '.join(self.grows)} -> oo"
        return f"${shown}$" if self.style == "latex" and not (inside or self.binds or self.grows) else shown

    def _bound(self, one):
        """Return a condition with the names that `where` binds."""
        left, right = one.left, one.right
        for name, tree in self.binds:
            left, right = replace(left, tree, var(name)), replace(right, tree, var(name))
        return Condition(left, one.sign, right)

    def _side(self, tree):
        style = self.style
        unit = self.units[0 if tree is self.left else 1]
        for name, bound in self.binds:
            tree = replace(tree, bound, var(name))
        shown = text(tree, style)
        if not unit:
            return shown
        if self.unit_form == "times" and style != "latex":
            return f"({shown})*1 {unit}"
        if style == "latex":
            return f"({shown})\\,\\mathrm{{{unit}}}"
        return f"({shown}) {unit}" if tree[0] != "num" else f"{shown} {unit}"

    def _stated(self, left, right):
        sign = SIGNS.get(self.style, {}).get(self.sign, self.sign)
        if self.form == "asymptotic" and self.sign in ("O", "Theta"):
            return f"{left} = {self.sign}({right})"
        if self.form in ("min", "argmin") and self.left[0] == "quantity":
            return f"{self.form}_{self.name} {left} = {right}"
        if self.form in ("min", "argmin"):
            return f"{self.form}_{self.name}({left}) = {right}"
        if self.form == "lim":
            return f"lim_{self.name}({left}) = {right}"
        if self.form == "within":
            return f"{left} ≈ {right} within {self.percent} %"
        shown = f"{left} {sign} {right}"
        if self.form == "iff":
            name, relation, bound = self.threshold
            shown += f" iff {name} {relation} {text(bound)}"
        return shown
