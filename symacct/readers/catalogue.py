"""What ships, listed without running or importing any of it: names, sizes with meanings, one line each."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from symacct.data import shipped

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class GraphEntry:
    """A graph of a file: its name, the first line of its docstring, its sizes with meanings, its file."""

    name: str
    about: str
    sizes: Mapping[str, str]
    path: Path


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A public configuration that ships: its name, one line, its family, source, date and file."""

    name: str
    about: str
    family: str
    source: str
    date: str
    path: Path


def list_graphs() -> tuple[GraphEntry, ...]:
    """Return the shipped graphs, by name.

    >>> [entry.about for entry in list_graphs() if entry.name == "relu"]
    ['ReLU, one element at a time.']
    """
    files = sorted(shipped("graphs").glob("*.py"))
    return tuple(entry for path in files for entry in graphs_in(path, path.read_text(encoding="utf-8")))


def list_models() -> tuple[ModelEntry, ...]:
    """Return the shipped models, by name.

    >>> [entry.family for entry in list_models() if entry.name == "gpt2"]
    ['GPT-2']
    """
    from symacct.readers.families import FAMILIES

    entries = []
    for path in sorted(shipped("models").glob("*.json"), key=lambda file: file.stem):
        facts = json.loads(path.read_text(encoding="utf-8"))
        family = FAMILIES[facts["config"]["model_type"]].title
        entries.append(ModelEntry(path.stem, facts["about"], family, facts["source"], facts["date"], path))
    return tuple(entries)


def graphs_in(path: Path, text: str) -> tuple[GraphEntry, ...]:
    """Return the functions of a file that ``@graph(...)`` decorates.

    Raises:
        SyntaxError: the text is not Python.
    """
    found = []
    for node in ast.parse(text, str(path)).body:
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and _named(decorator.func) == "graph":
                    about = (ast.get_docstring(node) or "").strip().split("\n")[0]
                    found.append(GraphEntry(node.name, about, _sizes(decorator), path))
    return tuple(found)


def _named(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _sizes(decorator: ast.Call) -> Mapping[str, str]:
    """Return the sizes where they are written out (a dictionary, or words), else none."""
    try:
        sizes = ast.literal_eval(decorator.args[0])
    except (ValueError, IndexError):
        return {}
    if isinstance(sizes, str):
        return dict.fromkeys(sizes.split(), "")
    return {str(k): str(v) for k, v in sizes.items()} if isinstance(sizes, dict) else {}
