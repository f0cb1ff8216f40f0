"""The claim files that ship: every expectation holds, and no statement survives a wrong coefficient."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from symacct.proof.judge import judge
from symacct.readers.claim_files import list_claim_files

FILES = {file.name: file for file in list_claim_files()}
CASES = [
    pytest.param(file, start, id=f"{name}-{start}")
    for name, file in FILES.items()
    for start in range(0, len(file.claims), 20)
]
RELATION = re.compile(r"<=|>=|=|~|<|>")
TAIL = re.compile(r"\s+where\s|\s+if\s|\s+as\s\S+\s*->")
CHOICE = re.compile(r"\([a-z_]+=[^()]*\)")
ORDER = re.compile(r"(Theta|O)\((.*)\)$")
COEFFICIENT = re.compile(r"(?<![\w.^/)])(?<!\^\()\d+(?:\.\d+)?(?![\w.]|\^)")
BOUNDS = {"<=": "1/1000", "<": "1/1000", ">=": "1000000", ">": "1000000"}


@pytest.fixture(scope="module")
def accounts():
    """Accounts are derived once for all claims that make the same choices."""
    return {}


def spoiled(text, grows=""):
    """Return a claim whose right side has another coefficient, or another order or bound where none counts.

    >>> spoiled("flops.model = 6*B*D^2*L - 2*B*D^2")
    'flops.model = 6*B*D^2*L - 12*B*D^2'
    >>> spoiled("flops.model ~ B*D where B = 2*D"), spoiled("x >= y iff B > 2/3*D")
    ('flops.model ~ 2*(B*D) where B = 2*D', 'x >= y iff B > 12/3*D')
    >>> spoiled("a = Theta(n^2)", "n"), spoiled("a >= b where b = 2*c")
    ('a = Theta((n^2)*n)', 'a >= 1000000*(b) where b = 2*c')
    >>> spoiled("m.p = m.p(every=1) if B >= 2*D")
    'm.p = 2*(m.p(every=1)) if B >= 2*D'
    """
    start = text.find(" iff ")
    sign = RELATION.search(text, max(0, start))
    tail = TAIL.search(text)
    end = tail.start() if tail else len(text)
    left, right = text[: sign.start()], text[sign.end() : end].strip()
    order = ORDER.match(right)
    choices = [one.span() for one in CHOICE.finditer(right)]
    numbers = [
        one
        for one in COEFFICIENT.finditer(right)
        if not any(first < one.start() < last for first, last in choices)
    ]
    if order:
        step = "*" if order[1] == "Theta" else "/"
        right = f"{order[1]}(({order[2]}){step}{grows.split(',')[0]})"
    elif sign.group() in BOUNDS and start < 0:
        right = f"{BOUNDS[sign.group()]}*({right})"
    elif not numbers or sign.group() == "~":
        right = f"2*({right})"
    else:
        last = numbers[-1]
        right = f"{right[: last.start()]}1{last.group()}{right[last.end() :]}"
    return f"{left}{sign.group()} {right}{text[end:]}"


@pytest.mark.few(3)
@pytest.mark.parametrize(("file", "start"), CASES)
def test_every_expectation_holds(file, start, accounts):
    """Each claim gets the verdict that its file expects, and each ``instead`` is proved."""
    for stated in file.claims[start : start + 20]:
        found = judge(stated, file.path.parent, accounts)
        assert found.ok, f"{stated.name}: {found.got}, not {stated.expect}. {found.detail}"


@pytest.mark.few(3)
@pytest.mark.parametrize(("file", "start"), CASES)
def test_a_wrong_coefficient_is_not_proved(file, start, accounts, monkeypatch):
    """What is true is no longer true with one coefficient of the right side changed, or twice a number."""
    monkeypatch.setattr("symacct.proof.prove._explained", lambda verdict, *_: verdict)
    for stated in file.claims[start : start + 20]:
        if stated.calc:
            if stated.expect == "proved":
                off = replace(stated, value=f"2*({stated.value})", expect="refuted")
                assert judge(off, file.path.parent, accounts).ok, stated.name
        elif right := stated.claim if stated.expect == "proved" else stated.instead:
            off = replace(stated, claim=spoiled(right, stated.grow), instead="", expect="proved")
            found = judge(off, file.path.parent, accounts)
            assert found.got in ("refuted", "undecided"), f"{stated.name}: {off.claim}: {found.detail}"


def test_what_the_files_hold():
    """Each claim says where it comes from, and each that is wrong as printed says what is right, or why."""
    for name in ("lecture", "literature"):
        file = FILES[name]
        for stated in file.claims:
            assert file.source or stated.source, stated.name
            if stated.claim and stated.expect in ("leading order", "upper bound", "lower bound", "refuted"):
                assert stated.instead, stated.name
        assert len(file.claims) > 140
        wrong = [stated for stated in file.claims if stated.expect == "refuted"]
        assert all(stated.instead or stated.comment or stated.calc for stated in wrong)
