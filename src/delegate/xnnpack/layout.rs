//! The layouts of constants: PyTorch's own, and the one that a node takes.
//!
//! As the exporter writes them (`backends/xnnpack/operators/node_visitor.py` and `op_conv2d.py`).

use super::Xnnpack;
use crate::file::named_blobs::NamedBlobs;
use crate::quantized::Dequantized;
use crate::schema::xnnpack::XNodeUnion;
use alloc::collections::BTreeMap;
use alloc::{format, string::String, string::ToString, vec, vec::Vec};

/// A flag of `XNNFullyConnected`: the weight has the input channels first.
const TRANSPOSE_WEIGHTS: u32 = 1;

/// The layout that a node requires of a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConstantLayout {
    /// PyTorch's own.
    Same,
    /// The weight of a convolution: `OHWI` of PyTorch's `OIHW`.
    Convolution,
    /// The weight of a depthwise convolution: `IHWO` of PyTorch's `OIHW`.
    Depthwise,
    /// The weight of a transposed convolution: `OHWI` of PyTorch's `IOHW`, in each group.
    Transposed { groups: u32 },
    /// A weight with the input channels first: `IO` of PyTorch's `OI`.
    Matrix,
    /// PyTorch's own, or `NHWC` of PyTorch's `NCHW`: the node works on tensors of either layout.
    Either,
}

/// The layout of a constant next to that of the model's tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arrangement {
    /// The sizes of the model's tensor: of each form that PyTorch may have, the expected one first.
    pub(crate) sizes: Vec<Vec<u32>>,
    /// The sizes of the model's tensor, with groups as a dimension of their own.
    pub(crate) split: Vec<u32>,
    /// The dimensions of `split` in the constant, from the outermost in memory to the innermost.
    pub(crate) dim_order: Vec<u8>,
    /// The names of the dimensions in PyTorch and in the constant, if these differ.
    #[cfg_attr(not(feature = "edit"), allow(dead_code, reason = "reports of edits show it"))]
    pub(crate) letters: Option<(&'static str, &'static str)>,
}

impl Xnnpack<'_> {
    /// Returns the layouts that nodes require of each value.
    pub(crate) fn constant_layouts(&self) -> BTreeMap<usize, Vec<ConstantLayout>> {
        let ids = self.graph.values_by_id();
        let mut layouts: BTreeMap<usize, Vec<ConstantLayout>> = BTreeMap::new();
        for node in self.graph.xnodes() {
            for (field, id) in node.xnode_union.ids().inputs {
                let Some(value) = ids.get(&id) else { continue };
                let layout = of_argument(&node.xnode_union, field);
                let known = layouts.entry(*value).or_default();
                if !known.contains(&layout) {
                    known.push(layout);
                }
            }
        }
        layouts
    }

    /// Returns the numbers of a constant in PyTorch's layout, from the layouts that nodes require of it and the sizes of the model's
    /// tensor, if these are known.
    ///
    /// Fails with the reason.
    pub(crate) fn numbers_in_the_model<'t>(
        &'t self,
        value: usize,
        layouts: &[ConstantLayout],
        model: Option<&[u32]>,
        blobs: &NamedBlobs<'t>,
    ) -> Result<Dequantized<'t>, String> {
        let numbers = self.dequantized(value, blobs).map_err(|error| error.to_string())?;
        let numbers = numbers.ok_or("its type has no numbers that are known")?;
        let mut fault = String::from("no node takes it");
        for layout in layouts {
            match layout.arrange(numbers.dims(), model) {
                Ok(Arrangement { sizes, split, dim_order, .. }) => {
                    let sizes = sizes.into_iter().next().unwrap_or_default();
                    return numbers.permuted(sizes, &split, &dim_order).ok_or(fault);
                }
                Err(reason) => fault = reason,
            }
        }
        Err(fault)
    }
}

fn of_argument(node: &XNodeUnion<'_>, field: &str) -> ConstantLayout {
    match (node, field) {
        (XNodeUnion::XNNConv2d(_), "filter_id") => ConstantLayout::Convolution,
        (XNodeUnion::XNNDepthwiseConv2d(_), "filter_id") => ConstantLayout::Depthwise,
        (XNodeUnion::XNNConvTranspose2d(node), "filter_id") => ConstantLayout::Transposed { groups: node.groups },
        (XNodeUnion::XNNFullyConnected(node), "filter_id") if node.flags & TRANSPOSE_WEIGHTS != 0 => {
            ConstantLayout::Matrix
        }
        (_, "filter_id" | "bias_id") => ConstantLayout::Same,
        _ => ConstantLayout::Either,
    }
}

impl ConstantLayout {
    /// Returns the one layout of a value that nodes take in these; `None` if there are several, or no node takes it.
    #[cfg(feature = "edit")]
    pub(crate) fn only(layouts: &[Self]) -> Option<Self> {
        match layouts {
            [layout] => Some(*layout),
            [] => None,
            // A tensor that a convolution takes is not that of another node.
            several => several.iter().all(|layout| matches!(layout, Self::Same | Self::Either)).then_some(Self::Either),
        }
    }

