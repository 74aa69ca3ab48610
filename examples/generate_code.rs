//! Generates Rust constants for an application: the methods of a model, the shapes of their inputs and outputs, and their memory.
//!
//! cargo run --example generate_code -- model.pte > model.rs

use executorch_format::Escaped;
use executorch_format::Pte;
use executorch_format::schema::program::ExecutionPlan;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: generate_code FILE.pte")?;
    let bytes = std::fs::read(&path)?;
    let pte = Pte::parse(&bytes)?;
    println!("// Made from {}. Do not edit.", Escaped(&path));
    for (index, method) in pte.methods().iter().enumerate().filter(|(_, method)| !method.is_constant()) {
        println!("\n/// The method {}.", Escaped(method.name()));
        println!("pub mod {} {{", identifier(method.name(), index));
        println!("    pub const NAME: &str = {:?};", method.name());
        println!("    pub const INPUTS: &[&[i32]] = &[{}];", shapes(method, method.inputs()));
        println!("    pub const OUTPUTS: &[&[i32]] = &[{}];", shapes(method, method.outputs()));
        let buffers: Vec<u64> = method.planned_memory().buffers.iter().map(|buffer| buffer.size).collect();
        println!("    pub const PLANNED_MEMORY: &[u64] = &{buffers:?};");
        println!("}}");
    }
    Ok(())
}

/// Formats the sizes of each tensor as a Rust slice, which is empty for other values.
fn shapes(method: &ExecutionPlan<'_>, values: &[i32]) -> String {
    let shape = |value: &i32| format!("&{:?}", method.tensor(*value).map_or(&[][..], |tensor| tensor.sizes()));
    values.iter().map(shape).collect::<Vec<_>>().join(", ")
}

/// Converts the name of a method to an identifier. Names come from the file and may collide, so the method's index is included.
fn identifier(name: &str, index: usize) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    format!("method_{index}_{}", name.chars().take(40).map(plain).collect::<String>())
}
