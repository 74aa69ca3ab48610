//! The needs of a file that a device does not meet.

use super::super::release::Release;
use super::super::releases::{MissingData, ReleaseVerdict};
use crate::error::counted;
use crate::schema::ScalarType;
use alloc::{boxed::Box, format, string::String, vec::Vec};
use core::fmt;

/// Something that a file needs and a device does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(tag = "missing", rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Missing {
    /// A kernel.
    Operator {
        /// The method that calls it.
        method: String,
        /// Its name and overload.
        operator: String,
        /// How many instructions call it.
        calls: usize,
    },
    /// A kernel for tensors of a type.
    OperatorType {
        /// The method that calls it.
        method: String,
        /// Its name and overload.
        operator: String,
        /// The type of a tensor that it is called with.
        scalar_type: ScalarType,
        /// How many instructions call it with these.
        calls: usize,
    },
    /// A kernel for a combination of types and dim orders.
    OperatorKernel {
        /// The method that calls it.
        method: String,
        /// Its name and overload.
        operator: String,
        /// The combination, as [`kernel_key`](crate::inspect::kernel_key) writes it.
        key: String,
        /// How many instructions call it with these.
        calls: usize,
    },
    /// A kernel that takes a call and computes the right numbers.
    Call {
        /// The method with the call.
        method: String,
        /// The operator's name and overload.
        operator: String,
        /// The rule that the call breaks: see [`RULES`](crate::verify::RULES).
        rule: &'static str,
        /// How many instructions break it in a call of this operator.
        calls: usize,
        /// The first of them, with what the kernel does.
        message: String,
    },
    /// A backend.
    Backend {
        /// The method that delegates to it.
        method: String,
        /// The backend's name.
        backend: String,
        /// How many delegates.
        delegates: usize,
    },
    /// Planned memory.
    Arena {
        /// The method.
        method: String,
        /// Bytes.
        needed: u64,
        /// Bytes.
        available: u64,
    },
    /// Memory of the method allocator.
    MethodAllocator {
        /// The method.
        method: String,
        /// Bytes, without what other backends than XNNPACK take.
        needed: u64,
        /// Bytes.
        available: u64,
        /// How many of the needed bytes XNNPACK's delegates take.
        xnnpack: u64,
        /// How many of the needed bytes a temporary allocator would save.
        without_temporary: u64,
        /// How many delegates take an unknown number of bytes more.
        other_delegates: usize,
    },
    /// The accelerator that a delegate of Ethos-U was compiled for.
    Accelerator {
        /// The method.
        method: String,
        /// Index of the delegate in the method.
        delegate: usize,
        /// The accelerator that it was compiled for.
        needed: String,
        /// The accelerator of the device.
        available: String,
    },
    /// Scratch memory of an Ethos-U.
    Scratch {
        /// The method.
        method: String,
        /// Index of the delegate in the method.
        delegate: usize,
        /// Bytes.
        needed: u64,
        /// Bytes.
        available: u64,
    },
    /// A runtime that loads the file. The verdict says what this one does, and why.
    Runtime(Box<ReleaseVerdict>),
    /// External data.
    ExternalData(MissingData),
    /// Space for the file.
    FileSize {
        /// Bytes.
        needed: u64,
        /// Bytes.
        available: u64,
    },
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator { method, operator, calls } => {
                write!(f, "method {method:?}: no operator {operator:?} ({})", counted(*calls, "call"))
            }
            Self::OperatorType { method, operator, scalar_type, calls } => {
                write!(f, "method {method:?}: no operator {operator:?} for {scalar_type} ({})", counted(*calls, "call"))
            }
            Self::OperatorKernel { method, operator, key, calls } => {
                write!(f, "method {method:?}: no operator {operator:?} for {key} ({})", counted(*calls, "call"))
            }
            Self::Call { method, rule, calls, message, .. } => {
                write!(f, "method {method:?}: {rule}: {message} ({})", counted(*calls, "call"))
            }
            Self::Backend { method, backend, delegates } => {
                write!(f, "method {method:?}: no backend {backend:?} ({})", counted(*delegates, "delegate"))
            }
            Self::Arena { method, needed, available } => {
                write!(f, "method {method:?}: planned memory: {}", missing(*needed, *available))
            }
            Self::MethodAllocator { method, needed, available, xnnpack, without_temporary, other_delegates } => {
                write!(f, "method {method:?}: method allocator: {}", missing(*needed, *available))?;
                if *xnnpack > 0 {
                    write!(f, "; {xnnpack} of them for XNNPACK's delegates")?;
                }
                if *without_temporary > 0 {
                    write!(f, "; {without_temporary} of them because there is no temporary allocator")?;
                }
                match other_delegates {
                    0 => Ok(()),
                    _ => write!(f, "; {} of other backends may take more", counted(*other_delegates, "delegate")),
                }
            }
            Self::Accelerator { method, delegate, needed, available } => {
                write!(
                    f,
                    "method {method:?}: delegate {delegate} was compiled for {needed:?}, and the device has {available:?}"
                )
            }
            Self::Scratch { method, delegate, needed, available } => {
                write!(f, "method {method:?}: scratch memory of delegate {delegate}: {}", missing(*needed, *available))
            }
            Self::Runtime(verdict) => write!(f, "runtime: {verdict}"),
            Self::ExternalData(data) => write!(f, "external data: {data}, and none that was given has it"),
            Self::FileSize { needed, available } => write!(f, "file: {}", missing(*needed, *available)),
        }
    }
}

