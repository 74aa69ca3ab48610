//! Rules about a `.pte` file with its `.ptd` files. They follow the runtime's `method.cpp` (`parse_external_constants`),
//! `tensor_parser_exec_aten.cpp` (`validateTensorLayout`) and `merged_data_map.h`.

use super::report::{Name, Report};
use super::rule;
use crate::error::counted;
use crate::file::key_index::KeyIndex;
use crate::file::ptd::{Entry, Ptd};
use crate::file::pte::Pte;
use crate::flatbuffer::text::{Text, c_string};
use crate::path::Path;
use crate::schema::program::{ExecutionPlan, Tensor};
use crate::sorted::set;
use alloc::{format, vec::Vec};

/// A `.ptd` file with an index of its keys.
struct IndexedPtd<'t> {
    entries: Vec<Entry<'t>>,
    index: KeyIndex<'t>,
}

impl<'t> IndexedPtd<'t> {
    #[expect(clippy::indexing_slicing, reason = "the index was made from the same file as the entries")]
    fn get(&self, name: &str) -> Option<&Entry<'t>> {
        self.index.get(name).map(|entry| &self.entries[entry])
    }
}

pub(super) fn check<'p>(pte: &Pte<'_>, ptds: impl Iterator<Item = &'p Ptd<'p>>, report: &mut Report<'_>) {
    let file = |ptd| IndexedPtd { entries: Ptd::entries(ptd).collect(), index: Ptd::index(ptd) };
    let files: Vec<_> = ptds.map(file).collect();
    if files.is_empty() {
        return unchecked(pte, report);
    }
    keys_in_two_files(pte, &files, report);
    let root = Path::ROOT;
    for (index, plan) in pte.methods().iter().enumerate() {
        let path = root.item("execution_plan", index);
        for (index, tensor, name) in externals(plan) {
            let path = path.item("values", index);
            external(tensor, name, &files, &path.field("val.Tensor"), report);
        }
    }
}

/// Returns the external tensors of a method that have a name.
fn externals<'t, 'a>(plan: &'t ExecutionPlan<'a>) -> impl Iterator<Item = (usize, &'t Tensor<'a>, &'t str)> {
    plan.tensors()
        .filter(|(_, tensor)| tensor.is_external())
        .filter_map(|(index, tensor)| Some((index, tensor, c_string(tensor.fully_qualified_name()?))))
}

fn unchecked(pte: &Pte<'_>, report: &mut Report<'_>) {
    let count = pte.methods().iter().flat_map(externals).count();
    if count > 0 {
        let found =
            format!("no .ptd file was given, so the data of {} was not checked", counted(count, "external tensor"));
        report.add(rule::EXTERNAL_UNCHECKED, &Path::ROOT, found);
    }
}

/// Checks an external tensor. The size of the blob is not compared: a rule about the `.ptd` file does that.
fn external(tensor: &Tensor<'_>, name: &str, files: &[IndexedPtd<'_>], path: &Path<'_>, report: &mut Report<'_>) {
    let Some(entry) = files.iter().find_map(|file| file.get(name)) else {
        let path = path.field("extra_tensor_info");
        let found = format!("{} is in none of the .ptd files", Name(name));
        return report.add(rule::EXTERNAL_MISSING, &path.field("fully_qualified_name"), found);
    };
    let Some(shape) = entry.shape else {
        let found = format!("{} is an opaque blob, expected a tensor", Name(name));
        return report.add(rule::EXTERNAL_LAYOUT, path, found);
    };
    if shape != tensor.shape() {
        let found = format!("{} is {shape} in the .ptd file, expected {}", Name(name), tensor.shape());
        report.add(rule::EXTERNAL_LAYOUT, path, found);
    }
}

fn keys_in_two_files(pte: &Pte<'_>, files: &[IndexedPtd<'_>], report: &mut Report<'_>) {
    let own = pte.named_data_index();
    let mut keys: Vec<(&Text<'_>, usize)> = own.iter().map(|(key, _)| (key, 0)).collect();
    for (file, number) in files.iter().zip(1..) {
        keys.extend(file.index.iter().map(|(key, _)| (key, number)));
    }
    // A duplicate key in one file is reported for that file.
    let keys = set(keys);
    for ((before, first), (key, second)) in keys.iter().zip(keys.iter().skip(1)) {
        if before == key {
            let name = Name(key);
            match first {
                0 => {
                    let found = format!("{name} is in both the .pte file and .ptd file {second}");
                    report.add(rule::KEY_IN_TWO_FILES, &Path::ROOT, found);
                }
                _ => {
                    let found = format!("{name} is in both .ptd file {first} and .ptd file {second}");
                    report.add(rule::KEY_IN_TWO_FILES, &Path::ROOT, found);
                }
            }
        }
    }
}
