//! One part of a catalogue: the rows of some files in every table, with one file for each table.

use super::earlier::Earlier;
use super::tables::{FORMAT, Rows, TABLES, Table, batch};
use crate::error::{Error, Result};
use arrow_array::RecordBatch;
use arrow_select::interleave::interleave_record_batch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::WriterProperties;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

/// The keys of a part's metadata.
pub const VERSION: &str = "executorch-format.catalog";
pub const FIRST: &str = "executorch-format.first";
pub const LAST: &str = "executorch-format.last";

/// Returns the version written into a part. Rows of another version are not reused.
pub fn version() -> String {
    format!("{FORMAT} {}", env!("CARGO_PKG_VERSION"))
}

/// The rows of a file: new ones, or those of an earlier part.
pub enum Entry {
    New(Box<Rows>),
    Earlier { part: Arc<Earlier>, file: String },
}

/// Writes a part into a folder of tables. The file in the table `files` is written last: once it exists, the part is complete.
pub fn write(entries: &[Entry], names: (&str, &str), folder: &Path, part: &str) -> Result<()> {
    let new: Vec<&Rows> =
        entries.iter().filter_map(|entry| if let Entry::New(rows) = entry { Some(&**rows) } else { None }).collect();
    let mut parts: Vec<&Arc<Earlier>> = Vec::new();
    for entry in entries {
        if let Entry::Earlier { part, .. } = entry {
            if !parts.iter().any(|known| Arc::ptr_eq(known, part)) {
                parts.push(part);
            }
        }
    }
    for (index, table) in TABLES.iter().enumerate().rev() {
        let fresh = batch(index, new.iter().copied()).map_err(failed)?;
        let rows = if parts.is_empty() { fresh } else { merged(entries, (index, table), fresh, &parts)? };
        put(&rows, names, &folder.join(table.name), part)?;
    }
    Ok(())
}

/// Merges new rows and those of earlier parts, in the order of the files.
fn merged(
    entries: &[Entry],
    (index, table): (usize, &Table),
    fresh: RecordBatch,
    parts: &[&Arc<Earlier>],
) -> Result<RecordBatch> {
    let earlier = parts.iter().map(|part| Ok((*part, part.rows(table)?))).collect::<Result<Vec<_>>>()?;
    let mut indices = Vec::new();
    let mut next = 0;
    for entry in entries {
        match entry {
            Entry::New(rows) => {
                let count = rows.count(index);
                indices.extend((next..next + count).map(|row| (0, row)));
                next += count;
            }
            Entry::Earlier { part, file } => {
                // The new rows are the first batch.
                let known = (1..).zip(&earlier).find(|(_, (known, _))| Arc::ptr_eq(known, part));
                // Not every file has rows in every table.
                let range = known.and_then(|(at, (_, (_, ranges)))| Some((at, ranges.get(file)?.clone())));
                indices.extend(range.into_iter().flat_map(|(at, range)| range.map(move |row| (at, row))));
            }
        }
    }
    let batches: Vec<&RecordBatch> = [&fresh].into_iter().chain(earlier.iter().map(|(_, (batch, _))| batch)).collect();
    if indices.is_empty() {
        return Ok(fresh.slice(0, 0));
    }
    interleave_record_batch(&batches, &indices).map_err(failed)
}

/// Writes a table's file under a temporary name, and renames it.
fn put(rows: &RecordBatch, (first, last): (&str, &str), folder: &Path, part: &str) -> Result<()> {
    let (path, unfinished) = (folder.join(part), folder.join(format!(".{part}.unfinished")));
    let key = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("executorch-format {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(vec![key(VERSION, &version()), key(FIRST, first), key(LAST, last)]))
        .set_sorting_columns(Some(vec![SortingColumn { column_idx: 0, descending: false, nulls_first: false }]))
        .build();
    let file = File::create(&unfinished)?;
    let mut writer = ArrowWriter::try_new(&file, rows.schema(), Some(properties)).map_err(failed)?;
    writer.write(rows).map_err(failed)?;
    writer.close().map_err(failed)?;
    file.sync_data()?;
    Ok(fs::rename(&unfinished, &path)?)
}

/// Returns the metadata of a part's file; `None` if it is not a Parquet file with metadata.
pub fn metadata(path: &Path) -> Option<Vec<KeyValue>> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).ok()?).ok()?;
    builder.metadata().file_metadata().key_value_metadata().cloned()
}

pub fn failed(error: impl std::fmt::Display) -> Error {
    Error::Failed(error.to_string())
}
