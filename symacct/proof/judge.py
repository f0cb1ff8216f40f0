"""Judging a file of claims: each against the verdict that is expected of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from symacct.account import Account
from symacct.algebra.evaluate import evaluate
from symacct.claims import amount
from symacct.convention import convention
from symacct.errors import SymacctError
from symacct.policy import Policy, precision
from symacct.proof.lookup import chosen
from symacct.proof.machine_facts import read_facts
from symacct.proof.prove import prove
from symacct.readers.documents import documents
from symacct.readers.files import load
from symacct.readers.renamed import renamed
from symacct.readers.stated import POLICY
from symacct.syntax import read_formula, read_sizes
from symacct.units import convert

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

    from symacct.claims import Amount
    from symacct.proof.verdict import Verdict
    from symacct.readers.claim_files import ClaimFile
    from symacct.readers.stated import Stated

WEAKER = ("leading order", "upper bound", "lower bound")
PRICES = ("attention", "bytes")
PERCENT = "%"
MACHINE_FILE = re.compile(r"(?P<count>(?:[0-9]{1,8}\s*[x×]\s*)?)(?P<path>\S.*\.toml(?::\S+)?)")


class _On(NamedTuple):
    """The machine of a claim, and folders with more machines."""

    machine: str | None
    dirs: Sequence[str | Path]


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one claim of a file.

    Attributes:
        stated: the claim.
        got: the verdict in words; ``refused`` where the input is wrong.
        ok: whether it is the one that is expected.
        detail: what a reader should know: an error, a value, why an ``instead`` fails.
        verdict: the whole verdict, where there is one.
        amount: for a calculation, what it comes to.
        right: what the calculation of its ``instead`` comes to, where that is the value.
        why: what is wrong with the input, where it is refused.
    """

    stated: Stated
    got: str
    ok: bool
    detail: str = ""
    verdict: Verdict | None = None
    amount: Amount | None = None
    right: Amount | None = None
    why: str = ""

    @property
    def text(self) -> str:
        """The claim, or the calculation."""
        return self.stated.claim or self.stated.calc


def judge_file(file: ClaimFile, dirs: Sequence[str | Path] = ()) -> tuple[Judged, ...]:
    """Return every claim of a file, judged; paths of graphs and machines start from the file's folder.

    `dirs` are folders with more machines.

    Raises:
        UsageError: a claim names Python that is not to be run.
    """
    accounts: dict[object, Account] = {}
    with documents():
        return tuple(judge(stated, file.path.parent, accounts, dirs) for stated in file.claims)


@documents()
def judge(
    stated: Stated,
    folder: Path = Path(),
    accounts: dict[object, Account] | None = None,
    dirs: Sequence[str | Path] = (),
) -> Judged:
    """Return one claim, judged. Wrong input is a verdict here, so that it can be expected: ``refused``.

    A calculation without a value has nothing to be judged by, and is worked out all the same.

    >>> from symacct.readers.stated import Stated
    >>> judge(Stated("twice", "my.toml, claim twice", claim="2*n = n + n")).got
    'proved'
    """
    bare = bool(stated.calc) and stated.value is None
    if stated.expect == "reported" and not bare:
        return Judged(stated, "not judged", ok=True)
    try:
        where = _On(machine_of(stated.on, folder), dirs)
        known = {} if accounts is None else accounts
        if bare and stated.expect == "reported":
            return Judged(stated, "not judged", ok=True, amount=_amount(stated, stated.calc, where))
        return _calculated(stated, where) if stated.calc else _proved(stated, folder, known, where)
    except SymacctError as error:
        return Judged(stated, "refused", stated.expect == "refused", str(error), why=error.what)


def _proved(stated: Stated, folder: Path, accounts: dict[object, Account], where: _On) -> Judged:
    account = _account(stated, folder, accounts) if stated.graph is not None else None
    verdict = _verdict(stated, account, stated.claim, where)
    found = [verdict.outcome, *_weaker(verdict)]
    ok = stated.expect == found[0] or (found[0] != "proved" and stated.expect in found)
    got = f"{found[0]} ({', '.join(found[1:])})" if found[1:] and found[0] != "proved" else found[0]
    detail = "" if ok else verdict.decision.reason
    if stated.instead:
        right = _verdict(stated, account, stated.instead, where)
        if right.outcome != "proved":
            ok, detail = False, f"instead is {right.outcome}: {right.decision.reason}"
    return Judged(stated, got, ok, detail, verdict)


