//! The types of files that proptest and fuzzers create.

use super::any_tree::{any_flat_tensor, any_program};
use super::choices::Choices;
use super::valid::{valid_pair, valid_program, valid_tensors};
use crate::error::Result;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::segment::Segment;
use crate::file::style::WriteStyle;
use alloc::vec::Vec;

/// A file of any content, valid or not, without header and data: its tables have any values that the schema allows. It can be
/// written with `image_as_is`, and is read back unchanged.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyFile {
    /// A `.pte` file.
    Program(Pte<'static>),
    /// A `.ptd` file.
    Tensors(Ptd<'static>),
}

impl AnyFile {
    /// Creates a file.
    pub fn choose(choices: &mut Choices<'_>) -> Self {
        if choices.below(4) < 3 {
            let style = Some(any_style(choices));
            let program = any_program(choices);
            let segments = program.segments().iter().map(|_| Segment::Absent).collect();
            Self::Program(Pte { program, segments, style, ..Pte::default() })
        } else {
            let style = Some(any_style(choices));
            let flat_tensor = any_flat_tensor(choices);
            let segments = flat_tensor.segments().iter().map(|_| Segment::Absent).collect();
            Self::Tensors(Ptd { flat_tensor, segments, style, ..Ptd::default() })
        }
    }

    /// Returns the bytes of the file.
    pub fn to_vec(&self) -> Result<Vec<u8>> {
        match self {
            Self::Program(pte) => pte.image_as_is()?.to_vec(),
            Self::Tensors(ptd) => ptd.image_as_is()?.to_vec(),
        }
    }
}

/// Returns any style of the official writers: any order of fields, vtables shared by tables of one size or of several, any
/// alignment up to 4096.
pub fn any_style(choices: &mut Choices<'_>) -> WriteStyle {
    let others = [WriteStyle::PYTHON_OLD_FLATBUFFERS, WriteStyle::FLATC, WriteStyle::EARLY_FLATC, WriteStyle::SAVE_PTD];
    let style = choices.one_of(WriteStyle::PYTHON, &others);
    let constant_alignment = 1 << choices.below(13);
    WriteStyle { constant_alignment, delegate_alignment: 1 << choices.below(13), ..style }
}

macro_rules! made {
    ($( $(#[$meta:meta])* $name:ident($content:ty) = $make:path; )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name(
            /// The file, or files.
            pub $content,
        );

        impl $name {
            /// Creates a file. Fails only if this crate has a bug.
            pub fn choose(choices: &mut Choices<'_>) -> Result<Self> {
                $make(choices).map(Self)
            }
        }
    )*};
}

made! {
    /// A valid `.pte`, without findings at any level.
    ValidProgram(Pte<'static>) = valid_program;
    /// A valid `.ptd`.
    ValidTensors(Ptd<'static>) = valid_tensors;
    /// A valid `.pte` and the `.ptd` with the data of its external tensors.
    ValidPair((Pte<'static>, Ptd<'static>)) = valid_pair;
}
