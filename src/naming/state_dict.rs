//! Names from a state dict: constants with the same bytes as one of its tensors.

use super::{NamedBy, Names};
use crate::convert::{SafeTensor, Safetensors};
use crate::file::pte::{Pte, TensorData};
use crate::file::segment::DataRef;
use crate::keyed::Keyed;
use alloc::{borrow::Cow, vec::Vec};

/// The limit on tensors with the same bytes: with so many, none is chosen.
const MAX_EQUAL: usize = 64;

/// Names the constants and initial states that have the same bytes as a tensor, or as a transposed matrix. Among several tensors
/// with the same bytes, the only one whose name ends in that of the argument (`weight`) is chosen.
pub(super) fn add<'t>(names: &mut Names<'t>, pte: &'t Pte<'_>, state: &'t Safetensors<'_>) {
    let mut by_bytes: Keyed<Cow<'t, [u8]>, Vec<&'t str>> = Keyed::new();
    for tensor in &state.tensors {
        for bytes in [Some(Cow::Borrowed(&*tensor.bytes)), transposed(tensor).map(Cow::Owned)].into_iter().flatten() {
            let same = by_bytes.entry(bytes);
            if same.len() < MAX_EQUAL && same.last() != Some(&&*tensor.name) {
                same.push(&tensor.name);
            }
        }
    }
    // Many tensors can share data, which is compared only once.
    let mut compared: Keyed<DataRef, &[&'t str]> = Keyed::new();
    for (plan, names) in pte.methods().iter().zip(&mut names.methods) {
        for (value, tensor) in plan.tensors() {
            let (Ok(TensorData::Constant(data)) | Ok(TensorData::InitialState(data))) = pte.tensor_data(tensor) else {
                continue;
            };
            let same = *compared.or_insert_with(data, || {
                let bytes = pte.bytes(&data).ok().filter(|bytes| !bytes.is_empty());
                bytes.and_then(|bytes| by_bytes.get(bytes)).map(Vec::as_slice).unwrap_or_default()
            });
            let argument = names
                .values
                .get(value)
                .and_then(|own| own.as_ref()?.name.rsplit_once(' '))
                .map(|(_, argument)| argument);
            let ends = |name: &&&str| name.rsplit_once('.').is_some_and(|(_, last)| Some(last) == argument);
            let mut meant = same.iter().filter(ends);
            let name = match (same, meant.next(), meant.next()) {
                ([only], ..) => Some(*only),
                (_, Some(only), None) => Some(*only),
                _ => None,
            };
            if let Some(name) = name.filter(|_| same.len() < MAX_EQUAL) {
                names.set(value as i64, Cow::Borrowed(name), NamedBy::StateDict);
            }
        }
    }
}

/// Returns the bytes of the transposed matrix; `None` if the tensor is not a matrix, or its bytes would not change.
fn transposed(tensor: &SafeTensor<'_>) -> Option<Vec<u8>> {
    let [rows, columns] = <[u64; 2]>::try_from(tensor.shape.as_slice()).ok()?;
    let elements = usize::try_from(rows.checked_mul(columns)?).ok().filter(|_| rows > 1 && columns > 1)?;
    let size = tensor.bytes.len() / elements;
    // Elements smaller than a byte are not transposed.
    if size == 0 || size * elements != tensor.bytes.len() {
        return None;
    }
    let mut bytes = Vec::with_capacity(tensor.bytes.len());
    for column in 0..columns as usize {
        for row in tensor.bytes.chunks_exact(size * columns as usize) {
            bytes.extend_from_slice(row.get(column * size..(column + 1) * size)?);
        }
    }
    Some(bytes)
}
