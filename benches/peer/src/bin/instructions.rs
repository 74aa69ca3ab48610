//! Runs one measured call for callgrind: see `benches/run instructions`. Usage: instructions WHAT INPUT

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

#[path = "../../../inputs/mod.rs"]
mod inputs;
#[path = "../../../look_up/mod.rs"]
mod look_up;
#[path = "../../../synthetic/mod.rs"]
mod synthetic;

use executorch_format::verify::Level;
use executorch_format::{Pte, WriteStyle};
use executorch_format_peer::{self as peer, Walk};
use std::{hint::black_box, process::exit};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, input] = arguments.as_slice() else { return };
    let known = [
        inputs::llama48_narrow(),
        inputs::llama6_external(),
        inputs::input("ptd_8MB", &synthetic::tensors(2_000, 4096).0),
    ];
    let Some(input) = known.into_iter().find(|known| known.name == input) else { exit(2) };
    let key = synthetic::key(1_234);
    match what.as_str() {
        "parse" => drop(measured(|| Pte::parse(black_box(&input.file)).unwrap())),
        "drop" => {
            let pte = Pte::parse(&input.file).unwrap();
            measured(move || drop(black_box(pte)));
        }
        "check" => measured(|| Pte::verify_structure(black_box(&input.file)).unwrap()),
        "encode" => {
            let mut pte = Pte::parse(&input.file).unwrap();
            // Without a style, an unchanged tree is not encoded. Detecting it would leave freed memory, which must be zeroed
            // when it is used again.
            pte.style = Some(WriteStyle::PYTHON);
            black_box(measured(|| black_box(&pte).image().unwrap().size()));
        }
        "image" => {
            let pte = Pte::parse(&input.file).unwrap();
            black_box(measured(|| black_box(&pte).image().unwrap().size()));
        }
        "walk" => {
            let pte = Pte::parse(&input.file).unwrap();
            black_box(measured(|| black_box(&pte).program.walk()));
        }
        "strict" => {
            let pte = Pte::parse(&input.file).unwrap();
            drop(measured(|| black_box(&pte).verify(Level::Strict)));
        }
        "peer/verify" => measured(|| peer::verify_program(black_box(input.metadata())).unwrap()),
        "peer/walk" => {
            let program = peer::root_as_program(input.metadata()).unwrap();
            black_box(measured(|| black_box(program).walk()));
        }
        "get" => {
            black_box(measured(|| look_up::view(black_box(&input.file), &key).len()));
        }
        "peer/get" => {
            black_box(measured(|| look_up::peer_view(black_box(&input.file), input.metadata, &key).len()));
        }
        _ => exit(2),
    }
}

/// Returns the function that callgrind counts, with everything it calls.
#[inline(never)]
fn measured<T>(run: impl FnOnce() -> T) -> T {
    run()
}
