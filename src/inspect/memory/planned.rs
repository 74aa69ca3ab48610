//! The memory that was planned for a method.

use crate::error::Error;
use crate::inspect::Fault;
#[cfg(doc)]
use crate::inspect::Summary;
use crate::path::Path;
use crate::schema::program::{DeviceType, ExecutionPlan};
use alloc::{collections::BTreeMap, format, vec::Vec};
use core::fmt;

/// The planned memory of a method.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PlannedMemory {
    /// The total size of the buffers, in bytes.
    pub size: u64,
    /// The buffers.
    pub buffers: Vec<PlannedBuffer>,
}

/// A planned buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PlannedBuffer {
    /// The memory id, as the exporter's memory planner numbers them: from 1.
    pub memory_id: u32,
    /// The index of the span that the runtime's `HierarchicalAllocator` has for it, and of `MethodMeta::memory_planned_buffer_size`: from 0.
    pub span: u32,
    /// The size, in bytes; 0 if the program states a negative size, which is one of the faults in [`Summary`] and
    /// [`Memory`](crate::inspect::Memory).
    pub size: u64,
    /// The kind of device whose memory the buffer is in.
    pub device_type: DeviceType,
    /// The index among devices of that kind.
    pub device_index: i8,
}

/// Writes the memory id, and the device unless it is the CPU: `1`, `2 on CUDA:0`.
impl fmt::Display for PlannedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.device_type {
            DeviceType::CPU => write!(f, "{}", self.memory_id),
            device => write!(f, "{} on {device}:{}", self.memory_id, self.device_index),
        }
    }
}

impl ExecutionPlan<'_> {
    /// Returns the planned memory of the method. Its buffers count from 1, because entry 0 is reserved.
    pub fn planned_memory(&self) -> PlannedMemory {
        // The first device of a buffer counts.
        let devices = self.non_const_buffer_device().iter().rev();
        let devices: BTreeMap<i32, _> = devices.map(|device| (device.buffer_idx, device)).collect();
        let buffer = |(memory_id, size): (u32, &i64)| {
            let device = i32::try_from(memory_id).ok().and_then(|index| devices.get(&index));
            PlannedBuffer {
                memory_id,
                span: memory_id.saturating_sub(1),
                // A negative size is a fault, see `negative_buffers`.
                size: u64::try_from(*size).unwrap_or_default(),
                device_type: device.map_or(DeviceType::CPU, |device| device.device_type),
                device_index: device.map_or(0, |device| device.device_index),
            }
        };
        let buffers: Vec<_> = (0..).zip(self.non_const_buffer_sizes()).skip(1).map(buffer).collect();
        let bytes = buffers.iter().map(|buffer| buffer.size).fold(0, u64::saturating_add);
        PlannedMemory { size: bytes, buffers }
    }

    /// Returns the faults of planned buffers with a negative size. `index` is the index of the method.
    pub(in crate::inspect) fn negative_buffers(&self, index: usize) -> Vec<Fault> {
        let mut errors = Vec::new();
        for (buffer, size) in self.non_const_buffer_sizes().iter().enumerate().skip(1).filter(|(_, size)| **size < 0) {
            let path = Path::ROOT.item("execution_plan", index).item("non_const_buffer_sizes", buffer).to_field_path();
            let error = Error::reference(format!("a planned buffer of {size} bytes, expected no negative size"));
            errors.push(Fault { path, error });
        }
        errors
    }
}
