"""The report of an account: its quantities in sections, at sizes where some are given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from symacct.algebra.condition import merge
from symacct.algebra.evaluate import evaluate, names_of, substitute
from symacct.algebra.normal import total
from symacct.errors import RuleError, unknown
from symacct.nodes import Node, repeat_counts, walk
from symacct.peaks.course import check_lengths
from symacct.planning.at_sizes import checked, exact_case
from symacct.printers import text
from symacct.report.conditions import listed
from symacct.report.data import Line, Report, Section
from symacct.report.figures import share, shares
from symacct.report.names import GROUPS, SHORT, Group
from symacct.report.segments import segments_said
from symacct.terms import QUANTITIES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sympy import Expr

    from symacct.account import Account
    from symacct.algebra.condition import Condition
    from symacct.nodes import Graph

NO_CONTRACTION = "no contraction"


@dataclass(frozen=True, slots=True)
class View:
    """An account as it is shown, with the sizes at which its formulas are evaluated, if any.

    ``small`` holds the conditions that the sizes break: then the account is the exact small case.
    """

    account: Account
    sizes: Mapping[str, int]
    small: tuple[Condition, ...] = ()

    def value(self, expr: Expr) -> Expr | None:
        """Return a formula at the sizes: a number where these are all its sizes; None without sizes."""
        if not self.sizes:
            return None
        whole = self.sizes.keys() >= set(names_of(expr))
        return evaluate(expr, self.sizes) if whole else substitute(expr, self.sizes)

    def line(self, name: str) -> Line:
        """Return the line of one quantity."""
        quantity = self.account[name]
        bare = name.endswith(".matmul") and quantity.expr == 0 and not has_contraction(self.account.graph)
        remark = NO_CONTRACTION if bare else ""
        value = self.value(quantity.expr)
        return Line(name, quantity.expr, str(quantity.unit), quantity.when, value, remark=remark)


def view(account: Account, sizes: Mapping[str, int], names: Sequence[str]) -> View:
    """Return an account as shown at sizes; below a condition, the exact small case is derived apart.

    Raises:
        SizeError: a size is out of range, or breaks a condition of the graph itself.
        RuleError: the formulas hold for no length of segments that there may be.
    """
    found = checked(account, sizes)
    account, small = exact_case(account, found, lambda one: _conditions(one, names))
    if account.trains:
        check_lengths(account.graph.name, account.policy, _conditions(account, names))
    return View(account, found, small)


def _conditions(account: Account, names: Sequence[str]) -> tuple[Condition, ...]:
    return merge(one for name in names if is_defined(account, name) for one in account[name].when)


def has_contraction(graph: Graph) -> bool:
    """Return whether any op of the graph contracts."""
    return any(isinstance(node, Node) and node.op.contracted() for node, _ in walk(graph.nodes))


def chosen(account: Account, only: Iterable[str]) -> tuple[str, ...]:
    """Return the names of quantities to show: all, or those asked for, a family by its first words.

    Raises:
        UnknownNameError: a name fits none.
    """
    known = account.names()
    wanted = list(only)
    found: list[str] = []
    for word in wanted:
        fitting = [name for name in known if name == word or name.startswith(f"{word}.")]
        if not fitting and word in QUANTITIES:
            account.require(word)
        if not fitting:
            raise unknown("quantity", word, known, where=f"graph {account.graph.name}")
        found += fitting
    return tuple(dict.fromkeys(found)) if wanted else known


def is_defined(account: Account, name: str) -> bool:
    """Return whether a quantity has a value: an intensity has none where no bytes move."""
    return why_undefined(account, name) is None


def why_undefined(account: Account, name: str) -> str | None:
    """Return why a quantity has no value, or None where it has one."""
    try:
        account[name]
    except RuleError as error:
        return error.what
    return None


def summary(account: Account, sizes: Mapping[str, int] | None = None, only: Iterable[str] = ()) -> Report:
    """Return the report of an account.

    Args:
        account: what was derived.
        sizes: values of sizes; formulas stay, and values are put beside them.
        only: the quantities to show, or first words of their names; all by default.
    """
    wanted = list(only)
    names = [name for name in chosen(account, wanted) if name not in SHORT]
    shown = view(account, sizes or {}, names)
    left_out: list[str] = []
    if not wanted:
        reasons = {name: why_undefined(shown.account, name) for name in names}
        names = [name for name in names if reasons[name] is None]
        left_out = [f"no {name}: {why}" for name, why in reasons.items() if why is not None]
    sections = [section for group in GROUPS if (section := _section(group, names, shown))]
    rest = [name for name in names if not any(name in group.names for group in GROUPS)]
    if rest:
        sections.append(Section("further", tuple(shown.line(name) for name in rest)))
    made = report(shown, sections)
    return replace(made, facts=(*made.facts, *(("warning", words) for words in left_out)))


def _section(group: Group, names: Sequence[str], shown: View) -> Section | None:
    parts = [shown.line(name) for name in group.parts if name in names]
    whole = [shown.line(name) for name in names if name == group.total]
    others = [shown.line(name) for name in group.others if name in names]
    return Section(group.title, (*with_shares(parts, whole), *others)) if parts or whole or others else None


def with_shares(parts: Sequence[Line], whole: Sequence[Line]) -> tuple[Line, ...]:
    """Return the parts and their total with shares, where the parts do add up to the total."""
    if not parts or not whole:
        return (*parts, *whole)
    found = shares([one.amount for one in parts], whole[0].amount)
    if found is None or total(one.expr for one in parts) != whole[0].expr:
        return (*parts, replace(whole[0], total=True))
    lines = [replace(one, share=part) for one, part in zip(parts, found, strict=True)]
    return (*lines, replace(whole[0], share=share(whole[0].amount, whole[0].amount), total=True))


def report(shown: View, sections: Sequence[Section]) -> Report:
    """Return sections under the facts of the account: sizes, conditions, warnings."""
    graph = shown.account.graph
    return Report(
        graph.name,
        " ".join(graph.doc.split("\n\n")[0].split()),
        shown.account.convention.describe(),
        shown.account.policy.describe(),
        tuple(_facts(shown, sections)),
        tuple(sections),
        graph.order,
        repeat_counts(graph),
    )


def _facts(shown: View, sections: Sequence[Section]) -> list[tuple[str, str]]:
    graph = shown.account.graph
    used = {name for section in sections for line in section.lines for name in names_of(line.expr)}
    facts = [("sizes", _meanings(graph, used)), ("bound", _bound(graph))]
    facts.append(("at", ", ".join(f"{name} = {size:,}" for name, size in shown.sizes.items())))
    free = [name for name in graph.order if name in used and name not in shown.sizes]
    if shown.sizes and free:
        facts.append(("free", f"{', '.join(free)}: values that hold them stay formulas"))
    if shown.small:
        facts.append(("small", _small(shown)))
    conditions = merge(one for section in sections for line in section.lines for one in line.when)
    facts.append(("holds for", ", ".join(listed(conditions, graph.order))))
    facts.append(("checkpoint", segments_said(shown.account)))
    facts.append(("not formed", _not_formed(shown.account)))
    return _said([*facts, *_warnings(shown.account)])


def _not_formed(account: Account) -> str:
    """Return the floating inputs whose gradients a training step does not form."""
    if not account.trains:
        return ""
    step, graph = account.step, account.graph
    names = [name for name in graph.inputs if graph.tensors[name].floating and name not in step.gradients]
    return f"the gradient of {', '.join(names)} (--input-grad forms it)" if names and step.gradients else ""


def facts_of_graph(account: Account) -> list[tuple[str, str]]:
    """Return what is to be said of the graph of an account: sizes, tokens, conditions, warnings."""
    graph = account.graph
    facts = [("sizes", _meanings(graph, graph.order)), ("bound", _bound(graph))]
    facts.append(("tokens", "" if graph.tokens is None else text(graph.tokens, graph.order)))
    facts.append(("holds for", ", ".join(listed(account.conditions, graph.order))))
    return _said([*facts, *_warnings(account)])


def _said(facts: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(word, fact) for word, fact in facts if fact]


def _warnings(account: Account) -> list[tuple[str, str]]:
    return [("warning", words) for words in (*account.warnings, *_alike(account.graph))]


def _bound(graph: Graph) -> str:
    bound = {name: graph.bound[name] for name in graph.sizes if name in graph.bound}
    return ", ".join(f"{name} = {text(expr, graph.order)}" for name, expr in bound.items())


def _meanings(graph: Graph, used: Collection[str]) -> str:
    return ", ".join(_meaning(graph, name) for name in graph.order if name in used)


def _meaning(graph: Graph, name: str) -> str:
    meaning = graph.sizes.get(name, "")
    return f"{name} ({meaning})" if meaning else name


def _small(shown: View) -> str:
    names = sorted({name for one in shown.small for name in one.names})
    cause = ", ".join(f"{name} = {shown.sizes[name]}" for name in names)
    broken = ", ".join(listed(shown.small))
    return f"the general formulas want {broken}; these are the exact ones for {cause}, derived apart"


def _alike(graph: Graph) -> list[str]:
    """Return a warning for each pair of sizes that differ only in case."""
    names = sorted(graph.order)
    pairs = [(a, b) for a in names for b in names if a < b and a.lower() == b.lower()]
    return [f"sizes {a} ({graph.sizes[a]}) and {b} ({graph.sizes[b]}) differ only in case" for a, b in pairs]
