"""Runs the fuzzer: ``python -m benchmarks.claims_fuzz --count 20000 --seed 0 --report FILE``."""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections import Counter
from pathlib import Path

from .graphs import GRAPH_MAKERS, load_values
from .judging import WORST, Finding, ask_command, examine, shrunk
from .kinds import MAKERS, ready
from .making import spoil


def main(argv=None):
    """Run, print what was found, and return 1 where there are faults."""
    args = _arguments(argv)
    makers = {**MAKERS, **GRAPH_MAKERS}
    kinds = args.kinds.split(",") if args.kinds else list(makers)
    unknown = [kind for kind in kinds if kind not in makers]
    if unknown:
        sys.exit(f"no kind {unknown[0]}; there are: {', '.join(makers)}")
    tally, report = Tally(), Path(args.report).open("w", encoding="utf-8") if args.report else None  # noqa: SIM115
    log = Path(args.log).open("w", encoding="utf-8") if args.log else None  # noqa: SIM115
    start = time.monotonic()
    for index in range(args.start, args.start + args.count):
        if args.minutes and time.monotonic() - start > 60 * args.minutes:
            break
        finding = one_claim(
            f"{args.seed}:{index}",
            kinds,
            makers,
            tally,
            shrink=not args.no_shrink,
            command=args.command,
            log=log,
        )
        if finding is not None:
            record = as_record(finding, f"{args.seed}:{index}")
            if report:
                report.write(json.dumps(record, ensure_ascii=False) + "\n")
                report.flush()
            if args.show and tally.first(finding):
                print(f"{record['fault']} [{record['kind']}] {shown(record)}", flush=True)
        if args.progress and (index + 1) % args.progress == 0:
            print(f"... {index + 1}: {dict(tally.faults)} {time.monotonic() - start:.0f} s", flush=True)
    print(tally.summary(time.monotonic() - start))
    return 1 if tally.faults else 0


def make(seed, kinds, makers):
    """Return the claim of a seed."""
    rng = random.Random(seed)
    kind = rng.choices(kinds, [makers[kind][1] for kind in kinds])[0]
    while True:
        claim = makers[kind][0](rng)
        if rng.random() < 0.5 and kind != "contradictory":
            claim = spoil(rng, claim)
        claim = ready(rng, claim)
        if claim.is_whole:
            return claim, kind


def one_claim(seed, kinds, makers, tally, *, shrink=True, command=0.0, log=None):
    """Make a claim, judge the verdict on it, and return a finding or None."""
    try:
        claim, kind = make(seed, kinds, makers)
        account, values = load_values(claim)
    except RecursionError:
        return None
    answer, truth, fault = examine(claim, account, values)
    if not fault and random.Random(seed + "c").random() < command:
        said = ask_command(claim)
        fault = "" if said == answer.outcome else f"the command says {said}"
        shrink = False
    tally.count(kind, claim, answer, truth, fault)
    if log is not None:
        log.write(
            json.dumps(
                [
                    seed,
                    kind,
                    answer.outcome,
                    truth.value,
                    fault,
                    bool(claim.conditions),
                    round(answer.seconds, 3),
                    claim.graph,
                    claim.text(),
                    claim.options,
                    answer.reason,
                ]
            )
            + "\n"
        )
    if not fault:
        return None
    if shrink and tally.is_new(fault, kind, answer):
        small = shrunk(claim, account, values, fault)
        answer, truth, fault = examine(small, account, values)
        return Finding(fault, small, answer, truth)
    return Finding(fault, claim, answer, truth)


def as_record(finding, seed):
    """Return a finding as a line of JSON holds it."""
    claim, answer, truth = finding.claim, finding.answer, finding.truth
    return {
        "fault": finding.fault,
        "kind": claim.kind,
        "graph": claim.graph,
        "policy": dict(claim.policy),
        "text": claim.text(),
        "options": dict(claim.options),
        "outcome": answer.outcome,
        "why": answer.reason,
        "point": answer.point,
        "truth": truth.value,
        "shown by": truth.point,
        "twist": claim.twist,
        "seconds": round(answer.seconds, 2),
        "seed": seed,
    }


def shown(record):
    """Return a finding in a line."""
    options = " ".join(f"{key}={value}" for key, value in record["options"].items())
    graph = " ".join(filter(None, [record["graph"], str(record["policy"] or "")]))
    came = f"{record['outcome']} ({record['why']}) {record['point'] or ''}"
    return f"{graph} {record['text']!r} {options} -> {came}; {record['truth']} at {record['shown by']}"


def plain(reason):
    """Return a reason without what is of one claim alone."""
    return re.sub(r"'.*?'|\b\w\b|\d+", "_", reason)[:48]


OUTCOMES = ("proved", "refuted", "undecided", "refused", "crashed", "slow")


class Tally:
    """Counts of a run."""

    def __init__(self):
        self.claims, self.faults, self.kinds = Counter(), Counter(), {}
        self.seen, self.printed = Counter(), set()
        self.bounded = {True: Counter(), False: Counter()}
        self.truths, self.seconds = Counter(), Counter()

    def count(self, kind, claim, answer, truth, fault):
        """Count a claim."""
        self.claims[answer.outcome] += 1
        self.kinds.setdefault(kind, Counter())[answer.outcome] += 1
        self.bounded[bool(claim.conditions)][answer.outcome] += 1
        self.truths[truth.value, answer.outcome] += 1
        self.seconds[kind] += answer.seconds
        if fault:
            self.faults[fault] += 1
            self.kinds[kind][fault] += 1

    def is_new(self, fault, kind, answer):
        """Say whether few findings are like this one."""
        self.seen[fault, kind, plain(answer.reason)] += 1
        return self.seen[fault, kind, plain(answer.reason)] <= 3

    def first(self, finding):
        """Say whether no finding printed so far is like this one."""
        key = (finding.fault, finding.claim.kind, plain(finding.answer.reason))
        new = key not in self.printed
        self.printed.add(key)
        return new

    def summary(self, seconds):
        """Return the counts as text."""
        total = sum(self.claims.values())
        lines = [f"{total} claims in {seconds:.0f} s: {dict(self.claims)}"]
        worst = {fault: self.faults[fault] for fault in WORST}
        lines.append(f"worst: {worst}; all faults: {dict(self.faults)}")
        for bounded, counts in self.bounded.items():
            lines.append(f"  {'with' if bounded else 'without'} conditions: {dict(counts)}")
        for kind, counts in sorted(self.kinds.items()):
            mean = 1000 * self.seconds[kind] / max(1, sum(counts[one] for one in OUTCOMES))
            lines.append(f"  {kind}: {dict(counts)}, {mean:.0f} ms")
        known = {f"{truth} {outcome}": count for (truth, outcome), count in sorted(self.truths.items())}
        return "\n".join([*lines, f"  truth and answer: {known}"])


def _arguments(argv):
    parser = argparse.ArgumentParser(description="random claims, judged twice")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the first index")
    parser.add_argument("--minutes", type=float, default=0, help="stop after that")
    parser.add_argument("--kinds", default="", help="names with commas between")
    parser.add_argument("--report", default="", help="a file for JSON lines, one a finding")
    parser.add_argument("--log", default="", help="a file for JSON lines, one a claim")
    parser.add_argument("--show", action="store_true", help="print the first finding of each sort")
    parser.add_argument("--command", type=float, default=0, help="the share that the command line judges too")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--progress", type=int, default=0)
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
