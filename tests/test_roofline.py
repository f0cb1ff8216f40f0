"""Time, verdicts and conditions on a machine: laws that hold for every graph, and the lecture's numbers.

The lecture: Stanford CS336 on resource accounting. Its H100 does 989.5 TFLOP/s in bf16 at 3.35 TB/s.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from symacct import derive, load
from symacct.algebra.evaluate import evaluate, names_of
from symacct.algebra.normal import same, total
from symacct.algebra.sign import sign_on_box
from symacct.algebra.symbols import symbol
from symacct.convention import convention
from symacct.errors import RuleError, SymacctError, UnknownNameError
from symacct.evaluation.operations import TENSOR, operations
from symacct.evaluation.rates import Rates, ridge
from symacct.evaluation.regions import region
from symacct.evaluation.roofline import VERDICTS, Roofline, verdict
from symacct.evaluation.timing import QUANTITIES, quantity
from symacct.machines import load as machine
from symacct.report.roofline_words import condition
from symacct.syntax import read_formula

LECTURE = machine("lecture:h100")
IDEAL = Fraction(9895, 10) * 10**12 / (Fraction(335, 100) * 10**12)
SIZES = {
    "linear": {"B": 64, "D": 256, "K": 512}, "mlp": {"B": 512, "D": 256, "L": 3},
    "deep_linear": {"B": 1024, "D": 512, "L": 4}, "swiglu": {"B": 2, "S": 64, "D": 128, "F": 512},
    "attention": {"B": 2, "S": 128, "D": 64, "H": 4, "K": 16},
    "gpt": {"b": 2, "s": 64, "a": 4, "d": 16, "L": 3, "V": 512},
    "llama": {"B": 2, "S": 64, "L": 3, "D": 64, "F": 128, "H": 4, "G": 2, "K": 16, "V": 512},
    "matvec": {"M": 1024, "N": 1024},
}  # fmt: skip


def sizes_of(account):
    """Return the sizes of a shipped graph that the account still has free."""
    known = SIZES[account.source.name]
    found = {name: known.get(name, 64) for name in account.graph.order}
    return account.graph.resolved({k: n for k, n in found.items() if k not in account.graph.bound})


def accounts(**choices):
    return [derive(load(name), **choices) for name in SIZES]


def shown(found, order=()):
    return condition(found, order)


# ---- laws ----


@pytest.mark.few(10)
@pytest.mark.parametrize("optimizer", [None, "adamw"])
@pytest.mark.parametrize("moves", ["algorithmic", "issued", "fused", "compulsory"])
@pytest.mark.parametrize("name", SIZES)
def test_nothing_is_lost_between_the_account_and_the_ops(name, moves, optimizer):
    """The work and the bytes of the ops add up to the account's totals, as formulas."""
    account = derive(load(name), optimizer=optimizer, convention=convention(bytes=moves))
    ops = operations(account, step=True)
    flops = account["flops.hardware.all"].expr
    flops += account["flops.optimizer.all"].expr if optimizer else 0
    assert same(total(one.flops for one in ops), flops)
    assert same(total(one.moved for one in ops), account["bytes.step"].expr)
    forward = operations(account, step=False)
    assert same(total(one.flops for one in forward), account["flops.forward.all"].expr)
    assert same(total(one.moved for one in forward), account["bytes.forward"].expr)
    matmul = total(load.flops for one in forward for load in one.loads if load.unit == TENSOR)
    assert same(matmul, account["flops.forward.matmul"].expr)


@pytest.mark.few(1)
@pytest.mark.parametrize("moves", ["algorithmic", "issued"])
@pytest.mark.parametrize("name", ["gpt", "llama", "mlp"])
def test_what_runs_again_and_every_micro_batch_takes_time(name, moves):
    """Ops that run again in backward, and each of several micro-batches, are among the ops that are timed."""
    choices = {"checkpoint": "every:1", "accumulate": 3, "optimizer": "adamw"}
    account = derive(load(name), convention=convention(bytes=moves), **choices)
    plain = derive(load(name), convention=convention(bytes=moves), optimizer="adamw")
    ops = operations(account, step=True)
    flops = account["flops.hardware.all"].expr + account["flops.optimizer.all"].expr
    assert same(total(one.flops for one in ops), flops)
    assert same(total(one.moved for one in ops), account["bytes.step"].expr)
    once = plain["flops.model.all"].expr + plain["flops.forward.all"].expr
    assert is_less(flops, 3 * once + plain["flops.optimizer.all"].expr)


def is_less(small, large):
    """Whether a formula is below another for all sizes from 2 on."""
    return sign_on_box(large - small, 2)[0] in ("positive", "nonnegative", "zero")