def _weaker(verdict: Verdict) -> list[str]:
    if verdict.instead is None:
        return []
    leading = ["leading order"] if verdict.instead.leading else []
    return leading + ([f"{verdict.instead.bound} bound"] if verdict.instead.bound else [])


def _verdict(stated: Stated, account: Account | None, text: str, where: _On) -> Verdict:
    grow = tuple(name.strip() for name in stated.grow.split(",") if name.strip())
    sizes = read_sizes(stated.at) if stated.at else None
    return prove(
        account, text, sizes=sizes, lets=stated.let, assume=stated.assume, grow=grow, brief=True,
        on=where.machine, dirs=where.dirs, dtype=_dtype(stated) if account is None else None,
        names=tuple(name.strip() for name in stated.names.split(",") if name.strip()),
    )  # fmt: skip


def _dtype(stated: Stated) -> str:
    """Return the format whose peak formulas alone mean."""
    return precision(dict(stated.choices).get("precision", "bf16")).activations


def machine_of(target: str, folder: Path) -> str | None:
    """Return a machine's name, or its path seen from the folder of the file that names it."""
    file = MACHINE_FILE.fullmatch(target)
    if file is None or Path(file["path"]).is_absolute():
        return target or None
    return f"{file['count']}{folder / file['path']}"


def _account(stated: Stated, folder: Path, accounts: dict[object, Account]) -> Account:
    """Return the account that a claim is about; one for all claims that make the same choices."""
    key = account_key(stated)
    if key not in accounts:
        choices = dict(stated.choices)
        given = {name: text for name, text in choices.items() if name in POLICY}
        plain = Policy(input_grad=stated.input_grad, hold_output=stated.hold_output)
        policy = chosen(plain, given)
        prices = {name: choices[name] for name in PRICES if name in choices}
        priced = convention(choices.get("convention", "default"), **prices)
        graph = renamed(load(_place(str(stated.graph), folder), symbolic=stated.symbolic), stated.rename)
        accounts[key] = Account(graph, policy, priced)
    return accounts[key]


def account_key(stated: Stated) -> tuple[object, ...]:
    """Return what the account of a claim is known by among those that were derived."""
    return (
        stated.graph,
        stated.choices,
        stated.input_grad,
        stated.hold_output,
        stated.symbolic,
        stated.rename,
    )


def _place(target: str, folder: Path) -> str:
    """Return a graph's name, or its path seen from the folder of the file that names it."""
    file = target.rpartition(":")[0] if ".py:" in target else target
    is_path = file.endswith((".py", ".json")) and not Path(file).is_absolute()
    return str(folder / target) if is_path else target


def _calculated(stated: Stated, where: _On) -> Judged:
    """Judge a calculation, and its ``instead``: each lies within a distance of the value that is stated."""
    found = _amount(stated, stated.calc, where)
    if stated.value is None:
        return Judged(stated, "proved", stated.expect == "proved", amount=found)
    got = "proved" if _comes_to_value(stated, found) else "refuted"
    right = _amount(stated, stated.instead, where) if stated.instead else None
    if right is not None and not _comes_to_value(stated, right):
        detail = f"instead is another amount than {stated.value} {stated.to or ''}".rstrip()
        return Judged(stated, got, ok=False, detail=detail, amount=found)
    return Judged(stated, got, got == stated.expect, amount=found, right=right)


def _amount(stated: Stated, text: str, where: _On) -> Amount:
    facts = read_facts(text, stated.let, on=where.machine, dirs=where.dirs)
    return amount(facts.text, stated.to, [*facts.lets, *facts.typed])


def _comes_to_value(stated: Stated, found: Amount) -> bool:
    value = found.value if stated.to is None else convert(found.value, found.unit, stated.to)
    wanted = _number(str(stated.value))
    share = stated.within.endswith(PERCENT)
    room = _number(stated.within.removesuffix(PERCENT)) * (abs(wanted) / 100 if share else 1)
    return bool(abs(value - wanted) <= room)


def _number(text: str) -> Expr:
    return evaluate(read_formula(text, ()), {})
