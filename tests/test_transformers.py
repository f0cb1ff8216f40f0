"""Public modules at their full size, without weights, and as a user's own module beside a graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from symacct import derive, load  # noqa: E402
from symacct.execution.against import check_against  # noqa: E402

MODELS = Path(__file__).resolve().parents[1] / "models"
LENGTH = 96

SMALL_GPT2 = """
import torch
import transformers

def gpt2(sizes):
    config = transformers.GPT2Config(
        n_embd=sizes["D"], n_layer=sizes["L"], n_head=sizes["H"], n_inner=sizes["F"], n_positions=sizes["P"],
        vocab_size=sizes["V"], bos_token_id=0, eos_token_id=0, use_cache=False, attn_implementation="eager",
    )
    model = transformers.GPT2LMHeadModel(config)
    ids = torch.zeros(sizes["B"], sizes["S"], dtype=torch.long)
    places = torch.arange(sizes["S"]).expand(sizes["B"], sizes["S"])
    mask = torch.zeros(sizes["B"], 1, sizes["S"], sizes["S"])

    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids):
            logits = self.model(ids, position_ids=places, attention_mask=mask).logits
            return torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids.flatten())

    return Loss(), (ids,)
"""


def public(name: str) -> Any:
    """Return the public module of a shipped model, without weights."""
    config = json.loads((MODELS / f"{name}.json").read_text())["config"]
    made = transformers.AutoConfig.for_model(**config, bos_token_id=0, eos_token_id=0)
    made._attn_implementation = "eager"
    made.use_cache = False
    with torch.device("meta"):
        return transformers.AutoModelForCausalLM.from_config(made)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["gpt2", "llama-2-7b", "llama-3-8b"])
def test_a_model_at_its_full_size_is_counted_to_the_flop(name: str) -> None:
    """FLOPs of the forward pass and of a training step, with every layer there is."""
    module = public(name).train()
    with torch.device("meta"):
        ids = torch.zeros(1, LENGTH, dtype=torch.long)
        places, mask = torch.arange(LENGTH).expand(1, LENGTH), torch.zeros(1, 1, LENGTH, LENGTH)
    with FlopCounterMode(display=False) as counter:
        logits = module(ids, position_ids=places, attention_mask=mask).logits
        forward = counter.get_total_flops()
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids.flatten()).backward()
        step = counter.get_total_flops()
    account, sizes = derive(load(name)), {"B": 1, "S": LENGTH}
    assert account.value("flops.forward", sizes) == forward
    assert account.value("flops.model", sizes) == step


def test_a_public_module_stands_beside_a_graph_by_reference(tmp_path: Path) -> None:
    """FLOPs and parameters agree; what differs in saved bytes is listed on both sides."""
    path = tmp_path / "small.py"
    path.write_text(SMALL_GPT2)
    sizes = {"B": 2, "S": 6, "L": 3, "D": 8, "F": 10, "H": 4, "P": 7, "V": 11}
    result = check_against(load("gpt2", symbolic=True), f"{path}:gpt2", sizes)
    verdicts = {row.what: row.verdict for row in result.rows}
    saved = verdicts.pop("memory.activations")
    assert set(verdicts.values()) == {"equal"}
    assert saved == "equal" or len(result.differences) == 2
