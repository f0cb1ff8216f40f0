"""What stands on a decoder: the head that ``architectures`` names, with its labels."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from symacct.errors import ReadError
from symacct.readers.families import Key
from symacct.readers.values import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symacct.readers.families import Family
    from symacct.readers.values import Values

LANGUAGE, NONE, SEQUENCE, TOKENS, SPANS = "language", "none", "sequence", "tokens", "spans"
ENDS: Mapping[str, str] = MappingProxyType(
    {
        "ForCausalLM": LANGUAGE,
        "LMHeadModel": LANGUAGE,
        "Model": NONE,
        "ForSequenceClassification": SEQUENCE,
        "ForTokenClassification": TOKENS,
        "ForQuestionAnswering": SPANS,
    }
)
"""How the name of a public class ends, and the head that it has."""

OF_PARTS = ("ForConditionalGeneration", "ForCausalLM", "LMHeadModel", "ForVision2Seq", "ForImageTextToText")
"""How a class of several parts is called whose language model has a language head."""

NAME = re.compile(rf"(?P<family>\w+?)(?P<end>{'|'.join(sorted(ENDS, key=len, reverse=True))})")
MOST_LABELS = 1_000_000
USUAL_LABELS = 2
ENDS_OF_A_SPAN = 2


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a decoder.

    Attributes:
        kind: ``language``; ``none``; ``sequence`` and ``tokens``, which classify the last or each token;
            ``spans``, which finds where an answer starts and ends.
        labels: how many numbers it gives for a token; 0 for the first two.
        bias: whether it has a bias.
        dropout: the rate before it.
    """

    kind: str = LANGUAGE
    labels: int = 0
    bias: bool = False
    dropout: Fraction = Fraction(0)

    @property
    def said(self) -> str:
        """What a reader of the graph should know of it."""
        few = f"{self.labels} label{'s' if self.labels > 1 else ''}"
        return {
            LANGUAGE: "",
            NONE: ", without a head and a loss",
            SEQUENCE: f", with a head of {few} for a sequence, and no loss",
            TOKENS: f", with a head of {few} for each token, and no loss",
            SPANS: ", with a head for the ends of an answer, and no loss",
        }[self.kind]


def read_head(outer: Mapping[str, Any], values: Values, family: Family) -> Head:
    """Return the head that a configuration names; a language head where it names none.

    Args:
        outer: the whole configuration, whose ``architectures`` comes before that of its text part.
        values: the language model's keys.
        family: its row.

    Raises:
        ReadError: ``architectures`` names several classes, one of another family, or one with a head or with
            code that is not read.
    """
    parts = isinstance(outer.get("text_config"), dict)
    name = _name_of(outer, values.where)
    if name is None and parts:
        name = _name_of(values.data, values.where)
    if name is None:
        return Head()
    if parts and name.endswith(OF_PARTS):
        return Head()
    match = NAME.fullmatch(name)
    of = match["family"].lower() if match else ""
    if match is None or (
        of != family.model_type.replace("_", "") and not (parts and match["end"] == "Model")
    ):
        raise _not_read(name, family, values.where)
    kind = ENDS[match["end"]]
    if kind in (LANGUAGE, NONE):
        return Head(kind)
    if kind == SEQUENCE:
        return Head(kind, _labels(values))
    if kind == SPANS:
        return Head(kind, ENDS_OF_A_SPAN, bias=True)
    bias = family.positions is not None or values.flag(Key("token_classification_bias", default=True))
    return Head(kind, _labels(values), bias, _dropout(values))


def _name_of(data: Mapping[str, Any], where: str) -> str | None:
    """Return the one class that ``architectures`` names."""
    given = data.get("architectures")
    if given is None or given == []:
        return None
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given) or len(set(given)) > 1:
        expected = "a list with the name of one class, or no such key"
        raise ReadError(
            "architectures does not name one class", where=where, expected=expected, got=shown(given)
        )
    return str(given[0])


def _not_read(name: str, family: Family, where: str) -> ReadError:
    title = family.title.replace("-", "")
    usual = "LMHeadModel" if family.positions else "ForCausalLM"
    known = [f"{title}{end}" for end in (usual, *list(ENDS)[2:])]
    return ReadError(
        f"architectures names {name[:60]}, which is not read for the family {family.title}",
        where=where,
        expected=f"one of: {', '.join(known)}",
        got=name[:60],
        fix=f"name one of these whose layers and head are the same, or write a graph: {GUIDE}",
    )


GUIDE = "docs/writing-a-graph.md; symacct show llama --source prints one to start from"
"""Where it stands how a graph is written."""


def _labels(values: Values) -> int:
    """Return how many labels there are: stated as a number, or named one by one; 2 where neither is."""
    named = values.data.get("id2label")
    if named is not None and not isinstance(named, dict | list):
        raise ReadError(
            "id2label has a value of the wrong kind",
            where=values.where,
            expected="a name for each label",
            got=shown(named),
        )
    stated = values.optional(Key("num_labels")) if values.data.get("num_labels") is not None else None
    if named and stated is not None and stated != len(named):
        raise ReadError(
            "num_labels and id2label do not go together",
            where=values.where,
            expected=f"num_labels = {len(named)}, as id2label has",
            got=str(stated),
        )
    found = stated or len(named or ()) or USUAL_LABELS
    if found > MOST_LABELS:
        raise ReadError(
            "num_labels is too large",
            where=values.where,
            expected=f"at most {MOST_LABELS}",
            got=str(found),
        )
    return found


def _dropout(values: Values) -> Fraction:
    """Return the rate before a head for each token: of the classifier, else of hidden features, else 1/10."""
    for name in ("classifier_dropout", "hidden_dropout"):
        if values.data.get(name) is not None:
            return values.rate(name, "0")
    return Fraction(1, 10)
