"""Results as notebooks show them: the command line's text, and Markdown with formulas in LaTeX."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from symacct.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symacct.evaluation.roofline import Roofline
    from symacct.planning.fit import Fit
    from symacct.planning.mfu import Utilisation
    from symacct.planning.plan import Plan
    from symacct.planning.solve_answer import Solution
    from symacct.proof.verdict import Verdict
    from symacct.report.facts import Fact

WIDTH = 100
MARKS = re.compile(r"([\\*_<>`])")

Shown = tuple[str, str]
"""Text, and Markdown."""


def bundle(result: Any) -> dict[str, str]:
    r"""Return a result as texts by media type.

    Raises:
        UsageError: it is no result.

    >>> from symacct.proof.prove import prove
    >>> print(bundle(prove(None, "n + n = 2*n"))["text/markdown"])
    - claim: n + n = 2\*n
    - read: n + n = 2\*n
    - names: n: integers of at least 1
    <BLANKLINE>
    **PROVED as written: the difference is 0 in normal form**
    <BLANKLINE>
    """
    name = type(result).__name__
    if name not in SHOWN:
        raise UsageError(f"a {name} is no result", expected=", ".join(sorted(SHOWN)), got=name)
    text, markdown = SHOWN[name](result)
    return {"text/plain": text, "text/markdown": markdown}


def escaped(facts: Sequence[Fact]) -> str:
    """Return facts as Markdown, in which every sign outside formulas stands for itself."""
    from symacct.report.facts import Fact, as_markdown

    return as_markdown([
        Fact(_plain(one.word), _plain(one.said), tuple(map(_plain, one.below))) for one in facts
    ])  # fmt: skip


def _plain(said: str) -> str:
    r"""Return a text with what Markdown would read as a mark escaped, except inside formulas.

    >>> print(_plain("6*B*D is $6 B_{1} D$"))
    6\*B\*D is $6 B_{1} D$
    """
    parts = said.split("$")
    return "$".join(MARKS.sub(r"\\\1", one) if place % 2 == 0 else one for place, one in enumerate(parts))


def _verdict(verdict: Verdict) -> Shown:
    from symacct.report.facts import as_text
    from symacct.report.verdict import facts_of

    plain, math = (facts_of(verdict, None, math=flag)[1:] for flag in (False, True))
    return as_text(plain, WIDTH), escaped(math)


def _solution(found: Solution) -> Shown:
    from symacct.report.facts import as_text
    from symacct.report.solve import facts_of

    return as_text(facts_of(found), WIDTH), escaped(facts_of(found, math=True))


def _plan(made: Plan) -> Shown:
    from symacct.report.plan import plan_markdown, plan_text

    return plan_text(made, WIDTH), plan_markdown(made)


def _fit(found: Fit) -> Shown:
    from symacct.report.fit import fit_markdown, fit_text

    return fit_text(found, WIDTH), fit_markdown(found)


def _utilisation(made: Utilisation) -> Shown:
    from symacct.report.mfu import mfu_markdown, mfu_text

    return mfu_text(made, WIDTH), mfu_markdown(made)


def _roofline(made: Roofline) -> Shown:
    from symacct.report.roofline import Page, markdown, rendered

    return rendered([Page(made)], WIDTH), markdown([Page(made, math=True)])


SHOWN: dict[str, Callable[[Any], Shown]] = {
    "Fit": _fit,
    "Plan": _plan,
    "Roofline": _roofline,
    "Solution": _solution,
    "Utilisation": _utilisation,
    "Verdict": _verdict,
}
"""How each result is shown, by the name of its class; its modules are imported when it is."""
