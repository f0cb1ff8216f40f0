"""The memory of one policy as data: the account at sizes, its categories, small counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct import terms
from symacct.algebra.condition import merge
from symacct.planning.at_sizes import checked, exact_case
from symacct.report.data import Line, Section
from symacct.report.explain import explained
from symacct.report.summary import View, with_shares

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symacct.account import Account
    from symacct.planning.peak_cases import Peak

STATIC = ("memory.parameters", "memory.gradients", "memory.master", "memory.optimizer")
BESIDE = ("memory.kv_cache", "memory.data", "memory.activations", "memory.activations.peak")
WORK = ("flops.recompute", "flops.model", "flops.hardware")


def at_sizes(account: Account, sizes: Mapping[str, int]) -> View:
    """Return an account at sizes: all of them, or some, which are bound; below a condition the small case.

    Raises:
        SizeError: a size is out of range, or breaks a condition of the graph itself.
    """
    found = checked(account, sizes)
    free = {*account.graph.order, *account.policy.names} - found.keys() - account.graph.bound.keys()
    if found and free:
        return View(account.bind(found), {})
    account, small = exact_case(account, found, lambda one: merge((*one.conditions, *one.course.conditions)))
    return View(account, found, small)


def categories(shown: View, saved: Peak | None = None) -> list[Section]:
    """Return what is held whatever the moment, what is saved, and what is run where a part runs again."""
    account = shown.account
    parts = [shown.line(name) for name in STATIC if account.has(name)]
    static = Section("static memory", with_shares(parts, [shown.line("memory.static")]))
    lines = [shown.line(name) for name in BESIDE[:-1] if account.has(name)]
    if saved is not None:
        many = len(saved.cases)
        remark = f"1 of {many} formulas" if many > 1 else ""
        lines.append(Line(saved.name, saved.cases[0].expr, "byte", value=saved.value, remark=remark))
    found = [static, Section("memory of data", tuple(lines))]
    if account.recomputes:
        found.append(Section("FLOPs of contractions", tuple(shown.line(name) for name in WORK)))
    return found


def tensors(shown: View, names: Sequence[str]) -> list[Section]:
    """Return the rows of categories by tensor.

    Raises:
        UnknownNameError: there is no such category.
    """
    for name in names:
        shown.account.require(name)
    return [explained(shown, name) for name in names]


def beside(shown: View, name: str = "memory.peak") -> list[Line]:
    """Return what lives through the whole step, which a peak stands on: its lines add up to ``beside``."""
    account = shown.account
    held = ["parameters", "master", "optimizer"] + (["gradients"] if account.policy.grads == "kept" else [])
    names = [f"memory.{part}" for part in (*held, "kv_cache") if name == "memory.peak"]
    lines = [shown.line(one) for one in names if account.has(one)]
    read = account.graph.inputs if name == "memory.peak" else account.course.inputs
    found = terms.inputs(account.graph, read, account.policy)
    lines += [Line(f"input {t.label}", t.expr, "byte", value=shown.value(t.expr)) for t in found]
    return [line for line in lines if line.expr != 0]
