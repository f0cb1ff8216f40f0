"""``symacct fit MODEL --on MACHINE``: does it fit; if not, what makes it fit, by predicted step time."""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING

from symacct.cli import options, output
from symacct.cli.plan import read_policy
from symacct.errors import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from symacct.account import Account
    from symacct.planning.fit import Fit
    from symacct.policy import Policy

FORMATS = ("text", "markdown", "json")
SHORT = 1
CLEARED = "\r\x1b[K"
"""What takes the cursor of a terminal to the start of its line, and empties that."""
PATIENCE = 2.0
"""Seconds after which it is said what takes so long."""
INPUTS = ("graph", "on", "reserve", "at", "assume", "symbolic", "machines")
EPILOG = """\
exit status: 0 it fits as asked; 1 it does not; 2 the input is wrong

examples:
  symacct fit llama-3-70b --on 8xh100-sxm --optimizer adamw
  symacct fit llama-3-70b --on 8xh100-sxm --at B=8,S=8k --reserve 2GB
  symacct fit gpt2 --on rtx-4090 --at B=32,S=1024
  symacct fit llama-3-8b --on h100-sxm --workload decode --at B=16,T=8k
"""


def add(parser: ArgumentParser) -> None:
    """Add the arguments."""
    options.add_graph(parser)
    options.add_symbolic(parser)
    parser.add_argument("--on", metavar="MACHINE", help="h100-sxm, 8xh100-sxm; see symacct list machines")
    parser.add_argument("--reserve", metavar="2GB", help="kept free on each device for what is not counted")
    parser.add_argument(
        "--machines", action="append", default=[], metavar="DIR", help="a folder with machines of your own"
    )
    options.add_at(parser)
    options.add_policy(parser, optimizer="adamw")
    options.add_convention(parser)
    options.add_format(parser, FORMATS)
    parser.epilog = EPILOG


def run(args: Namespace) -> int:
    """Say whether it fits, and what makes it fit."""
    from symacct.account import derive
    from symacct.planning.fit import fit
    from symacct.planning.fit_room import room_of
    from symacct.report.fit import blocks

    if args.on is None:
        raise UsageError("fit needs a machine", expected="--on MACHINE, as in --on 8xh100-sxm", got="no --on")
    room_of(args.on, reserve=args.reserve, dirs=args.machines)
    policy = read_policy(args)
    if policy.checkpoint.kind == "optimal":
        raise UsageError(
            "fit looks at many batches, and the best segments are those of one",
            where=f"checkpoint {policy.checkpoint.describe()}",
            expected="a checkpoint that is the same for each batch",
            got=policy.checkpoint.describe(),
            fix="use binomial:SLOTS or every:K, or ask symacct memory with all sizes",
        )
    account = derive(options.read_graph(args), policy=policy, convention=options.read_convention(args))
    sizes = options.read_at(args, account.graph)
    told = _progress(monotonic())
    try:
        found = fit(
            account, args.on, sizes=sizes, reserve=args.reserve, dirs=args.machines, progress=told
        )  # fmt: skip
    finally:
        _cleared()
    output.emit(
        args.format, lambda math: blocks(found, math=math), lambda: _json(args, found, account, policy)
    )  # fmt: skip
    return 0 if found.fits else SHORT


def _json(args: Namespace, found: Fit, account: Account, policy: Policy) -> str:
    from symacct.report.fit import verdict

    given = {name: getattr(args, name) for name in INPUTS if getattr(args, name) not in (None, [], False)}
    return output.envelope(
        "fit", given, found, order=account.graph.order, convention=account.convention, policy=policy,
        message=[f"{word}: {said}" for word, said in verdict(found)],
    )  # fmt: skip


def _progress(start: float) -> Callable[[str], None]:
    """Return what says on a terminal what is derived, once it has taken a while: one line, written anew."""

    def told(what: str) -> None:
        if sys.stderr.isatty() and monotonic() - start > PATIENCE:
            sys.stderr.write(f"{CLEARED}fit: {what}"[: len(CLEARED) + max(20, output.width() - 1)])
            sys.stderr.flush()

    return told


def _cleared() -> None:
    """Take the line of progress away, so that the answer stands alone."""
    if sys.stderr.isatty():
        sys.stderr.write(CLEARED)
        sys.stderr.flush()
