//! Dequantized numbers as files.

use super::BlobFiles;
use crate::failure::Failure;
use crate::save::Output;
use crate::value;
use executorch_format::edit::{Extracted, Extraction, User};
use executorch_format::inspect::ConstantNumbers;
use executorch_format::schema::ScalarType;
use executorch_format::{Analysis, Model, TensorShape};
use std::collections::{BTreeMap, BTreeSet};

/// A reference to quantized data: a method and a value, or a key of named data.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum QuantizedPlace<'p> {
    Value(&'p str, usize),
    Key(&'p str),
}

/// Calls `found` once for each file whose blob is a quantized tensor, with its index, the file and its numbers.
pub(super) fn visit(
    model: &Model<'_>,
    extraction: &Extraction<'_>,
    found: &mut dyn FnMut(usize, &Extracted<'_>, &ConstantNumbers<'_>),
) {
    let Model::Pte(pte) = model else { return };
    let mut files: BTreeMap<QuantizedPlace<'_>, (usize, &Extracted<'_>)> = BTreeMap::new();
    for (index, file) in extraction.files.iter().enumerate() {
        for user in &file.users {
            let place = match user {
                User::Value { method, value } => QuantizedPlace::Value(method, *value),
                User::Key { key } => QuantizedPlace::Key(key),
                _ => continue,
            };
            files.entry(place).or_insert((index, file));
        }
    }
    let mut seen = BTreeSet::new();
    Analysis::new(pte).visit_numbers(&mut |constant| {
        let place = match (constant.delegate, constant.key) {
            (None, _) => QuantizedPlace::Value(value::method(pte, constant.method), constant.value),
            (Some(_), Some(key)) => QuantizedPlace::Key(key),
            _ => return,
        };
        let file = files.get(&place).filter(|(index, _)| constant.numbers.is_ok() && seen.insert(*index));
        if let Some((index, file)) = file {
            found(*index, file, constant);
        }
    });
}

/// Passes the files whose blobs are quantized tensors to `output`.
pub(super) fn each(files: &BlobFiles<'_>, extraction: &Extraction<'_>, output: &mut Output<'_>) -> Result<(), Failure> {
    let mut done = Ok(());
    visit(files.model, extraction, &mut |_, file, constant| {
        let (Ok(numbers), true) = (&constant.numbers, done.is_ok()) else { return };
        let sizes: Vec<i32> = numbers.dims().iter().map(|size| i32::try_from(*size).unwrap_or(i32::MAX)).collect();
        let dim_order: Vec<u8> = (0..).take(sizes.len()).collect();
        let shape = TensorShape { scalar_type: ScalarType::FLOAT, sizes: &sizes, dim_order: &dim_order };
        let bytes: Vec<u8> = numbers.values().flat_map(f32::to_le_bytes).collect();
        done = files.tensor(file, (Some(shape), &bytes), output);
    });
    done
}
