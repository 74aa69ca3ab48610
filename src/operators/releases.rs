//! The releases whose libraries contain an operator.
//!
//! Taken from the kernel lists (`functions.yaml`, `optimized.yaml`, `quantized.yaml`, `operators.yaml`), and from the registrations in C++, of the release tags 0.1.0 to
//! 1.4.0 and of 1.5's source, and from the registrations of the libraries in the wheels. 0.3's wheel was not inspected. Only names are
//! compared: the arguments of some Cortex-M operators changed between releases.

use core::fmt;

/// A range of releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    first: (u8, u8),
    last: (u8, u8),
}

/// Ranges of releases, in order.
pub(crate) type Spans = &'static [Span];

/// The releases that contain an operator, for each library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Libraries {
    pub(crate) portable: Spans,
    pub(crate) optimized: Spans,
    pub(crate) quantized: Spans,
    pub(crate) wheel: Spans,
    pub(crate) cortex_m: Spans,
    pub(crate) llm: Spans,
    pub(crate) cadence: Spans,
}

impl Span {
    pub(crate) const fn since(major: u8, minor: u8) -> Self {
        Self { first: (major, minor), last: (u8::MAX, u8::MAX) }
    }

    pub(crate) const fn until(self, major: u8, minor: u8) -> Self {
        Self { last: (major, minor), ..self }
    }

    pub(crate) fn contains(self, release: (u8, u8)) -> bool {
        self.first <= release && release <= self.last
    }
}

/// Formats the first release.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.first.0, self.first.1)
    }
}

/// Ranges without an end, by their first release.
pub(crate) mod versions {
    use super::{Span, Spans};

    macro_rules! versions {
        ($($name:ident $major:literal $minor:literal)*) => {
            $(pub(crate) const $name: Spans = &[Span::since($major, $minor)];)*
        };
    }

    versions! {
        V0_1 0 1
        V0_2 0 2
        V0_3 0 3
        V0_4 0 4
        V0_5 0 5
        V0_6 0 6
        V0_7 0 7
        V1_0 1 0
        V1_1 1 1
        V1_2 1 2
        V1_3 1 3
        V1_4 1 4
        V1_5 1 5
    }
}

/// The wheels of all releases but 0.3.
pub(super) const WHEELS: Spans = &[Span::since(0, 2).until(0, 2), Span::since(0, 4)];

impl Libraries {
    /// No library.
    pub(crate) const NONE: Self =
        Self { portable: &[], optimized: &[], quantized: &[], wheel: &[], cortex_m: &[], llm: &[], cadence: &[] };
}

/// Returns the portable library, and the wheels of the same releases.
pub(super) const fn portable(releases: Spans) -> Libraries {
    Libraries { portable: releases, wheel: releases, ..Libraries::NONE }
}

/// Returns the portable library, and all wheels.
pub(super) const fn portable_in_wheels(releases: Spans) -> Libraries {
    Libraries { portable: releases, wheel: WHEELS, ..Libraries::NONE }
}

/// Returns the portable and the optimized library, and all wheels.
pub(super) const fn optimized(portable: Spans, optimized: Spans) -> Libraries {
    Libraries { portable, optimized, wheel: WHEELS, ..Libraries::NONE }
}

/// Returns the library of quantized operators, which wheels have for Python's import (see [`Library::python_import`](super::Library::python_import)):
/// without it, the wheel of 1.5.1 refuses `quantized_decomposed::embedding_4bit.out`, too.
pub(super) const fn quantized(releases: Spans) -> Libraries {
    Libraries { quantized: releases, ..Libraries::NONE }
}

/// Returns the library for Cortex-M.
pub(super) const fn cortex_m(releases: Spans) -> Libraries {
    Libraries { cortex_m: releases, ..Libraries::NONE }
}

/// Returns the library for language models, which wheels have for Python's import (see [`Library::python_import`](super::Library::python_import)).
pub(super) const fn llm(releases: Spans) -> Libraries {
    Libraries { llm: releases, ..Libraries::NONE }
}

/// Returns Cadence's library.
pub(super) const fn cadence(releases: Spans) -> Libraries {
    Libraries { cadence: releases, ..Libraries::NONE }
}

/// Returns the runtime itself, which has the operators of the wheel in every build.
pub(super) const fn runtime(wheel: Spans) -> Libraries {
    Libraries { wheel, ..Libraries::NONE }
}
