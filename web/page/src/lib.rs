//! The page's side of executorch-format: files that are read as far as is needed, and answers as JSON.
//!
//! What is here is plain Rust, which is tested without a browser, but for `glue`: what a worker calls.

mod export;
mod file;
mod glue;
mod jobs;
mod report;
mod session;

pub use export::{Export, Form};
pub use file::{File, Storage};
pub use jobs::{Hash, Spread};
pub use session::{Roles, Session};
