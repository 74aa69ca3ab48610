"""Programs: their methods, and edits."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, Union, overload

from executorch_format._answer import Answers, counted, frozen
from executorch_format._data import Data
from executorch_format._error import Error
from executorch_format._model import AnyFile, Model, Progress, naming, natives, source
from executorch_format._native import File, Source
from executorch_format._tensors import (
    NamedData,
    Names,
    NewLayout,
    Numbered,
    Numbers,
    Tensor,
    Tensors,
    missing,
    new_data,
    strided,
    tensor,
)
from executorch_format.answers import (
    Candidate,
    CompileSpec,
    ContentHash,
    DelegateGraph,
    EditReport,
    Fit,
    Graph,
    InsideNode,
    Instruction,
    Memory,
    MethodMemory,
    Operators,
    Skipped,
    Value,
)

if TYPE_CHECKING:
    from executorch_format._others import Trace

Choose = Union[Collection[str], Callable[[Candidate], Union[str, bool, None]]]
"""Names, or a function that is called with each candidate and returns the key for its data, or a bool: `True` to move it."""


class _Contents:
    """The contents of a program. Methods refer to these rather than to the program: a cycle would keep the file mapped until the
    garbage collector runs."""

    def __init__(self, native: File) -> None:
        self.native = native

    @cached_property
    def methods(self) -> list[dict[str, Any]]:
        methods: list[dict[str, Any]] = self.native.disassembly()["methods"]
        return methods

    def __reduce__(self) -> NoReturn:
        raise TypeError("methods and delegates are parts of a program: pickle the program")

    @cached_property
    def candidates(self) -> Answers[Candidate]:
        return Answers(Candidate(*candidate) for candidate in self.native.candidates())

    def memory(self) -> Memory:
        return Memory._of(self.native.memory())

    def graphs(self) -> Answers[Graph]:
        return Answers(map(Graph._of, self.native.graphs()))


class Delegate:
    """A part of a method that a backend runs."""

    def __init__(self, contents: _Contents, method: int, index: int) -> None:
        self._contents, self._method = contents, method
        self._code: dict[str, Any] = contents.methods[method]["delegates"][index]
        self.index = index
        """The index in the method's list of delegates."""
        self.id: str = self._code["id"]
        """The backend's name."""

    @property
    def compile_specs(self) -> Answers[CompileSpec]:
        """The compile specs."""
        return Answers(map(CompileSpec._of, self._code.get("compile_specs", ())))

    @property
    def data(self) -> memoryview:
        """The payload: read-only bytes in the file."""
        return self._contents.native.payload_bytes(self._method, self.index)

    @cached_property
    def graph(self) -> DelegateGraph:
        """The contents of the payload. Raises `Error` if it cannot be parsed."""
        code, payload = self._code, self._contents.native.payload(self._method, self.index)
        if code.get("same_as"):
            method, delegate = code["same_as"]
            code = self._contents.methods[method]["delegates"][delegate]
        nodes = Answers(map(InsideNode._of, code["nodes"]))
        return DelegateGraph(payload["kind"], nodes, frozen(payload["content"]))

    def to_dict(self) -> dict[str, Any]:
        """Returns plain data, without the payload."""
        return {"index": self.index, "id": self.id, "compile_specs": self.compile_specs.to_dicts(), "size": len(self.data)}

    def __repr__(self) -> str:
        method = self._contents.methods[self._method]["name"]
        return f"<Delegate {self.index} of {method!r}: {self.id!r}, {len(self.data):,} bytes>"


