//! The standard traits implemented by public types.

use executorch_format::inspect::{Blob, BlobKind, Summary};
use executorch_format::schema::ScalarType;
use executorch_format::verify::{Finding, Level, Rule, Severity};
use executorch_format::{
    DataCollector, DataRef, Entry, Error, ErrorKind, FieldOrder, FieldPath, FileKind, Header, Image, KeyIndex, Limits,
    Model, NewEntry, ParseOptions, Probe, Ptd, PtdOptions, Pte, PteOptions, Source, Step, TensorData, TensorShape,
    TensorView, Text, VtableSharing, WriteStyle,
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

#[cfg(feature = "testing")]
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

#[cfg(feature = "testing")]
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
