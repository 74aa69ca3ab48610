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
    severity: str
    """`error`, `warning` or `note`."""
    path: str
    """The field, in the schema's names; empty if the finding is about the whole file."""
    offset: int | None
    message: str
    cve: str | None
    """The corresponding published vulnerability of the official runtime."""

    def __str__(self) -> str:
        place = f"{self.path}: " if self.path else ""
        return f"{self.severity}: {place}{self.message} [{self.rule}]"


@dataclass(frozen=True, repr=False)
class BlobUser(Answer):
    """A user of a blob. Fields that do not apply to its kind are `None`."""

    method: str | None
    value: int | None
    """The index into the method's values."""
    index: int | None
    """The index of a segment, a delegate or an input."""
    id: str | None
    """The backend's name."""
    key: str | None
    location: str | int | None
    data_buffer_idx: int | None
    name: str | None
    """The name of a tensor, if known."""
    named_by: str | None
    """The source of the name: `file`."""
    segment_index: int | None
    version: int | None
    test_case: int | None
    constant: int | None
    """The index of a constant in an XNNPACK payload."""
    scales: bool | None
    """`True` if the blob has the scales of that value."""
    scalar_type: ScalarType | None
    sizes: tuple[int, ...] | None
    dim_order: tuple[int, ...] | None


@dataclass(frozen=True, repr=False)
class Blob(Answer):
    """A range of bytes that something refers to."""

    kind: str
    """`segment`, `constant`, `initial_state`, `delegate`, `delegate_constant`, `named`, `external`, `program`, `input` or `expected`."""
    offset: int | None
    """The offset from the start of the file; `None` if the bytes are not in it."""
    size: int
    users: Answers[BlobUser]


@dataclass(frozen=True, repr=False)
class Blobs(Answer):
    """Every range of bytes that something refers to."""

    blobs: Answers[Blob]
    errors: tuple[str, ...]
    """Dangling references."""


@dataclass(frozen=True, repr=False)
class SizePart(Answer):
    """A part of a file."""

    kind: str
    name: str | None
    detail: str | None
    size: int
    pieces: int
    """The number of ranges."""
    offset: int | None
    """The offset, if it is a single range."""
    users: Answers[BlobUser]


@dataclass(frozen=True, repr=False)
class MethodSize(Answer):
    """The size of a method."""

    name: str
    program: int
    data: int
    """The size of the constants, initial states, payloads and named data that it uses."""
    shared: int
    """The part of `data` that other methods also use."""


@dataclass(frozen=True, repr=False)
class ScalarTypeSize(Answer):
    """The data of a type."""

    name: str
    scalar_type: ScalarType | None
    size: int
    blobs: int


@dataclass(frozen=True, repr=False)
class OperatorSize(Answer):
    """The data that an operator's calls take as arguments."""

    name: str
    size: int
    blobs: int


@dataclass(frozen=True, repr=False)
class Size(Answer):
    """The parts of a file. Their sizes add up to `file_size`."""

    file_size: int
    parts: Answers[SizePart]
    methods: Answers[MethodSize]
    scalar_types: Answers[ScalarTypeSize]
    operators: Answers[OperatorSize]
    errors: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Idle(Answer):
    """A period in which a tensor's bytes are not needed."""

    first: int
    """The first time."""
    last: int
    """The last time, which is an instruction's."""


@dataclass(frozen=True, repr=False)
class PlannedTensor(Answer):
    """A tensor in planned memory."""

    value: int
    name: str | None
    offset: int
    """The offset from the buffer's start."""
    size: int
    first: int
    """The first time at which its bytes are needed: an instruction's, or -1 for an input."""
    last: int
    """The last time at which its bytes are needed: an instruction's, or the number of instructions for an output."""
    kept: bool
    """`True` if its bytes are kept between runs."""
    scalar_type: ScalarType
    sizes: tuple[int, ...]
    dim_order: tuple[int, ...]
    shape_dynamism: ScalarType
    named_by: str | None
    """The source of the name: `file`."""
    made_by: str | None
    """The instruction that first writes it, if names are known."""
    last_used_by: str | None
    """The last instruction that needs it, if names are known."""
    module: str | None
    """The path of the module of the instruction that first writes it, if known."""
    replaces: tuple[int, ...]
    views: tuple[int, ...]
    shares_with: tuple[int, ...]
    idle: Answers[Idle]


