//! Numbers as a FlatBuffer stores them: little-endian on every host.

use alloc::{borrow::Cow, boxed::Box, vec::Vec};

/// A value that is stored inline in a table, or side by side in a vector.
pub(crate) trait Number: Copy + Default + PartialEq + 'static {
    /// Its size in bytes, which is also its alignment.
    const SIZE: usize;

    const IS_BOOL: bool = false;

    /// The schema's names of the values of an enumeration.
    const NAMES: &'static [&'static str] = &[];

    /// Returns the value of an enumeration that the schema calls so.
    fn named(_: &[u8]) -> Option<Self> {
        None
    }

    /// Returns the number in the first `SIZE` bytes; `None` if there are fewer.
    fn read(bytes: &[u8]) -> Option<Self>;

    /// Returns its bits; those above `SIZE` bytes are 0.
    fn bits(self) -> u64;

    /// Returns the number with these bits; those above `SIZE` bytes are ignored.
    fn from_bits(bits: u64) -> Self {
        // No number takes more than 8 bytes.
        Self::read(&bits.to_le_bytes()).unwrap_or_default()
    }

    /// Returns the elements of a vector: borrowed if the host's alignment and byte order allow it, copied otherwise.
    fn slice(bytes: &[u8]) -> Cow<'_, [Self]> {
        Cow::Owned(copied(bytes).into_vec())
    }

    /// Writes the numbers to the start of `bytes`.
    fn put(numbers: &[Self], bytes: &mut [u8]) {
        for (number, room) in numbers.iter().zip(bytes.chunks_exact_mut(Self::SIZE)) {
            // No number takes more than 8 bytes.
            room.copy_from_slice(number.bits().to_le_bytes().get(..Self::SIZE).unwrap_or_default());
        }
    }
}

/// Returns a number as text, if the type has it. Each type's own `parse` would be compiled again.
pub(crate) fn parsed<T: TryFrom<i64>>(text: &str) -> Option<T> {
    T::try_from(text.parse::<i64>().ok()?).ok()
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Number for $type {
            const SIZE: usize = size_of::<$type>();

            #[cfg_attr(not(target_family = "wasm"), inline(always))]
            fn read(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk().map(|bytes| Self::from_le_bytes(*bytes))
            }

            #[cfg_attr(not(target_family = "wasm"), inline(always))]
            fn bits(self) -> u64 {
                let mut bits = [0; 8];
                for (bit, byte) in bits.iter_mut().zip(self.to_le_bytes()) {
                    *bit = byte;
                }
                u64::from_le_bytes(bits)
            }

            #[cfg_attr(not(target_family = "wasm"), inline(always))]
            fn slice(bytes: &[u8]) -> Cow<'_, [Self]> {
                if cfg!(target_endian = "little") || Self::SIZE == 1 {
                    if let Ok(slice) = bytemuck::try_cast_slice(bytes) {
                        return Cow::Borrowed(slice);
                    }
                }
                Cow::Owned(copied(bytes).into_vec())
            }

            #[cfg_attr(not(target_family = "wasm"), inline(always))]
            fn put(numbers: &[Self], bytes: &mut [u8]) {
                if cfg!(target_endian = "little") || Self::SIZE == 1 {
                    let numbers: &[u8] = bytemuck::must_cast_slice(numbers);
                    if let Some(room) = bytes.get_mut(..numbers.len()) {
                        return room.copy_from_slice(numbers);
                    }
                }
                for (number, room) in numbers.iter().zip(bytes.chunks_exact_mut(Self::SIZE)) {
                    room.copy_from_slice(&number.to_le_bytes());
                }
            }
        }
    )*};
}

numbers!(i8, u8, i16, u16, i32, u32, i64, u64, f32, f64);

/// Any byte other than 0 is true, as in the official readers; `true` is written as 1.
impl Number for bool {
    const SIZE: usize = 1;
    const IS_BOOL: bool = true;

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.first().map(|byte| *byte != 0)
    }

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn bits(self) -> u64 {
        u64::from(self)
    }

    fn slice(bytes: &[u8]) -> Cow<'_, [Self]> {
        match bytemuck::checked::try_cast_slice(bytes) {
            Ok(slice) => Cow::Borrowed(slice),
            Err(_) => Cow::Owned(copied(bytes).into_vec()),
        }
    }
}

/// Returns the numbers in a box, which is returned in registers. If they came as a list, which is returned in memory, what is borrowed
/// instead would go through memory as well: that was an eighth of the time of parsing.
#[cold]
fn copied<T: Number>(bytes: &[u8]) -> Box<[T]> {
    let mut numbers = Vec::with_capacity(bytes.len() / T::SIZE);
    for bytes in bytes.chunks_exact(T::SIZE) {
        // A chunk has `SIZE` bytes.
        numbers.push(T::read(bytes).unwrap_or_default());
    }
    numbers.into_boxed_slice()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use alloc::vec;
    use core::fmt::Debug;

    fn both_ways<T: Number + Debug>(numbers: &[T]) {
        let mut bytes = vec![0xaa; numbers.len() * T::SIZE + 1];
        T::put(numbers, bytes.get_mut(1..).unwrap());
        // One byte past an aligned address: nothing wider than a byte can be borrowed.
        assert_eq!(*T::slice(bytes.get(1..).unwrap()), *numbers);
        for number in numbers {
            assert_eq!(T::from_bits(number.bits() | u64::MAX.checked_shl(8 * T::SIZE as u32).unwrap_or(0)), *number);
        }
    }

    #[test]
    fn every_width_is_written_and_read_back() {
        both_ways(&[0i8, -1, i8::MIN, i8::MAX]);
        both_ways(&[0u8, 1, u8::MAX]);
        both_ways(&[0i16, -2, i16::MIN, i16::MAX]);
        both_ways(&[0u16, 0x1234, u16::MAX]);
        both_ways(&[0i32, -3, i32::MIN, i32::MAX]);
        both_ways(&[0u32, 0x1234_5678, u32::MAX]);
        both_ways(&[0i64, -4, i64::MIN, i64::MAX]);
        both_ways(&[0u64, 0x1234_5678_9abc_def0, u64::MAX]);
        both_ways(&[0.0f32, -0.0, f32::MIN_POSITIVE, f32::NEG_INFINITY]);
        both_ways(&[0.0f64, -0.0, 5e-324, f64::INFINITY]);
        both_ways(&[false, true, true]);
    }

    #[test]
    fn any_byte_other_than_zero_is_true() {
        assert_eq!(*bool::slice(&[0, 1, 2, 0x80]), [false, true, true, true]);
    }
}
