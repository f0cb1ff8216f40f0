"""The command line: one module for each verb, with ``add(parser)`` and ``run(args)``.

Verb modules import what is heavy inside ``run``, so that help and lists answer at once.
"""

from symacct.cli.main import main

__all__ = ["main"]
