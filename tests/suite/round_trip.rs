//! Property tests: any tree that is written is read back equal, with absent, empty, unknown and extreme values.

use executorch_format::schema::{FlatTensor, Program};
use executorch_format::testing::strategies::{any_flat_tensors, any_programs, damage, styles, valid_pairs};
use executorch_format::verify::{Finding, Level, Severity};
use executorch_format::{Ptd, Pte, Segment, WriteStyle};
use executorch_format_support::visit::tree;
use proptest::prelude::*;

fn programs() -> impl Strategy<Value = Program<'static>> {
    any_programs(0..1200)
}

fn flat_tensors() -> impl Strategy<Value = FlatTensor<'static>> {
    any_flat_tensors(0..1200)
}

/// Returns a file with only the tree: no header and no data.
fn pte(program: &Program<'static>, style: WriteStyle) -> Pte<'static> {
    let segments = vec![Segment::Absent; program.segments().len()];
    Pte { program: program.clone(), segments, style: Some(style), ..Pte::default() }
}

fn ptd(flat_tensor: &FlatTensor<'static>, style: WriteStyle) -> Ptd<'static> {
    let segments = vec![Segment::Absent; flat_tensor.segments().len()];
    Ptd { flat_tensor: flat_tensor.clone(), segments, style: Some(style), ..Ptd::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_written_program_is_read_back(program in programs(), style in styles()) {
        let file = pte(&program, style).image_as_is().unwrap().to_vec().unwrap();
        Pte::verify_structure(&file).unwrap();
        let read = Pte::parse(&file).unwrap();
        prop_assert_eq!(tree(&read.program), tree(&program));
        prop_assert_eq!(read.source.as_ref().unwrap().newer_tables, 0);

        let again = pte(&read.program.clone().into_owned(), style).image_as_is().unwrap().to_vec().unwrap();
        prop_assert!(again == file, "writing it again gives another file");
        // Unchanged, it is written back byte for byte in any style.
        prop_assert!(read.image().unwrap().to_vec().unwrap() == file, "the unchanged file is written differently");
    }

    #[test]
    fn a_program_is_read_at_any_address(program in programs(), shift in 0usize..8) {
        let file = pte(&program, WriteStyle::PYTHON).image_as_is().unwrap().to_vec().unwrap();
        let mut shifted = vec![0xaa; shift];
        shifted.extend_from_slice(&file);
        let read = Pte::parse(&shifted[shift..]).unwrap();
        prop_assert_eq!(tree(&read.program), tree(&program));
    }

    #[test]
    fn a_program_with_a_header_is_read_back(program in programs(), style in styles()) {
        let mut written = pte(&program, style);
        for segment in written.program.segments.iter_mut().flatten() {
            (segment.offset, segment.size) = (0, 0);
        }
        written.header = Some(executorch_format::PteHeader { length: 32, ..Default::default() });
        let image = written.image_as_is().unwrap();
        let file = image.to_vec().unwrap();
        prop_assert_eq!(image.size(), file.len() as u64);
        let read = Pte::parse(&file).unwrap();
        prop_assert_eq!(tree(&read.program), tree(&written.program));
        prop_assert_eq!(read.header.unwrap().program_size, file.len() as u64);
    }

    #[test]
    fn a_written_ptd_is_read_back(flat_tensor in flat_tensors(), style in styles()) {
        let file = ptd(&flat_tensor, style).image_as_is().unwrap().to_vec().unwrap();
        Ptd::verify_structure(&file).unwrap();
        let read = Ptd::parse(&file).unwrap();
        prop_assert_eq!(&read.flat_tensor, &flat_tensor);

        let again = ptd(&read.flat_tensor.clone().into_owned(), style).image_as_is().unwrap().to_vec().unwrap();
        prop_assert!(again == file, "writing it again gives another file");
    }

    #[test]
    fn good_files_are_good_and_read_as_they_were_written((pte, ptd) in valid_pairs(0..600)) {
        let files = [pte.image().unwrap().to_vec().unwrap(), ptd.image().unwrap().to_vec().unwrap()];
        let (read, read_ptd) = (Pte::parse(&files[0]).unwrap(), Ptd::parse(&files[1]).unwrap());
        prop_assert_eq!(tree(&read.program), tree(&pte.program));
        prop_assert_eq!(&read_ptd.flat_tensor, &ptd.flat_tensor);
        let mut findings = read.verify(Level::Strict);
        findings.extend(read_ptd.verify(Level::Strict));
        findings.extend(read.verify_with([&read_ptd], Level::Strict));
        // Each method has states of its own, in planned memory of its own. Outputs are any tensors.
        findings.retain(|finding| !["shared-state", "state-overwritten", "external-output"].contains(&finding.rule));
        let bad: Vec<String> =
            findings.iter().filter(|finding| finding.severity > Severity::Note).map(Finding::to_string).collect();
        prop_assert!(bad.is_empty(), "{bad:?}");
        prop_assert!(read.image().unwrap().to_vec().unwrap() == files[0], "written again, it is another file");
    }

    #[test]
    fn damaged_files_are_refused_or_read(
        (mut pte, damage) in valid_pairs(0..400).prop_flat_map(|(pte, _)| {
            let damage = damage(&pte.program);
            (Just(pte), damage)
        })
    ) {
        prop_assert!(damage.apply(&mut pte.program), "{}", damage.describe(&pte.program));
        let Ok(file) = pte.image_as_is().and_then(|image| image.to_vec()) else { return Ok(()) };
        if let Ok(read) = Pte::parse(&file) {
            prop_assert!(read.verify(Level::Runtime).len() <= read.verify(Level::Strict).len());
        }
    }
}
