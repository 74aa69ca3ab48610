//! Any bytes are refused or decoded, and a decoded tree can be walked completely.

use executorch_format::delegate::{NamedBlobs, Payload, PayloadKind, PayloadSummary, Xnnpack};
use executorch_format::verify::{Finding, Level};
use executorch_format::{Analysis, Bpte, Etdp, Limits, Ptd, Pte};
use executorch_format_support::visit;

/// Decodes a program, visits everything, validates, and compares with an owned copy.
pub fn read_pte(bytes: &[u8]) {
    match Pte::parse(bytes) {
        Ok(pte) => {
            let seen = visit::pte(bytes, &pte);
            assert_eq!(seen, visit::pte(bytes, &pte));
            let strict = pte.verify(Level::Strict);
            print(&strict);
            assert!(pte.verify(Level::Runtime).len() <= strict.len());
            print(&pte.verify_with(&[], Level::Strict));
            let tree = visit::tree(&pte.program);
            assert_eq!(tree, visit::tree(&pte.into_owned().program));
        }
        Err(error) => check_error(&error, bytes),
    }
}

/// Decodes a `.ptd`, visits everything, validates, and compares with an owned copy.
pub fn read_ptd(bytes: &[u8]) {
    match Ptd::parse(bytes) {
        Ok(ptd) => {
            let seen = visit::ptd(bytes, &ptd);
            assert_eq!(seen, visit::ptd(bytes, &ptd));
            let strict = ptd.verify(Level::Strict);
            print(&strict);
            assert!(ptd.verify(Level::Runtime).len() <= strict.len());
            let tree = visit::tree(&ptd.flat_tensor);
            assert_eq!(tree, visit::tree(&ptd.into_owned().flat_tensor));
        }
        Err(error) => check_error(&error, bytes),
    }
}

/// Decodes a bundled program, visits everything, validates it with the program inside, and writes it back: unchanged, to the same bytes,
/// and changed, to a file that is read again.
pub fn read_bundled(bytes: &[u8]) {
    let parsed = Bpte::parse(bytes);
    assert_eq!(Bpte::verify_structure(bytes).err().as_ref(), parsed.as_ref().err());
    let mut bpte = match parsed {
        Ok(bpte) => bpte,
        Err(error) => return check_error(&error, bytes),
    };
    let strict = bpte.verify(Level::Strict);
    print(&strict);
    assert!(bpte.verify(Level::Runtime).len() <= strict.len());
    assert_eq!(bpte.summary(), bpte.summary());
    let program = bpte.program();
    let blobs =
        program.as_ref().map_or_else(|_| bpte.blobs(), |program| bpte.blobs_with(&Analysis::new(program))).blobs;
    for (offset, size) in blobs.iter().filter_map(|blob| Some((blob.offset?, blob.size))) {
        assert!(offset.checked_add(size).is_some_and(|end| end <= bytes.len() as u64));
    }
    let image = bpte.image().expect("what was read is written");
    assert!(image.is_from_source() && image.to_vec().expect("a small file") == bytes);
    bpte.set_program(&b"no program"[..]);
    if let Ok(image) = bpte.image() {
        let written = image.to_vec().expect("a small file");
        assert_eq!(
            visit::tree(&Bpte::parse(&written).expect("what we write, we read").bundled_program),
            visit::tree(&bpte.bundled_program)
        );
    }
}

/// Decodes an ETDump, validates it, and counts its times.
pub fn read_etdump(bytes: &[u8]) {
    let parsed = Etdp::parse(bytes);
    assert_eq!(Etdp::verify_structure(bytes).err().as_ref(), parsed.as_ref().err());
    match parsed {
        Ok(etdp) => {
            print(&etdp.verify(Level::Strict));
            let mut profile = etdp.profile(None, None);
            profile.sort_by_total();
            for event in profile.runs.iter().flat_map(|run| &run.events) {
                assert!(event.count > 0 && event.min <= event.max && event.max <= event.total);
            }
            let mut values = etdp.debug_values(Some(bytes), None, None);
            values.count(4);
            assert_eq!(values.file_names("npy").len(), values.runs.len());
            assert_eq!(etdp.summary(), etdp.clone().into_owned().summary());
        }
        Err(error) => check_error(&error, bytes),
    }
}

/// Parses a delegate's payload of any kind.
pub fn read_payload(bytes: &[u8]) {
    let payload = Payload::parse(bytes);
    if let Err(error) = &payload {
        check_error(error, bytes);
    }
    for kind in PayloadKind::all() {
        for part in PayloadSummary::of(kind.id(), &payload, &NamedBlobs::NONE).parts {
            assert!(part.offset.checked_add(part.size).is_some_and(|end| end <= bytes.len() as u64));
        }
    }
}

/// Decodes an XNNPACK payload, visits everything, validates, lists its constants, and writes it: unchanged, and from its graph alone.
pub fn read_xnnpack(bytes: &[u8]) {
    let parsed = Xnnpack::parse(bytes);
    assert_eq!(Xnnpack::verify_structure(bytes).err().as_ref(), parsed.as_ref().err());
    let narrow = Limits::default().with_bytes(Some(bytes.len() as u32 / 2));
    assert_eq!(Xnnpack::verify_structure_with(bytes, &narrow).err(), Xnnpack::parse_with(bytes, &narrow).err());
    let payload = match parsed {
        Ok(payload) => payload,
        Err(error) => return check_error(&error, bytes),
    };
    let tree = visit::tree(&payload.graph);
    print(&payload.verify(Level::Strict));
    assert!(payload.verify(Level::Runtime).len() <= payload.verify(Level::Strict).len());
    for constant in payload.constants() {
        let _ = payload.constant_bytes(constant.index, &NamedBlobs::NONE);
        assert!(payload.constant(constant.index).is_some());
    }
    for node in payload.graph.xnodes() {
        let _ = node.xnode_union.ids();
    }
    payload.delegate_constants();
    assert_eq!(payload.to_vec().unwrap(), bytes);
    let newer = payload.source.as_ref().is_some_and(|source| source.newer_tables > 0);
    let by_hand = Xnnpack { source: None, ..payload.into_owned() };
    assert_eq!(tree, visit::tree(&by_hand.graph));
    // Fields and members of a newer schema cannot be written.
    if let (false, Ok(written)) = (newer, by_hand.to_vec()) {
        let limits = Limits::default().with_bytes(Some(u32::MAX));
        let again = Xnnpack::parse_with(&written, &limits).unwrap();
        assert_eq!(tree, visit::tree(&again.graph));
        assert_eq!(again.constant_data, by_hand.constant_data);
    }
}

/// Checks that an error has a message and an offset inside the file.
fn check_error(error: &executorch_format::Error, bytes: &[u8]) {
    assert!(!error.to_string().is_empty());
    assert!(!error.kind().rule().is_empty());
    assert!(error.offset().is_none_or(|offset| offset <= bytes.len() as u64), "{error}");
}

/// Checks that findings can be printed.
fn print(findings: &[Finding]) {
    for finding in findings {
        assert!(!finding.to_string().is_empty());
    }
}
