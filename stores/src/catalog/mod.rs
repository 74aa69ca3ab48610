//! Many files as tables.
//!
//! [`write()`] lists files, reads the extent [`Extent::Graphs`](crate::Extent::Graphs) of each, and writes Parquet; [`batch`] returns the
//! same rows as one batch of Arrow, for engines that distribute the work over machines.

mod earlier;
mod output;
mod overview;
mod part;
mod rows;
mod run;
mod tables;

pub use overview::{Count, Duplicate, FileError, Growth, Limit, Overview, ReleaseCount, Use};
pub use run::{Options, Progress, Report, write};
pub use tables::{Column, FORMAT, Kind, TABLES, Table, page};

use crate::error::{Error, Result};
use crate::stores::{ListedFile, Stores};
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, to_ffi};
use arrow_array::{Array, RecordBatch, StructArray};
use futures_util::{StreamExt, TryStreamExt, stream};

/// Returns the rows of some files, by URL or path: one row for each file, with the columns of `files`, and a list of rows for each other
/// table.
pub async fn batch(stores: &Stores, files: &[String], hash: bool, jobs: usize) -> Result<RecordBatch> {
    let step = stores.first_read();
    let work = files.iter().map(|name| {
        let found = stores.place(name).map(|place| ListedFile { place, size: 0, etag: None, modified: None });
        run::spawn(found, name.clone(), hash, step, Default::default())
    });
    let rows: Vec<_> = stream::iter(work).buffered(jobs.max(1)).collect().await;
    tables::nested(&rows).map_err(|error| Error::Failed(error.to_string()))
}

/// Returns the names of the model files with these names or below these prefixes, in the form that [`write()`] takes.
pub async fn names(stores: &Stores, prefixes: &[String]) -> Result<Vec<String>> {
    let found = run::list(stores, prefixes, Default::default()).await?;
    found.map_ok(|found| found.place.name).try_collect().await
}

/// Exports a batch through Arrow's C data interface, as a struct, for other languages.
pub fn exported(batch: RecordBatch) -> Result<(FFI_ArrowSchema, FFI_ArrowArray)> {
    let (array, schema) = to_ffi(&StructArray::from(batch).to_data()).map_err(part::failed)?;
    Ok((schema, array))
}
