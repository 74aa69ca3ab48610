//! Converts a method's instructions to edges between them.

use super::inside::Inside;
use super::{Edge, Graph, GraphArgument, InstructionPlace, Node, NodeKind, value_text};
use crate::dataflow::{Calls, Dataflow, DelegateOutputs, Kind, Role, UNKNOWN_DELEGATE, size};
use crate::file::pte::Pte;
use crate::inspect::{InstructionName, MethodNames, Name, NameText, NamedBy, SourceLine, TensorPlace};
use crate::names::short;
use crate::schema::program::{ExecutionPlan, InstructionArguments};
use crate::sorted::equal_range;
use alloc::collections::BTreeMap;
use alloc::{borrow::Cow, format, string::String, sync::Arc, vec, vec::Vec};

/// Builds the graph of a method.
pub(super) fn graph<'t>(
    pte: &'t Pte<'_>,
    (method, plan): (usize, &'t ExecutionPlan<'_>),
    names: &MethodNames<'t>,
    delegates: &DelegateOutputs,
    opened: Opened<'_, 't>,
) -> Graph<'t> {
    let calls = Calls::new(plan, method, delegates);
    let dataflow = Dataflow::of_reads(plan, &calls);
    let by_argument = by_argument(&dataflow);
    let graph = Graph { method: plan.name(), ..Graph::default() };
    let operators = plan.operators().iter().map(|operator| short(&operator.full_name()));
    let mut flow = Flow {
        pte,
        plan,
        names,
        opened,
        operators: operators.collect(),
        texts: BTreeMap::new(),
        graph,
        by_argument: &by_argument,
        writers: vec![None; dataflow.events().len()],
        nodes: vec![None; dataflow.end() + 1],
        readers: Vec::new(),
        budget: 16 * size(plan),
        dataflow: &dataflow,
    };
    for (position, input) in plan.inputs().iter().enumerate() {
        let node = flow.node(NodeKind::Input, format!("input {position}"), None, [gives(*input)]);
        flow.write(0, *input, node);
    }
    flow.states();
    let first_instruction = flow.graph.nodes.len();
    for (((chain, index), instruction), time) in plan.instructions().zip(1..) {
        let before = flow.graph.nodes.len();
        flow.instruction(InstructionPlace { chain, instruction: index }, instruction, time, &calls);
        if let Some(source) = source(plan, chain, index) {
            flow.graph.nodes.iter_mut().skip(before).for_each(|node| node.source = Some(source.clone()));
        }
    }
    for (position, output) in plan.outputs().iter().enumerate() {
        let node = flow.node(NodeKind::Output, format!("output {position}"), None, [takes(*output)]);
        flow.read(dataflow.end(), *output, node);
    }
    flow.edges();
    flow.jumps(first_instruction);
    let mut graph = flow.graph;
    graph.edges.sort();
    graph.edges.dedup();
    graph.incomplete = graph.incomplete.or_else(|| incomplete(&dataflow));
    graph
}

/// Returns the innermost line of Python that an instruction comes from.
fn source(plan: &ExecutionPlan<'_>, chain: usize, index: usize) -> Option<String> {
    let frames = plan.chains().get(chain)?.stacktrace().get(index)?.items();
    let frame = frames.last()?;
    let path = frame.filename();
    let file = path.rsplit_once(['/', '\\']).map_or(path, |(_, name)| name);
    Some(short(&format!("{file}:{} {}", frame.lineno, frame.name())))
}

/// Formats the line of Python that a record has for an instruction.
pub(super) fn line_text(line: &SourceLine) -> String {
    short(&format!("{}:{} {}", line.file, line.line, line.function))
}

/// Returns the indices of all events, sorted within each time by argument.
#[expect(clippy::indexing_slicing, reason = "the indices are those of all events")]
fn by_argument(dataflow: &Dataflow) -> Vec<u32> {
    let events = dataflow.events();
    let mut order: Vec<u32> = (0..).take(events.len()).collect();
    order.sort_by_key(|index| {
        let event = &events[*index as usize];
        (event.time, event.argument)
    });
    order
}

/// Returns the reason why some edges may be missing or wrong.
fn incomplete(dataflow: &Dataflow) -> Option<&'static str> {
    let unknown = dataflow.unknown.iter().find(|unknown| unknown.time.is_none());
    unknown.or_else(|| dataflow.unknown.first()).map(|unknown| unknown.why)
}

/// The known payloads of a method's delegates, by delegate index.
pub(super) type Opened<'o, 't> = BTreeMap<usize, Option<Inside<'o, 't>>>;

/// A node that takes a value at a time.
struct Reader {
    time: usize,
    value: i32,
    node: usize,
}

