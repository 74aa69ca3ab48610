//! The standard traits implemented by public types.

use executorch_format::inspect::{Blob, BlobKind, Summary};
use executorch_format::schema::ScalarType;
use executorch_format::verify::{Finding, Level, Rule, Severity};
use executorch_format::{
    DataCollector, DataRef, Entry, Error, ErrorKind, FieldOrder, FieldPath, FileKind, Header, Image, KeyIndex, Limits,
    Model, NewEntry, ParseOptions, Probe, Ptd, PtdOptions, Pte, PteOptions, Segment, Source, Step, TensorData,
    TensorShape, TensorView, Text, VtableSharing, WriteStyle,
};
use std::error::Error as StdError;
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::str::FromStr;

macro_rules! each {
    ($check:ident: $($type:ty),+ $(,)?) => { $($check::<$type>();)+ };
}

#[test]
fn public_types_are_send_sync_and_debug() {
    fn check<T: Send + Sync + Debug>() {}
    each!(check: Pte, Ptd, Model, Image, Source, Entry, TensorData, TensorShape, TensorView, Text, DataRef, KeyIndex);
    each!(check: Error, ErrorKind, FieldPath, Step, FileKind, Header, Probe, Limits, ParseOptions, PteOptions, PtdOptions);
    each!(check: WriteStyle, FieldOrder, VtableSharing, DataCollector, NewEntry, Blob, BlobKind, Summary);
    each!(check: Finding, Level, Rule, Severity, ScalarType);
}

#[test]
fn keys_are_ord_and_hash_and_printed_types_are_display() {
    fn key<T: Ord + Hash>() {}
    each!(key: DataRef, FileKind, Level, Severity, ScalarType, BlobKind);
    fn printed<T: Display>() {}
    each!(printed: FileKind, Level, Severity, ScalarType, BlobKind, FieldPath, TensorShape, Text, Finding, Error);
    fn read<T: FromStr>() {}
    each!(read: ScalarType);
    fn error<T: StdError>() {}
    each!(error: Error, ErrorKind);
}

#[test]
fn generated_valid_programs_are_not_empty() {
    use executorch_format::testing::{Choices, valid_program};
    let made: Vec<Pte<'_>> = (0..8u8)
        .map(|seed| {
            let bytes: Vec<u8> = (0..200u8).map(|at| at.wrapping_mul(2 * seed + 1)).collect();
            valid_program(&mut Choices::new(&bytes)).unwrap()
        })
        .collect();
    assert!(made.iter().all(|pte| !pte.methods().is_empty()));
    assert!(made.iter().any(|pte| pte.methods().iter().any(|plan| plan.instructions().count() > 0)));
}

#[test]
fn choices_and_damages_match_their_descriptions() {
    use executorch_format::testing::{Choices, WORD_DAMAGES, damage_word};
    assert_eq!([0, 1, 2, 3].map(|choice| Choices::new(&[choice]).one_of(10, &[20, 30])), [10, 20, 30, 10]);
    let file: Vec<u8> = (0..24).collect();
    let before = u32::from_le_bytes([8, 9, 10, 11]);
    let all = (0..WORD_DAMAGES).map(|way| damage_word(&file, 8, way).unwrap());
    let words = all.map(|file| u32::from_le_bytes(file[8..12].try_into().unwrap()));
    let edges = [0, 1, 2, 4, 0x7fff_ffff, 0x8000_0000, u32::MAX, u32::MAX - 3];
    let beside = [before + 1, before - 1, before + 4, before - 4];
    let ends = [24, 16, 12, before.swap_bytes()];
    assert_eq!(words.collect::<Vec<_>>(), [&edges[..], &beside, &ends].concat());
}

#[test]
fn a_few_choices_make_any_tree_and_valid_files() {
    use executorch_format::testing::strategies::valid_flat_tensors;
    use executorch_format::testing::{Choices, any_flat_tensor, any_program, any_style, valid_pair, valid_tensors};
    use proptest::strategy::{Strategy, ValueTree};
    use proptest::test_runner::TestRunner;
    let bytes: Vec<u8> = (0..400u32).map(|index| (index * 37 % 251) as u8).collect();
    let choices = || Choices::new(&bytes);
    let style = any_style(&mut choices());
    assert!(style.constant_alignment.is_power_of_two() && style.delegate_alignment.is_power_of_two());
    let program = any_program(&mut choices());
    let segments = program.segments().iter().map(|_| Segment::Absent).collect();
    let pte = Pte { program, segments, ..Pte::default() };
    assert_eq!(Pte::parse(&pte.image_as_is().unwrap().to_vec().unwrap()).unwrap().program, pte.program);
    let flat_tensor = any_flat_tensor(&mut choices());
    let segments = flat_tensor.segments().iter().map(|_| Segment::Absent).collect();
    let ptd = Ptd { flat_tensor, segments, ..Ptd::default() };
    assert_eq!(Ptd::parse(&ptd.image_as_is().unwrap().to_vec().unwrap()).unwrap().flat_tensor, ptd.flat_tensor);
    let (program, data) = valid_pair(&mut choices()).unwrap();
    let drawn = valid_flat_tensors(100).new_tree(&mut TestRunner::deterministic()).unwrap().current();
    for ptd in [valid_tensors(&mut choices()).unwrap(), data, drawn] {
        let findings = ptd.verify(Level::Strict);
        assert!(findings.iter().all(|finding| finding.severity != Severity::Error), "{findings:?}");
    }
    let findings = program.verify(Level::Strict);
    assert!(findings.iter().all(|finding| finding.severity != Severity::Error), "{findings:?}");
}

#[test]
fn methods_of_options_set_their_fields() {
    use executorch_format::schema::program::{BackendDelegate, BackendDelegateDataReference, CompileSpec};
    let options = ParseOptions::default().with_metadata_only().with_file_size(Some(9));
    assert_eq!((options.metadata_only, options.file_size), (true, Some(9)));
    assert!(executorch_format::inspect::DiffLimits::default().with_any(true).any);
    let specs = vec![CompileSpec::new("key", b"value")];
    let delegate = BackendDelegate::new("a", BackendDelegateDataReference::default()).with_compile_specs(specs.clone());
    assert_eq!(delegate.compile_specs, Some(specs));
}
