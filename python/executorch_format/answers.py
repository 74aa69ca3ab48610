# Written by python/answers from docs/schema and python/answers.in.
"""The answers to questions about files. Sizes and offsets are in bytes.

Times are indices into `Method.instructions`. Inputs are set before the first instruction, at -1; outputs are read after the last one, at the number
of instructions: `MethodMemory.moment` distinguishes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Union

from executorch_format._answer import Answer, Answers, frozen

ScalarType = Union[str, int]
"""The schema's name, such as `FLOAT`, or PyTorch's number if the schema has no name: 8, 9 and 10 are complex32, complex64 and complex128."""


@dataclass(frozen=True, repr=False)
class Finding(Answer):
    """A broken rule."""

    rule: str
    """The name of the rule, one of `RULES`."""
    severity: str
    """The severity. One of `note`, `warning`, `error`."""
    path: str
    """The field, in the schema's names; empty if the finding concerns the whole file."""
    offset: int | None
    """The offset of the field's bytes from the start of the file; `None` if it is unknown."""
    message: str
    """The value that was found, and the value that was expected."""
    cve: str | None
    """The corresponding published vulnerability of the official runtime."""

    def __str__(self) -> str:
        place = f"{self.path}: " if self.path else ""
        return f"{self.severity}: {place}{self.message} [{self.rule}]"


@dataclass(frozen=True, repr=False)
class PartHash(Answer):
    """A part of a file, and the hash of its content."""

    name: str
    """The name of the method or of the weight, `shortened`."""
    sha256: str
    """SHA-256 in hexadecimal."""


@dataclass(frozen=True, repr=False)
class ContentHash(Answer):
    """The hash of a file's content, and those of its parts."""

    sha256: str
    """The hash of all content."""
    methods: Answers[PartHash]
    """The methods, by name: each with the data that it uses."""
    weights: Answers[PartHash]
    """The weights, by name: the name in the file, or the one that `Pte::externalize` would give; and data that delegates look up, by key. The
    hash of a tensor covers its type, sizes, dim order and bytes."""


@dataclass(frozen=True, repr=False)
class BlobUser(Answer):
    """A user of a blob."""

    index: int | None
    """The list of segments: index into that list. A delegate: index into the method's delegates. A test case of a bundle: index into the inputs
    or the expected outputs."""
    method: str | None
    """A tensor whose data is in the file: the method's name. A test case of a bundle: the name of the tested method."""
    value: int | None
    """A tensor whose data is in the file: index into the method's values. A value of an XNNPACK payload in a file of its own: see
    `Xnnpack::delegate_constants` for details: index of the value; `None` if no value uses the constant."""
    data_buffer_idx: int | None
    """Index of the constant or initial state."""
    scalar_type: ScalarType | None
    """The type of the elements."""
    sizes: tuple[int, ...] | None
    """The size of each dimension, in elements."""
    dim_order: tuple[int, ...] | None
    """The dimensions in storage order, outermost first: a permutation of 0..rank."""
    name: str | None
    """A tensor whose data is in the file: the tensor's name, if it is known. A name, or a key of a `.ptd`: the model's own name of the
    constant, if it is a constant inside a delegate and its name is known."""
    named_by: str | None
    """A tensor whose data is in the file: the origin of the name. A name, or a key of a `.ptd`: the origin of that name. One of `file`,
    `record`, `state_dict`, `caller`, `input`, `operator`."""
    key: str | None
    """A tensor whose data is in a `.ptd` file: the key. A name, or a key of a `.ptd`: the name."""
    id: str | None
    """The backend."""
    location: int | str | None
    """The location of the payload: in the FlatBuffer or in a segment."""
    segment_index: int | None
    """Index into the list of segments."""
    version: int | None
    """The version stated in the bundle."""
    test_case: int | None
    """Index into the method's test cases."""
    constant: int | None
    """Index of the constant in the payload."""
    scales: bool | None
    """`true` if the constant holds the value's scales instead of its elements."""


@dataclass(frozen=True, repr=False)
class Blob(Answer):
    """A range of bytes that something refers to."""

    kind: str
    """One of `segment`, `constant`, `initial_state`, `delegate`, `delegate_constant`, `named`, `external`, `program`, `input`, `expected`."""
    offset: int | None
    """In bytes from the start of the file; `None` if the blob is not in the file."""
    size: int | None
    """In bytes; `None` if it is not known: data under a key that a payload looks up in a `.ptd` file which was not given."""
    users: Answers[BlobUser]


@dataclass(frozen=True, repr=False)
class Blobs(Answer):
    """Every range of bytes that something refers to."""

    blobs: Answers[Blob]
    errors: tuple[str, ...]
    """References to missing data, and payloads that cannot be read."""


@dataclass(frozen=True, repr=False)
class SizePart(Answer):
    """Bytes of a file with one purpose: a blob, or all tables of a kind, or all padding of a kind."""

    kind: str
    """The purpose of the bytes. One of `header`, `program`, `constant`, `initial_state`, `delegate`, `named`, `bundled`, `test`, `padding`,
    `unreferenced`."""
    size: int
    """The size in bytes. Each byte is counted in one part only: the first of overlapping blobs has the bytes that they share."""
    pieces: int
    """The number of pieces: tables, vtables, vectors and strings, each once, or gaps."""
    detail: str | None
    """More detail. For `SizeKind::Program`, the schema's name of a table, or `vtables`. For padding and unreferenced bytes, the place
    (`header`, `program`, `segment`, `between segments`, `after the last segment`). For a delegate, the part of its payload (`header`,
    `FlatBuffer`, `weights`, `padding`), or `payload` if its parts are not known."""
    name: str | None
    """The backend of a payload, or the key of named data."""
    offset: int | None
    """The offset in bytes from the start of the file; `None` for a part of several pieces."""
    users: Answers[BlobUser]
    """The users, if it is a blob."""


