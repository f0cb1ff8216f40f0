"""What is said of memory does not depend on the hash seed: text, records, candidates, what runs again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
import pytest
from symacct import derive, load
from symacct.cli.main import main

for words in (
    "memory gpt --format json",
    "memory mlp --checkpoint none,every:k,sqrt,store-nothing",
):
    assert main(words.split()) == 0
one = derive(load("mlp"), checkpoint="every:k")
for name in ("memory.peak", "memory.activations.peak"):
    print(one.candidates(name), [condition.text for condition in one[name].when])
for row in one.terms("flops.recompute"):
    print(row)
print(sorted(one.course.least.items(), key=str), one.course.conditions)
"""


@pytest.mark.long
def test_every_seed_says_the_same() -> None:
    root = Path(__file__).parent.parent
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root), "COLUMNS": "110"},
            stdout=subprocess.PIPE,
        )
        for seed in ("0", "1", "2")
    ]
    said = [run.communicate(timeout=120)[0] for run in runs]
    assert all(run.returncode == 0 for run in runs)
    assert said[0] == said[1] == said[2]
    assert len(said[0]) > 10_000
