"""``symacct plan MODEL``: one screen on a run: parameters, FLOPs, days, memory, what binds."""

from __future__ import annotations

import re
from dataclasses import replace
from shlex import join
from typing import TYPE_CHECKING, Any

from symacct.cli import options, output
from symacct.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Collection

    from symacct.account import Account
    from symacct.planning.plan import Plan
    from symacct.policy import Policy

FORMATS = ("text", "markdown", "json")
SHAPE = {"layers": "L", "heads": "H", "head_size": "K", "seq": "S"}
COUNT = re.compile(r"[0-9][0-9.]*(e[0-9]+)?[KMBT]?")
"""A number where a model stands: parameters are meant."""
BESIDE = (
    *("active", "tokens", "batch", "time", "tokens-per-second", "achieved"),
    *("on", "devices", "peak", "mfu", "price"),
)
"""What else is said of parameters alone, as flags take it."""
EPILOG = """\
examples:
  symacct plan llama-3-70b --tokens 15T --on 1024xh100-sxm --mfu 0.5 --at S=8192
  symacct plan --params 70B --tokens 15T --on 1024xlecture:h100 --mfu 50%
  symacct plan --params 7B --tokens "20 token/parameter"
  symacct plan --params 7B --on 8xh100-sxm --mfu 40% --time "2 week"
  symacct plan llama-3-8b --at S=8192 --on 8xh100-sxm --checkpoint every:1
"""


def add(parser: ArgumentParser) -> None:
    """Add the arguments."""
    add_model(parser)
    parser.add_argument("--tokens", metavar="15T", help="tokens of the run; or '20 token/parameter'")
    parser.add_argument(
        "--time",
        metavar="'2 week'",
        help="what the run may take: gives the tokens, or the MFU that it asks for",
    )
    add_devices(parser)
    parser.add_argument("--mfu", metavar="0.5", help="the MFU assumed; without it times are bounds")
    parser.add_argument("--price", metavar="'2 $/hour'", help="of one device")
    options.add_at(parser)
    options.add_policy(parser, optimizer="adamw")
    options.add_convention(parser)
    options.add_format(parser, FORMATS)
    parser.epilog = EPILOG


def add_model(parser: ArgumentParser) -> None:
    """Add the model: a graph, or parameters alone."""
    parser.add_argument(
        "graph", metavar="MODEL", nargs="?",
        help="a shipped graph or model (see symacct list graphs, list models), my.py:name, a graph as JSON, "
        "or a config.json",
    )  # fmt: skip
    parser.add_argument(
        "--assume", action="append", default=[], metavar="'F = 4*D'",
        help="put a formula in the place of a size (may be repeated)",
    )  # fmt: skip
    options.add_symbolic(parser)
    parser.add_argument("--params", metavar="70B", help="a number of parameters, in place of a model")
    parser.add_argument("--active", metavar="37B", help="how many of them a token touches; default: all")
    for flag, symbol in SHAPE.items():
        meaning = {"L": "layers", "H": "heads", "K": "features of a head", "S": "tokens per sequence"}[symbol]
        parser.add_argument(
            f"--{flag.replace('_', '-')}",
            metavar=symbol,
            help=f"{meaning}; with --params, to count attention",
        )
    parser.add_argument(
        "--recompute", metavar="SHARE", help="the share of forward that is run again; with --params"
    )


def add_devices(parser: ArgumentParser) -> None:
    """Add what the model runs on."""
    parser.add_argument("--on", metavar="MACHINE", help="1024xh100-sxm; see symacct list machines")
    parser.add_argument("--devices", metavar="N", help="how many, where the machine's name does not say")
    parser.add_argument(
        "--peak", metavar="'275 TFLOP/s'", help="the dense peak of one device that is not listed"
    )
    parser.add_argument(
        "--dtype", metavar="NAME", help="format of the contractions; default: the activations'"
    )
    parser.add_argument(
        "--machines", action="append", default=[], metavar="DIR", help="a folder with machines"
    )


def run(args: Namespace) -> int:
    """Plan, and write the plan."""
    from symacct.planning.plan import check_workload, plan
    from symacct.report.plan import blocks

    policy = read_policy(args)
    check_workload(policy)
    account, sizes = read_account(args, policy)
    made: Plan = plan(
        account, **parameters(args, account), **devices(args), sizes=sizes, policy=policy,
        tokens=args.tokens, time=args.time, mfu=args.mfu, price=args.price,
    )  # fmt: skip
    output.emit(
        args.format, lambda math: blocks(made, math=math),
        lambda: envelope("plan", args, account, policy, made),
    )  # fmt: skip
    return 0


