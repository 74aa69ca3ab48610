//! Finds the names in a program.

use super::{
    DelegateNames, EtRecord, InstructionName, MethodNames, Name, NameSource, NameText, Names, Parameter,
    RecordedMethod, RecordedNode, StateTensor, outer, quantized, state_dict, tensors,
};
use crate::analysis::code::NamedBy;
use crate::analysis::modules::{common_module, own_name};
use crate::analysis::training::{TrainingOutput, TrainingRole, training_outputs};
use crate::dataflow::{Access, Accesses, Calls, DelegateOutputs};
use crate::delegate::xnnpack::{ConstantPlace, ConstantUse};
use crate::delegate::{OpenPayload, Payload};
use crate::error::{Error, Result};
use crate::file::pte::{Pte, TensorData};
use crate::names::short;
use crate::numbers::ByText;
use crate::schema::ScalarType;
use crate::schema::program::{EValue, ExecutionPlan, InstructionArguments, KernelTypes};
use crate::schema::xnnpack::XNodeUnion;
use crate::sorted::{find, set};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{borrow::Cow, format, string::String, vec, vec::Vec};
use core::fmt::Write;

/// A program whose names are to be found.
#[derive(Clone, Copy)]
pub(crate) struct Unnamed<'c, 't> {
    pub pte: &'t Pte<'t>,
    pub outputs: &'c DelegateOutputs,
    pub payloads: &'c [OpenPayload<'t>],
}

impl<'t> Unnamed<'_, 't> {
    /// Finds the names in the file itself and in the sources that belong to the program.
    pub fn names(self, sources: &[&'t NameSource<'t>]) -> Names<'t> {
        let mut rejected: Vec<(usize, Error)> = Vec::new();
        loop {
            let is_used = |(index, _): &(usize, _)| rejected.iter().all(|(other, _)| other != index);
            let used: Vec<_> = sources.iter().copied().enumerate().filter(is_used).collect();
            match self.names_with(&used) {
                Ok(names) => return Names { rejected: in_order(rejected), ..names },
                Err(misfit) => rejected.push(misfit),
            }
        }
    }

    /// Finds the names in the file itself and in the sources. Fails with the index of an ETRecord that belongs to another program.
    fn names_with(self, sources: &[(usize, &'t NameSource<'t>)]) -> core::result::Result<Names<'t>, (usize, Error)> {
        let there = set(self.pte.methods().iter().map(ExecutionPlan::name).collect());
        // A method is named by the first record that contains it.
        let mut recorded: Recorded<'t> = BTreeMap::new();
        for (index, source) in sources {
            let NameSource::Record(record) = source else { continue };
            check_methods(record, &there).map_err(|error| (*index, error))?;
            for method in &record.methods {
                recorded.entry(&method.name).or_insert_with(|| (*index, ByHandle::new(method)));
            }
        }
        let mut names = Names::default();
        for (index, plan) in self.pte.methods().iter().enumerate() {
            let calls = Calls::new(plan, index, self.outputs);
            let record = recorded.get(plan.name());
            let source = record.map_or(0, |(source, _)| *source);
            let method = Method::new(self.pte, plan, &calls, record.map(|(_, record)| record)).names();
            let mut method = method.map_err(|error| (source, error))?;
            method.delegates.resize(plan.delegates().len(), DelegateNames::default());
            names.methods.push(method);
        }
        names.add_training(self.pte);
        names.add_delegates(self, &recorded);
        for (_, source) in sources {
            if let NameSource::StateDict(tensors) = source {
                state_dict::add(&mut names, self.pte, self.payloads, tensors);
                quantized::add(&mut names, self.pte, self.payloads, tensors);
            }
        }
        names.add_keys(self.payloads);
        names.add_parameters(self.pte, sources);
        for ((index, plan), names) in self.pte.methods().iter().enumerate().zip(&mut names.methods) {
            let calls = || Calls::new(plan, index, self.outputs);
            quantized::add_parameters(names, plan, calls);
            names.add_modules(plan, calls);
        }
        names.computed = tensors::computed(&names, self.pte, sources.iter().map(|(_, source)| *source));
        Ok(names)
    }
}

/// Sorts by index.
fn in_order(mut rejected: Vec<(usize, Error)>) -> Vec<(usize, Error)> {
    rejected.sort_by_key(|(index, _)| *index);
    rejected
}

