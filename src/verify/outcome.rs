//! The behaviour of ExecuTorch with a model, in one word.

use core::fmt;

/// The behaviour of ExecuTorch with a model, the worst first: if several hold, the first one is the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Outcome {
    /// It refuses to load the model, or dies when it does.
    DoesNotLoad,
    /// It lacks an operator, a backend or external data.
    Missing,
    /// It loads the model, and refuses a call when a method runs.
    RefusesCall,
    /// It dies, corrupts memory, or never ends when a method runs.
    Dies,
    /// It computes other numbers than the model means.
    Miscomputes,
    /// Its memory is too small for the model.
    DoesNotFit,
    /// Something that was not checked could change the verdict.
    Unknown,
    /// It runs the model.
    Runs,
}

impl Outcome {
    /// Returns `true` if it is known that the model does not run as it should.
    pub fn is_bad(self) -> bool {
        self < Self::Unknown
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::DoesNotLoad => "does not load",
            Self::Missing => "lacks an operator, a backend or data",
            Self::RefusesCall => "refuses a call when it runs",
            Self::Dies => "dies or corrupts memory when it runs",
            Self::Miscomputes => "computes wrong results",
            Self::DoesNotFit => "does not fit",
            Self::Unknown => "not known",
            Self::Runs => "runs",
        })
    }
}
