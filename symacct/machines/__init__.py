"""Machines: peaks, bandwidths and capacity, each number with its unit, source and date."""

from symacct.machines.catalogue import load, names
from symacct.machines.machine import Figure, Machine, Named, Peak
from symacct.machines.writing import write

__all__ = ["Figure", "Machine", "Named", "Peak", "load", "names", "write"]
