//! Rules about names that must be unique.

use super::report::{Name, Path, Report};
use super::rule;
use crate::{KeyIndex, Ptd, Pte};
use alloc::{collections::BTreeMap, vec::Vec};

pub(super) fn check_pte(pte: &Pte<'_>, report: &mut Report<'_>) {
    if report.is_strict() {
        method_names(pte, report);
        let keys: Vec<_> = pte.named_data_index().iter().collect();
        unique(&keys, report);
        empty(&keys, report);
        prefixes(&keys, report);
    }
}

pub(super) fn check_ptd(ptd: &Ptd<'_>, report: &mut Report<'_>) {
    if report.is_strict() {
        // In an early file, entries of both lists have one count: the paths are those of today's schema.
        let keys: Vec<_> = KeyIndex::new(ptd.entries().map(|entry| entry.key)).iter().collect();
        unique(&keys, report);
        prefixes(&keys, report);
    }
}

fn method_names(pte: &Pte<'_>, report: &mut Report<'_>) {
    let root = Path::ROOT;
    let mut seen = BTreeMap::new();
    for (index, plan) in pte.methods().iter().enumerate() {
        let Some(name) = plan.name.as_deref() else {
            continue;
        };
        if let Some(first) = seen.get(name) {
            let found = format_args!("{}, expected another name than that of method {first}", Name(name));
            let offset = report.offset(Some(name.as_bytes()));
            report.add_at(rule::METHOD_NAME_UNIQUE, &root.item("execution_plan", index).field("name"), offset, found);
        } else {
            seen.insert(name, index);
        }
    }
}

/// Neighbours in the order of keys.
fn pairs<'k, 't>(keys: &'k [(&'t str, usize)]) -> impl Iterator<Item = ((&'t str, usize), (&'t str, usize))> + 'k {
    keys.iter().copied().zip(keys.iter().copied().skip(1))
}

fn unique(keys: &[(&str, usize)], report: &mut Report<'_>) {
    let root = Path::ROOT;
    for ((before, first), (key, index)) in pairs(keys).filter(|((before, _), (key, _))| before == key) {
        let found = format_args!("{}, expected another key than that of entry {first}", Name(before));
        let offset = report.offset(Some(key.as_bytes()));
        report.add_at(rule::KEY_UNIQUE, &root.item("named_data", index).field("key"), offset, found);
    }
}

fn empty(keys: &[(&str, usize)], report: &mut Report<'_>) {
    let root = Path::ROOT;
    for (_, index) in keys.iter().take_while(|(key, _)| key.is_empty()) {
        report.add(
            rule::KEY_EMPTY,
            &root.item("named_data", *index).field("key"),
            format_args!("empty, expected a name"),
        );
    }
}

/// What a key is a prefix of follows it in the order, so its neighbour is enough.
fn prefixes(keys: &[(&str, usize)], report: &mut Report<'_>) {
    let root = Path::ROOT;
    for ((before, index), (key, _)) in pairs(keys) {
        if !before.is_empty() && before != key && key.starts_with(before) {
            let found =
                format_args!("{} starts {}: runtimes before 1.0 may take one for the other", Name(before), Name(key));
            let offset = report.offset(Some(before.as_bytes()));
            report.add_at(rule::KEY_PREFIX, &root.item("named_data", index).field("key"), offset, found);
        }
    }
}
