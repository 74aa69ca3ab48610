//! The standard traits that the public types implement.

use executorch_format::inspect::{Blob, BlobKind, Summary};
use executorch_format::schema::ScalarType;
use executorch_format::validate::{Finding, Level, Rule, Severity};
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
