//! The shape of a tensor, as answers show it.

use super::NameText;
use crate::schema::ScalarType;
use crate::schema::program::{Tensor, TensorShapeDynamism};
use crate::tensor::TensorShape;

/// The shape of a tensor of a method.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ValueShape<'t> {
    /// The name, if the tensor has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<NameText<'t>>,
    /// The type of the elements.
    pub scalar_type: ScalarType,
    /// The size of each dimension: an upper bound if the shape is dynamic.
    #[serde(serialize_with = "crate::tensor::first_items")]
    #[cfg_attr(feature = "schemars", schemars(with = "crate::tensor::FirstItems<i32>"))]
    pub sizes: &'t [i32],
    /// The dimensions in the order of storage, outermost first.
    #[serde(serialize_with = "crate::tensor::first_items")]
    #[cfg_attr(feature = "schemars", schemars(with = "crate::tensor::FirstItems<u8>"))]
    pub dim_order: &'t [u8],
    /// The kind of change of the sizes that is allowed at run time.
    pub shape_dynamism: TensorShapeDynamism,
}

impl<'t> ValueShape<'t> {
    pub(crate) fn of(tensor: &'t Tensor<'_>) -> Self {
        let TensorShape { scalar_type, sizes, dim_order } = tensor.shape();
        let name = tensor.fully_qualified_name().map(NameText::from);
        Self { name, scalar_type, sizes, dim_order, shape_dynamism: tensor.shape_dynamism }
    }

    /// Returns the shape without name and dynamism.
    pub fn shape(&self) -> TensorShape<'t> {
        TensorShape { scalar_type: self.scalar_type, sizes: self.sizes, dim_order: self.dim_order }
    }
}
