"""What is trained or served: a graph of which everything follows, or a number of parameters alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.account import Account
from symacct.algebra.evaluate import evaluate, names_of, substitute
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr
from symacct.errors import GraphError, SizeError, UnknownNameError, UsageError
from symacct.planning.entries import Entry, Stated, count, fraction, share
from symacct.planning.leading import attention, leading
from symacct.policy import Policy
from symacct.printers import text
from symacct.terms import PEAKS
from symacct.units import Unit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sympy import Expr

PARAMETER, PER_TOKEN, BYTE = Unit("parameter"), Unit("FLOP/token"), Unit("byte")
COEFFICIENT, PER_SEQUENCE = Unit("FLOP/(parameter*token)"), Unit("byte/sequence")
SHAPE = {"L": "layers", "H": "heads", "K": "features of a head", "S": "tokens per sequence"}


@dataclass(frozen=True, slots=True)
class Subject:
    """What is known of a model.

    Attributes:
        name: of the graph, or the number of parameters.
        doc: what it is, in one sentence.
        convention: the choices of the account, in words.
        policy: the choices of the run, in words.
        at: the sizes at which everything is said.
        entries: the numbers.
        absent: pairs of a quantity, and why it cannot be said.
        account: what the graph costs at its sizes; None where there is no graph.
        whole: the same before sizes are put in.
    """

    name: str
    doc: str
    convention: str
    policy: str
    at: tuple[tuple[str, int], ...]
    entries: tuple[Entry, ...]
    absent: tuple[tuple[str, str], ...] = ()
    account: Account | None = None
    whole: Account | None = None


def coefficient(policy: Policy) -> Entry:
    """Return the FLOPs of a token for each parameter: 6 where a model trains, 2 where it does not."""
    each = leading(policy).model
    about = "derived from a linear layer"
    return Entry("flops.parameter", "g", "", each, COEFFICIENT, about)


# ---- parameters alone ----


def of_parameters(
    params: Stated,
    policy: Policy,
    *,
    active: Stated | None = None,
    shape: Mapping[str, int] | None = None,
    recompute: Stated | None = None,
) -> Subject:
    """Return what a number of parameters says.

    Args:
        params: how many there are.
        policy: precision, optimizer and workload.
        active: how many of them a token touches; all where nothing is said.
        shape: layers ``L``, heads ``H``, features of a head ``K``, tokens per sequence ``S``, for attention.
        recompute: the share of the forward pass that is run again in backward.

    >>> from symacct.policy import Policy
    >>> found = of_parameters("70B", Policy())
    >>> [str(one) for one in found.entries if one.symbol == "c"]
    ['c = 420000000000 FLOP/token']
    """
    if policy.checkpoint.kind != "none":
        what = "nothing says what a checkpoint of parameters alone runs again"
        fix = "say the share of forward: --recompute 100%"
        raise UsageError(what, expected="a graph", got=policy.checkpoint.describe(), fix=fix)
    whole = count(params, "a number of parameters", "parameter", "70B")
    used = whole if active is None else count(active, "a number of active parameters", "parameter", "37B")
    if used > whole:
        what = "more parameters are active than there are"
        raise UsageError(what, expected=f"at most {whole}", got=str(used))
    entries = [Entry("params", "N", "", whole, PARAMETER, "given"), coefficient(policy)]
    letter = "N" if active is None else "A"
    if active is not None:
        entries.insert(1, Entry("params.active", "A", "", used, PARAMETER, "given"))
    entries += _flops_of_token(letter, used, policy, shape or {}, recompute)
    each = leading(policy).static
    if each is not None:
        about = "with gradients and states"
        about = about if policy.workload == "train" else "parameters"
        formula = f"{each} byte/parameter * N"
        entries.append(Entry("memory.static", "M", formula, each * whole, BYTE, about))
    why = "it needs a graph or a model"
    absent = [(name, why) for name in ("params.nonembedding", "memory.activations", "memory.kv_cache")]
    if each is None:
        absent.append(("memory.static", f"{policy.optimizer} keeps no fixed number of bytes per parameter"))
    sizes = tuple((shape or {}).items())
    return Subject(
        "parameters alone", "", "leading term only: each active weight is used once for each token",
        policy.describe(), sizes, tuple(entries), tuple(absent),
    )  # fmt: skip


def _flops_of_token(
    letter: str, used: Fraction, policy: Policy, shape: Mapping[str, int], recompute: Stated | None
) -> list[Entry]:
    each, about = leading(policy), "leading term"
    model, forward = each.model * used, each.forward * used
    formula = f"g*{letter}"
    if shape:
        if missing := [f"{name} ({SHAPE[name]})" for name in SHAPE if name not in shape]:
            what = "attention is counted from all four of its sizes"
            raise UsageError(what, expected=", ".join(SHAPE), got=f"no {', '.join(missing)}")
        term = attention(policy.workload)
        model += fraction(evaluate(term, shape))
        forward += fraction(evaluate(attention("forward"), shape))
        formula, about = f"g*{letter} + {text(term)} * 1 FLOP/token", "leading term, and attention"
    entries = [Entry("flops.token", "c", formula, model, PER_TOKEN, about)]
    again = Fraction(0) if recompute is None else share(recompute, "the share that is run again")
    if policy.workload == "train":
        said = f"{_percent(again)} of forward run again" if again else "nothing is run again"
        if again:
            once = formula.replace("g", f"{each.forward} FLOP/(parameter*token) ", 1)
            once = once.replace(text(attention(policy.workload)), text(attention("forward")))
            entries.append(Entry("flops.token.forward", "w", once, forward, PER_TOKEN, "forward alone"))
        formula = f"c + {again}*w" if again else "c"
        entries.append(Entry("flops.token.hardware", "h", formula, model + again * forward, PER_TOKEN, said))
    elif again:
        raise UsageError("only training runs anything again", expected="workload train", got=policy.workload)
    return entries


def _percent(value: Fraction) -> str:
    return f"{float(100 * value):.4g} %"


# ---- a graph ----


def of_account(account: Account, sizes: Mapping[str, int]) -> Subject:
    """Return what a graph says at sizes; the number of sequences may be left open.

    Raises:
        SizeError: the graph states no tokens, or a size is missing.
    """
    graph = account.graph
    if graph.tokens is None:
        raise SizeError(
            f"graph {graph.name} states no tokens", expected='@graph(..., tokens="B*S")', got="no tokens",
            fix="say how many tokens a step has, or plan from --params and --tokens",
        )  # fmt: skip
    bound = account.bind(sizes) if sizes else account
    trains = account.trains
    entries = [
        _count(bound, "params", "N", "each weight once"),
        _count(bound, "params.active", "A", "touched by a token"),
        _count(bound, "params.nonembedding", "E", "without tables of lookups"),
        coefficient(account.policy),
    ]
    model = "flops.model" if trains else "flops.forward"
    entries.append(per_token(account, bound, model, "c", "contractions of a token"))
    if trains:
        said = "with what is run again" if bound["flops.recompute"].expr != 0 else "nothing is run again"
        entries.append(per_token(account, bound, "flops.hardware", "h", said))
    entries.append(_static(bound))
    one, absent = _one_sequence(account, sizes)
    return Subject(
        graph.name, " ".join(graph.doc.split("\n\n")[0].split()), account.convention.describe(),
        account.policy.describe(), tuple(sizes.items()), (*entries, *one), absent, bound, account,
    )  # fmt: skip


def per_token(account: Account, bound: Account, name: str, symbol: str, about: str) -> Entry:
    """Return a number of FLOPs over the number of tokens.

    Raises:
        SizeError: a size is missing.
    """
    value = normal(bound[name].expr / bound["tokens"].expr)
    if free := names_of(value):
        raise _missing(bound, free, f"{name} of a token")
    formula = text(normal(account[name].expr / account["tokens"].expr), account.graph.order)
    title = "flops.token" if symbol == "c" else "flops.token.hardware"
    return Entry(title, symbol, formula, fraction(value), PER_TOKEN, about)


def work_of_step(account: Account, sizes: Mapping[str, int]) -> Subject:
    """Return the FLOPs of one step at all sizes, for a graph that need not have tokens.

    Raises:
        SizeError: a size is missing.
    """
    graph = account.graph
    bound = account.bind(sizes) if sizes else account
    trains = account.trains
    places = [("flops.model" if trains else "flops.forward", "F", "contractions of a step")]
    places += [("flops.hardware", "J", "with what is run again")] if trains else []
    entries: list[Entry] = []
    for name, symbol, about in places:
        if free := names_of(bound[name].expr):
            raise _missing(bound, free, name)
        formula = text(account[name].expr, graph.order)
        entries.append(Entry(name, symbol, formula, fraction(bound[name].expr), Unit("FLOP"), about))
    if bound.has("tokens"):
        value = fraction(bound["tokens"].expr)
        entries.append(Entry("tokens", "D", text(account["tokens"].expr), value, Unit("token"), "of a step"))
    return Subject(
        graph.name, " ".join(graph.doc.split("\n\n")[0].split()), account.convention.describe(),
        account.policy.describe(), tuple(sizes.items()), tuple(entries), (), bound,
    )  # fmt: skip


def _missing(account: Account, names: list[str], what: str) -> SizeError:
    meanings = ", ".join(f"{name} ({account.graph.sizes.get(name, '')})" for name in names)
    return SizeError(
        f"{what} depends on sizes that are not given", where=f"graph {account.graph.name}", expected=meanings,
        got="no value", fix=f"add --at {','.join(f'{name}=...' for name in names)}",
    )  # fmt: skip


def _count(bound: Account, name: str, symbol: str, about: str) -> Entry:
    value = bound[name].expr
    if free := names_of(value):
        raise _missing(bound, free, name)
    return Entry(name, symbol, "", fraction(value), PARAMETER, about)


STATIC = ("parameters", "gradients", "master", "optimizer")


def _static(bound: Account) -> Entry:
    weights, value = fraction(bound["params"].expr), fraction(bound["memory.static"].expr)
    if weights == 0:
        return Entry("memory.static", "M", "", value, BYTE, "there are no parameters")
    each = {
        part: fraction(bound[f"memory.{part}"].expr) / weights
        for part in STATIC
        if bound.has(f"memory.{part}")
    }
    formula = f"{value / weights} byte/parameter * N" if (value / weights).denominator == 1 else ""
    about = " + ".join(f"{_short(count)} {part}" for part, count in each.items() if count)
    return Entry("memory.static", "M", formula, value, BYTE, about)


def _short(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):.4g}"


def batch_size(account: Account) -> str | None:
    """Return the name of the size that counts sequences, where there is one."""
    meanings = account.graph.sizes
    names = [
        name for name in names_of(as_expr(account.graph.tokens)) if meanings[name].startswith("sequences")
    ]
    return names[0] if len(names) == 1 else None


def _one_sequence(
    account: Account, sizes: Mapping[str, int]
) -> tuple[tuple[Entry, ...], tuple[tuple[str, str], ...]]:
    """Return what one sequence keeps: activations in training, keys and values when it is served."""
    batch = batch_size(account)
    if batch is None:
        why = "no size of the graph counts sequences"
        return (), (("memory.activations", why), ("memory.kv_cache", why))
    one = {**sizes, batch: 1}
    kept = [*_kept(account, one, batch), _cached(account, one, batch)]
    found = tuple(entry for entry in kept if isinstance(entry, Entry))
    return found, tuple(entry for entry in kept if not isinstance(entry, Entry))


KEPT = (
    ("memory.activations", "a", "kept for backward"),
    ("memory.activations.peak", "p", "the most, with what runs again"),
    ("memory.peak", "y", "all that is alive at the worst step"),
)
"""A peak is the largest of many formulas: the one that is so at the sizes is shown."""

SHORT = 80
"""Characters of a formula of a peak that is shown; a longer one is left to ``symacct memory``."""


def _kept(account: Account, one: Mapping[str, int], batch: str) -> list[Entry | tuple[str, str]]:
    """Return what a step with one sequence keeps, and its peaks."""
    if not account.has(KEPT[0][0]):
        return [(name, "nothing is kept for backward outside training") for name, _, _ in KEPT[:1]]
    bound = account.bind(one)
    found: list[Entry | tuple[str, str]] = []
    for name, symbol, about in KEPT:
        value = bound[name].expr
        if free := names_of(value):
            raise _missing(bound, free, name)
        if symbol == "p" and value == bound[KEPT[0][0]].expr:
            continue
        formula = _formula(account.bind({batch: 1}), name, one, value)
        unit = BYTE if symbol == "y" else PER_SEQUENCE
        found.append(Entry(name, symbol, formula, fraction(value), unit, f"{about} ({batch} = 1)"))
    return found


def _formula(single: Account, name: str, sizes: Mapping[str, int], value: Expr) -> str:
    """Return the formula of what one sequence keeps; of a peak the one that is it at the sizes, if short."""
    order = single.graph.order
    if name not in PEAKS:
        return text(single[name].expr, order)
    for one in single.candidates(name):
        if evaluate(one, {size: sizes[size] for size in names_of(one)}) == value:
            found = text(one, order)
            return found if names_of(one) and len(found) <= SHORT else ""
    return ""


def _cached(account: Account, one: Mapping[str, int], batch: str) -> Entry | tuple[str, str]:
    name = "memory.kv_cache"
    policy = Policy(account.policy.precision, workload="prefill")
    try:
        served = Account(account.source, policy, account.convention)
        expr = served[name].expr
    except (GraphError, UnknownNameError):
        return name, "the graph caches no keys and values"
    value = evaluate(expr, {size: one[size] for size in names_of(expr)})
    formula = text(substitute(expr, {batch: 1}), account.graph.order)
    about = f"keys and values, served ({batch} = 1)"
    return Entry(name, "k", formula, fraction(value), PER_SEQUENCE, about)
