"""Machines by name: those that ship, those in folders of the user's, and files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from symacct.data import shipped
from symacct.errors import ReadError, UsageError, unknown
from symacct.machines.reading import LARGEST_FILE, read_machines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from symacct.machines.machine import Machine

SEVERAL = re.compile(r"(?P<count>[0-9]{1,8})\s*[x×]\s*(?P<rest>\S.*)", re.DOTALL)
LONGEST = 400
SUFFIX = ".toml"


def load(text: str, dirs: Sequence[str | Path] = ()) -> Machine:
    """Return the machine of a name, or of a file; ``8xh100-sxm`` is eight of them.

    Args:
        text: ``h100-sxm``, ``8xh100-sxm``, ``lecture:h100``, or the path of a file that ends in ``.toml``.
        dirs: folders with files of the user's.

    Raises:
        UnknownNameError: there is none of this name; the nearest are named.
        ReadError: its file is not as it should be, or has to be calibrated first.

    >>> machine = load("8xh100-sxm")
    >>> machine.count, str(machine.peak("bf16")), str(machine.capacity)
    (8, '7.916 PFLOP/s', '640 GB')
    """
    name = text.strip()
    if not name or len(name) > LONGEST:
        raise UsageError("a machine has no name", expected="h100-sxm, 8xh100-sxm or FILE.toml", got=name[:80])
    if found := SEVERAL.fullmatch(name):
        return load(found["rest"], dirs).times(int(found["count"]))
    path, _, part = name.partition(f"{SUFFIX}:") if f"{SUFFIX}:" in name else (name, "", "")
    if part or name.endswith(SUFFIX):
        return _of_file(Path(path if not part else path + SUFFIX), part)
    known = _known(dirs)
    if name not in known:
        raise _unknown(name, known)
    return known[name]()


def names(dirs: Sequence[str | Path] = ()) -> tuple[str, ...]:
    """Return the names of the machines that ship, and of those in folders, sorted.

    >>> "h100-sxm" in names()
    True
    """
    return tuple(sorted(_known(dirs)))


def _known(dirs: Iterable[str | Path]) -> dict[str, Callable[[], Machine]]:
    """Return what reads each machine; a file of the user's may fill in what ships without numbers."""
    known = _folder(shipped("machines"))
    for one in dirs:
        folder = Path(one)
        if not folder.is_dir():
            raise ReadError("a folder of machines is not there", where="--machines", got=str(folder)[:200],
                            expected="a folder with files NAME.toml")  # fmt: skip
        for name, read in _folder(folder).items():
            if name in known and name not in CALIBRATED:
                raise ReadError(f"machine {name} is there twice", where=str(folder), expected="a new name",
                                got=name, fix=f"call it something else than {name}{SUFFIX}")  # fmt: skip
            known[name] = read
    return known


CALIBRATED = ("cpu",)
"""Machines that ship without numbers."""


def _folder(folder: Path) -> dict[str, Callable[[], Machine]]:
    found: dict[str, Callable[[], Machine]] = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        found |= read_machines(_text(path), path.stem, str(path))
    return found


def _of_file(path: Path, part: str) -> Machine:
    found = read_machines(_text(path), path.stem, str(path))
    name = f"{path.stem}:{part}" if part else path.stem
    if name not in found:
        raise unknown("machine", name, found, where=str(path))
    return found[name]()


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ReadError("a machine file is too large", where=str(path),
                            expected=f"at most {LARGEST_FILE} bytes")  # fmt: skip
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ReadError(
            "a machine file cannot be read",
            where=str(path)[:200],
            expected="a file of TOML",
            got=str(error)[:120],
        ) from None


def _unknown(name: str, known: Iterable[str]) -> Exception:
    """Return the error for a name that is not known; where it is the start of several, these are named."""
    near = [one for one in sorted(known) if one.partition(":")[2].startswith(name) or one.startswith(name)]
    error = unknown("machine", name, known)
    if near and name:
        error.fix = f"say which: {', '.join(near)}" if len(near) > 1 else f"did you mean {near[0]!r}?"
    return error
