"""The one registry of units. Values carry a `Unit` in base units; prefixes exist only in text.

pint reads `units.txt`, is imported at the first unit that is not a base unit, and stays inside this file.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, NoReturn

from sympy import Expr, Rational

from symacct.algebra.normal import normal
from symacct.algebra.symbols import is_name
from symacct.errors import UnitError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pint import UnitRegistry

BASES = (
    *("FLOP", "op", "byte", "joule", "dollar"),
    *("parameter", "token", "sequence", "layer", "device", "microstep", "step", "second"),
)
PHYSICAL = frozenset({"FLOP", "op", "byte", "joule", "dollar", "second"})
PLACES = {name: place for place, name in enumerate(BASES)}
LONGEST_TEXT = 200
NOT_A_NUMBER = "nan"
"""A number to pint, whatever its letters; no unit here."""
LARGEST_POWER = 64
DEEPEST = 20
TOKEN = re.compile(r"\s*(?:(?P<word>[^\W\d]\w*|[$%])|(?P<number>[0-9]+)|(?P<sign>\*\*|[-*/^()·×]))")
SUPERSCRIPTS = str.maketrans({"⁻": "-", **{raised: str(digit) for digit, raised in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}})
RAISED = re.compile(r"(⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
SYMBOLS = {"$": "dollar", "%": "percent", "μs": "microsecond"}
BITS = re.compile(r"(?P<prefix>[kKMGTPE]i?)?b(?P<rate>ps)?")
RATE_AS_COUNT = re.compile(r"(?P<prefix>[kMGTPE]?)(?P<unit>FLOP|OP)S(?P<per>PS)?")

Powers = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """A product of powers of base units, known by its canonical text.

    >>> Unit("FLOP / second") == Unit("FLOP/second")
    True
    >>> print(Unit("FLOP").over(Unit("token*parameter")))
    FLOP/(parameter*token)
    >>> print(Unit("GB"))
    Traceback (most recent call last):
    symacct.errors.UnitError: 'GB' is not a base unit
      expected  a product of powers of base units: byte
      got       GB, which is 1000000000 byte
      fix       read it with read_unit, which gives the factor too
    """

    text: str

    def __post_init__(self) -> None:
        """Bring the text into canonical form."""
        scale, dims = _read(self.text)
        canonical = _write(dims)
        if scale != 1:
            what = f"{self.text!r} is not a base unit"
            expected = f"a product of powers of base units: {canonical}"
            fix = "read it with read_unit, which gives the factor too"
            raise UnitError(
                what, expected=expected, got=f"{self.text}, which is {scale} {canonical}", fix=fix
            )
        object.__setattr__(self, "text", canonical)

    def __str__(self) -> str:
        """Return the canonical text; ``1`` for a pure number."""
        return self.text

    @property
    def dims(self) -> Powers:
        """The base units and their exponents, in a fixed order."""
        return _read(self.text)[1]

    def times(self, other: Unit) -> Unit:
        """Return the product."""
        return other if self.text == "1" else self if other.text == "1" else _times(self, other, 1)

    def over(self, other: Unit) -> Unit:
        """Return the quotient."""
        return self if other.text == "1" else _times(self, other, -1)

    def power(self, exponent: int) -> Unit:
        """Return an integer power.

        >>> print(Unit("byte/second").power(-1))
        second/byte
        """
        return of_dims((name, power * exponent) for name, power in self.dims)

    @property
    def physical(self) -> bool:
        """Whether a physical unit (byte, FLOP, op, second, joule, dollar) is in it."""
        return any(name in PHYSICAL for name, _ in self.dims)


@lru_cache(maxsize=1 << 12)
def _times(left: Unit, right: Unit, sign: int) -> Unit:
    return of_dims((*left.dims, *((name, sign * power) for name, power in right.dims)))


def of_dims(powers: Iterable[tuple[str, int]]) -> Unit:
    """Return the unit with these powers of base units.

    >>> of_dims([("byte", 1), ("second", -1)])
    Unit(text='byte/second')
    """
    return Unit(_write(_collect(powers)))


def _collect(powers: Iterable[tuple[str, int]]) -> Powers:
    table: Counter[str] = Counter()
    for name, power in powers:
        table[name] += power
    return tuple(
        sorted(((name, power) for name, power in table.items() if power), key=lambda one: PLACES[one[0]])
    )


def _write(dims: Powers) -> str:
    above = [name if power == 1 else f"{name}^{power}" for name, power in dims if power > 0]
    below = [name if power == -1 else f"{name}^{-power}" for name, power in dims if power < 0]
    top = "*".join(above) or "1"
    if not below:
        return top
    return f"{top}/{below[0]}" if len(below) == 1 else f"{top}/({'*'.join(below)})"


def read_unit(text: str) -> tuple[Fraction, Unit]:
    """Return the factor to base units, and the base unit.

    Raises:
        UnitError: the text is not a unit.

    >>> read_unit("TFLOP/s")
    (Fraction(1000000000000, 1), Unit(text='FLOP/second'))
    >>> read_unit("FLOPS")
    Traceback (most recent call last):
    symacct.errors.UnitError: 'FLOPS' may be a count or a rate
      expected  FLOP or FLOP/s
      got       FLOPS
      fix       write FLOP for a count, FLOP/s for a rate
    """
    scale, dims = _read(text)
    return scale, Unit(_write(dims))


@lru_cache(maxsize=1 << 10)
def _read(text: str) -> tuple[Fraction, Powers]:
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        what = "a unit is a short text"
        raise UnitError(what, expected=f"at most {LONGEST_TEXT} characters", got=str(text)[:LONGEST_TEXT])
    if text.strip() == "B":
        what = "'B' alone is not a unit"
        raise UnitError(
            what, expected="byte, or B with a prefix or in a quotient: GB, B/s", got="B", fix="write byte"
        )
    return _Reader(text).whole()


class _Reader:
    """Reads one unit text: names, ``*`` or a space, ``/`` or ``per``, ``^``, brackets and the number 1."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self.split(RAISED.sub(r"^(\1)", text).translate(SUPERSCRIPTS))
        self.place = 0

    def split(self, text: str) -> list[str]:
        tokens, place, end = [], 0, len(text.rstrip())
        while place < end:
            match = TOKEN.match(text, place)
            if match is None:
                self.fail(f"{text[place:].strip()[0]!r} has no meaning in a unit")
            tokens.append(match.group().strip())
            place = match.end()
        return tokens

    def fail(self, what: str, fix: str | None = None) -> NoReturn:
        expected = "names of units, *, /, ^ and brackets: FLOP/(parameter*token)"
        raise UnitError(what, expected=expected, got=self.text.strip() or "nothing", fix=fix)

    def peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def whole(self) -> tuple[Fraction, Powers]:
        result = self.product()
        if self.peek():
            self.fail(f"{self.peek()!r} does not continue the unit {self.text.strip()!r}")
        return result

    def product(self) -> tuple[Fraction, Powers]:
        scale, dims = self.power()
        divided = False
        while (word := self.peek()) and word != ")":
            below = word in {"/", "per"}
            joined = not below and word not in {"*", "·", "×"}
            if divided and joined:
                fix = "write a/(b*c) or (a/b)*c"
                self.fail(f"it is unclear whether {word!r} stands below the line", fix)
            self.place += not joined
            more, others = self.power()
            sign = -1 if below else 1
            scale *= more**sign
            dims = _collect((*dims, *((name, sign * power) for name, power in others)))
            divided = below
        return scale, dims

    def power(self) -> tuple[Fraction, Powers]:
        scale, dims = self.atom()
        if self.peek() in {"^", "**"}:
            self.place += 1
            exponent = self.exponent()
            return scale**exponent, _collect((name, power * exponent) for name, power in dims)
        return scale, dims

    def exponent(self) -> int:
        bracket = self.peek() == "("
        self.place += bracket
        sign = -1 if self.peek() == "-" else 1
        self.place += self.peek() == "-"
        digits = self.peek()
        if not digits.isdecimal() or len(digits) > len(str(LARGEST_POWER)) or int(digits) > LARGEST_POWER:
            self.fail(f"an exponent of a unit is an integer of at most {LARGEST_POWER}")
        self.place += 1
        if bracket and self.peek() != ")":
            self.fail("a bracket is not closed")
        self.place += bracket
        return sign * int(digits)

    def atom(self) -> tuple[Fraction, Powers]:
        word = self.peek()
        self.place += 1
        if word == "(":
            if self.text.count("(") > DEEPEST:
                self.fail(f"a unit has at most {DEEPEST} brackets")
            inside = self.product()
            if self.peek() != ")":
                self.fail("a bracket is not closed")
            self.place += 1
            return inside
        if word == "1":
            return Fraction(1), ()
        if word[:1].isdecimal():
            self.fail(f"the number {word[:20]} stands inside a unit", "put numbers before the unit")
        if not word or not (word[0].isalpha() or word[0] in "_$%"):
            self.fail(f"{word!r} stands where a unit must" if word else "the unit is incomplete")
        return resolve(word)


