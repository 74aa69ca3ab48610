//! Prints the resources that firmware must provide before it can run a model: planned memory, the bytes of inputs and outputs,
//! operators and backends.
//!
//! cargo run --example firmware -- model.pte

use executorch_format::Pte;
use std::collections::BTreeSet;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: firmware FILE.pte")?;
    let bytes = std::fs::read(&path)?;
    let pte = Pte::parse(&bytes)?;
    let mut operators = BTreeSet::new();
    let mut backends = BTreeSet::new();
    for method in pte.methods() {
        println!("{}:", method.name());
        for buffer in method.planned_memory().buffers {
            println!("  planned buffer {}: {} bytes", buffer.memory_id, buffer.size);
        }
        for (what, values) in [("input", method.inputs()), ("output", method.outputs())] {
            for (index, value) in values.iter().enumerate() {
                if let Some(tensor) = method.tensor(*value) {
                    println!("  {what} {index}: {} in {} bytes", tensor.shape(), tensor.byte_size()?);
                }
            }
        }
        operators.extend(method.operators().iter().map(|operator| operator.full_name()));
        backends.extend(method.delegates().iter().map(|delegate| delegate.id().to_owned()));
    }
    println!("register the operators {operators:?}");
    println!("register the backends {backends:?}");
    Ok(())
}
