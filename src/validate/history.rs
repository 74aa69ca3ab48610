//! What each release of ExecuTorch's runtime does with a breach of each rule, as it was seen.

use super::release::{Behaviour, Release};
use super::rule::{self, Rule};
use crate::path::{FieldPath, Step};
use Behaviour::{Dies, Loads, Refuses, Unknown};

/// What the releases do with one kind of fault, or with one feature of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct History {
    /// The rule.
    pub rule: &'static str,
    /// A field or member of a union that the finding's path holds; empty for any.
    pub field: &'static str,
    /// What runtimes do, each from a release on until the next one.
    pub since: &'static [(Release, Behaviour)],
    /// The files by which it was seen: of the malformed corpus, each with its ending left out.
    pub seen: &'static [&'static str],
    /// The first release whose runtime loads such a file but refuses to run it; earlier ones run it.
    pub refused_when_run_since: Option<Release>,
}

impl History {
    /// The history of a rule, for a finding with this path.
    pub fn find(rule: &str, path: &FieldPath) -> Option<&'static Self> {
        let holds = |field: &str| path.steps().iter().any(|step| matches!(step, Step::Field(name) if *name == field));
        HISTORIES.iter().find(|history| history.rule == rule && (history.field.is_empty() || holds(history.field)))
    }

    /// What a release does.
    pub fn behaviour(&self, release: Release) -> Behaviour {
        behaviour(self.since, release)
    }
}

/// What a release does, of a list that says it from a release on until the next one: unknown before the first, and for 0.3.
pub(crate) fn behaviour(since: &[(Release, Behaviour)], release: Release) -> Behaviour {
    let last = since.iter().take_while(|(first, _)| *first <= release && release.was_seen()).last();
    last.map_or(Unknown, |(_, behaviour)| *behaviour)
}

const fn history(
    rule: &'static Rule,
    field: &'static str,
    since: &'static [(Release, Behaviour)],
    seen: &'static [&'static str],
) -> History {
    History { rule: rule.name, field, since, seen, refused_when_run_since: None }
}

const fn refused_when_run(since: Release, history: History) -> History {
    History { refused_when_run_since: Some(since), ..history }
}

const ALWAYS_REFUSES: &[(Release, Behaviour)] = &[(Release::V0_2, Refuses)];
const ALWAYS_LOADS: &[(Release, Behaviour)] = &[(Release::V0_2, Loads)];
const ALWAYS_DIES: &[(Release, Behaviour)] = &[(Release::V0_2, Dies)];
/// Where releases treat files with one fault differently.
const DIFFERS: &[(Release, Behaviour)] = &[(Release::V0_2, Unknown)];

const V0_2: Release = Release::V0_2;
const V0_4: Release = Release::V0_4;
const V0_6: Release = Release::V0_6;
const V1_0: Release = Release::V1_0;
const V1_1: Release = Release::V1_1;
const V1_2: Release = Release::V1_2;
const V1_3: Release = Release::V1_3;

