//! Every fixture, laid out anew in many ways: flatc reads the same tree, and the runtime says the same.

use executorch_format::schema::program::DataLocation;
use executorch_format::{Ptd, PtdOptions, Pte, PteOptions, WriteStyle};
use executorch_format_support::fixtures::{Fixture, fixtures};
use executorch_format_support::flatc_json::compare;
use executorch_format_support::official::{Official, accepted, for_all, is_pte, same};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Ways to lay a file out, which together have every value of every option.
pub fn layouts() -> Vec<(PteOptions, PtdOptions)> {
    use DataLocation as At;
    const PYTHON: WriteStyle = WriteStyle::PYTHON;
    const OLD: WriteStyle = WriteStyle::PYTHON_OLD_FLATBUFFERS;
    const FLATC: WriteStyle = WriteStyle::FLATC;
    let layout = |segment_alignment, constants, delegates, delegate_alignment, style, header_length| {
        let program = PteOptions {
            segment_alignment,
            constant_alignment: constants,
            delegate_alignment,
            delegates,
            style: Some(style),
            header_length,
        };
        // One style is of `.ptd` files alone.
        let data_style = if delegates.is_none() { WriteStyle::SAVE_PTD } else { style };
        (program, PtdOptions { segment_alignment, style: Some(data_style) })
    };
    vec![
        layout(1, None, None, 16, PYTHON, 32),
        layout(16, Some(64), Some(At::INLINE), 16, FLATC, 24),
        layout(128, Some(16), Some(At::SEGMENT), 16, PYTHON, 24),
        layout(4096, Some(64), Some(At::SEGMENT), 64, FLATC, 32),
        layout(128, Some(64), Some(At::INLINE), 1024, OLD, 32),
        layout(4096, Some(16), Some(At::INLINE), 64, OLD, 24),
        layout(16, None, None, 16, FLATC, 32),
        layout(1, Some(16), Some(At::SEGMENT), 256, FLATC, 24),
    ]
}

/// What the runtime of 1.5.1 refuses, though it is well-formed.
const REFUSED: &[&str] = &[
    // Made for a device that is not there.
    "device_cuda_0.pte",
    "device_cuda_1.pte",
    // Shapes that nothing bounds.
    "dynamic_nonzero.pte",
    "dynamic_unbound_free.pte",
    // Weights in a `.ptd` that is not there, or that it misreads.
    "0.5.0/add_mul_external/add_mul_external.pte",
    "0.6.0/add_mul_external/add_mul_external.pte",
    "bench/llama6_external.pte",
];

fn refused(fixture: &Fixture) -> bool {
    let name = fixture.name();
    REFUSED.iter().any(|refused| name.ends_with(refused)) || (fixture.is_pte() && constants_inside(fixture))
}

/// Whether constants are inside the FlatBuffer or, where there are none, would be: without at least a placeholder in
/// `constant_segment` the runtime refuses a file.
fn constants_inside(fixture: &Fixture) -> bool {
    let program = Pte::parse(fixture.bytes()).unwrap().program;
    program.constant_segment.is_none_or(|list| list.offsets.unwrap_or_default().is_empty())
}

/// Whether it is a `.ptd` with a schema that the readers of 1.5.1 take for today's: what they find in it is chance.
fn misread(fixture: &Fixture) -> bool {
    !fixture.is_pte() && Ptd::parse(fixture.bytes()).unwrap().flat_tensor.legacy.is_some()
}

#[derive(Default)]
struct Counts {
    files: AtomicUsize,
    written: AtomicUsize,
    accepted: AtomicUsize,
    refused: AtomicUsize,
    hashes: AtomicUsize,
    read_by_flatc: AtomicUsize,
}

fn add(count: &AtomicUsize, more: usize) {
    count.fetch_add(more, Ordering::Relaxed);
}

#[test]
fn official_readers_find_the_same_in_every_file_laid_out_anew() {
    let Some(official) = Official::find("laid-out-anew") else {
        return;
    };
    let (misread, fixtures): (Vec<_>, Vec<_>) = fixtures().into_iter().partition(misread);
    // A program and its data lie in one folder.
    let mut folders = BTreeMap::<PathBuf, Vec<Fixture>>::new();
    for fixture in fixtures {
        folders.entry(fixture.path.parent().unwrap().to_owned()).or_default().push(fixture);
    }
    let folders: Vec<Vec<Fixture>> = folders.into_values().collect();
    let counts = Counts::default();
    for_all(&folders, |folder| judge(&official, folder, &counts));

    let Counts { files, written, accepted, refused, hashes, read_by_flatc } = counts;
    let (files, written) = (files.into_inner(), written.into_inner());
    let (accepted, refused) = (accepted.into_inner(), refused.into_inner());
    println!("{files} files, each laid out anew in {} ways: {written} files", layouts().len());
    println!("the runtime takes {accepted} of them, with {hashes:?} SHA-256 equal to the originals'");
    println!("the runtime refuses {refused}, as it does the originals");
    println!("flatc reads in {read_by_flatc:?} of them the tree that this crate reads, and the original's");
    println!("not judged: {} .ptd files of ExecuTorch 0.5 and 0.6, which the readers of 1.5.1 misread", misread.len());
    assert_eq!(written, files * layouts().len());
    assert_eq!(accepted + refused, written);
}