def oracle(account, sizes, peak, vector, bandwidth):
    """Return the time of a step, from the account's own terms at sizes, as plain numbers."""
    work, moved = {}, {}
    for name, matmul in (("matmul", True), ("all", False)):
        for part in ("forward", "backward", "recompute"):
            for term in account.terms(f"flops.{part}.{name}"):
                key = (term.label, "forward" if part == "forward" else "backward", term.path)
                value = Fraction(str(evaluate(term.expr, sizes)))
                work.setdefault(key, {True: Fraction(0), False: Fraction(0)})[matmul] += value
    for direction in ("read", "written"):
        for term in account.terms(f"bytes.step.{direction}"):
            key = (term.label, term.phase, term.path)
            moved[key] = moved.get(key, Fraction(0)) + Fraction(str(evaluate(term.expr, sizes)))
    none = {True: Fraction(0), False: Fraction(0)}
    return sum(
        max(
            work.get(key, none)[True] / peak,
            (work.get(key, none)[False] - work.get(key, none)[True]) / vector,
            moved.get(key, Fraction(0)) / bandwidth,
        )
        for key in {*work, *moved}
    )


@pytest.mark.few(3)
@pytest.mark.parametrize("name", SIZES)
def test_a_step_is_the_sum_of_the_larger(name):
    """Worked out again with plain fractions: max(F/P, F'/V, Q/W) for each op."""
    account = derive(load(name))
    sizes = sizes_of(account)
    for part in ("h100-sxm", "a100-sxm-40gb", "rtx-4090"):
        one = machine(part)
        figures = (one.peak("bf16").value, one.vector_peak("bf16").value, one.bandwidth.value)
        vectors = {load.dtype for op in operations(account, step=True) for load in op.loads}
        if vectors == {"bf16"}:
            expected = oracle(account, sizes, *figures)
            assert quantity(account, one, "time.step").value(sizes) == expected


@pytest.mark.few(1)
@pytest.mark.parametrize("account", accounts(optimizer="adamw"), ids=list(SIZES))
def test_bounds_that_hold_everywhere(account):
    """MFU below 1; overlapping all ops would be faster; eight devices take an eighth of the time."""
    sizes = sizes_of(account)
    for part in ("h100-sxm", "a100-sxm-80gb", "l40s", "tpu-v5p", "lecture:h100"):
        made = Roofline(account, machine(part), sizes)
        assert 0 <= made.quantity("mfu.bound").expr <= 1
        step = made.time.expr
        slowest = max(made.seconds(one) for one in VERDICTS)
        assert slowest <= step <= sum(made.seconds(one) for one in VERDICTS)
        assert made.quantity("time.forward").expr < step
        eight = Roofline(account, machine(part).times(8), sizes)
        assert eight.time.expr * 8 == step
        assert eight.time.notes[0] == "ideal even sharding, no communication: a bound"
        assert [one.binds for one in eight.time.timings] == [one.binds for one in made.time.timings]


@pytest.mark.few(4)
@pytest.mark.parametrize("name", SIZES)
def test_accounts_of_bytes_are_ordered_in_time(name):
    """Compulsory at most fused, that at most algorithmic, that at most issued."""
    times = {}
    for moves in ("algorithmic", "issued", "fused", "compulsory"):
        account = derive(load(name), convention=convention(bytes=moves))
        times[moves] = quantity(account, LECTURE, "time.step").value(sizes_of(account))
    assert times["compulsory"] <= times["fused"] <= times["algorithmic"] <= times["issued"]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("name", "part"),
    [(name, part) for name in SIZES for part in ("h100-sxm", "tpu-v5e", "lecture:h100")
     if part == "h100-sxm" or name not in ("gpt", "llama")],
)  # fmt: skip
def test_formulas_in_symbols_come_to_the_numbers(name, part):
    """Put the machine's rates into the formula: the same value; no capacity occurs in it, nor power."""
    account, one = derive(load(name), optimizer="adamw" if part == "h100-sxm" else None), machine(part)
    symbolic = quantity(account, one, "time.step", symbolic=True)
    sizes = sizes_of(account)
    rates = {"W_mem": one.bandwidth.value}
    for name_ in names_of(symbolic.expr):
        if name_[:2] in ("P_", "V_"):
            dtype = name_[2:]
            rates[name_] = (one.peak(dtype) if name_[0] == "P" else one.vector_peak(dtype)).value
    assert set(names_of(symbolic.expr)) <= {*sizes, *rates}
    held = {"capacity", "power", "M_mem"}
    assert held.isdisjoint(names_of(symbolic.expr))
    at = {symbol(k): n for k, n in (sizes | rates).items()}
    spent = total(one.expr.subs(at) for one in symbolic.timings)
    assert same(spent, quantity(account, one, "time.step").value(sizes))


