"""What a proof is bounded by, and the certificates of verdicts: checked by the kernel, with their rows."""

import json

import pytest

from symacct import kernel
from symacct.cli import main
from symacct.proof.certified import certify
from symacct.proof.prove import prove

CHAIN = "flops.model = 6*B*D^2*L"
SCALING = "flops.model ~ 6*N*D where N = params.nonembedding, D = tokens"


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command in process and return its status, output and complaint."""
    monkeypatch.setenv("COLUMNS", "100")

    def call(*words):
        status = main(list(words))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "claim",
    [
        "(a + b + c + d + e)^30 = 1",
        "(a*b*c*d*e*f*g*h)^40 >= 1",
        "(a + b*c + d*e)^20 >= a^19*b",
        "(a + b + c)^40 <= (a + b + c + d)^40",
    ],
)
def test_what_is_too_large_is_undecided_and_says_why(claim):
    """No claim takes long: past the budget it is undecided."""
    verdict = prove(None, claim, seconds=0.5)
    assert verdict.outcome == "undecided"
    assert verdict.decision.reason


@pytest.mark.few(2)
@pytest.mark.parametrize("claim", [CHAIN, CHAIN.replace("=", "<="), CHAIN.replace("=", "~"), SCALING])
def test_verdicts_have_certificates_with_the_rows_of_the_derivation(claim, tmp_path, run):
    """The kernel accepts what is written, and the rows add up to the total."""
    graph = "gpt" if claim == SCALING else "deep_linear"
    words = ["--grow", "h"] if claim == SCALING else []
    file = tmp_path / "proof.json"
    status, said, _ = run(
        "prove", graph, claim, *words, "--certificate", str(file), "--coq", str(tmp_path / "a.v")
    )
    assert status == (1 if claim == CHAIN else 0)
    assert "with the rows that flops.model is the sum of" in " ".join(said.split())
    certificate = json.loads(file.read_text())
    assert kernel.check(certificate)
    assert certificate["ledger"]["quantity"] == "flops.model"
    assert "Theorem" in (tmp_path / "a.v").read_text()
    assert main(["verify", str(file)]) == 0


def test_an_undecided_claim_has_no_certificate(tmp_path, run):
    """It says so, and writes nothing."""
    file = tmp_path / "proof.json"
    status, said, _ = run("prove", "2^n >= n", "--certificate", str(file))
    assert (status, file.exists()) == (3, False)
    assert said.endswith("certificate: not written: an undecided claim has none\n")
    assert certify(prove(None, "a*n <= b iff n <= b/a")).certificate is not None
