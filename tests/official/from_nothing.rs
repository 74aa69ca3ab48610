//! New files, not based on an existing one: flatc must read their tree, and the runtime must run them.

use crate::programs::{self, NewProgram};
use crate::relayout::{layouts, our_tree};
use executorch_format::{Image, Ptd};
use executorch_format_support::fixtures::sha256;
use executorch_format_support::flatc_json::compare;
use executorch_format_support::official::{Official, accepted, for_all};
use serde_json::Value;
use std::path::{Path, PathBuf};

#[test]
fn official_readers_accept_new_programs() {
    let Some(official) = Official::find("from-nothing") else {
        return;
    };
    let programs: Vec<(usize, NewProgram)> = layouts()
        .iter()
        .enumerate()
        .flat_map(|(index, (program, data))| {
            programs::all(program, data).unwrap().into_iter().map(move |program| (index, program))
        })
        .collect();
    for_all(&programs, |(index, program)| {
        check(&official, *index, program).map_err(|found| format!("{} in layout {index}:\n{found}", program.name))
    });
    println!("{} new programs in {} layouts, with a .ptd where they need one", programs.len(), layouts().len());
}

fn check(official: &Official, layout: usize, new: &NewProgram) -> Result<(), String> {
    let put = |ending: &str, image: executorch_format::Result<Image<'_>>| {
        let bytes = image.and_then(|image| image.to_vec()).map_err(|error| error.to_string())?;
        Ok::<_, String>(official.put(&PathBuf::from(layout.to_string()).join(new.name).with_extension(ending), &bytes))
    };
    let program = put("pte", new.program.image())?;
    let mut data = Vec::new();
    if let Some(ptd) = &new.data {
        let path = put("ptd", ptd.image())?;
        expect(&official.run(&path, &[], &[]), &keys(ptd))?;
        same_tree(official, &path, &serde_json::to_value(&ptd.flat_tensor).unwrap())?;
        data.push(path);
    }
    // The runtime has two ways to load a file.
    for options in [&[][..], &["--mmap"]] {
        expect(&official.run(&program, &data, options), &new.expected)?;
    }
    same_tree(official, &program, &serde_json::to_value(&new.program.program).unwrap())
}

/// Returns the lines that the runtime should print about a `.ptd`.
fn keys(ptd: &Ptd<'_>) -> Vec<String> {
    let key = |(index, entry): (usize, executorch_format::Entry<'_>)| {
        let bytes = ptd.entry_bytes(&entry).unwrap();
        let data = format!("data: size={} sha256={}", bytes.len(), sha256(bytes));
        [format!("key {index}: \"{}\"", entry.key()), data]
    };
    ptd.entries().enumerate().flat_map(key).collect()
}

fn expect(printed: &str, expected: &[String]) -> Result<(), String> {
    let mut lines = printed.lines();
    for expected in expected {
        if !lines.any(|line| line.contains(expected.as_str())) {
            return Err(format!("  the runtime does not print {expected:?} where expected:\n{printed}"));
        }
    }
    if accepted(printed) { Ok(()) } else { Err(format!("  the runtime prints:\n{printed}")) }
}

/// Checks that flatc and this crate read the tree that was written.
fn same_tree(official: &Official, path: &Path, written: &Value) -> Result<(), String> {
    let mut differences = Vec::new();
    compare(&mut "flatc".to_owned(), written, &official.json(path)?, true, &mut differences);
    compare(&mut "ours".to_owned(), written, &our_tree(path), true, &mut differences);
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
}
