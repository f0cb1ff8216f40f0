"""``symacct solve``: the inverse question, on a graph with a condition or on an equation alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from symacct.cli import options, output
from symacct.errors import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from symacct.account import Account
    from symacct.machines.machine import Machine
    from symacct.planning.solve_answer import Solution
    from symacct.report.blocks import Block

FORMATS = ("text", "markdown", "json")
SHAPE = 'GRAPH "QUANTITY <= FORMULA" --for NAME, or "FORMULA = FORMULA" --for NAME'
STATES = re.compile(r"[=<>≤≥(]")
MEASURES = re.compile(r"(?<![\w.])(?:flops|bytes|memory|intensity|time|throughput|mfu|params)\.[a-z][\w.]*")
EPILOG = """\
a condition is FORMULA, one of = <= >= < >, FORMULA [where NAME = FORMULA, ...]; argmin_k(FORMULA) and
argmax_k(FORMULA) ask for the best k. flops.forward(core) is what the ops of a region have of a quantity.
with --on MACHINE the names peak, bandwidth, capacity and devices are its figures, and time.step,
time.forward, time.token, throughput.tokens and mfu.bound are what the graph takes there.

a size of the graph is an integer of at least 1; any other name is a real number above 0, unless --integer.
exit status: 0 answered, "none" with its reason included; 2 the input is wrong, or there is no way to solve it

examples:
  symacct solve "12 byte/parameter * N = 640 GB" --for N
  symacct solve gpt --given "memory.static <= 80 GB" --for h --at a=12,L=12,V=50257,s=1024
  symacct solve linear --given "intensity.forward >= peak/bandwidth" --for B --workload forward --on h100-sxm
  symacct solve gpt --given "flops.forward(core) >= 1/2 * flops.forward" --for s
  symacct solve gpt2 "time.step <= 1 second" --for B --at S=1024 --on h100-sxm
  symacct solve "argmin_k(L/k + k)" --at L=96
  symacct solve mlp "argmin_k memory.peak" --checkpoint every:k --optimizer adamw
