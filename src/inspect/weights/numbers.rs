//! The elements of a tensor of any type, as numbers.

use crate::error::{Error, Result};
use crate::quantized::{Dequantized, Stored, bfloat16, half};
use crate::schema::ScalarType;
use crate::tensor::{Element, TensorView, copied};
use alloc::{format, vec, vec::Vec};

/// The number of elements that are decoded at a time.
const CHUNK: usize = 1 << 12;

/// Decodes the elements as numbers; returns `None` for a type without numbers: complex, packed and 8-bit floats.
fn decode(scalar_type: ScalarType, bytes: &[u8]) -> Option<Vec<f64>> {
    fn numbers<T: Element>(bytes: &[u8], number: impl Fn(T) -> f64) -> Option<Vec<f64>> {
        Some(copied::<T>(bytes).ok()?.into_iter().map(number).collect())
    }
    match Stored::of(scalar_type)? {
        Stored::U8 => numbers::<u8>(bytes, f64::from),
        Stored::I8 => numbers::<i8>(bytes, f64::from),
        Stored::I16 => numbers::<i16>(bytes, f64::from),
        Stored::I32 => numbers::<i32>(bytes, f64::from),
        Stored::I64 => numbers::<i64>(bytes, |number| number as f64),
        Stored::U16 => numbers::<u16>(bytes, f64::from),
        Stored::U32 => numbers::<u32>(bytes, f64::from),
        Stored::U64 => numbers::<u64>(bytes, |number| number as f64),
        Stored::F32 => numbers::<f32>(bytes, f64::from),
        Stored::F64 => numbers::<f64>(bytes, |number| number),
        Stored::F16 => numbers::<u16>(bytes, |bits| half(bits).into()),
        Stored::Bf16 => numbers::<u16>(bytes, |bits| bfloat16(bits).into()),
        // Several elements in a byte: no scalar type has this form.
        Stored::LowHalfFirst | Stored::HighHalfFirst | Stored::Quarters => None,
    }
}

/// The distribution of a tensor's values.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Histogram {
    /// The smallest finite value.
    pub min: f64,
    /// The largest finite value.
    pub max: f64,
    /// The mean of the finite values.
    pub mean: f64,
    /// The number of elements that are 0.
    pub zeros: u64,
    /// The number of elements that are infinite or NaN.
    pub not_finite: u64,
    /// The number of finite elements in each of equally wide ranges from `min` to `max`.
    pub bins: Vec<u64>,
}

impl Histogram {
    /// The number of ranges in the histograms of [`Model::weights`](crate::Model::weights).
    pub const BINS: usize = 40;
}

impl TensorView<'_> {
    /// Returns the elements as numbers, whatever their type, in the order of the bytes. Integers above 2^53 are rounded, and a bool is its
    /// byte. A quantized type gives the stored integers; [`Analysis::dequantized`](crate::Analysis::dequantized) applies scales and zero points.
    ///
    /// ```
    /// use executorch_format::Pte;
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/linear/linear.pte")?;
    /// let pte = Pte::parse(&file)?;
    /// for (value, tensor) in pte.methods()[0].tensors() {
    ///     if let Some(view) = pte.tensor_view(tensor)? {
    ///         println!("value {value}: {:?}", view.to_f64()?);
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails with [`ErrorKind::Tensor`](crate::ErrorKind::Tensor) for complex, packed and 8-bit floats.
    pub fn to_f64(&self) -> Result<Vec<f64>> {
        let scalar_type = self.shape().scalar_type;
        decode(scalar_type, self.bytes()).ok_or_else(|| Error::tensor(format!("{scalar_type} has no numbers to read")))
    }

    /// Returns a histogram with this many bins; `None` for a type without numbers (complex, packed and 8-bit floats), or if no element is
    /// finite.
    ///
    /// ```
    /// use executorch_format::Pte;
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/linear/linear.pte")?;
    /// let pte = Pte::parse(&file)?;
    /// for (_, tensor) in pte.methods()[0].tensors() {
    ///     if let Some(histogram) = pte.tensor_view(tensor)?.and_then(|view| view.histogram(8)) {
    ///         println!("{} to {}: {:?}", histogram.min, histogram.max, histogram.bins);
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn histogram(&self, bins: usize) -> Option<Histogram> {
        histogram_of(self.shape().scalar_type, self.bytes(), bins)
    }
}

