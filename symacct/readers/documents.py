"""Python that a document names: a claim file or a layout runs none that the command line does not allow."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from symacct.errors import UsageError, brief

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(slots=True)
class _Gate:
    """What may run while a document is read, and what was asked for and did not."""

    named: frozenset[Path]
    every: bool
    refused: list[str] = field(default_factory=list)


_GATE: ContextVar[_Gate | None] = ContextVar("_GATE", default=None)


@contextmanager
def documents(named: Iterable[str] = (), *, every: bool = False) -> Iterator[None]:
    """Judge or lay out documents; of the Python files that they name, run those that are allowed.

    Where such a context is open already, that one decides.

    Args:
        named: what stands on the command line; a file among it (``my.py``, ``my.py:net``) may run.
        every: whether every file may run.

    Raises:
        UsageError: a document named another file, which was not run.
    """
    if _GATE.get() is not None:
        yield
        return
    files = (word.rpartition(":")[0] if ".py:" in word else word for word in named)
    gate = _Gate(frozenset(Path(file).resolve() for file in files if file.endswith(".py")), every)
    token = _GATE.set(gate)
    try:
        yield
    finally:
        _GATE.reset(token)
    if gate.refused:
        raise _error(gate.refused[0])


def check_runs(file: Path) -> None:
    """Check that a Python file may be run here.

    Raises:
        UsageError: a document names it, and nobody else does.
    """
    gate = _GATE.get()
    if gate is None or gate.every or file.resolve() in gate.named:
        return
    gate.refused.append(str(file))
    raise _error(str(file))


def _error(file: str) -> UsageError:
    name = brief(file)
    return UsageError(
        f"a document names Python that is not run: {name}",
        expected="graphs that ship, configurations and graphs as JSON, which run nothing",
        got=name,
        fix=f"read {name}, and where it may run write --run-python, or name the file on the command line too",
    )
