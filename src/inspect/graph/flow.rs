//! From a method's instructions to the edges between them.

use super::{Edge, Graph, GraphArgument, InstructionPlace, Node, NodeKind, value_text};
use crate::delegate::Xnnpack;
use crate::file::pte::Pte;
use crate::inspect::TensorPlace;
use crate::inspect::signatures::{Parameter, Signature, Signatures};
use crate::schema::program::{ExecutionPlan, InstructionArguments, KernelTypes, Tensor};
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::{format, string::String, vec, vec::Vec};

/// The graph of a method.
pub(super) fn graph<'t>(
    pte: &'t Pte<'_>,
    plan: &'t ExecutionPlan<'_>,
    signatures: &Signatures,
    opened: Opened<'t>,
) -> Graph<'t> {
    let operator = |name: String| (signatures.get(&name), name);
    let graph = Graph { method: plan.name(), ..Graph::default() };
    let mut flow = Flow {
        pte,
        plan,
        operators: plan.operators().iter().map(|one| operator(one.full_name())).collect(),
        opened,
        graph,
        writer: vec![None; plan.values().len()],
        place_writer: BTreeMap::new(),
        last_mention: last_mentions(plan),
        time: 0,
        budget: 16 * size(plan),
    };
    for (position, input) in plan.inputs().iter().enumerate() {
        let node = flow.node(NodeKind::Input, format!("input {position}"), None, [gives(*input)]);
        flow.write(*input, node);
    }
    flow.states();
    let first_instruction = flow.graph.nodes.len();
    for ((chain, index), instruction) in plan.instructions() {
        flow.instruction(InstructionPlace { chain, index }, instruction);
    }
    flow.jumps(first_instruction);
    for (position, output) in plan.outputs().iter().enumerate() {
        let node = flow.node(NodeKind::Output, format!("output {position}"), None, [takes(*output)]);
        flow.read(*output, node);
    }
    let mut graph = flow.graph;
    graph.edges.sort_unstable();
    graph.edges.dedup();
    graph
}

/// What is inside a method's delegates, by their index, where it is known.
pub(super) type Opened<'t> = BTreeMap<usize, Xnnpack<'t>>;

pub(super) struct Flow<'t, 'a> {
    pte: &'t Pte<'a>,
    /// The operators' arguments, where they are known, and their names with overloads.
    operators: Vec<(Option<Signature>, String)>,
    plan: &'t ExecutionPlan<'a>,
    /// Taken out at the first call: a second one shows the delegate as one node.
    opened: Opened<'t>,
    pub(super) graph: Graph<'t>,
    /// The node that wrote each value last.
    writer: Vec<Option<usize>>,
    /// The node that wrote each place of planned memory last.
    place_writer: BTreeMap<(u32, u64), usize>,
    /// The last instruction that mentions each value.
    last_mention: Vec<usize>,
    /// The instruction, counted over all chains.
    time: usize,
    /// How many list items may still be looked at: many instructions may name one long list.
    budget: usize,
}

