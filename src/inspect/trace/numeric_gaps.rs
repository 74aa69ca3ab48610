//! Differences between the values that two runs recorded.

use super::debug_values::{DebugRun, DebugTensor, DebugValue, DebugValues};
use super::run_pairs::run_pairs;
use crate::analysis::modules::{MAX_DEPTH, modules};
use crate::inspect::weights::numbers::{Distance, Values, distance};
use crate::inspect::{EventKind, Returned};
use crate::names::shortened;
use crate::schema::ScalarType;
use crate::tensor::{TensorShape, TensorView};
use alloc::collections::BTreeMap;
use alloc::{borrow::Cow, string::String, vec::Vec};
use core::cmp::Ordering;

/// The differences between the values of two runs.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RunGaps {
    /// The index of each run in its ETDump; `None` if the other ETDump has no such run.
    pub runs: [Option<usize>; 2],
    /// The method, if it is known.
    pub method: Option<String>,
    /// The test case that was loaded before.
    pub test_case: Option<i32>,
    /// `true` if the runs seem to have had different inputs: an input of the method that a delegate took differs, or the first value that both
    /// computed has more noise than signal.
    pub inputs_differ: bool,
    /// The values that both runs recorded, in the order of the second, then those of one of them.
    pub values: Vec<NumericGap>,
}

/// The difference between two values.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NumericGap {
    /// Its name, such as `convolution.3`: see [`DebugValue::title`].
    pub name: String,
    /// The path of the module that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// The chain and the index of the instruction in the second run, or else in the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction: Option<(usize, usize)>,
    /// The result of the comparison.
    pub outcome: GapOutcome,
    /// The value of each run; `None` if it did not record it.
    pub values: [Option<ComparedValue>; 2],
    /// The distance of the numbers, with the first run as the reference. `None` if only one run has the value, if the sizes differ, or
    /// for a type without numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<Distance>,
}

/// A value that is compared.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ComparedValue {
    /// Index of its event in the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<usize>,
    /// The name of a reference; of a value of the first run, its name, if that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The type of its elements, if it is a tensor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scalar_type: Option<ScalarType>,
    /// The size of each dimension, if it is a tensor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<i32>>,
}

/// The result of comparing two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum GapOutcome {
    /// All numbers are equal; two NaNs are equal. The types may differ.
    Equal,
    /// Some numbers differ.
    Different,
    /// The sizes differ, so that the numbers are not compared.
    Shape,
    /// One is a tensor and the other a number, or numbers of this type cannot be compared and the bytes differ.
    Kind,
    /// The bytes of one of them are not known.
    NoData,
    /// Only the first run recorded it.
    OnlyBefore,
    /// Only the second run recorded it.
    OnlyAfter,
}

impl RunGaps {
    /// Puts the values with the largest differences first: those that cannot be compared, then by their signal-to-noise ratio.
    pub fn sort_by_gap(&mut self) {
        let rank = |gap: &NumericGap| match (gap.outcome, gap.distance.and_then(|distance| distance.snr)) {
            (GapOutcome::Equal, _) => (3, 0.0),
            (GapOutcome::OnlyBefore | GapOutcome::OnlyAfter, _) => (2, 0.0),
            (_, Some(snr)) => (1, snr),
            (_, None) => (0, 0.0),
        };
        self.values.sort_by(|left, right| rank(left).partial_cmp(&rank(right)).unwrap_or(Ordering::Equal));
    }
}