@dataclass(frozen=True, repr=False)
class Arena(Answer):
    """A planned buffer."""

    memory_id: int
    size: int
    device_type: ScalarType
    device_index: int


@dataclass(frozen=True, repr=False)
class Buffer(Answer):
    """A planned buffer of one method, with its tensors."""

    memory_id: int
    size: int
    device_type: ScalarType
    device_index: int
    needed: int
    """The maximum number of bytes needed at the same time."""
    needed_at: int
    """The first time at which that many bytes are needed."""
    lost: int
    tensors: Answers[PlannedTensor]


@dataclass(frozen=True, repr=False)
class Assumed(Answer):
    """Calls that an assumption was made about."""

    name: str | None
    calls: int
    why: str


@dataclass(frozen=True, repr=False)
class MethodMemory(Answer):
    """The planned memory of a method."""

    name: str
    instructions: int
    size: int
    buffers: Answers[Buffer]
    unused: int
    jumps: bool
    not_counted: tuple[str, ...]
    """The backends that it calls, whose own memory is not stated in files."""
    assumed: Answers[Assumed]

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
    arenas: Answers[Arena]
    errors: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class KernelTensor(Answer):
    """The type of a kernel's argument."""

    scalar_type: ScalarType
    dim_order: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class Kernel(Answer):
    """An operator's implementation for types and dim orders."""

    name: str
    calls: int
    tensors: Answers[KernelTensor]


@dataclass(frozen=True, repr=False)
class Operator(Answer):
    """An operator, with its overload."""

    name: str
    calls: int
    kernels: Answers[Kernel]


@dataclass(frozen=True, repr=False)
class Count(Answer):
    """A name, with its number of calls."""

    name: str
    calls: int


@dataclass(frozen=True, repr=False)
class Backend(Answer):
    """A backend that runs parts of methods."""

    name: str
    delegates: int
    calls: int
    operators: Answers[Count]
    """The operators inside its payloads, if they can be read."""


@dataclass(frozen=True, repr=False)
class Operators(Answer):
    """The operators and backends that a program needs."""

    operators: Answers[Operator]
    backends: Answers[Backend]
    errors: tuple[str, ...]

    def names(self) -> tuple[str, ...]:
        """Returns the names of the operators."""
        return tuple(operator.name for operator in self.operators)


@dataclass(frozen=True, repr=False)
class Place(Answer):
    """The place of a tensor's bytes."""

    kind: str
    """`runtime` (given at run time), `planned`, `constant`, `initial_state` (with an initial state) or `external`."""
    buffer: int | None = None
    """The planned buffer, from 1."""
    offset: int | None = None
    """The offset from that buffer's start."""
    index: int | None = None
    """The index of the constant or initial state."""
    key: str | None = None
    """The name in a `.ptd`."""
    data: Any = None
    """The segment or the constant buffer, with the offset and size in it."""

    @classmethod
    def _of(cls, data: Any) -> Place:
        if isinstance(data, str):
            return cls(data)
        ((kind, fields),) = data.items()
        return cls(kind, **frozen(fields))


@dataclass(frozen=True, repr=False)
class Value(Answer):
    """A value of a method."""

    index: int
    type: str | None
    """The schema's name of its type, such as `Tensor` or `Int`."""
    name: str | None
    """The name of a weight."""
    named_by: str | None
    """The source of the name: `file`, `record`, `state_dict`, `input` or `operator`."""
    scalar_type: ScalarType | None
    sizes: tuple[int, ...] | None
    dim_order: tuple[int, ...] | None
    shape_dynamism: ScalarType | None
    place: Place | None
    constant: Any
    """The number, string or list."""
    items: tuple[int, ...] | None
    """The values of a list: indices, or -1 for a missing value."""
    written: bool
    """`True` if an instruction writes it."""


@dataclass(frozen=True, repr=False)
class Argument(Answer):
    """An argument of an instruction."""

    name: str | None
    value: int
    """The index into the method's values."""
    output: bool
    in_place: bool
    view_of: int | None


@dataclass(frozen=True, repr=False)
class Frame(Answer):
    """A Python call that led to an instruction."""

    filename: str | None
    lineno: int
    name: str | None
    context: str | None


@dataclass(frozen=True, repr=False)
class SourceLine(Answer):
    """A line of the model's source."""

    file: str
    line: int
    function: str
    text: str | None
    """The line itself."""


