"""Certificates from formulas: what is found, what is not claimed, and the ledger of real graphs."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Max, Min, ceiling, floor, sqrt

import symacct
from symacct import kernel
from symacct.algebra.condition import Condition
from symacct.algebra.normal import same
from symacct.algebra.symbols import as_expr, symbol
from symacct.errors import RuleError
from symacct.proof.certificate import (
    certify_asymptotic,
    certify_identity,
    certify_inequality,
    certify_order,
    certify_refutation,
    certify_refuted_limit,
    from_prefix,
    seal,
    to_prefix,
)
from symacct.proof.ledger import with_ledger

B, D, L, H, G, a, h, k, S, T = map(symbol, ("B", "D", "L", "H", "G", "a", "h", "k", "S", "T"))


def equal(left, right):
    return Condition("equal", left, as_expr(right))


def at_least(left, right):
    return Condition("at_least", left, as_expr(right))


FOUND = {
    "expand": lambda: certify_identity(B * (D + 1), B * D + B),
    "alias": lambda: certify_identity(6 * B * D * h, 24 * B * D**2, 1, [equal(h, 4 * D)]),
    "turned": lambda: certify_identity(S * T, S**2, 1, [equal(S, T)]),
    "divides": lambda: certify_identity(k * ceiling(L / k), L, 1, [Condition("divides", k, L)]),
    "maxima": lambda: certify_identity(Max(B, D, (B + D) / 2), Max(B, D)),
    "squares": lambda: certify_inequality(2 * B * D * H, "<=", B**2 * H + D**2 * H),
    "means": lambda: certify_inequality(L / k + k, ">=", 2 * sqrt(L)),
    "costs": lambda: certify_inequality(L * S / k + k * a, ">=", 2 * sqrt(L * S * a)),
    "strict": lambda: certify_inequality(B * D, "<", B * D + B),
    "below": lambda: certify_inequality(B, "<=", B * D),
    "region": lambda: certify_inequality(B * D, ">=", k * D**2, 1, [at_least(B, k * D)]),
    "bound": lambda: certify_inequality(D * L, ">=", 3 * D, 1, [at_least(L, 3)]),
    "fact": lambda: certify_inequality(B**2, ">=", D * B, 1, [at_least(2 * B, 2 * D)]),
    "max of": lambda: certify_inequality(Max(B, D), "<=", B + D),
    "min of": lambda: certify_inequality(Min(B, D), "<=", (B + D) / 2),
    "linear": lambda: certify_inequality((B + D) / 2, "<=", Max(B, D)),
    "weighted": lambda: certify_inequality((B * B + D * D) / (B + D), "<=", Max(B, D)),
    "rounding": lambda: certify_inequality(ceiling(L / k), "<=", L / k + 1),
    "floor": lambda: certify_inequality(floor(L / k) * k, "<=", L),
    "leading": lambda: certify_asymptotic(6 * B * D**2 * L - 2 * B * D**2, 6 * B * D**2 * L, ["L"]),
    "reversed": lambda: certify_asymptotic(6 * B * D**2 * L, 6 * B * D**2 * L - 2 * B * D**2, ["L"]),
    "fraction": lambda: certify_asymptotic((L**2 + L * B) / (L + D), L, ["L"]),
    "together": lambda: certify_asymptotic(12 * L * h**2 + 13 * L * h, 12 * L * h**2, ["L", "h"]),
    "root": lambda: certify_asymptotic(L + sqrt(L) * B, L, ["L"]),
    "ceiling": lambda: certify_asymptotic(k * ceiling(L / k), L, ["L"]),
    "order": lambda: certify_order(6 * B * D**2 * L - 2 * B, L, ["L"]),
    "theta": lambda: certify_order(6 * B * D**2 * L - 2 * B * D**2, L, ["L"], both=True),
    "point": lambda: certify_refutation(6 * B * D, "=", 6 * B * D**2, {"D": 2}),
    "elsewhere": lambda: certify_refuted_limit(8 * B * D * L + D, "~", 6 * B * D * L, ["L"]),
    "vanishes": lambda: certify_refuted_limit(8 * B * D * L + D, "Theta", L**2, ["L"]),
    "unbounded": lambda: certify_refuted_limit(8 * B * L**2, "O", B * L, ["L"]),
}


@pytest.mark.parametrize("name", FOUND)
def test_found(name):
    """The certificate is accepted, from its file too."""
    made = FOUND[name]()
    assert made is not None
    assert kernel.check(kernel.load(json.dumps(made).encode()))


NOT_FOUND = {
    "false identity": lambda: certify_identity(B * D, B + D),
    "false order": lambda: certify_inequality(B, "<=", D),
    "false by one": lambda: certify_inequality(2 * B * D + 1, "<=", B**2 + D**2),
    "a tie is not less": lambda: certify_inequality(2 * B * D, "<", B**2 + D**2),
    "a candidate that wins": lambda: certify_inequality(
        3 * B * D + D**2, "<=", Max(3 * B * D, B * D + 2 * D**2)
    ),
    "false limit": lambda: certify_asymptotic(6 * L + 1, 5 * L, ["L"]),
    "false in one size": lambda: certify_asymptotic(L * h + h, L * h, ["h"]),
    "false bound": lambda: certify_order(L**2, L, ["L"]),
    "only above": lambda: certify_order(L, L**2, ["L"], both=True),
    "true at the point": lambda: certify_refutation(B * D, "=", B, {"D": 1}),
    "true limit": lambda: certify_refuted_limit(L + 1, "~", L, ["L"]),
    "no such sizes": lambda: certify_inequality(B, ">=", D + 1, 1, [at_least(B, D), at_least(-B, 0)]),
}


@pytest.mark.parametrize("name", NOT_FOUND)
def test_not_found(name):
    """What is false, or says nothing, has no certificate."""
    assert NOT_FOUND[name]() is None


def test_what_is_assumed_is_said_to_be():
    """A claim that is a hypothesis itself is proved by that rule alone, and the theorem says so."""
    made = certify_identity(h, 4 * D, 1, [equal(h, 4 * D)])
    assert kernel.check(made)[-1] == "by the rule given: it is the hypothesis h1 itself, times 1"
    made["proof"] = {"rule": "identity", "uses": {"h1": "substitution"}, "example": made["proof"]["example"]}
    with pytest.raises(kernel.Refused, match="is what is to be proved"):
        kernel.check(made)


LEAVES = st.one_of(st.sampled_from([B, D, L]), st.integers(0, 5).map(as_expr))


def _joined(inner):
    return st.one_of(
        st.tuples(inner, inner).map(lambda two: two[0] + two[1]),
        st.tuples(inner, inner).map(lambda two: two[0] * two[1]),
        inner.map(lambda one: one**2),
        inner.map(lambda one: one / (B + 1)),
        inner.map(lambda one: ceiling(one / D)),
        st.tuples(inner, inner).map(lambda two: Max(*two)),
    )


@settings(max_examples=60, deadline=None)
@given(st.recursive(LEAVES, _joined, max_leaves=6))
def test_prefix_reads_back(expr):
    """Written in prefix form and read back, a formula is the same."""
    assert same(from_prefix(to_prefix(expr)), expr)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=4))
def test_a_sum_of_terms_is_at_least_each(terms):
    """A polynomial with no minus is at least any of its terms; the opposite has no certificate."""
    parts = [c * B**i * D**j for c, i, j in terms]
    assert certify_inequality(parts[0], "<=", sum(parts)) is not None
    assert certify_inequality(sum(parts) + B, "<=", parts[0]) is None


def test_a_power_that_has_no_word():
    """A cube root stands in no certificate."""
    with pytest.raises(RuleError, match="a certificate cannot say this power"):
        to_prefix(B ** (as_expr(1) / 3))


@pytest.mark.parametrize("name", ["deep_linear", "mlp", "attention", "llama"])
@pytest.mark.parametrize("suffix", ["matmul", "all"])
def test_the_ledger_of_a_graph(name, suffix):
    """Rows of a derivation add up in the kernel; without one, or with another price, they do not."""
    account = symacct.derive(symacct.load(name))
    made = _with_rows(account, f"flops.model.{suffix}")
    assert made is not None
    contractions = [row for row in made["ledger"]["rows"] if row["kind"] == "contraction"]
    assert contractions
    assert all("axes" in row for row in contractions)
    for spoil in (
        lambda rows: rows.pop(),
        lambda rows: rows[0].update(price="7"),
        lambda rows: rows.append(rows[0]),
    ):
        new = copy.deepcopy({key: value for key, value in made.items() if key != "digest"})
        spoil(new["ledger"]["rows"])
        with pytest.raises(kernel.Refused, match="row"):
            kernel.check(seal(new))


def _with_rows(account, name):
    quantity = account[name]
    bare = certify_identity(quantity.expr, quantity.expr, 1, quantity.when)
    rows = [row for row in account.work if row.phase in {"forward", "backward"}]
    return with_ledger(
        bare, rows, account.step, account.convention, quantity=name, matmul=name.endswith("matmul")
    )


def test_a_claim_about_a_graph():
    """6BD²L - 2BD² of a chain of linear layers is proved with its rows; 6BD²L is refuted with them."""
    account = symacct.derive(symacct.load("deep_linear"))
    expr = account["flops.model"].expr
    rows = [row for row in account.work if row.phase in {"forward", "backward"}]
    for bare in (
        certify_identity(expr, 2 * B * D**2 * (3 * L - 1)),
        certify_refutation(expr, "=", 6 * B * D**2 * L, {"L": 3}),
        certify_asymptotic(expr, 6 * B * D**2 * L, ["L"]),
    ):
        made = with_ledger(bare, rows, account.step, account.convention, quantity="flops.model")
        assert "not checked: the prices of the counts" in kernel.check(made)
