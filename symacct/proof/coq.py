"""A certificate as a theorem for Coq 8.16, with its proof: a second opinion on the kernel.

The theorem is about real sizes of at least their bounds, which is more than the kernel's integers. An atom
is a real number with the facts that define it as premises, and the bound that the kernel gives it. Sums over
an index, ledgers, roots of anything but a size, logarithms, real variables, strict hypotheses, and rules that
split a claim or are about limits, minima and thresholds are left out: `None` then.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symacct import kernel
from symacct.kernel.facts import fact as fact_of
from symacct.kernel.limits import rates

if TYPE_CHECKING:
    from symacct.kernel import Claim, Monomial, Poly, Ratio

HEADER = r"""Require Import Reals Lra.
Open Scope R_scope.

Ltac pos := repeat first
  [ lra | apply Rplus_lt_le_0_compat | apply Rplus_le_le_0_compat | apply Rle_0_sqr
  | apply Rinv_0_lt_compat | apply Rmult_lt_0_compat | apply pow_lt | apply pow_le | apply Rmult_le_pos
  | (left; apply Rinv_0_lt_compat) ].
Ltac nonzero := repeat split; try (apply Rgt_not_eq; unfold Rgt); try lra; pos.

Lemma scaled v s t r : 0 < s -> 0 <= t -> v * s - t = r -> 0 <= r -> 0 <= v.
Proof. intros. apply (Rmult_le_reg_r s); lra. Qed.
Lemma scaled_lt v s t r : 0 < s -> 0 <= t -> v * s - t = r -> 0 < r -> 0 < v.
Proof. intros. apply (Rmult_lt_reg_r s); lra. Qed.
Lemma rate l r f b : 0 < r -> 0 <= b * r - (l - f * r) -> 0 <= b * r + (l - f * r) -> Rabs (l / r - f) <= b.
Proof.
  intros. replace (l / r - f) with ((l - f * r) * / r) by (field; lra).
  apply Rabs_le. split; apply (Rmult_le_reg_r r); auto; rewrite Rmult_assoc, Rinv_l; lra.