@dataclass(frozen=True, repr=False)
class MethodSize(Answer):
    """The bytes that a method takes."""

    name: str
    """The method's name."""
    program: int
    """The size of its tables, vectors and strings in bytes, apart from vtables, which methods share."""
    data: int
    """The size of the constants, initial states and payloads that it uses, and of the named data that XNNPACK's payloads refer to, in bytes."""
    shared: int
    """The part of `data` that is shared with another method."""


@dataclass(frozen=True, repr=False)
class ScalarTypeSize(Answer):
    """The bytes that the weights of a type of elements take."""

    name: str
    """The type, as in the first tensor that uses the bytes: the short name, such as `f32`, or XNNPACK's, such as `qcint8`."""
    scalar_type: ScalarType | None
    """The schema's type; `None` for a type that only XNNPACK has."""
    size: int
    """The size, in bytes."""
    blobs: int
    """The number of blobs."""


@dataclass(frozen=True, repr=False)
class OperatorSize(Answer):
    """The bytes that an operator's arguments, or a backend's payloads, take."""

    name: str
    """The operator's name with its overload, the backend's name, or the backend's name with the kind of a node inside."""
    size: int
    """The size, in bytes. A blob that several operators use counts for each of them."""
    blobs: int
    """The number of blobs."""


@dataclass(frozen=True, repr=False)
class Size(Answer):
    """The parts of a file. Their sizes add up to `file_size`."""

    file_size: int
    """The size of the file, in bytes."""
    parts: Answers[SizePart]
    """All parts of the file, the largest first. They do not overlap, and their sizes add up to the size of the file."""
    methods: Answers[MethodSize]
    """The bytes that each method takes, in the file's order."""
    scalar_types: Answers[ScalarTypeSize]
    """The weights in this file by the type of their elements, the largest first. XNNPACK's weights are included."""
    operators: Answers[OperatorSize]
    """The weights and payloads in this file by the operator or backend that uses them, the largest first. A weight that first gets another
    shape, type or order (views, `permute_copy`, dequantizing) counts for the operator that takes the result. A weight of XNNPACK counts for the
    nodes that use it, as `XnnpackBackend.XNNFullyConnected`, and not for the backend."""
    errors: tuple[str, ...]
    """References that are out of range. Their bytes are not counted."""


@dataclass(frozen=True, repr=False)
class Idle(Answer):
    """A period of time."""

    first: int
    """The first time."""
    last: int
    """The last time."""


@dataclass(frozen=True, repr=False)
class PlannedTensor(Answer):
    """A tensor in planned memory."""

    value: int
    """Index into the method's values."""
    offset: int
    """The offset in bytes from the start of the buffer."""
    size: int
    """The size, in bytes."""
    first: int
    """The first time at which its bytes are needed."""
    last: int
    """The last time at which its bytes are needed, also through a view."""
    kept: bool
    """`true` if it keeps its content from run to run: it has an initial state, or is read before it is written."""
    scalar_type: ScalarType
    """The type of the elements."""
    sizes: tuple[int, ...]
    """The size of each dimension: an upper bound if the shape is dynamic."""
    dim_order: tuple[int, ...]
    """The dimensions in the order of storage, outermost first."""
    shape_dynamism: int | str
    """The kind of change of the sizes that is allowed at run time."""
    idle: Answers[Idle]
    """The periods between `first` and `last` in which its bytes are not needed: before they are overwritten, or in another branch."""
    last_used_by: str | None
    """The instruction that needs it last; `None` for an output."""
    made_by: str | None
    """The instruction that first writes it, such as `convolution.3`; `None` for an input."""
    module: str | None
    """The path of the module of the instruction that first writes it."""
    name: str | None
    """The name, if the tensor has one."""
    named_by: str | None
    """The origin of its name. One of `file`, `record`, `state_dict`, `caller`, `input`, `operator`."""
    replaces: tuple[int, ...]
    """Values that used some of its bytes before and are no longer needed. At most 64."""
    shares_with: tuple[int, ...]
    """Values that are needed at the same time and share some bytes: the tensor is a view of them, or is computed in their place. At most 64."""
    views: tuple[int, ...]
    """The values that the tensor is a view of and whose bytes it reads. At most 64."""


@dataclass(frozen=True, repr=False)
class Arena(Answer):
    """A planned buffer."""

    memory_id: int
    """The memory id, as the exporter's memory planner numbers them: from 1."""
    span: int
    """The index of the span that the runtime's `HierarchicalAllocator` has for it, and of `MethodMeta::memory_planned_buffer_size`: from 0."""
    size: int
    """The size, in bytes; 0 if the program states a negative size, which is one of the faults in `Summary` and `Memory`."""
    device_type: int | str
    """The kind of device whose memory the buffer is in."""
    device_index: int
    """The index among devices of that kind."""


