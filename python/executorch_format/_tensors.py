"""Tensors with their bytes, and NumPy arrays that view them."""

from __future__ import annotations

import difflib
import importlib
import math
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, TypeVar

from executorch_format._error import Error
from executorch_format._native import File, Source
from executorch_format.answers import ScalarType

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# NumPy's types by the schema's names, or by numbers that have no name there (complex and bits).
_NUMPY: dict[ScalarType, str] = {
    "BYTE": "u1",
    "CHAR": "i1",
    "SHORT": "<i2",
    "INT": "<i4",
    "LONG": "<i8",
    "HALF": "<f2",
    "FLOAT": "<f4",
    "DOUBLE": "<f8",
    "BOOL": "?",
    "UINT16": "<u2",
    "UINT32": "<u4",
    "UINT64": "<u8",
    9: "<c8",
    10: "<c16",
}

# Types that NumPy does not have, with the type of ml_dtypes, if any, and integers of the same size.
_RAW: dict[ScalarType, tuple[str | None, str]] = {
    "QINT8": (None, "i1"),
    "QUINT8": (None, "u1"),
    "QINT32": (None, "<i4"),
    "BFLOAT16": ("bfloat16", "<u2"),
    "QUINT4X2": (None, "u1"),
    "QUINT2X4": (None, "u1"),
    "BITS16": (None, "<u2"),
    "FLOAT8E5M2": ("float8_e5m2", "u1"),
    "FLOAT8E4M3FN": ("float8_e4m3fn", "u1"),
    "FLOAT8E5M2FNUZ": ("float8_e5m2fnuz", "u1"),
    "FLOAT8E4M3FNUZ": ("float8_e4m3fnuz", "u1"),
    8: (None, "<u4"),
    **{number: (None, "u1") for number in range(18, 22)},
}

# The scalar types by the names of NumPy's or PyTorch's types.
_NAMES: dict[str, ScalarType] = {
    "bool": "BOOL",
    "uint8": "BYTE",
    "int8": "CHAR",
    "int16": "SHORT",
    "int32": "INT",
    "int64": "LONG",
    "float16": "HALF",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "complex64": 9,
    "complex128": 10,
    **{name: scalar_type for scalar_type, (name, _) in _RAW.items() if name},
}


def _numpy() -> Any:
    try:
        return importlib.import_module("numpy")
    except ImportError as error:
        message = "arrays need NumPy: pip install numpy. Without it, use `tensors.entry(name).data`, a memoryview"
        raise ImportError(message, name="numpy") from error