"""


def add(parser: ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("what", metavar="WHAT", help=SHAPE.replace("%", "%%"))
    parser.add_argument("condition", metavar="CONDITION", nargs="?", help="the same as --given")
    parser.add_argument(
        "--given", metavar="CONDITION", action="append", help="the condition on a graph's quantities"
    )
    parser.add_argument("--for", dest="unknown", metavar="NAME", help="the unknown")
    parser.add_argument("--integer", action="store_true", help="look for integers alone")
    options.add_symbolic(parser)
    options.add_at(parser)
    parser.add_argument(
        "--let",
        action="append",
        default=[],
        metavar="'N = params'",
        help="a name in the condition (may be repeated)",
    )
    parser.add_argument(
        "--assume",
        action="append",
        default=[],
        metavar="'F = 4*D'",
        help="what sizes satisfy: 'F = 4*D', 'B >= 8', 'k | L' (may be repeated)",
    )
    options.add_names(parser)
    parser.add_argument("--on", metavar="MACHINE", help="a machine; see symacct list machines")
    parser.add_argument(
        "--machines", action="append", default=[], metavar="DIR", help="a folder with machine files"
    )
    options.add_policy(parser)
    options.add_convention(parser)
    options.add_format(parser, FORMATS)
    parser.epilog = EPILOG


def run(args: Namespace) -> int:
    """Solve, and write the answer."""
    from symacct.planning.solve import solve

    args.given = _single(args.given)
    account, condition, sizes = _question(args)
    lets, notes = _machine(args, account, condition)
    found = solve(
        account,
        condition,
        args.unknown,
        sizes=sizes,
        lets=[*args.let, *lets],
        assume=args.assume,
        integer=args.integer,
        machine=_where(args),
        names=options.words(args.names),
    )
    output.emit(args.format, lambda math: _shown(found, notes, math=math), lambda: _json(args, found, notes))
    return 0


def _single(given: list[str] | None) -> str | None:
    """Return the condition that is given, if one is.

    Raises:
        UsageError: several are.
    """
    if given is None:
        return None
    if len(given) > 1:
        fix = f"write what holds of sizes as --assume {given[1]!r}, or solve each by itself"
        got = ", ".join(f"--given {one[:36]!r}" for one in given[:3])
        raise UsageError("one condition is solved", expected=SHAPE, got=got, fix=fix)
    return given[0]


def _question(args: Namespace) -> tuple[Account | None, str, dict[str, int]]:
    """Return the account, the condition and the sizes.

    Raises:
        UsageError: there is no condition, or no unknown.
    """
    if args.condition is not None:
        if args.given is not None:
            got = f"{args.condition[:36]!r}, and --given {args.given[:36]!r}"
            raise UsageError("one condition is solved", expected=SHAPE, got=got)
        args.given = args.condition
    if args.given is None and not STATES.search(args.what):
        fix = f'symacct solve {args.what} --given "memory.static <= 80 GB" --for NAME'
        raise UsageError("there is no condition", expected=SHAPE, got=args.what[:72], fix=fix)
    condition = args.what if args.given is None else args.given
    if args.unknown is None and not condition.lstrip().startswith(("arg", "min_", "max_", "\\")):
        raise UsageError("nothing is asked for", expected="--for NAME", got="no --for")
    if args.given is None:
        from symacct.syntax import read_sizes

        named = next((one for one in MEASURES.findall(condition)), None)
        if named is not None:
            fix = f'symacct solve GRAPH "{condition.strip()[:48]}" --for {args.unknown or "NAME"}'
            raise UsageError(f"{named} is a quantity of a graph", expected=SHAPE, got="no graph", fix=fix)
        choices = vars(args) | ({"precision": "bf16"} if args.on else {})
        options.refuse_choices(type(args)(**choices), "formulas alone are solved, and nothing is derived")
        return None, condition, read_sizes(",".join(args.at))
    from symacct.account import Account
    from symacct.readers.files import load

    graph = load(args.what, symbolic=args.symbolic)
    account = Account(graph, options.read_policy(args), options.read_convention(args))
    return account, condition, options.read_at(args, graph)


def _machine(args: Namespace, account: Account | None, condition: str) -> tuple[list[str], list[str]]:
    """Return what the names of a machine's figures stand for, and their sources."""
    if args.on is None:
        return [], []
    from symacct.evaluation.machine_names import machine_lets
    from symacct.policy import precision

    dtype = precision(args.precision).activations
    taken = [] if account is None else [*account.source.sizes]
    return machine_lets(args.on, " ".join([condition, *args.let]), dtype, taken, args.machines)


def _where(args: Namespace) -> Machine | None:
    """Return the machine."""
    if args.on is None:
        return None
    from symacct.machines import load

    return load(args.on, args.machines)


def _shown(found: Solution, notes: list[str], *, math: bool) -> list[Block]:
    from symacct.report.blocks import Told
    from symacct.report.facts import Fact
    from symacct.report.solve import facts_of

    facts = facts_of(found, math=math)
    place = next((n for n, fact in enumerate(facts) if fact.word == "for"), 0) + 1
    facts[place:place] = [Fact("machine", note) for note in notes]
    return [Told(tuple(facts))]


def _json(args: Namespace, found: Solution, notes: list[str]) -> str:
    account = found.asked.account
    given: dict[str, Any] = {"target": None}
    if account is not None:
        given = output.given_graph(account, args.what, {})
    given |= {
        "condition": args.what if args.given is None else args.given,
        "for": found.asked.name,
        "integer": args.integer,
        "at": args.at,
        "let": args.let,
        "assume": args.assume,
        "on": args.on,
        "machine": notes,
    }
    order = () if account is None else account.graph.order
    return output.envelope(
        "solve",
        given,
        found,
        order=order,
        convention=None if account is None else account.convention,
        policy=None if account is None else account.policy,
    )
