//! Compares the conversion of 1 GiB of safetensors to `.ptd` and back with copying the file, and with reading and writing by
//! Python's `safetensors`, if that is installed. Prints a Markdown table.
//!
//! Usage: cargo bench --features convert --bench convert [-- FOLDER]. The default folder is `/dev/shm`, or the temporary folder.
//! PYTHON=FILE selects the Python interpreter instead of `python3`.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod counting;
mod turns;

use counting::heap;
use executorch_format::convert::{Dtype, SafeTensor, Safetensors, Unsupported};
use executorch_format::{Ptd, PtdOptions};
use memmap2::Mmap;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use turns::{ELEMENTS, ROUNDS, TENSORS, Times, folder, in_turn, random};

const HEAP_TARGET: usize = 32 << 20;

fn main() {
    let folder = folder();
    let path = |name: &str| folder.join(format!("executorch-format-{}-{name}", std::process::id()));
    let (source, ptd, out) = (path("source.safetensors"), path("source.ptd"), path("out"));
    write_source(&source);
    to_ptd(&source, &ptd);
    println!("{ROUNDS} alternating rounds in {}", folder.display());

    to_safetensors(&ptd, &out);
    assert!(map(&source).1[..] == map(&out).1[..], "the way there and back changes the file");
    let back_heap = heap(|| replaced(&out, to_safetensors, &ptd)).peak;
    let there_heap = heap(|| replaced(&out, to_ptd, &source)).peak;

    let copy = |from: &Path| {
        fs::copy(from, &out).unwrap();
    };
    let [copy_there, there] = in_turn(&out, || copy(&source), || to_ptd(&source, &out));
    let [copy_back, back] = in_turn(&out, || copy(&ptd), || to_safetensors(&ptd, &out));

    turns::head();
    let targets = |heap: usize| format!("≤ 1.2 | {} | < {}", heap >> 10, HEAP_TARGET >> 10);
    copy_there.line("copy of the .safetensors", &copy_there, " | | ");
    there.line("safetensors to .ptd", &copy_there, &targets(there_heap));
    copy_back.line("copy of the .ptd", &copy_back, " | | ");
    back.line(".ptd to safetensors", &copy_back, &targets(back_heap));
    if let Some(python) = python(&source, &out) {
        python.line("Python: load_file, save_file", &copy_there, " | | ");
    }
    for file in [source, ptd, out] {
        let _ = fs::remove_file(file);
    }
    assert!(there_heap.max(back_heap) < HEAP_TARGET, "the heap grows with the data");
}

/// Maps a file as the command does.
fn map(path: &Path) -> (File, Mmap) {
    let file = File::open(path).unwrap();
    // SAFETY: no other process writes these files.
    let map = unsafe { Mmap::map(&file).unwrap() };
    (file, map)
}

fn write_source(path: &Path) {
    let tensors: Vec<Vec<u8>> = (0..TENSORS as u64).map(random).collect();
    let mut file = Safetensors::default();
    for (index, bytes) in tensors.iter().enumerate() {
        file.tensors.push(SafeTensor {
            name: format!("layers.{index}.weight").into(),
            dtype: Dtype::F32,
            shape: vec![ELEMENTS as u64],
            dim_order: None,
            bytes: bytes.as_slice().into(),
        });
    }
    file.sort();
    file.image().unwrap().save(path).unwrap();
}

fn to_ptd(from: &Path, to: &Path) {
    let (file, bytes) = map(from);
    let (ptd, _) = Safetensors::parse(&bytes).unwrap().into_ptd(&PtdOptions::default(), Unsupported::Refuse).unwrap();
    ptd.image().unwrap().copy_from(&file, &bytes).save(to).unwrap();
}

fn to_safetensors(from: &Path, to: &Path) {
    let (file, bytes) = map(from);
    let ptd = Ptd::parse(&bytes).unwrap();
    let (tensors, _) = Safetensors::of_ptd(&ptd, Unsupported::Refuse).unwrap();
    tensors.image().unwrap().copy_from(&file, &bytes).save(to).unwrap();
}

fn replaced(to: &Path, convert: fn(&Path, &Path), from: &Path) {
    fs::remove_file(to).unwrap();
    convert(from, to);
}

/// Measures how long the Python package takes to read and write all tensors. Returns `None` if it is not installed.
fn python(source: &Path, out: &Path) -> Option<Times> {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    let script = "import sys, time
from safetensors.numpy import load_file, save_file
start = time.time()
save_file(load_file(sys.argv[1]), sys.argv[2])
print(time.time() - start)";
    let time = || {
        let output = Command::new(&python).args(["-c", script]).args([source, out]).output().ok()?;
        Some(String::from_utf8(output.stdout).ok()?.trim().parse::<f64>().ok()? * 1e3)
    };
    (0..ROUNDS).map(|_| time()).collect::<Option<Vec<_>>>().map(Times::new)
}
