//! One call of what is measured, for callgrind to count: see `instructions.sh`. usage: instructions WHAT INPUT

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod inputs;
mod peer;
mod walk;

use executorch_format::Pte;
use peer::Walk;
use std::{hint::black_box, process::exit};

fn main() {
    // cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let [what, input] = arguments.as_slice() else { return };
    let Some(input) = [inputs::llama48_narrow(), inputs::llama6_external()].into_iter().find(|known| known.name == input)
    else {
        exit(2)
    };
    match what.as_str() {
        "parse" => drop(measured(|| Pte::parse(black_box(&input.file)).unwrap())),
        "drop" => {
            let pte = Pte::parse(&input.file).unwrap();
            measured(move || drop(black_box(pte)));
        }
        "check" => measured(|| Pte::check(black_box(&input.file)).unwrap()),
        "encode" => {
            let pte = Pte::parse(&input.file).unwrap();
            black_box(measured(|| black_box(&pte).plan().unwrap().size()));
        }
        "walk" => {
            let pte = Pte::parse(&input.file).unwrap();
            black_box(measured(|| black_box(&pte).program.walk()));
        }
        "peer/verify" => measured(|| peer::verify_program(black_box(input.metadata())).unwrap()),
        "peer/walk" => {
            let program = peer::root_as_program(input.metadata()).unwrap();
            black_box(measured(|| black_box(program).walk()));
        }
        _ => exit(2),
    }
}

/// What callgrind counts: this function and all that it calls.
#[inline(never)]
fn measured<T>(run: impl FnOnce() -> T) -> T {
    run()
}
