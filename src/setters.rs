//! The `with_…` methods of options. Users start from the default and set what differs, so that the structs can get more
//! fields.

/// Defines a setter for each field. The name of the method is given in full, because only procedural macros can join `with_` and
/// a name. Fields after a semicolon are flags: their methods turn them on.
macro_rules! setters {
    ($name:ident $(<$lt:lifetime>)? { $($field:ident = $set:ident: $type:ty,)* $(; $($flag:ident = $on:ident,)*)? }) => {
        impl $(<$lt>)? $name $(<$lt>)? {
            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](Self::", stringify!($field), ").")]
                #[must_use]
                pub fn $set(self, $field: $type) -> Self {
                    Self { $field, ..self }
                }
            )*
            $($(
                #[doc = concat!("Turns on [`", stringify!($flag), "`](Self::", stringify!($flag), ").")]
                #[must_use]
                pub fn $on(self) -> Self {
                    Self { $flag: true, ..self }
                }
            )*)?
        }
    };
}
pub(crate) use setters;
