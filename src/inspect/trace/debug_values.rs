//! The values that runs recorded: an ETDump's debug events, with their bytes in the debug buffer.

use super::events::{KERNEL, Key, Methods, Times, instruction, plan_of, target};
use super::profile::{EventKind, EventTarget, Mismatch};
use crate::analysis::Analysis;
use crate::analysis::double;
use crate::dataflow::Calls;
use crate::error::Result;
use crate::file::etdp::Etdp;
use crate::inspect::weights::numbers::Histogram;
use crate::inspect::{Name, NameText, NamedBy, Returned};
use crate::names::{safe_file_name, shortened, unique_file_name};
use crate::path::Path;
use crate::schema::ScalarType;
use crate::schema::etdump::{DebugEvent, RunData, Tensor, Value, ValueType};
use crate::schema::program::{ExecutionPlan, InstructionArguments};
use crate::tensor::{RUNTIME_RANK, TensorShape, TensorView};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{format, string::String, vec::Vec};
use core::cmp::Reverse;

/// The values that the runs of an ETDump recorded.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DebugValues<'t> {
    /// The runs that recorded values, in the file's order.
    pub runs: Vec<DebugRun<'t>>,
    /// Values that contradict themselves, the debug buffer or the program.
    pub errors: Vec<Mismatch>,
}

/// The values that one run recorded.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DebugRun<'t> {
    /// Its index in `run_data`.
    pub index: usize,
    /// Its name: `Execute`.
    pub name: &'t str,
    /// The test case that was loaded before; `None` if there was none.
    pub test_case: Option<i32>,
    /// The method that it ran, if the program is given and one fits.
    pub method: Option<&'t str>,
    /// The values, in the order in which they were written: the outputs of the method come last.
    pub values: Vec<DebugValue<'t>>,
}

/// A value that a run recorded.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DebugValue<'t> {
    /// Index of its event in the run.
    pub event: usize,
    /// Its writer: an instruction, a step inside a delegate, or the whole method, whose output it is. Of a delegate's call, its inputs
    /// are recorded too.
    pub kind: EventKind,
    /// The chain of the instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<usize>,
    /// Index of the instruction in the chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction: Option<usize>,
    /// The number of earlier executions of the instruction in this run.
    pub repetition: usize,
    /// Its position among the values that were recorded together: the results of the kernel, the arguments of the delegate's call, or the
    /// outputs of the method.
    pub position: usize,
    /// Its index in a list of tensors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<usize>,
    /// `true` if it is an input of a delegate's call, which the runtime records with the outputs. Known with the program.
    pub input: bool,
    /// Its position among the inputs of the method, if it is one that a delegate's call took.
    #[serde(skip)]
    pub(super) method_input: Option<usize>,
    /// The delegate's own name for the step.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::names::serialize_shortened_option")]
    pub delegate_debug_name: Option<&'t str>,
    /// The delegate's own number for the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegate_debug_id: Option<i32>,
    /// The operator or backend that the instruction runs, according to the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<EventTarget<'t>>,
    /// The kernel that the instruction ran, as the runtime calls it: the operator without its namespace, such as `add.out`.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::names::serialize_shortened_option")]
    pub kernel: Option<&'t str>,
    /// Index into the method's values, if the program is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<usize>,
    /// The value's name, such as `convolution.3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<NameText<'t>>,
    /// The source of the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_by: Option<NamedBy>,
    /// The path of the module of the instruction, such as `layers.0.conv`. Of a delegate, the module that contains all of its nodes.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::names::serialize_shortened_option")]
    pub module: Option<&'t str>,
    /// The path of the module of a delegate's last node, if this is the only output of the call, so that it is likely to be the result of
    /// that module.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::names::serialize_shortened_option")]
    pub last_module: Option<&'t str>,
    /// The tensor; `None` if it is a number, or if the ETDump is wrong about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tensor: Option<DebugTensor<'t>>,
    /// The number, if it is no tensor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<Returned<'t>>,
}

/// A tensor that a run recorded.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DebugTensor<'t> {
    /// The type of the elements.
    pub scalar_type: ScalarType,
    /// The size of each dimension, in elements.
    pub sizes: Vec<i32>,
    /// The dimensions as they are stored, outermost first, from the strides.
    pub dim_order: Vec<u8>,
    /// The size of its elements, in bytes.
    pub size: u64,
    /// The place of its bytes in the debug buffer; `None` if it is empty.
    pub offset: Option<u64>,
    /// The distribution of its values; `None` without the debug buffer, for a type without numbers, and if no element is finite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Histogram>,
    /// Its elements, little-endian, in the order given by the dim order; `None` without the debug buffer, or if they are not in it.
    #[serde(skip)]
    pub bytes: Option<&'t [u8]>,
}