@lru_cache(maxsize=1 << 10)
def resolve(name: str) -> tuple[Fraction, Powers]:
    """Return the factor and the base units of one name.

    Raises:
        UnitError: there is no such unit.

    >>> resolve("GiB"), resolve("params")
    ((Fraction(1073741824, 1), (('byte', 1),)), (Fraction(1, 1), (('parameter', 1),)))
    """
    name = SYMBOLS.get(name, name)
    for known in (name, name.removesuffix("s")):
        if known in PLACES:
            return Fraction(1), ((known, 1),)
    _refuse_ambiguous(name)
    if not is_name(name) or name.casefold() == NOT_A_NUMBER:
        raise _unknown(name)
    from pint.errors import UndefinedUnitError

    registry, exact, _ = _registry()
    singular = name.removesuffix("s")
    try:
        quantity = registry.Quantity(Fraction(1), singular if singular in exact else name).to_base_units()
    except UndefinedUnitError:
        raise _unknown(name) from None
    dims = _collect((base, int(power)) for base, power in quantity._units.items())  # noqa: SLF001 (no public table)
    return Fraction(quantity.magnitude), dims


def is_unit(name: str) -> bool:
    """Return whether a word is the name of a unit (``B`` alone is none).

    >>> [is_unit(name) for name in ("GB", "token", "B", "heads")]
    [True, True, False, False]
    """
    try:
        return name != "B" and bool(resolve(name))
    except UnitError:
        return False


