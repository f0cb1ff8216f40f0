"""Symbols of a policy mean one thing, and formats of a precision hold numbers."""

import pytest

from symacct import derive, load
from symacct.errors import ReadError, UsageError
from symacct.machines.reading import read_machines


@pytest.mark.parametrize("choices", [{"accumulate": "L"}, {"accumulate": "B"}, {"checkpoint": "every:L"}])
def test_a_size_of_the_graph_is_no_symbol_of_the_policy(choices):
    with pytest.raises(UsageError, match="has two meanings"):
        derive(load("mlp"), **choices)


def test_one_symbol_has_one_meaning():
    with pytest.raises(UsageError, match="k has two meanings"):
        derive(load("mlp"), checkpoint="every:k", accumulate="k")
    assert derive(load("mlp"), checkpoint="every:k", accumulate="N").policy.names == ("k", "N")


@pytest.mark.parametrize("dtype", ["bool", "int64", "int32"])
@pytest.mark.parametrize("item", ["params", "grads", "states", "activations"])
def test_what_holds_no_numbers_is_no_precision(item, dtype):
    others = "" if item == "params" else "params=bf16,"
    with pytest.raises(UsageError, match=f"{item} cannot be {dtype}"):
        derive(load("mlp"), precision=f"{others}{item}={dtype}")


@pytest.mark.parametrize(
    ("date", "good"), [("2025", True), ("2025-12", True), ("2025-13", False), ("5", False)]
)
def test_a_date_is_a_date(date, good):
    figure = f'{{ value = 80, unit = "GB", source = "data sheet", date = "{date}" }}'
    text = f'title = "a part"\ncapacity = {figure}\n'
    if good:
        read_machines(text, "part", "part.toml")["part"]()
    else:
        with pytest.raises(ReadError, match="has no date"):
            read_machines(text, "part", "part.toml")["part"]()
