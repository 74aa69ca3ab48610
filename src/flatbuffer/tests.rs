//! Tests of the wire format alone, with a schema that combines features which no real schema has together.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, dead_code)]

use super::field::{AlignmentClass, ForceAlign, InBox};
use super::macros::{named, table, union};
use super::read::{self, Code, Limits, TableParser};
use super::text::Text;
use super::write::{Builder, Encode, Style};
use crate::error::Result;
use crate::schema::any::{AnyTable, Value};
use alloc::{borrow::Cow, boxed::Box, string::ToString, vec, vec::Vec};

const CODE: Code = Code::OneFunction;

named! {
    /// A 16-bit enumeration.
    pub struct Wide(i16) {
        LOW = -32768,
        NONE = 0,
        HIGH = 32767,
    }
}

table! {
    /// Every width.
    pub struct Widths<'a> {
        pub bool: bool,
        pub i8: i8,
        pub u8: u8,
        pub i16: i16,
        pub u16: u16,
        pub i32: i32,
        pub u32: u32,
        pub i64: i64,
        pub u64: u64,
        pub f32: f32,
        pub f64: f64,
        pub wide: Wide,
        pub shorts: Option<Cow<'a, [i16]>>,
        pub floats: Option<Cow<'a, [f32]>>,
    }
}

table! {
    /// Numbers whose default is not 0.
    pub struct Defaults {
        pub signed: i16 = -1,
        pub unsigned: u32 = 7,
        pub wide: i64 = -9000000000,
        pub zero: i32,
    }
}

table! {
    /// The most fields that a table may have.
    #[derive(Copy)]
    pub struct Most {
        pub f0: u8, pub f1: u8, pub f2: u8, pub f3: u8, pub f4: u8, pub f5: u8, pub f6: u8, pub f7: u8,
        pub f8: u16, pub f9: u16, pub f10: u16, pub f11: u16, pub f12: u16, pub f13: u16, pub f14: u16, pub f15: u16,
        pub f16: u32, pub f17: u32, pub f18: u32, pub f19: u32, pub f20: u32, pub f21: u32, pub f22: u32, pub f23: u32,
        pub f24: u64, pub f25: u64, pub f26: u64, pub f27: u64, pub f28: u64, pub f29: u64, pub f30: u64, pub f31: u64,
    }
}

table! {
    /// Alignments of each kind.
    pub struct Aligned<'a> {
        pub forced: Option<Cow<'a, [u8]>> as ForceAlign<32>,
        pub chosen: Option<Cow<'a, [u8]>> as AlignmentClass<1, 16>,
        pub boxed: Option<Box<Defaults>> as InBox,
    }
}

union! {
    /// Two members share a table, so there is no `From`.
    pub enum Shared<'a> {
        Widths(Widths<'a>) = 1,
        Defaults(Defaults) = 2,
        MoreDefaults(Defaults) = 3,
    }
}

table! {
    /// A union.
    pub struct Leaf<'a> {
        pub leaf: Shared<'a>,
    }
}

table! {
    /// A list of unions.
    pub struct Node<'a> {
        pub name: Option<Text<'a>>,
        pub node: Shared<'a>,
        pub children: Option<Vec<Leaf<'a>>>,
    }
}

fn written(tree: &impl Encode, style: Style) -> Vec<u8> {
    let mut builder = Builder::new(style, 0);
    let root = tree.encode(&mut builder).unwrap();
    let finished = builder.finish(root).unwrap();
    let mut bytes = finished.head(b"TEST", 0).unwrap();
    finished.parts().for_each(|part| bytes.extend_from_slice(part));
    bytes
}

fn style() -> Style {
    Style { alignments: [16, 64], ..Style::default() }
}

/// Reads what was written.
macro_rules! read {
    ($type:ty, $bytes:expr) => {{
        let result: Result<($type, u32)> = read::decode(TableParser::<$type>::default(), $bytes, &Limits::default());
        result.map(|(tree, _)| tree)
    }};
}

