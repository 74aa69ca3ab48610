//! ExecuTorch's model files where they are: in S3, Google Cloud Storage, Azure, on a web server, in a folder.
//!
//! Of a distant file only the bytes are read that a question needs: its metadata, and the graphs in delegates' payloads. [`Stores::open`] gives a
//! [`File`], whose [`parse`](File::parse) gives the same tree as of the whole file. [`catalog`] asks the same questions about many files and
//! writes the answers as tables.
//!
//! A file that changes between two requests is an error, and so is a server that does not say the truth about a file.

#![forbid(unsafe_code)]

mod access;
pub mod catalog;
mod error;
mod file;
mod folder;
mod hash;
mod object;
mod runtime;
mod stores;

pub use access::Access;
pub use error::{Error, Result};
pub use file::{Extent, File};
pub use hash::Hashes;
pub use runtime::wait;
pub use stores::{Found, Place, Stores, is_url};
