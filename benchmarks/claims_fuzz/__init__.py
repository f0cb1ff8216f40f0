"""A fuzzer of claims: random claims, judged by symacct, and again by brute force that shares no code with it."""
