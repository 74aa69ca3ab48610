//! Tables that are read and written by their descriptions.

use super::*;
use crate::flatbuffer::field::{ForceAlign, Present};
use crate::flatbuffer::macros::cold::{table, union};
use alloc::borrow::Cow;

// The same tests, for both kinds of tables.
#[allow(clippy::duplicate_mod)]
#[path = "tables.rs"]
pub mod tables;

pub fn read<'a, T: Target<'a> + Record<'a> + Default>(bytes: &'a [u8]) -> Result<T> {
    read::read(bytes, &Limits::default()).map(|(tree, _)| tree)
}

pub fn check<'a, T: Record<'a>>(bytes: &'a [u8]) -> Result<()> {
    read::check_described(T::DESCRIPTION, bytes, &Limits::default())
}

table! {
    /// Numbers whose default is not 0.
    pub struct Defaults {
        pub signed: i16 = -1,
        pub unsigned: u32 = 7,
        pub wide: i64 = -9000000000,
        pub zero: i32,
        pub old: Option<u8> as Present,
    }
}

table! {
    /// The schema's alignment.
    pub struct Forced<'a> {
        pub forced: Option<Cow<'a, [u8]>> as ForceAlign<32>,
    }
}

#[test]
fn an_absent_field_reads_as_its_default_and_a_default_is_written_as_absent() {
    let defaults = Defaults::default();
    assert_eq!((defaults.signed, defaults.unsigned, defaults.wide, defaults.zero), (-1, 7, -9_000_000_000, 0));
    assert_eq!(defaults.old, None);
    let short = written(&defaults, style());
    assert_eq!(read::<Defaults>(&short).unwrap(), defaults);
    // Where the default is not 0, a 0 is stored, and one that was there stays.
    let zeros = Defaults { signed: 0, unsigned: 0, wide: 0, zero: 0, old: Some(0) };
    let long = written(&zeros, style());
    assert!(long.len() > short.len());
    assert_eq!(read::<Defaults>(&long).unwrap(), zeros);
}

#[test]
fn vectors_are_aligned_as_the_schema_says() {
    let tree = Forced { forced: Some(b"forced".into()) };
    let bytes = written(&tree, style());
    assert_eq!(bytes.windows(6).position(|window| window == b"forced").unwrap() % 32, 0);
    assert_eq!(read::<Forced>(&bytes).unwrap(), tree);
}
