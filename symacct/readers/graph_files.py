"""Python files with graphs. Loading one runs it, as importing it would; what it prints goes to stderr."""

from __future__ import annotations

import sys
from contextlib import contextmanager, redirect_stdout
from types import ModuleType
from typing import TYPE_CHECKING, Any

from symacct.build import Definition
from symacct.errors import ReadError, SymacctError, nearest, unknown
from symacct.nodes import Graph
from symacct.readers.strict_json import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UNDER = "\n" + " " * 12
"""What puts a formula, with a mark below one of its letters, under the place that it stands in."""


def graph_of(path: Path, name: str | None = None) -> Graph:
    """Run a file and return one of its graphs; ``name`` may be left out where it has only one.

    Raises:
        SymacctError: the file cannot be read or fails, with its line; or it has no such graph.
    """
    found = _graphs(path, _run(path))
    if name is None and len(found) == 1:
        name = next(iter(found))
    if name is None:
        raise ReadError(
            f"{path.name} has {len(found) or 'no'} graphs",
            where=str(path),
            expected=f"{path.name}:NAME, one of: {nearest(path.stem, sorted(found))}"
            if found
            else "one graph",
            got=path.name,
            fix=None if found else 'decorate a function with @graph({"B": "rows"})',
        )
    if name not in found:
        raise unknown("graph", name, found, where=str(path))
    chosen = found[name]
    if isinstance(chosen, Graph):
        return chosen
    with placed(path, _first_line(path, chosen)), redirect_stdout(sys.stderr):
        return chosen()


def _first_line(path: Path, definition: Definition) -> int:
    """Return the line of a definition's ``def``, below its decorators."""
    start = definition.function.__code__.co_firstlineno
    lines = read_text(path).splitlines()[start - 1 :]
    return next((start + at for at, line in enumerate(lines) if line.lstrip().startswith("def ")), start)


def _graphs(path: Path, names: dict[str, Any]) -> dict[str, Definition | Graph]:
    """Return what the file itself defines: imported graphs are not among its own."""
    return {
        name: value
        for name, value in names.items()
        if isinstance(value, Graph)
        or (isinstance(value, Definition) and value.function.__code__.co_filename == str(path))
    }


def _run(path: Path) -> dict[str, Any]:
    """Run a file as a module, with its folder first among the places that it imports from."""
    text = read_text(path)
    module = ModuleType(f"symacct_graphs_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    sys.path.insert(0, str(path.parent))
    try:
        with placed(path), redirect_stdout(sys.stderr):
            exec(compile(text, str(path), "exec", dont_inherit=True), module.__dict__)  # noqa: S102 (the help says so)
    finally:
        sys.path.remove(str(path.parent))
    return module.__dict__


@contextmanager
def placed(path: Path, first: int = 1) -> Iterator[None]:
    """Turn whatever a file's code raises into an error that names the file and the line.

    ``first`` is the line of what fails outside of the file's own code.

    Raises:
        SymacctError: the code failed.
    """
    try:
        yield
    except SymacctError as error:
        place = f"{path}:{_line(error, path, first)}"
        pointed = error.where is not None and "\n" in error.where
        if error.where is None:
            error.where = place
        else:
            error.where = f"{place}{UNDER if pointed else ', '}{error.where}"
        raise
    except SyntaxError as error:
        here = error.filename == str(path)
        place = f"{path}:{error.lineno}" if here else f"{path}, through {error.filename}:{error.lineno}"
        raise ReadError(
            f"{path.name} is not valid Python", where=place, expected="Python", got=error.msg
        ) from error
    except (Exception, SystemExit) as error:  # somebody else's code may raise anything
        raise ReadError(
            f"{path.name} fails when it is run",
            where=f"{path}:{_line(error, path, first)}",
            expected="a file that defines graphs",
            got=f"{type(error).__name__}: {error}"[:200],
        ) from error


def _line(error: BaseException, path: Path, first: int) -> int:
    """Return the line of the file where an error passed through last."""
    line, trace = first, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
