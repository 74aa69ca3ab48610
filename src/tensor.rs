//! Tensors as data: their shape, and their bytes as numbers.

use crate::error::{Error, ErrorKind, Result};
use crate::schema::ScalarType;
use crate::schema::flat_tensor::TensorLayout;
use crate::schema::program::{Tensor, TensorDataLocation};
use alloc::{format, vec, vec::Vec};

/// A tensor's type, shape and bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TensorView<'t> {
    /// The type of the elements.
    pub scalar_type: ScalarType,
    /// The size of each dimension, in elements.
    pub sizes: &'t [i32],
    /// The dimensions, outermost first.
    pub dim_order: &'t [u8],
    /// The elements, little-endian, in the order that `dim_order` gives.
    pub bytes: &'t [u8],
}

/// A number of elements times the size of one, in bytes.
///
/// Fails with [`ErrorKind::Tensor`] where a size is negative, the product overflows, or the type is not known.
pub fn byte_size(scalar_type: ScalarType, sizes: &[i32]) -> Result<u64> {
    count_bytes(scalar_type, sizes).map_err(|reason| {
        let found = match reason {
            Uncountable::Type => format!("elements of unknown type {scalar_type}"),
            Uncountable::Negative(dimension) => format!("dimension {dimension} has a negative size"),
            Uncountable::Elements => "its elements are more than 63 bits count".into(),
            Uncountable::Bytes => "its bytes are more than 64 bits count".into(),
        };
        Error::new(ErrorKind::Tensor(found.into()))
    })
}

/// Why a number of bytes cannot be told.
pub(crate) enum Uncountable {
    /// The size of this dimension is negative.
    Negative(usize),
    /// The elements are more than an `i64` counts.
    Elements,
    /// The bytes are more than a `u64` counts.
    Bytes,
    /// The type of the elements is not known.
    Type,
}

/// The bytes of a tensor, counted as the runtime counts: elements in an `i64`, bytes in a `u64`.
pub(crate) fn count_bytes(scalar_type: ScalarType, sizes: &[i32]) -> core::result::Result<u64, Uncountable> {
    if let Some(index) = sizes.iter().position(|size| *size < 0) {
        return Err(Uncountable::Negative(index));
    }
    let product = |elements: i64, size: &i32| elements.checked_mul(i64::from(*size));
    let elements = sizes.iter().try_fold(1, product).ok_or(Uncountable::Elements)?;
    let element = scalar_type.element_size().ok_or(Uncountable::Type)?;
    (elements as u64).checked_mul(element as u64).ok_or(Uncountable::Bytes)
}

macro_rules! shaped {
    ($($table:ident),*) => {$(
        impl $table<'_> {
            /// The size of each dimension; empty where it is absent, as for a scalar.
            pub fn sizes(&self) -> &[i32] {
                self.sizes.as_deref().unwrap_or_default()
            }

            /// The dimensions, outermost first; empty where it is absent.
            pub fn dim_order(&self) -> &[u8] {
                self.dim_order.as_deref().unwrap_or_default()
            }

            /// The bytes that its elements take; see [`byte_size`].
            pub fn byte_size(&self) -> Result<u64> {
                byte_size(self.scalar_type, self.sizes())
            }
        }
    )*};
}

shaped!(Tensor, TensorLayout);

impl Tensor<'_> {
    /// Whether its bytes are in a `.ptd` file, under the name that `extra_tensor_info` has.
    pub fn is_external(&self) -> bool {
        self.extra_tensor_info.as_deref().is_some_and(|extra| extra.location == TensorDataLocation::EXTERNAL)
    }
}

/// A Rust type that a tensor's elements can be seen as.
pub trait Element: bytemuck::CheckedBitPattern + bytemuck::NoUninit {
    /// The scalar types whose elements are this.
    const SCALAR_TYPES: &'static [ScalarType];
}

macro_rules! elements {
    ($($type:ty: $($name:ident)*;)*) => {$(
        impl Element for $type {
            const SCALAR_TYPES: &'static [ScalarType] = &[$(ScalarType::$name),*];
        }
    )*};
}

