//! The findings in files, as `pte verify` reports them.

use executorch_format::verify::{Finding, Level, Severity};
use executorch_format::{Error, Model, Ptd};
use std::collections::BTreeSet;

/// Returns the rules that the files break, with severity error, at a level.
pub fn errors(files: &[&[u8]], level: Level) -> BTreeSet<&'static str> {
    let found = findings(files, level).into_iter();
    found.filter(|finding| finding.severity == Severity::Error).map(|finding| finding.rule).collect()
}

/// Returns the findings of a file, alone and with the `.ptd` files that follow it in the list.
pub fn findings(files: &[&[u8]], level: Level) -> Vec<Finding> {
    let Some((file, data)) = files.split_first() else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let mut ptds = Vec::new();
    for bytes in data {
        match Ptd::parse(bytes) {
            Ok(ptd) => {
                findings.extend(ptd.verify(level));
                ptds.push(ptd);
            }
            Err(error) => findings.push(Finding::from(&error)),
        }
    }
    findings.extend(alone(file, &ptds, level).unwrap_or_else(|error| vec![Finding::from(&error)]));
    findings
}

fn alone(file: &[u8], ptds: &[Ptd<'_>], level: Level) -> Result<Vec<Finding>, Error> {
    let ptds: Vec<&Ptd<'_>> = ptds.iter().collect();
    Ok(Model::parse(file)?.check(level, &ptds).findings)
}
