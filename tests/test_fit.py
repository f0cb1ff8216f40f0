"""`symacct fit`: static states by hand, a small graph by brute force, laws, refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from symacct import derive, graph, load
from symacct.account import Account
from symacct.algebra.domain import Domain
from symacct.algebra.evaluate import evaluate
from symacct.cli import main
from symacct.errors import SymacctError
from symacct.evaluation.timing import quantity
from symacct.machines import Figure, Machine, Named, Peak
from symacct.peaks.timeline import at_sizes, sizes_at, worst
from symacct.planning.fit import fit
from symacct.planning.fit_changes import WORDS
from symacct.planning.fit_peak import Courses, unmixed
from symacct.planning.fit_peak import Peak as PeakOf
from symacct.planning.fit_room import room_of
from symacct.planning.fit_search import divisors, largest
from symacct.policy import Policy, checkpoint, precision

GB = 10**9
ADAMW = Policy(optimizer="adamw")


def llama(layers, d, f, heads, groups, vocabulary):
    """Parameters of a Llama decoder with a head of its own, by hand."""
    block = 2 * d * d + 2 * d * d * groups // heads + 3 * d * f + 2 * d
    return layers * block + 2 * d * vocabulary + d


N70 = llama(80, 8192, 28672, 64, 8, 128256)
N8 = llama(32, 4096, 14336, 32, 8, 128256)


def device(nbytes, count=1, *, bandwidth=True, link=True):
    """A device of a capacity, with rates that are easy to work with."""

    def figure(value, unit):
        return Figure(Fraction(value), unit, "a test", "2025")

    return Machine(
        "box", "a box", peaks=(Peak("bf16", None, sparse=False, figure=figure(10**12, "FLOP/second")),),
        bandwidth=figure(10**10, "byte/second") if bandwidth else None,
        capacity=None if nbytes is None else figure(nbytes, "byte"),
        links=(Named("PCIe 4 x16", figure(10**9, "byte/second")),) if link else (),
    ).times(count)  # fmt: skip


@pytest.fixture
def symacct(capsys):
    """Run a command, given as one line; return status, output and errors."""

    def run(line):
        status = main(line.split())
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


# ---- the static state ----


def test_llama_3_70b_on_eight_devices():
    """12 bytes for each of 70.55e9 parameters are over 640 GB: 11 devices of 80 GB hold them, 10 do not."""
    found = fit("llama-3-70b", "8xh100-sxm")
    assert (found.fits, found.verdict, found.asked) == (False, "static state", None)
    assert found.static.nbytes == 12 * N70 > 640 * GB
    assert dict(found.static.parts) == {
        "parameters": 2 * N70, "gradients": 2 * N70, "master": 0, "optimizer": 8 * N70,
    }  # fmt: skip
    assert found.static.devices == 11
    assert 10 * 80 * GB < 12 * N70 <= 11 * 80 * GB
    rows = {one.changes: one for one in found.statics}
    assert rows["fused update",].nbytes == 10 * N70
    assert rows["bf16-pure",].nbytes == 8 * N70
    assert (rows["states on the host",].nbytes, rows["states on the host",].host) == (4 * N70, 8 * N70)
    assert rows["fused update", "bf16-pure"].nbytes == 6 * N70
    assert rows["fused update", "states on the host"].nbytes == 2 * N70
    assert [one.changes for one in found.statics if not one.fits] == [("fused update",)]
    assert any("--at B=...,S=..." in note for note in found.notes)


def test_states_in_8_bits_have_a_scale_for_each_block():
    """Two bytes for each parameter, and two fp32 scales for each begun block of 256 of each tensor."""
    found = fit("llama-3-70b", "8xh100-sxm")
    rows = {one.changes: one for one in found.statics}
    weights = [8192 * 8192, 8192 * 1024, 8192 * 1024, 8192 * 8192, *[8192 * 28672] * 3, 8192, 8192]
    blocks = 80 * sum(-(-one // 256) for one in weights) + 2 * (8192 * 128256 // 256) + 8192 // 256
    assert rows["8-bit states",].nbytes == 6 * N70 + 4 * 2 * blocks
    assert rows["8-bit states",].per == f"(2 + 2 + 2) byte/parameter * N + 4 byte * {2 * blocks} scales"


def test_adapters_beside_frozen_weights():
    """r = 16 beside q and v: 16 * (in + out) each, in every layer; 12 bytes for these, 2 for the weights."""
    found = fit("llama-3-8b", device(20 * GB))
    small = 32 * (16 * (4096 + 4096) + 16 * (4096 + 1024))
    rows = {one.changes: one for one in found.statics}
    assert rows["LoRA",].nbytes == 2 * N8 + 12 * small
    assert rows["LoRA",].per == f"2 byte/parameter * N + 10 byte/parameter * T, T = {small:,} trained"


def test_a_master_copy_goes_to_the_host_too():
    """bf16-master has 16 bytes for each parameter, of which 12 may leave the device."""
    found = fit("llama-3-8b", device(100 * GB), policy=Policy(precision("bf16-master"), "adamw"))
    rows = {one.changes: one for one in found.statics}
    assert found.static.nbytes == 16 * N8
    assert (rows["states on the host",].nbytes, rows["states on the host",].host) == (4 * N8, 12 * N8)


def test_what_has_no_meaning_is_said():
    """SGD has no states, and a step of several micro-batches no fused update."""
    found = fit("llama-3-8b", device(20 * GB), policy=Policy(optimizer="sgd", accumulate=4))
    why = dict(found.unfit)
    assert why["8-bit states"] == "sgd has no states that adam8bit keeps in 8 bits"
    assert "micro-batches" in why["fused update"]
    assert why["states on the host"] == "it holds no fewer bytes"


# ---- published counts of devices ----


@pytest.mark.parametrize(
    ("nbytes", "capacity", "devices"),
    [(Fraction(216, 10) * 10**12, 96 * GB, 225), (70 * GB + 240 * 162_000 * 32768, 16 * GB, 85)],
)
def test_fewest_devices(nbytes, capacity, devices):
    """How to Scale Your Model: 21.6e12/96e9 = 225 chips; 70e9 + 240*162e3*32768 over 16e9 is 84.0, so 85."""
    room = room_of(device(capacity))
    assert room.devices(Fraction(nbytes)) == devices
    assert room_of(device(capacity, devices)).fits(Fraction(nbytes))
    assert not room_of(device(capacity, devices - 1)).fits(Fraction(nbytes))


def test_tokens_of_a_cache():
    """56e9 bytes over 2 MiB for each token are 26,702 tokens, not 23,000 (kipply, four A100 of 40 GB)."""
    assert largest(lambda tokens: tokens * 2097152 <= 56 * GB, "T", Domain()).value == 26702


# ---- a small graph, by brute force ----

LAYERS, WIDTH, BATCH = 4, 32, 24
CHECKPOINTS = ("none", "every:1", "every:2", "sqrt", "store-nothing")
CHANGED = {
    (): ADAMW,
    ("8-bit states",): Policy(optimizer="adam8bit"),
    ("fused update",): Policy(optimizer="adamw", update="fused"),
    ("states on the host",): ADAMW,
    ("bf16-pure",): Policy(precision("bf16-pure"), "adamw"),
}


def brute(changes, text, micro):
    """Return the peak of a step with every iteration and micro-batch written out."""
    policy = replace(CHANGED[changes], checkpoint=checkpoint(text), accumulate=BATCH // micro)
    account = derive(load("mlp"), policy=policy, sizes={"B": micro, "D": WIDTH, "L": LAYERS})
    graph, sizes = account.graph, {"B": micro, "D": WIDTH, "L": LAYERS}
    moment = worst(at_sizes(graph, policy, sizes), sizes_at(graph, policy, sizes))
    beside = account.beside("memory.peak")
    if changes == ("states on the host",):
        beside -= account["memory.optimizer"].expr
    return moment.nbytes + int(evaluate(beside, {}))


def largest_micro(changes, text, room):
    """Return the largest divisor of the batch whose peak fits; a fused update has one micro-batch."""
    tried = [BATCH] if changes == ("fused update",) else divisors(BATCH)
    return next((one for one in tried if brute(changes, text, one) <= room), None)


@pytest.mark.few(1)
@pytest.mark.parametrize("room", [14_000, 32_000, 36_000, 45_000, 52_000, 62_000, 70_000])
def test_every_option_is_what_brute_force_finds(room):
    """Micro-batches and peaks of all options; there is one where brute force finds one."""
    sizes = {"B": BATCH, "D": WIDTH, "L": LAYERS}
    found = fit("mlp", device(room), sizes=sizes)
    assert found.asked.held.nbytes == brute((), "none", BATCH)
    assert found.fits == (brute((), "none", BATCH) <= room)
    for one in (*found.options, *found.short):
        if one.devices > 1:
            continue
        changes = tuple(change for change in one.changes if change in WORDS)
        if changes not in CHANGED:
            continue
        named = [c.removeprefix("checkpoint ") for c in one.changes if c.startswith("checkpoint")]
        text = named[0] if named else "none"
        assert one.held.nbytes == brute(changes, text, one.micro)
        assert sum(value for _, value in one.held.parts) == one.held.nbytes
        assert one.fits == (one.held.nbytes <= room)
        assert one.micro * one.accumulate == BATCH
        assert (one.micro if one.fits else None) == largest_micro(changes, text, room)
    if not found.fits:
        possible = any(
            largest_micro(changes, text, room) for changes in CHANGED for text in CHECKPOINTS
        )  # fmt: skip
        single = [one for one in found.options if one.devices == 1 and len(set(one.changes) & set(WORDS)) < 2]
        assert bool(single) == possible


def test_options_are_ranked_and_timed():
    """Times rise; each is that of the account at the micro-batch, as often as there are micro-batches."""
    sizes = {"B": BATCH, "D": WIDTH, "L": LAYERS}
    found = fit("mlp", device(36_000), sizes=sizes)
    seconds = [one.seconds for one in found.options]
    assert seconds == sorted(seconds)
    assert found.asked.relative == 1
    timed = 0
    for one in (*found.options, *found.short):
        changes = tuple(change for change in one.changes if change in WORDS)
        if one.devices > 1 or changes not in CHANGED or changes == ("states on the host",):
            continue
        named = [c.removeprefix("checkpoint ") for c in one.changes if c.startswith("checkpoint")]
        policy = replace(CHANGED[changes], checkpoint=checkpoint(named[0] if named else "none"))
        account = derive(load("mlp"), policy=policy, sizes={**sizes, "B": one.micro})
        ops = quantity(account, device(36_000), "time.step").timings
        update = sum(op.expr for op in ops if op.operation.phase == "optimizer")
        rest = sum(op.expr for op in ops if op.operation.phase != "optimizer")
        assert one.seconds == Fraction(str(one.accumulate * rest + update))
        timed += one.accumulate > 1
    assert timed


@pytest.mark.parametrize("count", [1, 2, 6])
def test_the_time_of_accumulated_batches_is_the_accounts(count):
    """As often as there are micro-batches, and one update: what the account of all of them says too."""
    sizes = {"B": BATCH, "D": WIDTH, "L": LAYERS}
    policy = replace(ADAMW, accumulate=count)
    found = fit("mlp", device(10**9), sizes=sizes, policy=policy)
    whole = quantity(derive(load("mlp"), policy=policy), device(10**9), "time.step").value(sizes)
    assert found.asked.seconds == Fraction(str(whole))


@pytest.mark.long
def test_adapters_do_not_end_the_search_for_full_training():
    """LoRA fits alone; so do a fused update and states on the host together, with checkpoints."""
    sizes = {"B": 1, "S": 8192}
    found = fit("llama-3-8b", "a100-sxm-40gb", sizes=sizes)
    changes = ("fused update", "states on the host", "checkpoint every:1")
    pair = next(one for one in found.options if one.changes == changes)
    fused = replace(ADAMW, update="fused", checkpoint=checkpoint("every:1"))
    account = derive(load("llama-3-8b"), policy=fused, sizes=sizes)
    states = account["memory.optimizer"].expr
    assert pair.held.nbytes == account.value("memory.peak", {}) - states == 31_327_952_900
    assert any(one.changes == ("LoRA", "checkpoint every:1") for one in found.options)
    pairs = [set(one.changes) & set(WORDS) for one in (*found.options, *found.short)]
    assert not any(len(one) > 1 and "LoRA" in one for one in pairs)


def test_one_change_that_is_enough_is_not_paired():
    """8-bit states alone let everything be trained: no pair is derived."""
    found = fit("mlp", device(45_000), sizes={"B": BATCH, "D": WIDTH, "L": LAYERS})
    assert found.options
    assert all(len(set(one.changes) & set(WORDS)) < 2 for one in (*found.options, *found.short))


def test_states_on_the_host_cost_their_transfer():
    """The update leaves the device; gradients go over the link and parameters come back: 4 bytes each."""
    sizes = {"B": BATCH, "D": WIDTH, "L": LAYERS}
    found = fit("mlp", device(50_000), sizes=sizes)
    one = next(one for one in (*found.options, *found.short) if one.changes[0] == "states on the host")
    params = LAYERS * WIDTH * WIDTH
    assert one.host == 8 * params
    without = fit("mlp", device(50_000, link=False), sizes=sizes)
    assert any("no link to a host" in note for note in without.notes)
    assert not any(o.changes[0] == "states on the host" and o.seconds for o in without.options)


def test_more_devices():
    """As many as hold the peak evenly, and not one less."""
    found = fit("mlp", device(20_000), sizes={"B": BATCH, "D": WIDTH, "L": LAYERS})
    (one,) = [one for one in found.options if one.devices > 1]
    peak = brute((), "none", BATCH)
    assert (one.devices - 1) * 20_000 < peak <= one.devices * 20_000


# ---- laws ----


@pytest.mark.long
def test_more_capacity_never_hurts():
    """What fits still fits, the largest batch never falls, and the fewest devices never rise."""
    before = None
    for capacity in range(30_000, 90_000, 4_000):
        found = fit("mlp", device(capacity), sizes={"B": BATCH, "D": WIDTH, "L": LAYERS})
        now = (found.fits, found.limits[0].value, -found.asked.needed, bool(found.options) or found.fits)
        assert before is None or all(new >= old for new, old in zip(now, before, strict=True))
        before = now


def test_the_largest_batch_is_exact():
    """The largest that fits does, and the next one does not: at the account's own peak."""
    found = fit("gpt2", "h100-sxm", sizes={"B": 8, "S": 1024}, reserve="2GB")
    (limit,) = found.limits
    account = derive(load("gpt2"), policy=ADAMW)
    room = 78 * GB
    assert account.value("memory.peak", {"B": limit.value, "S": 1024}) <= room
    assert account.value("memory.peak", {"B": limit.value + 1, "S": 1024}) > room


