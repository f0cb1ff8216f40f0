"""How long a derivation takes, beside torch's counter on the same model: python benchmarks/derivation.py.

Times are the median of several runs in one process, after import; ratios are measured side by side.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import symacct
from symacct.build import Builder
from symacct.cli.main import main as main_of_symacct
from symacct.peaks.forms import forget
from symacct.readers.files import list_graphs
from symacct.terms import PEAKS

RUNS = 5
QUANTITIES = ("params", "flops.model", "flops.model.all", "bytes.step", "memory.activations", "memory.static")


def timed(function, runs=RUNS):
    """Return the first time and the median of the others, in seconds."""
    times = []
    for _ in range(runs):
        start = perf_counter()
        function()
        times.append(perf_counter() - start)
    return times[0], median(times[1:])


def formulas(graph):
    """Derive the quantities of a report's headline."""
    account = symacct.derive(graph)
    for name in QUANTITIES:
        account[name]


def explicit(layers):
    """Build and derive a chain of distinct linear layers, no repeat in it."""
    b = Builder("explicit", "B D")
    x = b.input("x", "B D")
    for i in range(layers):
        x = b.einsum("B D, D E -> B E", x, b.weight(f"w{i}", "D E", E="D"))
    formulas(b.build(x))


def torch_counts(length):
    """Count one forward and backward pass of GPT-2 small with torch's counter, on the meta device."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(attn_implementation="eager", use_cache=False)
    with torch.device("meta"):
        model = GPT2LMHeadModel(config)
        ids = torch.zeros(1, length, dtype=torch.long)
        positions = torch.arange(length).unsqueeze(0)
        mask = torch.zeros(1, 1, length, length)

    def count():
        counter = FlopCounterMode(display=False)
        with counter:
            logits = model(ids, attention_mask=mask, position_ids=positions).logits
            logits.sum().backward()
        return counter.get_total_flops()

    return count


def peak(name, checkpoint):
    """Derive the peak of a graph with open sizes: its candidates, and when they hold."""
    symacct.derive(symacct.load(name), optimizer="adamw", checkpoint=checkpoint)["memory.peak"]


def ratio(name, checkpoint):
    """Return the processor time of all sums of a graph, and of its peak: the best of three, in seconds."""
    graph = symacct.load(name)
    sums = peaks = float("inf")
    for _ in range(3):
        account = symacct.derive(graph)
        start = process_time()
        for quantity in account:
            if quantity not in PEAKS:
                account[quantity]
        sums = min(sums, process_time() - start)
        forget()  # no form is taken over from another derivation
        account = symacct.derive(graph, checkpoint=checkpoint)
        start = process_time()
        account["memory.peak"]
        peaks = min(peaks, process_time() - start)
    return sums, peaks


def card(folder):
    """Make the card of the lecture, its claims judged and its formulas read back."""
    claims = str(Path(symacct.__file__).parent.parent / "claims" / "lecture.toml")
    assert main_of_symacct(["sheet", claims, "--style", "card", "-o", f"{folder}/card.tex"]) == 0


def main():
    """Print the table."""
    print(f"{'what':<44}{'first':>10}{'median':>10}")
    for row in list_graphs():
        first, rest = timed(lambda name=row.name: formulas(symacct.load(name)))
        print(f"{row.name + ', symbolic':<44}{first * 1e3:>8.1f}ms{rest * 1e3:>8.1f}ms")
    for count in (2, 10**6):
        graph = symacct.load("llama").bind({"L": count})
        print(f"{f'llama, L = {count}':<44}{'':>10}{timed(lambda g=graph: formulas(g))[1] * 1e3:>8.1f}ms")
    first, rest = timed(lambda: explicit(100))
    print(f"{'100 distinct linear layers':<44}{first * 1e3:>8.1f}ms{rest * 1e3:>8.1f}ms")
    for name, checkpoint in (("mla", "none"), ("llama", "none"), ("llama", "every:k")):
        first, rest = timed(lambda n=name, c=checkpoint: peak(n, c), 3)
        print(f"{f'{name}, peak, checkpoint {checkpoint}':<44}{first * 1e3:>8.1f}ms{rest * 1e3:>8.1f}ms")
    for name in ("gpt", "llama", "mla"):
        for checkpoint in ("none", "every:k", "sqrt", "store-nothing"):
            sums, peaks = ratio(name, checkpoint)
            what = f"{name}, peak beside sums, {checkpoint}"
            print(f"{what:<44}{sums * 1e3:>8.1f}ms{peaks * 1e3:>8.1f}ms, {peaks / sums:.1f} times")
    with TemporaryDirectory() as folder:
        first, rest = timed(lambda: card(folder), 3)
    print(f"{'card of the lecture':<44}{first * 1e3:>8.1f}ms{rest * 1e3:>8.1f}ms")
    derived = timed(lambda: formulas(symacct.load("gpt2")))[1]
    count = torch_counts(1024)
    counted = timed(count, 3)[1]
    print(f"{'gpt2, derived for every B and S':<44}{'':>10}{derived * 1e3:>8.1f}ms")
    print(f"{'gpt2, torch counter at B = 1, S = 1024':<44}{'':>10}{counted * 1e3:>8.1f}ms")
    print(f"torch's counter takes {counted / derived:.1f} times as long")
    value = symacct.derive(symacct.load("gpt2")).value("flops.model", {"B": 1, "S": 1024})
    print(f"derived {value}, counted {count()}")


if __name__ == "__main__":
    main()
