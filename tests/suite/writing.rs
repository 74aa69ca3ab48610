//! Official files are written back byte for byte, and recomputed layouts equal those of the official writers.

use crate::edit::programs;
use executorch_format::schema::program::{
    BackendDelegateInlineData, Buffer, DataLocation, ExecutionPlan, Program, Tensor,
};
use executorch_format::schema::{DataSegment, ScalarType};
use executorch_format::{
    DataCollector, DataRef, ErrorKind, Model, NewEntry, Ptd, PtdOptions, Pte, PteOptions, Segment, TensorData,
    WriteStyle,
};
use executorch_format_support::fixtures::{Fixture, equal, fixture, fixtures, for_each};

/// Returns the file as this crate encodes it in the detected style.
fn encoded(fixture: &Fixture) -> executorch_format::Result<Vec<u8>> {
    if fixture.is_pte() {
        let mut pte = Pte::parse(fixture.bytes())?;
        pte.style = Some(pte.write_style()?.proven()?);
        pte.image_as_is()?.to_vec()
    } else {
        let mut ptd = Ptd::parse(fixture.bytes())?;
        ptd.style = Some(ptd.write_style()?.proven()?);
        ptd.image_as_is()?.to_vec()
    }
}

#[test]
fn official_files_are_encoded_byte_for_byte() {
    for_each(&fixtures(), |fixture| {
        let written = encoded(fixture).map_err(|error| error.to_string())?;
        if written == fixture.bytes() { Ok(()) } else { Err("  the bytes differ".to_owned()) }
    });
}

#[test]
fn alignments_inside_the_flatbuffer_follow_from_places() {
    let blobs = |sizes: &[usize]| sizes.iter().map(|size| Some(vec![7u8; *size].into())).collect::<Vec<_>>();
    for (sizes, payloads) in
        [(&[0, 5, 70, 0, 33][..], &[9, 200, 1][..]), (&[0, 16], &[]), (&[], &[64]), (&[0, 64, 64], &[64, 64])]
    {
        let constants = blobs(sizes).into_iter().map(|storage| Buffer { storage });
        let delegates = blobs(payloads).into_iter().map(|data| BackendDelegateInlineData { data });
        let program = Program {
            constant_buffer: Some(constants.collect()),
            backend_delegate_data: Some(delegates.collect()),
            ..Program::default()
        };
        for (powers, delegate_power) in (0..10).flat_map(|power| (0..10).map(move |other| (power, other))) {
            for base in [WriteStyle::PYTHON, WriteStyle::FLATC] {
                let mut style = base;
                (style.constant_alignment, style.delegate_alignment) = (1 << powers, 1 << delegate_power);
                let written = Pte { program: program.clone(), style: Some(style), ..Pte::default() };
                let written = written.image().unwrap().to_vec().unwrap();
                let mut pte = Pte::parse(&written).unwrap();
                let found = pte.write_style().unwrap();
                assert!(found.exact, "{sizes:?} {payloads:?} {style:?}");
                pte.style = Some(found.style);
                assert!(pte.image_as_is().unwrap().to_vec().unwrap() == written, "{style:?}");
            }
        }
    }
}

#[test]
fn files_are_written_back_unchanged() {
    for_each(&fixtures(), |fixture| {
        let written = match Model::parse(fixture.bytes()).map_err(|error| error.to_string())? {
            Model::Pte(pte) => pte.image().and_then(|image| image.to_vec()),
            Model::Ptd(ptd) => ptd.image().and_then(|image| image.to_vec()),
            _ => return Err("  not a .pte or .ptd file".to_owned()),
        };
        if written.as_deref() == Ok(fixture.bytes()) { Ok(()) } else { Err("  the bytes differ".to_owned()) }
    });
}

