"""Numbers of memory that people published or got wrong: proved, refuted, or derived with the right value."""

from __future__ import annotations

import math

import pytest
from decoders import assert_formula
from sympy import Rational

from symacct import Builder, derive, graph, load, prove
from symacct.algebra.normal import total
from symacct.cli import main

ADAM = {"optimizer": "adamw"}
MASTER, WIDE = "bf16-master", "bf16-master-fp32grad"


def judged(of, claim, **choices):
    """Return the outcome of a claim about a graph under choices."""
    return prove(derive(of, **choices), claim).outcome


@pytest.fixture
def calc(capsys):
    """Return the first line that calc prints, and its exit status."""

    def run(*words):
        status = main(["calc", *words])
        printed = capsys.readouterr()
        return status, (printed.out or printed.err).splitlines()[0]

    return run


@graph({"N": "parameters"})
def parameters(b):
    """One weight of N parameters, used once."""
    return b.einsum("N, N ->", b.input("x", "N"), b.weight("w", "N"))


# ---- states ----


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("precision", "published", "right"),
    [
        (WIDE, 16, 18),
        ("fp32", 8, 16),
        (MASTER, 12, 16),
        ("params=fp16,grads=fp16,master=fp32,states=fp32", 4, 16),
        ("bf16", 16, 12),
    ],
)
def test_bytes_of_a_weight(precision, published, right):
    """The table of dtypes decides: what was said of each policy is refuted, its own total proved.

    Megatron-LM issue 654 (16 of 18, with gradients in fp32); tisu19021997.github.io (8 of 16: the moments
    alone); FlagScale pull 408 (12 of 16: no master copy); ZeRO, arXiv:1910.02054 (2 + 2 + 12).
    """
    for of in (load("gpt"), parameters()):
        assert (
            judged(of, f"memory.static = {right} byte/parameter * params", precision=precision, **ADAM)
            == "proved"
        )
        assert judged(of, f"memory.static = {published}*params", precision=precision, **ADAM) == "refuted"


@pytest.mark.parametrize(
    ("precision", "optimizer", "count", "gigabytes"),
    [
        ("fp32", "adamw", 7 * 10**9, 112),
        (MASTER, "adamw", 7 * 10**9, 112),
        ("bf16", "adamw", 7 * 10**9, 84),
        (MASTER, "adamw", 7_500_000_000, 120),
    ],
)
def test_the_states_of_a_model(precision, optimizer, count, gigabytes):
    """112 GB of 7e9 in fp32 (not 56) and with a master copy (not 84); 120 GB of 7.5e9 (ZeRO, K = 12)."""
    account = derive(parameters, precision=precision, optimizer=optimizer)
    assert account.value("memory.static", {"N": count}) == gigabytes * 10**9


def test_parts_stand_beside_the_total(capsys):
    """What is printed is a table of categories, so that no number stands for an unnamed policy."""
    words = ["derive", "gpt", "--optimizer", "adamw", "--precision", WIDE]
    assert main(words) == 0
    printed = capsys.readouterr().out
    for part in (
        "memory.parameters",
        "memory.gradients",
        "memory.master",
        "memory.optimizer",
        "memory.static",
    ):
        assert part in printed
    assert WIDE in printed.splitlines()[0]


def test_sixteen_by_two_lists():
    """(4, 4, 8) and (2, 2, 4 + 8) have equal totals (CS336 lectures, issue 3), and other parts."""
    one, two = (derive(parameters, precision=name, **ADAM) for name in ("fp32", MASTER))
    assert one["memory.static"].expr == two["memory.static"].expr
    kept = [[a[f"memory.{part}"].expr for part in ("parameters", "gradients", "master")] for a in (one, two)]
    assert all(left != right for left, right in zip(*kept, strict=True))


