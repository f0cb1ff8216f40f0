"""Writing a graph: the builder, and the decorator that declares one."""

from symacct.build.builder import Builder
from symacct.build.define import Definition, graph
from symacct.build.scope import Var

__all__ = ["Builder", "Definition", "Var", "graph"]
