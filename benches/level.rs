//! Measures reading, checking and writing a program: see `benches/run level`. Usage: level RUNS FILE...

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use executorch_format::verify::Level;
use executorch_format::{Pte, WriteStyle};
use std::{hint::black_box, time::Instant};

const WHAT: [&str; 4] = ["parse", "check", "encode", "strict"];

fn main() {
    // Cargo adds `--bench`.
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let Some(runs) = arguments.next().and_then(|runs| runs.parse::<usize>().ok()) else {
        return println!("usage: level RUNS FILE...");
    };
    for path in arguments {
        let file = std::fs::read(&path).unwrap();
        let parsed = Pte::parse(&file).unwrap();
        let mut styled = parsed.clone();
        // Without a style, an unchanged tree is not encoded.
        styled.style = Some(WriteStyle::PYTHON);
        let mut times: [Vec<f64>; 4] = Default::default();
        for (times, what) in times.iter_mut().zip(WHAT) {
            for _ in 0..runs {
                let start = Instant::now();
                match what {
                    "parse" => drop(Pte::parse(black_box(&file)).unwrap()),
                    "check" => Pte::verify_structure(black_box(&file)).unwrap(),
                    "encode" => assert!(black_box(&styled).image().unwrap().size() > 0),
                    _ => strict(black_box(&parsed)),
                }
                times.push(start.elapsed().as_secs_f64() * 1e6);
            }
        }
        for (mut times, what) in times.into_iter().zip(WHAT) {
            times.sort_by(f64::total_cmp);
            println!("{path} {what} {:.1} {:.1}", times[0], times[times.len() / 2]);
        }
    }
}

/// Called separately, so that callgrind can count its instructions: `--toggle-collect='level::strict*'`.
#[inline(never)]
fn strict(program: &Pte<'_>) {
    drop(program.verify(Level::Strict));
}
