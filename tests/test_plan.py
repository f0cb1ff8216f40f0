"""`symacct plan`: published runs, numbers worked out apart, what is absent, refusals beside neighbours."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from symacct import derive, load
from symacct.algebra.evaluate import evaluate
from symacct.algebra.normal import normal
from symacct.cli import main
from symacct.errors import SymacctError, UnknownNameError
from symacct.planning.entries import Rule, worked_out
from symacct.planning.leading import attention, leading
from symacct.planning.plan import plan
from symacct.policy import Policy, precision
from symacct.syntax import read_formula

DAY, HOUR, YEAR = 86_400, 3_600, 31_557_600
H100 = Fraction(9895 * 10**11)


@pytest.fixture
def symacct(capsys):
    """Run a command, given as one line; return status, output and errors."""

    def run(line):
        status = main(line.split())
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


# ---- published runs ----


def test_the_lectures_144_days():
    """70B parameters, 15T tokens, 1024 H100 at half the peak: 6*70e9*15e12/(1024*0.5*989.5e12) seconds."""
    made = plan(params="70B", tokens="15T", on="1024xlecture:h100", mfu="0.5")
    seconds = Fraction(6 * 70 * 10**9 * 15 * 10**12) / (1024 * H100 / 2)
    assert made["time.run"].value == seconds
    assert round(seconds / DAY) == 144
    assert made["flops.run"].value == 63 * 10**23
    assert made["time.devices"].value == seconds * 1024


def test_two_weeks_of_eight_devices():
    """8 H100 at their peak for two weeks: 9.575e21 FLOP, and no more tokens than those pay for."""
    made = plan(params="7B", time="2 week", on="8xlecture:h100")
    work = made["flops.run"]
    assert work.value == 8 * H100 * 14 * DAY
    assert float(work.value) == pytest.approx(9.575e21, rel=1e-4)
    assert (work.bound, made["tokens"].bound) == ("≤", "≤")
    assert made["tokens"].value == work.value / (6 * 7 * 10**9)
    half = plan(params="7B", time="2 week", on="8xlecture:h100", mfu="50%")
    assert (half["flops.run"].bound, half["flops.run"].value) == ("", work.value / 2)


@pytest.mark.parametrize(
    ("params", "tokens", "flops", "petaflop_days"),
    [("174600M", "300B", 3.14e23, 3640), ("2650M", "300B", 4.77e21, 55.2), ("355M", "250B", 5.33e20, 6.16)],
)
def test_training_compute_of_gpt3(params, tokens, flops, petaflop_days):
    """6ND with all parameters: Brown et al. 2020, table D.1; 1 PF-day is 1e15 FLOP/s for a day."""
    made = plan(params=params, tokens=tokens)
    assert float(made["flops.run"].value) == pytest.approx(flops, rel=2e-3)
    assert float(made["flops.run"].value / (10**15 * DAY)) == pytest.approx(petaflop_days, rel=2e-3)
    assert "leading term" in made.subject.convention


@pytest.mark.parametrize(
    ("model", "devices", "mfu", "unit", "published"),
    [("70B", 8960, "40%", DAY, 44), ("70B", 18823, "50%", DAY, 17), ("70B", 1, None, YEAR, 435)],
)
def test_a_pod_of_tpus(model, devices, mfu, unit, published):
    """LLaMA-3 70B on TPU v5p: How to Scale Your Model, chapters on training."""
    made = plan(params=model, tokens="15T", on="tpu-v5p", devices=devices, mfu=mfu)
    assert round(made["time.run"].value / unit) == published
    assert made["time.run"].bound == ("" if mfu else "≥")


def test_gpt2_on_one_node():
    """124,337,664 parameters, 300B tokens, 8 A100 at 30 %: 3.46 days (nanoGPT's sizing notebook)."""
    made = plan(params=124_337_664, tokens="300B", on="8xlecture:a100", mfu="30%")
    assert float(made["time.run"].value / DAY) == pytest.approx(3.46, abs=5e-3)


def test_a_prefill():
    """8192 tokens, 70B parameters, 16 TPU v5e at 40 %: 0.91 s, by 2N FLOP for each token."""
    policy = Policy(workload="prefill")
    made = plan(params="70B", tokens=8192, on="16xtpu-v5e", mfu="40%", policy=policy)
    assert made["flops.token"].value == 140 * 10**9
    assert float(made["time.run"].value) == pytest.approx(0.91, abs=5e-3)
    assert made["memory.static"].value == 140 * 10**9


# ---- a model ----


def test_llama_3_70b_from_its_graph():
    """Every number of the screen, worked out here from the sizes of the model."""
    made = plan("llama-3-70b", tokens="15T", on="1024xh100-sxm", mfu="0.5", sizes={"S": 8192})
    d, f, heads, groups, vocabulary, layers, s = 8192, 28672, 64, 8, 128256, 80, 8192
    block = 2 * d * d + 2 * d * d * groups // heads + 3 * d * f
    weights = layers * block + d * vocabulary
    params = weights + d * vocabulary + (2 * layers + 1) * d
    token = 6 * weights + 12 * layers * d * s
    seconds = Fraction(token * 15 * 10**12) / (1024 * H100 / 2)
    values = {entry.name: entry.value for entry in made.entries}
    assert values["params"] == values["params.active"] == params
    assert values["params.nonembedding"] == params - d * vocabulary
    assert values["flops.token.leading"] == 6 * params
    assert values["flops.token"] == token
    assert values["flops.token.ratio"] == Fraction(token, 6 * params)
    assert values["flops.run"] == token * 15 * 10**12
    assert values["time.run"] == seconds
    assert values["time.run.leading"] == seconds * Fraction(6 * params, token)
    assert values["time.devices"] == 1024 * seconds
    assert values["throughput.tokens"] == 15 * 10**12 / seconds
    assert values["memory.static"] == 12 * params
    assert values["memory.static.device"] == Fraction(12 * params, 1024)
    assert values["memory.left"] == 1024 * 80 * 10**9 - 12 * params
    assert values["memory.kv_cache"] == 2 * 2 * layers * s * d * groups // heads
    assert values["memory.activations"] == derive(load("llama-3-70b")).value(
        "memory.activations", {"B": 1, "S": s}
    )
    assert made["memory.static.device"].bound == "≥"


def test_what_binds():
    """Over capacity comes first, with the fewest devices: one less does not hold the state."""
    small = plan("llama-3-70b", on="8xh100-sxm", sizes={"S": 8192})
    assert small.binds[0].startswith("memory: the static state alone is 1.32 times")
    least = next(int(word) for word in small.binds[0].split() if word.isdecimal())
    static = small["memory.static"].value
    assert (least - 1) * 80 * 10**9 < static <= least * 80 * 10**9
    assert "memory.left" not in small.names()
    enough = plan("llama-3-70b", on=f"{least}xh100-sxm", sizes={"S": 8192})
    assert enough["memory.left"].value >= 0
    assert "not one sequence fits" in enough.binds[0]
    assert (
        plan("gpt2", on="h100-sxm", tokens="1T", sizes={"S": 1024}).binds[0].startswith("time: memory holds")
    )


def test_time_given_and_tokens_given_ask_for_an_mfu():
    """60 days in place of 144 at half the peak: 1.2, which no machine gives."""
    made = plan(params="70B", tokens="15T", time="60 day", on="1024xlecture:h100")
    days = Fraction(6 * 70 * 10**9 * 15 * 10**12) / (1024 * H100) / DAY
    assert made["mfu"].value == days / 60
    assert made.binds[0].startswith("time: the run would need an MFU of 1.2")
    assert (
        not plan(params="70B", tokens="15T", time="200 day", on="1024xlecture:h100")
        .binds[0]
        .startswith("time: the")
    )


def test_tokens_for_each_parameter():
    """20 tokens for each parameter: D = 20N, and C = 120 N²."""
    made = plan(params="7B", tokens="20 token/parameter")
    assert made["tokens"].value == 140 * 10**9
    assert made["flops.run"].value == 120 * 49 * 10**18


def test_money():
    """2 dollars an hour for each device."""
    made = plan(params="70B", tokens="15T", on="1024xlecture:h100", mfu="0.5", price="2 $/hour")
    assert made["cost"].value == 2 * made["time.devices"].value / HOUR
    assert (
        made["cost"].value
        == plan(params="70B", tokens="15T", on="1024xlecture:h100", mfu="0.5", price="2 $/(hour*device)")[
            "cost"
        ].value
    )


def test_experts():
    """Only the experts that a token uses are counted: 6 times the active parameters."""
    made = plan(params="671B", active="37B", tokens="14.8T")
    assert made["flops.token"].value == 6 * 37 * 10**9
    assert made["memory.static"].value == 12 * 671 * 10**9
    graph = plan("mixtral-8x7b", sizes={"S": 4096})
    assert graph["flops.token.leading"].value == 6 * graph["params.active"].value
    assert graph["params.active"].value < graph["params"].value


# ---- what parameters alone say is derived ----


@pytest.mark.parametrize(
    ("name", "optimizer", "each"),
    [("bf16", "adamw", 12), ("bf16-master", "adamw", 16), ("bf16-master-fp32grad", "adamw", 18),
     ("fp32", "adamw", 16), ("bf16-pure", "adamw", 8), ("bf16", "sgd", 4), ("fp32", "momentum", 12),
     ("bf16", None, 4)],
)  # fmt: skip
def test_bytes_for_each_parameter(name, optimizer, each):
    """The table of the conventions."""
    policy = Policy(precision(name), optimizer)
    assert leading(policy).static == each
    assert plan(params="7B", policy=policy)["memory.static"].value == each * 7 * 10**9


def test_attention_is_derived():
    """12LHKS for training and a third of it forward, which is what every decoder has beside its weights."""
    account = derive(load("gpt2"))
    per_token = account["flops.model"].expr / account["tokens"].expr - 6 * account["params.matmul"].expr
    sizes = {"L": 12, "H": 12, "K": 64, "S": 1024}
    assert str(attention()) == "12*H*K*L*S"
    assert evaluate(normal(per_token), {"S": 1024}) == evaluate(attention(), sizes)
    assert attention("forward") * 3 == attention()


@settings(max_examples=15, deadline=None)
@given(
    n=some.integers(1, 10**13), d=some.integers(1, 10**15), count=some.integers(1, 10**6),
    u=some.fractions(Fraction(1, 50), 1, max_denominator=50),
)  # fmt: skip
def test_the_run_is_consistent(n, d, count, u):
    """Time, devices, peak and MFU give the FLOPs back, exactly; so does the time the tokens."""
    made = plan(params=n, tokens=d, on="lecture:h100", devices=count, mfu=u)
    assert made["time.run"].value * count * H100 * u == 6 * n * d
    again = plan(
        params=n, time=f"{made['time.run'].value.__ceil__()} s", on="lecture:h100", devices=count, mfu=u
    )
    assert again["tokens"].value >= d


# ---- absent, never zero ----


def test_what_cannot_be_said_is_absent():
    """Without tokens no FLOPs of a run, without a machine no time, without a graph no activations."""
    made = plan(params="7B")
    for name in ("flops.run", "time.run", "memory.activations", "memory.static.device"):
        with pytest.raises(UnknownNameError) as caught:
            made[name]
        assert caught.value.fix == f"it needs {dict(made.absent)[name]}"
    assert all(entry.value != 0 for entry in made.entries)
    assert "time.run" in plan(params="7B", tokens="1T", on="h100-sxm").names()


def test_rules_carry_bounds_and_leave_out_what_is_unknown():
    """A bound is turned round below the line; two bounds that disagree are none."""
    made = plan(params="7B", tokens="1T", on="8xlecture:h100")
    assert (made["time.run"].bound, made["throughput.tokens"].bound) == ("≥", "≤")
    assert list(worked_out([Rule("x", "X", "a*b", "1")], {})) == []


# ---- the command ----


def test_the_screen(symacct, monkeypatch):
    """One screen: every number with its formula, and what binds."""
    monkeypatch.setenv("COLUMNS", "140")
    status, out, err = symacct("plan llama-3-70b --tokens 15T --on 1024xh100-sxm --mfu 0.5 --at S=8192")
    assert (status, err) == (0, "")
    flat = " ".join(out.split())
    for part in (
        "70,553,706,496 (70.6B)", "l = g*A 423e9 FLOP/token", "7864320*S", "q = c/l 1.137",
        "t = C/(n*P*u) 165 day",
        "846.6 GB = 788.5 GiB", "≥ 826.8 MB = 788.5 MiB /device", "binds: time", "device*hour",
        "2 parameters + 2 gradients + 8 optimizer", "not counted: communication",
    ):  # fmt: skip
        assert part in flat
    assert len(out.splitlines()) < 66


def test_the_record(symacct):
    """Exact numbers, formulas, bounds; what is absent has its reason."""
    line = "plan --params 70B --tokens 15T --on 1024xlecture:h100 --mfu 50% --format json"
    status, out, _ = symacct(line)
    record = json.loads(out)
    assert (status, record["schema"], record["command"]) == (0, "symacct/2", "plan")
    time = record["result"]["quantities"]["time.run"]
    assert Fraction(time["exact"]) == Fraction(6 * 70 * 15 * 10**21) / (512 * H100)
    assert (time["formula"], time["unit"], time["text"]) == ("C/(n*P*u)", "second", "143.9 day")
    assert "memory.activations" in record["result"]["missing"]
    assert record["policy"]["optimizer"] == "adamw"


def test_markdown(symacct):
    """A table whose formulas are LaTeX."""
    status, out, _ = symacct("plan gpt2 --at S=1024 --tokens 300B --format markdown")
    assert status == 0
    assert "$q = \\frac{c}{l}$" in out


NEIGHBOURS = [
    ("--params 7B --tokens 15GB", "--params 7B --tokens 15B", "has another unit"),
    ("--params 7B --mfu 50", "--params 7B --mfu 50%", "above 1"),
    ("--params 7B --mfu 0", "--params 7B --mfu 1", "not positive"),
    ("--params 7B --time 14", "--params 7B --time 14day", "needs a unit"),
    ("--params 7.5", "--params 7.5k", "no integer"),
    ("--params 7B gpt2", "gpt2 --at S=1024", "of a model, or of"),
    ("", "--params 7B", "of a model, or of"),
    ("gpt2 --tokens 1T", "gpt2 --tokens 1T --at S=1024", "sizes that are not given"),
    ("--params 7B --at S=8", "--params 7B", "is for a graph"),
    ("--params 7B --saves torch", "--params 7B --precision fp32", "there is no graph"),
    ("--params 7B --layers 32", "--params 7B --layers 32 --heads 32 --head-size 128 --seq 4096", "all four"),
    ("--params 7B --active 8B", "--params 7B --active 7B", "more parameters are active"),
    ("--params 7B --on 8xh100-sxm --devices 8", "--params 7B --on h100-sxm --devices 8", "said twice"),
    ("--params 7B --devices 8", "--params 7B --peak 1PFLOP/s --devices 8", "say nothing"),
    ("--params 7B --on h100", "--params 7B --on h100-sxm", "unknown machine"),
    (
        "--params 7B --on a100-sxm-80gb --dtype fp8",
        "--params 7B --on h100-sxm --dtype fp8",
        "no peak for fp8",
    ),
    ("--params 7B --workload decode", "--params 7B --workload prefill", "not planned"),
    ("gpt2 --at S=1024 --recompute 1", "--params 7B --recompute 1", "follows from the graph"),
    ("gpt2 --at S=1024 --seq 8", "gpt2 --at S=8", "is for --params"),
    ("dot --at N=8 --tokens 1T", "linear --at D=8,K=8 --tokens 1T", "no tokens"),
    (
        "--params 7B --tokens 1T --time 3day --mfu 1 --on h100-sxm",
        "--params 7B --time 3day --on h100-sxm",
        "leave one",
    ),
    ("--params 7B --price 2$", "--params 7B --price 2$/hour", "has another unit"),
]


@pytest.mark.few(5)
@pytest.mark.parametrize(("wrong", "right", "what"), NEIGHBOURS)
def test_refusals_beside_their_neighbours(symacct, wrong, right, what):
    """Each is refused in words with exit status 2; what is meant is planned."""
    status, out, err = symacct(f"plan {wrong}")
    assert (status, out) == (2, "")
    assert what in err
    assert symacct(f"plan {right}")[0] == 0


@pytest.mark.parametrize("value", [True, 7.5, None, [1], "1e400", "7B; rm", "-7B", "٧B", "9" * 500])
def test_values_that_are_no_numbers(value):
    """Anything but text with a number, or an exact number, is refused as such."""
    with pytest.raises(SymacctError):
        plan(params=value)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "at", "long"),
    [
        ("gpt2", {"S": 1024}, False),
        ("gpt2", {"S": 8}, False),
        ("llama-3-70b", {"S": 8192}, False),
        ("gpt", {"s": 1024, "a": 12, "h": 768, "V": 50257, "L": 12}, True),
    ],
)
def test_a_peak_has_the_formula_of_its_region(name, at, long):
    """It is the peak there, by a derivation at these sizes; a long one is left to another command."""
    made = plan(load(name), sizes=at, policy=Policy(optimizer="adamw"))
    (peak,) = (entry for entry in made.entries if entry.name == "memory.peak")
    batch = "b" if name == "gpt" else "B"
    account = derive(load(name), optimizer="adamw")
    assert peak.value == int(account.value("memory.peak", {**at, batch: 1}))
    if long:
        assert not peak.formula
        assert any("y is long" in note for note in made.notes)
        return
    names = sorted(at)
    assert evaluate(read_formula(peak.formula, names), at) == int(peak.value)
    region = max(account.bind({batch: 1}).candidates("memory.peak"), key=lambda one: evaluate(one, at))
    assert evaluate(region, at) == int(peak.value)
    assert any("symacct memory has them all" in note for note in made.notes)
