//! Totals by module, as a table.

use crate::context::{Context, LONG_NAME, MaxRows, Out};
use crate::failure::Failure;
use crate::table::{Column, Table, bar, percent};
use executorch_format::inspect::ModuleTotal;
use std::cmp::Reverse;
use std::io;
use std::path::Path;

/// Returns the totals, or an empty list if no module is known.
pub fn known(modules: Vec<ModuleTotal<'_>>) -> Vec<ModuleTotal<'_>> {
    if modules.iter().any(|module| module.path.is_some()) { modules } else { Vec::new() }
}

/// Fails if no module is known.
pub fn check(path: &Path, modules: &[ModuleTotal<'_>]) -> Result<(), Failure> {
    if modules.iter().any(|module| module.path.is_some()) {
        return Ok(());
    }
    let fault =
        "no module is known: --names takes an ETRecord of the program, or the model's state dict as safetensors";
    Err(Failure::usage_of(path, &fault))
}

/// Writes the tree of modules. If not all are shown, then those with the largest totals, and all that contain them. `amount` heads the
/// column of totals.
pub fn write(
    out: &mut Out<'_>,
    modules: &[ModuleTotal<'_>],
    amount: &str,
    most: MaxRows,
    show: impl Fn(u64) -> String,
) -> io::Result<()> {
    let all = modules.iter().filter(|module| module.depth == 0).map(|module| module.total).fold(0, u64::saturating_add);
    let mut shown: Vec<(usize, &ModuleTotal<'_>)> = modules.iter().enumerate().collect();
    // A module sorts before the modules inside it, whose totals are not larger.
    shown.sort_by_key(|(_, module)| Reverse(module.total));
    shown.truncate(most.count);
    shown.sort_by_key(|(index, _)| *index);
    let mut table = Table::new([
        (amount, Column::Right),
        ("SHARE", Column::Right),
        ("", Column::Bar),
        ("OWN", Column::Right),
        ("MODULE", Column::Left),
    ]);
    // A share of a sum that is not known is not known either.
    let is_known = modules.iter().all(|module| module.unknown == 0);
    for (_, module) in &shown {
        let path = name(out.context, module.path);
        let (share, bar) = match is_known {
            true => (percent(module.total, all), bar(module.total, all)),
            false => Default::default(),
        };
        let show = |amount: u64| match (module.unknown, amount) {
            (0, amount) => show(amount),
            (_, 0) => "not known".to_owned(),
            (_, amount) => format!("at least {}", show(amount)),
        };
        let path = format!("{}{path}", "  ".repeat(module.depth));
        table.row([show(module.total), share, bar, show(module.own), path]);
    }
    table.leave_out(modules.len() - shown.len(), most, ", which take less");
    table.write(out)
}

/// Formats the path of a module.
pub fn name(context: &Context, path: Option<&str>) -> String {
    match path {
        Some("") => "(the model)".to_owned(),
        Some(path) => context.name(path, LONG_NAME),
        None => "(of no module, or not known)".to_owned(),
    }
}
