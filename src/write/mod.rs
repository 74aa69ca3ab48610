//! Writing files: from a tree to bytes.
//!
//! [`image`] computes a file's layout; [`detect`] finds whether a tree was changed, and in which style its source was written;
//! [`relayout`] recomputes the layout, [`entries`] that of constants and initial states; [`collect`] builds new files; [`save`] writes. [`xnnpack`] does the same for a payload.

#[cfg(feature = "devtools")]
pub(crate) mod bpte;
pub(crate) mod collect;
pub(crate) mod detect;
pub(crate) mod entries;
#[cfg(feature = "devtools")]
mod etdp;
pub(crate) mod image;
pub(crate) mod relayout;
#[cfg(feature = "std")]
pub(crate) mod save;
#[cfg(feature = "payloads")]
mod xnnpack;
