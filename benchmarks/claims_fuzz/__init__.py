"""A fuzzer of claims: random ones, judged by symacct and again by brute force that shares no code with it."""
