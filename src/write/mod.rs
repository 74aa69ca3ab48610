//! Writing files: from a tree to bytes.
//!
//! `pte`, `ptd`, `bpte`, `etdp` and `xnnpack` contain the public methods of each kind of file. [`image`] computes the origin of
//! each byte of a file; [`detect`] finds out whether a tree was changed, and in which style its source was written;
//! [`style`] encodes in a style. [`relayout`] recomputes the layout by [`options`]; [`place`] assigns the offsets of
//! segments, [`entries`] those of constants and initial states. [`collect`] builds new files; [`save`] writes, keeps the
//! [`attributes`] of a replaced file, and replaces it under its [`lock`].

pub(crate) mod alignment;
#[cfg(feature = "std")]
mod attributes;
pub(crate) mod bpte;
pub(crate) mod collect;
pub(crate) mod detect;
pub(crate) mod entries;
mod etdp;
pub(crate) mod image;
#[cfg(feature = "system")]
pub(crate) mod lock;
pub(crate) mod options;
mod place;
mod ptd;
mod pte;
mod relayout;
#[cfg(feature = "std")]
pub(crate) mod save;
pub(crate) mod segments;
mod style;
#[cfg(feature = "verify")]
mod xnnpack;
