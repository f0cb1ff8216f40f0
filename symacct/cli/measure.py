"""``symacct measure GRAPH``: calibrate this machine, time the graph on it, predicted beside measured."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from symacct.cli import options, output
from symacct.errors import ReadError, UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Mapping

    from symacct.account import Account
    from symacct.execution.measure import Measurement
    from symacct.nodes import Graph

FORMATS = ("text", "markdown", "json")
KINDS, DTYPES = ("cpu", "cuda"), ("fp32", "bf16", "fp16", "fp64")
MOST_REPEATS = 10_000
EPILOG = """\
a size that is given again starts another point: --at B=64,L=4 --at D=256 --at D=512 measures two.
Sizes that --at leaves out are chosen: small, middle and large.

examples:
  symacct measure mlp
  symacct measure mlp --at B=256,L=4 --at D=256 --at D=1024 --save machines -o points.csv
  symacct roofline mlp --on cpu --machines machines --precision fp32 --at B=256,L=4,D=1024
"""


def add(parser: ArgumentParser) -> None:
    """Add the arguments."""
    options.add_graph(parser)
    options.add_symbolic(parser)
    options.add_at(parser)
    parser.add_argument("--device", choices=KINDS, default=KINDS[0], help="default: cpu")
    parser.add_argument("--dtype", choices=DTYPES, default="fp32", help="default: fp32")
    parser.add_argument(
        "--workload", choices=("train", "forward"), default="train", help="the whole step, or forward alone"
    )
    parser.add_argument(
        "--repeats", type=int, metavar="N", help="times that each step is timed; default: a few seconds of it"
    )
    parser.add_argument("--threads", type=int, metavar="N", help="threads of torch on the processor")
    parser.add_argument(
        "-o", dest="points", metavar="FILE.csv", help="write the points for roofline --points"
    )
    parser.add_argument("--save", metavar="DIR", help="write the machine, for --machines DIR")
    parser.add_argument("--picture", metavar="FILE", help="draw the roofline: FILE.svg or FILE.png")
    options.add_format(parser, FORMATS)
    parser.epilog = EPILOG


def run(args: Namespace) -> int:
    """Measure, and write what was found."""
    _check(args)
    made = _measured(args)
    _keep(args, made)
    from symacct.report.measure import blocks

    output.emit(args.format, lambda math: blocks(made, math=math), lambda: _json(args, made))
    return 0


def _json(args: Namespace, made: Measurement) -> str:
    account = made.runs[0].roofline.account
    given = {name: getattr(args, name) for name in ("device", "dtype", "repeats", "threads", "assume")}
    given = {"target": args.graph, "graph": account.graph.name, "at": args.at, **given}
    return output.envelope(
        "measure", given, made, order=account.graph.order, convention=account.convention,
        policy=account.policy,
    )  # fmt: skip


def _check(args: Namespace) -> None:
    """Refuse what would fail after a long measurement.

    Raises:
        UsageError: an argument is out of range, or a picture cannot be drawn.
    """
    if args.repeats is not None and not 1 <= args.repeats <= MOST_REPEATS:
        raise UsageError(
            "--repeats is out of range", expected=f"1 to {MOST_REPEATS}", got=str(args.repeats)[:40]
        )
    if args.picture is not None:
        _drawable(args.picture)


def _drawable(path: str) -> None:
    """Refuse a picture that cannot be drawn.

    Raises:
        UsageError: the ending is another, or matplotlib is missing.
    """
    from importlib.util import find_spec

    from symacct.plot.roofline import ENDINGS

    if not path.lower().endswith(ENDINGS):
        raise UsageError("a picture is SVG or PNG", expected=" or ".join(ENDINGS), got=path[-40:])
    if find_spec("matplotlib") is None:
        raise UsageError(
            "pictures need matplotlib", expected="the extra plot", got="matplotlib is not installed",
            fix="pip install 'symacct[plot]'",
        )  # fmt: skip


def _measured(args: Namespace) -> Measurement:
    from datetime import UTC, datetime

    from symacct.account import derive
    from symacct.execution.measure import measure
    from symacct.execution.measure_device import opened
    from symacct.policy import Policy, precision

    with opened(args.device, args.threads) as device:
        device.require(args.dtype)
        dtype = args.dtype
        items = f"params={dtype},grads={dtype},states={dtype},activations={dtype}"
        chosen = Policy(precision(dtype if dtype in ("fp32", "bf16") else items), workload=args.workload)
        graph = options.read_graph(args)
        points = list(_points(args, graph))
        account: Account = derive(graph, policy=chosen)
        today = datetime.now(tz=UTC).date().isoformat()
        return measure(account, points, device, today=today, repeats=args.repeats, tell=_tell)


def _tell(said: str) -> None:
    sys.stderr.write(f"measure: {said}\n")
    sys.stderr.flush()


def _points(args: Namespace, graph: Graph) -> Iterator[Mapping[str, int]]:
    """Yield sets of sizes; a name that is given again starts another, which keeps the rest.

    Raises:
        UsageError: several points leave a size open.
    """
    from argparse import Namespace as Given

    sizes: dict[str, int] = {}
    fresh: set[str] = set()
    found: list[dict[str, int]] = []
    for text in args.at:
        new = options.read_at(Given(**{**vars(args), "at": [text]}), graph)
        if fresh & new.keys():
            found.append(dict(sizes))
            fresh = set()
        sizes |= new
        fresh |= new.keys()
    found.append(sizes)
    for one in found if len(found) > 1 else ():
        if missing := [name for name in graph.order if name not in one]:
            raise UsageError(
                f"a point leaves {', '.join(missing)} open",
                where="--at",
                expected="every size in each point",
                got=", ".join(f"{name}={size}" for name, size in one.items()),
                fix=f"add {missing[0]}=... to the first --at",
            )
    yield from found


def _keep(args: Namespace, made: Measurement) -> None:
    """Write the files that are asked for."""
    from pathlib import Path

    from symacct.execution.measure_points import few_points, points

    if args.save is not None:
        from symacct.machines import write

        path = Path(args.save) / f"{made.machine.name}.toml"
        write(made.machine, path)
        _tell(f"written: {path}")
    if args.points is not None:
        from symacct.report.measure import points_csv

        try:
            Path(args.points).write_text(points_csv(points(made.runs)), encoding="utf-8")
        except (OSError, ValueError) as error:
            raise ReadError(
                "points cannot be written", where=str(args.points)[:200], got=str(error)[:120]
            ) from None
        _tell(f"written: {args.points}")
    if args.picture is not None:
        from symacct.plot.roofline import draw

        draw([made.runs[-1].roofline], few_points(made.runs), Path(args.picture))
        _tell(f"written: {args.picture}")
