//! Many files as tables.
//!
//! [`write`] lists files, reads of each what [`Extent::Graphs`](crate::Extent::Graphs) is, and writes Parquet; [`batch`] gives the same rows as one batch of
//! Arrow, for engines that spread the work over machines.

mod earlier;
mod part;
mod rows;
mod run;
mod tables;

pub use run::{Options, Progress, Report, write};
pub use tables::{Column, FORMAT, Kind, TABLES, Table, page};

use crate::error::{Error, Result};
use crate::stores::{Found, Stores};
use arrow_array::RecordBatch;
use futures_util::{StreamExt, stream};

/// The rows of some files, by URL or path: one row for each file, with the columns of `files`, and a list of the rows of each other table.
pub async fn batch(stores: &Stores, files: &[String], hash: bool, jobs: usize) -> Result<RecordBatch> {
    let step = stores.first_read();
    let work = files.iter().map(|name| {
        let found = stores.place(name).map(|place| Found { place, size: 0, etag: None, modified: None });
        run::spawn(found, name.clone(), hash, step)
    });
    let rows: Vec<_> = stream::iter(work).buffered(jobs.max(1)).collect().await;
    tables::nested(&rows).map_err(|error| Error::Failed(error.to_string()))
}