def test_the_sum_of_maxima_is_no_maximum_of_sums():
    """Two ops of 4 and 1, 1 and 4 take 8, not 5; never less than the maximum of the sums."""
    for a, b, c, d in product((1, 3, 4), repeat=4):
        assert max(a, c) + max(b, d) >= max(a + b, c + d)
    account = derive(load("mlp"), workload="forward")
    made = Roofline(account, machine("h100-sxm"), {"B": 4096, "D": 4096, "L": 4})
    assert made.time.expr > max(made.seconds(one) for one in VERDICTS)
    assert max(4, 1) + max(1, 4) == 8 > max(4 + 1, 1 + 4)


# ---- the lecture ----


@pytest.mark.parametrize(
    ("part", "point"),
    [("lecture:h100", 295), ("h100-sxm", 295), ("h200-sxm", 206), ("a100-sxm-80gb", 153),
     ("a100-sxm-40gb", 201), ("a100-pcie-80gb", 161), ("h100-pcie", 378), ("b200-sxm", 281),
     ("v100-sxm2", 139), ("mi300x", 247), ("tpu-v5e", 241), ("tpu-v5p", 166), ("l40s", 419)],
)  # fmt: skip
def test_ridge_points(part, point):
    """FLOP/byte from which contractions in 16 bits are compute-bound; the A100's depends on its memory."""
    dtype = "fp16" if part == "v100-sxm2" else "bf16"
    assert round(ridge(Rates(machine(part)), dtype)) == point


@pytest.mark.parametrize(
    ("name", "sizes", "work", "moved", "said"),
    [
        ("relu", {"B": 1024, "D": 1024}, 1024**2, 4 * 1024**2, "memory-bound"),
        ("gelu", {"B": 1024, "D": 1024}, 20 * 1024**2, 4 * 1024**2, "memory-bound"),
        ("dot", {"N": 1024}, 2 * 1024, 2 * (2 * 1024 + 1), "memory-bound"),
        ("matvec", {"M": 1024, "N": 1024}, 2 * 1024**2, 2 * (1024**2 + 2 * 1024), "memory-bound"),
        ("matmul", {"B": 1024, "D": 1024, "K": 1024}, 2 * 1024**3, 6 * 1024**2, "compute-bound"),
    ],
)
def test_verdicts_at_1024(name, sizes, work, moved, said):
    """Intensities 1/4, 5, 1/2, 1 and 341 against 295."""
    account = derive(load(name), workload="forward", convention="lecture")
    made = Roofline(account, LECTURE, sizes)
    assert (made.flops, made.moved) == (work, moved)
    assert made.intensity == Fraction(work, moved)
    assert VERDICTS[made.binds] == verdict(made.time.timings[0]) == said
    assert (made.intensity > IDEAL) == (said == "compute-bound")
    longer = max(Fraction(work) / LECTURE.peak("bf16").value, Fraction(moved) / LECTURE.bandwidth.value)
    assert made.time.expr == longer
    if name == "matmul":
        assert int(made.intensity) == 341 > IDEAL


@pytest.mark.parametrize(("part", "said", "below"), [("h100-sxm", "memory-bound", 887),
                                                     ("a100-sxm-80gb", "compute-bound", 460)])  # fmt: skip
def test_a_square_product_of_700(part, said, below):
    """n/3 = 233 lies between the ridges of A100-80 and H100; the condition says from which n on."""
    square = load("matmul").bind({"D": symbol("B"), "K": symbol("B")})
    made = Roofline(derive(square, workload="forward"), machine(part), {"B": 700})
    assert VERDICTS[made.binds] == said
    assert shown(made.whole_region()).startswith("B < ")
    assert below - 1 < made.whole_region().critical < below
    for size in (below - 1, below):
        other = Roofline(made.account, machine(part), {"B": size})
        assert VERDICTS[other.binds] == ("memory-bound" if size < below else "compute-bound")


def test_relu_takes_as_long_as_gelu():
    """On the lecture's H100 each alone moves the same bytes, and bytes bind: for every size."""
    times = [
        quantity(derive(load(name), workload="forward", convention="lecture"), LECTURE, "time.forward")
        for name in ("relu", "gelu")
    ]
    for sizes in ({"B": 1, "D": 1}, {"B": 1024, "D": 1024}, {"B": 10**6, "D": 7}):
        assert times[0].value(sizes) == times[1].value(sizes)
    for one in times:
        timing = one.timings[0]
        assert shown(region(timing.tensor, timing.memory, "B")) == "every B"


