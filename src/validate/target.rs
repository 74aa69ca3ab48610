//! Whether a file will run on a certain device.

use super::release::{Behaviour, Release};
use super::releases::ReleaseVerdict;
use crate::error::{Error, Result, counted};
use crate::file::pte::Pte;
use crate::inspect::{MethodAllocator, Operators};
use crate::path::Path;
use crate::schema::ScalarType;
use crate::schema::program::DeviceType;
use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

/// What a device has. What is `None` is not checked.
///
/// ```
/// use executorch_format::{Pte, validate::Target};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
/// let pte = Pte::parse(&file)?;
/// let operators = [("aten::mul.out".into(), vec!["FLOAT".into()])].into();
/// let target = Target { operators: Some(operators), arena: Some(64), ..Target::default() };
/// for lack in pte.check_target(&target) {
///     println!("{lack}");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "kebab-case", deny_unknown_fields)
)]
pub struct Target {
    /// The kernels that are there, by name and overload, such as `aten::add.out`; for each what it takes: types of tensors by the
    /// schema's names, such as `FLOAT`, or combinations of them as [`kernel_key`](crate::inspect::kernel_key) writes them. An
    /// empty list, and the key `default`: anything.
    pub operators: Option<BTreeMap<String, Vec<String>>>,
    /// Whether operators that are not listed are there, too.
    pub all_operators: bool,
    /// The types that there are kernels for, by the schema's names.
    pub scalar_types: Option<BTreeSet<String>>,
    /// The backends that are there.
    pub backends: Option<BTreeSet<String>>,
    /// Bytes for the planned memory of a method on the CPU.
    pub arena: Option<u64>,
    /// Bytes for what the runtime allocates when it loads a method, see [`Pte::method_allocator`].
    pub method_allocator: Option<u64>,
    /// Bits of a pointer: 32, or else 64.
    pub pointer_bits: Option<u32>,
    /// The release of ExecuTorch's runtime, such as `1.2`.
    pub runtime: Option<Release>,
    /// The most bytes that a file may have.
    pub largest_file: Option<u64>,
}

/// Something that a file needs and a device does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(tag = "lacks", rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Lack {
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
        /// How many instructions call it so.
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
        /// How many instructions call it so.
        calls: usize,
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
        /// Bytes, without what backends take.
        needed: u64,
        /// Bytes.
        available: u64,
    },
    /// A runtime that loads the file: what this one does, and why.
    Runtime(ReleaseVerdict),
    /// Room for the file.
    FileSize {
        /// Bytes.
        needed: u64,
        /// Bytes.
        available: u64,
    },
}

impl fmt::Display for Lack {
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
            Self::Backend { method, backend, delegates } => {
                write!(f, "method {method:?}: no backend {backend:?} ({})", counted(*delegates, "delegate"))
            }
            Self::Arena { method, needed, available } => {
                write!(f, "method {method:?}: planned memory: {}", missing(*needed, *available))
            }
            Self::MethodAllocator { method, needed, available } => {
                write!(f, "method {method:?}: method allocator: {}", missing(*needed, *available))
            }
            Self::Runtime(verdict) => write!(f, "runtime: {verdict}"),
            Self::FileSize { needed, available } => write!(f, "file: {}", missing(*needed, *available)),
        }
    }
}

fn missing(needed: u64, available: u64) -> String {
    format!("{needed} bytes are needed and {available} available, {} too few", needed.saturating_sub(available))
}

impl Target {
    /// Fails with [`ErrorKind::Word`](crate::ErrorKind::Word) where a type of tensors or the bits of a pointer are
    /// none.
    pub fn check(&self) -> Result<()> {
        let listed = self.operators.iter().flatten().flat_map(|(_, taken)| taken).filter(|name| !is_key(name));
        for name in listed.chain(self.scalar_types.iter().flatten()) {
            name.parse::<ScalarType>()?;
        }
        match self.pointer_bits {
            None | Some(32 | 64) => Ok(()),
            Some(other) => Err(Error::not_a("number of bits of a pointer", &other.to_string(), "32 or 64".into())),
        }
    }
}