impl<'t> Flow<'t, '_> {
    /// Adds a node.
    fn node(
        &mut self,
        kind: NodeKind,
        label: String,
        instruction: Option<InstructionPlace>,
        arguments: impl IntoIterator<Item = Taken>,
    ) -> usize {
        let argument = |(value, parameter): Taken| GraphArgument {
            value,
            name: parameter.name,
            text: value_text(self.plan, value),
            output: parameter.output,
            place: self.place_of(value),
        };
        let arguments = arguments.into_iter().map(argument).collect();
        self.graph.nodes.push(Node { kind, label, delegate: None, instruction, arguments });
        self.graph.nodes.len() - 1
    }

    /// Where a tensor's bytes are.
    pub(super) fn place_of(&self, value: i32) -> Option<TensorPlace<'t>> {
        let tensor = self.plan.tensor(value)?;
        let data = self.pte.tensor_data(tensor).ok()?;
        Some(TensorPlace::of(data, tensor.data_buffer_idx, tensor.allocation_info.as_ref()))
    }

    /// Mutable tensors with an initial state: a node for each.
    fn states(&mut self) {
        let states =
            self.plan.tensors().filter(|(_, tensor)| tensor.data_buffer_idx > 0 && tensor.allocation_info.is_some());
        for (value, tensor) in states {
            let Ok(value) = i32::try_from(value) else { return };
            let name = tensor.fully_qualified_name().map_or_else(|| format!("value {value}"), String::from);
            let node = self.node(NodeKind::State, short(&format!("state {name}")), None, [gives(value)]);
            self.write(value, node);
        }
    }

    fn instruction(&mut self, place: InstructionPlace, instruction: &'t InstructionArguments<'_>) {
        self.time += 1;
        let at = place;
        let place = Some(place);
        match instruction {
            InstructionArguments::KernelCall(call) => {
                let operator = usize::try_from(call.op_index).ok().and_then(|index| self.operators.get(index));
                let label = operator.map_or_else(|| format!("operator {}", call.op_index), |(_, name)| short(name));
                let signature = operator.and_then(|(signature, _)| signature.as_ref());
                let arguments = kernel_arguments(signature, call.args());
                self.call(NodeKind::Kernel, label, place, arguments);
            }
            InstructionArguments::DelegateCall(call) => {
                let index = usize::try_from(call.delegate_index).ok();
                let delegate = index.and_then(|index| self.plan.delegates().get(index));
                if let (Some(delegate), Some(payload)) = (delegate, index.and_then(|index| self.opened.remove(&index)))
                {
                    return self.inside(&payload, delegate.id(), at, call.args());
                }
                let label = delegate
                    .map_or_else(|| format!("delegate {}", call.delegate_index), |delegate| short(delegate.id()));
                let (inputs, outputs) = call.args().split_at(self.delegate_inputs(call.args()));
                let arguments = inputs.iter().copied().map(takes).chain(outputs.iter().copied().map(gives)).collect();
                self.call(NodeKind::Delegate, label, place, arguments);
            }
            InstructionArguments::MoveCall(call) => {
                self.call(NodeKind::Move, "move".into(), place, vec![takes(call.move_from), gives(call.move_to)]);
            }
            InstructionArguments::JumpFalseCall(call) => {
                let label = format!("if false, jump to {}", call.destination_instruction);
                self.call(NodeKind::Jump, label, place, vec![takes(call.cond_value_index)]);
            }
            // It has no effect on what flows.
            InstructionArguments::FreeCall(_) => {}
            _ => {
                self.node(NodeKind::Unknown, "an instruction of a newer schema".into(), place, []);
            }
        }
    }

    fn call(&mut self, kind: NodeKind, label: String, place: Option<InstructionPlace>, arguments: Vec<Taken>) {
        let node = self.node(kind, label, place, arguments.iter().copied());
        for (value, _) in arguments.iter().filter(|(_, parameter)| !parameter.output) {
            self.read(*value, node);
        }
        for (value, _) in arguments.iter().filter(|(_, parameter)| parameter.output) {
            self.write(*value, node);
        }
    }

    /// How many of a delegate's arguments it only reads. Outputs come last: values that nothing has written before. A view of
    /// another value is one of these, too, so the last one is an output, and others before it are if something takes them later.
    fn delegate_inputs(&self, args: &[i32]) -> usize {
        let is_output = |(position, value): &(usize, &i32)| {
            let at = usize::try_from(**value).unwrap_or(usize::MAX);
            let written = self.writer.get(at).copied().flatten().is_some();
            let constant = self.plan.tensor(**value).is_some_and(|tensor| {
                tensor.is_external() || (tensor.data_buffer_idx > 0 && tensor.allocation_info.is_none())
            });
            let last = position + 1 == args.len();
            !written && !constant && (last || self.last_mention.get(at).is_some_and(|last| *last > self.time))
        };
        args.len() - args.iter().enumerate().rev().take_while(is_output).count()
    }

    pub(super) fn read(&mut self, value: i32, node: usize) {
        let plan = self.plan;
        for item in items(plan, value, self.budget).iter().take(self.budget) {
            self.budget -= 1;
            if let Some(from) = self.source(*item).filter(|from| *from < node) {
                self.graph.edges.push(Edge { from, to: node, value: Some(value) });
            }
        }
        if self.budget == 0 {
            self.graph.incomplete = Some("its instructions name long lists many times, and not all were looked at");
        }
    }

    fn source(&self, value: i32) -> Option<usize> {
        let place = self.plan.tensor(value).and_then(place);
        let by_place = place.and_then(|place| self.place_writer.get(&place).copied());
        by_place.or_else(|| self.writer.get(usize::try_from(value).ok()?).copied().flatten())
    }

    pub(super) fn write(&mut self, value: i32, node: usize) {
        let plan = self.plan;
        for item in items(plan, value, self.budget).iter().take(self.budget) {
            self.budget -= 1;
            if let Some(place) = self.plan.tensor(*item).and_then(place) {
                self.place_writer.insert(place, node);
            }
            if let Some(writer) = usize::try_from(*item).ok().and_then(|item| self.writer.get_mut(item)) {
                *writer = Some(node);
            }
        }
    }

    /// An edge from each jump to the instruction that it may go on with.
    fn jumps(&mut self, first: usize) {
        let nodes = self.graph.nodes.iter().enumerate().skip(first);
        let places: BTreeMap<(usize, usize), usize> = nodes
            .clone()
            // Of several nodes inside a delegate, the first one is where the call starts.
            .rev()
            .filter_map(|(at, node)| node.instruction.map(|place| ((place.chain, place.index), at)))
            .collect();
        let mut edges = Vec::new();
        for ((chain, index), instruction) in self.plan.instructions() {
            let InstructionArguments::JumpFalseCall(jump) = instruction else { continue };
            let Ok(destination) = usize::try_from(jump.destination_instruction) else { continue };
            // A free has no node: the next instruction is taken.
            let target = places.range((chain, destination)..=(chain, usize::MAX)).next();
            if let (Some(from), Some((_, to))) = (places.get(&(chain, index)), target) {
                edges.push(Edge { from: *from, to: *to, value: None });
            }
        }
        self.graph.edges.append(&mut edges);
    }
}