@dataclass(frozen=True, repr=False)
class Buffer(Answer):
    """A planned buffer and its tensors."""

    memory_id: int
    """The memory id, as the exporter's memory planner numbers them: from 1."""
    span: int
    """The index of the span that the runtime's `HierarchicalAllocator` has for it, and of `MethodMeta::memory_planned_buffer_size`: from 0."""
    size: int
    """The size, in bytes; 0 if the program states a negative size, which is one of the faults in `Summary` and `Memory`."""
    device_type: int | str
    """The kind of device whose memory the buffer is in."""
    device_index: int
    """The index among devices of that kind."""
    needed: int
    """The maximum number of bytes that are needed at the same time: no plan for these tensors can be smaller. Bytes that tensors share at that
    time are counted once. An estimate if the method's `assumed` is not empty."""
    needed_at: int
    """The first time of this maximum."""
    lost: int
    """The buffer's size minus `needed`: gaps that no tensor could use, and alignment."""
    tensors: Answers[PlannedTensor]
    """The tensors in the buffer, sorted by the time when they are first needed."""


@dataclass(frozen=True, repr=False)
class Assumed(Answer):
    """An assumption in place of an unknown fact about a method."""

    calls: int
    """The number of instructions that call it."""
    why: str
    """The unknown fact."""
    name: str | None
    """The operator or the backend concerned; `None` if it concerns the whole method."""


@dataclass(frozen=True, repr=False)
class XnnpackRunMemory(Answer):
    """The memory of XNNPACK's delegates, in bytes. `None` for what is not known."""

    delegates: int
    """The number of delegates."""
    workspace: int | None
    """The largest workspace of a delegate: delegates share one. A workspace has the values inside the graph that are needed at the same time,
    each rounded up to 64 bytes, at the offsets that XNNPACK's planner gives them."""
    replaced_workspace: int | None
    """The workspace that the largest one replaces: delegates run for the first time in order, and both are in memory while the workspace grows.
    0 if the first delegate has the largest one."""
    tables: int | None
    """The addresses of pixels: 8 bytes for each input pixel of each window of convolutions and poolings, and 40 bytes for each pixel of a
    resized image."""
    packed: int | None
    """The packed weights: for each output channel, rounded up to 16, its weights and bias, and if they are quantized, scales and their sum."""


@dataclass(frozen=True, repr=False)
class RunMemory(Answer):
    """The memory that a method takes until it has run, in bytes: of the program, of the method itself and of its delegates. The caller's own
    tensors are not counted, nor the memory that kernels take for the time of a call. The sizes are those of a process with 64-bit pointers that
    has only this method loaded, without a cache of XNNPACK's weights."""

    program: int
    """The FlatBuffer of the program."""
    weights_in_place: int
    """The constants that are read in place: those in segments and `.ptd` files, and those that XNNPACK does not pack."""
    planned: int
    """The planned buffers."""
    method: int
    """The memory of the method itself (`MethodAllocator`), with a temporary allocator."""
    running: int
    """The sum while the method runs. At least that, if something is not known."""
    first_run: int
    """The maximum during the first run, in which XNNPACK's workspace grows."""
    loading: int
    """The maximum while delegates are loaded: the weights of one are in memory both as stored and packed."""
    total: int
    """The largest one of `running`, `first_run` and `loading`."""
    at_most: bool
    """`true` if shapes inside delegates are dynamic: the sizes are those for the largest shapes."""
    not_known: tuple[str, ...]
    """The memory that is not known and not counted."""
    scratch: int | None
    """The scratch memory of the largest delegate, if payloads state it (Ethos-U): each call takes it from the runtime's temporary allocator,
    and gives it back."""
    xnnpack: XnnpackRunMemory | None
    """The memory of XNNPACK's delegates."""


@dataclass(frozen=True, repr=False)
class MethodMemory(Answer):
    """The planned memory of a method."""

    name: str
    """The method's name."""
    instructions: int
    """The number of instructions."""
    size: int
    """The total size of the buffers, in bytes."""
    buffers: Answers[Buffer]
    """The buffers, from index 1."""
    unused: int
    """The number of tensors that have a place in planned memory, although no instruction, input or output names them. They are in no list, and
    neither are tensors without elements and those whose bytes are not used."""
    jumps: bool
    """`true` if an instruction jumps. Times are still positions in the list of instructions: values that a loop carries from one iteration to
    the next are needed in the whole loop, and values that one branch needs are not needed in the other."""
    run_memory: RunMemory
    """The memory of a run: the planned buffers, and everything besides."""
    assumed: Answers[Assumed]
    """The assumptions that had to be made: `needed` and `lost` are then estimates. Empty if everything is known."""

    def moment(self, time: int) -> int | Literal["inputs", "outputs"]:
        """Returns the instruction at a time, such as `PlannedTensor.first` and `last`; `inputs` before the first instruction, `outputs` after the
        last one."""
        if time < 0:
            return "inputs"
        return time if time < self.instructions else "outputs"


@dataclass(frozen=True, repr=False)
class Memory(Answer):
    """The planned memory of a program, and the times at which each tensor is needed."""

    methods: Answers[MethodMemory]
    """All methods, in the file's order, including those that need no memory."""
    arenas: Answers[Arena]
    """The largest buffer of any method for each buffer index: enough to run all methods, one at a time."""
    errors: tuple[str, ...]
    """Tensors in a buffer that does not exist, or of unknown size. They are in no other list."""


@dataclass(frozen=True, repr=False)
class KernelTensor(Answer):
    """The type and dim order of an argument."""

    scalar_type: ScalarType
    """The type of the elements."""
    dim_order: tuple[int, ...]
    """The dimensions in the order of storage, outermost first."""


@dataclass(frozen=True, repr=False)
class Kernel(Answer):
    """An operator's implementation for types and dim orders."""

    name: str
    calls: int
    """The number of instructions that call the operator with this combination."""
    tensors: Answers[KernelTensor]
    """The type and dim order of each tensor among the arguments, in their order: inputs, outputs, and the result, which a call repeats. A list
    of tensors is represented by its first."""


