"""Pictures of memory and of shares: the numbers they draw, the bytes they write, what they refuse."""

from __future__ import annotations

import sys
from fractions import Fraction

import pytest

from symacct import derive, load
from symacct.cli.main import main
from symacct.errors import LimitError, ReadError, RuleError, UnknownNameError, UsageError
from symacct.peaks.timeline import at_sizes
from symacct.plot import memory, shares
from symacct.plot.canvas import thinned

MLP = {"B": 16, "D": 4, "L": 6}
GPT = {"b": 2, "s": 8, "a": 2, "h": 8, "L": 3, "V": 32}
AT = "B=16,D=4,L=6"
CASES = [
    ("mlp", MLP, {}),
    ("mlp", MLP, {"checkpoint": "every:2", "optimizer": "adamw"}),
    ("mlp", MLP, {"checkpoint": "every:4", "grads": "kept", "accumulate": 2}),
    ("mlp", MLP, {"checkpoint": "store-nothing", "precision": "fp32"}),
    ("gpt", GPT, {"checkpoint": "selective:core"}),
    ("gpt", GPT, {"workload": "forward"}),
]


# ---- what is drawn ----


@pytest.mark.parametrize(("name", "sizes", "choices"), CASES)
def test_bands_add_up_to_the_derived_peak(name, sizes, choices):
    """The highest stack, on what is held throughout, is the peak of the formulas."""
    account = derive(load(name), **choices).bind(sizes)
    schedule = at_sizes(account.course.graph, account.course.policy, {})
    found = memory.bands(account, schedule)
    totals = [sum(levels) for levels in zip(*found.values(), strict=True)]
    assert max(totals) + account.beside("memory.peak") == account.value("memory.peak")
    assert all(level >= 0 for levels in found.values() for level in levels)
    assert len(totals) == len(schedule.actions)


def test_bands_of_a_chain():
    """When forward ends: what backward reads of ReLU, L outputs of B rows and D features in fp32."""
    account = derive(load("mlp"), precision="fp32", sizes=MLP)
    schedule = at_sizes(account.course.graph, account.course.policy, {})
    found = memory.bands(account, schedule)
    assert found["saved"][schedule.backward] == 4 * 16 * 4 * 6
    assert max(found["parameter gradients"]) == 4 * 4 * 4 * 6
    assert not any(found["recomputed"])


def test_thinned_keeps_the_largest():
    """However few are drawn, the peak is among them."""
    levels = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]
    for most in range(1, 15):
        places = thinned(levels, most)
        assert len(places) <= most
        assert 5 in places
        assert places == sorted(places)


@pytest.mark.parametrize("quantity", ["flops.hardware", "flops.hardware.all", "memory.activations", "params"])
def test_bars_add_up(quantity):
    """Ops with their gradients add up to the whole, and so do fewer bars."""
    account = derive(load("gpt"), optimizer="adamw", checkpoint="every:1", sizes=GPT)
    found = shares.bars(account, quantity)
    whole = account.value(quantity)
    assert sum(sum(parts.values()) for _, parts in found) == whole
    assert sum(sum(parts.values()) for _, parts in shares.fewer(found, 4)) == whole
    assert len(shares.fewer(found, 4)) == 4
    amounts = [sum(parts.values()) for _, parts in found]
    assert amounts == sorted(amounts, reverse=True)
    assert not [op for op, _ in found if "/grad." in op]


def test_each_op_of_a_chain_is_as_large():
    """Of a chain, L products: forward once, backward twice but for the first."""
    account = derive(load("mlp"), sizes=MLP)
    found = dict(shares.bars(account, "flops.model"))
    assert sum(sum(parts.values(), Fraction(0)) for parts in found.values()) == (6 * 6 - 2) * 16 * 16


# ---- what is written ----


def pictures(folder, ending):
    """Draw each picture once and return the files."""
    account = derive(load("mlp"), optimizer="adamw", checkpoint="every:2")
    named = derive(load("mlp"), checkpoint="every:k")
    paths = [folder / f"{name}{ending}" for name in ("steps", "tradeoff", "shares")]
    memory.draw(account, MLP, paths[0])
    memory.tradeoff(named, MLP, paths[1])
    shares.draw(account, "flops.hardware", MLP, paths[2])
    return paths