@pytest.mark.few(5)
@pytest.mark.parametrize("text", ["none", "every:1", "every:2", "sqrt", "store-nothing", "selective:relu"])
@pytest.mark.parametrize("choice", [{}, {"accumulate": 2}, {"update": "fused"}, {"grads": "kept"}])
def test_a_peak_over_the_batch_is_the_accounts(text, choice):
    """Bytes and transient bytes are those of the account at the size; three micro-batches are as two."""
    policy = replace(ADAMW, checkpoint=checkpoint(text), **choice)
    source = derive(load("mlp"), policy=policy, sizes={"D": 16, "L": 5})
    peak = PeakOf(source, "B", Courses())
    for size in (1, 3, 40):
        held = peak.at(size)
        assert held.nbytes == source.value("memory.peak", {"B": size})
        assert peak.walked(size).nbytes == held.nbytes
        bound = source.bind({"B": size})
        assert dict(held.parts).get("transient", 0) == bound["memory.transient"].expr
        if choice.get("accumulate"):
            more = Account(source.source, replace(policy, accumulate=3), source.convention)
            assert more.value("memory.peak", {"B": size}) == held.nbytes


def test_bytes_that_cannot_be_told_apart():
    """A number that was not made of three parts is refused; one that was is read back."""
    from symacct.planning.fit_peak import TINY

    assert unmixed(Fraction(7, 3) + 5 * TINY) == (Fraction(7, 3), 5, 0)
    with pytest.raises(SymacctError, match="told apart"):
        unmixed(Fraction(1, 10**200 + 1) + TINY**3)


