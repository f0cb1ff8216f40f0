"""Figures of a machine as names in a condition: ``peak``, ``bandwidth``, ``ridge``, ``capacity``, ..."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from symacct.machines.catalogue import load

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from symacct.machines.machine import Figure, Machine

NAMES = ("peak", "bandwidth", "capacity", "devices")
RIDGE, RATIO = "ridge", ("peak", "bandwidth")


def machine_lets(
    name: str, text: str, dtype: str, taken: Collection[str] = (), dirs: Sequence[str | Path] = ()
) -> tuple[list[str], list[str]]:
    """Return what the names of a machine's figures stand for in a text, and a note for each with its source.

    Args:
        name: the machine: ``h100-sxm``, ``8xh100-sxm``.
        text: the condition; only names that occur in it are looked up.
        dtype: the format of the inputs of contractions, whose dense peak is meant.
        taken: names that mean something else.
        dirs: folders with more machines.

    Raises:
        SymacctError: there is no such machine, or it has no such figure.

    >>> machine_lets("h100-sxm", "B*D <= capacity", "bf16")[0]
    ['capacity = 80000000000 byte']
    """
    machine = load(name, dirs)
    lets, notes = [], []
    for word in (*NAMES, RIDGE):
        if word in taken or not re.search(rf"(?<![\w.]){word}(?!\w)", text):
            continue
        if word == "devices":
            lets.append(f"devices = {machine.count} device")
            continue
        figures = {one: _figure(machine, one, dtype) for one in (RATIO if word == RIDGE else (word,))}
        amounts = [_written(figure) for figure in figures.values()]
        lets.append(
            f"{word} = {amounts[0]}" if len(amounts) == 1 else f"{word} = ({amounts[0]}) / ({amounts[1]})"
        )
        for one, figure in figures.items():
            of = f" of {dtype}, dense" if one == "peak" else ""
            notes.append(f"{one} = {figure}{of}, {machine.name}: {figure.source}, {figure.date}")
    if machine.bound:
        notes.append(machine.bound)
    return lets, list(dict.fromkeys(notes))


def _written(figure: Figure) -> str:
    below = "" if figure.value.denominator == 1 else f" / {figure.value.denominator}"
    return f"{figure.value.numerator} {figure.unit}{below}"


def _figure(machine: Machine, word: str, dtype: str) -> Figure:
    return machine.peak(dtype) if word == "peak" else machine.needed(word)
