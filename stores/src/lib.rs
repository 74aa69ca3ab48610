//! ExecuTorch's model files where they are: in S3, Google Cloud Storage, Azure, on a web server, in a folder.
//!
//! Of a remote file, only the bytes that a question needs are read: its metadata, and the graphs in delegates' payloads. [`Stores::open`]
//! returns a [`File`], whose [`parse`](File::parse) returns the same tree as for the whole file. [`catalog`] asks the same questions about
//! many files and writes the answers as tables.
//!
//! A file that changes between two requests is an error, and so is a server that gives wrong facts about a file. Answers, listings and times
//! are limited by [`Access`], which also says what may be asked for credentials.

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
