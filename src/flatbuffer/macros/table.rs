//! `table!`: a table as a struct.
//!
//! The fields are in the order of their ids. Their types say how they are stored, see `flatbuffer::field`. If a type can be
//! stored in more than one way, `as` says which, and `= -1` gives a default other than 0. From
//!
//! ```text
//! table! {
//!     /// Runs a kernel.
//!     pub struct KernelCall<'a> {
//!         /// Index into the method's `operators`.
//!         pub op_index: i32,
//!         /// Indices into the method's `values`, outputs last.
//!         pub args: Option<Cow<'a, [i32]>>,
//!     }
//! }
//! ```
//!
//! comes the struct with its fields, `Clone`, `Debug`, `Default`, `PartialEq`, `into_owned` and an accessor `args()` that
//! returns a slice, and (paths left out)
//!
//! ```text
//! #[derive(Default)]
//! pub struct Fields<'a> {
//!     op_index: <Plain as Wire<'a, i32>>::Parser,              // Scalar<i32>
//!     args: <Plain as Wire<'a, Option<Cow<'a, [i32]>>>>::Parser, // Optional<Numbers<i32>>
//! }
//!
//! impl<'a> Record<'a> for KernelCall<'a> {
//!     const FORMS: &'static [FieldForm] = &[FieldForm::Number4, FieldForm::Offset];
//!     const DESCRIPTION: … = "KernelCall", "op_index": Number(I32), "args": Numbers { I32, alignment 4 };
//!     type Slots = [u16; 2];
//!     type Fields = Fields<'a>;
//! }
//!
//! impl<'s, 'a> Parser<Table<'s, 'a>> for Fields<'a> {
//!     fn process<OM: OutputMode>(&mut self, table: Table<'s, 'a>) -> … {
//!         let (table, op_index) = self.op_index.process::<OM>(table)?;     // an error gets `.op_index`
//!         let (table, args) = self.args.process::<OM>(table)?;             // an error gets `.args`
//!         // In nom's mode `Emit`, these collect the values in nested pairs and build the struct; in `Check` they do nothing.
//!         let fields = OM::Output::bind(|| ());
//!         let fields = OM::Output::combine(fields, op_index, |fields, field| (fields, field));
//!         let fields = OM::Output::combine(fields, args, |fields, field| (fields, field));
//!         let build = |(((), op_index), args)| KernelCall { op_index, args };
//!         Ok((table, OM::Output::map(fields, build)))
//!     }
//! }
//!
//! impl Encode for KernelCall<'_> {
//!     fn encode(&self, builder: &mut Builder) -> Result<Position> {
//!         let mut bits = [0; 2];
//!         let mut row = InlineFields::new(&mut bits);
//!         self.op_index.write(builder, &mut row)?;
//!         self.args.write(builder, &mut row)?;
//!         builder.table(TableLayout::of(FORMS), &row)
//!     }
//! }
//! ```
//!
//! and implementations of `AnyTable` and serde's `Serialize`, field by field.

