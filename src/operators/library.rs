//! ExecuTorch's kernel libraries, and the places of operators in them.

use super::{KnownOperator, Libraries, Spans};
use crate::error::{Error, Result};
use crate::schema::program::Operator;
use core::fmt;
use core::str::FromStr;

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
    /// Kernels for language models: attention over a cache, and updates of caches.
    Llm,
    /// Kernels for Cadence's processors.
    Cadence,
    /// The kernels in the Python wheel.
    PythonWheel,
}

impl Library {
    /// All libraries.
    pub const ALL: &'static [Self] =
        &[Self::Portable, Self::Optimized, Self::Quantized, Self::CortexM, Self::Llm, Self::Cadence, Self::PythonWheel];

    /// Returns the name: `portable`, `optimized`, `quantized`, `cortex_m`, `llm`, `cadence` or `python-wheel`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Optimized => "optimized",
            Self::Quantized => "quantized",
            Self::CortexM => "cortex_m",
            Self::Llm => "llm",
            Self::Cadence => "cadence",
            Self::PythonWheel => "python-wheel",
        }
    }

    /// Returns the target of ExecuTorch's CMake files that builds the library. `None` for the wheel, which is not linked.
    pub(crate) fn cmake_target(self) -> Option<&'static str> {
        match self {
            Self::Portable => Some("portable_ops_lib"),
            Self::Optimized => Some("optimized_ops_lib"),
            Self::Quantized => Some("quantized_ops_lib"),
            Self::CortexM => Some("cortex_m_ops_lib"),
            Self::Llm => Some("custom_ops"),
            Self::Cadence => Some("cadence_ops_lib"),
            Self::PythonWheel => None,
        }
    }

    /// Returns the module of the Python package that registers the library's kernels, if they are not registered without it: since 0.4
    /// for quantized operators, and since 0.5 for those of language models (in 0.4, `sdpa_with_kv_cache` of the same package).
    pub(crate) fn python_import(self) -> Option<&'static str> {
        match self {
            Self::Quantized => Some("executorch.kernels.quantized"),
            Self::Llm => Some("executorch.extension.llm.custom_ops.custom_ops"),
            _ => None,
        }
    }

    /// Returns the releases in which the library contains an operator.
    pub(crate) fn releases(self, libraries: &Libraries) -> Spans {
        match self {
            Self::Portable => libraries.portable,
            Self::Optimized => libraries.optimized,
            Self::Quantized => libraries.quantized,
            Self::CortexM => libraries.cortex_m,
            Self::Llm => libraries.llm,
            Self::Cadence => libraries.cadence,
            Self::PythonWheel => libraries.wheel,
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

/// The place of an operator's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct KernelPlace {
    /// The name of the [`Library`](crate::verify::Library); `runtime` for operators that every build has; `none` if only a backend computes the operator.
    pub library: &'static str,
    /// The target of ExecuTorch's CMake files that builds the library.
    pub cmake_target: Option<&'static str>,
    /// The module of the Python package that registers the kernels, if they are not registered without it.
    pub python_import: Option<&'static str>,
    /// The backend that computes the operator, if no library does.
    pub backend: Option<&'static str>,
}

impl KernelPlace {
    const NOWHERE: Self = Self { library: "none", cmake_target: None, python_import: None, backend: None };

    /// Returns the place of an operator; `None` if it is in no library of ExecuTorch.
    pub(crate) fn of(operator: &Operator<'_>) -> Option<Self> {
        super::find(operator)?.place()
    }

    /// Formats the place for a program that runs in Python, if it can.
    pub(crate) fn in_python(self) -> Self {
        Self { cmake_target: self.cmake_target.filter(|_| self.python_import.is_none()), ..self }
    }

    /// Formats the place for a program in C++.
    pub(crate) fn in_cpp(self) -> Self {
        Self { python_import: None, ..self }
    }
}

impl From<Library> for KernelPlace {
    fn from(library: Library) -> Self {
        Self {
            library: library.name(),
            cmake_target: library.cmake_target(),
            python_import: library.python_import(),
            ..Self::NOWHERE
        }
    }
}

/// Formats the target and the module, as in `the C++ library custom_ops, or in Python after import …`.
impl fmt::Display for KernelPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.cmake_target, self.python_import, self.backend) {
            (Some(target), Some(import), _) => {
                write!(f, "in the C++ library {target}, and in Python after `import {import}`")
            }
            (Some(target), None, _) => write!(f, "in the C++ library {target}"),
            (None, Some(import), _) => write!(f, "in Python after `import {import}`"),
            (None, None, Some(backend)) => write!(f, "only in delegates of {backend}"),
            (None, None, None) => write!(f, "in the {}", self.library),
        }
    }
}

impl KnownOperator {
    /// Returns the first library that contains the operator in some release.
    pub(crate) fn library(&self) -> Option<Library> {
        Library::ALL.iter().copied().find(|library| !library.releases(&self.libraries).is_empty())
    }

    /// Returns the place of its kernels.
    pub(crate) fn place(&self) -> Option<KernelPlace> {
        match (self.library(), self.backend) {
            // Every build of the runtime has the operators that only the wheel lists.
            (Some(Library::PythonWheel), _) => Some(KernelPlace { library: "runtime", ..KernelPlace::NOWHERE }),
            (Some(library), _) => Some(library.into()),
            (None, Some(_)) => Some(KernelPlace { backend: self.backend, ..KernelPlace::NOWHERE }),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn the_place_of_an_operator_is_a_library_the_runtime_or_a_backend() {
        let place = |name: &'static str, overload: &'static str| {
            KernelPlace::of(&Operator::new(name, overload)).map(|place| format!("{}: {place}", place.library))
        };
        let is = |name, overload, expected: &str| assert_eq!(place(name, overload).as_deref(), Some(expected));
        is("aten::add", "out", "portable: in the C++ library portable_ops_lib");
        is("cortex_m::pad", "out", "cortex_m: in the C++ library cortex_m_ops_lib");
        is("cadence::im2row", "out", "cadence: in the C++ library cadence_ops_lib");
        let import = "in Python after `import executorch.extension.llm.custom_ops.custom_ops`";
        is("llama::update_cache", "out", &format!("llm: in the C++ library custom_ops, and {import}"));
        is("preprocess::tile_crop", "out", &format!("llm: in the C++ library custom_ops, and {import}"));
        is("executorch_prim::add", "Scalar", "runtime: in the runtime");
        is("mlx::rope", "", "none: only in delegates of MLXBackend");
        assert_eq!(place("my::kernel", "out"), None);
        let llm = KernelPlace::from(Library::Llm);
        assert_eq!((format!("{}", llm.in_python()), llm.in_cpp().python_import), (import.into(), None));
    }
}
