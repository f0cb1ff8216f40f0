"""What a certificate states, as one text: two certificates of the same claim have the same."""

from __future__ import annotations

import json
from typing import Any

LEFT_OUT = ("text", "rests")


def statement_of(certificate: dict[str, Any], *, read: bool = True) -> str:
    """Return the canonical text of a certificate's statement, variables and hypotheses.

    The names of hypotheses and their order do not matter, nor does the text as typed, nor the proof; the
    claim as read does, unless `read` is false.

    >>> one = {"statement": {"relation": "=", "left": "1", "right": "1", "text": "1 = 1"},
    ...        "variables": {}, "hypotheses": []}
    >>> print(statement_of(one))
    {"hypotheses":[],"statement":{"left":"1","relation":"=","right":"1"},"variables":{}}
    """
    left_out = LEFT_OUT if read else (*LEFT_OUT, "read")
    statement = {key: part for key, part in certificate["statement"].items() if key not in left_out}
    rests = sorted(certificate["statement"].get("rests", []), key=_text)
    hypotheses = sorted(
        ({key: part for key, part in one.items() if key != "name"} for one in certificate["hypotheses"]),
        key=_text,
    )
    stated = {"statement": statement, "variables": certificate["variables"], "hypotheses": hypotheses}
    return _text({**stated, **({"rests": rests} if rests else {})})


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
