"""Claim files: what is stated, of which graph, and the verdict that is expected; as TOML.

A file has ``[[claim]]`` tables. Reading it runs nothing; judging a claim about ``my.py:name`` runs that file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from symacct.data import shipped
from symacct.errors import ReadError, unknown
from symacct.readers.stated import Stated, check_keys, read_stated, read_toml, text_of
from symacct.readers.strict_json import read_text

if TYPE_CHECKING:
    from collections.abc import Mapping

TOP = ("about", "about_zh", "source", "claim")


@dataclass(frozen=True, slots=True)
class ClaimFile:
    """A file of claims: its name, what it is about, where it comes from, and what it states."""

    name: str
    path: Path
    about: str
    source: str
    claims: tuple[Stated, ...]
    about_zh: str = ""

    def title(self, lang: str) -> str:
        """Return what it is about, in a language where that is said; else its name."""
        return (self.about_zh if lang == "zh" else "") or self.about or self.name


def list_claim_files() -> tuple[ClaimFile, ...]:
    """Return the claim files that ship, by name."""
    return tuple(read_claim_file(path) for path in shipped_claim_files().values())


def shipped_claim_files() -> Mapping[str, Path]:
    """Return the paths of the claim files that ship, by name; none of them is read.

    >>> "chain" in shipped_claim_files()
    True
    """
    return {path.stem: path for path in sorted(shipped("claims").glob("*.toml"))}


def find_claim_file(target: str) -> Path:
    """Return the path of a claim file: ``my.toml``, or the name of one that ships.

    Raises:
        UnknownNameError: no such file ships.
    """
    if target.endswith(".toml"):
        return Path(target)
    names = shipped_claim_files()
    if target not in names:
        raise unknown("claim file", target, names)
    return names[target]


def read_claim_file(path: Path) -> ClaimFile:
    """Return what a claim file states.

    Raises:
        ReadError: it cannot be read, or is no claim file; the error names the file and the claim.
    """
    return claims_in(read_text(path), path)


def claims_in(text: str, path: Path) -> ClaimFile:
    """Return what the text of a claim file states.

    Raises:
        ReadError: it is no claim file; the error names the file and the claim.
    """
    file = str(path)
    table = read_toml(text, file, "[[claim]]")
    check_keys(table, TOP, file)
    entries = table.get("claim")
    if not isinstance(entries, list) or not entries:
        raise ReadError(
            "a claim file holds [[claim]] tables",
            where=file,
            expected="[[claim]]",
            got="none" if not entries else "[claim]",
            fix="write [[claim]] above each claim, with two brackets",
        )
    found: dict[str, Stated] = {}
    for number, entry in enumerate(entries, 1):
        stated = read_stated(entry, file, number)
        if stated.name in found:
            what, got = f"two claims are called {stated.name!r}", f"{stated.name!r} again, claim {number}"
            raise ReadError(what, where=file, expected="each name once", got=got)
        found[stated.name] = stated
    about, about_zh, source = (text_of(table, key, file) or "" for key in ("about", "about_zh", "source"))
    return ClaimFile(path.stem, path, about, source, tuple(found.values()), about_zh)
