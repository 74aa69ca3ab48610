//! The rules: each with its stable name, its level, and what it protects from.

use super::{Level, Severity};

/// A rule that a file can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rule {
    /// Its name, which stays what it is.
    pub name: &'static str,
    /// The level from which on it is checked. Where the runtime takes a breach in some circumstances, those are checked
    /// from the strict level on.
    pub level: Level,
    /// What breaking it means.
    pub severity: Severity,
    /// What it protects from: what a reader that does not check it does.
    pub protects: &'static str,
    /// The published fault of the official runtime that it corresponds to.
    pub cve: Option<Cve>,
}

/// A published fault of the official runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cve {
    /// Its number, or numbers.
    pub id: &'static str,
    /// The first release of ExecuTorch that refuses such a file, as its message in that release's wheel shows; wheels of
    /// 0.6, 0.7, 1.0, 1.1, 1.2 and 1.5 were looked at.
    pub refused_since: &'static str,
}

macro_rules! rules {
    ($( $ident:ident $name:literal $level:ident $severity:ident $(($cve:literal $since:literal))? $protects:literal )*) => {
        $(
            pub(super) const $ident: &Rule = &Rule {
                name: $name,
                level: Level::$level,
                severity: Severity::$severity,
                protects: $protects,
                cve: rules!(@ $($cve $since)?),
            };
        )*

        /// Every rule, by level. What the official runtime does not check when it loads a file, and crashes on there, is a rule of the
        /// runtime level too: a file that passes that level loads.
        pub const RULES: &[&Rule] = &[$($ident),*];
    };
    (@) => { None };
    (@ $cve:literal $since:literal) => { Some(Cve { id: $cve, refused_since: $since }) };
}