class Method:
    """A method of a program, which a runtime loads and runs by its name, such as `forward`."""

    def __init__(self, contents: _Contents, index: int) -> None:
        self._contents, self._index = contents, index
        self._code: dict[str, Any] = contents.methods[index]
        self.name: str = self._code["name"]

    @cached_property
    def values(self) -> Answers[Value]:
        """All values, by the indices that instructions use."""
        return Answers(_value(index, value) for index, value in enumerate(self._code["values"]))

    def _pick(self, indices: Iterable[int]) -> Answers[Value]:
        # Indices out of range are skipped: `verify` reports them.
        return Answers(self.values[index] for index in indices if 0 <= index < len(self.values))

    @property
    def inputs(self) -> Answers[Value]:
        """The inputs, in order."""
        return self._pick(self._code["inputs"])

    @property
    def outputs(self) -> Answers[Value]:
        """The outputs, in order."""
        return self._pick(self._code["outputs"])

    @cached_property
    def instructions(self) -> Answers[Instruction]:
        """The instructions of all chains, in order. Files usually have one chain."""
        return Answers(
            Instruction._of({**instruction, "chain": chain, "index": index})
            for chain, code in enumerate(self._code["chains"])
            for index, instruction in enumerate(code["instructions"])
        )

    @cached_property
    def delegates(self) -> tuple[Delegate, ...]:
        """The parts that backends run."""
        return tuple(Delegate(self._contents, self._index, index) for index in range(len(self._code["delegates"])))

    def tensor(self, value: Value | int) -> Tensor | None:
        """Returns the data of a value that is in the file: a constant or an initial state. Returns `None` for any other value."""
        found = self._contents.native.value(self._index, value if isinstance(value, int) else value.index)
        if found is None or found[1] is None:
            return None
        return tensor(found[0], found[1], found[2])

    def memory(self) -> MethodMemory:
        """Returns the planned memory, and the times at which each tensor is needed."""
        return self._contents.memory().methods[self._index]

    def graph(self) -> Graph:
        """Returns the dataflow between instructions. Raises `Error` for a method that only returns constants."""
        for graph in self._contents.graphs():
            if graph.method == self.name:
                return graph
        raise self._constant()

    def _constant(self) -> Error:
        return Error(f"{self.name} has no graph: it only returns constants", rule="foreign")

    def _picture(self, dot: bool) -> str:
        picture = self._contents.native.picture(self.name, dot)
        if picture is None:
            raise self._constant()
        return picture

    def to_svg(self) -> str:
        """Returns the graph as a picture."""
        return self._picture(False)

    def to_dot(self) -> str:
        """Returns the graph in Graphviz's language."""
        return self._picture(True)

    def to_dict(self) -> dict[str, Any]:
        """Returns plain data."""
        return {
            "name": self.name,
            "inputs": self.inputs.to_dicts(),
            "outputs": self.outputs.to_dicts(),
            "values": self.values.to_dicts(),
            "instructions": self.instructions.to_dicts(),
            "delegates": [delegate.to_dict() for delegate in self.delegates],
        }

    def __repr__(self) -> str:
        code = self._code
        counts = {what: len(code[f"{what}s"]) for what in ("input", "output", "value")}
        counts["instruction"] = sum(len(chain["instructions"]) for chain in code["chains"])
        counts["delegate"] = len(code["delegates"])
        return f"<Method {self.name!r}: {', '.join(counted(count, what) for what, count in counts.items())}>"

    def _repr_html_(self) -> str | None:
        return self._contents.native.picture(self.name, False)


def _value(index: int, value: dict[str, Any]) -> Value:
    constant: Any = value.get("constant")
    # JSON has no infinities.
    if value.get("type") == "Double":
        constant = float(constant)
    elif value.get("type") == "DoubleList":
        constant = constant and [float(item) for item in constant]
    return Value._of({**value, "index": index, "constant": constant})


class Methods(Names[Method]):
    """Methods by name. Iteration is over names, in the file's order."""

    _what = "method"


