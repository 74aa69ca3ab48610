//! What is written is read back, whatever the tree: tables and unions, absent and empty, unknown and extreme.

use crate::tree;
use executorch_format::schema::program::{KernelTypes, Program};
use executorch_format::schema::{FlatTensor, Program as Root};
use executorch_format::{FileLayout, Ptd, Pte, Segment, TableOrder};
use proptest::prelude::*;

fn layouts() -> impl Strategy<Value = FileLayout> {
    let order = prop_oneof![Just(TableOrder::ById), Just(TableOrder::BySize), Just(TableOrder::Interleaved)];
    // The reader checks inline data against the schema's alignment of 16.
    (order, 4u32..13, 4u32..13).prop_map(|(order, constants, delegates)| FileLayout {
        order,
        constant_alignment: 1 << constants,
        delegate_alignment: 1 << delegates,
        header_gap: None,
    })
}

/// A file with just the tree: no header and no data.
fn pte(program: &Program<'static>, layout: FileLayout) -> Pte<'static> {
    let segments = vec![Segment::Absent; program.segments.as_ref().map_or(0, Vec::len)];
    Pte { program: program.clone(), segments, layout, whole: true, ..Pte::default() }
}

fn ptd(flat_tensor: &FlatTensor<'static>, layout: FileLayout) -> Ptd<'static> {
    let segments = vec![Segment::Absent; flat_tensor.segments.as_ref().map_or(0, Vec::len)];
    Ptd { flat_tensor: flat_tensor.clone(), segments, layout, whole: true, ..Ptd::default() }
}

/// A tree as text, in which NaNs are told apart: `==` holds none equal.
fn exact(program: &Root<'_>) -> String {
    let plans = program.execution_plan.iter().flatten();
    let doubles: Vec<u64> = plans
        .flat_map(|plan| plan.values.iter().flatten())
        .flat_map(|value| match &value.val {
            KernelTypes::Double(double) => vec![double.double_val.to_bits()],
            KernelTypes::DoubleList(list) => {
                list.items.iter().flat_map(|items| items.iter()).map(|x| x.to_bits()).collect()
            }
            _ => Vec::new(),
        })
        .collect();
    format!("{program:?} {doubles:?}")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_program_is_read_as_it_was_written(program in tree::program(), layout in layouts()) {
        let file = pte(&program, layout).plan_as_is().unwrap().to_vec().unwrap();
        Pte::check(&file).unwrap();
        let read = Pte::parse(&file).unwrap();
        prop_assert_eq!(exact(&read.program), exact(&program));
        prop_assert_eq!(read.newer_tables, 0);

        let again = pte(&read.program.into_owned(), layout).plan_as_is().unwrap().to_vec().unwrap();
        prop_assert!(again == file, "written again, it is another file");
    }

    #[test]
    fn a_program_is_read_wherever_it_lies_in_memory(program in tree::program(), shift in 0usize..8) {
        let file = pte(&program, FileLayout::default()).plan_as_is().unwrap().to_vec().unwrap();
        let mut shifted = vec![0xaa; shift];
        shifted.extend_from_slice(&file);
        let read = Pte::parse(&shifted[shift..]).unwrap();
        prop_assert_eq!(exact(&read.program), exact(&program));
    }

    #[test]
    fn a_program_is_read_behind_a_header(program in tree::program(), layout in layouts()) {
        let mut written = pte(&program, layout);
        for segment in written.program.segments.iter_mut().flatten() {
            (segment.offset, segment.size) = (0, 0);
        }
        written.header = Some(executorch_format::PteHeader { length: 32, ..Default::default() });
        let plan = written.plan_as_is().unwrap();
        let file = plan.to_vec().unwrap();
        prop_assert_eq!(plan.size(), file.len() as u64);
        let read = Pte::parse(&file).unwrap();
        prop_assert_eq!(exact(&read.program), exact(&written.program));
        prop_assert_eq!(read.header.unwrap().program_size, file.len() as u64);
    }

    #[test]
    fn keys_are_read_as_they_were_written(flat_tensor in tree::flat_tensor(), layout in layouts()) {
        let file = ptd(&flat_tensor, layout).plan_as_is().unwrap().to_vec().unwrap();
        Ptd::check(&file).unwrap();
        let read = Ptd::parse(&file).unwrap();
        prop_assert_eq!(&read.flat_tensor, &flat_tensor);

        let again = ptd(&read.flat_tensor.into_owned(), layout).plan_as_is().unwrap().to_vec().unwrap();
        prop_assert!(again == file, "written again, it is another file");
    }
}
