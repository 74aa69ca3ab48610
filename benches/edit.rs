//! Compares edits of 1 GiB (replacing a tensor, moving out all data, merging two halves) with `cp` of the result, and edits of files with
//! 10,000 and 100,000 constants with each other. Each edit does the same work as the command: map, parse, change, verify, write. Prints
//! Markdown tables.
//!
//! Usage: cargo bench --bench edit [-- FOLDER]. The default folder is `/dev/shm`, or the temporary folder.
//! ONLY=large or ONLY=many measures only one of the tables.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod counting;
mod turns;

use counting::heap;
use executorch_format::edit::{NewData, Selector, Strip};
use executorch_format::schema::ScalarType;
use executorch_format::schema::program::{EValue, ExecutionPlan, Program, Tensor};
use executorch_format::verify::{Finding, Level};
use executorch_format::{DataCollector, Image, Model, NewEntry, Ptd, PtdOptions, Pte, PteOptions};
use memmap2::Mmap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Instant;
use turns::{ELEMENTS, ROUNDS, TENSORS, Times, folder, in_turn, random};

const HEAP_TARGET: usize = 32 << 20;

/// The number of repetitions of measurements that take milliseconds.
const REPETITIONS: usize = 9;

fn main() {
    match std::env::var("ONLY").as_deref() {
        Ok("large") => large(&folder()),
        Ok("many") => many(),
        _ => {
            large(&folder());
            many();
        }
    }
}

fn large(folder: &Path) {
    let path = |name: &str| folder.join(format!("executorch-format-{}-{name}", std::process::id()));
    let (program, halves) = (path("program.pte"), [path("first.ptd"), path("second.ptd")]);
    let (out, small) = (path("out"), path("small"));
    let new = random(TENSORS as u64);
    let tensors: Vec<Vec<u8>> = (0..TENSORS as u64).map(random).collect();
    constants(&tensors).image().unwrap().save(&program).unwrap();
    for (file, half) in halves.iter().zip([&tensors[..TENSORS / 2], &tensors[TENSORS / 2..]]) {
        keys(half).image().unwrap().save(file).unwrap();
    }
    drop(tensors);
    println!("{ROUNDS} alternating rounds in {}", folder.display());
    turns::head();

    // `out` is the file of the weights; the program is small.
    let externalize_and_save = |out: &Path| externalize(&program, &small, out);
    type Edit<'t> = (&'t str, &'t dyn Fn(&Path));
    let edits: [Edit<'_>; 3] = [
        ("replace one tensor", &|out| replace(&program, &new, out)),
        ("externalize all", &externalize_and_save),
        ("merge two halves", &|out| merge(&halves, out)),
    ];
    let mut peaks = Vec::new();
    for (what, edit) in edits {
        let heap = heap(|| edit(&out)).peak;
        peaks.push(heap);
        let result = path("result");
        fs::copy(&out, &result).unwrap();
        let [copy, time] = in_turn(
            &out,
            || {
                fs::copy(&result, &out).unwrap();
            },
            || edit(&out),
        );
        copy.line("cp of the result", &copy, " | | ");
        time.line(what, &copy, &format!("≤ 1.2 | {} | < {}", heap >> 10, HEAP_TARGET >> 10));
        for file in [&out, &result, &small] {
            let _ = fs::remove_file(file);
        }
    }
    for file in [&program, &halves[0], &halves[1]] {
        let _ = fs::remove_file(file);
    }
    assert!(peaks.into_iter().max() < Some(HEAP_TARGET), "the heap grows with the data");
}

