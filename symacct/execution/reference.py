"""A user's function by reference: imported, called with the sizes, checked; what it prints goes to stderr."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symacct.errors import SymacctError, UsageError
from symacct.execution.framework import load_torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

FORM = "module:function, where function(sizes) returns (torch.nn.Module, tuple of its inputs)"


def built(reference: str, sizes: Mapping[str, int]) -> tuple[Any, tuple[Any, ...]]:
    """Import the function, call it with the sizes, and return the module and its inputs.

    Raises:
        UsageError: any of that fails; the place is named.
    """
    with redirect_stdout(sys.stderr):
        function = _imported(reference)
    try:
        with redirect_stdout(sys.stderr):
            result = function(dict(sizes))
    except SymacctError:
        raise
    except Exception as error:
        raise failed(reference, f"{reference} raised {type(error).__name__}: {error}") from error
    torch = load_torch()
    fits = isinstance(result, tuple) and len(result) == len(("module", "inputs"))
    if not fits or not isinstance(result[0], torch.nn.Module) or not isinstance(result[1], tuple | list):
        raise UsageError(
            f"{reference} does not return a module and its inputs",
            where=reference,
            expected="(torch.nn.Module, tuple of inputs)",
            got=_shape_of(result),
            fix="return model, (x,)",
        )
    return result[0], tuple(result[1])


def _imported(reference: str) -> Callable[[dict[str, int]], Any]:
    name, _, function = reference.rpartition(":")
    if not name or not function.isidentifier():
        raise UsageError("--against needs a module and a function", expected=FORM, got=reference)
    try:
        module = _from_file(Path(name)) if name.endswith(".py") else _from_here(name)
    except Exception as error:
        raise failed(reference, f"importing {name} raised {type(error).__name__}: {error}") from error
    found = getattr(module, function, None)
    if not callable(found):
        known = sorted(n for n, v in vars(module).items() if callable(v) and not n.startswith("_"))
        raise UsageError(
            f"{name} has no function {function}",
            where=reference,
            expected=", ".join(known) or FORM,
            got=function,
        )
    return found  # type: ignore[no-any-return]


def _from_here(name: str) -> ModuleType:
    """Import a module by name, also one that stands in the current directory."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        return import_module(name)
    finally:
        sys.path.remove(here)


def _from_file(path: Path) -> ModuleType:
    name = f"against_{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def failed(reference: str, what: str) -> UsageError:
    """Return the error for a reference whose code raised."""
    return UsageError(
        what, where=reference, expected=FORM, fix="run the function by itself to see its traceback"
    )


def _shape_of(result: object) -> str:
    if isinstance(result, tuple):
        return f"a tuple of {', '.join(type(item).__name__ for item in result) or 'nothing'}"
    return type(result).__name__
