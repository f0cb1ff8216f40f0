"""What verbs write: text of the terminal's width, and the one envelope of JSON."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symacct.convention import Convention
    from symacct.policy import Policy

SCHEMA = "symacct/1"
USUAL_WIDTH, NARROWEST = 100, 60


def width() -> int:
    """Return the width of the terminal (``COLUMNS`` counts first), at least 60."""
    return max(NARROWEST, shutil.get_terminal_size((USUAL_WIDTH, 24)).columns)


def write(text: str) -> None:
    """Write a text that ends with a line end."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def envelope(
    command: str,
    given: dict[str, Any],
    result: Any,
    *,
    convention: Convention | None = None,
    policy: Policy | None = None,
) -> str:
    """Return the JSON of a command."""
    return json.dumps(
        {
            "schema": SCHEMA,
            "command": command,
            "input": given,
            "convention": None if convention is None else convention_record(convention),
            "policy": None if policy is None else policy_record(policy),
            "result": result,
        },
        ensure_ascii=False,
        indent=2,
    )


def convention_record(convention: Convention) -> dict[str, Any]:
    """Return the choices of a convention."""
    return {
        "name": convention.name,
        "attention": convention.attention,
        "embedding": convention.embedding,
        "head": convention.head,
        "vectors": convention.vectors,
        "bytes": convention.bytes,
        "strict": convention.strict,
        "elementwise": convention.elementwise,
        "leading": convention.leading,
        "prices": {primitive: str(price) for primitive, price in convention.prices},
    }


def policy_record(policy: Policy) -> dict[str, Any]:
    """Return the choices of a policy."""
    precision = policy.precision
    return {
        "workload": policy.workload,
        "precision": {
            "name": precision.name,
            "params": precision.params,
            "grads": precision.grads,
            "master": precision.master,
            "states": precision.states,
            "activations": precision.activations,
        },
        "optimizer": policy.optimizer,
        "saves": policy.saves,
        "input_grad": policy.input_grad,
        "checkpoint": policy.checkpoint.describe(),
        "grads": policy.grads,
        "update": policy.update,
        "hold_output": policy.hold_output,
        "accumulate": str(policy.accumulate),
        "loss": policy.loss,
        "lora": None if policy.lora is None else policy.lora.describe(),
    }
