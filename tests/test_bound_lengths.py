"""A length bound to a formula: training takes it for both lengths, and what cannot be equal is refused."""

import pytest

from symacct import Builder, derive, load
from symacct.algebra.evaluate import evaluate
from symacct.algebra.symbols import symbol
from symacct.errors import GraphError, SizeError

QUANTITIES = ("flops.model", "bytes.forward", "params")
GRAPHS = [
    ("gpt", "s", "t", {"b": 2, "a": 2, "h": 8, "L": 3, "V": 11}),
    ("llama", "S", "T", {"B": 2, "L": 3, "D": 8, "F": 6, "H": 4, "G": 2, "K": 5, "V": 11}),
]
U = symbol("u")


def values(name, sizes, workload="train", **bound):
    account = derive(load(name).bind(bound), workload=workload)
    return [evaluate(account[quantity].expr, sizes) for quantity in QUANTITIES]


@pytest.mark.few(2)
@pytest.mark.parametrize(("name", "query", "keys", "sizes"), GRAPHS)
@pytest.mark.parametrize(("stands", "at", "length"), [(U, 6, 6), (2 * U, 3, 6), (U - 1, 7, 6)])
def test_a_length_that_stands_for_a_formula_trains_as_its_value_does(
    name, query, keys, sizes, stands, at, length
):
    """Either length bound to a formula of a new name costs what the plain graph costs at its value."""
    plain = values(name, {**sizes, query: length})
    for one in (query, keys):
        assert values(name, {**sizes, "u": at}, **{one: stands}) == plain


@pytest.mark.parametrize(("name", "query", "keys", "sizes"), GRAPHS)
def test_a_number_of_keys_is_the_length_when_training(name, query, keys, sizes):
    account = derive(load(name).bind({keys: 6}))
    assert query not in account.graph.order
    assert [evaluate(account[one].expr, sizes) for one in QUANTITIES] == values(name, {**sizes, query: 6})


@pytest.mark.parametrize(("name", "query", "keys", "sizes"), GRAPHS)
def test_a_length_may_be_another_size(name, query, keys, sizes):
    wide = "h" if name == "gpt" else "D"
    plain = values(name, {**sizes, query: sizes[wide]})
    assert values(name, sizes, **{query: symbol(wide)}) == plain
    rest = {one: size for one, size in sizes.items() if one != wide}
    assert values(name, {**rest, query: sizes[wide]}, **{keys: symbol(wide)}) == plain


@pytest.mark.parametrize(("name", "query", "keys", "sizes"), GRAPHS)
@pytest.mark.parametrize("more", [1, 2])
def test_twice_the_length_is_never_the_length(name, query, keys, sizes, more):
    bound = load(name).bind({keys: 2 * symbol(query) + more - 1})
    with pytest.raises(SizeError, match="cannot be equal"):
        derive(bound)
    with pytest.raises(GraphError, match="cannot be decoded"):
        derive(bound, workload="decode")
    twice = values(name, {**sizes, "u": 3}, "decode", **{keys: 2 * U})
    assert twice == values(name, {**sizes, keys: 6}, "decode")


@pytest.mark.parametrize(("name", "query", "keys", "sizes"), GRAPHS)
def test_a_length_that_something_else_is_bound_to_is_not_made_one(name, query, keys, sizes):
    wide = "h" if name == "gpt" else "D"
    for bound in ({query: symbol(wide)}, {wide: 4 * symbol(query)}, {query: U}):
        with pytest.raises(GraphError, match="its sequence length is"):
            derive(load(name).bind(bound), workload="decode")


def test_two_new_names_stay_and_the_formulas_say_when_they_hold():
    account = derive(load("llama").bind({"S": symbol("u"), "T": symbol("w")}))
    assert "w = u" in [condition.text for condition in account.graph.conditions]


def test_an_equality_of_the_author_s_own_keeps_its_names():
    """What no binding made is left as it was written."""
    b = Builder("square", {"B": "", "H": "", "K": "", "D": ""})
    x = b.input("x", "B D")
    b.require_equal(b.size("H") * b.size("K"), b.size("D"))
    graph = b.build(b.linear(x, "D -> K"))
    assert derive(graph).graph.order == ("B", "H", "K", "D")
