//! The needs of a file that a device does not meet.

use super::super::release::Release;
use super::super::releases::{Loading, MissingData, NeededKernels, Reason, ReleaseVerdict, reasons};
use super::super::{Cause, Outcome, Verdict};
use super::needs::Needs;
use crate::error::counted;
use crate::operators::KernelPlace;
use crate::path::FieldPath;
use crate::schema::ScalarType;
use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

/// A need of a file that a device does not meet.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "missing", rename_all = "kebab-case")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Missing {
    /// A kernel.
    Operator {
        /// The method that calls the operator.
        method: String,
        /// The name and overload.
        operator: String,
        /// The number of instructions that call it.
        calls: usize,
        /// The place of ExecuTorch's own kernel, if there is one.
        place: Option<KernelPlace>,
    },
    /// A kernel for tensors of a type.
    OperatorType {
        /// The method that calls the operator.
        method: String,
        /// The name and overload.
        operator: String,
        /// The type of a tensor in the call.
        scalar_type: ScalarType,
        /// The number of instructions that call it with this type.
        calls: usize,
    },
    /// A kernel for a combination of types and dim orders.
    OperatorKernel {
        /// The method that calls the operator.
        method: String,
        /// The name and overload.
        operator: String,
        /// The combination, as in the keys of [`OperatorUse::kernels`](crate::inspect::OperatorUse::kernels).
        key: String,
        /// The number of instructions that call it with this combination.
        calls: usize,
    },
    /// A kernel that accepts a call and computes the right numbers.
    Call {
        /// The method with the call.
        method: String,
        /// The operator's name and overload.
        operator: String,
        /// The rule that the call breaks: see [`RULES`](crate::verify::RULES).
        rule: &'static str,
        /// The number of instructions that break the rule in a call of this operator.
        calls: usize,
        /// The first of these calls, with the behaviour of the kernel.
        message: String,
    },
    /// A backend.
    Backend {
        /// The method that delegates to the backend.
        method: String,
        /// The backend's name.
        backend: String,
        /// The number of delegates.
        delegates: usize,
    },
    /// Planned memory.
    Arena {
        /// The method.
        method: String,
        /// The needed size, in bytes.
        needed: u64,
        /// The available size, in bytes.
        available: u64,
    },
    /// Memory for a planned buffer.
    Memory {
        /// The method.
        method: String,
        /// The memory id of the buffer, from 1.
        memory_id: u32,
        /// The index of its span in the runtime, from 0.
        span: u32,
        /// The needed size, in bytes.
        needed: u64,
        /// The available size, in bytes; 0 if the device has no memory of this id.
        available: u64,
    },
    /// Memory of the method allocator.
    MethodAllocator {
        /// The method.
        method: String,
        /// The needed size, in bytes, without the share of backends other than XNNPACK.
        needed: u64,
        /// The available size, in bytes.
        available: u64,
        /// The part of `needed` that XNNPACK's delegates take.
        xnnpack: u64,
        /// The part of `needed` that a temporary allocator would save.
        without_temporary: u64,
        /// The number of delegates that take an unknown number of further bytes.
        other_delegates: usize,
    },
    /// The accelerator that a delegate for Ethos-U was compiled for.
    Accelerator {
        /// The method.
        method: String,
        /// The index of the delegate in the method.
        delegate: usize,
        /// The accelerator that the delegate was compiled for.
        needed: String,
        /// The accelerator of the device.
        available: String,
    },
    /// The SoC that a delegate for QNN was compiled for.
    Soc {
        /// The method.
        method: String,
        /// The index of the delegate in the method.
        delegate: usize,
        /// The SoC that the delegate was compiled for.
        needed: String,
        /// The SoC of the device.
        available: String,
    },
    /// The version of the operating system that a delegate for Core ML needs.
    System {
        /// The method.
        method: String,
        /// The index of the delegate in the method.
        delegate: usize,
        /// The system: `iOS` or `macOS`.
        system: &'static str,
        /// The oldest version that runs the delegate.
        needed: String,
        /// The version of the device.
        available: String,
    },
    /// Scratch memory of an Ethos-U.
    Scratch {
        /// The method.
        method: String,
        /// The index of the delegate in the method.
        delegate: usize,
        /// The needed size, in bytes.
        needed: u64,
        /// The available size, in bytes.
        available: u64,
    },
    /// A runtime that loads the file, with the verdict on the device's runtime.
    Runtime(Box<ReleaseVerdict>),
    /// A runtime that runs the file, which it loads.
    Run(Cause),
    /// External data.
    ExternalData(MissingData),
    /// Space for the file.
    FileSize {
        /// The needed size, in bytes.
        needed: u64,
        /// The available size, in bytes.
        available: u64,
    },
}

