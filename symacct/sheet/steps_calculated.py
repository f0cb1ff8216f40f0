"""A calculation step by step: names replaced, amounts in base units, the value, and in the unit asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.normal import is_zero
from symacct.claims import amount
from symacct.claims.claim import Binding
from symacct.claims.parts import binding_of
from symacct.errors import FormulaError, SymacctError
from symacct.proof.machine_facts import read_facts
from symacct.report.amount import as_fraction
from symacct.report.amount import shown as shown_amount
from symacct.sheet.chain import proved
from symacct.sheet.data import Step, Words
from symacct.sheet.retold import in_base_units, with_names_replaced, with_unit, worked_in
from symacct.sheet.statement import formula
from symacct.sheet.steps_words import say
from symacct.sheet.words import word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sympy import Expr

    from symacct.proof.judge import Judged
    from symacct.sheet.data import Math, Origin


def calculated(origin: Origin, judged: Judged, name: str, lang: str) -> Iterator[Step]:
    """Yield a calculation: names replaced, amounts in base units, the value, and in the unit asked for."""
    stated = judged.stated
    try:
        facts = read_facts(stated.calc, stated.let, on=origin.machine)
        given = [*facts.lets, *facts.typed]
        bound = [binding_of(one)[0] for one in given]
        written = formula(facts.text, bound)
        found = judged.amount or amount(facts.text, stated.to, given)
        lets = dict(zip(bound, (formula(one.partition("=")[2], bound) for one in given), strict=True))
    except SymacctError:
        return
    yield Step(say("as stated", lang), (written,))
    where = [Binding(key, one.tree, one.text) for key, one in lets.items()]
    told = with_names_replaced(written, where, name) if where else written
    if where:
        yield Step(say("replaced", lang), (told,))
    based = in_base_units(told, name)
    if based.text != told.text:
        yield Step(say("base", lang), (based,))
    if found.value.is_Rational:
        text = with_unit(as_fraction(found.value), str(found.unit))
        yield Step(say("comes to", lang), (_worth_of(text, based, found.value, name),))
    came = shown_amount(found.value, found.unit, stated.to)
    if stated.value is None:
        yield Step(say("in unit", lang, stated.to or str(found.unit)), (Words(came),))
        return
    claimed = f"{stated.value} {stated.to or ''}".strip()
    yield Step(say("in unit", lang, stated.to or str(found.unit)), (Words(came),))
    yield Step(say("verdict", lang, word(judged.got, lang), say("claimed", lang, claimed, stated.within)))


def _worth_of(text: str, based: Math, value: Expr, name: str) -> Math:
    """Return the value of a calculation, proved to be what its amounts in base units come to."""
    found = worked_in(based, {})
    if found is not None and not is_zero(found - value):
        what = "a calculation does not come to what was worked out; the sheet is not written"
        raise FormulaError(what, where=name, expected=str(found), got=str(value))
    return proved(text, value, (), name)
