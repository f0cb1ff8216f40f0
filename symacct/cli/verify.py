"""``symacct verify CERTIFICATE``: the small kernel alone, on one file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from symacct import kernel

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add(parser: ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("certificate", metavar="CERTIFICATE", help="a file that prove has written")
    parser.epilog = "exit status: 0 accepted; 1 refused; 2 it cannot be read"


def run(args: Namespace) -> int:
    """Write the theorem, or why there is none."""
    status, said = kernel.run(args.certificate)
    (sys.stdout if status == 0 else sys.stderr).write(f"{said}\n")
    return status
