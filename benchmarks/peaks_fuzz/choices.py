"""Random choices of a run."""

from __future__ import annotations

from symacct.nodes import walk

BLOCKS = (
    "every:1", "every:1", "every:2", "every:2", "every:3", "every:5", "every:9", "every:k", "every:k",
    "every:k", "sqrt", "sqrt", "store-nothing", "store-nothing",
)  # fmt: skip


def checkpoint(rng, kind, graph):
    """Return a checkpoint policy."""
    if kind == "regions" or rng.random() < 0.35:
        return "none"
    if rng.random() < 0.25:
        labels = [node.label for node, _ in walk(graph.nodes)]
        words = sorted({*labels, *(part for label in labels for part in label.split("/"))})
        return f"selective:{'+'.join(rng.sample(words, min(len(words), rng.choice((1, 1, 2)))))}{full(rng)}"
    return f"{rng.choice(BLOCKS)}{full(rng)}"


def full(rng):
    """Return how far a segment runs again."""
    return ":full" if rng.random() < 0.3 else ""


def choices(rng, kind, graph, *, torch):
    """Return the choices of a policy, as texts; torch runs in fp32 alone and saves what backward reads."""
    found = {"checkpoint": checkpoint(rng, kind, graph)}
    found["precision"] = "fp32" if torch or rng.random() < 0.7 else rng.choice(("bf16", "bf16-master"))
    some = {
        "saves": lambda: rng.choice(("torch", "lecture", "paper")),
        "accumulate": lambda: rng.choice((2, 2, 5, "M", "M")),
        "hold_output": lambda: True,
        "input_grad": lambda: True,
        "grads": lambda: "kept",
        "update": lambda: "fused",
        "loss": lambda: "none",
        "uneven": lambda: True,
        "optimizer": lambda: "adamw",
    }
    shares = {"saves": 0.3, "accumulate": 0.35, "loss": 0.06, "optimizer": 0.1, "uneven": 0.3}
    for name, draw in some.items():
        if rng.random() < shares.get(name, 0.2):
            found[name] = draw()
    for name in ("saves", "loss", "optimizer") if torch else ():
        found.pop(name, None)
    if found.get("update") == "fused" and ("accumulate" in found or "grads" in found):
        del found["update"]
    if not found["checkpoint"].startswith("every"):
        found.pop("uneven", None)
    return found
