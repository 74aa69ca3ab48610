//! Property tests: any tree that is written is read back the same, with absent, empty, unknown and extreme values.

use executorch_format::schema::{FlatTensor, Program};
use executorch_format::{Ptd, Pte, Segment, WriteStyle};
use executorch_format_support::any_tree::{self, Choices};
use executorch_format_support::visit::tree;
use proptest::prelude::*;

fn styles() -> impl Strategy<Value = WriteStyle> {
    let style = prop_oneof![
        Just(WriteStyle::PYTHON),
        Just(WriteStyle::PYTHON_OLD_FLATBUFFERS),
        Just(WriteStyle::FLATC),
        Just(WriteStyle::EARLY_FLATC),
        Just(WriteStyle::SAVE_PTD),
    ];
    (style, 0u32..13, 0u32..13).prop_map(|(mut style, constants, delegates)| {
        style.constant_alignment = 1 << constants;
        style.delegate_alignment = 1 << delegates;
        style
    })
}

fn choices() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..1200)
}

fn programs() -> impl Strategy<Value = Program<'static>> {
    choices().prop_map(|bytes| any_tree::program(&mut Choices::new(&bytes)))
}

fn flat_tensors() -> impl Strategy<Value = FlatTensor<'static>> {
    choices().prop_map(|bytes| any_tree::flat_tensor(&mut Choices::new(&bytes)))
}

/// A file with only the tree: no header and no data.
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
        Pte::check(&file).unwrap();
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
        Ptd::check(&file).unwrap();
        let read = Ptd::parse(&file).unwrap();
        prop_assert_eq!(&read.flat_tensor, &flat_tensor);

        let again = ptd(&read.flat_tensor.clone().into_owned(), style).image_as_is().unwrap().to_vec().unwrap();
        prop_assert!(again == file, "writing it again gives another file");
    }
}
