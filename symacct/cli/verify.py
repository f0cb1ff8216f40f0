"""``symacct verify CERTIFICATE``: the small kernel alone, on one file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from symacct import kernel
from symacct.errors import ReadError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add(parser: ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("certificate", metavar="CERTIFICATE", help="a file that prove has written")
    parser.epilog = "exit status: 0 accepted; 1 refused; 2 it cannot be read"


def run(args: Namespace) -> int:
    """Write the theorem, or why there is none."""
    path = Path(args.certificate)
    if not path.is_file():
        raise ReadError(
            "there is no such certificate",
            where=args.certificate,
            expected="a file that symacct prove has written",
            got="a folder" if path.is_dir() else "no such file",
            fix="symacct prove gpt 'params.matmul = 12*L*h^2 + V*h' --certificate proof.json writes one",
        )
    status, said = kernel.run(args.certificate)
    (sys.stdout if status == 0 else sys.stderr).write(f"{said}\n")
    return status
