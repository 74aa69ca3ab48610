//! A visitor that touches all that a decoded file holds, and all that the crate offers on it: whatever the bytes were,
//! none of it may panic.
//!
//! A pattern without `..` takes each table's fields, so a new one does not compile until it is visited.

use executorch_format::schema::flat_tensor::{self, FlatTensor, Legacy, LegacySchema, TensorMetadata};
use executorch_format::schema::program::{self, *};
use executorch_format::schema::{DataSegment, Program, ScalarType, Unknown};
use executorch_format::{DataRef, Element, Error, Ptd, Pte, TensorData, TensorView, offset_in};
use std::borrow::Cow;

/// What was seen, as one number: equal trees give equal ones.
#[derive(Default)]
pub struct Seen(u64);

impl Seen {
    fn add(&mut self, number: u64) {
        self.0 = self.0.rotate_left(5).wrapping_add(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// What can be visited.
pub trait Visit {
    fn visit(&self, seen: &mut Seen);
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Visit for $type {
            fn visit(&self, seen: &mut Seen) {
                seen.add(*self as u64);
            }
        }
    )*};
}

numbers!(bool, i8, u8, u16, i32, u32, i64, u64);

impl Visit for f64 {
    fn visit(&self, seen: &mut Seen) {
        seen.add(self.to_bits());
    }
}

impl Visit for str {
    fn visit(&self, seen: &mut Seen) {
        seen.add(self.chars().count() as u64);
        self.as_bytes().visit(seen);
    }
}

/// Long lists by their ends and some of what is between: the suite visits millions of them.
impl<T: Visit> Visit for [T] {
    fn visit(&self, seen: &mut Seen) {
        seen.add(self.len() as u64);
        match self.split_last_chunk::<64>().filter(|(rest, _)| rest.len() > 4096) {
            Some((rest, last)) => rest.iter().step_by(61).chain(last).for_each(|item| item.visit(seen)),
            None => self.iter().for_each(|item| item.visit(seen)),
        }
    }
}

impl<T: Visit> Visit for Vec<T> {
    fn visit(&self, seen: &mut Seen) {
        self.iter().for_each(|item| item.visit(seen));
        seen.add(self.len() as u64);
    }
}

impl<T: Visit> Visit for Option<T> {
    fn visit(&self, seen: &mut Seen) {
        seen.add(self.is_some().into());
        self.iter().for_each(|item| item.visit(seen));
    }
}

impl<T: Visit> Visit for Box<T> {
    fn visit(&self, seen: &mut Seen) {
        (**self).visit(seen);
    }
}

impl<T: Visit + ToOwned + ?Sized> Visit for Cow<'_, T> {
    fn visit(&self, seen: &mut Seen) {
        (**self).visit(seen);
    }
}

impl<T: Visit> Visit for Result<T, Error> {
    fn visit(&self, seen: &mut Seen) {
        match self {
            Ok(value) => value.visit(seen),
            Err(error) => {
                seen.add(error.offset().unwrap_or(u64::MAX));
                error.kind().rule().visit(seen);
                error.to_string().visit(seen);
            }
        }
    }
}

macro_rules! tables {
    ($($table:ty { $($field:ident),* })*) => {$(
        impl Visit for $table {
            #[allow(unused_variables)]
            fn visit(&self, seen: &mut Seen) {
                let Self { $($field),* } = self;
                $($field.visit(seen);)*
            }
        }
    )*};
}

every_table!(tables);
tables! {
    Unknown { tag, has_fields }
    FlatTensor<'_> { version, segments, named_data, legacy }
    Legacy<'_> { schema, tensor_alignment, tensors }
    TensorMetadata<'_> { fully_qualified_name, scalar_type, sizes, dim_order, segment_index, offset }
}

macro_rules! enums {
    ($($name:ident)*) => {$(
        impl Visit for $name {
            fn visit(&self, seen: &mut Seen) {
                self.0.visit(seen);
                self.to_string().visit(seen);
            }
        }
    )*};
}

every_enum!(enums);

impl Visit for LegacySchema {
    fn visit(&self, seen: &mut Seen) {
        seen.add(*self as u64);
    }
}

macro_rules! unions {
    ($($union:ident { $($tag:literal $member:ident)* })*) => {$(
        impl Visit for $union<'_> {
            fn visit(&self, seen: &mut Seen) {
                self.tag().visit(seen);
                seen.add(self.name().map_or(0, str::len) as u64);
                match self {
                    Self::None => {}
                    $( Self::$member(member) => member.visit(seen), )*
                    Self::Unknown(unknown) => unknown.visit(seen),
                    // The enum is non-exhaustive.
                    other => panic!("not visited: {other:?}"),
                }
            }
        }
    )*};
}

every_union!(unions);

impl Visit for TensorView<'_> {
    fn visit(&self, seen: &mut Seen) {
        seen.add(self.elements() as u64);
        self.bytes.visit(seen);
        self.strides().visit(seen);
        elements::<u8>(self, seen);
        elements::<i32>(self, seen);
        elements::<f32>(self, seen);
        elements::<i64>(self, seen);
        elements::<bool>(self, seen);
    }
}

