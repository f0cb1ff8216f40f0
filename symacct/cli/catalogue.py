"""What there is, read from the sources as text: no formula engine is started for a list.

Each table stays where the code that uses it stands; what is listed here is compared with it by the tests.
"""

from __future__ import annotations

import ast
import tomllib
from importlib.resources import files
from typing import TYPE_CHECKING

from symacct.data import shipped

if TYPE_CHECKING:
    from collections.abc import Iterator

Rows = list[tuple[str, ...]]
BYTES_FP32 = 4


def _tree(*path: str) -> ast.Module:
    return ast.parse(files("symacct").joinpath(*path).read_text(encoding="utf-8"))


def _assigned(tree: ast.Module, name: str) -> ast.expr:
    """Return what a module-level name is set to.

    Raises:
        LookupError: the module does not set it.
    """
    for node in tree.body:
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else []
        )
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return node.value  # type: ignore[attr-defined, no-any-return]
    raise LookupError(name)


def _entries(tree: ast.Module, name: str) -> Iterator[tuple[str, ast.expr]]:
    """Yield the entries of a dictionary with text keys that a module-level name is set to."""
    found = _assigned(tree, name)
    if isinstance(found, ast.Dict):
        for key, value in zip(found.keys, found.values, strict=True):
            if isinstance(key, ast.Constant):
                yield str(key.value), value


def _first_line(node: ast.FunctionDef | ast.ClassDef) -> str:
    return (ast.get_docstring(node) or "").split("\n")[0].replace("``", "")


def conventions() -> Rows:
    """Return name and meaning of each preset.

    >>> conventions()[0][0]
    'default'
    """
    rows: Rows = []
    for node in ast.walk(_assigned(_tree("convention.py"), "CONVENTIONS")):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "_preset":
            name, about = (ast.literal_eval(argument) for argument in node.args[:2])
            rows.append((str(name), str(about)))
    return rows


def dtypes() -> Rows:
    """Return name, bits, largest and smallest number, epsilon and meaning of each number format.

    >>> [row[:3] for row in dtypes() if row[0] == "mxfp4"]
    [('mxfp4', '4.25', '≈1.02085e39')]
    """
    from symacct.formats import BITS, STORED
    from symacct.formats.facts import summary

    return [
        (name, *summary(name)) if name not in STORED else (name, str(bits), "", "", "", STORED[name])
        for name, bits in BITS.items()
    ]


def optimizers() -> Rows:
    """Return name, bytes of fp32 states for each parameter, and meaning of each optimizer.

    >>> [row[:2] for row in optimizers() if row[0] == "adamw"]
    [('adamw', '8')]
    """
    tree = _tree("ops", "optimizer.py")
    meanings = {node.name: _first_line(node) for node in tree.body if isinstance(node, ast.FunctionDef)}
    return [
        (name, _state_bytes(rule), meanings.get(name, ""))
        for name, rule in _entries(tree, "RULES")
        if isinstance(rule, ast.Call)
    ]


def _state_bytes(rule: ast.Call) -> str:
    """Return the bytes of a rule's states for each parameter: fp32, or 8 bits and the scales of blocks."""
    states = len(ast.literal_eval(rule.args[0]))
    block = next((ast.literal_eval(word.value) for word in rule.keywords if word.arg == "block"), None)
    return str(BYTES_FP32 * states) if block is None else f"{states} + {BYTES_FP32 * states}/{block}"


def ops() -> Rows:
    """Return name and meaning of each op; the elementwise functions follow.

    >>> [row for row in ops() if row[0] == "Einsum"]
    [('Einsum', 'Contraction of two tensors over named axes.')]
    """
    homes = [path.name for path in files("symacct").joinpath("ops").iterdir() if path.name.endswith(".py")]
    classes = [node for home in homes for node in _tree("ops", home).body if isinstance(node, ast.ClassDef)]
    rows: Rows = sorted(
        (node.name, _first_line(node))
        for node in classes
        if any(isinstance(mark, ast.Name) and mark.id == "final" for mark in node.decorator_list)
    )
    table = _tree("ops", "elementwise_table.py")
    functions = [name for part in ("ARITHMETIC", "FUNCTIONS") for name, _ in _entries(table, part)]
    return rows + [(name, "elementwise function") for name in functions]


def machines() -> Rows:
    """Return name, part, dense peaks, bandwidth and capacity of each machine that ships, as they are written.

    >>> [row[2:] for row in machines() if row[0] == "tpu-v5e"]
    [('bf16 197 TFLOP/s, int8 393 Top/s', '819 GB/s', '16 GB')]
    """
    rows: Rows = []
    for path in sorted(shipped("machines").glob("*.toml")):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        several = {f"{path.stem}:{key}": part for key, part in data.get("machines", {}).items()}
        for name, part in (several or {path.stem: data}).items():
            dense = [peak for peak in part.get("peaks", ()) if not peak["sparse"]]
            peaks = ", ".join(f"{peak['dtype']} {peak['value']} {peak['unit']}" for peak in dense)
            known = (part.get(key) for key in ("bandwidth", "capacity"))
            others = [f"{figure['value']} {figure['unit']}" if figure else "" for figure in known]
            rows.append((name, part["title"], peaks, *others))
    return rows


def units() -> Rows:
    """Return name, definition and other names of each unit, and the prefixes.

    >>> [row for row in units() if row[0] == "byte"]
    [('byte', 'base unit', 'B')]
    """
    rows: Rows = []
    for line in files("symacct").joinpath("units.txt").read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            name, meaning, *others = (part.strip() for part in line.split("="))
            shown = "base unit" if meaning.startswith("[") else meaning
            rows.append((name, shown, ", ".join(other for other in others if other != "_")))
    return rows
