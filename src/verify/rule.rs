//! The rules: each has a stable name, a level, a severity, the effect of a violation on the newest runtime, and a description of the faults
//! that it protects from.

use super::history::{HISTORIES, History};
use super::outcome::Outcome;
use super::release::{Behaviour, Release};
use super::{Level, Severity};

/// A rule that a file can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Rule {
    /// The name, which does not change between releases.
    #[serde(rename = "rule")]
    pub name: &'static str,
    /// The lowest level that checks the rule. Violations that the runtime accepts in some circumstances are reported only at the
    /// strict level.
    pub level: Level,
    /// The severity of a violation.
    pub severity: Severity,
    /// The behaviour of ExecuTorch's newest release with a file that breaks the rule; [`Outcome::Runs`] if only other readers are concerned. A
    /// violation that is less severe than the rule has an [unknown](Outcome::Unknown) outcome.
    pub outcome: Outcome,
    /// The danger: a defect in the file, or the behaviour of a reader that does not check the rule.
    pub protects_from: &'static str,
    /// The corresponding published vulnerability of the official runtime: one number, or several separated by commas.
    pub cve: Option<&'static str>,
    /// Computed at compile time, so that the text of a finding does not need the histories.
    #[serde(skip)]
    refused_since: Option<Release>,
}

impl Rule {
    /// Returns the behaviour of each release with files that break the rule: one history for each kind of violation. Empty if the rule
    /// was not tested.
    pub fn histories(&self) -> impl Iterator<Item = &'static History> {
        let name = self.name;
        HISTORIES.iter().filter(move |history| history.rule == name)
    }

    /// Returns the severity and the outcome of its violations, unless a finding has others.
    pub(super) fn effect(&self) -> (Severity, Outcome) {
        (self.severity, self.outcome)
    }

    /// Returns the first release from which on all releases refuse to load or to run such a file; `None` if that is unknown or
    /// differs between files.
    pub fn refused_since(&self) -> Option<Release> {
        self.refused_since
    }
}

/// Returns the value of [`Rule::refused_since`], from the rule's only history.
const fn refused_since(rule: &str) -> Option<Release> {
    let (mut found, mut left) = (None, HISTORIES);
    while let [history, rest @ ..] = left {
        left = rest;
        if !is_same(history.rule.as_bytes(), rule.as_bytes()) {
            continue;
        }
        if found.is_some() {
            return None;
        }
        found = Some(history);
    }
    match found {
        Some(History { refused_when_run_since: Some(since), .. }) => Some(*since),
        Some(History { since: [.., (since, Behaviour::Refuses)], .. }) => Some(*since),
        _ => None,
    }
}

const fn is_same(mut left: &[u8], mut right: &[u8]) -> bool {
    while let ([a, rest @ ..], [b, others @ ..]) = (left, right) {
        if *a != *b {
            return false;
        }
        (left, right) = (rest, others);
    }
    left.is_empty() && right.is_empty()
}

macro_rules! rules {
    ($( $ident:ident $name:literal $level:ident $severity:ident $outcome:ident $(($cve:literal))? $protects:literal )*) => {
        $(
            pub(crate) const $ident: &Rule = &Rule {
                name: $name,
                level: Level::$level,
                severity: Severity::$severity,
                outcome: Outcome::$outcome,
                protects_from: $protects,
                cve: rules!(@ $($cve)?),
                refused_since: refused_since($name),
            };
        )*

        /// All rules, by level. The runtime level includes faults that the official runtime does not check and that crash it while
        /// it loads a file, so a file that passes this level loads.
        ///
        /// | rule | level | severity | outcome | what it protects from |
        /// |---|---|---|---|---|
        $(
            #[doc = concat!("| `", $name, "` | ", stringify!($level), " | ", stringify!($severity), " | ", stringify!($outcome), " | ", $protects, " |")]
        )*
        pub const RULES: &[&Rule] = &[$($ident),*];
    };
    (@) => { None };
    (@ $cve:literal) => { Some($cve) };
}

