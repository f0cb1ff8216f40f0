"""The memory of a run as a record: exact numbers as text, regions, what is alive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symacct.algebra.symbols import as_expr
from symacct.printers import latex, text
from symacct.report.conditions import listed
from symacct.report.memory import BESIDE, STATIC, WORK, at_sizes
from symacct.report.memory_peak import Peaks, peak
from symacct.report.memory_policies import RATIO, quotient
from symacct.report.record import number, quantity_record
from symacct.report.segments import segments_said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symacct.account import Account
    from symacct.report.memory_page import Memory
    from symacct.report.memory_peak import Peak


def memory_record(made: Memory) -> dict[str, Any]:
    """Return the memory of a run."""
    account, order = made.shown.account, made.shown.account.graph.order
    names = [name for name in (*STATIC, "memory.static", *BESIDE[:-1]) if account.has(name)]
    value = made.peak.value
    return {
        "choices": account.policy.describe(),
        "segments": segments_said(account) or None,
        "small_case": listed(made.shown.small),
        "quantities": {name: quantity_record(made.shown, name) for name in names},
        "peak": peak_record(made.peak, order),
        "activations_peak": None if made.saved is None else peak_record(made.saved, order),
        "reserve": str(made.reserve),
        "with_reserve": None if value is None else number(value + as_expr(made.reserve)),
        "moment": moment_record(made.peak, order),
        "alive": [
            {
                "name": line.name,
                "what": line.remark,
                "expr": text(line.expr, order),
                "unit": line.unit,
                "value": number(line.value),
            }
            for line in made.alive
        ],
        "lower": [
            {
                "flags": one.flags,
                "value": number(one.value),
                "work": None if one.work is None else str(one.work),
                "why": one.why or None,
            }
            for one in made.options
        ],
        "small": [
            {"when": case.condition.text, "exprs": [text(expr, order) for expr in case.exprs]}
            for case in made.small
        ],
        "warnings": list(account.warnings),
    }


def peak_record(found: Peak, order: Sequence[str]) -> dict[str, Any]:
    """Return a peak: its formulas, each with its region, and the number."""
    return {
        "unit": "byte",
        "value": number(found.value),
        "when": listed(found.when, order),
        "candidates": [
            {
                "expr": text(case.expr, order),
                "latex": latex(case.expr, order),
                "region": None if case.region is None else listed(case.region.conditions, order),
            }
            for case in found.cases
        ],
    }


def moment_record(found: Peak, order: Sequence[str]) -> dict[str, Any] | None:
    """Return which op ran at the peak, and where in its loops."""
    if found.moment is None:
        return None
    return {
        "op": found.moment.label,
        "phase": found.moment.phase,
        "turns": [
            {"loop": name, "turn": text(turn, order), "of": text(count, order)}
            for name, turn, count in found.moment.turns
        ],
        "looked_at": {name: str(size) for name, size in found.point.items()},
        "given": found.given,
    }


def policies_record(
    accounts: Sequence[Account], sizes: Mapping[str, int], *, every: bool = False
) -> dict[str, Any]:
    """Return checkpoint policies side by side."""
    found = {}
    for account in accounts:
        shown = at_sizes(account, sizes)
        names = [name for name in ("memory.activations", *WORK) if shown.account.has(name)]
        order = shown.account.graph.order
        model, hardware = (shown.line(name).expr for name in ("flops.model", "flops.hardware"))
        found[account.policy.checkpoint.describe()] = {
            "small_case": listed(shown.small),
            "quantities": {name: quantity_record(shown, name) for name in names},
            **{
                key: peak_record(peak(Peaks(shown.account, name), shown.sizes, every=every), order)
                for key, name in (("peak", "memory.peak"), ("activations_peak", "memory.activations.peak"))
            },
            RATIO: None if model == 0 else text(quotient(hardware, model), order),
        }
    return {"policies": found}
