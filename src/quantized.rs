//! Dequantized tensors: the numbers of tensors that are stored in any form.

use crate::error::{Error, Result, counted};
use crate::schema::ScalarType;
#[cfg(feature = "inspect")]
use crate::tensor::TensorView;
#[cfg(feature = "inspect")]
use alloc::vec;
use alloc::{borrow::Cow, format, vec::Vec};

/// The numbers of a constant tensor. For quantized elements, including those of 4 and 2 bits, a number is
/// `(element - zero point) * scale`.
///
/// [`Xnnpack::dequantized`](crate::delegate::xnnpack::Xnnpack::dequantized) returns one for a payload's constant,
/// [`Analysis::dequantized`](crate::Analysis::dequantized) for a program's own constant.
#[derive(Clone, Debug, PartialEq)]
pub struct Dequantized<'t> {
    stored: Stored,
    dims: Cow<'t, [u32]>,
    elements: usize,
    bytes: &'t [u8],
    scales: Parameters<'t>,
    zero_points: Parameters<'t>,
    runs: Runs,
    order: Option<Order>,
}

/// The order of elements that are stored in another order.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Order {
    /// The size of each dimension.
    dims: Vec<u32>,
    /// The size of each dimension and the distance of its elements in memory, the outermost dimension first. A dimension can be several here.
    strides: Vec<(usize, usize)>,
}

impl Order {
    /// Returns the index in memory of an element.
    fn place(&self, mut index: usize) -> usize {
        let mut place = 0;
        for (size, stride) in self.strides.iter().rev() {
            place += index % size * stride;
            index /= size;
        }
        place
    }
}

/// The mapping of elements to scales and zero points: element `i` has number `i / size % count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Runs {
    pub(crate) count: usize,
    pub(crate) size: usize,
}

/// The stored form of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    F16,
    Bf16,
    F32,
    F64,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    /// Two in a byte, the first element in its low half, unsigned.
    LowHalfFirst,
    /// Two in a byte, the first element in its high half, stored plus 8.
    HighHalfFirst,
    /// Four in a byte, the first element in its lowest bits, stored plus 2.
    Quarters,
}

impl Stored {
    /// Returns `None` for types without numbers: complex, packed and 8-bit floats.
    pub(crate) fn of(scalar_type: ScalarType) -> Option<Self> {
        Some(match scalar_type {
            ScalarType::HALF => Self::F16,
            ScalarType::BFLOAT16 => Self::Bf16,
            ScalarType::FLOAT => Self::F32,
            ScalarType::DOUBLE => Self::F64,
            ScalarType::CHAR | ScalarType::QINT8 => Self::I8,
            ScalarType::BYTE | ScalarType::QUINT8 | ScalarType::BOOL => Self::U8,
            ScalarType::SHORT => Self::I16,
            ScalarType::UINT16 => Self::U16,
            ScalarType::INT | ScalarType::QINT32 => Self::I32,
            ScalarType::UINT32 => Self::U32,
            ScalarType::LONG => Self::I64,
            ScalarType::UINT64 => Self::U64,
            _ => return None,
        })
    }

    fn bits(self) -> usize {
        match self {
            Self::Quarters => 2,
            Self::LowHalfFirst | Self::HighHalfFirst => 4,
            Self::I8 | Self::U8 => 8,
            Self::F16 | Self::Bf16 | Self::I16 | Self::U16 => 16,
            Self::F32 | Self::I32 | Self::U32 => 32,
            Self::F64 | Self::I64 | Self::U64 => 64,
        }
    }

    fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// Returns the least and the greatest element of quantizers, which stand for all numbers beyond.
    #[cfg(feature = "inspect")]
    fn limits(self) -> [f64; 2] {
        match self {
            Self::I8 => [-127.0, 127.0],
            Self::U8 => [0.0, 255.0],
            Self::LowHalfFirst => [0.0, 15.0],
            Self::HighHalfFirst => [-8.0, 7.0],
            Self::Quarters => [-2.0, 1.0],
            _ => [f64::NEG_INFINITY, f64::INFINITY],
        }
    }

    /// Returns the size of a row with `columns` elements, in bytes. Each row starts at a new byte.
    pub(crate) fn row_size(self, columns: usize) -> usize {
        columns.saturating_mul(self.bits()).div_ceil(8)
    }

