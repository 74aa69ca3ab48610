//! The element types of tensors.

use super::macros::named;

named! {
    /// The type of a tensor's elements: PyTorch's number for it. Values without a name are kept; 8, 9 and 10
    /// (complex) and 18 to 21 (bits) have none in the schema and occur all the same.
    pub struct ScalarType(i8) {
        /// `u8`
        BYTE = 0,
        /// `i8`
        CHAR = 1,
        /// `i16`
        SHORT = 2,
        /// `i32`
        INT = 3,
        /// `i64`
        LONG = 4,
        /// IEEE half precision, 2 bytes
        HALF = 5,
        /// `f32`
        FLOAT = 6,
        /// `f64`
        DOUBLE = 7,
        /// One byte, 0 or 1
        BOOL = 11,
        /// Quantized `i8`
        QINT8 = 12,
        /// Quantized `u8`
        QUINT8 = 13,
        /// Quantized `i32`
        QINT32 = 14,
        /// bfloat16, 2 bytes
        BFLOAT16 = 15,
        /// Two quantized 4-bit numbers in a byte
        QUINT4X2 = 16,
        /// Four quantized 2-bit numbers in a byte
        QUINT2X4 = 17,
        /// 16 bits without a meaning
        BITS16 = 22,
        /// 8-bit float
        FLOAT8E5M2 = 23,
        /// 8-bit float
        FLOAT8E4M3FN = 24,
        /// 8-bit float
        FLOAT8E5M2FNUZ = 25,
        /// 8-bit float
        FLOAT8E4M3FNUZ = 26,
        /// `u16`
        UINT16 = 27,
        /// `u32`
        UINT32 = 28,
        /// `u64`
        UINT64 = 29,
    }
}

impl ScalarType {
    /// The bytes that one element takes; `None` for a number that no version of ExecuTorch knows.
    ///
    /// The packed types (`QUINT4X2`, `QUINT2X4`, bits) count as 1 byte an element, as the runtime counts them.
    pub fn element_size(self) -> Option<usize> {
        Some(match self.0 {
            0 | 1 | 11 | 12 | 13 | 16..=21 | 23..=26 => 1,
            2 | 5 | 15 | 22 | 27 => 2,
            3 | 6 | 8 | 14 | 28 => 4,
            4 | 7 | 9 | 29 => 8,
            10 => 16,
            _ => return None,
        })
    }
}