fn elements<T: Element + PartialEq>(view: &TensorView<'_>, seen: &mut Seen) {
    let slice = view.as_slice::<T>();
    if view.bytes.len() <= 64 {
        match (view.to_vec::<T>(), &slice) {
            // Numbers that are not equal to themselves are beside the point here.
            (Ok(copy), Ok(slice)) => assert_eq!(copy.len(), slice.len()),
            (Err(_), Ok(_)) => panic!("elements borrowed, yet not copied: {view:?}"),
            _ => {}
        }
    }
    slice.map(|slice| slice.len() as u64).visit(seen);
}

/// A tree without the bytes of its segments. Unlike `==`, it takes one `NaN` for another.
pub fn tree(tree: &impl Visit) -> u64 {
    let mut seen = Seen::default();
    tree.visit(&mut seen);
    seen.0
}

/// All of a program, and what everything in it refers to. `file` is what it was decoded from.
pub fn pte(file: &[u8], pte: &Pte<'_>) -> u64 {
    let seen = &mut Seen::default();
    pte.program.visit(seen);
    for index in 0..pte.segments.len() as u32 + 1 {
        pte.segment(index).map(<[u8]>::len).map(|len| len as u64).visit(seen);
    }
    for plan in pte.methods() {
        assert!(plan.name.as_deref().is_none_or(|name| pte.method(name).is_some()));
        for (index, tensor) in plan.tensors() {
            assert!(plan.tensor(index).is_some());
            tensor.byte_size().visit(seen);
            match pte.tensor_data(tensor) {
                Ok(data) => visit_data(file, pte, &data, seen),
                Err(error) => Err::<bool, _>(error).visit(seen),
            }
            pte.tensor_view(tensor).visit(seen);
        }
        for delegate in plan.delegates.iter().flatten() {
            match pte.delegate_data(delegate) {
                Ok(data) => visit_ref(file, pte, &data, seen),
                Err(error) => Err::<bool, _>(error).visit(seen),
            }
        }
    }
    let index = pte.named_data_index();
    for named in pte.named_data() {
        if let Ok(data) = pte.named_data_ref(named) {
            visit_ref(file, pte, &data, seen);
        }
        if let Some(key) = named.key.as_deref() {
            let first = index.get(key).and_then(|first| pte.named_data().get(first));
            assert_eq!(first.and_then(|first| first.key.as_deref()), Some(key));
        }
    }
    index.iter().for_each(|(key, at)| {
        key.visit(seen);
        seen.add(at as u64);
    });
    seen.0
}

fn visit_data(file: &[u8], pte: &Pte<'_>, data: &TensorData<'_>, seen: &mut Seen) {
    match data {
        TensorData::None => {}
        TensorData::Planned(place) => seen.add(place.memory_offset()),
        TensorData::Constant(data) | TensorData::Mutable(data) => visit_ref(file, pte, data, seen),
        TensorData::External(key) => key.visit(seen),
    }
}

/// The bytes of a reference have its size and lie in the file, where `extent` says if they are in a segment.
fn visit_ref(file: &[u8], pte: &Pte<'_>, data: &DataRef, seen: &mut Seen) {
    let bytes = pte.bytes(data);
    bytes.clone().map(<[u8]>::len).map(|len| len as u64).visit(seen);
    let Ok(bytes) = bytes else { return };
    bytes.visit(seen);
    assert_eq!(bytes.len() as u64, data.size());
    if let (Some(extent), false) = (pte.extent(data), bytes.is_empty()) {
        assert_eq!(offset_in(file, bytes), Some(extent.start));
        assert_eq!(extent.end, Some(extent.start + bytes.len() as u64));
    }
}

/// All of a `.ptd`, and what every key refers to. `file` is what it was decoded from.
pub fn ptd(file: &[u8], ptd: &Ptd<'_>) -> u64 {
    let seen = &mut Seen::default();
    ptd.flat_tensor.visit(seen);
    for index in 0..ptd.segments.len() as u32 + 1 {
        ptd.segment(index).map(<[u8]>::len).map(|len| len as u64).visit(seen);
    }
    let index = ptd.index();
    for entry in ptd.entries() {
        seen.add(entry.offset);
        seen.add(entry.segment_index.into());
        entry.layout.map(|layout| layout.byte_size()).visit(seen);
        ptd.tensor_view(&entry).visit(seen);
        let bytes = ptd.bytes(&entry);
        if let (Some(extent), Ok(bytes @ [_, ..])) = (ptd.extent(&entry), &bytes) {
            assert_eq!(offset_in(file, bytes), Some(extent.start));
        }
        bytes.map(<[u8]>::len).map(|len| len as u64).visit(seen);
        if let Some(key) = entry.key {
            assert!(index.get(key).is_some());
        }
    }
    // `entry` walks to its place, so a few are enough.
    for (key, at) in index.iter().take(16) {
        assert_eq!(ptd.entry(at).and_then(|entry| entry.key), Some(key));
    }
    seen.0
}
