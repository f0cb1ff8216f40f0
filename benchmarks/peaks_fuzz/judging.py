"""One case: drawn, derived, compared."""

from __future__ import annotations

import signal
import traceback
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

from symacct.account import derive
from symacct.algebra.evaluate import evaluate
from symacct.errors import SymacctError

from .choices import choices
from .kinds import KINDS
from .oracle import AGAIN, PEAK, SAVED, SAVED_PEAK, Step
from .points import COUNTS, MOST_WORK, Compiled, Conditions, Sizes
from .writing import Writer, built

SECONDS = 20
NEAR, FAR, SMALL = ((0, 3), (1, 8)), ((2, 12), (10, 40), (20, 40)), ((0, 3), (0, 3), (0, 7))
FARTHEST = ((10, 60), (40, 300), (300, 900)), ((900, 1900),)
"""Counts for formulas that begin beyond all others: where values need long to reach each other."""
ORDER = ("crash", "differs", "invariant", "torch differs", "slow", "refused", "equal")
BAD = ORDER[:5]
ENOUGH, REFUSED = 6, 0.15
MEMORY = (PEAK, SAVED_PEAK, SAVED)


class TooSlow(BaseException):
    """A derivation takes too long."""


@dataclass
class Case:
    """What was drawn."""

    seed: str
    kind: str
    source: str
    choices: dict
    torch: bool = False
    redrawn: list = field(default_factory=list)

    def text(self):
        """Return the program and the choices."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.choices.items())
        return f"{self.source}# derive(graph, {given})\n"


@dataclass
class Result:
    """What came of a case."""

    case: Case
    outcome: str = "equal"
    reason: str = ""
    facts: list = field(default_factory=list)
    refused: dict = field(default_factory=dict)
    compared: int = 0
    exact: int = 0
    tracked: int = 0
    seconds: float = 0.0
    limit: float = SECONDS

    def say(self, outcome, reason, **facts):
        """Keep the worst of what came, and all facts."""
        self.facts.append({"outcome": outcome, "reason": reason, **facts})
        if ORDER.index(outcome) < ORDER.index(self.outcome):
            self.outcome, self.reason = outcome, reason


def draw(seed, torch_share=0.0):
    """Return the case of a seed: the name of a kind, a colon, and anything.

    A graph that does not train is drawn again, and most of those that have no backward pass.
    """
    kind, redrawn = seed.partition(":")[0], []
    for attempt in range(100):
        rng = Random(f"{seed}/{attempt}")
        writer = Writer(rng, ("B", "D"))
        source = writer.source(KINDS[kind](writer))
        torch = rng.random() < torch_share
        account = derive(built(source))
        found = Case(seed, kind, source, choices(rng, kind, account.graph, torch=torch), torch, redrawn)
        try:
            if account.step.gradients:
                return found
        except SymacctError as error:
            if rng.random() < REFUSED:
                return found
            redrawn.append(first(error))
    raise AssertionError(f"{seed} draws no graph that trains")


def account_of(case):
    """Derive a case with its sizes open."""
    given = {name: value for name, value in case.choices.items() if name != "uneven"}
    found = derive(built(case.source), **given)
    return found.uneven if case.choices.get("uneven") else found


@contextmanager
def limited(seconds):
    """Stop what takes more processor time than that."""

    def stop(*_):
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


# ---- judging ----


def judge(case, *, points=6, small=3, limit=SECONDS):
    """Compare what is derived of a case with what runs."""
    result, rng = Result(case, limit=limit), Random(case.seed)
    try:
        account = account_of(case)
        formulas = derived(account, result)
        drawn = Sizes(rng, account)
        at_formulas(account, formulas, drawn, result, points)
        at_numbers(account, formulas, drawn, result, small)
    except TooSlow:
        result.say("slow", "over the limit")
    except SymacctError as error:
        result.say("refused", first(error), text=str(error))
    except Exception as error:  # noqa: BLE001 (any other error is a finding)
        result.say("crash", f"{type(error).__name__}: {error}"[:80], text=traceback.format_exc())
    return result


def first(error):
    """Return the first words of a reason."""
    return " ".join(error.what.replace("graph fuzz", "").split()[:9])


class Formula:
    """A derived quantity, compiled."""

    def __init__(self, quantity):
        self.text, self.when = str(quantity), Conditions(quantity.when)
        try:
            self.compiled = Compiled(quantity.expr)
        except (SyntaxError, TypeError):
            self.compiled = None
        self.expr = quantity.expr

    def __call__(self, sizes):
        """Return the value."""
        if self.compiled is not None:
            try:
                return self.compiled(sizes)
            except (NameError, TypeError):
                pass
        return evaluate(self.expr, sizes)


def asked(account):
    """Return the quantities that are compared."""
    return (*MEMORY, AGAIN) if account.recomputes else MEMORY


def derived(account, result):
    """Return the formula of each quantity; what is refused is tallied."""
    found = {}
    for name in asked(account):
        try:
            with limited(result.limit):
                found[name] = Formula(account[name])
        except SymacctError as error:
            result.refused[name] = first(error)
            result.say("refused", first(error), quantity=name, text=str(error))
        except TooSlow:
            result.say("slow", f"{name}, sizes open", quantity=name)
            break
    return found


def at_formulas(account, formulas, drawn, result, points):
    """Compare formulas where they hold, near their least counts and far from them."""
    if not formulas or not points:
        return

    def holds(sizes):
        return min(sizes.values()) >= 1 and any(formula.when(sizes) for formula in formulas.values())

    near = drawn.draw(holds, NEAR, 4 * points)
    near.sort(key=lambda sizes: sum(size for name, size in sizes.items() if name in COUNTS))
    far = drawn.draw(holds, FAR, points - points // 3 - 1)
    farthest = drawn.draw(holds, FAR[1:], 1, MOST_WORK)
    if not near and not far:
        found = (drawn.draw(holds, span, 1, 10 * MOST_WORK) for span in FARTHEST)
        farthest = next((sizes for sizes in found if sizes), [])
    for sizes in (*near[: points // 3], *far, *farthest):
        if sum(fact["outcome"] in BAD for fact in result.facts) >= ENOUGH:
            return
        step = step_at(account, sizes, result)
        if step is None:
            continue
        theirs = step.values()
        mine = {n: f(sizes) for n, f in formulas.items() if f.when(sizes)}
        result.compared += 1
        compare(mine, theirs, sizes, result, "formula")
        laws(mine, step, sizes, result)
        more_batches(account, formulas, mine, sizes, result)


def step_at(account, sizes, result):
    """Return the step that runs at sizes."""
    try:
        return Step(account.bind(sizes))
    except SymacctError as error:
        result.say("refused", f"at sizes: {first(error)}", sizes=sizes, text=str(error))
        return None


def compare(mine, theirs, sizes, result, how):
    """Compare what was derived with what ran."""
    for name, value in mine.items():
        if value != theirs[name]:
            result.say(
                "differs", f"{name} by {how}", quantity=name, sizes=sizes, expected=str(theirs[name]),
                got=str(value),
            )  # fmt: skip


def laws(mine, step, sizes, result):
    """Check what must hold of any step."""
    peak, saved_peak, saved = (mine.get(name) for name in MEMORY)
    least = step.held
    checks = [
        ("saved < 0", saved is not None and saved < 0),
        ("saved peak < saved", None not in (saved, saved_peak) and saved_peak < saved),
        ("peak < saved peak", None not in (peak, saved_peak) and peak < saved_peak),
        ("peak < parameters and inputs", peak is not None and peak < least),
        ("negative work", mine.get(AGAIN, 0) < 0),
    ]
    for what, broken in checks:
        if broken:
            result.say("invariant", what, sizes=sizes, got={name: str(value) for name, value in mine.items()})


def more_batches(account, formulas, mine, sizes, result):
    """Check that more micro-batches never lower the peak."""
    if "M" not in account.policy.names or PEAK not in mine:
        return
    more = {**sizes, "M": sizes["M"] + 1}
    if formulas[PEAK].when(more) and formulas[PEAK](more) < mine[PEAK]:
        result.say("invariant", "more micro-batches lower the peak", sizes=sizes)


def at_numbers(account, formulas, drawn, result, small):
    """Compare what is derived with counts given, the widths open or not, below the conditions too."""
    if not small:
        return

    def below(sizes):
        return min(sizes.values()) < 1 or not all(formula.when(sizes) for formula in formulas.values())

    chosen = drawn.draw(below, SMALL, small) if formulas else drawn.draw(bool, SMALL, small)
    chosen = chosen or drawn.draw(bool, SMALL, small)
    far = drawn.draw(bool, FAR, 1) if drawn.rng.random() < 0.35 else []
    for sizes in (*chosen, *far):
        step = step_at(account, sizes, result)
        if step is None:
            continue
        theirs, known = step.values(), given(sizes, drawn.rng)
        try:
            with limited(result.limit):
                bound = account.bind(known)
                mine = {name: value_at(bound, name, sizes) for name in asked(bound)}
        except TooSlow:
            result.say("slow", "counts given", sizes=known)
            continue
        except SymacctError as error:
            result.say("refused", f"counts given: {first(error)}", sizes=known, text=str(error))
            continue
        result.exact += 1
        compare({n: v for n, v in mine.items() if v is not None}, theirs, sizes, result, "counts given")
        laws({n: v for n, v in mine.items() if v is not None}, step, sizes, result)
        if result.case.torch and not result.tracked and small_enough(sizes, drawn):
            against_torch(account, sizes, result)


def given(sizes, rng):
    """Return the sizes that are given: all of them, the counts alone, or some."""
    how = rng.choice(("all", "counts", "counts", "some"))
    if how == "all":
        return sizes
    return {
        n: s for n, s in sizes.items() if n in COUNTS and (how == "counts" or rng.random() < 0.6 or s < 1)
    }


def value_at(bound, name, sizes):
    """Return a quantity where some sizes are bound; None where its conditions fail."""
    found = Formula(bound[name])
    return found(sizes) if found.when(sizes) else None


def small_enough(sizes, drawn):
    """Say whether torch can run a step soon."""
    width = max(size for name, size in sizes.items() if name not in COUNTS)
    return width <= 40 and drawn.work(sizes) <= 300


def against_torch(account, sizes, result):
    """Run a step with torch, and compare."""
    from symacct.errors import GraphError, RuleError
    from symacct.execution.check import EQUAL
    from symacct.execution.memory_check import plan_of
    from symacct.execution.memory_compare import Compared
    from symacct.execution.schedule import run

    bound = account.bind(sizes)
    try:
        tracked = run(bound.graph, {}, plan_of(bound.running))
    except (GraphError, RuleError):
        return
    result.tracked += 1
    for row in Compared(bound, sizes, tracked).rows():
        if row.verdict != EQUAL:
            got = f"{row.derived}, interpreted {row.interpreted}"
            result.say("torch differs", row.what, sizes=sizes, expected=str(row.counted), got=got)
