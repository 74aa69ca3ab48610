//! Prints the graph inside each XNNPACK delegate: the nodes with the values that they read and write, and the weights as numbers.
//!
//! cargo run --example xnnpack_graph --features inspect -- model.pte

use executorch_format::Pte;
use executorch_format::delegate::{NamedBlobs, Payload};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: xnnpack_graph FILE.pte")?;
    let bytes = std::fs::read(&path)?;
    let pte = Pte::parse(&bytes)?;
    // Constants may be in the program's named data.
    let blobs = NamedBlobs::new(&pte, []);
    for opened in pte.open_payloads() {
        let Payload::Xnnpack(payload) = opened.payload? else { continue };
        println!("a payload of the delegates {:?}:", opened.delegates);
        for node in payload.graph.xnodes() {
            let ids = node.xnode_union.ids();
            println!("  {} {:?} -> {:?}", node.name(), ids.inputs, ids.outputs);
        }
        for (index, value) in payload.graph.xvalues().iter().enumerate() {
            let (Some(tensor), Some(numbers)) = (value.tensor(), payload.dequantized(index, &blobs)?) else { continue };
            if let Some(spread) = numbers.histogram(1) {
                println!("  value {index}: {tensor}, {} to {}, mean {}", spread.min, spread.max, spread.mean);
            }
        }
    }
    Ok(())
}
