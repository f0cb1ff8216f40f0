"""``symacct compare A B``: two formulas, two graphs, or one graph under two conventions or policies."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from symacct.cli import options, output
from symacct.cli.bound import check_free, has_anyway
from symacct.errors import SymacctError, UsageError, unknown

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Collection

    from symacct.account import Account
    from symacct.proof.compare import Comparison
    from symacct.report.blocks import Block
    from symacct.report.facts import Fact

FORMATS = ("text", "markdown", "json")
SHAPE = "A B, or one graph and a flag with two values: --convention default,strict"
PEAKS = frozenset({"memory.peak", "memory.activations.peak"})
TWICE = {
    "workload": "train",
    "optimizer": None,
    "precision": "bf16",
    "saves": "backward",
    "checkpoint": "none",
    "grads": "fresh",
    "update": "separate",
    "accumulate": "1",
    "lora": None,
    "convention": "default",
    "attention": None,
    "bytes": None,
}
"""The flags that take two values, with their defaults; what has commas of its own stands for both."""

EPILOG = """\
sizes of the same name are the same in A and B.

examples:
  symacct compare gpt llama --quantity params
  symacct compare gpt --convention default,strict
  symacct compare gpt --attention full,exact --quantity flops.forward
  symacct compare "2*n*k" "n^2 + k^2"