/// The histories, by rule. Of two for one rule the first that applies to a finding counts.
///
/// The runtimes were those of the Python wheels of 0.2.0, 0.2.1, 0.4.0, 0.5.0, 0.6.0, 0.7.0, 1.0.0, 1.0.1, 1.1.0, 1.2.0, 1.3.1,
/// 1.4.0 and 1.4.1, which load tensors through PyTorch (the ATen build); they loaded each program and its methods. What 1.5 does, the rule's level says.
pub const HISTORIES: &[History] = &[
    history(rule::IDENTIFIER, "", ALWAYS_REFUSES, &["identifier-unknown", "identifier-version"]),
    history(
        rule::TRUNCATED,
        "",
        ALWAYS_REFUSES,
        &["truncated-head", "truncated-header", "truncated-program", "truncated-segments"],
    ),
    history(
        rule::EXTENDED_HEADER,
        "",
        &[(V0_2, Unknown), (V1_3, Refuses)],
        &["header-short", "header-program-size", "header-sum-wraps"],
    ),
    history(rule::OFFSET, "", DIFFERS, &["offset-outside", "offset-zero", "root-offset-outside", "root-offset-zero"]),
    history(rule::VTABLE, "", DIFFERS, &["vtable-odd", "vtable-outside"]),
    history(rule::TABLE, "", ALWAYS_REFUSES, &["table-unaligned-field", "vtable-field-outside"]),
    history(rule::VECTOR, "", ALWAYS_REFUSES, &["vector-count"]),
    history(rule::STRING, "", ALWAYS_LOADS, &["string-end"]),
    history(rule::LIMIT, "", &[(V0_2, Dies), (V1_3, Refuses)], &["budget"]),
    history(rule::EXECUTION_PLAN, "", ALWAYS_LOADS, &["execution-plan"]),
    history(rule::CONSTANT_BUFFER, "", &[(V0_2, Loads), (V1_3, Refuses)], &["constant-buffer"]),
    history(rule::CONSTANTS_TWICE, "", ALWAYS_REFUSES, &["constants-twice"]),
    history(rule::CONSTANT_SEGMENT, "", ALWAYS_REFUSES, &["constant-segment"]),
    history(rule::NAMED_DATA_SEGMENT, "segment_index", ALWAYS_LOADS, &["named-data-segment"]),
    history(
        rule::NAMED_DATA_SEGMENT,
        "segments",
        &[(V0_2, Refuses), (V0_4, Loads), (V0_6, Refuses)],
        &["named-data-without-segments"],
    ),
    history(rule::NAMED_DATA_KEY, "", &[(V0_2, Loads), (V0_6, Refuses)], &["named-data-key"]),
    history(
        rule::SEGMENT_BOUNDS,
        "",
        &[(V0_2, Loads), (V0_6, Unknown), (V1_2, Refuses)],
        &["segment-bounds", "segment-wraps"],
    ),
    history(rule::SEGMENT_DATA_SIZE, "", ALWAYS_LOADS, &["segment-data-size"]),
    history(rule::SEGMENT_BASE, "segments", ALWAYS_LOADS, &["segment-base"]),
    history(rule::PLAN_NAME, "", ALWAYS_DIES, &["plan-name"]),
    history(rule::PLAN_FIELD, "inputs", &[(V0_2, Dies), (V1_0, Refuses)], &["plan-inputs"]),
    history(rule::PLAN_FIELD, "outputs", &[(V0_2, Dies), (V1_0, Refuses)], &["plan-outputs"]),
    history(rule::PLAN_FIELD, "", ALWAYS_REFUSES, &["plan-values", "plan-delegates"]),
    history(rule::ENCODED_OUTPUT, "", ALWAYS_LOADS, &["encoded-output"]),
    history(
        rule::PLANNED_BUFFER_SIZE,
        "",
        &[(V0_2, Unknown), (V1_0, Loads), (V1_3, Refuses)],
        &["planned-buffer-size"],
    ),
    history(rule::CHAINS, "", ALWAYS_REFUSES, &["chains-absent", "chains-empty"]),
    history(rule::INSTRUCTIONS, "", ALWAYS_REFUSES, &["instructions"]),
    history(rule::INPUT_OUTPUT_INDEX, "inputs", &[(V0_2, Refuses), (V0_4, Loads)], &["input-index"]),
    history(rule::INPUT_OUTPUT_INDEX, "outputs", &[(V0_2, Refuses), (V0_4, Dies), (V0_6, Loads)], &["output-index"]),
    history(rule::INPUT_OUTPUT_KIND, "", &[(V0_2, Unknown), (V0_4, Loads)], &["output-kind"]),
    history(rule::VALUE_KIND, "", ALWAYS_REFUSES, &["value-none", "value-unknown", "union-tag"]),
    history(rule::VALUE_CONTENT, "TensorList", &[(V0_2, Dies), (V0_6, Refuses)], &["value-tensor-list"]),
    history(
        rule::VALUE_CONTENT,
        "",
        ALWAYS_REFUSES,
        &["value-bool-list", "value-double-list", "value-int-list", "value-string"],
    ),
    history(rule::LIST_ITEM_INDEX, "IntList", &[(V0_2, Loads), (V0_6, Refuses)], &["int-list-index"]),
    history(
        rule::LIST_ITEM_INDEX,
        "TensorList",
        &[(V0_2, Dies), (V0_6, Refuses)],
        &["tensor-list-index", "tensor-list-negative"],
    ),
    history(
        rule::LIST_ITEM_INDEX,
        "OptionalTensorList",
        &[(V0_2, Dies), (V0_4, Unknown), (V0_6, Refuses)],
        &["optional-tensor-list-index"],
    ),
    history(
        rule::LIST_ITEM_KIND,
        "",
        &[(V0_2, Dies), (V1_3, Refuses)],
        &["tensor-list-kind", "optional-tensor-list-kind", "tensor-list-itself"],
    ),
    history(rule::LIST_ITEM_ORDER, "", &[(V0_2, Dies), (V1_3, Refuses)], &["tensor-list-order"]),
    history(rule::TENSOR_SHAPE, "", ALWAYS_REFUSES, &["tensor-sizes-absent", "tensor-dim-order-absent"]),
    history(rule::TENSOR_RANK, "", &[(V0_2, Loads), (V1_0, Refuses)], &["CVE-2025-54951"]),
    history(rule::TENSOR_SIZE, "", &[(V0_2, Loads), (V0_4, Dies), (V0_6, Refuses)], &["tensor-size"]),
    // The portable build refuses both since 1.0, as the messages in its library show; the ATen build loads them.
    history(rule::TENSOR_ELEMENTS, "", &[(V0_2, Loads), (V1_0, Refuses)], &["CVE-2025-30402"]),
    history(rule::TENSOR_BYTES, "", &[(V0_2, Loads), (V1_0, Refuses)], &["CVE-2025-54952"]),
    history(rule::TENSOR_SCALAR_TYPE, "", ALWAYS_REFUSES, &["tensor-scalar-type"]),
    history(rule::TENSOR_STORAGE_OFFSET, "", ALWAYS_REFUSES, &["tensor-storage-offset"]),
    history(rule::TENSOR_UNBOUNDED, "", ALWAYS_REFUSES, &["tensor-unbounded"]),
    history(rule::DIM_ORDER_LENGTH, "", ALWAYS_REFUSES, &["dim-order-length"]),
    history(rule::DIM_ORDER, "", &[(V0_2, Unknown), (V1_2, Refuses)], &["dim-order-range", "dim-order-repeated"]),
    history(rule::CONSTANT_INDEX, "", ALWAYS_REFUSES, &["constant-index"]),
    history(
        rule::CONSTANT_BOUNDS,
        "",
        &[(V0_2, Unknown), (V1_3, Refuses)],
        &["constant-bounds", "constant-offset-wraps"],
    ),
    history(
        rule::MUTABLE_STATE_INDEX,
        "",
        ALWAYS_REFUSES,
        &["mutable-state-index", "mutable-state-list", "mutable-state-segment"],
    ),
    history(rule::MUTABLE_STATE_BOUNDS, "", &[(V0_2, Unknown), (V0_4, Refuses)], &["mutable-state-bounds"]),
    history(rule::EXTERNAL_NAME, "", &[(V0_2, Loads), (V0_6, Refuses)], &["external-name"]),
    history(rule::PLANNED_MEMORY_INDEX, "", ALWAYS_REFUSES, &["planned-memory-index", "planned-memory-zero"]),
    history(
        rule::PLANNED_MEMORY_OVERFLOW,
        "",
        &[(V0_2, Loads), (V1_1, Refuses)],
        &["CVE-2025-30404", "CVE-2025-30405"],
    ),
    history(rule::PLANNED_MEMORY_BOUNDS, "", ALWAYS_REFUSES, &["planned-memory-bounds", "planned-memory-high"]),
    history(rule::DELEGATE_ID, "", ALWAYS_REFUSES, &["delegate-id"]),
    history(rule::DELEGATE_INDEX, "", ALWAYS_REFUSES, &["delegate-inline", "delegate-segment"]),
    history(rule::DELEGATE_LOCATION, "", ALWAYS_REFUSES, &["delegate-location"]),
    history(rule::DELEGATE_PROCESSED, "", ALWAYS_DIES, &["delegate-processed"]),
    history(rule::DELEGATE_INLINE_DATA, "", ALWAYS_DIES, &["delegate-inline-data", "delegate-inline-list"]),
    history(rule::COMPILE_SPEC, "key", ALWAYS_LOADS, &["compile-spec-key"]),
    history(rule::COMPILE_SPEC, "value", ALWAYS_DIES, &["compile-spec-value"]),
    history(rule::COMPILE_SPEC, "", &[(V0_2, Dies), (V1_3, Loads)], &["compile-specs"]),
    history(rule::INSTRUCTION_KIND, "instr_args_type", &[(V0_2, Loads), (V1_3, Refuses)], &["instruction-unknown"]),
    history(rule::INSTRUCTION_KIND, "", ALWAYS_REFUSES, &["instruction-none"]),
    history(rule::ARGUMENTS, "", ALWAYS_REFUSES, &["arguments"]),
    history(rule::ARGUMENT_INDEX, "", ALWAYS_REFUSES, &["argument-index", "argument-largest", "argument-negative"]),
    history(rule::OPERATOR_INDEX, "", ALWAYS_REFUSES, &["operator-index", "operators-absent"]),
    history(rule::OPERATOR_NAME, "", ALWAYS_REFUSES, &["operator-name-absent", "operator-name-long"]),
    history(rule::MOVE_INDEX, "", &[(V0_2, Loads), (V1_3, Refuses)], &["move-from", "move-to"]),
    history(rule::FREE_INDEX, "", &[(V0_2, Loads), (V1_3, Refuses)], &["free-index"]),
    history(rule::FREE_KIND, "", ALWAYS_LOADS, &["free-kind"]),
    history(rule::JUMP_CONDITION_INDEX, "", ALWAYS_REFUSES, &["jump-condition-index"]),
    history(rule::JUMP_CONDITION_KIND, "", ALWAYS_LOADS, &["jump-condition-kind", "jump-condition-tensor"]),
    history(rule::DELEGATE_CALL_INDEX, "", ALWAYS_LOADS, &["delegate-call-index"]),
    history(rule::UNKNOWN_ENUM, "", ALWAYS_LOADS, &["data-location", "shape-dynamism"]),
    history(rule::SEGMENTS_IN_METADATA, "", ALWAYS_LOADS, &["header-base-in-program"]),
    history(rule::INT_LIST_ITEM_KIND, "", ALWAYS_LOADS, &["int-list-kind"]),
    history(rule::MOVE_KIND, "", ALWAYS_LOADS, &["move-kind"]),
    history(rule::JUMP_DESTINATION, "", ALWAYS_LOADS, &["jump-destination", "jump-itself", "jump-negative"]),
    // Their messages are in the libraries of the wheels since these releases.
    refused_when_run(V1_0, history(rule::PRIM_ARGUMENTS, "", ALWAYS_LOADS, &["CVE-2025-54950"])),
    refused_when_run(Release::V0_7, history(rule::COPY_INDEX, "", ALWAYS_LOADS, &["CVE-2025-54949"])),
    history(rule::STACK_TRACE, "", &[(V0_2, Unknown), (V0_4, Loads)], &["stack-trace"]),
    history(rule::MUTABLE_LIST, "", &[(V0_2, Unknown), (V0_4, Loads)], &["mutable-list"]),
    history(rule::MUTABLE_LIST_SHARED, "", &[(V0_2, Unknown), (V0_4, Loads)], &["mutable-list-shared"]),
    history(rule::CONSTANT_ALIGNMENT, "", ALWAYS_LOADS, &["constant-alignment"]),
    history(rule::CONSTANT_PLACEHOLDER, "", ALWAYS_LOADS, &["constant-placeholder"]),
    history(rule::CONSTANT_OVERLAP, "", &[(V0_2, Unknown), (V0_4, Loads)], &["constant-overlap"]),
    history(rule::SEGMENT_OVERLAP, "", ALWAYS_LOADS, &["segment-overlap"]),
    history(rule::SEGMENT_ORDER, "", ALWAYS_LOADS, &["segment-order"]),
    history(rule::SEGMENT_UNREFERENCED, "", ALWAYS_LOADS, &["segment-unreferenced"]),
    history(rule::TRAILING_BYTES, "", ALWAYS_LOADS, &["trailing-bytes"]),
    history(rule::METHOD_NAME_UNIQUE, "", ALWAYS_LOADS, &["method-name-unique"]),
    history(rule::NAME_NUL, "", ALWAYS_LOADS, &["name-nul"]),
    history(
        rule::PLANNED_MEMORY_OVERLAP,
        "",
        ALWAYS_LOADS,
        &["planned-memory-inputs", "planned-memory-inside", "planned-memory-partly"],
    ),
    history(rule::PLANNED_MEMORY_UNKNOWN, "", ALWAYS_LOADS, &["planned-memory-unknown"]),
    history(rule::PLANNED_MEMORY_ALIGNMENT, "", ALWAYS_LOADS, &["planned-memory-alignment"]),
    history(rule::BOOL, "", ALWAYS_LOADS, &["bool"]),
    history(rule::PLANNED_BUFFER_ZERO, "", ALWAYS_LOADS, &["planned-buffer-zero"]),
    history(rule::DEVICE_TYPE, "extra_tensor_info", ALWAYS_LOADS, &["tensor-device"]),
    history(rule::DEVICE_TYPE, "", &[(V0_2, Loads), (Release::V1_4, Dies), (Release::LATEST, Loads)], &["device-type"]),
    history(
        rule::DEVICE_INDEX,
        "",
        &[(V0_2, Loads), (Release::V1_4, Dies), (Release::LATEST, Loads)],
        &["device-index"],
    ),
    history(rule::BUFFER_DEVICE_INDEX, "", ALWAYS_LOADS, &["buffer-device-index"]),
    history(rule::BUFFER_DEVICE_UNIQUE, "", ALWAYS_LOADS, &["buffer-device-unique"]),
];
