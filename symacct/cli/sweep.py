"""``symacct sweep``: formulas over grids of sizes, machines and policies, to CSV."""

from __future__ import annotations

import sys
from itertools import product
from typing import TYPE_CHECKING

from symacct.cli import options, output
from symacct.errors import ReadError, UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from symacct.evaluation.sweep import Sweep
    from symacct.evaluation.sweep_cases import Case
    from symacct.policy import Policy

VARIED = ("precision", "optimizer", "convention", "checkpoint")
EPILOG = """\
a QUANTITY is one of symacct list quantities, or a formula of quantities, sizes, and with --on the figures
peak, bandwidth, capacity and devices of a machine; time.step, time.forward, time.token, throughput.tokens
and mfu.bound are what the graph takes there. values: 512,1024  1..8  1..65:8 (steps of 8)  1..64:*2
(doubling). --on, --precision, --optimizer, --convention and --checkpoint take several with commas.

numbers are float64 with the error stated at the end; --exact, and a single point, are exact. where a
condition of a formula fails the exact small case is derived, or the cell is empty and the note says why.

examples:
  symacct sweep gpt flops.model,memory.static --over "h=768..12288:*2,L=12,24" --at a=12,b=8,s=1024,V=50257
  symacct sweep gpt2 "flops.model/peak" --over "B=1..64:*2,S=512,1024" --on h100-sxm,a100-sxm-80gb -o out.csv
"""


def add(parser: ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("graph", metavar="GRAPH", help="a graph or model, as for symacct derive")
    parser.add_argument("quantities", metavar="QUANTITY[,QUANTITY]", help="what is evaluated")
    parser.add_argument(
        "--over", action="append", default=[], metavar="B=1..64:*2,S=512,1024", help="the values of sizes"
    )
    options.add_symbolic(parser)
    options.add_at(parser)
    parser.add_argument(
        "--let", action="append", default=[], metavar="'N = params'", help="a name (may be repeated)"
    )
    parser.add_argument("--on", metavar="MACHINE,...", help="machines; see symacct list machines")
    parser.add_argument(
        "--machines", action="append", default=[], metavar="DIR", help="a folder with machine files"
    )
    parser.add_argument("--exact", action="store_true", help="exact numbers at every point")
    parser.add_argument("-o", "--output", metavar="FILE", help="where the CSV goes; default: the terminal")
    options.add_policy(parser)
    options.add_convention(parser)


def run(args: Namespace) -> int:
    """Sweep, and write the rows as they are worked out; what else is to be said goes beside them."""
    found = _sweep(args)
    notes = dict.fromkeys(note for case in found.cases for note in case.notes)
    said = [_choices(found), *_without_states(found), *notes]
    if args.output is None:
        rows = _write(found, sys.stdout)
        sys.stderr.write("\n".join([*said, _end(found, rows)]) + "\n")
        return 0
    try:
        with open(args.output, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123 (the user's own path)
            rows = _write(found, file)
    except OSError as error:
        raise ReadError(
            f"cannot write {args.output}",
            expected="a file that can be written",
            got=error.strerror or str(error),
        ) from None
    output.write("\n".join([*said, _end(found, rows), f"written: {args.output}"]))
    return 0


def _write(found: Sweep, file: object) -> int:
    from symacct.report.sweep import write_csv

    return write_csv(found, file, _progress)  # type: ignore[arg-type]


def _progress(done: int, whole: int) -> None:
    sys.stderr.write(f"sweep: {done:,} of {whole:,} points, {100 * done // whole} %\n")
    sys.stderr.flush()


def _end(found: Sweep, rows: int) -> str:
    return f"{rows:,} points; {found.accuracy()}"


def _choices(found: Sweep) -> str:
    """Return the choices that all rows share, and the graph."""
    account = found.cases[0].account
    if account is None:
        return ""
    varied = [name for name in found.cases[0].labels if name in VARIED]
    chosen = [f"convention {account.convention.describe()}"] if "convention" not in varied else []
    policy = ", ".join(part for part in _parts(account.policy) if part.split(" ")[0] not in varied)
    none = ", optimizer none" if _stateless(found) else ""
    also = [f"{', '.join(found.cases[0].labels)} as in the rows"] if found.cases[0].labels else []
    return "; ".join([f"graph {account.graph.name}", *chosen, policy + none, *also])


def _parts(policy: Policy) -> list[str]:
    """Return the choices of a policy, each in words; commas inside brackets part nothing."""
    return _texts(policy.describe())


def _stateless(found: Sweep) -> bool:
    """Say whether quantities that an optimizer's states are in are swept, and no row has one."""
    from symacct.planning.solve_reading import without_states

    texts = [[*(column.text for column in case.columns), *case.lets] for case in found.cases]
    return all(
        case.account is not None and without_states(case.account, said)
        for case, said in zip(found.cases, texts, strict=True)
    )


def _without_states(found: Sweep) -> list[str]:
    from symacct.planning.solve_reading import NO_STATES

    return [f"note: {NO_STATES}"] if _stateless(found) else []


def _sweep(args: Namespace) -> Sweep:
    """Return the sweep that the arguments state.

    Raises:
        UsageError: there is no grid.
    """
    from symacct.evaluation.sweep import sweep
    from symacct.evaluation.sweep_grid import read_grid

    if not args.over:
        raise UsageError("there is no grid", expected='--over "B=1..64:*2,S=512,1024"', got="no --over")
    return sweep(list(_cases(args)), read_grid(",".join(args.over)), exact=args.exact)


def _cases(args: Namespace) -> Iterator[Case]:
    """Yield a case for each combination of machines and policies."""
    from symacct.account import Account
    from symacct.evaluation.sweep_cases import make_case
    from symacct.readers.files import load

    graph = load(args.graph, symbolic=args.symbolic)
    given = {name: _several(getattr(args, name)) for name in VARIED}
    for name, values in given.items():
        setattr(args, name, values[0])
    sizes = options.read_at(args, graph)
    machines = _several(args.on)
    texts = _texts(args.quantities)
    said: dict[str, None] = {}
    for chosen in product(machines, *given.values()):
        machine, *policies = chosen
        labels = {} if len(machines) == 1 else {"machine": str(machine)}
        for name, value in zip(VARIED, policies, strict=True):
            setattr(args, name, value)
            if len(given[name]) > 1:
                labels[name] = str(value)
        account = Account(graph, options.read_policy(args), options.read_convention(args))
        account = account.bind(sizes) if sizes else account
        for warning in account.warnings:
            if warning not in said:
                sys.stderr.write(f"warning: {warning}\n")
            said[warning] = None
        yield make_case(account, texts, labels=labels, machine=machine, lets=args.let, dirs=args.machines)


def _several(text: str | None) -> list[str | None]:
    """Return values with commas between them; a precision by items is one."""
    if text is None or "=" in text:
        return [text]
    return list(options.words([text]))


def _texts(text: str) -> list[str]:
    """Return formulas with commas between them, none of which is inside brackets."""
    found, depth = [""], 0
    for char in text:
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and not depth:
            found.append("")
        else:
            found[-1] += char
    if not all(one.strip() for one in found):
        raise UsageError("a quantity is empty", expected="QUANTITY or QUANTITY,QUANTITY", got=text[:72])
    return [one.strip() for one in found]
