"""Every op, on its own examples: counts, gradients, shapes, views, notation, torch."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from counted import counted, numbers
from counting import CountedArrays
from examples import DIFFERENTIABLE, EXAMPLES, as_torch, cotangent, differentiated, inputs, over
from sympy import Basic
from tape import SIZES, shape, size, xp64

from symacct.algebra.evaluate import evaluate
from symacct.algebra.symbols import symbol
from symacct.op import PRIMITIVES, Call
from symacct.ops import OPS
from symacct.ops.elementwise_table import ROWS, parts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sympy import Expr

    from symacct.op import Example
    from symacct.tensor import Tensor

FREE = {"cast", "gather", "mask", "chain", "row_chain"}
ACCUMULATING = ("fma", "add", "max", "compare", "scatter_add")


def as_counted(tensor: Tensor, array: np.ndarray) -> Any:
    """Return an array of counted numbers, or of plain indices and booleans."""
    return counted(array) if tensor.floating else array


def stated(counts: Mapping[str, Expr]) -> Counter[str]:
    """Return the counts of an op in primitives that a number does."""
    found: Counter[str] = Counter()
    for name, count in counts.items():
        for primitive, times in (parts(name) if name in ROWS else {name: 1}).items():
            found[primitive] += times * int(evaluate(count, SIZES))
    found["mul"] += found["fma"]
    return found


def strict(counts: Counter[str]) -> Counter[str]:
    """Return the counts with what accumulates as one entry: a chain of n terms takes n - 1 of them."""
    found = Counter({name: n for name, n in counts.items() if name not in {*FREE, *ACCUMULATING}})
    found["accumulate"] = sum(counts[name] for name in ACCUMULATING) - counts["chain"] - counts["row_chain"]
    return +found


def draws(example: Example) -> bool:
    """Whether the op draws a random mask."""
    return any(t.dtype == "mask" for t in example.op.infer(*example.ins)[1:])


@over(EXAMPLES)
def test_numbers_count_what_the_op_says(example: Example) -> None:
    """Numbers pushed through run, and through the gradient's nodes, count the op's own counts."""
    tape, _, _ = differentiated(example, CountedArrays(), as_counted)
    for ran in tape.ran:
        counts = ran.op.counts(ran.ins, ran.outs)
        assert set(counts) <= {*PRIMITIVES, *ROWS}
        expected = stated(counts)
        assert strict(ran.tally) == strict(expected), ran.op
        if not {"fma", "chain", "row_chain"} & set(expected):
            free = Counter(dict.fromkeys(FREE, 0))
            assert {**ran.tally, **free} == {**+expected, **free}, ran.op


@pytest.mark.few(82)
@over({name: example for name, example in EXAMPLES.items() if not draws(example)})
def test_numbers_agree_with_torch(example: Example) -> None:
    """The counting numbers have the values that torch has."""
    left, node, _ = differentiated(example, CountedArrays(), as_counted)
    right, _, _ = differentiated(example, xp64(), as_torch)
    for name, tensor in left.tensors.items():
        assert name in node.ins or tensor.axes == right.tensors[name].axes
        np.testing.assert_allclose(numbers(left.arrays[name]), right.arrays[name].double().numpy(), rtol=2e-6)


@over(DIFFERENTIABLE)
def test_vjp_agrees_with_autograd(example: Example) -> None:
    """The emitted nodes compute what torch's autograd does."""
    tape, node, grads = differentiated(example, xp64(), as_torch)
    assert set(grads) == example.wanted
    arrays = [torch.as_tensor(a) for a in inputs(example)]
    for slot in example.wanted:
        arrays[slot].requires_grad_()
    outs = tuple(map(tape.tensor, node.outs))
    value = example.op.run(Call(xp64(), arrays, example.ins, outs, size))[0]
    g = torch.as_tensor(cotangent(np.zeros(tuple(value.shape)))).to(value.dtype)
    expected = torch.autograd.grad(value, [arrays[slot] for slot in sorted(example.wanted)], g)
    for slot, one in zip(sorted(example.wanted), expected, strict=True):
        assert tape.tensor(grads[slot]).axes == example.ins[slot].axes
        torch.testing.assert_close(tape.arrays[grads[slot]].to(one.dtype), one, rtol=1e-6, atol=1e-9)


