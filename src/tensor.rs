//! Tensors: shapes, and bytes as elements.

use crate::error::{Error, Result, counted};
use crate::schema::ScalarType;
use crate::schema::flat_tensor::TensorLayout;
use crate::schema::program::{Tensor, TensorDataLocation, TensorShapeDynamism};
use alloc::{format, string::String, vec, vec::Vec};
use core::fmt::{self, Write};

/// The shape of a tensor: the type of its elements, its sizes and its dim order.
///
/// The runtime refuses more than 16 dimensions. Text and JSON show at most [`MAX_SHOWN`](Self::MAX_SHOWN), followed by the total
/// number, because many values can share one long list.
///
/// Its text is `f32[2, 3]`, or `f32[1, 3, 8, 8] dim order 0,2,3,1` if the dim order is not the natural one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct TensorShape<'t> {
    /// The type of the elements.
    pub scalar_type: ScalarType,
    /// The size of each dimension, in elements.
    #[cfg_attr(feature = "serde", serde(serialize_with = "first_items"))]
    #[cfg_attr(feature = "schemars", schemars(with = "FirstItems<i32>"))]
    pub sizes: &'t [i32],
    /// The dimensions in storage order, outermost first: a permutation of 0..rank.
    #[cfg_attr(feature = "serde", serde(serialize_with = "first_items"))]
    #[cfg_attr(feature = "schemars", schemars(with = "FirstItems<u8>"))]
    pub dim_order: &'t [u8],
}

/// Serializes the first items of a list and, if there are more, the total number: `[1, 1, "…(100000 in all)"]`.
#[cfg(feature = "serde")]
pub(crate) fn first_items<T: serde::Serialize, S: serde::Serializer>(
    list: &&[T],
    serializer: S,
) -> core::result::Result<S::Ok, S::Error> {
    use serde::ser::SerializeSeq;
    let Some(first) = list.get(..TensorShape::MAX_SHOWN).filter(|first| first.len() < list.len()) else {
        return serializer.collect_seq(*list);
    };
    let mut items = serializer.serialize_seq(Some(first.len() + 1))?;
    first.iter().try_for_each(|item| items.serialize_element(item))?;
    items.serialize_element(&format_args!("…({} in all)", list.len()))?;
    items.end()
}

/// The form in which [`first_items`] serializes a list.
#[cfg(feature = "schemars")]
pub(crate) struct FirstItems<T>(T);

crate::json_schema::json_schema!(FirstItems<T>, |generator| schemars::json_schema!({
    "type": "array",
    "items": {"anyOf": [generator.subschema_for::<T>(), {"type": "string", "pattern": r"^…\(\d+ in all\)$"}]},
}));

/// ExecuTorch's `kTensorDimensionLimit`: the runtime rejects a tensor of a higher rank.
#[cfg(feature = "verify")]
pub(crate) const RUNTIME_RANK: usize = 16;

/// The largest number of dimensions in a dim order, whose items are bytes.
const HIGHEST_RANK: usize = 256;

