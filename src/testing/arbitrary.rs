//! Implements `Arbitrary` of the crate `arbitrary`, for fuzzers.

use super::choices::Choices;
use super::files::{AnyFile, ValidPair, ValidProgram, ValidTensors};
use arbitrary::{Arbitrary, Error, Result, Unstructured};

/// Takes choices from the rest of a fuzzer's input.
fn some<'b>(input: &mut Unstructured<'b>) -> Result<Choices<'b>> {
    let length = input.arbitrary_len::<u8>()?;
    input.bytes(length).map(Choices::new)
}

macro_rules! arbitrary {
    ($( $name:ident ($choices:ident) $make:expr; )*) => {$(
        impl<'b> Arbitrary<'b> for $name {
            fn arbitrary(input: &mut Unstructured<'b>) -> Result<Self> {
                let $choices = &mut some(input)?;
                $make
            }

            fn arbitrary_take_rest(input: Unstructured<'b>) -> Result<Self> {
                let $choices = &mut Choices::new(input.take_rest());
                $make
            }
        }
    )*};
}

arbitrary! {
    AnyFile (choices) Ok(AnyFile::choose(choices));
    ValidProgram (choices) ValidProgram::choose(choices).map_err(|_| Error::IncorrectFormat);
    ValidTensors (choices) ValidTensors::choose(choices).map_err(|_| Error::IncorrectFormat);
    ValidPair (choices) ValidPair::choose(choices).map_err(|_| Error::IncorrectFormat);
}
