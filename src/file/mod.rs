//! Files: headers, segments, and where their data is.
//!
//! [`header`] identifies a file by its first bytes. [`pte`], [`ptd`], [`bpte`] and [`etdp`] are the kinds. [`segment`] and [`references`] find data and what refers to it, [`named_blobs`] finds blobs by key. [`style`] and
//! [`source`] hold what a tree does not say about its file.

#[cfg(feature = "devtools")]
pub(crate) mod bpte;
#[cfg(feature = "devtools")]
pub(crate) mod etdp;
pub(crate) mod foreign;
pub(crate) mod header;
pub(crate) mod key_index;
#[cfg(feature = "payloads")]
pub(crate) mod named_blobs;
pub(crate) mod options;
pub(crate) mod ptd;
pub(crate) mod pte;
pub(crate) mod references;
pub(crate) mod segment;
pub(crate) mod source;
pub(crate) mod style;
mod trailing;