elements! {
    u8: BYTE QUINT8 QUINT4X2 QUINT2X4;
    i8: CHAR QINT8;
    i16: SHORT;
    i32: INT QINT32;
    i64: LONG;
    u16: UINT16 BITS16;
    u32: UINT32;
    u64: UINT64;
    f32: FLOAT;
    f64: DOUBLE;
    bool: BOOL;
}

#[cfg(feature = "half")]
elements! {
    half::f16: HALF;
    half::bf16: BFLOAT16;
}

impl<'t> TensorView<'t> {
    /// The elements as a slice, without copying.
    ///
    /// Fails with [`ErrorKind::Tensor`] where the scalar type is another one, where the bytes are not aligned for `T` in
    /// memory, where one is no value (a bool of 2), and on a big-endian host: there, and for unaligned bytes, use
    /// [`to_vec`](Self::to_vec).
    pub fn as_slice<T: Element>(&self) -> Result<&'t [T]> {
        self.expect_type::<T>()?;
        if cfg!(target_endian = "big") && size_of::<T>() > 1 {
            let found = "the elements are little-endian and this machine is not: take a copy (to_vec)";
            return Err(Error::new(ErrorKind::Tensor(found.into())));
        }
        bytemuck::checked::try_cast_slice(self.bytes).map_err(|error| {
            let found = format!("{} bytes are no slice of {}: {error}", self.bytes.len(), core::any::type_name::<T>());
            Error::new(ErrorKind::Tensor(found.into()))
        })
    }

    /// The elements as a copy: on any host, wherever the bytes lie.
    ///
    /// Fails with [`ErrorKind::Tensor`] where the scalar type is another one, or a byte is no value (a bool of 2).
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.expect_type::<T>()?;
        let mut element = vec![0; size_of::<T>()];
        let read = |bytes: &[u8]| {
            element.copy_from_slice(bytes);
            if cfg!(target_endian = "big") {
                element.reverse();
            }
            bytemuck::checked::try_pod_read_unaligned(&element).map_err(|error| {
                Error::new(ErrorKind::Tensor(format!("no {}: {error}", core::any::type_name::<T>()).into()))
            })
        };
        self.bytes.chunks_exact(size_of::<T>()).map(read).collect()
    }

    fn expect_type<T: Element>(&self) -> Result<()> {
        if T::SCALAR_TYPES.contains(&self.scalar_type) {
            return Ok(());
        }
        let (expected, found) = (T::SCALAR_TYPES, self.scalar_type);
        let found = format!("elements are {found}; {} holds {expected:?}", core::any::type_name::<T>());
        Err(Error::new(ErrorKind::Tensor(found.into())))
    }

    /// The distance between neighbours in each dimension, in elements.
    ///
    /// Fails with [`ErrorKind::Tensor`] where the dim order is no permutation of the dimensions.
    pub fn strides(&self) -> Result<Vec<i64>> {
        strides(self.sizes, self.dim_order)
    }

    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.scalar_type.element_size().map_or(0, |size| self.bytes.len() / size)
    }
}

/// The distance between neighbours in each dimension of a dense tensor, in elements.
///
/// Fails with [`ErrorKind::Tensor`] where the dim order is no permutation of the dimensions.
pub fn strides(sizes: &[i32], dim_order: &[u8]) -> Result<Vec<i64>> {
    let bad = || Error::new(ErrorKind::Tensor(format!("dim order {dim_order:?} of sizes {sizes:?}").into()));
    if sizes.len() != dim_order.len() {
        return Err(bad());
    }
    let mut strides = vec![None; sizes.len()];
    let mut stride = 1i64;
    for dim in dim_order.iter().rev() {
        let (Some(place @ None), Some(size)) = (strides.get_mut(usize::from(*dim)), sizes.get(usize::from(*dim)))
        else {
            return Err(bad());
        };
        *place = Some(stride);
        // As PyTorch does: an empty dimension counts as one.
        stride = stride.checked_mul(i64::from(*size).max(1)).ok_or_else(bad)?;
    }
    strides.into_iter().map(|stride| stride.ok_or_else(bad)).collect()
}