pub(super) struct Flow<'f, 't, 'a> {
    pte: &'t Pte<'a>,
    plan: &'t ExecutionPlan<'a>,
    pub(super) names: &'f MethodNames<'t>,
    dataflow: &'f Dataflow,
    /// The known payloads. Each is removed at its first call: later calls show the delegate as one node.
    opened: Opened<'f, 't>,
    /// The label of each operator.
    operators: Vec<String>,
    /// The text of each value that has been an argument so far.
    texts: BTreeMap<i32, Arc<str>>,
    pub(super) graph: Graph<'t>,
    /// The indices of the events, sorted within each time by argument, because an instruction may refer to many values, or many times to
    /// the same one.
    by_argument: &'f [u32],
    /// The node of each event that writes. There may be many more events than nodes.
    writers: Vec<Option<u32>>,
    /// The node of each time, for events that are not in `writers`.
    nodes: Vec<Option<usize>>,
    readers: Vec<Reader>,
    /// The number of events and sources that may still be visited: many nodes may take a value that many others have written.
    budget: usize,
}

#[expect(
    clippy::indexing_slicing,
    reason = "`writers` and `by_argument` have an item for each event, `nodes` for each time"
)]
impl<'f, 't> Flow<'f, 't, '_> {
    /// Adds a node.
    fn node(
        &mut self,
        kind: NodeKind,
        label: String,
        instruction: Option<InstructionPlace>,
        arguments: impl IntoIterator<Item = Taken>,
    ) -> usize {
        let mut texts = core::mem::take(&mut self.texts);
        let argument = |taken: Taken| {
            use TensorPlace::{Constant, External, InitialState};
            let place = self.place_of(taken.value);
            let (tensor_name, named_by) = self.name_of(taken.value);
            GraphArgument {
                value: taken.value,
                name: taken.name.map(Cow::Borrowed),
                tensor_name,
                named_by,
                text: texts.entry(taken.value).or_insert_with(|| value_text(self.plan, taken.value).into()).clone(),
                output: taken.output,
                weight: matches!(place, Some(Constant { .. } | InitialState { .. } | External { .. })),
                place,
                byte_size: self.plan.tensor(taken.value).and_then(|tensor| tensor.shape().byte_size().ok()),
            }
        };
        let arguments: Vec<GraphArgument<'t>> = arguments.into_iter().map(argument).collect();
        self.texts = texts;
        let own = instruction.and_then(|at| self.name_of_instruction(at));
        let of_value = || arguments.first().and_then(|argument| argument.tensor_name.clone());
        self.graph.nodes.push(Node {
            kind,
            label,
            name: own.map(|own| own.label.clone()).or_else(of_value),
            module: own.and_then(|own| own.module),
            delegate: None,
            instruction,
            source: own.and_then(|own| own.source).map(line_text),
            arguments,
            settings: Vec::new(),
            time: None,
        });
        self.graph.nodes.len() - 1
    }

    /// Returns the name of a value of the method, and its origin.
    pub(super) fn name_of(&self, value: i32) -> (Option<NameText<'t>>, Option<NamedBy>) {
        Name::fields(usize::try_from(value).ok().and_then(|value| self.names.value(value)))
    }

    /// Returns the name of an instruction.
    pub(super) fn name_of_instruction(&self, at: InstructionPlace) -> Option<&'f InstructionName<'t>> {
        self.names.instruction(at.chain, at.instruction)
    }

    /// Returns the place of a tensor's bytes.
    pub(super) fn place_of(&self, value: i32) -> Option<TensorPlace<'t>> {
        let tensor = self.plan.tensor(value)?;
        let data = self.pte.tensor_data(tensor).ok()?;
        Some(TensorPlace::of(data, tensor.data_buffer_idx, tensor.allocation_info.as_ref()))
    }

    /// Adds a node for each tensor that keeps its content from run to run.
    fn states(&mut self) {
        for state in self.dataflow.kept() {
            let Ok(value) = i32::try_from(state) else { return };
            let Some(tensor) = self.plan.tensor(value) else { continue };
            let name = tensor.fully_qualified_name().map_or_else(|| format!("%{value}"), String::from);
            let node = self.node(NodeKind::State, short(&format!("state {name}")), None, [gives(value)]);
            self.write(0, value, node);
        }
    }

    fn instruction(
        &mut self,
        at: InstructionPlace,
        instruction: &'t InstructionArguments<'_>,
        time: usize,
        calls: &Calls<'_, '_>,
    ) {
        let (kind, label) = match instruction {
            InstructionArguments::KernelCall(call) => {
                let index = usize::try_from(call.op_index).ok();
                let operator = index.and_then(|index| self.operators.get(index)).cloned();
                (NodeKind::Kernel, operator.unwrap_or_else(|| format!("operator {}", call.op_index)))
            }
            InstructionArguments::DelegateCall(call) => {
                let index = usize::try_from(call.delegate_index).ok();
                let delegate = self.plan.delegate(call);
                let payload = index.and_then(|index| Some((index, self.opened.get_mut(&index)?.take()?)));
                if let (Some(delegate), Some(payload)) = (delegate, payload) {
                    return self.inside(payload, delegate.id(), (at, time), call.args());
                }
                let label = delegate.map(|delegate| short(delegate.id()));
                (NodeKind::Delegate, label.unwrap_or_else(|| format!("delegate {}", call.delegate_index)))
            }
            InstructionArguments::MoveCall(_) => (NodeKind::Move, "move".into()),
            InstructionArguments::JumpFalseCall(call) => {
                (NodeKind::Jump, format!("if false, jump to {}", call.destination_instruction))
            }
            // A free moves no data.
            InstructionArguments::FreeCall(_) => return,
            _ => (NodeKind::Unknown, "an instruction of a newer schema".into()),
        };
        let accesses = calls.accesses(instruction);
        let mut arguments = Vec::new();
        for access in &accesses.list {
            let mut output = access.role.writes();
            // Arguments that are assumed to be outputs.
            if accesses.unknown == Some(UNKNOWN_DELEGATE) {
                let is_write = |index: &u32| self.dataflow.event(*index).is_some_and(|event| event.kind == Kind::Write);
                output |= self.events_of(time, access.value).iter().any(is_write);
            }
            if access.role != Role::Again {
                arguments.push(Taken { value: access.value, name: access.name, output });
            }
        }
        let node = self.node(kind, label, Some(at), arguments.iter().copied());
        for taken in &arguments {
            self.read(time, taken.value, node);
        }
        self.nodes[time] = Some(node);
    }

    /// Records that a node reads a value at a time.
    pub(super) fn read(&mut self, time: usize, value: i32, node: usize) {
        self.readers.push(Reader { time, value, node });
    }

    /// Returns the indices of a value's events at a time.
    fn events_of(&self, time: usize, value: i32) -> &'f [u32] {
        let (first, events) = self.dataflow.at(time);
        let events = &self.by_argument[first..first + events.len()];
        equal_range(events, |index| self.dataflow.event(*index).map(|event| event.argument).cmp(&Some(value)))
    }

    /// Counts another visited event or source; returns `false` if the budget is used up.
    fn spend(&mut self) -> bool {
        match self.budget.checked_sub(1) {
            Some(left) => self.budget = left,
            None => {
                self.graph.incomplete =
                    Some("its instructions take values from too many places: not all edges are shown");
            }
        }
        self.graph.incomplete.is_none()
    }

    /// Records that a node writes a value at a time.
    pub(super) fn write(&mut self, time: usize, value: i32, node: usize) {
        for index in self.events_of(time, value) {
            if !self.spend() {
                return;
            }
            let writes = self.dataflow.event(*index).is_some_and(|event| event.kind.writes() || event.kind.points());
            if writes {
                // A file has fewer instructions than bytes, and its metadata is smaller than 4 GiB.
                self.writers[*index as usize] = u32::try_from(node).ok();
            }
        }
    }

    /// Adds an edge from each node whose result another node may read.
    fn edges(&mut self) {
        let dataflow = self.dataflow;
        // A node may take a list of many values that one node has written.
        let mut found: Vec<(usize, bool)> = Vec::new();
        for reader in core::mem::take(&mut self.readers) {
            for index in self.events_of(reader.time, reader.value) {
                if !self.spend() {
                    return;
                }
                for source in dataflow.sources_of(*index) {
                    if !self.spend() {
                        return;
                    }
                    let write = dataflow.event_of(source.write);
                    let Some(written) = dataflow.event(write) else { continue };
                    let from = self.writers[write as usize].map(|node| node as usize);
                    let from = from.or_else(|| self.nodes[written.time as usize]);
                    found.extend(from.map(|from| (from, source.view)));
                }
            }
            found.sort();
            found.dedup();
            let edge = |(from, view)| Edge { from, to: reader.node, value: Some(reader.value), view };
            self.graph.edges.extend(found.drain(..).map(edge));
        }
    }

    /// Adds an edge from each jump to its destination.
    fn jumps(&mut self, first: usize) {
        let nodes = self.graph.nodes.iter().enumerate().skip(first);
        // Sorted by instruction. A call of a delegate with several nodes starts at the first.
        let places: Vec<(usize, usize, usize)> =
            nodes.filter_map(|(at, node)| node.instruction.map(|place| (place.chain, place.instruction, at))).collect();
        let at = |place| places.get(places.partition_point(|(chain, index, _)| (*chain, *index) < place));
        let mut edges = Vec::new();
        for ((chain, index), instruction) in self.plan.instructions() {
            let InstructionArguments::JumpFalseCall(jump) = instruction else { continue };
            let Ok(destination) = usize::try_from(jump.destination_instruction) else { continue };
            // A free has no node: the next instruction is used.
            let target = at((chain, destination)).filter(|(chain_of, _, _)| *chain_of == chain);
            let from = at((chain, index)).filter(|(chain_of, index_of, _)| (*chain_of, *index_of) == (chain, index));
            if let (Some((_, _, from)), Some((_, _, to))) = (from, target) {
                edges.push(Edge { from: *from, to: *to, value: None, view: false });
            }
        }
        self.graph.edges.append(&mut edges);
    }
}

/// A value that a node takes or gives.
#[derive(Clone, Copy)]
struct Taken {
    value: i32,
    name: Option<&'static str>,
    output: bool,
}

fn takes(value: i32) -> Taken {
    Taken { value, name: None, output: false }
}

fn gives(value: i32) -> Taken {
    Taken { value, name: None, output: true }
}
