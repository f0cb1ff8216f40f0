"""``python symacct/kernel FILE`` and ``python -m symacct.kernel FILE``: one certificate, checked alone."""

from __future__ import annotations

import sys


def checker(path: str) -> tuple[int, str]:
    """Return the answer about a file; run as a folder, this package is found by its place alone."""
    if __package__:
        from .checking import run

        return run(path)
    sys.path = [one for one in sys.path if one != sys.path[0]] if not sys.flags.isolated else sys.path
    from importlib.util import module_from_spec, spec_from_file_location

    place = __file__.rpartition("__main__")[0]
    spec = spec_from_file_location("kernel", place + "__init__.py", submodule_search_locations=[place])
    if spec is None or spec.loader is None:
        return 2, f"there is no kernel at {place}"
    package = module_from_spec(spec)
    sys.modules["kernel"] = package
    spec.loader.exec_module(package)
    answer: tuple[int, str] = package.run(path)
    return answer


if __name__ == "__main__":
    status, said = checker(sys.argv[1]) if len(sys.argv) == 2 else (2, "usage: python symacct/kernel FILE")
    sys.stdout.write(said.encode("ascii", "backslashreplace").decode() + "\n")
    raise SystemExit(status)
