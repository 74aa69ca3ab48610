//! Tests of the wire format alone, with a schema that combines features which no real schema has together.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, dead_code)]

#[cfg(feature = "verify")]
use super::any;
use super::any::{AnyTable, FieldChange, Value, same};
use super::field::{AlignmentClass, ForceAlign, InBox, Present};
use super::macros::{named, table, union};
use super::read::{self, Limits, Record, TableParser};
use super::text::Text;
use super::unknown::{Unknown, UnknownValue};
use super::write::{Builder, Encode, Style};
use crate::error::Result;
use alloc::{borrow::Cow, boxed::Box, string::ToString, vec, vec::Vec};

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

fn read<'a, T: Record<'a>>(bytes: &'a [u8]) -> Result<T> {
    read::read_at(0, bytes, &Limits::default()).map(|(tree, _)| tree)
}

fn check<'a, T: Record<'a>>(bytes: &'a [u8]) -> Result<()> {
    read::check_at(0, TableParser::<T>::default(), bytes, &Limits::default())
}

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
    /// Two numbers.
    pub struct Pair {
        pub one: i16,
        pub two: i64,
    }
}

union! {
    /// Two members share a table, so there is no `From`.
    pub enum Shared<'a> {
        Widths(Widths<'a>) = 1,
        Pair(Pair) = 2,
        MorePairs(Pair) = 3,
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

/// Returns a tree with every kind of field.
fn node() -> Node<'static> {
    let widths = Widths {
        i64: -2,
        shorts: Some(vec![1, 2, 3].into()),
        floats: Some(vec![0.5].into()),
        wide: Wide::HIGH,
        ..Widths::default()
    };
    let leaf = |leaf| Leaf { leaf };
    Node {
        name: Some("root".into()),
        node: Shared::Widths(widths),
        children: Some(vec![
            leaf(Shared::Pair(Pair { one: 1, two: 0 })),
            leaf(Shared::MorePairs(Pair { one: 0, two: 1 << 40 })),
            leaf(Shared::None),
            leaf(Shared::Unknown(Unknown { tag: 9, value: UnknownValue::Empty })),
            leaf(Shared::Unknown(Unknown { tag: 1, value: UnknownValue::Absent })),
            leaf(Shared::Unknown(Unknown { tag: 0, value: UnknownValue::Empty })),
        ]),
    }
}

#[test]
fn every_kind_of_field_round_trips() {
    let bytes = written(&node(), style());
    assert_eq!(read::<Node>(&bytes).unwrap(), node());
    check::<Node>(&bytes).unwrap();
}

/// As the standard library's `derive` has it.
#[test]
fn debug_shows_types_fields_and_members() {
    let shown = alloc::format!("{:?}", node());
    let start = "Node { name: Some(\"root\"), node: Widths(Widths { bool: false, i8: 0, ";
    assert!(shown.starts_with(start), "{shown}");
    let middle = "i64: -2, u64: 0, f32: 0.0, f64: 0.0, wide: HIGH, shorts: Some([1, 2, 3]), floats: Some([0.5]) }), ";
    assert!(shown.contains(middle), "{shown}");
    let end = "children: Some([\
        Leaf { leaf: Pair(Pair { one: 1, two: 0 }) }, Leaf { leaf: MorePairs(Pair { one: 0, two: 1099511627776 }) }, \
        Leaf { leaf: None }, Leaf { leaf: Unknown(Unknown { tag: 9, value: Empty }) }, \
        Leaf { leaf: Unknown(Unknown { tag: 1, value: Absent }) }, \
        Leaf { leaf: Unknown(Unknown { tag: 0, value: Empty }) }]) }";
    assert!(shown.ends_with(end), "{shown}");
    assert_eq!(alloc::format!("{:?}", Widths::default()).matches("None").count(), 2);
    let lines = alloc::format!("{:#?}", Leaf { leaf: Shared::Pair(Pair { one: 1, two: 0 }) });
    assert_eq!(
        lines,
        "Leaf {\n    leaf: Pair(\n        Pair {\n            one: 1,\n            two: 0,\n        },\n    ),\n}"
    );
}

#[test]
fn a_difference_is_seen_where_bytes_differ() {
    assert!(same(&node(), &node()));
    let mut differs = 0;
    for change in [0, 1, 2, 3, 4, 5] {
        let mut other = node();
        let children = other.children.get_or_insert_default();
        match change {
            0 => other.name = None,
            1 => children.truncate(5),
            2 => children[3].leaf = Shared::Unknown(Unknown { tag: 9, value: UnknownValue::Absent }),
            3 => children[0].leaf = Shared::MorePairs(Pair { one: 1, two: 0 }),
            4 => children[2].leaf = Shared::Unknown(Unknown::default()),
            _ => other.node = Shared::Widths(Widths { f32: -0.0, ..Widths::default() }),
        }
        differs += usize::from(!same(&node(), &other) && !same(&other, &node()));
    }
    assert_eq!(differs, 6);
    let floats = |f64| Widths { f64, ..Widths::default() };
    assert!(same(&floats(f64::NAN), &floats(f64::NAN)));
    assert!(!same(&floats(0.0), &floats(-0.0)));
}

#[test]
fn a_member_of_a_newer_schema_with_fields_is_not_written() {
    let unknown = Shared::Unknown(Unknown { tag: 9, value: UnknownValue::Filled });
    let tree = Node { children: Some(vec![Leaf { leaf: unknown }]), ..Node::default() };
    let error = tree.encode(&mut Builder::new(style(), 0)).unwrap_err();
    assert_eq!(error.path(), "children[0].leaf");
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
        let read = read::<Widths>(&bytes).unwrap();
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
fn a_table_of_32_fields_round_trips() {
    let mut most = Most::default();
    let fields = most.description().fields.len();
    for index in 0..fields {
        assert!(most.field_mut(index).unwrap().change(FieldChange::Bits(index as u64 + 1)));
    }
    assert_eq!(fields, 32);
    assert_eq!((most.f0, most.f31), (1, 32));
    assert_eq!(read::<Most>(&written(&most, style())).unwrap(), most);
}

#[test]
fn union_members_that_share_a_table_are_distinguished_by_their_tags() {
    let leaf = |leaf| Leaf { leaf };
    let tree = Node {
        name: Some("root".into()),
        node: Shared::None,
        children: Some(vec![
            leaf(Shared::Pair(Pair { one: 5, two: 0 })),
            leaf(Shared::MorePairs(Pair { one: 5, two: 0 })),
            leaf(Shared::Widths(Widths { u8: 9, ..Widths::default() })),
        ]),
    };
    let bytes = written(&tree, style());
    let read = read::<Node>(&bytes).unwrap();
    assert_eq!(read, tree);
    let names: Vec<_> = read.children().iter().map(|child| child.leaf.name().unwrap().to_string()).collect();
    assert_eq!(names, ["Pair", "MorePairs", "Widths"]);
}

#[test]
fn an_error_inside_an_embedded_flatbuffer_gets_its_offset_and_path_in_the_outer_file() {
    let tree = Node { name: Some("inner".into()), ..Node::default() };
    let mut bytes = written(&tree, style());
    let last = bytes.iter().rposition(|byte| *byte == b'r').unwrap();
    bytes[last + 1] = b'x';
    let error = read::<Node>(&bytes).unwrap_err().inside(1000).in_item(3).in_field("payloads");
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

#[cfg(feature = "verify")]
#[test]
fn tables_are_counted_as_a_visit_of_all_fields_finds_them() {
    fn visited(table: &dyn AnyTable) -> usize {
        let mut all = 1;
        table.for_each_field(&mut |_, value| match value {
            Value::Table(table) | Value::Union { member: Some(table), .. } => all += visited(table),
            Value::Union { tag: 1.., .. } => all += 1,
            Value::Tables(list) => (0..list.len()).for_each(|index| all += visited(list.get(index).unwrap())),
            _ => {}
        });
        all
    }
    assert!(visited(&node()) > 5);
    for tree in [node(), Node::default()] {
        assert_eq!(any::tables(&tree), visited(&tree));
        assert!(any::most_tables(&tree) >= visited(&tree));
    }
}

table! {
    /// Alignments of each kind.
    pub struct Aligned<'a> {
        pub chosen: Option<Cow<'a, [u8]>> as AlignmentClass<1, 16>,
        pub forced: Option<Cow<'a, [u8]>> as ForceAlign<32>,
        pub boxed: Option<Box<Pair>> as InBox,
    }
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

#[test]
fn vectors_are_aligned_as_the_style_or_the_schema_says() {
    let (chosen, forced) = (Some(b"chosen".into()), Some(b"forced".into()));
    let tree = Aligned { chosen, forced, boxed: Some(Box::new(Pair { one: 1, two: 0 })) };
    let bytes = written(&tree, style());
    let at = |text: &[u8; 6]| bytes.windows(6).position(|window| window == text).unwrap();
    assert_eq!((at(b"chosen") % 64, at(b"forced") % 32), (0, 0));
    assert_eq!(read::<Aligned>(&bytes).unwrap(), tree);
}

#[test]
fn an_absent_field_reads_as_its_default_and_a_default_is_written_as_absent() {
    let defaults = Defaults::default();
    assert_eq!((defaults.signed, defaults.unsigned, defaults.wide, defaults.zero), (-1, 7, -9_000_000_000, 0));
    assert_eq!(defaults.old, None);
    let short = written(&defaults, style());
    assert_eq!(read::<Defaults>(&short).unwrap(), defaults);
    // A 0 is stored if the default is not 0, and stays if it was there.
    let zeros = Defaults { signed: 0, unsigned: 0, wide: 0, zero: 0, old: Some(0) };
    let long = written(&zeros, style());
    assert!(long.len() > short.len());
    assert_eq!(read::<Defaults>(&long).unwrap(), zeros);
}

#[test]
fn reading_and_checking_find_the_same_first_fault() {
    let good = written(&node(), style());
    let mut faults = 0;
    for place in 0..good.len() {
        for value in [0, 1, 2, 3, 5, 8, 0x7f, 0x80, 0xfd, 0xff] {
            let mut bytes = good.clone();
            bytes[place] = value;
            let found = [read::<Node>(&bytes).err(), check::<Node>(&bytes).err()];
            faults += usize::from(found[0].is_some());
            assert_eq!(found[0], found[1], "byte {place} is {value}");
        }
    }
    assert!(faults > 100, "{faults} faults");
}