#[test]
fn numbers_of_every_width_round_trip_at_their_limits() {
    let most = Widths {
        bool: true,
        i8: i8::MIN,
        u8: u8::MAX,
        i16: i16::MIN,
        u16: u16::MAX,
        i32: i32::MIN,
        u32: u32::MAX,
        i64: i64::MIN,
        u64: u64::MAX,
        f32: f32::MIN_POSITIVE,
        f64: -0.0,
        wide: Wide::LOW,
        shorts: Some(vec![i16::MIN, -1, 0, 1, i16::MAX].into()),
        floats: Some(vec![f32::NEG_INFINITY, 1.5].into()),
    };
    for (tree, zeros) in [(most, 0), (Widths::default(), 12)] {
        let bytes = written(&tree, style());
        let read = read!(Widths, &bytes).unwrap();
        assert_eq!(read, tree);
        assert_eq!(read.f64.to_bits(), tree.f64.to_bits(), "−0.0 is not the default");
        let absent = |word: &[u8]| word == [0, 0];
        let root = u32::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
        let vtable = root - u32::from_le_bytes(*bytes[root..].first_chunk().unwrap()) as usize;
        let size = usize::from(bytes[vtable]);
        // Zeros are not stored.
        assert!(zeros == 0 || size == 4, "{zeros} zeros, and a vtable of {size} bytes");
        assert!(zeros > 0 || bytes[vtable + 4..vtable + size].chunks(2).all(|word| !absent(word)));
    }
}

#[test]
fn an_absent_field_reads_as_its_default_and_a_default_is_written_as_absent() {
    let defaults = Defaults::default();
    assert_eq!((defaults.signed, defaults.unsigned, defaults.wide, defaults.zero), (-1, 7, -9_000_000_000, 0));
    let short = written(&defaults, style());
    assert_eq!(read!(Defaults, &short).unwrap(), defaults);
    // Where the default is not 0, a 0 is stored.
    let zeros = Defaults { signed: 0, unsigned: 0, wide: 0, zero: 0 };
    let long = written(&zeros, style());
    assert!(long.len() > short.len());
    assert_eq!(read!(Defaults, &long).unwrap(), zeros);
}

#[test]
fn a_table_of_32_fields_round_trips() {
    let mut most = Most::default();
    let fields = most.description().fields.len();
    for index in 0..fields {
        assert!(most.field_mut(index).unwrap().change(crate::schema::any::Change::Bits(index as u64 + 1)));
    }
    assert_eq!(fields, 32);
    assert_eq!((most.f0, most.f31), (1, 32));
    assert_eq!(read!(Most, &written(&most, style())).unwrap(), most);
}

#[test]
fn vectors_are_aligned_as_the_schema_or_the_style_says() {
    let tree = Aligned {
        forced: Some(b"forced".into()),
        chosen: Some(b"chosen".into()),
        boxed: Some(Box::new(Defaults { zero: 1, ..Defaults::default() })),
    };
    let bytes = written(&tree, style());
    let position = |text: &[u8]| bytes.windows(text.len()).position(|window| window == text).unwrap();
    assert_eq!((position(b"forced") % 32, position(b"chosen") % 64), (0, 0));
    assert_eq!(read!(Aligned, &bytes).unwrap(), tree);
}

#[test]
fn union_members_that_share_a_table_are_distinguished_by_their_tags() {
    let leaf = |leaf| Leaf { leaf };
    let tree = Node {
        name: Some("root".into()),
        node: Shared::None,
        children: Some(vec![
            leaf(Shared::Defaults(Defaults { zero: 5, ..Defaults::default() })),
            leaf(Shared::MoreDefaults(Defaults { zero: 5, ..Defaults::default() })),
            leaf(Shared::Widths(Widths { u8: 9, ..Widths::default() })),
        ]),
    };
    let bytes = written(&tree, style());
    let read = read!(Node, &bytes).unwrap();
    assert_eq!(read, tree);
    let names: Vec<_> = read.children().iter().map(|child| child.leaf.name().unwrap().to_string()).collect();
    assert_eq!(names, ["Defaults", "MoreDefaults", "Widths"]);
}

#[test]
fn an_error_inside_an_embedded_flatbuffer_gets_its_offset_and_path_in_the_outer_file() {
    let tree = Node { name: Some("inner".into()), ..Node::default() };
    let mut bytes = written(&tree, style());
    let last = bytes.iter().rposition(|byte| *byte == b'r').unwrap();
    bytes[last + 1] = b'x';
    let error = read!(Node, &bytes).unwrap_err().inside(1000).in_item(3).in_field("payloads");
    assert_eq!(error.path(), "payloads[3].name");
    assert_eq!(error.offset(), Some(1000 + last as u64 + 1));
}

#[test]
fn a_description_lists_the_fields_of_its_struct() {
    let node = Node::default();
    let names: Vec<_> = node.description().fields.iter().map(|field| field.name).collect();
    assert_eq!(names, ["name", "node", "children"]);
    let ids: Vec<_> = node.description().fields_by_id().map(|(id, _)| id).collect();
    assert_eq!(ids, [0, 1, 3], "a union takes two ids");
    let mut seen = Vec::new();
    node.for_each_field(&mut |name, value| seen.push((name, matches!(value, Value::Absent))));
    assert_eq!(seen, [("name", true), ("node", false), ("children", true)]);
}
