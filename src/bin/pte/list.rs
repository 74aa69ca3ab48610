//! `pte list`: every blob in a file, and where it is.

mod hash;
mod print;

use crate::failure::Failure;
use crate::json;
use crate::open::{Input, Model};
use crate::shape::Shape;
use executorch_format::schema::DataSegment;
use executorch_format::schema::program::{DataLocation, ExecutionPlan};
use executorch_format::{Error, Extent, Ptd, Pte, Result, TensorData, offset_in};
use serde::Serialize;
use std::path::PathBuf;

/// Every blob: segments, constants, initial states, delegate payloads, named data, with offset and size
#[derive(clap::Args)]
pub struct Arguments {
    /// A .pte or .ptd file
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Add the SHA-256 of each blob's bytes
    #[arg(long)]
    hash: bool,
}

/// Every blob of a file.
#[derive(Serialize)]
struct Listing<'t> {
    /// Bytes.
    file_size: u64,
    blobs: Vec<Blob<'t>>,
}

/// Some bytes with a meaning.
#[derive(Serialize)]
struct Blob<'t> {
    #[serde(flatten)]
    what: What<'t>,
    /// Bytes from the start of the file; `None` where the file does not hold them.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    /// Bytes.
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

#[derive(Clone, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum What<'t> {
    Segment {
        index: u32,
    },
    Constant {
        method: &'t str,
        value: usize,
        data_buffer_idx: u32,
        #[serde(flatten)]
        shape: Shape<'t>,
    },
    Mutable {
        method: &'t str,
        value: usize,
        data_buffer_idx: u32,
        #[serde(flatten)]
        shape: Shape<'t>,
    },
    Delegate {
        method: &'t str,
        /// Index into the method's delegates.
        index: usize,
        id: &'t str,
        location: DataLocation,
    },
    Named {
        key: &'t str,
        segment_index: u32,
        #[serde(flatten)]
        shape: Option<Shape<'t>>,
    },
    External {
        method: &'t str,
        value: usize,
        key: &'t str,
        #[serde(flatten)]
        shape: Shape<'t>,
    },
}

/// Lists the blobs of a file.
pub fn run(arguments: &Arguments) -> std::result::Result<(), Failure> {
    let input = Input::open(&arguments.file)?;
    let model = input.parse()?;
    let mut collector = Collector { file: input.bytes(), blobs: Vec::new(), findings: Vec::new() };
    match &model {
        Model::Pte(pte) => collector.program(pte),
        Model::Ptd(ptd) => collector.flat_tensor(ptd),
    }
    let Collector { mut blobs, findings, .. } = collector;
    if !findings.is_empty() {
        return Err(Failure::Bad { file: input.path().to_owned(), findings });
    }
    if arguments.hash {
        hash::fill(&input, &mut blobs)?;
    }
    let listing = Listing { file_size: input.bytes().len() as u64, blobs };
    if arguments.json { json::print(&listing) } else { print::table(&listing) }
}

struct Collector<'t> {
    file: &'t [u8],
    blobs: Vec<Blob<'t>>,
    findings: Vec<String>,
}

impl<'t> Collector<'t> {
    fn program(&mut self, pte: &'t Pte<'_>) {
        let segments = pte.program.segments.as_deref();
        self.segments(pte.segment_base_offset(), segments, |index| pte.segment(index));
        for (at, plan) in pte.methods().iter().enumerate() {
            self.tensors(pte, at, plan);
            self.delegates(pte, at, plan);
        }
        for (at, named) in pte.named_data().iter().enumerate() {
            let key = named.key.as_deref().unwrap_or_default();
            let what = What::Named { key, segment_index: named.segment_index, shape: None };
            let path = || format!("named_data[{at}]");
            match pte.named_data_ref(named) {
                Ok(data) => self.add(what, pte.bytes(&data), pte.extent(&data), path),
                Err(error) => self.fault(path(), &error),
            }
        }
    }

    fn segments(&mut self, base: u64, segments: Option<&[DataSegment]>, bytes: impl Fn(u32) -> Result<&'t [u8]>) {
        for (index, segment) in (0..).zip(segments.unwrap_or_default()) {
            let extent = base.checked_add(segment.offset).map(|start| Extent { start, end: None });
            self.add(What::Segment { index }, bytes(index), extent, || format!("segments[{index}]"));
        }
    }

    fn tensors(&mut self, pte: &'t Pte<'_>, at: usize, plan: &'t ExecutionPlan<'_>) {
        let method = plan.name.as_deref().unwrap_or_default();
        for (value, tensor) in plan.tensors() {
            let path = || format!("execution_plan[{at}].values[{value}].val.Tensor");
            let shape = Shape::from(tensor);
            let data_buffer_idx = tensor.data_buffer_idx;
            match pte.tensor_data(tensor) {
                Ok(TensorData::Constant(data)) => {
                    let what = What::Constant { method, value, data_buffer_idx, shape };
                    self.add(what, pte.bytes(&data), pte.extent(&data), path);
                }
                Ok(TensorData::Mutable(data)) => {
                    let what = What::Mutable { method, value, data_buffer_idx, shape };
                    self.add(what, pte.bytes(&data), pte.extent(&data), path);
                }
                Ok(TensorData::External(key)) => match tensor.byte_size() {
                    Ok(size) => {
                        let what = What::External { method, value, key, shape };
                        self.blobs.push(Blob { what, offset: None, size, sha256: None });
                    }
                    Err(error) => self.fault(path(), &error),
                },
                Ok(TensorData::None | TensorData::Planned(_)) => {}
                Err(error) => self.fault(path(), &error),
            }
        }
    }

    fn delegates(&mut self, pte: &'t Pte<'_>, at: usize, plan: &'t ExecutionPlan<'_>) {
        let method = plan.name.as_deref().unwrap_or_default();
        for (index, delegate) in plan.delegates.as_deref().unwrap_or_default().iter().enumerate() {
            let path = || format!("execution_plan[{at}].delegates[{index}].processed");
            let id = delegate.id.as_deref().unwrap_or_default();
            let location = delegate.processed.map_or(DataLocation::INLINE, |processed| processed.location);
            match pte.delegate_data(delegate) {
                Ok(data) => {
                    let what = What::Delegate { method, index, id, location };
                    self.add(what, pte.bytes(&data), pte.extent(&data), path);
                }
                Err(error) => self.fault(path(), &error),
            }
        }
    }

    fn flat_tensor(&mut self, ptd: &'t Ptd<'_>) {
        let segments = ptd.flat_tensor.segments.as_deref();
        self.segments(ptd.segment_base_offset(), segments, |index| ptd.segment(index));
        for (at, entry) in ptd.entries().enumerate() {
            let key = entry.key.unwrap_or_default();
            let what = What::Named { key, segment_index: entry.segment_index, shape: entry.layout.map(Shape::from) };
            self.add(what, ptd.bytes(&entry), ptd.extent(&entry), || format!("key {at} ({key:?})"));
        }
    }

    fn add(&mut self, what: What<'t>, bytes: Result<&'t [u8]>, extent: Option<Extent>, path: impl Fn() -> String) {
        match bytes {
            Ok(bytes) => {
                let offset = extent.map(|extent| extent.start).or_else(|| offset_in(self.file, bytes));
                self.blobs.push(Blob { what, offset, size: bytes.len() as u64, sha256: None });
            }
            Err(error) => self.fault(path(), &error),
        }
    }

    fn fault(&mut self, path: String, error: &Error) {
        self.findings.push(format!("{path}: {error}"));
    }
}
