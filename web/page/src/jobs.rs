//! Incremental work on the bytes of a blob.

use crate::file::File;
use crate::quantized::Quantized;
use executorch_format::TensorShape;
use executorch_format::inspect::{BlobUser, Histogram, HistogramCounter};
use sha2::{Digest, Sha256};

/// The SHA-256 of bytes that arrive in pieces.
#[derive(Default)]
pub struct Hash(Sha256);

impl Hash {
    /// Adds the next bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the hash in hexadecimal.
    pub fn finish(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A histogram of a tensor whose bytes arrive in pieces.
pub enum Spread {
    /// A tensor whose elements are the values.
    Plain(Plain),
    /// A tensor whose elements must be dequantized.
    Quantized(Quantized),
}

/// A range of a file: index of the file, start and size in bytes.
pub type Part = (usize, u64, u64);

impl Spread {
    /// Returns the ranges whose bytes must be passed to [`add`](Self::add), in this order.
    pub fn parts(&self) -> Vec<Part> {
        match self {
            // The first round finds the range of the values, the second counts them.
            Self::Plain(plain) => vec![plain.part; 2],
            Self::Quantized(quantized) => quantized.parts(),
        }
    }

    /// Adds the next bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        match self {
            Self::Plain(plain) => plain.add(bytes),
            Self::Quantized(quantized) => quantized.add(bytes),
        }
    }
}

/// A histogram of a tensor's elements.
pub struct Plain {
    part: Part,
    counter: HistogramCounter,
    /// The number of bytes that are left in the first round.
    left: u64,
    /// The bytes of an incomplete element.
    rest: Vec<u8>,
    element: usize,
}

impl Plain {
    /// Starts a histogram of the tensor at an offset of a file.
    pub(crate) fn of(file: &File, index: usize, offset: u64) -> Result<Self, String> {
        let blobs = blobs(file)?;
        let (_, shape) = tensor(&blobs, offset).ok_or("no tensor starts there")?;
        let element = shape.scalar_type.element_size().ok_or("its type has no numbers")?;
        let size = shape.byte_size().map_err(|error| error.to_string())?;
        Ok(Self {
            part: (index, file.start() + offset, size),
            counter: HistogramCounter::new(shape.scalar_type, Histogram::BINS),
            left: size,
            rest: Vec::new(),
            element,
        })
    }

    pub(crate) fn histogram(self) -> Option<Histogram> {
        self.counter.finish()
    }

    fn add(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let (whole, _) = self.rest.split_at(self.rest.len() - self.rest.len() % self.element.max(1));
        self.counter.add(whole);
        self.rest.drain(..whole.len());
        if self.left > 0 {
            self.left = self.left.saturating_sub(bytes.len() as u64);
            // Without finite numbers, the second round counts nothing.
            if self.left == 0 && self.counter.again().is_none() {
                self.rest.clear();
            }
        }
    }
}

/// Returns the blobs of a file.
pub(crate) fn blobs(file: &File) -> Result<executorch_format::inspect::Blobs<'_>, String> {
    file.model.as_ref().map(|model| model.blobs()).map_err(|error| error.to_string())
}

/// Finds the tensor whose bytes start at an offset, and the name of its first user. In a bundle, the offset counts from the program.
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