/// The methods of the records by name, each with the index of its source.
type Recorded<'t> = BTreeMap<&'t str, (usize, ByHandle<'t>)>;

/// Fails if a record has no method of the program.
fn check_methods(record: &EtRecord, there: &[&str]) -> Result<()> {
    if record.methods.iter().any(|method| there.binary_search(&&*method.name).is_ok()) {
        return Ok(());
    }
    let methods: Vec<&str> = record.methods.iter().map(|method| method.name.as_str()).take(8).collect();
    Err(misfit(&format!("its methods are {methods:?}, which the program does not have")))
}

impl<'t> Names<'t> {
    /// Names the outputs of training programs: `TrainingModule` finds gradients and parameters through constant methods.
    fn add_training(&mut self, pte: &'t Pte<'_>) {
        for ((plan, names), outputs) in pte.methods().iter().zip(&mut self.methods).zip(training_outputs(pte)) {
            for (output, training) in plan.outputs().iter().zip(outputs) {
                let Some(TrainingOutput { role, parameter: Some(parameter), .. }) = training else { continue };
                let name = match role {
                    TrainingRole::Gradient => format!("gradient of {}", short(parameter)).into(),
                    _ => parameter.into(),
                };
                names.set(i64::from(*output), name, NamedBy::File);
            }
        }
    }

    /// Names the nodes of XNNPACK's payloads, and constants by the node that takes them. A record has the sources of nodes and their
    /// arguments. Delegates that share a payload get the names from the first of them, as in `Analysis::delegate_constants`.
    #[expect(
        clippy::indexing_slicing,
        reason = "`takers` and `constants` have indices of the payload's nodes and values"
    )]
    fn add_delegates(&mut self, program: Unnamed<'_, 't>, recorded: &Recorded<'t>) {
        let pte = program.pte;
        for opened in program.payloads {
            let (Ok(Payload::Xnnpack(xnnpack)), Some((method, delegate))) = (&opened.payload, opened.delegates.first())
            else {
                continue;
            };
            let recorded = opened
                .delegates_of(pte)
                .next()
                .and_then(|(plan, _)| recorded.get(plan.name()))
                .map(|(_, record)| record);
            let own = self.methods.get_mut(*method).and_then(|names| names.delegates.get_mut(*delegate));
            let Some(names) = own else { continue };
            for (index, node) in xnnpack.graph.xnodes().iter().enumerate() {
                let from = recorded.and_then(|recorded| Some(recorded.nodes.get(&node.debug_handle)?.first));
                names.nodes.push(InstructionName {
                    label: format!("{} {index}", node.name()).into(),
                    module: from.map(|from| from.module.as_str()),
                    source: from.and_then(|from| from.source.as_ref()),
                });
            }
            let takers = xnnpack.graph.takers();
            names.constants.resize(xnnpack.graph.xvalues().len(), None);
            for constant in xnnpack.constants() {
                for used in &constant.uses {
                    let value = used.value();
                    let Some((index, role)) = takers.get(&value).and_then(|taken| taken.first()) else { continue };
                    let node = &xnnpack.graph.xnodes()[*index];
                    let argument = match (&node.xnode_union, *role) {
                        (XNodeUnion::XNNPReLU(_), _) => "weight",
                        // The operators of elements have arguments of these names.
                        (_, "input1") => "self",
                        (_, "input2") => "other",
                        (_, role) => role,
                    };
                    let parameter = recorded.and_then(|recorded| recorded.parameter(node.debug_handle, argument));
                    let name = match parameter.filter(|parameter| !parameter.has_generated_name()) {
                        Some(parameter) => Name {
                            sizes: parameter.sizes.as_deref().map(Cow::Borrowed),
                            ..Name::new((&*parameter.name).into(), NamedBy::Record, Some(outer(&parameter.name)))
                        },
                        None => {
                            let name = format!("{} {index} {role}", node.name());
                            Name::new(name.into(), NamedBy::Operator, names.nodes[*index].module)
                        }
                    };
                    names.constants[value].get_or_insert(name);
                }
            }
        }
    }

    /// Counts the parameters of a program with one method, if a state dict has names of its constants: its tensors of floats except
    /// running statistics.
    fn add_parameters(&mut self, pte: &Pte<'_>, sources: &[(usize, &'t NameSource<'t>)]) {
        let mut methods = pte.methods().iter().zip(&mut self.methods).filter(|(plan, _)| !plan.is_constant());
        let (Some((_, names)), None) = (methods.next(), methods.next()) else { return };
        let states = sources.iter().filter_map(|(_, source)| match source {
            NameSource::StateDict(tensors) => Some(tensors),
            NameSource::Record(_) => None,
        });
        let inside = names.delegates.iter().flat_map(|delegate| &delegate.constants);
        let mut named = names.values.iter().chain(inside).flatten();
        if names.parameters.is_none() && named.any(|name| name.named_by == NamedBy::StateDict) {
            let is_float = |tensor: &&StateTensor<'_>| tensor.scalar_type.is_some_and(ScalarType::is_floating);
            let mut tensors: Vec<_> =
                states.flatten().filter(is_float).map(|tensor| (own_name(&tensor.name), tensor)).collect();
            tensors.retain(|(name, _)| !["running_mean", "running_var"].contains(name));
            // Tied weights have several names, of which those of modules come first. Equal vectors may be those of two new normalizations.
            tensors.sort_by_key(|(name, _)| !is_parameter(name));
            let (mut matrices, mut parameters) = (BTreeSet::new(), 0u64);
            for (name, tensor) in tensors {
                if tensor.sizes.len() < 2 || matrices.insert((&tensor.sizes, &tensor.bytes)) {
                    names.may_count_buffers |= !is_parameter(name);
                    let elements = tensor.sizes.iter().copied().fold(1, u64::saturating_mul);
                    parameters = parameters.saturating_add(elements);
                }
            }
            names.parameters = Some(parameters);
        }
    }

    /// Names the keys of constants inside delegates.
    fn add_keys(&mut self, payloads: &[OpenPayload<'t>]) {
        let mut keys: BTreeMap<String, Name<'t>> = BTreeMap::new();
        for opened in payloads {
            if let Ok(Payload::AotInductor(aot)) = &opened.payload {
                for tensor in aot.tensors.iter().filter(|tensor| tensor.key.len() <= LONGEST_KEY) {
                    let name = Name::new(tensor.name.into(), NamedBy::File, Some(outer(tensor.name)));
                    keys.entry(tensor.key.into()).or_insert(name);
                }
            }
            let (Ok(Payload::Xnnpack(xnnpack)), Some((method, delegate))) = (&opened.payload, opened.delegates.first())
            else {
                continue;
            };
            for constant in xnnpack.constants() {
                let ConstantPlace::Named { key, .. } = &constant.place else { continue };
                for used in constant.uses.iter().filter(|_| key.len() <= LONGEST_KEY) {
                    let Some(name) = self.constant(*method, *delegate, used.value()) else { continue };
                    keys.entry((*key).into()).or_insert_with(|| match used {
                        ConstantUse::Scales { .. } => quantized::part(name, "scales"),
                        ConstantUse::Tensor { .. } => name.clone(),
                    });
                }
            }
        }
        self.keys = keys.into_iter().collect();
    }
}

