"""The command line: each verb in process, refusals beside valid neighbours, and a few real processes."""

import csv
import io
import json
import os
import subprocess
import sys
from fractions import Fraction

import pytest

from symacct.account import derive
from symacct.algebra.normal import normal, same
from symacct.algebra.symbols import symbol
from symacct.cli import catalogue, main
from symacct.cli.list import LISTS
from symacct.cli.main import VERBS
from symacct.convention import CHOICES, CONVENTIONS
from symacct.errors import SymacctError
from symacct.op import Op
from symacct.ops import OPS
from symacct.ops.elementwise_table import TABLE
from symacct.ops.optimizer import RULES
from symacct.readers.files import load
from symacct.readers.graph_json import from_data
from symacct.syntax import read_formula
from symacct.units import unit_names


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command in process and return its status, output and complaint."""
    monkeypatch.setenv("COLUMNS", "100")

    def call(*words):
        status = main(list(words))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def process(*words, code=None, **environment):
    """Run a real process."""
    command = [sys.executable, *(["-c", code] if code else ["-m", "symacct"]), *words]
    env = {**os.environ, "COLUMNS": "100", **environment}
    return subprocess.run(command, capture_output=True, env=env, timeout=120, check=False)


CHOICES_MADE = (
    "convention default (attention full); workload train, "
    "precision bf16 (no fp32 copy of the parameters), saves backward\n"
)
CHAIN = """\
graph deep_linear: L linear layers of D to D, without biases.
sizes: B (rows), D (features), L (layers)
at: B = 8, D = 4,096, L = 32
not formed: the gradient of x (--input-grad forms it)

term                formula                                    value
------------------  -------------------  ---------------------------
FLOPs of contractions (FLOP)
flops.model.matmul  6*B*D^2*L - 2*B*D^2  25,501,368,320 (25.5 GFLOP)