@dataclass(frozen=True, repr=False)
class KernelPlace(Answer):
    """The place of an operator's kernels."""

    library: str
    """The name of the `Library`; `runtime` for operators that every build has; `none` if only a backend computes the operator."""
    cmake_target: str | None
    """The target of ExecuTorch's CMake files that builds the library."""
    python_import: str | None
    """The module of the Python package that registers the kernels, if they are not registered without it."""
    backend: str | None
    """The backend that computes the operator, if no library does."""


@dataclass(frozen=True, repr=False)
class Operator(Answer):
    """An operator, with its overload."""

    name: str
    calls: int
    """The number of instructions that call it."""
    place: KernelPlace | None
    """The place of its kernels; `None` if it is in no library of ExecuTorch."""
    kernels: Answers[Kernel]
    """The combinations of tensors in its calls, by ExecuTorch's kernel key."""


@dataclass(frozen=True, repr=False)
class Count(Answer):
    """A kernel and the number of its calls."""

    name: str
    """The name and overload, such as `aten::add.out`."""
    calls: int
    """The number of instructions that call it."""


@dataclass(frozen=True, repr=False)
class Backend(Answer):
    """A backend that runs parts of methods."""

    name: str
    delegates: int
    """The number of delegates."""
    calls: int
    """The number of instructions that call one of them."""
    operators: Answers[Count]
    """The number of uses of each operator in the payloads that this crate reads, by its name in the payload's schema. A payload that several
    delegates share is counted once."""


@dataclass(frozen=True, repr=False)
class Operators(Answer):
    """The operators and backends that a program needs."""

    operators: Answers[Operator]
    """The operators by name with overload, such as `aten::add.out`: all operators that methods list, including those that no instruction
    calls."""
    backends: Answers[Backend]
    """The backends by name."""
    errors: tuple[str, ...]
    """References that are out of range. Calls with such arguments are counted, without these arguments."""

    def names(self) -> tuple[str, ...]:
        """Returns the names of the operators."""
        return tuple(operator.name for operator in self.operators)


@dataclass(frozen=True, repr=False)
class Place(Answer):
    """The place of a tensor's bytes."""

    kind: str
    """One of `runtime`, `planned`, `constant`, `initial_state`, `external`."""
    buffer: int | None
    """Index of the buffer, from 1."""
    offset: int | None
    """The offset from the start of the buffer, in bytes."""
    index: int | None
    """`constant`: index of the constant. `initial_state`: index of the initial state."""
    data: Any
    """The reference to its bytes in the file."""
    key: str | None
    """The key."""

    @classmethod
    def _of(cls, data: Any) -> Place:
        # A word, or a word with its fields.
        kind, fields = (data, {}) if isinstance(data, str) else next(iter(data.items()))
        return super()._of({"kind": kind, **fields})


@dataclass(frozen=True, repr=False)
class Value(Answer):
    """A value of a method."""

    index: int
    type: str | None
    """The schema's name of the value's type; `None` for a type of a newer schema."""
    written: bool
    """`true` if an instruction is known to write the value. A number is then only the initial value."""
    constant: Any
    """The number, text or list of numbers."""
    dim_order: tuple[int, ...] | None
    """The dimensions in the order of storage, outermost first."""
    items: tuple[int, ...] | None
    """The indices of a list's values, −1 for a missing one."""
    name: str | None
    """The name, if the tensor has one."""
    named_by: str | None
    """The origin of the tensor's name. One of `file`, `record`, `state_dict`, `caller`, `input`, `operator`."""
    place: Place | None
    """The place of a tensor's bytes."""
    scalar_type: ScalarType | None
    """The type of the elements."""
    shape_dynamism: int | str | None
    """The kind of change of the sizes that is allowed at run time."""
    sizes: tuple[int, ...] | None
    """The size of each dimension: an upper bound if the shape is dynamic."""


@dataclass(frozen=True, repr=False)
class Argument(Answer):
    """An argument of a kernel or a delegate."""

    output: bool
    """`true` if the kernel or the delegate writes it. `Code::assumed` is set if this is not known."""
    in_place: bool
    """`true` if the argument is both read and written, so that it is changed in place."""
    value: int
    """Index into the method's values."""
    name: str | None
    """The name, if the operator is known. `None` also for the result, which a call repeats as its last argument."""
    view_of: int | None
    """The value that shares its bytes. Either the instruction makes the argument a view of that value or assigns that value to it, or no
    instruction makes the view, and the argument has that value's place in planned memory."""


@dataclass(frozen=True, repr=False)
class Frame(Answer):
    """A Python call that led to an instruction."""

    filename: str | None
    lineno: int
    name: str | None
    context: str | None


@dataclass(frozen=True, repr=False)
class SourceLine(Answer):
    """A line of Python source."""

    file: str
    """The file."""
    line: int
    """The line, counted from 1."""
    function: str
    """The function."""
    text: str
    """The text of the line."""


