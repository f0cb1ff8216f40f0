"""``symacct verify CERTIFICATE``: the small kernel alone, and whether a certificate is of a claim."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symacct import kernel
from symacct.cli import options
from symacct.errors import ReadError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

REFUSED, UNDECIDED = 1, 3
EPILOG = """\
exit status: 0 accepted, and of the claim if there is one; 1 refused, or of another; 2 it cannot be read;
3 no certificate of the claim was found to compare with
"""


def add(parser: ArgumentParser) -> None:
    """Add the arguments."""
    from symacct.cli import prove

    parser.add_argument("file", metavar="CERTIFICATE", help="a file that prove has written")
    parser.add_argument(
        "graph", nargs="?", metavar="GRAPH", help="what the claim is about, to be derived again"
    )
    parser.add_argument("--claim", metavar="CLAIM", help="the claim that the certificate should be of")
    options.add_symbolic(parser)
    options.add_at(parser)
    prove.add_given(parser)
    options.add_policy(parser)
    options.add_convention(parser)
    parser.set_defaults(certificate=None, coq=None)
    parser.epilog = EPILOG


def run(args: Namespace) -> int:
    """Write the theorem, or why there is none."""
    path = Path(args.file)
    if not path.is_file():
        raise ReadError(
            "there is no such certificate",
            where=args.file,
            expected="a file that symacct prove has written",
            got="a folder" if path.is_dir() else "no such file",
            fix="symacct prove gpt 'params.matmul = 12*L*h^2 + V*h' --certificate proof.json writes one",
        )
    status, said = kernel.run(args.file)
    (sys.stdout if status == 0 else sys.stderr).write(f"{said}\n")
    return status if status or args.claim is None else _compared(args, kernel.load(path.read_bytes()))


def _compared(args: Namespace, certificate: dict[str, Any]) -> int:
    """Write whether a certificate states what one of the claim, made anew, does."""
    from symacct.cli.prove import judged
    from symacct.proof.certified import certify
    from symacct.proof.stated import statement_of

    args.what = [args.claim] if args.graph is None else [args.graph, args.claim]
    verdict, account = judged(args)
    found = certify(verdict, account)
    if found.certificate is None:
        sys.stderr.write(f"no certificate of this claim to compare with: {found.note}\n")
        return UNDECIDED
    read = "read" in certificate["statement"]  # builders in Python write none
    if statement_of(found.certificate, read=read) != statement_of(certificate, read=read):
        sys.stderr.write(f"of another claim: what was given reads\n  {kernel.check(found.certificate)[0]}\n")
        return REFUSED
    sys.stdout.write("of this claim: derived again, it states the same\n")
    return 0
