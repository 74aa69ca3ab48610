//! `named!`: an enumeration as a number with names for the values that the schema knows. Any other value is kept. If a
//! schema's name cannot be the name of a Rust constant, it comes in brackets after one that can:
//! `FP32("xnn_datatype_fp32") = 1`.

macro_rules! named {
    (
        $(#[$meta:meta])*
        pub struct $name:ident($base:ty) {
            $( $(#[$value_meta:meta])* $value:ident $(($text:literal))? = $number:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(
            /// The number as it is stored.
            pub $base,
        );

        impl $name {
            $( $(#[$value_meta])* pub const $value: Self = Self($number); )*

            /// Every value that the schema names, in its order.
            pub const ALL: &'static [Self] = &[$( Self::$value ),*];

            /// Returns the schema's name, if it has one for this value.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $( Self::$value => Some($crate::flatbuffer::macros::name!($value $($text)?)), )*
                    _ => None,
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.name() {
                    Some(name) => f.pad(name),
                    None => core::fmt::Display::fmt(&self.0, f),
                }
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, concat!(stringify!($name), "({})"), self.0),
                }
            }
        }

        /// Parses the schema's name, or a number.
        impl core::str::FromStr for $name {
            type Err = $crate::Error;

            fn from_str(text: &str) -> $crate::Result<Self> {
                for value in Self::ALL {
                    if value.name() == Some(text) {
                        return Ok(*value);
                    }
                }
                match $crate::flatbuffer::number::parsed(text) {
                    Some(number) => Ok(Self(number)),
                    None => Err($crate::Error::word(stringify!($name), text, &mut <Self as $crate::flatbuffer::number::Number>::NAMES.iter().copied())),
                }
            }
        }

        impl $crate::flatbuffer::number::Number for $name {
            const SIZE: usize = size_of::<$base>();

            /// In the order of `ALL`.
            const NAMES: &'static [&'static str] = &[$( $crate::flatbuffer::macros::name!($value $($text)?) ),*];

            fn named(name: &[u8]) -> Option<Self> {
                let index = <Self as $crate::flatbuffer::number::Number>::NAMES.iter().position(|known| known.as_bytes() == name)?;
                Self::ALL.get(index).copied()
            }

            #[cfg_attr(not(target_family = "wasm"), inline(always))]
            fn read(bytes: &[u8]) -> Option<Self> {
                <$base as $crate::flatbuffer::number::Number>::read(bytes).map(Self)
            }

            #[cfg_attr(not(target_family = "wasm"), inline(always))]
            fn bits(self) -> u64 {
                $crate::flatbuffer::number::Number::bits(self.0)
            }
        }

        $crate::flatbuffer::field::scalar!($name, $base, |value| $crate::flatbuffer::any::Value::Enum {
            name: value.name(),
            number: $crate::flatbuffer::field::Kind::any(value.0),
        });

        #[cfg(feature = "serde")]
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
                match self.name() {
                    Some(name) => serializer.serialize_str(name),
                    None => self.0.serialize(serializer),
                }
            }
        }

        /// The schema's name, or a number that has none.
        #[cfg(feature = "schemars")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> alloc::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"anyOf": [{"enum": <Self as $crate::flatbuffer::number::Number>::NAMES}, {"type": "integer"}]})
            }
        }
    };
}
pub(crate) use named;

/// The schema's name of a value.
macro_rules! name {
    ($value:ident) => {
        stringify!($value)
    };
    ($value:ident $text:literal) => {
        $text
    };
}
pub(crate) use name;
