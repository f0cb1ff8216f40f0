"""Asks symacct about a claim, and says whether its verdict is one that brute force allows."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import traceback
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

from .minima import at_sizes
from .numbers import UncertainError, UndefinedError
from .trees import names
from .truth import Judge, Truth, decide

SECONDS = 20
WORST = ("false proof", "proof where undefined", "proof about nothing")


class SlowError(BaseException):
    """A claim took too long."""


@dataclass(frozen=True)
class Answer:
    """What symacct said: an outcome, or refused, crashed, slow; its reason, and its counterexample."""

    outcome: str
    reason: str = ""
    point: object = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Finding:
    """A fault: what it is, the claim, the answer and what is true."""

    fault: str
    claim: object
    answer: Answer
    truth: Truth


@contextmanager
def limited(seconds):
    """Stop what takes so many seconds of processor time."""

    def stop(*_):
        raise SlowError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def ask(claim, account):
    """Return what symacct says of a claim."""
    from symacct import prove
    from symacct.errors import SymacctError

    start = time.process_time()
    try:
        with limited(SECONDS):
            verdict = prove(account, claim.text(), brief=True, **claim.options)
        point = verdict.decision.point
        sizes = None if point is None else {name: int(size) for name, size in point.sizes}
        return Answer(verdict.outcome, verdict.decision.reason, sizes, time.process_time() - start)
    except SymacctError as error:
        return Answer("refused", str(error).replace("\n", " ")[:160], None, time.process_time() - start)
    except SlowError:
        return Answer("slow", f"more than {SECONDS} s", None, SECONDS)
    except Exception:  # noqa: BLE001 - that is what is looked for
        return Answer("crashed", traceback.format_exc().strip().splitlines()[-1][:160])


def ask_command(claim):
    """Return the outcome of the command line for a claim, by its exit status."""
    command = [
        sys.executable,
        "-m",
        "symacct",
        "prove",
        *([claim.graph] if claim.graph else []),
        claim.text(),
    ]
    for option, given in claim.options.items():
        if option == "assume":
            command += [part for one in given for part in ("--assume", one)]
        else:
            shown = ",".join(given) if option == "grow" else ",".join(f"{k}={v}" for k, v in given.items())
            command += ["--at" if option == "sizes" else "--grow", shown]
    command += [part for name, value in claim.policy for part in (f"--{name}", value)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603
    return {0: "proved", 1: "refuted", 2: "refused", 3: "undecided"}.get(done.returncode, "crashed")


def examine(claim, account=None, values=None, *, seed=0):
    """Return the answer, what is true, and a fault or an empty text."""
    answer = ask(claim, account)
    if answer.outcome in ("slow", "crashed"):
        return answer, Truth("open"), answer.outcome
    truth = decide(claim, values, seed=seed)
    if answer.outcome == "proved" and truth.value in ("open", "true"):
        truth = decide(claim, values, thorough=True, seed=seed + 1)
    try:
        return answer, truth, fault_of(claim, answer, truth, values)
    except (UncertainError, UndefinedError):
        return answer, truth, ""


def fault_of(claim, answer, truth, values):
    """Return what is wrong with an answer, or an empty text."""
    if answer.outcome == "proved":
        return {"false": WORST[0], "undefined": WORST[1], "empty": WORST[2]}.get(truth.value, "")
    if answer.outcome == "refused":
        return "" if claim.may_refuse or truth.value in ("empty", "undefined") else "valid input refused"
    if answer.outcome != "refuted":
        return ""
    if answer.point is not None and claim.form in ("relation", "iff", "within"):
        return _of_point(claim, answer.point, values)
    if answer.point is not None and claim.form in ("min", "argmin"):
        wrong = _of_sizes(claim, answer.point, values)
        if wrong:
            return wrong
    return {"true": "false refutation", "empty": "refutation about nothing"}.get(truth.value, "")


def _of_point(claim, point, values):
    judge = Judge(claim, values)
    if set(point) - set(judge.domain.every) - set(dict(claim.at)) - set(values.every if values else ()):
        return "counterexample in names of no claim"
    at = {**dict.fromkeys(judge.domain.free, 1), **dict(claim.at), **point}
    if not set(claim.names) - set(dict(claim.at)) <= set(point):
        at = _completed(judge, point)
    if at is None or any(size < 1 for size in at.values()) or not judge.domain.has(at):
        return "counterexample outside the domain"
    try:
        if judge.holds(at):
            return "counterexample does not violate"
    except UndefinedError:
        return "counterexample where a side is undefined"
    return _smaller(judge, point)


def _completed(judge, point):
    """Return a point of the domain with the sizes that were printed, or None."""
    for at in judge.domain.points():
        if at is not None and all(at.get(name, size) == size for name, size in point.items()):
            return at
    at = judge.domain.complete({**dict.fromkeys(judge.domain.free, 1), **point})
    agrees = at is not None and all(at.get(name) == size for name, size in point.items() if name in at)
    return at if agrees else None


def _smaller(judge, point):
    """Say whether a failing point comes before: of a smaller sum, or of the same one and earlier in order."""
    shown = sorted(set(point) & set(judge.domain.every))
    total = sum(point[name] for name in shown)
    same = []
    for at in judge.domain.points():
        if at is None:
            return ""
        here = sum(at[name] for name in shown)
        if here > total:
            continue
        try:
            fails = not judge.holds(at)
        except UndefinedError:
            continue
        if fails and here < total:
            return "counterexample not the smallest"
        if fails:
            same.append(at)
    orders = [shown] if judge.domain.of is None else [shown, [n for n in judge.domain.of.every if n in shown]]
    firsts = [min(([at[name] for name in order] for at in same), default=None) for order in orders]
    if any(
        first is None or first >= [point[name] for name in order]
        for first, order in zip(firsts, orders, strict=True)
    ):
        return ""
    return "counterexample later in the order"


def _of_sizes(claim, point, values):
    """Return what is wrong with the sizes at which a minimum is said to be another one."""
    from .domain import Domain
    from .minima import rounds, without

    apart = [one for one in claim.conditions if claim.name not in names(one.left) | names(one.right)]
    tied = [one for one in claim.conditions if one not in apart]
    domain = Domain(without(claim, apart), values)
    if set(point) - set(domain.every) - {claim.name}:
        return "counterexample in names of no claim"
    at = {**dict.fromkeys(domain.free, 1), **{k: v for k, v in point.items() if k != claim.name}}
    at = domain.complete(at)
    if at is None or any(size < 1 for size in at.values()) or not domain.has(at):
        return "counterexample outside the domain"
    integers = rounds(claim.left) or any(one.sign == "|" for one in tied)
    found = at_sizes(claim, tied, at, values, integers=integers)
    if found == "none":
        return "" if values is not None else "counterexample outside the domain"
    return "counterexample does not violate" if found == "true" else ""


# ---- smaller claims with the same fault ----


def weight(claim):
    """Return how long a claim is, its options included."""
    return len(claim.text()) + len(str(claim.options))


def simpler(claim):
    """Yield claims with a condition, a term or a factor less, or with smaller numbers."""
    from dataclasses import replace

    for index in range(len(claim.conditions)):
        yield replace(claim, conditions=claim.conditions[:index] + claim.conditions[index + 1 :])
    if claim.binds:
        yield replace(claim, binds=())
    if claim.style:
        yield replace(claim, style="")
    for side in ("left", "right"):
        for tree in _smaller_trees(getattr(claim, side)):
            yield replace(claim, **{side: tree})
    for one, other in pairwise(claim.grows):
        yield replace(claim, grows=tuple(name for name in claim.grows if name != one and other))


def _smaller_trees(tree):
    from .making import places, put
    from .trees import add, mul, num

    for path, one in places(tree):
        if one[0] in ("add", "mul"):
            build = add if one[0] == "add" else mul
            for index in range(1, len(one)):
                yield put(tree, path, build(*one[1:index], *one[index + 1 :]))
        elif one[0] == "num" and one[1] not in (0, 1, 2):
            yield put(tree, path, num(1))
            yield put(tree, path, num(2))
        elif one[0] == "pow":
            yield put(tree, path, one[1])
        elif one[0] == "call":
            yield put(tree, path, one[2])


def shrunk(claim, account, values, fault, tries=60):
    """Return the smallest claim found that has the same fault."""
    done = False
    while not done and tries:
        done = True
        for one in simpler(claim):
            tries -= 1
            if tries <= 0:
                return claim
            try:
                if one.is_whole and weight(one) < weight(claim) and examine(one, account, values)[2] == fault:
                    claim, done = one, False
                    break
            except Exception:  # noqa: BLE001, S112 - a claim that is no claim any more
                continue
    return claim
