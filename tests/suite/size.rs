//! Sizes of the parts of files.

use executorch_format::edit::{SavingEdit, SavingKind, Strip};
use executorch_format::inspect::{BlobUser, SizeKind, SizePart, SizeReport};
use executorch_format::schema::ScalarType;
use executorch_format::schema::program::DataLocation;
use executorch_format::{Analysis, Model, ParseOptions, Pte, PteOptions};
use executorch_format_support::fixtures::{Fixture, equal, fixture, fixtures, for_each, with_extension};
use std::collections::BTreeMap;

fn bytes(size: &SizeReport<'_>, kind: SizeKind) -> u64 {
    size.parts.iter().filter(|part| part.kind == kind).map(|part| part.size).sum()
}

/// Returns the possible saving of that kind, and its edit.
fn saving(file: &[u8], kind: SavingKind) -> Option<(u64, SavingEdit)> {
    let savings = Model::parse(file).unwrap().savings();
    savings.iter().find(|saving| saving.kind == kind).map(|saving| (saving.size, saving.edit))
}

/// Checks the sizes of parts against the blobs that do not overlap others, as listed.
fn accounted(fixture: &Fixture) -> Result<(), String> {
    let model = Model::parse(fixture.bytes()).map_err(|error| error.to_string())?;
    let size = model.size_report().map_err(|error| error.to_string())?;
    let file_size = fixture.bytes().len() as u64;
    equal("file size", size.file_size, file_size)?;
    equal("sum of the parts", size.parts.iter().map(|part| part.size).sum(), file_size)?;
    equal("sum of the groups", size.groups().iter().map(|group| group.size).sum(), file_size)?;
    let mut runs: Vec<&SizePart<'_>> = size.parts.iter().filter(|part| part.offset.is_some()).collect();
    runs.sort_by_key(|part| (part.offset, part.size));
    for pair in runs.windows(2) {
        let end = pair[0].offset.unwrap() + pair[0].size;
        equal("overlap", pair[0].size > 0 && Some(end) > pair[1].offset, false)?;
    }
    // Many tables share a vtable, which takes at least four bytes.
    let vtables = size.parts.iter().find(|part| part.detail == Some("vtables"));
    equal("as many vtables as fit", vtables.is_some_and(|part| part.pieces as u64 * 4 > part.size), false)?;
    // Exporters write no unused data.
    equal("unreferenced", bytes(&size, SizeKind::Unreferenced), 0)?;
    let growth = size.growth(&size);
    equal("growth", growth.iter().find(|growth| growth.bytes() != 0), None)
}

#[test]
fn the_parts_of_every_file_sum_up_to_its_size() {
    let fixtures: Vec<_> =
        fixtures().into_iter().filter(|fixture| !fixture.name().ends_with("flatc_only.ptd")).collect();
    for_each(&fixtures, accounted);
}

#[test]
fn the_parts_of_bundles_traces_and_payloads_sum_up_to_their_size() {
    for extension in ["bpte", "etdp", "xnn"] {
        let mut files = with_extension(extension);
        // Hand-made: its constant data is unused.
        files.retain(|file| !file.name().ends_with("handmade_every_node.0.xnn"));
        assert!(!files.is_empty(), "{extension}");
        for_each(&files, accounted);
    }
    let bundle = fixture("1.5.1/bundled/bundled.bpte");
    let model = Model::parse(bundle.bytes()).unwrap();
    let Model::Bpte(bpte) = &model else { panic!("another kind") };
    let size = model.size_report().unwrap();
    assert_eq!(bytes(&size, SizeKind::Bundled), bpte.bundled_program.program().len() as u64);
    let tensors = bpte.test_cases().flat_map(|(_, _, case)| case.inputs().iter().chain(case.expected_outputs()));
    let tensors: usize = tensors.filter_map(|value| value.tensor()).map(|tensor| tensor.data().len()).sum();
    assert_eq!(bytes(&size, SizeKind::Test), tensors as u64);
}

