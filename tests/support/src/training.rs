//! A program for training, as ExecuTorch's exporter makes it of a joint graph: the loss, another output, the gradients of two parameters, the
//! parameters, and constant methods with their places and names.

use executorch_format::Pte;
use executorch_format::schema::program::{EValue, ExecutionPlan, Program, Tensor};
use executorch_format::schema::{DataSegment, ScalarType};

/// The names of the parameters.
pub const PARAMETERS: [&str; 2] = ["net.linear.weight", "net.linear.bias"];

/// A method that returns constants.
pub fn constant(name: &str, values: Vec<EValue<'static>>) -> ExecutionPlan<'static> {
    let outputs: Vec<i32> = (0..values.len() as i32).collect();
    ExecutionPlan::new(name.to_owned(), values, Vec::new(), Vec::new(), 0).with_outputs(outputs)
}

/// The bytes of a program with these parameters.
pub fn program(parameters: &[&'static str]) -> Vec<u8> {
    let tensor = |sizes: &[i32]| EValue::from(Tensor::new(ScalarType::FLOAT, sizes.to_vec()));
    let mut values = vec![tensor(&[1, 4]), tensor(&[1]), tensor(&[1])];
    for _ in 0..2 {
        values.extend(parameters.iter().enumerate().map(|(index, _)| tensor(&[4, 2 + index as i32])));
    }
    let count = parameters.len() as i64;
    let outputs: Vec<i32> = (1..values.len() as i32).collect();
    let forward =
        ExecutionPlan::new("forward", values, Vec::new(), Vec::new(), 0).with_inputs(vec![0]).with_outputs(outputs);
    let plans = vec![
        forward,
        constant("__et_training_gradients_index_forward", vec![2i64.into()]),
        constant("__et_training_parameters_index_forward", vec![(2 + count).into()]),
        constant("__et_training_fqn_forward", parameters.iter().map(|name| EValue::from(*name)).collect()),
    ];
    let program =
        Program { execution_plan: Some(plans), segments: Some(Vec::<DataSegment>::new()), ..Program::default() };
    let pte = Pte { program, ..Pte::default() };
    pte.image_as_is().and_then(|image| image.to_vec()).expect("a small program")
}
