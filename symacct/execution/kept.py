"""What eager torch keeps for backward: storages of saved tensors that are alive after the forward pass."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from weakref import ReferenceType, ref

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from symacct.execution.interpret import Key


@dataclass(frozen=True, slots=True)
class KeptStorage:
    """One storage that torch keeps.

    Attributes:
        name: the tensor that owns it; the node that made it where the graph has no tensor for it.
        known: whether the graph has a tensor for it.
        dtype: torch's dtype, without the module's name.
        nbytes: its bytes, or those of the tensor that it is a copy of in another layout.
        copied: bytes of copies in another layout, beyond the tensor itself.
        shape: of the tensor as it was saved; its storage may be larger.
    """

    name: str
    known: bool
    dtype: str
    nbytes: int
    copied: int
    shape: tuple[int, ...] = ()


class _Holder:
    """Stands for a saved tensor in torch's graph of the backward pass, and dies with it."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor.detach()


class Keeping:
    """A context that sees what torch saves.

    Torch also packs what dead code saves, so that only holders still alive count. Every tensor seen stays
    alive, since addresses are reused. A copy in another layout (``aten.clone``) is followed to its source.
    """

    def __init__(self, torch: Any, views: frozenset[str] = frozenset()) -> None:
        """Prepare the hooks; ``views`` are the tensors that share another one's storage."""
        self._views = views
        self._holders: list[tuple[ReferenceType[_Holder], int]] = []
        self._seen: list[Any] = []
        self._names: dict[int, str] = {}
        self._makers: dict[int, str] = {}
        self._source: dict[int, Any] = {}
        self._fresh: list[int] = []
        self._hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, lambda holder: holder.tensor)
        self._copies = _copy_mode(torch, self._copy)

    def __enter__(self) -> Self:
        """Start."""
        self._hooks.__enter__()
        self._copies.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self._copies.__exit__(kind, error, trace)
        self._hooks.__exit__(kind, error, trace)

    def _pack(self, tensor: Any) -> _Holder:
        holder = _Holder(tensor)
        address = _address(tensor)
        self._holders.append((ref(holder), address))
        self._fresh.append(address)
        return holder

    def _copy(self, source: Any, copy: Any) -> None:
        self._seen += (source.detach(), copy.detach())
        if _address(source) != _address(copy):
            self._source[_address(copy)] = source.detach()

    def name(self, key: Key, array: Any) -> None:
        """Note that an array belongs to a tensor; what was packed since the last note was made by its node.

        A view owns nothing: where torch makes it a copy, the copy is followed to its source.
        """
        self._seen.append(array.detach())
        if key[0] not in self._views:
            self._names.setdefault(_address(array), key[0])
        self.made_by(key[0])

    def made_by(self, name: str) -> None:
        """Note that what was packed since the last note was packed by this node or module."""
        for address in self._fresh:
            self._makers.setdefault(address, name)
        self._fresh.clear()

    def alive(self, but: Iterable[Any] = ()) -> tuple[KeptStorage, ...]:
        """Return the storages that are kept, each once, without those of the arrays given."""
        left_out = {_address(array) for array in but}
        roots: dict[int, Any] = {}
        copies: dict[int, dict[int, int]] = defaultdict(dict)
        for reference, address in self._holders:
            holder = reference()
            if holder is None:
                continue
            root, maker = holder.tensor, address
            while _address(root) in self._source and _address(root) not in self._names:
                root = self._source[_address(root)]
            at = _address(root)
            self._makers.setdefault(at, self._makers.get(maker, ""))
            roots.setdefault(at, root)
            copies[at][address] = holder.tensor.untyped_storage().nbytes()
        return tuple(self._storage(at, root, copies[at]) for at, root in roots.items() if at not in left_out)

    def _storage(self, at: int, root: Any, copies: dict[int, int]) -> KeptStorage:
        nbytes = root.untyped_storage().nbytes()
        name = self._names.get(at) or self._makers.get(at, "")
        return KeptStorage(
            name,
            at in self._names,
            str(root.dtype).removeprefix("torch."),
            nbytes,
            sum(copies.values()) - nbytes,
            tuple(root.shape),
        )


def _address(array: Any) -> int:
    return int(array.untyped_storage().data_ptr())


def _copy_mode(torch: Any, copied: Any) -> Any:
    """Return a context that reports every copy in another layout."""
    from torch.utils._python_dispatch import TorchDispatchMode

    aten = torch.ops.aten

    class CopyMode(TorchDispatchMode):  # type: ignore[misc]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # nothing is compiled here, and asking its compiler costs seconds

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            if func is aten.clone.default:
                copied(args[0], out)
            return out

    return CopyMode()
