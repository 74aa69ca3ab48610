//! Writing files: from a tree, or from nothing, to bytes.
//!
//! [`image`] computes where every byte comes from; [`detect`] tells whether a tree was changed, and in which style its source was
//! written; [`relayout`] moves data; [`collect`] makes files from nothing; [`save`] writes.

pub(crate) mod collect;
pub(crate) mod detect;
pub(crate) mod image;
pub(crate) mod relayout;
#[cfg(feature = "std")]
pub(crate) mod save;
