//! The operators that a program calls, compared with the kernel libraries of releases.

use super::super::instructions::called_operators;
use super::super::report::Name;
use super::super::{Behaviour, Release};
use super::{KnownBehaviour, Reason, Target, reasons};
use crate::file::pte::Pte;
use crate::operators::{self, KernelPlace, KnownOperator, Library, Spans};
use crate::path::{FieldPath, Path};
use crate::schema::program::Operator;
use alloc::collections::BTreeSet;
use alloc::{borrow::ToOwned, format, string::String, vec, vec::Vec};
use core::fmt;

/// The most operators to name in a sentence.
const MAX_SHOWN: usize = 4;

/// The most operators of a library to list.
const MAX_LISTED: usize = 100;

/// The kernels that a program needs from a library other than the portable one.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NeededKernels {
    /// The name of the [`Library`], or `custom` for operators that are in no library of ExecuTorch.
    pub library: &'static str,
    /// The target of ExecuTorch's CMake files that builds the library.
    pub cmake_target: Option<&'static str>,
    /// The module of the Python package that registers the kernels, if they are not registered without it.
    pub python_import: Option<&'static str>,
    /// The operators, by name and overload, sorted; at most the first 100.
    pub operators: Vec<String>,
    /// The total number of operators.
    pub count: usize,
}

impl NeededKernels {
    /// The name for kernels that are in no library of ExecuTorch.
    pub const CUSTOM: &'static str = "custom";
}

/// Formats the kernels as in `cortex_m: pad, softmax (in the C++ library cortex_m_ops_lib)`. If there are many operators, only the first ones and their number.
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
        if names.len() > MAX_SHOWN {
            write!(f, ", … ({})", self.count)?;
        }
        match Library::ALL.iter().find(|library| library.name() == self.library) {
            Some(library) => write!(f, " ({})", KernelPlace::from(*library)),
            None => Ok(()),
        }
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

/// An operator that some releases do not have.
struct Rare {
    path: FieldPath,
    name: String,
    /// The ranges of releases that have the operator, one for each relevant library.
    known: Vec<Spans>,
    /// The place of its kernels, and the releases that have them there, if that is not a relevant library.
    elsewhere: Option<(KernelPlace, Spans)>,
}

impl Rare {
    fn is_in(&self, release: Release) -> bool {
        self.known.iter().any(|ranges| release.is_in(ranges))
    }

    /// Returns the place of its kernels for a release whose libraries do not contain it: elsewhere, in a later release, or nowhere.
    fn place(&self, release: Release) -> String {
        let since = Release::ALL.into_iter().find(|release| self.is_in(*release));
        match (since, &self.elsewhere) {
            (None, Some((place, _))) => format!(" ({place})"),
            (Some(_), Some((place, releases))) if release.is_in(releases) => format!(" ({place})"),
            (Some(since), _) if since > release => format!(" (since {since})"),
            (Some(_), _) => String::new(),
            (None, None) => " (in no release)".to_owned(),
        }
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
        let row = operators::find(operator);
        let place = row.and_then(KnownOperator::place);
        let Some((row, library)) = row.and_then(|row| Some((row, row.library()?))) else {
            if place.is_none() && target.libraries.is_none() && !operators::is_official(operator) {
                return self.need(NeededKernels::CUSTOM, None, operator);
            }
            return self.lacks(operator, Vec::new(), place.map(|place| (place, &[][..])), path);
        };
        let releases = library.releases(&row.libraries);
        match &target.libraries {
            // Every build of the runtime has its own operators.
            _ if library == Library::PythonWheel => self.lacks(operator, vec![releases], None, path),
            Some(linked) => {
                let known = linked.iter().map(|library| library.releases(&row.libraries)).collect();
                let is_python = linked.contains(&Library::PythonWheel);
                let place = place.map(|place| if is_python { place.in_python() } else { place.in_cpp() });
                let elsewhere = place.filter(|_| !linked.contains(&library)).map(|place| (place, releases));
                self.lacks(operator, known, elsewhere, path);
            }
            None => {
                if library != Library::Portable {
                    self.need(library.name(), place, operator);
                }
                self.lacks(operator, vec![releases], None, path);
            }
        }
    }

    /// Adds an operator of a library, or of [`NeededKernels::CUSTOM`].
    fn need(&mut self, library: &'static str, place: Option<KernelPlace>, operator: &Operator<'_>) {
        if self.kernels.iter().all(|kernels| kernels.library != library) {
            let cmake_target = place.and_then(|place| place.cmake_target);
            let python_import = place.and_then(|place| place.python_import);
            self.kernels.push(NeededKernels { library, cmake_target, python_import, operators: Vec::new(), count: 0 });
        }
        for kernels in self.kernels.iter_mut().filter(|kernels| kernels.library == library) {
            kernels.count += 1;
            if kernels.count <= MAX_LISTED {
                kernels.operators.push(short(operator));
            }
        }
    }

    /// Adds an operator unless every release has it.
    fn lacks(
        &mut self,
        operator: &Operator<'_>,
        known: Vec<Spans>,
        elsewhere: Option<(KernelPlace, Spans)>,
        path: &Path<'_>,
    ) {
        let everywhere = |release: Release| !release.was_seen() || known.iter().any(|ranges| release.is_in(ranges));
        if Release::ALL.into_iter().all(everywhere) {
            return;
        }
        let nowhere = known.iter().all(|ranges| ranges.is_empty());
        // A few of the operators that are in no release are enough.
        let few = |rare: &&Rare| rare.known.iter().all(|ranges| ranges.is_empty());
        if !nowhere || self.rare.iter().filter(few).count() <= MAX_SHOWN {
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
            message += &rare.place(release);
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
