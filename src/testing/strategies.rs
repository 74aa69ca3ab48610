//! Strategies of the crate `proptest`, for property tests. They shrink to small files.
//!
//! ```
//! use executorch_format::testing::strategies::{damage, valid_programs};
//! use proptest::prelude::*;
//!
//! proptest! {
//!     # #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]
//!     # /*
//!     #[test]
//!     # */
//!     fn my_reader_accepts_valid_files(pte in valid_programs(0..200)) {
//!         let file = pte.image().unwrap().to_vec().unwrap();
//!         prop_assert!(executorch_format::Pte::verify_structure(&file).is_ok()); // my reader
//!     }
//!
//!     # /*
//!     #[test]
//!     # */
//!     fn my_reader_survives_damage(
//!         (mut pte, damage) in valid_programs(0..200).prop_flat_map(|pte| { let one = damage(&pte.program); (Just(pte), one) })
//!     ) {
//!         damage.apply(&mut pte.program);
//!         if let Ok(file) = pte.image_as_is().and_then(|image| image.to_vec()) {
//!             let _verdict = executorch_format::Pte::verify_structure(&file); // my reader
//!         }
//!     }
//! }
//! # my_reader_accepts_valid_files();
//! # my_reader_survives_damage();
//! ```

use super::any_tree::{any_flat_tensor, any_program};
use super::choices::Choices;
use super::damage::Damage;
use super::files::{AnyFile, ValidPair, ValidProgram, ValidTensors, any_style};
use super::valid::{valid_pair, valid_program, valid_tensors};
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::style::WriteStyle;
use crate::schema::any::AnyTable;
use crate::schema::{FlatTensor, Program};
use crate::write::options::PteOptions;
use alloc::vec::Vec;
use proptest::arbitrary::{Arbitrary, any};
use proptest::collection::{SizeRange, vec};
use proptest::sample::select;
use proptest::strategy::{BoxedStrategy, Strategy};

/// The default number of choices for a file.
const USUAL: core::ops::Range<usize> = 0..1200;

/// Returns a strategy that takes this many bytes as choices.
fn made<T: core::fmt::Debug>(
    size: impl Into<SizeRange>,
    make: impl Fn(&mut Choices<'_>) -> T,
) -> impl Strategy<Value = T> {
    vec(any::<u8>(), size).prop_map(move |bytes| make(&mut Choices::new(&bytes)))
}

/// Returns a strategy for valid files. If `make` fails, which would be a bug of this crate, proptest rejects the value.
fn good<T: core::fmt::Debug>(
    size: impl Into<SizeRange>,
    make: impl Fn(&mut Choices<'_>) -> crate::Result<T>,
) -> impl Strategy<Value = T> {
    let make = move |bytes: Vec<u8>| make(&mut Choices::new(&bytes)).ok();
    vec(any::<u8>(), size).prop_filter_map("a good file", make)
}

/// Returns a strategy for any program, valid or not, made from `size` choices.
pub fn any_programs(size: impl Into<SizeRange>) -> impl Strategy<Value = Program<'static>> {
    made(size, any_program)
}

/// Returns a strategy for any `.ptd` tree, valid or not, made from `size` choices, under any of the three schemas.
pub fn any_flat_tensors(size: impl Into<SizeRange>) -> impl Strategy<Value = FlatTensor<'static>> {
    made(size, any_flat_tensor)
}

/// Returns a strategy for valid `.pte` files, made from `size` choices, in any official style. A strict reader may refuse some of
/// these styles: flatc (as in [`WriteStyle::FLATC`]) leaves empty vectors of wide numbers misaligned, which the verifier of flatc's
/// Rust code refuses. Use [`valid_programs_in`] for a single style.
pub fn valid_programs(size: impl Into<SizeRange>) -> impl Strategy<Value = Pte<'static>> {
    good(size, valid_program)
}

/// Returns a strategy for valid `.pte` files, made from `size` choices, in one style. With [`WriteStyle::PYTHON`], empty vectors are aligned.
pub fn valid_programs_in(style: WriteStyle, size: impl Into<SizeRange>) -> impl Strategy<Value = Pte<'static>> {
    good(size, move |choices| {
        let pte = valid_program(choices)?;
        let options = PteOptions::of(&pte)?;
        pte.lay_out(&PteOptions { style: Some(style), ..options })
    })
}

/// Returns a strategy for valid `.ptd` files, made from `size` choices.
pub fn valid_flat_tensors(size: impl Into<SizeRange>) -> impl Strategy<Value = Ptd<'static>> {
    good(size, valid_tensors)
}

/// Returns a strategy for valid `.pte` files, each with the `.ptd` of its external data, made from `size` choices.
pub fn valid_pairs(size: impl Into<SizeRange>) -> impl Strategy<Value = (Pte<'static>, Ptd<'static>)> {
    good(size, valid_pair)
}

/// Returns a strategy for any style of writing.
pub fn styles() -> impl Strategy<Value = WriteStyle> {
    made(3..=3, any_style)
}

/// Returns a strategy for any damage to a tree. The tree must have at least one field.
pub fn damage(tree: &dyn AnyTable) -> impl Strategy<Value = Damage> + use<> {
    select(Damage::all(tree))
}

macro_rules! arbitrary {
    ($( $name:ident = $strategy:expr; )*) => {$(
        impl Arbitrary for $name {
            type Parameters = ();
            type Strategy = BoxedStrategy<Self>;

            fn arbitrary_with((): ()) -> Self::Strategy {
                $strategy.boxed()
            }
        }
    )*};
}

arbitrary! {
    AnyFile = made(USUAL, AnyFile::choose);
    ValidProgram = good(USUAL, ValidProgram::choose);
    ValidTensors = good(USUAL, ValidTensors::choose);
    ValidPair = good(USUAL, ValidPair::choose);
}
