//! Any bytes are refused or decoded, and a decoded tree can be walked completely.

use executorch_format::validate::{Finding, Level};
use executorch_format::{Ptd, Pte};
use executorch_format_support::visit;

/// Decodes a program, visits everything, validates, and compares with an owned copy.
pub fn read_pte(bytes: &[u8]) {
    match Pte::parse(bytes) {
        Ok(pte) => {
            let seen = visit::pte(bytes, &pte);
            assert_eq!(seen, visit::pte(bytes, &pte));
            let strict = pte.validate(Level::Strict);
            print(&strict);
            assert!(pte.validate(Level::Runtime).len() <= strict.len());
            print(&pte.validate_with(&[], Level::Strict));
            let tree = visit::tree(&pte.program);
            assert_eq!(tree, visit::tree(&pte.into_owned().program));
        }
        Err(error) => check_error(&error, bytes),
    }
}

/// Decodes a `.ptd`, visits everything, validates, and compares with an owned copy.
pub fn read_ptd(bytes: &[u8]) {
    match Ptd::parse(bytes) {
        Ok(ptd) => {
            let seen = visit::ptd(bytes, &ptd);
            assert_eq!(seen, visit::ptd(bytes, &ptd));
            let strict = ptd.validate(Level::Strict);
            print(&strict);
            assert!(ptd.validate(Level::Runtime).len() <= strict.len());
            let tree = visit::tree(&ptd.flat_tensor);
            assert_eq!(tree, visit::tree(&ptd.into_owned().flat_tensor));
        }
        Err(error) => check_error(&error, bytes),
    }
}

/// Checks that an error has a text and an offset inside the file.
fn check_error(error: &executorch_format::Error, bytes: &[u8]) {
    assert!(!error.to_string().is_empty());
    assert!(!error.kind().rule().is_empty());
    assert!(error.offset().is_none_or(|offset| offset <= bytes.len() as u64), "{error}");
}

/// Checks that findings can be printed.
fn print(findings: &[Finding]) {
    for finding in findings {
        assert!(!finding.to_string().is_empty());
    }
}
