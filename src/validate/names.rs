//! Rules about names: they are unique and contain no NUL.

use super::report::{Name, Report};
use super::rule;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::flatbuffer::text::Text;
use crate::path::Path;
use alloc::{collections::BTreeMap, format, vec::Vec};

pub(super) fn check_pte(pte: &Pte<'_>, report: &mut Report<'_>) {
    nul_in_pte(pte, report);
    if report.is_strict() {
        method_names(pte, report);
        let keys: Vec<_> = pte.named_data_index().iter().collect();
        unique(&keys, report);
        empty(&keys, report);
        prefixes(&keys, report);
    }
}

pub(super) fn check_ptd(ptd: &Ptd<'_>, report: &mut Report<'_>) {
    let root = Path::ROOT;
    for (index, entry) in ptd.entries().enumerate() {
        nul(entry.key, &root.item("named_data", index), "key", report);
    }
    if report.is_strict() {
        // In a file with an early schema the entries come from two lists. The paths follow the current schema.
        let keys: Vec<_> = ptd.index().iter().collect();
        unique(&keys, report);
        prefixes(&keys, report);
    }
}

/// The names that the runtime compares or passes on as C strings.
fn nul_in_pte(pte: &Pte<'_>, report: &mut Report<'_>) {
    let root = Path::ROOT;
    for (index, named) in pte.named_data().iter().enumerate() {
        nul(named.key.as_ref(), &root.item("named_data", index), "key", report);
    }
    for (index, plan) in pte.methods().iter().enumerate() {
        let path = &root.item("execution_plan", index);
        nul(plan.name.as_ref(), path, "name", report);
        for (index, operator) in plan.operators().iter().enumerate() {
            let path = &path.item("operators", index);
            nul(operator.name.as_ref(), path, "name", report);
            nul(operator.overload.as_ref(), path, "overload", report);
        }
        for (index, delegate) in plan.delegates().iter().enumerate() {
            let path = &path.item("delegates", index);
            nul(delegate.id.as_ref(), path, "id", report);
            for (index, spec) in delegate.compile_specs().iter().enumerate() {
                nul(spec.key.as_ref(), &path.item("compile_specs", index), "key", report);
            }
        }
        for (index, tensor) in plan.tensors() {
            let name = tensor.extra_tensor_info.as_deref().and_then(|extra| extra.fully_qualified_name.as_ref());
            let path = &path.item("values", index);
            nul(name, &path.field("val.Tensor.extra_tensor_info"), "fully_qualified_name", report);
        }
    }
}

fn nul(name: Option<&Text<'_>>, path: &Path<'_>, field: &'static str, report: &mut Report<'_>) {
    if let Some(name) = name.filter(|name| name.as_bytes().contains(&0)) {
        let offset = report.offset(Some(name.as_bytes()));
        let found = format!("{} contains NUL: the runtime reads it as a C string and sees only the start", Name(name));
        report.add_at(rule::NAME_NUL, &path.field(field), offset, found);
    }
}

fn method_names(pte: &Pte<'_>, report: &mut Report<'_>) {
    let root = Path::ROOT;
    let mut seen = BTreeMap::new();
    for (index, plan) in pte.methods().iter().enumerate() {
        let Some(name) = &plan.name else {
            continue;
        };
        if let Some(first) = seen.get(name) {
            let found = format!("{} is also the name of method {first}, expected a unique name", Name(name));
            let offset = report.offset(Some(name.as_bytes()));
            report.add_at(rule::METHOD_NAME_UNIQUE, &root.item("execution_plan", index).field("name"), offset, found);
        } else {
            seen.insert(name, index);
        }
    }
}

/// A key and the index of its entry.
type Key<'t> = (&'t Text<'t>, usize);

/// Neighbours in the sorted keys.
fn pairs<'k, 't>(keys: &'k [Key<'t>]) -> impl Iterator<Item = (Key<'t>, Key<'t>)> + 'k {
    keys.iter().copied().zip(keys.iter().copied().skip(1))
}

fn unique(keys: &[Key<'_>], report: &mut Report<'_>) {
    let root = Path::ROOT;
    for ((before, first), (key, index)) in pairs(keys).filter(|((before, _), (key, _))| before == key) {
        let found = format!("{} is also the key of entry {first}, expected a unique key", Name(before));
        let offset = report.offset(Some(key.as_bytes()));
        report.add_at(rule::KEY_UNIQUE, &root.item("named_data", index).field("key"), offset, found);
    }
}

fn empty(keys: &[Key<'_>], report: &mut Report<'_>) {
    let root = Path::ROOT;
    for (_, index) in keys.iter().take_while(|(key, _)| key.is_empty()) {
        report.add(
            rule::KEY_EMPTY,
            &root.item("named_data", *index).field("key"),
            format_args!("empty, expected a name"),
        );
    }
}

/// If a key is a prefix of others, one of them comes right after it in the sorted keys.
fn prefixes(keys: &[Key<'_>], report: &mut Report<'_>) {
    let root = Path::ROOT;
    for ((before, index), (key, _)) in pairs(keys) {
        if !before.is_empty() && before != key && key.as_bytes().starts_with(before.as_bytes()) {
            let found = format!(
                "{} is the start of {}: runtimes before 1.0 may take one for the other",
                Name(before),
                Name(key)
            );
            let offset = report.offset(Some(before.as_bytes()));
            report.add_at(rule::KEY_PREFIX, &root.item("named_data", index).field("key"), offset, found);
        }
    }
}