/// Returns the options with which the exporter wrote the file.
fn options(fixture: &Fixture) -> Option<(PteOptions, PtdOptions)> {
    let name = fixture.path.file_stem().unwrap().to_str().unwrap();
    let mut pte = PteOptions::default();
    let mut ptd = PtdOptions::default();
    match name {
        "align_segment_1" => pte.segment_alignment = 1,
        "align_segment_16" => pte.segment_alignment = 16,
        "align_segment_4096" => pte.segment_alignment = 4096,
        "align_const_1" => pte.constant_alignment = Some(1),
        "align_const_4" => pte.constant_alignment = Some(4),
        "align_const_64" => pte.constant_alignment = Some(64),
        "align_const_4096" => pte.constant_alignment = Some(4096),
        "align_delegate_64" => pte.delegate_alignment = 64,
        "align_delegate_1024" => pte.delegate_alignment = 1024,
        // Here the exporter aligns the segments of a .ptd to 1, and each blob to its own alignment.
        "ptd_align_1" => ptd.segment_alignment = 1,
        "ptd_align_16" | "ptd_many" => ptd.segment_alignment = 16,
        "ptd_align_4096" => ptd.segment_alignment = 4096,
        "ptd_blobs_4" => ptd.segment_alignment = 4,
        "ptd_blobs_8" => ptd.segment_alignment = 8,
        // C++ save_ptd pads to its tensor alignment, for which there is no option.
        _ if name.starts_with("save_ptd") => return None,
        _ => {}
    }
    Some((pte, ptd))
}

#[test]
fn current_files_are_the_same_after_a_relayout_with_their_options() {
    let current: Vec<Fixture> =
        fixtures().into_iter().filter(|fixture| fixture.version().starts_with("1.5.1")).collect();
    for_each(&current, |fixture| {
        let Some((pte_options, ptd_options)) = options(fixture) else { return Ok(()) };
        let written = if fixture.is_pte() {
            Pte::parse(fixture.bytes()).unwrap().lay_out(&pte_options).unwrap().image().unwrap().to_vec().unwrap()
        } else {
            Ptd::parse(fixture.bytes()).unwrap().lay_out(&ptd_options).unwrap().image().unwrap().to_vec().unwrap()
        };
        equal("size", written.len(), fixture.bytes().len())?;
        if written == fixture.bytes() { Ok(()) } else { Err("  the bytes differ".to_owned()) }
    });
}

/// Returns the bytes of all blobs that the program refers to, in its order.
fn all_blobs(pte: &Pte<'_>) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for method in pte.methods() {
        for (_, tensor) in method.tensors() {
            if let TensorData::Constant(data) | TensorData::InitialState(data) = pte.tensor_data(tensor).unwrap() {
                all.push(pte.bytes(&data).unwrap().to_vec());
            }
        }
        for delegate in method.delegates.iter().flatten() {
            all.push(pte.bytes(&pte.delegate_data(delegate).unwrap()).unwrap().to_vec());
        }
    }
    for named in pte.named_data() {
        all.push(pte.bytes(&pte.named_data_ref(named).unwrap()).unwrap().to_vec());
    }
    all
}

#[test]
fn a_program_refers_to_the_same_bytes_after_a_relayout() {
    let programs = programs();
    let both = [Some(DataLocation::INLINE), Some(DataLocation::SEGMENT), None];
    for_each(&programs, |fixture| {
        let pte = Pte::parse(fixture.bytes()).unwrap();
        let Ok(()) = pte.image().map(drop) else { return Ok(()) };
        let Ok(before) = std::panic::catch_unwind(|| all_blobs(&pte)) else { return Ok(()) };
        for delegates in both {
            for (constant_alignment, segment_alignment) in [(None, 1), (Some(64), 4096), (Some(16), 128)] {
                let options = PteOptions::default()
                    .with_constant_alignment(constant_alignment)
                    .with_segment_alignment(segment_alignment)
                    .with_delegates(delegates);
                let file = pte.clone().lay_out(&options).and_then(|pte| pte.image()?.to_vec());
                let file = file.map_err(|error| format!("  {options:?}: {error}"))?;
                let after = Pte::parse(&file).map_err(|error| format!("  {options:?}: {error}"))?;
                equal("bytes", all_blobs(&after) == before, true)
                    .map_err(|found| format!("{found} with {options:?}"))?;
                for (index, segment) in after.program.segments.iter().flatten().enumerate() {
                    let start = after.segment_base_offset() + segment.offset;
                    equal("misaligned by", start % u64::from(segment_alignment), 0)
                        .map_err(|found| format!("{found}: segment {index} with {options:?}"))?;
                }
            }
        }
        Ok(())
    });
}

