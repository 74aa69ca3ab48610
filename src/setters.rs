//! The `with_…` methods of options. Users start from the default and set what differs, so that the structs can get more
//! fields.

/// Makes a method for each field, which sets it. The method's name is written out, because only procedural macros can
/// join `with_` and a name. After a semicolon come fields that are on or off: their method turns them on.
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