@dataclass(frozen=True, repr=False)
class Instruction(Answer):
    """An instruction. Fields that do not apply to it are `None`."""

    chain: int
    index: int
    """The index in the chain."""
    jumped_to: bool
    """`true` if an instruction jumps here."""
    assumed: str | None
    """The reason why `output` of its arguments is an assumption; `None` if it is known."""
    label: str | None
    """The operator or backend without its namespace, and the number of earlier instructions of the same kind: `convolution.3`."""
    module: str | None
    """The path of the module, such as `layers.0.conv`, if a record has it; empty for the model itself. For a delegate, the module that contains
    all of its nodes."""
    source: SourceLine | None
    """The line of source, if a record has it. For a delegate, the line of its first node."""
    stack: Answers[Frame]
    """The stack of Python calls, outermost first, if the file has it."""
    operation: str
    """One of `kernel`, `delegate`, `move`, `jump_false`, `free`, `unknown`."""
    operator: str | None
    """The operator's name, such as `aten::add`; empty if its index is out of range."""
    overload: str | None
    """The overload, such as `out`."""
    arguments: Answers[Argument]
    """A call of a kernel: the arguments. A call of a delegate: the arguments: inputs, then outputs."""
    backend: str | None
    """The backend's name; empty if the delegate's index is out of range."""
    delegate: int | None
    """Index into the method's delegates."""
    from_: int | None
    """Index into the method's values."""
    to: int | None
    """Index into the method's values."""
    condition: int | None
    """Index into the method's values."""
    destination: int | None
    """Index into the chain's instructions."""
    value: int | None
    """Index into the method's values."""


@dataclass(frozen=True, repr=False)
class CompileSpec(Answer):
    """A setting for a backend."""

    key: str
    """The name, `shortened`."""
    text: str | None
    """The value, `shortened`, if it is text; `None` for other bytes."""
    size: int
    """The size of the value, in bytes."""


@dataclass(frozen=True, repr=False)
class InsideArgument(Answer):
    """A tensor that a node inside a delegate reads or writes."""

    name: str
    """The name of the argument, such as `filter`, or its position if the name is not known."""
    id: int
    """The id of the value in the payload; a number given by this crate if the payload has none, as those for an Ethos-U and Core ML."""
    output: bool
    """`true` if the node writes the value."""
    tensor: str
    """The datatype and dimensions."""
    constant: bool
    """`true` if the value is a constant."""
    argument: int | None
    """The index of the value among the delegate's arguments, from 0; `None` for a value that exists only inside."""
    value_name: str | None
    """The value's name, if the payload has one."""


@dataclass(frozen=True, repr=False)
class InsideSetting(Answer):
    """An argument of a node that is not a tensor."""

    name: str
    """The name of the argument, or its position if the name is not known."""
    value: str
    """The value. Long lists and texts are cut."""


@dataclass(frozen=True, repr=False)
class InsideNode(Answer):
    """A node inside a delegate."""

    operator: str
    """The schema's name of the node, such as `XNNFullyConnected`, `aten.linear.default` of Vulkan or `linear` of Core ML; for an Ethos-U the
    kind of its command, such as `conv`."""
    arguments: Answers[InsideArgument]
    """The tensors that the node reads and writes."""
    name: str | None
    """The node's own name, if the payload has one."""
    settings: Answers[InsideSetting]
    """Its other arguments: numbers, lists and texts."""


@dataclass(frozen=True, repr=False)
class DelegateGraph(Answer):
    """The contents of a delegate's payload."""

    kind: str
    """`xnnpack`, `vulkan`, `ethos_u`, `core_ml` or `opaque`."""
    nodes: Answers[InsideNode]
    """The nodes in execution order, for XNNPACK, Vulkan, Core ML and an Ethos-U."""
    content: Any
    """The payload as a tree, with its schema's names; the size of an opaque payload."""


@dataclass(frozen=True, repr=False)
class GraphArgument(Answer):
    """A value that a node reads or writes."""

    value: int
    """Index into the method's values; for a value inside a delegate, -1 minus its id there."""
    text: str
    """A tensor's type and shape, or the value itself: `f32[1, 3]`, `2`, `[0, 1]`, `"gelu"`. Arguments with the same value share the text,
    because lists can be long and be arguments of many instructions."""
    output: bool
    """`true` if the instruction writes the value."""
    name: str | None
    """The name, if the operator is known."""
    named_by: str | None
    """The origin of that name. One of `file`, `record`, `state_dict`, `caller`, `input`, `operator`."""
    place: Place | None
    """The place of a tensor's bytes."""
    tensor_name: str | None
    """The name of a tensor, such as `layers.0.conv.weight`."""
    weight: bool | None
    """`true` for a weight: data in the file or in a `.ptd`, also inside a delegate."""


@dataclass(frozen=True, repr=False)
class GraphNode(Answer):
    """A node: an instruction, or an origin or destination of values."""

    kind: str
    """The kind of node. One of `input`, `state`, `kernel`, `delegate`, `inside`, `move`, `jump`, `unknown`, `output`, `block`."""
    label: str
    """The operator with its overload, the backend, or the kind and index of an input or output."""
    arguments: Answers[GraphArgument]
    """The values that it reads and writes, in the file's order."""
    chain: int | None
    """Index into the method's chains."""
    delegate: str | None
    """The backend of a node inside a delegate."""
    instruction: int | None
    """Index into the chain's instructions."""
    module: str | None
    """The path of its module, such as `layers.0.conv`; empty for the model itself."""
    name: str | None
    """The label of the instruction or of the node inside a delegate, such as `convolution.3`; for an input, a state or an output, the name of
    the value."""
    settings: Answers[InsideSetting]
    """The other arguments of a node inside a delegate: numbers, lists and texts."""
    source: str | None
    """The line of Python that it comes from, if the file or a record has it: `model.py:12 forward`."""


@dataclass(frozen=True, repr=False)
class GraphEdge(Answer):
    """An edge from a node to another: a value, or a jump."""

    from_: int
    """Index of the source node."""
    to: int
    """Index of the destination node."""
    value: int | None
    """Index into the method's values, as in the arguments of the destination node; `None` for a jump."""
    view: bool | None
    """`true` if the edge comes from the instruction that made the value a view, whose bytes come from other nodes."""