FLOPs of all ops (FLOP)
flops.model.all     6*B*D^2*L - 2*B*D^2  25,501,368,320 (25.5 GFLOP)
"""


def test_derive_writes_formulas_values_and_choices(run):
    status, out, err = run(
        "derive", "deep_linear", "--only", "flops.model", "--at", "B=8,D=4Ki", "--at", "L=32"
    )
    assert (status, err) == (0, "")
    assert out == CHOICES_MADE + CHAIN


def test_explain_names_ops_makers_and_readers(run):
    status, out, _ = run("derive", "gpt", "--explain", "memory.activations")
    assert status == 0
    assert "layers/attention/core/softmax" in out
    assert "made by layers/attention/q/add, kept for layers/attention/core/scores" in out
    assert "L*(5*b*s^2*a + 34*b*s*h + 16*b*s)" in out


def test_choices_reach_the_account(run):
    words = ["--convention", "lecture", "--attention", "half", "--bytes", "fused", "--optimizer", "adamw"]
    words += ["--precision", "bf16-master", "--saves", "torch", "--input-grad"]
    _, out, _ = run("derive", "gpt", "--only", "params", *words)
    first = out.splitlines()[0]
    assert first == (
        "convention lecture (attention half, bytes fused, gelu 20, gelu_tanh 20, relu 1); workload train, "
        "precision bf16-master, optimizer adamw, saves torch, input gradients formed"
    )


def test_assume_puts_a_formula_in_place_of_a_size(run):
    status, out, _ = run("derive", "swiglu", "--assume", "F = 4*D", "--only", "params", "--format", "csv")
    params = next(row for row in csv.DictReader(io.StringIO(out)) if row["quantity"] == "params")
    assert status == 0
    assert same(
        normal(read_formula(params["formula"], ["D"])),
        derive(load("swiglu").bind({"F": 4 * symbol("D")}))["params"].expr,
    )


def test_json_reads_back_to_the_account(run):
    status, out, _ = run("derive", "gpt2", "--at", "B=2,S=8", "--format", "json", "--only", "flops,memory")
    made = json.loads(out)
    account = derive(load("gpt2"))
    assert status == 0
    assert list(made) == ["schema", "command", "input", "convention", "policy", "result"]
    assert (made["schema"], made["command"], made["input"]["at"]) == (
        "symacct/2",
        "derive",
        {"B": 2, "S": 8},
    )
    for name, quantity in made["result"]["quantities"].items():
        assert {"expr", "unit", "latex", "conditions", "terms", "value", "exact"} <= quantity.keys()
        expr = normal(read_formula(quantity["expr"], ["B", "S"]))
        assert same(expr, account[name].expr)
        assert quantity["exact"] == str(account.value(name, {"B": 2, "S": 8}))
        terms = [normal(read_formula(term["expr"], ["B", "S"])) for term in quantity["terms"]]
        assert same(sum(terms, expr * 0), expr)
    assert "flops.model" in made["result"]["quantities"]


def floats(data, beside=None):
    """Yield every float in decoded JSON, with the exact text beside it."""
    if isinstance(data, float):
        yield data, beside
    if isinstance(data, dict | list):
        for item in data.values() if isinstance(data, dict) else data:
            yield from floats(item, data.get("exact") if isinstance(data, dict) else None)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "words",
    [
        ("derive", "moe", "--at", "B=2"),
        ("derive", "llama-3-70b", "--at", "B=3,S=8192"),
        ("roofline", "linear", "--on", "h100-sxm", "--at", "B=3,D=5,K=7"),
        ("show", "moe"),
        ("list", "models"),
    ],
)
def test_a_float_has_its_exact_text_beside_it(run, words):
    """The nearest float of a quotient, or of an integer that is too large to be one."""
    status, out, _ = run(*words, "--format", "json")
    assert status == 0
    for value, exact in floats(json.loads(out)):
        assert value == float(Fraction(exact))


@pytest.mark.few(1)
@pytest.mark.parametrize("form", ["text", "markdown", "latex", "json", "csv"])
@pytest.mark.parametrize("workload", ["train", "forward", "prefill", "decode"])
def test_every_workload_has_every_format(run, form, workload):
    status, out, err = run("derive", "llama", "--workload", workload, "--format", form)
    assert (status, err) == (0, "")
    assert out.endswith("\n")
    assert not out.endswith("\n\n")


def test_show_writes_the_program_and_the_graph_as_json(run):
    status, out, _ = run("show", "deep_linear")
    assert status == 0
    assert '    layers/matmul[B E=D] = einsum "B D, D E -> B E" (layers/carry.0, layers/w)' in out
    assert "        layers/matmul is saved for the gradient of layers/matmul" in out
    _, out, _ = run("show", "deep_linear", "--format", "json")
    assert from_data(json.loads(out)["result"], "here") == load("deep_linear")
    _, out, _ = run("show", "deep_linear", "--source")
    assert '@graph({"B": "rows", "D": "features", "L": "layers"}, tokens="B")' in out


def test_show_source_is_of_shipped_graphs(run):
    status, out, err = run("show", "gpt2", "--source")
    assert (status, out) == (2, "")
    assert err.startswith("unknown shipped graph 'gpt2'\n")


# ---- check ----


def test_check_sets_counted_beside_derived(run):
    pytest.importorskip("torch")
    status, out, err = run("check", "deep_linear", "--at", "L=3")
    assert (status, err) == (0, "")
    assert out.startswith("graph deep_linear with torch at B = 2, D = ")
    assert "flops.backward.matmul" in out
    assert out.endswith("nothing differs\n")
    made = json.loads(run("check", "relu", "--format", "json")[1])["result"]
    assert made["passed"]
    assert made["rows"][0]["verdict"] == "equal"


def test_a_check_that_fails_has_status_1(run, monkeypatch):
    pytest.importorskip("torch")
    from symacct.execution import check as module

    rows = (
        module.Row("flops.forward.matmul", 2, 3, "FLOP", "differs"),
        module.Row("x", 1, 0, "byte", "not vouched"),
    )
    found = module.CheckResult("relu", {"B": 2}, rows, ("saved by a: 2, 3",), ("b",), ("L >= 2",))
    monkeypatch.setattr(module, "check", lambda *_: found)
    status, out, _ = run("check", "relu")
    assert status == 1
    assert "small: these sizes break L >= 2; the exact case is derived apart" in out
    assert out.endswith("\n1 of 2 differ; 1 cannot be compared\n")


OWN = """
import torch

def one(sizes):
    return torch.nn.Linear(sizes["D"], sizes["K"], bias=False), (torch.randn(sizes["B"], sizes["D"]),)

def biased(sizes):
    return torch.nn.Linear(sizes["D"], sizes["K"]), (torch.randn(sizes["B"], sizes["D"]),)