    /// Compares a constant with the model's tensor, whose sizes may be known.
    ///
    /// Fails with the reason if the constant is not a permutation of such a tensor.
    pub(crate) fn arrange(self, dims: &[u32], model: Option<&[u32]>) -> Result<Arrangement, String> {
        match (self, dims) {
            (Self::Convolution, &[o, h, w, i]) => {
                weight(model, [o, i, h, w], vec![o, i, h, w], &[0, 2, 3, 1], [("OIHW", "OHWI"), ("OIL", "OLI")])
            }
            (Self::Depthwise, &[i, h, w, o]) => {
                weight(model, [o, i, h, w], vec![o, i, h, w], &[1, 2, 3, 0], [("OIHW", "IHWO"), ("OIL", "ILO")])
            }
            (Self::Transposed { groups }, &[o, h, w, i]) => {
                let of_group = o.checked_div(groups).filter(|of_group| of_group.checked_mul(groups) == Some(o));
                let (Some(of_group), Some(inputs)) = (of_group, i.checked_mul(groups)) else {
                    return Err(format!("{o} output channels are not {groups} equal groups"));
                };
                let split = vec![groups, i, of_group, h, w];
                weight(model, [inputs, of_group, h, w], split, &[0, 2, 3, 4, 1], [("IOHW", "OHWI"), ("IOL", "OLI")])
            }
            (Self::Matrix, &[i, o]) => {
                let sizes = vec![o, i];
                expect(model, core::slice::from_ref(&sizes))?;
                let letters = Some(("OI", "IO"));
                Ok(Arrangement { split: sizes.clone(), sizes: vec![sizes], dim_order: vec![1, 0], letters })
            }
            (Self::Either, &[n, h, w, c]) => {
                let nhwc = [n, c, h, w];
                let Some(model) = model else {
                    return Err(
                        "the sizes of the model's tensor are not known, and its dimensions may be permuted".into()
                    );
                };
                match (squeezed(model) == squeezed(dims), *model == nhwc) {
                    // Sizes of 1 have no place in memory.
                    (true, true) if squeezed(dims).len() > 1 => {
                        Err(format!("its sizes {model:?} do not show if the payload has it as NCHW or NHWC"))
                    }
                    (true, _) => Ok(same(dims, model)),
                    (false, true) => Ok(Arrangement {
                        sizes: vec![nhwc.to_vec()],
                        split: nhwc.to_vec(),
                        dim_order: vec![0, 2, 3, 1],
                        letters: Some(("NCHW", "NHWC")),
                    }),
                    (false, false) => Err(computed(model, dims)),
                }
            }
            (Self::Same | Self::Either, _) => {
                let model = model.unwrap_or(dims);
                match squeezed(model) == squeezed(dims) {
                    true => Ok(same(dims, model)),
                    false => Err(computed(model, dims)),
                }
            }
            _ => Err(format!("its sizes in the payload, {dims:?}, are not those of such a weight")),
        }
    }
}

#[cfg(feature = "convert")]
impl Arrangement {
    /// Returns the sizes of the model's tensor and its strides in the constant, in elements; `None` if one stride cannot describe a dimension,
    /// because its groups are apart.
    pub(crate) fn strided(&self) -> Option<(Vec<u32>, Vec<u64>)> {
        let mut strides = vec![0u64; self.split.len()];
        let mut stride = 1u64;
        for dim in self.dim_order.iter().rev() {
            *strides.get_mut(usize::from(*dim))? = stride;
            stride = stride.checked_mul(u64::from(*self.split.get(usize::from(*dim))?))?;
        }
        let sizes = self.sizes.first()?.clone();
        if self.letters.is_none() {
            // Other sizes of 1 have no place in memory.
            let strides = natural_strides(&sizes);
            return Some((sizes, strides));
        }
        // Groups are the first dimension of five.
        if let (5, [groups, inputs, ..]) = (self.split.len(), &*self.split) {
            let apart = strides.remove(0);
            match (groups, inputs) {
                (1, _) => {}
                (_, 1) => *strides.first_mut()? = apart,
                _ => return None,
            }
        }
        strides.truncate(sizes.len());
        Some((sizes, strides))
    }
}

/// Returns the strides of a tensor whose last dimension is innermost, in elements.
#[cfg(feature = "convert")]
pub(crate) fn natural_strides(sizes: &[u32]) -> Vec<u64> {
    let mut strides = Vec::with_capacity(sizes.len());
    let mut stride = 1u64;
    for size in sizes.iter().rev() {
        strides.push(stride);
        stride = stride.saturating_mul(u64::from(*size));
    }
    strides.reverse();
    strides
}