def test_a_reserve_is_kept_on_each_device():
    """Eight devices of 80 GB less 2 GB each are 624 GB; a reserve may push a run over."""
    assert room_of("8xh100-sxm", reserve="2 GB").total == 624 * GB
    assert room_of("8xh100-sxm", reserve="1 GiB").total == 640 * GB - 8 * 2**30
    assert room_of("h100-sxm", reserve="0").total == room_of("h100-sxm").total
    sizes = {"B": BATCH, "D": WIDTH, "L": LAYERS}
    peak = brute((), "none", BATCH)
    assert fit("mlp", device(peak), sizes=sizes).fits
    assert not fit("mlp", device(peak), sizes=sizes, reserve="1 byte").fits
    assert not fit("mlp", device(peak - 1), sizes=sizes).fits


# ---- serving ----


def test_decoding_is_parameters_and_cache():
    """128 kB of cache for each token of Llama 3 8B: what one batch more or one token more needs is exact."""
    policy = Policy(workload="decode")
    found = fit("llama-3-8b", "h100-sxm", policy=policy, sizes={"B": 16, "T": 8192})
    parts = dict(found.asked.held.parts)
    assert parts["parameters"] == 2 * N8
    assert parts["kv_cache"] == 2 * 2 * 32 * 1024 * 16 * 8192
    account = derive(load("llama-3-8b"), policy=policy)
    limits = {one.name: one.value for one in found.limits}
    for name, other in (("B", {"T": 8192}), ("T", {"B": 16})):
        assert account.value("memory.peak", {name: limits[name], **other}) <= 80 * GB
        assert account.value("memory.peak", {name: limits[name] + 1, **other}) > 80 * GB
    long = fit("llama-3-8b", "h100-sxm", policy=policy, sizes={"B": 16, "T": 131072})
    assert not long.fits
    assert [one.devices for one in long.options] == [long.asked.needed]