impl TensorShape<'_> {
    /// The largest number of dimensions that are shown. The runtime takes up to 16.
    pub const MAX_SHOWN: usize = 64;

    /// Computes the size of the elements, in bytes.
    ///
    /// Fails with [`ErrorKind::Tensor`](crate::ErrorKind::Tensor) if a size is negative, the product overflows, the scalar type
    /// is unknown, or there are more than 256 dimensions.
    pub fn byte_size(&self) -> Result<u64> {
        self.count_bytes().map_err(|reason| {
            Error::tensor(match reason {
                Uncountable::Rank => format!("it has {} dimensions, expected at most {HIGHEST_RANK}", self.sizes.len()),
                Uncountable::Type => format!("the scalar type {} is unknown", self.scalar_type),
                Uncountable::Negative(dimension) => format!("dimension {dimension} has a negative size"),
                Uncountable::Elements => "the number of elements does not fit in 63 bits".into(),
                Uncountable::Bytes => "the size in bytes does not fit in 64 bits".into(),
            })
        })
    }

    /// Computes the size in bytes as the runtime does: elements in an `i64`, bytes in a `u64`.
    pub(crate) fn count_bytes(&self) -> core::result::Result<u64, Uncountable> {
        if self.sizes.len() > HIGHEST_RANK {
            return Err(Uncountable::Rank);
        }
        if let Some(index) = self.sizes.iter().position(|size| *size < 0) {
            return Err(Uncountable::Negative(index));
        }
        let product = |elements: i64, size: &i32| elements.checked_mul(i64::from(*size));
        let elements = self.sizes.iter().try_fold(1, product).ok_or(Uncountable::Elements)?;
        let element = self.scalar_type.element_size().ok_or(Uncountable::Type)?;
        (elements as u64).checked_mul(element as u64).ok_or(Uncountable::Bytes)
    }

    /// Computes the strides of a dense tensor: the distance between neighbours in each dimension, in elements.
    ///
    /// Fails with [`ErrorKind::Tensor`](crate::ErrorKind::Tensor) if the dim order is not a permutation of the dimensions, or a stride
    /// overflows.
    pub fn strides(&self) -> Result<Vec<i64>> {
        let Self { sizes, dim_order, .. } = self;
        let bad = || {
            let (rank, order) = (sizes.len(), dim_order.len());
            let found = format!("{self}, with {rank} sizes and {order} dimensions in its dim order");
            Error::tensor(format!("{found}, has no valid strides"))
        };
        if sizes.len() != dim_order.len() || sizes.len() > HIGHEST_RANK {
            return Err(bad());
        }
        // 0 for a dimension without a stride so far.
        let mut strides = vec![0i64; sizes.len()];
        let mut stride = 1i64;
        for dim in dim_order.iter().rev() {
            let (Some(place @ 0), Some(size)) = (strides.get_mut(usize::from(*dim)), sizes.get(usize::from(*dim)))
            else {
                return Err(bad());
            };
            *place = stride;
            // As in PyTorch, a size of 0 counts as 1.
            stride = stride.checked_mul(i64::from(*size).max(1)).ok_or_else(bad)?;
        }
        Ok(strides)
    }

    /// Returns `true` if the dimensions are stored in their natural order.
    pub fn is_natural(&self) -> bool {
        self.dim_order.iter().enumerate().all(|(index, dim)| usize::from(*dim) == index)
    }

    /// Returns `true` if each element, counted in row-major order, is at the same place in both tensors. Dimensions of size 1 do not count.
    /// Returns `true` also if that is unknown: if a tensor contradicts itself, or has more dimensions than the runtime supports.
    #[cfg(feature = "verify")]
    pub(crate) fn is_laid_out_like(&self, other: &Self) -> bool {
        if self.is_natural() && other.is_natural() || self.sizes.len().max(other.sizes.len()) > RUNTIME_RANK {
            return true;
        }
        match (self.runs(), other.runs()) {
            (Some(left), Some(right)) => left == right || self.sizes.contains(&0) || other.sizes.contains(&0),
            _ => true,
        }
    }

    /// Returns the sizes and strides of the dimensions, after merging those whose elements follow each other: two tensors with as many elements
    /// have the same layout exactly if these are equal.
    fn runs(&self) -> Option<Vec<(i64, i64)>> {
        let strides = self.strides().ok().filter(|strides| strides.len() == self.sizes.len())?;
        let mut runs: Vec<(i64, i64)> = Vec::new();
        for (size, stride) in self.sizes.iter().map(|size| i64::from(*size)).zip(strides).filter(|(size, _)| *size != 1)
        {
            match runs.last_mut() {
                Some((all, last)) if stride.checked_mul(size) == Some(*last) => {
                    (*all, *last) = (all.checked_mul(size)?, stride);
                }
                _ => runs.push((size, stride)),
            }
        }
        Some(runs)
    }

    /// Formats the shape as `Display` does, but shows upper bounds as `<=8` and unbounded sizes as `?`.
    pub fn to_string_with(&self, dynamism: TensorShapeDynamism) -> String {
        // Enough for most shapes.
        let mut text = String::with_capacity(32);
        self.push_to(&mut text, dynamism);
        text
    }

    /// Appends what [`TensorShape::to_string_with`] returns to a text.
    pub fn push_to(&self, text: &mut String, dynamism: TensorShapeDynamism) {
        match self.scalar_type.short_name() {
            Some(name) => *text += name,
            None => *text += &format!("type {}", self.scalar_type.0),
        }
        text.push('[');
        for (index, size) in self.sizes.iter().take(Self::MAX_SHOWN).enumerate() {
            *text += if index > 0 { ", " } else { "" };
            // Writing to a `String` does not fail.
            let _ = match dynamism {
                TensorShapeDynamism::DYNAMIC_BOUND => write!(text, "<={size}"),
                TensorShapeDynamism::DYNAMIC_UNBOUND => text.write_char('?'),
                _ => write!(text, "{size}"),
            };
        }
        if self.sizes.len() > Self::MAX_SHOWN {
            *text += &format!(", …({} dimensions)", self.sizes.len());
        }
        text.push(']');
        if !self.is_natural() {
            for (index, dim) in self.dim_order.iter().take(Self::MAX_SHOWN).enumerate() {
                *text += &format!("{}{dim}", if index > 0 { "," } else { " dim order " });
            }
            if self.dim_order.len() > Self::MAX_SHOWN {
                *text += ",…";
            }
        }
    }
}