/// Returns `true` if PyTorch's modules give a name to parameters and not to buffers.
fn is_parameter(name: &str) -> bool {
    const STARTS: [&str; 6] = ["weight_ih_", "weight_hh_", "weight_hr_", "bias_ih_", "bias_hh_", "in_proj_"];
    ["weight", "bias"].contains(&name) || STARTS.iter().any(|start| name.starts_with(start))
}

/// The longest key that is looked up: many constants can share a key.
const LONGEST_KEY: usize = 512;

impl<'t> MethodNames<'t> {
    /// Names a value, unless it already has a better name.
    fn set(&mut self, value: i64, name: NameText<'t>, named_by: NamedBy) {
        self.put(value, Name::new(name, named_by, None));
    }

    /// Names a value whose tensor in the model is known, unless it already has a better name.
    pub(super) fn put(&mut self, value: i64, name: Name<'t>) {
        let own = usize::try_from(value).ok().and_then(|value| self.values.get_mut(value));
        if let Some(own) = own.filter(|own| own.as_ref().is_none_or(|own| name.named_by < own.named_by)) {
            *own = Some(name);
        }
    }
}

impl<'t> MethodNames<'t> {
    /// Finds the modules of values. An instruction without a recorded module gets the module of the parameters that it takes.
    fn add_modules<'p>(&mut self, plan: &'p ExecutionPlan<'p>, calls: impl Fn() -> Calls<'p, 'p>) {
        for name in self.values.iter_mut().flatten().filter(|name| name.named_by.is_given()) {
            // Names that are composed here, such as those of gradients, are not paths.
            if let NameText::Borrowed(path) = name.name {
                name.module = Some(outer(path));
            }
        }
        let has_modules =
            |names: &Vec<Option<InstructionName<'_>>>| names.iter().flatten().any(|name| name.module.is_some());
        if self.values.iter().flatten().all(|name| name.module.is_none()) && !self.chains.iter().any(has_modules) {
            return;
        }
        let (calls, mut accesses) = (calls(), Accesses::default());
        for (names, chain) in self.chains.iter_mut().zip(plan.chains()) {
            for (name, instruction) in names.iter_mut().zip(chain.instructions()) {
                let Some(name) = name else { continue };
                let delegate = match &instruction.instr_args {
                    InstructionArguments::KernelCall(_) => None,
                    InstructionArguments::DelegateCall(call) => Some(call.delegate_index),
                    _ => continue,
                };
                calls.find(&instruction.instr_args, &mut accesses);
                let index = |access: &Access| usize::try_from(access.value).ok();
                if name.module.is_none() {
                    let named = accesses.list.iter().filter_map(|access| self.values.get(index(access)?)?.as_ref());
                    let is_known = |name: &&Name<'_>| name.named_by.is_given() && name.named_by != NamedBy::Caller;
                    let modules = named.filter(is_known).filter_map(|name| name.module);
                    name.module = modules.reduce(common_module);
                }
                for access in &accesses.list {
                    let value = index(access).and_then(|index| self.values.get_mut(index)?.as_mut());
                    let is_input = |name: &Name<'_>| match name.named_by {
                        NamedBy::Caller => !access.role.writes(),
                        named_by => named_by == NamedBy::Input,
                    };
                    if let Some(value) = value.filter(|value| value.module.is_none() && !is_input(value)) {
                        value.module = name.module;
                    }
                }
                let delegate = delegate.and_then(|index| self.delegates.get_mut(usize::try_from(index).ok()?));
                if let Some(delegate) = delegate {
                    delegate.module = delegate.module.or(name.module);
                }
            }
        }
    }
}

