//! The element types of tensors.

use crate::flatbuffer::macros::named;

named! {
    /// The type of a tensor's elements, as PyTorch's number for it. Numbers without a name are kept: 8, 9 and 10 (complex) and 18 to 21
    /// (bits) have no name in the schema, but do occur.
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
        /// 16 uninterpreted bits
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
    /// Returns `true` for IEEE floats of 16, 32 and 64 bits, and for bfloat16.
    #[cfg(feature = "inspect")]
    pub(crate) fn is_floating(self) -> bool {
        [Self::HALF, Self::FLOAT, Self::DOUBLE, Self::BFLOAT16].contains(&self)
    }

    /// Returns the size of one element in bytes, or `None` for a number that no version of ExecuTorch uses.
    ///
    /// Elements of the packed types (`QUINT4X2`, `QUINT2X4`, bits) have 1 byte, as in the runtime.
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

    /// Returns the NumPy type for these elements: the same type, or an integer of the same size if NumPy does not have it, such as
    /// `uint16` for bfloat16. Returns `None` for a number that no version of ExecuTorch uses.
    pub fn numpy_type(self) -> Option<Self> {
        Some(match self {
            Self::BOOL | Self::HALF | Self::FLOAT | Self::DOUBLE | Self(9) | Self(10) => self,
            Self::CHAR | Self::SHORT | Self::INT | Self::LONG => self,
            Self::QINT8 => Self::CHAR,
            Self::QINT32 => Self::INT,
            _ => match self.element_size()? {
                1 => Self::BYTE,
                2 => Self::UINT16,
                4 => Self::UINT32,
                _ => Self::UINT64,
            },
        })
    }

    /// Returns the name that Rust and PyTorch users expect: `f32`, `i64`, `bf16`, `complex64`. Otherwise returns the schema's name in
    /// lower case, or `None` for a number without a name.
    pub fn short_name(self) -> Option<&'static str> {
        Some(match self {
            Self::BYTE => "u8",
            Self::CHAR => "i8",
            Self::SHORT => "i16",
            Self::INT => "i32",
            Self::LONG => "i64",
            Self::HALF => "f16",
            Self::FLOAT => "f32",
            Self::DOUBLE => "f64",
            Self::BOOL => "bool",
            Self::QINT8 => "qint8",
            Self::QUINT8 => "quint8",
            Self::QINT32 => "qint32",
            Self::BFLOAT16 => "bf16",
            Self::QUINT4X2 => "quint4x2",
            Self::QUINT2X4 => "quint2x4",
            Self::BITS16 => "bits16",
            Self::FLOAT8E5M2 => "float8e5m2",
            Self::FLOAT8E4M3FN => "float8e4m3fn",
            Self::FLOAT8E5M2FNUZ => "float8e5m2fnuz",
            Self::FLOAT8E4M3FNUZ => "float8e4m3fnuz",
            Self::UINT16 => "u16",
            Self::UINT32 => "u32",
            Self::UINT64 => "u64",
            // These have no name in the schema; the numbers are PyTorch's.
            Self(8) => "complex32",
            Self(9) => "complex64",
            Self(10) => "complex128",
            Self(18) => "bits1x8",
            Self(19) => "bits2x4",
            Self(20) => "bits4x2",
            Self(21) => "bits8",
            _ => return None,
        })
    }

    /// Returns the type with the given [short name](Self::short_name).
    pub fn from_short_name(name: &str) -> Option<Self> {
        (i8::MIN..=i8::MAX).map(Self).find(|scalar_type| scalar_type.short_name() == Some(name))
    }
}
