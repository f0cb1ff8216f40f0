"""Peaks of memory: a step run without arrays, folded into loops, and its highest level as formulas."""
