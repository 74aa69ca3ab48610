//! The operators that a program calls, compared with the kernel libraries of releases.

use super::super::instructions::called_operators;
use super::super::report::Name;
use super::super::{Behaviour, Release};
use super::{KnownBehaviour, Reason, Target, reasons};
use crate::error::{Error, Result};
use crate::file::pte::Pte;
use crate::operators::{self, Libraries, Spans};
use crate::path::{FieldPath, Path};
use crate::schema::program::Operator;
use alloc::collections::BTreeMap;
use alloc::collections::BTreeSet;
use alloc::{borrow::ToOwned, format, string::String, vec, vec::Vec};
use core::fmt;
use core::str::FromStr;

/// The most operators to name in a sentence.
const MAX_SHOWN: usize = 4;

/// The most operators of a library to list.
const MAX_LISTED: usize = 100;

/// A kernel library of ExecuTorch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Library {
    /// Kernels for any machine.
    Portable,
    /// Faster kernels for some operators, used together with the portable ones.
    Optimized,
    /// Kernels of quantized operators.
    Quantized,
    /// Kernels of quantized operators for Arm's Cortex-M.
    #[serde(rename = "cortex_m", alias = "cortex-m")]
    CortexM,
    /// The kernels in the Python wheel.
    PythonWheel,
}

impl Library {
    /// All libraries.
    pub const ALL: &'static [Self] =
        &[Self::Portable, Self::Optimized, Self::Quantized, Self::CortexM, Self::PythonWheel];

    /// Returns the name: `portable`, `optimized`, `quantized`, `cortex_m` or `python-wheel`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Optimized => "optimized",
            Self::Quantized => "quantized",
            Self::CortexM => "cortex_m",
            Self::PythonWheel => "python-wheel",
        }
    }
}

/// Parses a name. `cortex-m` is accepted as `cortex_m`.
impl FromStr for Library {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let name = if text == "cortex-m" { "cortex_m" } else { text };
        let named = Self::ALL.iter().copied().find(|library| library.name() == name);
        named
            .ok_or_else(|| Error::word("library of kernels", text, &mut Self::ALL.iter().map(|library| library.name())))
    }
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The kernels that a program needs from a library other than the portable one.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NeededKernels {
    /// The name of the [`Library`], or `custom` for operators that are in no library of ExecuTorch.
    pub library: &'static str,
    /// The operators, by name and overload, sorted; at most the first 100.
    pub operators: Vec<String>,
    /// The total number of operators.
    pub count: usize,
}

impl NeededKernels {
    /// The name for kernels that are in no library of ExecuTorch.
    pub const CUSTOM: &'static str = "custom";
}

/// Formats the kernels as in `cortex_m: pad, softmax`. If there are many operators, only the first ones and their number.
impl fmt::Display for NeededKernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<&str> = self.operators.iter().map(String::as_str).collect();
        if self.library != Self::CUSTOM {
            // With the name of the library, namespaces and overloads are not needed.
            for name in &mut names {
                let local = name.split_once("::").map_or(*name, |(_, local)| local);
                *name = local.split('.').next().unwrap_or(local);
            }
        }
        names.dedup();
        write!(f, "{}: ", self.library)?;
        for (at, name) in names.iter().take(MAX_SHOWN).enumerate() {
            write!(f, "{}{name}", if at > 0 { ", " } else { "" })?;
        }
        if names.len() > MAX_SHOWN { write!(f, ", … ({})", self.count) } else { Ok(()) }
    }
}

/// The kernels that a program needs besides the portable library, as a sentence: `needs kernels outside …`.
pub(super) struct Outside<'t>(pub(super) &'t [NeededKernels]);

impl fmt::Display for Outside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("needs kernels outside the portable library: ")?;
        for (at, kernels) in self.0.iter().enumerate() {
            write!(f, "{}{kernels}", if at > 0 { "; " } else { "" })?;
        }
        Ok(())
    }
}

impl Library {
    /// Returns the releases in which the library contains an operator.
    fn releases(self, libraries: &Libraries) -> Spans {
        match self {
            Self::Portable => libraries.portable,
            Self::Optimized => libraries.optimized,
            Self::Quantized => libraries.quantized,
            Self::CortexM => libraries.cortex_m,
            Self::PythonWheel => libraries.wheel,
        }
    }
}

/// Returns `true` if an operator is part of the runtime itself: it is in no library's list, and every build has the operators of the wheel.
fn is_prim(libraries: &Libraries) -> bool {
    let Libraries { portable, optimized, quantized, cortex_m, wheel } = libraries;
    !wheel.is_empty() && [portable, optimized, quantized, cortex_m].into_iter().all(|releases| releases.is_empty())
}

/// An operator that some releases do not have.
struct Rare {
    path: FieldPath,
    name: String,
    /// The ranges of releases that have the operator, one for each relevant library.
    known: Vec<Spans>,
    /// Another library that contains the operator.
    elsewhere: Option<Library>,
}

impl Rare {
    fn is_in(&self, release: Release) -> bool {
        self.known.iter().any(|ranges| release.is_in(ranges))
    }
}

/// The operators of a program that some releases do not have, and the kernels that it needs from other libraries.
pub(super) struct Missing {
    libraries: String,
    rare: Vec<Rare>,
    pub(super) kernels: Vec<NeededKernels>,
}

