//! The data for other programs in `data` is that of the command, and follows its schemas.

use crate::cli::pte;
use boon::{Compiler, Schemas};
use executorch_format_support::{crate_root, data};
use serde_json::Value;
use std::path::Path;

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_published_rules_are_those_of_the_command() {
    let output = pte().args(["verify", "--rules", "--json"]).output().unwrap();
    assert!(output.status.success());
    let path = crate_root().join("data/rules.json");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &output.stdout).unwrap();
    }
    assert!(std::fs::read(&path).unwrap_or_default() == output.stdout, "BLESS=1 writes {}", path.display());
}

#[test]
fn published_data_follows_its_schemas() {
    for (schema, document) in [
        ("data/operators.schema.json", crate_root().join("data/operators.json")),
        ("data/malformed.schema.json", data().join("malformed/manifest.json")),
        ("docs/schema/rules.json", crate_root().join("data/rules.json")),
    ] {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("https://example.com/schema.json", json(&crate_root().join(schema))).unwrap();
        let index = compiler.compile("https://example.com/schema.json", &mut schemas).unwrap();
        let document = json(&document);
        assert!(
            schemas.validate(&document, index).is_ok(),
            "{schema}: {:#}",
            schemas.validate(&document, index).unwrap_err()
        );
        // A schema that accepts anything would accept this.
        assert!(schemas.validate(&Value::Null, index).is_err(), "{schema}");
    }
}
