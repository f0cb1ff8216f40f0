"""Run the notebooks and store them with what they print: ``python notebooks/run.py [NAME ...]``.

What is stored depends on nothing but the cells: no times, no paths, no names of machines. It needs the extras
``test`` and ``plot``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import nbformat
from nbclient import NotebookClient

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).resolve().parent
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
SECONDS = 300


def executed(path: Path) -> Any:
    """Return a notebook with the outputs of its cells, made in a kernel of its own."""
    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as folder:
        paths = [str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        setting = {**os.environ, "IPYTHONDIR": folder, "PYTHONPATH": os.pathsep.join(paths)}
        resources = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", resources=resources)
        client.execute(env=setting)
    return cleaned(notebook)


def cleaned(notebook: Any) -> Any:
    """Return a notebook with what is stored of it: cells by number, their outputs, and nothing of the run."""
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    count = 0
    for place, cell in enumerate(notebook.cells):
        cell.id = f"cell-{place:02}"
        cell.metadata = {}
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            cell.outputs = joined(cell.outputs)
            for output in cell.outputs:
                output.pop("transient", None)
                if output.output_type == "execute_result":
                    output.execution_count = count
                if "metadata" in output:
                    output.metadata = {}
    return notebook


def joined(outputs: Sequence[Any]) -> list[Any]:
    """Return outputs with neighbouring pieces of one stream as one."""
    found: list[Any] = []
    for output in outputs:
        if (
            found
            and output.output_type == "stream" == found[-1].output_type
            and output.name == found[-1].name
        ):
            found[-1].text += output.text
        else:
            found.append(output)
    return found


def main(names: Sequence[str]) -> None:
    """Run the notebooks of these names, or all of them; a name may have its ending, and its folder."""
    known = {path.stem: path for path in sorted(HERE.glob("*.ipynb"))}
    wanted = [Path(name).name.removesuffix(".ipynb") for name in names]
    for name in wanted:
        if name not in known:
            sys.exit(f"there is no notebook {name!r}; there are: {', '.join(known)}")
    for path in (known[name] for name in dict.fromkeys(wanted or known)):
        nbformat.write(executed(path), path)
        print(f"{path.name}: stored, {path.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main(sys.argv[1:])