    /// Returns the element in a column of a row, or `None` outside the row.
    fn at(self, row: &[u8], column: usize) -> Option<f64> {
        let start = column.checked_mul(self.bits())?;
        let bytes = row.get(start / 8..(start + self.bits()).div_ceil(8))?;
        let bits = bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        Some(match self {
            Self::F16 => half(bits as u16).into(),
            Self::Bf16 => bfloat16(bits as u16).into(),
            Self::F32 => f32::from_bits(bits as u32).into(),
            Self::F64 => f64::from_bits(bits),
            Self::I8 => f64::from(bits as u8 as i8),
            Self::I16 => f64::from(bits as u16 as i16),
            Self::I32 => f64::from(bits as u32 as i32),
            Self::I64 => bits as i64 as f64,
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => bits as f64,
            Self::LowHalfFirst => (bits >> (start % 8) & 15) as f64,
            Self::HighHalfFirst => (bits >> (4 - start % 8) & 15) as f64 - 8.0,
            Self::Quarters => (bits >> (start % 8) & 3) as f64 - 2.0,
        })
    }
}

/// Scales or zero points: one for all elements, or one for each run of elements.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Parameters<'t> {
    One(f64),
    Floats(&'t [f32]),
    Stored(Stored, &'t [u8]),
}

impl Parameters<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Floats(floats) => floats.len(),
            Self::Stored(stored, bytes) => bytes.len() * 8 / stored.bits(),
        }
    }

    fn get(&self, index: usize) -> Option<f64> {
        match self {
            Self::One(number) => Some(*number),
            Self::Floats(floats) => floats.get(index).copied().map(f64::from),
            Self::Stored(stored, bytes) => stored.at(bytes, index),
        }
    }
}

impl<'t> Dequantized<'t> {
    /// Creates a tensor with the given dimensions. `runs` maps elements to scales and zero points, if these are not the same for all.
    ///
    /// Fails with [`ErrorKind::Tensor`](crate::ErrorKind::Tensor) if the number of bytes, scales or zero points does not match
    /// the dimensions.
    pub(crate) fn new(
        stored: Stored,
        dims: Cow<'t, [u32]>,
        bytes: &'t [u8],
        [scales, zero_points]: [Parameters<'t>; 2],
        runs: Runs,
    ) -> Result<Self> {
        let elements = elements(&dims);
        let columns = dims.last().map_or(1, |columns| (*columns as usize).max(1));
        let size = (elements / columns).saturating_mul(stored.row_size(columns));
        if bytes.len() != size {
            let (size, found) = (counted(size, "byte"), counted(bytes.len(), "byte"));
            return Err(Error::tensor(format!("its elements take {size}, but the constant has {found}")));
        }
        for (what, parameters) in [("scale", &scales), ("zero point", &zero_points)] {
            if !matches!(parameters, Parameters::One(_)) && parameters.len() != runs.count {
                let found = counted(parameters.len(), what);
                return Err(Error::tensor(format!("{found}, expected {}", runs.count)));
            }
        }
        Ok(Self { stored, dims, elements, bytes, scales, zero_points, runs, order: None })
    }

    /// Creates a tensor of elements that are not quantized, in the natural order; `None` for a type without numbers, or another number of
    /// bytes.
    #[cfg(feature = "inspect")]
    pub(crate) fn unquantized(scalar_type: ScalarType, dims: Cow<'t, [u32]>, bytes: &'t [u8]) -> Option<Self> {
        let runs = Runs { count: 1, size: elements(&dims) };
        Self::new(Stored::of(scalar_type)?, dims, bytes, [Parameters::One(1.0), Parameters::One(0.0)], runs).ok()
    }

    /// Returns the elements of a tensor that are not quantized, in PyTorch's order; `None` for a type without numbers.
    #[cfg(feature = "inspect")]
    pub(crate) fn plain(view: &TensorView<'t>) -> Option<Self> {
        let shape = view.shape();
        let sizes: Vec<u32> = shape.sizes.iter().map(|size| size.unsigned_abs()).collect();
        let in_memory = shape.dim_order.iter().map(|dim| sizes.get(usize::from(*dim)).copied()).collect::<Option<_>>();
        let dims: Vec<u32> = if shape.is_natural() { sizes.clone() } else { in_memory? };
        let plain = Self::unquantized(shape.scalar_type, dims.into(), view.bytes())?;
        if shape.is_natural() { Some(plain) } else { plain.permuted(sizes.clone(), &sizes, shape.dim_order) }
    }

    /// Returns the tensor with its elements in another order: that of the sizes `split`, whose dimensions are stored in this order, the
    /// outermost first. `dims` are the same sizes, with adjacent ones multiplied. Returns `None` if they have another number of elements,
    /// or the tensor is permuted already.
    #[cfg(feature = "inspect")]
    pub(crate) fn permuted(self, dims: Vec<u32>, split: &[u32], dim_order: &[u8]) -> Option<Self> {
        let fits = self.order.is_none() && [&*dims, split].iter().all(|sizes| elements(sizes) == self.elements);
        let mut strides = vec![(0, 0); if fits { split.len() } else { return None }];
        let mut stride = 1usize;
        for dim in dim_order.iter().rev() {
            let size = *split.get(usize::from(*dim))? as usize;
            *strides.get_mut(usize::from(*dim))? = (size, stride);
            stride = stride.checked_mul(size.max(1))?;
        }
        // A dimension that the order does not have keeps the size 0.
        let is_whole = self.elements == 0 || strides.iter().all(|(size, _)| *size > 0);
        is_whole.then_some(Self { order: Some(Order { dims, strides }), ..self })
    }

    /// Returns the size of each dimension, in elements. The first dimension is outermost.
    pub fn dims(&self) -> &[u32] {
        self.order.as_ref().map_or(&self.dims, |order| &order.dims)
    }

    /// Returns the number of elements.
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// Returns the scales: one for all elements, or one for each channel, token or group in their order.
    pub fn scales(&self) -> impl Iterator<Item = f32> + '_ {
        (0..self.scales.len()).map_while(|index| Some(self.scales.get(index)? as f32))
    }