/// A method of a record, with its nodes by handle.
struct ByHandle<'t> {
    recorded: &'t RecordedMethod,
    nodes: BTreeMap<u32, Nodes<'t>>,
}

/// The nodes with one handle. Many instructions can run them, so that each asks for a node rather than looking at all of them.
struct Nodes<'t> {
    first: &'t RecordedNode,
    /// The innermost module that contains all of them.
    module: &'t str,
    /// The first node with each operator.
    operators: BTreeMap<&'t str, &'t RecordedNode>,
    /// The first parameter that is taken as each argument.
    parameters: BTreeMap<&'t str, &'t Parameter>,
}

impl<'t> ByHandle<'t> {
    fn new(recorded: &'t RecordedMethod) -> Self {
        let mut nodes: BTreeMap<u32, Nodes<'t>> = BTreeMap::new();
        for node in &recorded.nodes {
            let Some(handle) = node.handle else { continue };
            let first =
                || Nodes { first: node, module: &node.module, operators: BTreeMap::new(), parameters: BTreeMap::new() };
            let own = nodes.entry(handle).or_insert_with(first);
            own.module = common_module(own.module, &node.module);
            own.operators.entry(&node.operator).or_insert(node);
            for parameter in &node.parameters {
                own.parameters.entry(&parameter.argument).or_insert(parameter);
            }
        }
        Self { recorded, nodes }
    }

    /// Returns the parameter that a node takes as the argument with this name.
    fn parameter(&self, handle: u32, argument: &str) -> Option<&'t Parameter> {
        self.nodes.get(&handle)?.parameters.get(argument).copied()
    }

    /// Returns the nodes that an instruction runs, by their handles.
    fn nodes(&self, instruction: usize) -> impl Iterator<Item = &Nodes<'t>> {
        let handles = &self.recorded.handles;
        let own = find(handles, |(index, _)| index.cmp(&instruction));
        own.into_iter().flat_map(|(_, handles)| handles).filter_map(|handle| self.nodes.get(handle))
    }
}

/// The state of finding a method's names.
struct Method<'c, 't> {
    plan: &'t ExecutionPlan<'t>,
    calls: &'c Calls<'c, 't>,
    record: Option<&'c ByHandle<'t>>,
    /// For each value, `true` if its content is data of the file or of a `.ptd` file.
    has_data: Vec<bool>,
    found: MethodNames<'t>,
    /// For each operator, the number of instructions so far and its name in labels: many instructions may share a long name.
    counts: ByText<'t, (u64, String)>,
    /// The label of the current instruction, where it is composed.
    text: String,
    /// The number of instructions with nodes in the record, and of those whose operator is that of a node.
    recorded: usize,
    fitting: usize,
}

