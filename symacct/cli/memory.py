"""``symacct memory GRAPH``: categories, the peak with its regions, what is alive, policies side by side."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from symacct.cli import options, output
from symacct.cli.plan import read_policy
from symacct.errors import UnitError, UsageError, unknown

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence

    from symacct.account import Account
    from symacct.report.data import Report

FORMATS = ("text", "markdown", "latex", "json", "csv")
CATEGORIES = ("parameters", "gradients", "master", "optimizer", "static", "data", "activations", "kv_cache")
EPILOG = """\
the optimizer is adamw unless another one, or none, is named; a graph without a loss is closed with a sum.
without sizes the peak is a formula for each region; with all of them a number, and what would lower it.

examples:
  symacct memory mlp --precision fp32
  symacct memory mlp --at B=64,D=16,L=12 --checkpoint every:3
  symacct memory gpt --checkpoint none,every:1,sqrt,store-nothing
  symacct memory mlp --checkpoint every:k --best
  symacct memory gpt2 --at B=8,S=1024 --explain activations --reserve 2GB
  symacct memory llama-3-8b --workload decode --at B=4,T=8192
  symacct memory mlp --at B=64,D=16,L=12 --checkpoint every:3 --picture steps.svg
"""


def add(parser: ArgumentParser) -> None:
    """Add the arguments."""
    options.add_graph(parser)
    options.add_symbolic(parser)
    options.add_at(parser)
    options.add_policy(parser, optimizer="adamw")
    options.add_convention(parser)
    parser.add_argument(
        "--loss", choices=("sum", "none"), default="sum",
        help="of a graph without one: the sum of its outputs, or none (their cotangents are given)",
    )  # fmt: skip
    parser.add_argument(
        "--explain", action="append", default=[], metavar="CATEGORY",
        help=f"every tensor of a category: {', '.join(CATEGORIES)}",
    )  # fmt: skip
    parser.add_argument("--tensors", action="store_true", help="every tensor of every category")
    parser.add_argument("--reserve", metavar="2GB", help="bytes that are added to the peak")
    parser.add_argument("--all", action="store_true", help="every formula, region and tensor; nothing folded")
    parser.add_argument(
        "--best", action="store_true", help="with --checkpoint every:k: the best k, with its regions"
    )
    parser.add_argument(
        "--picture", metavar="FILE",
        help="draw what is alive step by step, or under every:k the peak against k: FILE.svg or FILE.png",
    )  # fmt: skip
    options.add_format(parser, FORMATS)
    parser.epilog = EPILOG


def run(args: Namespace) -> int:
    """Derive the memory, and write it."""
    texts = [text.strip() for text in args.checkpoint.split(",")]
    if not all(texts):
        raise UsageError(
            "a checkpoint policy is empty", expected="POLICY or POLICY,POLICY", got=args.checkpoint
        )
    reserve = read_reserve(args.reserve)
    if args.picture:
        from symacct.plot.canvas import check

        check(Path(args.picture))
    accounts = [_account(args, text) for text in dict.fromkeys(texts)]
    sizes = _sizes(args, accounts)
    if args.picture:
        _draw(args, accounts, sizes)
    if args.best:
        from symacct.cli.memory_best import best

        best(args, accounts, sizes)
        return 0
    write = _one if len(accounts) == 1 else _several
    write(args, accounts, sizes, reserve)
    return 0


def _draw(args: Namespace, accounts: Sequence[Account], sizes: dict[str, int]) -> None:
    """Draw the steps of a pass; where the length of a segment is open, what each length costs."""
    from symacct.plot.memory import draw, tradeoff

    if len(accounts) > 1:
        raise UsageError(
            "--picture is for one policy", expected="one --checkpoint, or no --picture", got=args.checkpoint
        )
    (account,) = accounts
    every = account.policy.checkpoint.every
    open_ = every is not None and every.is_Symbol and str(every) not in sizes
    (tradeoff if open_ else draw)(account, sizes, Path(args.picture))


def _account(args: Namespace, checkpoint: str) -> Account:
    from symacct.account import derive

    policy = replace(read_policy(Namespace(**{**vars(args), "checkpoint": checkpoint})), loss=args.loss)
    return derive(options.read_graph(args), policy=policy, convention=options.read_convention(args))


def _sizes(args: Namespace, accounts: Sequence[Account]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    plain = Namespace(**{**vars(args), "optimizer": None})
    for account in accounts:
        sizes |= options.read_at(plain, account.graph)
    return sizes


def read_reserve(text: str | None) -> Fraction:
    """Return a number of bytes.

    Raises:
        UnitError: it is in another unit.

    >>> read_reserve("2GB"), read_reserve(None)
    (Fraction(2000000000, 1), Fraction(0, 1))
    """
    from symacct.syntax.figures import read_amount

    if text is None:
        return Fraction(0)
    amount, unit = read_amount(text)
    if str(unit) != "byte":
        raise UnitError(
            "a reserve is in bytes", where="--reserve", expected="2GB", got=text[:64],
            fix="write its unit: GB, GiB, byte",
        )  # fmt: skip
    return amount


def _explained(args: Namespace, account: Account) -> list[str]:
    """Return the categories that are shown by tensor."""
    words = [word.removeprefix("memory.") for word in options.words(args.explain)] if args.explain else []
    for word in words:
        if word not in CATEGORIES:
            raise unknown("category of memory", word, CATEGORIES, where="--explain")
    named = [f"memory.{word}" for word in words]
    if args.tensors:
        others = (f"memory.{word}" for word in CATEGORIES if word != "static")
        named += [name for name in others if account.has(name) and name not in named]
    return named


def _one(args: Namespace, accounts: Sequence[Account], sizes: dict[str, int], reserve: Fraction) -> None:
    from symacct.report.memory_page import memory
    from symacct.report.memory_text import blocks, sections
    from symacct.report.quantities import csv_of
    from symacct.report.tex import latex_of

    (account,) = accounts
    explain = _explained(args, account)
    made = memory(account, sizes, explain=explain, reserve=reserve, every=args.all)
    output.emit(
        args.format, lambda math: blocks(made, math=math), lambda: _json(args, account, sizes, made),
        latex=lambda: latex_of(sections(made)), csv=lambda: csv_of(sections(made)),
    )  # fmt: skip


def _several(args: Namespace, accounts: Sequence[Account], sizes: dict[str, int], reserve: Fraction) -> None:
    from symacct.report.blocks import Reported
    from symacct.report.memory_policies import compared, policies
    from symacct.report.quantities import csv_of
    from symacct.report.tex import latex_of

    for flag, given in (("--explain", args.explain), ("--tensors", args.tensors), ("--reserve", reserve)):
        if given:
            raise UsageError(
                f"{flag} is for one policy", expected=f"one --checkpoint, or no {flag}", got=args.checkpoint
            )

    def report() -> Report:
        return policies(accounts, sizes, every=args.all)

    def record() -> str:
        found = {"policies": compared(accounts, sizes, every=args.all)}
        return _json(args, accounts[0], sizes, found)

    output.emit(
        args.format, lambda _: [Reported(report())], record,
        latex=lambda: latex_of(report()), csv=lambda: csv_of(report()),
    )  # fmt: skip


def _json(args: Namespace, account: Account, sizes: dict[str, int], result: object) -> str:
    given = output.given_graph(account, args.graph, sizes)
    given |= {"assume": args.assume, "checkpoint": args.checkpoint}
    return output.envelope(
        "memory", given, result, order=account.graph.order, convention=account.convention,
        policy=account.policy,
    )  # fmt: skip