# ---- the command ----


def test_status_and_words(symacct):
    """0 where it fits, 1 where it does not; the static state comes first."""
    status, out, _ = symacct("fit gpt2 --on h100-sxm --at B=8,S=1024")
    assert (status, "FITS: the peak is" in out) == (0, True)
    status, out, _ = symacct("fit llama-3-70b --on 8xh100-sxm --optimizer adamw")
    assert status == 1
    said = " ".join(out.split())
    assert "static state alone is ≥ 846.6 GB = 788.5 GiB, 1.323 times the room" in said
    assert "12 byte/parameter * N" in out


@pytest.mark.long
def test_progress_is_for_terminals(symacct, monkeypatch):
    """Nothing is written beside the answer into a pipe; on a terminal one line is written anew."""
    from symacct.cli import fit as verb

    monkeypatch.setattr(verb, "PATIENCE", -1.0)
    line = "fit gpt2 --on rtx-4090 --at B=32,S=1024"
    assert symacct(line)[2] == ""
    monkeypatch.setattr(verb.sys.stderr, "isatty", lambda: True, raising=False)
    err = symacct(line)[2]
    assert "fit: micro" not in err
    assert "fit: 8-bit states" in err
    assert "\n" not in err
    assert err.endswith(verb.CLEARED)


def test_one_sequence_where_nothing_is_said(symacct):
    """The batch is 1 then, and that is said; a length is asked for."""
    _, out, _ = symacct("fit gpt2 --on h100-sxm --at S=1024")
    assert "B = 1 (not given)" in out
    status, _, err = symacct("fit gpt2 --on h100-sxm --at B=1")
    assert (status, "add --at S=..." in err) == (2, True)


