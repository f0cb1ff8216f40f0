"""The derived backward pass, executed in float64, against torch's autograd on the same values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symacct.execution import values
from symacct.execution.framework import load_torch, plain_einsum
from symacct.execution.interpret import Interpreter, Place
from symacct.execution.torch_arrays import TorchArrays

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symacct.derivation.differentiate import Step
    from symacct.execution.count import Counted
    from symacct.execution.interpret import Key

TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Executed:
    """What the derived graph computed, by primitives: outputs by name, gradients by tensor and iteration."""

    outputs: Mapping[str, Any]
    gradients: Mapping[Key, Any]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One array on which the derived graph and torch do not agree.

    Attributes:
        what: ``output`` or ``gradient``.
        key: the tensor, and the iteration.
        error: the largest difference over the largest element; infinite where only one side has the array.
    """

    what: str
    key: Key
    error: float

    def describe(self) -> str:
        """Return it in a few words.

        >>> Disagreement("gradient", ("w", (2,)), 0.25).describe()
        'gradient of w at iteration 2: relative error 0.25'
        """
        name, at = self.key
        where = f" at iteration {', '.join(map(str, at))}" if at else ""
        whose = f"{self.what} of {name}" if self.what == "gradient" else f"{self.what} {name}"
        return f"{whose}{where}: relative error {self.error:.2g}"


def execute(
    step: Step, sizes: Mapping[str, int], *, dtype: str = "fp64", seed: int = 0, positive: bool = False
) -> Executed:
    """Run the graph and its derived backward pass by primitives, on the values that ``count`` draws."""
    torch = load_torch()
    xp = TorchArrays(torch, dtype, seed=seed)
    place = Place(sizes)
    store = values.draw(step.graph, sizes, xp, seed, positive=positive)
    store |= values.seeds(step, sizes, xp, seed)
    run = Interpreter(xp, step.tensor, store)
    with torch.no_grad(), plain_einsum(torch):
        run.run(step.graph.nodes, place)
        run.run(step.backward, place)
    outputs = {name: run.get(name, place) for name in step.graph.outputs}
    gradients = {}
    for name, at in values.trainable_keys(step, sizes):
        found = [store[g, at] for g in step.gradients.get(name, ()) if (g, at) in store]
        gradients[name, at] = found[0] if found else None
    return Executed(outputs, gradients)


def disagreements(derived: Executed, counted: Counted, tolerance: float = TOLERANCE) -> list[Disagreement]:
    """Return every output and gradient that differs by more than the tolerance.

    Raises:
        NotFiniteError: a value on either side is infinite or not a number.
    """
    pairs: list[tuple[str, Key, Any, Any]] = [
        ("output", (name, ()), array, counted.outputs[name]) for name, array in derived.outputs.items()
    ]
    pairs += [("gradient", key, array, counted.gradients[key]) for key, array in derived.gradients.items()]
    found = (Disagreement(what, key, _error(key, mine, theirs)) for what, key, mine, theirs in pairs)
    return [one for one in found if one.error > tolerance]


def _error(key: Key, mine: Any, theirs: Any) -> float:
    """Return the largest difference, relative to the largest element where that is more than 1."""
    arrays = [array.detach().double() for array in (mine, theirs) if array is not None]
    for array in arrays:
        if not array.isfinite().all():
            raise values.NotFiniteError(f"{key[0]} is not finite", expected="finite values", got="inf or nan")
    if not arrays or not arrays[0].numel():
        return 0.0
    if len(arrays) == 1:
        return float("inf") if arrays[0].any() else 0.0
    if arrays[0].shape != arrays[1].shape:
        return float("inf")
    scale = max(1.0, *(float(array.abs().max()) for array in arrays))
    return float((arrays[0] - arrays[1]).abs().max()) / scale
