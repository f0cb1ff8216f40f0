"""Runs the fuzzer: ``python -m benchmarks.peaks_fuzz --count 500 --seed 0 --report FILE``.

A case is drawn of a kind, its memory is derived with the sizes open, and at random sizes compared with the
schedule that runs there, and for a share of the cases with a step of torch. ``--one KIND:SEED:NUMBER`` prints
everything of one case.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

from .judging import BAD, draw, judge
from .kinds import KINDS
from .shrinking import shrunk

OUTCOMES = ("equal", "refused", *BAD)


def main(argv=None):
    """Run, print what was found, and return 1 where something is wrong."""
    args = arguments(argv)
    if args.one:
        return one(args)
    kinds = args.kinds.split(",") if args.kinds else list(KINDS)
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        sys.exit(f"no kind {unknown[0]}; there are: {', '.join(KINDS)}")
    with open_report(args.report) as report:
        tally = run(args, kinds, report)
    return 1 if tally.bad else 0


def open_report(path):
    """Return the file of a report, or what stands for none."""
    return Path(path).open("w", encoding="utf-8") if path else nullcontext()


def run(args, kinds, report):
    """Judge one case after another; print the first finding of each sort, and the counts."""
    tally, start = Tally(), time.monotonic()
    for index in range(args.start, args.start + args.count):
        if args.minutes and time.monotonic() - start > 60 * args.minutes:
            break
        found = timed(f"{kinds[index % len(kinds)]}:{args.seed}:{index}", args)
        tally.count(found)
        if report and found.outcome != "equal":
            report.write(json.dumps(record(found), default=str) + "\n")
            report.flush()
        if found.outcome in BAD and (args.show or tally.is_new(found)):
            print(shown(found), flush=True)
    print(tally.summary(time.monotonic() - start))
    return tally


def timed(seed, args):
    """Judge the case of a seed."""
    start = time.process_time()
    found = judge(draw(seed, args.torch_share), points=args.points, small=args.small, limit=args.limit)
    found.seconds = time.process_time() - start
    return found


def one(args):
    """Print everything of one case."""
    found = timed(args.one, args)
    if args.shrink and found.outcome != "equal":
        found = shrunk(found, tries=args.shrink, points=args.points, small=args.small, limit=args.limit)
    print(found.case.text())
    for fact in found.facts:
        print({name: value for name, value in fact.items() if name != "text"})
        print("    " + fact.get("text", "").replace("\n", "\n    "))
    print(
        f"{found.outcome}: {found.compared} points of formulas, {found.exact} with counts given, "
        f"{found.tracked} with torch, {found.seconds:.1f} s"
    )
    return int(found.outcome in BAD)


def record(found):
    """Return a result as a line of JSON holds it."""
    case = found.case
    return {
        "seed": case.seed, "outcome": found.outcome, "reason": found.reason, "choices": case.choices,
        "facts": found.facts, "source": case.source, "seconds": round(found.seconds, 2),
    }  # fmt: skip


def shown(found):
    """Return a finding in a line."""
    fact = next(one for one in found.facts if one["outcome"] == found.outcome)
    came = f"expected {fact['expected']}, got {fact['got']}" if "expected" in fact else ""
    sizes = ", ".join(f"{name}={size}" for name, size in fact.get("sizes", {}).items())
    policy = " ".join(f"{name}={value}" for name, value in found.case.choices.items())
    return f"{found.case.seed} {found.outcome}: {found.reason} at {sizes} {came} [{policy}]"


class Tally:
    """Counts of a run."""

    def __init__(self):
        self.kinds, self.reasons, self.quantities = {}, Counter(), Counter()
        self.points, self.seen, self.seconds, self.bad = Counter(), set(), Counter(), 0
        self.redrawn = Counter()

    def count(self, found):
        """Count a case."""
        kind = found.case.kind
        self.kinds.setdefault(kind, Counter())[found.outcome] += 1
        self.seconds[kind] += found.seconds
        self.bad += found.outcome in BAD
        self.redrawn.update(found.case.redrawn)
        for fact in found.facts:
            self.reasons[fact["outcome"], fact["reason"]] += 1
        self.quantities.update(found.refused.keys())
        self.points.update(formulas=found.compared, given=found.exact, torch=found.tracked)

    def is_new(self, found):
        """Say whether no finding so far is like this one."""
        key = (found.case.kind, found.outcome, found.reason)
        new = key not in self.seen
        self.seen.add(key)
        return new

    def summary(self, seconds):
        """Return the counts as text."""
        total = sum((Counter(one) for one in self.kinds.values()), Counter())
        cases = sum(total.values())
        lines = [f"{cases} cases in {seconds:.0f} s; points compared: {dict(self.points)}", ""]
        heads = "".join(f"{name:>14}" for name in OUTCOMES)
        lines.append(f"{'kind':<10}{'cases':>6}{heads}{'s each':>8}")
        self.seconds["all"] = sum(self.seconds.values())
        for kind, counts in (*self.kinds.items(), ("all", total)):
            mine = sum(counts.values())
            cells = "".join(f"{counts[name] or '':>14}" for name in OUTCOMES)
            lines.append(f"{kind:<10}{mine:>6}{cells}{self.seconds[kind] / max(1, mine):>8.1f}")
        lines.append("")
        lines.append(f"refused with sizes open, by quantity: {dict(self.quantities)}")
        lines.append(f"share of cases refused: {total['refused'] / max(1, cases):.1%}")
        lines += [f"{n:>6}  {outcome}: {reason}" for (outcome, reason), n in self.reasons.most_common(40)]
        lines += [f"{n:>6}  drawn again: {reason}" for reason, n in self.redrawn.most_common()]
        return "\n".join(lines)


def arguments(argv):
    parser = argparse.ArgumentParser(description="derived memory against steps that run")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the first number")
    parser.add_argument("--minutes", type=float, default=0, help="stop after that")
    parser.add_argument("--kinds", default="", help="names with commas between")
    parser.add_argument("--torch-share", type=float, default=0.0, help="the share that torch runs too")
    parser.add_argument("--points", type=int, default=6, help="sizes at which formulas are compared")
    parser.add_argument("--small", type=int, default=3, help="small counts that are given")
    parser.add_argument("--limit", type=float, default=20, help="seconds of the processor for a derivation")
    parser.add_argument("--report", default="", help="a file for JSON lines, one a case that is not equal")
    parser.add_argument("--show", action="store_true", help="print every finding, not the first of each sort")
    parser.add_argument("--shrink", type=int, default=0, help="how many smaller cases to try, with --one")
    parser.add_argument("--one", default="", help="a case, KIND:SEED:NUMBER, of which everything is printed")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