@dataclass(frozen=True, repr=False)
class Graph(Answer):
    """A method as a graph. Every path through the instructions is considered: an edge comes from each instruction that may have been the last
    to write the value's bytes, also through a view. A view has another edge from the instruction that made it."""

    method: str
    """The method's name."""
    nodes: Answers[GraphNode]
    """The nodes: inputs and states first, then instructions in order, then outputs."""
    edges: Answers[GraphEdge]
    """The edges. An edge with a value goes from an earlier node to a later one, except from one iteration of a loop to the next."""
    incomplete: str | None
    """The reason why some edges may be missing or wrong, or why there are no nodes: see `Graph::MAX_NODES`."""


@dataclass(frozen=True, repr=False)
class Distance(Answer):
    """The difference between the values of two tensors of the same shape."""

    elements: int
    """The number of elements."""
    changed: int
    """The number of elements that differ. Two NaNs are equal."""
    unbounded: int
    """The number of elements that differ but have no distance, because one of the two is infinite or NaN."""
    absolute: float
    """The largest absolute difference of two finite elements."""
    relative: float
    """The largest difference relative to the larger of the two elements."""
    l1: float
    """The sum of the absolute differences of finite elements."""
    mse: float
    """The mean squared difference of finite elements."""
    snr: float | None
    """The signal-to-noise ratio in decibels, where the first tensor is the signal and the difference is the noise; `None` if one of both is
    zero: without noise the ratio is infinite."""
    cosine: float | None
    """The cosine similarity of the two tensors, 1 if they point the same way; `None` if one is all zeros."""
    not_finite: tuple[int, ...]
    """The number of elements of each tensor that are infinite or NaN."""


@dataclass(frozen=True, repr=False)
class Difference(Answer):
    """A difference between two files."""

    subject: str
    """The kind of thing that differs."""
    kind: str
    """The kind of difference. One of `added`, `removed`, `changed`, `moved`."""
    name: str
    """The index, name or field path that identifies it. The index is that in the first file if it is in both."""
    after: str | None
    """The content in the second file."""
    before: str | None
    """The content in the first file."""
    distance: Distance | None
    """The distance between the values, if requested."""
    method: str | None
    """The method that contains it."""
    module: str | None
    """The path of its module."""
    named_by: str | None
    """The origin of the name. One of `file`, `record`, `state_dict`, `caller`, `input`, `operator`."""
    tensor_name: str | None
    """The model's name of the tensor or the instruction, if it is known: see `Side::with_names`."""


@dataclass(frozen=True, repr=False)
class Diff(Answer):
    """The differences between two files."""

    differences: Answers[Difference]
    """Differences that may affect results."""
    storage: Answers[Difference]
    """Differences in storage only."""
    not_compared: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class EventTarget(Answer):
    """The target of an instruction. Fields that do not apply to it are `None`."""

    operator: str | None
    """Name and overload, such as `aten::add.out`."""
    backend: str | None
    """The backend's name."""
    delegate: int | None
    """Index into the method's delegates."""
    instruction_kind: str | None
    """The schema's name of the instruction."""


@dataclass(frozen=True, repr=False)
class ProfiledNode(Answer):
    """A node inside a delegate."""

    index: int
    """The index of the node in the payload."""
    operator: str
    """The schema's name of the node, such as `XNNFullyConnected`."""


@dataclass(frozen=True, repr=False)
class VulkanShader(Answer):
    """The shader that an event of a Vulkan delegate timed, with the operator that it is a part of. The backend writes this as the event's
    name."""

    name: str
    """The name of the shader, such as `linear_naive_texture3d_float`."""
    dispatch: int
    """The number of the dispatch in the delegate's run."""
    node_id: int | None
    """The operator's `node_id` in the payload."""
    operator: str | None
    """The operator's name, if the event has one: copies of inputs and outputs have none."""


@dataclass(frozen=True, repr=False)
class StatisticsData(Answer):
    """Data that the driver returned. It is in the event's metadata, in base64."""

    available: bool
    """`true` if the driver returned it."""
    is_text: bool
    """`true` if it is text."""
    size: int
    """The size, in bytes."""
    reason: str
    """The reason why there is none."""


@dataclass(frozen=True, repr=False)
class StatisticsSegment(Answer):
    """The statistics of a segment of a VGF model."""

    segment_id: int
    """The number of the segment."""
    debug_database: StatisticsData
    """The database that describes the accelerator's commands."""
    statistics_info: StatisticsData
    """The description of the counters."""
    statistics_memory: StatisticsData
    """The counters."""


@dataclass(frozen=True, repr=False)
class NeuralStatistics(Answer):
    """The statistics of a neural accelerator that a VGF delegate recorded (`VGFNeuralStatistics.cpp`)."""

    available: bool
    """`true` if the driver returned any data."""
    reason: str
    """The reason why there is no data; empty if there is."""
    segments: Answers[StatisticsSegment]
    """The segments of the model."""