# ---- the critical batch ----


@pytest.mark.parametrize(("inputs", "outputs", "critical"), [(4096, 4096, "345.15"), (4096, 11008, "327.81"),
                                                              (512, 512, None)])  # fmt: skip
def test_the_critical_batch_of_a_linear_layer(inputs, outputs, critical):
    """B > I D K/(D K - I (D + K)) is compute-bound; none where D K <= I (D + K)."""
    account = derive(load("linear"), workload="forward")
    made = Roofline(account, LECTURE, {"D": inputs, "K": outputs})
    found = made.whole_region()
    if critical is None:
        assert inputs * outputs <= IDEAL * (inputs + outputs)
        assert shown(found) == "every B"
        largest = Roofline(account, LECTURE, {"B": 10**12, "D": inputs, "K": outputs})
        assert VERDICTS[largest.binds] == "memory-bound"
        return
    assert f"{float(found.critical):.2f}" == critical
    assert found.critical == IDEAL * inputs * outputs / (inputs * outputs - IDEAL * (inputs + outputs))
    whole = int(found.critical)
    for batch, said in ((whole, "memory-bound"), (whole + 1, "compute-bound")):
        at = Roofline(account, LECTURE, {"B": batch, "D": inputs, "K": outputs})
        assert VERDICTS[at.binds] == said


def test_the_critical_batch_as_a_formula():
    """In the ridge I, solved for each size; where there is none, that is said."""
    account = derive(load("linear"), workload="forward")
    order = account.graph.order
    made = Roofline(account, LECTURE, {})
    assert shown(made.whole_region(), order) == (
        "B < I*D*K/(D*K - I*(D + K)) where D*K - I*(D + K) > 0, else every B"
    )
    wanted = read_formula("I*B*K/(B*K - I*(B + K))", {"B", "D", "K", "I"})
    assert same(Roofline(account, LECTURE, {}, "D").whole_region().critical, wanted)
    none = derive(load("relu"), workload="forward")
    assert shown(Roofline(none, machine("h100-sxm"), {}).whole_region()) == "every B"


@pytest.mark.parametrize(
    ("work", "moved", "said"),
    [
        ("2*B*D", "B*D", "no B"), ("B*D", "2*B*D", "every B"), ("B^2", "4*B + 5", None),
        ("B^2", "4*B", "B < 4"), ("3", "B", "B > 3"), ("B + 1", "B", "no B"), ("B", "B + D", "every B"),
        ("2*B", "D + I*B", "B > -D/(I - 2) where I - 2 > 0, else no B"), ("B*D", "B*I", "not a matter of B"),
    ],
)  # fmt: skip
def test_conditions(work, moved, said):
    """Every case of a linear condition, judged by trying sizes."""
    left, right = (read_formula(one, {"B", "D", "I"}) for one in (work, moved))
    found = region(left, right, "B")
    if said is None:
        assert found is None
        return
    if "-D" not in said:
        assert shown(found) == said
    for sizes in product(range(1, 8), repeat=3):
        at = dict(zip(("B", "D", "I"), sizes, strict=True))
        holds = evaluate(left, at) < evaluate(right, at)
        assert judged(found, at, holds) == holds


def judged(found, at, holds):
    """Say what a condition says at sizes."""
    if found.relation == "either":
        return holds
    if found.above is None:
        return found.relation == "always"
    below = evaluate(found.below, at)
    if below <= 0:
        return found.otherwise == "always"
    critical = evaluate(found.above, at) / below
    return at["B"] < critical if found.relation == "<" else at["B"] > critical


# ---- serving ----


def test_decoding_is_bound_by_bytes():
    """Each weight is read for one product with each sequence: the batch is the intensity, about."""
    account = derive(load("llama-3-8b"), workload="decode")
    one = machine("h100-sxm")
    made = Roofline(account, one, {"B": 1, "T": 1024})
    assert all(verdict(timing) == "memory-bound" for timing in made.time.timings)
    assert made.quantity("time.token").expr == made.time.expr
    assert made.quantity("throughput.tokens").expr == 1 / made.time.expr
    weights = account["memory.parameters"].expr - 2 * 128256 * 4096
    assert made.time.expr > weights / one.bandwidth.value
    assert made.time.expr < Fraction(11, 10) * weights / one.bandwidth.value


