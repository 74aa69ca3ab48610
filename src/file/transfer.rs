//! Damage that transfers do to whole files, which explains an error of reading.

use super::foreign::utf8;
use super::header::{self, Header, PteHeader};
use crate::error::{Error, ErrorKind, TransferDamage};
use crate::flatbuffer::read::{self, Limits, TableParser};
use crate::schema::Program;

/// The number of bytes that are searched for signs of a transfer as text.
const SEARCHED: usize = 1 << 20;

/// The size of the smallest blocks in which storage and networks lose data.
const BLOCK: usize = 512;

/// Adds the damage that explains an error of reading a file of these bytes.
#[cold]
pub(crate) fn explain(error: Error, bytes: &[u8]) -> Error {
    let damage = match error.kind() {
        ErrorKind::Foreign { .. } => None,
        kind => found(bytes, &error, matches!(kind, ErrorKind::Truncated { .. })),
    };
    error.with_transfer_damage(damage)
}

fn found(bytes: &[u8], error: &Error, is_truncated: bool) -> Option<TransferDamage> {
    let searched = bytes.get(..SEARCHED).unwrap_or(bytes);
    if has_converted_line_ends(searched) {
        return Some(TransferDamage::LineEnds);
    }
    if is_text(searched) {
        return Some(TransferDamage::Decoded);
    }
    if has_only_the_magic_of_a_header(bytes) {
        return Some(TransferDamage::HeaderMagic);
    }
    if is_truncated {
        return Some(TransferDamage::Incomplete);
    }
    let end = header::probe(bytes).ok().and_then(|probe| usize::try_from(probe.metadata_end()?).ok());
    let metadata = end.and_then(|end| bytes.get(..end)).unwrap_or(bytes);
    let from = metadata.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let from_block = from.next_multiple_of(BLOCK);
    let is_behind = error.offset().is_some_and(|offset| offset >= from as u64);
    (is_behind && from_block + BLOCK <= metadata.len()).then_some(TransferDamage::Zeros { from: from as u64 })
}

/// Returns `true` if there are line feeds and each follows a carriage return. In binary data, this holds for one line feed in 256.
fn has_converted_line_ends(bytes: &[u8]) -> bool {
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
    lines > 1 && bytes.windows(2).filter(|pair| pair == b"\r\n").count() == lines
}

/// Returns `true` if the bytes are UTF-8, possibly cut, with characters outside ASCII.
fn is_text(bytes: &[u8]) -> bool {
    utf8(bytes).is_some_and(|text| !text.is_ascii())
}

/// Returns `true` if the bytes are a program without an extended header but for the magic of one.
fn has_only_the_magic_of_a_header(bytes: &[u8]) -> bool {
    let is_header = match header::probe(bytes) {
        Ok(probe) => match probe.header {
            Some(Header::Pte(header)) => [PteHeader::SHORT, PteHeader::LONG].contains(&header.length),
            _ => true,
        },
        Err(error) => !matches!(error.kind(), ErrorKind::Header(_)),
    };
    // The room of the shortest header is in use.
    let is_in_use = header::chunk(bytes, 0).is_some_and(|root| u32::from_le_bytes(root) < 8 + PteHeader::SHORT);
    let root = TableParser::<Program<'_>>::default();
    !is_header && is_in_use && read::check_at(0, root, bytes, &Limits::default()).is_ok()
}
