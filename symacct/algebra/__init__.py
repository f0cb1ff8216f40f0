"""Exact algebra on sizes: normal form, sums, signs, leading terms, values, conditions.

Answers that a proof may need come as a pair of the answer and its witness.
"""
