"""What verbs write: text of the terminal's width, and the one envelope of JSON."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from symacct.account import Account
    from symacct.convention import Convention
    from symacct.policy import Policy
    from symacct.report.blocks import Block

SCHEMA = "symacct/2"
USUAL_WIDTH, NARROWEST = 100, 60


def width() -> int:
    """Return the width of the terminal (``COLUMNS`` counts first), at least 60."""
    return max(NARROWEST, shutil.get_terminal_size((USUAL_WIDTH, 24)).columns)


def write(text: str) -> None:
    """Write a text that ends with a line end."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def emit(
    form: str,
    blocks: Callable[[bool], Iterable[Block]],
    json: Callable[[], str],
    **others: Callable[[], str],
) -> None:
    """Write a result in a format.

    Args:
        form: the format.
        blocks: the result for people, its formulas in LaTeX or not.
        json: the result for programs.
        others: the formats that this verb has besides.
    """
    from symacct.report.blocks import markdown_of, text_of

    if form == "json":
        write(json())
    elif form in others:
        write(others[form]())
    elif form == "markdown":
        write(markdown_of(blocks(True)))  # noqa: FBT003 (whether formulas are LaTeX)
    else:
        write(text_of(blocks(False), width()))  # noqa: FBT003


def envelope(
    command: str,
    given: dict[str, Any],
    result: Any,
    *,
    order: Sequence[str] = (),
    convention: Convention | None = None,
    policy: Policy | None = None,
    **more: Any,
) -> str:
    """Return the JSON of a command.

    Args:
        command: the verb.
        given: its input.
        result: any result, made into JSON by `symacct.report.encode`.
        order: the order in which formulas are printed.
        convention: how counts were priced.
        policy: the choices of the run.
        more: further keys of the result.
    """
    from symacct.report.encode import encode

    parts = {"input": given, "convention": convention, "policy": policy, "result": result}
    made = {key: encode(part, order) for key, part in parts.items()}
    if more:
        made["result"] |= {key: encode(part, order) for key, part in more.items()}
    return document(command, made)


def document(command: str, made: dict[str, Any]) -> str:
    """Return JSON with the envelope's first keys."""
    return json.dumps({"schema": SCHEMA, "command": command, **made}, ensure_ascii=False, indent=2)


def given_graph(account: Account, target: str, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return the input of a command on a graph: what is bound in it, and the sizes given."""
    graph = account.graph
    return {
        "target": target,
        "graph": graph.name,
        "sizes": dict(graph.sizes),
        "bound": dict(graph.bound),
        "at": dict(sizes),
    }
