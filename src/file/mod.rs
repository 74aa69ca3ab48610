//! Files: headers, segments, and the places of data.
//!
//! [`header`] identifies a file by its first bytes. [`pte`], [`ptd`], [`bpte`] and [`etdp`] are the kinds. [`segment`] and
//! [`references`] find data and the references to it, [`named_blobs`] finds blobs by key. [`style`] and [`source`] hold the facts
//! about a file that are not in its tree. [`trailing`] finds bytes at the end that the file does not refer to. [`foreign`] and [`transfer`]
//! explain why bytes cannot be read.

pub(crate) mod bpte;
pub(crate) mod etdp;
pub(crate) mod foreign;
pub(crate) mod header;
pub(crate) mod key_index;
#[cfg(feature = "verify")]
pub(crate) mod named_blobs;
pub(crate) mod options;
pub(crate) mod ptd;
pub(crate) mod pte;
pub(crate) mod references;
pub(crate) mod segment;
pub(crate) mod source;
pub(crate) mod style;
pub(crate) mod trailing;
#[cfg(feature = "std")]
pub(crate) mod transfer;
