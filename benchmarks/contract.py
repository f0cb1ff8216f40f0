"""What every verb says, written to a file, and two such files held against each other.

``contract.py write FILE [VERB ...]`` runs the commands of some verbs, or of all, in one process: minutes.
``contract.py compare OLD NEW`` lists what differs: texts exactly, numbers exactly, formulas by normal form,
keys of JSON under `RENAMED`. A change of the inside leaves the list empty, or as long as was meant.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from contextlib import redirect_stderr, redirect_stdout
from fractions import Fraction
from io import StringIO
from pathlib import Path
from shlex import join, split
from typing import TYPE_CHECKING, Any

from symacct.algebra.normal import is_zero, normal
from symacct.cli.main import main
from symacct.errors import SymacctError
from symacct.readers.catalogue import list_graphs
from symacct.syntax import guess_names, read_formula
from symacct.units import is_unit

if TYPE_CHECKING:
    from collections.abc import Iterator

RENAMED = {
    "when": "conditions", "small_case": "small_sizes", "alive": "live_tensors", "moment": "peak_location",
    "lower": "reductions", "small": "small_counts", "turns": "iterations", "turn": "iteration",
    "instead": "correction", "weaker": "weaker_claims", "growing": "limit", "written": "files",
    "room": "capacity", "static": "model_states", "statics": "state_options", "asked": "baseline",
    "short": "does_not_fit", "not_tried": "skipped", "words": "message", "absent": "missing",
    "binds": "bottleneck", "about": "description", "shown": "text", "a_larger_at": "a_greater_at",
    "b_larger_at": "b_greater_at", "unvouched": "not_checked", "said": "message", "label": "name",
    "what": "note",
}  # fmt: skip
"""Keys of JSON, before and after; where both are met, the old one is looked for first."""
NAMED = ("quantities", "policies", "figures", "ridges", "facts")
"""What holds records by names that are no keys."""
MODELS = ("gpt2", "llama-3-8b")
SMALL = ("linear", "mlp", "attention_core", "relu", "deep_linear", "lora")
LISTS = ("models", "machines", "dtypes", "conventions", "checkpoints", "quantities", "claims")
TEXTS = ("text", "markdown", "json")
GPT = "b=2,s=64,a=4,h=64,L=3,V=128"
POLICIES = """
--workload train
--optimizer adamw --precision fp32
--checkpoint every:1
--workload forward
--workload decode
--lora r=16
--convention strict --attention exact
"""
CLAIMS = """
flops.model = 6*B*D^2*L
flops.model ~ 6*B*D^2*L
flops.model >= 6*B*D^2*L
memory.peak <= 9*B*D*L byte
flops.model = O(B*D^2*L)
flops.forward = 2*B*D^2*L
flops.model >= 6*B*D^2 FLOP iff L >= 2
params = D^2*L if L >= 2
flops.model = 6*B*D^2*L within 3 %
"""
"""Of ``deep_linear``."""
OTHERS = f"""
prove gpt 'flops.model ~ 6*N*D where N = params.nonembedding, D = tokens' --grow h
prove gpt 'flops.model = 6*N*D where N = params, D = tokens' --at {GPT}
prove '2*n*k/(n + k) <= 2*k'
prove 'n^2 >= 10*n iff n >= 10'
prove 'argmin_k(L/k + k) = sqrt(L)'
prove 'min_n (n - 3)^2 = 1'
prove chain
prove relu 'time.forward = time.forward(gelu)' --workload forward --on lecture:h100
compare gpt llama --quantity params
compare gpt --convention default,strict
compare gpt --attention full,exact --quantity flops.forward --at {GPT}
compare '2*n*k' 'n^2 + k^2'
calc '640 GB / (12 byte/param)'
calc '6e24 FLOP / (4e17 FLOP/s)' --to day
calc N/3 --let 'N = 70B parameter'
mfu gpt2 --at S=1024 --tokens-per-second '170k token/s' --on a100-sxm-80gb
mfu --params 37B --tokens 14.8T --time '2.79e6 hour*device' --on h100-sxm
mfu --achieved '140 TFLOP/(s*device)' --on 1024xa100-sxm-80gb
plan llama-3-8b --tokens 15T --on 64xh100-sxm --mfu 0.5 --at S=2048
plan --params 70B --tokens 15T --on 1024xlecture:h100 --mfu 50%
plan mlp --at B=8,D=4,L=3
fit llama-3-70b --on 8xh100-sxm --optimizer adamw
fit mlp --on h100-sxm --at B=8,D=4,L=3
fit gpt2 --on rtx-4090 --at B=32,S=1024
fit gpt2 --on rtx-4090 --at B=256,S=1024
fit llama-3-8b --on h100-sxm --workload decode --at B=16,T=8k
solve '12 byte/parameter * N = 640 GB' --for N
solve 'argmin_k(L/k + k)' --at L=96
solve gpt 'memory.static <= 80 GB' --for h --at a=12,L=12,V=50257,s=1024
solve linear 'intensity.forward >= peak/bandwidth' --for B --workload forward --on h100-sxm
solve gpt 'flops.forward(core) >= 1/2 * flops.forward' --for s
solve mlp 'argmin_k memory.peak' --checkpoint every:k --optimizer adamw
solve 'x^2 - 2 <= 0' --for x
solve 'x^3 - x - 1 = 0' --for x
memory mlp --checkpoint every:k --best
memory mlp --checkpoint every:k --best --at B=8,D=4,L=12
memory gpt --at {GPT} --explain data
memory mlp --at B=64,D=16,L=12 --checkpoint every:3 --reserve 2GB --tensors
memory mlp --checkpoint none,every:1,sqrt,store-nothing
memory mlp --checkpoint none,every:2 --at B=64,D=16,L=12
roofline mlp --on h100-sxm --for B
roofline relu
roofline llama-3-8b --workload decode --on h100-sxm,a100-sxm-80gb --at B=1,T=8192
derive gpt --explain memory.activations --at {GPT}
derive mlp --at B=1,D=1,L=1
dtype e4m3 0.1 1e9 1e-9 nan
dtype mxfp4 1 0.1 -3
dtype bf16
dtype fp4_e2m1 --all-values
check mlp
check gpt --at {GPT}
check mlp --memory
"""
"""Commands of verbs that have formats."""
PLAIN = """
sweep gpt flops.model,memory.static --over h=768..12288:*2,L=12,24 --at a=12,b=8,s=64,V=99
sweep mlp memory.peak,time.step --over B=1..4,D=2,4 --at L=4 --on h100-sxm --exact
sheet chain
sheet chain --lang zh --style full
sheet gpt --style full --rows flops,memory
sheet lecture
sheet lecture --lang zh
prove gpt 'flops.model + memory.peak = 3'
derive gtp
derive mlp --format latex
derive mlp --format csv
memory mlp --format latex
memory mlp --format csv
memory mlp --format latex --checkpoint none,every:2
memory mlp --format csv --checkpoint none,every:2
roofline mlp --on h100-sxm --format csv
list optimizers --format csv
show mlp --source
"""
"""Commands that run as they stand."""


def lines(text: str) -> list[tuple[str, ...]]:
    """Return the words of each line."""
    return [tuple(split(line)) for line in text.strip().splitlines()]


def commands() -> Iterator[tuple[str, ...]]:
    """Yield the arguments of each command."""
    for name in (*(entry.name for entry in list_graphs()), *MODELS):
        for policy in lines(POLICIES):
            yield ("derive", name, *policy, "--format", "json")
        yield ("show", name, "--format", "json")
        yield ("show", name)
        yield ("roofline", name, "--on", "h100-sxm", "--format", "json")
    for name in SMALL:
        for verb in ("derive", "roofline", "memory"):
            yield from ((verb, name, "--format", form) for form in TEXTS[:2])
        for policy in lines(POLICIES):
            yield ("memory", name, *policy, "--format", "json")
    for claim in CLAIMS.strip().splitlines():
        yield from (("prove", "deep_linear", claim, "--format", form) for form in TEXTS)
    for one in lines(OTHERS):
        forms = ("text", "json") if one[0] == "calc" else TEXTS
        yield from ((*one, "--format", form) for form in forms)
    for what in LISTS:
        yield from (("list", what, "--format", form) for form in TEXTS)
    yield from lines(PLAIN)


def said(arguments: tuple[str, ...]) -> dict[str, Any]:
    """Return the exit status of a command, and what it writes."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(arguments)
    written: Any = out.getvalue()
    if "json" in arguments and status < 2:
        written = json.loads(written)
    return {"status": status, "out": written, "err": err.getvalue()}


