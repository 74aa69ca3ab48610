//! Builds a program from scratch: `forward(x) = x + w`, with `w` a constant, and writes it to the given path.
//!
//! cargo run --example build -- add.pte

use executorch_format::schema::ScalarType;
use executorch_format::schema::program::{EValue, ExecutionPlan, Instruction, Operator, Program, Tensor};
use executorch_format::{DataCollector, PteOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: build FILE.pte")?;

    let mut data = DataCollector::new();
    let weight = [1f32, 2.0, 3.0, 4.0].map(f32::to_le_bytes).concat();
    let float4 = || Tensor::new(ScalarType::FLOAT, vec![4]);
    let values: Vec<EValue> = vec![
        float4().with_planned(1, 0).into(),               // 0: x
        float4().with_data(data.constant(weight)).into(), // 1: w
        1i64.into(),                                      // 2: alpha
        float4().with_planned(1, 16).into(),              // 3: the result
    ];
    let add = Instruction::kernel_call(0, vec![0, 1, 2, 3, 3]);
    let operators = vec![Operator::new("aten::add", "out")];
    let forward =
        ExecutionPlan::new("forward", values, operators, vec![add], 32).with_inputs(vec![0]).with_outputs(vec![3]);

    let program = Program { execution_plan: Some(vec![forward]), ..Program::default() };
    let pte = data.finish(program, &PteOptions::default())?;
    let image = pte.image()?;
    image.save(&path)?;
    println!("{path}: {} bytes", image.size());
    Ok(())
}
