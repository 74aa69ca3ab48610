//! Rules about names: they are unique, contain no NUL, and do not deceive readers.

use super::report::{Name, Report};
use super::rule;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::flatbuffer::text::Text;
use crate::names::is_deceptive;
use crate::path::Path;
use alloc::collections::BTreeMap;
use alloc::{format, vec::Vec};

pub(super) fn check_pte(pte: &Pte<'_>, report: &mut Report<'_>) {
    each_in_pte(pte, report);
    method_names(pte, report);
    let keys: Vec<_> = pte.named_data_index().iter().collect();
    alike(&keys, &Path::ROOT, ("named_data", "key"), report);
    unique(&keys, report);
    empty(&keys, report);
    prefixes(&keys, report);
}

pub(super) fn check_ptd(ptd: &Ptd<'_>, report: &mut Report<'_>) {
    let root = Path::ROOT;
    for (index, entry) in ptd.entries().enumerate() {
        name(entry.key, &root.item("named_data", index), "key", report);
    }
    // In a file with an early schema, the entries come from two lists. The paths follow the current schema.
    let keys: Vec<_> = ptd.index().iter().collect();
    alike(&keys, &root, ("named_data", "key"), report);
    unique(&keys, report);
    prefixes(&keys, report);
}

/// Checks the names that the runtime compares or passes on as C strings.
fn each_in_pte(pte: &Pte<'_>, report: &mut Report<'_>) {
    let root = Path::ROOT;
    for (index, named) in pte.named_data().iter().enumerate() {
        name(named.key.as_ref(), &root.item("named_data", index), "key", report);
    }
    for (index, plan) in pte.methods().iter().enumerate() {
        let path = &root.item("execution_plan", index);
        name(plan.name.as_ref(), path, "name", report);
        for (index, operator) in plan.operators().iter().enumerate() {
            let path = &path.item("operators", index);
            name(operator.name.as_ref(), path, "name", report);
            name(operator.overload.as_ref(), path, "overload", report);
        }
        for (index, delegate) in plan.delegates().iter().enumerate() {
            let path = &path.item("delegates", index);
            name(delegate.id.as_ref(), path, "id", report);
            for (index, spec) in delegate.compile_specs().iter().enumerate() {
                name(spec.key.as_ref(), &path.item("compile_specs", index), "key", report);
            }
        }
        for (index, tensor) in plan.tensors() {
            let Some(extra) = tensor.extra_tensor_info.as_deref() else { continue };
            let path = &path.item("values", index);
            let path = &path.field("val.Tensor.extra_tensor_info");
            name(extra.fully_qualified_name.as_ref(), path, "fully_qualified_name", report);
        }
    }
}

fn name(name: Option<&Text<'_>>, path: &Path<'_>, field: &'static str, report: &mut Report<'_>) {
    nul(name, path, field, report);
    if let Some(name) = name.filter(|name| !name.is_ascii() || name.bytes().any(is_control)) {
        deceptive(name, path, field, report);
    }
}

/// Returns `true` for control characters except NUL, which has a rule of its own.
fn is_control(byte: u8) -> bool {
    byte.is_ascii_control() && byte != 0
}

#[cold]
fn deceptive(name: &Text<'_>, path: &Path<'_>, field: &'static str, report: &mut Report<'_>) {
    if let Some(character) = name.chars().find(|character| *character != '\0' && is_deceptive(*character)) {
        let offset = report.offset(Some(name.as_bytes()));
        let found = format!(
            "{} holds {}, expected only characters that show as themselves",
            Name(name),
            character.escape_unicode()
        );
        report.add_at(rule::NAME_DECEPTIVE, &path.field(field), offset, found);
    }
}

/// Reports names in a list that look alike, if one of them is not plain ASCII: a Latin and a Cyrillic `a`, for example. `1`
/// and `l` are not reported.
fn alike(names: &[Key<'_>], path: &Path<'_>, (list, field): (&'static str, &'static str), report: &mut Report<'_>) {
    use alloc::string::String;
    use unicode_security::confusable_detection::skeleton;

    if names.iter().all(|(name, _)| name.is_ascii()) {
        return;
    }
    let mut seen: BTreeMap<String, Key<'_>> = BTreeMap::new();
    for (name, index) in names.iter().copied() {
        let shown: String = name.chars().filter(|character| !is_deceptive(*character)).collect();
        let (first, other) = *seen.entry(skeleton(&shown).collect()).or_insert((name, index));
        if first != name && !(first.is_ascii() && name.is_ascii()) {
            let found = format!("{} looks like {}, the name of entry {other}", Name(name), Name(first));
            let offset = report.offset(Some(name.as_bytes()));
            report.add_at(rule::NAME_ALIKE, &path.item(list, index).field(field), offset, found);
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
    let named = pte.methods().iter().zip(0..).filter_map(|(plan, index)| Some((plan.name.as_ref()?, index)));
    alike(&named.collect::<Vec<_>>(), &root, ("execution_plan", "name"), report);
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

/// Returns pairs of neighbours in the sorted keys.
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

/// Reports keys that are prefixes of others. In the sorted keys, one of these directly follows the prefix.
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
