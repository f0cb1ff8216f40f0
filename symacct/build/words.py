"""The words a model is written in: each says of which kind its arguments are, and is held to it.

What a word takes is read from its annotations, so that a new word is checked without saying anything more.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from numbers import Number
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from sympy import Expr

from symacct.algebra.condition import Condition
from symacct.errors import GraphError
from symacct.op import Op
from symacct.tensor import Mask

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = TypeVar("Kind")
LONGEST = 80
MANY, BY_NAME, NAMED = (
    inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.KEYWORD_ONLY,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Takes:
    """A kind of argument: what it is called, and which values are of it."""

    text: str
    holds: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Given:
    """An argument as it was given, and what its place takes."""

    name: str
    value: Any
    takes: tuple[Takes, ...]

    def fits(self, value: Any) -> bool:
        """Say whether a value could stand in this place."""
        return any(kind.holds(value) for kind in self.takes)


def _tensor(value: object) -> bool:
    return getattr(type(value), "is_tensor", False) is True


def _tensors(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(map(_tensor, value))


def _texts(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value)


def _pairs(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 and all(type(at) is int for at in pair)
        for pair in value
    )


def _texts_by_name(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(one, str) for pair in value.items() for one in pair)


def _size(value: object) -> bool:
    return isinstance(value, (str, Number, Expr))


KINDS = {
    "Var": Takes("a tensor", _tensor),
    "str": Takes("text", lambda value: isinstance(value, str)),
    "bool": Takes("True or False", lambda value: isinstance(value, bool)),
    "Dim": Takes("a size", _size),
    "Expr": Takes("a size", lambda value: isinstance(value, Expr)),
    "Op": Takes("an op", lambda value: isinstance(value, Op)),
    "Condition": Takes("a condition", lambda value: isinstance(value, Condition)),
    "Mask": Takes("a mask, as b.causal makes it", lambda value: isinstance(value, Mask)),
    "Callable": Takes("a function", callable),
    "Sequence[Var]": Takes("a list of tensors", _tensors),
    "tuple[Var, ...]": Takes(
        "a tuple of tensors", lambda value: isinstance(value, tuple) and _tensors(value)
    ),
    "tuple[str, ...]": Takes("a tuple of texts", _texts),
    "Sequence[tuple[int, int]]": Takes("a list of pairs of positions", _pairs),
    "Mapping[str, str]": Takes("names of sizes with what they mean", _texts_by_name),
    "Mapping[str, Dim]": Takes(
        "names with sizes",
        lambda value: (
            isinstance(value, Mapping) and all(isinstance(k, str) and _size(v) for k, v in value.items())
        ),
    ),
    "None": Takes("None", lambda value: value is None),
}
"""What an annotation of a word's parameter means; alternatives are joined with ``|``."""


def worded(cls: type[Kind]) -> type[Kind]:
    """Hold the public words that a class of the builder adds to what they take.

    >>> from symacct.build import Builder
    >>> b = Builder("g", "B D K")
    >>> b.linear("D -> K", b.input("x", "B D"))
    Traceback (most recent call last):
    symacct.errors.GraphError: linear takes a tensor for x, and got text
      where     graph g
      expected  linear(x, axes, *, bias, name, trainable, **sizes)
      got       x = 'D -> K'
      fix       x and axes have traded places
    """
    for name, function in list(vars(cls).items()):
        plain = isinstance(function, FunctionType) and not getattr(function, "__isabstractmethod__", False)
        if plain and (name == "__init__" or not name.startswith("_")):
            setattr(cls, name, _held(function))
    return cls


def _held(function: FunctionType) -> Callable[..., Any]:
    """Return a word that looks at its arguments before it runs."""
    signature, check = inspect.signature(function), fit
    for parameter in list(signature.parameters.values())[1:]:
        kinds(str(parameter.annotation))
    word = "Builder" if function.__name__ == "__init__" else function.__name__

    def checked(self: Any, *args: Any, **named: Any) -> Any:
        check(signature, word, self.__dict__.get("name"), (self, *args), named)
        return function(self, *args, **named)

    # of the module of the word, so that examples in its docstring are found there and run
    own = FunctionType(checked.__code__, function.__globals__, word, None, checked.__closure__)
    return wraps(function)(own)


