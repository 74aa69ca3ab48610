//! Work on the bytes of a blob, piece by piece.

use crate::file::File;
use executorch_format::TensorShape;
use executorch_format::inspect::{BlobUser, HistogramCounter};
use sha2::{Digest, Sha256};

/// The SHA-256 of bytes that arrive in pieces.
#[derive(Default)]
pub struct Hash(Sha256);

impl Hash {
    /// The next bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash in hexadecimal.
    pub fn finish(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A histogram of a tensor whose bytes arrive in pieces, twice.
pub struct Spread {
    counter: HistogramCounter,
    /// Bytes of an incomplete element.
    rest: Vec<u8>,
    element: usize,
}

/// Ranges of a histogram, as in reports.
const BINS: usize = 40;

impl Spread {
    /// Starts a histogram of the tensor at an offset of a file.
    pub(crate) fn of(file: &File, offset: u64) -> Result<Self, String> {
        let blobs = blobs(file)?;
        let (_, shape) = tensor(&blobs, offset).ok_or("no tensor starts there")?;
        let element = shape.scalar_type.element_size().ok_or("its type has no numbers")?;
        Ok(Self { counter: HistogramCounter::new(shape.scalar_type, BINS), rest: Vec::new(), element })
    }

    /// The next bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let whole = self.rest.len() - self.rest.len() % self.element.max(1);
        self.counter.add(self.rest.get(..whole).unwrap_or_default());
        self.rest.drain(..whole);
    }

    /// To be called after all bytes, before they are passed again: whether there is anything to count.
    pub fn again(&mut self) -> bool {
        self.rest.clear();
        self.counter.again().is_some()
    }

    /// The histogram as JSON, or `null`.
    pub fn finish(self) -> Result<String, String> {
        crate::json::json(&self.counter.finish())
    }
}

/// The blobs of a file.
pub(crate) fn blobs(file: &File) -> Result<executorch_format::inspect::Blobs<'_>, String> {
    file.model.as_ref().map(|model| model.blobs()).map_err(|error| error.to_string())
}

/// The tensor whose bytes start at an offset, with the name of its first user. In a bundle, the offset counts from the program.
pub(crate) fn tensor<'t>(
    blobs: &executorch_format::inspect::Blobs<'t>,
    offset: u64,
) -> Option<(String, TensorShape<'t>)> {
    let blob = blobs.blobs.iter().filter(|blob| blob.offset == Some(offset));
    blob.flat_map(|blob| &blob.users).find_map(|user| {
        let name = match user {
            BlobUser::Key { key, .. } => (*key).to_owned(),
            BlobUser::Tensor { method, value, .. } => format!("{method}.{value}"),
            _ => "tensor".into(),
        };
        Some((name, user.shape()?))
    })
}
