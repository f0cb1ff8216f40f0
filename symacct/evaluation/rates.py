"""The rates of a machine, as numbers or as symbols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symacct.algebra.symbols import as_expr, symbol
from symacct.errors import RuleError, unknown
from symacct.evaluation.operations import TENSOR

if TYPE_CHECKING:
    from fractions import Fraction

    from sympy import Expr

    from symacct.machines import Figure, Machine

BANDWIDTH = "W_mem"


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of a machine by symbol: ``P_bf16`` of contractions, ``V_bf16`` of the rest, ``W_mem``.

    Without a machine, or where ``symbolic`` is set, the symbols stand for themselves. ``over`` names a cache
    or link whose bandwidth is taken in the place of that of main memory.
    """

    machine: Machine | None = None
    over: str | None = None
    symbolic: bool = False

    def bandwidth(self) -> Expr:
        """Return bytes a second.

        Raises:
            RuleError: the machine does not state it.
        """
        figure = self.bandwidth_figure()
        return symbol(BANDWIDTH) if figure is None or self.symbolic else as_expr(figure.value)

    def bandwidth_figure(self) -> Figure | None:
        """Return the figure behind it; None without a machine."""
        if self.machine is None:
            return None
        if self.over is None:
            return self.machine.needed("bandwidth")
        levels = bandwidths(self.machine)
        if self.over not in levels:
            raise unknown("bandwidth", self.over, levels, where=f"machine {self.machine.name}")
        return levels[self.over]

    @property
    def joined(self) -> bool:
        """Whether all work is held against one peak."""
        return self.machine is not None and self.machine.one_peak

    def figure(self, unit: str, dtype: str) -> Figure | None:
        """Return the figure behind a rate of work; None where it is not known, or without a machine.

        Raises:
            RuleError: the machine has no peak for contractions in this format.
        """
        if self.machine is None:
            return None
        if unit == TENSOR or self.machine.one_peak:
            return self.machine.peak(dtype)
        return self.machine.vector_peak(dtype)

    def rate(self, unit: str, dtype: str) -> Expr | None:
        """Return work a second: a number, or a symbol; None where it is not known."""
        figure = self.figure(unit, dtype)
        if self.machine is not None and (figure is None or not self.symbolic):
            return None if figure is None else as_expr(figure.value)
        return symbol(f"{'P' if unit == TENSOR or self.joined else 'V'}_{dtype}")


def bandwidths(machine: Machine) -> dict[str, Figure]:
    """Return the caches and links of a machine by name; of several devices each has its share of the bytes.

    >>> from symacct.machines import load
    >>> {name: str(figure) for name, figure in bandwidths(load("8xh100-sxm")).items()}
    {'NVLink 4': '3.6 TB/s', 'PCIe 5 x16': '512 GB/s'}
    """
    links = {one.name: one.figure.times(machine.count) for one in machine.links}
    return {one.name: one.figure for one in machine.caches} | links


def ridge(rates: Rates, dtype: str) -> Fraction:
    """Return the intensity from which contractions in a format are bound by compute.

    >>> from symacct.machines import load
    >>> float(round(ridge(Rates(load("h200-sxm")), "bf16"), 1))
    206.1
    """
    peak, bandwidth = rates.figure(TENSOR, dtype), rates.bandwidth_figure()
    if peak is None or bandwidth is None:
        raise RuleError("a ridge point is one of a machine", expected="a machine", got="none")
    return peak.value / bandwidth.value
