//! Whether a file will run on a certain device.

use super::release::{Behaviour, Release};
use super::releases::{Deployment, Library, MissingData, ReleaseVerdict};
use super::report::Name;
use crate::delegate::Payload;
use crate::error::{Error, Result, counted};
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::inspect::{Operators, PointerSize, TempAllocator, accelerator};
use crate::keyed::{Keyed, set};
use crate::path::Path;
use crate::schema::ScalarType;
use crate::schema::program::{DeviceType, ExecutionPlan};
use crate::setters::setters;
use alloc::{
    boxed::Box,
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
/// let target = Target::default().with_operators(Some(operators)).with_arena(Some(64));
/// for lack in pte.check_target(&target) {
///     println!("{lack}");
/// }
/// # Ok(())
/// # }
/// ```
///
/// As a file for `pte check --target`, in TOML:
///
/// ```toml
/// runtime = "1.2"
/// libraries = ["portable"]
/// backends = ["XnnpackBackend"]
/// arena = 65536
/// method-allocator = 16384
/// pointer-bits = 32
///
/// [operators]
/// "aten::mul.out" = ["FLOAT"]
/// ```
///
/// and in JSON, with the feature `serde`:
///
/// ```
/// # #[cfg(feature = "serde")] {
/// use executorch_format::validate::Target;
///
/// let target: Target = serde_json::from_str(r#"{"arena": 65536, "pointer-bits": 32}"#).unwrap();
/// assert_eq!(target, Target::default().with_arena(Some(65536)).with_pointer_bits(Some(32)));
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "kebab-case", deny_unknown_fields)
)]
#[non_exhaustive]
pub struct Target {
    /// The kernel libraries that are linked to the runtime, each as its release has it. `None` where `operators` are not listed either, and a
    /// runtime is named: portable.
    pub libraries: Option<Vec<Library>>,
    /// The kernels that are there, besides those of libraries, by name and overload, such as `aten::add.out`; for each what it takes: types of tensors, such as
    /// `f32` or by the schema's names `FLOAT`, or combinations of them as [`kernel_key`](crate::inspect::kernel_key) writes them. An
    /// empty list, and the key `default`: anything.
    pub operators: Option<BTreeMap<String, Vec<String>>>,
    /// Whether operators that are not listed are there, too.
    pub all_operators: bool,
    /// The types that there are kernels for, such as `f32`, or by the schema's names `FLOAT`.
    pub scalar_types: Option<BTreeSet<String>>,
    /// The backends that are there.
    pub backends: Option<BTreeSet<String>>,
    /// Bytes for the planned memory of a method on the CPU.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::names::deserialize_size"))]
    pub arena: Option<u64>,
    /// Bytes for what the runtime allocates when it loads a method, see [`Pte::method_allocator`].
    #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::names::deserialize_size"))]
    pub method_allocator: Option<u64>,
    /// Whether the runtime has a temporary allocator, too. Without one, which is also taken where this is `None`, it takes more from the method
    /// allocator.
    pub temp_allocator: Option<bool>,
    /// The accelerator that payloads of Ethos-U have to be compiled for, such as `ethos-u55-128`.
    pub accelerator: Option<String>,
    /// Bytes of scratch memory for an Ethos-U: what one run of one delegate may take.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::names::deserialize_size"))]
    pub scratch: Option<u64>,
    /// Bits of a pointer: 32, or else 64.
    pub pointer_bits: Option<u32>,
    /// The release of ExecuTorch's runtime, such as `1.2`.
    pub runtime: Option<Release>,
    /// The most bytes that a file may have.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::names::deserialize_size"))]
    pub largest_file: Option<u64>,
}

setters! {
    Target {
        libraries = with_libraries: Option<Vec<Library>>,
        operators = with_operators: Option<BTreeMap<String, Vec<String>>>,
        scalar_types = with_scalar_types: Option<BTreeSet<String>>,
        backends = with_backends: Option<BTreeSet<String>>,
        arena = with_arena: Option<u64>,
        method_allocator = with_method_allocator: Option<u64>,
        temp_allocator = with_temp_allocator: Option<bool>,
        accelerator = with_accelerator: Option<String>,
        scratch = with_scratch: Option<u64>,
        pointer_bits = with_pointer_bits: Option<u32>,
        runtime = with_runtime: Option<Release>,
        largest_file = with_largest_file: Option<u64>,
        ;
        all_operators = with_all_operators,
    }
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
        /// Bytes, without what other backends than XNNPACK take.
        needed: u64,
        /// Bytes.
        available: u64,
        /// How many of them XNNPACK's delegates take.
        xnnpack: u64,
        /// How many of them are taken since there is no temporary allocator.
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
        /// What it was compiled for.
        needed: String,
        /// What there is.
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
    /// A runtime that loads the file: what this one does, and why.
    Runtime(Box<ReleaseVerdict>),
    /// Data out of `.ptd` files.
    ExternalData(MissingData),
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

/// Something that a file may need, where it is not known whether the device has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(tag = "unknown", rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Unknown {
    /// What the runtime does with the file, and why that is not known.
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
            Self::RuntimeMemory { runtime } => {
                write!(f, "what {runtime} takes from the method allocator: the sizes are those of {}", Release::LATEST)
            }
        }
    }
}

