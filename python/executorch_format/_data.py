"""Named tensors and blobs (.ptd)."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Any, Self, Union

from executorch_format._answer import Answers
from executorch_format._model import AnyFile, Model, Progress, naming, natives, source
from executorch_format._native import File
from executorch_format._tensors import NamedData, Tensor, Tensors, missing, new_data, tensor
from executorch_format.answers import ContentHash, EditReport, Skipped

Part = Union[Mapping[str, int], Callable[[str], int]]
"""The part of each key, from 0."""


class Data(Model):
    """Named tensors and blobs (.ptd)."""

    kind = "ptd"

    skipped: Answers[Skipped] = Answers()
    """The entries that `from_safetensors` left out."""

    @cached_property
    def _entries(self) -> dict[str, Tensor | memoryview]:
        entries: dict[str, Tensor | memoryview] = {}
        for name, shape, data in self._native.named():
            entries.setdefault(name, data if shape is None else tensor(name, shape, data))
        return entries

    @cached_property
    def tensors(self) -> Tensors:
        """The tensors by key."""
        return Tensors({key: entry for key, entry in self._entries.items() if isinstance(entry, Tensor)})

    @cached_property
    def named_data(self) -> NamedData:
        """The blobs by key: entries without a type."""
        return NamedData({key: entry for key, entry in self._entries.items() if not isinstance(entry, Tensor)})

    @classmethod
    def create(cls, entries: Mapping[str, Any], *, alignment: int | None = None) -> Self:
        """Creates a file from NumPy arrays, PyTorch tensors, `Tensor`s, and bytes, which become blobs. `alignment` is in bytes."""
        return cls(File.create([(key, *new_data(value)) for key, value in entries.items()], alignment), None, _MADE)

    @classmethod
    def from_safetensors(cls, file: AnyFile, *, skip: bool = False, mmap: bool = True) -> Self:
        """Creates a file with the tensors of a safetensors file, without copying their data. Tensors of types that ExecuTorch does not have
        raise `Error`, or are left out with `skip` (see `skipped`)."""
        read, path = source(file, mmap)
        with naming(path):
            native, skipped = File.from_safetensors(read, skip)
        data = cls(native, None, _MADE)
        data.skipped = Answers(map(Skipped._of, skipped))
        return data

    def to_safetensors(
        self, path: str | os.PathLike[str], *, skip: bool = False, progress: Progress | None = None, any_size: bool = False
    ) -> Answers[Skipped]:
        """Writes the tensors as a safetensors file. Entries that the format does not support raise `Error`, or are left out with `skip`.
        `any_size` is explained at `save`."""
        return Answers(map(Skipped._of, self._native.to_safetensors(os.fspath(path), skip, progress, any_size)))

    def content_hash(self) -> ContentHash:
        """Returns a hash of the keys with their types, shapes and bytes, which does not depend on the layout of the file."""
        return ContentHash._of(self._native.content_hash([]))

    def _changed(self, changed: tuple[File, Any]) -> Self:
        return type(self)(changed[0], self.path, EditReport._of(changed[1]))

    def _known(self, key: str) -> None:
        if key not in self._entries:
            raise missing("key", key, self._entries)

    def replace(self, name: str | Mapping[str, Any], data: Any = None, /, *, shared: bool = False) -> Self:
        """Replaces the data of a key, or of many: `replace({"weight": array})`. A tensor must have the same type and shape; a blob, which
        has no type, takes bytes. With
        `shared`, all keys that share the old bytes get the new ones; otherwise only this key does."""
        entries = name if isinstance(name, Mapping) else {name: data}
        if not entries:
            raise ValueError("there is nothing to replace: the mapping is empty")
        for key in entries:
            self._known(key)
        news = [(key, None, *new_data(new), shared) for key, new in entries.items()]
        return self._changed(self._native.replace(news, None))

    def merge(self, *others: Data, alignment: int | None = None) -> Self:
        """Merges several files into one. Raises `Error` if a key has two different contents."""
        merged, report = File.merge([self._native, *natives(others)], alignment)
        return type(self)(merged, None, EditReport._of(report))

    def split(self, largest: int | None = None, *, parts: Part | None = None) -> list[Self]:
        """Splits the file: into files with at most `largest` bytes of data each, where a larger tensor gets its own file, and keys that share
        bytes stay together; or by the part of each key."""
        if (largest is None) == (parts is None):
            raise TypeError("expected either `largest` or `parts`")
        chosen = None if parts is None else {key: parts(key) if callable(parts) else parts[key] for key in self._entries}
        return [type(self)(part, None, _MADE) for part in self._native.split(largest, chosen)]

    def select(self, keys: Collection[str] | Callable[[str], bool]) -> Self:
        """Keeps these keys, or those for which the function returns true. Raises `KeyError` for a missing key, or if no key is left."""
        chosen = [key for key in self._entries if keys(key)] if callable(keys) else list(keys)
        for key in chosen:
            self._known(key)
        if not chosen:
            raise KeyError("no key was selected")
        return self._changed(self._native.filter(chosen))

    def rename(self, names: Mapping[str, str]) -> Self:
        """Renames keys: `names` maps old ones to new ones. Raises `KeyError` for a missing key."""
        for key in names:
            self._known(key)
        return self._changed(self._native.rename(dict(names)))

    def dedup(self) -> Self:
        """Stores equal data once."""
        return self._changed(self._native.dedup())

    def _contents(self) -> str:
        return f"{len(self.tensors)} tensors, {len(self.named_data)} blobs"


_MADE = EditReport(Answers(), ())