class Program(Model):
    """A program (.pte)."""

    kind = "pte"

    @cached_property
    def _inside(self) -> _Contents:
        return _Contents(self._native)

    @cached_property
    def _keys(self) -> dict[str, Candidate]:
        """The first user of each key."""
        keys: dict[str, Candidate] = {}
        for candidate in self._inside.candidates:
            keys.setdefault(candidate.key, candidate)
        return keys

    @cached_property
    def _given(self) -> dict[str, str]:
        """The keys of data by the names that the model's author gave, without names that several keys share."""
        found: dict[str, set[str]] = {}
        for name, _, key in self._native.given():
            found.setdefault(name, set()).add(key)
        return {name: min(keys) for name, keys in found.items() if len(keys) == 1}

    def with_names(self, *files: AnyFile) -> Self:
        """Returns the same program with the model's own names, from ETRecords and from state dicts as safetensors; without files, from the
        ETRecord beside it, `MODEL.etrecord`. Answers use these names. `tensors`, `named_data`, `dequantized` and edits accept them as well as
        the keys: `program.with_names().tensors["layers.0.conv.weight"]`.

        Raises `Error` if a record belongs to another program, and `OSError` if a file cannot be read.
        """
        if not files:
            if self.path is None:
                raise ValueError("a program without a path has no ETRecord beside it: give the file")
            files = (Path(self.path).with_suffix(".etrecord"),)
        read = [source(file, True) for file in files]
        paths = tuple(path for _, path in read if path is not None)
        with naming(", ".join(paths) or None):
            native = self._native.with_names([content for content, _ in read])
        named = type(self)(native, self.path, self.changes)
        named._mmap, named._named_by = self._mmap, paths if len(paths) == len(read) else None
        return named

    @cached_property
    def methods(self) -> Methods:
        """The methods by name."""
        methods: dict[str, Method] = {}
        for index, code in enumerate(self._inside.methods):
            methods.setdefault(code["name"], Method(self._inside, index))
        return Methods(methods)

    @cached_property
    def tensors(self) -> Tensors:
        """The weights by name: constants and initial states, with the names that `externalize` gives, and the model's own; and the constants inside
        the payloads of XNNPACK and CUDA. By the model's name, these have PyTorch's layout, as a view of the file; by their key, or by
        `METHOD.delegateINDEX.VALUE`, that of the payload. Data that tensors share is listed once. `internalize` adds weights for CUDA in a
        `.ptd`."""
        found = {name: tensor(name, shape, data) for name, shape, data in self._native.named() if shape is not None}
        views: dict[str, Tensor] = {}
        for key, name, is_named, scalar_type, stored, model, data in self._native.inside():
            if name is not None and is_named:
                found[name] = strided(name, scalar_type, stored, data)
                views.setdefault(key, strided(key, scalar_type, stored, data))
                continue
            found.setdefault(key, strided(key, scalar_type, stored, data))
            if name is not None and model is not None:
                views.setdefault(name, strided(name, scalar_type, model, data))
        return Tensors(found, self._without_unarranged(self._given), views)

    def _without_unarranged(self, names: Mapping[str, str]) -> dict[str, str]:
        """Returns names without those of constants inside payloads whose elements strides cannot describe in PyTorch's layout: transposed
        convolutions with groups. They are found by their keys only."""
        without = {name for _, name, _, _, _, model, _ in self._native.inside() if model is None}
        return {name: key for name, key in names.items() if name not in without}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the model's own tensors, sorted, as far as the file and `with_names` give them. `replace` takes them, and says why it cannot
        replace a tensor that the exporter combined with others."""
        return tuple(self._native.tensor_names())

    @cached_property
    def dequantized(self) -> Numbers:
        """The numbers of quantized tensors, and of all constants inside the payloads of XNNPACK and CUDA, as float32. By the model's name, they have
        PyTorch's layout; by their key, that of the payload. Each is computed on access."""
        entries: dict[str, Numbered] = {}
        views: dict[str, Numbered] = {}
        names: dict[str, set[str]] = {}
        for index, (key, name, dims, model) in enumerate(self._native.numbers()):
            entries.setdefault(key, (index, tuple(dims), None))
            if name is not None:
                names.setdefault(name, set()).add(key)
                if model is not None:
                    views.setdefault(name, (index, tuple(model[0]), tuple(model[1])))
        aliases = {name: min(keys) for name, keys in names.items() if len(keys) == 1}
        return Numbers(self._native, entries, self._without_unarranged(aliases), views)

    @cached_property
    def named_data(self) -> NamedData:
        """The blobs that delegates look up by name."""
        return NamedData(dict(self._native.named_data()), self._given)

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The results of constant methods, and the bytes of named data under `metadata.`."""
        return dict(self._native.metadata())

    def memory(self) -> Memory:
        """Returns the planned memory, and the times at which each tensor is needed."""
        return self._inside.memory()

    def operators(self) -> Operators:
        """Returns the operators and backends that a runtime needs for the program."""
        return Operators._of(self._native.operators())

    def fit(self, target: Mapping[str, object], *, data: Data | Iterable[Data] = ()) -> Fit:
        """Returns what the program needs from a target, what the target lacks, and the verdict on it, like `pte fit`. `target` has the keys of a
        target file, with sizes in bytes or as text: an empty one is the newest release with everything in its own libraries. `data` are the
        `.ptd` files that the program is used with."""
        return Fit._of(self._native.fit(natives(data), dict(target)))

    def content_hash(self, *, data: Data | Iterable[Data] = ()) -> ContentHash:
        """Returns a hash of the content, which does not depend on the layout of the file or on the place of the data, with the hashes of each method
        and weight. `data` are the `.ptd` files that the program is used with. `pte hash --help` lists what the hash covers.

        Raises `Error` if data that the program uses is missing."""
        return ContentHash._of(self._native.content_hash(natives(data)))

    def graphs(self) -> Answers[Graph]:
        """Returns the graphs of the methods that compute something, in the file's order."""
        return self._inside.graphs()

    def graph(self, method: str | None = None) -> Graph:
        """Returns the graph of a method: by default, of the first one that computes something."""
        if method is not None:
            return self.methods[method].graph()
        for graph in self.graphs():
            return graph
        raise Error("all methods only return constants", rule="foreign")

    def to_model_explorer(self) -> dict[str, Any]:
        """Returns the graphs in the format of Google's Model Explorer, to be written as JSON, like `pte graph --model-explorer`."""
        graphs: dict[str, Any] = self._native.model_explorer(self.path or "program")
        return graphs

    def node_data(self, amount: Literal["times", "macs", "sizes"], *, trace: Trace | None = None) -> dict[str, Any]:
        """Returns the multiply-accumulates of each node, the bytes of the weights that it takes, or its time in one run of a trace of this program,
        as node data with which Model Explorer colours the graphs of `to_model_explorer`, to be written as JSON, like `pte graph --node-data`."""
        numbers: dict[str, Any] = self._native.node_data(amount, None if trace is None else trace._native)
        return numbers

    def _changed(self, changed: tuple[File, Any]) -> Self:
        return type(self)(changed[0].with_names_of(self._native), self.path, EditReport._of(changed[1]))

    @overload
    def replace(self, name: str | tuple[str, int], data: Any, /, *, shared: bool = ..., key: str | None = ...) -> Self: ...
    @overload
    def replace(self, data: Mapping[str, Any], /, *, shared: bool = ..., key: str | None = ...) -> Self: ...
    def replace(
        self,
        name: str | tuple[str, int] | Mapping[str, Any],
        data: Any = None,
        /,
        *,
        shared: bool = False,
        key: str | None = None,
    ) -> Self:
        """Replaces the data of a weight or named data, or of many: `replace({"layers.0.weight": array})`.

        `name` is a name of the model (`names`), a key in `tensors` or `named_data`, or a method and the index of a value. Data is a NumPy
        array, a PyTorch tensor, a `Tensor`, or bytes. A tensor must have the same type and shape. For a name, it is in PyTorch's layout and is
        permuted to that of XNNPACK; for a key, it is in the layout of the file. Bytes have no type and are not taken for a name.

        With `shared`, everything that shares the old bytes gets the new ones; otherwise only the named data does. `key` is the new name of
        named data, under which XNNPACK then looks it up: by default, the SHA-256 of the new bytes, as in exported files.

        Raises `Error` if the data does not fit, `KeyError` for a missing name, and `ValueError` for an empty mapping.
        """
        if isinstance(name, Mapping) and not name:
            raise ValueError("there is nothing to replace: the mapping is empty")
        given = frozenset(self.names)
        news: list[tuple[str, int | None, NewLayout | None, Source, bool]] = []
        for place, new in name.items() if isinstance(name, Mapping) else [(name, data)]:
            if not isinstance(place, str):
                news.append((*place, *new_data(new), shared))
                continue
            made_up = None if place in given else self._made_up(place)
            if made_up is None:
                news.append((place, None, *new_data(new), shared))
            else:
                # Shared data has one such name.
                news.append((made_up.method, made_up.index, *new_data(new), True))
        return self._changed(self._native.replace(news, key))

    def _key(self, name: str) -> str:
        """Returns the key of data with this name in the model, or the name itself if it is a key."""
        return name if name in self._keys or name in self.named_data._items else self._given.get(name, name)

    def _made_up(self, name: str) -> Candidate | None:
        """Returns the data that has this name only in `tensors`; `None` if the name is in the file."""
        keys = self._keys
        if name in keys and keys[name].name is None and keys[name].subject != "named data":
            return keys[name]
        if name not in keys and name not in self.named_data and not any(c.name == name for c in self._inside.candidates):
            raise missing("tensor or named data", name, self.tensors)
        return None

    def externalize(self, choose: Choose | None = None, *, alignment: int | None = None) -> tuple[Self, Data]:
        """Moves weights into a `.ptd`: the selected ones, or all, under their names. `alignment` is the alignment of the data in bytes."""
        keys: dict[int, str] = {}
        names = None if choose is None or callable(choose) else {self._key(name) for name in choose}
        for index, candidate in enumerate(self._inside.candidates):
            key = _chosen(candidate, choose, names)
            if key is not None:
                keys[index] = key
        if names:
            known = {name: None for candidate in self._inside.candidates for name in (candidate.key, candidate.name) if name}
            for name in names - known.keys():
                raise missing("tensor or named data", name, known)
        if not keys:
            raise Error("no data was selected")
        program, data, report = self._native.externalize(keys, alignment)
        return self._changed((program, report)), Data(data, None, EditReport._of(report))

    def share(
        self, *others: Program, data: Data | Iterable[Data] = (), min_size: int = 0, alignment: int | None = None
    ) -> tuple[tuple[Program, ...], Data]:
        """Moves the data that this program and the others have in common into one `.ptd`, with everything in `data`: returns the programs, this
        one first, and the `.ptd`, which all of them use. Only data of at least `min_size` bytes is moved."""
        programs = (self, *others)
        changed, shared = File.share([program._native for program in programs], natives(data), min_size, alignment)
        return tuple(program._changed(new) for program, new in zip(programs, changed)), Data(shared, None, EditReport._of({}))

    def internalize(self, data: Data | Iterable[Data], keys: Collection[str] | None = None) -> Self:
        """Copies external data into the program: the data of `keys`, or all. Raises `KeyError` if none of the files has a key."""
        files = [data] if isinstance(data, Data) else list(data)
        for key in keys or ():
            if not any(key in file.tensors or key in file.named_data for file in files):
                raise missing("key", key, files[0].tensors if files else {})
        return self._changed(self._native.internalize(natives(files), None if keys is None else list(keys)))

    def select(self, *methods: str) -> Self:
        """Keeps these methods, and the data that they use. Raises `KeyError` for a missing method."""
        for method in methods:
            self.methods[method]
        return self._changed(self._native.select(list(methods)))

    def strip(
        self, *, stack_traces: bool = True, names: bool = True, unreferenced: bool = True, padding: bool = True
    ) -> Self:
        """Removes everything that the program does not need to run: stack traces, names of constants, unused data, padding."""
        return self._changed(self._native.strip(stack_traces, names, unreferenced, padding))

    def dedup(self) -> Self:
        """Stores equal data once."""
        return self._changed(self._native.dedup())

    def set_metadata(self, name: str, value: bool | int | float | str | list[bool] | list[int] | list[float] | list[str]) -> Self:
        """Sets or adds an entry of the metadata: named data if the name starts with `metadata.`, else a constant method.

        A list becomes a method with an output for each item, as the exporter writes it.
        """
        return self._changed(self._native.set_metadata(name, value))

    def remove_metadata(self, name: str) -> Self:
        """Removes an entry of the metadata."""
        if name not in self.metadata:
            raise missing("metadata", name, self.metadata)
        return self._changed(self._native.remove_metadata(name))

    def to_safetensors(
        self, path: str | os.PathLike[str], *, skip: bool = False, progress: Progress | None = None, any_size: bool = False
    ) -> Answers[Skipped]:
        """Writes the weights as a safetensors file. Data of a type that the format does not support raises `Error`, or is left out with `skip`. The
        result lists the data that was left out, including payloads of delegates. `any_size` is explained at `save`."""
        return Answers(map(Skipped._of, self._native.to_safetensors(os.fspath(path), skip, progress, any_size)))

    def _contents(self) -> str:
        methods = list(self.methods)
        return f"{counted(len(methods), 'method')} ({', '.join(methods[:3])}{', …' * (len(methods) > 3)})"


def _chosen(candidate: Candidate, choose: Choose | None, names: set[str] | None) -> str | None:
    if choose is None:
        return candidate.key
    if names is not None:
        return candidate.key if candidate.key in names or candidate.name in names else None
    assert callable(choose)
    chosen = choose(candidate)
    if isinstance(chosen, str):
        return chosen
    return candidate.key if chosen else None

