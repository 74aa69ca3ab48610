//! Whole files: their kind, their parts, owned copies.

use executorch_format::schema::any::AnyTable;
use executorch_format::{Error, ErrorKind, FileKind, ForeignFormat, Header, PROBE_SIZE, ParseOptions, Ptd, Pte, probe};
use executorch_format_support::fixtures::{Fixture, equal, fixture, fixtures, for_each, root};
use executorch_format_support::visit::tree;

fn text(error: Error) -> String {
    error.to_string()
}

/// Returns an error if the two trees differ. NaN equals NaN.
fn same(what: &str, found: &dyn AnyTable, expected: &dyn AnyTable) -> Result<(), String> {
    if tree(found) == tree(expected) { Ok(()) } else { Err(format!("  {what}: differs")) }
}

#[test]
fn every_fixture_passes_decoding_and_the_check_only_run() {
    for_each(&fixtures(), |fixture| {
        let newer = if fixture.is_pte() {
            Pte::verify_structure(fixture.bytes()).map_err(text)?;
            Pte::parse(fixture.bytes()).map_err(text)?.source.unwrap().newer_tables
        } else {
            Ptd::verify_structure(fixture.bytes()).map_err(text)?;
            Ptd::parse(fixture.bytes()).map_err(text)?.source.unwrap().newer_tables
        };
        equal("tables of a newer schema", newer, 0)
    });
}

#[test]
fn tests_data_has_every_version_and_reference_output_for_each_file() {
    if std::env::var_os("EXECUTORCH_FIXTURES").is_some() {
        return;
    }
    let fixtures = fixtures();
    for version in ["0.2.1", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "1.0.1", "1.5.1", "1.5.1-flatbuffers-25.9"] {
        let count = fixtures.iter().filter(|fixture| fixture.version() == version).count();
        assert!(count >= 3, "{version}: {count} files under {}", root().display());
    }
    // These files are for measurements, payloads, kernels, names, replaced weights, metadata, and answers.
    let others = ["bench", "payloads", "kernels", "etrecord", "replace", "metadata", "answers"];
    for fixture in fixtures.iter().filter(|fixture| !others.contains(&&*fixture.version())) {
        assert!(fixture.beside("json").is_some(), "{}", fixture.name());
        assert!(fixture.beside("oracle.json").is_some(), "{}", fixture.name());
    }
}

#[test]
fn headers_match_the_official_reader() {
    for_each(&fixtures(), |fixture| {
        let Some(oracle) = fixture.oracle() else { return Ok(()) };
        let probe = probe(fixture.bytes()).map_err(text)?;
        let expected = &oracle["header"];
        equal("identifier", std::str::from_utf8(&probe.identifier).ok(), oracle["identifier"].as_str())?;
        let Some(header) = probe.header else {
            return equal("header", expected.is_null(), true);
        };
        let number = |field: &str, found: u64| equal(field, Some(found), expected[field].as_u64());
        match header {
            Header::Pte(header) => {
                number("length", header.length.into())?;
                number("program_size", header.program_size)?;
                number("segment_base_offset", header.segment_base_offset)?;
                number("segment_data_size", header.segment_data_size.unwrap_or(0))
            }
            Header::Ptd(header) => {
                number("length", header.length.into())?;
                number("flatbuffer_offset", header.flatbuffer_offset)?;
                number("flatbuffer_size", header.flatbuffer_size)?;
                number("segment_base_offset", header.segment_base_offset)?;
                number("segment_data_size", header.segment_data_size)
            }
            _ => Err("  a header of another kind".to_owned()),
        }
    });
}

#[test]
fn the_first_bytes_give_the_place_of_the_metadata() {
    for_each(&fixtures(), |fixture| {
        let bytes = fixture.bytes();
        let found = probe(&bytes[..bytes.len().min(PROBE_SIZE)]).map_err(text)?;
        equal("probe of all bytes", probe(bytes).map_err(text)?, found)?;
        let metadata = &bytes[..found.metadata(bytes.len() as u64).map_err(text)?.end as usize];
        if fixture.is_pte() {
            equal("kind", found.kind, FileKind::Pte)?;
            let (whole, part) =
                (Pte::parse(bytes).map_err(text)?, Pte::parse_with(metadata, &ParseOptions::METADATA).map_err(text)?);
            same("tree", &part.program, &whole.program)?;
            absent(whole.program.segments(), |index| part.segment(index).map(|bytes| bytes.len()))
        } else {
            equal("kind", found.kind, FileKind::Ptd)?;
            let (whole, part) =
                (Ptd::parse(bytes).map_err(text)?, Ptd::parse_with(metadata, &ParseOptions::METADATA).map_err(text)?);
            same("tree", &part.flat_tensor, &whole.flat_tensor)?;
            absent(whole.flat_tensor.segments(), |index| part.segment(index).map(|bytes| bytes.len()))
        }
    });
}

