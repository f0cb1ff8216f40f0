"""A live page's data: what its script computes from, all of it derived here."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symacct.algebra.evaluate import evaluate, names_of
from symacct.algebra.normal import total
from symacct.algebra.symbols import as_expr
from symacct.sheet.chinese import described
from symacct.sheet.page.benches import Setting, Table, meaning
from symacct.sheet.page.collecting import Collected
from symacct.sheet.page.expression import Pool, prefix
from symacct.sheet.page.machines import machine_data, offered
from symacct.sheet.page.parts import Calculator, Choice, Result, Size, Variant, condition_text
from symacct.sheet.page.words import WORDS
from symacct.sheet.words import QUANTITIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sympy import Expr

    from symacct.algebra.condition import Condition
    from symacct.evaluation.operations import Operation
    from symacct.sheet.data import Sheet

VERSION = 1
MOST_TERMS = 8
OTHERS = "others"
SIGNS = {"at_least": ">=", "divides": "|", "equal": "="}


def page_json(sheet: Sheet) -> str:
    """Return the data of a page as JSON that may stand in a script element.

    Raises:
        FormulaError: a formula does not read back.
        RuleError: a formula holds something that no script evaluates.
    """
    text = json.dumps(page_data(sheet), ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def page_data(sheet: Sheet) -> dict[str, Any]:
    """Return what the script of a page computes from, as JSON values.

    Raises:
        FormulaError: a formula does not read back.
        RuleError: a formula holds something that no script evaluates.

    >>> from symacct.sheet.data import Sheet
    >>> page_data(Sheet("empty", "", ()))["rows"]
    []
    """
    machines = offered(sheet.machines)
    found = Collected(sheet, next(iter(machines.values())))
    starts = {name: _values(scope.sizes.values()) for name, scope in found.scopes.items()}
    pool = Pool()
    rows = [_row(ident, one, starts[one.scope]) for ident, one in found.rows.items()]
    benches = [_bench(ident, one, sheet.lang) for ident, one in found.benches.items()]
    written = pool.written({"rows": rows, "benches": benches})
    return {
        "version": VERSION,
        "lang": sheet.lang,
        "words": {key: said[sheet.lang == "zh"] for key, said in WORDS.items()},
        "scopes": {
            name: {"title": scope.title, "sizes": [_size(size) for size in scope.sizes.values()]}
            for name, scope in found.scopes.items()
        },
        "machines": [machine_data(machine) for machine in machines.values()],
        "machine": next(iter(machines)),
        **written,
        "exprs": pool.shared,
    }


def _values(sizes: Iterable[Size]) -> dict[str, Expr]:
    return {size.name: as_expr(Fraction(size.value)) for size in sizes}


def _size(size: Size) -> dict[str, Any]:
    made = {"name": size.name, "label": size.label, "meaning": size.meaning, "value": size.value}
    unit = {"unit": size.unit} if size.unit else {}
    return {**made, "integer": size.integer, "least": "1" if size.integer else "", **unit}


# ---- rows ----


def _row(ident: str, one: Calculator, start: Mapping[str, Expr]) -> dict[str, Any]:
    variants = {key: _variant(variant, one.order, start) for key, variant in one.variants.items()}
    return {
        "id": ident,
        "scope": one.scope,
        "uses": list(one.uses),
        "choices": [_choice(choice) for choice in one.choices],
        "variants": _once(variants),
    }


def _choice(choice: Choice) -> dict[str, Any]:
    return {"name": choice.name, "values": list(choice.values), "value": choice.value}


def _once(variants: Mapping[str, Any]) -> dict[str, Any]:
    """Return variants; one that equals an earlier one is that one's key."""
    made: dict[str, Any] = {}
    for key, variant in variants.items():
        same = next((k for k, other in made.items() if not isinstance(other, str) and other == variant), None)
        made[key] = variant if same is None else same
    return made


def _variant(variant: Variant, order: Sequence[str], start: Mapping[str, Expr]) -> dict[str, Any]:
    return {
        "formula": variant.formula,
        "conditions": _conditions(variant.conditions, order),
        "results": [_result(result, start) for result in variant.results],
        "note": variant.note,
    }


def _conditions(conditions: Iterable[Condition], order: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "text": condition_text(one, order),
            "form": SIGNS[one.kind],
            "left": prefix(one.left),
            "right": prefix(one.right),
        }
        for one in conditions
    ]


def _result(result: Result, start: Mapping[str, Expr]) -> dict[str, Any]:
    terms = [{"label": label, "expr": prefix(expr)} for label, expr in _largest(result.terms, start)]
    return {"label": result.label, "unit": result.unit, "expr": prefix(result.expr), "terms": terms}


def _largest(terms: Sequence[tuple[str, Expr]], start: Mapping[str, Expr]) -> list[tuple[str, Expr]]:
    """Return the largest terms at the sizes at the start, and the others joined."""
    by_size = sorted(terms, key=lambda term: -_number(term[1], start))
    if len(by_size) <= MOST_TERMS:
        return by_size
    kept, rest = by_size[: MOST_TERMS - 1], by_size[MOST_TERMS - 1 :]
    return [*kept, (OTHERS, total(expr for _, expr in rest))]


def _number(expr: Expr, start: Mapping[str, Expr]) -> Fraction | float:
    value = evaluate(expr, {name: start[name] for name in names_of(expr)})
    return Fraction(int(value.p), int(value.q)) if value.is_Rational else float(value)


# ---- benches ----


def _bench(ident: str, table: Table, lang: str) -> dict[str, Any]:
    places: dict[Any, int] = {}
    variants = {key: _setting(one, table, places, lang) for key, one in table.settings.items()}
    return {
        "id": ident,
        "scope": table.scope,
        "title": table.title,
        "uses": list(table.uses),
        "choices": [_choice(choice) for choice in table.choices],
        "needs_machine": True,
        "ops": [_op(op) for op in places],
        "variants": _once(variants),
    }


def _setting(one: Setting, table: Table, places: dict[Any, int], lang: str) -> dict[str, Any]:
    account = one.account
    if account is None:
        return {"note": one.note, "conditions": [], "quantities": [], "ops": [], "memory": []}
    work = one.work
    assert work is not None
    policy = account.policy.describe()
    return {
        "note": "",
        "policy": described(policy) if lang == "zh" else policy,
        "conditions": _conditions(one.conditions, table.order),
        "quantities": [
            {
                "name": name,
                "meaning": QUANTITIES.get(name, meaning(name)) if lang == "zh" else meaning(name),
                "unit": str(quantity.unit),
                "expr": prefix(quantity.expr),
                "conditions": _conditions(quantity.when, table.order),
            }
            for name, quantity in one.quantities
        ],
        "ops": [places.setdefault(op, len(places)) for op in one.ops],
        "memory": list(one.memory),
        "dtype": account.policy.precision.activations,
        "trains": account.trains,
        "tokens": None if one.tokens is None else prefix(one.tokens),
        "work": prefix(work),
    }


def _op(op: Operation) -> dict[str, Any]:
    loads = [{"unit": load.unit, "dtype": load.dtype, "flops": prefix(load.flops)} for load in op.loads]
    return {"label": op.label, "phase": op.phase, "loads": loads, "moved": prefix(op.moved)}
