"""``symacct prove``: a claim, proved, refuted or undecided, and what is true instead; or a file of claims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symacct.cli import options, output
from symacct.errors import ReadError, UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping

    from symacct.account import Account
    from symacct.proof.verdict import Verdict
    from symacct.report.blocks import Block

FORMATS = ("text", "markdown", "json")
STATUS = {"proved": 0, "refuted": 1, "undecided": 3}
DIFFERS = 1
SHAPE = "GRAPH CLAIM, CLAIM, or FILE.toml"
SIGNS = frozenset("=~<>≤≥∈(⇔≈|∣$\\")
OF_CLAIMS = (
    "at",
    "let",
    "assume",
    "grow",
    "names",
    "rename",
    "on",
    "optimizer",
    "attention",
    "bytes",
    "certificate",
    "coq",
    "symbolic",
)
EPILOG = """\
a claim is QUANTITY or formula, one of = ~ <= >= < >, formula [where NAME = FORMULA, ...] [as L -> oo]; also
= O(...), = Theta(...), and A <= B iff NAME <= FORMULA. with --on MACHINE time.step and the like are times on
it, and its peak, bandwidth, ridge, capacity and devices are names; without, times hold P_bf16, V_bf16, W_mem.
largest(fp8_e4m3), round(fp16, 1e-8) and the like are facts of number formats.
a file holds [[claim]] tables with expected verdicts.

exit status: 0 proved as written; 1 refuted, or true in a weaker sense; 2 the input is wrong; 3 undecided
for a file: 0 every verdict is the expected one; 1 one differs

examples:
  symacct prove deep_linear "flops.model = 6*B*D^2*L"
  symacct prove gpt "flops.model ~ 6*N*D where N = params.nonembedding, D = tokens" --grow h
  symacct prove "2*n*k/(n + k) <= 2*k"
  symacct prove relu "time.forward = time.forward(gelu)" --workload forward --on lecture:h100
  symacct prove chain