/// What a device lacks, and what is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TargetCheck {
    /// What the file needs and the device does not have.
    pub lacks: Vec<Lack>,
    /// What may be missing. Without it and without lacks, the file loads there as far as the target says what there is.
    pub unknown: Vec<Unknown>,
}

/// A type by its short name or the schema's.
fn scalar_type(name: &str) -> Result<ScalarType> {
    ScalarType::from_short_name(name).map_or_else(|| name.parse(), Ok)
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
            scalar_type(name)?;
        }
        if self.libraries.is_some() && self.runtime.is_none() {
            // Which kernels a library has depends on the release.
            let names: Vec<_> = Release::ALL.iter().map(|release| release.name()).collect();
            let expected = format!("one of {}", names.join(", "));
            return Err(Error::not_a("runtime, which `libraries` are to come from", "none", expected));
        }
        match self.pointer_bits {
            None | Some(32 | 64) => Ok(()),
            Some(other) => Err(Error::not_a("number of bits of a pointer", &other.to_string(), "32 or 64")),
        }
    }
}

impl Target {
    /// What the device's runtime does with a program.
    fn verdict(&self, pte: &Pte<'_>, data: Option<&[&Ptd<'_>]>) -> Option<ReleaseVerdict> {
        let runtime = self.runtime?;
        let kernels: Vec<&str> = self.operators.iter().flatten().map(|(name, _)| name.as_str()).collect();
        let libraries = self.libraries.as_deref().unwrap_or(&[Library::Portable]);
        let deployment = Deployment { libraries, kernels: &kernels, data };
        let verdict = pte.releases_with(&deployment).into_iter().find(|verdict| verdict.release == runtime)?;
        // Without libraries, the list of operators says what there is.
        let listed = self.all_operators || (self.libraries.is_none() && self.operators.is_some());
        Some(if listed { verdict.with_operators() } else { verdict })
    }
}

impl Pte<'_> {
    /// What the file needs and the device does not have: [`check_target_with`](Self::check_target_with) whatever `.ptd` file it needs.
    pub fn check_target(&self, target: &Target) -> Vec<Lack> {
        self.check_target_with(target, None).lacks
    }

    /// What the file needs and the device does not have, and what of it is not known, where the file is loaded with `data`; `None`: with whatever
    /// `.ptd` file it needs. Whether the file is a good one is another question, see [`validate`](Self::validate).
    pub fn check_target_with(&self, target: &Target, data: Option<&[&Ptd<'_>]>) -> TargetCheck {
        let TargetCheck { mut lacks, mut unknown } = TargetCheck::default();
        if let (Some(source), Some(available)) = (&self.source, target.largest_file) {
            let needed = source.bytes.len() as u64;
            lacks.extend((needed > available).then_some(Lack::FileSize { needed, available }));
        }
        if let Some(missing) = data.and_then(|data| self.missing_data(data)) {
            lacks.push(Lack::ExternalData(missing));
        }
        // Data that is not there is told above.
        let given = data.filter(|data| !data.is_empty());
        if let Some(verdict) = target.verdict(self, given) {
            match verdict.behaviour {
                Behaviour::Loads => {}
                Behaviour::Unknown => unknown.push(Unknown::Runtime(Box::new(verdict))),
                _ => lacks.push(Lack::Runtime(Box::new(verdict))),
            }
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
                let sizes = on_cpu.map(|buffer| buffer.size);
                let needed = sizes.fold(0, u64::saturating_add);
                lacks.extend((needed > available).then(|| Lack::Arena { method: method(), needed, available }));
            }
            if let Some(available) = target.method_allocator {
                check_allocator(self, plan, target, available, &mut lacks);
                let others = needed.backends.keys().filter(|id| *id != "XnnpackBackend");
                unknown.extend(
                    others.map(|backend| Unknown::BackendMemory {
                        method: method(),
                        backend: format!("{}", Name(backend)),
                    }),
                );
            }
        }
        if target.accelerator.is_some() || target.scratch.is_some() {
            check_ethos_u(self, target, &mut lacks, &mut unknown);
        }
        if let (Some(_), Some(runtime)) = (target.method_allocator, target.runtime) {
            unknown.extend((runtime != Release::LATEST).then_some(Unknown::RuntimeMemory { runtime }));
        }
        TargetCheck { lacks, unknown }
    }
}

