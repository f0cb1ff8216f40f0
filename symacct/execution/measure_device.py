"""What is measured on: torch on a device, its clock, its memory, and the number formats it computes in."""

from __future__ import annotations

import os
import platform
import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symacct.errors import UsageError
from symacct.execution.framework import load_torch
from symacct.execution.measure_clock import Clock, Events, Wall
from symacct.execution.torch_arrays import DTYPES, TorchArrays

if TYPE_CHECKING:
    from collections.abc import Iterator

CPU, CUDA = "cpu", "cuda"
KINDS = (CPU, CUDA)
MEASURED = ("fp32", "bf16", "fp16", "fp64")
SIDE = 16
CACHES = "/sys/devices/system/cpu/cpu0/cache"
LIMIT = "/sys/fs/cgroup/memory.max"
SCALE = {"K": 2**10, "M": 2**20, "G": 2**30, "": 1}
MOST_THREADS = 4096


@dataclass(frozen=True, slots=True)
class Device:
    """A device as torch sees it.

    Attributes:
        torch: the module.
        kind: ``cpu`` or ``cuda``.
        clock: what times it.
        part: what it is.
        setting: what a time depends on besides: the version of torch, the number of threads.
        memory: bytes of its memory; None where nobody says.
        cache: bytes of its last cache; None where nobody says.
    """

    torch: Any
    kind: str
    clock: Clock
    part: str
    setting: str
    memory: int | None = None
    cache: int | None = None

    def arrays(self, dtype: str, seed: int = 0) -> TorchArrays:
        """Return the array module in a number format."""
        return TorchArrays(self.torch, dtype, seed=seed, device=self.kind)

    def drawn(self, shape: tuple[int, ...], dtype: str) -> Any:
        """Return an array of random numbers from 0 to 1."""
        made = self.torch.rand(shape, device=self.kind, dtype=self.torch.float32)
        return made.to(getattr(self.torch, DTYPES[dtype]))

    def supports(self, dtype: str) -> bool:
        """Return whether it contracts and adds in a number format, by trying."""
        try:
            array = self.drawn((SIDE, SIDE), dtype)
            self.torch.mm(array, array).add_(array)
            self.clock.spans([])
        except RuntimeError:
            return False
        return True

    def require(self, dtype: str) -> None:
        """Refuse a number format that it does not compute in.

        Raises:
            UsageError: it does not; those that it does are listed.
        """
        if dtype not in MEASURED or not self.supports(dtype):
            known = [one for one in MEASURED if self.supports(one)]
            raise UsageError(
                f"{self.kind} does not contract in {dtype[:40]} here", where=self.setting,
                expected=f"one of: {', '.join(known)}", got=dtype[:40],
            )  # fmt: skip


@contextmanager
def opened(kind: str, threads: int | None = None) -> Iterator[Device]:
    """Yield a device; on the processor torch has so many threads while the context lasts.

    Raises:
        UsageError: torch is not installed, there is no GPU, or the number of threads is out of range.
    """
    torch = load_torch()
    if kind == CUDA:
        if threads is not None:
            raise UsageError("threads are of a processor", expected="--device cpu", got="--device cuda")
        yield _gpu(torch)
        return
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        what = "the number of threads is out of range"
        raise UsageError(what, expected=f"1 to {MOST_THREADS}", got=str(threads)[:40])
    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        yield _processor(torch)
    finally:
        torch.set_num_threads(before)


def _processor(torch: Any) -> Device:
    count = torch.get_num_threads()
    setting = f"torch {torch.__version__}, {count} thread{'s' * (count != 1)}"
    return Device(torch, CPU, Wall(), _name(), setting, _memory(), _cache(CACHES))


def _gpu(torch: Any) -> Device:
    if not torch.cuda.is_available():
        raise UsageError(
            "there is no GPU that torch can use here", where="--device cuda",
            expected="a GPU, its driver, and a torch that was built for it",
            got=f"torch {torch.__version__}, built for CUDA {torch.version.cuda or 'not at all'}",
            fix="use --device cpu, or run it on the machine with the GPU",
        )  # fmt: skip
    facts = torch.cuda.get_device_properties(0)
    tf32 = "on" if torch.backends.cuda.matmul.allow_tf32 else "off"
    setting = (
        f"torch {torch.__version__}, CUDA {torch.version.cuda}, tf32 {tf32}, clocks as the GPU sets them"
    )
    cache = getattr(facts, "L2_cache_size", None)
    return Device(torch, CUDA, Events(torch.cuda), facts.name, setting, facts.total_memory, cache)


def _name() -> str:
    """Return what the system says the processor is."""
    try:
        found = re.search(r"^model name\s*: *(.+)$", Path("/proc/cpuinfo").read_text("utf-8"), re.MULTILINE)
    except (OSError, UnicodeDecodeError):
        found = None
    return (found[1].strip() if found else platform.processor() or platform.machine() or "a processor")[:80]


def _memory() -> int | None:
    """Return the bytes of memory that there are, or that this process may have."""
    try:
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None
    allowed = _text(Path(LIMIT))
    return min(whole, int(allowed)) if allowed.isdecimal() else whole


def _cache(folder: str) -> int | None:
    """Return the bytes of the largest cache, as Linux lists them."""
    found = (re.fullmatch(r"(\d+)([KMG]?)", _text(path)) for path in Path(folder).glob("index*/size"))
    return max((int(one[1]) * SCALE[one[2]] for one in found if one), default=None)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
