//! Files made from nothing: flatc reads their tree, and the runtime computes what they mean.

use crate::laid_out_anew::{layouts, our_tree};
use crate::programs::{self, Made};
use executorch_format::{Image, Ptd};
use executorch_format_support::fixtures::sha256;
use executorch_format_support::flatc_json::compare;
use executorch_format_support::official::{Official, accepted, for_all};
use serde_json::Value;
use std::path::{Path, PathBuf};

#[test]
fn official_readers_take_programs_made_from_nothing() {
    let Some(official) = Official::find("from-nothing") else {
        return;
    };
    let made: Vec<(usize, Made)> = layouts()
        .iter()
        .enumerate()
        .flat_map(|(index, (program, data))| {
            programs::all(program, data).unwrap().into_iter().map(move |made| (index, made))
        })
        .collect();
    for_all(&made, |(index, made)| {
        judge(&official, *index, made).map_err(|found| format!("{} in layout {index}:\n{found}", made.name))
    });
    println!(
        "{} programs made from nothing, in {} layouts, with a .ptd where they need one",
        made.len(),
        layouts().len()
    );
}

fn judge(official: &Official, layout: usize, made: &Made) -> Result<(), String> {
    let put = |ending: &str, image: executorch_format::Result<Image<'_>>| {
        let bytes = image.and_then(|image| image.to_vec()).map_err(|error| error.to_string())?;
        Ok::<_, String>(official.put(&PathBuf::from(layout.to_string()).join(made.name).with_extension(ending), &bytes))
    };
    let program = put("pte", made.program.image())?;
    let mut data = Vec::new();
    if let Some(ptd) = &made.data {
        let path = put("ptd", ptd.image())?;
        expect(&official.run(&path, &[], &[]), &keys(ptd))?;
        same_tree(official, &path, &serde_json::to_value(&ptd.flat_tensor).unwrap())?;
        data.push(path);
    }
    // Both ways to load a file: read, and mapped.
    for options in [&[][..], &["--mmap"]] {
        expect(&official.run(&program, &data, options), &made.expected)?;
    }
    same_tree(official, &program, &serde_json::to_value(&made.program.program).unwrap())
}

/// What the runtime should say about a `.ptd`.
fn keys(ptd: &Ptd<'_>) -> Vec<String> {
    let key = |(index, entry): (usize, executorch_format::Entry<'_>)| {
        let bytes = ptd.entry_bytes(&entry).unwrap();
        let data = format!("data: size={} sha256={}", bytes.len(), sha256(bytes));
        [format!("key {index}: \"{}\"", entry.key()), data]
    };
    ptd.entries().enumerate().flat_map(key).collect()
}

fn expect(told: &str, expected: &[String]) -> Result<(), String> {
    let mut lines = told.lines();
    for expected in expected {
        if !lines.any(|line| line.contains(expected.as_str())) {
            return Err(format!("  the runtime does not say {expected:?} where it should:\n{told}"));
        }
    }
    if accepted(told) { Ok(()) } else { Err(format!("  the runtime says:\n{told}")) }
}

/// flatc and this crate read in the file what was written.
fn same_tree(official: &Official, path: &Path, written: &Value) -> Result<(), String> {
    let mut differences = Vec::new();
    compare(&mut "flatc".to_owned(), written, &official.json(path)?, true, &mut differences);
    compare(&mut "ours".to_owned(), written, &our_tree(path), true, &mut differences);
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
}
