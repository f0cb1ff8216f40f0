"""Segments in segments: few states kept at a time, and the best segments of unequal layers."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from itertools import groupby
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from symacct import load
from symacct.account import Account, derive
from symacct.build import Builder
from symacct.cli import main
from symacct.convention import convention
from symacct.errors import RuleError, SizeError, SymacctError, UsageError
from symacct.nodes import Graph, Repeat
from symacct.peaks.binomial import again, first_part, least_slots, least_times, reach, segments
from symacct.peaks.chain import Link, best_plans, least_splits, segments_of, splits
from symacct.peaks.timeline import at_sizes, sizes_at, worst
from symacct.policy import Checkpoint, Policy, checkpoint, precision

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

torch = pytest.importorskip("torch")

from random_graphs import random_graph  # noqa: E402
from torch_chain import Chain, fewest, train  # noqa: E402

from symacct.execution.memory_check import check_memory  # noqa: E402
from symacct.execution.memory_compare import Compared  # noqa: E402
from symacct.execution.schedule import run  # noqa: E402
from symacct.execution.schedule_plan import Plan  # noqa: E402

FP32 = precision("fp32")
Segments = tuple[tuple[int, int], ...]


# ---- how many iterations run again ----


def test_the_closed_form_is_what_trying_every_split_gives() -> None:
    for slots in range(1, 9):
        for count in range(1, 61):
            assert again(count, slots) == fewest(count, slots)[0], (count, slots)
            if count > 1:
                assert first_part(count, slots) == fewest(count, slots)[1]


def test_the_closed_form_counts_the_runs_of_the_segments() -> None:
    """A segment runs again once, and with it what stands in it; no iteration does so more than t times."""
    for slots in range(1, 9):
        for count in range(1, 61):
            found = list(segments(count, slots))
            runs = Counter(i for lo, hi in found for i in range(lo, hi))
            assert runs.total() == again(count, slots)
            assert max(runs.values(), default=0) == least_times(count, slots)


def test_reach() -> None:
    assert [reach(3, times) for times in range(5)] == [1, 4, 10, 20, 35]
    for slots in range(1, 6):
        for times in range(1, 6):
            assert least_times(reach(slots, times), slots) == times
            assert least_times(reach(slots, times) + 1, slots) == times + 1


@pytest.mark.parametrize("slots", [1, 2, 3, 7, 500, 10**6])
@pytest.mark.parametrize("count", [2, 17, 10**6 + 3, 10**12, 10**30])
def test_large_counts_are_split_where_no_other_split_is_better(count: int, slots: int) -> None:
    """What a split costs is convex in its first part: the best one is that with no better neighbour."""
    times = least_times(count, slots)
    assert reach(slots, times - 1) < count <= reach(slots, times)

    def cost(part: int) -> int:
        return part + again(part, slots) + (again(count - part, slots - 1) if part < count - 1 else 0)

    part = first_part(count, slots)
    assert cost(part) == again(count, slots)
    if slots == 1:
        assert part == count - 1
    else:
        assert part == count - 1 or cost(part + 1) > cost(part)
        assert part == 1 or cost(part - 1) >= cost(part)


def test_the_least_slots_are_those_that_trying_one_by_one_gives() -> None:
    for count in range(1, 40):
        for most in range(max(count - 1, 0), 200):
            tried = next(slots for slots in range(1, 99) if fewest(count, slots)[0] <= most)
            assert least_slots(count, most) == tried


def test_segments_nest_as_deep_as_there_are_iterations() -> None:
    assert list(segments(3000, 1)) == [(0, last) for last in range(2999, 0, -1)]


@pytest.mark.parametrize(
    ("count", "slots", "got", "fix"),
    [
        (1200, 1, "719400", "binomial:3,"),
        (201, 1, "20100", "binomial:2,"),
        (10**12, 2, "1000000000000", "every:K"),
        (10**12, 10**4, "1000000000000", "every:K"),
    ],
)
def test_what_is_too_long_to_write_out_is_refused(
    count: int, slots: int, got: str, fix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["memory", "mlp", "--at", f"B=8,D=4,L={count}", "--checkpoint", f"binomial:{slots}"]) == 2
    said = capsys.readouterr().err
    assert "too many iterations" in said
    assert f"  got       {got}\n" in said
    assert fix in said


@pytest.mark.parametrize(("count", "slots"), [(1, 1), (2, 1), (9, 1), (13, 2), (20, 3), (35, 4), (60, 8)])
def test_the_interpreter_runs_so_many_iterations_again(count: int, slots: int) -> None:
    account = derive(load("mlp"), checkpoint=f"binomial:{slots}").bind({"L": count})
    expected = again(count, slots)
    assert account.course.repeated.get("layers/relu", 0) == expected
    schedule = at_sizes(account.graph, account.running, {"B": 2, "D": 3})
    ran = Counter(action.label for action in schedule.actions if action.phase == "recompute")
    assert ran["layers/matmul"] == expected
    B, D = (next(s for s in account["flops.model"].expr.free_symbols if s.name == name) for name in "BD")
    assert account["flops.recompute"].expr == 2 * B * D**2 * expected
    assert account["flops.hardware"].expr == account["flops.model"].expr + account["flops.recompute"].expr


def test_another_split_runs_more_again() -> None:
    """Segments with other first parts are no better: the schedule is the best of its kind."""
    dice = Random(0)

    def drawn(count: int, slots: int) -> int:
        if count == 1:
            return 0
        part = count - 1 if slots == 1 else dice.randint(1, count - 1)
        return part + drawn(part, slots) + drawn(count - part, slots - 1)

    costs = [drawn(18, 3) for _ in range(300)]
    assert min(costs) >= again(18, 3)
    assert max(costs) > again(18, 3)


# ---- memory, against torch ----

SETTINGS = [
    (5, 6, 1, 1, {}), (5, 6, 2, 1, {}), (5, 6, 3, 2, {}), (6, 2, 4, 1, {}), (2, 7, 4, 2, {}),
    (7, 3, 6, 2, {}), (3, 3, 6, 3, {"full": True}), (9, 2, 7, 1, {"full": True}), (4, 4, 10, 3, {}),
    (8, 3, 11, 2, {}), (8, 3, 10, 9, {}), (3, 8, 12, 3, {"held": True}), (6, 5, 5, 2, {"kept": True}),
    (6, 5, 6, 2, {"fused": True}), (6, 3, 6, 2, {"micro": 3}), (7, 2, 20, 3, {}), (2, 9, 15, 2, {}),
    (12, 1, 21, 2, {"held": True}), (5, 3, 9, 3, {"micro": 2, "held": True}), (6, 4, 30, 4, {}),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "width", "count", "slots", "how"), SETTINGS)
def test_peaks_are_those_of_nested_checkpoints(
    rows: int, width: int, count: int, slots: int, how: dict[str, Any]
) -> None:
    tracked = train(Chain(rows, width, count, slots=slots, **how))
    recompute = "full" if how.get("full") else "needed"
    account = derive(
        load("mlp"),
        precision="fp32",
        checkpoint=f"binomial:{slots}:{recompute}",
        hold_output=how.get("held", False),
        grads="kept" if how.get("kept") else "fresh",
        update="fused" if how.get("fused") else "separate",
        accumulate=how.get("micro", 1),
    )
    sizes = {"B": rows, "D": width, "L": count}
    beside = account.bind(sizes).beside("memory.peak")
    assert account.value("memory.peak", sizes) - beside == 4 * tracked.peak


@pytest.mark.parametrize(("count", "slots"), [(20, 3), (20, 1), (33, 5), (4, 3), (7, 6)])
def test_so_many_states_are_kept_as_there_are_slots(count: int, slots: int) -> None:
    """A linear layer saves what enters it: that one state, and one in each slot."""
    account = derive(load("deep_linear"), precision="fp32", checkpoint=f"binomial:{slots}").bind({"L": count})
    sizes = {"B": 4, "D": 5}
    assert count > slots
    assert account.value("memory.activations.peak", sizes) == 4 * 4 * 5 * (slots + 1)


@pytest.mark.parametrize("name", ["mlp", "gpt"])
def test_graphs_run_on_torch(name: str) -> None:
    policies = [Policy(FP32, checkpoint=checkpoint(text)) for text in ("binomial:1", "binomial:2:full")]
    sizes = {"gpt": {**SIZES["gpt"], "L": 4}, "mlp": {"B": 5, "D": 6}}[name]
    found = check_memory(load(name), sizes, policies)
    assert found.passed, found.differences
    assert any(row.what == "ops run again" and row.counted for row in found.rows)


def nested(dice: Random, lo: int, hi: int, depth: int = 0) -> Iterator[tuple[int, int]]:
    """Draw segments in segments."""
    while lo < hi:
        end = lo + 1
        if depth < 4 and dice.random() < 0.45:
            end = dice.randint(lo + 1, hi)
            yield lo, end
            yield from nested(dice, lo, end, depth + 1)
        lo = end


SIZES = {
    "mlp": {"B": 5, "D": 6, "L": 4},
    "lora": {"B": 5, "D": 4, "L": 3, "r": 2},
    "gpt": {"b": 2, "s": 3, "t": 3, "a": 2, "h": 4, "L": 3, "V": 7},
    "llama": {"B": 2, "S": 3, "T": 3, "L": 3, "D": 4, "F": 6, "H": 4, "G": 2, "K": 2, "V": 7},
}


def units(graph: Graph) -> int:
    """Return how many iterations of outermost repeats and nodes outside of them there are."""
    return sum(int(node.count) if isinstance(node, Repeat) else 1 for node in graph.nodes)


def drawn_case(seed: int) -> tuple[Graph, Policy]:
    """Return a graph at sizes and a policy with any segments in segments."""
    dice = Random(seed)
    if seed % 2:
        name = dice.choice(list(SIZES))
        graph = load(name).bind(SIZES[name])
    else:
        found = random_graph(seed)
        graph = found.graph.bind(found.sizes)
    cut = Checkpoint("optimal", recompute=dice.choice(("needed", "needed", "full")), nbytes=1,
                     segments=tuple(nested(dice, 0, units(derive(graph).graph))))  # fmt: skip
    return graph, Policy(
        FP32,
        checkpoint=cut,
        hold_output=dice.random() < 0.3,
        grads=dice.choice(("fresh", "kept")),
        input_grad=dice.random() < 0.4,
    )


@pytest.mark.few(5)
@pytest.mark.parametrize("seed", [1, 2, 9, 14, 21, 37, 62, 69, 77, 80, 128, 142, 242, 266, 286])
def test_any_segments_in_segments_run_as_on_torch(seed: int) -> None:
    graph, policy = drawn_case(seed)
    account = Account(graph, policy, convention("default"))
    assert policy.checkpoint.segments is not None
    how = Plan(
        ("nested", policy.checkpoint.segments),
        policy.checkpoint.recompute,
        policy.hold_output,
        policy.grads,
        input_grad=policy.input_grad,
    )
    compared = Compared(account, {}, run(account.graph, {}, how))
    wrong = [row for row in compared.rows() if row.verdict != "equal"]
    assert not wrong, [*compared.differences()]


# ---- the best segments ----


@cache
def inside(lo: int, hi: int) -> tuple[Segments, ...]:
    """Return every way to put segments inside one."""
    if lo == hi:
        return ((),)
    cut = (
        ((lo, k), *inner, *rest)
        for k in range(lo + 1, hi)
        for inner in inside(lo, k)
        for rest in every_way(k, hi)
    )
    return (*every_way(lo + 1, hi), *cut)


@cache
def every_way(lo: int, hi: int) -> tuple[Segments, ...]:
    """Return every way to put segments on steps."""
    return (*inside(lo, hi), *(((lo, hi), *one) for one in inside(lo, hi))) if lo < hi else ((),)


def front(points: dict[int, int]) -> list[tuple[int, int]]:
    """Return the pairs of peak and cost that no other pair beats."""
    found: list[tuple[int, int]] = []
    for peak in sorted(points):
        if not found or points[peak] < found[-1][1]:
            found.append((peak, points[peak]))
    return found


class Played:
    """What segments on a chain take, played out: storages are held by name, and let go one by one."""

    def __init__(self, links: Sequence[Link], chosen: Segments, full: bool) -> None:  # noqa: FBT001
        self.links, self.chosen, self.full = links, chosen, full
        self.held: Counter[tuple[object, ...]] = Counter()
        self.peak = self.cost = 0
        self.taken = 0
        first = ("state", 0, 0)
        frames = self.forward(0, len(links), (0, len(links)), 0, first)
        self.backward(frames)
        assert not +self.held

    def hold(self, name: tuple[object, ...], nbytes: int) -> tuple[object, ...]:
        if name != ("state", 0, 0):
            self.held[(*name, nbytes)] += 1
        self.peak = max(self.peak, sum(name[-1] for name in +self.held))  # type: ignore[misc]
        return (*name, nbytes)

    def items(self, lo: int, hi: int, around: tuple[int, int], depth: int) -> list[tuple[int, int, int]]:
        """Return the steps and segments in a segment: first, end, and the depth of one, or -1 of a step."""
        found = []
        while lo < hi:
            mine = [(d, one) for d, one in enumerate(self.chosen) if one[0] == lo and d >= depth]
            mine = [(d, one) for d, one in mine if one[1] <= hi]
            if mine:
                d, one = mine[0]
                found.append((lo, one[1], d))
                lo = one[1]
            else:
                found.append((lo, lo + 1, -1))
                lo += 1
        return found

    def forward(
        self, lo: int, hi: int, around: tuple[int, int], depth: int, entering: tuple[object, ...]
    ) -> list[Any]:
        self.taken += 1
        version, frames, state = self.taken, [], entering
        for first, end, d in self.items(lo, hi, around, depth):
            following = ("state", end, version)
            link = self.links[first]
            if d >= 0:
                frames.append((first, end, d, state, [self.hold(state, int(link.enters))]))
            else:
                kept = [self.hold(state, int(link.reads))] if link.reads else []
                kept.append(self.hold(("inner", first, version), int(link.inner)))
                if link.leaves:
                    kept.append(self.hold(following, int(link.leaves)))
                frames.append((first, end, d, state, kept))
            state = following
        return frames

    def backward(self, frames: list[Any]) -> None:
        for first, end, d, state, kept in reversed(frames):
            if d >= 0:
                inner = self.forward(first, end, (first, end), d + 1, state)
                last, ends, seg, _, _ = inner[-1]
                run_to = end if self.full or seg < 0 else last
                self.cost += sum(int(link.cost) for link in self.links[first:run_to])
                if not self.full and seg < 0:
                    self.cost -= int(self.links[ends - 1].beyond)
                self.backward(inner)
            for name in kept:
                if name[:3] != ("state", 0, 0):
                    self.held[name] -= 1


def drawn_chain(dice: Random, count: int) -> list[Link]:
    """Draw steps: each saves what enters it, or nothing of it, and what leaves it or not."""
    states = [0, *(dice.randint(1, 9) for _ in range(count))]
    reads = [dice.random() < 0.8 for _ in range(count + 1)]
    leaves = [dice.random() < 0.5 for _ in range(count)]
    links = []
    for i in range(count):
        cost = dice.randint(1, 20)
        last = i + 1 == count
        out = states[i + 1] if leaves[i] else 0
        joint = states[i + 1] if leaves[i] or (reads[i + 1] and not last) else 0
        links.append(
            Link(states[i], states[i] if reads[i] else 0, dice.randint(0, 9), out, joint, cost,
                 0 if leaves[i] else dice.randint(0, cost))
        )  # fmt: skip
    return links


@pytest.mark.few(6)
@pytest.mark.parametrize("seed", range(24))
def test_plans_of_a_chain_are_the_best_of_all(seed: int) -> None:
    dice = Random(seed)
    links, full = drawn_chain(dice, 6 if seed == 4 else 2 + seed % 4), dice.random() < 0.4
    points: dict[int, int] = {}
    for chosen in every_way(0, len(links)):
        played = Played(links, chosen, full)
        points[played.peak] = min(points.get(played.peak, 10**9), played.cost)
    found = best_plans(links, full=full)
    assert [(one.peak, one.cost) for one in found] == front(points)
    for one in found:
        played = Played(links, tuple(segments_of(one)), full)
        assert (played.peak, played.cost) == (one.peak, one.cost)
    assert best_plans(links, full=full, least=True)[0].peak == found[0].peak
    assert best_plans(links, found[0].peak - 1, full=full) == []


def unequal(dice: Random, count: int) -> Graph:
    """Draw a chain of unlike layers, each of which saves what enters it."""
    b = Builder("chain", "B")
    width = dice.randint(1, 5)
    x = b.input("x", "B D0", D0=width)
    for i in range(count):
        with b.region(f"l{i}"):
            kind, out, old, new = dice.choice(("plain", "relu", "gelu", "norm")), dice.randint(1, 6), i, i + 1
            x = b.layernorm(x, f"D{old}") if kind == "norm" else x
            w = b.weight("w", f"D{old} D{new}", **{f"D{old}": width, f"D{new}": out})
            x = b.einsum(f"B D{old}, D{old} D{new} -> B D{new}", x, w)
            x = b.relu(x) if kind == "relu" else b.gelu(x) if kind == "gelu" else x
            width = out
    return b.build(x).bind({"B": dice.randint(1, 4)})


@pytest.mark.few(1)
@pytest.mark.parametrize(("seed", "count"), [(0, 2), (1, 3), (2, 3), (3, 3), (4, 3), (6, 4)])
def test_the_best_segments_are_the_best_of_all(seed: int, count: int) -> None:
    """Every way to cut the layers, measured by the account: none that fits runs less again."""
    dice = Random(seed)
    graph, recompute = unequal(dice, count), dice.choice(("needed", "full"))
    starts = [0]
    for _, group in groupby(graph.nodes, key=lambda node: node.label.partition("/")[0]):
        starts.append(starts[-1] + len([*group]))
    points: dict[int, int] = {}
    for way in every_way(0, count):
        chosen = tuple((starts[lo], starts[hi]) for lo, hi in way)
        cut = Checkpoint("optimal", recompute=recompute, nbytes=1, segments=chosen)
        account = Account(graph, Policy(FP32, checkpoint=cut), convention("default"))
        peak, cost = (int(account[name].expr) for name in ("memory.activations.peak", "flops.recompute.all"))
        points[peak] = min(points.get(peak, cost), cost)
    best = front(points)
    for peak, cost in best:
        for room in (peak, peak + 1):
            found = derive(graph, precision="fp32", checkpoint=f"optimal:{room}:{recompute}")
            assert found.value("memory.activations.peak") <= room
            fits = min(cost for other, cost in best if other <= room)
            assert found.value("flops.recompute.all") == fits, (room, cost)
    with pytest.raises(RuleError, match="no segments of graph chain") as raised:
        derive(graph, precision="fp32", checkpoint=f"optimal:{best[0][0] - 1}:{recompute}").value(
            "memory.peak"
        )
    assert str(best[0][0]) in str(raised.value)


def test_the_best_segments_run_on_torch() -> None:
    graph = unequal(Random(5), 5)
    whole = int(derive(graph, precision="fp32").value("memory.activations.peak"))
    lower = [Policy(FP32, checkpoint=checkpoint(f"optimal:{whole * part // 8}")) for part in (7, 6, 5)]
    found = check_memory(graph, policies=lower)
    assert found.passed, found.differences


def test_what_is_best_for_equal_layers_is_at_least_as_good_as_binomial() -> None:
    sizes = {"B": 4, "D": 8, "L": 20}
    for slots in (1, 2, 3, 4):
        few = derive(load("mlp"), precision="fp32", checkpoint=f"binomial:{slots}")
        room, cost = (few.value(name, sizes) for name in ("memory.activations.peak", "flops.recompute.all"))
        best = derive(load("mlp"), precision="fp32", checkpoint=f"optimal:{room}")
        assert best.value("memory.activations.peak", sizes) <= room
        assert best.value("flops.recompute.all", sizes) <= cost


@pytest.mark.parametrize("name", ["mlp", "lora", "gpt", "llama"])
@pytest.mark.parametrize("recompute", ["needed", "full"])
def test_nothing_runs_again_where_all_fits(name: str, recompute: str) -> None:
    """The room is what a schedule without segments keeps, walked step by step; a byte less is too little."""
    graph = load(name).bind(SIZES[name])
    plain = derive(graph, precision="fp32")
    schedule = at_sizes(plain.graph, plain.running, {})
    walked = worst(schedule, sizes_at(plain.graph, plain.policy, {}), lambda storage: storage.saved).nbytes
    inputs = (plain.graph.tensors[one] for one in schedule.inputs)
    room = int(walked + sum(plain.policy.nbytes(one.dtype, one.role) * int(one.numel) for one in inputs))
    found = derive(graph, precision="fp32", checkpoint=f"optimal:{room}:{recompute}")
    for quantity in ("memory.peak", "memory.activations", "memory.activations.peak", "bytes.step"):
        assert found.value(quantity) == plain.value(quantity)
    assert found.value("flops.recompute.all") == 0
    assert found.value("memory.activations.peak") == room
    less = derive(graph, precision="fp32", checkpoint=f"optimal:{room - 1}:{recompute}")
    assert less.value("memory.activations.peak") < room
    assert less.running.checkpoint.segments


@pytest.mark.parametrize("count", [2000, 100_000, 10**12])
def test_many_layers_run_nothing_again_or_are_refused_at_once(count: int) -> None:
    """What enters a layer is what backward of ReLU before it reads: 2 byte for each row and feature."""
    sizes = {"B": 8, "D": 4, "L": count}
    room = 2 * 8 * 4 * (count + 1)
    found = derive(load("mlp"), checkpoint=f"optimal:{room}")
    assert found.value("memory.activations.peak", sizes) == room
    assert found.value("flops.recompute.all", sizes) == 0
    with pytest.raises(SizeError, match="too many steps") as raised:
        derive(load("mlp"), checkpoint=f"optimal:{room - 1}").value("memory.peak", sizes)
    assert raised.value.got == f"{count} steps"
    assert f"optimal:{room}," in str(raised.value.fix)
    assert ("binomial" in str(raised.value.fix)) == (count == 2000)


def test_there_are_as_many_ways_to_split_as_are_told_before_the_steps_are_listed() -> None:
    dice = Random(3)
    for count in range(1, 12):
        alike = [Link(8, 8, 0, 8, 8, 10, 0)] * count
        assert least_splits(count) == splits(alike) <= splits(drawn_chain(dice, count))


def test_skipped_values_still_fit() -> None:
    """A value that passes by steps is no chain: what is found fits all the same."""
    sizes = {"b": 2, "s": 6, "t": 6, "a": 2, "h": 4, "L": 8, "V": 7}
    whole = int(derive(load("gpt"), precision="fp32").value("memory.activations.peak", sizes))
    found = derive(load("gpt"), precision="fp32", checkpoint=f"optimal:{whole // 2}")
    assert found.value("memory.activations.peak", sizes) <= whole // 2
    assert found.value("flops.recompute", sizes) > 0


# ---- what is refused, and how it is said ----


def test_counts_and_sizes_that_are_open_are_refused() -> None:
    few = derive(load("mlp"), checkpoint="binomial:3")
    for name in ("flops.recompute", "flops.hardware", "memory.activations", "memory.peak"):
        with pytest.raises(RuleError, match="others for each count of layers") as raised:
            few[name]
        assert raised.value.fix == "bind it: --at L=8"
    assert few["flops.model"].expr == derive(load("mlp"))["flops.model"].expr
    best = derive(load("mlp"), checkpoint="optimal:2kB").bind({"L": 4})
    with pytest.raises(RuleError, match="depend on its sizes, and B is open"):
        best["memory.peak"]


@pytest.mark.parametrize(
    "text",
    ["binomial", "binomial:0", "binomial:-1", "binomial:k", "binomial:2:3", "binomial:99999999", "optimal",
     "optimal:0", "optimal:2FLOP", "optimal:GB", "optimal:1.5", "optimal:-2GB", "optimal:1e9"],
)  # fmt: skip
def test_policies_that_cannot_be_read(text: str) -> None:
    with pytest.raises(UsageError):
        checkpoint(text)


@pytest.mark.parametrize(
    "text", ["binomial:4", "binomial:4:full", "optimal:20GB", "optimal:3MiB:full", "optimal:7"]
)
def test_policies_read_back(text: str) -> None:
    assert checkpoint(text).describe() == text
    assert checkpoint(checkpoint(text).describe()) == checkpoint(text)


def test_no_repeat_no_binomial() -> None:
    with pytest.raises(SymacctError, match="repeats nothing"):
        derive(load("linear"), checkpoint="binomial:2")["memory.activations"]


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    at = ["--at", "B=4,D=8,L=12", "--format", "json"]
    assert main(["memory", "mlp", "--checkpoint", "none,binomial:2,optimal:500", *at]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert "binomial:2" in json.dumps(found)
    assert main(["memory", "mlp", "--checkpoint", "optimal:100", *at[:2]]) == 2
    assert "the least that any segments need" in capsys.readouterr().err
    assert main(["memory", "mlp", "--checkpoint", "binomial:2"]) == 2
    assert "--at L=8" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["plan", "roofline", "fit", "derive"])
def test_other_verbs_bind_the_count(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    on = [] if verb == "derive" else ["--on", "h100-sxm"]
    at = ["--at", "B=4,D=8,L=12"]
    assert main([verb, "mlp", *at, *on, "--checkpoint", "binomial:3"]) == 0
    assert "no formula holds for all" not in "".join(capsys.readouterr())


def test_fit_refuses_segments_of_one_batch(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["fit", "mlp", "--at", "B=4,D=8,L=12", "--on", "h100-sxm", "--checkpoint", "optimal:1kB"]
    assert main(given) == 2
    assert "the best segments are those of one" in capsys.readouterr().err
