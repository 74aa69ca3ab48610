//! One change that keeps the file's layout, and changes nothing if it fails.

use crate::error::{Error, Result};
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::path::Step;
use crate::write::options::{PtdOptions, PteOptions};

/// The options that keep the file's layout. Fails if a reference to data is out of range, because after an edit it
/// could refer to something else.
pub(super) fn layout_to_keep(pte: &Pte<'_>) -> Result<PteOptions> {
    pte.check_references()?;
    for (user, data) in pte.data_users() {
        data.map_err(|error| user.path().steps().iter().rev().fold(error, located))?;
    }
    PteOptions::of(pte)
}

/// Makes a change and recomputes the layout. If either fails, nothing is changed.
pub(super) fn change<'a, R>(pte: &mut Pte<'a>, change: impl FnOnce(&mut Pte<'a>) -> Result<R>) -> Result<R> {
    let options = layout_to_keep(pte)?;
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

/// [`change`] for a `.ptd`.
pub(super) fn change_ptd<'a, R>(ptd: &mut Ptd<'a>, change: impl FnOnce(&mut Ptd<'a>) -> Result<R>) -> Result<R> {
    ptd.check_references()?;
    let options = PtdOptions::of(ptd)?;
    let mut changed = ptd.clone();
    let result = change(&mut changed)?;
    *ptd = changed.lay_out(&options)?;
    Ok(result)
}