    /// Returns the numbers, the last dimension innermost.
    pub fn values(&self) -> impl Iterator<Item = f32> + '_ {
        self.stored().map(|(stored, zero_point, scale)| (stored - zero_point) as f32 * scale)
    }

    /// Returns for each number the range of those that are stored as the same element: they are within `distance` scales, and beyond for
    /// the least and the greatest element.
    #[cfg(feature = "inspect")]
    pub(crate) fn ranges(&self, distance: f32) -> impl Iterator<Item = [f32; 2]> + '_ {
        let [least, greatest] = self.stored.limits();
        self.stored().map(move |(stored, zero_point, scale)| {
            let number = (stored - zero_point) as f32 * scale;
            let reach = if self.stored.is_float() { 0.0 } else { distance * scale.abs() };
            let low = if stored <= least { f32::NEG_INFINITY } else { number - reach };
            let high = if stored >= greatest { f32::INFINITY } else { number + reach };
            [low, high]
        })
    }

    /// Returns each element with its zero point and scale. Elements in floating point are numbers already.
    fn stored(&self) -> impl Iterator<Item = (f64, f64, f32)> + '_ {
        let columns = self.dims.last().map_or(1, |columns| (*columns as usize).max(1));
        let row_size = self.stored.row_size(columns);
        // `new` has checked that there are enough rows, scales and zero points.
        (0..self.elements).map_while(move |index| {
            let index = self.order.as_ref().map_or(index, |order| order.place(index));
            let row = self.bytes.get(index / columns * row_size..)?;
            let stored = self.stored.at(row, index % columns)?;
            if self.stored.is_float() {
                return Some((stored, 0.0, 1.0));
            }
            let run = index / self.runs.size.max(1) % self.runs.count.max(1);
            Some((stored, self.zero_points.get(run)?, self.scales.get(run)? as f32))
        })
    }

    /// Returns the numbers, copied.
    pub fn to_vec(&self) -> Vec<f32> {
        self.values().collect()
    }
}

/// Returns the number of elements of a tensor.
pub(crate) fn elements(dims: &[u32]) -> usize {
    if dims.contains(&0) {
        return 0;
    }
    dims.iter().fold(1usize, |count, size| count.saturating_mul(*size as usize))
}

