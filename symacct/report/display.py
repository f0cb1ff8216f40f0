"""Results as notebooks show them: the command line's text, and Markdown with formulas in LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symacct.errors import UsageError
from symacct.report.blocks import Told, markdown_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from symacct.evaluation.roofline import Roofline
    from symacct.planning.fit import Fit
    from symacct.planning.mfu import Utilisation
    from symacct.planning.plan import Plan
    from symacct.planning.solve_answer import Solution
    from symacct.proof.verdict import Verdict
    from symacct.report.blocks import Block

WIDTH = 100


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
    plain, math = (SHOWN[name](result, math=flag) for flag in (False, True))
    return {"text/plain": text_of(plain, WIDTH), "text/markdown": markdown_of(math)}


def _verdict(verdict: Verdict, *, math: bool) -> list[Block]:
    from symacct.report.verdict import facts_of

    return [Told(tuple(facts_of(verdict, None, math=math)[1:]), plain=True)]


def _solution(found: Solution, *, math: bool) -> list[Block]:
    from symacct.report.solve import facts_of

    return [Told(tuple(facts_of(found, math=math)), plain=True)]


def _plan(made: Plan, *, math: bool) -> list[Block]:
    from symacct.report.plan import blocks

    return blocks(made, math=math)


def _fit(found: Fit, *, math: bool) -> list[Block]:
    from symacct.report.fit import blocks

    return blocks(found, math=math)


def _utilisation(made: Utilisation, *, math: bool) -> list[Block]:
    from symacct.report.mfu import blocks

    return blocks(made, math=math)


def _roofline(made: Roofline, *, math: bool) -> list[Block]:
    from symacct.report.roofline import blocks

    return blocks([made], math=math)


SHOWN: dict[str, Callable[..., list[Block]]] = {
    "Fit": _fit,
    "Plan": _plan,
    "Roofline": _roofline,
    "Solution": _solution,
    "Utilisation": _utilisation,
    "Verdict": _verdict,
}
"""How each result is shown, by the name of its class; its modules are imported when it is."""
