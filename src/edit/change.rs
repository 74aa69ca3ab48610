//! Changes that keep the file's layout, and leave the tree unchanged if they fail.

use crate::error::{Error, Result};
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::path::Step;
use crate::write::options::{PtdOptions, PteOptions};

/// Fails if a reference to data is out of range, because it could refer to something else after an edit.
pub(super) fn check_references(pte: &Pte<'_>) -> Result<()> {
    pte.check_references()?;
    for (user, data) in pte.data_users() {
        data.map_err(|error| user.path().steps().iter().rev().fold(error, located))?;
    }
    Ok(())
}

/// Makes a change and recomputes the layout. If either fails, the program is unchanged.
pub(super) fn change<'a, R>(pte: &mut Pte<'a>, change: impl FnOnce(&mut Pte<'a>) -> Result<R>) -> Result<R> {
    check_references(pte)?;
    let options = PteOptions::of(pte)?;
    let mut changed = pte.clone();
    let result = change(&mut changed)?;
    *pte = changed.lay_out(&options)?;
    Ok(result)
}

fn located(error: Error, step: &Step) -> Error {
    match *step {
        Step::Field(name) => error.in_field(name),
        Step::Index(index) => error.in_item(index),
    }
}

/// Makes a change to a `.ptd`, like [`change`].
pub(super) fn change_ptd<'a, R>(ptd: &mut Ptd<'a>, change: impl FnOnce(&mut Ptd<'a>) -> Result<R>) -> Result<R> {
    ptd.check_references()?;
    let options = PtdOptions::of(ptd)?;
    let mut changed = ptd.clone();
    let result = change(&mut changed)?;
    *ptd = changed.lay_out(&options)?;
    Ok(result)
}
