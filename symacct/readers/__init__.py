"""Reading graphs from outside: Python files, public model configurations, JSON.

``files.load`` is the one way in; ``catalogue`` lists what ships without running anything.
"""
