"""The keys of JSON: for each class of results what its record holds.

A word is a key, and the attribute of that name; ``key=path``, where the attribute has another name, or is one
of an attribute; or ``key='text'``. A class that is not here has all its fields, under their names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

FLAT = frozenset({"expr", "value"})
"""Keys whose number or formula stands in the record itself."""

KEYS: Mapping[str, str] = {
    # the choices of a run
    "account.Account": "graph=graph.name convention policy bound=graph.bound",
    "convention.Convention": "name attention embedding head vectors bytes strict elementwise leading prices",
    "policy.Policy": """
        workload precision optimizer saves input_grad checkpoint=checkpoint.describe grads update
        hold_output accumulate=accumulate.__str__ loss lora=lora.describe
    """,
    # derive, memory
    "report.data.Line": "name phase path note=remark expr unit value",
    "report.quantities.Explained": """
        name=line.name expr=line.expr unit=line.unit conditions=line.when value=line.value terms
    """,
    "report.quantities.Quantities": "conditions small_sizes warnings quantities",
    "report.memory_page.Memory": """
        choices=choices segments=segments small_sizes=shown.small quantities peak activations_peak=saved
        reserve with_reserve peak_location=peak.location live_tensors=alive reductions=options
        small_counts=small warnings=shown.account.warnings
    """,
    "planning.peak_cases.Peak": "unit='byte' value conditions=when candidates=cases",
    "planning.peak_cases.Case": "expr region=region.conditions",
    "planning.peak_cases.Small": "conditions=condition exprs",
    "planning.reductions.Option": "flags peak=value work why",
    "report.memory_policies.Compared": "small_sizes=view.small quantities peak activations_peak ratio",
    "planning.best_segment.BestLength": "name=best.name cases=best.cases notes=best.notes integer",
    "planning.best_regions.Case": "k where=conditions peak=peaks saves",
    "planning.best_integer.BestInteger": "k peak divisor root without=plain",
    # prove, compare
    "proof.verdict.Verdict": """
        claim=claimed read=in_full relation=claim.relation verdict=outcome reason=decision.reason
        unit=sides.left.unit left right derived_side conditions=box.conditions limit=growing
        tends_to=decision.limit notes as_stated=stated holds_if weaker_claims=weaker correction=instead
        terms=parts threshold counterexample=decision.point fails_where=decision.ray
    """,
    "proof.instead.Instead": "difference equal ratio bound leading",
    "proof.instead.LeadingOrder": "limit=growing leading remainder relative_error=error thresholds",
    "proof.instead.Threshold": "tolerance size=name from=start where",
    "proof.threshold.Threshold": "size=name relation value equal_at=crossing.value holds",
    "proof.threshold.Crossing": "size=name value a_larger_above=above",
    "proof.compare.Comparison": """
        unit a=left b=right conditions=when notes difference terms=parts ratio limits larger crossings
        a_greater_at=a_larger b_greater_at=b_larger
    """,
    "proof.compare.Apart": "label a=left b=right",
    "proof.judge.Judged": """
        name=stated.name graph=stated.graph claim=text expected=stated.expect got ok detail
        source=stated.source comment=stated.comment value=amount.value unit=amount.unit verdict
    """,
    "claims.amount.Amount": "expr=value unit notes",
    "claims.amount.Converted": "expr=value unit notes",
    # plan, mfu, fit
    "planning.plan.Plan": "model=subject.name at=subject.at quantities missing=absent bottleneck=binds notes",
    "planning.mfu.Utilisation": "model=subject.name machine=devices.name quantities counted notes",
    "planning.fit.Fit": """
        model=account.graph.name at assumed batch fits verdict capacity=room model_states=static
        state_options=statics baseline=asked largest=limits options does_not_fit=short skipped=unfit notes
    """,
    "planning.fit_room.Room": """
        machine=machine.name devices=count per_device=each reserve total unit='byte' bound source
    """,
    "planning.fit_changes.Static": """
        changes bytes=nbytes unit='byte' parts formulas per_parameter=per host fits over devices
    """,
    "planning.fit_options.Option": """
        changes unit='byte' bound micro_batch=micro accumulate devices expr=held.formula
        peak=held.nbytes parts=held.parts host fits over devices_needed=needed seconds relative
    """,
    "planning.fit_search.Largest": "name value least after conditions=binds",
    # solve
    "planning.solve_answer.Solution": """
        condition=asked.text for=asked.name unit=asked.unit relation=asked.relation
        side_unit=asked.sides.left.unit left right conditions=asked.domain.conditions answer=kind reason
        formulas=cases intervals=spans integers largest smallest checks notes=remarks segment=best_length
    """,
    "planning.solve_formula.Case": "relation value positive",
    "planning.solve_answer.Check": "at left right holds message=said",
    # dtype
    "formats.answer.Answer": """
        name=format.name about=format.about source=format.source layout special facts values blocks codes
        stored_bits=quantised.stored_bits tensor_scale=quantised.whole
    """,
    "formats.answer.Given": """
        given=text value=rounded.given code result=rounded.result saturated=rounded.clamped
        error=rounded.error relative=rounded.relative ulps=rounded.ulps outcome=rounded.outcome
    """,
    "formats.answer.Scaled": """
        scale=effect.beside.scale scale_code values=effect.beside.values codes
        results=effect.beside.results errors=effect.beside.errors largest=effect.place
        errors_without_largest=effect.without.errors
    """,
    # roofline, measure, check
    "evaluation.roofline.Roofline": """
        machine=machine.name title=machine.title figures ridges notes=time.notes quantities
        intensity=ratio verdict condition=whole_region bandwidths=levels ops
    """,
    "evaluation.roofline.Level": "name figure time=seconds verdict",
    "evaluation.roofline.Bound": """
        label=timing.operation.label phase=timing.operation.phase path=timing.operation.path
        kind=timing.operation.kind flops=timing.operation.flops bytes=timing.operation.moved
        time=timing.expr verdict condition
    """,
    "evaluation.roofline.Priced": "expr=formula.expr unit=formula.unit conditions=formula.when value terms",
    "execution.measure.Measurement": "machine=machine.name title=machine.title setting rates runs",
    "execution.measure_calibrate.Rate": "name value unit call=shape measured=spread",
    "execution.measure_clock.Spread": "median lower_quartile=lower upper_quartile=upper times=count",
    "execution.measure_run.Run": """
        sizes quantity=roofline.main flops peak predicted measured=step ratio mfu mfu_bound ops rest
    """,
    "execution.measure_run.OpTime": """
        label=timing.operation.label phase=timing.operation.phase path=timing.operation.path
        flops=timing.operation.flops bytes=timing.operation.moved predicted measured ratio
    """,
    "execution.check.CheckResult": """
        graph=name sizes small_sizes=small passed rows differences not_checked=unvouched
    """,
    "execution.memory_check.MemoryCheck": "graph=name passed rows others differences not_checked=unvouched",
    "execution.memory_compare.MemoryRow": """
        checkpoint=policy sizes what derived interpreted counted unit verdict note
    """,
}
