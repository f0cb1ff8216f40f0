"""The one way in: a shipped graph or model, a Python file, a configuration, or a graph as JSON.

A Python file is run when it is loaded. Nothing is downloaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from symacct.data import shipped
from symacct.errors import ReadError, SymacctError, unknown
from symacct.readers.catalogue import GraphEntry, ModelEntry, list_graphs, list_models

if TYPE_CHECKING:
    from symacct.graph import Graph

__all__ = ["GraphEntry", "ModelEntry", "list_graphs", "list_models", "load", "source"]


def load(target: str, *, symbolic: bool = False) -> Graph:
    """Return the graph that a word or a path names.

    Args:
        target: a shipped graph (``mlp``) or model (``gpt2``), ``my.py:name``, ``my.py`` with one graph, a
            ``config.json`` or its folder, or a graph written as JSON.
        symbolic: keep the sizes of a model symbolic; without it only B and S (and T) are free.

    Raises:
        SymacctError: there is no such thing, or it cannot be read.

    >>> load("deep_linear").order
    ('B', 'D', 'L')
    >>> load("gpt2").order
    ('B', 'S', 'T')
    """
    file, name = _parted(target)
    if file.suffix == ".py":
        from symacct.readers.graph_files import graph_of

        return graph_of(file, name)
    if file.is_dir() and (file / "config.json").exists():
        file = file / "config.json"
    if file.suffix == ".json" or file.is_file():
        return _from_json(file, symbolic=symbolic)
    return _shipped(target, symbolic=symbolic)


def source(name: str) -> str:
    """Return the text of a shipped graph's file, to read, change and copy.

    Raises:
        UnknownNameError: no such graph ships.
    """
    from symacct.readers.strict_json import read_text

    return read_text(_paths("graphs", name, ".py"))


def _parted(target: str) -> tuple[Path, str | None]:
    """Return the file and the name behind its colon, if it has one."""
    file, colon, name = target.rpartition(":")
    if colon and file.endswith(".py"):
        return Path(file), name
    return Path(target), None


def _paths(kind: str, name: str, ending: str) -> Path:
    paths = {path.stem: path for path in shipped(kind).glob(f"*{ending}")}
    if name not in paths:
        raise unknown(f"shipped {kind.removesuffix('s')}", name, paths)
    return paths[name]


def _shipped(target: str, *, symbolic: bool) -> Graph:
    graphs = {path.stem: path for path in shipped("graphs").glob("*.py")}
    models = {path.stem: path for path in shipped("models").glob("*.json")}
    if target in graphs:
        from symacct.readers.graph_files import graph_of

        return graph_of(graphs[target], target)
    if target in models:
        from symacct.readers.strict_json import parse, read_text

        path = models[target]
        return _configured(parse(read_text(path), str(path))["config"], target, str(path), symbolic=symbolic)
    raise _nothing(target, [*graphs, *models])


def _nothing(target: str, known: list[str]) -> SymacctError:
    """Return the error for a word that names nothing; a hub's name is told that nothing is downloaded."""
    last = target.replace("\\", "/").rstrip("/").rpartition("/")[2]
    near = unknown("graph or model", last, known).fix
    error = unknown("graph or model", target, known)
    error.fix = near
    if last != target:
        note = "nothing is downloaded: give the path of a config.json"
        error.fix = f"{near} {note}" if near else note
    return error


def _from_json(path: Path, *, symbolic: bool) -> Graph:
    from symacct.readers.graph_json import LARGEST_GRAPH, SCHEMA, from_data
    from symacct.readers.strict_json import LARGEST_FILE, parse, read_text

    if not path.exists():
        raise ReadError(
            f"there is no file {path}", expected="a config.json, or a graph as JSON", got="no such file",
            fix="symacct list models names the configurations that ship",
        )  # fmt: skip
    text = read_text(path, LARGEST_GRAPH)
    data = parse(text, str(path))
    if isinstance(data, dict) and data.get("schema") == SCHEMA:
        return from_data(data, str(path))
    if len(text) > LARGEST_FILE:
        raise ReadError(f"{path} is too large", expected=f"at most {LARGEST_FILE} bytes", got=str(len(text)))
    name = path.parent.resolve().name if path.name == "config.json" else path.stem
    return _configured(data, name or "model", str(path), symbolic=symbolic)


def _configured(config: Any, name: str, where: str, *, symbolic: bool) -> Graph:
    from symacct.readers.configs import read_config
    from symacct.readers.decoder import decoder_graph

    return decoder_graph(read_config(config, name, where), symbolic=symbolic)
