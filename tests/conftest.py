"""Settings for all tests: which are quick, and the same random examples where a build must be repeatable.

A test with the mark `long` is left out unless it is asked for (`-m long`, `-m ""`). A test over many cases
says with `few(n)` that n of them, spread over all, are quick; the others are long. So is what asks for
`shipped`, all sheets that ship.
"""

import os
from collections import defaultdict

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
if os.environ.get("CI"):
    settings.load_profile("repeatable")


def spread(count, wanted):
    """Places of some among many: evenly apart, the first and the last too."""
    if wanted == 1:
        return {0}
    return {round(place * (count - 1) / (wanted - 1)) for place in range(wanted)}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark as long what is made of all sheets and what `few` leaves out, before tests are chosen by marks."""
    cases = defaultdict(list)
    for item in items:
        if "shipped" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.long)
        if item.get_closest_marker("few"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for group in cases.values():
        wanted = group[0].get_closest_marker("few").args[0]
        quick = spread(len(group), min(wanted, len(group)))
        for place, item in enumerate(group):
            if place not in quick:
                item.add_marker(pytest.mark.long)
