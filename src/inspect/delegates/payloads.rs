//! Summaries of the payloads of delegates.

use crate::analysis::{CompileSetting, Device};
use crate::delegate::{NamedBlobs, OpenPayload, PayloadSummary, delegate_at};
use crate::file::pte::Pte;
use alloc::vec::Vec;

/// A payload of a file.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PayloadFacts<'t> {
    /// The name of the method of the first delegate that uses it.
    pub method: &'t str,
    /// The index of that delegate in its method.
    pub delegate: usize,
    /// The delegate's id.
    pub id: &'t str,
    /// The offset in bytes from the start of the file; `None` if the payload is not in the file.
    pub offset: Option<u64>,
    /// The size, in bytes.
    pub size: u64,
    /// The settings that the delegate was compiled with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compile_specs: Vec<CompileSetting<'t>>,
    /// The device that the delegate was compiled for.
    #[serde(skip_serializing_if = "Device::is_empty")]
    pub device: Device<'t>,
    /// The summary of its contents.
    #[serde(flatten)]
    pub summary: PayloadSummary,
}

/// Collects the facts about payloads that were opened before.
pub(in crate::inspect) fn facts<'t>(
    pte: &'t Pte<'_>,
    opened: &[OpenPayload<'_>],
    blobs: &NamedBlobs<'_>,
) -> Vec<PayloadFacts<'t>> {
    let facts = |opened: &OpenPayload<'_>| {
        let place = opened.delegates.first().copied()?;
        let (plan, backend) = delegate_at(pte, place);
        let id = backend.id();
        Some(PayloadFacts {
            method: plan.name(),
            delegate: place.1,
            id,
            offset: pte.range(&opened.data).map(|range| range.start),
            size: opened.data.size(),
            compile_specs: CompileSetting::all(backend),
            device: Device::of(backend, pte.bytes(&opened.data).ok()),
            summary: PayloadSummary::of(id, &opened.payload, blobs),
        })
    };
    opened.iter().filter_map(facts).collect()
}
