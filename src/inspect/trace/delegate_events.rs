//! Delegates' own records about their events: the shaders of Vulkan, and the statistics of VGF's accelerators.

use crate::error::counted;
use crate::names::short;
use alloc::{format, string::String, vec::Vec};
use core::fmt;
use serde::Deserialize;

/// The shader that an event of a Vulkan delegate timed, with the operator that it is a part of. The backend writes this as the event's name.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct VulkanShader {
    /// The name of the shader, such as `linear_naive_texture3d_float`.
    pub name: String,
    /// The number of the dispatch in the delegate's run.
    pub dispatch: u32,
    /// The operator's name, if the event has one: copies of inputs and outputs have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    /// The operator's `node_id` in the payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_id: Option<u32>,
}

/// The event's name as `DispatchNode.cpp` and `VulkanBackend.cpp` write it.
#[derive(Deserialize)]
struct EventName {
    #[serde(default)]
    operator: Option<EventOperator>,
    kernel_name: String,
    dispatch_id: u32,
}

#[derive(Deserialize)]
struct EventOperator {
    name: String,
    delegate_node_id: u32,
}

impl VulkanShader {
    /// Reads the name of an event; `None` if it is not that of a shader.
    pub(super) fn of_event(name: &str) -> Option<Self> {
        if !name.starts_with('{') || !name.contains("\"dispatch_id\"") {
            return None;
        }
        let EventName { operator, kernel_name, dispatch_id } = serde_json::from_str(name).ok()?;
        let (operator, node_id) = operator.map(|found| (short(&found.name), found.delegate_node_id)).unzip();
        Some(Self { name: short(&kernel_name), dispatch: dispatch_id, operator, node_id })
    }
}

/// The statistics of a neural accelerator that a VGF delegate recorded (`VGFNeuralStatistics.cpp`).
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NeuralStatistics {
    /// `true` if the driver returned any data.
    pub available: bool,
    /// The reason why there is no data; empty if there is.
    #[serde(default)]
    pub reason: String,
    /// The segments of the model.
    #[serde(default)]
    pub segments: Vec<StatisticsSegment>,
}

/// The statistics of a segment of a VGF model.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StatisticsSegment {
    /// The number of the segment.
    pub segment_id: u32,
    /// The database that describes the accelerator's commands.
    pub debug_database: StatisticsData,
    /// The description of the counters.
    pub statistics_info: StatisticsData,
    /// The counters.
    pub statistics_memory: StatisticsData,
}

/// Data that the driver returned. It is in the event's metadata, in base64.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StatisticsData {
    /// `true` if the driver returned it.
    pub available: bool,
    /// `true` if it is text.
    pub is_text: bool,
    /// The size, in bytes.
    pub size: u64,
    /// The reason why there is none.
    #[serde(default)]
    pub reason: String,
}

impl NeuralStatistics {
    /// Reads the metadata of an event; `None` if it is not such statistics.
    pub(super) fn of_metadata(metadata: &str) -> Option<Self> {
        const SCHEMA: &str = "\"executorch.vgf.neural_statistics\"";
        /// Cuts a reason that is long.
        fn cut(reason: &mut String) {
            *reason = short(reason);
        }
        if !metadata.contains(SCHEMA) {
            return None;
        }
        let mut found: Self = serde_json::from_str(metadata).ok()?;
        cut(&mut found.reason);
        for segment in &mut found.segments {
            let StatisticsSegment { debug_database, statistics_info, statistics_memory, .. } = segment;
            [debug_database, statistics_info, statistics_memory].into_iter().for_each(|data| cut(&mut data.reason));
        }
        Some(found)
    }
}

/// Displays it as `2 segments: statistics_info 120 B, statistics_memory 64 B`, or as the reason why there is no data.
impl fmt::Display for NeuralStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.available {
            return write!(f, "not available: {}", self.reason);
        }
        f.write_str(&counted(self.segments.len(), "segment"))?;
        for segment in self.segments.iter().take(MAX_SHOWN) {
            let parts = [
                ("debug_database", &segment.debug_database),
                ("statistics_info", &segment.statistics_info),
                ("statistics_memory", &segment.statistics_memory),
            ];
            let parts = parts.into_iter().filter(|(_, data)| data.available);
            let parts: Vec<String> = parts.map(|(name, data)| format!("{name} {} bytes", data.size)).collect();
            let parts = if parts.is_empty() { String::from("no data") } else { parts.join(", ") };
            write!(f, "; segment {}: {parts}", segment.segment_id)?;
        }
        Ok(())
    }
}

/// The maximum number of segments that the text shows.
const MAX_SHOWN: usize = 16;