#[test]
fn each_kind_of_part_has_the_bytes_that_the_list_of_blobs_gives_it() {
    let fixture = fixture("1.5.1/multi_method/multi_method.pte");
    let pte = Pte::parse(fixture.bytes()).unwrap();
    let size = Analysis::new(&pte).size_report().unwrap();
    assert_eq!(bytes(&size, SizeKind::Constant), 112);
    assert_eq!(bytes(&size, SizeKind::Header), 40);
    let types: Vec<_> = size.scalar_types.iter().map(|one| (one.scalar_type, one.size, one.blobs)).collect();
    assert_eq!(types, [(Some(ScalarType::FLOAT), 88, 4), (Some(ScalarType::INT), 24, 1)]);
    let forward = size.methods.iter().find(|method| method.name == "forward").unwrap();
    assert_eq!((forward.data, forward.shared), (88, 88));
    let tensor = size.methods.iter().find(|method| method.name == "get_tensor").unwrap();
    assert_eq!((tensor.data, tensor.shared), (24, 0));
    let operators: Vec<_> = size.operators.iter().map(|one| (one.name.as_str(), one.size)).collect();
    assert_eq!(operators, [("aten::addmm.out", 88)]);
}

#[test]
fn a_payload_and_its_description_belong_to_the_backend() {
    let fixture = fixture("1.5.1/linear_xnnpack_inline/linear_xnnpack_inline.pte");
    let pte = Pte::parse(fixture.bytes()).unwrap();
    let size = Analysis::new(&pte).size_report().unwrap();
    let payload = pte.program.backend_delegate_data()[0].data().len() as u64;
    assert_eq!(bytes(&size, SizeKind::Delegate), payload);
    assert!(size.operators.iter().any(|operator| operator.name == "XnnpackBackend" && operator.size >= payload));
}

#[test]
fn constants_inside_the_program_are_constants() {
    // Files of ExecuTorch 0.2 have no segments.
    let fixture = fixture("0.2.1/add_mul_constant_inline/add_mul_constant_inline.pte");
    let pte = Pte::parse(fixture.bytes()).unwrap();
    let constants: u64 = pte.program.constant_buffer().iter().map(|buffer| buffer.storage().len() as u64).sum();
    assert!(constants > 0);
    assert_eq!(bytes(&Analysis::new(&pte).size_report().unwrap(), SizeKind::Constant), constants);
}

#[test]
fn an_old_payload_has_its_weights_inside() {
    // Before ExecuTorch 0.6, weights were in the payload, not in named data.
    let fixture = fixture("0.4.0/linear_xnnpack/linear_xnnpack.pte");
    let pte = Pte::parse(fixture.bytes()).unwrap();
    let size = Analysis::new(&pte).size_report().unwrap();
    let details: Vec<_> = size.groups().iter().map(|group| (group.key.backend, group.key.detail, group.size)).collect();
    assert!(details.contains(&(Some("XnnpackBackend"), Some("header"), 30)), "{details:?}");
    assert!(details.iter().any(|(_, detail, bytes)| *detail == Some("weights") && *bytes > 0), "{details:?}");
}

#[test]
fn unreferenced_data_is_distinguished_from_padding() {
    let fixture = fixture("1.5.1/add_mul/add_mul.pte");
    let pte = Pte::parse(fixture.bytes()).unwrap();
    let before = Analysis::new(&pte).size_report().unwrap();
    // Even zeros: a listed but unused blob is not padding.
    for content in [vec![7; 300], vec![0; 300]] {
        let mut pte = pte.clone();
        pte.add_segment(content);
        let file = pte.lay_out(&PteOptions::default()).unwrap().image().unwrap().to_vec().unwrap();
        let pte = Pte::parse(&file).unwrap();
        let size = Analysis::new(&pte).size_report().unwrap();
        assert_eq!(bytes(&size, SizeKind::Unreferenced), 300);
        // This includes the item in the list of segments, and the padding for alignment.
        let (saved, edit) = saving(&file, SavingKind::Unreferenced).unwrap();
        assert!((300..500).contains(&saved), "{saved}");
        assert_eq!(edit, SavingEdit::Strip(Strip::default().with_unreferenced()));
        let growth = before.growth(&size);
        assert_eq!(growth[0].key.kind, SizeKind::Unreferenced);
        assert_eq!(
            growth.iter().map(|one| one.bytes()).sum::<i128>(),
            file.len() as i128 - fixture.bytes().len() as i128
        );
    }
    let trailing = [fixture.bytes(), b"more"].concat();
    let pte = Pte::parse(&trailing).unwrap();
    assert_eq!(bytes(&Analysis::new(&pte).size_report().unwrap(), SizeKind::Unreferenced), 4);
}