def read_policy(args: Namespace) -> Policy:
    """Return the policy; training has AdamW unless another optimizer, or ``none``, is named."""
    given = args.optimizer
    args.optimizer = None if given == "none" else given
    policy = options.read_policy(args)
    return replace(policy, optimizer="adamw") if given is None and policy.workload == "train" else policy


def read_account(
    args: Namespace, policy: Policy, *taken: str, verb: str = "plan"
) -> tuple[Account | None, dict[str, int]]:
    """Return the account of the graph that is named, and sizes; None where none is."""
    from symacct.account import derive
    from symacct.planning.at_sizes import settled

    if args.graph is None:
        if args.at or args.assume or args.symbolic:
            got = "--at" if args.at else "--assume" if args.assume else "--symbolic"
            raise UsageError(f"{got} is for a graph", expected="MODEL, or --params without it", got=got)
        _refuse_graph_choices(args, {"workload", "optimizer", "precision", *taken})
        return None, {}
    try:
        graph = options.read_graph(args)
    except UnknownNameError as error:
        if COUNT.fullmatch(args.graph):
            error.fix = f"a number of parameters is --params: {_with_params(args, verb)}"
        raise
    account = derive(graph, policy=policy, convention=options.read_convention(args))
    sizes = options.read_at(args, account.graph)
    return settled(account, sizes), {name: n for name, n in sizes.items() if name not in account.wanted}


def _with_params(args: Namespace, verb: str) -> str:
    """Return the command with its number of parameters as one."""
    given = ((flag, getattr(args, flag.replace("-", "_"), None)) for flag in BESIDE)
    words = [word for flag, text in given if isinstance(text, str) for word in (f"--{flag}", text)]
    return join(["symacct", verb, "--params", args.graph, *words])


def _refuse_graph_choices(args: Namespace, taken: Collection[str]) -> None:
    """Refuse the choices that only a graph has, where parameters stand alone."""
    for name, default in options.UNSET.items():
        if name not in taken and getattr(args, name) != default:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{flag} has no meaning here: there is no graph", expected=f"MODEL, or no {flag}", got=flag
            )


def parameters(args: Namespace, account: Account | None) -> dict[str, Any]:
    """Return what is said of parameters alone."""
    from symacct.syntax import read_sizes

    given = {symbol: getattr(args, flag) for flag, symbol in SHAPE.items() if getattr(args, flag) is not None}
    if given and account is not None:
        flag = next(flag for flag in SHAPE if getattr(args, flag) is not None)
        raise UsageError(
            f"--{flag.replace('_', '-')} is for --params", expected="sizes of the graph: --at NAME=SIZE",
            got=getattr(args, flag),
        )  # fmt: skip
    shape = read_sizes(",".join(f"{symbol}={value}" for symbol, value in given.items()))
    return {"params": args.params, "active": args.active, "shape": shape, "recompute": args.recompute}


def devices(args: Namespace) -> dict[str, Any]:
    """Return what is said of the devices."""
    from symacct.syntax import read_figure

    count = None if args.devices is None else read_figure(args.devices)
    if count is not None and count.denominator != 1:
        raise UsageError("a number of devices is an integer", expected="8", got=args.devices)
    return {
        "on": args.on, "devices": None if count is None else int(count), "peak": args.peak,
        "dtype": args.dtype, "dirs": args.machines,
    }  # fmt: skip


INPUTS = (
    "graph", "params", "active", *SHAPE, "recompute", "tokens", "time", "batch", "tokens_per_second",
    "achieved", "accumulate", "on", "devices", "peak", "dtype", "mfu", "at_most", "price", "at", "assume",
)  # fmt: skip


def envelope(command: str, args: Namespace, account: Account | None, policy: Policy, result: object) -> str:
    """Return the JSON of a plan or a utilisation."""
    given = {name: getattr(args, name) for name in INPUTS if getattr(args, name, None) not in (None, [])}
    convention = None if account is None else account.convention
    return output.envelope(command, given, result, convention=convention, policy=policy)
