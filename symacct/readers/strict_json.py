"""JSON from outside, read within bounds: size, depth, numbers, repeated names."""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, NoReturn

from symacct.errors import ReadError, brief

if TYPE_CHECKING:
    from pathlib import Path

LARGEST_FILE = 1_000_000
DEEPEST = 64
LONGEST_NUMBER = 64
LONGEST_SHOWN = 240
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def is_file(path: Path) -> bool:
    """Return whether there is such a file; a name that no file can have names none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def read_text(path: Path, largest: int = LARGEST_FILE) -> str:
    """Return the text of a file.

    Raises:
        ReadError: there is no such file, it is too large, or it is not UTF-8.
    """
    if not is_file(path):
        what = f"there is no file {brief(str(path), LONGEST_SHOWN)}"
        raise ReadError(what, expected="a file", got="no file, or something else")
    try:
        with path.open("rb") as file:
            raw = file.read(largest + 1)
    except OSError as error:
        raise ReadError(
            f"cannot read {path}", expected="a readable file", got=error.strerror or str(error)
        ) from None
    if len(raw) > largest:
        raise ReadError(f"{path} is too large", expected=f"at most {largest} bytes", got="more")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        got = f"byte {raw[error.start]:#04x} at {error.start}"
        raise ReadError(f"{path} is not text", expected="UTF-8", got=got) from None


def parse(text: str, where: str) -> Any:
    """Return the value that a JSON text says; numbers with a point or an exponent become ``Decimal``.

    Raises:
        ReadError: it is broken, too deep, names a key twice, or has NaN or a number that is too long.

    >>> parse('{"a": [1, 0.5]}', "here")
    {'a': [1, Decimal('0.5')]}
    >>> parse('{"a": 1, "a": 2}', "here")
    Traceback (most recent call last):
    symacct.errors.ReadError: the key "a" is given twice
      where     here
      expected  each key once
      got       a second "a"
    """
    depth = _depth(text)
    if depth > DEEPEST:
        raise ReadError(
            "the JSON is nested too deeply", where=where, expected=f"at most {DEEPEST} levels", got=str(depth)
        )
    try:
        return json.loads(
            text,
            parse_int=lambda digits: int(_bounded(digits, where)),
            parse_float=lambda digits: _decimal(digits, where),
            parse_constant=lambda word: _constant(word, where),
            object_pairs_hook=lambda pairs: _once(pairs, where),
        )
    except json.JSONDecodeError as error:
        place = f"{where}:{error.lineno}, column {error.colno}"
        raise ReadError("the JSON is broken", where=place, expected="valid JSON", got=error.msg) from None


def _depth(text: str) -> int:
    deepest = depth = 0
    for char in STRING.sub("", text):
        depth += (char in "[{") - (char in "]}")
        deepest = max(deepest, depth)
    return deepest


def _bounded(digits: str, where: str) -> str:
    if len(digits) > LONGEST_NUMBER:
        expected = f"at most {LONGEST_NUMBER} characters"
        raise ReadError("a number is too long", where=where, expected=expected, got=f"{digits[:20]}...")
    return digits


def _decimal(digits: str, where: str) -> Decimal:
    try:
        return Decimal(_bounded(digits, where))
    except InvalidOperation:
        raise ReadError("a number is out of range", where=where, expected="a number", got=digits) from None


def _constant(word: str, where: str) -> NoReturn:
    raise ReadError(f"{word} is not a number in JSON", where=where, expected="a finite number", got=word)


def _once(pairs: list[tuple[str, Any]], where: str) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ReadError(
                f'the key "{key}" is given twice',
                where=where,
                expected="each key once",
                got=f'a second "{key}"',
            )
        result[key] = value
    return result