def dtype(scalar_type: ScalarType) -> np.dtype[Any]:
    """Returns NumPy's type for a scalar type. bfloat16 and float8 become types of ml_dtypes if it is installed, else integers of the same size."""
    numpy = _numpy()
    name, raw = _RAW.get(scalar_type, (None, _NUMPY.get(scalar_type)))
    if raw is None:
        raise Error(f"the size of elements of type {scalar_type} is not known", rule="tensor")
    if name is not None:
        try:
            return numpy.dtype(getattr(importlib.import_module("ml_dtypes"), name))  # type: ignore[no-any-return]
        except (ImportError, AttributeError):
            pass
    return numpy.dtype(raw)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Tensor:
    """A tensor in a file, with its bytes."""

    name: str
    scalar_type: ScalarType
    """The schema's name, such as `FLOAT`; PyTorch's number, as in all answers, if the schema has no name (9 and 10 are complex64 and complex128)."""
    sizes: tuple[int, ...]
    dim_order: tuple[int, ...]
    """The dimensions from the outermost in memory to the innermost."""
    strides: tuple[int, ...]
    """The strides in elements."""
    data: memoryview
    """The bytes in the file: read-only, not copied."""

    def _extent(self) -> int:
        """Returns the number of elements from the first to the last in memory."""
        return 0 if 0 in self.sizes else 1 + sum(stride * (size - 1) for size, stride in zip(self.sizes, self.strides))

    def has_gaps(self) -> bool:
        """Returns `True` for a view in which not all elements are side by side."""
        return self._extent() != math.prod(self.sizes)

    def numpy(self) -> npt.NDArray[Any]:
        """Returns a read-only array of the bytes in the file, without a copy. It stays valid without the model.

        Raises `Error` if the number of bytes does not fit the type and shape.
        """
        numpy, type_ = _numpy(), dtype(self.scalar_type)
        expected = self._extent() * type_.itemsize
        if self.data.nbytes != expected:
            raise Error(f"{self!r}: its type and shape need {expected} bytes", rule="tensor")
        strides = tuple(stride * type_.itemsize for stride in self.strides)
        return numpy.ndarray(self.sizes, type_, self.data, 0, strides)  # type: ignore[no-any-return]

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Returns `numpy()`, an array of another type, or a mutable copy: for `numpy.asarray` and `numpy.array`."""
        array = self.numpy()
        if dtype is None or array.dtype == dtype:
            return array.copy() if copy else array
        if copy is False:
            raise ValueError(f"{self!r}: another type needs a copy")
        return array.astype(dtype)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Exports the tensor for `torch.from_dlpack` and others. Readers without support for read-only tensors (before DLPack 1.0) get a copy."""
        array = self.numpy()
        if dl_device not in (None, self.__dlpack_device__()):
            raise BufferError(f"{self!r} is in the memory of the CPU")
        versions = _numpy().lib.NumpyVersion(_numpy().__version__) >= "2.1.0"
        if versions and max_version is not None and max_version >= (1, 0) and not copy:
            return array.__dlpack__(stream=stream, max_version=max_version)
        if copy is False:
            raise BufferError(f"{self!r} is read-only: the reader needs DLPack 1.0, or a copy")
        return array.copy().__dlpack__(stream=stream)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Returns the identifier of the CPU."""
        return (1, 0)

    def __reduce__(self) -> tuple[Any, ...]:
        layout = self.scalar_type, self.sizes, self.dim_order, self.strides
        return _unpickled, (self.name, *layout, bytes(self.data))

    def __repr__(self) -> str:
        return f"Tensor({self.name!r}, {self.scalar_type}, {list(self.sizes)}, {self.data.nbytes} bytes)"

    def to_dict(self) -> dict[str, Any]:
        """Returns plain data, without the bytes."""
        return {
            "name": self.name,
            "scalar_type": self.scalar_type,
            "sizes": list(self.sizes),
            "dim_order": list(self.dim_order),
            "size": self.data.nbytes,
        }


def _unpickled(
    name: str, scalar_type: ScalarType, sizes: tuple[int, ...], dim_order: tuple[int, ...], strides: tuple[int, ...], data: bytes
) -> Tensor:
    return Tensor(name, scalar_type, sizes, dim_order, strides, memoryview(data))


Shape = tuple[ScalarType, list[int], bytes, list[int]]


def tensor(name: str, shape: Shape, data: memoryview) -> Tensor:
    """Creates a tensor from the native module's data."""
    scalar_type, sizes, dim_order, strides = shape
    return Tensor(name, scalar_type, tuple(sizes), tuple(dim_order), tuple(strides), data)


Layout = tuple[list[int], list[int]]


def strided(name: str, scalar_type: ScalarType, layout: Layout, data: memoryview) -> Tensor:
    """Creates a tensor from sizes and strides."""
    sizes, strides = layout
    dim_order = sorted(range(len(sizes)), key=lambda dim: -strides[dim])
    return Tensor(name, scalar_type, tuple(sizes), tuple(dim_order), tuple(strides), data)


V = TypeVar("V")


class Names(Mapping[str, V]):
    """A mapping whose `KeyError` suggests similar names."""

    _what = "name"

    def __init__(
        self,
        items: dict[str, V],
        aliases: Mapping[str, str] = types.MappingProxyType({}),
        views: Mapping[str, V] = types.MappingProxyType({}),
    ) -> None:
        # Other names of items, and other views of their data, are found but not listed.
        self._items, self._aliases, self._views = items, aliases, views

    def _find(self, name: str) -> V:
        for known in (self._items, self._views):
            if name in known:
                return known[name]
        try:
            return self._items[self._aliases[name]]
        except KeyError:
            raise missing(self._what, name, {**self._items, **self._views, **self._aliases}) from None

    def __getitem__(self, name: str) -> V:
        return self._find(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, name: object) -> bool:
        return name in self._items or name in self._views or self._aliases.get(name) in self._items  # type: ignore[call-overload]

    def __repr__(self) -> str:
        names = list(self._items)
        shown = ", ".join(repr(name[:80]) for name in names[:6]) + (f", … {len(names)} in all" if len(names) > 6 else "")
        return f"{type(self).__name__}({shown})"