/// Checks that every non-empty segment is absent.
fn absent(
    segments: &[executorch_format::schema::DataSegment],
    find: impl Fn(u32) -> Result<usize, Error>,
) -> Result<(), String> {
    for (index, segment) in segments.iter().enumerate().filter(|(_, segment)| segment.size > 0) {
        let found = find(index as u32).map_err(|error| error.kind().clone());
        equal(&format!("segment {index} of {} bytes", segment.size), found, Err(ErrorKind::Absent(index as u32)))?;
    }
    Ok(())
}

#[test]
fn the_tree_is_the_same_at_any_address_in_memory() {
    for_each(&fixtures(), |fixture| {
        let bytes = fixture.bytes();
        // One byte after an aligned address: nothing wider than a byte can be borrowed.
        let mut words = vec![0u128; bytes.len() / 16 + 2];
        let shifted: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        shifted[1..=bytes.len()].copy_from_slice(bytes);
        let shifted = &shifted[1..=bytes.len()];
        if fixture.is_pte() {
            let (aligned, shifted) = (Pte::parse(bytes).map_err(text)?, Pte::parse(shifted).map_err(text)?);
            same("tree", &shifted.program, &aligned.program)?;
            equal("segments", shifted.segments == aligned.segments, true)?;
            same("owned tree", &shifted.into_owned().program, &aligned.program)
        } else {
            let (aligned, shifted) = (Ptd::parse(bytes).map_err(text)?, Ptd::parse(shifted).map_err(text)?);
            same("tree", &shifted.flat_tensor, &aligned.flat_tensor)?;
            equal("segments", shifted.segments == aligned.segments, true)?;
            same("owned tree", &shifted.into_owned().flat_tensor, &aligned.flat_tensor)
        }
    });
}

#[test]
fn an_owned_tree_outlives_its_bytes() {
    let owned = |fixture: Fixture| Pte::parse(fixture.bytes()).unwrap().into_owned();
    let pte: Pte<'static> = owned(fixture("1.5.1/multi_method/multi_method.pte"));
    let again = fixture("1.5.1/multi_method/multi_method.pte");
    assert_eq!(pte, Pte::parse(again.bytes()).unwrap());
}

#[test]
fn errors_name_related_formats() {
    let foreign = |bytes: &[u8]| match Pte::parse(bytes).unwrap_err().kind() {
        ErrorKind::Foreign { found, .. } => found.to_string(),
        other => panic!("{other}"),
    };
    let data = |name: &str| std::fs::read(format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    assert!(foreign(&data("1.5.1/bundled/bundled.bpte")).contains("bundled program"));
    assert!(foreign(&data("1.5.1/etdump/etdump.etdp")).contains("ETDump"));
}

#[test]
fn errors_name_the_other_kind_of_file() {
    let (pte, ptd) = (fixture("1.5.1/add/add.pte"), fixture("1.5.1/ptd_names/ptd_names.ptd"));
    let kind = |error: Error| error.kind().clone();
    let expected = |expected, found: &'static str| ErrorKind::Foreign {
        expected,
        found: found.into(),
        format: ForeignFormat::Other,
    };
    assert_eq!(kind(Ptd::parse(pte.bytes()).unwrap_err()), expected(".ptd", "a .pte file"));
    assert_eq!(kind(Pte::parse(ptd.bytes()).unwrap_err()), expected(".pte", "a .ptd file"));
    assert_eq!(kind(Ptd::verify_structure(pte.bytes()).unwrap_err()), expected(".ptd", "a .pte file"));
}

#[test]
fn a_model_has_the_header_of_its_file() {
    use executorch_format::{Header, Model};
    let header = |name: &str| Model::parse(fixture(name).bytes()).unwrap().header();
    assert!(matches!(header("1.5.1/linear/linear.pte"), Some(Header::Pte(_))));
    let ptd = "1.5.1/add_mul_external/_default_external_constant.ptd";
    assert!(matches!(header(ptd), Some(Header::Ptd(_))));
    assert_eq!(header("1.5.1/bundled/bundled.bpte"), None);
}

#[test]
fn a_file_that_ends_with_its_program_is_complete() {
    let file = fixture("1.5.1/linear/linear.pte");
    let size = Pte::parse(file.bytes()).unwrap().header.unwrap().program_size;
    let found = probe(file.bytes()).unwrap();
    assert_eq!(found.metadata(size).unwrap(), 0..size);
    assert!(found.metadata(size - 1).is_err());
}

#[test]
fn zeros_up_to_the_end_of_the_data_in_the_header_are_padding() {
    let file = fixture("1.5.1/linear/linear.pte");
    let announced = Pte::parse(file.bytes()).unwrap().header.unwrap().segment_data_size.unwrap() + 16;
    let trailing = |rest: [u8; 16]| {
        let mut bytes = [file.bytes(), &rest].concat();
        bytes[32..40].copy_from_slice(&announced.to_le_bytes());
        let range = Pte::parse(&bytes).unwrap().trailing_bytes();
        range.end - range.start
    };
    assert_eq!(trailing([0; 16]), 0);
    assert_eq!(trailing([1; 16]), 16);
}
