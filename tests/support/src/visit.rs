//! A visitor that reads everything in a decoded file and calls all functions of the crate for it. For any bytes, these functions must not
//! panic.

use executorch_format::schema::any::{AnyNumber, AnyTable, Value};
use executorch_format::{DataRef, Element, Error, Ptd, Pte, TensorData, TensorView, offset_in};

/// A hash of everything visited: equal trees have equal hashes.
#[derive(Default)]
pub struct Seen(u64);

impl Seen {
    fn add(&mut self, number: u64) {
        self.0 = self.0.rotate_left(5).wrapping_add(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// A type that can be visited.
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

numbers!(bool, u8, u32, i64, u64, usize);

impl Visit for str {
    fn visit(&self, seen: &mut Seen) {
        seen.add(self.chars().count() as u64);
        self.as_bytes().visit(seen);
    }
}

/// Visits only the end and a sample of a long list, since the suite visits millions of them.
impl<T: Visit> Visit for [T] {
    fn visit(&self, seen: &mut Seen) {
        seen.add(self.len() as u64);
        match self.split_last_chunk::<64>().filter(|(rest, _)| rest.len() > 4096) {
            Some((rest, last)) => rest.iter().step_by(61).chain(last).for_each(|item| item.visit(seen)),
            None => self.iter().for_each(|item| item.visit(seen)),
        }
    }
}

impl<T: Visit> Visit for Option<T> {
    fn visit(&self, seen: &mut Seen) {
        seen.add(self.is_some().into());
        self.iter().for_each(|item| item.visit(seen));
    }
}

impl<T: Visit> Visit for Vec<T> {
    fn visit(&self, seen: &mut Seen) {
        self.as_slice().visit(seen);
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

/// Visits any table, by its fields.
impl Visit for dyn AnyTable + '_ {
    fn visit(&self, seen: &mut Seen) {
        let mut fields = 0;
        self.for_each_field(&mut |name, value| {
            fields += 1;
            name.visit(seen);
            visit_value(&value, seen);
        });
        assert_eq!(fields, self.description().fields.len());
    }
}

fn visit_value(value: &Value<'_>, seen: &mut Seen) {
    match value {
        Value::Absent => seen.add(0),
        Value::Number(number) => visit_number(*number, seen),
        Value::Enum { name, number } => {
            name.map_or(0, str::len).visit(seen);
            visit_number(*number, seen);
        }
        Value::Text(text) => {
            text.as_bytes().visit(seen);
            text.to_string().visit(seen);
        }
        Value::Numbers(numbers) => {
            seen.add(numbers.len() as u64);
            numbers.as_bytes().visit(seen);
            assert!(numbers.get(numbers.len()).is_none());
        }
        Value::Table(table) => table.visit(seen),
        Value::Tables(tables) => {
            seen.add(tables.len() as u64);
            (0..tables.len()).for_each(|index| tables.get(index).unwrap().visit(seen));
        }
        Value::Union { name, tag, member } => {
            name.map_or(0, str::len).visit(seen);
            tag.visit(seen);
            if let Some(member) = member {
                member.visit(seen);
            }
        }
        _ => panic!("a kind of value that is not visited"),
    }
}

fn visit_number(number: AnyNumber, seen: &mut Seen) {
    match number {
        AnyNumber::Bool(number) => number.visit(seen),
        AnyNumber::Signed(number) => number.visit(seen),
        AnyNumber::Unsigned(number) => number.visit(seen),
        AnyNumber::Float(number) => number.to_bits().visit(seen),
        AnyNumber::Double(number) => number.to_bits().visit(seen),
    }
}

impl Visit for TensorView<'_> {
    fn visit(&self, seen: &mut Seen) {
        seen.add(self.elements() as u64);
        self.bytes().visit(seen);
        self.shape().strides().visit(seen);
        self.shape().to_string().visit(seen);
        elements::<u8>(self, seen);
        elements::<i32>(self, seen);
        elements::<f32>(self, seen);
        elements::<i64>(self, seen);
        elements::<bool>(self, seen);
    }
}

fn elements<T: Element + PartialEq>(view: &TensorView<'_>, seen: &mut Seen) {
    let slice = view.as_slice::<T>();
    if view.bytes().len() <= 64 {
        match (view.to_vec::<T>(), &slice) {
            // Only the lengths are compared, since a NaN does not equal itself.
            (Ok(copy), Ok(slice)) => assert_eq!(copy.len(), slice.len()),
            (Err(_), Ok(_)) => panic!("elements can be borrowed, but not copied: {view:?}"),
            _ => {}
        }
    }
    slice.map(|slice| slice.len() as u64).visit(seen);
}

/// Returns the hash of a tree, without the bytes of its segments. Unlike with `==`, a NaN equals itself.
pub fn tree(tree: &dyn AnyTable) -> u64 {
    let mut seen = Seen::default();
    tree.visit(&mut seen);
    seen.0
}

/// Returns the hash of a program and of all data that it refers to. `file` holds the bytes that it was decoded from.
pub fn pte(file: &[u8], pte: &Pte<'_>) -> u64 {
    let seen = &mut Seen::default();
    (&pte.program as &dyn AnyTable).visit(seen);
    for index in 0..pte.segments.len() as u32 + 1 {
        pte.segment(index).map(|bytes| bytes.len()).visit(seen);
    }
    for plan in pte.methods() {
        assert!(plan.name.as_ref().is_none_or(|name| !name.is_utf8() || pte.method(name).is_some()));
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
        if let Some(key) = named.key.as_ref().filter(|key| key.is_utf8()) {
            let first = index.get(key).and_then(|first| pte.named_data().get(first));
            assert_eq!(first.and_then(|first| first.key.as_ref()), Some(key));
        }
    }
    index.iter().for_each(|(key, at)| {
        key.as_bytes().visit(seen);
        seen.add(at as u64);
    });
    seen.0
}

fn visit_data(file: &[u8], pte: &Pte<'_>, data: &TensorData<'_>, seen: &mut Seen) {
    match data {
        TensorData::None => {}
        TensorData::Planned(allocation) => seen.add(allocation.memory_offset()),
        TensorData::Constant(data) | TensorData::InitialState(data) => visit_ref(file, pte, data, seen),
        TensorData::External(key) => key.visit(seen),
    }
}

/// Checks that the bytes of a reference have its size and the place in the file that `range` returns.
fn visit_ref(file: &[u8], pte: &Pte<'_>, data: &DataRef, seen: &mut Seen) {
    let bytes = pte.bytes(data);
    bytes.clone().map(<[u8]>::len).map(|len| len as u64).visit(seen);
    let Ok(bytes) = bytes else { return };
    bytes.visit(seen);
    assert_eq!(bytes.len() as u64, data.size());
    if let (Some(range), false) = (pte.range(data), bytes.is_empty()) {
        assert_eq!(offset_in(file, bytes), Some(range.start));
        assert_eq!(range.end, range.start + bytes.len() as u64);
    }
}

/// Returns the hash of a `.ptd` and of all data that its keys refer to. `file` holds the bytes that it was decoded from.
pub fn ptd(file: &[u8], ptd: &Ptd<'_>) -> u64 {
    let seen = &mut Seen::default();
    (&ptd.flat_tensor as &dyn AnyTable).visit(seen);
    for index in 0..ptd.segments.len() as u32 + 1 {
        ptd.segment(index).map(|bytes| bytes.len()).visit(seen);
    }
    let index = ptd.index();
    for entry in ptd.entries() {
        seen.add(entry.offset);
        seen.add(entry.segment_index.into());
        entry.shape.map(|shape| shape.byte_size()).visit(seen);
        ptd.tensor_view(&entry).visit(seen);
        let bytes = ptd.entry_bytes(&entry);
        let range = ptd.entry_data(&entry).ok().and_then(|data| ptd.range(&data));
        if let (Some(range), Ok(bytes @ [_, ..])) = (range, &bytes) {
            assert_eq!(offset_in(file, bytes), Some(range.start));
        }
        bytes.map(<[u8]>::len).map(|len| len as u64).visit(seen);
        if let Some(key) = entry.key.filter(|key| key.is_utf8()) {
            assert!(index.get(key).is_some());
        }
    }
    // `entry` takes linear time, so a few keys are enough.
    for (key, at) in index.iter().take(16) {
        assert_eq!(ptd.entry(at).and_then(|entry| entry.key), Some(key));
    }
    seen.0
}
