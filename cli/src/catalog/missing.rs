//! `pte catalog` in a build without the feature `remote`.

use crate::context::Context;
use crate::failure::Failure;
use std::ffi::OsString;

/// Write tables about many files, for DuckDB, Polars and Spark: needs a build with the feature `remote`
#[derive(clap::Args)]
pub struct Arguments {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _all: Vec<OsString>,
}

/// Fails with a message that says how to get the command.
pub fn run(_: &Context, _: &Arguments) -> Result<(), Failure> {
    let fault = "this pte cannot write catalogues: it was built without the feature `remote`";
    Err(Failure::Usage(format!("{fault} ({})", crate::remote::INSTALL)))
}