/// The key by which values are matched.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum MatchKey<'t> {
    /// An output of the method, by its position and the index in a list.
    Output(usize, Option<usize>),
    /// By the instruction, the delegate's step, the position, and the index in a list.
    Place(Option<(usize, usize)>, (Option<&'t str>, Option<i32>), usize, Option<usize>),
    /// By the name, and the index in a list.
    Name(&'t str, Option<usize>),
    /// A delegate's step with a name of its own.
    Step(&'t str, usize, Option<usize>),
}

fn key<'v>(value: &'v DebugValue<'_>, by_place: bool) -> Option<MatchKey<'v>> {
    let DebugValue { item, position, delegate_debug_name, delegate_debug_id, .. } = *value;
    Some(match (value.kind, value.name.as_deref(), delegate_debug_name) {
        (EventKind::Method, ..) => MatchKey::Output(position, item),
        _ if by_place => {
            let place = value.chain.zip(value.instruction);
            MatchKey::Place(place, (delegate_debug_name, delegate_debug_id), position, item)
        }
        (_, Some(name), _) => MatchKey::Name(name, item),
        (_, None, Some(name)) => MatchKey::Step(name, position, item),
        _ => return None,
    })
}

/// Returns `true` unless an instruction is known to run something else in the other run.
fn are_alike(before: &DebugRun<'_>, after: &DebugRun<'_>) -> bool {
    let place = |value: &DebugValue<'_>| (value.chain, value.instruction);
    let mut known: BTreeMap<_, &DebugValue<'_>> = BTreeMap::new();
    for value in &before.values {
        known.entry(place(value)).or_insert(value);
    }
    fn differ<T: PartialEq>(left: &Option<T>, right: &Option<T>) -> bool {
        left.is_some() && right.is_some() && left != right
    }
    let is_other = |value: &DebugValue<'_>, other: &DebugValue<'_>| {
        differ(&value.runs, &other.runs) || differ(&value.kernel, &other.kernel)
    };
    !after.values.iter().any(|value| known.get(&place(value)).is_some_and(|other| is_other(value, other)))
}

impl<'t> DebugValues<'t> {
    /// Compares the values of each run with those of `after`, layer by layer. Runs of the same method and test case are compared with each
    /// other, in their order. If the same instructions ran, values are matched by instruction, and otherwise by name, so that programs that
    /// were lowered differently can be compared; outputs of the method are matched by position.
    ///
    /// The names of metrics are those of ExecuTorch's `Inspector.calculate_numeric_gap`: `mse`, `l1`, `snr`. Unlike there, elements that are
    /// NaN or infinite are left out and counted.
    pub fn compare(&self, after: &DebugValues<'_>) -> Vec<RunGaps> {
        let pairs = run_pairs(&self.runs, &after.runs, |run| (run.test_case, run.method));
        pairs.into_iter().map(|(before, after)| run_gaps(before, after)).collect()
    }
}

/// The values of a run, by the names that references may have.
struct Index<'v> {
    /// By file name without its ending, by name, and by title.
    names: BTreeMap<String, &'v DebugValue<'v>>,
    modules: BTreeMap<&'v str, (usize, &'v DebugValue<'v>)>,
}

/// Returns the last value of each module, with its index, without inputs of delegates and the outputs of the method.
fn last_of_modules<'v>(values: &'v [DebugValue<'_>]) -> BTreeMap<&'v str, (usize, &'v DebugValue<'v>)> {
    let mut last = BTreeMap::new();
    for (index, value) in values.iter().enumerate() {
        let module = value.last_module.or(value.module).filter(|_| value.kind != EventKind::Method && !value.input);
        let Some(module) = module.filter(|module| !module.is_empty()) else { continue };
        for path in modules(module).take(MAX_DEPTH).chain([module]) {
            last.insert(path, (index, value));
        }
    }
    last
}

impl<'v> Index<'v> {
    fn of(run: &'v DebugRun<'_>, files: &[String]) -> Self {
        let mut names: BTreeMap<String, &DebugValue<'_>> = BTreeMap::new();
        for (file, value) in files.iter().zip(&run.values) {
            names.entry(file.strip_suffix(".npy").unwrap_or(file).into()).or_insert(value);
        }
        for value in &run.values {
            if let Some(name) = &value.name {
                names.entry(shortened(name).into()).or_insert(value);
            }
            names.entry(value.title().replace(' ', ".")).or_insert(value);
        }
        Self { names, modules: last_of_modules(&run.values) }
    }

    fn get(&self, name: &str) -> Option<&'v DebugValue<'v>> {
        self.names.get(name).copied().or_else(|| self.modules.get(name).map(|(_, value)| *value))
    }
}

impl DebugValues<'_> {
    /// Compares the values of each run with references, such as what PyTorch computed, each with its name: the name of a value, a file name
    /// as of [`file_names`](Self::file_names) without its ending, or the path of a module, for the last value that is recorded of it.
    ///
    /// References that no run has a value for are [`GapOutcome::OnlyBefore`].
    pub fn compare_with(&self, references: &[(&str, TensorView<'_>)]) -> Vec<RunGaps> {
        let mut all = Vec::new();
        for (run, files) in self.runs.iter().zip(self.file_names("npy")) {
            let index = Index::of(run, &files);
            let mut values = Vec::new();
            for (name, reference) in references {
                let shape = reference.shape();
                let expected = ComparedValue {
                    event: None,
                    reference: Some((*name).into()),
                    scalar_type: Some(shape.scalar_type),
                    sizes: Some(shape.sizes.into()),
                };
                let found = index.get(name);
                let (outcome, distance) = match found.map(|found| found.tensor.as_ref()) {
                    None => (GapOutcome::OnlyBefore, None),
                    Some(None) => (GapOutcome::Kind, None),
                    Some(Some(tensor)) if tensor.sizes.as_slice() != shape.sizes => (GapOutcome::Shape, None),
                    Some(Some(tensor)) => match tensor.view() {
                        Ok(Some(view)) => views(reference, &view),
                        _ => (GapOutcome::NoData, None),
                    },
                };
                let (event, shown) = match found {
                    Some(found) => (found.event, gap(None, Some(found))),
                    None => (usize::MAX, NumericGap { name: (*name).into(), values: [None, None], ..gap(None, None) }),
                };
                let NumericGap { name, module, instruction, values: [_, value], .. } = shown;
                values.push((
                    event,
                    NumericGap { name, module, instruction, outcome, values: [Some(expected), value], distance },
                ));
            }
            values.sort_by_key(|(event, _)| *event);
            all.push(RunGaps {
                runs: [None, Some(run.index)],
                method: run.method.map(String::from),
                test_case: run.test_case,
                inputs_differ: false,
                values: values.into_iter().map(|(_, gap)| gap).collect(),
            });
        }
        all
    }
}

#[expect(
    clippy::indexing_slicing,
    reason = "`left` has an item for each value of `before`, whose indices are looked up"
)]
fn run_gaps(before: Option<&DebugRun<'_>>, after: Option<&DebugRun<'_>>) -> RunGaps {
    let by_place = before.zip(after).is_none_or(|(before, after)| are_alike(before, after));
    // In another program, an input of a delegate's call is no value of its own.
    let counts = |value: &DebugValue<'_>| by_place || !value.input;
    // Values with equal keys are matched in their order.
    let mut waiting: BTreeMap<MatchKey<'_>, Vec<usize>> = BTreeMap::new();
    let of_before = before.map(|run| run.values.as_slice()).unwrap_or_default();
    for (index, value) in of_before.iter().enumerate().filter(|(_, value)| counts(value)).rev() {
        if let Some(key) = key(value, by_place) {
            waiting.entry(key).or_default().push(index);
        }
    }
    let mut inputs_differ = before.zip(after).is_some_and(|(before, after)| have_other_inputs(before, after));
    let (mut values, mut only_after) = (Vec::<NumericGap>::new(), Vec::new());
    let modules = if by_place { BTreeMap::new() } else { last_of_modules(of_before) };
    let mut left: Vec<Option<&DebugValue<'_>>> =
        of_before.iter().map(|value| Some(value).filter(|value| counts(value))).collect();
    for value in after.map(|run| run.values.as_slice()).unwrap_or_default().iter().filter(|value| counts(value)) {
        let by_key = key(value, by_place).and_then(|key| waiting.get_mut(&key)?.pop());
        // The result of a delegate is that of the module of its last node.
        let by_module = || Some(modules.get(value.last_module?)?.0);
        let Some(other) = by_key.or_else(by_module).and_then(|index| left[index].take()) else {
            only_after.push(gap(None, Some(value)));
            continue;
        };
        let mut found = gap(Some(other), Some(value));
        if let ([Some(before), _], title) = (&mut found.values, other.title()) {
            before.reference = Some(title).filter(|title| *title != found.name);
        }
        // Errors of quantization are small at the start.
        let is_noise = found.distance.and_then(|distance| distance.snr).is_some_and(|snr| snr < 0.0);
        inputs_differ |= is_noise && values.iter().all(|gap| gap.distance.is_none());
        values.push(found);
    }
    values.extend(left.into_iter().flatten().map(|value| gap(Some(value), None)));
    values.append(&mut only_after);
    let first = after.or(before);
    RunGaps {
        runs: [before, after].map(|run| run.map(|run| run.index)),
        method: after.and_then(|run| run.method).or(before.and_then(|run| run.method)).map(String::from),
        test_case: first.and_then(|run| run.test_case),
        inputs_differ,
        values,
    }
}

/// Returns `true` if an input of the method that delegates of both runs took differs.
fn have_other_inputs(before: &DebugRun<'_>, after: &DebugRun<'_>) -> bool {
    let inputs = |run: &'_ DebugRun<'_>| -> BTreeMap<usize, usize> {
        let found = run.values.iter().enumerate().rev();
        // The last one of the reversed list is the first.
        found.filter_map(|(index, value)| Some((value.method_input?, index))).collect()
    };
    let after_inputs = inputs(after);
    inputs(before).into_iter().any(|(position, index)| {
        let other = after_inputs.get(&position).and_then(|index| after.values.get(*index));
        let pair = before.values.get(index).zip(other);
        let tensors_of = pair.and_then(|(left, right)| left.tensor.as_ref().zip(right.tensor.as_ref()));
        tensors_of
            .is_some_and(|(left, right)| matches!(tensors(left, right).0, GapOutcome::Different | GapOutcome::Shape))
    })
}

fn gap(before: Option<&DebugValue<'_>>, after: Option<&DebugValue<'_>>) -> NumericGap {
    let (outcome, distance) = match (before, after) {
        (Some(before), Some(after)) => match (&before.tensor, &after.tensor) {
            (Some(before), Some(after)) => tensors(before, after),
            (None, None) => numbers(before.number.as_ref(), after.number.as_ref()),
            _ => (GapOutcome::Kind, None),
        },
        (Some(_), None) => (GapOutcome::OnlyBefore, None),
        _ => (GapOutcome::OnlyAfter, None),
    };
    let compared = |value: &DebugValue<'_>| ComparedValue {
        event: Some(value.event),
        reference: None,
        scalar_type: value.tensor.as_ref().map(|tensor| tensor.scalar_type),
        sizes: value.tensor.as_ref().map(|tensor| tensor.sizes.clone()),
    };
    let values = [before, after].map(|value| value.map(compared));
    let shown = after.or(before);
    NumericGap {
        name: shown.map(DebugValue::title).unwrap_or_default(),
        module: shown.and_then(|value| value.module).map(|module| shortened(module).into()),
        instruction: shown.and_then(|value| value.chain.zip(value.instruction)),
        outcome,
        values,
        distance,
    }
}

fn tensors(before: &DebugTensor<'_>, after: &DebugTensor<'_>) -> (GapOutcome, Option<Distance>) {
    if before.sizes != after.sizes {
        return (GapOutcome::Shape, None);
    }
    match (before.view(), after.view()) {
        (Ok(Some(before)), Ok(Some(after))) => views(&before, &after),
        _ => (GapOutcome::NoData, None),
    }
}

/// Compares two tensors of the same sizes.
fn views<'t>(before: &TensorView<'t>, after: &TensorView<'t>) -> (GapOutcome, Option<Distance>) {
    let is_same_order = before.shape().dim_order == after.shape().dim_order;
    let in_one_order = |view: &TensorView<'t>| {
        let natural: Vec<u8> = (0..view.shape().sizes.len()).map(|dim| dim as u8).collect();
        let bytes = match is_same_order {
            true => Cow::Borrowed(view.bytes()),
            false => Cow::Owned(view.in_dim_order(&natural).ok()?),
        };
        Some((view.shape().scalar_type, bytes))
    };
    let (Some(before), Some(after)) = (in_one_order(before), in_one_order(after)) else {
        return (GapOutcome::NoData, None);
    };
    let found = distance(&Values::Stored(before.0, &before.1), &Values::Stored(after.0, &after.1));
    let outcome = match &found {
        Some(found) if found.changed > 0 => GapOutcome::Different,
        None if before != after => GapOutcome::Kind,
        _ => GapOutcome::Equal,
    };
    (outcome, found)
}

fn numbers(before: Option<&Returned<'_>>, after: Option<&Returned<'_>>) -> (GapOutcome, Option<Distance>) {
    let number = |value: Option<&Returned<'_>>| match value {
        Some(Returned::Int(number)) => Some(*number as f64),
        Some(Returned::Bool(number)) => Some(f64::from(u8::from(*number))),
        Some(Returned::Double(number)) => Some(*number),
        Some(Returned::NotFinite("inf")) => Some(f64::INFINITY),
        Some(Returned::NotFinite("-inf")) => Some(f64::NEG_INFINITY),
        Some(Returned::NotFinite(_)) => Some(f64::NAN),
        _ => None,
    };
    let Some((before, after)) = number(before).zip(number(after)) else {
        return (if before == after { GapOutcome::Equal } else { GapOutcome::Kind }, None);
    };
    let [before, after] = [before, after].map(f64::to_le_bytes);
    let shape = TensorShape { scalar_type: ScalarType::DOUBLE, ..TensorShape::default() };
    match (TensorView::new(shape, &before), TensorView::new(shape, &after)) {
        (Ok(before), Ok(after)) => views(&before, &after),
        // A shape without dimensions has one element.
        _ => (GapOutcome::NoData, None),
    }
}