@dataclass(frozen=True, repr=False)
class Event(Answer):
    """Something that was timed, with all its times."""

    kind: str
    """The kind of thing that was timed. One of `method`, `instruction`, `part`, `delegate`."""
    name: str
    """The name: the runtime's, or a delegate's own."""
    chain: int | None
    """The chain of its instruction."""
    instruction: int | None
    """Index of its instruction in the chain."""
    runs: EventTarget | None
    """The target that its instruction runs, according to the program."""
    count: int
    """The number of measurements."""
    total: int
    """The sum of the times, in ticks."""
    min: int
    """The shortest time."""
    median: float
    """The median of the times."""
    mean: float
    """The average time."""
    max: int
    """The longest time."""
    share: float
    """The share of the runs' time, from 0 to 1. The time of a part is included in the time of the whole."""
    delegate_debug_id: int | None
    """The delegate's own number for the event."""
    label: str | None
    """The label of the instruction or of the node inside a delegate, such as `convolution.3`."""
    macs: int | None
    """The multiply-accumulates of one run of the instruction or of the node, if the program is given and they are known: see `Macs`. With
    dynamic shapes, an upper bound."""
    metadata: str | None
    """The text that the delegate recorded with the first of these events, such as the statistics of a VGF delegate's accelerator (JSON)."""
    module: str | None
    """The path of its module, such as `layers.0.conv`; empty for the model itself."""
    node: ProfiledNode | None
    """The timed node of a delegate's graph. Those of XNNPACK are matched by order, and known if a kind has as many events as nodes; those of
    Vulkan by the number in the event's name."""
    shader: VulkanShader | None
    """The shader that a Vulkan delegate timed."""
    statistics: NeuralStatistics | None
    """The statistics of an accelerator that a VGF delegate recorded."""


@dataclass(frozen=True, repr=False)
class Run(Answer):
    """A group of similar runs."""

    name: str
    """The name of the runs: `Default` for loading a method, `Execute` for running it."""
    test_case: int | None
    """The test case that was loaded before; `None` if no test case was loaded."""
    method: str | None
    """The method that ran, if the program is given and a method fits."""
    count: int
    """The number of runs."""
    total: int
    """The time from the first start to the last end, summed over the runs, in ticks."""
    in_delegates: int
    """The part of the total in calls of delegates, in ticks."""
    in_other_instructions: int
    """The part of the total in other instructions, in ticks."""
    events: Answers[Event]
    """The events: whole methods first, then each instruction followed by its parts, in the order of their first runs."""
    warm_up: int | None
    """The number of runs before these that were left out, to warm up."""


@dataclass(frozen=True, repr=False)
class Profile(Answer):
    """The times of a trace."""

    runs: Answers[Run]
    """The groups of runs. Runs of a group have the same name, test case and events."""
    errors: tuple[str, ...]
    """Events that contradict each other or the program."""
    warnings: tuple[str, ...]
    """Runs that fit the program, but are likely to be of another one."""


@dataclass(frozen=True, repr=False)
class Reason(Answer):
    """The reason why a release does not load a file, or why that is unknown."""

    name: str
    """The name of the broken rule, or of one of `FEATURES` or `REASONS`."""
    path: str
    """The place in the file."""
    message: str
    """The explanation."""


@dataclass(frozen=True, repr=False)
class Support(Answer):
    """An answer about a release."""

    behaviour: str
    """The behaviour of the runtime, considering only the subject of this answer. One of `loads`, `unknown`, `miscomputes`, `refuses`,
    `dies`."""
    because: Reason | None
    """The reason, unless the release loads the file."""


@dataclass(frozen=True, repr=False)
class NeededKernels(Answer):
    """The kernels that a program needs from a library other than the portable one."""

    library: str
    """The name of the `Library`, or `custom` for operators that are in no library of ExecuTorch."""
    cmake_target: str | None
    """The target of ExecuTorch's CMake files that builds the library."""
    python_import: str | None
    """The module of the Python package that registers the kernels, if they are not registered without it."""
    operators: tuple[str, ...]
    """The operators, by name and overload, sorted; at most the first 100."""
    count: int
    """The total number of operators."""


@dataclass(frozen=True, repr=False)
class Release(Answer):
    """The behaviour of a release with a file."""

    release: str
    """The release. One of `0.2`, `0.3`, `0.4`, `0.5`, `0.6`, `0.7`, `1.0`, `1.1`, `1.2`, `1.3`, `1.4`, `1.5`."""
    behaviour: str
    """The behaviour of its runtime when it loads the program and its methods: the worst of the three answers, except that payloads that were
    not checked do not count. One of `loads`, `unknown`, `miscomputes`, `refuses`, `dies`."""
    because: Reason | None
    """The reason, unless the release loads the file."""
    format: Support
    """The answer about the format: the tables of the program, its constants and instructions."""
    operators: Support
    """The answer about the operators: whether the release's kernel libraries contain them."""
    delegates: Support
    """The answer about the contents of delegates' payloads. Only XNNPACK's are read."""
    kernels: Answers[NeededKernels]
    """The kernels that the file needs from libraries other than the portable one, except those that the target lists."""
    verdict: Verdict
    """The verdict of the release, including what happens when the file's methods run."""

    @property
    def version(self) -> tuple[int, ...]:
        """The numbers of the release, which compare in the order of releases: `(1, 10)` is after `(1, 5)`, but `"1.10"` is before `"1.5"`."""
        return tuple(map(int, self.release.split(".")))


@dataclass(frozen=True, repr=False)
class Cause(Answer):
    """A reason for a verdict."""

    outcome: str
    """The outcome that follows from it. One of `does-not-load`, `missing`, `refuses-call`, `dies`, `miscomputes`, `does-not-fit`, `unknown`,
    `runs`."""
    name: str
    """The name of the broken rule, or of one of `FEATURES` or `REASONS`."""
    path: str
    """The place in the file; empty if the cause concerns the whole file."""
    message: str
    """The explanation."""


