"""Answers people come for: how many days, what fits, which size: plan, fit, solve, mfu."""