impl DebugTensor<'_> {
    /// Returns its shape.
    pub fn shape(&self) -> TensorShape<'_> {
        TensorShape { scalar_type: self.scalar_type, sizes: &self.sizes, dim_order: &self.dim_order }
    }

    /// Returns its elements; `None` without the debug buffer.
    ///
    /// Fails as [`TensorView::new`] does, if the struct was built by hand.
    pub fn view(&self) -> Result<Option<TensorView<'_>>> {
        self.bytes.map(|bytes| TensorView::new(self.shape(), bytes)).transpose()
    }
}

impl DebugValue<'_> {
    /// Returns a name to show: `output 0` for an output of the method, otherwise the value's own name, the delegate's name of the step, or what the
    /// instruction runs, with the index in a list of tensors, and with a number if the instruction ran several times.
    pub fn title(&self) -> String {
        let mut title: String = match (self.name.as_deref().or(self.delegate_debug_name), self.delegate_debug_id) {
            _ if self.kind == EventKind::Method => format!("output {}", self.position),
            (Some(name), _) => shortened(name).into(),
            (None, Some(id)) => format!("event {id}"),
            (None, None) => {
                let what = match (&self.runs, self.kernel, self.instruction) {
                    (Some(target), ..) => format!("{target}"),
                    (None, Some(kernel), _) => shortened(kernel).into(),
                    (None, None, Some(index)) => format!("instruction {index}"),
                    (None, None, None) => String::from("value"),
                };
                let position = if self.position > 0 { format!(" {}", self.position) } else { String::new() };
                what + &position
            }
        };
        if let Some(item) = self.item {
            title += &format!("[{item}]");
        }
        if self.repetition > 0 {
            title += &format!(" #{}", self.repetition + 1);
        }
        title
    }
}

impl<'t> DebugValues<'t> {
    /// Counts the values of each tensor into this many bins: see [`DebugTensor::histogram`].
    pub fn count(&mut self, bins: usize) {
        for tensor in self.runs.iter_mut().flat_map(|run| &mut run.values).filter_map(|value| value.tensor.as_mut()) {
            tensor.histogram = tensor.view().ok().flatten().and_then(|view| view.histogram(bins));
        }
    }

    /// Returns a file name for each value of each run, in their order: `003-relu.1.npy`, after `run1-` if several runs recorded values. The number
    /// is the position in the run.
    pub fn file_names(&self, ending: &str) -> Vec<Vec<String>> {
        let mut taken = BTreeMap::new();
        let mut name = |run: usize, index: usize, value: &DebugValue<'_>| {
            let run = if self.runs.len() > 1 { format!("run{run}-") } else { String::new() };
            let title = value.title().replace(' ', ".");
            unique_file_name(&format!("{run}{index:03}-{}", safe_file_name(&title)), ending, &mut taken)
        };
        let runs = self.runs.iter().enumerate();
        runs.map(|(run, list)| list.values.iter().enumerate().map(|(index, value)| name(run, index, value)).collect())
            .collect()
    }
}

/// Returns the values of the runs of an ETDump. Each byte of the debug buffer is given to one value only, so that the work on all values is
/// bounded by its size.
pub(super) fn debug_values<'t, 'p: 't>(
    etdp: &'t Etdp<'_>,
    buffer: Option<&'t [u8]>,
    program: Option<&Analysis<'p>>,
    method: Option<&str>,
) -> DebugValues<'t> {
    let methods = program.map(Methods::of);
    // By the address of its plan: there may be many runs, of many methods.
    let mut calls: BTreeMap<usize, Calls<'_, '_>> = BTreeMap::new();
    if let Some(program) = program {
        for (index, plan) in program.pte().methods().iter().enumerate() {
            calls.insert(address(plan), Calls::new(plan, index, program.outputs()));
        }
    }
    let left = buffer.map_or(0, |buffer| buffer.len() as u64);
    let mut reader = Reader { buffer, left, mismatches: Vec::new() };
    let mut runs = Vec::new();
    for (index, run) in etdp.etdump.run_data().iter().enumerate() {
        let events = || run.events().iter().filter_map(|event| event.debug_event.as_ref());
        if events().next().is_none() {
            continue;
        }
        // Times that contradict each other are mismatches of the profile.
        let mut keys = Times::of(run, index, &mut Vec::new()).keys;
        let mut known: BTreeSet<Key<'t>> = keys.iter().copied().collect();
        keys.extend(events().map(Key::of_value).filter(|key| known.insert(*key)));
        let plan = methods.as_ref().and_then(|all| plan_of(all, method, (index, &keys), &mut reader.mismatches));
        let calls = plan.and_then(|plan| calls.get(&address(plan)));
        let values = reader.values(index, run, plan, calls);
        runs.push(DebugRun {
            index,
            name: run.name(),
            test_case: run.test_case(),
            method: plan.map(|plan| plan.name()),
            values,
        });
    }
    if let Some(program) = program {
        add_names(&mut runs, program);
    }
    DebugValues { runs, errors: reader.mismatches }
}

