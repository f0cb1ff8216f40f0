"""Reading from outside: what is refused, beside its nearest valid neighbour, with the whole text."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

import symacct.data
from symacct import derive, load
from symacct.data import shipped
from symacct.errors import ReadError, SymacctError, UnknownNameError
from symacct.readers.configs import read_config
from symacct.readers.decoder import decoder_graph
from symacct.readers.files import list_models
from symacct.readers.strict_json import DEEPEST, LARGEST_FILE, parse, read_text

if TYPE_CHECKING:
    from pathlib import Path

LLAMA = {
    "model_type": "llama", "vocab_size": 101, "hidden_size": 24, "num_hidden_layers": 3,
    "num_attention_heads": 6, "intermediate_size": 50,
}  # fmt: skip
QWEN = {**LLAMA, "model_type": "qwen2", "num_key_value_heads": 2}
MIXTRAL = {**LLAMA, "model_type": "mixtral", "num_key_value_heads": 2}
GPT2 = {"model_type": "gpt2", "vocab_size": 9, "n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 8}
FAMILY_NAMES = "gpt2, llama, mistral, mixtral, qwen2, qwen3"
WAY = "write its graph: docs/writing-a-graph.md; symacct show llama --source prints one to start from"
SIZE = "an integer of at least 1"
RANGE = "an integer from 1 to 1000000000000"
RATE = "a rate of at least 0 and less than 1"


def refused(config):
    with pytest.raises(SymacctError) as caught:
        read_config(config, "tiny", "config.json")
    return str(caught.value)


def lines(what, expected, got, fix=None, where="config.json"):
    text = f"{what}\n  where     {where}\n  expected  {expected}\n  got       {got}"
    return text + (f"\n  fix       {fix}" if fix else "")


WRONG = "hidden_size has a value of the wrong kind"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"hidden_size": True}, lines(WRONG, SIZE, "true (a boolean)")),
        ({"hidden_size": Decimal("24.5")}, lines(WRONG, SIZE, "24.5 (not an integer)")),
        ({"hidden_size": Decimal("24.0")}, lines(WRONG, SIZE, "24.0 (not an integer)", "write 24")),
        ({"hidden_size": "24"}, lines(WRONG, SIZE, '"24" (text)')),
        ({"hidden_size": None}, lines(WRONG, SIZE, "null")),
        ({"hidden_size": [24]}, lines(WRONG, SIZE, "[24]")),
        ({"hidden_size": -24}, lines("hidden_size is out of range", RANGE, "-24")),
        ({"hidden_size": 0}, lines("hidden_size is out of range", RANGE, "0")),
        ({"num_hidden_layers": 10_001}, lines("num_hidden_layers is too large", "at most 10000", "10001")),
        (
            {"num_attention_heads": 30, "num_key_value_heads": 8, "hidden_size": 60},
            lines(
                "num_attention_heads is not a multiple of num_key_value_heads", "a multiple of 8", "30",
                "each of the 8 key-value heads serves the same number of query heads",
            ),
        ),
        (
            {"num_attention_heads": 7},
            lines("num_attention_heads does not divide hidden_size", "a divisor of 24", "7", "give head_dim"),
        ),
        (
            {"num_attention_heads": 8},
            lines(
                "a head has an odd number of features",
                "an even number, whose halves a rotary embedding turns", "3 = 24/8",
            ),
        ),
        (
            {"model_type": "lama"},
            lines(
                "unknown model_type 'lama'", f"one of: {FAMILY_NAMES}", "lama",
                f"did you mean 'llama'? else {WAY}",
            ),
        ),
        (
            {"model_type": "t5"},
            lines("the family t5 is not read", f"one of: {FAMILY_NAMES}", "t5", WAY),
        ),
        (
            {"model_type": "own"},
            lines("unknown model_type 'own'", f"one of: {FAMILY_NAMES}", "own", WAY),
        ),
        (
            {"model_type": 3},
            lines("model_type has a value of the wrong kind", f"model_type: one of {FAMILY_NAMES}", "3"),
        ),
        (
            {"attention_bias": "yes"},
            lines("attention_bias has a value of the wrong kind", "true or false", '"yes" (text)'),
        ),
        (
            {"attention_bias": None},
            lines("attention_bias has a value of the wrong kind", "true or false", "null"),
        ),
        (
            {"attention_dropout": 1},
            lines("attention_dropout has a value of the wrong kind", RATE, "1"),
        ),
        (
            {"hidden_act": "gel"},
            lines(
                "unknown hidden_act 'gel'",
                "one of: gelu, gelu_fast, gelu_new, gelu_python, gelu_pytorch_tanh, relu, sigmoid, silu, "
                "swish, tanh", "gel", "did you mean 'gelu'?",
            ),
        ),
    ],
)  # fmt: skip
def test_a_wrong_key_is_named(change, text):
    """The key, what it should be and what it is; the configuration without the change is read."""
    assert decoder_graph(read_config(LLAMA, "tiny", "config.json")).name == "tiny"
    assert refused({**LLAMA, **change}) == text


@pytest.mark.parametrize("key", [key for key in LLAMA if key != "model_type"])
def test_a_missing_key_is_named(key):
    """Sizes without which there is no model have no default."""
    rest = {name: value for name, value in LLAMA.items() if name != key}
    others = ", ".join(sorted(rest))
    assert refused(rest) == lines(f"{key} is missing", f"{key}: {SIZE}", f"the keys {others}")


def test_a_configuration_without_a_family():
    """An object that is no model's configuration, and what is no object."""
    expected = f"model_type: one of {FAMILY_NAMES}"
    assert refused({}) == lines("model_type is missing", expected, "the keys (none)")
    assert refused([1]) == lines("a configuration is an object", '{"model_type": ...}', "[1]")
    assert refused({"text_config": 3}) == lines("text_config is an object", "{...}", "3")


