//! The names of operators' arguments, which a program does not hold.
//!
//! `operators.tsv` has them for the operators of ExecuTorch's portable, quantized, ATen and prim kernels: taken from the schemas of
//! torch 2.13 and, for prim kernels, from their source. A line is an operator with its overload, a tab, and `name:Type` for each
//! argument in the order of a call's, outputs with a `*` before them.

use alloc::{collections::BTreeMap, vec::Vec};

const TABLE: &str = include_str!("operators.tsv");

/// The arguments of all operators that are known.
pub(super) struct Signatures(BTreeMap<&'static str, &'static str>);

/// The arguments of an operator.
pub(super) type Signature = Vec<Parameter>;

/// An argument's name, and whether it is an output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Parameter {
    pub(super) name: Option<&'static str>,
    pub(super) output: bool,
}

impl Signatures {
    pub(super) fn new() -> Self {
        Self(TABLE.lines().filter_map(|line| line.split_once('\t')).collect())
    }

    /// The arguments of an operator, by its name with overload.
    pub(super) fn get(&self, operator: &str) -> Option<Signature> {
        self.0.get(operator).map(|line| line.split(' ').map(Parameter::parse).collect())
    }

    /// What the arguments of a call are: of an operator that is not known, or called otherwise than it is known, only whether the
    /// last ones are outputs.
    pub(super) fn parameters(signature: Option<&Signature>, args: &[i32]) -> Vec<Parameter> {
        // A call ends with its result once more.
        let result = Parameter { name: None, output: true };
        match signature {
            Some(known) if known.len() == args.len() => known.clone(),
            Some(known) if known.len() + 1 == args.len() => known.iter().copied().chain([result]).collect(),
            _ => {
                let repeated = matches!(args, [.., one, other] if one == other);
                let outputs = if repeated { 2 } else { 0 };
                let unknown = |index| Parameter { name: None, output: index + outputs >= args.len() };
                (0..args.len()).map(unknown).collect()
            }
        }
    }
}

impl Parameter {
    fn parse(text: &'static str) -> Self {
        let name = text.split_once(':').map_or(text, |(name, _)| name);
        let output = name.strip_prefix('*');
        Self { name: Some(output.unwrap_or(name)), output: output.is_some() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(parameters: &[Parameter]) -> Vec<(Option<&str>, bool)> {
        parameters.iter().map(|parameter| (parameter.name, parameter.output)).collect()
    }

    fn parameters(operator: &str, args: &[i32]) -> Vec<Parameter> {
        Signatures::parameters(Signatures::new().get(operator).as_ref(), args)
    }

    #[test]
    fn a_call_has_its_result_once_more() {
        let add = parameters("aten::add.out", &[0, 1, 2, 3, 3]);
        let inputs = [(Some("self"), false), (Some("other"), false), (Some("alpha"), false)];
        assert_eq!(names(&add), [&inputs[..], &[(Some("out"), true), (None, true)]].concat());
        assert_eq!(names(&parameters("aten::add.out", &[0, 1, 2, 3])), names(add.get(..4).unwrap_or_default()));
    }

    #[test]
    fn an_unknown_operator_has_outputs_if_the_last_argument_stands_twice() {
        assert_eq!(names(&parameters("my::op", &[0, 1, 1])), [(None, false), (None, true), (None, true)]);
        assert_eq!(names(&parameters("my::op", &[0, 1])), [(None, false), (None, false)]);
        assert_eq!(names(&parameters("aten::add.out", &[0])), [(None, false)]);
    }

    #[test]
    fn every_line_of_the_table_can_be_read() {
        assert_eq!(Signatures::new().0.len(), TABLE.lines().count());
        let arguments = TABLE.lines().flat_map(|line| line.split('\t').nth(1).unwrap_or_default().split(' '));
        assert!(arguments.clone().all(|argument| argument.contains(':')));
        assert!(arguments.count() > 1000);
    }
}