/// Adds the names of values and their modules. A value that is not known has the label of its instruction.
fn add_names<'t, 'p: 't>(runs: &mut [DebugRun<'t>], program: &Analysis<'p>) {
    let Some(names) = program.answer_names() else { return };
    let methods = names.by_method(program.pte());
    for run in runs {
        let Some(names) = run.method.and_then(|method| methods.get(method)) else { continue };
        let call = |value: &DebugValue<'_>| (value.kind, value.chain, value.instruction, value.repetition);
        let mut outputs: BTreeMap<_, usize> = BTreeMap::new();
        for value in run.values.iter().filter(|value| !value.input) {
            *outputs.entry(call(value)).or_default() += 1;
        }
        for value in &mut run.values {
            let place = value.chain.zip(value.instruction);
            if let (Some(EventTarget::Delegate { delegate, .. }), false) = (&value.runs, value.input) {
                let delegate = usize::try_from(*delegate).ok().and_then(|index| names.delegates.get(index));
                let nodes = delegate.map(|delegate| delegate.nodes.as_slice()).unwrap_or_default();
                let last = nodes.iter().rev().find_map(|node| node.module);
                value.last_module = last.filter(|_| outputs.get(&call(value)) == Some(&1));
            }
            let from = place.and_then(|(chain, instruction)| names.instruction(chain, instruction));
            let own = value.value.and_then(|value| names.value(value));
            value.module = from.map_or_else(|| own.and_then(|own| own.module), |from| from.module);
            (value.name, value.named_by) = match (own, from) {
                (None, Some(from)) if value.kind == EventKind::Instruction && value.position == 0 => {
                    (Some(from.label.clone()), Some(NamedBy::Operator))
                }
                (own, _) => Name::fields(own),
            };
        }
    }
}

fn address(plan: &ExecutionPlan<'_>) -> usize {
    core::ptr::from_ref(plan).addr()
}

/// Events that were recorded together: the results of one call of a kernel, the arguments of one call of a delegate, or the outputs of
/// the method.
struct Group<'t> {
    key: Key<'t>,
    is_output: bool,
    repetition: usize,
    events: Vec<(usize, &'t DebugEvent<'t>)>,
}

struct Reader<'t> {
    buffer: Option<&'t [u8]>,
    /// The bytes of the debug buffer that no value has yet.
    left: u64,
    mismatches: Vec<Mismatch>,
}

