"""Flags that mean the same for every verb, and how they become values. Nothing heavy is imported on top."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.cli.bound import check_free, fix_of_workload, has_anyway
from symacct.errors import SymacctError, UsageError
from symacct.policy import GRADS, SAVES, UPDATES, WORKLOADS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from symacct.convention import Convention
    from symacct.nodes import Graph
    from symacct.policy import Policy

ATTENTION = ("full", "half", "exact", "none")
BYTES = ("algorithmic", "issued", "fused", "compulsory")


def add_graph(parser: ArgumentParser) -> None:
    """Add the graph, and what is put into it."""
    parser.add_argument(
        "graph",
        metavar="GRAPH",
        help="a shipped graph or model (see symacct list graphs, list models), my.py:name (the file is run), "
        "a graph as JSON, or a config.json",
    )
    parser.add_argument(
        "--assume",
        action="append",
        default=[],
        metavar="'F = 4*D'",
        help="put a formula in the place of a size, before anything is derived (may be repeated)",
    )


def add_symbolic(parser: ArgumentParser) -> None:
    """Add the choice between a model's own sizes and symbols."""
    parser.add_argument("--symbolic", action="store_true", help="keep the sizes of a model symbolic")


def add_at(parser: ArgumentParser) -> None:
    """Add the sizes at which formulas are evaluated."""
    parser.add_argument(
        "--at", action="append", default=[], metavar="B=8,D=4k", help="sizes: k M B T, Ki Mi Gi are read"
    )


def add_policy(parser: ArgumentParser, *, optimizer: str = "none") -> None:
    """Add the choices of a run; a verb that takes another optimizer than none says which."""
    parser.add_argument("--workload", choices=WORKLOADS, default="train", help="default: train")
    parser.add_argument(
        "--optimizer", metavar="NAME", help=f"default: {optimizer}; see symacct list optimizers"
    )
    parser.add_argument(
        "--precision",
        default="bf16",
        metavar="NAME",
        help="default: bf16; or params=bf16,grads=fp32,...; see symacct list precisions",
    )
    parser.add_argument(
        "--saves", choices=SAVES, default="backward", help="what is kept for backward; default: what it reads"
    )
    parser.add_argument("--input-grad", action="store_true", help="form the gradients of the inputs too")
    parser.add_argument(
        "--checkpoint",
        default="none",
        metavar="POLICY",
        help="what is run again in backward: none, every:K[:needed|:full], sqrt, binomial:SLOTS, "
        "optimal:BYTES, selective:REGION, store-nothing; see symacct list checkpoints",
    )
    parser.add_argument("--grads", choices=GRADS, default="fresh", help="gradients of a step; default: fresh")
    parser.add_argument(
        "--update",
        choices=UPDATES,
        default="separate",
        help="after backward, or on each gradient as it comes",
    )
    parser.add_argument("--hold-output", action="store_true", help="the caller holds the output")
    parser.add_argument(
        "--accumulate",
        default="1",
        metavar="N",
        help="micro-batches that a step adds up: an integer or a name",
    )
    parser.add_argument(
        "--lora", metavar="r=16,on=q,v", help="freeze the weights and train low-rank adapters beside some"
    )


def add_convention(parser: ArgumentParser) -> None:
    """Add the choices of an account."""
    parser.add_argument(
        "--convention",
        default="default",
        metavar="NAME",
        help="default: default; see symacct list conventions",
    )
    parser.add_argument("--attention", choices=ATTENTION, help="pairs of query and key that count")
    parser.add_argument("--bytes", choices=BYTES, help="which accesses count as bytes moved")


UNSET = {
    "workload": "train", "optimizer": None, "precision": "bf16", "saves": "backward", "input_grad": False,
    "checkpoint": "none", "grads": "fresh", "update": "separate", "hold_output": False, "accumulate": "1",
    "lora": None,
    "convention": "default", "attention": None, "bytes": None,
}  # fmt: skip
"""What the choices of a run and of an account are where nothing is said."""


def refuse_choices(args: Namespace, why: str) -> None:
    """Refuse the choices of a derivation where nothing is derived from the command line.

    Raises:
        UsageError: one of them was given.
    """
    for name, default in UNSET.items():
        if getattr(args, name) != default:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} has no meaning here: {why}", expected=f"no {flag}", got=flag)


def add_run_python(parser: ArgumentParser) -> None:
    """Add the leave to run Python that a document names."""
    parser.add_argument(
        "--run-python",
        action="store_true",
        help="run the Python files that claims or a layout name as graphs; without it a document runs none",
    )


