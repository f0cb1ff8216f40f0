"""What makes a step fit: changes to the static state, checkpoints and micro-batches, each with peak and time.

Every option does the same work for the same effective batch: where the micro-batch is smaller, more of them
are added up. Times are those of the roofline, one op after the other, with what runs again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.account import Account
from symacct.errors import RuleError, SymacctError
from symacct.evaluation.timing import quantity
from symacct.planning.entries import fraction
from symacct.planning.fit_peak import Courses, Held, Peak, is_count, uneven
from symacct.planning.fit_search import divisors, is_allowed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from symacct.machines import Machine
    from symacct.planning.fit_changes import Static
    from symacct.planning.fit_room import Room
    from symacct.policy import Checkpoint

UPDATE = "optimizer"
SMALLER, CHECKPOINT = "micro-batch", "checkpoint"
BUS = "PCIe"
"""How links to the host are called in the catalogue."""


@dataclass(frozen=True, slots=True)
class Option:
    """One way to run the same effective batch.

    Attributes:
        changes: what differs from what was asked; none for that itself.
        micro: the micro-batch; None where no size of the graph counts sequences.
        accumulate: how many of them a step adds up.
        devices: how many devices run it.
        held: what is alive at the worst moment.
        fits: whether the devices hold it.
        over: bytes beyond what they hold; negative where they hold it.
        needed: how many devices hold it at least.
        host: bytes in the memory of the host.
        seconds: of a step; None where they cannot be predicted.
        relative: the time over that of what was asked.
    """

    changes: tuple[str, ...]
    micro: int | None
    accumulate: int
    devices: int
    held: Held
    fits: bool
    over: Fraction
    needed: int
    host: Fraction = Fraction(0)
    seconds: Fraction | None = None
    relative: Fraction | None = None

    @property
    def bound(self) -> str:
        """Whether the bytes are a lower bound, as of several devices, or exact."""
        return "≥" if self.devices > 1 else ""


class Step:
    """A step of a graph, all sizes bound but the micro-batch, and the ways to change it.

    Args:
        account: as asked, one micro-batch.
        batch: the name of the micro-batch; None where there is none.
        room: the memory of the machine.
        micro: the micro-batch asked.
        accumulate: how many of them.
    """

    def __init__(
        self, account: Account, batch: str | None, room: Room, micro: int | None, accumulate: int
    ) -> None:
        """Keep what was asked."""
        self.account = account
        self.batch = batch
        self.room = room
        self.micro = micro
        self.accumulate = accumulate
        self.courses = Courses()
        self.untimed: dict[str, None] = {}
        self._accounts: dict[object, Account] = {}
        self._peaks: dict[object, Peak] = {}

    # ---- what is derived ----

    def of(self, static: Static, checkpoint: Checkpoint, accumulate: int = 1) -> Account:
        """Return the account under some choices; the micro-batches of a step are two where there are more."""
        policy = replace(static.policy, checkpoint=checkpoint, accumulate=min(accumulate, 2))
        if policy not in self._accounts:
            account = self.account
            made = Account(account.source, policy, account.convention)
            if policy.lora == account.policy.lora:
                made.step = account.step
            self._accounts[policy] = made
        return self._accounts[policy]

    def peak(self, static: Static, checkpoint: Checkpoint, accumulate: int) -> Peak:
        """Return the peak over the micro-batch: from the second of a step on all are alike."""
        key = (static.changes, checkpoint, min(accumulate, 2))
        if key not in self._peaks:
            account = self.of(static, checkpoint, accumulate)
            self._peaks[key] = Peak(account, self.batch, self.courses, offload=static.offload)
        return self._peaks[key]

    def seconds(
        self, static: Static, checkpoint: Checkpoint, micro: int | None, accumulate: int, machine: Machine
    ) -> Fraction | None:
        """Return the time of a step; None, with the reason kept, where it cannot be predicted."""
        account = self.of(static, checkpoint)
        try:
            sizes = {} if self.batch is None or micro is None else {self.batch: micro}
            if alone := is_count(account, self.batch):
                account, sizes = account.bind(sizes), {}
            if account.recomputes and uneven(account):
                raise RuleError("what runs again is not derived here where the last segment is shorter")
            if not alone:
                self.courses.of(account)
            name = "time.step" if account.trains else "time.forward"
            found = quantity(account, machine, name).at(sizes).timings
            once = Fraction(0)
            again = Fraction(0)
            for one in found:
                seconds = fraction(one.expr)
                once += seconds if one.operation.phase == UPDATE and not static.offload else 0
                again += seconds if one.operation.phase != UPDATE else 0
            return accumulate * again + once + (self._moved(account, machine) if static.offload else 0)
        except SymacctError as error:
            self.untimed[error.what] = None
            return None

    def _moved(self, account: Account, machine: Machine) -> Fraction:
        """Return the seconds in which gradients go to the host and parameters come back.

        Raises:
            RuleError: the machine states no link to a host.
        """
        link = next((one for one in machine.links if one.name.startswith(BUS)), None)
        if link is None:
            raise RuleError(f"{machine.name} states no link to a host ({BUS})")
        trained = fraction(account["params.trainable"].expr)
        policy = account.policy
        nbytes = trained * (policy.nbytes("float", "weight gradient") + policy.nbytes("float", "weight"))
        return nbytes / (link.figure.value * machine.count)

    # ---- options ----

    def option(
        self,
        static: Static,
        checkpoint: Checkpoint,
        micro: int | None,
        accumulate: int,
        changes: Iterable[str],
    ) -> Option:
        """Return one way to run the step on the machine."""
        held = self.peak(static, checkpoint, accumulate).at(micro)
        seconds = self.seconds(static, checkpoint, micro, accumulate, self.room.machine)
        room = self.room
        return Option(
            tuple(changes), micro, accumulate, room.count, held, room.fits(held.nbytes),
            held.nbytes - room.total, room.devices(held.nbytes), static.host, seconds,
        )  # fmt: skip

    def best(self, static: Static, checkpoint: Checkpoint, named: str) -> Option:
        """Return the option with the largest micro-batch that fits; if none does, with the lowest peak."""
        changes = [*static.changes, *([named] if named else [])]
        whole = (self.micro or 1) * self.accumulate
        lowest: tuple[Fraction, int | None, int] | None = None
        for micro, count in self._splits(static, whole):
            nbytes = self.peak(static, checkpoint, count).nbytes(micro)
            if self.room.fits(nbytes):
                return self.option(static, checkpoint, micro, count, _with_micro(changes, self, micro, count))
            if lowest is None or nbytes < lowest[0]:
                lowest = (nbytes, micro, count)
        assert lowest is not None
        _, micro, count = lowest
        return self.option(static, checkpoint, micro, count, _with_micro(changes, self, micro, count))

    def _splits(self, static: Static, whole: int) -> Iterator[tuple[int | None, int]]:
        """Yield micro-batches from the one asked down, with how many of them make the effective batch."""
        if self.micro is None or static.policy.update == "fused" or self.batch is None:
            yield self.micro, self.accumulate
            return
        domain = self.peak(static, static.policy.checkpoint, self.accumulate).domain
        for one in divisors(whole):
            if one <= self.micro and is_allowed(domain, self.batch, one):
                yield one, whole // one

    def several(self, static: Static, checkpoint: Checkpoint) -> Option:
        """Return what was asked, on as many of these devices as hold it."""
        held = self.peak(static, checkpoint, self.accumulate).at(self.micro)
        count = self.room.devices(held.nbytes)
        machine = self.room.several(count)
        seconds = self.seconds(static, checkpoint, self.micro, self.accumulate, machine)
        spare = held.nbytes - count * self.room.usable
        return Option(
            (f"{machine.name}",), self.micro, self.accumulate, count, held, spare <= 0, spare, count,
            static.host, seconds,
        )  # fmt: skip


def _with_micro(changes: list[str], step: Step, micro: int | None, count: int) -> list[str]:
    if micro == step.micro and count == step.accumulate:
        return changes
    return [*changes, f"{SMALLER} {step.batch} = {micro:,}, {count:,} of them"]


def relative(options: Iterable[Option], asked: Option) -> list[Option]:
    """Return options with their time over that of what was asked."""
    whole = asked.seconds
    return [
        replace(one, relative=one.seconds / whole) if one.seconds is not None and whole else one
        for one in options
    ]


def ranked(options: Iterable[Option]) -> list[Option]:
    """Return options by predicted time; those without one last; those that gain nothing left out.

    An option gains nothing where another one needs a part of its changes alone and is not slower.
    """
    order = sorted(options, key=_place)
    return [one for one in order if not any(other is not one and _serves(other, one) for other in order)]


def _place(one: Option) -> tuple[bool, Fraction, Fraction]:
    return (one.seconds is None, one.seconds or Fraction(0), one.held.nbytes)


def _serves(other: Option, one: Option) -> bool:
    """Say whether another option serves as well: with fewer changes, or less memory for the same ones."""
    if other.seconds is None or (one.seconds is not None and other.seconds > one.seconds):
        return one.seconds is None and other.seconds is None and _kinds(other) < _kinds(one)
    mine, theirs = _kinds(one), _kinds(other)
    if theirs < mine:
        return True
    smaller = (other.held.nbytes, other.seconds) < (one.held.nbytes, one.seconds or other.seconds)
    return smaller and other.held.nbytes <= one.held.nbytes and _lasting(theirs) <= _lasting(mine)


def _kinds(one: Option) -> frozenset[str]:
    """Return what is changed, whatever the micro-batch is."""
    return frozenset(SMALLER if change.startswith(SMALLER) else change for change in one.changes)


def _lasting(kinds: frozenset[str]) -> frozenset[str]:
    """Return what is changed beside the checkpoint and the micro-batch."""
    return frozenset(kind for kind in kinds if kind != SMALLER and not kind.startswith(CHECKPOINT))


def named(one: Checkpoint) -> str:
    """Return how a checkpoint is called among changes."""
    return f"{CHECKPOINT} {one.describe()}"