#[test]
fn equal_blobs_can_be_stored_once_wherever_they_are() {
    let fixture = fixture("1.5.1/add_mul/add_mul.pte");
    let mut pte = Pte::parse(fixture.bytes()).unwrap();
    for key in ["a", "b", "c"] {
        let segment_index = pte.add_segment(vec![9; 40_000]);
        let key = Some(key.to_owned().into());
        let named = executorch_format::schema::program::NamedData { key, segment_index };
        pte.program.named_data.get_or_insert_default().push(named);
    }
    let file = pte.lay_out(&PteOptions::default()).unwrap().image().unwrap().to_vec().unwrap();
    let (saved, edit) = saving(&file, SavingKind::EqualBlobs).unwrap();
    // Two copies, without the padding for the alignments of all three.
    assert!((60_000..80_500).contains(&saved) && edit == SavingEdit::Dedup, "{saved} {edit:?}");
    assert_eq!(saving(fixture.bytes(), SavingKind::EqualBlobs), None);
}

#[test]
fn copies_of_a_payload_inside_the_program_can_be_removed() {
    let fixture = fixture("1.5.1/linear_xnnpack_inline/linear_xnnpack_inline.pte");
    let mut pte = Pte::parse(fixture.bytes()).unwrap();
    let copy = pte.program.backend_delegate_data()[0].clone();
    let payload = copy.data().len() as u64;
    pte.program.backend_delegate_data.as_mut().unwrap().push(copy);
    let plan = &mut pte.program.execution_plan.as_mut().unwrap()[0];
    let delegates = plan.delegates.as_mut().unwrap();
    let mut second = delegates[0].clone();
    let processed = second.processed.as_mut().unwrap();
    assert_eq!(processed.location, DataLocation::INLINE);
    processed.index += 1;
    delegates.push(second);
    let file = pte.lay_out(&PteOptions::default()).unwrap().image().unwrap().to_vec().unwrap();
    let (saved, edit) = saving(&file, SavingKind::EqualBlobs).unwrap();
    assert!(saved.abs_diff(payload) < 64 && edit == SavingEdit::Dedup, "{saved} {edit:?}");
}

#[test]
fn stack_traces_can_be_removed() {
    let fixture = fixture("1.5.1/stacktrace/stacktrace.pte");
    let pte = Pte::parse(fixture.bytes()).unwrap();
    let size = Analysis::new(&pte).size_report().unwrap();
    let traces = ["Frame", "FrameList"].map(Some);
    let expected: u64 = size.parts.iter().filter(|part| traces.contains(&part.detail)).map(|part| part.size).sum();
    assert!(expected > 100);
    let (saved, edit) = saving(fixture.bytes(), SavingKind::StackTraces).unwrap();
    assert!(saved >= expected, "{saved}");
    assert_eq!(edit, SavingEdit::Strip(Strip::default().with_stack_traces()));
}

/// Returns the size and count of each type or operator.
fn rows(rows: impl Iterator<Item = (String, u64, usize)>) -> BTreeMap<String, (u64, usize)> {
    rows.map(|(name, bytes, blobs)| (name, (bytes, blobs))).collect()
}

