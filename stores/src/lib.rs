//! Access to ExecuTorch's model files in S3, Google Cloud Storage and Azure, on web servers, and in folders.
//!
//! From a remote file, only the needed bytes are read: its metadata, and the graphs in delegates' payloads. [`Stores::open`]
//! returns a [`File`], whose [`parse`](File::parse) returns the same tree as for the whole file. [`catalog`] reads many files and
//! writes the results as tables.
//!
//! A file that changes between two requests is an error, and so is a server that describes a file wrongly. [`Access`] limits responses,
//! listings and times, and controls where credentials come from.

#![forbid(unsafe_code)]

mod access;
pub mod catalog;
mod client;
mod error;
mod file;
mod folder;
mod hash;
mod keys;
mod listing;
mod object;
mod runtime;
mod stores;

pub use access::Access;
pub use error::{Error, Result};
pub use file::{Extent, File};
pub use hash::Hashes;
pub use runtime::{PerProcess, wait};
pub use stores::{ListedFile, Location, Stores, is_url};