#[test]
fn a_smaller_segment_alignment_makes_a_file_smaller() {
    let file = fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let wide = PteOptions::default().with_segment_alignment(4096);
    let old = fixture("0.2.1/mutable/mutable.pte");
    let old = Pte::parse(old.bytes()).unwrap();
    let compact = old.lay_out(&PteOptions::default()).unwrap();
    assert_eq!(compact.header.unwrap().segment_base_offset % 128, 0);
    assert!(compact.image().unwrap().size() < 4096, "{} bytes", compact.image().unwrap().size());
    let wide = pte.lay_out(&wide).unwrap();
    // The segment of the first payload. Segments of named blobs keep their alignment.
    assert_eq!(wide.lay_out(&PteOptions::default()).unwrap().program.segments.unwrap()[1].offset, 0);
}

#[test]
fn delegate_payloads_move_into_the_flatbuffer_and_back() {
    let file = fixture("1.5.1/blob_segments/blob_segments.pte");
    let inline = PteOptions::default().with_delegates(Some(DataLocation::INLINE));
    let segments = PteOptions::default().with_delegates(Some(DataLocation::SEGMENT));
    let pte = Pte::parse(file.bytes()).unwrap().lay_out(&inline).unwrap();
    assert!(pte.header.is_none(), "no data is left for segments: {:?}", pte.program.segments);
    let back = pte.lay_out(&segments).unwrap();
    let before = Pte::parse(file.bytes()).unwrap();
    assert_eq!(back.program.segments, before.program.segments);
    assert_eq!(all_blobs(&back), all_blobs(&before));
}

fn float4<'a>() -> Tensor<'a> {
    Tensor::new(ScalarType::FLOAT, vec![4])
}

#[test]
fn collected_data_is_deduplicated_and_read_back() {
    let mut data = DataCollector::new();
    let (ones, twos) = ([1u8; 16], [2u8; 16]);
    let first = data.constant(&ones[..]);
    let second = data.constant(&twos[..]);
    assert_eq!(data.constant(ones.to_vec()), first, "equal bytes share one constant");
    let state = data.initial_state(&ones[..]);
    data.named("a", &twos[..], 12).unwrap();
    data.named("b", twos.to_vec(), 16).unwrap();
    data.named("empty", &[][..], 1).unwrap();
    let values = vec![
        float4().with_data(first).into(),
        float4().with_data(second).into(),
        float4().with_planned(1, 0).with_data(state).into(),
    ];
    let plan = ExecutionPlan::new("forward", values, Vec::new(), Vec::new(), 16);
    let program = Program { execution_plan: Some(vec![plan]), ..Program::default() };
    let pte = data.finish(program, &PteOptions::default()).unwrap();
    let file = pte.image().unwrap().to_vec().unwrap();

    let read = Pte::parse(&file).unwrap();
    let method = read.method("forward").unwrap();
    let bytes = |value| read.tensor_view(method.tensor(value).unwrap()).unwrap().unwrap().bytes();
    assert_eq!((bytes(0), bytes(1), bytes(2)), (&ones[..], &twos[..], &ones[..]));
    assert_eq!(read.named_data_bytes("b").unwrap(), twos);
    assert!(read.named_data_bytes("empty").unwrap().is_empty());
    let segments: Vec<u32> = read.named_data().iter().map(|named| named.segment_index).collect();
    assert_eq!(segments, [2, 2, 3], "equal bytes share a segment, after the constants and initial states");
    let DataSegment { offset, .. } = read.program.segments.as_ref().unwrap()[2];
    assert_eq!(offset, 384, "aligned to the least common multiple of 128, 12 and 16");
}

