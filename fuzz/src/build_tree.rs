//! Builds trees from the fuzzer's bytes: every tree must be written and read back the same.

use crate::round_trip::written;
use executorch_format::{Ptd, Pte, Segment, WriteStyle};
use executorch_format_support::any_tree::{self, Choices};
use executorch_format_support::visit::tree;

/// Uses the bytes as choices to build a tree and a style. Encodes, decodes and compares.
pub fn build_tree(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    if choices.below(4) < 3 {
        program(&mut choices)
    } else {
        keys(&mut choices)
    };
}

fn program(choices: &mut Choices<'_>) {
    let style = Some(style(choices));
    let program = any_tree::program(choices);
    // A file without a header has no segment data.
    let segments = program.segments().iter().map(|_| Segment::Absent).collect();
    let pte = Pte { program, segments, style, ..Pte::default() };
    let bytes = written(pte.image_as_is()).expect("the tree can be written");
    let again = Pte::parse(&bytes).expect("the written file can be read");
    assert_eq!(tree(&pte.program), tree(&again.program));
    assert_eq!(Pte::check(&bytes), Ok(()));
}

fn keys(choices: &mut Choices<'_>) {
    let style = Some(style(choices));
    let flat_tensor = any_tree::flat_tensor(choices);
    let segments = flat_tensor.segments().iter().map(|_| Segment::Absent).collect();
    let ptd = Ptd { flat_tensor, segments, style, ..Ptd::default() };
    let bytes = written(ptd.image_as_is()).expect("the tree can be written");
    let again = Ptd::parse(&bytes).expect("the written file can be read");
    assert_eq!(ptd.flat_tensor, again.flat_tensor);
    assert_eq!(Ptd::check(&bytes), Ok(()));
}

fn style(choices: &mut Choices<'_>) -> WriteStyle {
    let styles = [
        WriteStyle::PYTHON,
        WriteStyle::PYTHON_OLD_FLATBUFFERS,
        WriteStyle::FLATC,
        WriteStyle::EARLY_FLATC,
        WriteStyle::SAVE_PTD,
    ];
    let mut style = styles[usize::from(choices.below(styles.len() as u8))];
    style.constant_alignment = 1 << choices.below(13);
    style.delegate_alignment = 1 << choices.below(13);
    style
}
