"""What the engine says: a code with arguments, in the language that is asked for; English as a text."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping


@cache
def catalogue() -> Mapping[str, Mapping[str, str]]:
    """Return the sentences by code and language."""
    text = files("symacct").joinpath("messages.toml").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = tomllib.loads(text)
    return found


class Message(str):
    """A sentence in English, with its code and its arguments.

    >>> said = Message("ratio_to_one", grown=Message("grows", sizes=("L",)))
    >>> said, said.code, said.said("zh")
    ('the ratio tends to 1 as L -> oo', 'ratio_to_one', '当 L → ∞ 时比值趋于 1')
    """

    __slots__ = ("arguments", "code")
    code: str
    arguments: Mapping[str, Any]

    def __new__(cls, code: str, **arguments: Any) -> Self:
        """Return the sentence of a code; an argument is a text, names, a formula, or a message itself."""
        made = super().__new__(cls, _filled(code, "en", arguments))
        made.code, made.arguments = code, arguments
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        """Return what makes it again, for copies."""
        return (self.code,), dict(self.arguments)

    def said(self, lang: str) -> str:
        """Return the sentence in a language: ``en`` or ``zh``."""
        return _filled(self.code, lang, self.arguments)


def said(text: str, lang: str) -> str:
    """Return a text in a language, where it is a message; any other as it is.

    >>> said(Message("differ"), "zh"), said("something else", "zh")
    ('两边不等', 'something else')
    """
    return text.said(lang) if isinstance(text, Message) else text


def _filled(code: str, lang: str, arguments: Mapping[str, Any]) -> str:
    return catalogue()[code][lang].format(**{key: _argument(one, lang) for key, one in arguments.items()})


def _argument(value: Any, lang: str) -> str:
    if isinstance(value, tuple | list):
        return ("、" if lang == "zh" else ", ").join(value)
    return said(value, lang) if isinstance(value, str) else str(value)
