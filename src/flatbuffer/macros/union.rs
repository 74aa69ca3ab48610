//! `union!`: a union as an enum, which lists each member with its tag. All members are tables. A union takes two field ids.
//!
//! Every union has two more variants: `None`, tag 0, and `Unknown`, for a member that the schema does not know, a tag without a
//! value, or a value without a tag. `: From` after the name adds `From` for each member's table; without it, members can share a
//! table.

/// Declares a union.
macro_rules! union {
    (
        $(#[$meta:meta])*
        pub enum $name:ident<'a> $(: $from:ident)? {
            $( $(#[$member_meta:meta])* $member:ident($type:ty) = $tag:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Default, PartialEq)]
        #[non_exhaustive]
        pub enum $name<'a> {
            /// No value at all: tag 0.
            #[default]
            None,
            $( $(#[$member_meta])* $member($type), )*
            /// A member that this crate does not know, a tag without a value, or a value without a tag.
            Unknown($crate::flatbuffer::unknown::Unknown),
        }

        impl<'a> $name<'a> {
            /// Returns the schema's name of the member: `NONE` for tag 0, `None` for a member that the schema does not know.
            pub fn name(&self) -> Option<&'static str> {
                match self {
                    Self::None => Some("NONE"),
                    $( Self::$member(_) => Some(stringify!($member)), )*
                    Self::Unknown(_) => None,
                }
            }

            /// Returns the union's tag; 0 if it has no value.
            pub fn tag(&self) -> u8 {
                match self {
                    Self::None => 0,
                    $( Self::$member(_) => $tag, )*
                    Self::Unknown(unknown) => unknown.tag,
                }
            }

            /// Returns an owned copy.
            pub fn into_owned(self) -> $name<'static> {
                $crate::flatbuffer::field::IntoOwned::into_owned(self)
            }
        }

        $crate::flatbuffer::macros::from_members! { $name $($from)? { $( $member($type), )* } }

        const _: () = {
            #[cfg(any(test, feature = "write"))]
            use $crate::flatbuffer::any::FieldChange;
            use $crate::flatbuffer::any::{AnyField, AnyTable, Value};
            use $crate::flatbuffer::description::{FieldKind, MemberDescription, UnionDescription};
            use $crate::flatbuffer::field::{Field, IntoOwned};
            use $crate::flatbuffer::form::FieldForm;
            use $crate::error::{Error, Result};
            use $crate::flatbuffer::read::{Record, Table, TableParser, fatal, in_field, union, unknown};
            use $crate::flatbuffer::unknown::Unknown;
            use $crate::flatbuffer::write::{Builder, Encode, InlineFields};
            use nom::{Mode, OutputMode, PResult, Parser};

            impl<'a> Field<'a> for $name<'a> {
                const KIND: FieldKind = FieldKind::Union(&UnionDescription::new(
                    stringify!($name),
                    &[$( MemberDescription::new($tag, stringify!($member), <$type as Record<'a>>::DESCRIPTION), )*],
                ));
                const FORMS: &'static [FieldForm] = &[FieldForm::Number1, FieldForm::Offset];

                fn absent() -> Self {
                    Self::None
                }

                type Parser = Members<'a>;

                #[cfg_attr(not(target_family = "wasm"), inline(always))]
                fn write<const N: usize>(&self, builder: &mut Builder, row: &mut InlineFields<'_, N>) -> Result<()> {
                    let member = match self {
                        Self::None => None,
                        $(
                            Self::$member(member) => Some(
                                member.encode(builder).map_err(|error: Error| error.in_field(stringify!($member)))?,
                            ),
                        )*
                        Self::Unknown(member) => member.encode(builder)?,
                    };
                    row.number(self.tag());
                    row.offset(member);
                    Ok(())
                }
            }

            impl<'a> $crate::flatbuffer::any::Sealed for $name<'a> {}

            impl<'a> AnyField for $name<'a> {
                fn value(&self) -> Value<'_> {
                    let member = match self {
                        $( Self::$member(member) => Some(member as &dyn AnyTable), )*
                        Self::None | Self::Unknown(_) => None,
                    };
                    Value::Union { name: self.name(), tag: self.tag(), member }
                }

                #[cfg(any(test, feature = "write"))]
                fn change(&mut self, change: FieldChange<'_>) -> bool {
                    *self = match change {
                        FieldChange::Remove | FieldChange::Tag(0) => Self::None,
                        $( FieldChange::Tag($tag) => Self::$member(Default::default()), )*
                        FieldChange::Tag(tag) => Self::Unknown(Unknown::empty(tag)),
                        _ => return false,
                    };
                    true
                }

                #[cfg(any(test, feature = "write"))]
                fn table_mut(&mut self, _: usize) -> Option<&mut dyn AnyTable> {
                    match self {
                        $( Self::$member(member) => Some(member), )*
                        Self::None | Self::Unknown(_) => None,
                    }
                }

                fn unknown(&self) -> Option<Unknown> {
                    match self {
                        Self::Unknown(unknown) => Some(*unknown),
                        _ => None,
                    }
                }
            }

            impl<'a> IntoOwned for $name<'a> {
                type Owned = $name<'static>;

                fn into_owned(self) -> Self::Owned {
                    match self {
                        Self::None => $name::None,
                        $( Self::$member(member) => $name::$member(IntoOwned::into_owned(member)), )*
                        Self::Unknown(member) => $name::Unknown(member),
                    }
                }
            }

            impl<'a> core::fmt::Debug for $name<'a> {
                fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                    $crate::flatbuffer::any::debug_field(self, f)
                }
            }

            #[derive(Default)]
            #[allow(non_snake_case)]
            pub struct Members<'a> {
                $( $member: TableParser<'a, $type>, )*
            }

            impl<'s, 'a> Parser<Table<'s, 'a>> for Members<'a> {
                type Output = $name<'a>;
                type Error = Error;

                #[cfg_attr(not(target_family = "wasm"), inline(always))]
                fn process<OM: OutputMode>(
                    &mut self,
                    table: Table<'s, 'a>,
                ) -> PResult<OM, Table<'s, 'a>, Self::Output, Error> {
                    let (table, tag, place) = union(table).map_err(fatal)?;
                    let Some(place) = place else { return Ok((table, OM::Output::bind(|| $name::None))) };
                    let member = match tag {
                        $(
                            $tag => {
                                let member = self.$member.process::<OM>(place);
                                let (_, member) = member.map_err(|error| in_field(error, stringify!($member)))?;
                                OM::Output::map(member, $name::$member)
                            }
                        )*
                        _ => OM::Output::bind(|| $name::Unknown(unknown(tag, place))),
                    };
                    Ok((table, member))
                }
            }
        };
    };
}
pub(crate) use union;

/// `From` for each member's table, if `union!` was given `: From`.
macro_rules! from_members {
    ($name:ident { $($members:tt)* }) => {};
    ($name:ident From { $( $member:ident($type:ty), )* }) => {$(
        impl<'a> From<$type> for $name<'a> {
            fn from(member: $type) -> Self {
                Self::$member(member)
            }
        }
    )*};
}
pub(crate) use from_members;