/// Arranges the weight of a convolution, of which one over one dimension has a width of 1.
fn weight(
    model: Option<&[u32]>,
    [first, second, height, width]: [u32; 4],
    split: Vec<u32>,
    dim_order: &[u8],
    [letters, of_length]: [(&'static str, &'static str); 2],
) -> Result<Arrangement, String> {
    let mut sizes = vec![vec![first, second, height, width]];
    if width == 1 {
        sizes.push(vec![first, second, height]);
    }
    expect(model, &sizes)?;
    if let Some(model) = model {
        sizes.retain(|sizes| sizes == model);
    }
    let is_length = sizes.first().is_some_and(|sizes| sizes.len() == 3);
    let letters = Some(if is_length { of_length } else { letters });
    Ok(Arrangement { sizes, split, dim_order: dim_order.to_vec(), letters })
}

fn same(dims: &[u32], model: &[u32]) -> Arrangement {
    let dim_order = (0..dims.len() as u8).collect();
    Arrangement { sizes: vec![model.to_vec()], split: dims.to_vec(), dim_order, letters: None }
}

fn expect(model: Option<&[u32]>, sizes: &[Vec<u32>]) -> Result<(), String> {
    match model {
        Some(model) if !sizes.iter().any(|sizes| sizes == model) => {
            Err(computed(model, sizes.first().map_or(&[], |sizes| sizes)))
        }
        _ => Ok(()),
    }
}

fn computed(model: &[u32], found: &[u32]) -> String {
    format!(
        "it has the sizes {model:?} in the model, but {found:?} in the payload: the exporter computed one from the other"
    )
}

/// Returns the sizes other than 1.
fn squeezed(sizes: &[u32]) -> Vec<u32> {
    sizes.iter().copied().filter(|size| *size != 1).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn order(layout: ConstantLayout, dims: &[u32], model: &[u32]) -> Option<(Vec<u32>, Vec<u8>)> {
        layout.arrange(dims, Some(model)).ok().map(|found| (found.split, found.dim_order))
    }

    #[test]
    fn weights_of_convolutions_are_permuted() {
        let convolution = |model: &[u32]| order(ConstantLayout::Convolution, &[8, 3, 1, 4], model);
        assert_eq!(convolution(&[8, 4, 3, 1]), Some((vec![8, 4, 3, 1], vec![0, 2, 3, 1])));
        assert_eq!(convolution(&[8, 4, 3]), convolution(&[8, 4, 3, 1]));
        assert_eq!(convolution(&[8, 3, 1, 4]), None);
        let transposed = ConstantLayout::Transposed { groups: 2 };
        let grouped = order(transposed, &[6, 5, 7, 4], &[8, 3, 5, 7]);
        assert_eq!(grouped, Some((vec![2, 4, 3, 5, 7], vec![0, 2, 3, 4, 1])));
        assert!(transposed.arrange(&[5, 1, 1, 4], None).is_err());
        assert!(ConstantLayout::Transposed { groups: 0 }.arrange(&[5, 1, 1, 4], None).is_err());
    }

    #[cfg(feature = "convert")]
    #[test]
    fn weights_are_views_of_constants() {
        let strided =
            |layout: ConstantLayout, dims: &[u32], model: &[u32]| layout.arrange(dims, Some(model)).unwrap().strided();
        let convolution = ConstantLayout::Convolution;
        assert_eq!(strided(convolution, &[8, 3, 5, 4], &[8, 4, 3, 5]), Some((vec![8, 4, 3, 5], vec![60, 1, 20, 4])));
        assert_eq!(strided(convolution, &[8, 3, 1, 4], &[8, 4, 3]), Some((vec![8, 4, 3], vec![12, 1, 4])));
        assert_eq!(strided(ConstantLayout::Matrix, &[2, 3], &[3, 2]), Some((vec![3, 2], vec![1, 3])));
        assert_eq!(strided(ConstantLayout::Same, &[4], &[1, 4]), Some((vec![1, 4], vec![4, 1])));
        let transposed = |groups| ConstantLayout::Transposed { groups };
        assert_eq!(strided(transposed(1), &[3, 5, 7, 4], &[4, 3, 5, 7]), Some((vec![4, 3, 5, 7], vec![1, 140, 28, 4])));
        assert_eq!(strided(transposed(2), &[6, 5, 7, 1], &[2, 3, 5, 7]), Some((vec![2, 3, 5, 7], vec![105, 35, 7, 1])));
        assert_eq!(strided(transposed(2), &[6, 5, 7, 4], &[8, 3, 5, 7]), None);
    }

    #[test]
    fn a_layout_that_sizes_do_not_show_is_refused() {
        let either = |dims: &[u32], model: &[u32]| order(ConstantLayout::Either, dims, model).map(|(_, order)| order);
        assert_eq!(either(&[1, 4, 5, 3], &[1, 3, 4, 5]), Some(vec![0, 2, 3, 1]));
        assert_eq!(either(&[1, 3, 4, 5], &[1, 3, 4, 5]), Some(vec![0, 1, 2, 3]));
        assert_eq!(either(&[1, 4, 4, 4], &[1, 4, 4, 4]), None);
        assert_eq!(either(&[1, 1, 1, 4], &[4]), Some(vec![0, 1, 2, 3]));
        assert_eq!(either(&[4], &[1]), None);
        assert!(ConstantLayout::Either.arrange(&[1, 3, 4, 5], None).is_err());
    }
}