impl<'t> Reader<'t> {
    fn values(
        &mut self,
        index: usize,
        run: &'t RunData<'_>,
        plan: Option<&'t ExecutionPlan<'_>>,
        calls: Option<&Calls<'_, '_>>,
    ) -> Vec<DebugValue<'t>> {
        let mut values = Vec::new();
        let mut kernels: BTreeMap<(usize, usize), &str> = BTreeMap::new();
        for (_, event) in run.profile_events() {
            let kernel = event.name.as_deref().and_then(|name| name.strip_prefix(KERNEL));
            if let (Some(kernel), Some(place)) = (kernel, Key::of(event).place()) {
                kernels.entry(place).or_insert(kernel);
            }
        }
        let inputs = plan.into_iter().flat_map(|plan| plan.inputs()).enumerate();
        let inputs: BTreeMap<usize, usize> =
            inputs.filter_map(|(position, value)| Some((usize::try_from(*value).ok()?, position))).collect();
        for group in groups(run) {
            let known = plan.zip(calls).and_then(|(plan, calls)| known_values(&group, plan, calls)).unwrap_or_default();
            let place = group.key.place().filter(|_| !group.is_output);
            let runs = place.and_then(|place| target(plan?, instruction(plan?, place)?));
            for (position, (event, debug)) in group.events.iter().enumerate() {
                let known = known.get(position).copied();
                let value = DebugValue {
                    event: *event,
                    kind: match group.key.kind() {
                        _ if group.is_output => EventKind::Method,
                        EventKind::Part => EventKind::Instruction,
                        kind => kind,
                    },
                    chain: place.map(|(chain, _)| chain),
                    instruction: place.map(|(_, instruction)| instruction),
                    repetition: group.repetition,
                    position,
                    item: None,
                    input: known.is_some_and(|(_, is_input)| is_input),
                    method_input: known
                        .filter(|(_, is_input)| *is_input)
                        .and_then(|(value, _)| inputs.get(&value))
                        .copied(),
                    delegate_debug_name: group.key.delegate_id,
                    delegate_debug_id: Some(group.key.delegate_number).filter(|number| *number != -1),
                    runs: runs.clone(),
                    kernel: place.and_then(|place| kernels.get(&place).copied()),
                    value: known.map(|(value, _)| value),
                    name: None,
                    named_by: None,
                    module: None,
                    last_module: None,
                    tensor: None,
                    number: None,
                };
                let items = value.value.and_then(|value| plan?.value(value)?.val.tensors());
                self.add((index, *event), debug, value, items, &mut values);
            }
        }
        values
    }

    /// Adds the value of an event, or each tensor of a list.
    fn add(
        &mut self,
        place: (usize, usize),
        debug: &'t DebugEvent<'_>,
        value: DebugValue<'t>,
        items: Option<&[i32]>,
        values: &mut Vec<DebugValue<'t>>,
    ) {
        let Some(entry) = &debug.debug_entry else {
            self.say(place, "debug_entry", "it is missing, expected the value".into());
            return values.push(value);
        };
        let (mut tensor, mut number) = (None, None);
        match (entry.val, entry) {
            (ValueType::TENSOR, Value { tensor: Some(found), .. }) => {
                tensor = self.tensor(place, "debug_entry.tensor", found);
            }
            (ValueType::TENSOR_LIST, Value { tensor_list: Some(list), .. }) => {
                for (item, found) in list.tensors().iter().enumerate() {
                    let own = items.and_then(|items| usize::try_from(*items.get(item)?).ok());
                    let tensor = self.tensor(place, "debug_entry.tensor_list", found);
                    values.push(DebugValue { item: Some(item), value: own, tensor, ..value.clone() });
                }
                return;
            }
            (ValueType::INT, Value { int_value: Some(found), .. }) => number = Some(Returned::Int(found.int_val)),
            (ValueType::BOOL, Value { bool_value: Some(found), .. }) => number = Some(Returned::Bool(found.bool_val)),
            (ValueType::FLOAT, Value { float_value: Some(found), .. }) => number = Some(double(found.float_val.into())),
            (ValueType::DOUBLE, Value { double_value: Some(found), .. }) => number = Some(double(found.double_val)),
            (ValueType::NULL, _) => number = Some(Returned::Null),
            (kind, _) => {
                let kind = kind.name().map_or_else(|| format!("{}", kind.0), String::from);
                self.say(place, "debug_entry.val", format!("{kind}, but the value has no field for it"));
            }
        }
        values.push(DebugValue { tensor, number, ..value });
    }

    /// Returns `None` after it reported why.
    fn tensor(
        &mut self,
        place: (usize, usize),
        field: &'static str,
        tensor: &'t Tensor<'_>,
    ) -> Option<DebugTensor<'t>> {
        match self.read(tensor) {
            Ok((found, None)) => Some(found),
            Ok((found, Some(fault))) => {
                self.say(place, field, fault);
                Some(found)
            }
            Err(fault) => {
                self.say(place, field, fault);
                None
            }
        }
    }

    /// Returns the tensor, also if its bytes are not in the debug buffer, and why they are not.
    fn read(&mut self, tensor: &'t Tensor<'_>) -> core::result::Result<(DebugTensor<'t>, Option<String>), String> {
        let (sizes, strides) = (tensor.sizes(), tensor.strides());
        if sizes.len() > RUNTIME_RANK || strides.len() != sizes.len() {
            let (rank, strides) = (sizes.len(), strides.len());
            return Err(format!(
                "{rank} sizes and {strides} strides, expected as many strides as sizes, at most {RUNTIME_RANK}"
            ));
        }
        let narrow =
            |size: &i64| i32::try_from(*size).map_err(|_| format!("a size of {size}, expected 0 to {}", i32::MAX));
        let sizes = sizes.iter().map(narrow).collect::<core::result::Result<Vec<i32>, String>>()?;
        let dim_order = dim_order(strides);
        let shape = TensorShape { scalar_type: tensor.scalar_type, sizes: &sizes, dim_order: &dim_order };
        let size = shape.byte_size().map_err(|error| error.kind().detail())?;
        let dense = shape.strides().map_err(|error| error.kind().detail())?;
        let mut pairs = sizes.iter().zip(strides.iter().zip(&dense));
        if size > 0 && pairs.any(|(size, (stride, dense))| *size > 1 && stride != dense) {
            return Err(format!("strides {strides:?} of {shape}, expected those of a tensor without gaps"));
        }
        let offset = u64::try_from(tensor.offset).ok().filter(|_| size > 0);
        let scalar_type = tensor.scalar_type;
        let mut found = DebugTensor { scalar_type, sizes, dim_order, size, offset, histogram: None, bytes: None };
        let Some(buffer) = self.buffer else { return Ok((found, None)) };
        // An empty tensor has no place: its offset is -1.
        if size == 0 {
            found.bytes = Some(&[]);
            return Ok((found, None));
        }
        let range = offset
            .and_then(|start| Some(usize::try_from(start).ok()?..usize::try_from(start.checked_add(size)?).ok()?));
        let Some(bytes) = range.and_then(|range| buffer.get(range)) else {
            let fault = format!("{size} bytes at {}, but the debug buffer has {} bytes", tensor.offset, buffer.len());
            return Ok((found, Some(fault)));
        };
        let Some(left) = self.left.checked_sub(size) else {
            let fault = "other values have the same bytes: the debug buffer was written again, or is of another run";
            return Ok((found, Some(fault.into())));
        };
        (self.left, found.bytes) = (left, Some(bytes));
        Ok((found, None))
    }

    fn say(&mut self, (run, event): (usize, usize), field: &'static str, message: String) {
        let path =
            Path::ROOT.item("run_data", run).item("events", event).field("debug_event").field(field).to_field_path();
        self.mismatches.push(Mismatch { path, message });
    }
}

