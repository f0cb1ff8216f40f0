"""The sizes of a graph under other letters, all at once: ``N=H,H=K``."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from symacct.algebra.evaluate import substitute
from symacct.algebra.symbols import check_name, symbol
from symacct.errors import FormulaError, unknown
from symacct.nodes import bind_node, bind_tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sympy import Expr

    from symacct.nodes import Graph


_T = TypeVar("_T")


def read_renames(text: str) -> dict[str, str]:
    """Return new letters, each with the size that it stands for.

    Raises:
        FormulaError: an entry is not ``NEW=SIZE``, or a letter is given twice.

    >>> read_renames("N=H,H=K")
    {'N': 'H', 'H': 'K'}
    """
    found: dict[str, str] = {}
    for entry in filter(str.strip, text.split(",")):
        new, equals, old = (part.strip() for part in entry.partition("="))
        if not equals:
            raise FormulaError("a size is renamed as NEW=SIZE", expected="N=H,H=K", got=entry.strip()[:64])
        if check_name(new) in found or check_name(old) in found.values():
            what = f"{new if new in found else old} is renamed twice"
            raise FormulaError(
                what, where=text[:72], expected="each letter and each size once", got=entry[:64]
            )
        found[new] = old
    return found


def renamed(graph: Graph, renames: Mapping[str, str] | str) -> Graph:
    """Return a graph whose sizes have other letters; axes keep their names.

    Args:
        graph: the graph.
        renames: new letters with the sizes that they stand for, or their text.

    Raises:
        UnknownNameError: it has no such size.
        FormulaError: a new letter is that of another size.

    >>> from symacct.account import derive
    >>> from symacct.readers.files import load
    >>> print(derive(renamed(load("linear"), "D=B,B=D"), workload="forward")["params"])
    B*K parameter
    """
    given = read_renames(renames) if isinstance(renames, str) else dict(renames)
    known = [*graph.sizes, *graph.aliases]
    for old in given.values():
        if old not in known:
            raise unknown("size", old, known, where=f"--rename, graph {graph.name}")
    kept = set(known) - set(given.values())
    for new, old in given.items():
        if new in kept:
            raise FormulaError(
                f"{new} is a size of graph {graph.name} too",
                where=f"--rename {new}={old}",
                expected="a letter that is free, or another letter for that size as well",
                got=new,
                fix=f"write --rename {new}={old},{_free(new, known, given)}={new}",
            )
    letters = {old: new for new, old in given.items()}
    exact = {old: symbol(new) for old, new in letters.items()}
    return replace(
        graph,
        sizes=MappingProxyType(_called(graph.sizes, letters)),
        tensors=MappingProxyType({name: bind_tensor(one, exact) for name, one in graph.tensors.items()}),
        nodes=tuple(bind_node(node, exact) for node in graph.nodes),
        conditions=tuple(one.substitute(exact) for one in graph.conditions),
        tokens=None if graph.tokens is None else substitute(graph.tokens, exact),
        bound=_substituted(graph.bound, letters),
        aliases=_substituted(graph.aliases, letters),
    )


def _called(table: Mapping[str, _T], letters: Mapping[str, str]) -> dict[str, _T]:
    return {letters.get(name, name): value for name, value in table.items()}


def _substituted(table: Mapping[str, Expr], letters: Mapping[str, str]) -> Mapping[str, Expr]:
    exact = {old: symbol(new) for old, new in letters.items()}
    return MappingProxyType(_called({name: substitute(one, exact) for name, one in table.items()}, letters))


def _free(name: str, known: list[str], given: Mapping[str, str]) -> str:
    """Return a letter that nothing has yet."""
    return next(one for one in (f"{name}_{number}" for number in range(2, 99)) if one not in {*known, *given})
