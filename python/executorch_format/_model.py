"""Files of any kind, and the questions about them."""

from __future__ import annotations

import builtins
import html
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Literal, Protocol, Self, Union

from executorch_format._answer import Answer, Answers
from executorch_format._error import Error
from executorch_format._native import File, Source
from executorch_format.answers import (
    Blobs,
    Diff,
    EditReport,
    Finding,
    Graph,
    Memory,
    Operators,
    LoadsIn,
    Release,
    Saving,
    Size,
    Verdict,
)

if TYPE_CHECKING:
    from executorch_format._data import Data

Level = Literal["structure", "runtime", "strict"]
"""The level of checks: faults that could make a reader read out of bounds; also those that the runtime refuses; all."""

Progress = Callable[[int, int], object]
"""A function called with the number of bytes written so far and the total. An exception cancels the write and removes the incomplete file."""


class Readable(Protocol):
    """A binary file object, such as those of `open`, `gzip`, `zipfile`, `urllib` or `fsspec`."""

    def read(self) -> bytes:
        """Reads the rest of the file."""


AnyFile = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, Readable]
"""A path, a file's bytes, or a binary file object, which is read from its current position."""

# A single letter is a drive on Windows, and `Path` collapses two slashes into one.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def source(file: AnyFile, map_it: bool) -> tuple[Source, str | None]:
    """Returns the bytes of a file, and its path if it has one."""
    if isinstance(file, bytes):
        return Source.of_bytes(file), None
    if isinstance(file, (bytearray, memoryview)):
        return Source.of_bytes(bytes(file)), None
    if isinstance(file, (str, os.PathLike)):
        path = os.fspath(file)
        try:
            opened = builtins.open(path, "rb")
        except OSError as error:
            if _URL.match(path) is None:
                raise
            # Checked only now, since a file may have such a name.
            hint = "not a local file. To open a URL: with fsspec.open(url, 'rb') as file: ef.open(file). The command pte opens s3://, gs:// and others"
            raise FileNotFoundError(error.errno, hint, path) from None
        with opened:
            mapped = _mapped(opened, path) if map_it and hasattr(Source, "mapped") else None
            return mapped or Source.of_bytes(opened.read()), path
    if hasattr(file, "read"):
        content = file.read()
        if not isinstance(content, bytes):
            raise TypeError(f"a file object that reads bytes is needed (open it with 'rb'), not {type(content).__name__}")
        name = getattr(file, "name", None)
        return Source.of_bytes(content), name if isinstance(name, str) else None
    raise TypeError(f"a path, bytes or a binary file object is needed, not {type(file).__name__}")


def _mapped(file: BinaryIO, path: str) -> Source | None:
    status = os.fstat(file.fileno())
    if not status.st_size:
        return None
    return Source.mapped(file.fileno(), path, (status.st_dev, status.st_ino))


def open(file: AnyFile, *, mmap: bool = True) -> Model:
    """Opens a file of any kind: a `Program` (.pte), `Data` (.ptd), a `Bundle` (.bpte), a `Trace` (.etdp) or a `Payload` (of XNNPACK).

    A file with a path is mapped into memory, and only the parts that are used are read. The file must not be written to or truncated while
    it is open: earlier results may become wrong, and access to missing bytes ends the process (SIGBUS). It can be replaced, as `save` does.
    With `mmap=False`, the whole file is read first, and may then change.

    Models are immutable, and threads can share them.

    Raises `Error` if the file is invalid, and `OSError` if it cannot be read.
    """
    native, path = _parsed(file, mmap)
    kind = native.kind()
    if kind not in _KINDS:
        raise Error(f"unknown kind of file: {kind}", rule="foreign", file=path)
    return _KINDS[kind]._opened(native, path, mmap)


def _parsed(file: AnyFile, map_it: bool) -> tuple[File, str | None]:
    """Reads a file. Errors have its path."""
    read, path = source(file, map_it)
    with naming(path):
        return File.parse(read), path


@contextmanager
def naming(path: str | None) -> Iterator[None]:
    """Adds the path of a file to errors."""
    try:
        yield
    except Error as error:
        raise error._in(path) from None


_KINDS: dict[str, type[Model]] = {}


