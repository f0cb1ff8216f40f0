"""Bytes of tensor storages that are alive while torch runs, each once, and the most there ever were."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Self
from weakref import ReferenceType, ref

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

Row = tuple[str, int]
"""A storage by name, and its bytes."""


@dataclass(slots=True)
class _Storage:
    """One storage that counts: name, bytes, what tells of its end, whether it is held by hand or marked."""

    name: str
    nbytes: int
    end: ReferenceType[Any]
    held: bool = False
    gone: bool = False
    marked: bool = False


class Tracker:
    """A context in which every new tensor storage counts, from the op that makes it until torch frees it.

    Views share their source's storage, and what lived before the context does not count. An op counts as
    torch runs it (at the granularity of aten); what it allocates inside and frees is no tensor. The collector
    of cycles is off meanwhile, so that storages end when their last holder does.

    >>> import torch
    >>> with Tracker(torch) as tracker:
    ...     a = torch.zeros(4)
    ...     b = (a + 1)[2:]
    ...     del a
    >>> tracker.live, tracker.peak, tracker.at_peak
    (16, 32, (('aten.zeros', 16), ('aten.add', 16)))
    """

    def __init__(self, torch: Any) -> None:
        """Start with nothing alive."""
        self.live = 0
        self.peak = 0
        self._torch = torch
        self._known: dict[int, _Storage] = {}
        self._held: list[_Storage] = []
        self._shares: dict[int, tuple[ReferenceType[Any], Any]] = {}
        self._top: tuple[Row, ...] = ()
        self._events: list[tuple[_Storage, int]] = []
        self._off = 0
        self._collects = False
        self._mode = _mode(self)

    def __enter__(self) -> Self:
        """Start to track."""
        self._collects = gc.isenabled()
        gc.disable()
        self._mode.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop: what is freed later still counts as alive."""
        self._mode.__exit__(kind, error, trace)
        self._known.clear()
        self._shares.clear()
        if self._collects:
            gc.enable()

    @property
    def at_peak(self) -> tuple[Row, ...]:
        """What was alive when most was, in the order it was made."""
        return self._top

    def alive(self) -> tuple[Row, ...]:
        """Return what torch keeps alive now, without what is only held by hand."""
        return tuple((one.name, one.nbytes) for one in self._known.values())

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Count nothing that is made inside: an op's scratch, or what only looks on."""
        self._off += 1
        try:
            yield
        finally:
            self._off -= 1

    @property
    def off(self) -> bool:
        """Whether tracking is suspended."""
        return self._off > 0

    def register(self, array: Any, name: str) -> None:
        """Count the storage of an array, unless it counts already; it goes by the name."""
        storage = array.untyped_storage()
        at = id(storage)
        if at in self._known or at in self._shares or not storage.nbytes():
            return
        self._known[at] = _Storage(name, storage.nbytes(), ref(storage, lambda _: self._end(at)))
        self._change(self._known[at], storage.nbytes())
        if self.live > self.peak:
            self.peak = self.live
            self._top = tuple((s.name, s.nbytes) for s in (*self._held_only(), *self._known.values()))

    def share(self, copy: Any, source: Any) -> None:
        """Count a copy as a view: it counts nothing itself, and its source lives as long as it does."""
        storage, kept = copy.untyped_storage(), source.untyped_storage()
        at = id(storage)
        if storage is not kept and at not in self._shares:
            self._shares[at] = (ref(storage, lambda _: self._shares.pop(at, None)), kept)

    def hold(self, array: Any) -> None:
        """Count a storage as alive until ``release``, whether or not torch frees it earlier."""
        one = self._find(array)
        if one is not None and not one.held:
            one.held = True
            self._held.append(one)

    def mark(self, array: Any) -> None:
        """Mark a storage, for all the time that it is alive."""
        one = self._find(array)
        if one is not None:
            one.marked = True

    @property
    def moment(self) -> int:
        """How often something has been made or has ended so far."""
        return len(self._events)

    def mark_alive(self, since: int) -> None:
        """Mark what was made after a moment and is alive, without what is only held by hand."""
        alive = set(map(id, self._known.values()))
        for one, _ in self._events[since:]:
            one.marked |= id(one) in alive

    def marked_peak(self) -> int:
        """Return the most bytes of marked storages that there ever were.

        >>> import torch
        >>> with Tracker(torch) as tracker:
        ...     a, b = torch.zeros(4), torch.zeros(2)
        ...     tracker.mark(b)
        >>> tracker.peak, tracker.marked_peak()
        (24, 8)
        """
        return max(accumulate(change for one, change in self._events if one.marked), default=0)

    def source(self, array: Any) -> int:
        """Return what identifies the storage that an array counts as: its own, or its source's."""
        at = id(array.untyped_storage())
        while at in self._shares:
            at = id(self._shares[at][1])
        return at

    def _find(self, array: Any) -> _Storage | None:
        return self._known.get(self.source(array))

    def _change(self, one: _Storage, change: int) -> None:
        self.live += change
        self._events.append((one, change))

    def release(self) -> None:
        """Hold nothing by hand any longer."""
        for one in self._held_only():
            self._change(one, -one.nbytes)
        for one in self._held:
            one.held = False
        self._held.clear()

    def _held_only(self) -> list[_Storage]:
        return [one for one in self._held if one.gone]

    def _end(self, at: int) -> None:
        one = self._known.pop(at, None)
        if one is not None and one.held:
            one.gone = True
        elif one is not None:
            self._change(one, -one.nbytes)

    def made(self, name: str, args: Any, out: Any) -> None:
        """Count what an op of torch has made; what shares a storage with an argument is no new one."""
        before = {id(array.untyped_storage()) for array in _tensors(self._torch, args)}
        for array in _tensors(self._torch, out):
            if id(array.untyped_storage()) not in before:
                self.register(array, name)


def _tensors(torch: Any, value: Any) -> Iterator[Any]:
    if torch.is_tensor(value):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(torch, item)
    elif isinstance(value, dict):
        yield from _tensors(torch, list(value.values()))


def _mode(tracker: Tracker) -> Any:
    """Return a context that tells the tracker of every op that torch runs."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class TrackMode(TorchDispatchMode):  # type: ignore[misc]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # nothing is compiled here, and asking its compiler costs seconds

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
        ) -> Any:
            out = func(*args, **(kwargs or {}))
            if not tracker.off:
                tracker.made(str(func.overloadpacket), (args, dict(kwargs or {})), out)
            return out

    return TrackMode()