def test_windows_that_do_not_go_together():
    """The kinds of layers: as many as layers, known ones, and a window where they need one."""
    windows = {"use_sliding_window": True, "sliding_window": 4}
    assert refused({**QWEN, "layer_types": ["full_attention"]}) == lines(
        "layer_types does not name each layer", "3 names", "1"
    )
    assert refused({**QWEN, **windows, "layer_types": ["full_attention", "sliding", ""]}) == lines(
        "unknown kind of layer 'sliding'", "one of: full_attention, sliding_attention", "sliding",
        "did you mean 'sliding_attention'?",
    )  # fmt: skip
    assert refused({**QWEN, "layer_types": ["sliding_attention"] * 3}) == lines(
        "layer_types has sliding_attention, and no window is given",
        "sliding_window, and use_sliding_window: true", "no window",
    )  # fmt: skip
    assert refused({**QWEN, **windows, "max_window_layers": -1}) == lines(
        "max_window_layers has a value of the wrong kind", "an integer of at least 0", "-1"
    )
    assert read_config({**QWEN, **windows, "max_window_layers": 2}, "tiny", "").kinds == (
        "full_attention", "full_attention", "sliding_attention",
    )  # fmt: skip


def test_experts_that_do_not_go_together():
    """A token cannot use more experts than there are."""
    assert refused({**MIXTRAL, "num_local_experts": 4, "num_experts_per_tok": 5}) == lines(
        "num_experts_per_tok and num_local_experts do not go together",
        "a token uses at least 1 expert and at most all of them", "5 of 4",
    )  # fmt: skip
    assert read_config({**MIXTRAL, "num_local_experts": 4, "num_experts_per_tok": 4}, "tiny", "").experts == (
        4,
        4,
    )


def test_two_names_of_one_size_must_agree():
    """GPT-2 configurations use both spellings; a contradiction is not resolved silently."""
    assert refused({**GPT2, "hidden_size": 9}) == lines(
        "n_embd and hidden_size are the same size and differ", "hidden_size = 8", "9"
    )
    assert read_config({**GPT2, "hidden_size": 8}, "tiny", "").width == 8
    assert refused({**GPT2, "add_cross_attention": True}) == lines(
        "cross-attention is not read", "add_cross_attention: false", "true (a boolean)"
    )


def test_a_text_part_is_read_with_the_ties_stated_outside():
    """A configuration of several parts: the language model is the part that is read."""
    whole = {"model_type": "mistral3", "tie_word_embeddings": True, "text_config": LLAMA}
    tied, apart = read_config(whole, "tiny", "here"), read_config(LLAMA, "tiny", "here")
    assert (tied.tied, apart.tied) == (True, False)
    del whole["text_config"]
    assert "unknown model_type 'mistral3'" in refused(whole)