impl Missing {
    /// Returns the cause of a verdict, for a need that the verdict on the runtime does not have.
    pub(super) fn cause(&self) -> Cause {
        let (outcome, kind) = match self {
            Self::Operator { .. } | Self::OperatorType { .. } | Self::OperatorKernel { .. } => {
                (Outcome::Missing, &reasons::MISSING_OPERATORS)
            }
            Self::Backend { .. } | Self::Accelerator { .. } | Self::Soc { .. } | Self::System { .. } => {
                (Outcome::Missing, &reasons::MISSING_BACKEND)
            }
            _ => (Outcome::DoesNotFit, &reasons::MEMORY),
        };
        Cause::new(outcome, Reason::new(kind, FieldPath::default(), self.to_string()))
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator { method, operator, calls, place } => {
                write!(f, "method {method:?}: no operator {operator:?} ({})", counted(*calls, "call"))?;
                // Every build of ExecuTorch can have the portable kernels.
                match place.filter(|place| !["portable", "runtime"].contains(&place.library)) {
                    Some(place) => write!(f, "; it is {place}"),
                    None => Ok(()),
                }
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
            Self::Memory { method, memory_id, span, needed, available } => {
                let size = missing(*needed, *available);
                write!(f, "method {method:?}: memory id {memory_id} (span {span}): {size}")
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
            Self::Soc { method, delegate, needed, available } => {
                write!(
                    f,
                    "method {method:?}: the QNN payload of delegate {delegate} is for {needed}, and the device is {available:?}"
                )
            }
            Self::System { method, delegate, system, needed, available } => {
                write!(
                    f,
                    "method {method:?}: delegate {delegate}: Core ML needs {system} {needed}, and the device has {available}"
                )
            }
            Self::Scratch { method, delegate, needed, available } => {
                write!(f, "method {method:?}: scratch memory of delegate {delegate}: {}", missing(*needed, *available))
            }
            Self::Runtime(verdict) => write!(f, "runtime: {}", Loading(verdict)),
            Self::Run(cause) => write!(f, "runtime: {}: {cause}", cause.outcome),
            Self::ExternalData(data) => write!(f, "external data: {data}, and none that was given has it"),
            Self::FileSize { needed, available } => write!(f, "file: {}", missing(*needed, *available)),
        }
    }
}

/// A possible need of a file; it is unknown whether the device meets it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "unknown", rename_all = "kebab-case")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Unknown {
    /// The behaviour of the runtime with the file, with the reason why it is unknown.
    Runtime(Box<ReleaseVerdict>),
    /// The outcome of a run of the file, which the runtime loads.
    Run(Cause),
    /// A demand of a delegate that its settings and payload do not state: the accelerator or the scratch memory of Ethos-U, the SoC of QNN, or
    /// the version of the system of Core ML.
    Accelerator {
        /// The method.
        method: String,
        /// The index of the delegate in the method.
        delegate: usize,
        /// The unknown fact.
        what: &'static str,
    },
    /// The memory that the delegates of a backend take from the method allocator.
    BackendMemory {
        /// The method.
        method: String,
        /// The backend's name, truncated if it is long.
        backend: String,
    },
    /// The behaviour of a kernel with a call that it may compute wrongly, or that the latest release refuses.
    Call {
        /// The method with the call.
        method: String,
        /// The operator's name and overload.
        operator: String,
        /// The rule that the call breaks: see [`RULES`](crate::verify::RULES).
        rule: &'static str,
        /// The number of instructions that break the rule in a call of this operator.
        calls: usize,
        /// The first of these calls, with the behaviour of the latest release's kernel.
        message: String,
        /// The release on the device.
        runtime: Release,
    },
    /// The memory that the runtime takes from the method allocator: the known sizes are those of the latest release.
    RuntimeMemory {
        /// The release on the device.
        runtime: Release,
    },
}

impl Unknown {
    /// Returns the cause of a verdict, for a gap that the verdict on the runtime does not have.
    pub(super) fn cause(&self) -> Cause {
        let kind = match self {
            Self::Accelerator { .. } => &reasons::MISSING_BACKEND,
            _ => &reasons::MEMORY,
        };
        Cause::new(Outcome::Unknown, Reason::new(kind, FieldPath::default(), self.to_string()))
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runtime(verdict) => write!(f, "runtime: {}", Loading(verdict)),
            Self::Run(cause) => write!(f, "runtime: {cause}"),
            Self::Accelerator { method, delegate, what } => {
                write!(f, "method {method:?}: {what} of delegate {delegate}")
            }
            Self::BackendMemory { method, backend } => {
                write!(f, "method {method:?}: what {backend} takes from the method allocator")
            }
            Self::Call { method, rule, calls, message, runtime, .. } => {
                write!(f, "method {method:?}: {rule}: {message} ({})", counted(*calls, "call"))?;
                match runtime.has_tested_kernels() {
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

/// A verdict in detail: the needs of a file that a device does not meet, and those that could not be checked.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Fit {
    /// The verdict of ExecuTorch on the device: that something is missing, or not known, follows from the lists.
    pub verdict: Verdict,
    /// The needs that the device does not meet.
    pub missing: Vec<Missing>,
    /// The needs that could not be checked. If both lists are empty, the file loads on the device, as far as the target describes it.
    pub unknown: Vec<Unknown>,
    /// The kernels that the program needs from libraries other than the portable one, if the target does not state its libraries.
    pub kernels: Vec<NeededKernels>,
    /// Everything that the program needs, whether the device has it or not.
    pub needs: Needs,
}

fn missing(needed: u64, available: u64) -> String {
    format!("{needed} bytes are needed and {available} available, {} too few", needed.saturating_sub(available))
}
