"""The names of a formula for which none are declared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.syntax.tokens import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


def guess_names(
    text: str, taken: Collection[str] = (), is_unit: Callable[[str], bool] | None = None
) -> list[str]:
    """Return the names in a formula, in their order; those in `taken` are left out.

    Raises:
        SymacctError: a word can be read in two ways.

    >>> guess_names("6*N*D + 2*n_layer*beta + 2*ND")
    ['N', 'D', 'n_layer', 'beta']
    """
    tokens = Tokenizer(text, taken, is_unit, free=True).run()
    return list(dict.fromkeys(one.text for one in tokens if one.kind == "name" and one.text not in taken))