impl Pte<'_> {
    /// What the file needs and the device does not have: nothing, where it can be loaded there. Whether the file is a good one is
    /// another question, see [`validate`](Self::validate).
    pub fn check_target(&self, target: &Target) -> Vec<Lack> {
        let mut lacks = Vec::new();
        if let (Some(source), Some(available)) = (&self.source, target.largest_file) {
            let needed = source.bytes.len() as u64;
            lacks.extend((needed > available).then_some(Lack::FileSize { needed, available }));
        }
        if let Some(runtime) = target.runtime {
            let verdict = self.releases().into_iter().find(|verdict| verdict.release == runtime);
            lacks.extend(verdict.filter(|verdict| verdict.behaviour > Behaviour::Unknown).map(Lack::Runtime));
        }
        for plan in self.methods() {
            let mut needed = Operators::default();
            needed.add(plan, &Path::ROOT);
            check_operators(plan.name(), &needed, target, &mut lacks);
            check_backends(plan.name(), &needed, target, &mut lacks);
            let method = || String::from(plan.name());
            if let Some(available) = target.arena {
                let buffers = plan.planned_memory().buffers;
                let on_cpu = buffers.iter().filter(|buffer| buffer.device_type == DeviceType::CPU);
                let sizes = on_cpu.filter_map(|buffer| u64::try_from(buffer.size).ok());
                let needed = sizes.fold(0, u64::saturating_add);
                lacks.extend((needed > available).then(|| Lack::Arena { method: method(), needed, available }));
            }
            if let Some(available) = target.method_allocator {
                let MethodAllocator { bits_64, bits_32 } = self.method_allocator(plan);
                let needed = if target.pointer_bits == Some(32) { bits_32 } else { bits_64 };
                lacks.extend((needed > available).then(|| Lack::MethodAllocator {
                    method: method(),
                    needed,
                    available,
                }));
            }
        }
        lacks
    }
}

/// Whether an item of an operator's list is a combination of types, and not one type.
fn is_key(name: &str) -> bool {
    name == "default" || name.starts_with("v1")
}

fn check_operators(method: &str, needed: &Operators, target: &Target, lacks: &mut Vec<Lack>) {
    let method = || String::from(method);
    let known = |types: &[&String], found: ScalarType| types.iter().any(|name| name.parse() == Ok(found));
    let everywhere: Option<Vec<&String>> = target.scalar_types.as_ref().map(|types| types.iter().collect());
    for (name, needed) in needed.operators.iter().filter(|(_, needed)| needed.calls > 0) {
        let operator = || name.clone();
        let listed = target.operators.as_ref().map(|operators| operators.get(name));
        if listed == Some(None) && !target.all_operators {
            lacks.push(Lack::Operator { method: method(), operator: operator(), calls: needed.calls });
            continue;
        }
        let taken = listed.flatten().map(Vec::as_slice).unwrap_or_default();
        let (keys, types): (Vec<&String>, Vec<&String>) = taken.iter().partition(|name| is_key(name));
        let any = keys.is_empty() || keys.iter().any(|key| *key == "default");
        let mut missing: BTreeMap<ScalarType, usize> = BTreeMap::new();
        for (key, kernel) in &needed.kernels {
            let calls = kernel.calls;
            if !any && !keys.contains(&key) {
                lacks.push(Lack::OperatorKernel { method: method(), operator: operator(), key: key.clone(), calls });
            }
            let found: BTreeSet<ScalarType> = kernel.tensors.iter().map(|tensor| tensor.scalar_type).collect();
            for scalar_type in found {
                let is_there = (types.is_empty() || known(&types, scalar_type))
                    && everywhere.as_ref().is_none_or(|types| known(types, scalar_type));
                if !is_there {
                    *missing.entry(scalar_type).or_default() += calls;
                }
            }
        }
        lacks.extend(missing.into_iter().map(|(scalar_type, calls)| Lack::OperatorType {
            method: method(),
            operator: operator(),
            scalar_type,
            calls,
        }));
    }
}

fn check_backends(method: &str, needed: &Operators, target: &Target, lacks: &mut Vec<Lack>) {
    let is_there = |id: &String| target.backends.as_ref().is_none_or(|backends| backends.contains(id));
    let missing = needed.backends.iter().filter(|(id, _)| !is_there(id));
    lacks.extend(missing.map(|(id, found)| Lack::Backend {
        method: method.into(),
        backend: id.clone(),
        delegates: found.delegates,
    }));
}
