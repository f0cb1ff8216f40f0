"""What a caller may hold that is no graph (a torch module, a class, a function), and the way on."""

from __future__ import annotations

from symacct.build.define import Definition
from symacct.errors import UsageError, brief
from symacct.nodes import Graph

EXPECTED = "a graph, or its definition"
FROM_CONFIG = "model.config.save_pretrained(FOLDER), then symacct.load(FOLDER)"
WRITE = "write its graph as a function over a builder under @symacct.graph (docs/writing-a-graph.md)"
DECORATE = 'decorate it: @symacct.graph({"B": "rows", "D": "width"})'
COMPARE = "then symacct check my.py:net --against my.py:make runs both and compares them"


def no_graph(value: object, expected: str = EXPECTED) -> UsageError:
    """Return the error for a value that is no graph, with what to do in its place.

    >>> print(no_graph("mlp"))
    'mlp' is a name, not a graph
      expected  a graph, or its definition
      got       'mlp'
      fix       write symacct.derive(symacct.load('mlp'))
    """
    if isinstance(value, str):
        name = repr(brief(value))
        said = f"{name} is a name, not a graph", name, f"write symacct.derive(symacct.load({name}))"
    else:
        said = _of_code(value) or _of_data(value)
    what, got, fix = said
    return UsageError(what, expected=expected, got=brief(got), fix=fix)


def _of_code(value: object) -> tuple[str, str, str] | None:
    """Return what is wrong with a module, a class or a function, what came, and what to do."""
    kind = type(value).__name__
    if _of_torch(type(value)):
        config = hasattr(getattr(value, "config", None), "save_pretrained")
        fix = FROM_CONFIG if config else f"{WRITE}; {COMPARE}"
        return "a torch module is not read", f"a torch module ({kind})", fix
    if isinstance(value, type):
        inner = "the class of a torch module" if _of_torch(value) else "a class"
        return f"{inner} is no graph", f"{value.__name__}, {inner}", f"{WRITE}; {COMPARE}"
    if callable(value) and not isinstance(value, Definition):
        got = f"{getattr(value, '__name__', kind)}, a function"
        return "a function alone is no graph", got, DECORATE
    return None


def _of_data(value: object) -> tuple[str, str, str]:
    """Return what is wrong with a value, what came, and what to do."""
    kind = type(value).__name__
    if isinstance(value, Graph | Definition):
        return f"graph {value.name} is a graph already", f"a {kind}", "pass it to symacct.derive"
    if isinstance(getattr(value, "source", None), Graph):
        return "what is derived already is no graph", f"an {kind}", "pass its graph, which is .source"
    if isinstance(value, dict):
        fix = "write it into a config.json, or a graph into its JSON, and symacct.load the file"
        return "a dict is no graph", "a dict", fix
    return f"{kind} is no graph", kind, WRITE


def _of_torch(kind: type) -> bool:
    """Say whether a class is one of torch's modules, without importing torch."""
    return any(one.__module__.startswith("torch.") and one.__name__ == "Module" for one in kind.__mro__)
