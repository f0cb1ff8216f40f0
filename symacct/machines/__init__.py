"""Machines: peaks, bandwidths and capacity, each number with its unit, source and date."""