impl fmt::Display for TensorShape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_string_with(TensorShapeDynamism::STATIC))
    }
}

/// The reason why a size in bytes is unknown.
pub(crate) enum Uncountable {
    /// The size of this dimension is negative.
    Negative(usize),
    /// There are more dimensions than a dim order can have.
    Rank,
    /// The number of elements does not fit in an `i64`.
    Elements,
    /// The size in bytes does not fit in a `u64`.
    Bytes,
    /// The type of the elements is unknown.
    Type,
}

impl Tensor<'_> {
    /// Returns the shape. If it is dynamic, the sizes are upper bounds.
    pub fn shape(&self) -> TensorShape<'_> {
        TensorShape { scalar_type: self.scalar_type, sizes: self.sizes(), dim_order: self.dim_order() }
    }

    /// Returns the size of the elements, in bytes; see [`TensorShape::byte_size`].
    pub fn byte_size(&self) -> Result<u64> {
        self.shape().byte_size()
    }

    /// Returns `true` if the bytes are in a `.ptd` file, under the name in `extra_tensor_info`.
    pub fn is_external(&self) -> bool {
        self.extra_tensor_info.as_deref().is_some_and(|extra| extra.location == TensorDataLocation::EXTERNAL)
    }

    /// Returns `true` for a constant and for a tensor with an initial state, in this file or in a `.ptd` file.
    pub(crate) fn has_data(&self) -> bool {
        self.data_buffer_idx > 0 || self.is_external()
    }

    /// Returns the name of the parameter or buffer, if it has one. For an external tensor, it is the key in the `.ptd`.
    pub fn fully_qualified_name(&self) -> Option<&str> {
        self.extra_tensor_info.as_deref()?.fully_qualified_name.as_deref()
    }
}

impl<'a> TensorLayout<'a> {
    /// Returns the shape.
    pub fn shape(&self) -> TensorShape<'_> {
        TensorShape { scalar_type: self.scalar_type, sizes: self.sizes(), dim_order: self.dim_order() }
    }
}

impl<'t> From<TensorShape<'t>> for TensorLayout<'t> {
    fn from(shape: TensorShape<'t>) -> Self {
        let TensorShape { scalar_type, sizes, dim_order } = shape;
        Self { scalar_type, sizes: Some(sizes.into()), dim_order: Some(dim_order.into()) }
    }
}

/// A tensor: its shape and its bytes. [`TensorView::new`] checks that their sizes match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorView<'t> {
    shape: TensorShape<'t>,
    bytes: &'t [u8],
}

/// The bounds for reading elements, outside the public trait, so that the crate that casts them is not part of the API.
pub trait Cast: bytemuck::CheckedBitPattern + bytemuck::NoUninit {}

/// A Rust type for a tensor's elements. This trait cannot be implemented outside this crate.
pub trait Element: Cast + Copy {
    /// The scalar types whose elements have this Rust type.
    const SCALAR_TYPES: &'static [ScalarType];
}