@pytest.mark.long
@pytest.mark.parametrize("ending", [".svg", ".png"])
def test_the_same_input_gives_the_same_bytes(tmp_path, ending):
    """Drawn twice, in two folders."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = (pictures(tmp_path / name, ending) for name in ("one", "two"))
    for first, second in zip(one, two, strict=True):
        assert first.read_bytes() == second.read_bytes()
        assert b"/work" not in first.read_bytes()


def test_svg_is_grey(tmp_path):
    """No colour but shades of grey."""
    for path in pictures(tmp_path, ".svg"):
        text = path.read_text(encoding="utf-8")
        assert text.rstrip().endswith("</svg>")
        colours = {text[at + 1 : at + 7] for at in range(len(text)) if text[at - 6 : at + 1].endswith(": #")}
        assert colours
        assert all(one[:2] == one[2:4] == one[4:] for one in colours)


# ---- on the command line ----


def test_the_command(tmp_path, capsys):
    """The page is written as without it, and the picture beside."""
    assert main(["memory", "mlp", "--at", AT, "--checkpoint", "every:2"]) == 0
    page = capsys.readouterr().out
    path = tmp_path / "steps.svg"
    assert main(["memory", "mlp", "--at", AT, "--checkpoint", "every:2", "--picture", str(path)]) == 0
    assert capsys.readouterr().out == page
    memory.draw(derive(load("mlp"), optimizer="adamw", checkpoint="every:2"), MLP, tmp_path / "same.svg")
    assert path.read_bytes() == (tmp_path / "same.svg").read_bytes()


def test_the_command_with_an_open_length(tmp_path):
    """Where k has no size, each is drawn; where it has one, the steps are."""
    path, steps = tmp_path / "k.png", tmp_path / "steps.png"
    words = ["memory", "mlp", "--checkpoint", "every:k", "--picture"]
    assert main([*words, str(path), "--at", AT]) == 0
    assert main([*words, str(steps), "--at", f"{AT},k=3"]) == 0
    memory.tradeoff(derive(load("mlp"), optimizer="adamw", checkpoint="every:k"), MLP, tmp_path / "same.png")
    assert path.read_bytes() == (tmp_path / "same.png").read_bytes()
    assert steps.read_bytes() != path.read_bytes()


# ---- what is refused ----


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--at", AT, "--picture", "x.pdf"], ["a picture is SVG or PNG", "got       .pdf"]),
        (["--at", "B=16,D=4", "--picture", "x.svg"], ["a picture needs every size: L", "add --at L=..."]),
        (["--picture", "x.svg"], ["a picture needs every size: B, D, L"]),
        (["--at", AT, "--checkpoint", "none,sqrt", "--picture", "x.svg"], ["--picture is for one policy"]),
        (["--at", AT, "--picture", "missing/x.svg"], ["a picture cannot be written", "missing/x.svg"]),
    ],
)
def test_refusals(words, said, capsys, tmp_path, monkeypatch):
    """Exit status 2, what is wrong, and no file."""
    monkeypatch.chdir(tmp_path)
    assert main(["memory", "mlp", *words]) == 2
    complaint = capsys.readouterr().err
    assert not [one for one in said if one not in complaint]
    assert not list(tmp_path.iterdir())


def test_refusals_of_the_functions(tmp_path, monkeypatch):
    """What no flag of the command reaches; with few lengths in the place of many."""
    monkeypatch.setattr(memory, "MOST_LENGTHS", 4)
    account = derive(load("mlp"))
    with pytest.raises(UsageError, match="under checkpoints of a length with a name"):
        memory.tradeoff(account, MLP, tmp_path / "x.svg")
    with pytest.raises(LimitError, match="5 lengths would have to be drawn"):
        memory.tradeoff(derive(load("mlp"), checkpoint="every:k"), MLP | {"L": 5}, tmp_path / "x.svg")
    with pytest.raises(RuleError, match=r"memory\.peak is no sum of terms"):
        shares.draw(account, "memory.peak", MLP, tmp_path / "x.svg")
    with pytest.raises(UnknownNameError):
        shares.draw(account, "flops.modell", MLP, tmp_path / "x.svg")
    with pytest.raises(UsageError, match="there is nothing to draw"):
        shares.draw(derive(load("relu")), "flops.model", {"B": 2, "D": 3}, tmp_path / "x.svg")
    with pytest.raises(ReadError, match="a picture cannot be written"):
        shares.draw(account, "flops.model", MLP, tmp_path / "missing" / "x.svg")
    assert not list(tmp_path.iterdir())


def test_without_matplotlib(tmp_path, monkeypatch):
    """The extra is named."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match="pictures need matplotlib"):
        memory.draw(derive(load("mlp")), MLP, tmp_path / "x.svg")