@pytest.mark.long
def test_the_record(symacct):
    """The envelope, with exact bytes; Markdown has the same tables."""
    status, out, _ = symacct("fit mlp --on h100-sxm --at B=8,D=512,L=4 --reserve 2GB --format json")
    made = json.loads(out)
    assert (status, made["command"], made["schema"]) == (0, "fit", "symacct/2")
    result = made["result"]
    assert result["model_states"]["bytes"] == {"value": 12582912, "exact": "12582912"}
    assert result["model_states"]["formulas"]["optimizer"]["expr"] == "8*D^2*L"
    assert result["capacity"]["total"]["value"] == 78 * GB
    assert result["verdict"] == "fits"
    asked = result["baseline"]
    assert sum(value["value"] for value in asked["parts"].values()) == asked["peak"]["value"]
    status, out, _ = symacct("fit gpt2 --on rtx-4090 --at B=32,S=1024 --format markdown")
    assert status == 1
    assert "**fits, by predicted time" in out


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("fit gpt2 --at B=8,S=1024", "fit needs a machine"),
        ("fit gpt2 --on h100-smx --at B=8,S=1024", "did you mean 'h100-sxm'?"),
        ("fit gpt2 --on lecture:a100 --at B=8,S=1024", "has no capacity"),
        ("fit gpt2 --on h100-sxm --at B=8,S=1024 --reserve 2s", "has another unit"),
        ("fit gpt2 --on h100-sxm --at B=8,S=1024 --reserve 2", "needs a unit"),
        ("fit gpt2 --on h100-sxm --at B=8,S=1024 --reserve 80GB", "nothing is left"),
        ("fit gpt2 --on h100-sxm --at B=8,S=1024 --accumulate N", "add --at N=..."),
        ("fit mlp --on h100-sxm", "memory.parameters depends on sizes"),
        ("fit gpt2 --on h100-sxm --at Q=8", "unknown size"),
        ("fit nope --on h100-sxm", "unknown graph or model"),
    ],
)
def test_refusals(symacct, line, words):
    """Each names what is wrong; nothing is written but the error."""
    status, out, err = symacct(line)
    assert (status, out) == (2, "")
    assert words in err
    assert "Traceback" not in err