def add_format(parser: ArgumentParser, formats: Sequence[str]) -> None:
    """Add the format of the output; the first is the default."""
    parser.add_argument("--format", choices=tuple(formats), default=formats[0], help=f"default: {formats[0]}")


def read_graph(args: Namespace) -> Graph:
    """Return the graph that the arguments name, with what is assumed put in.

    Raises:
        SymacctError: there is no such graph, or an assumption cannot be read.
    """
    from symacct.readers.files import load
    from symacct.syntax import read_equation

    graph = load(args.graph, symbolic=args.symbolic)
    for text in args.assume:
        name, formula = read_equation(text, graph.order)
        check_free(name, graph, f"--assume {text!r}")
        graph = graph.bind({name: formula})
    return graph


def read_at(args: Namespace, graph: Graph) -> dict[str, int]:
    """Return the sizes given by ``--at``; each is a free size of the graph, or has that value anyway.

    Raises:
        SymacctError: a size is unknown, bound already, given twice, or no integer in range.
    """
    from symacct.algebra.evaluate import check_sizes
    from symacct.counts import may_be_zero
    from symacct.syntax import read_sizes

    text = ",".join(args.at)
    own = policy_names(args)
    if args.at and not all(part.strip() for part in text.split(",")):
        raise UsageError(
            "a size is empty", where="--at", expected="NAME=SIZE or NAME=SIZE,NAME=SIZE", got=text
        )
    sizes = {name: size for name, size in read_sizes(text).items() if name not in own}
    sizes = {name: size for name, size in sizes.items() if not has_anyway(name, size, sizes, graph)}
    for name in sizes:
        check_free(name, graph, f"--at {text}", fix_of_workload(name, args, graph))
    try:
        sizes = graph.resolved(sizes)
        check_sizes(sizes, graph.order, frozenset(may_be_zero(graph)))
    except SymacctError as error:
        raise error.at(f"--at {text}") from None
    return {name: sizes[name] for name in graph.order if name in sizes}


def read_policy(args: Namespace) -> Policy:
    """Return the policy that the arguments state, its own symbols replaced where ``--at`` gives them."""
    from symacct.syntax import read_sizes

    policy = stated_policy(args, args.checkpoint)
    sizes = read_sizes(",".join(args.at)) if policy.names and getattr(args, "at", None) else {}
    return policy.bind(sizes)


def stated_policy(args: Namespace, checkpoint: str) -> Policy:
    """Return the policy that the arguments state, with a checkpoint policy."""
    from symacct.adapters import parse_lora
    from symacct.policy import Policy, precision, whole_or_symbol
    from symacct.policy import checkpoint as read_checkpoint

    return Policy(
        precision(args.precision),
        args.optimizer,
        args.saves,
        args.workload,
        args.input_grad,
        read_checkpoint(checkpoint),
        args.grads,
        args.update,
        args.hold_output,
        whole_or_symbol(args.accumulate, "the number of micro-batches"),
        None if args.lora is None else parse_lora(args.lora),
    )


def policy_names(args: Namespace) -> tuple[str, ...]:
    """Return the names of the symbols in the policies that the arguments state."""
    if not hasattr(args, "checkpoint"):
        return ()
    texts = args.checkpoint.split(",")
    return tuple(dict.fromkeys(name for text in texts for name in stated_policy(args, text).names))


def read_convention(args: Namespace) -> Convention:
    """Return the convention that the arguments state."""
    from symacct.convention import convention

    given = {"attention": args.attention, "bytes": args.bytes}
    return convention(args.convention, **{name: value for name, value in given.items() if value is not None})


def add_names(parser: ArgumentParser) -> None:
    """Add the flag that declares names."""
    parser.add_argument(
        "--names",
        action="append",
        default=[],
        metavar="B,D,K",
        help="words that are names, so that 2BDK is their product (may be repeated)",
    )


def add_rename(parser: ArgumentParser) -> None:
    """Add the flag that gives sizes of a graph other letters."""
    parser.add_argument(
        "--rename",
        action="append",
        default=[],
        metavar="N=H,H=K",
        help="other letters for sizes of the graph, all at once: N for H, H for K",
    )


def words(given: Sequence[str]) -> list[str]:
    """Return the words of a flag that may be repeated, or hold several with commas.

    Raises:
        UsageError: there is an empty one.
    """
    found = [word.strip() for text in given for word in text.split(",")]
    if not all(found):
        raise UsageError("a name is empty", expected="NAME or NAME,NAME", got=",".join(given))
    return list(dict.fromkeys(found))
