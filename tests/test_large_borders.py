"""Claims that fail only where sizes are large and a condition is at its border."""

from __future__ import annotations

import pytest

from symacct.account import derive
from symacct.proof.prove import prove
from symacct.readers.files import load


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("claim", "beyond"),
    [("flops.model <= 8*params*tokens if s <= 6*h", 8), ("flops.model <= 6.6*params*tokens if s <= h", 6.6)],
)
def test_a_claim_that_fails_at_a_far_border_is_refuted(claim, beyond):
    """Attention at s = 6*h costs as much as all else: the counterexample is counted by hand."""
    verdict = prove(derive(load("gpt")), claim)
    assert verdict.outcome == "refuted"
    at = dict(verdict.decision.point.sizes)
    b, s, h, layers, words = (at[name] for name in ("b", "s", "h", "L", "V"))
    params = 12 * layers * h**2 + 13 * layers * h + words * h + s * h + 2 * h
    flops = layers * (72 * b * s * h**2 + 12 * b * s**2 * h) + 6 * b * s * h * words
    assert flops > beyond * params * b * s
    assert h % at["a"] == 0
