//! Checks whether a file will run on a device.

mod calls;
mod check;
mod devices;
mod memories;
mod missing;
mod needs;

pub use missing::{Fit, Missing, Unknown};
pub use needs::{CallerValue, MethodNeeds, Needs};

pub(super) use calls::{CallFault, faults};
pub(super) use check::check;

use super::release::Release;
use super::releases::Library;
#[cfg(doc)]
use crate::analysis::Analysis;
use crate::error::{Error, Result};
#[cfg(doc)]
use crate::file::pte::Pte;
use crate::inspect::{PointerSize, TempAllocator};
use crate::schema::ScalarType;
use crate::schema::program::Operator;
use crate::setters::setters;
use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::{String, ToString},
    vec::Vec,
};
use check::is_key;

/// A description of ExecuTorch on a device: a release, kernels, backends, and limits of memory. The default is the newest release with
/// everything that its own libraries contain, and without limits.
///
/// ```
/// use executorch_format::{Analysis, Pte, verify::Target};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
/// let pte = Pte::parse(&file)?;
/// let operators = [("aten::mul.out".into(), vec!["FLOAT".into()])].into();
/// let target = Target::default().with_operators(Some(operators)).with_arena(Some(64));
/// for cause in Analysis::new(&pte).verdict(&target).because {
///     println!("{cause}");
/// }
/// # Ok(())
/// # }
/// ```
///
/// As a file for `pte fit --target`, in TOML:
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
/// and in JSON:
///
/// ```
/// # {
/// use executorch_format::verify::Target;
///
/// let target: Target = serde_json::from_str(r#"{"arena": 65536, "pointer-bits": 32}"#).unwrap();
/// assert_eq!(target, Target::default().with_arena(Some(65536)).with_pointer_bits(Some(32)));
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct Target {
    /// The kernel libraries that are linked to the runtime, with the operators that `runtime` has in them. `None` means those that the
    /// program needs, of all libraries of ExecuTorch, or no library if `operators` is set.
    pub libraries: Option<Vec<Library>>,
    /// The kernels of the device besides those of `libraries`, by name and overload, such as `aten::add.out`. Each has
    /// a list of what it supports: types such as `f32` (or the schema's `FLOAT`), or combinations in the form of
    /// the keys of [`OperatorUse::kernels`](crate::inspect::OperatorUse::kernels). An empty list, or the item `default`, means every type.
    pub operators: Option<BTreeMap<String, Vec<String>>>,
    /// `true` if the device also has operators that are not listed.
    pub all_operators: bool,
    /// The types that kernels support, such as `f32` or the schema's `FLOAT`.
    pub scalar_types: Option<BTreeSet<String>>,
    /// The backends of the device. `None` means all.
    pub backends: Option<BTreeSet<String>>,
    /// The size of the planned memory for a method on the CPU, in bytes.
    #[serde(deserialize_with = "crate::sizes::deserialize_size")]
    pub arena: Option<u64>,
    /// The sizes of the memories for planned buffers by memory id, as the exporter's memory planner numbers them, from 1: the first is span 0 of the
    /// runtime's `HierarchicalAllocator`. A memory id that is not listed has no memory. `None` means no such limits.
    #[serde(deserialize_with = "memories::deserialize")]
    pub memories: Option<BTreeMap<u32, u64>>,
    /// The size of the method allocator, from which the runtime allocates memory when it loads a method, in bytes: see
    /// [`Pte::method_allocator`].
    #[serde(deserialize_with = "crate::sizes::deserialize_size")]
    pub method_allocator: Option<u64>,
    /// `true` if the runtime also has a temporary allocator. Without one, it takes more from the method allocator. `None`
    /// means that it has none.
    pub temp_allocator: Option<bool>,
    /// The accelerator that payloads for Ethos-U must be compiled for, such as `ethos-u55-128`, or `ethos-u55` for any size.
    pub accelerator: Option<String>,
    /// The size of scratch memory for an Ethos-U, in bytes: the most that a run of a delegate may take.
    #[serde(deserialize_with = "crate::sizes::deserialize_size")]
    pub scratch: Option<u64>,
    /// The SoC that payloads for QNN must be compiled for, such as `SM8550`.
    pub soc: Option<String>,
    /// The version of iOS (or iPadOS or tvOS), such as `17` or `17.4`, for payloads of Core ML.
    pub ios: Option<String>,
    /// The version of macOS, such as `14`, for payloads of Core ML.
    pub macos: Option<String>,
    /// The number of bits in a pointer, 32 or 64. `None` means 64.
    pub pointer_bits: Option<u32>,
    /// The release of ExecuTorch's runtime, such as `1.2`. `None` means the newest.
    pub runtime: Option<Release>,
    /// The largest size of a file, in bytes.
    #[serde(deserialize_with = "crate::sizes::deserialize_size")]
    pub largest_file: Option<u64>,
}

