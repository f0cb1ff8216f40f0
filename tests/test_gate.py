"""The gate: every claim that ships as proved has a certificate of itself, and of no neighbour."""

from __future__ import annotations

import re

import pytest

from symacct import kernel
from symacct.proof.certified import certify
from symacct.proof.judge import account_key, judge
from symacct.proof.stated import statement_of
from symacct.readers.claim_files import find_claim_file, read_claim_file, shipped_claim_files


@pytest.mark.few(2)
@pytest.mark.parametrize("name", sorted(shipped_claim_files()))
def test_what_is_proved_has_a_certificate_of_this_very_claim(name):
    """The kernel accepts it, made anew it states the same, and no other proved claim of the file does.

    Of a long file some claims stand for all, spread over it.
    """
    file, accounts = read_claim_file(find_claim_file(name)), {}
    stated = {}
    for one in file.claims[:: 1 + len(file.claims) // 100]:
        certificate = _certificate(one, file.path.parent, accounts)
        if certificate is None:
            continue
        kernel.check(certificate)
        said = statement_of(certificate)
        if len(stated) % 7 == 0:
            assert statement_of(_certificate(one, file.path.parent, {})) == said, one.name
        other = stated.setdefault(said, one)
        assert _same(one, other), (one.name, other.name)
    assert stated


def _certificate(one, folder, accounts):
    """The certificate of a claim that is proved; None for any other."""
    found = judge(one, folder, accounts)
    if found.verdict is None or found.verdict.outcome != "proved":
        return None
    account = accounts.get(account_key(one)) if one.graph else None
    certificate = certify(found.verdict, account).certificate
    assert certificate is not None, one.name
    return certificate


def _same(one, other):
    """Whether two claims say the same of formulas: each is proved equal to itself in the other's words."""
    return one is other or re.sub(r"[\s*]", "", one.claim) == re.sub(r"[\s*]", "", other.claim)