/// Returns the events of a run that were recorded together.
fn groups<'t>(run: &'t RunData<'_>) -> Vec<Group<'t>> {
    let mut groups: Vec<Group<'t>> = Vec::new();
    let mut counts: BTreeMap<(Key<'t>, bool), usize> = BTreeMap::new();
    let mut is_open = false;
    for (index, event) in run.events().iter().enumerate() {
        // A call's own event ends it.
        if let (Some(profile), Some(last)) = (&event.profile_event, groups.last()) {
            let key = Key::of(profile);
            is_open &= key.kind() != EventKind::Instruction || key.place() != last.key.place();
        }
        let Some(debug) = &event.debug_event else { continue };
        let key = Key::of_value(debug);
        let is_output = debug.debug_entry.as_ref().and_then(|entry| entry.output).is_some_and(|output| output.bool_val);
        match groups.last_mut() {
            Some(last) if is_open && (last.key, last.is_output) == (key, is_output) => last.events.push((index, debug)),
            _ => {
                let count = counts.entry((key, is_output)).or_default();
                groups.push(Group { key, is_output, repetition: *count, events: alloc::vec![(index, debug)] });
                *count += 1;
            }
        }
        is_open = true;
    }
    groups
}

/// Returns the indices of the values that were recorded, if there are as many as the program has, each with `true` for an input of a
/// delegate.
fn known_values(group: &Group<'_>, plan: &ExecutionPlan<'_>, calls: &Calls<'_, '_>) -> Option<Vec<(usize, bool)>> {
    let indices = |list: &mut dyn Iterator<Item = (i32, bool)>| -> Option<Vec<(usize, bool)>> {
        list.map(|(index, is_input)| Some((usize::try_from(index).ok()?, is_input))).collect()
    };
    let values = if group.is_output {
        indices(&mut plan.outputs().iter().map(|value| (*value, false)))?
    } else if group.key.kind() == EventKind::Delegate {
        return None;
    } else {
        let instruction = instruction(plan, group.key.place()?)?;
        let accesses = calls.accesses(instruction).list;
        match instruction {
            InstructionArguments::DelegateCall(_) => {
                indices(&mut accesses.iter().map(|access| (access.value, !access.role.writes())))?
            }
            InstructionArguments::KernelCall(_) => {
                let mut seen = BTreeSet::new();
                let written = accesses.iter().filter(|access| access.role.writes() && seen.insert(access.value));
                let mut all = indices(&mut written.map(|access| (access.value, false)))?;
                // The result comes again as the last argument: as another value, if it is a list.
                if all.len() == group.events.len() + 1 {
                    all.pop();
                }
                all
            }
            _ => return None,
        }
    };
    Some(values).filter(|values| values.len() == group.events.len())
}

/// Returns the dimensions by their strides, the largest first.
fn dim_order(strides: &[i64]) -> Vec<u8> {
    let mut order: Vec<(Reverse<i64>, u8)> =
        strides.iter().enumerate().map(|(dim, stride)| (Reverse(*stride), dim as u8)).collect();
    order.sort();
    order.into_iter().map(|(_, dim)| dim).collect()
}
