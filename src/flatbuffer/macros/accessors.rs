//! The accessors of a table: `pub values: Option<Vec<EValue<'a>>>` gets `fn values(&self) -> &[EValue<'a>]`, which is empty
//! where the field is absent. So do lists of numbers and strings.

/// Takes one field at a time: those of a kind that has an accessor add one to the methods in braces.
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

                #[doc = concat!("The items of `", stringify!($field), "`: none where it is absent.")]
                pub fn $field(&self) -> &[$item] {
                    self.$field.as_deref().unwrap_or_default()
                }
            }
            $($rest)*
        }
    };
    // The same, where the item's own `>` was cut off from the two that follow.
    ($type:tt $methods:tt $(#[$meta:meta])* pub $field:ident: Option<Vec<$item:ty> >, $($rest:tt)*) => {
        $crate::flatbuffer::macros::accessors! { $type $methods pub $field: Option<Vec<$item>>, $($rest)* }
    };
    ($type:tt { $($methods:tt)* } $(#[$meta:meta])* pub $field:ident: Option<Cow<$a:lifetime, [$item:ty]>> $(as $wire:ty)?, $($rest:tt)*) => {
        $crate::flatbuffer::macros::accessors! {
            $type
            {
                $($methods)*

                #[doc = concat!("The items of `", stringify!($field), "`: none where it is absent.")]
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

                #[doc = concat!("The text of `", stringify!($field), "`: empty where it is absent.")]
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
