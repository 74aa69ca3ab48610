//! Any tree that can be written is read back as it was.
//!
//! Each table is built from all its fields, so a new one does not compile until it is built.

use crate::round_trip::written;
use crate::visit::tree;
use arbitrary::{Result, Unstructured};
use executorch_format::schema::flat_tensor::{self, FlatTensor, Legacy, LegacySchema, TensorMetadata};
use executorch_format::schema::program::{self, *};
use executorch_format::schema::{DataSegment, Program, ScalarType, Unknown};
use executorch_format::{FileLayout, Ptd, Pte, TableOrder};
use std::borrow::Cow;

/// Takes the bytes as choices: a tree, a layout. Encode, decode: equal.
pub fn build_tree(bytes: &[u8]) {
    let mut choices = Unstructured::new(bytes);
    // An `Err` is a want of bytes.
    let _ = if choices.ratio(3, 4).unwrap_or_default() { program(&mut choices) } else { keys(&mut choices) };
}

fn program(choices: &mut Unstructured<'_>) -> Result<()> {
    let layout = layout(choices)?;
    let pte = Pte { program: Program::make(choices)?, layout, ..Pte::default() };
    // Without a header there are no bytes of segments.
    let segments = pte.program.segments.iter().flatten().map(|_| Default::default()).collect();
    let mut pte = Pte { segments, ..pte };
    for segment in pte.program.segments.iter_mut().flatten() {
        segment.size = 0;
        segment.offset %= 1 << 32;
    }
    let bytes = written(pte.plan_as_is()).expect("it can be written");
    let again = Pte::parse(&bytes).expect("what we write, we read");
    assert_eq!(tree(&pte.program), tree(&again.program));
    assert_eq!(Pte::check(&bytes), Ok(()));
    Ok(())
}

fn keys(choices: &mut Unstructured<'_>) -> Result<()> {
    let layout = layout(choices)?;
    let mut ptd = Ptd { flat_tensor: FlatTensor::make(choices)?, layout, ..Ptd::default() };
    if let Some(legacy) = &mut ptd.flat_tensor.legacy {
        // What tells the schemas apart.
        ptd.flat_tensor.segments.get_or_insert_default();
        let early = ptd.flat_tensor.named_data.is_none();
        legacy.schema = if early { LegacySchema::V0_5 } else { LegacySchema::V0_6 };
    }
    for segment in ptd.flat_tensor.segments.iter_mut().flatten() {
        segment.size = 0;
        segment.offset %= 1 << 32;
    }
    ptd.segments = ptd.flat_tensor.segments.iter().flatten().map(|_| Default::default()).collect();
    let bytes = written(ptd.plan_as_is()).expect("it can be written");
    let again = Ptd::parse(&bytes).expect("what we write, we read");
    assert_eq!(ptd.flat_tensor, again.flat_tensor);
    assert_eq!(Ptd::check(&bytes), Ok(()));
    Ok(())
}

fn layout(choices: &mut Unstructured<'_>) -> Result<FileLayout> {
    Ok(FileLayout {
        order: *choices.choose(&[TableOrder::ById, TableOrder::BySize, TableOrder::Interleaved])?,
        // The reader expects the schema's `force_align` of 16.
        constant_alignment: 1 << choices.int_in_range(4..=12)?,
        delegate_alignment: 1 << choices.int_in_range(4..=12)?,
        header_gap: None,
    })
}

/// What can be made from choices.
trait Make: Sized {
    fn make(choices: &mut Unstructured<'_>) -> Result<Self>;
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Make for $type {
            fn make(choices: &mut Unstructured<'_>) -> Result<Self> {
                // A default is absent in the file, so it had better occur.
                if choices.arbitrary()? { choices.arbitrary() } else { Ok(Default::default()) }
            }
        }

        impl Make for Cow<'_, [$type]> {
            fn make(choices: &mut Unstructured<'_>) -> Result<Self> {
                Ok(Cow::Owned(choices.arbitrary()?))
            }
        }
    )*};
}

numbers!(bool, i8, u8, u16, i32, u32, i64, u64, f64);

impl Make for Cow<'_, str> {
    fn make(choices: &mut Unstructured<'_>) -> Result<Self> {
        Ok(Cow::Owned(choices.arbitrary()?))
    }
}

impl<T: Make> Make for Option<T> {
    fn make(choices: &mut Unstructured<'_>) -> Result<Self> {
        choices.arbitrary::<bool>()?.then(|| T::make(choices)).transpose()
    }
}

impl<T: Make> Make for Vec<T> {
    fn make(choices: &mut Unstructured<'_>) -> Result<Self> {
        let len = choices.int_in_range(0..=6)?;
        (0..len).map(|_| T::make(choices)).collect()
    }
}

impl<T: Make> Make for Box<T> {
    fn make(choices: &mut Unstructured<'_>) -> Result<Self> {
        T::make(choices).map(Box::new)
    }
}

macro_rules! tables {
    ($($table:ty { $($field:ident),* })*) => {$(
        impl Make for $table {
            #[allow(unused_variables)]
            fn make(choices: &mut Unstructured<'_>) -> Result<Self> {
                Ok(Self { $($field: Make::make(choices)?),* })
            }
        }
    )*};
}

macro_rules! enums {
    ($($name:ident)*) => {$(
        impl Make for $name {
            fn make(choices: &mut Unstructured<'_>) -> Result<Self> {
                Make::make(choices).map(Self)
            }
        }
    )*};
}

macro_rules! unions {
    ($($union:ident { $($tag:literal $member:ident)* })*) => {$(
        impl Make for $union<'_> {
            fn make(choices: &mut Unstructured<'_>) -> Result<Self> {
                let last = [$($tag),*].len() as u8;
                Ok(match choices.int_in_range(0..=last + 1)? {
                    0 => Self::None,
                    $( $tag => Self::$member(Make::make(choices)?), )*
                    // What such a one holds would not be written.
                    _ => Self::Unknown(Unknown { tag: choices.int_in_range(last + 1..=u8::MAX)?, has_fields: false }),
                })
            }
        }
    )*};
}

every_enum!(enums);

every_union!(unions);

impl Make for LegacySchema {
    fn make(choices: &mut Unstructured<'_>) -> Result<Self> {
        Ok(if choices.arbitrary()? { Self::V0_5 } else { Self::V0_6 })
    }
}

every_table!(tables);
tables! {
    FlatTensor<'_> { version, segments, named_data, legacy }
    Legacy<'_> { schema, tensor_alignment, tensors }
    TensorMetadata<'_> { fully_qualified_name, scalar_type, sizes, dim_order, segment_index, offset }
}