/// Declares a table.
macro_rules! table {
    (
        $(#[$meta:meta])*
        pub struct $name:ident $(<$lt:lifetime>)? { $($body:tt)* }
    ) => {
        $crate::flatbuffer::macros::table_type! { $(#[$meta])* pub struct $name $(<$lt>)? { $($body)* } }
        $crate::flatbuffer::macros::accessors! { [$name $(<$lt>)?] {} $($body)* }
    };
}
pub(crate) use table;

/// The struct of a table, its parser and writer, and what works on a table of any type.
macro_rules! table_type {
    (
        $(#[$meta:meta])*
        pub struct $name:ident $(<$lt:lifetime>)? {
            $( $(#[$field_meta:meta])* pub $field:ident: $type:ty $(as $wire:ty)? $(= $default:literal)?, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq)]
        pub struct $name $(<$lt>)? {
            $( $(#[$field_meta])* pub $field: $type, )*
        }

        const _: () = {
            use $crate::flatbuffer::any::{AnyField, AnyTable};
            #[allow(unused_imports)]
            use $crate::flatbuffer::description::{FieldDescription, TableDescription};
            #[allow(unused_imports)]
            use $crate::flatbuffer::field::{IntoOwned, Wire};
            use $crate::flatbuffer::form::{FieldForm, TableLayout, concatenated};
            #[allow(unused_imports)]
            use $crate::flatbuffer::read::{Record, Table, in_field};
            use $crate::flatbuffer::write::{Builder, Encode, InlineFields, Position};
            use $crate::error::Error;
            use core::marker::PhantomData;
            use nom::{Mode, OutputMode, PResult, Parser};

            type Owned = $crate::flatbuffer::macros::owned!($name $($lt)?);

            /// The number of ids that the fields take.
            trait Ids {
                const IDS: usize;
            }

            impl<'a> Ids for $name $(<$lt>)? {
                const IDS: usize = 0 $( + <$crate::flatbuffer::macros::wire!($(as $wire)? $(= $default)?) as Wire<'a, $type>>::FORMS.len() )*;
            }

            impl<'a> Record<'a> for $name $(<$lt>)? {
                const FORMS: &'static [FieldForm] = &concatenated::<{ <Owned as Ids>::IDS }>(
                    &[$( <$crate::flatbuffer::macros::wire!($(as $wire)? $(= $default)?) as Wire<'a, $type>>::FORMS, )*],
                );
                const DESCRIPTION: &'static TableDescription = &TableDescription::new(
                    stringify!($name),
                    &[$(
                        FieldDescription::new(
                            stringify!($field),
                            <$crate::flatbuffer::macros::wire!($(as $wire)? $(= $default)?) as Wire<'a, $type>>::KIND,
                        ),
                    )*],
                    Self::FORMS,
                );
                type Slots = [u16; <Owned as Ids>::IDS];
                type Fields = Fields<'a>;
            }

            #[derive(Default)]
            pub struct Fields<'a> {
                $( $field: <$crate::flatbuffer::macros::wire!($(as $wire)? $(= $default)?) as Wire<'a, $type>>::Parser, )*
                _input: PhantomData<&'a ()>,
            }

            impl<'s, 'a> Parser<Table<'s, 'a>> for Fields<'a> {
                type Output = $name $(<$lt>)?;
                type Error = Error;

                #[cfg_attr(not(target_family = "wasm"), inline(always))]
                fn process<OM: OutputMode>(
                    &mut self,
                    table: Table<'s, 'a>,
                ) -> PResult<OM, Table<'s, 'a>, Self::Output, Error> {
                    let fields = OM::Output::bind(|| ());
                    $(
                        let (table, field) = match self.$field.process::<OM>(table) {
                            Ok(done) => done,
                            Err(error) => return Err(in_field(error, stringify!($field))),
                        };
                        let fields = OM::Output::combine(fields, field, |fields, field| (fields, field));
                    )*
                    let build = |$crate::flatbuffer::macros::nested!($($field)*): $crate::flatbuffer::macros::nested!($($type),*)| $name { $($field),* };
                    Ok((table, OM::Output::map(fields, build)))
                }
            }

            impl $(<$lt>)? Encode for $name $(<$lt>)? {
                #[allow(unused_mut)]
                #[cfg_attr(not(target_family = "wasm"), inline(always))]
                fn encode(&self, builder: &mut Builder) -> $crate::error::Result<Position> {
                    let mut bits = [0; <Owned as Ids>::IDS];
                    let mut row = InlineFields::new(&mut bits);
                    $(
                        if let Err(error) =
                            <$crate::flatbuffer::macros::wire!($(as $wire)? $(= $default)?) as Wire<'_, $type>>::write(&self.$field, builder, &mut row)
                        {
                            return Err(error.in_field(stringify!($field)));
                        }
                    )*
                    builder.table(const { TableLayout::of(<Owned as Record<'static>>::FORMS) }, &row)
                }
            }

            impl $(<$lt>)? Default for $name $(<$lt>)? {
                #[cfg_attr(not(target_family = "wasm"), inline(always))]
                fn default() -> Self {
                    Self { $( $field: <$crate::flatbuffer::macros::wire!($(as $wire)? $(= $default)?) as Wire<'_, $type>>::absent(), )* }
                }
            }

            impl $(<$lt>)? $crate::flatbuffer::any::Sealed for $name $(<$lt>)? {}

            impl $(<$lt>)? AnyTable for $name $(<$lt>)? {
                fn description(&self) -> &'static TableDescription {
                    <Self as Record<'_>>::DESCRIPTION
                }

                fn for_each_field<'t>(&'t self, visit: &mut dyn FnMut(&'static str, $crate::flatbuffer::any::Value<'t>)) {
                    $crate::flatbuffer::any::fields(self, visit)
                }

                fn field(&self, index: usize) -> Option<&dyn AnyField> {
                    $crate::flatbuffer::macros::field_at!(index, $($field => &self.$field,)*)
                }

                #[cfg(any(test, feature = "write"))]
                fn field_mut(&mut self, index: usize) -> Option<&mut dyn AnyField> {
                    $crate::flatbuffer::macros::field_at!(index, $($field => &mut self.$field,)*)
                }
            }

            impl $(<$lt>)? $name $(<$lt>)? {
                /// Returns an owned copy.
                pub fn into_owned(self) -> Owned {
                    $name { $( $field: IntoOwned::into_owned(self.$field), )* }
                }
            }

            impl $(<$lt>)? IntoOwned for $name $(<$lt>)? {
                type Owned = Owned;

                fn into_owned(self) -> Self::Owned {
                    self.into_owned()
                }
            }

            impl $(<$lt>)? core::fmt::Debug for $name $(<$lt>)? {
                fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                    $crate::flatbuffer::any::debug(self, f)
                }
            }

            #[cfg(feature = "serde")]
            impl $(<$lt>)? serde::Serialize for $name $(<$lt>)? {
                fn serialize<S: serde::Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
                    $crate::flatbuffer::serialize::table(self, $crate::flatbuffer::serialize::At::INLINE, serializer)
                }
            }

            $crate::json_schema::json_schema!(
                $name $(<$lt>)?,
                |_| $crate::flatbuffer::serialize::schema_of_table(stringify!($name))
            );
        };
    };
}
pub(crate) use table_type;

/// Selects an expression by the position of a field. It is a `match` on names, since macros cannot count; that compiles
/// to half as much as comparisons with a running number.
macro_rules! field_at {
    ($index:ident, $($field:ident => $found:expr,)*) => {{
        // Unused in a table without fields.
        #[allow(dead_code, non_camel_case_types)]
        enum Position { $($field,)* }
        match $index {
            $( position if position == Position::$field as usize => Some($found), )*
            _ => None,
        }
    }};
}
pub(crate) use field_at;

/// The storage of a field: by its type, by `as`, or with the given default.
macro_rules! wire {
    () => {
        $crate::flatbuffer::field::Plain
    };
    (as $wire:ty) => {
        $wire
    };
    (= $default:literal) => {
        $crate::flatbuffer::field::DefaultOf<{ $default }>
    };
}
pub(crate) use wire;

/// The type with its lifetime, if it has one, replaced by `'static`.
macro_rules! owned {
    ($name:ident $lt:lifetime) => { $name<'static> };
    ($name:ident) => { $name };
}
pub(crate) use owned;

/// Nested pairs, as the parser of a table collects its fields: `(((), a), b)` for `a b`, and the type `(((), A), B)` for `A, B`. Assigning
/// each field to the struct as it is read takes 20 % more instructions. `flatbuffer::tests` checks that no fields are swapped.
macro_rules! nested {
    (@ $done:tt) => { $done };
    (@ $done:tt $next:ident $($rest:ident)*) => { $crate::flatbuffer::macros::nested!(@ ($done, $next) $($rest)*) };
    (@ $done:ty, $next:ty $(, $rest:ty)*) => { $crate::flatbuffer::macros::nested!(@ ($done, $next) $(, $rest)*) };
    ($($all:ident)*) => { $crate::flatbuffer::macros::nested!(@ () $($all)*) };
    ($($all:ty),*) => { $crate::flatbuffer::macros::nested!(@ () $(, $all)*) };
}
pub(crate) use nested;
