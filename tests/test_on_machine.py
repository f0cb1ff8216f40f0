"""Times in conditions and in sweeps, against the larger of two quotients that are worked out here."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import pytest

from symacct.account import derive
from symacct.cli import main
from symacct.errors import UnitError, UsageError
from symacct.evaluation.sweep import sweep
from symacct.evaluation.sweep_cases import make_case
from symacct.evaluation.sweep_grid import read_grid
from symacct.machines import load as machine
from symacct.planning.solve import solve
from symacct.readers.files import load

ON = "h100-sxm"
D, K = 512, 2048


@cache
def figures() -> tuple[Fraction, Fraction]:
    """The dense bf16 peak and the bandwidth, as the machine states them."""
    found = machine(ON)
    return Fraction(found.peak("bf16").value), Fraction(found.needed("bandwidth").value)


def seconds(rows: int) -> Fraction:
    """A product of (rows, D) and (D, K) in bf16: whichever takes longer, its FLOPs or its bytes."""
    peak, bandwidth = figures()
    moved = 2 * (rows * D + D * K + rows * K)
    return max(2 * rows * D * K / peak, moved / bandwidth)


def forward():
    """Return the forward pass of one linear layer."""
    return derive(load("linear"), workload="forward")


@pytest.mark.parametrize("micros", [1, 3, 10, 50, 400])
def test_the_largest_batch_that_a_time_allows(micros):
    limit = Fraction(micros, 10**6)
    found = solve(
        forward(),
        f"time.forward <= {micros} us",
        "B",
        sizes={"D": D, "K": K},
        machine=machine(ON),
    )
    if seconds(1) > limit:
        assert not found.ranges
        return
    assert found.ranges == ((1, found.largest),)
    assert seconds(found.largest) <= limit < seconds(found.largest + 1)
    assert [one.holds for one in found.checks][-2:] == [True, False]


def test_a_share_of_the_peak():
    """From which batch on half of the peak is reached: FLOPs over the peak against twice the time."""
    found = solve(forward(), "mfu.bound >= 1/2", "B", sizes={"D": D, "K": K}, machine=machine(ON))
    reached = [b for b in range(1, 1500) if 2 * b * D * K / figures()[0] >= seconds(b) / 2]
    assert found.smallest == reached[0]
    assert reached == list(range(reached[0], 1500))


def test_a_sweep_of_times():
    """Exactly, and as float64 within the error that it states; bounds of counts are as ever."""
    case = make_case(forward(), ["time.forward", "2*time.forward", "1 FLOP/time.forward"], machine=ON)
    for exact in (True, False):
        found = sweep([case], read_grid(f"B=1..4097:512,D={D},K={K}"), exact=exact)
        rows = [row for block in found for row in block.values[0]]
        times = [seconds(b) for b in range(1, 4098, 512)]
        assert [float(one) for one in rows] == pytest.approx([float(one) for one in times], rel=1e-14)
    assert [str(one.unit) for one in case.columns] == ["second", "second", "FLOP/second"]


def test_without_a_machine_it_is_said_which_flag_names_one():
    for ask in (
        lambda: solve(forward(), "time.forward <= 1 second", "B", sizes={"D": D, "K": K}),
        lambda: make_case(forward(), ["time.forward"]),
    ):
        with pytest.raises(UsageError, match=r"(?s)time.forward is what a graph takes on a machine.*--on"):
            ask()
    with pytest.raises(UnitError):
        solve(forward(), "time.forward <= 1 byte", "B", sizes={"D": D, "K": K}, machine=machine(ON))


def test_the_commands(capsys):
    at = ("--at", f"D={D},K={K}", "--workload", "forward", "--on", ON)
    assert main(["solve", "linear", "time.forward <= 50 us", "--for", "B", *at]) == 0
    out = capsys.readouterr().out
    largest = int(out.split("largest: ")[1].split()[0].replace(",", ""))
    assert seconds(largest) <= Fraction(50, 10**6) < seconds(largest + 1)
    assert main(["sweep", "linear", "time.forward", "--over", "B=7", *at]) == 0
    assert Fraction(capsys.readouterr().out.splitlines()[1].split(",")[1]) == seconds(7)
    assert main(["solve", "time.step <= 1 second", "--for", "B"]) == 2
    assert "time.step is a quantity of a graph" in capsys.readouterr().err
