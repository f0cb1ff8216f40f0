"""Every op, each in one place: an op is in ``OPS`` because its class stands in a file of this folder."""

from __future__ import annotations

from importlib import import_module
from inspect import isabstract
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from symacct.op import Op

if TYPE_CHECKING:
    from collections.abc import Iterator


def _found() -> Iterator[type[Op]]:
    for file in iter_modules(__path__, f"{__name__}."):
        for item in vars(import_module(file.name)).values():
            if isinstance(item, type) and issubclass(item, Op) and not isabstract(item):
                yield item


OPS = tuple(sorted(set(_found()), key=lambda op: op.__name__))
"""All op classes, by name in alphabetical order."""


def __getattr__(name: str) -> type[Op]:
    """Return an op class by name."""
    for op in OPS:
        if op.__name__ == name:
            return op
    raise AttributeError(f"symacct has no op {name}")
