"""A whole run: FLOPs, days, device-hours, money, and memory that does not depend on the batch.

Each number is a rule over the others, in the formula language; what cannot be said is left out, never zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.planning.entries import Rule, worked_out

if TYPE_CHECKING:
    from collections.abc import Iterable

    from symacct.planning.entries import Entry

PETA = "FLOP = PFLOP/s*day"
SHARDED = "ideal even sharding"
WORK = (
    Rule(
        "flops.token.leading",
        "l",
        "g*A",
        "FLOP/token",
        "leading term",
    ),
    Rule("flops.token.leading", "l", "g*N", "FLOP/token", "leading term"),
    Rule("flops.token.ratio", "q", "c/l", "1", "exact over leading"),
    Rule("tokens", "D", "x*N", "token", "given for each parameter"),
    Rule("mfu", "u", "c*D/(n*P*t)", "1", "what the time asks for"),
    Rule("flops.run", "C", "c*D", "FLOP", "model FLOPs of the run", to=PETA),
    Rule("flops.run", "C", "n*P*u*t", "FLOP", "at the MFU, in the time", to=PETA),
    Rule("flops.run", "C", "n*P*t", "FLOP", "at the peak, in the time", bound="≤", to=PETA),
    Rule("tokens", "D", "C/c", "token", "as many as the time affords"),
    Rule("flops.run.leading", "Q", "l*D", "FLOP", "by the leading term"),
    Rule("tokens.parameter", "x", "D/N", "token/parameter"),
)
TIME = (
    Rule("time.run", "t", "C/(n*P*u)", "second", "at the MFU assumed"),
    Rule("time.run", "t", "C/(n*P)", "second", "at the peak", bound="≥"),
    Rule("time.run.leading", "z", "Q/(n*P*u)", "second", "by the leading term"),
    Rule("time.run.leading", "z", "Q/(n*P)", "second", "by the leading term", bound="≥"),
    Rule("time.devices", "G", "n*t", "device*second", "of all devices", to="device*hour"),
    Rule("throughput.tokens", "R", "D/t", "token/second", "of all devices"),
    Rule("cost", "U", "r*G", "dollar", "of the devices alone"),
)
MEMORY = (
    Rule("memory.static.device", "m", "M/n", "byte/device", SHARDED, bound="≥"),
    Rule("capacity.all", "W", "n*K", "byte", "of all devices"),
    Rule("memory.left", "f", "W - M", "byte", "left for everything else", bound="≤"),
)


def run(known: Iterable[Entry]) -> dict[str, Entry]:
    """Return what follows from what is known, by symbol, in the order of a report.

    >>> from fractions import Fraction
    >>> from symacct.planning.entries import Entry
    >>> from symacct.units import Unit
    >>> c = Entry("flops.token", "c", "6*N", Fraction(6 * 70 * 10**9), Unit("FLOP/token"))
    >>> D = Entry("tokens", "D", "", Fraction(15 * 10**12), Unit("token"))
    >>> str(run([c, D])["C"])
    'C = 6300000000000000000000000 FLOP'
    """
    table = {entry.symbol: entry for entry in known}
    for rules in (WORK, TIME, MEMORY):
        table |= {entry.symbol: entry for entry in worked_out(rules, table)}
    return table
