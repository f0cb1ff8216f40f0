"""How much a computation may take: steps that are counted, or processor time of its own thread.

What an answer leaves out is decided by steps, which are the same on every machine; time only ends what would
go on for too long. No signal is used, so that it works in every thread, and time that other processes take
does not count.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import thread_time
from typing import TYPE_CHECKING

from symacct.errors import LimitError

if TYPE_CHECKING:
    from collections.abc import Iterator

_end: ContextVar[tuple[float, float] | None] = ContextVar("_end", default=None)
_work: ContextVar[Work | None] = ContextVar("_work", default=None)


@dataclass(slots=True)
class Work:
    """Steps that were taken, and how many may be; any number where ``most`` is None."""

    most: int | None = None
    done: int = 0

    def add(self, steps: int) -> None:
        """Take steps.

        Raises:
            LimitError: they are too many.
        """
        self.done += steps
        if self.most is not None and self.done > self.most:
            raise LimitError("it takes too many steps", expected=f"at most {self.most:,}", got="more")


@contextmanager
def counted(most: int | None = None) -> Iterator[Work]:
    """Count the steps that are taken inside, for what is around it too.

    >>> with counted() as work:
    ...     spend(2)
    ...     with counted(3):
    ...         spend(4)
    Traceback (most recent call last):
    symacct.errors.LimitError: it takes too many steps
      expected  at most 3
      got       more
    >>> work.done
    6
    """
    work, outer = Work(most), _work.get()
    token = _work.set(work)
    try:
        yield work
    finally:
        _work.reset(token)
        if outer is not None:
            outer.done += work.done


def spend(steps: int) -> None:
    """Count steps of work; which step is one, whoever counts them says.

    Raises:
        LimitError: they are too many.
    """
    work = _work.get()
    if work is not None:
        work.add(steps)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Bound what is computed inside; an outer bound that ends earlier stays.

    >>> with within(0):
    ...     check_time()
    Traceback (most recent call last):
    symacct.errors.LimitError: it takes too long
      expected  at most 0 s
      got       more
    """
    end, outer = thread_time() + seconds, _end.get()
    token = _end.set(outer if outer is not None and outer[0] < end else (end, seconds))
    try:
        yield
    finally:
        _end.reset(token)


def check_time() -> None:
    """Go on, unless the time is used up.

    Raises:
        LimitError: it is.
    """
    bound = _end.get()
    if bound is not None and thread_time() > bound[0]:
        raise LimitError("it takes too long", expected=f"at most {bound[1]:g} s", got="more")
