"""``symacct mfu``: MFU and HFU from a measurement; more than 1 is an error whose causes are ranked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symacct.cli import options, output
from symacct.cli.plan import add_devices, add_model, devices, envelope, parameters, read_account
from symacct.errors import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from symacct.account import Account
    from symacct.planning.measurement import Measurement

FORMATS = ("text", "markdown", "json")
EPILOG = """\
one thing is measured: a time, and what was done in it; a rate of tokens; or a rate of FLOPs.

examples:
  symacct mfu gpt2 --at S=1024 --tokens-per-second "170k token/s" --on a100-sxm-80gb
  symacct mfu gpt2 --at B=12,S=1024 --time 100ms --on a100-sxm-80gb
  symacct mfu --params 7B --seq 2048 --batch "16 sequence/(device*microstep)" --accumulate 4 --time 25s \\
      --on 8xa100-sxm-80gb
  symacct mfu --params 37B --tokens 14.8T --time "2.79e6 hour*device" --on h100-sxm --dtype fp8
  symacct mfu --achieved "140 TFLOP/(s*device)" --on 1024xa100-sxm-80gb
"""


def add(parser: ArgumentParser) -> None:
    """Add the arguments."""
    add_model(parser)
    add_devices(parser)
    parser.add_argument(
        "--time",
        "--step-time",
        metavar="250ms",
        help="of a step, or of --tokens; or device-time: '2.8e6 hour*device'",
    )
    parser.add_argument("--tokens", metavar="4M", help="tokens done in the time")
    parser.add_argument(
        "--batch",
        metavar="'512 sequence'",
        help="of a step, on all devices; or '16 sequence/(device*microstep)'",
    )
    parser.add_argument(
        "--tokens-per-second", metavar="238.3k", help="of all devices; or '40 token/(s*device)'"
    )
    parser.add_argument(
        "--achieved", metavar="'420 TFLOP/s'", help="a rate of FLOPs that was worked out elsewhere"
    )
    parser.add_argument("--at-most", default="1", metavar="0.8", help="what cannot be exceeded; default: 1")
    options.add_at(parser)
    options.add_policy(parser)
    options.add_convention(parser)
    options.add_format(parser, FORMATS)
    parser.epilog = EPILOG


def run(args: Namespace) -> int:
    """Work the utilisation out, and write it."""
    from symacct.planning.mfu import mfu
    from symacct.report.mfu import blocks

    policy = options.read_policy(args)
    account: Account | None = None
    sizes: dict[str, int] = {}
    if args.graph is None and args.params is None and args.achieved is not None:
        _refuse_sizes(args)
    else:
        account, sizes = read_account(args, policy, "accumulate", verb="mfu")
    given = parameters(args, account)
    made = mfu(
        account, _measured(args), **_with_length(args, given, account is None), **devices(args), sizes=sizes,
        policy=policy, at_most=args.at_most,
    )  # fmt: skip
    output.emit(
        args.format, lambda math: blocks(made, math=math),
        lambda: envelope("mfu", args, account, policy, made),
    )  # fmt: skip
    return 0


def _refuse_sizes(args: Namespace) -> None:
    """Refuse what belongs to a model, where a rate of FLOPs is stated.

    Raises:
        UsageError: something of it is given.
    """
    given = {"--at": args.at, "--assume": args.assume, "--active": args.active, "--recompute": args.recompute}
    for flag, value in given.items():
        if value:
            raise UsageError(f"{flag} belongs to a model", expected="--achieved alone", got=flag)


def _measured(args: Namespace) -> Measurement:
    from symacct.planning.measurement import Measurement

    micro = args.accumulate if args.batch is not None or args.graph is None else options.UNSET["accumulate"]
    micro = None if micro == options.UNSET["accumulate"] else micro
    return Measurement(args.time, args.tokens, args.batch, micro, args.tokens_per_second, args.achieved)


def _with_length(args: Namespace, given: dict[str, Any], alone: bool) -> dict[str, Any]:  # noqa: FBT001
    """Return what is said of parameters; a length alone is that of a sequence, and counts no attention."""
    from symacct.syntax import read_sizes

    shape = given["shape"]
    if alone and isinstance(shape, dict) and set(shape) == {"S"}:
        if args.batch is None:
            what = "--seq alone counts no attention"
            raise UsageError(
                what, expected="--layers, --heads, --head-size and --seq", got=f"--seq {args.seq}"
            )
        return {**given, "shape": {}, "seq": read_sizes(f"S={args.seq}")["S"]}
    return given
