//! Lists the methods of a model with their inputs, outputs, operators and backends.
//!
//! cargo run --example inspect -- model.pte

use executorch_format::Model;
use executorch_format::inspect::Content;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: inspect FILE")?;
    let bytes = std::fs::read(&path)?;
    let model = Model::parse(&bytes)?;
    match model.summary().content {
        Content::Program(program) => {
            for method in program.methods {
                println!("{}: {} values", method.name, method.values);
                for input in method.inputs.iter().filter_map(|value| value.tensor.as_ref()) {
                    println!("  input    {}", input.shape());
                }
                for output in method.outputs.iter().filter_map(|value| value.tensor.as_ref()) {
                    println!("  output   {}", output.shape());
                }
                for operator in &method.operators {
                    println!("  operator {} ({} calls)", operator.name, operator.calls);
                }
                for backend in &method.delegates {
                    println!("  backend  {} ({} bytes)", backend.id, backend.payload_size);
                }
            }
        }
        Content::FlatTensor(keys) => println!("{keys:#?}"),
        _ => println!("another kind of model"),
    }
    Ok(())
}
