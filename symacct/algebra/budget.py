"""How long a computation may take: processor time of its own thread, asked for where loops are long.

No signal is used, so that it works in every thread; time that other processes take does not count.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from time import thread_time
from typing import TYPE_CHECKING

from symacct.errors import LimitError

if TYPE_CHECKING:
    from collections.abc import Iterator

_end: ContextVar[tuple[float, float] | None] = ContextVar("_end", default=None)


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