@over(DIFFERENTIABLE)
def test_vjp_of_one_input_is_that_of_all(example: Example) -> None:
    """Asking for one gradient gives that gradient and no other."""
    tape, _, grads = differentiated(example, xp64(), as_torch)
    for slot in example.wanted:
        one, _, alone = differentiated(replace(example, wanted=frozenset({slot})), xp64(), as_torch)
        assert set(alone) == {slot}
        torch.testing.assert_close(one.arrays[alone[slot]], tape.arrays[grads[slot]], rtol=1e-9, atol=1e-12)


@over(EXAMPLES)
def test_shapes_are_those_that_run_returns(example: Example) -> None:
    """What infer states is what run and the gradient's nodes return."""
    tape, _, _ = differentiated(example, xp64(), as_torch)
    kinds = {"mask": torch.bool, "index": torch.int64}
    for name, tensor in tape.tensors.items():
        array = tape.arrays[name]
        assert tuple(array.shape) == shape(tensor), (name, tensor)
        if tensor.dtype in kinds:
            assert array.dtype == kinds[tensor.dtype]
        else:
            assert array.is_floating_point()


@over(EXAMPLES)
def test_reads_and_writes_are_one_each(example: Example) -> None:
    """Each input has its reads, each output its writes; a lookup alone may read an element twice."""
    outs = example.op.infer(*example.ins)
    reads, writes = example.op.reads(example.ins, outs), example.op.writes(example.ins, outs)
    assert len(reads) == len(example.op.issues(example.ins, outs)) == len(example.ins)
    assert len(writes) == len(outs)
    for touched, tensor in zip((*reads, *writes), (*example.ins, *outs), strict=True):
        assert size(touched) >= 0
        assert example.op.kind == "lookup" or size(touched) <= size(tensor.numel)
    for once, each in zip(reads, example.op.issues(example.ins, outs), strict=True):
        assert size(once) <= size(each)


@over(EXAMPLES)
def test_views_count_nothing_and_share_storage(example: Example) -> None:
    """An op that says it is a view computes nothing, and torch's result is in the input's storage."""
    if not example.op.alias:
        return
    outs = example.op.infer(*example.ins)
    arrays = [torch.as_tensor(a) for a in inputs(example)]
    result = example.op.native(torch, Call(xp64(), arrays, example.ins, outs, size))[0]
    assert not example.op.counts(example.ins, outs)
    if example.op.kind == "view" and type(example.op).__name__ != "Rearrange":  # merging moved axes copies
        assert result.untyped_storage().data_ptr() == arrays[0].untyped_storage().data_ptr()


@over(EXAMPLES)
def test_native_gives_what_run_gives(example: Example) -> None:
    """The framework's own call and the primitives agree."""
    outs = example.op.infer(*example.ins)
    arrays = [torch.as_tensor(a) for a in inputs(example)]
    ours = example.op.run(Call(xp64(), arrays, example.ins, outs, size))
    native = example.op.native(torch, Call(xp64(), arrays, example.ins, outs, size))
    torch.testing.assert_close(native[0], ours[0], rtol=1e-6, atol=1e-9)


@over(EXAMPLES)
def test_renaming_sizes_and_back_is_the_identity(example: Example) -> None:
    """Substituting nothing changes nothing; fresh names put in and taken out give the op back."""
    op = example.op
    assert op.substitute({}) == op
    held = fields(op)  # type: ignore[arg-type]
    names = sorted({s.name for field in held for s in _symbols(getattr(op, field.name))})
    there = op.substitute({name: symbol(f"{name}_new") for name in names})
    assert there.substitute({f"{name}_new": symbol(name) for name in names}) == op
    assert (there == op) == (not names)


def _symbols(field: object) -> set[Any]:
    return set(field.free_symbols) if isinstance(field, Basic) else set()


@over(EXAMPLES)
def test_notation_names_the_inputs(example: Example) -> None:
    """The LaTeX of an op holds an operand at least, and its braces balance."""
    names = [f"x_{{{slot}}}" for slot in range(len(example.ins))]
    text = example.op.latex(*names)
    assert any(name in text for name in names)
    assert text.count("{") == text.count("}")


def test_every_op_has_examples_and_a_kind() -> None:
    """No op escapes the tests above."""
    for kind in OPS:
        assert kind.examples(), kind
        assert all(type(example.op) is kind and example.op.kind for example in kind.examples())
    assert len(set(OPS)) == len(OPS)
