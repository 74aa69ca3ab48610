//! Arbitrary sequences of operations on arbitrary files.

use executorch_format::testing::Choices;
use executorch_format::testing::strategies::{any_programs, valid_pairs};
use executorch_format::{Pte, Segment};
use executorch_format_support::edits::edit_file;
use executorch_format_support::fixtures::{Fixture, fixtures};
use proptest::prelude::*;
use std::sync::OnceLock;

/// Returns the files that are edited many times.
fn small() -> &'static [Fixture] {
    static SMALL: OnceLock<Vec<Fixture>> = OnceLock::new();
    SMALL.get_or_init(|| fixtures().into_iter().filter(|fixture| fixture.bytes().len() < 20_000).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_operations_leave_a_file_that_is_read_again_and_is_no_worse(
        which in any::<prop::sample::Index>(),
        choices in prop::collection::vec(any::<u8>(), 4..24),
    ) {
        edit_file(which.get(small()).bytes(), &mut Choices::new(&choices));
    }

    #[test]
    fn any_operations_on_any_tree_do(
        program in any_programs(0..1200),
        choices in prop::collection::vec(any::<u8>(), 4..24),
    ) {
        let segments = vec![Segment::Absent; program.segments().len()];
        let pte = Pte { program, segments, ..Pte::default() };
        edit_file(&pte.image_as_is().unwrap().to_vec().unwrap(), &mut Choices::new(&choices));
    }

    #[test]
    fn any_operations_on_a_good_pair_do(
        (pte, ptd) in valid_pairs(0..1200),
        choices in prop::collection::vec(any::<u8>(), 4..24),
    ) {
        edit_file(&pte.image().unwrap().to_vec().unwrap(), &mut Choices::new(&choices));
        edit_file(&ptd.image().unwrap().to_vec().unwrap(), &mut Choices::new(&choices));
    }
}