class Model:
    """A file of any kind. Models are immutable: edits return new ones.

    A `with` statement closes the model.
    """

    kind: ClassVar[str] = ""
    """`pte`, `ptd`, `bpte`, `etdp` or `payload`."""

    path: str | None
    """The path that the file was opened from."""
    changes: EditReport | None
    """The changes made by the edit that created the model; `None` if it was opened."""

    def __init_subclass__(cls) -> None:
        # A user's subclass has the kind of its base.
        _KINDS.setdefault(cls.kind, cls)

    def __init__(self, native: File, path: str | None = None, changes: EditReport | None = None) -> None:
        self._file: File | None = native
        self.path = path
        self.changes = changes

    @classmethod
    def open(cls, file: AnyFile, *, mmap: bool = True) -> Self:
        """Like `executorch_format.open`, for one kind of file: raises `Error` for any other. A subclass returns its own instances."""
        if not cls.kind:
            model = open(file, mmap=mmap)
            assert isinstance(model, cls)
            return model
        native, path = _parsed(file, mmap)
        if native.kind() != cls.kind:
            raise Error(f"expected a .{cls.kind}, found a .{native.kind()}", rule="foreign", file=path)
        return cls._opened(native, path, mmap)

    @classmethod
    def _opened(cls, native: File, path: str | None, mmap: bool) -> Self:
        model = cls(native, path)
        model._mmap = mmap
        return model

    _mmap = True
    _named_by: tuple[str, ...] | None = ()
    """The paths of the files with names; `None` if one of them has no path."""

    def __reduce__(self) -> tuple[Callable[..., Model], tuple[object, ...]]:
        """Pickles the path of the file, and those of the files with names, which are opened again."""
        if self.path is None or self.changes is not None or self._named_by is None:
            raise TypeError(f"{self!r} has no file of its own to be opened again: save it, and pickle what `open` returns")
        names = [os.path.abspath(file) for file in self._named_by]
        return _unpickled, (type(self), os.path.abspath(self.path), self.file_size, self._mmap, names)

    @property
    def _native(self) -> File:
        if self._file is None:
            raise ValueError(f"the {self._called()} is closed")
        return self._file

    def close(self) -> None:
        """Releases the file: later calls raise `ValueError`. Arrays, methods and changed models that came from this model stay valid, and the
        file stays mapped until the last of them is gone. A model that is not closed is released with the last reference to it."""
        self._file = None
        for name in [name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)]:
            del vars(self)[name]

    @property
    def closed(self) -> bool:
        """`True` if `close` was called."""
        return self._file is None

    def __enter__(self) -> Self:
        # Raises an error if the model is closed.
        self._native
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def file_size(self) -> int:
        """The size in bytes: of the file, or of the file that `save` would write."""
        return self._native.size_in_bytes()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """A summary, as `pte info --json` prints it for a file."""
        summary: dict[str, Any] = self._native.summary()
        return summary

    def tree(self) -> dict[str, Any]:
        """Returns the FlatBuffer as dicts and lists, with the schema's names."""
        tree: dict[str, Any] = self._native.tree()
        return tree

    def verify(self, level: Level = "strict", *, data: Data | Iterable[Data] = ()) -> Answers[Finding]:
        """Returns all findings. `data` are the `.ptd` files that a program is used with; faults in one of these files alone are found
        only by its own `verify`."""
        found = self._native.verify(level, natives(data))
        return Answers(map(Finding._of, found))

    def size(self) -> Size:
        """Returns the parts of the file: every byte is in one of them."""
        return Size._of(self._native.size())

    def blobs(self) -> Blobs:
        """Returns every range of bytes that something refers to, with its users."""
        return Blobs._of(self._native.blobs())

    def diff(self, after: Model, *, tensors: bool = False) -> Diff:
        """Returns the differences between this file and `after`. Items with the same name in both programs are compared: see
        `Program.with_names`. With `tensors`, the distance between the values of changed weights is computed too."""
        return Diff._of(self._native.diff(after._native, tensors))

    def releases(self, *, data: Data | Iterable[Data] = ()) -> Answers[Release]:
        """Returns the behaviour of each release of ExecuTorch's runtime with the file, oldest first. `data` are the `.ptd` files that a
        program is used with; without them, all external data is assumed to be present."""
        return Answers(map(Release._of, self._native.releases(natives(data))["releases"]))

    def loads_in(self, *, data: Data | Iterable[Data] = ()) -> LoadsIn:
        """Returns the releases of ExecuTorch that load the file, and the kernels that this requires besides the portable ones."""
        return LoadsIn._of(self._native.releases(natives(data))["loads_in"])

    def verdict(self, *, data: Data | Iterable[Data] = ()) -> Verdict | None:
        """Returns what the newest release of ExecuTorch, with everything in its own libraries, does with the file; `None` for an ETDump, and for a
        payload in a file of its own. `data` are the `.ptd` files that a program is used with. `Program.fit` has the verdict of a device."""
        found = self._native.verdict(natives(data))
        return None if found is None else Verdict._of(found)

    def savings(self) -> Answers[Saving]:
        """Returns the parts that can be removed, with the subcommand of `pte` that removes each."""
        return Answers(map(Saving._of, self._native.savings()))

    def report(self) -> Report:
        """Returns all answers, as on the page of `pte report`."""
        return Report(self)

    def to_bytes(self, *, any_size: bool = False) -> bytes:
        """Returns the bytes of the file. Unchanged parts keep their bytes. `any_size` is explained at `save`."""
        return self._native.to_bytes(any_size)

    def save(self, path: str | os.PathLike[str], *, progress: Progress | None = None, any_size: bool = False) -> None:
        """Writes the file under a temporary name and renames it: if the write fails or is interrupted by Ctrl-C, an existing file is unchanged.

        Waits up to 60 seconds for another process that changes the file with this package or `pte`. Raises `OSError` if the model was opened from this
        path and another program replaced the file since then, whose change would be lost. Warns about properties of the old file that the new one
        does not keep, such as an owner that this process may not set, or another hard link.

        Raises `Error` if the file would have more than 64 MiB plus 32 times the bytes that the model was made from, unless `any_size` is set: in a
        small hostile file, many parts can share bytes that are written once for each of them."""
        self._native.save(os.fspath(path), progress, any_size)

    @property
    def _name(self) -> str:
        return Path(self.path).name if self.path else "in memory"

    def _called(self) -> str:
        """Returns the class, and the name of the file if it has one."""
        return f"{type(self).__name__} {self._name!r}" if self.path else f"{type(self).__name__} {self._name}"

    def _contents(self) -> str:
        """Describes the contents for `repr`."""
        return ""

    def __repr__(self) -> str:
        if self.closed:
            return f"<{self._called()}: closed>"
        # `repr` must work for damaged files too.
        try:
            facts = [f"{self.file_size:,} bytes", self._contents()]
        except Error as error:
            facts = [str(error)]
        return f"<{self._called()}: {', '.join(filter(None, facts))}>"

    def _repr_html_(self) -> str:
        page = html.escape(self.report().to_html(), quote=True)
        style = "width: 100%; height: 640px; border: 1px solid #8888"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{page}"></iframe>'