def missing(what: str, name: object, names: Mapping[str, Any]) -> KeyError:
    """Returns the exception for a name that matches nothing."""
    near = difflib.get_close_matches(str(name)[:200], list(names)[:10_000], 3)
    hint = f": near it are {', '.join(near)}" if near else f": there are {len(names)} others" if names else ": there are none"
    return KeyError(f"no {what} {name!r}{hint}")


class NamedData(Names[memoryview]):
    """Blobs by name: read-only bytes in the file."""

    _what = "named data"


class _Arrays(Mapping[str, "npt.NDArray[Any]"]):
    """Arrays by name. Subclasses create each array from an entry."""

    _entries: Names[Any]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __repr__(self) -> str:
        return repr(self._entries).replace("_Entries", type(self).__name__, 1)


class Tensors(_Arrays):
    """Tensors by name: each is a read-only NumPy array of the bytes in the file. Only the arrays need NumPy."""

    class _Entries(Names[Tensor]):
        _what = "tensor"

    _entries: Names[Tensor]

    def __init__(
        self,
        entries: dict[str, Tensor],
        aliases: Mapping[str, str] = types.MappingProxyType({}),
        views: Mapping[str, Tensor] = types.MappingProxyType({}),
    ) -> None:
        self._entries = self._Entries(entries, aliases, views)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self.entry(name).numpy()

    def entry(self, name: str) -> Tensor:
        """Returns a tensor with its type, shape and bytes, without NumPy."""
        return self._entries[name]

    def entries(self) -> tuple[Tensor, ...]:
        """Returns all tensors, in the file's order."""
        return tuple(self._entries.values())

    def to_dicts(self) -> list[dict[str, Any]]:
        """Returns a list of dicts, for example for `pandas.DataFrame`."""
        return [entry.to_dict() for entry in self.entries()]


Numbered = tuple[int, tuple[int, ...], Optional[tuple[int, ...]]]
"""The index of numbers in the native module's list, their sizes, and their strides in elements unless the last dimension is innermost."""


class Numbers(_Arrays):
    """Numbers of constants by name, as arrays of float32. Those of quantized elements are `(element - zero point) * scale`."""

    class _Entries(Names[Numbered]):
        _what = "quantized tensor"

    def __init__(
        self,
        native: File,
        entries: dict[str, Numbered],
        aliases: Mapping[str, str],
        views: Mapping[str, Numbered] = types.MappingProxyType({}),
    ) -> None:
        self._native, self._entries = native, self._Entries(entries, aliases, views)

    def __getitem__(self, name: str) -> npt.NDArray[np.float32]:
        index, sizes, strides = self._entries[name]
        numbers = self._native.dequantized(index)
        if strides is None:
            return _numpy().frombuffer(numbers, "<f4").reshape(sizes)  # type: ignore[no-any-return]
        return _numpy().ndarray(sizes, "<f4", numbers, 0, tuple(4 * stride for stride in strides))  # type: ignore[no-any-return]


NewLayout = tuple[str, list[int], list[int]]


def new_data(value: Any) -> tuple[NewLayout | None, Source]:
    """Converts new data: a NumPy array, a PyTorch tensor, a `Tensor`, or bytes. Bytes have no layout."""
    if isinstance(value, Tensor) and value.has_gaps():
        return (str(value.scalar_type), list(value.sizes), list(range(len(value.sizes)))), Source.of_bytes(value.numpy().tobytes())
    if isinstance(value, Tensor):
        return (str(value.scalar_type), list(value.sizes), list(value.dim_order)), Source.of_bytes(bytes(value.data))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return None, Source.of_bytes(bytes(value))
    if type(value).__module__.partition(".")[0] == "torch":
        name = str(value.dtype).partition(".")[2]
        flat = value.detach().cpu().contiguous().reshape(-1)
        bits = importlib.import_module("torch").uint8
        return _layout(name, value.shape), Source.of_bytes(flat.view(bits).numpy().tobytes())
    array = _numpy().asarray(value)
    return _layout(array.dtype.name, array.shape), Source.of_bytes(_little(array).tobytes())


def _little(array: Any) -> Any:
    return array.astype(array.dtype.newbyteorder("<")) if array.dtype.byteorder == ">" else array


def _layout(name: str, shape: Any) -> NewLayout:
    if name not in _NAMES:
        raise TypeError(f"ExecuTorch has no elements of type {name}")
    return str(_NAMES[name]), [int(size) for size in shape], list(range(len(shape)))