/// Measures files with many constants: the time should grow in proportion to their number.
fn many() {
    const COUNTS: [usize; 2] = [10_000, 100_000];
    println!();
    println!("| ns a constant, best of {REPETITIONS} | {} | {} | ratio |", COUNTS[0], COUNTS[1]);
    println!("|---|---:|---:|---:|");
    let files = COUNTS.map(|count| {
        let tensors: Vec<Vec<u8>> = (0..count as u64).map(|index| [index; 8].map(u64::to_le_bytes).concat()).collect();
        let program = constants(&tensors).image().unwrap().to_vec().unwrap();
        let mut pte = Pte::parse(&program).unwrap();
        let (data, _) = pte.externalize(&PtdOptions::default(), |candidate| Some(candidate.key.to_owned())).unwrap();
        (count, program.clone(), pte.image().unwrap().to_vec().unwrap(), data.image().unwrap().to_vec().unwrap())
    });
    type Files = (usize, Vec<u8>, Vec<u8>, Vec<u8>);
    type Edit = (&'static str, fn(&Files));
    let edits: [Edit; 8] = [
        ("replace one", |(_, program, ..)| {
            let new = NewData::bytes("new", vec![7; 64]);
            change(program, |pte| drop(pte.replace(&Selector::Value { method: "forward", value: 1 }, &new).unwrap()));
        }),
        ("externalize all", |(_, program, ..)| {
            let before = Pte::parse(program).unwrap();
            let mut after = before.clone();
            let (data, _) = after.externalize(&PtdOptions::default(), |one| Some(one.key.to_owned())).unwrap();
            assert_eq!(pair_errors(&before, &after, std::slice::from_ref(&data)), []);
            written(&data.image().unwrap());
            written(&after.image().unwrap());
        }),
        ("internalize all", |(_, _, program, data)| {
            let data = Ptd::parse(data).unwrap();
            change(program, |pte| drop(pte.internalize(std::slice::from_ref(&data), |_| true).unwrap()));
        }),
        ("dedup", |(_, program, ..)| change(program, |pte| drop(pte.dedup().unwrap()))),
        ("strip", |(_, program, ..)| change(program, |pte| drop(pte.strip(&Strip::ALL).unwrap()))),
        ("merge", |(.., data)| {
            let data = Ptd::parse(data).unwrap();
            let (merged, _) = Ptd::merge(&[data.clone(), data], &PtdOptions::default()).unwrap();
            written(&merged.image().unwrap());
        }),
        ("rename", |(.., data)| {
            let mut data = Ptd::parse(data).unwrap();
            data.rename(|key| Some(format!("m.{key}"))).unwrap();
            written(&data.image().unwrap());
        }),
        ("split into 10", |(count, _, _, data)| {
            let data = Ptd::parse(data).unwrap();
            let mut index = 0..*count;
            for part in data.split(&PtdOptions::default(), |_| index.next().unwrap() * 10 / count).unwrap() {
                written(&part.image().unwrap());
            }
        }),
    ];
    for (what, edit) in edits {
        let [few, many] = files.each_ref().map(|files| {
            let time = || {
                let start = Instant::now();
                edit(files);
                start.elapsed().as_secs_f64() * 1e9 / files.0 as f64
            };
            Times::new((0..REPETITIONS).map(|_| time()).collect()).best
        });
        println!("| {what} | {few:.0} | {many:.0} | {:.2} |", many / few);
    }
}

/// Reads a program, changes it, verifies and writes it.
fn change<'a>(file: &'a [u8], change: impl FnOnce(&mut Pte<'a>)) {
    let before = Pte::parse(file).unwrap();
    let mut after = before.clone();
    change(&mut after);
    let after = verified(Model::Pte(before), Model::Pte(after));
    let Model::Pte(after) = after else { return };
    written(&after.image().unwrap());
}

fn verified<'a>(before: Model<'_>, after: Model<'a>) -> Model<'a> {
    let image = after.image().unwrap();
    assert_eq!(after.new_errors(&before.verify(Level::Strict), &image).unwrap(), []);
    drop(image);
    after
}

/// Returns the errors of a program with its new `.ptd` file that the original did not have.
fn pair_errors(before: &Pte<'_>, after: &Pte<'_>, data: &[Ptd<'_>]) -> Vec<Finding> {
    let mut found = before.verify(Level::Strict);
    found.extend(before.verify_with(&[], Level::Strict));
    after.new_errors_with(data, &found)
}

fn written(image: &Image<'_>) {
    image.write_to(std::io::sink()).unwrap();
}

fn replace(file: &Path, new: &[u8], out: &Path) {
    let (file, bytes) = map(file);
    let before = Pte::parse(&bytes).unwrap();
    let mut after = before.clone();
    let target = Selector::Value { method: "forward", value: TENSORS / 2 };
    after.replace(&target, &NewData::bytes("new", new)).unwrap();
    let after = verified(Model::Pte(before), Model::Pte(after));
    let Model::Pte(after) = after else { return };
    after.image().unwrap().copy_from(&file, &bytes).save(out).unwrap();
}

fn externalize(file: &Path, out: &Path, data_out: &Path) {
    let (file, bytes) = map(file);
    let before = Pte::parse(&bytes).unwrap();
    let mut after = before.clone();
    let (data, _) = after.externalize(&PtdOptions::default(), |one| Some(one.key.to_owned())).unwrap();
    assert_eq!(pair_errors(&before, &after, std::slice::from_ref(&data)), []);
    data.image().unwrap().copy_from(&file, &bytes).save(data_out).unwrap();
    let after = verified(Model::Pte(before), Model::Pte(after));
    let Model::Pte(after) = after else { return };
    after.image().unwrap().copy_from(&file, &bytes).save(out).unwrap();
}

fn merge(files: &[PathBuf; 2], out: &Path) {
    let maps = files.each_ref().map(|file| map(file));
    let ptds = maps.each_ref().map(|(_, bytes)| Ptd::parse(bytes).unwrap());
    let (merged, _) = Ptd::merge(&ptds, &PtdOptions::default()).unwrap();
    let [before, _] = ptds;
    let after = verified(Model::Ptd(before), Model::Ptd(merged));
    let Model::Ptd(after) = after else { return };
    let image = maps.iter().fold(after.image().unwrap(), |image, (file, bytes)| image.copy_from(file, bytes));
    image.save(out).unwrap();
}

/// Maps a file as the command does.
fn map(path: &Path) -> (File, Mmap) {
    let file = File::open(path).unwrap();
    // SAFETY: no other process writes these files.
    let map = unsafe { Mmap::map(&file).unwrap() };
    (file, map)
}

/// Creates a program that only returns constants.
fn constants(tensors: &[Vec<u8>]) -> Pte<'_> {
    let mut data = DataCollector::new();
    let values = tensors.iter().map(|bytes| {
        let tensor = Tensor::new(ScalarType::FLOAT, vec![(bytes.len() / 4) as i32]);
        EValue::from(tensor.with_data(data.constant(bytes.as_slice())))
    });
    let values: Vec<EValue<'_>> = values.collect();
    let outputs: Vec<i32> = (0..values.len() as i32).collect();
    let forward = ExecutionPlan::new("forward", values, Vec::new(), Vec::new(), 0).with_outputs(outputs);
    let program = Program { execution_plan: Some(vec![forward]), ..Program::default() };
    data.finish(program, &PteOptions::default()).unwrap()
}

/// Creates a `.ptd` of the tensors, with their first bytes as keys.
fn keys(tensors: &[Vec<u8>]) -> Ptd<'_> {
    let entries = tensors.iter().map(|bytes| {
        let name = format!("layers.{:02x?}", &bytes[..8]);
        NewEntry::tensor(name, ScalarType::FLOAT, vec![ELEMENTS as i32], bytes.as_slice()).with_alignment(16)
    });
    Ptd::build(entries, &PtdOptions::default()).unwrap()
}