#[test]
fn blobs_that_differ_in_one_byte_are_not_shared() {
    const SIZE: usize = 5000;
    let mut data = DataCollector::new();
    let differing = |at: usize| (0..SIZE).map(|index| u8::from(index == at)).collect::<Vec<u8>>();
    let positions: Vec<usize> = (0..SIZE).step_by(37).chain([SIZE - 1]).collect();
    let indices: Vec<u32> = positions.iter().map(|at| data.constant(differing(*at))).collect();
    let expected: Vec<u32> = (1..=positions.len() as u32).collect();
    assert_eq!(indices, expected);
    assert_eq!(data.constant(differing(positions[70])), indices[70]);
    // Shorter than the hashed sample.
    assert_ne!(data.constant(vec![1]), data.constant(vec![2]));
    assert_ne!(data.constant(vec![]), data.constant(vec![0]));
}

#[test]
fn a_new_ptd_is_the_same_as_the_exporters() {
    // The fixture's keys, in its order.
    for name in ["1.5.1/ptd_shared/ptd_shared.ptd", "1.5.1/ptd_names/ptd_names.ptd", "1.5.1/ptd_dtypes/ptd_dtypes.ptd"]
    {
        let file = fixture(name);
        let ptd = Ptd::parse(file.bytes()).unwrap();
        let entries = ptd.entries().map(|entry| {
            let (key, bytes) = (entry.key.unwrap(), ptd.entry_bytes(&entry).unwrap());
            match ptd.tensor_view(&entry).unwrap() {
                Some(view) => NewEntry::view(key, &view),
                None => NewEntry::blob(key, bytes),
            }
        });
        let built = Ptd::build(entries, &PtdOptions::default()).unwrap();
        assert!(built.image().unwrap().to_vec().unwrap() == file.bytes(), "{name}");
    }
}

