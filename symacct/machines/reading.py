"""Machine files: TOML, each number with unit, source and date; whatever is not understood is refused."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from symacct.errors import ReadError, SymacctError, unknown
from symacct.machines.machine import DTYPES, INTEGERS, Figure, Machine, Named, Peak
from symacct.units import read_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

LARGEST_FILE = 10**6
LARGEST, SMALLEST = 10**30, Decimal("1e-30")
RATE, INTEGER_RATE = "FLOP/second", "op/second"
UNITS = {"bandwidth": "byte/second", "capacity": "byte", "power": "joule/second"}
LISTS = ("peaks", "vectors", "caches", "links")
TOP = frozenset({"title", "sources", "one_peak", "notes", "calibrated", *UNITS, *LISTS})
DATE = re.compile(r"[12]\d{3}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")
FIGURE = frozenset({"value", "unit", "source", "date", "note"})
ONE_WAY, BOTH_WAYS = "one way", "both ways"
LONGEST = 400


@dataclass(frozen=True, slots=True)
class _Reading:
    """The file that is read, and the sources it names."""

    where: str
    sources: Mapping[str, Any]

    def wrong(self, what: str, expected: str, got: object, fix: str | None = None) -> ReadError:
        return ReadError(what, where=self.where, expected=expected, got=_shown(got), fix=fix)

    def table(self, value: Any, place: str, known: Collection[str]) -> Mapping[str, Any]:
        """Return a table of which all keys are known."""
        if not isinstance(value, dict):
            raise self.wrong(f"{place} is no table", "{ value = ..., unit = ..., source = ... }", value)
        for key in value:
            if key not in known:
                raise unknown("key", str(key), known, where=f"{self.where}, {place}")
        return value

    def word(self, table: Mapping[str, Any], key: str, place: str, default: str | None = None) -> str:
        """Return a text."""
        value = table.get(key, default)
        if not isinstance(value, str) or (not value.strip() and default != value) or len(value) > LONGEST:
            got = value if key in table else "nothing"
            raise self.wrong(f"{place} has no {key}", f"{key} = a text", got)
        return value

    def flag(self, table: Mapping[str, Any], key: str, place: str, expected: str) -> bool:
        """Return true or false, which must be said."""
        value = table.get(key)
        if not isinstance(value, bool):
            raise self.wrong(f"{place} does not say {key}", expected, value if key in table else "nothing")
        return value

    def dtype(self, table: Mapping[str, Any], key: str, place: str) -> str:
        """Return the name of a number format."""
        name = self.word(table, key, place)
        if name not in DTYPES:
            raise unknown("dtype", name, DTYPES, where=f"{self.where}, {place}")
        return name

    def figure(self, table: Mapping[str, Any], place: str, unit: str) -> Figure:
        """Return a number with its unit, source and date."""
        value = table.get("value")
        if isinstance(value, bool) or not isinstance(value, int | Decimal) or not _in_range(value):
            got = value if "value" in table else "nothing"
            raise self.wrong(f"{place} has no value", "value = a number above 0, at most 10^30", got)
        written = self.word(table, "unit", place)
        try:
            scale, base = read_unit(written)
        except SymacctError as error:
            raise error.at(f"{self.where}, {place}") from None
        if str(base) != unit:
            raise self.wrong(f"{place} has a unit that does not fit", f"a unit of {unit}", written)
        source, date = self.source(table, place)
        return Figure(Fraction(value) * scale, unit, source, date, self.word(table, "note", place, ""))

    def source(self, table: Mapping[str, Any], place: str) -> tuple[str, str]:
        """Return who says so, and when: in place, or by a name under ``[sources]``."""
        name = self.word(table, "source", place)
        if name not in self.sources:
            return name, self.date(table, place)
        found = self.table(self.sources[name], f"source {name}", ("text", "date"))
        return self.word(found, "text", f"source {name}"), self.date(found, f"source {name}")

    def date(self, table: Mapping[str, Any], place: str) -> str:
        """Return when something was said: a year, a month or a day."""
        written = self.word(table, "date", place)
        if not DATE.fullmatch(written):
            raise self.wrong(f"{place} has no date", "YYYY, YYYY-MM or YYYY-MM-DD", written)
        return written

    def listed(self, data: Mapping[str, Any], key: str) -> list[Any]:
        """Return a list of tables."""
        found = data.get(key, [])
        if not isinstance(found, list):
            raise self.wrong(f"{key} is no list", f"{key} = [{{ ... }}, ...]", found)
        return found


def read_machines(text: str, name: str, where: str) -> dict[str, Callable[[], Machine]]:
    """Return what reads each machine of a file, by name; of several the names are ``file:name``.

    Raises:
        ReadError: the file is not TOML, too large, or something in it is not understood.
    """
    if len(text) > LARGEST_FILE:
        raise ReadError("a machine file is too large", where=where, expected=f"at most {LARGEST_FILE} bytes")
    try:
        data = tomllib.loads(text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, ArithmeticError, ValueError, RecursionError) as error:
        raise ReadError(
            "a machine file is not TOML", where=where, expected="TOML", got=_shown(str(error))
        ) from None
    several = data.get("machines")
    if several is None:
        return {name: partial(read_machine, data, name, where)}
    if not isinstance(several, dict) or len(data) > 1:
        raise ReadError(
            "a file of several machines holds tables [machines.NAME] alone",
            where=where,
            expected="[machines.NAME], each as a machine file",
            got=", ".join(map(str, data)),
        )
    return {
        f"{name}:{one}": partial(read_machine, part, f"{name}:{one}", where) for one, part in several.items()
    }


def read_machine(data: Any, name: str, where: str) -> Machine:
    """Return a machine from its table.

    Raises:
        ReadError: a key is unknown, a peak does not say its number format and whether it is dense, a number
            has no unit or no source.
    """
    top = _Reading(where, {}).table(data, "the machine", TOP)
    sources = _Reading(where, {}).table(top.get("sources", {}), "sources", top.get("sources", {}))
    reading = _Reading(where, sources)
    title = reading.word(top, "title", "the machine")
    if top.get("calibrated") is True:
        raise _uncalibrated(name, title, where)
    parts = {
        part: reading.figure(reading.table(top[part], part, FIGURE), part, unit)
        for part, unit in UNITS.items()
        if part in top
    }
    peaks = tuple(_peak(reading, one) for one in reading.listed(top, "peaks"))
    _check_once(reading, "peaks", [str(peak) for peak in peaks])
    vectors = tuple(_vector(reading, one) for one in reading.listed(top, "vectors"))
    _check_once(reading, "vectors", [one.name for one in vectors])
    one_peak = "one_peak" in top and reading.flag(top, "one_peak", "the machine", "true or false")
    return Machine(
        name,
        title,
        1,
        peaks,
        vectors,
        caches=tuple(_cache(reading, one) for one in reading.listed(top, "caches")),
        links=tuple(_link(reading, one) for one in reading.listed(top, "links")),
        one_peak=one_peak,
        **parts,
    )


def _peak(reading: _Reading, given: Any) -> Peak:
    table = reading.table(given, "a peak", FIGURE | {"dtype", "accumulate", "sparse"})
    dtype = reading.dtype(table, "dtype", "a peak")
    place = f"the peak of {dtype}"
    accumulate = reading.dtype(table, "accumulate", place) if "accumulate" in table else None
    sparse = reading.flag(table, "sparse", place, "sparse = true (2:4 sparsity) or sparse = false (dense)")
    return Peak(dtype, accumulate, sparse, reading.figure(table, place, _rate(dtype)))


def _vector(reading: _Reading, given: Any) -> Named:
    table = reading.table(given, "a vector rate", FIGURE | {"dtype"})
    dtype = reading.dtype(table, "dtype", "a vector rate")
    return Named(dtype, reading.figure(table, f"the vector rate of {dtype}", _rate(dtype)))


def _cache(reading: _Reading, given: Any) -> Named:
    table = reading.table(given, "a cache", FIGURE | {"name"})
    name = reading.word(table, "name", "a cache")
    return Named(name, reading.figure(table, name, UNITS["bandwidth"]))


def _link(reading: _Reading, given: Any) -> Named:
    """Return a link, in one direction: vendors print the sum of both."""
    table = reading.table(given, "a link", FIGURE | {"name", "direction"})
    name = reading.word(table, "name", "a link")
    direction = reading.word(table, "direction", name)
    if direction not in (ONE_WAY, BOTH_WAYS):
        raise reading.wrong(f"{name} has no direction", f'"{ONE_WAY}" or "{BOTH_WAYS}"', direction)
    figure = reading.figure(table, name, UNITS["bandwidth"])
    return Named(name, figure if direction == ONE_WAY else figure.times(Fraction(1, 2)))


def _rate(dtype: str) -> str:
    return INTEGER_RATE if dtype in INTEGERS else RATE


def _check_once(reading: _Reading, what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise reading.wrong(f"{what} hold one thing twice", "each once", name)


def _uncalibrated(name: str, title: str, where: str) -> ReadError:
    return ReadError(
        f"{name} has no numbers yet: {title}",
        where=where,
        expected=f"a calibration, {name}.toml, in a folder given by --machines DIR",
        got="no such file",
        fix=f"symacct measure GRAPH --device {name} --save DIR measures and saves one",
    )


def _in_range(value: int | Decimal) -> bool:
    finite = not isinstance(value, Decimal) or value.is_finite()
    return finite and SMALLEST <= value <= LARGEST


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
