"""Does a served model fit, where its graph bounds the length; and a graph with a size that nothing uses."""

from __future__ import annotations

import pytest

from symacct import derive, load
from symacct.algebra.condition import Condition
from symacct.algebra.domain import domain_of
from symacct.algebra.symbols import as_expr, symbol
from symacct.build import graph
from symacct.planning.fit import fit
from symacct.planning.fit_search import largest
from symacct.policy import Policy
from symacct.proof.prove import placed

CAPACITY = 80 * 10**9


@pytest.mark.few(2)
@pytest.mark.parametrize("model", ["gpt2", "llama-3-8b", "gpt2-xl"])
@pytest.mark.parametrize(("workload", "length"), [("decode", "T"), ("prefill", "S"), ("forward", "S")])
def test_a_served_model_fits_by_its_own_peak(model, workload, length):
    """The peak at the sizes is the account's; each largest size fits, and the next does not or is refused."""
    sizes = {"B": 8, length: 800}
    account = derive(load(model), policy=Policy(workload=workload))
    found = fit(account, "h100-sxm", sizes=sizes)

    def peak(**changed):
        if workload == "decode":
            bound, rest = placed(account, {**sizes, **changed})
            return bound["memory.peak"].at(
                **{n: s for n, s in rest.items() if n in bound["memory.peak"].names()}
            )
        return account.bind({**sizes, **changed})["memory.peak"].expr

    assert found.fits
    assert found.asked.held.nbytes == peak()
    for one in found.limits:
        assert peak(**{one.name: one.value}) <= CAPACITY
        if one.after is not None:
            assert peak(**{one.name: one.after}) > CAPACITY
    lengths = {one.name: (one.value, [str(bound) for bound in one.binds]) for one in found.limits}
    if model.startswith("gpt2"):
        assert lengths[length] == (1024, [f"1024 >= {length}"])
    elif length in lengths:
        assert lengths[length][1] == []


CONDITIONS = {
    "few": Condition("at_least", as_expr(1024), symbol("T")),
    "half": Condition("at_least", as_expr(101), 2 * symbol("T")),
    "even": Condition("divides", as_expr(6), symbol("T")),
    "many": Condition("at_least", symbol("T"), as_expr(3)),
    "other": Condition("at_least", as_expr(3), symbol("S")),
    "both": Condition("at_least", symbol("S"), symbol("T")),
}


@pytest.mark.few(18)
@pytest.mark.parametrize(
    "names", [(n,) for n in CONDITIONS] + [("few", "even"), ("half", "even", "many"), ("other", "few")]
)
@pytest.mark.parametrize("value", [2, 5, 50, 51, 1000, 5000])
def test_the_largest_size_is_one_that_the_graph_allows(names, value):
    """Against trying every size below what fits, one after the other."""
    own = [CONDITIONS[name] for name in names if CONDITIONS[name].names == ["T"]]
    by_hand = max((n for n in range(1, value + 1) if all(one.holds({"T": n}) for one in own)), default=0)
    found = largest(lambda size: size <= value, "T", domain_of(own))
    assert found.value == by_hand
    assert bool(found.binds) is (by_hand != 0 and found.after is None)


@graph({"B": "rows", "D": "width", "Q": "nothing uses it"}, tokens="B")
def spare(b):
    """A layer, and a size beside it."""
    return b.linear(b.input("x", "B D"), "D -> E", E="D")


@graph({"B": "rows", "D": "width"}, tokens="B")
def plain(b):
    """A layer."""
    return b.linear(b.input("x", "B D"), "D -> E", E="D")


def test_a_size_that_nothing_uses_is_not_asked_for():
    """The answer is that of the graph without the size."""
    sizes = {"B": 8, "D": 4096}
    with_it, without = (fit(one, "h100-sxm", sizes=sizes) for one in (spare, plain))
    assert with_it.asked.held == without.asked.held
    assert with_it.limits == without.limits
    assert fit(spare, "h100-sxm", sizes={**sizes, "Q": 3}).limits == without.limits
