//! Names from a state dict: constants with the same bytes as one of its tensors.

use super::{Name, Names, StateTensor, outer};
use crate::analysis::NamedBy;
use crate::delegate::xnnpack::{ConstantLayout, ConstantUse};
use crate::delegate::{NamedBlobs, OpenPayload, Payload, Xnnpack};
use crate::file::pte::{Pte, TensorData};
use crate::file::segment::DataRef;
use crate::tensor::{TensorShape, TensorView};
use alloc::collections::BTreeMap;
use alloc::{borrow::Cow, vec::Vec};

/// The limit on tensors with the same bytes: with so many, none is chosen.
const MAX_EQUAL: usize = 64;

/// A tensor of the state dict, and whether the bytes are those of its transposed matrix.
pub(super) type Candidate<'t> = (&'t StateTensor<'t>, bool);

/// Names the constants and initial states that have the same bytes as a tensor, or as a transposed matrix, and the constants of XNNPACK that
/// have them in the layout of their node. Among several tensors with the same bytes, the only one whose name ends in that of the argument
/// (`weight`) is chosen.
pub(super) fn add<'t>(
    names: &mut Names<'t>,
    pte: &'t Pte<'_>,
    payloads: &[OpenPayload<'_>],
    state: &'t [StateTensor<'t>],
) {
    let mut by_bytes: BTreeMap<Cow<'t, [u8]>, Vec<Candidate<'t>>> = BTreeMap::new();
    for tensor in state {
        let forms = [(Some(Cow::Borrowed(&*tensor.bytes)), false), (transposed(tensor).map(Cow::Owned), true)];
        for (bytes, transposed) in forms {
            let Some(bytes) = bytes else { continue };
            let same = by_bytes.entry(bytes).or_default();
            if same.len() < MAX_EQUAL && same.last().is_none_or(|(last, _)| last.name != tensor.name) {
                same.push((tensor, transposed));
            }
        }
    }
    // Many tensors can share data, which is compared only once.
    let mut compared: BTreeMap<DataRef, &[Candidate<'t>]> = BTreeMap::new();
    for (plan, names) in pte.methods().iter().zip(&mut names.methods) {
        for (value, tensor) in plan.tensors() {
            let (Ok(TensorData::Constant(data)) | Ok(TensorData::InitialState(data))) = pte.tensor_data(tensor) else {
                continue;
            };
            let same = *compared.entry(data).or_insert_with(|| {
                let bytes = pte.bytes(&data).ok().filter(|bytes| !bytes.is_empty());
                bytes.and_then(|bytes| by_bytes.get(bytes)).map(Vec::as_slice).unwrap_or_default()
            });
            let own = names.values.get(value).and_then(Option::as_ref);
            if let Some((tensor, transposed)) = chosen(same, own) {
                names.put(value as i64, name_of(tensor, transposed));
            }
        }
    }
    let blobs = NamedBlobs::new(pte, []);
    name_inside(names, payloads, |xnnpack, value, layouts, own| {
        let forms = layouts.iter().filter_map(|layout| as_in_the_model(xnnpack, value, *layout, &blobs));
        let found = forms.filter_map(|bytes| chosen(by_bytes.get(&*bytes)?, own)).next()?;
        (!found.1).then_some(found.0)
    });
}

/// Names the constants of XNNPACK that no source has named yet: `find` returns the tensor that a value is, from the layouts in which nodes
/// take it and the name that it has so far.
pub(super) fn name_inside<'t>(
    names: &mut Names<'t>,
    payloads: &[OpenPayload<'_>],
    mut find: impl FnMut(&Xnnpack<'_>, usize, &[ConstantLayout], Option<&Name<'t>>) -> Option<&'t StateTensor<'t>>,
) {
    for opened in payloads {
        let (Ok(Payload::Xnnpack(xnnpack)), Some((method, delegate))) = (&opened.payload, opened.delegates.first())
        else {
            continue;
        };
        let layouts = xnnpack.constant_layouts();
        let Some(names) = names.methods.get_mut(*method).and_then(|names| names.delegates.get_mut(*delegate)) else {
            continue;
        };
        for used in xnnpack.constants().iter().flat_map(|constant| &constant.uses) {
            let ConstantUse::Tensor { value, .. } = *used else { continue };
            let Some(own) = names.constants.get_mut(value).filter(|own| !is_given(own.as_ref())) else { continue };
            let layouts = layouts.get(&value).map(Vec::as_slice).unwrap_or_default();
            if let Some(tensor) = find(xnnpack, value, layouts, own.as_ref()) {
                *own = Some(name_of(tensor, false));
            }
        }
    }
}

/// Returns `true` if a source besides the program gives the name.
pub(super) fn is_given(name: Option<&Name<'_>>) -> bool {
    name.is_some_and(|name| name.named_by <= NamedBy::StateDict)
}

/// Returns the bytes of a constant in PyTorch's layout; `None` if that is not known.
fn as_in_the_model<'t>(
    xnnpack: &'t Xnnpack<'_>,
    value: usize,
    layout: ConstantLayout,
    blobs: &NamedBlobs<'t>,
) -> Option<Cow<'t, [u8]>> {
    let tensor = xnnpack.graph.xvalues().get(value)?.tensor()?;
    let view = xnnpack.constant_view(tensor, blobs).ok()??;
    if view.bytes().is_empty() {
        return None;
    }
    let Ok(arrangement) = layout.arrange(tensor.dims(), None) else { return Some(Cow::Borrowed(view.bytes())) };
    let sizes: &[i32] = bytemuck::cast_slice(&arrangement.split);
    let shape = TensorShape { scalar_type: view.shape().scalar_type, sizes, dim_order: &arrangement.dim_order };
    let natural: Vec<u8> = (0..sizes.len() as u8).collect();
    TensorView::new(shape, view.bytes()).ok()?.in_dim_order(&natural).ok().map(Cow::Owned)
}

pub(super) fn name_of<'t>(tensor: &'t StateTensor<'t>, transposed: bool) -> Name<'t> {
    let module = outer(&tensor.name);
    let name = Name::new((&*tensor.name).into(), NamedBy::StateDict, Some(module));
    Name { sizes: Some(Cow::Borrowed(&tensor.sizes)), transposed, ..name }
}

/// Chooses a tensor by the argument in the name that a constant has so far.
pub(super) fn chosen<'t>(same: &[Candidate<'t>], own: Option<&Name<'_>>) -> Option<Candidate<'t>> {
    let argument = own.and_then(|own| own.name.rsplit_once(' ')).map(|(_, argument)| argument);
    let ends =
        |(tensor, _): &&Candidate<'_>| tensor.name.rsplit_once('.').is_some_and(|(_, last)| Some(last) == argument);
    let mut meant = same.iter().filter(ends);
    let found = match (same, meant.next(), meant.next()) {
        ([only], ..) => Some(*only),
        (_, Some(only), None) => Some(*only),
        _ => None,
    };
    found.filter(|_| same.len() < MAX_EQUAL)
}

/// Returns the bytes of the transposed matrix; `None` if the tensor is not a matrix, or its bytes would not change.
fn transposed(tensor: &StateTensor<'_>) -> Option<Vec<u8>> {
    let [rows, columns] = <[u64; 2]>::try_from(tensor.sizes.as_slice()).ok()?;
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