@dataclass(frozen=True, repr=False)
class Verdict(Answer):
    """The behaviour of ExecuTorch of a release, with a set of kernels and backends and within limits of memory, with a model. Every answer
    about this is a view of the verdict: the findings of a check, the behaviour of releases, and what a device lacks."""

    outcome: str
    """The outcome: the first one of those of the causes. One of `does-not-load`, `missing`, `refuses-call`, `dies`, `miscomputes`, `does-not-
    fit`, `unknown`, `runs`."""
    because: Answers[Cause]
    """All causes, the worst outcome first. Empty if the model runs."""


@dataclass(frozen=True, repr=False)
class CallerValue(Answer):
    """An input or output of a method."""

    name: str | None
    """The name, as in `Value`; at most 1,000 characters."""
    shape: str
    """The type and shape as text, such as `f32[1, 3]`, or the schema's name of a kind other than a tensor."""
    size: int | None
    """The number of bytes of a tensor, at most if the shape is dynamic."""
    caller_memory: bool
    """`true` if it is a tensor without planned memory, which the caller has to provide before a run."""


@dataclass(frozen=True, repr=False)
class MethodNeeds(Answer):
    """The needs of a method."""

    name: str
    """The method's name."""
    operators: Answers[Operator]
    """The operators by name with overload, such as `aten::add.out`: all operators that methods list, including those that no instruction
    calls."""
    backends: Answers[Backend]
    """The backends by name."""
    buffers: Answers[Arena]
    """The planned buffers."""
    method_allocator: int
    """The number of bytes that the runtime takes from the method allocator, with the target's pointers and temporary allocator."""
    other_delegates: int
    """The number of delegates of backends other than XNNPACK, which take an unknown number of further bytes."""
    accelerators: tuple[str, ...]
    """The accelerators that payloads for Ethos-U are compiled for, without duplicates."""
    scratch: int | None
    """The scratch memory of the largest delegate for an Ethos-U in bytes, if the payloads state it."""
    inputs: Answers[CallerValue]
    """The inputs, in order."""
    outputs: Answers[CallerValue]
    """The outputs, in order."""


@dataclass(frozen=True, repr=False)
class Needs(Answer):
    """Everything that a program needs from a device, whether the device has it or not."""

    file_size: int | None
    """The size of the file, in bytes; `None` for a program that was built in memory."""
    methods: Answers[MethodNeeds]
    """The needs of each method that computes something."""


@dataclass(frozen=True, repr=False)
class Fit(Answer):
    """The verdict of ExecuTorch on a target, with the needs of a program that the target does not meet."""

    verdict: Verdict
    missing: tuple[Any, ...]
    """The needs that the target does not meet, as in the JSON of `pte fit`: each has its kind as `missing`."""
    unknown: tuple[Any, ...]
    """The needs that could not be checked: each has its kind as `unknown`."""
    needs: Needs
    """Everything that the program needs."""


@dataclass(frozen=True, repr=False)
class LoadsIn(Answer):
    """The releases that load a file: those that support its format, its operators, and the payloads that were checked. The file may need more
    kernels than the portable ones."""

    outcome: str
    """The combined outcome for all releases. One of `loads`, `none`, `unknown`."""
    ranges: tuple[tuple[str, str], ...]
    """The releases that load the file: the first and the last of each range without a gap. An untested release does not split a range."""
    unknown: tuple[tuple[str, str], ...]
    """The tested releases with an unknown behaviour, as ranges."""
    checked: tuple[str, ...]
    """The subjects that were checked, such as `format` and `portable operators`."""
    not_checked: str | None
    """The payloads that were not checked, such as `payloads of CoreMLBackend`."""
    kernels: Answers[NeededKernels]
    """The kernels that the file needs from libraries other than the portable one, except those that the deployment has."""


@dataclass(frozen=True, repr=False)
class Saving(Answer):
    """Something that can be removed from a file."""

    kind: str
    size: int
    edit: str
    """The edit that removes it: `dedup`, `strip` or `lay_out`."""
    options: Any
    """The options of the edit; `None` for `dedup`."""


@dataclass(frozen=True, repr=False)
class ChangeUser(Answer):
    """A reference to a blob. Fields that do not apply to it are `None`."""

    method: str | None
    """The method's name, `shortened`."""
    value: int | None
    """The index into the method's values."""
    delegate: int | None
    """The index into the method's delegates."""
    constant: int | None
    """The index into the payload's values."""
    key: str | None
    """The name."""


@dataclass(frozen=True, repr=False)
class Change(Answer):
    """A change to a blob or another part of a file."""

    action: str
    """The kind of change. One of `added`, `replaced`, `removed`, `externalized`, `internalized`, `shared`, `renamed`, `extracted`."""
    subject: str
    """The kind of part."""
    name: str
    """The name or key after the change; empty if the part has none."""
    users: Answers[ChangeUser]
    """All references to the part."""
    size_before: int
    """The bytes that the part took in this file."""
    size_after: int
    """The bytes that the part takes in this file."""
    others: Answers[ChangeUser]
    """If the part was replaced, the users that shared its old bytes and keep them."""


@dataclass(frozen=True, repr=False)
class EditReport(Answer):
    """The result of an edit."""

    changes: Answers[Change]
    notes: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Skipped(Answer):
    """An item that was left out because the other format cannot store it."""

    kind: str
    """The kind of item: `tensor`, `blob`, `metadata` or `payload`."""
    name: str
    """The name."""
    reason: str
    """The reason why the other format cannot store it."""


@dataclass(frozen=True, repr=False)
class Candidate(Answer):
    """Data that `externalize` can move into a `.ptd`."""

    subject: str
    method: str
    index: int
    name: str | None
    key: str
    """The default key."""
    size: int