impl Missing {
    /// Finds the missing operators among those that instructions call: an operator that a method only lists is not looked up on loading.
    pub(super) fn of(pte: &Pte<'_>, target: &Target) -> Self {
        let mut missing = Self { libraries: String::new(), rare: Vec::new(), kernels: Vec::new() };
        for library in target.libraries.iter().flatten() {
            missing.libraries += if missing.libraries.is_empty() { "" } else { " + " };
            missing.libraries += library.name();
        }
        // Without libraries, the target's list is complete: it is compared with the calls.
        if target.all_operators || (target.operators.is_some() && target.libraries.is_none()) {
            return missing;
        }
        let mut seen = BTreeSet::new();
        for (method, plan) in pte.methods().iter().enumerate() {
            for ((index, operator), called) in plan.operators().iter().enumerate().zip(called_operators(plan)) {
                if called && seen.insert((operator.name(), operator.overload())) {
                    let path = Path::ROOT;
                    let path = path.item("execution_plan", method);
                    missing.add(operator, target, &path.item("operators", index));
                }
            }
        }
        missing.kernels.sort_by_key(|kernels| {
            Library::ALL.iter().position(|library| library.name() == kernels.library).unwrap_or(usize::MAX)
        });
        missing.kernels.iter_mut().for_each(|kernels| kernels.operators.sort());
        missing
    }

    fn add(&mut self, operator: &Operator<'_>, target: &Target, path: &Path<'_>) {
        if target.lists(operator) {
            return;
        }
        let libraries =
            operators::find(operator).map(|row| &row.libraries).filter(|libraries| **libraries != Libraries::NONE);
        let Some(libraries) = libraries else {
            if target.libraries.is_none() && !operators::is_official(operator) {
                return self.need(NeededKernels::CUSTOM, operator);
            }
            return self.lacks(operator, Vec::new(), None, path);
        };
        let library = Library::ALL.iter().copied().find(|library| !library.releases(libraries).is_empty());
        match (&target.libraries, library) {
            _ if is_prim(libraries) => self.lacks(operator, vec![libraries.wheel], None, path),
            (Some(linked), _) => {
                let known = linked.iter().map(|library| library.releases(libraries)).collect();
                self.lacks(operator, known, library, path);
            }
            (None, Some(library)) => {
                if library != Library::Portable {
                    self.need(library.name(), operator);
                }
                self.lacks(operator, vec![library.releases(libraries)], None, path);
            }
            (None, None) => {}
        }
    }

    /// Adds an operator of a library, or of [`NeededKernels::CUSTOM`].
    fn need(&mut self, library: &'static str, operator: &Operator<'_>) {
        if self.kernels.iter().all(|kernels| kernels.library != library) {
            self.kernels.push(NeededKernels { library, operators: Vec::new(), count: 0 });
        }
        for kernels in self.kernels.iter_mut().filter(|kernels| kernels.library == library) {
            kernels.count += 1;
            if kernels.count <= MAX_LISTED {
                kernels.operators.push(short(operator));
            }
        }
    }

    /// Adds an operator unless every release has it.
    fn lacks(&mut self, operator: &Operator<'_>, known: Vec<Spans>, library: Option<Library>, path: &Path<'_>) {
        let everywhere = |release: Release| !release.was_seen() || known.iter().any(|ranges| release.is_in(ranges));
        if Release::ALL.into_iter().all(everywhere) {
            return;
        }
        let nowhere = known.iter().all(|ranges| ranges.is_empty());
        // A few of the operators that are in no release are enough.
        let few = |rare: &&Rare| rare.known.iter().all(|ranges| ranges.is_empty());
        if !nowhere || self.rare.iter().filter(few).count() <= MAX_SHOWN {
            let elsewhere = library.filter(|_| nowhere);
            self.rare.push(Rare { path: path.to_field_path(), name: short(operator), known, elsewhere });
        }
    }

    /// Returns the behaviour of a release that does not have some of the operators, with a reason that lists them.
    pub(super) fn find(&self, release: Release) -> Option<KnownBehaviour> {
        let missing = || self.rare.iter().filter(|rare| !rare.is_in(release));
        let first = missing().next()?;
        let mut message = String::from("no ");
        for (at, rare) in missing().take(MAX_SHOWN).enumerate() {
            message += if at > 0 { ", " } else { "" };
            message += &rare.name;
            let since = Release::ALL.into_iter().find(|release| rare.is_in(*release));
            message += &match (since, rare.elsewhere) {
                (Some(since), _) if since > release => format!(" (since {since})"),
                (Some(_), _) => String::new(),
                (None, Some(library)) => format!(" (a kernel of {library})"),
                (None, None) => " (in no release)".to_owned(),
            };
        }
        if missing().nth(MAX_SHOWN).is_some() {
            message += " and others";
        }
        message += &match self.libraries.as_str() {
            "" => " in its kernel libraries".to_owned(),
            libraries => format!(" in its {libraries} kernels"),
        };
        Some((Behaviour::Refuses, Reason::new(&reasons::MISSING_OPERATORS, first.path.clone(), message)))
    }
}

/// Returns the name with overload. Names longer than those of real operators are truncated.
fn short(operator: &Operator<'_>) -> String {
    if operator.name().len().saturating_add(operator.overload().len()) > 100 {
        return format!("{}", Name(operator.name()));
    }
    operator.full_name()
}
