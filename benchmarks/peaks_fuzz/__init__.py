"""A fuzzer of memory peaks: formulas of random graphs against schedules that are run, and against torch."""
