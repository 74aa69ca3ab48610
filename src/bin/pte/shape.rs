//! What kind of tensor a blob is.

use executorch_format::Layout;
use executorch_format::schema::ScalarType;
use executorch_format::schema::program::Tensor;
use serde::Serialize;

/// A tensor's type and shape.
#[derive(Clone, Copy, Serialize)]
pub struct Shape<'t> {
    /// The type of the elements.
    pub scalar_type: ScalarType,
    /// The size of each dimension.
    pub sizes: &'t [i32],
    /// The dimensions, outermost first.
    pub dim_order: &'t [u8],
}

impl<'t> From<Layout<'t>> for Shape<'t> {
    fn from(layout: Layout<'t>) -> Self {
        Self { scalar_type: layout.scalar_type, sizes: layout.sizes, dim_order: layout.dim_order }
    }
}

impl<'t> From<&'t Tensor<'_>> for Shape<'t> {
    fn from(tensor: &'t Tensor<'_>) -> Self {
        Self { scalar_type: tensor.scalar_type, sizes: tensor.sizes(), dim_order: tensor.dim_order() }
    }
}