"""


def test_check_compares_with_a_module_of_the_users_own(run, tmp_path):
    pytest.importorskip("torch")
    own = tmp_path / "own.py"
    own.write_text(OWN)
    assert run("check", "linear", "--against", f"{own}:one", "--at", "B=5")[0] == 0
    status, out, _ = run("check", "linear", "--against", f"{own}:biased")
    assert status == 1
    assert "differences" in out
    status, out, err = run("check", "linear", "--against", f"{own}:none")
    assert (status, out) == (2, "")
    assert err.startswith(f"{own} has no function none\n")


def test_check_without_torch_says_how_to_install_it(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    status, out, err = run("check", "relu")
    assert (status, out) == (2, "")
    assert err.startswith("executing a graph needs torch, which is not installed\n")
    assert "pip install 'torch>=2.5' numpy (in a checkout: pip install -e '.[torch]')" in err


# ---- lists ----


@pytest.mark.few(9)
@pytest.mark.parametrize("what", LISTS)
@pytest.mark.parametrize("form", ["text", "markdown", "json", "csv"])
def test_every_list_has_every_format(run, what, form):
    status, out, _ = run("list", what, "--format", form)
    assert status == 0
    assert len(out.splitlines()) > len(LISTS[what][1]())


def test_lists_agree_with_the_tables():
    assert [row[0] for row in catalogue.conventions()] == list(CONVENTIONS)
    assert [row[1] for row in catalogue.conventions()] == [one.about for one in CONVENTIONS.values()]
    assert [row[:2] for row in catalogue.optimizers()] == [
        (name, "2 + 8/256" if name == "adam8bit" else str(4 * len(r.states))) for name, r in RULES.items()
    ]
    assert [row[0] for row in catalogue.ops()] == [*sorted(op.__name__ for op in OPS), *TABLE]
    assert all(about and issubclass(op, Op) for (_, about), op in zip(catalogue.ops(), OPS, strict=False))
    listed = {row[0] for row in catalogue.units() if not row[0].endswith("-")}
    assert listed == set(unit_names())


def test_flags_offer_what_conventions_know():
    from symacct.cli import options

    assert set(options.ATTENTION) == set(CHOICES["attention"])
    assert CHOICES["bytes"] == options.BYTES


# ---- refusals ----


def told(what, **facts):
    """Return what the command says on an error."""
    return f"{SymacctError(what, **facts)}\n"


REFUSALS = [
    (
        ("drive", "gpt"),
        ("derive", "gpt", "--only", "tokens"),
        told(
            "unknown verb 'drive'",
            where="symacct",
            expected="one of: check, compare, derive, dtype, fit, list, prove, roofline, sheet, solve, "
            "sweep, verify, and 6 more (see symacct --help)",
            got="drive",
            fix="did you mean 'derive'?",
        ),
    ),
    (
        ("derive", "deep_linear", "--at", "Z=3"),
        ("derive", "deep_linear", "--at", "B=3"),
        told(
            "unknown size 'Z'",
            where="--at Z=3, graph deep_linear",
            expected="one of: B, D, L",
            got="Z",
        ),
    ),
    (
        ("derive", "gpt2", "--at", "D=512", "--only", "tokens"),
        ("derive", "gpt2", "--at", "D=768", "--only", "tokens"),
        told(
            "size D of gpt2 is bound already",
            where="--at D=512",
            expected="one of: B, S",
            got="D, which is 768",
            fix="leave D out, or write --symbolic for a model",
        ),
    ),
    (
        ("derive", "deep_linear", "--at", "B=0"),
        ("derive", "deep_linear", "--at", "L=0"),
        told(
            "size B is too small",
            where="--at B=0",
            expected="an integer of at least 1, at most 10^30",
            got="0",
        ),
    ),
    *(
        (
            ("derive", "deep_linear", "--at", at),
            ("derive", "deep_linear", "--at", "B=3"),
            told("a size is empty", where="--at", expected="NAME=SIZE or NAME=SIZE,NAME=SIZE", got=at),
        )
        for at in ("", ",", "B=3,")
    ),
    (
        ("list",),
        ("list", "graphs"),
        told(
            "symacct list: the following arguments are required: WHAT",
            expected=f"symacct list WHAT, one of: {', '.join(sorted(LISTS))}",
        ),
    ),
    (
        ("check", "mlp", "--seed", "9" * 5000),
        ("check", "add", "--seed", "9"),
        told(
            f"symacct check: argument --seed: expected an integer from 0 to 2^63 - 2, got '{'9' * 20}'",
            expected="symacct check GRAPH ...",
            fix="see symacct check --help",
        ),
    ),
    (
        ("derive", "deep_linear", "--format", "jsn"),
        ("derive", "deep_linear", "--format", "json"),
        told(
            "unknown choice of --format 'jsn'",
            where="symacct derive",
            expected="one of: csv, json, latex, markdown, text",
            got="jsn",
            fix="did you mean 'json'?",
        ),
    ),
    (
        ("derive", "deep_linear", "--formt=json"),
        ("derive", "deep_linear", "--format=json"),
        told(
            "symacct derive: unrecognized arguments: --formt=json",
            expected="symacct derive GRAPH ...",
            fix="did you mean '--format'?",
        ),
    ),
    (
        ("derive",),
        ("derive", "relu"),
        told(
            "symacct derive: the following arguments are required: GRAPH",
            expected="symacct derive GRAPH ...",
            fix="see symacct derive --help",
        ),
    ),
    (
        ("derive", "deep_linear", "--explain", "flops.model", "--only", "flops.model"),
        ("derive", "deep_linear", "--explain", "flops.model"),
        told(
            "--explain and --only choose different tables",
            expected="one of them",
            got="both",
        ),
    ),
    (
        ("derive", "deep_linear", "--only", "params,"),
        ("derive", "deep_linear", "--only", "params,tokens"),
        told(
            "a name is empty",
            expected="NAME or NAME,NAME",
            got="params,",
        ),
    ),
    (
        ("derive", "gpt", "--optimizer", "adm"),
        ("derive", "gpt", "--optimizer", "adam", "--only", "tokens"),
        told(
            "unknown optimizer 'adm'",
            expected="one of: adagrad, adam, adam8bit, adamw, amsgrad, lion, momentum, rmsprop, sgd",
            got="adm",
            fix="did you mean 'adam'?",
        ),
    ),
    (
        ("derive", "gpt", "--at", "h=5,a=2"),
        ("derive", "gpt", "--at", "h=6,a=2"),
        None,
    ),
]


@pytest.mark.few(4)
@pytest.mark.parametrize(("wrong", "right", "complaint"), REFUSALS)
def test_a_refusal_stands_beside_its_valid_neighbour(run, wrong, right, complaint):
    status, out, err = run(*wrong)
    assert (status, out) == (2, "")
    assert err == complaint or complaint is None
    assert "Traceback" not in err
    assert run(*right)[0] == 0


def test_no_verb_is_an_error_and_help_is_not(run):
    assert run()[0] == 2
    status, out, _ = run("--help")
    assert status == 0
    assert all(f"  {verb} " in out for verb in VERBS)
    assert run("--version")[1].startswith("symacct ")


def test_a_bug_shows_its_traceback(monkeypatch):
    monkeypatch.setattr("symacct.cli.list.LISTS", {"dtypes": (("name",), lambda: 1 / 0)})
    with pytest.raises(ZeroDivisionError):
        main(["list", "dtypes"])


def test_an_interruption_ends_quietly(run, monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr("symacct.cli.list.LISTS", {"dtypes": (("name",), interrupt)})
    assert run("list", "dtypes") == (130, "", "interrupted\n")


# ---- processes ----

LIGHT = """
import sys
from symacct.cli import main
status = main(sys.argv[1:])
heavy = [name for name in ("sympy", "pint", "torch", "numpy", "networkx") if name in sys.modules]
sys.exit(f"imported {heavy}" if heavy else status)
"""


@pytest.mark.few(5)
@pytest.mark.parametrize(
    "words", [["--help"], *(["list", what] for what in LISTS), *([verb, "--help"] for verb in VERBS)]
)
def test_help_and_lists_start_no_engine(words):
    done = process(*words, code=LIGHT)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout


@pytest.mark.few(1)
@pytest.mark.parametrize("form", ["text", "json"])
def test_output_does_not_depend_on_the_hash_seed(form):
    words = [
        "derive",
        "moe",
        "--explain",
        "flops.model.all",
        "--explain",
        "memory.activations",
        "--format",
        form,
    ]
    first, second = (process(*words, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert first.returncode == 0
    assert first.stdout == second.stdout


def test_a_terminal_without_unicode_still_gets_everything(tmp_path):
    file = tmp_path / "words.py"
    file.write_text(
        "from symacct import graph\n"
        "@graph({'词': 'rows'})\n"
        "def one(b):\n"
        "    return b.relu(b.input('x', '词'))\n",
        encoding="utf-8",
    )
    done = process("derive", f"{file}:one", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\u8bcd" in done.stdout


def test_a_closed_pipe_is_no_error():
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "symacct", "list", "quantities"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")
