"""Where the data that ships with symacct lies: graphs, models, claims and machines.

In an installed wheel they are in ``symacct/shipped``; in a checkout, or an editable install of one, in the
folders of these names beside the package.
"""

from __future__ import annotations

from pathlib import Path

from symacct.errors import ReadError, unknown

KINDS = ("graphs", "models", "claims", "machines")


def shipped(kind: str) -> Path:
    """Return the folder of the shipped graphs, models, claims or machines.

    Raises:
        UnknownNameError: no such kind ships.
        ReadError: the folder is not there.

    >>> (shipped("graphs") / "mlp.py").is_file()
    True
    """
    if kind not in KINDS:
        raise unknown("kind of shipped data", kind, KINDS)
    package = Path(__file__).resolve().parent
    places = (package / "shipped" / kind, package.parent / kind)
    for place in places:
        if place.is_dir():
            return place
    raise ReadError(
        f"the {kind} that ship with symacct are not there",
        where=str(package),
        expected=" or ".join(str(place) for place in places),
        got="no such folder",
        fix="install symacct again, or run it from a whole checkout",
    )
