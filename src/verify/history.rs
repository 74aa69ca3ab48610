//! The behaviour of each release of ExecuTorch's runtime with files that break each rule, as tested.

use super::release::{Behaviour, Release};
use crate::path::{FieldPath, Step};
use Behaviour::{Dies, Loads, Refuses, Unknown};

/// The behaviour of the releases with one kind of fault, or with one feature of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct History {
    /// The rule.
    pub rule: &'static str,
    /// A field or union member that the finding's path must contain; empty for any path.
    pub field: &'static str,
    /// The behaviour of runtimes: each entry holds from its release until the next entry.
    pub since: &'static [(Release, Behaviour)],
    /// The files of the malformed corpus that were tested, without their extensions.
    pub seen: &'static [&'static str],
    /// The first release whose runtime loads such a file but refuses to run it. Earlier releases run it.
    pub refused_when_run_since: Option<Release>,
}

impl History {
    /// Returns the history of a rule, for a finding with this path.
    pub fn find(rule: &str, path: &FieldPath) -> Option<&'static Self> {
        let holds = |field: &str| path.steps().iter().any(|step| matches!(step, Step::Field(name) if *name == field));
        HISTORIES.iter().find(|history| history.rule == rule && (history.field.is_empty() || holds(history.field)))
    }

    /// Returns the behaviour of a release.
    pub fn behaviour(&self, release: Release) -> Behaviour {
        behaviour(self.since, release)
    }
}

/// Returns the behaviour of a release according to a list in which each entry holds from its release until the next entry:
/// unknown before the first entry, and for 0.3.
pub(crate) fn behaviour(since: &[(Release, Behaviour)], release: Release) -> Behaviour {
    let last = since.iter().take_while(|(first, _)| *first <= release && release.was_seen()).last();
    last.map_or(Unknown, |(_, behaviour)| *behaviour)
}

const fn history(
    rule: &'static str,
    field: &'static str,
    since: &'static [(Release, Behaviour)],
    seen: &'static [&'static str],
) -> History {
    History { rule, field, since, seen, refused_when_run_since: None }
}

const fn refused_when_run(since: Release, history: History) -> History {
    History { refused_when_run_since: Some(since), ..history }
}

const ALWAYS_REFUSES: &[(Release, Behaviour)] = &[(Release::V0_2, Refuses)];
const ALWAYS_LOADS: &[(Release, Behaviour)] = &[(Release::V0_2, Loads)];
const ALWAYS_DIES: &[(Release, Behaviour)] = &[(Release::V0_2, Dies)];
/// The behaviour if a release treats different files with the fault differently.
const DIFFERS: &[(Release, Behaviour)] = &[(Release::V0_2, Unknown)];

const V0_2: Release = Release::V0_2;
const V0_4: Release = Release::V0_4;
const V0_6: Release = Release::V0_6;
const V1_0: Release = Release::V1_0;
const V1_1: Release = Release::V1_1;
const V1_2: Release = Release::V1_2;
const V1_3: Release = Release::V1_3;

