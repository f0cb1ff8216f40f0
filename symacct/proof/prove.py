"""Judging a claim: proved, refuted or undecided, and what is true instead."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from symacct.account import Account, derive
from symacct.algebra.budget import within
from symacct.algebra.evaluate import check_sizes, names_of
from symacct.algebra.symbols import as_expr
from symacct.build import Definition
from symacct.errors import LimitError, SizeError
from symacct.messages import Message
from symacct.nodes import Graph
from symacct.proof.beside import conditions_beside
from symacct.proof.conditions import cut_conditions
from symacct.proof.decide import (
    Decision,
    along_rays,
)
from symacct.proof.extremum import read_extremum
from symacct.proof.growth import rays, regimes_of
from symacct.proof.instead import Instead, instead
from symacct.proof.lookup import lookup, names_under
from symacct.proof.machine_facts import Facts, read_facts
from symacct.proof.sources import parts, variations
from symacct.proof.threshold import is_threshold, read_threshold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from sympy import Expr

    from symacct.algebra.domain import Domain
    from symacct.claims import Claim


from symacct.proof.judging import Judging
from symacct.proof.verdict import Verdict

SECONDS = 5.0
FEW_RAYS = 6
MOST_WAYS = 12
"""With more sizes than this, what holds as one of them grows alone is not looked for."""


def prove(
    account: Account | Graph | Definition | None,
    text: str,
    *,
    sizes: Mapping[str, int] | None = None,
    lets: Iterable[str] = (),
    assume: Iterable[str] = (),
    grow: tuple[str, ...] = (),
    seconds: float = SECONDS,
    brief: bool = False,
    on: str | None = None,
    dirs: Sequence[str | Path] = (),
    dtype: str | None = None,
    names: Iterable[str] = (),
) -> Verdict:
    """Judge a claim against an account, or compare formulas where there is none.

    Args:
        account: the derivation that quantities are looked up in, or a graph to derive as by default; None
            compares formulas alone.
        text: the claim; ``A <= B iff NAME <= FORMULA`` is one about a threshold.
        sizes: sizes to bind first.
        lets: names and what they stand for.
        assume: conditions on sizes, as behind ``if``.
        grow: what goes to infinity, if the claim does not say.
        seconds: processor time for the decision, and again for what is true instead.
        brief: leave out where a difference comes from, and under which choices the claim would hold.
        on: the machine whose times and figures are meant; without one times are formulas in its symbols.
        dirs: folders with more machines.
        dtype: the format whose peak is meant; that of the activations where none is named.
        names: words that are names, as ``--names`` declares them.

    Raises:
        SymacctError: the claim cannot be read, a name is unknown, or units disagree.

    >>> print(prove(None, "2*n*k <= n^2 + k^2"))
    proved: 2*n*k <= n^2 + k^2 (a witness was found that the kernel accepts)
    """
    if isinstance(account, Graph | Definition):
        account = derive(account)
    known, sizes = None, dict(sizes or {})
    if account is not None:
        own = names_under(text, account.policy)
        known = [*account.source.sizes, *own]
        given = {name: sizes[name] for name in own if name in sizes}
        account, sizes = placed(account, sizes)
        sizes = {**sizes, **given}
    facts = read_facts(text, lets, account, on=on, dirs=dirs, dtype=dtype)
    bare, where = cut_conditions(facts.text)
    written = read_threshold(bare, known) if is_threshold(bare) else None
    extremum = read_extremum(bare)
    stated = written.condition if written else extremum.equation if extremum else bare
    assume = tuple(assume)
    index = [extremum.name] if extremum else []
    claim = facts.claim(
        stated, known, account, declared=(*names, *index), whole=text,
        beside=(*where, *assume, *([written.threshold] if written else ())),
    )  # fmt: skip
    varies = {extremum.name} if extremum and extremum.form != "lim" else set()
    find = lookup(account, facts.quantity)
    said = conditions_beside(claim, where, assume, find, facts.rates | varies)
    judged = Judging(account, claim, facts, said, grow, _values(account, claim, sizes))
    assumed = (Message("assuming", condition=one) for one in (*_equal(sizes), *said.texts))
    notes = [*claim.notes, *said.notes, *assumed]
    as_written = text if where or facts.text != text else ""
    try:
        with within(seconds):
            verdict = judged.verdict(written, extremum)
    except LimitError as error:
        undecided = Decision("undecided", _too_large(error))
        return Verdict(claim, undecided, notes=facts.said(notes), written=as_written)
    if extremum is not None:
        as_written = text
    verdict = replace(verdict, notes=facts.said((*verdict.notes, *notes)), written=as_written)
    settled = verdict.outcome == "proved" and claim.relation in ("=", "O", "Theta")
    if settled or written is not None or extremum is not None or verdict.left is None:
        return verdict
    return _explained(verdict, None if brief else account, judged.domain, seconds, facts)


def _equal(sizes: Mapping[str, int]) -> list[str]:
    return [f"{name} = {size}" for name, size in sizes.items()]


def _values(account: Account | None, claim: Claim, sizes: Mapping[str, int]) -> dict[str, Expr]:
    """Return what sizes stand for: those that are given, and those that the graph has bound."""
    if account is None:
        sizes = check_sizes(sizes, claim.names)
    bound = {} if account is None else account.graph.bound
    return {name: as_expr(value) for name, value in {**bound, **sizes}.items()}


def placed(account: Account, sizes: Mapping[str, int]) -> tuple[Account, Mapping[str, int]]:
    """Return an account with sizes bound, derived again, and the sizes that are still to be put in.

    Decoding gives sizes a meaning that the graph does not have (one query, many keys): they are put in later.

    Raises:
        SymacctError: a size is unknown, bound already, or out of range.
    """
    if account.policy.workload != "decode":
        return (account.bind(sizes), {}) if sizes else (account, {})
    bound = account.graph.bound
    given = {name: size for name, size in account.source.resolved(sizes).items() if bound.get(name) != size}
    return account, check_sizes(given, [name for name in account.graph.order if name not in bound])


def _too_large(error: LimitError) -> str:
    return f"{error.what} ({error.expected})" if error.expected else error.what


def _explained(
    verdict: Verdict, account: Account | None, domain: Domain, seconds: float, facts: Facts
) -> Verdict:
    """Add how the sides differ; what takes too long is left out, with a note."""
    left, right = (verdict.right, verdict.left) if verdict.turned else (verdict.left, verdict.right)
    assert left is not None
    assert right is not None
    names = sorted({*names_of(left), *names_of(right)})
    ways = [(name,) for name in names if len(names) <= MOST_WAYS] + ([tuple(names)] if len(names) > 1 else [])
    ways += [verdict.growing] if verdict.growing and verdict.growing not in ways else []
    verdict = _with(
        verdict,
        seconds,
        "what is true instead",
        lambda: {"instead": _weaker(left, right, domain, ways)},
    )
    if account is None or verdict.instead is None:
        return verdict
    difference = verdict.instead.difference
    verdict = _with(
        verdict, seconds, "where it comes from",
        lambda: {"parts": parts(verdict.claim, account, domain, difference, facts)},
    )  # fmt: skip
    if verdict.outcome == "proved":
        return verdict
    return _with(
        verdict, seconds, "under which choices it holds",
        lambda: {"holds_if": tuple(variations(verdict.claim, account, domain, facts))},
    )  # fmt: skip


def _weaker(left: Expr, right: Expr, domain: Domain, ways: Sequence[tuple[str, ...]]) -> Instead:
    """Return what is true instead; a way of growing that conditions do not leave free is left out."""
    found = instead(left, right, domain, tuple(ways))
    return replace(
        found, leading=tuple(one for one in found.leading if _is_free(left, right, domain, one.growing))
    )


def _is_free(left: Expr, right: Expr, domain: Domain, growing: tuple[str, ...]) -> bool:
    """Say whether sizes can grow, and the ratio of both sides tends to 1 along the first rays."""
    try:
        regime = regimes_of(domain.stated, {}, growing, domain.real)
        ways = rays(regime, (left, right))[:FEW_RAYS]
        return bool(ways) and along_rays((left, right), "~", ways)[2] is None
    except SizeError:  # nothing grows so, or a side has no real value along a ray
        return False


def _with(verdict: Verdict, seconds: float, what: str, work: Callable[[], dict[str, Any]]) -> Verdict:
    """Return the verdict with what some work found, or with a note that it was too much."""
    try:
        with within(seconds):
            return replace(verdict, **work())
    except LimitError as error:
        return replace(verdict, notes=(*verdict.notes, f"{what} is not worked out: {_too_large(error)}"))
