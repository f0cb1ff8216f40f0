"""What every picture shares: a figure without a window, bytes that do not change, readable axes."""

from __future__ import annotations

from fractions import Fraction
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from symacct.errors import ReadError, UsageError
from symacct.plot.roofline import ENDINGS, SALT, SETTINGS, matplotlib

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from sympy import Expr

    from symacct.account import Account

PREFIXES = (("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18))
LINE = 92
"""Characters in a line above a picture."""
FAINT = {"visible": True, "color": "0.88", "linewidth": 0.6}


def written(path: Path, size: tuple[float, float], fill: Callable[[Any], None]) -> None:
    """Make a figure, let it be filled, and write it; the same picture gives the same bytes.

    Args:
        path: where to, with an ending that names the format.
        size: width and height in inches.
        fill: draws on a matplotlib figure.

    Raises:
        UsageError: matplotlib is missing, or the ending is another.
        ReadError: the file cannot be written.
    """
    ending = path.suffix.lower()
    with check(path).rc_context({**SETTINGS, "hatch.linewidth": 0.5}):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        fill(figure)
        metadata = {"Date": None, "Creator": SALT} if ending == ".svg" else {"Software": SALT}
        try:
            figure.savefig(path, format=ending[1:], dpi=144, metadata=metadata)
        except OSError as error:
            what = "a picture cannot be written"
            raise ReadError(what, where=str(path)[:200], got=str(error)[:120]) from None


def check(path: Path) -> Any:
    """Return matplotlib where a picture with this ending can be drawn; cheap, before anything is derived.

    Raises:
        UsageError: matplotlib is missing, or the ending is another.
    """
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(
            "a picture is SVG or PNG", expected=" or ".join(ENDINGS), got=path.suffix or "no ending"
        )
    return matplotlib()


def require(account: Account, sizes: Mapping[str, int]) -> Account:
    """Return the account at sizes, all of them.

    Raises:
        UsageError: a size is open.
        SizeError: a size is out of range.
        UnknownNameError: a name is not a size here.
    """
    bound = account.bind(sizes) if sizes else account
    if free := [*bound.graph.order, *bound.policy.names]:
        raise UsageError(
            f"a picture needs every size: {', '.join(free)}",
            expected="--at with all sizes",
            got=", ".join(f"{name}={size}" for name, size in sizes.items()) or "none",
            fix="add --at " + ",".join(f"{name}=..." for name in free),
        )
    return bound


def title(account: Account, sizes: Mapping[str, int], *said: str) -> str:
    """Return the lines above a picture: the graph at its sizes, the choices, and what else is said."""
    at = ", ".join(f"{name} = {size:,}" for name, size in sizes.items())
    name = account.graph.name
    whole = (f"{name} at {at}" if at else name, account.policy.describe(), *said)
    return "\n".join(line for one in whole for line in wrap(one, LINE))


def legend(figure: Any, columns: int) -> None:
    """Put what marks mean under the axes."""
    figure.legend(loc="outside lower center", ncols=columns, fontsize=8, frameon=False,
                  handlelength=2.6, handleheight=1.2)  # fmt: skip


def prefixed(largest: float) -> tuple[str, float]:
    """Return the prefix that an axis up to a value is read in, and what it stands for.

    >>> prefixed(3.2e9), prefixed(12), prefixed(0)
    (('G', 1000000000.0), ('', 1.0), ('', 1.0))
    """
    name, power = next(
        ((name, power) for name, power in reversed(PREFIXES) if largest >= 10**power), PREFIXES[0]
    )
    return name, float(10**power)


def number(value: Expr) -> Fraction:
    """Return an exact number as a fraction.

    >>> from sympy import Rational
    >>> number(Rational(3, 2))
    Fraction(3, 2)
    """
    return Fraction(int(value.p), int(value.q))


def amount(value: Fraction, unit: str) -> str:
    """Return an amount to four digits, with a prefix.

    >>> amount(Fraction(3073868292), "byte"), amount(Fraction(12), "byte"), amount(Fraction(10**13), "FLOP")
    ('3.074 GB', '12 B', '10 TFLOP')
    """
    prefix, scale = prefixed(float(value))
    word = {"byte": "B", "1": ""}.get(unit, unit)
    return f"{float(value) / scale:.4g} {prefix}{word}".rstrip()


def thinned(totals: Sequence[float], most: int) -> list[int]:
    """Return the places that are drawn, in order: of each run of neighbours the one with the largest total.

    >>> thinned([1, 5, 2, 2, 9, 3], 3), thinned([1, 2], 3)
    ([1, 2, 4], [0, 1])
    """
    length = -(-len(totals) // most)
    runs = (range(start, min(start + length, len(totals))) for start in range(0, len(totals), length or 1))
    return [max(run, key=lambda place: (totals[place], -place)) for run in runs]
