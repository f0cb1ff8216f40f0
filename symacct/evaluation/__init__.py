"""Formulas on a machine: roofline, time, sweeps over grids of sizes."""
