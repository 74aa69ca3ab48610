//! The memory for loading a method is what this crate computes.

use executorch_format::Pte;
use executorch_format::inspect::{PointerSize, TempAllocator};
use executorch_format_support::fixtures::{Fixture, fixtures};
use executorch_format_support::official::{Official, for_all};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the memory that the runtime took for each method that it loaded.
fn taken(told: &str) -> BTreeMap<String, u64> {
    let mut taken = BTreeMap::new();
    let mut method = "";
    for line in told.lines() {
        if let Some((_, name)) = line.strip_prefix("method ").and_then(|line| line.split_once(": ")) {
            method = name.trim_matches('"');
        }
        if let Some(bytes) = line.strip_prefix("  method allocator: ").and_then(|line| line.strip_suffix(" bytes")) {
            taken.insert(method.to_owned(), bytes.parse().unwrap());
        }
    }
    taken
}

#[test]
fn loading_a_method_takes_the_computed_memory() {
    let Some(official) = Official::find("memory") else { return };
    let fixtures: Vec<_> = fixtures().into_iter().filter(Fixture::is_pte).collect();
    let compared = AtomicUsize::new(0);
    for_all(&fixtures, |fixture| {
        let Ok(pte) = Pte::parse(fixture.bytes()) else { return Ok(()) };
        let external = pte.methods().iter().any(|plan| plan.tensors().any(|(_, tensor)| tensor.is_external()));
        let data = if external { fixture.data_files() } else { Vec::new() };
        for (temporary, options) in
            [(TempAllocator::Given, &["--no-exec"][..]), (TempAllocator::Missing, &["--no-exec", "--no-temp"])]
        {
            let taken = taken(&official.run(&fixture.path, &data, options));
            for plan in pte.methods() {
                let Some(taken) = taken.get(plan.name()) else { continue };
                let said = pte.method_allocator(plan).known(PointerSize::Bits64, temporary);
                if said != *taken {
                    return Err(format!("  {} {}: {said}, the runtime takes {taken}", fixture.name(), plan.name()));
                }
                compared.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    });
    let compared = compared.into_inner();
    assert!(compared > 100, "{compared}");
}
