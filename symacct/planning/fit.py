"""Does a run fit the memory of a machine; if not, what makes it fit, ranked by predicted step time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from symacct.account import Account, derive
from symacct.algebra.evaluate import check_sizes, names_of
from symacct.algebra.symbols import as_expr
from symacct.alternatives import ADAPTERS
from symacct.displayed import Displayed
from symacct.errors import SizeError, SymacctError
from symacct.nodes import Repeat, walk
from symacct.planning.fit_changes import Static, statics
from symacct.planning.fit_checkpoints import checkpoints
from symacct.planning.fit_options import Option, Step, named, ranked, relative
from symacct.planning.fit_room import Room, room_of
from symacct.planning.fit_search import Largest, largest
from symacct.planning.subject import batch_size
from symacct.policy import Checkpoint, Policy
from symacct.readers.files import load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from symacct.build import Definition
    from symacct.machines import Machine
    from symacct.nodes import Graph
    from symacct.planning.entries import Stated
    from symacct.planning.fit_peak import Peak

ROWS = ("sequences", "rows", "images", "examples", "samples")
NOT_COUNTED = (
    "fragmentation of the allocator, buffers of communication, the context of the device, workspaces of "
    "kernels; --reserve keeps room for them on each device"
)
SHARDED = "≥: ideal even sharding of every byte, and no communication: a bound, not a layout"
TIMED = (
    "times are those of the roofline, op after op, with what runs again; adding up gradients of "
    "micro-batches and the update on a host are not timed"
)


@dataclass(frozen=True, slots=True)
class Fit(Displayed):
    """Whether a run fits, and what makes it fit.

    Attributes:
        account: what was asked, with the sizes that are given.
        at: the sizes.
        assumed: sizes that were not given and are taken as 1.
        batch: the size that counts sequences; None where there is none.
        room: the memory there is.
        static: the static state as asked.
        statics: the static state under changes, which no batch and no checkpoint mends.
        asked: the step as asked; None where no sizes are given and the static state does not fit.
        limits: the largest sizes that fit, the others as asked.
        options: what fits, by predicted time.
        short: what does not, by its peak.
        unfit: changes that have no meaning here, with the reason.
        notes: what a reader should know.
    """

    account: Account
    at: tuple[tuple[str, int], ...]
    assumed: tuple[str, ...]
    batch: str | None
    room: Room
    static: Static
    statics: tuple[Static, ...]
    asked: Option | None
    limits: tuple[Largest, ...]
    options: tuple[Option, ...]
    short: tuple[Option, ...]
    unfit: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]

    @property
    def fits(self) -> bool:
        """Whether what was asked fits."""
        return self.static.fits and self.asked is not None and self.asked.fits

    @property
    def verdict(self) -> str:
        """What was found: ``fits``, ``static state`` or ``peak``, whichever is too large first."""
        return "fits" if self.fits else "peak" if self.static.fits else "static state"


def fit(
    model: Graph | Definition | Account | str,
    on: str | Machine,
    *,
    sizes: Mapping[str, int] | None = None,
    policy: Policy | None = None,
    convention: str = "default",
    reserve: Stated | None = None,
    dirs: Sequence[str | Path] = (),
    progress: Callable[[str], None] | None = None,
) -> Fit:
    """Return whether a run fits a machine, and what makes it fit.

    Args:
        model: a graph, an account, or the name of a shipped graph or model.
        on: a machine, or its name: ``8xh100-sxm``.
        sizes: sizes of the graph; the number of sequences is 1 where it is not given.
        policy: the choices of the run; ``adamw`` in training where nothing is said.
        convention: how counts are priced.
        reserve: what is kept free on each device: ``2GB``.
        dirs: folders with machines of the user's.
        progress: is told what is derived next.

    Raises:
        SizeError: the static state fits, and a size that the peak depends on is missing.
        RuleError: the machine's capacity is not known.

    >>> found = fit("llama-3-70b", "8xh100-sxm")
    >>> found.fits, found.verdict, found.static.per, found.static.devices
    (False, 'static state', '(2 + 2 + 8) byte/parameter * N = 12 byte/parameter * N', 11)
    >>> [(one.name, one.value) for one in fit("gpt2", "h100-sxm", sizes={"B": 8, "S": 1024}).limits]
    [('B', 61)]
    """
    room = room_of(on, reserve=reserve, dirs=dirs)
    account = _account(model, policy or Policy(optimizer="adamw"), convention)
    given, account = _given(account, sizes or {})
    (static, *others), unfit = statics(account, given, room)
    batch = batch_of(account)
    missing = _missing(account, given, batch)
    if missing and not static.fits:
        found = _Found(account, given, (), batch, room, static, tuple(others), unfit)
        return _static_alone(found, missing)
    if missing:
        raise _ask(account, missing)
    told = progress or _silent
    assumed = () if batch is None or batch in given else (batch,)
    at = {**given, **dict.fromkeys(assumed, 1)}
    found = _Found(account, at, assumed, batch, room, static, tuple(others), unfit)
    return _trained(found, told) if account.trains else _served(found)


@dataclass(slots=True)
class _Found:
    """What is known so far."""

    account: Account
    at: dict[str, int]
    assumed: tuple[str, ...]
    batch: str | None
    room: Room
    static: Static
    statics: tuple[Static, ...]
    unfit: list[tuple[str, str]]
    notes: list[str] = field(default_factory=list)

    def result(
        self,
        asked: Option | None,
        limits: Sequence[Largest],
        options: Sequence[Option],
        short: Sequence[Option],
        notes: Sequence[str],
    ) -> Fit:
        shown = () if self.static.fits else self.statics
        return Fit(
            self.account, tuple(self.at.items()), self.assumed, self.batch, self.room, self.static, shown,
            asked, tuple(limits), tuple(options), tuple(short), tuple(dict.fromkeys(self.unfit)),
            tuple(dict.fromkeys([*self.account.warnings, *self.notes, *notes])),
        )  # fmt: skip


def _account(model: Graph | Definition | Account | str, policy: Policy, convention: str) -> Account:
    if isinstance(model, Account):
        return model
    graph = load(model) if isinstance(model, str) else model
    return derive(graph, policy=policy, convention=convention)


def _given(account: Account, sizes: Mapping[str, int]) -> tuple[dict[str, int], Account]:
    """Return sizes of the graph, and the account with symbols of the policy bound.

    Raises:
        SizeError: a symbol of the policy has no value.
    """
    own = check_sizes({n: v for n, v in sizes.items() if n in account.policy.names}, account.policy.names)
    policy = account.policy.bind(own)
    if policy.names:
        what = "the policy has a symbol without a value"
        fix = f"add --at {','.join(f'{name}=...' for name in policy.names)}"
        raise SizeError(what, expected=", ".join(policy.names), got="no value", fix=fix)
    bound = Account(account.source, policy, account.convention) if own else account
    given = bound.source.resolved({name: size for name, size in sizes.items() if name not in own})
    free = [name for name in bound.source.sizes if name not in bound.source.bound]
    return check_sizes(given, free), bound


def batch_of(account: Account) -> str | None:
    """Return the size that counts sequences, or rows where a graph has no sequences; None where none does.

    >>> batch_of(derive(load("gpt2"))), batch_of(derive(load("mlp")))
    ('B', 'B')
    """
    if account.graph.tokens is not None:
        if (name := batch_size(account)) is not None:
            return name
        tokens = as_expr(account.graph.tokens)
        if tokens.is_Symbol:
            return str(tokens.name)
    meanings = {name: account.graph.sizes[name] for name in account.graph.order}
    found = [name for name, meaning in meanings.items() if meaning.split(" ")[0].strip(",;") in ROWS]
    return found[0] if len(found) == 1 else None


def _missing(account: Account, given: Mapping[str, int], batch: str | None) -> list[str]:
    bound = account.bind(given) if given else account
    used = _used(bound)
    return [name for name in bound.graph.order if name != batch and name in used]


def _used(account: Account) -> set[str]:
    """Return the sizes that anything depends on: tensors, repeats, conditions, work and traffic."""
    graph = account.graph
    exprs = [dim for tensor in graph.tensors.values() for dim in tensor.dims]
    exprs += [one.count for one, _ in walk(graph.nodes) if isinstance(one, Repeat)]
    exprs += [account[name].expr for name in ("flops.forward.all", "bytes.forward")]
    held = (name for one in graph.conditions for name in one.names)
    return {*held, *(name for expr in exprs for name in names_of(expr))}


def _ask(account: Account, missing: Sequence[str]) -> SizeError:
    sizes = account.graph.sizes
    return SizeError(
        "the peak depends on sizes that are not given", where=f"graph {account.graph.name}",
        expected=", ".join(f"{name} ({sizes.get(name, '')})" for name in missing), got="no value",
        fix=f"add --at {','.join(f'{name}=...' for name in missing)}",
    )  # fmt: skip


def _static_alone(found: _Found, missing: Sequence[str]) -> Fit:
    """Return what no size that is missing changes."""
    names = [name for name in (found.batch, *missing) if name is not None and name not in found.at]
    more = f"with sizes, peaks and times of what fits: --at {','.join(f'{name}=...' for name in names)}"
    return found.result(None, (), (), (), [*_notes(found.room), more])


def _notes(room: Room) -> list[str]:
    return [f"not counted: {NOT_COUNTED}", *([SHARDED] if room.count > 1 else [])]


def _silent(what: str) -> None:
    del what


# ---- training ----


def _trained(found: _Found, told: Callable[[str], None]) -> Fit:
    policy = found.account.policy
    count = int(policy.accumulate)
    micro = None if found.batch is None else found.at[found.batch]
    others = {name: size for name, size in found.at.items() if name != found.batch}
    once = Account(found.account.source, replace(policy, accumulate=1), found.account.convention)
    step = Step(once.bind(others) if others else once, found.batch, found.room, micro, count)
    asked = step.option(found.static, policy.checkpoint, micro, count, ())
    asked = relative([asked], asked)[0]
    peak = step.peak(found.static, policy.checkpoint, count)
    limits = _limits(peak, found.room)
    if peak.alone(micro) is not None and not peak.pieces:
        found.notes.append(f"no largest {peak.batch}: it is a count of layers, and the peak has no one form")
    if asked.fits:
        return found.result(asked, limits, (), (), _said(step, found))
    tried = _tried(step, found, told)
    fitting = [one for one in tried if one.fits]
    short = [one for one in tried if not one.fits]
    options = ranked(relative(fitting, asked))
    near = sorted(relative(short, asked), key=lambda one: (one.held.nbytes, len(one.changes)))
    return found.result(asked, limits, options, near, _said(step, found))


def _tried(step: Step, found: _Found, told: Callable[[str], None]) -> list[Option]:
    """Return every option: pairs of changes to the static state only where single ones do not suffice.

    Adapters alone are another kind of training: that they fit does not end the search for full training.
    """
    known, unfit = checkpoints(step, found.static)
    found.unfit += unfit
    singles = [one for one in found.statics if len(one.changes) == 1]
    pairs = [one for one in found.statics if len(one.changes) > 1]
    options = _all(step, [found.static, *singles], known, found, told)
    fitting = [one for one in options if one.fits]
    if not any(_full(one.changes) for one in fitting):
        wanted = [one for one in pairs if not fitting or _full(one.changes)]
        options += _all(step, wanted, known, found, told)
    return [*options, step.several(found.static, found.static.policy.checkpoint)]


def _full(changes: Sequence[str]) -> bool:
    """Say whether every parameter that was to be trained still is."""
    return ADAPTERS.name not in changes


def _all(
    step: Step,
    statics: Sequence[Static],
    known: Sequence[Checkpoint],
    found: _Found,
    told: Callable[[str], None],
) -> list[Option]:
    options = []
    for static in statics:
        for one in known if static.fits else ():
            same = one == found.static.policy.checkpoint
            told(" + ".join([*static.changes, *([] if same else [one.describe()])]) or "as asked")
            try:
                options.append(step.best(static, one, "" if same else named(one)))
            except SymacctError as error:
                found.unfit.append((" + ".join([*static.changes, one.describe()]), error.what))
    return [one for one in options if one.changes]


def _said(step: Step, found: _Found) -> list[str]:
    notes = _notes(found.room)
    machine = found.room.machine
    if not step.untimed:
        notes.append(TIMED if machine.bandwidth is not None else "")
    notes += [f"no time: {reason}" for reason in step.untimed]
    if found.batch is None:
        notes.append("no size of the graph counts sequences: no micro-batch is tried")
    return [one for one in notes if one]


def _limits(peak: Peak, room: Room) -> list[Largest]:
    """Return the largest micro-batch that fits, where the peak is certain to rise with it."""
    if peak.batch is None or not peak.rises:
        return []
    return [largest(lambda size: room.fits(peak.nbytes(size)), peak.batch, peak.domain)]


# ---- serving ----


def _served(found: _Found) -> Fit:
    """Return whether a pass that serves fits, and the largest of each size that does, the others as asked."""
    account = found.account
    limits = []
    for name in account.graph.order:
        if name in found.at:
            others = {one: size for one, size in found.at.items() if one != name}
            limits += _limits(Step(account.bind(others) if others else account, name, found.room, 1, 1).peak(
                found.static, account.policy.checkpoint, 1), found.room)  # fmt: skip
    micro = None if found.batch is None else found.at[found.batch]
    others = {name: size for name, size in found.at.items() if name != found.batch}
    step = Step(account.bind(others) if others else account, found.batch, found.room, micro, 1)
    asked = step.option(found.static, account.policy.checkpoint, micro, 1, ())
    asked = relative([asked], asked)[0]
    options = [] if asked.fits else relative([step.several(found.static, account.policy.checkpoint)], asked)
    return found.result(asked, limits, options, (), _said(step, found))
