"""A user's own torch module beside a graph: FLOPs by op, parameters, and bytes saved."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symacct.algebra.evaluate import check_sizes, evaluate
from symacct.derive import Account, derive
from symacct.errors import SymacctError, UsageError
from symacct.execution.check import DIFFERS, CheckResult, Row, compared
from symacct.execution.count import flops
from symacct.execution.framework import load_torch, plain_einsum
from symacct.execution.kept import Keeping
from symacct.execution.sizes import choose_sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from symacct.build import Definition
    from symacct.graph import Graph

SHOWN = 12
FORM = "module:function, where function(sizes) returns (torch.nn.Module, tuple of its inputs)"


@dataclass(frozen=True, slots=True)
class Measured:
    """What torch counts of a user's module.

    Attributes:
        forward: FLOPs by aten op.
        backward: FLOPs by aten op, from the sum of the outputs.
        parameters: elements of its parameters, each storage once.
        trainable: those of them that want a gradient.
        saved: bytes kept after the forward pass by dtype, parameters and buffers left out.
        copies: bytes of copies in another layout, beyond the tensors themselves.
    """

    forward: Mapping[str, int]
    backward: Mapping[str, int]
    parameters: int
    trainable: int
    saved: Mapping[str, int]
    copies: int


def check_against(
    graph: Graph | Definition, reference: str, sizes: Mapping[str, int] | None = None
) -> CheckResult:
    """Compare a graph with a module that a user wrote.

    Args:
        graph: the graph, or its definition.
        reference: ``module:function`` or ``path/to/file.py:function``. The function gets the sizes, a
            dictionary of integers by name, and returns the torch module and a tuple of its inputs, in
            float32. Importing the module runs it.
        sizes: some or all sizes; those that are not given are chosen, small and distinct.

    Raises:
        UsageError: the reference cannot be imported, or does not return what it should.
    """
    account = derive(graph, precision="fp32", saves="torch")
    bound, chosen = _bound(account, dict(sizes or {}))
    module, inputs = built(reference, chosen)
    measured = measure(module, inputs, where=reference)
    rows = _rows(bound, measured)
    return CheckResult(
        account.source.name, chosen, tuple(rows), _differences(bound, measured, rows), UNVOUCHED
    )


UNVOUCHED = (
    "values and gradients: the graph and the module have parameters of their own",
    "FLOPs outside of contractions, of fused kernels on CPU, of mv and dot: torch counts none of them",
    "bytes moved: torch has no counter of them",
)


def _bound(account: Account, given: dict[str, int]) -> tuple[Account, dict[str, int]]:
    free = [name for name in account.source.sizes if name not in account.source.bound]
    counts = frozenset(free)
    fixed = check_sizes(given, free, counts)
    partly = account.bind(fixed) if fixed else account
    chosen = fixed | choose_sizes(partly.graph, partly.conditions)
    return account.bind(chosen), chosen


def built(reference: str, sizes: Mapping[str, int]) -> tuple[Any, tuple[Any, ...]]:
    """Import the function, call it with the sizes, and return the module and its inputs.

    Raises:
        UsageError: any of that fails; the place is named.
    """
    function = _imported(reference)
    try:
        result = function(dict(sizes))
    except SymacctError:
        raise
    except Exception as error:
        raise _failed(reference, f"{reference} raised {type(error).__name__}: {error}") from error
    torch = load_torch()
    fits = isinstance(result, tuple) and len(result) == len(("module", "inputs"))
    if not fits or not isinstance(result[0], torch.nn.Module) or not isinstance(result[1], tuple | list):
        raise UsageError(
            f"{reference} does not return a module and its inputs",
            where=reference,
            expected="(torch.nn.Module, tuple of inputs)",
            got=_shape_of(result),
            fix="return model, (x,)",
        )
    return result[0], tuple(result[1])


def _imported(reference: str) -> Callable[[dict[str, int]], Any]:
    name, _, function = reference.rpartition(":")
    if not name or not function.isidentifier():
        raise UsageError("--against needs a module and a function", expected=FORM, got=reference)
    try:
        module = _from_file(Path(name)) if name.endswith(".py") else import_module(name)
    except Exception as error:
        raise _failed(reference, f"importing {name} raised {type(error).__name__}: {error}") from error
    found = getattr(module, function, None)
    if not callable(found):
        known = sorted(n for n, v in vars(module).items() if callable(v) and not n.startswith("_"))
        raise UsageError(
            f"{name} has no function {function}",
            where=reference,
            expected=", ".join(known) or FORM,
            got=function,
        )
    return found  # type: ignore[no-any-return]


def _from_file(path: Path) -> ModuleType:
    name = f"against_{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _failed(reference: str, what: str) -> UsageError:
    return UsageError(
        what, where=reference, expected=FORM, fix="run the function by itself to see its traceback"
    )


def _shape_of(result: object) -> str:
    if isinstance(result, tuple):
        return f"a tuple of {', '.join(type(item).__name__ for item in result) or 'nothing'}"
    return type(result).__name__


def measure(module: Any, inputs: tuple[Any, ...], where: str) -> Measured:
    """Run a module forward and backward from the sum of its outputs, and count.

    Raises:
        UsageError: the module does not run on its inputs.
    """
    torch = load_torch()
    from torch.utils.flop_counter import FlopCounterMode

    parameters = {p.untyped_storage().data_ptr(): p for p in module.parameters()}
    aside = [*parameters.values(), *module.buffers()]
    try:
        with plain_einsum(torch), torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            with FlopCounterMode(display=False) as forward, Keeping(torch) as keeping:
                outputs = [out for out in tensors_in(torch, module(*inputs)) if out.requires_grad]
            kept = keeping.alive(aside)
            with FlopCounterMode(display=False) as backward:
                if outputs:
                    torch.autograd.backward([out.sum() for out in outputs])
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        raise _failed(where, f"the module raised {type(error).__name__}: {error}") from error
    saved: dict[str, int] = {}
    for one in kept:
        saved[one.dtype] = saved.get(one.dtype, 0) + one.nbytes
    trainable = sum(p.numel() for p in parameters.values() if p.requires_grad)
    total = sum(p.numel() for p in parameters.values())
    return Measured(flops(forward), flops(backward), total, trainable, saved, sum(k.copied for k in kept))


def tensors_in(torch: Any, value: Any) -> list[Any]:
    """Return the tensors in a module's result: a tensor, or a tuple, list, mapping or record of them."""
    if torch.is_tensor(value):
        return [value]
    if isinstance(value, tuple | list):
        return [found for item in value for found in tensors_in(torch, item)]
    return tensors_in(torch, list(value.values())) if hasattr(value, "values") else []