def test_a_machine_without_rates_still_has_a_capacity():
    """Then nothing is timed, that is said, and what fits is ranked by its bytes."""
    found = fit("mlp", device(50_000, bandwidth=False), sizes={"B": BATCH, "D": WIDTH, "L": LAYERS})
    assert found.options
    assert all(one.seconds is None for one in found.options)
    assert any(note.startswith("no time: box has no bandwidth") for note in found.notes)


def test_segments_that_do_not_divide_are_walked():
    """12 iterations in segments of 5: the peak is exact, and a time is not given."""
    policy = replace(ADAMW, checkpoint=checkpoint("every:5"))
    found = fit("mlp", device(200_000), policy=policy, sizes={"B": 8, "D": 16, "L": 12})
    account = derive(load("mlp"), policy=policy, sizes={"B": 8, "D": 16, "L": 12})
    graph, sizes = account.graph, {}
    moment = worst(at_sizes(graph, policy, sizes), sizes_at(graph, policy, sizes))
    assert found.asked.held.nbytes == moment.nbytes + int(account.beside("memory.peak"))
    assert found.asked.seconds is None
    assert any("last segment is shorter" in note for note in found.notes)


# ---- a micro-batch that is a count of layers ----


@graph({"B": "rows", "D": "features"}, tokens="B")
def rowloop(b):
    """One layer for each row."""
    return b.repeat("B", lambda x: b.tanh(b.exp(x)), b.input("x", "D", grad=True))


@pytest.mark.parametrize("text", ["none", "every:2", "every:3", "sqrt", "binomial:2", "store-nothing"])
def test_a_batch_that_is_a_count_is_bound(text):
    """The schedule of the bound graph, walked step by step, tells the peak; the account tells the time."""
    box = device(10**6)
    for size in (1, 2, 6, 7, 13):
        bound = derive(rowloop, checkpoint=text).bind({"B": size, "D": 3})
        walked = worst(at_sizes(bound.graph, bound.running, {}), sizes_at(bound.graph, bound.policy, {}))
        found = fit(rowloop, box, sizes={"B": size, "D": 3}, policy=Policy(checkpoint=checkpoint(text)))
        assert found.asked.held.nbytes == walked.nbytes + evaluate(bound.beside("memory.peak"), {})
        assert found.asked.held.nbytes == bound.value("memory.peak")
        assert found.fits
        if found.asked.seconds is not None:
            assert found.asked.seconds == evaluate(quantity(bound, box, "time.step").at({}).expr, {})


def test_a_batch_that_is_a_count_has_no_largest_where_there_is_no_one_form():
    def asked(text):
        return fit(rowloop, device(10**6), sizes={"B": 6, "D": 3}, policy=Policy(checkpoint=checkpoint(text)))

    assert [(one.name, one.value) for one in asked("none").limits] == [("B", (10**6 - 16) // 12)]
    for text in ("every:2", "sqrt", "binomial:2"):
        found = asked(text)
        assert found.limits == ()
        assert any(one.startswith("no largest B") for one in found.notes)


def test_a_batch_that_is_too_large_a_count_is_refused():
    with pytest.raises(SymacctError, match="too many iterations"):
        fit(rowloop, device(10**6), sizes={"B": 10**12, "D": 3},
            policy=Policy(checkpoint=checkpoint("binomial:2")))  # fmt: skip
