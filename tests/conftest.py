"""Settings for all tests: random examples anywhere, the same ones where a build must be repeatable."""

import os

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
if os.environ.get("CI"):
    settings.load_profile("repeatable")
