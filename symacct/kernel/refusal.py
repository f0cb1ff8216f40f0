"""Refusing, and the bounds on what a certificate may ask for.

Nothing here proves anything. Work is counted in one `Meter` for all boxes of a certificate together, so that
many small parts cost no more than one large one.
"""

from __future__ import annotations

FORMAT = "symacct-certificate/2"
LARGEST_FILE, DEEPEST, MOST_DIGITS, MOST_POWER = 4_000_000, 120, 700, 64
MOST_DEGREE, MOST_BITS, MOST_WORK, LONGEST_SUM, LONGEST_NAME = 300, 4_000, 300_000, 10_000, 64
LONGEST_ATOM, MOST_PARTS, MOST_CASES = 100_000, 400, 64
LARGEST_COUNT, MOST_FACTORS, MOST_ANCHORS = 500, 64, 16


class Refused(Exception):  # noqa: N818 (it says what happened)
    """The certificate does not prove its statement; the text says why."""


def need(condition: object, why: str) -> None:
    """Refuse unless a condition holds; no assert, so that ``python -O`` checks as well."""
    if not condition:
        raise Refused(why)


class Meter:
    """The work that a certificate has taken so far."""

    def __init__(self) -> None:
        """Start at 0."""
        self.work = self.parts = 0

    def spend(self, work: int) -> None:
        """Count work, and refuse what would take too long."""
        self.work += work
        need(self.work <= MOST_WORK, "the certificate takes too much work to check")

    def part(self) -> None:
        """Count one claim or witness inside a certificate."""
        self.parts += 1
        need(self.parts <= MOST_PARTS, "the certificate has too many parts")
