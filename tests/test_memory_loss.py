"""Memory of a step whose cotangents are given: no loss, and nothing of it lives in the step."""

import pytest

from symacct import derive, load
from symacct.cli.main import main
from symacct.errors import UnknownNameError
from symacct.peaks.timeline import at_sizes, sizes_at, worst

SIZES = [{"B": b, "D": d, "L": n} for b, d, n in ((64, 4, 5), (4, 64, 5), (48, 64, 3), (3, 5, 1), (7, 2, 12))]


def peak(loss, sizes):
    account = derive(load("mlp"), precision="fp32", loss=loss)
    schedule = at_sizes(account.graph, account.policy, sizes)
    return int(worst(schedule, sizes_at(account.graph, account.policy, sizes)).nbytes)


@pytest.mark.parametrize("sizes", SIZES)
def test_a_given_cotangent_takes_the_two_scalars_and_nothing_else_away(sizes):
    """With the sum as loss the cotangent of the output is a view of a scalar: it takes no room either."""
    assert peak("sum", sizes) - peak("none", sizes) == 2 * 4


@pytest.mark.parametrize("sizes", SIZES)
def test_the_formula_says_what_the_interpreter_says(sizes):
    account = derive(load("mlp"), precision="fp32", loss="none")
    inside = account.value("memory.peak", sizes) - account.bind(sizes).beside("memory.peak")
    assert inside == peak("none", sizes)


def test_the_command_line_takes_it(capsys):
    assert main(["memory", "mlp", "--loss", "none", "--precision", "fp32", "--optimizer", "none"]) == 0
    out = capsys.readouterr().out
    assert "cotangents given" in out
    assert "+ 8 byte" not in out


def test_another_word_is_refused():
    with pytest.raises(UnknownNameError, match="loss"):
        derive(load("mlp"), loss="mean")
