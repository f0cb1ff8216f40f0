"""Derivation: backward, work, traffic, what is saved, static memory, workloads."""
