//! Checks beyond structure: faults that the official runtime refuses, and faults that it should check but does not.
//!
//! [`Pte::parse`](crate::Pte::parse) checks the structure and stops at the first error. The checks here work on the tree and
//! report everything they find, in time linear in the file's size (`n log n` for planned memory and names).
//! Inside delegates, they check the contents of XNNPACK's payloads, and for some other backends that payloads are complete.
//!
//! ```no_run
//! use executorch_format::{Pte, verify::Level};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let file = std::fs::read("model.pte")?;
//! let pte = Pte::parse(&file)?;
//! for finding in pte.verify(Level::Strict) {
//!     println!("{finding}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A finding of the strict level is displayed like this:
//!
//! ```text
//! error: planned-memory-overlap: execution_plan[0].values[4].val.Tensor.allocation_info: bytes 240 to 496 of planned buffer 1 overlap …
//! ```

mod bpte;
mod bundle;
mod constants;
#[cfg(feature = "inspect")]
mod contract;
mod delegate_calls;
mod delegates;
mod etdump;
mod finding;
mod flat_tensor;
mod foreign;
mod formats;
mod given_memory;
mod history;
mod instructions;
mod kernels;
mod look_ups;
mod memory;
mod model;
mod names;
mod outcome;
mod pairing;
mod payload;
mod payload_data;
mod plan;
mod policy;
mod program;
mod ptd;
mod pte;
mod release;
#[cfg(feature = "inspect")]
mod releases;
mod report;
pub(crate) mod rule;
mod segments;
mod shared_state;
#[cfg(feature = "inspect")]
mod target;
mod tensors;
mod trailing;
mod training;
mod values;
#[cfg(feature = "inspect")]
mod verdict;
#[cfg(feature = "inspect")]
mod views;
mod wire;
mod xnnpack;

#[cfg(feature = "inspect")]
pub use contract::{
    Contract, ContractBackend, ContractChange, ContractMetadata, ContractMethod, ContractValue, DimRange, Dims,
};
pub use finding::{Finding, Level, Severity};
pub use history::{HISTORIES, History};
pub use kernels::{checked_operators, explain_operator};
pub use outcome::Outcome;
pub use policy::Policy;
pub use release::{Behaviour, Release};
#[cfg(feature = "inspect")]
pub use releases::{
    Answer, BACKENDS, FEATURES, Feature, KnownBackend, KnownFault, Library, LoadsIn, LoadsOutcome, MissingData,
    NeededKernels, REASONS, Reason, ReasonKind, ReleaseVerdict, Releases, known_faults, releases_of_error,
};
pub use rule::{RULES, Rule};
#[cfg(feature = "inspect")]
pub use target::{CallerValue, Fit, MethodNeeds, Missing, Needs, Target, Unknown};
#[cfg(feature = "inspect")]
pub use verdict::{Cause, Verdict};
#[cfg(feature = "inspect")]
pub use views::Check;
