//! Decides whether a file from the network may be passed to the C++ runtime: checks limits first, then the rules.
//!
//! cargo run --example verify_upload -- upload.pte

use executorch_format::verify::{Level, Severity};
use executorch_format::{Limits, Model, ParseOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: verify_upload FILE")?;
    let bytes = std::fs::read(&path)?;
    // The default limits are proportional to the file's size; a service may allow less.
    let limits = Limits::default().with_memory(Some(64 << 20));
    let model = match Model::parse_with(&bytes, &ParseOptions::default().with_limits(limits)) {
        Ok(model) => model,
        Err(error) => {
            println!("refused: {error}");
            std::process::exit(1);
        }
    };
    let findings = model.verify(Level::Strict);
    findings.iter().for_each(|finding| println!("{finding}"));
    if findings.iter().any(|finding| finding.severity == Severity::Error) {
        println!("refused");
        std::process::exit(1);
    }
    println!("accepted: {}", model.kind());
    Ok(())
}
