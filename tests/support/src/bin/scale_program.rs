//! Writes a program for `benches/run scale`: `scale_program instructions|methods|keys COUNT OUT.pte`.

use executorch_format::schema::program::{EValue, ExecutionPlan, Instruction, Operator, Tensor};
use executorch_format::schema::{Program, ScalarType};
use executorch_format::{DataCollector, PteOptions};
use std::error::Error;

const USAGE: &str = "usage: scale_program instructions|methods|keys COUNT OUT.pte";

/// The number of places in planned memory, which results use in turn.
const PLACES: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, count, out] = arguments.as_slice() else { return Err(USAGE.into()) };
    let count: usize = count.parse()?;
    let mut data = DataCollector::new();
    let (methods, instructions) = match kind.as_str() {
        "instructions" => (1, count),
        "methods" => (count, 10),
        "keys" => {
            for key in 0..count {
                data.named(format!("layers.{key}.weight"), key.to_le_bytes().to_vec(), 8)?;
            }
            (1, 10)
        }
        _ => return Err(USAGE.into()),
    };
    let mut plans = Vec::with_capacity(methods);
    for index in 0..methods {
        let name = if index == 0 { "forward".into() } else { format!("method_{index}") };
        plans.push(method(name, instructions, &mut data));
    }
    let program = Program { execution_plan: Some(plans), ..Program::default() };
    data.finish(program, &PteOptions::default())?.image()?.save(out)?;
    Ok(())
}

/// Creates a chain of additions; each 16th adds a constant.
fn method(name: String, instructions: usize, data: &mut DataCollector<'static>) -> ExecutionPlan<'static> {
    let tensor = |elements| Tensor::new(ScalarType::FLOAT, vec![1, elements]);
    let planned = |place: usize| -> EValue<'static> { tensor(1024).with_planned(1, place as u64 * 4096).into() };
    let mut values = vec![EValue::from(1i64), planned(PLACES)];
    let mut calls = Vec::with_capacity(instructions);
    let mut last = 1;
    for index in 0..instructions {
        let other = if index % 16 == 0 {
            let constant = data.constant(index.to_le_bytes().repeat(2));
            values.push(tensor(4).with_data(constant).into());
            values.len() as i32 - 1
        } else {
            last
        };
        values.push(planned(index % PLACES));
        let result = values.len() as i32 - 1;
        calls.push(Instruction::kernel_call(0, vec![last, other, 0, result, result]));
        last = result;
    }
    let operators = vec![Operator::new("aten::add", "out")];
    let size = (PLACES as i64 + 1) * 4096;
    ExecutionPlan::new(name, values, operators, calls, size).with_inputs(vec![1]).with_outputs(vec![last])
}