/// Something that a file may need, and of which it is not known whether the device has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(tag = "unknown", rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Unknown {
    /// What the runtime does with the file; the verdict says why that is not known.
    Runtime(Box<ReleaseVerdict>),
    /// What a delegate of Ethos-U was compiled for, or how much scratch memory it takes.
    Accelerator {
        /// The method.
        method: String,
        /// Index of the delegate in the method.
        delegate: usize,
        /// What is not known.
        what: &'static str,
    },
    /// What the delegates of a backend take from the method allocator.
    BackendMemory {
        /// The method.
        method: String,
        /// The backend's name, cut if it is long.
        backend: String,
    },
    /// What a kernel does with a call that the latest release refuses or computes wrongly, or may compute wrongly.
    Call {
        /// The method with the call.
        method: String,
        /// The operator's name and overload.
        operator: String,
        /// The rule that the call breaks: see [`RULES`](crate::verify::RULES).
        rule: &'static str,
        /// How many instructions break it in a call of this operator.
        calls: usize,
        /// The first of them, with what the kernel of the latest release does.
        message: String,
        /// The release that the device has.
        runtime: Release,
    },
    /// What the runtime takes from the method allocator: the sizes are those of the latest release.
    RuntimeMemory {
        /// The release that the device has.
        runtime: Release,
    },
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runtime(verdict) => write!(f, "runtime: {verdict}"),
            Self::Accelerator { method, delegate, what } => {
                write!(f, "method {method:?}: {what} of delegate {delegate}")
            }
            Self::BackendMemory { method, backend } => {
                write!(f, "method {method:?}: what {backend} takes from the method allocator")
            }
            Self::Call { method, rule, calls, message, runtime, .. } => {
                write!(f, "method {method:?}: {rule}: {message} ({})", counted(*calls, "call"))?;
                match *runtime == Release::LATEST {
                    true => Ok(()),
                    false => write!(f, "; kernels of {runtime} were not tested"),
                }
            }
            Self::RuntimeMemory { runtime } => {
                write!(f, "what {runtime} takes from the method allocator: the sizes are those of {}", Release::LATEST)
            }
        }
    }
}

/// The needs of a file that a device does not meet, and those that could not be checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Fit {
    /// What the file needs and the device does not have.
    pub missing: Vec<Missing>,
    /// What may be missing. If both lists are empty, the file loads on the device, as far as the target describes it.
    pub unknown: Vec<Unknown>,
}

fn missing(needed: u64, available: u64) -> String {
    format!("{needed} bytes are needed and {available} available, {} too few", needed.saturating_sub(available))
}