impl Dequantized<'_> {
    /// Returns a histogram with this many bins; `None` if no number is finite.
    pub fn histogram(&self, bins: usize) -> Option<Histogram> {
        HistogramCounter::new(ScalarType::FLOAT, bins).count(|counter| {
            let mut chunk = Vec::with_capacity(CHUNK.min(self.elements()));
            for number in self.values() {
                chunk.push(f64::from(number));
                if chunk.len() == CHUNK {
                    counter.add_numbers(&chunk);
                    chunk.clear();
                }
            }
            counter.add_numbers(&chunk);
        })
    }
}

/// Returns a histogram of elements of that type.
pub(in crate::inspect) fn histogram_of(scalar_type: ScalarType, bytes: &[u8], bins: usize) -> Option<Histogram> {
    HistogramCounter::new(scalar_type, bins).count(|counter| counter.add(bytes))
}

/// A counter that makes a [`Histogram`] of a tensor whose bytes arrive in pieces. All pieces are added twice: first to find the range
/// of the values, then to count them.
///
/// ```
/// use executorch_format::inspect::HistogramCounter;
/// use executorch_format::schema::ScalarType;
///
/// let pieces = [[1u8, 2], [4, 4]];
/// let mut counter = HistogramCounter::new(ScalarType::BYTE, 3);
/// pieces.iter().for_each(|piece| counter.add(piece));
/// counter.again().unwrap();
/// pieces.iter().for_each(|piece| counter.add(piece));
/// assert_eq!(counter.finish().unwrap().bins, [1, 1, 2]);
/// ```
// For the page, which reads large tensors in pieces.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct HistogramCounter {
    scalar_type: ScalarType,
    bins: usize,
    histogram: Histogram,
    sum: f64,
    finite: u64,
    /// `true` in the second round, in which the range is known and values are counted.
    counts: bool,
}

impl HistogramCounter {
    /// Creates a counter for elements of a type, with this many bins.
    pub fn new(scalar_type: ScalarType, bins: usize) -> Self {
        let histogram = Histogram { min: f64::INFINITY, max: f64::NEG_INFINITY, ..Histogram::default() };
        Self { scalar_type, bins, histogram, sum: 0.0, finite: 0, counts: false }
    }

    /// Adds the next elements, little-endian. Bytes after the last whole element are ignored.
    pub fn add(&mut self, bytes: &[u8]) {
        let Some(element) = self.scalar_type.element_size().filter(|size| *size > 0) else { return };
        for chunk in bytes.chunks(CHUNK * element) {
            let (whole, _) = chunk.split_at(chunk.len() - chunk.len() % element);
            let numbers = decode(self.scalar_type, whole);
            // A type without numbers leaves the histogram unchanged.
            self.add_numbers(&numbers.unwrap_or_default());
        }
    }

    fn add_numbers(&mut self, numbers: &[f64]) {
        let Histogram { min, max, zeros, not_finite, bins, .. } = &mut self.histogram;
        if self.counts {
            // Halved, so that the difference of two large doubles is finite.
            let (least, width) = (*min / 2.0, *max / 2.0 - *min / 2.0);
            for number in numbers.iter().filter(|number| number.is_finite()) {
                let part = if width > 0.0 { (number / 2.0 - least) / width } else { 0.0 };
                let bin = ((part * self.bins as f64) as usize).min(self.bins.saturating_sub(1));
                if let Some(count) = bins.get_mut(bin) {
                    *count += 1;
                }
            }
            return;
        }
        for number in numbers.iter().copied() {
            if number.is_finite() {
                *min = min.min(number);
                *max = max.max(number);
                *zeros += u64::from(number == 0.0);
                self.sum += number;
                self.finite += 1;
            } else {
                *not_finite += 1;
            }
        }
    }

    /// Starts the second round, after all pieces were added once. Returns `None` if no element is finite or the type has no numbers.
    pub fn again(&mut self) -> Option<()> {
        if self.finite == 0 {
            return None;
        }
        self.histogram.mean = self.sum / self.finite as f64;
        self.histogram.bins = vec![0; self.bins];
        self.counts = true;
        Some(())
    }

    /// Runs both rounds, in each of which `add` adds all elements.
    fn count(mut self, add: impl Fn(&mut Self)) -> Option<Histogram> {
        add(&mut self);
        self.again()?;
        add(&mut self);
        self.finish()
    }

