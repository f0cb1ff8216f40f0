"""Compare derived and counted on many random graphs.

``python benchmarks/long_run.py --graphs 2000 --seed 0``

Prints each graph on which something differs, with the seed that draws it again, and a summary. The exit
status is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from agreement import compare
from random_graphs import random_graph

from symacct.nodes import Repeat, walk


def main() -> int:
    """Run, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=2000, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="the first seed; the others follow")
    parser.add_argument("--steps", type=int, help="ops of a graph at its outermost level; default: random")
    args = parser.parse_args()
    torch.set_num_threads(1)
    start = time.monotonic()
    found: Counter[str] = Counter()
    for seed in range(args.seed, args.seed + args.graphs):
        one(seed, args.steps, found)
        if (seed + 1 - args.seed) % 500 == 0:
            print(f"... {seed + 1 - args.seed} done", flush=True)
    seconds = time.monotonic() - start
    pace = f"{args.graphs / seconds:.0f} a second"
    print(f"{args.graphs} graphs from seed {args.seed} in {seconds:.0f} s, {pace}")
    for what, n in sorted(found.items()):
        print(f"  {what:<70} {n:>14,}")
    return 1 if found["graphs that differ"] else 0


def one(seed: int, steps: int | None, found: Counter[str]) -> None:
    """Compare one graph and add to the totals."""
    drawn = random_graph(seed, steps)
    outcome = compare(drawn)
    repeats = [node for node, _ in walk(drawn.graph.nodes) if isinstance(node, Repeat)]
    found["nodes"] += sum(1 for _ in walk(drawn.graph.nodes))
    found["graphs with a repeat"] += bool(repeats)
    found["graphs with a repeat in another"] += any(isinstance(n, Repeat) for r in repeats for n in r.body)
    found["graphs with several carries"] += any(len(r.carry) > 1 for r in repeats)
    found["compared by formula"] += outcome.formula
    found["compared by the exact case of their sizes"] += not outcome.formula
    found["FLOPs of contractions compared"] += outcome.flops
    found["saved bytes compared"] += outcome.saved
    found["gradient arrays compared"] += outcome.gradients
    found["graphs that differ"] += bool(outcome.problems)
    if outcome.refused:
        found[f"refused: {outcome.refused[:60]}"] += 1
    for problem in outcome.problems:
        print(f"seed {seed}: {problem}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
