//! Writing a trace.

use super::detect::NO_LIMITS;
use super::image::Image;
use crate::error::{Error, Result};
use crate::file::etdp::{Etdp, PREFIX};
use crate::flatbuffer::any::same;
use crate::flatbuffer::read;
use crate::schema::ETDump;

impl Etdp<'_> {
    /// Returns the file that the trace was read from, ready to be written.
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if the trace was changed or not read from a file:
    /// only runtimes write new traces.
    pub fn image(&self) -> Result<Image<'_>> {
        if let Some(source) = &self.source {
            let decoded = read::read_at::<ETDump<'_>>(PREFIX as u32, source.metadata(), &NO_LIMITS);
            if decoded.is_ok_and(|(decoded, _)| same(&decoded, &self.etdump)) {
                return Ok(Image::unchanged(&source.bytes));
            }
        }
        Err(Error::unwritable("a trace is written only as it was read"))
    }
}