class Report:
    """All answers about a file."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @cached_property
    def summary(self) -> dict[str, Any]:
        """A summary of the file."""
        return self._model.summary

    @cached_property
    def size(self) -> Size | None:
        """The parts of the file; `None` for a file that is not saved yet."""
        return self._model.size() if self._model.changes is None else None

    @cached_property
    def memory(self) -> Memory | None:
        """The planned memory of a program."""
        ask = getattr(self._model, "memory", None)
        return None if ask is None else ask()

    @cached_property
    def operators(self) -> Operators | None:
        """The operators and backends that a program needs."""
        ask = getattr(self._model, "operators", None)
        return None if ask is None else ask()

    @cached_property
    def graphs(self) -> Answers[Graph]:
        """The graphs of a program's methods."""
        ask = getattr(self._model, "graphs", None)
        return Answers() if ask is None else ask()

    @cached_property
    def findings(self) -> Answers[Finding]:
        """The findings of verification."""
        return self._model.verify("strict")

    @cached_property
    def verdict(self) -> Verdict | None:
        """The verdict of the newest release with everything in its own libraries."""
        return self._model.verdict()

    @cached_property
    def savings(self) -> Answers[Saving]:
        """The parts that can be removed."""
        return self._model.savings()

    def to_dict(self) -> dict[str, Any]:
        """Returns plain data."""
        answers: dict[str, Any] = {"summary": self.summary}
        for name in ("size", "memory", "operators"):
            answer: Answer | None = getattr(self, name)
            answers[name] = answer and answer.to_dict()
        for name in ("graphs", "findings", "savings"):
            answers[name] = getattr(self, name).to_dicts()
        return answers

    def to_html(self) -> str:
        """Returns a page that needs no network: sizes, memory, graphs, operators, weights, findings."""
        return self._model._native.report(self._model._name)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page."""
        Path(path).write_text(self.to_html(), encoding="utf-8")

    def __repr__(self) -> str:
        return f"<Report on {self._model!r}>"

    def _repr_html_(self) -> str:
        return self._model._repr_html_()


def _unpickled(kind: type[Model], path: str, size: int, mmap: bool, names: list[str]) -> Model:
    model = kind.open(path, mmap=mmap)
    if model.file_size != size:
        raise Error(f"the file has {model.file_size:,} bytes, and had {size:,} when the model was pickled", rule="changed", file=path)
    return model.with_names(*names) if names else model  # type: ignore[attr-defined]


def natives(data: Data | Iterable[Data]) -> list[File]:
    """Returns the native objects of `.ptd` files."""
    return [file._native for file in ([data] if isinstance(data, Model) else data)]

