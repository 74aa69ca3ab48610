//! The first 64 bytes and the metadata alone must give the same results as the whole file.

use executorch_format::{Error, ErrorKind, FileKind, PROBE_SIZE, ParseOptions, Ptd, Pte, Segment, probe};
use executorch_format_support::visit::tree;

/// Probes the file, reads the range of metadata that `probe` returns, and compares with the whole file.
pub fn prefix(bytes: &[u8]) {
    let first = bytes.get(..PROBE_SIZE).unwrap_or(bytes);
    let found = probe(bytes);
    assert_eq!(probe(first), found);
    let probe = match found {
        Ok(probe) => probe,
        Err(_) => {
            assert!(Pte::parse(bytes).is_err() && Ptd::parse(bytes).is_err());
            return;
        }
    };
    let size = bytes.len() as u64;
    let metadata = &bytes[..probe.metadata(size).map_or(size, |range| range.end) as usize];
    match probe.kind {
        FileKind::Pte => {
            assert!(matches!(Ptd::parse(bytes).unwrap_err().kind(), ErrorKind::Foreign { .. }));
            let part = Pte::parse_with(metadata, &ParseOptions::METADATA);
            assert!(part.as_ref().is_ok_and(|part| without_data(&part.segments)) || part.is_err());
            agree(part.map(|part| tree(&part.program)), Pte::parse(bytes).map(|pte| tree(&pte.program)), bytes);
        }
        FileKind::Ptd => {
            assert!(matches!(Pte::parse(bytes).unwrap_err().kind(), ErrorKind::Foreign { .. }));
            let part = Ptd::parse_with(metadata, &ParseOptions::METADATA);
            assert!(part.as_ref().is_ok_and(|part| without_data(&part.segments)) || part.is_err());
            agree(part.map(|part| tree(&part.flat_tensor)), Ptd::parse(bytes).map(|ptd| tree(&ptd.flat_tensor)), bytes);
        }
        // These files have no separate metadata.
        FileKind::Bpte | FileKind::Etdp | FileKind::Xnnpack => {
            assert_eq!(metadata.len(), bytes.len());
            assert!(matches!(Pte::parse(bytes).unwrap_err().kind(), ErrorKind::Foreign { .. }));
        }
        _ => panic!("a kind of file without a reader"),
    }
}

/// Returns `true` if the segments have no bytes. An empty segment may be present.
fn without_data(segments: &[Segment<'_>]) -> bool {
    segments.iter().flat_map(Segment::parts).all(|(_, bytes)| bytes.is_empty())
}

/// Checks that both results are the same, unless the data is truncated: then only the metadata can be read.
fn agree(part: Result<u64, Error>, whole: Result<u64, Error>, bytes: &[u8]) {
    match (part, whole) {
        (Ok(part), Ok(whole)) => assert_eq!(part, whole),
        (Err(_), Err(_)) => {}
        (Ok(_), Err(error)) => match error.kind() {
            ErrorKind::Truncated { end, available, .. } => {
                assert!(*available == bytes.len() as u64 && *end > *available, "{error}");
            }
            _ => panic!("the whole file is refused, its metadata is not: {error}"),
        },
        (Err(error), Ok(_)) => panic!("the metadata is refused, the whole file is not: {error}"),
    }
}