def test_a_checkpoint_of_gpt_2():
    """1.49 GB: fp32 weights and two moments of 124,337,664 parameters (nanoGPT, transformer_sizing)."""
    account = derive(parameters, precision="fp32", **ADAM)
    kept = total(account[f"memory.{part}"].expr for part in ("parameters", "optimizer"))
    assert kept.subs(next(iter(kept.free_symbols)), 124_337_664) == 1_492_051_968


def test_weights_and_moments_of_13b():
    """130 GB with bf16 weights and fp32 moments (How to Scale Your Model), without gradients."""
    account = derive(parameters, **ADAM)
    sizes = {"N": 13 * 10**9}
    kept = account.value("memory.parameters", sizes) + account.value("memory.optimizer", sizes)
    assert kept == 130 * 10**9
    assert account.value("memory.static", sizes) == 156 * 10**9


# ---- bits, fits ----


def test_four_bits_are_half_a_byte(calc):
    """3.5 GB of 7e9 weights in 4 bits; 28 GB takes the 4 for bytes."""
    assert calc("7e9 param * 4 bit/param", "--to", "GB") == (0, "3.5 GB = 3.26 GiB")
    assert calc("7e9 param * 4 byte/param", "--to", "GB")[1] == "28 GB = 26.08 GiB"
    assert calc("7e9 param * 4 bit/param + 1 param", "--to", "GB")[0] == 2
    int4 = "params=int4"
    assert (
        judged(load("llama"), "memory.parameters = 0.5 byte/parameter * params", precision=int4) == "proved"
    )
    assert judged(load("llama"), "memory.parameters = 4 bit/parameter * params", precision=int4) == "proved"
    assert judged(load("llama"), "memory.parameters = 4*params", precision=int4) == "refuted"


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (("21.6 TB / (96 GB/chip)",), "225"),
        (("70e9 param * 1 byte/param + 32 * 8192 token * 160e3 byte/token", "--to", "GB"), "111.9 GB"),
        (("(70e9 byte + 240 * 32768 token * 162e3 byte/token) / (16e9 byte/chip)", "--to", "chip"), "84"),
        (("56 GB / (2097152 byte/token)", "--to", "token"), "26,703 token"),
        (("2 * 2 byte * 32 * 4096 * 8/32",), "131.1 kB = 128 KiB"),
        (("131072 byte/token * 128 * 1024 token", "--to", "GB"), "17.18 GB"),
    ],
)
def test_what_fits(calc, words, printed):
    """Devices and tokens that fit: How to Scale Your Model (applied training, inference), kipp.ly, stas00.

    225 chips; 112 GB; 86 chips are printed for 84.0; 23000 tokens for 26,703; 0.131 MB a token; 17.2 GB.
    """
    status, line = calc(*words)
    assert status == 0
    assert line.startswith(printed)


def test_a_token_of_52b_in_what_is_left():
    """Four devices of 40 GB hold 104 GB of weights and 26,702 tokens, not 23000 (kipp.ly)."""
    sizes = {"b": 1, "t": 1, "a": 64, "h": 8192, "L": 64, "V": 1}
    each = derive(load("gpt"), workload="decode").value("memory.kv_cache.token", sizes)
    assert math.floor(Rational(160 * 10**9 - 104 * 10**9, each)) == 26_702


@pytest.mark.parametrize(("published", "outcome"), [(8192, "refuted"), (32768, "proved")])
def test_norms_of_a_layer(published, outcome):
    """Two norms with scale and shift hold 32,768 bytes of h = 4096 in 16 bits; 8,192 were said.

    llm-analysis issue 19. Splitting them over devices is another matter: a device would hold all of them.
    """
    account = derive(load("gpt"), sizes={"h": 4096, "a": 32, "L": 1})
    rows = account.terms("memory.parameters")
    norms = total(
        row.expr for row in rows if row.label.startswith(("layers/attention_norm", "layers/ffn_norm"))
    )
    assert (norms == published) == (outcome == "proved")


