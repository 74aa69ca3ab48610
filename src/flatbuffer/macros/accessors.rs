//! The accessors of a table: `pub values: Option<Vec<EValue<'a>>>` gets `fn values(&self) -> &[EValue<'a>]`, which returns an
//! empty slice if the field is absent. Lists of numbers and strings get one too.

/// Consumes the fields one by one. A field whose type has an accessor adds it to the methods in braces.
macro_rules! accessors {
    ([$name:ident $($lt:tt)*] {}) => {};
    ([$name:ident $($lt:tt)*] { $($methods:tt)+ }) => {
        impl $($lt)* $name $($lt)* {
            $($methods)+
        }
    };
    ($type:tt { $($methods:tt)* } $(#[$meta:meta])* pub $field:ident: Option<Vec<$item:ty>>, $($rest:tt)*) => {
        $crate::flatbuffer::macros::accessors! {
            $type
            {
                $($methods)*

                #[doc = concat!("The items of `", stringify!($field), "`, empty if it is absent.")]
                pub fn $field(&self) -> &[$item] {
                    self.$field.as_deref().unwrap_or_default()
                }
            }
            $($rest)*
        }
    };
    // The same, where the item's own `>` is a separate token.
    ($type:tt $methods:tt $(#[$meta:meta])* pub $field:ident: Option<Vec<$item:ty> >, $($rest:tt)*) => {
        $crate::flatbuffer::macros::accessors! { $type $methods pub $field: Option<Vec<$item>>, $($rest)* }
    };
    ($type:tt { $($methods:tt)* } $(#[$meta:meta])* pub $field:ident: Option<Cow<$a:lifetime, [$item:ty]>> $(as $wire:ty)?, $($rest:tt)*) => {
        $crate::flatbuffer::macros::accessors! {
            $type
            {
                $($methods)*

                #[doc = concat!("The items of `", stringify!($field), "`, empty if it is absent.")]
                pub fn $field(&self) -> &[$item] {
                    self.$field.as_deref().unwrap_or_default()
                }
            }
            $($rest)*
        }
    };
    ($type:tt { $($methods:tt)* } $(#[$meta:meta])* pub $field:ident: Option<Text<$a:lifetime>>, $($rest:tt)*) => {
        $crate::flatbuffer::macros::accessors! {
            $type
            {
                $($methods)*

                #[doc = concat!("The text of `", stringify!($field), "`, empty if it is absent.")]
                pub fn $field(&self) -> &str {
                    self.$field.as_deref().unwrap_or_default()
                }
            }
            $($rest)*
        }
    };
    ($type:tt $methods:tt $(#[$meta:meta])* pub $field:ident: $other:ty $(as $wire:ty)? $(= $default:literal)?, $($rest:tt)*) => {
        $crate::flatbuffer::macros::accessors! { $type $methods $($rest)* }
    };
}
pub(crate) use accessors;
