//! Which releases' kernel libraries have the operators that a program calls.

use super::super::report::Name;
use super::super::{Behaviour, Release};
use super::{Deployment, Found, Reason};
use crate::error::{Error, Result};
use crate::file::pte::Pte;
use crate::path::{FieldPath, Path};
use crate::schema::program::{InstructionArguments, Operator};
use crate::sorted_text;
use alloc::{borrow::ToOwned, format, string::String, vec, vec::Vec};
use core::fmt;
use core::str::FromStr;

/// Operator, then the releases whose portable, optimized and quantized library and whose Python wheel have it. Made from the kernel lists
/// (`functions.yaml`, `optimized.yaml`, `quantized.yaml`) of the release tags 0.1.0 to 1.4.0 and of 1.5's source, and from what the
/// libraries in the wheels register. 0.3's wheel was not looked at.
const TABLE: &str = include_str!("operators.tsv");

/// At most this many missing operators are named in a reason.
const MOST: usize = 4;

/// A kernel library of ExecuTorch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Library {
    /// Kernels for any machine.
    Portable,
    /// Faster kernels for some operators, used together with the portable ones.
    Optimized,
    /// Kernels of quantized operators.
    Quantized,
    /// The kernels in the Python wheel.
    PythonWheel,
}

impl Library {
    /// Every library.
    pub const ALL: &'static [Self] = &[Self::Portable, Self::Optimized, Self::Quantized, Self::PythonWheel];

    /// Its name: `portable`, `optimized`, `quantized` or `python-wheel`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Optimized => "optimized",
            Self::Quantized => "quantized",
            Self::PythonWheel => "python-wheel",
        }
    }
}

/// From its name.
impl FromStr for Library {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let named = Self::ALL.iter().copied().find(|library| library.name() == text);
        named
            .ok_or_else(|| Error::word("library of kernels", text, &mut Self::ALL.iter().map(|library| library.name())))
    }
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An operator that not every release has.
struct Rare {
    path: FieldPath,
    name: String,
    /// The ranges of releases that have it, from the table: one for each library.
    known: Vec<&'static str>,
}

impl Rare {
    fn is_in(&self, release: Release) -> bool {
        self.known.iter().any(|ranges| release.is_in(ranges))
    }
}

/// The operators of a program that some releases do not have.
pub(super) struct Missing {
    libraries: String,
    rare: Vec<Rare>,
}

impl Missing {
    /// Considers the operators that instructions call: one that a method only lists is not looked up when it is loaded.
    pub(super) fn of(pte: &Pte<'_>, deployment: &Deployment<'_>) -> Self {
        let mut rare: Vec<Rare> = Vec::new();
        for (method, plan) in pte.methods().iter().enumerate() {
            let mut called = vec![false; plan.operators().len()];
            for (_, instruction) in plan.instructions() {
                let InstructionArguments::KernelCall(call) = instruction else { continue };
                if let Some(called) = usize::try_from(call.op_index).ok().and_then(|index| called.get_mut(index)) {
                    *called = true;
                }
            }
            for (index, operator) in plan.operators().iter().enumerate() {
                if called.get(index) != Some(&true) {
                    continue;
                }
                let Some(known) = known(operator, deployment) else { continue };
                let name = short(operator);
                // Each operator is listed once. Of operators that are in no release, a few are enough.
                let told = rare.iter().any(|rare| rare.name == name);
                if !told && (!known.is_empty() || rare.iter().filter(|rare| rare.known.is_empty()).count() <= MOST) {
                    let path = Path::ROOT;
                    let path = path.item("execution_plan", method);
                    rare.push(Rare { path: path.item("operators", index).to_field_path(), name, known });
                }
            }
        }
        let mut libraries = String::new();
        for library in deployment.libraries {
            libraries += if libraries.is_empty() { "" } else { " + " };
            libraries += library.name();
        }
        Self { libraries, rare }
    }

    /// The operators that a release does not have.
    pub(super) fn find(&self, release: Release) -> Option<Found> {
        let missing = || self.rare.iter().filter(|rare| !rare.is_in(release));
        let first = missing().next()?;
        let mut message = String::from("no ");
        for (at, rare) in missing().take(MOST).enumerate() {
            message += if at > 0 { ", " } else { "" };
            message += &rare.name;
            message += &match Release::ALL.into_iter().find(|release| rare.is_in(*release)) {
                Some(since) if since > release => format!(" (since {since})"),
                Some(_) => String::new(),
                None => " (in no release)".to_owned(),
            };
        }
        if missing().nth(MOST).is_some() {
            message += " and others";
        }
        message += &match self.libraries.as_str() {
            "" => " among the kernels".to_owned(),
            libraries => format!(" in its {libraries} kernels"),
        };
        Some((Behaviour::Refuses, Reason { name: "missing-operators", path: first.path.clone(), message }))
    }
}

/// The name with overload, cut at a length that no operator's name has.
fn short(operator: &Operator<'_>) -> String {
    if operator.name().len().saturating_add(operator.overload().len()) > 100 {
        return format!("{}", Name(operator.name()));
    }
    operator.full_name()
}

/// The ranges of releases that have it; `None` if every release has it.
fn known(operator: &Operator<'_>, deployment: &Deployment<'_>) -> Option<Vec<&'static str>> {
    let (name, overload) = (operator.name(), operator.overload());
    if deployment.kernels.binary_search_by(|kernel| sorted_text::compare(kernel, name, overload)).is_ok() {
        return None;
    }
    let Some(columns) = sorted_text::row(TABLE, name, overload) else { return Some(Vec::new()) };
    let mut ranges = columns.split('\t');
    let mut column = || ranges.next().unwrap_or("-");
    let [portable, optimized, quantized, wheel] = [column(), column(), column(), column()];
    // Kernels that are part of the runtime itself are in no list: every build has those that the wheel has.
    let prim = [portable, optimized, quantized] == ["-"; 3];
    let of = |library: &Library| match library {
        _ if prim => wheel,
        Library::Portable => portable,
        Library::Optimized => optimized,
        Library::Quantized => quantized,
        Library::PythonWheel => wheel,
    };
    let mut known: Vec<&'static str> = deployment.libraries.iter().map(of).collect();
    if prim {
        known.push(wheel);
    }
    let everywhere = |release: Release| !release.was_seen() || known.iter().any(|ranges| release.is_in(ranges));
    if Release::ALL.into_iter().all(everywhere) { None } else { Some(known) }
}

#[cfg(test)]
mod table_tests {
    #[test]
    fn every_name_of_the_table_is_found_and_none_beside_it() {
        crate::sorted_text::check_all(super::TABLE);
    }
}