@cache
def kinds(annotation: str) -> tuple[Takes, ...]:
    """Return the kinds that a parameter takes.

    >>> [kind.text for kind in kinds("Mask | None")]
    ['a mask, as b.causal makes it', 'None']
    """
    if annotation.startswith("Callable["):
        return (KINDS["Callable"],)
    return tuple(KINDS[text] for text in annotation.split(" | "))


def fit(
    signature: inspect.Signature, word: str, name: object, args: Sequence[Any], named: Mapping[str, Any]
) -> None:
    """Refuse arguments that a word does not take: too many, too few, of another name or kind.

    Raises:
        GraphError: it says which argument, what the word takes, and what came.
    """
    where = f"graph {name}" if isinstance(name, str) else None
    try:
        bound = signature.bind(*args, **named)
    except TypeError as error:
        raise GraphError(
            f"{word} is not called with what it takes: {error}", where=where, expected=called(signature, word)
        ) from None
    for given in _values(signature, bound):
        if not given.fits(given.value):
            raise _other(signature, bound, word, where, given)


def called(signature: inspect.Signature, word: str) -> str:
    """Return how a word is called.

    >>> def word(self, x: "Var", *, label: "str | None" = None): ...
    >>> called(inspect.signature(word), "word")
    'word(x, *, label)'
    """
    found: list[str] = []
    for parameter in list(signature.parameters.values())[1:]:
        stars = "*" if parameter.kind is MANY else "**" if parameter.kind is BY_NAME else ""
        if parameter.kind is NAMED and not any(text.startswith("*") for text in found):
            found.append("*")
        found.append(stars + parameter.name)
    return f"{word}({', '.join(found)})"


def _values(signature: inspect.Signature, bound: inspect.BoundArguments) -> Iterator[Given]:
    """Yield each argument, those of ``*xs`` and ``**sizes`` one by one."""
    for name, value in list(bound.arguments.items())[1:]:
        parameter = signature.parameters[name]
        takes = kinds(str(parameter.annotation))
        if parameter.kind is MANY:
            yield from (Given(name, one, takes) for one in value)
        elif parameter.kind is BY_NAME:
            yield from (Given(key, one, takes) for key, one in value.items())
        else:
            yield Given(name, value, takes)


def _other(
    signature: inspect.Signature, bound: inspect.BoundArguments, word: str, where: str | None, given: Given
) -> GraphError:
    """Return the error for a value of another kind."""
    wanted = " or ".join(kind.text for kind in given.takes)
    mine = next((kind.text for kind in KINDS.values() if kind.holds(given.value)), type(given.value).__name__)
    return GraphError(
        f"{word} takes {wanted} for {given.name}, and got {mine}",
        where=where,
        expected=called(signature, word),
        got=f"{given.name} = {repr(given.value)[:LONGEST]}",
        fix=_fix(signature, bound, given),
    )


def _fix(signature: inspect.Signature, bound: inspect.BoundArguments, given: Given) -> str | None:
    """Return what may be meant: another argument's place, or a number in a tensor's."""
    for other in _values(signature, bound):
        if other.name != given.name and other.fits(given.value) and given.fits(other.value):
            return f"{given.name} and {other.name} have traded places"
    if isinstance(given.value, (Number, Expr)) and KINDS["Var"] in given.takes:
        return "use b.scale(x, c) or b.shift(x, c) for numbers"
    return None


def handed(body: Callable[..., Any], values: Sequence[Any], where: str) -> Any:
    """Run a body on what it is handed.

    Raises:
        GraphError: it takes another number of values.
    """
    try:
        signature = inspect.signature(body)
    except (TypeError, ValueError):
        signature = None
    try:
        if signature is not None:
            signature.bind(*values)
    except TypeError as error:
        raise GraphError(
            f"the body does not take what it is handed: {error}",
            where=where,
            expected=f"a function of {len(values)}: {', '.join(map(repr, values))}"[: 2 * LONGEST],
            got=f"a function of {signature}"[: 2 * LONGEST],
        ) from None
    return body(*values)
