"""``symacct roofline GRAPH --on MACHINE``: what binds each op, how long it takes, and the picture."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from symacct.cli import options, output
from symacct.cli.bound import check_free
from symacct.errors import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from symacct.evaluation.roofline import Roofline

FORMATS = ("text", "markdown", "json", "csv")


def add(parser: ArgumentParser) -> None:
    """Add the arguments."""
    options.add_graph(parser)
    options.add_symbolic(parser)
    parser.add_argument(
        "--on",
        action="append",
        default=[],
        metavar="M[,M2]",
        help="machines: h100-sxm, 8xh100-sxm, FILE.toml; see symacct list machines. "
        "Without one, formulas in machine symbols",
    )
    parser.add_argument(
        "--machines",
        action="append",
        default=[],
        metavar="DIR",
        help="a folder with machine files of your own",
    )
    parser.add_argument(
        "--for", dest="solved", metavar="SIZE", help="the size that conditions are solved for"
    )
    parser.add_argument(
        "--over",
        metavar="NAME",
        help="hold bytes against this cache or link (as 'NVLink 4') in the place of main memory",
    )
    options.add_at(parser)
    options.add_policy(parser)
    options.add_convention(parser)
    options.add_format(parser, FORMATS)
    parser.add_argument("-o", dest="picture", metavar="FILE", help="draw it: FILE.svg or FILE.png")
    parser.add_argument(
        "--points",
        metavar="FILE.csv",
        help="measured points for the picture: columns name, flops, bytes, seconds",
    )


def run(args: Namespace) -> int:
    """Write the roofline, and draw it where a picture is asked for."""
    if args.points and not args.picture:
        raise UsageError("--points are drawn", expected="-o FILE.svg or -o FILE.png", got="no -o")
    if args.picture:
        from symacct.plot.canvas import check

        check(Path(args.picture))
    mades = _made(args)
    if args.picture:
        _draw(args, mades)
    _emit(args, mades)
    return 0


def _made(args: Namespace) -> list[Roofline]:
    from symacct.account import derive
    from symacct.evaluation.roofline import Roofline
    from symacct.machines import load
    from symacct.report.summary import view

    machines = [load(name, args.machines) for name in options.words(args.on)]
    policy, convention = options.read_policy(args), options.read_convention(args)
    account = derive(options.read_graph(args), policy=policy, convention=convention)
    sizes = options.read_at(args, account.graph)
    if args.solved is not None:
        check_free(args.solved, account.graph, "--for")
    names = ("flops.hardware.all", "bytes.step") if account.trains else ("flops.forward.all", "bytes.forward")
    shown = view(account, sizes, names)
    return [
        Roofline(shown.account, machine, dict(shown.sizes), args.solved, args.over)
        for machine in (machines or (None,))
    ]


def _emit(args: Namespace, mades: list[Roofline]) -> None:
    from symacct.report.roofline import blocks, csv_of

    account = mades[0].account

    def record() -> str:
        given = output.given_graph(account, args.graph, mades[0].sizes) | {"on": options.words(args.on)}
        return output.envelope(
            "roofline", given, mades, order=account.graph.order, convention=account.convention,
            policy=account.policy,
        )  # fmt: skip

    output.emit(args.format, lambda math: blocks(mades, math=math), record, csv=lambda: csv_of(mades))


def _draw(args: Namespace, mades: list[Roofline]) -> None:
    from symacct.evaluation.points import read_points
    from symacct.plot.roofline import draw
    from symacct.report.roofline_words import above

    measured = read_points(Path(args.points)) if args.points else ()
    draw(mades, measured, Path(args.picture))
    for said in above(measured, mades):
        sys.stderr.write(f"note: {said}\n")