macro_rules! elements {
    ($($type:ty: $($name:ident)*;)*) => {$(
        impl Cast for $type {}

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
    /// Creates a view of bytes as a tensor of the given shape.
    ///
    /// Fails with [`ErrorKind::Tensor`](crate::ErrorKind::Tensor) if the shape takes more or fewer bytes.
    pub fn new(shape: TensorShape<'t>, bytes: &'t [u8]) -> Result<Self> {
        let size = shape.byte_size()?;
        if bytes.len() as u64 != size {
            let (size, found) = (counted(size, "byte"), counted(bytes.len(), "byte"));
            return Err(Error::tensor(format!("{shape} takes {size}, but the data has {found}")));
        }
        Ok(Self { shape, bytes })
    }

    /// Returns the shape.
    pub fn shape(&self) -> TensorShape<'t> {
        self.shape
    }

    /// Returns the elements, little-endian, in the order given by the dim order.
    pub fn bytes(&self) -> &'t [u8] {
        self.bytes
    }

    /// Returns the elements as a slice, without copying.
    ///
    /// Fails with [`ErrorKind::Tensor`](crate::ErrorKind::Tensor) if the scalar type does not match `T`, if the bytes are misaligned
    /// in memory, if an element is invalid (a bool of 2), and on a big-endian host. For misaligned bytes and on big-endian hosts, use
    /// [`to_vec`](Self::to_vec).
    pub fn as_slice<T: Element>(&self) -> Result<&'t [T]> {
        self.expect_type::<T>()?;
        if cfg!(target_endian = "big") && size_of::<T>() > 1 {
            return Err(Error::tensor(
                "the elements are little-endian and this machine is big-endian: copy them with to_vec",
            ));
        }
        bytemuck::checked::try_cast_slice(self.bytes).map_err(|error| {
            let (size, name) = (counted(self.bytes.len(), "byte"), core::any::type_name::<T>());
            Error::tensor(format!("cannot borrow {size} as a slice of {name}: {error}"))
        })
    }

    /// Copies the elements. This works on any host and for any alignment of the bytes.
    ///
    /// Fails with [`ErrorKind::Tensor`](crate::ErrorKind::Tensor) if the scalar type does not match `T`, or an element is invalid (a
    /// bool of 2).
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.expect_type::<T>()?;
        copied(self.bytes)
    }

    /// Copies the bytes with the elements in another dim order.
    ///
    /// Fails with [`ErrorKind::Tensor`](crate::ErrorKind::Tensor) if either dim order is not a permutation of the dimensions.
    pub fn in_dim_order(&self, dim_order: &[u8]) -> Result<Vec<u8>> {
        let strides = self.shape.strides()?;
        TensorShape { dim_order, ..self.shape }.strides()?;
        if self.bytes.is_empty() {
            return Ok(Vec::new());
        }
        // The element size is known: the bytes were counted when the view was created.
        let element = self.shape.scalar_type.element_size().unwrap_or(1);
        // The size of a dimension, and the distance between neighbours in bytes.
        let place = |dim: &u8| {
            let size = self.shape.sizes.get(usize::from(*dim)).map_or(0, |size| *size as usize);
            (size, strides.get(usize::from(*dim)).map_or(0, |stride| *stride as usize * element))
        };
        let mut dims: Vec<(usize, usize)> = dim_order.iter().map(place).collect();
        // Elements that are neighbours in both orders are copied together.
        let mut run = element;
        while let Some((size, _)) = dims.last().filter(|(size, distance)| *distance == run || *size == 1) {
            run *= size;
            dims.pop();
        }
        let mut counters = vec![0usize; dims.len()];
        let (mut bytes, mut at) = (Vec::with_capacity(self.bytes.len()), 0usize);
        while bytes.len() < self.bytes.len() {
            let part = self.bytes.get(at..).and_then(|rest| rest.get(..run));
            bytes.extend_from_slice(part.ok_or_else(|| Error::tensor("an element is outside its tensor"))?);
            for (counter, (size, distance)) in counters.iter_mut().zip(&dims).rev() {
                *counter += 1;
                at += distance;
                if *counter < *size {
                    break;
                }
                at -= distance * *counter;
                *counter = 0;
            }
        }
        Ok(bytes)
    }

    fn expect_type<T: Element>(&self) -> Result<()> {
        let found = self.shape.scalar_type;
        if T::SCALAR_TYPES.contains(&found) {
            return Ok(());
        }
        let (name, expected) = (core::any::type_name::<T>(), T::SCALAR_TYPES);
        Err(Error::tensor(format!("the elements are {found}, but {name} is for {expected:?}")))
    }

    /// Returns the number of elements.
    pub fn elements(&self) -> usize {
        self.shape.scalar_type.element_size().map_or(0, |size| self.bytes.len() / size)
    }
}

/// Copies little-endian elements from `bytes`, on any host and for any alignment.
pub(crate) fn copied<T: Element>(bytes: &[u8]) -> Result<Vec<T>> {
    let mut element = vec![0; size_of::<T>()];
    let mut elements = Vec::with_capacity(bytes.len() / size_of::<T>());
    for bytes in bytes.chunks_exact(size_of::<T>()) {
        element.copy_from_slice(bytes);
        if cfg!(target_endian = "big") {
            element.reverse();
        }
        match bytemuck::checked::try_pod_read_unaligned(&element) {
            Ok(element) => elements.push(element),
            Err(error) => return Err(invalid(core::any::type_name::<T>(), &error)),
        }
    }
    Ok(elements)
}

fn invalid(name: &str, error: &dyn fmt::Display) -> Error {
    Error::tensor(format!("an element is not a valid {name}: {error}"))
}
