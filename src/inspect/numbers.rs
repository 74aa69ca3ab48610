//! The elements of a tensor as numbers, whatever their type.

use crate::quantized::Dequantized;
use crate::schema::ScalarType;
use crate::tensor::{Element, TensorView, copied};
use alloc::{vec, vec::Vec};

/// Elements that are decoded at a time.
const CHUNK: usize = 1 << 14;

/// The elements as numbers; `None` for a type that has no numbers: complex, packed and 8-bit floats, and halves without the feature
/// `half`.
fn decode(scalar_type: ScalarType, bytes: &[u8]) -> Option<Vec<f64>> {
    fn numbers<T: Element>(bytes: &[u8], number: impl Fn(T) -> f64) -> Option<Vec<f64>> {
        Some(copied::<T>(bytes).ok()?.into_iter().map(number).collect())
    }
    match scalar_type {
        ScalarType::BYTE | ScalarType::QUINT8 => numbers::<u8>(bytes, f64::from),
        ScalarType::CHAR | ScalarType::QINT8 => numbers::<i8>(bytes, f64::from),
        ScalarType::SHORT => numbers::<i16>(bytes, f64::from),
        ScalarType::INT | ScalarType::QINT32 => numbers::<i32>(bytes, f64::from),
        ScalarType::LONG => numbers::<i64>(bytes, |number| number as f64),
        ScalarType::UINT16 => numbers::<u16>(bytes, f64::from),
        ScalarType::UINT32 => numbers::<u32>(bytes, f64::from),
        ScalarType::UINT64 => numbers::<u64>(bytes, |number| number as f64),
        ScalarType::FLOAT => numbers::<f32>(bytes, f64::from),
        ScalarType::DOUBLE => numbers::<f64>(bytes, |number| number),
        // A byte that is no bool counts as its number.
        ScalarType::BOOL => Some(bytes.iter().copied().map(f64::from).collect()),
        #[cfg(feature = "half")]
        ScalarType::HALF => numbers::<half::f16>(bytes, f64::from),
        #[cfg(feature = "half")]
        ScalarType::BFLOAT16 => numbers::<half::bf16>(bytes, f64::from),
        _ => None,
    }
}

/// How the values of a tensor are spread.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Histogram {
    /// The smallest finite value.
    pub min: f64,
    /// The largest finite value.
    pub max: f64,
    /// The mean of the finite values.
    pub mean: f64,
    /// How many elements are 0.
    pub zeros: u64,
    /// How many elements are infinite or no number.
    pub not_finite: u64,
    /// How many finite elements are in each of equally wide ranges from `min` to `max`.
    pub bins: Vec<u64>,
}

impl TensorView<'_> {
    /// How the values are spread over this many ranges; `None` for a type that has no numbers (complex, packed and 8-bit floats, and
    /// halves without the feature `half`), and where no element is finite.
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
        let element = self.shape().scalar_type.element_size()?;
        Histogram::of(bins, &|each| {
            for bytes in self.bytes().chunks(CHUNK * element) {
                each(&decode(self.shape().scalar_type, bytes).unwrap_or_default());
            }
        })
    }
}

impl Dequantized<'_> {
    /// How the numbers are spread over this many ranges; `None` where no element is finite.
    pub fn histogram(&self, bins: usize) -> Option<Histogram> {
        Histogram::of(bins, &|each| {
            let mut chunk = Vec::with_capacity(CHUNK.min(self.elements()));
            for number in self.values() {
                chunk.push(f64::from(number));
                if chunk.len() == CHUNK {
                    each(&chunk);
                    chunk.clear();
                }
            }
            each(&chunk);
        })
    }
}

/// Takes some of the numbers.
type Each<'e> = &'e mut dyn FnMut(&[f64]);

impl Histogram {
    /// Of the numbers that `all` gives, in parts; it is called twice.
    fn of(bins: usize, all: &dyn Fn(Each<'_>)) -> Option<Self> {
        let mut histogram = Self { min: f64::INFINITY, max: f64::NEG_INFINITY, ..Self::default() };
        let (mut sum, mut finite) = (0.0, 0u64);
        all(&mut |numbers| {
            for number in numbers.iter().copied() {
                if number.is_finite() {
                    histogram.min = histogram.min.min(number);
                    histogram.max = histogram.max.max(number);
                    histogram.zeros += u64::from(number == 0.0);
                    sum += number;
                    finite += 1;
                } else {
                    histogram.not_finite += 1;
                }
            }
        });
        if finite == 0 {
            return None;
        }
        histogram.mean = sum / finite as f64;
        let mut counts = vec![0; bins];
        // Halved, so that the range of the largest doubles is finite.
        let (least, width) = (histogram.min / 2.0, histogram.max / 2.0 - histogram.min / 2.0);
        all(&mut |numbers| {
            for number in numbers.iter().filter(|number| number.is_finite()) {
                let part = if width > 0.0 { (number / 2.0 - least) / width } else { 0.0 };
                let bin = ((part * bins as f64) as usize).min(bins.saturating_sub(1));
                if let Some(count) = counts.get_mut(bin) {
                    *count += 1;
                }
            }
        });
        Some(Self { bins: counts, ..histogram })
    }
}

/// How far the values of two tensors of one shape are apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Distance {
    /// Elements.
    pub elements: u64,
    /// Elements that differ. Two that are no number are equal.
    pub changed: u64,
    /// Elements that differ and have no distance, since one of both is infinite or no number.
    pub unbounded: u64,
    /// The largest absolute difference of two finite elements.
    pub absolute: f64,
    /// The largest difference relative to the larger of both elements.
    pub relative: f64,
    /// The cosine of the angle between both, 1 where they point the same way; `None` where one has no direction.
    pub cosine: Option<f64>,
}

/// How far two lists of elements of the same type and length are apart; `None` for a type that has no numbers.
#[cfg(feature = "diff")]
pub(crate) fn distance(scalar_type: ScalarType, before: &[u8], after: &[u8]) -> Option<Distance> {
    let element = scalar_type.element_size()?;
    let mut distance = Distance::default();
    let (mut product, mut square, mut other_square) = (0.0, 0.0, 0.0);
    let (before, after) = (before.chunks(CHUNK * element), after.chunks(CHUNK * element));
    for (one, other) in before.zip(after) {
        for (one, other) in decode(scalar_type, one)?.into_iter().zip(decode(scalar_type, other)?) {
            distance.elements += 1;
            let is_changed = one != other && !(one.is_nan() && other.is_nan());
            distance.changed += u64::from(is_changed);
            if !one.is_finite() || !other.is_finite() {
                distance.unbounded += u64::from(is_changed);
                continue;
            }
            let difference = (one - other).abs();
            distance.absolute = distance.absolute.max(difference);
            if difference > 0.0 {
                distance.relative = distance.relative.max(difference / one.abs().max(other.abs()));
            }
            product += one * other;
            square += one * one;
            other_square += other * other;
        }
    }
    let cosine = product / (square.sqrt() * other_square.sqrt());
    Some(Distance { cosine: cosine.is_finite().then_some(cosine), ..distance })
}
