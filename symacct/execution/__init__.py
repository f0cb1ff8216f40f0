"""Execution: graphs are run, with torch or any other array module, and derived is set beside counted."""
