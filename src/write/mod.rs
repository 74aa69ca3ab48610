//! Writing files: from a tree, or from nothing, to bytes.
//!
//! [`layout`] says what a tree does not; [`detect`] finds it in a file; [`relayout`] and [`collect`] put data into new
//! places; [`plan`] gives every byte its place; [`save`] writes.

pub(crate) mod collect;
mod detect;
pub(crate) mod layout;
pub(crate) mod plan;
pub(crate) mod relayout;
#[cfg(feature = "std")]
pub(crate) mod save;