impl<'c, 't> Method<'c, 't> {
    fn new(
        pte: &Pte<'_>,
        plan: &'t ExecutionPlan<'t>,
        calls: &'c Calls<'c, 't>,
        record: Option<&'c ByHandle<'t>>,
    ) -> Self {
        let (inputs, values) = (plan.input_names(), vec![None; plan.values().len()]);
        let parameters = record.and_then(|record| record.recorded.parameters);
        let found = MethodNames { inputs, parameters, values, ..MethodNames::default() };
        let has_data = plan.values().iter().map(|value| has_data(pte, value)).collect();
        let (counts, text) = (ByText::default(), String::new());
        Self { plan, calls, record, has_data, found, counts, text, recorded: 0, fitting: 0 }
    }

    fn names(mut self) -> Result<MethodNames<'t>> {
        let count = self.plan.chains().first().map_or(0, |chain| chain.instructions().len());
        let last = self.record.as_ref().and_then(|record| record.recorded.handles.last());
        if let Some((last, _)) = last.filter(|(last, _)| *last >= count) {
            return Err(misfit(&format!(
                "it has instruction {last} of method {}, which has {count}",
                short(self.plan.name())
            )));
        }
        self.inputs();
        for (value, tensor) in self.plan.tensors() {
            if let Some(name) = tensor.fully_qualified_name().filter(|name| !name.is_empty()) {
                self.found.set(value as i64, name.into(), NamedBy::File);
            }
        }
        let mut accesses = Accesses::default();
        for (index, chain) in self.plan.chains().iter().enumerate() {
            let mut labels = Vec::with_capacity(chain.instructions().len());
            for (number, instruction) in chain.instructions().iter().enumerate() {
                // Records number the instructions of the first chain only.
                let number = (index == 0).then_some(number);
                labels.push(self.instruction(&instruction.instr_args, &mut accesses, number)?);
            }
            self.found.chains.push(labels);
        }
        self.outputs();
        if self.fitting * 2 < self.recorded {
            return Err(misfit(&format!(
                "it has other operators for {} of {} instructions of method {}",
                self.recorded - self.fitting,
                self.recorded,
                short(self.plan.name())
            )));
        }
        Ok(self.found)
    }

    fn inputs(&mut self) {
        let recorded = self.record.as_ref().map(|record| &record.recorded.inputs);
        let recorded = recorded.filter(|recorded| recorded.len() == self.plan.inputs().len());
        for (index, value) in self.plan.inputs().iter().enumerate() {
            let given = self.found.inputs.get(index).cloned().flatten();
            let recorded = recorded.and_then(|recorded| recorded.get(index)).filter(|name| !name.is_empty());
            let (name, named_by) = match (given, recorded) {
                (Some(name), _) => (name, NamedBy::Caller),
                (None, Some(name)) => (name.as_str().into(), NamedBy::Record),
                (None, None) => (format!("input {index}").into(), NamedBy::Input),
            };
            if let Some(own) = self.found.inputs.get_mut(index).filter(|_| named_by != NamedBy::Input) {
                *own = Some(name.clone());
            }
            self.found.set(i64::from(*value), name, named_by);
        }
    }

    /// Names outputs that the method computes. An input or data that is returned keeps its own name.
    fn outputs(&mut self) {
        for (name, index) in self.plan.output_names().into_iter().zip(self.plan.outputs()) {
            let has_data = usize::try_from(*index).ok().and_then(|index| self.has_data.get(index));
            if let Some(name) = name.filter(|_| has_data == Some(&false)) {
                self.found.set(i64::from(*index), name, NamedBy::Caller);
            }
        }
    }

    fn instruction(
        &mut self,
        instruction: &InstructionArguments<'_>,
        accesses: &mut Accesses,
        index: Option<usize>,
    ) -> Result<Option<InstructionName<'t>>> {
        let is_kernel = matches!(instruction, InstructionArguments::KernelCall(_));
        let runs = match instruction {
            InstructionArguments::KernelCall(call) => self.plan.operator(call).map_or("", |operator| operator.name()),
            InstructionArguments::DelegateCall(call) => self.plan.delegate(call).map_or("", |delegate| delegate.id()),
            InstructionArguments::MoveCall(_) => "move",
            InstructionArguments::JumpFalseCall(_) => "jump",
            InstructionArguments::FreeCall(_) => "free",
            _ => return Ok(None),
        };
        accesses.list.clear();
        if is_kernel || matches!(instruction, InstructionArguments::DelegateCall(_)) {
            self.calls.find(instruction, accesses);
        }
        let name = || short(runs.rsplit_once("::").map_or(runs, |(_, name)| name));
        let (count, name) = self.counts.get(runs, || (0, name()));
        self.text.clear();
        self.text += name;
        self.text.push('.');
        // Writing to a `String` does not fail.
        let _ = write!(self.text, "{count}");
        *count += 1;
        let label = NameText::shared(&self.text);
        let nodes: Vec<&Nodes<'t>> = match (self.record, index) {
            (Some(record), Some(index)) => record.nodes(index).collect(),
            _ => Vec::new(),
        };
        let same = nodes.iter().find_map(|nodes| nodes.operators.get(runs).copied());
        // The emitter and its passes rename operators of other namespaces.
        if is_kernel && runs.starts_with("aten::") && !nodes.is_empty() {
            self.recorded += 1;
            self.fitting += usize::from(same.is_some());
        }
        let mut outputs = accesses.list.iter().filter(|access| access.role.writes()).map(|access| access.value);
        let first = outputs.next();
        let several = outputs.any(|output| Some(output) != first);
        // The name of an argument: the label and the argument's name, or its number.
        let label_length = self.text.len();
        let mut named = |at: usize, access: &Access| {
            self.text.truncate(label_length);
            self.text.push(' ');
            match access.name {
                Some(name) => self.text += name,
                None => self.text += &format!("{at}"),
            }
            NameText::shared(&self.text)
        };
        for (at, access) in accesses.list.iter().enumerate() {
            let Some(tensor) = self.plan.tensor(access.value) else { continue };
            if access.role.writes() && !access.role.is_in_place() {
                let name = if several { named(at, access) } else { label.clone() };
                self.found.set(access.value.into(), name, NamedBy::Operator);
                continue;
            }
            // Dequantized numbers are computed when the program runs.
            let is_named = |parameter: &&Parameter| !parameter.quantized && !parameter.has_generated_name();
            let taken = access.name.and_then(|name| Some((name, same?.parameter(name).filter(is_named)?)));
            if let Some((place, parameter)) = taken {
                let own = tensor
                    .sizes()
                    .iter()
                    .try_fold(1u64, |product, size| product.checked_mul(u64::try_from(*size).ok()?));
                let elements =
                    |sizes: &&Vec<u64>| sizes.iter().try_fold(1u64, |product, size| product.checked_mul(*size));
                if let Some(sizes) = parameter.sizes.as_ref().filter(|sizes| elements(sizes) != own) {
                    return Err(misfit(&format!(
                        "its {} has the sizes {sizes:?}, but %{} of method {}, {label} {place}, has {:?}",
                        parameter.name,
                        access.value,
                        short(self.plan.name()),
                        tensor.sizes()
                    )));
                }
                let name = Name::new((&*parameter.name).into(), NamedBy::Record, None);
                let sizes = parameter.sizes.as_deref().map(Cow::Borrowed);
                self.found.put(access.value.into(), Name { sizes, ..name });
            }
            let has_data = usize::try_from(access.value).ok().and_then(|value| self.has_data.get(value));
            if has_data == Some(&true) {
                self.found.set(access.value.into(), named(at, access), NamedBy::Operator);
            }
        }
        let module = nodes.first().map(|first| match same {
            Some(node) => node.module.as_str(),
            None => nodes.iter().fold(first.module, |common, nodes| common_module(common, nodes.module)),
        });
        let source = same.or(nodes.first().map(|nodes| nodes.first)).and_then(|node| node.source.as_ref());
        Ok(Some(InstructionName { label, module, source }))
    }
}

/// Returns `true` if the content of a value is data of the file or of a `.ptd` file.
fn has_data(pte: &Pte<'_>, value: &EValue<'_>) -> bool {
    use TensorData::{Constant, External, InitialState};
    let KernelTypes::Tensor(tensor) = &value.val else { return false };
    tensor.has_data() && matches!(pte.tensor_data(tensor), Ok(Constant(_) | InitialState(_) | External(_)))
}

#[cold]
fn misfit(what: &str) -> Error {
    Error::reference(format!("the ETRecord is not that of this program: {what}"))
}