# ---- files ----


def test_a_configuration_in_a_folder(tmp_path):
    """The file, or its folder, which gives the model its name."""
    folder = tmp_path / "own-model"
    folder.mkdir()
    (folder / "config.json").write_text("\ufeff" + json.dumps(LLAMA), encoding="utf-8")
    by_file, by_folder = load(str(folder / "config.json")), load(str(folder))
    assert by_file == by_folder
    assert by_file.name == "own-model"


@pytest.mark.parametrize(
    ("text", "what", "expected", "got"),
    [
        ('{"a": 1', "the JSON is broken", "valid JSON", "Expecting ',' delimiter"),
        ("", "the JSON is broken", "valid JSON", "Expecting value"),
        ('{"a": NaN}', "NaN is not a number in JSON", "a finite number", "NaN"),
        ('{"a": -Infinity}', "-Infinity is not a number in JSON", "a finite number", "-Infinity"),
        ('{"a": 1, "a": 2}', 'the key "a" is given twice', "each key once", 'a second "a"'),
        ("9" * 65, "a number is too long", "at most 64 characters", f"{'9' * 20}..."),
        (f"1e{'9' * 50}", "a number is out of range", "a number", f"1e{'9' * 50}"),
        ("[" * 100_000, "the JSON is nested too deeply", f"at most {DEEPEST} levels", "100000"),
    ],
)
def test_json_that_is_refused(text, what, expected, got):
    """Broken, ambiguous or hostile JSON, each with its reason."""
    with pytest.raises(ReadError) as caught:
        parse(text, "here")
    error = caught.value
    assert (error.what, error.expected, error.got) == (what, expected, got)
    assert error.where.startswith("here")


def test_json_as_deep_and_numbers_as_long_as_allowed():
    """The valid neighbours: depth and length at their bounds, brackets in text."""
    assert parse("[" * DEEPEST + "]" * DEEPEST, "here") is not None
    assert parse("9" * 64, "here") == int("9" * 64)
    assert parse(json.dumps({"a": "[" * 1000 + '\\"{'}), "here") == {"a": "[" * 1000 + '\\"{'}
    assert parse("[1, 0.1, 1e3]", "here") == [1, Decimal("0.1"), Decimal(1000)]


def test_files_that_cannot_be_read(tmp_path):
    """Missing, a folder, too large, not text."""
    big, binary = tmp_path / "big.json", tmp_path / "binary.json"
    big.write_bytes(b" " * (LARGEST_FILE + 1))
    binary.write_bytes(b"\xff\xfe{")
    for path, what in ((tmp_path / "no.json", "there is no file"), (tmp_path, "there is no file"),
                       (big, "is too large"), (binary, "is not text")):  # fmt: skip
        with pytest.raises(ReadError, match=what):
            read_text(path)
    with pytest.raises(ReadError, match="too large"):
        load(str(big))
    big.write_bytes(b" " * (LARGEST_FILE - 2) + b"{}")
    assert len(read_text(big)) == LARGEST_FILE


@pytest.mark.parametrize(
    ("target", "fix"),
    [
        ("gtp", "did you mean 'gpt'?"),
        ("llama3-8b", "did you mean 'llama-3-8b'?"),
        (
            "meta-llama/Llama-3-8B",
            "did you mean 'llama-3-8b'? nothing is downloaded: give the path of a config.json",
        ),
        ("somebody/something-else-entirely", "nothing is downloaded: give the path of a config.json"),
        ("zzz", None),
    ],
)
def test_an_unknown_name_names_the_nearest_and_says_that_nothing_is_downloaded(target, fix):
    """What is known is listed; a hub's name is understood as one."""
    with pytest.raises(UnknownNameError) as caught:
        load(target)
    assert caught.value.fix == fix
    assert caught.value.expected.startswith("one of: ")
    assert caught.value.expected.count(", ") == 13
    assert caught.value.expected.endswith("more (see symacct list graphs, list models)")