#[test]
fn invalid_trees_are_refused_with_a_reason() {
    let refused = |error: executorch_format::Error, words: &str| {
        assert!(matches!(error.kind(), ErrorKind::Unwritable(_) | ErrorKind::Reference(_)), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    let entry = |key: &'static str| NewEntry::blob(key, &b"bytes"[..]);
    let options = PtdOptions::default();
    refused(Ptd::build([entry("a"), entry("a")], &options).unwrap_err(), "\"a\" occurs twice");
    refused(Ptd::build([entry("a").with_alignment(0)], &options).unwrap_err(), "alignment of 0");
    let invalid = options.with_segment_alignment(48);
    refused(Ptd::build([entry("a")], &invalid).unwrap_err(), "segment_alignment is 48, expected a power of two");

    let mut data = DataCollector::new();
    data.named("a", &b"1"[..], 1).unwrap();
    data.named("a", &b"2"[..], 1).unwrap();
    refused(data.finish(Program::default(), &PteOptions::default()).unwrap_err(), "\"a\" occurs twice");
    let invalid = PteOptions::default().with_constant_alignment(Some(3));
    refused(DataCollector::new().finish(Program::default(), &invalid).unwrap_err(), "constant_alignment is 3");

    let file = fixture("1.5.1/named_data/named_data.pte");
    let mut pte = Pte::parse(file.bytes()).unwrap();
    pte.program.named_data.as_mut().unwrap()[1].segment_index = 99;
    let error = pte.image().err().unwrap();
    assert_eq!(error.path(), "named_data[1]");
    refused(error, "segment 99");

    let mut pte = Pte::parse(file.bytes()).unwrap();
    pte.source.as_mut().unwrap().newer_tables = 1;
    pte.image().unwrap();
    pte.program.version = 1;
    refused(pte.image().err().unwrap(), "newer schema");
    pte.forget_source().unwrap().image().unwrap();

    let mut pte = Pte::parse(file.bytes()).unwrap();
    pte.program.execution_plan.as_mut().unwrap()[0].name = Some("x".repeat(100_000).into());
    refused(pte.image().err().unwrap(), "recompute the layout");
    pte.lay_out(&PteOptions::default()).unwrap().image().unwrap();

    let mut pte = Pte::parse(file.bytes()).unwrap();
    pte.segments[0] = Segment::Parts(vec![(0, vec![0; 1 << 20].into())]);
    refused(pte.image().err().unwrap(), "of segment 0");
}

#[test]
fn writing_fails_if_segments_were_not_given() {
    let file = fixture("1.5.1/linear/linear.pte");
    let pte = Pte::parse_with(file.bytes(), &executorch_format::ParseOptions::METADATA).unwrap();
    assert_eq!(pte.image().err().unwrap().kind(), &ErrorKind::Absent(0));
}

#[test]
fn segments_that_share_bytes_are_written_once() {
    let bytes: Vec<u8> = (0..120).collect();
    let segment = |from: usize, to: usize| {
        (DataSegment { offset: from as u64, size: (to - from) as u64 }, Segment::Whole(bytes[from..to].to_vec().into()))
    };
    let (table, segments): (Vec<_>, Vec<_>) = [segment(0, 100), segment(10, 120), segment(20, 30)].into_iter().unzip();
    let program = Program { segments: Some(table), ..Program::default() };
    let header = executorch_format::PteHeader { length: 32, segment_base_offset: 4096, ..Default::default() };
    let mut pte = Pte { program, segments, header: Some(header), ..Pte::default() };
    let file = pte.image().unwrap().to_vec().unwrap();
    assert_eq!(file[4096..], bytes);

    pte.segments[2] = Segment::Whole(vec![0xff; 10].into());
    assert!(pte.image().err().unwrap().to_string().contains("different bytes at byte 4116"));
}

#[test]
fn reads_of_a_segment_must_be_inside_one_part() {
    let segment = Segment::Parts(vec![(0, b"first".as_slice().into()), (16, b"second".as_slice().into())]);
    assert_eq!(segment.get(16, 6).unwrap(), b"second");
    assert_eq!(segment.get(1, 3).unwrap(), b"irs");
    assert_eq!(segment.get(3, 14), None, "not in one part");
    assert_eq!(DataRef::Segment { index: 0, offset: 16, size: 6 }.size(), 6);
}

/// C++ `save_ptd` pads its FlatBuffer, and a file may end with this padding.
#[test]
fn padding_after_the_flatbuffer_is_written() {
    let file = fixture("1.5.1/ptd_empty/ptd_empty.ptd");
    let mut ptd = Ptd::parse(file.bytes()).unwrap();
    let header = ptd.header.as_mut().unwrap();
    header.flatbuffer_size += 64;
    header.segment_base_offset = 0;
    let written = ptd.image().unwrap().to_vec().unwrap();
    let again = Ptd::parse(&written).unwrap();
    assert_eq!(again.header.unwrap().flatbuffer_size, ptd.header.unwrap().flatbuffer_size);
    assert_eq!(written.len() as u64, 48 + ptd.header.unwrap().flatbuffer_size);
}

#[test]
fn an_empty_segment_at_the_end_is_inside_the_file() {
    for header_length in [24, 32] {
        let mut data = DataCollector::new();
        data.named("full", &b"bytes"[..], 1).unwrap();
        data.named("none", &b""[..], 4096).unwrap();
        let options = PteOptions::default().with_header_length(header_length);
        let file = data.finish(Program::default(), &options).unwrap().image().unwrap().to_vec().unwrap();
        let pte = Pte::parse(&file).unwrap();
        let end = pte.program.segments().iter().map(|segment| segment.offset + segment.size).max().unwrap();
        assert!(pte.segment_base_offset() + end <= file.len() as u64, "{header_length}");
    }
}

/// A header of 24 bytes does not state the size of the segments.
#[test]
fn a_file_includes_an_empty_constant_at_its_end() {
    for header_length in [24, 32] {
        let mut data = DataCollector::new();
        data.constant(vec![1; 100]);
        data.constant(vec![]);
        let options = PteOptions::default().with_header_length(header_length);
        let file = data.finish(Program::default(), &options).unwrap().image().unwrap().to_vec().unwrap();
        let pte = Pte::parse(&file).unwrap();
        assert_eq!(pte.program.segments()[0].size, 112);
        assert_ne!(pte.segments[0], Segment::Absent);
    }
}

/// Overlapping segments keep their places; laid out separately, they could take thousands of times the size of the file.
#[test]
fn overlapping_segments_are_not_laid_out_separately() {
    let scale = executorch_format_support::sharing::Scale { length: 3000, count: 50 };
    let files = executorch_format_support::sharing::files(scale);
    let file = files.iter().find(|file| file.kind == "nodes").unwrap();
    let pte = Pte::parse(&file.bytes).unwrap();
    assert_eq!(pte.image().unwrap().to_vec().unwrap(), file.bytes);
    let error = pte.lay_out(&PteOptions::default()).unwrap_err().to_string();
    assert!(error.contains("the segments overlap: separately they would take"), "{error}");
    let error = Model::parse(&file.bytes).unwrap().extraction().unwrap_err().to_string();
    assert!(error.contains("the blobs overlap: separately they would take"), "{error}");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    #[test]
    fn vectors_of_valid_programs_in_pythons_style_are_aligned(
        pte in executorch_format::testing::strategies::valid_programs_in(WriteStyle::PYTHON, 0..800)
    ) {
        let file = pte.image().unwrap().to_vec().unwrap();
        let read = Pte::parse(&file).unwrap();
        let style = pte.style.unwrap_or_default();
        proptest::prop_assert!(style.align_empty && style.field_order == WriteStyle::PYTHON.field_order);
        let findings = read.verify(executorch_format::verify::Level::Strict);
        proptest::prop_assert!(findings.iter().all(|finding| finding.rule != "vector-alignment"), "{findings:?}");
    }
}

#[test]
fn an_unreferenced_segment_stays_when_payloads_move_into_the_flatbuffer() {
    let file = fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let mut pte = Pte::parse(file.bytes()).unwrap();
    let before = pte.program.segments().len();
    pte.program.segments.get_or_insert_default().push(DataSegment { size: 4, ..DataSegment::default() });
    pte.segments.push(Segment::Whole(vec![1, 2, 3, 4].into()));
    let options = PteOptions::default().with_delegates(Some(DataLocation::INLINE));
    let inline = pte.lay_out(&options).unwrap();
    assert!(!inline.program.backend_delegate_data().is_empty());
    let last = inline.segments.last().unwrap();
    assert_eq!(last.get(0, 4), Some(&[1, 2, 3, 4][..]));
    assert_eq!(inline.program.segments().len(), before);
}

/// The runtime looks up a payload from the start of the segments, even if it is empty.
#[test]
fn an_empty_payload_in_a_segment_keeps_the_header() {
    let file = fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let mut pte = Pte::parse(file.bytes()).unwrap();
    pte.program.segments.iter_mut().flatten().for_each(|segment| segment.size = 0);
    pte.segments.fill(Segment::Whole((&[]).into()));
    for length in [PteOptions::default().header_length, 24] {
        let laid_out = pte.clone().lay_out(&PteOptions::default().with_header_length(length)).unwrap();
        let written = laid_out.image().unwrap().to_vec().unwrap();
        let findings = Pte::parse(&written).unwrap().verify(executorch_format::verify::Level::Runtime);
        let rules: Vec<_> = findings.iter().map(|finding| finding.rule).collect();
        assert!(!rules.contains(&"segment-base"), "{length}: {findings:?}");
        assert!(rules.iter().all(|rule| rule.starts_with("xnnpack")), "{length}: {findings:?}");
    }
}

#[test]
fn a_file_of_more_than_the_usual_size_is_found_by_the_bytes_that_were_read() {
    use executorch_format::Image;
    assert_eq!(
        (Image::max_size(0), Image::max_size(10), Image::max_size(u64::MAX)),
        (64 << 20, (64 << 20) + 320, u64::MAX)
    );
}
