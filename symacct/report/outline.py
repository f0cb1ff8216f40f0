"""A graph and its derived backward pass as a program: what each node makes of what, and what is saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symacct.nodes import Repeat
from symacct.printers import text
from symacct.printers.op_words import op_text
from symacct.report.table import GAP, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from symacct.account import Account
    from symacct.nodes import Node, Step_
    from symacct.tensor import Tensor

SOURCES = (("inputs", ("input", "cache")), ("weights", ("weight",)), ("constants", ("constant",)))


def outline(account: Account, width: int = 100) -> str:
    """Return the graph of an account as lines: sources, the forward pass, the derived backward pass."""
    kept = {one.tensor.name: ", ".join(one.readers) for one in account.saved} if account.trains else {}
    written = _Outline(account, account.graph.order, kept)
    lines: list[str] = []
    for title, roles in SOURCES:
        found = [t for t in account.graph.tensors.values() if t.role in roles]
        lines += ["", title, *(line for t in found for line in written.source(t))] if found else []
    lines += ["", "forward", *written.steps(account.graph.nodes, 1)]
    lines.append(f"{GAP}return {', '.join(account.graph.outputs)}")
    lines += _regions(account)
    if account.step.backward:
        lines += ["", "backward", *written.steps(account.step.backward, 1)]
    return "\n".join(piece for line in lines for piece in wrap(line, width)).removeprefix("\n")


def _regions(account: Account) -> list[str]:
    """Return a line for each region of the graph that is run again in backward."""
    if not account.graph.remats or not account.trains:
        return []
    lines = ["", "run again in backward"]
    for one in account.graph.remats:
        lines.append(f"{GAP}{one.name}: {', '.join(one.labels)}")
        lines += [f"{GAP * 2}but {', '.join(one.keep)} is kept"] if one.keep else []
    return lines


@dataclass(frozen=True, slots=True)
class _Outline:
    """The lines of an outline; ``kept`` says what each saved tensor is kept for."""

    account: Account
    order: Sequence[str]
    kept: Mapping[str, str]

    def source(self, tensor: Tensor) -> Iterator[str]:
        """Yield the line of a tensor that no node makes."""
        graph = self.account.graph
        words = [tensor.dtype] if tensor.dtype != "float" else []
        words += ["frozen"] if tensor.role == "weight" and tensor.name not in graph.trainable else []
        words += [f"one for each iteration of {', '.join(tensor.path)}"] if tensor.path else []
        notes = f" ({', '.join(words)})" if words else ""
        yield f"{GAP}{self.shaped(tensor.name)}{notes}"
        yield from self.saved((tensor.name,), 1)

    def steps(self, nodes: Sequence[Step_], level: int) -> Iterator[str]:
        """Yield the lines of nodes; the body of a repeat stands indented below it."""
        for node in nodes:
            if isinstance(node, Repeat):
                yield from self.repeat(node, level)
            else:
                yield from self.node(node, level)

    def node(self, node: Node, level: int) -> Iterator[str]:
        """Yield what a node makes of what, and what of it is saved."""
        made = ", ".join(self.shaped(name) for name in node.outs)
        yield f"{GAP * level}{made} = {op_text(node.op, self.order)} ({', '.join(node.ins)})"
        yield from self.saved(node.outs, level)

    def saved(self, names: Sequence[str], level: int) -> Iterator[str]:
        """Yield a line for each tensor that is kept."""
        for name in names:
            if name in self.kept:
                yield f"{GAP * (level + 2)}{name} is saved for the gradient of {self.kept[name]}"

    def repeat(self, repeat: Repeat, level: int) -> Iterator[str]:
        """Yield a repeat: its range, what it hands on, and its body."""
        first, last = text(repeat.lo, self.order), text(repeat.hi - 1, self.order)
        span = f"{last}, ..., {first}" if repeat.reverse else f"{first}, ..., {last}"
        yield f"{GAP * level}repeat {repeat.name}, {repeat.index} = {first if first == last else span}"
        for one in repeat.carry:
            ends = [f"from {one.init}"] if one.init else []
            ends += [f"next {one.leave}"] if one.leave else []
            ends += [f"at last {one.result}"] if one.result else []
            yield f"{GAP * (level + 1)}carry {one.enter or 'nothing'}: {', '.join(ends)}"
        yield from self.steps(repeat.body, level + 1)
        for inside, outside in repeat.sums:
            yield f"{GAP * (level + 1)}{outside} = sum over {repeat.index} of {inside}"

    def shaped(self, name: str) -> str:
        """Return a tensor with its axes, and sizes where these are not the axes' names."""
        tensor = self.account.step.tensor(name)
        parts = [
            axis if str(dim) == axis else f"{axis}={text(dim, self.order)}"
            for axis, dim in zip(tensor.axes, tensor.dims, strict=True)
        ]
        return f"{name}[{' '.join(parts)}]"
