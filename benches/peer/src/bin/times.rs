//! Times of what reads and writes a program, in turns: see `benches/level.sh`. Usage: times RUNS FILE...

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use executorch_format::{Pte, WriteStyle};
use std::{hint::black_box, time::Instant};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let runs: usize = arguments.next().and_then(|runs| runs.parse().ok()).expect("usage: times RUNS FILE...");
    for path in arguments {
        let file = std::fs::read(&path).unwrap();
        let mut pte = Pte::parse(&file).unwrap();
        // Without a style, an unchanged tree is not encoded.
        pte.style = Some(WriteStyle::PYTHON);
        let mut times: [Vec<f64>; 3] = Default::default();
        for _ in 0..runs {
            let mut turn = 0;
            let mut timed = |run: &mut dyn FnMut()| {
                let start = Instant::now();
                run();
                times[turn].push(start.elapsed().as_secs_f64() * 1e6);
                turn += 1;
            };
            timed(&mut || drop(Pte::parse(black_box(&file)).unwrap()));
            timed(&mut || Pte::check(black_box(&file)).unwrap());
            timed(&mut || assert!(black_box(&pte).image().unwrap().size() > 0));
        }
        for (what, mut times) in ["parse", "check", "encode"].into_iter().zip(times) {
            times.sort_by(f64::total_cmp);
            println!("{path} {what} {:.1} {:.1}", times[0], times[times.len() / 2]);
        }
    }
}
