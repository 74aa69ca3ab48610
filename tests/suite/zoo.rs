//! Public architectures, exported by the official recipes: programs that compute what eager PyTorch does have no error, the others a finding.

use executorch_format::Pte;
use executorch_format::verify::{Level, Severity};
use executorch_format_support::data;
use std::collections::BTreeMap;

#[test]
fn programs_are_judged_as_they_run() {
    let folder = data().join("zoo");
    let truth = std::fs::read(folder.join("truth.json")).unwrap();
    let truth: BTreeMap<String, BTreeMap<String, serde_json::Value>> = serde_json::from_slice(&truth).unwrap();
    let (mut right, mut wrong) = (0, 0);
    for (name, row) in &truth {
        let file = std::fs::read(folder.join(name)).unwrap();
        let found = Pte::parse(&file).unwrap().verify(Level::Strict);
        if row["truth"] == "right" {
            right += 1;
            let errors: Vec<_> = found.iter().filter(|finding| finding.severity == Severity::Error).collect();
            assert!(errors.is_empty(), "{name} computes what eager does: {errors:?}");
        } else {
            wrong += 1;
            assert!(!found.is_empty(), "{name} is not right: {row:?}");
        }
    }
    assert_eq!((right, wrong), (9, 5));
}