#[test]
fn weights_of_xnnpack_count_for_their_method_type_and_operator() {
    // In named data, and inside the payload as before ExecuTorch 0.6.
    for name in ["1.5.1/linear_xnnpack/linear_xnnpack.pte", "0.4.0/linear_xnnpack/linear_xnnpack.pte"] {
        let fixture = fixture(name);
        let pte = Pte::parse(fixture.bytes()).unwrap();
        let mut expected: Vec<(u32, u64)> = Analysis::new(&pte)
            .delegate_constants()
            .constants
            .iter()
            .map(|one| (one.user.constant, one.size.unwrap()))
            .collect();
        expected.dedup();
        let (count, weights) = (expected.len(), expected.iter().map(|(_, size)| size).sum::<u64>());
        assert!(count > 0, "{name}");
        let size = Analysis::new(&pte).size_report().unwrap();
        let types = rows(size.scalar_types.iter().map(|one| (one.name.clone(), one.size, one.blobs)));
        assert_eq!(types["f32"], (weights, count), "{name}");
        let operators = rows(size.operators.iter().map(|one| (one.name.clone(), one.size, one.blobs)));
        assert_eq!(operators["XnnpackBackend.XNNFullyConnected"], (weights, count), "{name}: {operators:?}");
        let payload = bytes(&size, SizeKind::Delegate);
        let inside = if bytes(&size, SizeKind::Named) > 0 { 0 } else { weights };
        assert_eq!(operators["XnnpackBackend"].0, payload - inside, "{name}");
        assert_eq!(size.methods[0].data, payload + bytes(&size, SizeKind::Named), "{name}");
    }
    let fixture = fixture("1.5.1/quant_xnnpack/quant_xnnpack.pte");
    let pte = Pte::parse(fixture.bytes()).unwrap();
    let size = Analysis::new(&pte).size_report().unwrap();
    assert!(size.scalar_types.iter().any(|one| one.name == "qcint8" && one.scalar_type.is_none()));
}

#[test]
fn overlapping_blobs_are_counted_once() {
    let fixture = fixture("1.5.1/add_mul/add_mul.pte");
    let mut pte = Pte::parse(fixture.bytes()).unwrap();
    // Both constants start at the same byte, and one is shorter.
    for offset in pte.program.constant_segment.as_mut().unwrap().offsets.as_mut().unwrap().to_mut() {
        *offset = 0;
    }
    let plan = &mut pte.program.execution_plan.as_mut().unwrap()[0];
    let tensors = plan.values.as_mut().unwrap().iter_mut().filter_map(|value| match &mut value.val {
        executorch_format::schema::program::KernelTypes::Tensor(tensor) if tensor.data_buffer_idx == 2 => Some(tensor),
        _ => None,
    });
    tensors.for_each(|tensor| tensor.sizes = Some(vec![1].into()));
    let file = pte.image().unwrap().to_vec().unwrap();
    let pte = Pte::parse(&file).unwrap();
    let size = Analysis::new(&pte).size_report().unwrap();
    assert_eq!(size.parts.iter().map(|part| part.size).sum::<u64>(), file.len() as u64);
    let constants: Vec<_> = size.parts.iter().filter(|part| part.kind == SizeKind::Constant).collect();
    assert_eq!(constants.iter().map(|part| part.size).collect::<Vec<_>>(), [16, 0]);
    assert!(constants.iter().all(|part| matches!(part.users[..], [BlobUser::Tensor { .. }])));
}

#[test]
fn without_the_whole_file_there_is_no_size() {
    let fixture = fixture("1.5.1/add_mul/add_mul.pte");
    let metadata = Model::parse_with(fixture.bytes(), &ParseOptions::METADATA).unwrap();
    assert!(metadata.size_report().is_err());
    assert!(Analysis::new(&Pte::default()).size_report().is_err());
}

/// For damage that parsing does not refuse, all answers about the tree still work, and every byte is still in one part.
#[test]
fn damaged_files_have_answers() {
    for name in ["1.5.1/cond/cond.pte", "1.5.1/tensor_lists/tensor_lists.pte"] {
        let fixture = fixture(name);
        let mut file = fixture.bytes().to_vec();
        for at in (0..file.len()).step_by(executorch_format_support::fixtures::stride()) {
            let byte = file[at];
            for value in [byte ^ 1, byte ^ 0x80, 0xff, byte.wrapping_add(4)] {
                file[at] = value;
                if let Ok(Model::Pte(pte)) = Model::parse(&file) {
                    let sum: u64 = Analysis::new(&pte).size_report().unwrap().parts.iter().map(|part| part.size).sum();
                    assert_eq!(sum, file.len() as u64, "{name}: byte {at} is {value}");
                    drop((
                        Analysis::new(&pte).memory(),
                        Analysis::new(&pte).operators(),
                        Analysis::new(&pte).disassembly(),
                    ));
                }
            }
            file[at] = byte;
        }
    }
}