Qed.
Lemma bounded l b : 0 <= b - l -> 0 <= b + l -> Rabs l <= b.
Proof. intros. apply Rabs_le. lra. Qed.
"""

Text = str
SQUARE_ROOT = "sqrt"


def to_coq(certificate: dict[str, Any]) -> str | None:
    """Return a file for coqc, or None where the certificate says something that is left out.

    Raises:
        Refused: the kernel does not accept the certificate's statement or hypotheses.
    """
    try:
        return _File(kernel.claim_of(certificate)).text()
    except _Untold:
        return None


RULES = ("identity", "both", "nonnegative", "rate", "constants", "growth", "point")


def _told(claim: Claim) -> bool:
    """Say whether the statement and the rule of a claim are among what is translated."""
    proof = claim.proof
    plain = not any(one.real for one in claim.variables.values())
    plain = plain and all(one["kind"] != "above" for one in claim.hypotheses.values())
    starts = all(isinstance(low, str) for low in proof.get("from", {}).values())
    zeros = any(
        claim.hypotheses[name]["kind"] == "equal" and way == "fact" for name, way in claim.uses.items()
    )
    added = "multiples" in proof or "turned" in proof or zeros
    return plain and starts and not added and proof["rule"] in RULES and claim.relation in SAID


SAID = (*kernel.RELATIONS, "~", "O", "Theta")


class _Untold(Exception):  # noqa: N818 (no error, a limit of what is translated)
    """The certificate says something that is left out here."""


class _File:
    """One theorem on its way to Coq."""

    def __init__(self, claim: Claim) -> None:
        self.claim, self.box = claim, claim.box
        if not _told(claim):
            raise _Untold
        bounds = {name: one.least for name, one in claim.variables.items()}
        self.plain = {name: f"v{n}" for n, name in enumerate(bounds)}
        self.names = dict(self.plain)
        self.atoms: dict[str, str] = {}
        self.generators: dict[str, str] = {}
        self.premises: list[str] = [f"{low} <= {self.plain[name]}" for name, low in bounds.items()]
        self.variables = list(self.plain.values())
        self.steps: list[str] = []
        for name, way in claim.uses.items():
            self._hypothesis(name, way)
        for g, low in claim.proof.get("from", {}).items():
            self.premises.append(f"{low} <= {self.plain[g]}")
        for side in ("left", "right"):
            self._atoms_of(claim.said[side])
        self.generators |= {name: self.names[name] for name in bounds}

    # ---- statement ----

    def _hypothesis(self, name: str, way: str) -> None:
        one = self.claim.hypotheses[name]
        left, right = (self.say(one[side], self.plain) for side in ("left", "right"))
        if one["kind"] == "at_least":
            self.premises.append(f"{right} <= {left}")
            now = (self.say(one[side], self.names) for side in ("left", "right"))
            self.generators[f"what {name} leaves open"] = "({} - {})".format(*now)
        elif one["kind"] == "divides":
            quotient = f"q{name}"
            self.variables.append(quotient)
            self.premises += [f"1 <= {quotient}", f"{right} = {left} * {quotient}"]
            self.names[one["right"][1]] = f"({self.say(one['left'], self.names)} * {quotient})"
            self.generators[f"what {name} leaves open"] = quotient
        else:
            self.premises.append(f"{left} = {right}")
            if way == "substitution":
                self.names[one["left"][1]] = self.say(one["right"], self.names)
        if way == "substitution" and one["kind"] != "at_least":
            target = one["right"] if one["kind"] == "divides" else one["left"]
            self.steps.append(f"subst {self.plain[target[1]]}.")

    def _atoms_of(self, expr: Any) -> None:
        if isinstance(expr, str) or expr[0] == "var":
            return
        if expr[0] == "sum":
            raise _Untold
        for part in expr[1:]:
            self._atoms_of(part)
        if expr[0] not in {*kernel.EXTREMES, *kernel.ROUNDINGS, SQUARE_ROOT}:
            return
        key = kernel.canonical(expr)
        if key not in self.atoms:
            top = self.box.read(expr)[0]
            names = [g for m in top for g, _ in m] if len(top) == 1 else []
            if len(names) != 1 or "[" not in names[0]:
                raise _Untold
            self.atoms[key] = self.generators[names[0]] = f"a{len(self.atoms)}"
            self.variables.append(self.atoms[key])
            self._facts(expr, self.atoms[key], self.box.lower.get(names[0]))

    def _facts(self, expr: Any, atom: str, low: int | None) -> None:
        parts = [self.say(part, self.plain) for part in expr[1:]]
        if expr[0] == SQUARE_ROOT:
            if not kernel.is_variable(expr[1]) or expr[1][1] in self.box.value:
                raise _Untold
            self.premises += [f"0 <= {atom}", f"{parts[0]} = {atom} * {atom}"]
            self.names[expr[1][1]] = f"({atom} * {atom})"
            self.steps.append(f"subst {parts[0]}.")
        elif expr[0] in kernel.EXTREMES:
            pairs = [(part, atom) if expr[0] == "max" else (atom, part) for part in parts]
            self.premises += [f"{small} <= {large}" for small, large in pairs]
            self.premises.append("(" + " \\/ ".join(f"{atom} = {part}" for part in parts) + ")")
        else:
            small, large = (atom, parts[0]) if expr[0] == "floor" else (parts[0], atom)
            self.premises += [f"{small} <= {large}", f"{large} < {small} + 1"]
        if low is not None:
            self.premises.append(f"{low} <= {atom}")

    def text(self) -> str:
        """Return the whole file."""
        rule, proof = self.claim.proof["rule"], self.claim.proof
        left, right = (self.say(self.claim.said[side], self.plain) for side in ("left", "right"))
        goal = f"{left} {self.claim.relation} {right}"
        if rule == "point":
            return self._point(goal)
        if self.claim.growing and not self.box.sure(self.claim.right):
            raise _Untold
        if rule == "rate":
            factor = self.say(proof.get("factor", "1"), self.plain)
            constant = self.say(proof["constant"], self.plain)
            goal = f"Rabs ({left} / {right} - {factor}) <= {constant} * {self._rates()}"
        elif rule == "constants":
            goal = f"Rabs {left} <= {self.say(proof['constant'], self.plain)} * {right}"
            if "least" in proof:
                goal += f" /\\ {self.say(proof['least'], self.plain)} * {right} <= {left}"
        elif rule == "growth":
            goal = f"{self.say(proof['constant'], self.plain)} * {right} / {self._rates()} <= {left}"
        steps = [*self.steps, *getattr(self, f"_{rule}")()]
        return self._theorem(goal, ["intros.", *steps])

    def _theorem(self, goal: str, steps: list[str]) -> str:
        forall = f"forall {' '.join(self.variables)} : R, " if self.variables else ""
        said = " -> ".join([*self.premises, goal])
        names = ", ".join(f"{short} is {name}" for name, short in self.plain.items())
        lines = [HEADER, f"(* {names} *)".replace('"', ""), f"Theorem claim : {forall}{said}.", "Proof."]
        return "\n".join([*lines, *(f"  {step}" for step in steps), "Qed.", ""])

    def _rates(self) -> str:
        return "(" + " + ".join(f"1 / {self.say(one, self.plain)}" for one in self.claim.proof["over"]) + ")"

    # ---- proofs, one for each rule ----

    def _point(self, goal: str) -> str:
        if self.atoms or self.claim.hypotheses:
            raise _Untold
        values = [f"({self.claim.proof['point'][name]})" for name in self.plain]
        said = " -> ".join([*self.premises, goal])
        steps = [
            "intro H.",
            f"specialize (H {' '.join(values)}).",
            *["specialize (H ltac:(lra))."] * len(values),
        ]
        forall = f"forall {' '.join(self.variables)} : R, " if self.variables else ""
        text = f"Theorem claim : ~ ({forall}{said})."
        return "\n".join([HEADER, text, "Proof.", *(f"  {step}" for step in [*steps, "lra."]), "Qed.", ""])

    def _identity(self) -> list[str]:
        return ["field; nonzero."] if self._divides() else ["ring."]

    def _divides(self) -> bool:
        return any("/" in str(self.claim.said[side]) for side in ("left", "right")) or bool(self.steps)

    def _both(self) -> list[str]:
        one, two = (
            self.box.minus(self.claim.right, self.claim.left),
            self.box.minus(self.claim.left, self.claim.right),
        )
        proof = self.claim.proof
        return [
            "apply Rle_antisym; apply Rminus_le; apply Ropp_le_cancel; rewrite Ropp_0.",
            *self._block(self._prove(one, proof["below"])), *self._block(self._prove(two, proof["above"])),
        ]  # fmt: skip

    def _nonnegative(self) -> list[str]:
        strict = self.claim.relation in "<>"
        sides = (self.claim.right, self.claim.left)
        gap = self.box.minus(*(sides if self.claim.relation[0] == "<" else sides[::-1]))
        kind = "lt" if strict else "le"
        first = (
            "" if self.claim.relation[0] == "<" else ("apply Rle_ge; " if not strict else "apply Rlt_gt; ")
        )
        opening = f"{first}apply Rminus_{kind}; apply Ropp_{kind}_cancel; rewrite Ropp_0."
        if strict:
            opening = f"{first}apply Rminus_lt; apply Ropp_lt_cancel; rewrite Ropp_0."
        return [opening, *self._prove(gap, self.claim.proof["witness"], strict=strict)]

    def _rate(self) -> list[str]:
        claim, box = self.claim, self.box
        room = box.product(box.product(claim.fixed("constant"), rates(claim)), claim.right)
        factor = box.read(claim.proof.get("factor", "1"))
        gap = box.minus(claim.left, box.product(factor, claim.right))
        return [
            "apply rate.",
            *self._block(self._prove(claim.right, {"kind": "shift"}, strict=True)),
            *self._block(self._prove(box.minus(room, gap), claim.proof["below"])),
            *self._block(self._prove(box.plus(room, gap), claim.proof["above"])),
        ]

    def _constants(self) -> list[str]:
        claim, box = self.claim, self.box
        room = box.product(claim.fixed("constant"), claim.right)
        steps = [
            "apply bounded.",
            *self._block(self._prove(box.minus(room, claim.left), claim.proof["below"])),
            *self._block(self._prove(box.plus(room, claim.left), claim.proof["above"])),
        ]
        if "least" not in claim.proof:
            return steps
        under = box.minus(claim.left, box.product(claim.fixed("least"), claim.right))
        second = self._prove(under, claim.proof["witness"])
        opening = "apply Rminus_le; apply Ropp_le_cancel; rewrite Ropp_0."
        return ["split.", *self._block(steps), *self._block([opening, *second])]

    def _growth(self) -> list[str]:
        claim, box = self.claim, self.box
        under = box.over(box.product(claim.fixed("constant"), claim.right), rates(claim))
        opening = "apply Rminus_le; apply Ropp_le_cancel; rewrite Ropp_0."
        return [opening, *self._prove(box.minus(claim.left, under), claim.proof["witness"])]

    def _block(self, steps: list[str]) -> list[str]:
        return ["{", *(f"  {step}" for step in steps), "}"]

    def _prove(self, value: Ratio, witness: dict[str, Any], *, strict: bool = False) -> list[str]:
        """Return the steps for ``0 <= value``: v*s - t = r with s > 0, t >= 0 and r >= 0 in shifted form."""
        if witness["kind"] == "cases":
            return self._cases(value, witness, strict=strict)
        if witness["kind"] == "whole" or "equal" in witness:
            raise _Untold
        scale = self.box.read(witness.get("scale", "1"))
        rest, terms = self.box.product(value, scale), []
        for term in witness.get("terms", []):
            weight = self.box.read(term.get("times", "1"))
            worth, texts = weight, [self.shifted(weight)]
            for factor in term["factors"]:
                fact, _ = fact_of(self.box, factor)
                worth = self.box.product(worth, fact)
                texts.append(self._factor(factor, fact))
            rest = self.box.minus(rest, worth)
            terms.append(" * ".join(texts))
        total = " + ".join(terms) or "0"
        lemma = "scaled_lt" if strict else "scaled"
        if "rest" in witness:
            return [
                f"apply ({lemma} _ {self.shifted(scale)} ({total}) {self.raw(rest)}).",
                "{ pos. }", "{ pos. }", "{ field; nonzero. }",
                *self._block(self._prove(rest, witness["rest"], strict=strict)),
            ]  # fmt: skip
        if strict and not self.box.sure(rest, strict=True):
            raise _Untold
        return [
            f"apply ({lemma} _ {self.shifted(scale)} ({total}) {self.shifted(rest)}).",
            "{ pos. }", "{ pos. }", "{ field; nonzero. }", "{ pos. }",
        ]  # fmt: skip

    def _factor(self, factor: dict[str, Any], fact: Ratio) -> str:
        if "square" in factor:
            base = self.raw(self.box.read(factor["square"]))
            return f"({base} * {base})"
        if "atom" in factor:
            atom, inside = self.atoms.get(kernel.canonical(factor["atom"])), factor["atom"][1:]
            if atom is None:
                raise _Untold
            head, side = factor["atom"][0], int(factor["side"])
            part = self.say(inside[side if head in kernel.EXTREMES else 0], self.names)
            gap = f"({atom} - {part})" if head in {"max", "ceil"} else f"({part} - {atom})"
            return f"(1 - {gap})" if head in kernel.ROUNDINGS and side else gap
        return self.raw(fact)

    def _cases(self, value: Ratio, witness: dict[str, Any], *, strict: bool) -> list[str]:
        atom = self.atoms.get(kernel.canonical(witness["atom"]))
        if atom is None:
            raise _Untold
        ((monomial, _),) = self.box.read(witness["atom"])[0].items()
        name, operands = monomial[0][0], witness["atom"][1:]
        pattern = "E"
        for _ in operands[1:]:
            pattern = f"[E | {pattern}]"
        steps = [f"match goal with H : {atom} = _ \\/ _ |- _ => destruct H as {pattern} end."]
        for operand, one in zip(operands, witness["each"], strict=True):
            part, result = self.box.read(operand), kernel.constant(0)
            for m, c in value[0].items():
                term: Ratio = {tuple(pair for pair in m if pair[0] != name): c}, value[1]
                for _ in range(dict(m).get(name, 0)):
                    term = self.box.product(term, part)
                result = self.box.plus(result, term)
            steps += self._block(["rewrite E in *.", *self._prove(result, one, strict=strict)])
        return steps

    # ---- words ----

    def say(self, expr: Any, names: dict[str, str]) -> str:
        """Return an expression in Coq's words."""
        if isinstance(expr, str):
            return f"({expr})" if expr.startswith("-") else expr
        head, *args = expr
        if head == "var":
            return names[args[0]]
        if head in {"+", "*", "/"}:
            return "(" + f" {head} ".join(self.say(arg, names) for arg in args) + ")"
        if head == "^":
            return f"({self.say(args[0], names)} ^ {args[1]})"
        if kernel.canonical(expr) not in self.atoms:
            raise _Untold
        return self.atoms[kernel.canonical(expr)]

    def shifted(self, value: Ratio) -> str:
        """Return a fraction whose polynomials are written in ``x - bound``, the constant first."""
        sides = []
        for poly in value:
            moved = self._moved(poly)
            terms = [self._term(m, c, shift=True) for m, c in sorted(moved.items())]
            sides.append("(" + " + ".join(terms or ["0"]) + ")")
        return f"({sides[0]} * / {sides[1]})" if value[1] != kernel.ONE else sides[0]

    def raw(self, value: Ratio) -> str:
        """Return a fraction as it is."""
        sides = [
            "(" + " + ".join(self._term(m, c) for m, c in sorted(p.items())) + ")" if p else "0"
            for p in value
        ]
        return f"({sides[0]} / {sides[1]})" if value[1] != kernel.ONE else sides[0]

    def _term(self, monomial: Monomial, c: Fraction, *, shift: bool = False) -> str:
        parts = [f"({c.numerator})" if c.denominator == 1 else f"({c.numerator} / {c.denominator})"]
        for name, power in monomial:
            if name not in self.generators:
                raise _Untold
            low = self.box.lower.get(name, 0) if shift else 0
            word = f"({self.generators[name]} - {low})" if low else self.generators[name]
            parts.append(word if power == 1 else f"{word} ^ {power}")
        return " * ".join(parts)

    def _moved(self, poly: Poly) -> Poly:
        """Return a polynomial in ``y = x - bound``."""
        moved: Poly = dict(poly)
        for name in sorted({g for m in poly for g, _ in m}):
            step: Poly = {((name, 1),): Fraction(1)}
            kernel.put(step, {(): Fraction(self.box.lower.get(name, 0))})
            before, moved = moved, {}
            for monomial, c in before.items():
                piece: Poly = {tuple(pair for pair in monomial if pair[0] != name): c}
                for _ in range(dict(monomial).get(name, 0)):
                    product: Poly = {}
                    for left, a in piece.items():
                        for right, b in step.items():
                            kernel.put(product, {kernel.join(left, right): a * b})
                    piece = product
                kernel.put(moved, piece)
        return moved
