"""The least value over integers: ``min_k(k + ceiling(n/k)) = ceiling(2*sqrt(n))``.

Two rules about integers carry the proof, and inequalities that the kernel accepts: a sum of integers that is
at least y is at least ceiling(y); and where y is more than m - 1, ceiling(y) is at least m.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from sympy import Add, ceiling

from symacct.algebra.budget import check_time
from symacct.algebra.condition import Condition
from symacct.algebra.evaluate import evaluate, names_of
from symacct.algebra.normal import is_zero, normal
from symacct.algebra.symbols import as_expr, symbol
from symacct.proof.certified import is_provable
from symacct.proof.compiled import compiled, compiled_condition
from symacct.proof.decide import Box, Decision
from symacct.proof.search import Counterexample
from symacct.proof.sizes import is_whole, made

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from fractions import Fraction

    from sympy import Expr

    Value = int | Fraction | None

MOST_SIZES, MOST_TRIED = 60, 400
SIDE = "side_of_the_square"


def judge_whole(name: str, inner: Expr, claimed: Expr, box: Box) -> Decision:
    """Return whether a formula with roundings has the claimed least value over integers of at least 1.

    >>> from sympy import ceiling, sqrt
    >>> n, k = symbol("n"), symbol("k")
    >>> judge_whole("k", k + ceiling(n / k), ceiling(2 * sqrt(n)), Box()).outcome
    'proved'
    >>> only = Box(conditions=(Condition("divides", k, n),))
    >>> judge_whole("k", k + ceiling(n / k), ceiling(2 * sqrt(n)), only).point.describe()
    'n = 5: 6 against 5'
    """
    point = _missed(name, inner, claimed, box)
    if point is not None:
        return Decision("refuted", f"the least over integer {name} is another", point)
    if any(name in one.names for one in box.conditions):
        return Decision(
            "undecided", f"no sizes refute it, and a proof is sought for all integer {name} alone"
        )
    if not _never_below(inner, claimed, box):
        return Decision("undecided", f"it is not seen that no integer {name} gives less")
    size = _square(name, inner)
    if size is None or not _reached(size, claimed):
        return Decision("undecided", f"it is not seen which integer {name} gives that much")
    return Decision(
        "proved",
        f"no integer {name} gives less, since {name} + {size}/{name} >= 2*sqrt({size}); "
        f"{name} = ceil(sqrt({size})) gives that much, in two cases; the kernel accepts each inequality",
        limit=claimed,
    )


def _missed(name: str, inner: Expr, claimed: Expr, box: Box) -> Counterexample | None:
    """Return the first sizes at which the least value is another; the formula must be at least `name`."""
    rises = is_provable(inner, ">=", symbol(name), Box({}))
    others = sorted(
        {*names_of(inner), *names_of(claimed), *(n for c in box.conditions for n in c.names)} - {name}
    )
    apart = tuple(one for one in box.conditions if name not in one.names)
    checks = [compiled_condition(one) for one in box.conditions if name in one.names]
    value, goal = compiled(inner), compiled_or_exact(claimed)
    found_sizes = islice(made(others, box.lower, apart).valid(), MOST_SIZES)
    for sizes in sorted(found_sizes, key=lambda one: sum(one.values())):
        check_time()
        most = goal(sizes)
        if most is None or most > MOST_TRIED or not rises:
            continue
        least = _least(name, sizes, box.least(name), value, checks)
        if least is not None and least != most:
            return Counterexample(tuple(sizes.items()), as_expr(least), as_expr(most))
    return None


def _least(
    name: str,
    sizes: Mapping[str, int],
    at: int,
    value: Callable[[Mapping[str, int]], Value],
    checks: list[Callable[[Mapping[str, int]], bool]],
) -> Value:
    """Return the least value of a formula that is at least `name`: past a value nothing smaller follows."""
    best: Value = None
    while at <= (MOST_TRIED if best is None else best):
        here = {**sizes, name: at}
        found = value(here) if all(check(here) for check in checks) else None
        best = found if best is None or (found is not None and found < best) else best
        at += 1
    return best


def compiled_or_exact(expr: Expr) -> Callable[[Mapping[str, int]], Value]:
    """Return a function that evaluates a formula; irrational roots are rounded by evaluation."""
    fast = compiled(expr)

    def value(sizes: Mapping[str, int]) -> Value:
        found = fast(sizes)
        if found is None:
            exact = evaluate(expr, {one: sizes[one] for one in names_of(expr)})
            return int(exact) if exact.is_Integer else None
        return found

    return value


def _never_below(inner: Expr, claimed: Expr, box: Box) -> bool:
    """Say whether a formula is seen to be at least what is claimed, or what that rounds up to an integer."""
    whole = all(is_whole(term) or term.func is ceiling for term in Add.make_args(inner))
    under = claimed.args[0] if whole and claimed.func is ceiling else claimed
    return is_provable(inner, ">=", under, box)


def _square(name: str, inner: Expr) -> Expr | None:
    """Return n of ``k + ceiling(n/k)``, where it is a size."""
    rest = normal(inner - symbol(name))
    size = normal(rest.args[0] * symbol(name)) if rest.func is ceiling else None
    return size if size is not None and size.is_Symbol and size.name != name else None


def _reached(size: Expr, claimed: Expr) -> bool:
    """Say whether ``k = ceiling(sqrt(n))`` is seen to give at most what is claimed, ``ceiling(y)``.

    With s for that k, ``(s - 1)^2 + 1 <= n <= s^2``; the quotient c = ceiling(n/s) is s - 1 or s, and
    ``(c - 1)*s + 1 <= n``. It is enough that y is more than s + c - 1, which is not negative.
    """
    if claimed.func is not ceiling:
        return False
    square = normal(claimed.args[0] ** 2)
    side = symbol(SIDE)
    least = Condition("at_least", size, (side - 1) ** 2 + 1)
    return (
        is_zero(square - 4 * size)
        and is_provable(size, ">", side * (side - 2), Box({}, (least,)))
        and all(is_provable(square, ">", (side + c - 1) ** 2, box) for c, box in _cases(size, side, least))
    )


def _cases(size: Expr, side: Expr, least: Condition) -> Iterator[tuple[Expr, Box]]:
    """Yield what the quotient may be, and what is known of the size then."""
    yield side - 1, Box({}, (least,))
    yield side, Box({}, (Condition("at_least", size, (side - 1) * side + 1),))
