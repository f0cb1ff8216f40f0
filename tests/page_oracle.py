"""What a live page must show, worked out without its data: by proving, deriving and timing anew."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING
from unittest.mock import patch

from symacct.account import Account
from symacct.algebra.evaluate import evaluate
from symacct.claims import amount
from symacct.errors import RuleError, SymacctError
from symacct.evaluation import timing
from symacct.machines import catalogue
from symacct.machines import load as load_machine
from symacct.policy import checkpoint, precision
from symacct.proof.conditions import cut_conditions, read_conditions
from symacct.proof.lookup import lookup, names_under
from symacct.proof.machine_facts import read_facts
from symacct.proof.prove import prove
from symacct.sheet.page import page_data
from symacct.syntax import walk
from symacct.units import convert

if TYPE_CHECKING:
    from symacct.sheet.data import Sheet

NUMBER = re.compile(r"(?<![\w.^])[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE]\+?[0-9]+)?")
OF_BENCHES = {
    True: ("params", "tokens", "flops.model", "flops.hardware", "bytes.step", "intensity.step",
           "memory.static", "memory.activations", "memory.peak"),
    False: ("params", "tokens", "flops.forward", "bytes.forward", "intensity.forward", "memory.parameters",
            "memory.kv_cache"),
}  # fmt: skip


def expected(
    sheet: Sheet, sizes=None, choices=None, machine=None, data=None
) -> dict[str, Fraction | float | str | None]:
    """Return each number that a page shows, by its id; None where it must show none.

    Ids: ``row/variant/place`` of a result; ``bench/variant/`` and a quantity, ``time`` or ``binds``.

    Args:
        sheet: the sheet.
        sizes: by scope and name; those that are missing are as at the start.
        choices: by row or bench, and name; those that are missing are as at the start.
        machine: its name; that of the start by default.
        data: the page's, for its rows, choices and starts alone; made where it is missing.
    """
    read = cache(catalogue._folder)
    with (
        patch.object(Account, "bind", Binding()),
        patch.object(catalogue, "_folder", lambda folder: dict(read(folder))),
    ):
        return _expected(sheet, sizes, choices, machine, data or page_data(sheet))


class Binding:
    """`Account.bind`, which derives equal accounts at the same sizes once: rows of a setting share them."""

    bind = staticmethod(Account.bind)

    def __init__(self):
        self.known = {}

    def __get__(self, account, owner):
        return lambda sizes: self.at(account, sizes)

    def at(self, account, sizes):
        key = (account.policy, account.convention, account.source.name, tuple(sorted(sizes.items())))
        equal = self.known.setdefault(key, [])
        found = next(
            (bound for source, bound in equal if source is account.source or source == account.source), None
        )
        if found is None:
            found = self.bind(account, sizes)
            equal.append((account.source, found))
        return found


def _expected(sheet, sizes, choices, machine, data):
    found = {}
    at = {scope: _sizes(scope, one["sizes"], sizes or {}) for scope, one in data["scopes"].items()}
    for row in data["rows"]:
        origin = sheet.rows[int(row["id"][1:]) - 1].origin
        key, given = _made(row, choices or {})
        here = {name: at[row["scope"]][name] for name in row["uses"]}
        if origin.judged is None:
            quantity = sheet.rows[int(row["id"][1:]) - 1].quantity
            values = [_quantity(origin.account, quantity, given, here)]
        elif origin.judged.stated.calc:
            values = [calculated(origin, [at[row["scope"]][f"n{n + 1}"] for n in range(len(here))])]
        else:
            values = claimed(origin, here)
        found |= {f"{row['id']}/{key}/{place}": value for place, value in enumerate(values)}
    for bench, one in zip(sheet.benches, data["benches"], strict=True):
        key, given = _made(one, choices or {})
        here = {name: at[one["scope"]][name] for name in one["uses"]}
        values = _bench(bench.account, given, here, machine or data["machine"])
        found |= {f"{one['id']}/{key}/{name}": value for name, value in values.items()}
    return found


def _sizes(scope, known, given):
    start = {one["name"]: Fraction(one["value"]) for one in known}
    return {**start, **{name: Fraction(value) for name, value in given.get(scope, {}).items()}}


def _made(one, choices):
    own = choices.get(one["id"], {})
    values = {choice["name"]: own.get(choice["name"], choice["value"]) for choice in one["choices"]}
    return "|".join(values.values()), values


# ---- quantities ----


KNOWN: dict[object, tuple[Account, Account]] = {}
"""Accounts by the account and the choices that they are made of; the first keeps its identity."""


def under(account: Account, given) -> Account:
    """Return an account under choices, as a run with these flags would be derived."""
    key = (id(account), tuple(given.items()))
    if key not in KNOWN:
        KNOWN[key] = account, _under(account, given)
    return KNOWN[key][1]


def _under(account, given):
    read = {
        "precision": precision,
        "checkpoint": checkpoint,
        "optimizer": lambda text: None if text == "none" else text,
    }
    policy = account.policy
    for name, text in given.items():
        policy = replace(policy, **{name: read.get(name, str)(text)})
    return Account(account.source, policy, account.convention)


def _quantity(account, name, given, sizes):
    try:
        other = under(account, given)
        quantity = other[name]
    except SymacctError:
        return None
    if not all(one.holds(_whole(sizes)) for one in quantity.when):
        return None
    return exact(at_sizes(other, name, sizes))


def at_sizes(account, name, sizes):
    """Return a quantity, derived anew with its sizes bound; a peak is read off its formula instead."""
    known = {n: v for n, v in _whole(sizes).items() if n in account.graph.order or n in account.policy.names}
    if "peak" in name or account.policy.workload == "decode":
        return evaluate(account[name].expr, known)
    free = {n: v for n, v in known.items() if n in account.source.order or n in account.policy.names}
    return account.value(name, free)


def _whole(sizes):
    assert all(value.denominator == 1 for value in sizes.values()), sizes
    return {name: int(value) for name, value in sizes.items()}


def exact(value):
    """Return a number as a fraction, or a float where it is no fraction."""
    return Fraction(int(value.p), int(value.q)) if value.is_Rational else float(value)


# ---- claims ----


def claimed(origin, sizes):
    """Return the numbers of a claim, in the order of its row, from a proof at these sizes."""
    stated, general = origin.judged.stated, origin.judged.verdict
    claim = general.claim
    count = 3 if general.threshold is not None else 2
    account = origin.account
    if any(value.denominator != 1 for value in sizes.values()):
        both = [_at(side, sizes) for side in (general.left, general.right)]
        return both if general.extremum or not _turned(claim) else both[::-1]
    whole = _whole(sizes)
    trees = (claim.left, claim.right, *(one.tree for one in claim.where))
    names = {part.name for tree in trees for part in walk(tree) if part.form == "quantity"}
    find = lookup(account) if account is not None else None
    when = [c for name in sorted(names) if find and not name.startswith(("time", "mfu", "throughput"))
            for c in find(name).when]  # fmt: skip
    _, where = cut_conditions(stated.claim)
    when += [one for one in read_conditions(where, claim.names).conditions if set(one.names) <= whole.keys()]
    when = [c.substitute({n: whole[n] for n in c.names if n in whole}) for c in when]
    if any(not c.names and not c.holds({}) for c in when):
        return [None] * count
    if general.extremum is not None:
        return [_at(side, sizes) for side in (general.left, general.right)]
    known = _known(whole, account, stated)
    more = {"lets": stated.let, "assume": stated.assume, "brief": True, "on": origin.machine}
    try:
        verdict = prove(account, stated.claim, sizes=known, **more)
    except SymacctError:
        return [None] * count
    left, right = (_at(side, sizes) for side in (verdict.left, verdict.right))
    pair = [right, left] if _turned(claim) else [left, right]
    return pair if general.threshold is None else [*pair, _at(general.threshold.value, sizes)]


def _turned(claim):
    return claim.relation in ("=", "~") and claim.left.form == "quantity"


def _known(whole, account, stated):
    if account is None:
        return whole
    own = names_under(stated.claim, account.policy)
    return {name: size for name, size in whole.items() if name in account.source.sizes or name in own}


def _at(expr, sizes):
    return exact(evaluate(expr, {one.name: _sympy(sizes[one.name]) for one in expr.free_symbols}))


def _sympy(value):
    from sympy import Rational

    return Rational(value.numerator, value.denominator)


# ---- calculations ----


def calculated(origin, values):
    """Return what a calculation comes to with other numbers in its text, those of a machine first."""
    stated = origin.judged.stated
    facts = read_facts(stated.calc, stated.let, on=origin.machine)
    left = iter(values)
    *lets, text = (
        NUMBER.sub(lambda _: _decimal(next(left)), one) for one in (*facts.lets, *facts.typed, facts.text)
    )
    found = amount(text, stated.to, lets)
    return exact(found.value if stated.to is None else convert(found.value, found.unit, stated.to))


def _decimal(value):
    places = next(n for n in range(40) if (value * 10**n).denominator == 1)
    digits = str(int(value * 10**places)).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


# ---- benches ----


def _bench(account, given, sizes, machine):
    try:
        here = under(account, given)
        trains = here.trains
    except SymacctError:
        return {}
    known = _whole(sizes)
    known = {name: size for name, size in known.items() if name in here.graph.order}
    found = {}
    for name in OF_BENCHES[trains]:
        if here.has(name):
            when = here[name].when
            found[name] = exact(at_sizes(here, name, sizes)) if all(c.holds(known) for c in when) else None
    moved = here["bytes.step" if trains else "bytes.forward"].when
    if not all(one.holds(known) for one in (*here.conditions, *moved)):
        rates = [name for name in RATES if name != "tokens/s" or here.has("tokens")]
        return dict.fromkeys((*found, *rates, "binds"))
    return found | timed(here, known, machine)


RATES = {"time": "", "tokens/s": "throughput.tokens", "mfu.bound": "mfu.bound"}


def timed(account, sizes, machine):
    """Return the time of a step, or of a pass, its rates, and the resource whose seconds add up to most."""
    there = load_machine(machine)
    names = {**RATES, "time": "time.step" if account.trains else "time.forward"}
    if not account.has("tokens"):
        del names["tokens/s"]
    try:
        rates = {key: timing.quantity(account, there, name).at(sizes) for key, name in names.items()}
    except RuleError:
        return dict.fromkeys((*names, "binds"))
    found = rates["time"]
    sums = {
        name: sum((exact(getattr(one, name)) for one in found.timings), Fraction(0))
        for name in ("memory", "tensor", "vector")
    }
    shown = {key: exact(one.value()) for key, one in rates.items()}
    return {**shown, "binds": max(sums, key=sums.__getitem__)}