@pytest.mark.parametrize("target", ["a" * 5000, "a" * 300, "x/" * 3000, "a\0b", "a\0.py:b", ""])
def test_a_name_that_no_file_can_have_is_unknown_like_any_other(target):
    """The system refuses to look for it; the message stays short."""
    with pytest.raises(UnknownNameError, match="unknown graph or model") as caught:
        load(target)
    assert max(map(len, str(caught.value).splitlines())) < 250


@pytest.mark.parametrize("ending", [".json", ".py", ".py:name", "/config.json"])
def test_a_file_name_that_no_file_can_have_is_no_file(ending):
    """Nor is a file looked for under a name that is too long."""
    with pytest.raises(ReadError, match="there is no file aaa"):
        load("a" * 300 + ending)


def test_a_shipped_name_wins_over_a_folder_of_that_name(tmp_path, monkeypatch):
    """A word means the same wherever the command is run."""
    (tmp_path / "gpt2").mkdir()
    (tmp_path / "gpt2" / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert load("gpt2").bound["D"] == 768
    assert load("./gpt2").bound["D"] == 24


def test_shipped_data_of_a_wheel_come_before_a_folder_beside_it(tmp_path, monkeypatch):
    """Inside an installed package, data are in it; without any, the error says where they should be."""
    package = tmp_path / "site" / "symacct"
    package.mkdir(parents=True)
    monkeypatch.setattr(symacct.data, "__file__", str(package / "data.py"))
    with pytest.raises(ReadError, match="the graphs that ship with symacct are not there"):
        shipped("graphs")
    (tmp_path / "site" / "graphs").mkdir()
    assert shipped("graphs") == tmp_path / "site" / "graphs"
    (package / "shipped" / "graphs").mkdir(parents=True)
    assert shipped("graphs") == package / "shipped" / "graphs"
    with pytest.raises(UnknownNameError, match="unknown kind of shipped data 'graph'"):
        shipped("graph")


# ---- Python files ----

HEAD = "from symacct import graph\n"
ONE = HEAD + '@graph({"B": "rows", "D": "features"})\ndef one(b):\n    return b.relu(b.input("x", "B D"))\n'


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(text, encoding="utf-8")
    return path


def failure(target):
    with pytest.raises(SymacctError) as caught:
        load(str(target))
    return caught.value


def test_a_graph_of_a_file(tmp_path):
    """By name, or without one where there is only one; imported graphs are not the file's own."""
    path = write(tmp_path, ONE)
    assert load(str(path)) == load(f"{path}:one")
    two = write(tmp_path, ONE + '\n@graph({"N": ""})\ndef two(b):\n    return b.relu(b.input("x", "N"))\n')
    error = failure(two)
    assert (error.what, error.expected) == ("mine.py has 2 graphs", "mine.py:NAME, one of: one, two")
    assert failure(f"{two}:tow").fix == "did you mean 'two'?"
    (tmp_path / "other.py").write_text("from mine import one\n", encoding="utf-8")
    assert failure(tmp_path / "other.py").what == "other.py has no graphs"


def test_a_file_imports_its_neighbours_and_leaves_no_trace_in_the_path(tmp_path):
    """Imports beside the file work while it runs, and only then."""
    (tmp_path / "beside_it.py").write_text("width = 'D'\n", encoding="utf-8")
    path = write(tmp_path, "from beside_it import width\n" + ONE)
    before = list(sys.path)
    assert derive(load(str(path)))["params"].expr == 0
    assert sys.path == before


@pytest.mark.parametrize(
    ("text", "what", "line", "got"),
    [
        (HEAD + "x = [\n", "mine.py is not valid Python", 2, "'[' was never closed"),
        (HEAD + "\nfail = 1 / 0\n", "mine.py fails when it is run", 3, "ZeroDivisionError: division by zero"),
        (HEAD + "import no_such_module_here\n", "mine.py fails when it is run", 2,
         "ModuleNotFoundError: No module named 'no_such_module_here'"),
        (HEAD + "raise SystemExit(3)\n", "mine.py fails when it is run", 2, "SystemExit: 3"),
        (ONE.replace('b.relu(b.input("x", "B D"))', "b.relu(undefined)"), "mine.py fails when it is run", 4,
         "NameError: name 'undefined' is not defined"),
        (ONE.replace('"B D"', '"B E"'), "unknown size 'E'", 4, "E"),
        (ONE.replace("b.relu(", "b.rleu("), "unknown builder method 'rleu'", 4, "rleu"),
        (ONE.replace('b.relu(b.input("x", "B D"))', "None"),
         "graph one returns None, which is no tensor of its outermost level", 3, None),
        (ONE.replace("})", '}, tokens="Q")'), "unknown name 'Q'", 3, "Q"),
    ],
)  # fmt: skip
def test_whatever_a_file_does_the_error_names_file_and_line(tmp_path, text, what, line, got):
    """A syntax error, an exception, an exit, a mistake in the graph: never a raw traceback."""
    path = write(tmp_path, text)
    error = failure(path)
    assert error.what == what
    assert error.where.startswith(f"{path}:{line}")
    assert error.got == got


def test_a_plain_function_is_no_graph(tmp_path):
    """Undecorated functions are not offered, and the fix shows the decorator."""
    error = failure(write(tmp_path, "def one(b):\n    return b\n"))
    assert error.what == "mine.py has no graphs"
    assert error.fix == 'decorate a function with @graph({"B": "rows"})'
    assert failure(tmp_path / "absent.py").what == f"there is no file {tmp_path / 'absent.py'}"


def test_a_formula_that_cannot_be_read_stands_below_its_place(tmp_path):
    """The mark is below the letter that it is about."""
    error = failure(write(tmp_path, ONE.replace("})", '}, tokens="B + Q")')))
    place, formula, mark = error.where.splitlines()
    assert place.endswith("mine.py:3")
    assert formula.strip() == "B + Q"
    assert formula[mark.index("^")] == "Q"


# ---- keys that are not read ----


@pytest.mark.few(8)
@pytest.mark.parametrize(
    ("config", "unread"),
    [
        (LLAMA, ()),
        ({**LLAMA, "num_experts": 8}, ("num_experts",)),
        ({**LLAMA, "quantization_config": {"bits": 4}}, ("quantization_config",)),
        ({**LLAMA, "quantization_config": None, "pruned_heads": {}, "output_router_logits": False}, ()),
        ({**LLAMA, "torch_dtype": "bfloat16", "bos_token_id": 1, "rope_scaling": {"factor": 8}}, ()),
        ({**LLAMA, "resid_pdrop": Decimal("0.1"), "use_cache": True, "transformers_version": "5"}, ()),
        ({**LLAMA, "attention_bias": True, "mlp_bias": True}, ()),
        ({**MIXTRAL, "attention_bias": True, "attention_bias2": 1}, ("attention_bias", "attention_bias2")),
        ({**MIXTRAL, "num_local_experts": 4, "output_router_logits": True}, ("output_router_logits",)),
        ({**QWEN, "layer_types": ["full_attention"] * 3, "sliding_window": 5}, ()),
        ({**LLAMA, "layer_types": ["full_attention"] * 3}, ("layer_types",)),
        ({**GPT2, "scale_attn_weights": True, "n_inner": None}, ()),
        ({**GPT2, "scale_attn_weights": False, "head_dim": 4}, ("scale_attn_weights", "head_dim")),
        ({"vision_config": {"depth": 2}, "image_token_id": 7, "text_config": LLAMA}, ("vision_config",)),
    ],
)
def test_keys_that_are_not_read_and_may_change_the_cost_are_said(config, unread):
    """What switches nothing on, and what says nothing of the work, stays silent."""
    model = read_config(config, "tiny", "config.json")
    assert model.notes == tuple(f"config key {key} is not read" for key in unread)
    for symbolic in (False, True):
        graph = decoder_graph(model, symbolic=symbolic)
        assert graph.notes == model.notes
        assert set(model.notes) <= set(derive(graph).warnings)


def test_many_keys_that_are_not_read_are_counted():
    """A file of another kind does not fill the screen."""
    config = {**LLAMA, **{f"key{i}": 1 for i in range(50)}}
    notes = read_config(config, "tiny", "config.json").notes
    assert len(notes) == 21
    assert notes[-1] == "30 more config keys are not read"


@pytest.mark.parametrize("entry", list_models(), ids=lambda entry: entry.name)
def test_every_key_of_a_shipped_model_is_read_or_says_nothing(entry):
    """Nothing is left out of what ships."""
    assert load(entry.name).notes == ()