def write(path: Path, verbs: list[str]) -> None:
    """Run the commands of some verbs, or of all, and write what each says."""
    found = {}
    for arguments in commands():
        if not verbs or arguments[0] in verbs:
            sys.stderr.write(f"{join(arguments)}\n")
            found[join(arguments)] = said(arguments)
    path.write_text(json.dumps(found, ensure_ascii=False, indent=0), encoding="utf-8")


# ---- two files ----


def differences(old: Any, new: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """Yield where two results differ, indices left out, and how."""
    if isinstance(old, dict) and isinstance(new, dict):
        renamed = {key if key in new else RENAMED.get(key, key): value for key, value in old.items()}
        for key in {**renamed, **new}:
            place = f"{at}.*" if at.endswith(NAMED) else f"{at}.{key}"
            if key not in new:
                yield place, "gone"
            elif key not in renamed:
                yield place, "new"
            else:
                yield from differences(renamed[key], new[key], place)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for one, other in zip(old, new, strict=True):
            yield from differences(one, other, f"{at}[]")
    elif not same(old, new):
        yield at, f"{str(old)[:200]!r} is {str(new)[:200]!r}"


def same(old: Any, new: Any) -> bool:
    """Return whether two leaves are the same text, number or formula; a number may stand beside its text."""
    if isinstance(new, dict) and isinstance(old, str):
        return any(same(old, new.get(key)) for key in ("exact", "expr"))
    if old == new:
        return True
    if isinstance(old, str) and isinstance(new, int | float) and not isinstance(new, bool):
        return re.fullmatch(r"-?\d+(/\d+)?", old) is not None and float(Fraction(old)) == new
    return isinstance(old, str) and isinstance(new, str) and same_formula(old, new)


def same_formula(old: str, new: str) -> bool:
    """Return whether two texts are formulas that are equal."""
    try:
        one, other = (read_formula(text, guess_names(text, (), is_unit)) for text in (old, new))
        return is_zero(normal(one - other))
    except (SymacctError, ArithmeticError):
        return False


def compare(old: Path, new: Path) -> int:
    """Write each way in which two files differ, with an example and how often it is met."""
    before, after = (json.loads(path.read_text(encoding="utf-8")) for path in (old, new))
    met: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in {**before, **after}:
        if name not in before or name not in after:
            continue
        for at, how in differences(before[name], after[name]):
            kind = how if how in ("gone", "new") else "differs"
            met[f"{name.split()[0]}{at}", kind].append(f"{name}: {how}")
    for (at, kind), cases in sorted(met.items()):
        sys.stdout.write(f"{at}: {kind}, {len(cases)} times; {cases[0]}\n")
    sys.stdout.write(f"{len(before)} commands, {len(met)} kinds of differences\n")
    return 1 if met else 0


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(Path(sys.argv[2]), sys.argv[3:])
    else:
        sys.exit(compare(Path(sys.argv[2]), Path(sys.argv[3])))
