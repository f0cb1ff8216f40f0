"""Torch, imported when something is first executed, and set up for counting."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from symacct.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator


def load_torch() -> Any:
    """Return torch.

    Raises:
        UsageError: it is not installed.
    """
    try:
        return import_module("torch")
    except ImportError as error:
        raise UsageError(
            "executing a graph needs torch, which is not installed",
            expected="an environment with torch",
            got=str(error),
            fix="pip install 'torch>=2.5' numpy (in a checkout: pip install -e '.[torch]')",
        ) from None


@contextmanager
def plain_einsum(torch: Any) -> Iterator[None]:
    """Contract operands in the order they are written while the context lasts."""
    settings = torch.backends.opt_einsum
    before = settings.enabled
    settings.enabled = False
    try:
        yield
    finally:
        settings.enabled = before