"""


def add(parser: ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("what", nargs="+", metavar="WHAT", help=f"{SHAPE}; a claim stands in quotes")
    options.add_symbolic(parser)
    options.add_at(parser)
    add_given(parser)
    options.add_policy(parser)
    options.add_convention(parser)
    parser.add_argument("--certificate", metavar="FILE", help="write the proof as JSON, for symacct verify")
    parser.add_argument("--coq", metavar="FILE", help="write the proof for coqc")
    options.add_run_python(parser)
    options.add_format(parser, FORMATS)
    parser.epilog = EPILOG


def add_given(parser: ArgumentParser) -> None:
    """Add what is given beside a claim."""
    parser.add_argument(
        "--let",
        action="append",
        default=[],
        metavar="'N = params'",
        help="a name in the claim (may be repeated)",
    )
    parser.add_argument(
        "--assume",
        action="append",
        default=[],
        metavar="'F = 4*D'",
        help="what sizes satisfy: 'F = 4*D', 'B >= 8', 'k | L', 'S << D' (may be repeated)",
    )
    parser.add_argument(
        "--grow",
        action="append",
        default=[],
        metavar="L,h",
        help="what goes to infinity for ~, O and Theta; default: each repeat count alone, then all sizes",
    )
    options.add_names(parser)
    options.add_rename(parser)
    parser.add_argument("--on", metavar="MACHINE", help="for time.step, peak, ...; see symacct list machines")
    parser.add_argument(
        "--machines", action="append", default=[], metavar="DIR", help="a folder with machine files"
    )


def run(args: Namespace) -> int:
    """Judge, and write the verdict."""
    if len(args.what) > 2:
        raise UsageError(
            "too many words", expected=SHAPE, got=" ".join(args.what)[:72], fix="quote the claim"
        )
    first = args.what[0]
    if len(args.what) == 1 and (first.endswith(".toml") or not SIGNS & set(first)):
        return _file(args)
    if args.run_python:
        what = "--run-python has no meaning here: what stands on the command line runs"
        raise UsageError(what, expected="--run-python with FILE.toml", got="--run-python")
    verdict, account = judged(args)
    written = _written(args, verdict, account)
    output.emit(
        args.format,
        lambda math: _shown(verdict, account, written, math=math),
        lambda: _json(args, verdict, account, written),
    )
    return STATUS[verdict.outcome]


# ---- one claim ----


def judged(args: Namespace) -> tuple[Verdict, Account | None]:
    """Return the verdict on a claim beside a graph, or on formulas alone, and the account it is about."""
    if len(args.what) == 2:
        return _claim(args, *_account(args))
    from symacct.syntax import read_sizes

    choices = vars(args) | ({"precision": "bf16"} if args.on else {})
    options.refuse_choices(type(args)(**choices), "formulas alone are compared, and nothing is derived")
    if args.rename:
        what, fix = "--rename is for the sizes of a graph", "write other letters in the claim"
        raise UsageError(what, expected=SHAPE, got=f"--rename {args.rename[0]}", fix=fix)
    return _claim(args, None, read_sizes(",".join(args.at)))


def _account(args: Namespace) -> tuple[Account, Mapping[str, int]]:
    """Return the account that a claim is about, and the sizes that are bound, those of the policy too."""
    from symacct.account import Account
    from symacct.proof.lookup import names_under
    from symacct.readers.files import load
    from symacct.readers.renamed import renamed
    from symacct.syntax import read_sizes

    if args.what[0].endswith(".toml"):
        raise UsageError("a file of claims stands alone", expected=SHAPE, got=" ".join(args.what)[:72])
    graph = renamed(load(args.what[0], symbolic=args.symbolic), ",".join(args.rename))
    account = Account(graph, options.stated_policy(args, args.checkpoint), options.read_convention(args))
    named = names_under(args.what[-1], account.policy)
    own = {name: size for name, size in read_sizes(",".join(args.at)).items() if name in named}
    return account, {**options.read_at(args, account.graph), **own}


def _claim(
    args: Namespace, account: Account | None, sizes: Mapping[str, int]
) -> tuple[Verdict, Account | None]:
    from symacct.policy import precision
    from symacct.proof.prove import placed, prove

    grow = tuple(options.words(args.grow))
    verdict = prove(
        account, args.what[-1], sizes=sizes, lets=args.let, assume=args.assume, grow=grow,
        on=args.on, dirs=args.machines, dtype=precision(args.precision).activations,
        names=options.words(args.names),
    )  # fmt: skip
    return verdict, None if account is None else placed(account, sizes)[0]


def _shown(verdict: Verdict, account: Account | None, written: dict[str, str], *, math: bool) -> list[Block]:
    from symacct.report.blocks import Told
    from symacct.report.facts import Fact
    from symacct.report.verdict import facts_of

    facts = facts_of(verdict, account, math=math)
    facts += [Fact(word, said) for word, said in written.items()]
    return [Told(tuple(facts), plain=True)]


def _json(args: Namespace, verdict: Verdict, account: Account | None, written: dict[str, str]) -> str:
    order = () if account is None else account.graph.order
    given: dict[str, Any] = {"target": None}
    if account is not None:
        given = output.given_graph(account, args.what[0], {})
    given |= {
        "claim": args.what[-1],
        "at": args.at,
        "let": args.let,
        "assume": args.assume,
        "grow": args.grow,
        "on": args.on,
    }
    return output.envelope(
        "prove",
        given,
        verdict,
        order=order,
        files=written,
        convention=None if account is None else account.convention,
        policy=None if account is None else account.policy,
    )


def _written(args: Namespace, verdict: Verdict, account: Account | None) -> dict[str, str]:
    """Write the certificate and the file for Coq where they are asked for; return what became of them."""
    if args.certificate is None and args.coq is None:
        return {}
    from symacct.proof.certified import certify
    from symacct.proof.coq import to_coq

    found = certify(verdict, account)
    if found.certificate is None:
        asked = [word for word in ("certificate", "coq") if getattr(args, word) is not None]
        return dict.fromkeys(asked, f"not written: {found.note}")
    said: dict[str, str] = {}
    if args.certificate is not None:
        _save(args.certificate, json.dumps(found.certificate, ensure_ascii=False, indent=1) + "\n")
        said["certificate"] = f"{args.certificate}, {found.note}; symacct verify checks it"
    if args.coq is not None:
        theorem = to_coq(found.certificate)
        if theorem is not None:
            _save(args.coq, theorem)
        said["coq"] = (
            "not written: Coq is not told of sums, and of roots of formulas" if theorem is None else args.coq
        )
    return said


def _save(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        raise ReadError(f"cannot write {path}", expected="a file that can be written", got=reason) from None


# ---- a file of claims ----


def _file(args: Namespace) -> int:
    from symacct.proof.judge import judge_file
    from symacct.readers.claim_files import find_claim_file, read_claim_file, shipped_claim_files
    from symacct.readers.documents import documents
    from symacct.readers.files import list_graphs, list_models
    from symacct.report.blocks import Grid, Prose
    from symacct.report.judged import judged_table, tally

    target = args.what[0]
    graphs = [*(entry.name for entry in list_graphs()), *(entry.name for entry in list_models())]
    if target in graphs and target not in shipped_claim_files():
        fix = f'symacct prove {target} "flops.model = ..."'
        raise UsageError(f"nothing is claimed of {target}", expected=SHAPE, got=target, fix=fix)
    for flag in OF_CLAIMS:
        if getattr(args, flag):
            what = f"--{flag} has no meaning for a file: each of its claims says its own"
            raise UsageError(what, expected="symacct prove FILE.toml [--format FORMAT]", got=f"--{flag}")
    options.refuse_choices(args, "each claim of a file says its own")
    file = read_claim_file(find_claim_file(target))
    with documents(every=args.run_python):
        found = judge_file(file, args.machines)

    def record() -> str:
        result = {"file": file.name, "about": file.about, "source": file.source, "claims": found}
        return output.envelope("prove", {"target": target}, result)

    head = f"claims {file.name}" + (f": {file.about}" if file.about else "")
    shown: list[Block] = [Prose((head,)), Grid(judged_table(found)), Prose((tally(found),))]
    output.emit(args.format, lambda _: shown, record)
    return 0 if all(one.ok for one in found) else DIFFERS