    /// Returns the histogram; `None` unless [`again`](Self::again) was called.
    pub fn finish(self) -> Option<Histogram> {
        self.counts.then_some(self.histogram)
    }
}

/// The difference between the values of two tensors of the same shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Distance {
    /// The number of elements.
    pub elements: u64,
    /// The number of elements that differ. Two NaNs are equal.
    pub changed: u64,
    /// The number of elements that differ but have no distance, because one of the two is infinite or NaN.
    pub unbounded: u64,
    /// The largest absolute difference of two finite elements.
    pub absolute: f64,
    /// The largest difference relative to the larger of the two elements.
    pub relative: f64,
    /// The sum of the absolute differences of finite elements.
    pub l1: f64,
    /// The mean squared difference of finite elements.
    pub mse: f64,
    /// The signal-to-noise ratio in decibels, where the first tensor is the signal and the difference is the noise; `None` if one of both is
    /// zero: without noise the ratio is infinite.
    pub snr: Option<f64>,
    /// The cosine similarity of the two tensors, 1 if they point the same way; `None` if one is all zeros.
    pub cosine: Option<f64>,
    /// The number of elements of each tensor that are infinite or NaN.
    pub not_finite: [u64; 2],
}

/// The values of a tensor.
pub(crate) enum Values<'t> {
    /// Values as stored.
    Stored(ScalarType, &'t [u8]),
    /// The dequantized values of a quantized tensor.
    Numbers(Dequantized<'t>),
}

impl<'t> Values<'t> {
    /// Returns the number of bytes to be read.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Stored(_, bytes) => bytes.len() as u64,
            Self::Numbers(numbers) => numbers.elements() as u64,
        }
    }

    /// Iterates over the values, up to [`CHUNK`] at a time; `None` for a type without numbers.
    fn chunks(&self) -> Option<alloc::boxed::Box<dyn Iterator<Item = Vec<f64>> + '_>> {
        Some(match self {
            Self::Stored(scalar_type, bytes) => {
                // Decoding an empty list fails only for a type without numbers.
                decode(*scalar_type, &[])?;
                let chunks = bytes.chunks(CHUNK * scalar_type.element_size()?);
                alloc::boxed::Box::new(chunks.map_while(|chunk| decode(*scalar_type, chunk)))
            }
            Self::Numbers(numbers) => {
                let mut values = numbers.values().map(f64::from);
                alloc::boxed::Box::new(core::iter::from_fn(move || {
                    let chunk: Vec<f64> = values.by_ref().take(CHUNK).collect();
                    (!chunk.is_empty()).then_some(chunk)
                }))
            }
        })
    }
}

/// Returns the distance between two lists of values of the same length; `None` for a type without numbers.
pub(crate) fn distance(before: &Values<'_>, after: &Values<'_>) -> Option<Distance> {
    let mut distance = Distance::default();
    let (mut product, mut square, mut other_square, mut noise) = (0.0, 0.0, 0.0, 0.0);
    let mut finite = 0u64;
    for (left, right) in before.chunks()?.zip(after.chunks()?) {
        for (left, right) in left.into_iter().zip(right) {
            distance.elements += 1;
            let is_changed = left != right && !(left.is_nan() && right.is_nan());
            distance.changed += u64::from(is_changed);
            if !left.is_finite() || !right.is_finite() {
                for (count, number) in distance.not_finite.iter_mut().zip([left, right]) {
                    *count += u64::from(!number.is_finite());
                }
                distance.unbounded += u64::from(is_changed);
                continue;
            }
            let difference = (left - right).abs();
            distance.absolute = distance.absolute.max(difference);
            if difference > 0.0 {
                distance.relative = distance.relative.max(difference / left.abs().max(right.abs()));
            }
            finite += 1;
            distance.l1 += difference;
            noise += difference * difference;
            product += left * right;
            square += left * left;
            other_square += right * right;
        }
    }
    let cosine = product / (square.sqrt() * other_square.sqrt());
    let (mse, snr) = (noise / finite.max(1) as f64, 10.0 * (square / noise).log10());
    let known = |number: f64| number.is_finite().then_some(number);
    Some(Distance { mse, snr: known(snr), cosine: known(cosine), ..distance })
}