/// The histories, by rule. If a rule has several, the first that applies to a finding is used.
///
/// The runtimes were those of the Python wheels of 0.2.0, 0.2.1, 0.4.0, 0.5.0, 0.6.0, 0.7.0, 1.0.0, 1.0.1, 1.1.0,
/// 1.2.0, 1.3.1, 1.4.0 and 1.4.1, which load tensors through PyTorch (the ATen build). They loaded each program and its
/// methods. The behaviour of 1.5 follows from the rule's level.
pub const HISTORIES: &[History] = &[
    history("identifier", "", ALWAYS_REFUSES, &["identifier-unknown", "identifier-version"]),
    history(
        "truncated",
        "",
        ALWAYS_REFUSES,
        &["truncated-head", "truncated-header", "truncated-program", "truncated-segments"],
    ),
    history(
        "extended-header",
        "",
        &[(V0_2, Unknown), (V1_3, Refuses)],
        &["header-short", "header-program-size", "header-sum-wraps"],
    ),
    history("offset", "", DIFFERS, &["offset-outside", "offset-zero", "root-offset-outside", "root-offset-zero"]),
    history("vtable", "", DIFFERS, &["vtable-odd", "vtable-outside"]),
    history("table", "", ALWAYS_REFUSES, &["table-unaligned-field", "vtable-field-outside"]),
    history("vector", "", ALWAYS_REFUSES, &["vector-count"]),
    history("string", "", ALWAYS_LOADS, &["string-end"]),
    history("limit", "", &[(V0_2, Dies), (V1_3, Refuses)], &["budget"]),
    history("execution-plan", "", ALWAYS_LOADS, &["execution-plan"]),
    history("constant-buffer", "", &[(V0_2, Loads), (V1_3, Refuses)], &["constant-buffer"]),
    history("constants-twice", "", ALWAYS_REFUSES, &["constants-twice"]),
    history("constant-segment", "", ALWAYS_REFUSES, &["constant-segment"]),
    history("named-data-segment", "segment_index", ALWAYS_LOADS, &["named-data-segment"]),
    history(
        "named-data-segment",
        "segments",
        &[(V0_2, Refuses), (V0_4, Loads), (V0_6, Refuses)],
        &["named-data-without-segments"],
    ),
    history("named-data-key", "", &[(V0_2, Loads), (V0_6, Refuses)], &["named-data-key"]),
    history(
        "segment-bounds",
        "",
        &[(V0_2, Loads), (V0_6, Unknown), (V1_2, Refuses)],
        &["segment-bounds", "segment-wraps"],
    ),
    history("segment-data-size", "", ALWAYS_LOADS, &["segment-data-size"]),
    history("segment-base", "segments", ALWAYS_LOADS, &["segment-base"]),
    history("plan-name", "", ALWAYS_DIES, &["plan-name"]),
    history("plan-field", "inputs", &[(V0_2, Dies), (V1_0, Refuses)], &["plan-inputs"]),
    history("plan-field", "outputs", &[(V0_2, Dies), (V1_0, Refuses)], &["plan-outputs"]),
    history("plan-field", "", ALWAYS_REFUSES, &["plan-values", "plan-delegates"]),
    history("encoded-output", "", ALWAYS_LOADS, &["encoded-output"]),
    history("planned-buffer-size", "", &[(V0_2, Unknown), (V1_0, Loads), (V1_3, Refuses)], &["planned-buffer-size"]),
    history("chains", "", ALWAYS_REFUSES, &["chains-absent", "chains-empty"]),
    history("instructions", "", ALWAYS_REFUSES, &["instructions"]),
    history("input-output-index", "inputs", &[(V0_2, Refuses), (V0_4, Loads)], &["input-index"]),
    history("input-output-index", "outputs", &[(V0_2, Refuses), (V0_4, Dies), (V0_6, Loads)], &["output-index"]),
    history("input-output-kind", "", &[(V0_2, Unknown), (V0_4, Loads)], &["output-kind"]),
    history("value-kind", "", ALWAYS_REFUSES, &["value-none", "value-unknown", "union-tag"]),
    history("value-content", "TensorList", &[(V0_2, Dies), (V0_6, Refuses)], &["value-tensor-list"]),
    history(
        "value-content",
        "",
        ALWAYS_REFUSES,
        &["value-bool-list", "value-double-list", "value-int-list", "value-string"],
    ),
    history("list-item-index", "IntList", &[(V0_2, Loads), (V0_6, Refuses)], &["int-list-index"]),
    history(
        "list-item-index",
        "TensorList",
        &[(V0_2, Dies), (V0_6, Refuses)],
        &["tensor-list-index", "tensor-list-negative"],
    ),
    history(
        "list-item-index",
        "OptionalTensorList",
        &[(V0_2, Dies), (V0_4, Unknown), (V0_6, Refuses)],
        &["optional-tensor-list-index"],
    ),
    history(
        "list-item-kind",
        "",
        &[(V0_2, Dies), (V1_3, Refuses)],
        &["tensor-list-kind", "optional-tensor-list-kind", "tensor-list-itself"],
    ),
    history("list-item-order", "", &[(V0_2, Dies), (V1_3, Refuses)], &["tensor-list-order"]),
    history("tensor-shape", "", ALWAYS_REFUSES, &["tensor-sizes-absent", "tensor-dim-order-absent"]),
    history("tensor-rank", "", &[(V0_2, Loads), (V1_0, Refuses)], &["CVE-2025-54951"]),
    history("tensor-size", "", &[(V0_2, Loads), (V0_4, Dies), (V0_6, Refuses)], &["tensor-size"]),
    // Since 1.0, the portable build refuses both, as the messages in its library show; the ATen build loads them.
    history("tensor-elements", "", &[(V0_2, Loads), (V1_0, Refuses)], &["CVE-2025-30402"]),
    history("tensor-bytes", "", &[(V0_2, Loads), (V1_0, Refuses)], &["CVE-2025-54952"]),
    history("tensor-scalar-type", "", ALWAYS_REFUSES, &["tensor-scalar-type"]),
    history("tensor-storage-offset", "", ALWAYS_REFUSES, &["tensor-storage-offset"]),
    history("tensor-unbounded", "", ALWAYS_REFUSES, &["tensor-unbounded"]),
    history("dim-order-length", "", ALWAYS_REFUSES, &["dim-order-length"]),
    history("dim-order", "", &[(V0_2, Unknown), (V1_2, Refuses)], &["dim-order-range", "dim-order-repeated"]),
    history("constant-index", "", ALWAYS_REFUSES, &["constant-index"]),
    history("constant-bounds", "", &[(V0_2, Unknown), (V1_3, Refuses)], &["constant-bounds", "constant-offset-wraps"]),
    history(
        "initial-state-index",
        "",
        ALWAYS_REFUSES,
        &["initial-state-index", "initial-state-list", "initial-state-segment"],
    ),
    history("initial-state-bounds", "", &[(V0_2, Unknown), (V0_4, Refuses)], &["initial-state-bounds"]),
    history("external-name", "", &[(V0_2, Loads), (V0_6, Refuses)], &["external-name"]),
    history("planned-memory-index", "", ALWAYS_REFUSES, &["planned-memory-index", "planned-memory-zero"]),
    history("planned-memory-overflow", "", &[(V0_2, Loads), (V1_1, Refuses)], &["CVE-2025-30404", "CVE-2025-30405"]),
    history("planned-memory-bounds", "", ALWAYS_REFUSES, &["planned-memory-bounds", "planned-memory-high"]),
    history("delegate-id", "", ALWAYS_REFUSES, &["delegate-id"]),
    history("delegate-index", "", ALWAYS_REFUSES, &["delegate-inline", "delegate-segment"]),
    history("delegate-location", "", ALWAYS_REFUSES, &["delegate-location"]),
    history("delegate-processed", "", ALWAYS_DIES, &["delegate-processed"]),
    history("delegate-inline-data", "", ALWAYS_DIES, &["delegate-inline-data", "delegate-inline-list"]),
    history("compile-spec", "", ALWAYS_DIES, &["compile-spec-value"]),
    history("compile-specs", "key", ALWAYS_LOADS, &["compile-spec-key"]),
    history("compile-specs", "", &[(V0_2, Dies), (V1_3, Loads)], &["compile-specs"]),
    history("instruction-kind", "instr_args_type", &[(V0_2, Loads), (V1_3, Refuses)], &["instruction-unknown"]),
    history("instruction-kind", "", ALWAYS_REFUSES, &["instruction-none"]),
    history("arguments", "", ALWAYS_REFUSES, &["arguments"]),
    history("argument-index", "", ALWAYS_REFUSES, &["argument-index", "argument-largest", "argument-negative"]),
    history("operator-index", "", ALWAYS_REFUSES, &["operator-index", "operators-absent"]),
    history("operator-name", "", ALWAYS_REFUSES, &["operator-name-absent", "operator-name-long"]),
    history("move-index", "", &[(V0_2, Loads), (V1_3, Refuses)], &["move-from", "move-to"]),
    history("free-index", "", &[(V0_2, Loads), (V1_3, Refuses)], &["free-index"]),
    history("free-kind", "", ALWAYS_LOADS, &["free-kind"]),
    history("jump-condition-index", "", ALWAYS_REFUSES, &["jump-condition-index"]),
    history("jump-condition-kind", "", ALWAYS_LOADS, &["jump-condition-kind", "jump-condition-tensor"]),
    history("delegate-call-index", "", ALWAYS_LOADS, &["delegate-call-index"]),
    history("unknown-enum", "", ALWAYS_LOADS, &["data-location", "shape-dynamism"]),
    history("segments-in-metadata", "", ALWAYS_LOADS, &["header-base-in-program"]),
    history("int-list-item-kind", "", ALWAYS_LOADS, &["int-list-kind"]),
    history("move-kind", "", ALWAYS_LOADS, &["move-kind"]),
    history("jump-destination", "", ALWAYS_LOADS, &["jump-destination", "jump-itself", "jump-negative"]),
    // Since these releases, the libraries in the wheels contain the messages of these checks.
    refused_when_run(V1_0, history("prim-arguments", "", ALWAYS_LOADS, &["CVE-2025-54950"])),
    refused_when_run(Release::V0_7, history("copy-index", "", ALWAYS_LOADS, &["CVE-2025-54949"])),
    history("stack-trace", "", &[(V0_2, Unknown), (V0_4, Loads)], &["stack-trace"]),
    history("initial-state-lists", "", &[(V0_2, Unknown), (V0_4, Loads)], &["initial-state-lists"]),
    history("initial-state-lists-shared", "", &[(V0_2, Unknown), (V0_4, Loads)], &["initial-state-lists-shared"]),
    history("constant-alignment", "", ALWAYS_LOADS, &["constant-alignment"]),
    history("constant-placeholder", "", ALWAYS_LOADS, &["constant-placeholder"]),
    history("constant-overlap", "", &[(V0_2, Unknown), (V0_4, Loads)], &["constant-overlap"]),
    history("segment-overlap", "", ALWAYS_LOADS, &["segment-overlap"]),
    history("segment-order", "", ALWAYS_LOADS, &["segment-order"]),
    history("segment-unreferenced", "", ALWAYS_LOADS, &["segment-unreferenced"]),
    history("trailing-bytes", "", ALWAYS_LOADS, &["trailing-bytes"]),
    history("method-name-unique", "", ALWAYS_LOADS, &["method-name-unique"]),
    history("name-nul", "", ALWAYS_LOADS, &["name-nul"]),
    history(
        "planned-memory-overlap",
        "",
        ALWAYS_LOADS,
        &["planned-memory-inputs", "planned-memory-inside", "planned-memory-partly"],
    ),
    history("planned-memory-unknown", "", ALWAYS_LOADS, &["planned-memory-unknown"]),
    history("planned-memory-alignment", "", ALWAYS_LOADS, &["planned-memory-alignment"]),
    history("bool", "", ALWAYS_LOADS, &["bool"]),
    history("planned-buffer-zero", "", ALWAYS_LOADS, &["planned-buffer-zero"]),
    history("device-type", "extra_tensor_info", ALWAYS_LOADS, &["tensor-device"]),
    history("device-type", "", &[(V0_2, Loads), (Release::V1_4, Dies), (Release::LATEST, Loads)], &["device-type"]),
    history("device-index", "", &[(V0_2, Loads), (Release::V1_4, Dies), (Release::LATEST, Loads)], &["device-index"]),
    history("buffer-device-index", "", ALWAYS_LOADS, &["buffer-device-index"]),
    history("buffer-device-unique", "", ALWAYS_LOADS, &["buffer-device-unique"]),
];
