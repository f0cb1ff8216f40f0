"""Coq's second opinion: it proves what the kernel accepts, and refuses the same spoiled certificates."""

from __future__ import annotations

import copy
import shutil
import subprocess

import pytest
from sympy import Max, ceiling, sqrt

from symacct import kernel
from symacct.algebra.condition import Condition
from symacct.algebra.symbols import as_expr, symbol
from symacct.proof.certificate import (
    certify_asymptotic,
    certify_identity,
    certify_inequality,
    certify_order,
    certify_refutation,
    certify_refuted_limit,
    seal,
)
from symacct.proof.coq import to_coq

B, D, L, h, k = map(symbol, ("B", "D", "L", "h", "k"))
FIRST, SECOND = (L + 1) * B * D + D**2, B * D + L * D**2
CERTIFICATES = {
    "identity": lambda: certify_identity((B**2 - D**2) / (B + D), B - D),
    "definition": lambda: certify_identity(6 * B * D * h, 24 * B * D**2, 1, [Condition("equal", h, 4 * D)]),
    "maxima": lambda: certify_identity(Max(B, D, (B + D) / 2), Max(B, D)),
    "squares": lambda: certify_inequality(2 * B * D, "<=", B**2 + D**2),
    "means": lambda: certify_inequality(L / k + k, ">=", 2 * sqrt(L)),
    "strict": lambda: certify_inequality(B * D + B, ">", B * D),
    "region": lambda: certify_inequality(B * D, ">=", k * D**2, 1, [Condition("at_least", B, k * D)]),
    "linear": lambda: certify_inequality((FIRST + SECOND) / 2, "<=", Max(FIRST, SECOND), {"L": 2}),
    "rounding": lambda: certify_inequality(ceiling(L / k), "<=", L / k + 1),
    "rate": lambda: certify_asymptotic((L**2 + L * B) / (L + D), L, ["L"]),
    "theta": lambda: certify_order(6 * B * D**2 * L - 2 * B * D**2, L, ["L"], both=True),
    "elsewhere": lambda: certify_refuted_limit(8 * B * D * L + D, "~", 6 * B * D * L, ["L"]),
    "growth": lambda: certify_refuted_limit(8 * B * L**2, "O", B * L, ["L"]),
    "point": lambda: certify_refutation(6 * B * D, "=", 6 * B * D**2, {"D": 2}),
}


@pytest.fixture
def proves(tmp_path):
    coqc = shutil.which("coqc")
    if coqc is None:
        pytest.skip("coqc is not installed (Debian: apt-get install coq)")

    def run(text):
        file = tmp_path / "claim.v"
        file.write_text(text, encoding="utf-8")
        done = subprocess.run([coqc, "-q", str(file)], capture_output=True, check=False, cwd=tmp_path)
        return done.returncode == 0

    return run


@pytest.mark.parametrize("name", CERTIFICATES)
def test_coq_proves_it(name, proves):
    """Each kind of certificate compiles."""
    text = to_coq(CERTIFICATES[name]())
    assert text is not None
    assert proves(text)


def _first_number(expr):
    """Return the place of the first coefficient above 1 in an expression."""
    for place, part in enumerate(expr):
        if isinstance(part, str) and part.isdigit() and int(part) > 1 and expr[0] != "^":
            return expr, place
        found = _first_number(part) if isinstance(part, list) else None
        if found:
            return found
    return None


@pytest.mark.parametrize("name", ["definition", "squares", "means", "theta", "elsewhere", "point"])
def test_spoiled_coefficients_fail_in_both(name, proves):
    """A statement with another coefficient is refused by the kernel and by Coq."""
    new = copy.deepcopy({key: value for key, value in CERTIFICATES[name]().items() if key != "digest"})
    said = new["statement"].get("claim", new["statement"])
    if name == "point":
        new["proof"]["point"]["D"] = "1"
    else:
        side, place = _first_number(said["left"]) or _first_number(said["right"])
        side[place] = "1" if name == "theta" else "9"
    spoiled = seal(new)
    with pytest.raises(kernel.Refused):
        kernel.check(spoiled)
    text = to_coq(spoiled)
    assert text is not None
    assert not proves(text)


def test_what_is_left_out():
    """A sum over an index, and a rounding that integers resolve, have no theorem about real numbers."""
    divides = Condition("divides", k, L)
    assert to_coq(certify_identity(k * ceiling(L / k), L, 1, [divides])) is None
    assert to_coq(certify_inequality(sqrt(L + 1), ">=", as_expr(1))) is None
