"""Peaks of a chain as a user of torch writes it, tracked, against formulas and a reading of the rules.

The formulas hold for x @ w then relu, loss = sum, in elements above parameters and the input; two scalars,
the loss and its unit cotangent, are beside. h is 1 where the caller holds the output. X is B D, W is D².
"""

from __future__ import annotations

import gc
from typing import Any

import pytest
import torch
from torch_chain import Chain, train

from symacct.execution.track import Tracker

SCALARS = 2
SHAPES = ((1, 9), (2, 16), (5, 10), (6, 9), (8, 8), (9, 6), (16, 5), (24, 4), (40, 2))


def plain(B: int, D: int, L: int, h: int) -> int:
    """Return the published peak without checkpoints, region by region."""
    X, W = B * D, D * D
    if L == 1:
        return 2 * X + W if h else max(2 * X, X + W)
    if B >= D:
        return h * X + (L + 1) * X + W
    return h * X + (3 * X + (L - 1) * W if 2 * B >= D else X + L * W)


def segmented(B: int, D: int, L: int, h: int, k: int) -> int:
    """Return the published peak of checkpoints every k, for k that divides L and is smaller."""
    X, W = B * D, D * D
    if k * D <= B:
        return h * X + max((L // k + k) * X + k * W, (k + 2) * X + (L - k) * W)
    if B >= D:
        return h * X + max((L // k + k) * X + k * W, (k + 2) * X + (L - k) * W, 3 * X + (L - 1) * W)
    return h * X + (3 * X + (L - 1) * W if 2 * B >= D else X + L * W)


def by_rules(chain: Chain, before: int = 0) -> int:
    """Return the peak of one micro-batch, level by level; ``before`` gradients of W live already.

    Where gradients stay, those of the layers done so far live too; else only the newest one.
    """
    X, W, L = chain.rows * chain.width, chain.width**2, chain.layers
    k, h = chain.every or L, int(chain.held)
    lengths = [min(k, L - lo) for lo in range(0, L, k)]
    again = chain.every is not None
    stay = not (chain.kept or chain.fused or before)
    levels = [(len(lengths) + 1) * X if again else (L + 1) * X]
    done = 0
    for j in reversed(range(len(lengths))):
        n, last = lengths[j], j == len(lengths) - 1
        for i in range(1, n + 1):
            top = last and i == 1
            own = done * W if stay else 0
            held = 0 if top and not again else h
            levels.append((j + n - i + 3 - top + held) * X + own)
            first = j == 0 and i == n
            levels.append((j + n - i + 2 - first + h) * X + own + W)
            done += 1
    return max(levels) + before * W


def expected(chain: Chain) -> int:
    """Return the peak of all micro-batches: from the second on, every gradient lives already."""
    adds = chain.micro > 1 and not (chain.kept or chain.fused)
    return max(by_rules(chain), by_rules(chain, chain.layers) if adds else 0)


@pytest.mark.long
def test_plain_and_segmented_peaks_are_those_of_the_formulas() -> None:
    points = 0
    for B, D in SHAPES:
        for L in (1, 2, 3, 4, 6):
            for h in (0, 1):
                assert train(Chain(B, D, L, held=bool(h))).peak == plain(B, D, L, h) + SCALARS
                points += 1
                for k in (k for k in range(1, L) if L % k == 0):
                    found = train(Chain(B, D, L, every=k, held=bool(h))).peak
                    assert found == segmented(B, D, L, h, k) + SCALARS, (B, D, L, h, k)
                    points += 1
    assert points >= 180


def test_one_segment_is_as_good_as_none_but_for_a_held_output_of_one_layer() -> None:
    for B, D in SHAPES:
        for L in (2, 3):
            for held in (False, True):
                found = train(Chain(B, D, L, every=L, held=held)).peak
                assert found == plain(B, D, L, held) + SCALARS
        X, W = B * D, D * D
        assert train(Chain(B, D, 1, every=1, held=True)).peak == max(3 * X, 2 * X + W) + SCALARS


@pytest.mark.long
def test_every_other_choice_is_as_the_rules_say() -> None:
    points = 0
    choices: tuple[dict[str, Any], ...] = (
        {},
        {"held": True},
        {"kept": True},
        {"fused": True},
        {"micro": 2},
        {"micro": 3, "held": True},
    )
    for B, D in ((2, 9), (6, 9), (9, 6), (24, 4)):
        for L in (1, 2, 4):
            for k in (None, *range(1, L + 2)):
                for choice in choices:
                    chain = Chain(B, D, L, every=k, **choice)
                    assert train(chain).peak == expected(chain) + SCALARS, chain
                    points += 1
    assert points >= 300


def test_the_rules_say_what_the_formulas_say() -> None:
    for B, D in SHAPES:
        for L in range(1, 9):
            for h in (0, 1):
                assert by_rules(Chain(B, D, L, held=bool(h))) == plain(B, D, L, h)
                for k in (k for k in range(1, L) if L % k == 0):
                    assert by_rules(Chain(B, D, L, every=k, held=bool(h))) == segmented(B, D, L, h, k)


@pytest.mark.parametrize("body", ["linear", "relu", "gelu", "bias", "double"])
@pytest.mark.parametrize("full", [False, True])
def test_gradients_do_not_depend_on_how_the_step_is_run(body: str, full: bool) -> None:  # noqa: FBT001
    want = train(Chain(4, 5, 5, body)).gradients
    for chain in (
        Chain(4, 5, 5, body, every=2, full=full),
        Chain(4, 5, 5, body, every=1, held=True, full=full),
        Chain(4, 5, 5, body, kept=True, full=full),
    ):
        for mine, theirs in zip(train(chain).gradients, want, strict=True):
            assert torch.allclose(mine, theirs)


def test_views_share_a_storage_and_scratch_does_not_count() -> None:
    with Tracker(torch) as tracker:
        a = torch.zeros(6)
        b = a.view(2, 3).t()[1:]
        with tracker.suspended():
            scratch = torch.zeros(1000)
        del a
        assert (tracker.live, tracker.peak) == (24, 24)
        del b
        assert tracker.live == 0
    assert scratch.numel() == 1000


def test_what_lived_before_does_not_count_and_nor_do_its_views() -> None:
    a = torch.zeros(6)
    with Tracker(torch) as tracker:
        b = a[2:]
        b.add_(1)
        assert tracker.peak == 0


def test_a_copy_that_counts_as_a_view_keeps_its_source_alive() -> None:
    with Tracker(torch) as tracker:
        a = torch.zeros(2, 3)
        with tracker.suspended():
            copy = a.t().contiguous()
        tracker.share(copy, a)
        tracker.register(copy, "copy")
        del a
        assert tracker.alive() == (("aten.zeros", 24),)
        del copy
        assert tracker.live == 0


def test_what_is_held_by_hand_counts_but_is_not_alive() -> None:
    with Tracker(torch) as tracker:
        a = torch.zeros(4)
        tracker.hold(a)
        tracker.hold(a)
        del a
        assert (tracker.live, tracker.alive()) == (16, ())
        b = torch.ones(1)
        assert tracker.at_peak == (("aten.zeros", 16), ("aten.ones", 4))
        tracker.release()
        assert tracker.live == b.nbytes
        tracker.hold(b)
        tracker.release()
        del b
        assert tracker.live == 0


def test_the_collector_is_off_inside_and_as_it_was_outside() -> None:
    assert gc.isenabled()
    with Tracker(torch):
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with Tracker(torch):
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
