//! For property tests: strategies of the crate `proptest`. They shrink to small files.
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
//!     fn my_reader_takes_what_is_good(pte in valid_programs(0..200)) {
//!         let file = pte.image().unwrap().to_vec().unwrap();
//!         prop_assert!(executorch_format::Pte::check(&file).is_ok()); // my reader
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
//!             let _verdict = executorch_format::Pte::check(&file); // my reader
//!         }
//!     }
//! }
//! # my_reader_takes_what_is_good();
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

/// How many choices a file of the usual size is made of.
const USUAL: core::ops::Range<usize> = 0..1200;

/// This many bytes, as choices: the size of what is made of them.
fn made<T: core::fmt::Debug>(
    size: impl Into<SizeRange>,
    make: impl Fn(&mut Choices<'_>) -> T,
) -> impl Strategy<Value = T> {
    vec(any::<u8>(), size).prop_map(move |bytes| make(&mut Choices::new(&bytes)))
}

/// Those that the crate can make: a fault of its own would show as values that are missing.
fn good<T: core::fmt::Debug>(
    size: impl Into<SizeRange>,
    make: impl Fn(&mut Choices<'_>) -> crate::Result<T>,
) -> impl Strategy<Value = T> {
    let make = move |bytes: Vec<u8>| make(&mut Choices::new(&bytes)).ok();
    vec(any::<u8>(), size).prop_filter_map("a good file", make)
}

/// Any program, good or bad, of that many choices.
pub fn any_programs(size: impl Into<SizeRange>) -> impl Strategy<Value = Program<'static>> {
    made(size, any_program)
}

/// Any list of keys, good or bad, of that many choices, under any of the three schemas.
pub fn any_flat_tensors(size: impl Into<SizeRange>) -> impl Strategy<Value = FlatTensor<'static>> {
    made(size, any_flat_tensor)
}

/// Good `.pte` files, of that many choices, in any official style. Official styles differ in what a strict reader takes: flatc (as in
/// [`WriteStyle::FLATC`]) leaves empty vectors of wide numbers misaligned, which the verifier of flatc's Rust code refuses.
/// [`valid_programs_in`] has one style.
pub fn valid_programs(size: impl Into<SizeRange>) -> impl Strategy<Value = Pte<'static>> {
    good(size, valid_program)
}

/// Good `.pte` files, of that many choices, in one style. With [`WriteStyle::PYTHON`], empty vectors are aligned.
pub fn valid_programs_in(style: WriteStyle, size: impl Into<SizeRange>) -> impl Strategy<Value = Pte<'static>> {
    good(size, move |choices| {
        let pte = valid_program(choices)?;
        let options = PteOptions::of(&pte)?;
        pte.lay_out(&PteOptions { style: Some(style), ..options })
    })
}

/// Good `.ptd` files, of that many choices.
pub fn valid_flat_tensors(size: impl Into<SizeRange>) -> impl Strategy<Value = Ptd<'static>> {
    good(size, valid_tensors)
}

/// Good `.pte` files, each with the `.ptd` that it takes data from, of that many choices.
pub fn valid_pairs(size: impl Into<SizeRange>) -> impl Strategy<Value = (Pte<'static>, Ptd<'static>)> {
    good(size, valid_pair)
}

/// Any style of writing.
pub fn styles() -> impl Strategy<Value = WriteStyle> {
    made(3..=3, any_style)
}

/// Any damage of a tree, which has at least one field.
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
