//! Every fixture with its layout recomputed in several ways: flatc must read the same tree, and the runtime must print the same.

use executorch_format::schema::program::DataLocation;
use executorch_format::{Ptd, PtdOptions, Pte, PteOptions, WriteStyle};
use executorch_format_support::fixtures::{Fixture, fixtures};
use executorch_format_support::flatc_json::compare;
use executorch_format_support::official::{Official, accepted, for_all, is_pte, same};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns options for layouts, which together contain every value of every option.
pub fn layouts() -> Vec<(PteOptions, PtdOptions)> {
    use DataLocation as At;
    const PYTHON: WriteStyle = WriteStyle::PYTHON;
    const OLD: WriteStyle = WriteStyle::PYTHON_OLD_FLATBUFFERS;
    const FLATC: WriteStyle = WriteStyle::FLATC;
    let layout = |segment_alignment, constants, delegates, delegate_alignment, style, header_length| {
        let program = PteOptions::default()
            .with_segment_alignment(segment_alignment)
            .with_constant_alignment(constants)
            .with_constants(None)
            .with_delegate_alignment(delegate_alignment)
            .with_delegates(delegates)
            .with_style(Some(style))
            .with_header_length(header_length);
        // This style is only for `.ptd` files.
        let data_style = if delegates.is_none() { WriteStyle::SAVE_PTD } else { style };
        (program, PtdOptions::default().with_segment_alignment(segment_alignment).with_style(Some(data_style)))
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

/// Valid files that the runtime of 1.5.1 refuses.
const REFUSED: &[&str] = &[
    // These need a device that the test machine does not have.
    "device_cuda_0.pte",
    "device_cuda_1.pte",
    // These need backends that the runtime of the wheel does not have.
    "payloads/other/coreml.pte",
    "payloads/other/ethosu.pte",
    "payloads/other/native.pte",
    "payloads/other/tosa.pte",
    "payloads/other/vulkan.pte",
    // These have shapes without upper bounds.
    "dynamic_nonzero.pte",
    "dynamic_unbound_free.pte",
    // The weights of these are in a `.ptd` that is missing, or that the runtime misreads.
    "0.5.0/add_mul_external/add_mul_external.pte",
    "0.6.0/add_mul_external/add_mul_external.pte",
    "bench/llama6_external.pte",
    // The Python wheel has no CudaBackend and no EthosUBackend.
    "payloads/cuda/cuda_fqn.pte",
    "payloads/ethosu_external/ethosu_external_weights.pte",
    "payloads/ethos_u85/conv.pte",
    "payloads/ethos_u85/gather.pte",
    "payloads/ethos_u85/up.pte",
    // The same holds for other backends, and for the operators of language models.
    "answers/coreml_ios18.pte",
    "answers/ethosu_inline.pte",
    "answers/llama_custom_kv.pte",
    "answers/llama_update_cache.pte",
    "answers/qnn.pte",
    "answers/vk_emb64.pte",
];

fn refused(fixture: &Fixture) -> bool {
    let name = fixture.name();
    REFUSED.iter().any(|refused| name.ends_with(refused)) || (fixture.is_pte() && constants_inside(fixture))
}

/// Returns `true` if `constant_segment` is absent or has no offsets, not even that of entry 0. The runtime refuses such a file, because it
/// assumes that constants are inside the FlatBuffer.
fn constants_inside(fixture: &Fixture) -> bool {
    let program = Pte::parse(fixture.bytes()).unwrap().program;
    program.constant_segment.is_none_or(|list| list.offsets.unwrap_or_default().is_empty())
}

/// Returns `true` for a `.ptd` with an early schema, which the readers of 1.5.1 read as the current one.
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
fn official_readers_find_the_same_after_a_relayout() {
    let Some(official) = Official::find("relayout") else {
        return;
    };
    // The behaviour of a program that crashes, or that a kernel refuses, may depend on where its bytes are.
    let fixtures = fixtures().into_iter().filter(|fixture| !fixture.name().starts_with("kernels/"));
    let (misread, fixtures): (Vec<_>, Vec<_>) = fixtures.partition(misread);
    // A program and its data are in one folder.
    let mut folders = BTreeMap::<PathBuf, Vec<Fixture>>::new();
    for fixture in fixtures {
        folders.entry(fixture.path.parent().unwrap().to_owned()).or_default().push(fixture);
    }
    let folders: Vec<Vec<Fixture>> = folders.into_values().collect();
    let counts = Counts::default();
    for_all(&folders, |folder| check(&official, folder, &counts));

    let Counts { files, written, accepted, refused, hashes, read_by_flatc } = counts;
    let (files, written) = (files.into_inner(), written.into_inner());
    let (accepted, refused) = (accepted.into_inner(), refused.into_inner());
    println!("{files} files, each in {} layouts: {written} files", layouts().len());
    println!("the runtime accepts {accepted} of them, with {hashes:?} SHA-256 equal to the originals'");
    println!("the runtime refuses {refused}, like their originals");
    println!("flatc reads from {read_by_flatc:?} of them the same tree as this crate, and as from the original");
    println!("not checked: {} .ptd files of ExecuTorch 0.5 and 0.6, which the readers of 1.5.1 misread", misread.len());
    assert_eq!(written, files * layouts().len());
    assert_eq!(accepted + refused, written);
}

fn check(official: &Official, folder: &[Fixture], counts: &Counts) -> Result<(), String> {
    let originals = put(official, "original", folder, |fixture| Ok(fixture.bytes().to_vec()))?;
    let mut expected = Vec::new();
    for (fixture, path) in folder.iter().zip(&originals) {
        let printed = official.run(path, &data_of(path, &originals), &[]);
        if accepted(&printed) == refused(fixture) {
            return Err(format!(
                "{}: the runtime prints about the original: {}",
                fixture.name(),
                printed.replace('\n', "; ")
            ));
        }
        expected.push((printed, official.json(path)?));
    }
    add(&counts.files, folder.len());
    for (index, layout) in layouts().iter().enumerate() {
        let paths = put(official, &index.to_string(), folder, |fixture| relayout(fixture, layout))?;
        for (path, (printed, tree)) in paths.iter().zip(&expected) {
            check_one(official, path, &paths, (printed, tree), counts)
                .map_err(|found| format!("{} with {layout:?}:\n{found}", path.display()))?;
        }
        add(&counts.written, paths.len());
    }
    Ok(())
}

fn check_one(
    official: &Official,
    path: &Path,
    all: &[PathBuf],
    (expected, expected_tree): (&str, &Value),
    counts: &Counts,
) -> Result<(), String> {
    let printed = official.run(path, &data_of(path, all), &[]);
    same(&printed, expected)?;
    add(if accepted(&printed) { &counts.accepted } else { &counts.refused }, 1);
    add(&counts.hashes, printed.matches("sha256=").count());
    let tree = official.json(path)?;
    let mut differences = Vec::new();
    compare(&mut "ours".to_owned(), &our_tree(path), &tree, true, &mut differences);
    let comparable = |tree: &Value| without_positions(tree.clone());
    compare(&mut "original".to_owned(), &comparable(&tree), &comparable(expected_tree), true, &mut differences);
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

/// Returns the `.ptd` files to load with a program.
fn data_of(path: &Path, folder: &[PathBuf]) -> Vec<PathBuf> {
    folder.iter().filter(|other| is_pte(path) && !is_pte(other)).cloned().collect()
}

fn relayout(fixture: &Fixture, (program, data): &(PteOptions, PtdOptions)) -> executorch_format::Result<Vec<u8>> {
    if fixture.is_pte() {
        Pte::parse(fixture.bytes())?.lay_out(program)?.image()?.to_vec()
    } else {
        Ptd::parse(fixture.bytes())?.lay_out(data)?.image()?.to_vec()
    }
}

/// Returns the tree as parsed by this crate.
pub fn our_tree(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap();
    if is_pte(path) {
        serde_json::to_value(Pte::parse(&bytes).unwrap().program).unwrap()
    } else {
        serde_json::to_value(Ptd::parse(&bytes).unwrap().flat_tensor).unwrap()
    }
}

/// Returns a tree without the parts that a relayout changes: the segments, and the positions of blobs in them.
fn without_positions(mut tree: Value) -> Value {
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
            each(list, |entry| remove(entry, "segment_index"));
        }
    }
    each(&mut tree["execution_plan"], |plan| each(&mut plan["delegates"], |delegate| remove(delegate, "processed")));
    tree
}
