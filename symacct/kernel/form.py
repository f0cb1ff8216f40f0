"""JSON as the kernel takes it: nothing bare, nothing twice, nothing deep; and expressions in prefix form.

Nothing here proves anything. What is read is either exactly of the form that is asked for, or refused.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from .refusal import DEEPEST, LARGEST_FILE, LONGEST_NAME, MOST_DIGITS, Refused, need


def short(value: Any) -> str:
    """Return a value from a certificate as one short line."""
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."


def canonical(value: Any) -> str:
    """Return the one JSON text of a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest(data: dict[str, Any]) -> str:
    """Return the sha256 of everything but the proof."""
    stated = {key: value for key, value in data.items() if key not in {"proof", "digest"}}
    return hashlib.sha256(canonical(stated).encode()).hexdigest()


def integer(text: Any) -> int:
    """Return the integer that a string says, written in the one usual way."""
    digits = text.removeprefix("-") if isinstance(text, str) else ""
    good = digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS and str(int(text)) == text
    if not good:  # the words are made only where they are needed
        raise Refused(f"no integer: {short(text)}")
    return int(text)


def is_name(name: Any) -> bool:
    """Say whether a value is a name."""
    return isinstance(name, str) and name.isidentifier() and len(name) <= LONGEST_NAME


def operation(expr: Any) -> list[Any]:
    """Return an expression that has an operator and operands."""
    good = isinstance(expr, list) and len(expr) > 1 and isinstance(expr[0], str)
    if not good:
        raise Refused(f"no expression: {short(expr)}")
    return list(expr)


def is_variable(expr: Any) -> bool:
    """Say whether an expression is a name alone."""
    return isinstance(expr, list) and len(expr) == 2 and expr[0] == "var" and isinstance(expr[1], str)


def variables(expr: Any) -> set[str]:
    """Return the names written in an expression."""
    if is_variable(expr):
        return {expr[1]}
    return set[str]().union(*map(variables, expr)) if isinstance(expr, list) else set()


def replaced(expr: Any, values: dict[str, Any]) -> Any:
    """Return an expression with expressions in the place of names.

    A sum keeps its index: the index is a new name wherever a sum is read, so that it is none of these, and
    none of the names inside them.
    """
    if is_variable(expr):
        return values.get(expr[1], expr)
    return [replaced(part, values) for part in expr] if isinstance(expr, list) else expr


def check_form(expr: Any) -> int:
    """Return how many parts an expression has; refuse what is none."""
    if isinstance(expr, str):
        integer(expr)
        return 1
    head, *args = operation(expr)
    if head == "var":
        need(is_variable(expr) and is_name(args[0]), "a variable has one name")
        return 1
    need(
        head
        in {"+", "*", "/", "^", "floor", "ceil", "min", "max", "sqrt", "log", "sum", "binomial", "factorial"},
        "no such operation",
    )
    if head == "sum":
        need(len(args) == 4 and is_name(args[0]), "a sum has an index, two ends and a body")
    if head == "^":
        need(len(args) == 2 and integer(args[1]) >= 0, "an exponent is out of range")
    return 1 + sum(map(check_form, args[1:] if head == "sum" else args))


def keys(value: Any, needed: set[str], optional: set[str] | None = None) -> None:
    """Refuse anything but an object with these keys."""
    found = set(mapping(value))
    need(needed <= found, f"missing: {sorted(needed - found)}")
    strange = sorted(found - needed - (optional or set()))
    need(not strange, f"not known: {short(strange)}")


def known(table: Any, name: Any, what: str) -> Any:
    """Return an entry of a table."""
    need(isinstance(name, str) and name in table, f"{short(name)} is no {what}")
    return table[name]


def field(value: Any, key: str) -> Any:
    """Return a field of an object."""
    need(key in mapping(value), f"{key} is missing")
    return value[key]


def items(value: Any) -> list[Any]:
    """Return a list as it is."""
    need(isinstance(value, list), f"no list: {short(value)}")
    return list(value)


def mapping(value: Any) -> dict[str, Any]:
    """Return an object as it is."""
    need(isinstance(value, dict), f"no object: {short(value)}")
    return dict(value)


def load(raw: bytes) -> Any:
    """Return the JSON in a file.

    Raises:
        ValueError: it is too large, too deep, broken, not UTF-8, or has a bare number or a key twice.
    """
    if len(raw) > LARGEST_FILE:
        raise ValueError(f"larger than {LARGEST_FILE} bytes")
    text, depth, deepest, inside, escaped = raw.decode("utf-8"), 0, 0, False, False
    for char in text:
        if inside:
            inside, escaped = escaped or char != '"', char == "\\" and not escaped
        else:
            inside = char == '"'
            depth += (char in "[{") - (char in "]}")
            deepest = max(deepest, depth)
    if deepest > DEEPEST:
        raise ValueError(f"nested deeper than {DEEPEST}")

    def bare(word: str) -> None:
        raise ValueError(f"a number is written as text, not as {word[:20]}")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("a key is given twice")
        return dict(pairs)

    return json.loads(text, parse_int=bare, parse_float=bare, parse_constant=bare, object_pairs_hook=once)
