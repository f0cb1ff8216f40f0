"""Mutants: small faults put into modules, and whether the tests see them.

Run: python benchmarks/mutate.py N SEED MODULE.py ... -- PYTEST_ARGUMENTS ...

A mutant is a module with one place changed: a comparison (its boundary, or its opposite), ``and``/``or``, an
operand of them left out, ``not``, ``+``/``-``, ``*``/``//``, an integer by one, a truth value, the condition
of an ``if``, or a statement taken away (a raise, a return's value, a call for its effect). Of all mutants of
the modules a seeded sample of N is taken; it runs in the order it was drawn, so that a run cut short is a
smaller sample. The tests run on each with ``-x``, on a copy of the tree in a temporary folder. What fails, or
takes three times as long, is killed; each survivor is shown with its line and both texts. The tests must pass
on the copy as it is, and must fail when a module cannot be imported.
"""

from __future__ import annotations

import ast
import copy
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = shutil.ignore_patterns(".git", "__pycache__", ".*_cache", "notebooks", ".hypothesis")
SWAPS = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.And: (ast.Or,), ast.Or: (ast.And,),
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.FloorDiv,), ast.FloorDiv: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,),
}  # fmt: skip


def changed(node, **fields):
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def operators(node):
    """Yield what an expression made with operators can become."""
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            for other in SWAPS[type(op)]:
                yield changed(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])
    elif isinstance(node, ast.BoolOp):
        yield changed(node, op=SWAPS[type(node.op)][0]())
        for i in range(len(node.values)):
            yield changed(node, values=node.values[:i] + node.values[i + 1 :])
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
        yield changed(node, op=SWAPS[type(node.op)][0]())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand


def others(node):
    """Yield what a number, a condition or a statement can become; what is taken away becomes ``pass``."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield from (ast.Constant(node.value + 1), ast.Constant(node.value - 1))
    elif isinstance(node, ast.If | ast.IfExp) and not isinstance(node.test, ast.Compare | ast.BoolOp):
        yield ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Return) and node.value is not None:
        yield changed(node, value=None)
    elif isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield ast.Pass()


def mutants(text):
    """Return the mutants of a module: line, the text of the place, its new text, and the whole new text."""
    data, lines = text.encode(), text.encode().splitlines(keepends=True)
    starts = [sum(map(len, lines[:i])) for i in range(len(lines))]
    found, pending = [], [ast.parse(text)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        hidden = {id(getattr(node, name, None)) for name in ("annotation", "returns")}
        pending += [child for child in ast.iter_child_nodes(node) if id(child) not in hidden]
        for new in (*operators(node), *others(node)):
            place = node.test if isinstance(node, ast.If | ast.IfExp) else node
            start = starts[place.lineno - 1] + place.col_offset
            end = starts[place.end_lineno - 1] + place.end_col_offset
            piece = ast.unparse(ast.fix_missing_locations(new)).encode()
            piece = b"(" + piece + b")" if isinstance(new, ast.expr) else piece
            after = (data[:start] + piece + data[end:]).decode()
            try:
                ast.parse(after)
            except SyntaxError:  # inside an f-string
                continue
            found.append((place.lineno, data[start:end].decode(), piece.decode(), after))
    return found


def passes(tree, arguments, limit=None):
    """Say whether the tests pass on a tree, within a limit of time."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", *arguments]
    try:
        done = subprocess.run(command, cwd=tree, capture_output=True, timeout=limit, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def put(tree, module, text):
    """Write a module, and forget what Python had compiled of it."""
    file = Path(tree) / module
    for old in file.parent.glob(f"__pycache__/{file.stem}.*"):
        old.unlink()
    file.write_text(text, encoding="utf-8")


def main(words):
    split = words.index("--")
    (size, seed, *modules), arguments = words[:split], words[split + 1 :]
    texts = {module: (ROOT / module).read_text(encoding="utf-8") for module in modules}
    every = [(module, *mutant) for module in modules for mutant in mutants(texts[module])]
    sample = random.Random(int(seed)).sample(every, min(int(size), len(every)))
    with tempfile.TemporaryDirectory() as folder:
        tree = shutil.copytree(ROOT, Path(folder) / "tree", ignore=LEFT_OUT)
        before = perf_counter()
        if not passes(tree, arguments):
            return "the tests fail on the tree as it is"
        limit = 3 * (perf_counter() - before) + 10
        for module in modules:
            put(tree, module, "raise ImportError\n")
            if passes(tree, arguments, limit):
                return f"the tests do not import {module} from the copy"
            put(tree, module, texts[module])
        survivors = 0
        for module, line, old, new, text in sample:
            put(tree, module, text)
            lives = passes(tree, arguments, limit)
            put(tree, module, texts[module])
            survivors += lives
            if lives:
                print(f"survived {module}:{line}\n  - {old}\n  + {new}", flush=True)
            else:
                print(f"killed   {module}:{line}", flush=True)
    return f"{len(sample)} of {len(every)} mutants: {len(sample) - survivors} killed, {survivors} survived"


if __name__ == "__main__":
    if "--" not in sys.argv or len(sys.argv) < 5:
        raise SystemExit(__doc__)
    print(main(sys.argv[1:]))
