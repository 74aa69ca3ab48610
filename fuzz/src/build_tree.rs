//! Any tree that can be written is read back equal, and generated valid files are valid.

use arbitrary::{Arbitrary, Unstructured};
use executorch_format::testing::{AnyFile, ValidPair};
use executorch_format::verify::{Level, Severity};
use executorch_format::{Ptd, Pte};
use executorch_format_support::visit::tree;

/// Takes the bytes as choices: for a tree and a style, and for a valid pair of files. Encodes and decodes them: they must be equal.
pub fn build_tree(bytes: &[u8]) {
    let file = AnyFile::arbitrary_take_rest(Unstructured::new(bytes)).expect("any bytes will do");
    let written = file.to_vec().expect("it can be written");
    match &file {
        AnyFile::Program(pte) => {
            let again = Pte::parse(&written).expect("what we write, we read");
            assert_eq!(tree(&pte.program), tree(&again.program));
            assert_eq!(Pte::verify_structure(&written), Ok(()));
        }
        AnyFile::Tensors(ptd) => {
            let again = Ptd::parse(&written).expect("what we write, we read");
            assert_eq!(ptd.flat_tensor, again.flat_tensor);
            assert_eq!(Ptd::verify_structure(&written), Ok(()));
        }
    }
    let pair = ValidPair::arbitrary_take_rest(Unstructured::new(bytes)).expect("any bytes will do");
    let (pte, ptd) = pair.0;
    let [pte, ptd] =
        [pte.image(), ptd.image()].map(|image| image.and_then(|image| image.to_vec()).expect("it is good"));
    let (pte, ptd) = (Pte::parse(&pte).expect("it is good"), Ptd::parse(&ptd).expect("it is good"));
    let findings = pte.verify(Level::Strict).into_iter().chain(ptd.verify(Level::Strict));
    for finding in findings.chain(pte.verify_with([&ptd], Level::Strict)) {
        // Constants are any bytes, which may begin like a pickle or end like an archive.
        // Each method has states of its own, in planned memory of its own. Outputs are any tensors.
        if matches!(
            finding.rule,
            "foreign-format" | "also-zip" | "shared-state" | "state-overwritten" | "external-output"
        ) {
            continue;
        }
        assert_eq!(finding.severity, Severity::Note, "{finding}");
    }
}
