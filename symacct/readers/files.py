"""The one way in: a shipped graph or model, a Python file, a configuration, or a graph as JSON.

A Python file is run when it is loaded; one that a document names only where that is allowed. Nothing is
downloaded.
"""

from __future__ import annotations

import re
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symacct.data import shipped
from symacct.errors import ReadError, SymacctError, brief, unknown
from symacct.readers.catalogue import GraphEntry, ModelEntry, list_graphs, list_models
from symacct.readers.documents import check_runs
from symacct.readers.strict_json import is_file

if TYPE_CHECKING:
    from symacct.nodes import Graph

LONGEST_PATH = 4096
SEPARATORS = re.compile(r"[-_. ]")

__all__ = ["GraphEntry", "ModelEntry", "list_graphs", "list_models", "load", "source"]


def load(target: str | PathLike[str], *, symbolic: bool = False) -> Graph:
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
    if isinstance(target, PathLike):
        target = fspath(target)
    if not isinstance(target, str):
        from symacct.build.no_graph import no_graph

        raise no_graph(target, "the name of a graph or model, or a path")
    if len(target) > LONGEST_PATH or "\0" in target:
        raise _nothing(target)
    file, name = _parted(target)
    if file.suffix == ".py":
        from symacct.readers.graph_files import graph_of

        check_runs(file)
        return graph_of(file, name)
    if file.suffix == ".json":
        return _from_json(file, symbolic=symbolic)
    found = _shipped(target, symbolic=symbolic)
    if found is not None:
        return found
    for path in (file, file / "config.json") if target else ():
        if is_file(path):
            return _from_json(path, symbolic=symbolic)
    raise _nothing(target)


def source(name: str) -> str:
    """Return the text of a shipped graph's file, to read, change and copy.

    Raises:
        UnknownNameError: no such graph ships.
    """
    from symacct.readers.strict_json import read_text

    graphs = _names("graphs", ".py")
    if name not in graphs:
        raise unknown("shipped graph", name, graphs)
    return read_text(graphs[name])


def _parted(target: str) -> tuple[Path, str | None]:
    """Return the file and the name behind its colon, if it has one."""
    file, colon, name = target.rpartition(":")
    if colon and file.endswith(".py"):
        return Path(file), name
    return Path(target), None


def _names(kind: str, ending: str) -> dict[str, Path]:
    return {path.stem: path for path in sorted(shipped(kind).glob(f"*{ending}"))}


def _shipped(target: str, *, symbolic: bool) -> Graph | None:
    graphs, models = _names("graphs", ".py"), _names("models", ".json")
    if target in graphs:
        from symacct.readers.graph_files import graph_of

        return graph_of(graphs[target], target)
    if target in models:
        from symacct.readers.strict_json import parse, read_text

        path = models[target]
        return _configured(parse(read_text(path), str(path))["config"], target, str(path), symbolic=symbolic)
    return None


def _nothing(target: str) -> SymacctError:
    """Return the error for a word that names nothing; a hub's name is told that nothing is downloaded."""
    known = [*_names("graphs", ".py"), *_names("models", ".json")]
    target = brief(target)
    last = target.replace("\\", "/").rstrip("/").rpartition("/")[2]
    error = unknown("graph or model", target, known)
    error.fix = near = _way(last) or unknown("graph or model", last, known).fix
    if last != target:
        note = "nothing is downloaded: give the path of a config.json"
        error.fix = f"{near} {note}" if near else note
    return error


def _way(name: str) -> str | None:
    """Return what to do with the name of a model of another family than those that are read."""
    from symacct.readers.heads import GUIDE
    from symacct.readers.other_families import OTHER_FAMILIES

    bare = {SEPARATORS.sub("", one): one for one in sorted(OTHER_FAMILIES)}
    family = bare.get(SEPARATORS.sub("", name.lower()))
    return f"the family {family} is not read: write its graph ({GUIDE})" if family else None


def _from_json(path: Path, *, symbolic: bool) -> Graph:
    from symacct.readers.graph_json import LARGEST_GRAPH, SCHEMA, from_data
    from symacct.readers.strict_json import LARGEST_FILE, LONGEST_SHOWN, parse, read_text

    if not is_file(path):
        raise ReadError(
            f"there is no file {brief(str(path), LONGEST_SHOWN)}",
            expected="a config.json, or a graph as JSON",
            got="no such file",
            fix="symacct list models names the configurations that ship",
        )  # fmt: skip
    text = read_text(path, LARGEST_GRAPH)
    if len(text) > LARGEST_FILE and SCHEMA not in text[:1000]:
        raise ReadError(f"{path} is too large", expected=f"at most {LARGEST_FILE} bytes", got=str(len(text)))
    data = parse(text, str(path))
    if isinstance(data, dict) and data.get("schema") == SCHEMA:
        return from_data(data, str(path))
    name = path.parent.resolve().name if path.name == "config.json" else path.stem
    return _configured(data, name or "model", str(path), symbolic=symbolic)


def _configured(config: Any, name: str, where: str, *, symbolic: bool) -> Graph:
    from symacct.readers.configs import read_config
    from symacct.readers.decoder import decoder_graph

    return decoder_graph(read_config(config, name, where), symbolic=symbolic)
