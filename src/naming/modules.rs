//! Amounts added up by module.

use crate::inspect::ModuleTotal;
use crate::inspect::modules::{MAX_DEPTH, modules};
use crate::keyed::{Keyed, sort_by_key};
use alloc::vec::Vec;
use core::cmp::Reverse;

/// Limits the bytes of a path: a record can contain any path, for any number of instructions.
const MAX_BYTES: usize = 512;

/// Adds up amounts by module. For the order, see [`ModuleTotal`].
pub(super) fn tree<'t>(amounts: impl IntoIterator<Item = (Option<&'t str>, u64)>) -> Vec<ModuleTotal<'t>> {
    let mut totals: Keyed<&'t str, ModuleTotal<'t>> = Keyed::new();
    let mut unknown = ModuleTotal::default();
    for (path, amount) in amounts {
        let Some(path) = path.map(bounded) else {
            add(&mut unknown, amount, true);
            continue;
        };
        for (depth, module) in [""].into_iter().chain(modules(path)).enumerate() {
            let total =
                totals.or_insert_with(module, || ModuleTotal { path: Some(module), depth, ..ModuleTotal::default() });
            add(total, amount, module == path);
        }
    }
    let mut inside: Keyed<&'t str, Vec<ModuleTotal<'t>>> = Keyed::new();
    let mut next = Vec::new();
    for (path, total) in totals.into_sorted() {
        match path {
            "" => next.push(total),
            path => inside.entry(outer(path)).push(total),
        }
    }
    let mut tree = Vec::new();
    while let Some(module) = next.pop() {
        let mut modules = module.path.and_then(|path| inside.get_mut(path)).map(core::mem::take).unwrap_or_default();
        // Modules are popped from the end.
        sort_by_key(&mut modules, |module| (module.total, Reverse(module.path)));
        next.append(&mut modules);
        tree.push(module);
    }
    tree.extend((unknown.count > 0).then_some(unknown));
    tree
}

fn add(module: &mut ModuleTotal<'_>, amount: u64, is_own: bool) {
    module.total = module.total.saturating_add(amount);
    module.own = module.own.saturating_add(if is_own { amount } else { 0 });
    module.count += 1;
}

/// Returns the path of the module that contains the given module.
pub(super) fn outer(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(outer, _)| outer)
}

/// Returns as many of a path's outermost modules as the limits allow.
fn bounded(path: &str) -> &str {
    let last = modules(path).take(MAX_DEPTH - 1).take_while(|module| module.len() <= MAX_BYTES).last();
    last.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(amounts: &[(Option<&'static str>, u64)]) -> Vec<(Option<&'static str>, usize, u64, u64, usize)> {
        let row = |module: ModuleTotal<'static>| (module.path, module.depth, module.own, module.total, module.count);
        tree(amounts.iter().copied()).into_iter().map(row).collect()
    }

    #[test]
    fn each_module_precedes_those_inside_it_and_has_their_sum() {
        let amounts = [
            (Some("layers.0.conv"), 5),
            (Some("head"), 20),
            (Some("layers.1.conv"), 7),
            (None, 100),
            (Some(""), 1),
            (Some("layers.0.conv"), 5),
        ];
        let expected = [
            (Some(""), 0, 1, 38, 5),
            (Some("head"), 1, 20, 20, 1),
            (Some("layers"), 1, 0, 17, 3),
            (Some("layers.0"), 2, 0, 10, 2),
            (Some("layers.0.conv"), 3, 10, 10, 2),
            (Some("layers.1"), 2, 0, 7, 1),
            (Some("layers.1.conv"), 3, 7, 7, 1),
            (None, 0, 100, 100, 1),
        ];
        assert_eq!(rows(&amounts), expected);
        assert_eq!(rows(&[]), []);
    }

    #[test]
    fn long_paths_are_bounded() {
        let deep: &'static str = alloc::vec!["a"; 1000].join(".").leak();
        assert_eq!(rows(&[(Some(deep), 1)]).len(), MAX_DEPTH);
        let long: &'static str = "a".repeat(1000).leak();
        assert_eq!(rows(&[(Some(long), 1)]), [(Some(""), 0, 1, 1, 1)]);
        let odd = rows(&[(Some("."), 1), (Some("a..b"), 2), (Some(".a."), 4)]);
        assert_eq!(odd.first(), Some(&(Some(""), 0, 0, 7, 3)));
        assert_eq!(odd.iter().map(|row| row.2).sum::<u64>(), 7);
    }
}