@dataclass(frozen=True, repr=False)
class Instruction(Answer):
    """An instruction. Fields that do not apply to its `operation` are `None`."""

    chain: int
    index: int
    """The index in the chain."""
    operation: str
    """`kernel`, `delegate`, `move`, `jump_false`, `free` or `unknown`."""
    operator: str | None
    overload: str | None
    backend: str | None
    delegate: int | None
    arguments: Answers[Argument]
    from_: int | None
    to: int | None
    condition: int | None
    destination: int | None
    value: int | None
    jumped_to: bool
    assumed: str | None
    """The reason why `output` of its arguments is only assumed."""
    label: str | None
    """Its operator or backend, and the number of such instructions before it: `convolution.3`."""
    module: str | None
    """The path of the module that it comes from, if known."""
    source: SourceLine | None
    """The line of the model's source that it comes from, if known."""
    stack: Answers[Frame]
    """The Python calls that led to it, outermost first, if the file has them."""


@dataclass(frozen=True, repr=False)
class CompileSpec(Answer):
    """A compile spec of a delegate."""

    key: str
    text: str | None
    """The value, if it is text."""
    size: int


@dataclass(frozen=True, repr=False)
class InsideArgument(Answer):
    """An argument of a node inside a delegate."""

    name: str
    id: int
    output: bool
    tensor: str
    """The datatype and dimensions."""
    argument: int | None
    """The index among the delegate's arguments."""
    constant: bool


@dataclass(frozen=True, repr=False)
class InsideNode(Answer):
    """A node inside a delegate."""

    operator: str
    arguments: Answers[InsideArgument]


@dataclass(frozen=True, repr=False)
class DelegateGraph(Answer):
    """The contents of a delegate's payload."""

    kind: str
    """`xnnpack`, `vulkan`, `ethos_u`, `core_ml` or `opaque`."""
    nodes: Answers[InsideNode]
    """The nodes in execution order; only for XNNPACK."""
    content: Any
    """The payload as a tree, with its schema's names; the size of an opaque payload."""


@dataclass(frozen=True, repr=False)
class GraphArgument(Answer):
    """An input or output of a node of a graph."""

    value: int
    name: str | None
    tensor_name: str | None
    """The name of a tensor, if names are known."""
    named_by: str | None
    """The source of the name."""
    text: str
    """The type and shape."""
    output: bool
    weight: bool | None
    """`True` if it is data in the file or a `.ptd`, also inside a delegate."""
    place: Place | None


@dataclass(frozen=True, repr=False)
class GraphNode(Answer):
    """An instruction, or an input, state or output of the method."""

    kind: str
    label: str
    name: str | None
    """The label of its instruction, such as `convolution.3`, or the name of an input or output, if known."""
    module: str | None
    """The path of the module that it comes from, if known."""
    delegate: str | None
    """The backend of the delegate that the node is in."""
    chain: int | None
    instruction: int | None
    source: str | None
    """The place in the Python source, if the file has it: `model.py:12 forward`."""
    arguments: Answers[GraphArgument]


@dataclass(frozen=True, repr=False)
class GraphEdge(Answer):
    """A value from one node to another, by the nodes' indices."""

    from_: int
    to: int
    value: int | None
    view: bool | None


@dataclass(frozen=True, repr=False)
class Graph(Answer):
    """A method as a graph."""

    method: str
    nodes: Answers[GraphNode]
    edges: Answers[GraphEdge]
    incomplete: str | None
    """The reasons why some edges may be missing or wrong."""


@dataclass(frozen=True, repr=False)
class Distance(Answer):
    """The distance between the values of two tensors of the same shape."""

    elements: int
    changed: int
    """The number of elements that differ."""
    unbounded: int
    """The number of elements that differ without a distance, because one of the two is infinite or NaN."""
    absolute: float
    """The largest absolute difference of two finite elements."""
    relative: float
    """The largest difference relative to the larger of the two elements."""
    cosine: float | None
    """The cosine similarity of the two tensors."""


@dataclass(frozen=True, repr=False)
class Difference(Answer):
    """A difference between two files."""

    subject: str
    kind: str
    """`added`, `removed` or `changed`."""
    method: str | None
    name: str
    tensor_name: str | None
    """The model's name of the tensor or instruction, if known."""
    named_by: str | None
    module: str | None
    before: str | None
    after: str | None
    distance: Distance | None
    """The distance between the values, if requested."""


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
    """The operator, delegate or other kind of instruction that an instruction runs, according to the program."""

    operator: str | None
    backend: str | None
    delegate: int | None
    """The index into the method's delegates."""
    instruction_kind: str | None