def test_from_which_batch_decoding_is_not():
    """Products with weights from a batch of about the ridge on; attention over the cache for no batch."""
    account = derive(load("llama-3-8b"), workload="decode")
    made = Roofline(account, machine("h100-sxm"), {"T": 1024})
    found = {one.operation.label: made.region(one) for one in made.time.timings if one.operation.loads}
    assert shown(found["layers/ffn/up/matmul"]).startswith("B < 32")
    assert shown(found["layers/attention/core/scores"]) == "every B"
    assert shown(found["layers/attention/core/mix"]) == "every B"
    for batch in (1, 64, 320, 330):
        at = Roofline(account, made.machine, {"B": batch, "T": 1024})
        timing = next(one for one in at.time.timings if one.operation.label == "layers/ffn/up/matmul")
        assert (verdict(timing) == "memory-bound") == (batch < found["layers/ffn/up/matmul"].critical)


def test_prefill_is_bound_by_work():
    """Products with weights are compute-bound; a table of scores that is written out is not."""
    account = derive(load("llama-3-8b"), workload="prefill")
    made = Roofline(account, machine("h100-sxm"), {"B": 1, "S": 8192})
    said = {one.operation.label: verdict(one) for one in made.time.timings}
    assert said["layers/ffn/up/matmul"] == said["layers/attention/q/matmul"] == "compute-bound"
    assert said["layers/attention/core/scores"] == "memory-bound"
    assert made.quantity("mfu.bound").expr > 10 * decoding(1)
    assert "time.token" not in made.names()
    with pytest.raises(UnknownNameError, match="the workload decode"):
        quantity(account, None, "time.token")
    assert made.quantity("throughput.tokens").expr == 8192 / made.time.expr


def decoding(batch):
    account = derive(load("llama-3-8b"), workload="decode")
    return quantity(account, machine("h100-sxm"), "mfu.bound").value({"B": batch, "T": 8192})


# ---- what is not known ----


def test_work_of_unknown_rate_is_no_time():
    """A TPU states no vector rate: its bytes alone are timed, and that is said; contractions are needed."""
    account = derive(load("mlp"), workload="forward")
    made = Roofline(account, machine("tpu-v5e"), {"B": 64, "D": 64, "L": 2})
    relu = next(one for one in made.time.timings if "relu" in one.operation.label)
    assert not relu.known
    assert verdict(relu) == "memory-bound or compute (rate not known)"
    assert made.time.notes == (
        "tpu-v5e states no vector rate for bf16: for that work the bytes alone are timed",
    )
    with pytest.raises(RuleError, match="tpu-v5e has no peak for fp16"):
        quantity(
            derive(load("mlp"), precision=precision("fp16")), machine("tpu-v5e"), "time.step"
        )  # fmt: skip
    with pytest.raises(RuleError, match="lecture:a100 has no bandwidth"):
        quantity(account, machine("lecture:a100"), "time.forward")


def precision(dtype):
    from symacct.policy import precision as read

    return read(f"params={dtype},grads={dtype},states=fp32,activations={dtype}")


def test_names_of_quantities():
    """An unknown one is refused with the nearest; one without tokens has no rate of them."""
    account = derive(load("matvec"))
    with pytest.raises(UnknownNameError, match=r"did you mean 'time\.forward'"):
        quantity(account, None, "time.forwrad")
    assert "throughput.tokens" not in Roofline(account, None, {}).names()
    with pytest.raises(SymacctError, match="tokens"):
        quantity(account, None, "throughput.tokens")
    assert [str(unit) for unit in QUANTITIES.values()] == [
        "second", "second", "second/token", "token/second", "1",
    ]  # fmt: skip


def test_a_graph_without_contractions_has_no_mfu():
    """0, whatever the machine."""
    account = derive(load("relu"), workload="forward")
    assert quantity(account, machine("h100-sxm"), "mfu.bound").value({"B": 4, "D": 4}) == 0


def test_other_bandwidths():
    """Bytes over a link of eight devices: each carries its share."""
    account = derive(load("linear"), workload="forward")
    sizes = {"B": 64, "D": 256, "K": 512}
    for part, name in (("h100-sxm", "NVLink 4"), ("8xh100-sxm", "NVLink 4"), ("mi300x", "Infinity Cache")):
        made = Roofline(account, machine(part), sizes, over=name)
        level = next(one for one in Roofline(account, machine(part), sizes).levels if one.name == name)
        assert made.time.expr == level.seconds
        assert level.seconds == max(made.seconds(TENSOR), made.moved / level.figure.value)
    with pytest.raises(UnknownNameError, match="unknown bandwidth 'L9'"):
        Roofline(account, machine("h100-sxm"), sizes, over="L9").time  # noqa: B018
