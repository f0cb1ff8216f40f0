"""A smaller case with the same fault: fewer choices, fewer carries, fewer ops, plainer counts."""

from __future__ import annotations

import re
from dataclasses import replace

from symacct.errors import SymacctError

from .judging import judge
from .writing import built

PLAIN = {"checkpoint": "none", "precision": "fp32"}
LINE = re.compile(r"^(\s*)(\w+) = (b\.\w+\(.*\))$")
LOOP = re.compile(r"^(\s*)(.*), = b\.repeat\((.*?), (body\w+), \((.*),\), (.*)\)$")
NAME = re.compile(r"\b[a-z]+\d+\b")


def shrunk(found, *, tries=200, **asked):
    """Return the smallest result with the fault of this one that so many tries find."""
    best, again = found, True
    while again:
        again = False
        for case in smaller(best.case):
            if tries <= 0:
                return best
            result, tries = tried(case, asked), tries - 1
            if result is not None and alike(result, found):
                best, again = result, True
                break
    return best


def tried(case, asked):
    """Judge a case; None where its program builds no graph."""
    try:
        built(case.source)
    except (SymacctError, NameError, SyntaxError, TypeError, ValueError, KeyError):
        return None
    return judge(case, **asked)


def alike(one, other):
    """Say whether two results have the same fault."""
    return one.outcome == other.outcome and one.reason.partition(":")[0] == other.reason.partition(":")[0]


def smaller(case):
    """Yield cases that are a little smaller, the largest steps first."""
    for name, value in case.choices.items():
        rest = {n: v for n, v in case.choices.items() if n != name}
        if value != PLAIN.get(name):
            yield replace(case, choices=rest | ({name: PLAIN[name]} if name in PLAIN else {}))
    for source in smaller_sources(case.source.splitlines()):
        yield replace(case, source="\n".join([*source, ""]))


def smaller_sources(lines):
    """Yield programs that are a little smaller, as lines."""
    for at, line in enumerate(lines):
        if found := LOOP.match(line):
            yield from without_carries(lines, at, found)
            count = found[3]
            yield from ([*lines[:at], line.replace(count, c, 1), *lines[at + 1 :]] for c in plainer(count))
        elif found := LINE.match(line):
            _, name, text = found.groups()
            for other in dict.fromkeys(NAME.findall(re.sub(r'"[^"]*"', "", text))):
                yield [*lines[:at], *renamed(lines[at + 1 :], name, other)]
            if text.count("(") > 1 and "weight" not in text:
                yield [*lines[:at], *renamed(lines[at + 1 :], name, NAME.findall(text)[-1])]
    for at, line in enumerate(lines[2:-1], 2):
        named = re.match(r"\s*(\w+) = ", line)
        if named and not any(re.search(rf"\b{named[1]}\b", other) for other in lines[at + 1 :]):
            yield [*lines[:at], *lines[at + 1 :]]


def plainer(count):
    """Return counts that say less than this one."""
    return (
        [] if count in ("'L'", "'N'") or count.isdigit() else [f"'{name}'" for name in "LN" if name in count]
    )


def without_carries(lines, at, found):
    """Yield programs in which a repeat has one carry less, and what read it reads another."""
    lead, results, _, called, inits, _ = found.groups()
    results, inits = results.split(", "), inits.split(", ")
    start = next(n for n, line in enumerate(lines) if line.startswith(f"{lead}def {called}("))
    end = at - 1
    enters = re.findall(r"\bc\d+\b", lines[start])
    leaves = lines[end].strip()[len("return (") : -2].split(", ")
    if len(enters) < 2 or len(leaves) != len(enters):
        return
    for slot in range(len(enters)):
        kept = [n for n in range(len(enters)) if n != slot]
        head = lines[start].replace(f", {enters[slot]}", "").replace(f"{enters[slot]}, ", "")
        other = kept[0]
        body = renamed(lines[start + 1 : end], enters[slot], enters[other])
        left = [enters[other] if leaves[n] == enters[slot] else leaves[n] for n in kept]
        call = f"{lead}{', '.join(results[n] for n in kept)}, = " + lines[at].partition(" = ")[2].replace(
            f"({', '.join(inits)},)", f"({', '.join(inits[n] for n in kept)},)", 1
        )
        rest = renamed(lines[at + 1 :], results[slot], results[other])
        yield [*lines[:start], head, *body, f"{lead}    return ({', '.join(left)},)", call, *rest]


def renamed(lines, name, other):
    """Return lines that read another tensor."""
    return [re.sub(rf"\b{name}\b", other, line) for line in lines]
