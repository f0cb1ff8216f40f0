"""From arguments to an exit status: 0 done, 1 a check failed, 2 the input is wrong, 3 undecided."""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from difflib import get_close_matches
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, NoReturn

from symacct import __version__
from symacct.errors import DisagreementError, SymacctError, UsageError, unknown

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

VERBS = {
    "derive": "the formulas of a graph, with where each term comes from",
    "show": "the graph and its derived backward pass",
    "prove": "a claim: proved, refuted or undecided, and what is true instead",
    "compare": "two graphs, formulas or conventions: difference, ratio, crossing, by op",
    "memory": "categories, the peak with its regions, what is alive then, policies side by side",
    "roofline": "what binds each op on a machine, how long it takes, the picture",
    "measure": "this machine, calibrated, and a graph timed on it: predicted beside measured",
    "calc": "arithmetic with units, checked: '6e24 FLOP / (4e17 FLOP/s)' --to day",
    "mfu": "MFU and HFU from a measurement; more than 1 is diagnosed",
    "sheet": "a sheet of formulas to print: LaTeX, PDF, Markdown, HTML, text",
    "plan": "one screen: parameters, FLOPs, days, memory, what binds",
    "fit": "does it fit; if not, what makes it fit, by predicted step time",
    "solve": "the inverse question: for which sizes a condition holds",
    "sweep": "formulas over grids of sizes, machines and policies, to CSV",
    "check": "run a graph with torch: derived against counted",
    "verify": "check a certificate with the small kernel alone",
    "dtype": "a number format: range, precision, and what becomes of numbers in it",
    "list": "what there is: graphs, models, dtypes, conventions, units, ...",
}
"""The verbs, in the order of the help; each is a module of this package."""

NEGATIVE = re.compile(r"-\.?\d")
STRANGER = re.compile(r"unrecognized arguments: (?P<flag>\S+)")
CHOICE = re.compile(
    r"argument (?P<flag>[^:]+): invalid choice: '?(?P<got>.*?)'? \(choose from (?P<known>.*)\)", re.DOTALL
)
WRONG, INTERNAL, PIPE_CLOSED, INTERRUPTED = 2, 70, 141, 130
ABOUT = "Derive FLOPs, bytes and memory of a neural network from its computation graph, as formulas."
AFTER = """\
exit status: 0 done; 1 a check failed; 2 the input is wrong; 3 undecided

examples:
  symacct derive deep_linear
  symacct derive gpt --explain memory.activations
  symacct derive gpt2 --at B=8,S=1024 --optimizer adamw
  symacct prove deep_linear "flops.model = 6*B*D^2*L"
  symacct memory mlp --checkpoint none,every:1,sqrt,store-nothing
  symacct fit llama-3-70b --on 8xh100-sxm
  symacct list graphs
"""


class Parser(ArgumentParser):
    """A parser whose complaints are errors like all others."""

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print.

        Raises:
            UsageError: always.
        """
        fix = f"see {self.prog} --help"
        if choice := CHOICE.match(message):
            known = [word.strip("' ") for word in choice["known"].split(",")]
            raise unknown(f"choice of {choice['flag']}", choice["got"], known, where=self.prog)
        if stranger := STRANGER.match(message):
            near = get_close_matches(stranger["flag"].partition("=")[0], list(self.flags()), n=1, cutoff=0.5)
            fix = f"did you mean {near[0]!r}?" if near else fix
        raise UsageError(f"{self.prog}: {message}", expected=self.shape(), fix=fix)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse; a value that begins with a minus sign and a digit is the value of the option before it."""
        given = sys.argv[1:] if args is None else list(args)
        return super().parse_known_args(self._joined(given), namespace)

    def _joined(self, given: list[str]) -> list[str]:
        """Return arguments with ``--params -70B`` as ``--params=-70B``, whose value is refused in words."""
        valued = {
            flag: flag.startswith("--")
            for action in self._actions
            if action.nargs is None
            for flag in action.option_strings
        }
        found: list[str] = []
        for word in given:
            if found and found[-1] in valued and NEGATIVE.match(word):
                found[-1] += f"={word}" if valued[found[-1]] else word
            else:
                found.append(word)
        return found

    def shape(self) -> str:
        """Return what is to be written, flags left out."""
        needed = [str(action.metavar or action.dest) for action in self._actions if not action.option_strings]
        return " ".join([self.prog, *(needed or ["VERB"]), "..."])

    def flags(self) -> list[str]:
        """Return the long options."""
        return [
            option for action in self._actions for option in action.option_strings if option.startswith("--")
        ]


def parser(verb: str | None = None) -> Parser:
    """Return the parser of the whole command, or of one verb."""
    if verb is not None:
        made = Parser(prog=f"symacct {verb}", allow_abbrev=False, formatter_class=RawDescriptionHelpFormatter)
        made.description = VERBS[verb]
        import_module(f"symacct.cli.{verb}").add(made)
        return made
    whole = Parser(prog="symacct", allow_abbrev=False, formatter_class=RawDescriptionHelpFormatter)
    whole.description, whole.epilog = ABOUT, _verbs() + AFTER
    whole.add_argument("--version", action="version", version=f"symacct {__version__}")
    whole.usage = "symacct VERB ... (symacct VERB --help says more)"
    return whole


def _verbs() -> str:
    return "verbs:\n" + "".join(f"  {name:<10} {meaning}\n" for name, meaning in VERBS.items()) + "\n"


def _fingerprint(graph: object) -> str:
    from symacct.nodes import Graph
    from symacct.proof.rests import fingerprint

    return fingerprint(graph) if isinstance(graph, Graph) else "of no graph"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = _dispatch(arguments)
        sys.stdout.flush()
    except SymacctError as error:
        sys.stderr.write(f"{error}\n")
        if not isinstance(error, DisagreementError):
            return WRONG
        if error.graph is not None:
            sys.stderr.write(f"  graph     {_fingerprint(error.graph)} (its fingerprint)\n")
        return INTERNAL
    except SystemExit as stop:
        return int(stop.code or 0)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    return status


def _dispatch(arguments: list[str]) -> int:
    if not arguments:
        parser().print_help(sys.stderr)
        return WRONG
    verb = arguments[0]
    if verb.startswith("-"):
        parser().parse_args(arguments)
        return WRONG
    if verb not in VERBS:
        raise unknown("verb", verb, VERBS, where="symacct")
    args: Namespace = parser(verb).parse_intermixed_args(arguments[1:])
    status = import_module(f"symacct.cli.{verb}").run(args)
    return int(status or 0)
