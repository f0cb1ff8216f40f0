"""Typed access to a configuration: each value is checked, and an error says which key of which file."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symacct.errors import ReadError
from symacct.readers.families import ALIASES, Key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LARGEST = 10**12


@dataclass(frozen=True, slots=True)
class Values:
    """The keys of a configuration, and where they come from."""

    data: Mapping[str, Any]
    where: str

    def has(self, name: str) -> bool:
        """Return whether the key, or another name of it, is given."""
        return any(key in self.data for key in (name, *ALIASES.get(name, ())))

    def get(self, name: str) -> Any:
        """Return a value under its key or another name of it; two names must agree."""
        given = [key for key in (name, *ALIASES.get(name, ())) if key in self.data]
        for other in given[1:]:
            if self.data[other] != self.data[given[0]]:
                raise ReadError(
                    f"{given[0]} and {other} are the same size and differ",
                    where=self.where,
                    expected=f"{other} = {shown(self.data[given[0]])}",
                    got=shown(self.data[other]),
                )
        return self.data[given[0]] if given else None

    def count(self, name: str) -> int:
        """Return a size that must be given.

        Raises:
            ReadError: it is missing, or not an integer of at least 1.
        """
        if not self.has(name):
            raise ReadError(
                f"{name} is missing",
                where=self.where,
                expected=f"{name}: an integer of at least 1",
                got=f"the keys {', '.join(sorted(self.data)[:20]) or '(none)'}",
            )
        return self._count(name, self.get(name))

    def optional(self, key: Key) -> int | None:
        """Return a size, the family's default where it is absent, None where it is null."""
        if not self.has(key.name):
            return key.default if isinstance(key.default, int) else None
        value = self.get(key.name)
        return None if value is None else self._count(key.name, value)

    def _count(self, name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            fix = f"write {int(value)}" if isinstance(value, Decimal) and _whole(value) else None
            raise self._wrong(name, "an integer of at least 1", value, fix)
        if not 1 <= value <= LARGEST:
            raise ReadError(
                f"{name} is out of range",
                where=self.where,
                expected=f"an integer from 1 to {LARGEST}",
                got=str(value)[:60],
            )
        return value

    def flag(self, key: Key | bool) -> bool:  # noqa: FBT001 (a row states either)
        """Return whether something holds: fixed in the family, or as the configuration says."""
        if isinstance(key, bool):
            return key
        value = self.data.get(key.name, key.default)
        if not isinstance(value, bool):
            raise self._wrong(key.name, "true or false", value)
        return value

    def word(self, key: Key) -> str:
        """Return a name."""
        value = self.data.get(key.name, key.default)
        if not isinstance(value, str):
            raise self._wrong(key.name, "a name", value)
        return value

    def rate(self, name: str | None, default: str) -> Fraction:
        """Return a dropout rate, exact: at least 0 and less than 1."""
        if name is None:
            return Fraction(0)
        value = self.data.get(name, Decimal(default))
        if isinstance(value, bool) or not isinstance(value, int | Decimal) or not 0 <= value < 1:
            raise self._wrong(name, "a rate of at least 0 and less than 1", value)
        return (
            Fraction(value) if isinstance(value, int) or value.adjusted() > -LARGEST_EXPONENT else Fraction(0)
        )

    def words(self, name: str) -> Sequence[Any] | None:
        """Return a list, or None where it is absent or null."""
        value = self.data.get(name)
        if value is not None and not isinstance(value, list):
            raise self._wrong(name, "a list", value)
        return value

    def _wrong(self, name: str, expected: str, value: Any, fix: str | None = None) -> ReadError:
        return ReadError(
            f"{name} has a value of the wrong kind",
            where=self.where,
            expected=expected,
            got=shown(value),
            fix=fix,
        )


LARGEST_EXPONENT = 30


def _whole(value: Decimal) -> bool:
    return 0 < value.adjusted() + 1 < LARGEST_EXPONENT and value == value.to_integral_value()


def shown(value: Any) -> str:
    """Return a value as JSON would show it, with its kind.

    >>> shown(True), shown(None), shown("7"), shown(-1)
    ('true (a boolean)', 'null', '"7" (text)', '-1')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"{str(value).lower()} (a boolean)"
    if isinstance(value, str):
        return f'"{value[:60]}" (text)'
    if isinstance(value, Decimal):
        return f"{value} (not an integer)"
    return str(value)[:60]