setters! {
    Target {
        libraries = with_libraries: Option<Vec<Library>>,
        operators = with_operators: Option<BTreeMap<String, Vec<String>>>,
        scalar_types = with_scalar_types: Option<BTreeSet<String>>,
        backends = with_backends: Option<BTreeSet<String>>,
        arena = with_arena: Option<u64>,
        memories = with_memories: Option<BTreeMap<u32, u64>>,
        method_allocator = with_method_allocator: Option<u64>,
        temp_allocator = with_temp_allocator: Option<bool>,
        accelerator = with_accelerator: Option<String>,
        scratch = with_scratch: Option<u64>,
        soc = with_soc: Option<String>,
        ios = with_ios: Option<String>,
        macos = with_macos: Option<String>,
        pointer_bits = with_pointer_bits: Option<u32>,
        runtime = with_runtime: Option<Release>,
        largest_file = with_largest_file: Option<u64>,
        ;
        all_operators = with_all_operators,
    }
}

/// Parses the short name of a type, or the schema's name.
fn scalar_type(name: &str) -> Result<ScalarType> {
    ScalarType::from_short_name(name).map_or_else(|| name.parse(), Ok)
}

impl Target {
    /// Returns `true` if an operator is in the list of kernels besides those of libraries.
    pub(super) fn lists(&self, operator: &Operator<'_>) -> bool {
        self.operators.as_ref().is_some_and(|operators| operators.contains_key(&operator.full_name()))
    }

    /// Returns the size of pointers, and whether there is a temporary allocator.
    fn allocators(&self) -> (PointerSize, TempAllocator) {
        let pointers = if self.pointer_bits == Some(32) { PointerSize::Bits32 } else { PointerSize::Bits64 };
        let temporary = if self.temp_allocator == Some(true) { TempAllocator::Given } else { TempAllocator::Missing };
        (pointers, temporary)
    }

    /// Fails with [`ErrorKind::Word`](crate::ErrorKind::Word) if the name of a type, a version of a system, or the number of bits of a pointer
    /// is not valid.
    pub fn check(&self) -> Result<()> {
        for taken in self.operators.iter().flat_map(BTreeMap::values) {
            for name in taken {
                if !is_key(name) {
                    scalar_type(name)?;
                }
            }
        }
        for name in self.scalar_types.iter().flatten() {
            scalar_type(name)?;
        }
        if self.libraries.is_some() && self.runtime.is_none() {
            // The kernels in a library depend on the release.
            let names: Vec<_> = Release::ALL.iter().map(|release| release.name()).collect();
            let expected = format!("one of {}", names.join(", "));
            return Err(Error::not_a("runtime for `libraries`", "none", expected));
        }
        for version in [&self.ios, &self.macos].into_iter().flatten() {
            devices::version(version)
                .ok_or_else(|| Error::not_a("version of iOS or macOS", version, "such as 17 or 17.4"))?;
        }
        match self.pointer_bits {
            None | Some(32 | 64) => Ok(()),
            Some(other) => Err(Error::not_a("number of bits of a pointer", &other.to_string(), "32 or 64")),
        }
    }
}
