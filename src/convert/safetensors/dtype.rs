//! The types of elements in the safetensors format.

use core::fmt;

macro_rules! dtypes {
    ($($name:ident = $bits:literal, $doc:literal;)*) => {
        /// The type of a safetensors tensor's elements, in the format's order: its official writer sorts later types first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[non_exhaustive]
        #[allow(non_camel_case_types)]
        pub enum Dtype {
            $(#[doc = $doc] $name,)*
        }

        impl Dtype {
            /// All types, in the format's order.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the type's name in the file, such as `F32`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// Returns the size of an element, in bits.
            pub fn bits(self) -> u64 {
                match self { $(Self::$name => $bits,)* }
            }
        }
    };
}

dtypes! {
    BOOL = 8, "A bool, one byte.";
    F4 = 4, "A 4-bit float of the OCP microscaling formats.";
    F6_E2M3 = 6, "A 6-bit float with 2 bits of exponent.";
    F6_E3M2 = 6, "A 6-bit float with 3 bits of exponent.";
    U8 = 8, "An unsigned byte.";
    I8 = 8, "A signed byte.";
    F8_E5M2 = 8, "An 8-bit float with 5 bits of exponent.";
    F8_E4M3 = 8, "An 8-bit float with 4 bits of exponent.";
    F8_E8M0 = 8, "An 8-bit scale: exponent only.";
    F8_E4M3FNUZ = 8, "`F8_E4M3` without infinities and without a negative zero.";
    F8_E5M2FNUZ = 8, "`F8_E5M2` without infinities and without a negative zero.";
    I16 = 16, "A signed 16-bit integer.";
    U16 = 16, "An unsigned 16-bit integer.";
    F16 = 16, "A half-precision float.";
    BF16 = 16, "A brain float.";
    I32 = 32, "A signed 32-bit integer.";
    U32 = 32, "An unsigned 32-bit integer.";
    F32 = 32, "A 32-bit float.";
    C64 = 64, "A complex number of two 32-bit floats.";
    F64 = 64, "A 64-bit float.";
    I64 = 64, "A signed 64-bit integer.";
    U64 = 64, "An unsigned 64-bit integer.";
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
