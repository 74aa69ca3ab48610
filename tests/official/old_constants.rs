//! Programs with constants inside the FlatBuffer, which the runtime has refused since 1.3: once the constants are moved into a segment,
//! it loads the programs, and they compute the right results.

use executorch_format::schema::program::DataLocation;
use executorch_format::{Pte, PteOptions};
use executorch_format_support::fixtures::{fixture, fixtures};
use executorch_format_support::official::{Official, accepted};
use std::path::Path;

fn hashes(printed: &str) -> Vec<&str> {
    printed.lines().filter_map(|line| Some(line.split_once("sha256=")?.1)).collect()
}

#[test]
fn the_runtime_runs_old_programs_whose_constants_were_moved() {
    let Some(official) = Official::find("old_constants") else {
        return;
    };
    let mut moved = 0;
    for fixture in fixtures().iter().filter(|fixture| fixture.is_pte()) {
        let pte = Pte::parse(fixture.bytes()).unwrap();
        if pte.program.constant_segment.as_ref().is_some_and(|list| !list.offsets().is_empty()) {
            continue;
        }
        let original = official.run(&official.put(Path::new("original.pte"), fixture.bytes()), &[], &[]);
        assert!(!accepted(&original), "{}: the runtime accepts it as it is", fixture.name());
        let options = PteOptions::default().with_constants(Some(DataLocation::SEGMENT));
        let file = pte.lay_out(&options).unwrap().image().unwrap().to_vec().unwrap();
        let printed = official.run(&official.put(Path::new("moved.pte"), &file), &[], &[]);
        assert!(accepted(&printed), "{}: {printed}", fixture.name());
        // The same model, written by its exporter with a constant segment.
        if fixture.name().contains("add_mul_constant_inline") {
            let same = self::fixture("0.2.1/add_mul/add_mul.pte");
            let expected = official.run(&official.put(Path::new("same.pte"), same.bytes()), &[], &[]);
            assert_eq!(hashes(&printed), hashes(&expected));
        }
        moved += 1;
    }
    println!("{moved} programs with constants inside the FlatBuffer run after `--constants segment`");
    assert!(moved >= 5);
}
