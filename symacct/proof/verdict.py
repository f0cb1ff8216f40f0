"""What a derivation says of a claim."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from symacct.algebra.domain import Domain
from symacct.displayed import Displayed
from symacct.errors import UsageError
from symacct.proof.growth import together
from symacct.proof.sources import Part, exact_and_claimed

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.claims import Claim, Sides
    from symacct.proof.decide import (
        Decision,
    )
    from symacct.proof.extremum import Extremum
    from symacct.proof.instead import Instead
    from symacct.proof.threshold import Threshold


@dataclass(frozen=True, slots=True)
class Verdict(Displayed):
    """What a derivation says of a claim.

    Attributes:
        claim: the claim, read.
        decision: the outcome for the relation as written.
        sides: both sides in one unit; None where they are too large to expand.
        left: the left side, assumptions put in.
        right: the right side, assumptions put in.
        box: the sizes that are looked at.
        growing: what grows, for asymptotic relations.
        notes: how the claim was read, and what could not be worked out.
        instead: how the two sides differ, where they do.
        holds_if: choices under which both sides would be equal.
        parts: what the difference comes from.
        threshold: for ``A <= B iff NAME <= FORMULA``, what is claimed of the name, and what is true of it.
        written: the claim as it was written, where it was taken apart to be read.
        extremum: for a claim about a minimum or a limit, its parts.
    """

    claim: Claim
    decision: Decision
    sides: Sides | None = None
    left: Expr | None = None
    right: Expr | None = None
    box: Domain = field(default_factory=Domain)
    growing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    instead: Instead | None = None
    holds_if: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    threshold: Threshold | None = None
    written: str = ""
    extremum: Extremum | None = None

    def __str__(self) -> str:
        """Return the outcome, the claim, and why."""
        return f"{self.outcome}: {self.stated} ({self.decision.reason})"

    def __bool__(self) -> bool:
        """Say whether the claim is proved as written.

        Raises:
            UsageError: it is undecided, which is neither.
        """
        if self.outcome == "undecided":
            what, expected = "an undecided verdict is neither true nor false", "proved or refuted"
            got, fix = f"undecided: {self.stated}", "ask for .outcome, which is one of three words"
            raise UsageError(what, expected=expected, got=got, fix=fix)
        return self.outcome == "proved"

    @property
    def stated(self) -> str:
        """The claim as it was written."""
        return (self.written or self.claim.text).strip()

    @property
    def outcome(self) -> str:
        """proved, refuted or undecided."""
        return self.decision.outcome

    @property
    def turned(self) -> bool:
        """Whether the derived side stands on the right."""
        return exact_and_claimed(self.claim)[0] is self.claim.right

    @property
    def claimed(self) -> str:
        """The claim, or where it is about a threshold all of it."""
        return (self.threshold.text if self.threshold else self.claim.text).strip()

    @property
    def in_full(self) -> str:
        """The claim as it was read, in full."""
        from symacct.proof.read_line import read_line

        return read_line(self)

    @property
    def derived_side(self) -> str:
        """Which side is derived: left or right."""
        return "right" if self.turned else "left"

    @property
    def weaker(self) -> tuple[str, ...]:
        """What is proved in a weaker sense: leading order, an upper or a lower bound."""
        if self.instead is None:
            return ()
        ways = [f"leading order as {together(w.growing)}" for w in self.instead.leading]
        return (*ways, *([f"{self.instead.bound} bound"] if self.instead.bound else []))
