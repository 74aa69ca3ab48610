//! Programs for training: the meaning of their outputs.

use executorch_format::Analysis;
use executorch_format::Pte;
use executorch_format::inspect::{Content, TrainingRole};
use executorch_format_support::training::{PARAMETERS, program};

/// The role and the parameter of each output of the first method.
fn outputs(file: &[u8]) -> Vec<Option<(TrainingRole, Option<String>)>> {
    let pte = Pte::parse(file).unwrap();
    let Content::Program(program) = Analysis::new(&pte).summary().content else { panic!("a program") };
    let outputs = program.methods[0].outputs.iter().map(|output| output.training);
    outputs.map(|training| training.map(|output| (output.role, output.parameter.map(str::to_owned)))).collect()
}

#[test]
fn outputs_are_the_loss_other_outputs_gradients_and_parameters() {
    let named = |role, name: &str| Some((role, Some(name.to_owned())));
    let (loss, gradient, parameter) = (TrainingRole::Loss, TrainingRole::Gradient, TrainingRole::Parameter);
    let [weight, bias] = PARAMETERS;
    let expected = [
        Some((loss, None)),
        None,
        named(gradient, weight),
        named(gradient, bias),
        named(parameter, weight),
        named(parameter, bias),
    ];
    assert_eq!(outputs(&program(&PARAMETERS)), expected);
    // A method that returns a list of one name returns the name.
    let expected = [Some((loss, None)), None, named(gradient, weight), named(parameter, weight)];
    assert_eq!(outputs(&program(&[weight])), expected);
    let other = executorch_format_support::fixtures::fixture("1.5.1/multi_method/multi_method.pte");
    assert!(outputs(other.bytes()).iter().all(Option::is_none));
}

#[test]
fn indices_and_names_that_do_not_fit_are_ignored() {
    let file = program(&PARAMETERS);
    let change = |method: usize, value: i64| {
        let mut pte = Pte::parse(&file).unwrap();
        let plans = pte.program.execution_plan.as_mut().unwrap();
        plans[method].values = Some(vec![value.into()]);
        outputs(&pte.image_as_is().unwrap().to_vec().unwrap())
    };
    assert!(change(1, -1).iter().all(Option::is_none));
    let roles = |found: Vec<Option<(TrainingRole, Option<String>)>>| -> Vec<Option<TrainingRole>> {
        found.into_iter().map(|output| output.map(|(role, _)| role)).collect()
    };
    let (loss, gradient, parameter) =
        (Some(TrainingRole::Loss), Some(TrainingRole::Gradient), Some(TrainingRole::Parameter));
    assert_eq!(roles(change(1, i64::MAX)), [loss, None, None, None, parameter, parameter]);
    assert_eq!(roles(change(2, i64::MAX)), [loss, None, gradient, gradient, gradient, gradient]);
    let mut pte = Pte::parse(&file).unwrap();
    pte.program.execution_plan.as_mut().unwrap().pop();
    let unnamed = outputs(&pte.image_as_is().unwrap().to_vec().unwrap());
    assert_eq!(unnamed[2], Some((TrainingRole::Gradient, None)));
}

#[test]
fn values_are_called_by_the_parameters() {
    let file = program(&PARAMETERS);
    let pte = Pte::parse(&file).unwrap();
    let analysis = Analysis::new(&pte);
    let names = analysis.names();
    let of = |value: usize| names.methods[0].values[value].as_ref().map(|name| name.name.to_string());
    assert_eq!(
        [3, 5].map(of),
        ["gradient of net.linear.weight", "net.linear.weight"].map(|name| Some(name.to_owned()))
    );
}
