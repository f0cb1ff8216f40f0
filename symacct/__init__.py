"""symacct: derive what a neural network costs from its computation graph, as formulas.

Names are imported when they are first used, so that ``import symacct`` is instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from symacct.account import Account as Account
    from symacct.account import derive as derive
    from symacct.build import Builder as Builder
    from symacct.build import Definition as Definition
    from symacct.build import Var as Var
    from symacct.build import graph as graph
    from symacct.convention import CONVENTIONS as CONVENTIONS
    from symacct.convention import Convention as Convention
    from symacct.errors import SymacctError as SymacctError
    from symacct.evaluation.sweep import sweep as sweep
    from symacct.nodes import Graph as Graph
    from symacct.planning.fit import fit as fit
    from symacct.planning.mfu import mfu as mfu
    from symacct.planning.plan import plan as plan
    from symacct.planning.solve import solve as solve
    from symacct.policy import Policy as Policy
    from symacct.policy import precision as precision
    from symacct.proof.prove import prove as prove
    from symacct.proof.verdict import Verdict as Verdict
    from symacct.quantity import Quantity as Quantity
    from symacct.readers.files import load as load
    from symacct.units import Unit as Unit

__version__ = "0.1.0"

HOMES = {
    "Account": "symacct.account", "Builder": "symacct.build", "CONVENTIONS": "symacct.convention",
    "Convention": "symacct.convention", "Definition": "symacct.build", "Graph": "symacct.nodes",
    "Policy": "symacct.policy", "Quantity": "symacct.quantity", "SymacctError": "symacct.errors",
    "Unit": "symacct.units", "Var": "symacct.build", "Verdict": "symacct.proof.verdict",
    "derive": "symacct.account", "fit": "symacct.planning.fit", "graph": "symacct.build",
    "load": "symacct.readers.files", "mfu": "symacct.planning.mfu", "plan": "symacct.planning.plan",
    "precision": "symacct.policy", "prove": "symacct.proof.prove", "solve": "symacct.planning.solve",
    "sweep": "symacct.evaluation.sweep",
}  # fmt: skip
"""Where each public name lives."""

__all__ = ["CONVENTIONS", "Account", "Builder", "Convention", "Definition", "Graph", "Policy", "Quantity",
           "SymacctError", "Unit", "Var", "Verdict", "derive", "fit", "graph", "load", "mfu", "plan",
           "precision", "prove", "solve", "sweep"]  # fmt: skip


def _imported(home: str, name: str) -> Callable[[Any], Any]:
    """Return a function that is imported when it is called."""

    def imported(result: Any) -> Any:
        return getattr(import_module(home), name)(result)

    return imported


RENDERERS = {
    "bundle": _imported("symacct.report.display", "bundle"),
    "html": _imported("symacct.report", "html"),
    "latex": _imported("symacct.report", "latex"),
    "svg": _imported("symacct.plot.graph", "shown"),
}
"""What shows a result in a notebook, by what it makes; see ``symacct.displayed``."""


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in HOMES:
        raise AttributeError(f"module 'symacct' has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return [*__all__, "__version__"]
