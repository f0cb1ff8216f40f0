"""``symacct list WHAT``: what there is, without starting the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.cli import catalogue, output
from symacct.errors import UsageError
from symacct.policy import CHECKPOINTS, PRECISIONS
from symacct.report.blocks import Grid
from symacct.report.names import MEANINGS
from symacct.report.table import Column, Table, as_csv

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Mapping

    from symacct.policy import Precision

FORMATS = ("text", "markdown", "json", "csv")


def _graphs() -> catalogue.Rows:
    from symacct.readers.catalogue import list_graphs

    return [(entry.name, entry.about, _sizes(entry.sizes)) for entry in list_graphs()]


def _sizes(sizes: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {meaning}".strip() for name, meaning in sizes.items())


def _models() -> catalogue.Rows:
    from symacct.readers.catalogue import list_models

    return [(entry.name, entry.about, entry.family, entry.source) for entry in list_models()]


def _claims() -> catalogue.Rows:
    from symacct.readers.claim_files import list_claim_files

    return [(file.name, str(len(file.claims)), file.about) for file in list_claim_files()]


def _precision(one: Precision) -> tuple[str, ...]:
    return (one.name, one.params, one.grads, one.master or "none", one.states, one.activations)


LISTS: Mapping[str, tuple[tuple[str, ...], Callable[[], catalogue.Rows]]] = {
    "graphs": (("name", "what it is", "sizes"), _graphs),
    "models": (("name", "what it is", "family", "source"), _models),
    "machines": (("name", "part", "dense peaks", "bandwidth", "capacity"), catalogue.machines),
    "dtypes": (("name", "bits", "largest", "smallest", "epsilon or step", "what it is"), catalogue.dtypes),
    "conventions": (("name", "what it counts"), catalogue.conventions),
    "optimizers": (("name", "bytes of fp32 states per parameter", "what it does"), catalogue.optimizers),
    "precisions": (
        ("name", "parameters", "gradients", "master copy", "optimizer states", "activations"),
        lambda: [_precision(one) for one in PRECISIONS.values()],
    ),
    "checkpoints": (("policy", "what runs again"), lambda: list(CHECKPOINTS.items())),
    "quantities": (("name", "meaning"), lambda: list(MEANINGS.items())),
    "units": (("name", "definition", "other names"), catalogue.units),
    "ops": (("name", "what it is"), catalogue.ops),
    "claims": (("name", "claims", "what they are about"), _claims),
}
"""What can be listed: the titles of the columns, and what gives the rows."""


def add(parser: ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "what", nargs="?", choices=tuple(LISTS), metavar="WHAT", help=f"one of: {', '.join(LISTS)}"
    )
    parser.add_argument("--format", choices=FORMATS, default=FORMATS[0], help=f"default: {FORMATS[0]}")


def run(args: Namespace) -> int:
    """Write the list.

    Raises:
        UsageError: nothing to list was named.
    """
    if args.what is None:
        raise UsageError(
            "symacct list: the following arguments are required: WHAT",
            expected=f"symacct list WHAT, one of: {', '.join(sorted(LISTS))}",
        )
    titles, rows = LISTS[args.what][0], LISTS[args.what][1]()
    columns = tuple(Column(title, breaks=place > 0) for place, title in enumerate(titles))
    result = [dict(zip(titles, row, strict=True)) for row in rows]
    made = {"input": {"what": args.what}, "convention": None, "policy": None, "result": result}
    output.emit(
        args.format, lambda _: [Grid(Table(columns, tuple(rows)))], lambda: output.document("list", made),
        csv=lambda: as_csv([titles, *rows]),
    )  # fmt: skip
    return 0
