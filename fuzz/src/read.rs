//! Any bytes are refused or decoded, and what was decoded can be walked to its end.

use executorch_format_support::visit;
use executorch_format::validate::{Finding, Level};
use executorch_format::{Ptd, Pte};

/// Decodes a program, visits everything, validates, and takes a copy that must be the same.
pub fn read_pte(bytes: &[u8]) {
    match Pte::parse(bytes) {
        Ok(pte) => {
            let seen = visit::pte(bytes, &pte);
            assert_eq!(seen, visit::pte(bytes, &pte));
            let strict = pte.validate(Level::Strict);
            shows(&strict);
            assert!(pte.validate(Level::Runtime).len() <= strict.len());
            shows(&pte.validate_with(&[], Level::Strict));
            let tree = visit::tree(&pte.program);
            assert_eq!(tree, visit::tree(&pte.into_owned().program));
        }
        Err(error) => shown(&error, bytes),
    }
}

/// Decodes a `.ptd`, visits everything, validates, and takes a copy that must be the same.
pub fn read_ptd(bytes: &[u8]) {
    match Ptd::parse(bytes) {
        Ok(ptd) => {
            let seen = visit::ptd(bytes, &ptd);
            assert_eq!(seen, visit::ptd(bytes, &ptd));
            let strict = ptd.validate(Level::Strict);
            shows(&strict);
            assert!(ptd.validate(Level::Runtime).len() <= strict.len());
            let tree = visit::tree(&ptd.flat_tensor);
            assert_eq!(tree, visit::tree(&ptd.into_owned().flat_tensor));
        }
        Err(error) => shown(&error, bytes),
    }
}

/// An error has a text, and a place inside the file.
fn shown(error: &executorch_format::Error, bytes: &[u8]) {
    assert!(!error.to_string().is_empty());
    assert!(!error.kind().rule().is_empty());
    assert!(error.offset().is_none_or(|offset| offset <= bytes.len() as u64), "{error}");
}

/// What validation found can be shown.
fn shows(findings: &[Finding]) {
    for finding in findings {
        assert!(!finding.to_string().is_empty());
    }
}
