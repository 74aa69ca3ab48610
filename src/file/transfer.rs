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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::model::Model;

    #[track_caller]
    fn check(bytes: &[u8], damage: Option<TransferDamage>) {
        let error = Model::parse(bytes).unwrap_err();
        assert_eq!(error.transfer_damage(), damage, "{error}");
        assert_eq!(Model::verify_structure(bytes).unwrap_err(), error);
    }

    fn add_mul() -> alloc::vec::Vec<u8> {
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/1.5.1/add_mul/add_mul.pte")).unwrap()
    }

    #[test]
    fn line_ends_and_text_are_recognized() {
        let mut file = add_mul();
        let at = file.len() - 64;
        file.splice(at..at, *b"\n\n\n");
        let converted: alloc::vec::Vec<u8> = file
            .iter()
            .flat_map(|byte| if *byte == b'\n' { &b"\r\n"[..] } else { core::slice::from_ref(byte) })
            .copied()
            .collect();
        check(&converted, Some(TransferDamage::LineEnds));
        check(alloc::string::String::from_utf8_lossy(&add_mul()).as_bytes(), Some(TransferDamage::Decoded));
        let latin: alloc::string::String = add_mul().iter().map(|byte| char::from(*byte)).collect();
        check(latin.as_bytes(), Some(TransferDamage::Decoded));
    }

    #[test]
    fn missing_parts_are_recognized() {
        let file = add_mul();
        check(&file[..file.len() / 2], Some(TransferDamage::Incomplete));
        let mut explained = 0;
        for cut in (64..=512).step_by(64) {
            let mut zeros = file.clone();
            zeros[cut..].fill(0);
            // A missing table is often an optional one.
            if let Err(error) = Model::parse(&zeros) {
                let from = zeros.iter().rposition(|byte| *byte != 0).unwrap() as u64 + 1;
                assert_eq!(error.transfer_damage(), Some(TransferDamage::Zeros { from }), "{error}");
                explained += 1;
            }
        }
        assert!(explained > 0);
        let mut damaged = file;
        damaged[0] = 0xff;
        check(&damaged, None);
    }

    #[test]
    fn the_magic_of_a_header_over_a_program_without_one_is_recognized() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/0.4.0/add/add.pte");
        let mut file = std::fs::read(path).unwrap();
        file[8..12].copy_from_slice(b"eh00");
        check(&file, Some(TransferDamage::HeaderMagic));
    }
}