fn judge(official: &Official, folder: &[Fixture], counts: &Counts) -> Result<(), String> {
    let originals = put(official, "original", folder, |fixture| Ok(fixture.bytes().to_vec()))?;
    let mut expected = Vec::new();
    for (fixture, path) in folder.iter().zip(&originals) {
        let told = official.run(path, &data_of(path, &originals), &[]);
        if accepted(&told) == refused(fixture) {
            return Err(format!(
                "{}: the runtime says about the original: {}",
                fixture.name(),
                told.replace('\n', "; ")
            ));
        }
        expected.push((told, official.json(path)?));
    }
    add(&counts.files, folder.len());
    for (index, layout) in layouts().iter().enumerate() {
        let paths = put(official, &index.to_string(), folder, |fixture| lay_out(fixture, layout))?;
        for (path, (told, tree)) in paths.iter().zip(&expected) {
            judge_one(official, path, &paths, (told, tree), counts)
                .map_err(|found| format!("{} laid out as {layout:?}:\n{found}", path.display()))?;
        }
        add(&counts.written, paths.len());
    }
    Ok(())
}

fn judge_one(
    official: &Official,
    path: &Path,
    all: &[PathBuf],
    (expected, expected_tree): (&str, &Value),
    counts: &Counts,
) -> Result<(), String> {
    let told = official.run(path, &data_of(path, all), &[]);
    same(&told, expected)?;
    add(if accepted(&told) { &counts.accepted } else { &counts.refused }, 1);
    add(&counts.hashes, told.matches("sha256=").count());
    let tree = official.json(path)?;
    let mut differences = Vec::new();
    compare(&mut "ours".to_owned(), &our_tree(path), &tree, true, &mut differences);
    let placeless = |tree: &Value| placeless(tree.clone());
    compare(&mut "original".to_owned(), &placeless(&tree), &placeless(expected_tree), true, &mut differences);
    add(&counts.read_by_flatc, 1);
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
}

fn put(
    official: &Official,
    layout: &str,
    folder: &[Fixture],
    bytes: impl Fn(&Fixture) -> executorch_format::Result<Vec<u8>>,
) -> Result<Vec<PathBuf>, String> {
    let put = |fixture: &Fixture| {
        let bytes = bytes(fixture).map_err(|error| format!("{}, layout {layout}: {error}", fixture.name()))?;
        Ok(official.put(&Path::new(layout).join(fixture.name()), &bytes))
    };
    folder.iter().map(put).collect()
}

/// The `.ptd` files that a program gets.
fn data_of(path: &Path, folder: &[PathBuf]) -> Vec<PathBuf> {
    folder.iter().filter(|other| is_pte(path) && !is_pte(other)).cloned().collect()
}

fn lay_out(fixture: &Fixture, (program, data): &(PteOptions, PtdOptions)) -> executorch_format::Result<Vec<u8>> {
    if fixture.is_pte() {
        Pte::parse(fixture.bytes())?.lay_out(program)?.image()?.to_vec()
    } else {
        Ptd::parse(fixture.bytes())?.lay_out(data)?.image()?.to_vec()
    }
}

/// The tree as this crate reads it.
pub fn our_tree(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap();
    if is_pte(path) {
        serde_json::to_value(Pte::parse(&bytes).unwrap().program).unwrap()
    } else {
        serde_json::to_value(Ptd::parse(&bytes).unwrap().flat_tensor).unwrap()
    }
}

/// A tree without what laying out anew changes: where segments lie and which there are, and where in them things lie.
fn placeless(mut tree: Value) -> Value {
    fn each(list: &mut Value, change: impl Fn(&mut Value)) {
        list.as_array_mut().into_iter().flatten().for_each(change);
    }
    fn remove(table: &mut Value, field: &str) {
        if let Some(table) = table.as_object_mut() {
            table.remove(field);
        }
    }
    if tree.get("execution_plan").is_none() {
        each(&mut tree["segments"], |segment| remove(segment, "offset"));
        return tree;
    }
    remove(&mut tree, "segments");
    remove(&mut tree, "backend_delegate_data");
    if let Some(constants) = tree.get_mut("constant_segment") {
        remove(constants, "segment_index");
        each(&mut constants["offsets"], |offset| *offset = Value::Null);
    }
    for list in ["mutable_data_segments", "named_data"] {
        if let Some(list) = tree.get_mut(list) {
            each(list, |place| remove(place, "segment_index"));
        }
    }
    each(&mut tree["execution_plan"], |plan| each(&mut plan["delegates"], |delegate| remove(delegate, "processed")));
    tree
}