@dataclass(frozen=True, repr=False)
class ProfiledNode(Answer):
    """A node of an XNNPACK graph."""

    index: int
    operator: str
    """The schema's name, such as `XNNFullyConnected`."""


@dataclass(frozen=True, repr=False)
class Event(Answer):
    """An event in a run."""

    kind: str
    name: str
    delegate_debug_id: int | None
    """The delegate's own identifier of the event."""
    chain: int | None
    instruction: int | None
    label: str | None
    """The label of its instruction, such as `convolution.3`, if names are known."""
    module: str | None
    """The path of the module that it comes from, if known."""
    runs: EventTarget | None
    node: ProfiledNode | None
    """The node of an XNNPACK graph that it measures, if the numbers of events and nodes of a kind match."""
    count: int
    total: int
    min: int
    median: float
    mean: float
    max: int
    share: float


@dataclass(frozen=True, repr=False)
class Run(Answer):
    """The times of a name in a trace, over all its runs. Times are in ticks, which are nanoseconds in ExecuTorch's own runners."""

    name: str
    test_case: int | None
    method: str | None
    count: int
    total: int
    in_delegates: int
    """Ticks in calls of delegates."""
    in_other_instructions: int
    """Ticks in other instructions."""
    events: Answers[Event]


@dataclass(frozen=True, repr=False)
class Profile(Answer):
    """The times of a trace."""

    runs: Answers[Run]
    errors: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Reason(Answer):
    """A reason for the behaviour of a release."""

    name: str
    path: str
    message: str


@dataclass(frozen=True, repr=False)
class Support(Answer):
    """The behaviour of a release with one part of a file."""

    behaviour: str
    because: Reason | None


@dataclass(frozen=True, repr=False)
class NeededKernels(Answer):
    """The kernels that a program needs from a library other than the portable one."""

    library: str
    """The library's name, or `custom`."""
    operators: tuple[str, ...]
    """The first kernels, at most 100."""
    count: int


@dataclass(frozen=True, repr=False)
class Release(Answer):
    """The behaviour of a release of ExecuTorch's runtime with a file."""

    release: str
    """The first two numbers, such as `1.5`: use `version` to compare releases."""
    behaviour: str
    """`loads`, `unknown`, `miscomputes` (loads it, but computes wrong results), `refuses` or `dies`."""
    because: Reason | None
    format: Support
    operators: Support
    delegates: Support
    kernels: Answers[NeededKernels]
    """The required kernels from libraries other than the portable one."""

    @property
    def version(self) -> tuple[int, ...]:
        """The numbers of the release, which compare in the order of releases: `(1, 10)` is after `(1, 5)`, but `"1.10"` is before `"1.5"`."""
        return tuple(map(int, self.release.split(".")))


@dataclass(frozen=True, repr=False)
class LoadsIn(Answer):
    """The releases that load a file."""

    outcome: str
    """`loads`: the releases of `ranges` load it; `none`: no release loads it; `unknown`: no release is known to load it."""
    ranges: tuple[tuple[str, str], ...]
    """The first and last release of each range."""
    unknown: tuple[tuple[str, str], ...]
    """The ranges of releases whose behaviour is unknown."""
    checked: tuple[str, ...]
    not_checked: str | None
    kernels: Answers[NeededKernels]
    """The required kernels from libraries other than the portable one."""


@dataclass(frozen=True, repr=False)
class Saving(Answer):
    """Something that can be removed from a file."""

    kind: str
    size: int
    command: str
    """The subcommand of `pte` that removes it."""
    options: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class ChangeUser(Answer):
    """A reference to a changed blob: a method's value, a method's delegate, or a key."""

    method: str | None
    value: int | None
    delegate: int | None
    key: str | None


@dataclass(frozen=True, repr=False)
class Change(Answer):
    """One blob, or other part of a file, that an edit changed."""

    action: str
    subject: str
    name: str
    users: Answers[ChangeUser]
    """All users of it."""
    others: Answers[ChangeUser]
    """Users that shared the old bytes and keep them."""
    size_before: int
    size_after: int


@dataclass(frozen=True, repr=False)
class EditReport(Answer):
    """The result of an edit."""

    changes: Answers[Change]
    notes: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Skipped(Answer):
    """An entry that was left out because safetensors does not support it."""

    kind: str
    name: str
    reason: str


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
