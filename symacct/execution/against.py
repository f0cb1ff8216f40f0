"""A user's own torch module beside a graph: FLOPs by op, parameters, and bytes saved."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from symacct.account import Account, derive
from symacct.algebra.evaluate import check_sizes, evaluate
from symacct.execution.check import DIFFERS, CheckResult, Row, compared
from symacct.execution.count import flops
from symacct.execution.framework import load_torch, plain_einsum
from symacct.execution.interpret import Place
from symacct.execution.kept import Keeping, KeptStorage
from symacct.execution.reference import built, failed
from symacct.execution.sizes import choose_sizes
from symacct.execution.torch_arrays import DTYPES
from symacct.execution.values import places

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from symacct.build import Definition
    from symacct.nodes import Graph

SHOWN = 12
FOLLOWING_FLOATS = ("float", "stat")
WHOLE = "the module itself"


@dataclass(frozen=True, slots=True)
class Measured:
    """What torch counts of a user's module.

    Attributes:
        forward: FLOPs by aten op.
        backward: FLOPs by aten op, from the sum of the outputs.
        parameters: elements of its parameters, each storage once.
        trainable: those of them that want a gradient.
        saved: bytes kept after the forward pass, by the innermost module that keeps them; parameters and
            buffers are left out.
        dtypes: the same bytes by dtype.
        copies: bytes of copies in another layout, beyond the tensors themselves.
        kept: the tensors behind ``saved``, one by one.
    """

    forward: Mapping[str, int]
    backward: Mapping[str, int]
    parameters: int
    trainable: int
    saved: Mapping[str, int]
    dtypes: Mapping[str, int]
    copies: int
    kept: tuple[KeptStorage, ...]


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
                outputs = _outputs(torch, module, inputs, keeping)
            kept = keeping.alive(aside)
            with FlopCounterMode(display=False) as backward:
                if outputs:
                    torch.autograd.backward([out.sum() for out in outputs])
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        raise failed(where, f"the module raised {type(error).__name__}: {error}") from error
    saved, dtypes = Counter[str](), Counter[str]()
    for one in kept:
        saved[one.name or WHOLE] += one.nbytes
        dtypes[one.dtype] += one.nbytes
    trainable = sum(p.numel() for p in parameters.values() if p.requires_grad)
    total = sum(p.numel() for p in parameters.values())
    copies = sum(one.copied for one in kept)
    return Measured(flops(forward), flops(backward), total, trainable, saved, dtypes, copies, kept)


def _outputs(torch: Any, module: Any, inputs: tuple[Any, ...], keeping: Keeping) -> list[Any]:
    """Run a module and return its outputs that need a gradient; what is packed goes to the innermost part."""
    running = [WHOLE]

    def enter(name: str) -> Callable[..., None]:
        def hook(*_: Any) -> None:
            keeping.made_by(running[-1])
            running.append(name or WHOLE)

        return hook

    def leave(*_: Any) -> None:
        keeping.made_by(running.pop())

    parts = list(module.named_modules())
    hooks = [part.register_forward_pre_hook(enter(name)) for name, part in parts]
    hooks += [part.register_forward_hook(leave) for _, part in parts]
    try:
        return [out for out in tensors_in(torch, module(*inputs)) if out.requires_grad]
    finally:
        for hook in hooks:
            hook.remove()


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
    by_dtype = _listed(measured.dtypes)
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


def _listed(parts: Mapping[str, int], most: int | None = None) -> str:
    """Return the parts, the largest first, and how many are left out."""
    ordered = sorted(parts.items(), key=lambda pair: (-pair[1], pair[0]))
    more = f" and {len(parts) - most} more" if most is not None and len(parts) > most else ""
    return ", ".join(f"{part} {n}" for part, n in ordered[:most]) + more


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
            terms = account.terms(row.what)
            mine = _listed({term.label: int(term.expr) for term in terms}, SHOWN)
            theirs = _listed(counted.get(row.what, {}), SHOWN)
            found.append(f"{row.what}, derived: {mine or 'nothing'}")
            found.append(f"{row.what}, counted: {theirs or row.counted}")
            if row.what == "memory.activations":
                found += _strangers(account, measured)
    return tuple(found)


def _strangers(account: Account, measured: Measured) -> list[str]:
    """Return the counted tensors that have a size and dtype which nothing saved in the graph has."""
    place = Place({})
    own = {
        (prod(here.shape(saved.tensor)), _torch_dtype(saved.tensor.dtype))
        for saved in account.saved
        for here in places(account.graph, saved.tensor, place)
    }
    kinds = Counter(
        f"[{', '.join(map(str, one.shape))}] {one.dtype} of {one.name or WHOLE}"
        for one in measured.kept
        if (prod(one.shape), one.dtype) not in own
    )
    if not kinds:
        return []
    return [
        f"counted, and of a size and dtype that nothing saved in the graph has: {_listed(kinds, SHOWN)}",
        "constants that a module keeps are the usual cause: rotary tables, position ids, masks",
    ]


def _torch_dtype(name: str) -> str:
    return DTYPES["fp32" if name in FOLLOWING_FLOATS else name]