pub(crate) fn bfloat16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Converts IEEE half precision, since the crate `half` is optional.
pub(crate) fn half(bits: u16) -> f32 {
    let (sign, fraction) = (u32::from(bits >> 15) << 31, u32::from(bits & 0x3ff));
    match u32::from(bits >> 10 & 31) {
        0 => {
            let least = f32::from_bits((127 - 24) << 23);
            let size = fraction as f32 * least;
            if sign == 0 { size } else { -size }
        }
        31 => f32::from_bits(sign | 0xff << 23 | fraction << 13),
        exponent => f32::from_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_follows_ieee() {
        for (bits, expected) in [
            (0, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (1, 5.960_464_5e-8),
            (0x8000, -0.0),
            (0x3555, 0.333_251_95),
        ] {
            assert_eq!(half(bits).to_bits(), f32::to_bits(expected), "{bits:#x}");
        }
        assert!(half(0x7c00) == f32::INFINITY && half(0xfc00) == f32::NEG_INFINITY && half(0x7e00).is_nan());
        assert_eq!(bfloat16(0x3f80), 1.0);
    }

    #[test]
    fn elements_below_a_byte_are_read_from_rows_of_whole_bytes() {
        let one = || [Parameters::One(1.0), Parameters::One(0.0)];
        let all = Runs { count: 1, size: 6 };
        let of = |stored, bytes: &'static [u8]| {
            Dequantized::new(stored, Cow::Borrowed(&[2, 3]), bytes, one(), all).unwrap().to_vec()
        };
        assert_eq!(of(Stored::LowHalfFirst, &[0x21, 0x03, 0x54, 0x06]), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(of(Stored::HighHalfFirst, &[0x12, 0x30, 0x8f, 0x90]), [-7.0, -6.0, -5.0, 0.0, 7.0, 1.0]);
        assert_eq!(of(Stored::Quarters, &[0b10_01_00, 0b10_01_11]), [-2.0, -1.0, 0.0, 1.0, -1.0, 0.0]);
        let short = Dequantized::new(Stored::LowHalfFirst, Cow::Borrowed(&[2, 3]), &[0; 3], one(), all);
        assert!(alloc::format!("{}", short.unwrap_err()).contains("take 4 bytes, but the constant has 3 bytes"));
    }

    #[cfg(feature = "inspect")]
    #[test]
    fn the_least_and_the_greatest_element_stand_for_all_numbers_beyond() {
        let parameters = [Parameters::One(0.5), Parameters::One(0.0)];
        let all = Runs { count: 1, size: 4 };
        let quarters = Dequantized::new(Stored::Quarters, Cow::Borrowed(&[4]), &[0b11_10_01_00], parameters, all);
        let expected = [[f32::NEG_INFINITY, -0.75], [-0.75, -0.25], [-0.25, 0.25], [0.25, f32::INFINITY]];
        assert!(quarters.unwrap().ranges(0.5).eq(expected));
    }

    #[cfg(feature = "inspect")]
    #[test]
    fn permuted_elements_keep_the_scale_of_their_channel() {
        let scales = [Parameters::Floats(&[1.0, 10.0]), Parameters::One(0.0)];
        let runs = Runs { count: 2, size: 1 };
        let stored = Dequantized::new(Stored::I8, Cow::Borrowed(&[3, 2]), &[1, 2, 3, 4, 5, 6], scales, runs).unwrap();
        let turned = stored.clone().permuted(vec![2, 3], &[2, 3], &[1, 0]).unwrap();
        assert_eq!((turned.dims(), turned.to_vec()), (&[2, 3][..], vec![1.0, 3.0, 5.0, 20.0, 40.0, 60.0]));
        assert_eq!(turned.permuted(vec![3, 2], &[3, 2], &[1, 0]), None);
        assert_eq!(stored.clone().permuted(vec![2, 2], &[2, 2], &[1, 0]), None);
        assert_eq!(stored.permuted(vec![6], &[2, 3], &[1, 1]), None);
    }

    #[test]
    fn each_run_has_its_scale_and_its_zero_point() {
        let parameters = [Parameters::Floats(&[0.5, 2.0]), Parameters::Stored(Stored::I8, &[1, 0xff])];
        let of =
            |parameters, runs| Dequantized::new(Stored::U8, Cow::Borrowed(&[2, 2]), &[1, 3, 0, 1], parameters, runs);
        let rows = Runs { count: 2, size: 2 };
        assert_eq!(of(parameters.clone(), rows).unwrap().to_vec(), [0.0, 1.0, 2.0, 4.0]);
        let columns = Runs { count: 2, size: 1 };
        assert_eq!(of(parameters, columns).unwrap().to_vec(), [0.0, 8.0, -0.5, 4.0]);
        let few = of([Parameters::Floats(&[0.5]), Parameters::One(0.0)], rows);
        assert!(alloc::format!("{}", few.unwrap_err()).contains("1 scale, expected 2"));
    }
}