rules! {
    // The names at the structure level are those that `ErrorKind::rule` returns.
    IDENTIFIER "identifier" Structure Error DoesNotLoad "reading another kind of file, or another version of the format, as this one"
    TRUNCATED "truncated" Structure Error DoesNotLoad "reading past the end of a file that was cut off"
    EXTENDED_HEADER "extended-header" Structure Error DoesNotLoad "sizes and offsets in the header that overflow or contradict the file"
    OFFSET "offset" Structure Error DoesNotLoad "following an offset that points outside the FlatBuffer, including the root offset"
    VTABLE "vtable" Structure Error DoesNotLoad "reading fields through a vtable that is out of range"
    TABLE "table" Structure Error DoesNotLoad "reading a field that is misaligned or outside the FlatBuffer"
    VECTOR "vector" Structure Error DoesNotLoad "a vector whose size overflows or exceeds the FlatBuffer"
    STRING "string" Structure Error DoesNotLoad "reading past the end of a string that has no terminating NUL"
    LIMIT "limit" Structure Error DoesNotLoad "unbounded work on a small file whose parts are shared many times"

    TABLE_LIMIT "table-limit" Runtime Error DoesNotLoad "a program with more than a million tables, which the runtime's FlatBuffers verifier refuses"
    PROGRAM_VERSION "program-version" Runtime Error DoesNotLoad "a program whose schema version is not 0, the only version so far"
    EXECUTION_PLAN "execution-plan" Runtime Error DoesNotLoad "a program without a list of methods"
    CONSTANT_BUFFER "constant-buffer" Runtime Error DoesNotLoad "constants inside the FlatBuffer (before ExecuTorch 0.4), which the 1.5 release cannot read"
    CONSTANTS_TWICE "constants-twice" Runtime Error DoesNotLoad "constants both inside the FlatBuffer and in a segment: readers differ in which they use"
    CONSTANT_SEGMENT "constant-segment" Runtime Error DoesNotLoad "a constant segment that is not in the list of segments"
    NAMED_DATA_SEGMENT "named-data-segment" Runtime Error DoesNotLoad "a named blob in a segment that is not in the list of segments"
    NAMED_DATA_KEY "named-data-key" Runtime Error DoesNotLoad "a named blob whose key is absent, which the runtime compares"
    SEGMENT_BOUNDS "segment-bounds" Runtime Error DoesNotLoad "loading a segment that ends after the end of the file"
    SEGMENT_DATA_SIZE "segment-data-size" Runtime Error DoesNotLoad "a segment that ends after the data size in the header; in a .pte, checked at the strict level only"
    SEGMENT_BASE "segment-base" Runtime Error DoesNotLoad "segments in a file whose header does not say where they start"

    PLAN_NAME "plan-name" Runtime Error DoesNotLoad "a method whose name is absent, which the runtime compares"
    PLAN_FIELD "plan-field" Runtime Error DoesNotLoad "a method with an absent list that the runtime reads"
    ENCODED_OUTPUT "encoded-output" Runtime Warning Runs "a method that does not describe the structure of its outputs"
    PLANNED_BUFFER_SIZE "planned-buffer-size" Runtime Error DoesNotLoad "a planned buffer with a negative size"
    CHAINS "chains" Runtime Error DoesNotLoad "a method without a chain of instructions"
    INSTRUCTIONS "instructions" Runtime Error DoesNotLoad "a chain whose list of instructions is absent"
    INPUT_OUTPUT_INDEX "input-output-index" Runtime Error DoesNotLoad "an input or output that is not a value of the method"

    VALUE_KIND "value-kind" Runtime Error DoesNotLoad "a value without content, or of a kind that the runtime does not know"
    VALUE_CONTENT "value-content" Runtime Error DoesNotLoad "a list without items, or a string without text"
    LIST_ITEM_INDEX "list-item-index" Runtime Error DoesNotLoad "a list item that is not a value of the method"
    LIST_ITEM_KIND "list-item-kind" Runtime Error DoesNotLoad "an item of a tensor list that is not a tensor"

    LIST_ITEM_ORDER "list-item-order" Runtime Error DoesNotLoad "a tensor list that the runtime creates before one of its tensors"
    TENSOR_SHAPE "tensor-shape" Runtime Error DoesNotLoad "a tensor whose sizes or dim order are absent"
    TENSOR_RANK "tensor-rank" Runtime Error DoesNotLoad ("CVE-2025-54951") "a tensor of more than 16 dimensions, which overflows the runtime's arrays"
    TENSOR_SIZE "tensor-size" Runtime Error DoesNotLoad "a negative size, which becomes a huge unsigned number"
    TENSOR_ELEMENTS "tensor-elements" Runtime Error DoesNotLoad ("CVE-2025-30402") "a number of elements that overflows, which makes the buffer too small"
    TENSOR_BYTES "tensor-bytes" Runtime Error DoesNotLoad ("CVE-2025-54952") "a size in bytes that overflows, which makes the buffer too small"
    TENSOR_SCALAR_TYPE "tensor-scalar-type" Runtime Error DoesNotLoad "a tensor with a scalar type that the runtime does not know"
    TENSOR_STORAGE_OFFSET "tensor-storage-offset" Runtime Error DoesNotLoad "a tensor with a storage offset, which the runtime does not support"
    TENSOR_UNBOUNDED "tensor-unbounded" Runtime Error DoesNotLoad "a dynamic shape without an upper bound, which the runtime does not support"
    DIM_ORDER_LENGTH "dim-order-length" Runtime Error DoesNotLoad "reading past the end of the dim order"
    DIM_ORDER "dim-order" Runtime Error DoesNotLoad "wrong strides from a dim order that is not a permutation of the dimensions"

    CONSTANT_INDEX "constant-index" Runtime Error DoesNotLoad "a tensor whose constant is not in the list of constants"
    CONSTANT_BOUNDS "constant-bounds" Runtime Error DoesNotLoad "reading a constant past the end of its segment or of its inline storage"
    INITIAL_STATE_INDEX "initial-state-index" Runtime Error DoesNotLoad "a tensor whose initial state is not in the list of initial states"
    INITIAL_STATE_BOUNDS "initial-state-bounds" Runtime Error DoesNotLoad "reading an initial state past the end of its segment"
    EXTERNAL_NAME "external-name" Runtime Error DoesNotLoad "an external tensor without the name by which it is looked up"
    EXTERNAL_MISSING "external-missing" Runtime Error Missing "an external tensor that is in none of the .ptd files"
    EXTERNAL_UNCHECKED "external-unchecked" Runtime Warning Missing "external tensors that were not checked because no .ptd file was given: without one, the runtime refuses the method"
    EXTERNAL_LAYOUT "external-layout" Runtime Error DoesNotLoad "an external tensor whose scalar type or shape differs from that in the .ptd file"

    PLANNED_MEMORY_INDEX "planned-memory-index" Runtime Error DoesNotLoad "a tensor in a planned buffer that does not exist"
    PLANNED_MEMORY_OVERFLOW "planned-memory-overflow" Runtime Error DoesNotLoad ("CVE-2025-30404, CVE-2025-30405") "an offset that overflows, which puts the tensor outside its planned buffer"
    PLANNED_MEMORY_BOUNDS "planned-memory-bounds" Runtime Error DoesNotLoad "a tensor that ends after the end of its planned buffer"

    DELEGATE_ID "delegate-id" Runtime Error DoesNotLoad "looking up a backend whose name is absent"
    DELEGATE_LOCATION "delegate-location" Runtime Error DoesNotLoad "a delegate's payload that is neither inline nor in a segment"
    DELEGATE_INDEX "delegate-index" Runtime Error DoesNotLoad "a delegate's payload that is not in the list it refers to"

    DELEGATE_PROCESSED "delegate-processed" Runtime Error DoesNotLoad "a delegate without a reference to its payload"
    DELEGATE_INLINE_DATA "delegate-inline-data" Runtime Error DoesNotLoad "a delegate's inline payload whose bytes are absent"
    COMPILE_SPEC "compile-spec" Runtime Error DoesNotLoad "a compile spec whose value is absent, which the runtime reads"
    INSTRUCTION_KIND "instruction-kind" Runtime Error DoesNotLoad "an instruction without arguments, or of a kind that the runtime does not know"
    ARGUMENTS "arguments" Runtime Error DoesNotLoad "a call whose list of arguments is absent"
    ARGUMENT_INDEX "argument-index" Runtime Error DoesNotLoad "an argument that is not a value of the method"
    OPERATOR_INDEX "operator-index" Runtime Error DoesNotLoad "a call of an operator that is not in the list of operators"
    OPERATOR_NAME "operator-name" Runtime Error DoesNotLoad "an operator whose name is absent, or longer than the runtime's limit of 99 bytes"
    MOVE_INDEX "move-index" Runtime Error DoesNotLoad "moving from or to something that is not a value of the method"
    FREE_INDEX "free-index" Runtime Error DoesNotLoad "freeing something that is not a value of the method"
    FREE_KIND "free-kind" Runtime Error DoesNotLoad "freeing a value that is not a tensor"
    JUMP_CONDITION_INDEX "jump-condition-index" Runtime Error DoesNotLoad "a jump condition that is not a value of the method"
    JUMP_CONDITION_KIND "jump-condition-kind" Runtime Error DoesNotLoad "a jump condition that is not a bool"

    XNNPACK_PAYLOAD "xnnpack-payload" Runtime Error DoesNotLoad "a payload for XNNPACK of another kind, or whose header points outside it"
    XNNPACK_GRAPH "xnnpack-graph" Runtime Error DoesNotLoad "an XNNPACK graph without nodes or values, or with more than 4096 externals"
    XNNPACK_UNION "xnnpack-union" Runtime Error DoesNotLoad "an XNNPACK node, value or quantization that is absent or of an unknown kind"
    XNNPACK_DATATYPE "xnnpack-datatype" Runtime Error DoesNotLoad "an XNNPACK value whose datatype is unknown or does not fit its quantization"
    XNNPACK_SHAPE "xnnpack-shape" Runtime Error DoesNotLoad "an XNNPACK value of more than 6 dimensions, or whose size overflows"
    XNNPACK_FLAGS "xnnpack-flags" Runtime Error DoesNotLoad "an XNNPACK value with unknown flags"
    XNNPACK_EXTERNAL_ID "xnnpack-external-id" Runtime Error DoesNotLoad "an XNNPACK input or output that is not an argument of the call"
    XNNPACK_VALUE_ID "xnnpack-value-id" Runtime Error DoesNotLoad "an XNNPACK node that names a value that does not exist"
    XNNPACK_CONSTANT_INDEX "xnnpack-constant-index" Runtime Error DoesNotLoad "an XNNPACK constant that is not in the list of constants"
    XNNPACK_CONSTANT_BOUNDS "xnnpack-constant-bounds" Runtime Error DoesNotLoad "reading an XNNPACK constant past the end of its data"
    XNNPACK_CONSTANT_KEY "xnnpack-constant-key" Runtime Error Missing "an XNNPACK constant whose key is in none of the files"
    XNNPACK_UNCHECKED "xnnpack-unchecked" Runtime Warning Missing "XNNPACK constants that were not checked because no .ptd file was given: without one, the runtime refuses the method or crashes"
    XNNPACK_QUANTIZATION "xnnpack-quantization" Runtime Error DoesNotLoad "a dimension, group size or zero point of an XNNPACK quantization that is out of range"
    XNNPACK_SCALES "xnnpack-scales" Runtime Error DoesNotLoad "XNNPACK scales that are absent, too few, or not positive numbers"
    XNNPACK_NODE "xnnpack-node" Runtime Error DoesNotLoad "an XNNPACK node whose settings are absent, out of range, or contradict each other"
    XNNPACK_NODE_DATATYPES "xnnpack-node-datatypes" Runtime Error DoesNotLoad "an XNNPACK node with datatypes for which XNNPACK has no operator"
    XNNPACK_WEIGHTS "xnnpack-weights" Runtime Error DoesNotLoad "XNNPACK weights or a bias without data, or of a shape that XNNPACK refuses"
    XNNPACK_CLAMP_DATATYPES "xnnpack-clamp-datatypes" Runtime Error Miscomputes "an XNNPACK clamp without limits from one datatype to another: the runtime converts with uninitialized parameters"
    XNNPACK_PADDING "xnnpack-padding" Runtime Error DoesNotLoad "an XNNPACK node with fewer paddings than its input has dimensions: the runtime reads past the end of the list"
    XNNPACK_OUTPUT "xnnpack-output" Runtime Error DoesNotLoad "an XNNPACK node that writes over a constant, an input, or a value that has been read, or has a second output that nothing reads: the runtime has no memory for it"
    XNNPACK_DYNAMIC "xnnpack-dynamic" Runtime Error DoesNotLoad "values quantized at run time that an XNNPACK node multiplies although no XNNConvert produces them"
    XNNPACK_CHAIN "xnnpack-chain" Runtime Error DoesNotLoad "ten or more elementwise XNNPACK nodes in a row on 8-bit values: the runtime writes past the end of its list"
    XNNPACK_CYCLE "xnnpack-cycle" Runtime Error DoesNotLoad "XNNPACK nodes that depend on each other's results: the runtime sorts them by uninitialized numbers"
    XNNPACK_EMPTY_OUTPUT "xnnpack-empty-output" Runtime Error Dies "a transposed convolution in XNNPACK whose output has no element, which divides by zero"
    XNNPACK_ARGUMENT_SIZE "xnnpack-argument-size" Runtime Error Dies "an argument with smaller elements than XNNPACK expects: it reads or writes past the end"
    XNNPACK_ARGUMENTS "xnnpack-arguments" Runtime Error Dies "a call that passes a delegate too few arguments for its XNNPACK graph, or one that is not a tensor"

    PTD_HEADER "ptd-header" Runtime Error DoesNotLoad "a .ptd file without an extended header, which the runtime does not read"
    PTD_VERSION "ptd-version" Runtime Error DoesNotLoad "a .ptd file whose schema version is not 0, the only version so far"
    PTD_SCHEMA "ptd-schema" Runtime Error DoesNotLoad "a .ptd file in an early schema, in which the runtime finds no data"
    PTD_FIELD "ptd-field" Runtime Error DoesNotLoad "a .ptd file in which a list is absent"
    LAYOUT_SHAPE "layout-shape" Runtime Error DoesNotLoad "a tensor in a .ptd file whose sizes or dim order are absent"
    LAYOUT_SIZE "layout-size" Runtime Error DoesNotLoad "a tensor in a .ptd file with a negative size"
    LAYOUT_BYTES "layout-bytes" Runtime Error DoesNotLoad "a tensor in a .ptd file whose size in bytes overflows"
    LAYOUT_SCALAR_TYPE "layout-scalar-type" Runtime Error DoesNotLoad "a tensor in a .ptd file with an unknown scalar type"
    LAYOUT_DIM_ORDER_LENGTH "layout-dim-order-length" Runtime Error DoesNotLoad "reading past the end of the dim order of a tensor in a .ptd file"
    LAYOUT_DIM_ORDER_RANGE "layout-dim-order-range" Runtime Error DoesNotLoad "a dim order in a .ptd file that contains a dimension out of range"
    BUNDLE_FIELD "bundle-field" Runtime Error Runs "an absent part of a bundle, which the runtime reads without a check"
    BUNDLE_COUNT "bundle-count" Runtime Error Runs "a test case with too few inputs or expected outputs: the runtime reads past the end of the list"
    BUNDLE_DATA "bundle-data" Runtime Error Runs "a tensor of a test case with too few bytes: the runtime reads past their end"

    COMPILE_SPECS "compile-specs" Strict Warning Runs "a list of compile specs, or the key of one, that is absent: runtimes before 1.3 crash without the list"
    TENSOR_MEMORY "tensor-memory" Strict Error Dies "a tensor that an instruction uses and that has no memory: kernels dereference a null pointer"
    USE_AFTER_FREE "use-after-free" Strict Error Dies "a tensor that is used after its memory was freed: kernels and delegates dereference a null pointer"
    FREE_USED "free-used" Strict Error Dies "freeing an input, an output or a constant, which is used outside the run"
    ENDLESS_LOOP "endless-loop" Strict Error Dies "a loop that a run never leaves"
    DELEGATE_CALL_INDEX "delegate-call-index" Strict Error RefusesCall "a call of a delegate that is not in the list of delegates, which the runtime notices only when it runs"
    UNKNOWN_ENUM "unknown-enum" Strict Error Unknown "an unknown enum value, which a reader may take for another one"
    HEADER_LENGTH "header-length" Strict Error Runs "a header that extends past the metadata"
    SEGMENTS_IN_METADATA "segments-in-metadata" Strict Error Runs "segments that start inside the metadata"
    INPUT_OUTPUT_KIND "input-output-kind" Strict Error RefusesCall "an input or output of a kind that the runtime cannot pass in or out"
    INT_LIST_ITEM_KIND "int-list-item-kind" Strict Error Dies "an item of an integer list that is not an integer, which the runtime notices only when it runs"
    MOVE_KIND "move-kind" Strict Error Dies "a move that changes the kind of a value, which later instructions do not expect"
    JUMP_DESTINATION "jump-destination" Strict Error Miscomputes "a jump out of the chain, or to itself in an endless loop"
    PRIM_ARGUMENTS "prim-arguments" Strict Error RefusesCall ("CVE-2025-54950") "a built-in operator called with the wrong number of arguments, which it does not check"
    COPY_INDEX "copy-index" Strict Error RefusesCall ("CVE-2025-54949") "the built-in copy of a tensor into part of another, past the end of the other"
    OPERATOR_WITHOUT_KERNEL "operator-without-kernel" Strict Warning Missing "an operator in one of ExecuTorch's own namespaces that no library of the newest release has: the method is refused when it is loaded, unless the application registers a kernel"
    KERNEL_DIM_ORDER "kernel-dim-order" Strict Error RefusesCall "a call whose tensors have dim orders that the kernel refuses when it runs (a warning where only portable or only optimized kernels do)"
    TRAINING_MODE "training-mode" Strict Warning Miscomputes "an operator in training mode in a program for inference: dropout gives other outputs in each run, and a batch norm uses and changes the statistics of its inputs"
    KERNEL_WRONG_VALUES "kernel-wrong-values" Strict Warning Miscomputes "a call for which the kernel computes other numbers, without an error: because of its dim orders, or of a fault of the kernel"
    KERNEL_ARGUMENT_KIND "kernel-argument-kind" Strict Error Dies "an argument of another kind than the kernel takes, which ends the process when the call runs"
    KERNEL_ARGUMENT_COUNT "kernel-argument-count" Strict Error RefusesCall "a call with more or fewer arguments than the kernel takes, which is refused when it runs"
    KERNEL_RANK "kernel-rank" Strict Error RefusesCall "a tensor of a rank that the kernel refuses when it runs (a warning where only portable or only optimized kernels do)"
    KERNEL_TYPE "kernel-type" Strict Error RefusesCall "a tensor of a scalar type that the kernel refuses when it runs, alone or beside the others (a warning where only portable or only optimized kernels do)"
    KERNEL_SHAPE "kernel-shape" Strict Error RefusesCall "tensors of sizes that the kernel refuses when it runs, or a result without room for what it computes (a warning if that is so only at the upper bounds of sizes)"
    KERNEL_SETTING "kernel-setting" Strict Error RefusesCall "a setting that the kernel refuses when it runs: a dimension, stride, mode, limit or the like out of range, a list of wrong length, or Null where a value is required"
    STACK_TRACE "stack-trace" Strict Error Runs "more stack traces than instructions"

    KEY_IN_TWO_FILES "key-in-two-files" Strict Error Unknown "a key that is in two files: readers differ in which they use"
    INITIAL_STATE_LISTS "initial-state-lists" Strict Error Miscomputes "an initial state in a list other than the first, which is the only one that the runtime uses"
    INITIAL_STATE_LISTS_SHARED "initial-state-lists-shared" Strict Error Runs "two lists of initial states in one segment"
    CONSTANT_ALIGNMENT "constant-alignment" Strict Warning Runs "misaligned constants: the exporter aligns them to 16 bytes"
    CONSTANT_PLACEHOLDER "constant-placeholder" Strict Error Runs "an entry 0, which stands for no constant, that is not empty"
    CONSTANT_OVERLAP "constant-overlap" Strict Error Runs "a constant that overlaps the next one"
    SEGMENT_OVERLAP "segment-overlap" Strict Error Runs "two segments that partly overlap"
    SEGMENT_ORDER "segment-order" Strict Error Runs "segments out of order, which readers that stream the file do not expect"
    SEGMENT_UNREFERENCED "segment-unreferenced" Strict Warning Runs "a segment that nothing refers to"
    TRAILING_BYTES "trailing-bytes" Strict Warning Runs "bytes after the last that the file refers to, which can be anything, such as a program"
    METHOD_NAME_UNIQUE "method-name-unique" Strict Error Runs "two methods with the same name: readers differ in which they use"
    KEY_UNIQUE "key-unique" Strict Error Runs "two blobs with the same key: readers differ in which they use"
    NAME_NUL "name-nul" Strict Error Unknown "a name that contains NUL: the runtime reads it as a C string and sees only the start"
    NAME_DECEPTIVE "name-deceptive" Strict Warning Runs "a name with characters that are invisible, reverse the direction of text, or act on a terminal"
    NAME_ALIKE "name-alike" Strict Warning Runs "two names that look alike"
    KEY_EMPTY "key-empty" Strict Error Runs "a blob with an empty key"
    KEY_PREFIX "key-prefix" Strict Warning Runs "a key that is the start of another: runtimes before 1.0 take one for the other"
    LAYOUT_DIM_ORDER "layout-dim-order" Strict Error Unknown "a dim order in a .ptd file that is not a permutation of the dimensions"
    LAYOUT_BLOB_SIZE "layout-blob-size" Strict Error Unknown "a tensor in a .ptd file whose blob has another size"
    PLANNED_MEMORY_OVERLAP "planned-memory-overlap" Strict Error Miscomputes "a tensor that is overwritten while it is still needed"
    VIEW_LAYOUT "view-layout" Strict Error Miscomputes "a view without an instruction of its own whose elements are in another order than in its base: the runtime reads them in the wrong order"
    STALE_VIEW "stale-view" Strict Error Miscomputes "a view by its place alone of a value that a move rebinds: the view is read at a place that does not have the value's bytes"
    SHARED_STATE "shared-state" Strict Warning Runs "a state of two methods that they share only where all methods have the same planned memory, or that neither sees the other change"
    STATE_OVERWRITTEN "state-overwritten" Strict Warning Runs "a state whose bytes another method uses: its runs destroy it where all methods have the same planned memory, as in Python"
    STATE_UNPLANNED "state-unplanned" Strict Warning Dies "a mutable buffer without planned memory, to which the application must give memory: without it, the runtime follows a null pointer"
    EXTERNAL_OUTPUT "external-output" Strict Warning Miscomputes "an output that is a constant of a .ptd file: runners that give outputs memory of their own, as Python's does, replace the constant for the whole method"
    OUTPUT_REBOUND "output-rebound" Strict Error Dies "a move into an output in the caller's memory: from the second run on, the runtime sets the pointer of the moved tensor instead"
    PLANNED_MEMORY_UNKNOWN "planned-memory-unknown" Strict Warning Unknown "overlaps of planned tensors that could not be checked, because it is unknown when the tensors are needed or which tensor one is a view of"
    PLANNED_MEMORY_ALIGNMENT "planned-memory-alignment" Strict Warning Runs "misaligned planned tensors: the exporter aligns them to 16 bytes"
    TEXT_UTF8 "text-utf8" Strict Error Runs "a string that is not UTF-8, which readers in Python and Rust refuse"
    VTABLE_SIZE "vtable-size" Strict Warning Runs "a vtable with an impossible size for itself or its tables"
    VTABLE_ENTRY "vtable-entry" Strict Error Runs "a field that overlaps the offset to its table's vtable"
    VTABLE_SHARED "vtable-shared" Strict Note Runs "vtables shared by tables of different sizes, which readers that trust the inline size refuse"
    VECTOR_ALIGNMENT "vector-alignment" Strict Warning Runs "misaligned elements of a vector, which some machines cannot read in place"
    BOOL "bool" Strict Warning Runs "a bool that is neither 0 nor 1"
    PLANNED_BUFFER_ZERO "planned-buffer-zero" Strict Error Runs "a size for planned buffer 0, which is reserved"
    DEVICE_TYPE "device-type" Strict Error Unknown "an unknown device type"
    DEVICE_INDEX "device-index" Strict Error Unknown "a negative device index other than −1"
    BUFFER_DEVICE_INDEX "buffer-device-index" Strict Error Unknown "a device for a planned buffer that does not exist"
    BUFFER_DEVICE_UNIQUE "buffer-device-unique" Strict Error Unknown "two devices for one planned buffer"
    XNNPACK_HEADER "xnnpack-header" Strict Note Runs "an XNNPACK header that differs from what the official exporter writes"
    XNNPACK_ID "xnnpack-id" Strict Warning Runs "two XNNPACK values with the same id: the runtime uses the first"
    XNNPACK_EXTERNALS "xnnpack-externals" Strict Error Unknown "an argument of a call that belongs to no XNNPACK value, or to two"
    XNNPACK_LISTS "xnnpack-lists" Strict Note Runs "counts and lists of an XNNPACK graph that contradict it and that the runtime does not read"
    XNNPACK_CONSTANTS "xnnpack-constants" Strict Note Runs "XNNPACK constants that no value uses, and an entry 0 that is not empty"
    XNNPACK_CONSTANT_SIZE "xnnpack-constant-size" Strict Error Unknown "an XNNPACK constant that has more or fewer bytes than its value needs"
    XNNPACK_NODE_SHAPE "xnnpack-node-shape" Strict Error RefusesCall "an XNNPACK node whose shapes do not match: the runtime computes shapes again, and refuses to run if it cannot"
    XNNPACK_DATAFLOW "xnnpack-dataflow" Strict Error Unknown "an XNNPACK value that is read before it is written, or written twice"
    XNNPACK_WEIGHTS_SHAPE "xnnpack-weights-shape" Strict Error Miscomputes "XNNPACK weights or a bias of another shape or zero point than their node expects"
    XNNPACK_NODE_FLAGS "xnnpack-node-flags" Strict Error Unknown "an XNNPACK node with flags that it does not have, which the runtime ignores or refuses"
    XNNPACK_CONSTANT_FORM "xnnpack-constant-form" Strict Error Unknown "an XNNPACK constant with both a key and an offset, or misaligned"
    XNNPACK_COMPUTED_WEIGHTS "xnnpack-computed-weights" Strict Warning Unknown "XNNPACK weights that are not constant"
    XNNPACK_CLAMP "xnnpack-clamp" Strict Error Unknown "an XNNPACK node that clamps to an empty range"
    XNNPACK_ARGUMENT_TYPE "xnnpack-argument-type" Strict Error Miscomputes "an argument with another scalar type than the XNNPACK graph expects"
    XNNPACK_ARGUMENT_SHAPE "xnnpack-argument-shape" Strict Warning Unknown "an argument with another shape than the XNNPACK graph expects"
    BUNDLE_METHOD "bundle-method" Strict Error Runs "test cases of a method that the program does not have, or a second list of test cases for a method"
    BUNDLE_VALUE "bundle-value" Strict Error Runs "a test case with a value of another type or shape than the method's, which the runtime refuses to run or compare"
    BUNDLE_DIM_ORDER "bundle-dim-order" Strict Warning Runs "a test case with another dim order than the method's, which the runtime refuses to run: exporters up to 1.5 write such test cases for channels-last inputs"
    ETDUMP_EVENT "etdump-event" Strict Error Runs "an event with no content, or with several kinds of content"
    ETDUMP_TIME "etdump-time" Strict Error Runs "an event that ends before it starts"
    ETDUMP_TENSOR "etdump-tensor" Strict Error Runs "a recorded tensor whose place in the debug buffer is unknown"
    VULKAN_PAYLOAD "vulkan-payload" Strict Error DoesNotLoad "a Vulkan payload whose header or FlatBuffer points outside it"
    VULKAN_GRAPH "vulkan-graph" Strict Error Dies "an index or offset in a Vulkan graph that is out of range"
    ETHOS_U_PAYLOAD "ethos-u-payload" Strict Error Dies "an Ethos-U payload without a block that a run needs, that ends inside one, or whose inputs and outputs are outside its scratch memory, where the runtime copies them without a check"
    AOT_INDUCTOR_PAYLOAD "aot-inductor-payload" Strict Error DoesNotLoad "a payload for CUDA that is broken, or names a tensor that is not inside its storage"
    PAYLOAD_KEY "payload-key" Strict Error Missing "data that a payload looks up by a key that is in none of the files"
    PAYLOAD_UNCHECKED "payload-unchecked" Strict Warning Missing "data that a payload looks up and that was not checked because no .ptd file was given: without one, the backend refuses the method or computes with other data"
    PAYLOAD_DATA "payload-data" Strict Error Unknown "data that a payload looks up by key and that is not what the payload or the key states: of another size, hash, kind or alignment"
    DELEGATE_ARGUMENTS "delegate-arguments" Strict Error Dies "a call of an Ethos-U or Vulkan delegate whose arguments are not those that the payload states: the runtime reads past them, or copies other sizes"
    CORE_ML_PAYLOAD "core-ml-payload" Strict Error DoesNotLoad "a Core ML payload whose list of files is broken or points outside it"
    PAYLOAD_KIND "payload-kind" Strict Error DoesNotLoad "a payload of another backend than the delegate's id says"
    PAYLOAD_UNKNOWN "payload-unknown" Strict Warning Unknown "a payload that does not start like those of its backend"
    ALSO_ZIP "also-zip" Strict Error Runs "a file that is a ZIP archive as well, whose pickles readers of PyTorch's checkpoints would load"
    FOREIGN_FORMAT "foreign-format" Strict Warning Runs "data that begins like a program, an archive, a script or a pickle, in a place where no backend stores one"
    PADDING "padding" Strict Warning Runs "bytes between segments that are not zero although no field describes them"
    NATIVE_CODE "native-code" Strict Warning Runs "machine code that runs when the file is loaded"
}
