//! The library for the page: it reads the needed parts of files, and answers as JSON.
//!
//! Except for `glue`, which a worker calls, the code is plain Rust and is tested without a browser.

mod export;
mod file;
mod glue;
mod jobs;
mod names;
mod quantized;
mod report;
mod session;

pub use export::{Export, Form};
pub use file::{File, Storage};
pub use jobs::{Hash, Part, Plain, Spread};
pub use quantized::Quantized;
pub use session::{Roles, Session};
