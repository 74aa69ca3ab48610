//! Tables that have parsers and writers of their own.

use super::*;
use crate::flatbuffer::field::{AlignmentClass, InBox};
use crate::flatbuffer::macros::hot::{table, union};
use alloc::borrow::Cow;

// The same tests, for both kinds of tables.
#[allow(clippy::duplicate_mod)]
#[path = "tables.rs"]
pub mod tables;

pub fn read<'a, T: Compiled<'a>>(bytes: &'a [u8]) -> Result<T> {
    read::decode(TableParser::<T>::default(), bytes, &Limits::default()).map(|(tree, _)| tree)
}

pub fn check<'a, T: Compiled<'a>>(bytes: &'a [u8]) -> Result<()> {
    read::check(TableParser::<T>::default(), bytes, &Limits::default())
}

table! {
    /// Alignments of each kind.
    pub struct Aligned<'a> {
        pub chosen: Option<Cow<'a, [u8]>> as AlignmentClass<1, 16>,
        pub boxed: Option<Box<tables::Pair>> as InBox,
    }
}

#[test]
fn vectors_are_aligned_as_the_style_says() {
    let tree = Aligned { chosen: Some(b"chosen".into()), boxed: Some(Box::new(tables::Pair { one: 1, two: 0 })) };
    let bytes = written(&tree, style());
    assert_eq!(bytes.windows(6).position(|window| window == b"chosen").unwrap() % 64, 0);
    assert_eq!(read::<Aligned>(&bytes).unwrap(), tree);
}
