"""Which peak a run can reach: that of the numbers that its contractions read, never that of wider ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from symacct.errors import SymacctError, UsageError
from symacct.formats import find

if TYPE_CHECKING:
    from symacct.account import Account

DIGITS = re.compile(r"[a-z]+([0-9]+)")


def peak_of(account: Account | None, dtype: str | None) -> str | None:
    """Return a note where the peak that is named is not that of a run's own numbers; None where it is.

    Raises:
        UsageError: it is one of wider numbers, which is lower, so that a utilization of it means nothing.

    >>> from symacct.account import derive
    >>> from symacct.readers.files import load
    >>> peak_of(derive(load("mlp")), "fp8")
    'the peak is one of fp8 contractions, the run has bf16 activations (--precision)'
    """
    own = None if account is None else account.policy.precision.activations
    if own is None or dtype is None or dtype == own:
        return None
    wide, given = _bits(own), _bits(dtype)
    if wide is not None and given is not None and given > wide:
        raise UsageError(
            f"a run with {own} activations has no {dtype} contractions",
            where=f"--dtype {dtype}",
            expected=f"the peak of {own}, or of numbers of at most {wide} bits",
            got=f"{dtype}, {given} bits",
            fix=f"leave --dtype out, or state the run's own numbers: --precision fp32 for {dtype}"
            if given == FULL
            else "leave --dtype out",
        )
    return f"the peak is one of {dtype} contractions, the run has {own} activations (--precision)"


FULL = 32


def _bits(dtype: str) -> int | None:
    """Return how many bits a number takes: of a format, or of a family such as ``fp8``."""
    try:
        return int(find(dtype).bits)
    except (SymacctError, AttributeError):
        digits = DIGITS.match(dtype)
        return int(digits[1]) if digits else None