rules! {
    // The names are those of `ErrorKind::rule`.
    IDENTIFIER "identifier" Structure Error "taking another kind of file, or another version of the format, for this one"
    TRUNCATED "truncated" Structure Error "reading past the end of a file that was cut off"
    EXTENDED_HEADER "extended-header" Structure Error "sizes and offsets in the header that wrap or contradict the file"
    OFFSET "offset" Structure Error "following an offset out of the FlatBuffer, the root's included"
    VTABLE "vtable" Structure Error "reading fields through a vtable that is out of range"
    TABLE "table" Structure Error "reading a field outside the FlatBuffer, or misaligned"
    VECTOR "vector" Structure Error "a count that wraps or leaves the FlatBuffer"
    STRING "string" Structure Error "running past a string that has no end"
    BUDGET "budget" Structure Error "work without end on a small file whose parts are shared many times"

    TABLE_LIMIT "table-limit" Runtime Error "the runtime's FlatBuffers verifier, which gives up after a million tables"
    PROGRAM_VERSION "program-version" Runtime Error "a program whose schema version is not 0, the only one there is"
    EXECUTION_PLAN "execution-plan" Runtime Error "a program without its list of methods"
    CONSTANT_BUFFER "constant-buffer" Runtime Error "constants inside the FlatBuffer (before ExecuTorch 0.4), which 1.5 as released no longer reads"
    CONSTANTS_TWICE "constants-twice" Runtime Error "constants in two places, of which a reader takes either"
    CONSTANT_SEGMENT "constant-segment" Runtime Error "a constant segment that is not in the list of segments"
    NAMED_DATA_SEGMENT "named-data-segment" Runtime Error "a named blob whose segment is not in the list of segments"
    NAMED_DATA_KEY "named-data-key" Runtime Error "comparing a key that is absent"
    SEGMENT_BOUNDS "segment-bounds" Runtime Error "loading a segment from behind the end of the file"
    SEGMENT_DATA_SIZE "segment-data-size" Runtime Error "a segment outside the data that the header announces: in a .pte at the strict level"
    SEGMENT_BASE "segment-base" Runtime Error "loading a segment of a file whose header announces none"

    PLAN_NAME "plan-name" Runtime Error "comparing a method name that is absent"
    PLAN_FIELD "plan-field" Runtime Error "reading a list of a method that is absent"
    ENCODED_OUTPUT "encoded-output" Runtime Warning "asking for the outputs' structure, which is absent"
    PLANNED_BUFFER_SIZE "planned-buffer-size" Runtime Error "allocating a planned buffer of a negative size"
    CHAINS "chains" Runtime Error "running a method that has no chain"
    INSTRUCTIONS "instructions" Runtime Error "running a chain whose instructions are absent"
    INPUT_OUTPUT_INDEX "input-output-index" Runtime Error "an input or output that is no value of the method"
    INPUT_OUTPUT_KIND "input-output-kind" Runtime Error "an input or output that cannot be given or taken"

    VALUE_KIND "value-kind" Runtime Error "a value without content, or of a kind that the runtime does not know"
    VALUE_CONTENT "value-content" Runtime Error "a list or string whose items are absent"
    LIST_ITEM_INDEX "list-item-index" Runtime Error "a list item that is no value of the method"
    LIST_ITEM_KIND "list-item-kind" Runtime Error "a tensor list's item that is no tensor"

    LIST_ITEM_ORDER "list-item-order" Runtime Error "a tensor list that copies a tensor before it is made"
    TENSOR_SHAPE "tensor-shape" Runtime Error "sizes or dim order that are absent"
    TENSOR_RANK "tensor-rank" Runtime Error ("CVE-2025-54951" "1.0") "writing past the runtime's arrays of 16 dimensions"
    TENSOR_SIZE "tensor-size" Runtime Error "a negative size, which becomes a huge one"
    TENSOR_ELEMENTS "tensor-elements" Runtime Error ("CVE-2025-30402" "1.0") "a product of sizes that wraps, and a buffer that is too small for it"
    TENSOR_BYTES "tensor-bytes" Runtime Error ("CVE-2025-54952" "1.0") "a size in bytes that wraps, and a buffer that is too small for it"
    TENSOR_SCALAR_TYPE "tensor-scalar-type" Runtime Error "elements of a type that the runtime does not know"
    TENSOR_STORAGE_OFFSET "tensor-storage-offset" Runtime Error "a view into a storage, which the runtime does not do"
    TENSOR_UNBOUNDED "tensor-unbounded" Runtime Error "a shape without bounds, which the runtime cannot plan"
    DIM_ORDER_LENGTH "dim-order-length" Runtime Error "reading dimensions behind the end of the dim order"
    DIM_ORDER "dim-order" Runtime Error "strides from a dim order that is no permutation of the dimensions"

    CONSTANT_INDEX "constant-index" Runtime Error "a constant that is not in the list"
    CONSTANT_BOUNDS "constant-bounds" Runtime Error "reading a constant past the end of its segment or its inline storage"
    MUTABLE_STATE_INDEX "mutable-state-index" Runtime Error "an initial state that is not in the list"
    MUTABLE_STATE_BOUNDS "mutable-state-bounds" Runtime Error "reading an initial state past the end of its segment"
    EXTERNAL_NAME "external-name" Runtime Error "an external tensor that has no name to be found by"
    EXTERNAL_MISSING "external-missing" Runtime Error "an external tensor that no .ptd file has"
    EXTERNAL_LAYOUT "external-layout" Runtime Error "an external tensor that is another type or shape in the .ptd file"

    PLANNED_MEMORY_INDEX "planned-memory-index" Runtime Error "a tensor in a planned buffer that does not exist"
    PLANNED_MEMORY_OVERFLOW "planned-memory-overflow" Runtime Error ("CVE-2025-30404, CVE-2025-30405" "1.1") "an offset that wraps, and a tensor outside its planned buffer"
    PLANNED_MEMORY_BOUNDS "planned-memory-bounds" Runtime Error "a tensor that reaches past its planned buffer"

    DELEGATE_ID "delegate-id" Runtime Error "looking up a backend whose name is absent"
    DELEGATE_LOCATION "delegate-location" Runtime Error "a delegate's payload at a place that is not known"
    DELEGATE_INDEX "delegate-index" Runtime Error "a delegate's payload that is not in the list"

    DELEGATE_PROCESSED "delegate-processed" Runtime Error "following a reference to a delegate's payload that is absent"
    DELEGATE_INLINE_DATA "delegate-inline-data" Runtime Error "following an inline payload that is absent"
    COMPILE_SPEC "compile-spec" Runtime Error "following a backend's setting whose key or value is absent"
    INSTRUCTION_KIND "instruction-kind" Runtime Error "an instruction without content, or of a kind that the runtime does not know"
    ARGUMENTS "arguments" Runtime Error "a call whose arguments are absent"
    ARGUMENT_INDEX "argument-index" Runtime Error "an argument that is no value of the method"
    OPERATOR_INDEX "operator-index" Runtime Error "a call of an operator that is not in the list"
    OPERATOR_NAME "operator-name" Runtime Error "an operator whose name is absent or over the runtime's 99 bytes"
    MOVE_INDEX "move-index" Runtime Error "moving from or to what is no value of the method"
    FREE_INDEX "free-index" Runtime Error "freeing what is no value of the method"
    FREE_KIND "free-kind" Runtime Error "freeing what is no tensor"
    JUMP_CONDITION_INDEX "jump-condition-index" Runtime Error "a jump's condition that is no value of the method"
    JUMP_CONDITION_KIND "jump-condition-kind" Runtime Error "a jump's condition that is no bool"

    PTD_HEADER "ptd-header" Runtime Error "a .ptd file without a header, which the runtime does not read"
    PTD_VERSION "ptd-version" Runtime Error "a .ptd file whose schema version is not 0, the only one there is"
    PTD_SCHEMA "ptd-schema" Runtime Error "an early .ptd schema, in which the runtime finds nothing"
    PTD_FIELD "ptd-field" Runtime Error "a list of a .ptd file that is absent"
    LAYOUT_SHAPE "layout-shape" Runtime Error "a layout whose sizes or dim order are absent"
    LAYOUT_SIZE "layout-size" Runtime Error "a layout with a negative size"
    LAYOUT_BYTES "layout-bytes" Runtime Error "a layout whose size in bytes wraps"
    LAYOUT_SCALAR_TYPE "layout-scalar-type" Runtime Error "a layout with elements of a type that is not known"
    LAYOUT_DIM_ORDER_LENGTH "layout-dim-order-length" Runtime Error "reading dimensions past the end of a layout's dim order"
    LAYOUT_DIM_ORDER_RANGE "layout-dim-order-range" Runtime Error "a layout's dim order that names a dimension which it does not have"

    DELEGATE_CALL_INDEX "delegate-call-index" Strict Error "a call of a delegate that is not in the list, found when it is run"
    UNKNOWN_ENUM "unknown-enum" Strict Error "a number without a name, which a reader takes for another value"
    HEADER_LENGTH "header-length" Strict Error "a header that goes on past the metadata"
    SEGMENTS_IN_METADATA "segments-in-metadata" Strict Error "segments that start inside the metadata"
    INT_LIST_ITEM_KIND "int-list-item-kind" Strict Error "an integer list's item that is no integer, found when it is run"
    MOVE_KIND "move-kind" Strict Error "a value that becomes another kind than its readers know"
    JUMP_DESTINATION "jump-destination" Strict Error "a jump out of the chain, or to itself for ever"
    PRIM_ARGUMENTS "prim-arguments" Strict Error ("CVE-2025-54950" "1.0") "a built-in operator that reads arguments which it was not given"
    COPY_INDEX "copy-index" Strict Error ("CVE-2025-54949" "0.7") "the built-in copy of a tensor into a part of another, past its end"
    STACK_TRACE "stack-trace" Strict Error "stack traces that belong to other instructions"

    KEY_IN_TWO_FILES "key-in-two-files" Strict Error "a key that two files have, of which a reader takes either"
    EXTERNAL_UNCHECKED "external-unchecked" Strict Warning "external tensors whose .ptd file was not given"
    MUTABLE_LIST "mutable-list" Strict Error "an initial state in another list than the one that the runtime takes"
    MUTABLE_LIST_SHARED "mutable-list-shared" Strict Error "two lists of initial states in one segment"
    CONSTANT_ALIGNMENT "constant-alignment" Strict Warning "reading numbers at an odd address: constants are aligned to 16"
    CONSTANT_PLACEHOLDER "constant-placeholder" Strict Error "entry 0, which means none, that holds something"
    CONSTANT_OVERLAP "constant-overlap" Strict Error "a constant that reads into the next one"
    SEGMENT_OVERLAP "segment-overlap" Strict Error "two segments that share a part of their bytes"
    SEGMENT_ORDER "segment-order" Strict Error "segments out of order, which readers that stream the file do not expect"
    SEGMENT_UNREFERENCED "segment-unreferenced" Strict Warning "bytes that nothing uses"
    TRAILING_BYTES "trailing-bytes" Strict Warning "bytes behind the last segment"
    METHOD_NAME_UNIQUE "method-name-unique" Strict Error "two methods of one name, of which a reader takes either"
    KEY_UNIQUE "key-unique" Strict Error "two blobs of one key, of which a reader takes either"
    NAME_NUL "name-nul" Strict Error "a name that contains NUL: the runtime reads it as a C string and sees only the start"
    KEY_EMPTY "key-empty" Strict Error "a blob without a name"
    KEY_PREFIX "key-prefix" Strict Warning "runtimes before 1.0, which take a key for a longer one that it starts"
    LAYOUT_DIM_ORDER "layout-dim-order" Strict Error "a layout's dim order that is no permutation of the dimensions"
    LAYOUT_BLOB_SIZE "layout-blob-size" Strict Error "reading a tensor, external ones of a .pte included, past the end of its blob"
    PLANNED_MEMORY_OVERLAP "planned-memory-overlap" Strict Error "a tensor that is overwritten while it is needed"
    PLANNED_MEMORY_UNKNOWN "planned-memory-unknown" Strict Warning "overlaps of planned tensors that cannot be told: it is not known when they are needed"
    PLANNED_MEMORY_ALIGNMENT "planned-memory-alignment" Strict Warning "planned tensors at an odd address: they are aligned to 16"
    TEXT_UTF8 "text-utf8" Strict Error "a string that is not UTF-8, which readers in Python and Rust refuse"
    VTABLE_SIZE "vtable-size" Strict Warning "a vtable that says an impossible size of its tables"
    VTABLE_ENTRY "vtable-entry" Strict Error "a field that overlaps the offset to its table's vtable"
    VTABLE_SHARED "vtable-shared" Strict Note "vtables that tables of different size share: readers that trust the inline size refuse the file"
    VECTOR_ALIGNMENT "vector-alignment" Strict Warning "misaligned elements of a vector, which some machines cannot read in place"
    BOOL "bool" Strict Warning "a bool that is neither 0 nor 1"
    PLANNED_BUFFER_ZERO "planned-buffer-zero" Strict Error "planned buffer 0, which is reserved, that has a size"
    DEVICE_TYPE "device-type" Strict Error "a kind of device that is not known"
    DEVICE_INDEX "device-index" Strict Error "a device with a negative number"
    BUFFER_DEVICE_INDEX "buffer-device-index" Strict Error "a device for a planned buffer that does not exist"
    BUFFER_DEVICE_UNIQUE "buffer-device-unique" Strict Error "two devices for one planned buffer"
    XNNPACK_PAYLOAD "xnnpack-payload" Strict Error "an XNNPACK payload whose header points outside it"
    VULKAN_PAYLOAD "vulkan-payload" Strict Error "a Vulkan payload whose header points outside it"
}