def _rows(account: Account, measured: Measured) -> list[Row]:
    def value(name: str) -> int:
        return int(evaluate(account[name].expr, {}))

    saved = sum(measured.saved.values())
    by_dtype = _listed(measured.saved)
    by_dtype += (
        f"; besides {measured.copies} bytes of copies in another layout" if measured.copies > 0 else ""
    )
    passes = {"flops.forward.matmul": measured.forward, "flops.backward.matmul": measured.backward}
    return [
        *(
            compared(name, value(name), sum(ops.values()), "FLOP", _listed(ops))
            for name, ops in passes.items()
        ),
        compared("params", value("params"), measured.parameters, "parameter"),
        compared("params.trainable", value("params.trainable"), measured.trainable, "parameter"),
        compared("memory.activations", value("memory.activations"), saved, "byte", by_dtype),
    ]


def _listed(parts: Mapping[str, int]) -> str:
    return ", ".join(f"{part} {n}" for part, n in sorted(parts.items()))


def _differences(account: Account, measured: Measured, rows: list[Row]) -> tuple[str, ...]:
    """Return, for each quantity that differs, its parts on both sides."""
    counted: dict[str, Mapping[str, int]] = {
        "flops.forward.matmul": measured.forward,
        "flops.backward.matmul": measured.backward,
        "memory.activations": measured.saved,
    }
    found = []
    for row in rows:
        if row.verdict == DIFFERS:
            terms = sorted(account.terms(row.what), key=lambda term: -int(term.expr))
            mine = ", ".join(f"{term.label} {int(term.expr)}" for term in terms[:SHOWN])
            more = f" and {len(terms) - SHOWN} more" if len(terms) > SHOWN else ""
            theirs = _listed(counted.get(row.what, {}))
            found.append(f"{row.what}, derived: {mine or 'nothing'}{more}")
            found.append(f"{row.what}, counted: {theirs or row.counted}")
    return tuple(found)
