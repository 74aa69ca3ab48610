//! Dequantized numbers as files.

use super::{Form, write_tensor};
use crate::context::Context;
use crate::failure::Failure;
use executorch_format::edit::{Extraction, User};
use executorch_format::inspect::ConstantNumbers;
use executorch_format::schema::ScalarType;
use executorch_format::{Model, TensorShape};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A reference to quantized data: a method and a value, or a key of named data.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum QuantizedPlace<'p> {
    Value(&'p str, usize),
    Key(&'p str),
}

/// Calls `found` once for each file whose blob is a quantized tensor, with its index and its numbers.
pub(super) fn visit(
    model: &Model<'_>,
    extraction: &Extraction<'_>,
    found: &mut dyn FnMut(usize, &ConstantNumbers<'_>),
) {
    let Model::Pte(pte) = model else { return };
    let mut files: BTreeMap<QuantizedPlace<'_>, usize> = BTreeMap::new();
    for (index, file) in extraction.files.iter().enumerate() {
        for user in &file.users {
            let place = match user {
                User::Value { method, value } => QuantizedPlace::Value(method, *value),
                User::Key { key } => QuantizedPlace::Key(key),
                _ => continue,
            };
            files.entry(place).or_insert(index);
        }
    }
    let mut seen = BTreeSet::new();
    pte.visit_numbers(&mut |constant| {
        let method = pte.methods().get(constant.method).map_or("", |plan| plan.name());
        let place = match (constant.delegate, constant.key) {
            (None, _) => QuantizedPlace::Value(method, constant.value),
            (Some(_), Some(key)) => QuantizedPlace::Key(key),
            _ => return,
        };
        if let Some(index) = files.get(&place).filter(|index| constant.numbers.is_ok() && seen.insert(**index)) {
            found(*index, constant);
        }
    });
}

/// Writes the files whose blobs are quantized tensors.
pub(super) fn write(
    context: &Context,
    model: &Model<'_>,
    extraction: &Extraction<'_>,
    folder: &Path,
    form: Form,
    input: &Path,
) -> Result<(), Failure> {
    let mut written = Ok(());
    visit(model, extraction, &mut |index, constant| {
        let (Some(file), Ok(numbers), true) = (extraction.files.get(index), &constant.numbers, written.is_ok()) else {
            return;
        };
        let sizes: Vec<i32> = numbers.dims().iter().map(|size| i32::try_from(*size).unwrap_or(i32::MAX)).collect();
        let dim_order: Vec<u8> = (0..).take(sizes.len()).collect();
        let shape = TensorShape { scalar_type: ScalarType::FLOAT, sizes: &sizes, dim_order: &dim_order };
        let bytes: Vec<u8> = numbers.values().flat_map(f32::to_le_bytes).collect();
        written = write_tensor(context, model, file, (Some(shape), &bytes), folder, form, input);
    });
    written
}
