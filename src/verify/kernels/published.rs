//! A test that writes the table of operators as data for other programs: `data/operators.json`, outside what the crate packages.

use crate::operators::{self, Effect, Kernel, KnownOperator, Library, Spans};
use crate::verify::{Release, explain_operator};
use alloc::string::{String, ToString};
use alloc::{format, vec::Vec};
use serde_json::{Value, json};
use std::path::Path;

/// Returns the releases of a library that contain an operator.
fn releases(spans: Spans) -> Vec<&'static str> {
    let contains = |release: &Release| {
        let (major, minor) = release.name().split_once('.').unwrap_or_default();
        let numbers = (major.parse().unwrap_or_default(), minor.parse().unwrap_or_default());
        spans.iter().any(|span| span.contains(numbers))
    };
    Release::ALL.iter().filter(|release| contains(release)).map(|release| release.name()).collect()
}

/// Returns the name of an effect in the data.
fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "read",
        Effect::Refer => "refer",
        Effect::Write => "write",
        Effect::Elementwise => "write-elementwise",
        Effect::OverFirst => "write-over-first",
        Effect::InPlace => "in-place",
        Effect::Replace => "replace",
        Effect::Fill => "fill",
        Effect::Scratch => "scratch",
        Effect::View => "view",
    }
}

/// Returns the demands of a kernel, from the text of `pte verify --explain`.
fn demands(text: &str, kernel: &Kernel) -> Value {
    let heading = format!("Demands of `kernels/{}`:\n\n", kernel.source);
    let lines = text.split_once(&heading).map_or("", |(_, after)| after).lines();
    let demands: Vec<&str> = lines.map_while(|line| line.strip_prefix("- ")).collect();
    json!({"source": format!("kernels/{}", kernel.source), "demands": demands})
}

fn row(row: &KnownOperator) -> Value {
    let arguments: Vec<_> = row
        .arguments
        .iter()
        .map(|argument| {
            json!({
                "name": argument.name,
                "kind": argument.kind.name(),
                "or_null": argument.or_null,
                "effect": effect(argument.effect),
            })
        })
        .collect();
    let libraries: serde_json::Map<_, _> = Library::ALL
        .iter()
        .map(|library| (library.name().into(), json!(releases(library.releases(&row.libraries)))))
        .filter(|(_, releases)| *releases != json!([]))
        .collect();
    let text = explain_operator(row.name).unwrap_or_default();
    let kernels: Vec<_> =
        [row.kernel, row.portable].into_iter().flatten().map(|kernel| demands(&text, kernel)).collect();
    json!({
        "name": row.name,
        "arguments": arguments,
        "repeats_result": row.repeats_result,
        "libraries": libraries,
        "backend": row.backend,
        "kernels": kernels,
    })
}

#[test]
fn the_published_table_of_operators_is_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    // The package of the crate does not contain it.
    if !folder.is_dir() {
        return;
    }
    let mut rows: Vec<&KnownOperator> = operators::all().collect();
    rows.sort_unstable_by_key(|row| row.name);
    let lines: Vec<String> = rows.iter().map(|operator| row(operator).to_string()).collect();
    let text = format!("{{\"format\": 1, \"operators\": [\n{}\n]}}\n", lines.join(",\n"));
    let path = folder.join("operators.json");
    if std::env::var_os("BLESS").is_some() {
        assert!(std::fs::write(&path, &text).is_ok(), "{}: cannot be written", path.display());
    }
    assert!(std::fs::read_to_string(&path).unwrap_or_default() == text, "BLESS=1 writes {}", path.display());
}
