//! Programs for training, whose methods also return gradients and parameters.

use super::constant_methods::Returned;
use crate::file::pte::{Pte, TRAINING_PREFIX};
use crate::schema::program::ExecutionPlan;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{format, vec, vec::Vec};

/// The meaning of an output of a method for training, besides the model's own outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TrainingOutput<'t> {
    /// The kind of output.
    pub role: TrainingRole,
    /// The parameter's name; `None` for the loss, and if the file does not name it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::names::serialize_shortened_option")]
    pub parameter: Option<&'t str>,
}

/// The kinds of outputs of a method for training. Other outputs are the model's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum TrainingRole {
    /// The loss: the exporter makes it the first output.
    Loss,
    /// The gradient of a parameter.
    Gradient,
    /// A parameter.
    Parameter,
}

/// Returns the meaning of each output of each method; an empty list for a method that is not for training. Methods are found by name, so that
/// of several with one name only the first can be.
pub(crate) fn training_outputs<'t>(pte: &'t Pte<'_>) -> Vec<Vec<Option<TrainingOutput<'t>>>> {
    let mut constants: BTreeMap<&str, &ExecutionPlan<'_>> = BTreeMap::new();
    for plan in pte.methods() {
        if let Some(name) = plan.name().strip_prefix(TRAINING_PREFIX) {
            constants.entry(name).or_insert(plan);
        }
    }
    let mut seen = BTreeSet::new();
    let of = |plan: &'t ExecutionPlan<'_>| match !constants.is_empty() && seen.insert(plan.name()) {
        true => outputs(plan, &constants).unwrap_or_default(),
        false => Vec::new(),
    };
    pte.methods().iter().map(of).collect()
}

/// Returns the outputs of a method: the loss and the model's other outputs, gradients, then parameters. Gradients and parameters are in the
/// order of the names. `None` if the method is not for training.
fn outputs<'t>(
    plan: &ExecutionPlan<'_>,
    constants: &BTreeMap<&str, &'t ExecutionPlan<'t>>,
) -> Option<Vec<Option<TrainingOutput<'t>>>> {
    let constant = |kind: &str| constants.get(&*format!("{kind}_{}", plan.name()))?.constant();
    let start = |kind| match constant(kind)? {
        // An index that this machine cannot count to is after all outputs.
        Returned::Int(index) => Some(usize::try_from(u64::try_from(index).ok()?).unwrap_or(usize::MAX)),
        _ => None,
    };
    let (gradients, parameters) = (start("gradients_index")?, start("parameters_index"));
    let names = match constant("fqn") {
        Some(Returned::List(names)) => names,
        // A list of one name.
        Some(name) => vec![name],
        None => Vec::new(),
    };
    let named = |role, index: usize| match names.get(index) {
        Some(Returned::String(name)) => Some(TrainingOutput { role, parameter: Some(name) }),
        _ => Some(TrainingOutput { role, parameter: None }),
    };
    let of = |index: usize| match (index.checked_sub(gradients), parameters.and_then(|first| index.checked_sub(first)))
    {
        (_, Some(index)) => named(TrainingRole::Parameter, index),
        (Some(index), None) => named(TrainingRole::Gradient, index),
        (None, None) => (index == 0).then_some(TrainingOutput { role: TrainingRole::Loss, parameter: None }),
    };
    Some((0..plan.outputs().len()).map(of).collect())
}
