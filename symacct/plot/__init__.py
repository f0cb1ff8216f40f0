"""Pictures, with matplotlib (an extra)."""