/// The last instruction, counted from 1 over all chains, that mentions each value, by itself or in a list.
fn last_mentions(plan: &ExecutionPlan<'_>) -> Vec<usize> {
    let mut last = vec![0; plan.values().len()];
    let mut mention = |value: i32, time: usize| {
        if let Some(last) = usize::try_from(value).ok().and_then(|value| last.get_mut(value)) {
            *last = time.max(*last);
        }
    };
    for ((_, instruction), time) in plan.instructions().zip(1..) {
        args(instruction).iter().for_each(|value| mention(*value, time));
    }
    plan.outputs().iter().for_each(|value| mention(*value, usize::MAX));
    for list in 0..last.len() {
        let time = last.get(list).copied().unwrap_or_default();
        for item in i32::try_from(list).map(|list| items(plan, list, usize::MAX)).unwrap_or_default().iter() {
            if let Some(last) = usize::try_from(*item).ok().and_then(|item| last.get_mut(item)) {
                *last = time.max(*last);
            }
        }
    }
    last
}

/// A value, or the values in a list.
fn items<'t>(plan: &'t ExecutionPlan<'_>, value: i32, most: usize) -> Cow<'t, [i32]> {
    match plan.value(value).map(|value| &value.val) {
        Some(KernelTypes::TensorList(list)) => list.items().into(),
        Some(KernelTypes::OptionalTensorList(list)) => list.items().into(),
        Some(KernelTypes::IntList(list)) => {
            list.items().iter().take(most).filter_map(|item| i32::try_from(*item).ok()).collect()
        }
        _ => vec![value].into(),
    }
}

/// The place in planned memory of a tensor that takes any.
fn place(tensor: &Tensor<'_>) -> Option<(u32, u64)> {
    let allocation = tensor.allocation_info.filter(|_| !tensor.sizes().contains(&0))?;
    Some((allocation.memory_id, allocation.memory_offset()))
}

/// A value, and what an instruction does with it.
type Taken = (i32, Parameter);

/// What a kernel takes and gives. The result, which ends the arguments once more, is left out.
fn kernel_arguments(signature: Option<&Signature>, args: &[i32]) -> Vec<Taken> {
    let parameters = Signatures::parameters(signature, args);
    let mut arguments: Vec<Taken> = args.iter().copied().zip(parameters).collect();
    let outputs = arguments.iter().filter(|(_, parameter)| parameter.output).count();
    match arguments.last_mut() {
        Some((_, last)) if outputs > 1 && last.name.is_none() => drop(arguments.pop()),
        // An operator that is not known gives at least something.
        Some((_, last)) => last.output |= outputs == 0,
        None => {}
    }
    arguments
}

fn takes(value: i32) -> Taken {
    (value, Parameter { name: None, output: false })
}

fn gives(value: i32) -> Taken {
    (value, Parameter { name: None, output: true })
}

/// A name as a label: many instructions may have a long one.
pub(in crate::inspect) fn short(name: &str) -> String {
    const MOST: usize = 120;
    match name.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()),
        None => name.into(),
    }
}

/// How many values, list items, instructions and arguments a method has.
fn size(plan: &ExecutionPlan<'_>) -> usize {
    let values = (0..plan.values().len()).filter_map(|value| i32::try_from(value).ok());
    let listed = values.map(|value| items(plan, value, usize::MAX).len() + 1).sum::<usize>();
    listed + plan.instructions().map(|(_, instruction)| args(instruction).len() + 1).sum::<usize>()
}

fn args<'t>(instruction: &'t InstructionArguments<'_>) -> &'t [i32] {
    match instruction {
        InstructionArguments::KernelCall(call) => call.args(),
        InstructionArguments::DelegateCall(call) => call.args(),
        _ => &[],
    }
}
