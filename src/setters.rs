//! Options are made by setting what differs from the default: their structs may get more fields.

/// For each field, a method `with_` and its name that sets it. Its name is that of the field, for which there is no other way in a macro
/// without procedural macros than to write it. After a semicolon come fields that are on or off: their method turns them on.
macro_rules! setters {
    ($name:ident $(<$lt:lifetime>)? { $($field:ident = $set:ident: $type:ty,)* $(; $($flag:ident = $on:ident,)*)? }) => {
        impl $(<$lt>)? $name $(<$lt>)? {
            $(
                #[doc = concat!("With another [`", stringify!($field), "`](Self::", stringify!($field), ").")]
                #[must_use]
                pub fn $set(self, $field: $type) -> Self {
                    Self { $field, ..self }
                }
            )*
            $($(
                #[doc = concat!("With [`", stringify!($flag), "`](Self::", stringify!($flag), ").")]
                #[must_use]
                pub fn $on(self) -> Self {
                    Self { $flag: true, ..self }
                }
            )*)?
        }
    };
}
pub(crate) use setters;