fn check_allocator(pte: &Pte<'_>, plan: &ExecutionPlan<'_>, target: &Target, available: u64, lacks: &mut Vec<Lack>) {
    let taken = pte.method_allocator(plan);
    let pointers = if target.pointer_bits == Some(32) { PointerSize::Bits32 } else { PointerSize::Bits64 };
    let temporary = if target.temp_allocator == Some(true) { TempAllocator::Given } else { TempAllocator::Missing };
    let needed = taken.known(pointers, temporary);
    if needed > available {
        lacks.push(Lack::MethodAllocator {
            method: plan.name().into(),
            needed,
            available,
            xnnpack: taken.xnnpack,
            without_temporary: needed.saturating_sub(taken.known(pointers, TempAllocator::Given)),
            other_delegates: taken.other_delegates,
        });
    }
}

/// Whether the device's Ethos-U is the one that payloads were compiled for, and has the memory that they take.
fn check_ethos_u(pte: &Pte<'_>, target: &Target, lacks: &mut Vec<Lack>, unknown: &mut Vec<Unknown>) {
    for opened in pte.open_payloads() {
        for (method, delegate) in &opened.delegates {
            let Some(plan) = pte.methods().get(*method) else { continue };
            let Some(backend) = plan.delegates().get(*delegate).filter(|backend| backend.id() == ETHOS_U) else {
                continue;
            };
            let (method, delegate) = (|| String::from(plan.name()), *delegate);
            if let Some(available) = &target.accelerator {
                match accelerator(backend) {
                    Some(needed) if needed.eq_ignore_ascii_case(available) => {}
                    Some(needed) => {
                        let (needed, available) = (needed.into(), available.clone());
                        lacks.push(Lack::Accelerator { method: method(), delegate, needed, available });
                    }
                    None => unknown.push(Unknown::Accelerator { method: method(), delegate, what: "the accelerator" }),
                }
            }
            if let Some(available) = target.scratch {
                let scratch = match &opened.payload {
                    Ok(Payload::EthosU(payload)) => payload.scratch_size(),
                    _ => None,
                };
                match scratch {
                    Some(needed) if needed > available => {
                        lacks.push(Lack::Scratch { method: method(), delegate, needed, available });
                    }
                    Some(_) => {}
                    None => {
                        unknown.push(Unknown::Accelerator { method: method(), delegate, what: "the scratch memory" })
                    }
                }
            }
        }
    }
}

/// The id of the delegates of Ethos-U.
const ETHOS_U: &str = "EthosUBackend";

/// Whether an item of an operator's list is a combination of types, and not one type.
fn is_key(name: &str) -> bool {
    name == "default" || name.starts_with("v1")
}

fn check_operators(method: &str, needed: &Operators, target: &Target, lacks: &mut Vec<Lack>) {
    let method = || String::from(method);
    let known = |types: &[&String], found: ScalarType| types.iter().any(|name| scalar_type(name) == Ok(found));
    let everywhere: Option<Vec<&String>> = target.scalar_types.as_ref().map(|types| types.iter().collect());
    for (name, needed) in needed.operators.iter().filter(|(_, needed)| needed.calls > 0) {
        let operator = || name.clone();
        let listed = target.operators.as_ref().map(|operators| operators.get(name));
        // What a library has instead, the verdict on the release says.
        if listed == Some(None) && !target.all_operators && target.libraries.is_none() {
            lacks.push(Lack::Operator { method: method(), operator: operator(), calls: needed.calls });
            continue;
        }
        let taken = listed.flatten().map(Vec::as_slice).unwrap_or_default();
        let (keys, types): (Vec<&String>, Vec<&String>) = taken.iter().partition(|name| is_key(name));
        let any = keys.is_empty() || keys.iter().any(|key| *key == "default");
        let mut missing: Keyed<ScalarType, usize> = Keyed::new();
        for (key, kernel) in &needed.kernels {
            let calls = kernel.calls;
            if !any && !keys.contains(&key) {
                lacks.push(Lack::OperatorKernel { method: method(), operator: operator(), key: key.clone(), calls });
            }
            for scalar_type in set(kernel.tensors.iter().map(|tensor| tensor.scalar_type).collect()) {
                let is_there = (types.is_empty() || known(&types, scalar_type))
                    && everywhere.as_ref().is_none_or(|types| known(types, scalar_type));
                if !is_there {
                    *missing.entry(scalar_type) += calls;
                }
            }
        }
        lacks.extend(missing.into_sorted().into_iter().map(|(scalar_type, calls)| Lack::OperatorType {
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