# ---- activations ----


@pytest.mark.parametrize(("rows", "width", "calls"), [(10240, 1024, 100), (6, 4, 3), (1, 1, 1)])
def test_a_layer_that_is_called_often(rows, width, calls):
    """4044.00390625 MiB for one layer called 100 times; 130.03 MB were said (torchinfo issue 144).

    Each call keeps its input, whatever weight it shares; the last output is held beside them.
    """
    b = Builder("recurrent", {"B": "rows", "D": "width", "L": "calls"})
    x = b.input("x", "B D")
    w, shift = b.weight("w", "D E", E="D"), b.weight("bias", "E", E="D")
    y = b.repeat("L", lambda x: b.einsum("B D, D E -> B E", x, w, label="product") + shift, x)
    account = derive(b.build(y), precision="fp32")
    assert_formula(account, "memory.activations", "4*B*D*L")
    assert_formula(account, "memory.parameters", "4*(D^2 + D)")
    sizes = {"B": rows, "D": width, "L": calls}
    held = (
        account.value("memory.activations", sizes)
        + account.value("memory.parameters", sizes)
        + 4 * rows * width
    )
    assert held == 4 * ((calls + 1) * rows * width + width**2 + width)
    assert calls != 100 or Rational(held, 2**20) == Rational("4044.00390625")


def test_a_slice_keeps_its_storage():
    """800 bytes are held by a view of 50 of 100 numbers of 8 bytes; 400 were said (dask issue 4186)."""
    b = Builder("view", {"N": "elements"})
    x = b.relu(b.input("x", "N", grad=True))
    last = b.slice(x, "N", "N/2", "N")
    account = derive(b.build(b.einsum("N, N ->", last, last)), precision="params=fp64")
    held = [row for row in account.terms("memory.activations") if row.label == "relu"]
    assert [row.expr.subs(next(iter(row.expr.free_symbols)), 100) for row in held] == [800]


def test_a_broadcast_is_one_storage():
    """(1, 4) in fp32 seen as (1000, 4) holds 16 bytes and not 16,000: what is broadcast is not made."""
    b = Builder("spread", {"B": "rows", "D": "width"})
    x, shift = b.input("x", "B D"), b.weight("shift", "D")
    account = derive(b.build(x * shift), precision="fp32")
    assert_formula(account, "memory.parameters", "4*D")
    assert account.value("memory.parameters", {"B": 1000, "D": 4}) == 16
    assert_formula(account, "memory.activations", "4*B*D")


def test_a_function_of_its_own_result_keeps_one_tensor():
    """relu reads its output in backward: 4e6 bytes of 1e6 elements, not 8e6; gelu keeps its input as well."""
    b = Builder("chain", {"B": "rows", "N": "elements"})
    x = b.scale(b.input("x", "B N", grad=True), 2)
    account = derive(b.build(b.relu(x)), precision="fp32")
    assert_formula(account, "memory.activations", "4*B*N")
    assert account.value("memory.activations", {"B": 1, "N": 10**6}) == 4 * 10**6
    b = Builder("chain", {"B": "rows", "N": "elements"})
    x = b.scale(b.input("x", "B N", grad=True), 2)
    both = derive(b.build(b.relu(b.gelu(x))), precision="fp32")
    assert_formula(both, "memory.activations", "8*B*N")


# ---- the command line ----


@pytest.mark.parametrize("words", [[], ["--precision", "fp32"]])
def test_claims_from_the_command_line(capsys, words):
    """The ordinary way: a claim about static memory and its exit status."""
    each = 16 if words else 12
    base = ["prove", "deep_linear", "--optimizer", "adamw", *words]
    assert main([*base, f"memory.static = {each}*D^2*L"]) == 0
    assert main([*base, f"memory.static = {each - 4}*D^2*L"]) == 1
    assert main([*base, "memory.static = params"]) == 2
    capsys.readouterr()
