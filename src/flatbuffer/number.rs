//! Numbers as they lie in a FlatBuffer: little-endian on every host.

use crate::error::ErrorKind;
use alloc::{borrow::Cow, vec::Vec};

/// A value that lies inline in a table, or side by side in a vector.
pub(crate) trait Number: Copy + Default + 'static {
    /// Bytes, which is the alignment too.
    const SIZE: usize;

    /// `bytes` holds at least `SIZE` of them.
    fn read(bytes: &[u8]) -> Option<Self>;

    /// The little-endian bits, the rest zero.
    fn bits(self) -> u64;

    /// Some bytes are no value (a bool of 2).
    fn check(_bytes: &[u8]) -> Result<(), (usize, ErrorKind)> {
        Ok(())
    }

    /// The elements of a vector: borrowed where the host's alignment and byte order allow, copied otherwise.
    fn slice(bytes: &[u8]) -> Cow<'_, [Self]>;

    /// The opposite: fills the start of `bytes` with the numbers.
    fn put(numbers: &[Self], bytes: &mut [u8]) {
        for (number, room) in numbers.iter().zip(bytes.chunks_exact_mut(Self::SIZE)) {
            room.copy_from_slice(number.bits().to_le_bytes().get(..Self::SIZE).unwrap_or_default());
        }
    }
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Number for $type {
            const SIZE: usize = size_of::<$type>();

            #[inline(always)]
            fn read(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk().map(|bytes| Self::from_le_bytes(*bytes))
            }

            #[inline(always)]
            fn bits(self) -> u64 {
                let mut bits = [0; 8];
                for (bit, byte) in bits.iter_mut().zip(self.to_le_bytes()) {
                    *bit = byte;
                }
                u64::from_le_bytes(bits)
            }

            #[inline(always)]
            fn slice(bytes: &[u8]) -> Cow<'_, [Self]> {
                if cfg!(target_endian = "little") || Self::SIZE == 1 {
                    if let Ok(slice) = bytemuck::try_cast_slice(bytes) {
                        return Cow::Borrowed(slice);
                    }
                }
                copied(bytes)
            }

            #[inline(always)]
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

numbers!(i8, u8, i32, u32, i64, u64, f64);

impl Number for bool {
    const SIZE: usize = 1;

    #[inline(always)]
    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.first().map(|byte| *byte != 0)
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        u64::from(self)
    }

    #[inline(always)]
    fn check(bytes: &[u8]) -> Result<(), (usize, ErrorKind)> {
        match bytes.iter().position(|byte| *byte > 1) {
            None => Ok(()),
            Some(at) => Err((at, ErrorKind::Bool(bytes.get(at).copied().unwrap_or_default()))),
        }
    }

    fn slice(bytes: &[u8]) -> Cow<'_, [Self]> {
        match bytemuck::checked::try_cast_slice(bytes) {
            Ok(slice) => Cow::Borrowed(slice),
            Err(_) => copied(bytes),
        }
    }
}

#[cold]
fn copied<T: Number>(bytes: &[u8]) -> Cow<'_, [T]> {
    Cow::Owned(bytes.chunks_exact(T::SIZE).filter_map(T::read).collect::<Vec<T>>())
}