"""


def add(parser: ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("what", nargs="+", metavar="WHAT", help=f"{SHAPE}; A and B are graphs or formulas")
    parser.add_argument("--quantity", default="flops.model", metavar="NAME", help="default: flops.model")
    options.add_symbolic(parser)
    options.add_at(parser)
    parser.add_argument(
        "--assume",
        action="append",
        default=[],
        metavar="'F = 4*D'",
        help="what sizes satisfy: 'F = 4*D', 'B >= 8', 'k | L' (may be repeated)",
    )
    parser.add_argument(
        "--let", action="append", default=[], metavar="'N = 12*L*h^2'", help="a name in both formulas"
    )
    for name, default in TWICE.items():
        parser.add_argument(
            f"--{name}", default=default, metavar="X[,Y]", help="one for both, or that of A and that of B"
        )
    parser.add_argument("--input-grad", action="store_true", help="form the gradients of the inputs too")
    parser.add_argument("--hold-output", action="store_true", help="the caller holds the output")
    options.add_names(parser)
    options.add_rename(parser)
    options.add_format(parser, FORMATS)
    parser.epilog = EPILOG


def run(args: Namespace) -> int:
    """Compare, and write what is found."""
    if len(args.what) > 2:
        raise UsageError("too many words", expected=SHAPE, got=" ".join(args.what)[:72], fix="quote formulas")
    if len(args.what) == 2 and not any(map(_is_graph, args.what)):
        return _formulas(args)
    if args.let:
        raise UsageError("--let is for formulas", expected=SHAPE, got=f"--let {args.let[0]!r}")
    sides = _two(args)
    accounts = [_account(side) for side in sides]
    own = {name for side in sides for name in options.policy_names(side)}
    from symacct.proof.compare import compare_accounts, put_in

    assumed = put_in(accounts, args.assume)
    shared = [_placed(account, args.at, assumed, own) for account in assumed]
    plain = args.quantity.partition("(")[0]
    if plain not in shared[0].names():
        raise _not_compared(plain, args.what, shared[0])
    found = compare_accounts(shared[0], shared[1], args.quantity, args.assume)
    _write(args, sides, shared, found)
    return 0


def _not_compared(quantity: str, what: list[str], account: Account) -> SymacctError:
    """Return the error for a quantity that no account has: a peak has a verb of its own."""
    error = unknown("quantity", quantity, account.names(), where=f"graph {account.graph.name}")
    if quantity not in PEAKS:
        return error
    fix = f"symacct memory {what[0]} --checkpoint none,every:1"
    if len(what) > 1:
        fix = f'symacct prove {what[0]} "{quantity} <= {quantity}(graph={what[1]})"'
    said = f"{quantity} is not compared: it is the largest of several formulas"
    return UsageError(said, expected=error.expected, got=quantity, fix=fix)


def _is_graph(word: str) -> bool:
    from symacct.readers.catalogue import list_graphs, list_models

    names = {entry.name for entry in list_graphs()} | {entry.name for entry in list_models()}
    return word in names or word.endswith((".py", ".json")) or ".py:" in word or Path(word).is_dir()


def _two(args: Namespace) -> tuple[Namespace, Namespace]:
    """Return the arguments of A and those of B.

    Raises:
        UsageError: there is one graph, and no flag with two values; or a flag has more than two.
    """
    given = [{**vars(args), "graph": args.what[0]}, {**vars(args), "graph": args.what[-1]}]
    apart = len(args.what) == 2
    for name in TWICE:
        value = getattr(args, name)
        whole = name in ("precision", "lora") and "=" in (value or "")
        words = options.words([value]) if value and not whole else [value]
        if len(words) > 2:
            raise UsageError(f"--{name} has {len(words)} values", expected="one or two", got=value)
        given[0][name], given[1][name] = words[0], words[-1]
        apart = apart or len(words) == 2
    if not apart:
        raise UsageError("there is nothing to compare with", expected=SHAPE, got=args.what[0],
                         fix=f"symacct compare {args.what[0]} --convention default,strict")  # fmt: skip
    return Namespace(**given[0]), Namespace(**given[1])


def _account(side: Namespace) -> Account:
    from symacct.account import Account
    from symacct.readers.files import load
    from symacct.readers.renamed import read_renames, renamed

    graph = load(side.graph, symbolic=side.symbolic)
    known = {*graph.sizes, *graph.aliases}
    renames = read_renames(",".join(side.rename))
    graph = renamed(
        graph, {new: old for new, old in renames.items() if old in known or not _two_graphs(side)}
    )
    optimizer = None if side.optimizer in (None, "none") else side.optimizer
    policy = options.read_policy(Namespace(**{**vars(side), "optimizer": optimizer}))
    return Account(graph, policy, options.read_convention(side))


def _two_graphs(side: Namespace) -> bool:
    """Say whether two graphs are compared, each of which may have sizes of its own."""
    return len(set(side.what)) > 1


def _placed(account: Account, at: list[str], accounts: list[Account], own: Collection[str]) -> Account:
    """Return an account with those of the sizes bound that it has; each is one of A, of B or of a policy."""
    from symacct.syntax import read_sizes

    sizes = {name: size for name, size in read_sizes(",".join(at)).items() if name not in own}
    for name in sizes:
        if not any(_has(name, one) for one in accounts):
            known = list(dict.fromkeys([*accounts[0].graph.order, *accounts[1].graph.order]))
            raise unknown("size", name, known, where=f"--at {','.join(at)}")
    mine = {
        name: size
        for name, size in sizes.items()
        if _has(name, account) and not has_anyway(name, size, sizes, account.source)
    }
    for name in mine:
        check_free(name, account.source, f"--at {','.join(at)}")
    return account.bind(mine) if mine else account


def _has(name: str, account: Account) -> bool:
    return name in account.source.sizes or name in account.source.aliases


def _formulas(args: Namespace) -> int:
    if args.at:
        raise UsageError("--at is for graphs", expected=SHAPE, got="--at", fix="write --assume 'NAME = 8'")
    _write(args, (args, args), [], _compared(args))
    return 0


def _compared(args: Namespace) -> Comparison:
    from symacct.proof.compare import compare_formulas

    if args.rename:
        what, fix = "--rename is for the sizes of graphs", "write other letters in the formulas"
        raise UsageError(what, expected=SHAPE, got=f"--rename {args.rename[0]}", fix=fix)
    names = options.words(args.names)
    return compare_formulas(args.what[0], args.what[1], args.let, args.assume, names)


def _write(
    args: Namespace, sides: tuple[Namespace, Namespace], accounts: list[Account], found: Comparison
) -> None:
    from symacct.nodes import repeat_counts
    from symacct.report.blocks import Told
    from symacct.report.comparison import facts_of
    from symacct.report.facts import Style

    order = tuple(dict.fromkeys(name for account in accounts for name in account.graph.order))
    given = {"what": args.what, "quantity": args.quantity if accounts else None, "at": args.at,
             "assume": args.assume, "let": args.let}  # fmt: skip
    given["inputs"] = dict(zip("ab", accounts, strict=False))

    def told(math: bool) -> list[Block]:  # noqa: FBT001
        counts = tuple(dict.fromkeys(name for account in accounts for name in repeat_counts(account.graph)))
        return [Told((*_head(args, sides, accounts), *facts_of(found, Style(order, counts, math))))]

    output.emit(args.format, told, lambda: output.envelope("compare", given, found, order=order))


def _head(args: Namespace, sides: tuple[Namespace, Namespace], accounts: list[Account]) -> list[Fact]:
    from symacct.report.facts import Fact

    if not accounts:
        return [Fact("", "formulas alone, for all sizes of at least 1")]
    said = [f"convention {one.convention.describe()}; {one.policy.describe()}" for one in accounts]
    if said[0] == said[1]:
        head = [
            Fact("", said[0]),
            *(Fact(n, s.graph) for n, s in zip(("graph A", "graph B"), sides, strict=True)),
        ]
    else:
        head = [
            Fact("", f"{name}: {one}; {side.graph}")
            for name, one, side in zip("AB", said, sides, strict=True)
        ]
    bound = [f"{name}: {', '.join(f'{k} = {v}' for k, v in one.graph.bound.items())}"
             for name, one in zip("AB", accounts, strict=True) if one.graph.bound]  # fmt: skip
    named = zip("AB", accounts, strict=True)
    warnings = [Fact("warning", f"{name}: {said}") for name, one in named for said in one.warnings]
    return [*head, *(Fact("bound", one) for one in bound), *warnings, Fact("quantity", args.quantity)]