@cache
def _registry() -> tuple[UnitRegistry, frozenset[str], tuple[str, ...]]:
    """Return pint's registry, every exact spelling in the file, and the sorted main names."""
    from pint import UnitRegistry

    lines = files("symacct").joinpath("units.txt").read_text(encoding="utf-8").splitlines()
    registry = UnitRegistry(None, non_int_type=Fraction)
    registry.load_definitions(lines)
    units = dict(registry._units)  # noqa: SLF001 (no public table; pint adds prefixed names to it later)
    return registry, frozenset(units), tuple(sorted({str(unit.name) for unit in units.values()}))


def _refuse_ambiguous(name: str) -> None:
    bits, rate = BITS.fullmatch(name), RATE_AS_COUNT.fullmatch(name)
    if rate:
        good = f"{rate['prefix']}{'FLOP' if rate['unit'] == 'FLOP' else 'op'}"
        fix = f"write {good} for a count, {good}/s for a rate"
        raise UnitError(
            f"{name!r} may be a count or a rate", expected=f"{good} or {good}/s", got=name, fix=fix
        )
    if bits:
        good = "k" if bits["prefix"] == "K" else bits["prefix"] or ""
        per = "/s" if bits["rate"] else ""
        fix = f"write {good}bit{per} for bits, {good}{'B' if good else 'byte'}{per} for bytes"
        raise UnitError(
            f"{name!r} may be bits or bytes", expected=f"{good}bit{per} or {good}B{per}", got=name, fix=fix
        )


def long_name(name: str) -> str:
    """Return the long name of a unit.

    >>> long_name("s"), long_name("ms")
    ('second', 'millisecond')
    """
    return str(_registry()[0].get_name(SYMBOLS.get(name, name)))


def spellings(name: str) -> list[str]:
    """Return every spelling in the file of units that means the same as a unit, sorted.

    >>> spellings("hour"), spellings("param")
    (['h', 'hour', 'hr'], ['param', 'parameter'])
    """
    meaning = resolve(name)
    return sorted(one for one in _registry()[1] if is_unit(one) and resolve(one) == meaning)


def meant(name: str) -> str | None:
    """Return what a refused name most likely means: a rate where it ends in S, bits where it ends in b.

    >>> [meant(name) for name in ("TFLOPS", "Gb", "Gbps", "GBps", "KB", "tokn", "heads")]
    ['TFLOP/s', 'Gbit', 'Gbit/s', 'GB/s', 'kB', 'token', None]
    """
    rate, bits = RATE_AS_COUNT.fullmatch(name), BITS.fullmatch(name)
    if rate:
        return f"{rate['prefix']}{'FLOP' if rate['unit'] == 'FLOP' else 'op'}/s"
    if bits:
        prefix = "k" if bits["prefix"] == "K" else bits["prefix"] or ""
        return f"{prefix}bit{'/s' if bits['rate'] else ''}"
    if name.endswith("ps") and is_unit(name[:-2]):
        return f"{name[:-2]}/s"
    return _near(name, 0.75)


def unit_names() -> list[str]:
    """Return the sorted names of all units, without prefixes.

    >>> [name for name in unit_names() if name.startswith("b")]
    ['bit', 'byte']
    """
    return list(_registry()[2])


def _near(name: str, cutoff: float = 0.6) -> str | None:
    names = unit_names()
    folded = {known.lower(): known for known in [*names, "GB", "MB", "kB", "TB", "GiB", "MiB", "KiB", "kWh"]}
    return folded.get(name.lower()) or next(iter(get_close_matches(name, names, n=1, cutoff=cutoff)), None)


def _unknown(name: str) -> UnitError:
    names, near = unit_names(), _near(name)
    fix = f"did you mean {near!r}?" if near else None
    if name.endswith("ps") and is_unit(name[:-2]):
        fix = f"write {name[:-2]}/s"
    return UnitError(
        f"unknown unit {name!r}", expected=f"one of: {nearest(name, names, 'unit')}", got=name, fix=fix
    )


def convert(value: Expr | int | Fraction, unit: Unit, to: str) -> Expr:
    """Return a value in base units as a value in another unit, exactly.

    Raises:
        UnitError: the two units are not alike.

    >>> convert(16 * 10**9, Unit("byte"), "GB")
    16
    >>> convert(1, Unit("byte"), "s")
    Traceback (most recent call last):
    symacct.errors.UnitError: byte cannot be converted to s
      expected  byte
      got       s, which is second
    """
    scale, target = read_unit(to)
    if target != unit:
        got = to if to == str(target) else f"{to}, which is {target}"
        raise UnitError(f"{unit} cannot be converted to {to}", expected=str(unit), got=got)
    return normal(normal(value) * Rational(scale.denominator, scale.numerator))


ONE = Unit("1")
