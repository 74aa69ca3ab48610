//! Replacing the program in a bundle.

use super::report::{Action, EditReport, Subject};
use crate::error::Result;
use crate::file::bpte::Bpte;
use crate::file::pte::Pte;
use alloc::{borrow::Cow, format, vec::Vec};

impl<'a> Bpte<'a> {
    /// Replaces the program by another `.pte` file, given by its bytes. The test cases stay unchanged;
    /// [`new_errors`](super::new_errors) checks whether they match the new program.
    ///
    /// ```
    /// use executorch_format::Bpte;
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/bundled/bundled.bpte")?;
    /// let program = std::fs::read("tests/data/1.5.1/add_mul_external/add_mul_external.pte")?;
    /// let mut bpte = Bpte::parse(&file)?;
    /// let report = bpte.replace_program(program)?;
    /// println!("{}", report.changes[0]);
    /// assert_eq!(bpte.program()?.methods().len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails as [`Pte::parse`] does if the bytes are not a `.pte` file. [`set_program`](Self::set_program) accepts any
    /// bytes.
    pub fn replace_program(&mut self, program: impl Into<Cow<'a, [u8]>>) -> Result<EditReport> {
        let program = program.into();
        let mut report = EditReport::default();
        let parsed = Pte::parse(&program)?;
        let tested: Vec<&str> =
            self.bundled_program.method_test_suites().iter().map(|suite| suite.method_name()).collect();
        for plan in parsed.methods().iter().filter(|plan| !tested.contains(&plan.name())) {
            report.notes.push(format!("the bundle has no test cases for the method {:?}", plan.name()));
        }
        drop(parsed);
        let old = self.bundled_program.program();
        if *old != *program {
            let bytes = [old.len() as u64, program.len() as u64];
            report.add(Action::Replaced, Subject::Program, "", Vec::new(), bytes);
            self.set_program(program);
        }
        Ok(report)
    }
}
