//! Names in the answers of [`inspect`](crate::inspect).

use super::{DelegateNames, MethodNames, Name, Names, modules};
use crate::analysis::Analysis;
use crate::delegate::{Payload, Xnnpack};
use crate::file::pte::Pte;
use crate::inspect::{
    BlobUser, Blobs, BufferMemory, DelegateConstantUser, DelegateConstants, Disassembly, Graph, GraphArgument, Macs,
    Memory, ModuleTotal, Node, PlannedTensor, SizeKind, SizeReport,
};
use crate::inspect::{DebugValue, DebugValues, EventKind, EventTarget, NamedBy, Profile, RunProfile};
use crate::inspect::{Drawing, Report, Weight};
use crate::keyed::{Keyed, sort_by_key};
use crate::names::short;
use crate::schema::program::InstructionArguments;
use alloc::{format, vec::Vec};

impl<'t> Names<'t> {
    /// Adds the names to a disassembly of the same program.
    pub fn add_to_disassembly<'n>(&'n self, disassembly: &mut Disassembly<'n>) {
        for (names, code) in self.methods.iter().zip(&mut disassembly.methods) {
            for (name, value) in names.values.iter().zip(&mut code.values) {
                if let (Some(name), Some(tensor)) = (name, &mut value.tensor) {
                    (tensor.name, value.named_by) = (Some(&*name.name), Some(name.named_by));
                }
            }
            for (names, chain) in names.chains.iter().zip(&mut code.chains) {
                for (name, code) in names.iter().zip(&mut chain.instructions) {
                    (code.label, code.module, code.source) = (Some(&*name.label), name.module, name.source);
                }
            }
        }
    }

    /// Adds the names to the blobs of the same program.
    pub fn add_to_blobs<'n>(&'n self, pte: &Pte<'_>, blobs: &mut Blobs<'n>) {
        self.add_to_users(pte, blobs.blobs.iter_mut().flat_map(|blob| &mut blob.users));
    }

    /// Adds the names to the parts of a size report of the same program.
    pub fn add_to_size_report<'n>(&'n self, pte: &Pte<'_>, report: &mut SizeReport<'n>) {
        self.add_to_users(pte, report.parts.iter_mut().flat_map(|part| &mut part.users));
    }

    fn add_to_users<'n: 'u, 'u>(&'n self, pte: &Pte<'_>, users: impl Iterator<Item = &'u mut BlobUser<'n>>) {
        let methods = self.by_method(pte);
        for user in users {
            let found = self.of_user(&methods, user);
            if let (Some(found), BlobUser::Tensor { name, named_by, .. } | BlobUser::Key { name, named_by, .. }) =
                (found, user)
            {
                (*name, *named_by) = (Some(&*found.name), Some(found.named_by));
            }
        }
    }

    fn of_user<'n>(&'n self, methods: &Keyed<&str, &'n MethodNames<'t>>, user: &BlobUser<'_>) -> Option<&'n Name<'t>> {
        match user {
            BlobUser::Tensor { method, value, .. } => methods.get(*method)?.value(*value),
            BlobUser::Key { key, .. } => self.key(key),
            _ => None,
        }
    }

    /// Adds the names to the constants of delegates of the same program.
    pub fn add_to_delegate_constants<'n>(&'n self, pte: &Pte<'_>, constants: &mut DelegateConstants<'n>) {
        let methods = self.by_method(pte);
        for user in constants.constants.iter_mut().map(|constant| &mut constant.user) {
            if let Some(name) = constant_name(&methods, user) {
                (user.name, user.named_by) = (Some(&*name.name), Some(name.named_by));
            }
        }
    }

    /// Adds the names to the weights of the same program.
    pub fn add_to_weights<'n>(&'n self, pte: &Pte<'_>, weights: &mut [Weight<'n>]) {
        self.add_to_users(pte, weights.iter_mut().flat_map(|weight| &mut weight.users));
        let methods = self.by_method(pte);
        for weight in weights {
            let of_users = weight.users.iter().find_map(|user| self.of_user(&methods, user));
            let of_inside = || {
                weight
                    .inside
                    .iter()
                    .filter(|used| !used.role.ends_with("scales"))
                    .find_map(|used| methods.get(used.method?)?.delegates.get(used.delegate?)?.constant(used.value))
            };
            if let Some(name) = of_users.or_else(of_inside) {
                (weight.name, weight.named_by, weight.module) = (Some(&*name.name), Some(name.named_by), name.module);
            }
        }
    }

    /// Returns a report about the same program, with names in all its answers: see [`Analysis::report`].
    pub fn report<'n, 'p: 'n>(&'n self, analysis: &Analysis<'p>) -> Report<'n> {
        let pte = analysis.pte();
        let mut graphs = analysis.graphs();
        self.add_to_graphs(analysis, &mut graphs);
        let mut report = analysis.report_of(graphs.into_iter().map(Drawing::of).collect());
        if let Some(memory) = &mut report.memory {
            self.add_to_memory(pte, memory);
        }
        if let Some(size) = &mut report.size {
            self.add_to_size_report(pte, size);
            report.modules = self.size_by_module(analysis, size);
            if report.modules.iter().all(|module| module.path.is_none()) {
                report.modules.clear();
            }
        }
        self.add_to_weights(pte, &mut report.weights);
        report
    }

    /// Adds the names to the planned memory of the same program, with the first instruction that writes each tensor and the last that needs it.
    pub fn add_to_memory<'n>(&'n self, pte: &Pte<'_>, memory: &mut Memory<'n>) {
        let methods = self.by_method(pte);
        for method in &mut memory.methods {
            let Some(names) = methods.get(method.name) else { continue };
            // Times are counted from 1 over the instructions of all chains.
            let instructions: Vec<_> = names.chains.iter().flatten().collect();
            let at = |time: usize| instructions.get(time.checked_sub(1)?).copied();
            for tensor in method.buffers.iter_mut().flat_map(|buffer| &mut buffer.tensors) {
                if let Some(name) = names.value(tensor.value) {
                    (tensor.shape.name, tensor.named_by, tensor.module) =
                        (Some(&*name.name), Some(name.named_by), name.module);
                }
                tensor.made_by = at(tensor.first).map(|instruction| &*instruction.label);
                tensor.last_used_by = at(tensor.last).map(|instruction| &*instruction.label);
            }
        }
    }

    /// Adds the names to the graphs of the same program.
    pub fn add_to_graphs<'n>(&'n self, analysis: &Analysis<'_>, graphs: &mut [Graph<'n>]) {
        let pte = analysis.pte();
        let methods = self.by_method(pte);
        let plans: Keyed<&str, usize> =
            pte.methods().iter().enumerate().rev().map(|(index, plan)| (plan.name(), index)).collect();
        // The graph contains the nodes of the first delegate that has a payload.
        let mut inside: Keyed<(usize, usize), Keyed<i32, &'n Name<'t>>> = Keyed::new();
        for opened in analysis.payloads() {
            let (Ok(Payload::Xnnpack(xnnpack)), Some(place)) = (&opened.payload, opened.delegates.first()) else {
                continue;
            };
            let names = self.methods.get(place.0).and_then(|names| names.delegates.get(place.1));
            inside.insert(*place, names.map(|names| by_id(xnnpack, names)).unwrap_or_default());
        }
        for graph in graphs {
            let (Some(names), Some(index)) = (methods.get(graph.method), plans.get(graph.method)) else { continue };
            let plan = pte.methods().get(*index);
            let delegate_of = |node: &Node<'_>| {
                let place = node.instruction?;
                match plan?.chains().get(place.chain)?.instructions().get(place.instruction)?.instr_args {
                    InstructionArguments::DelegateCall(ref call) => usize::try_from(call.delegate_index).ok(),
                    _ => None,
                }
            };
            let positions = graph.payload_indices();
            for (node, position) in graph.nodes.iter_mut().zip(positions) {
                let of_instruction = node.instruction.and_then(|at| names.chains.get(at.chain)?.get(at.instruction));
                let within = position.and_then(|position| Some((position, delegate_of(node)?)));
                let own = within.and_then(|(position, delegate)| names.delegates.get(delegate)?.nodes.get(position));
                let from = own.or(of_instruction);
                let constants = within.and_then(|(_, delegate)| inside.get(&(*index, delegate)));
                for argument in &mut node.arguments {
                    let name = match usize::try_from(argument.value) {
                        Ok(value) => names.value(value),
                        Err(_) => constants.and_then(|constants| constants.get(&argument.value)).copied(),
                    };
                    if let Some(name) = name {
                        (argument.tensor_name, argument.named_by) = (Some(&*name.name), Some(name.named_by));
                    }
                }
                match from {
                    Some(from) => {
                        (node.name, node.module) =
                            (Some(&*from.label), from.module.or(of_instruction.and_then(|of| of.module)));
                        if let (None, Some(source)) = (&node.source, from.source) {
                            node.source = Some(short(&format!("{}:{} {}", source.file, source.line, source.function)));
                        }
                    }
                    None => {
                        node.name = node.arguments.first().and_then(|argument: &GraphArgument<'_>| argument.tensor_name)
                    }
                }
            }
        }
    }

    /// Adds the names to a profile of the same program.
    pub fn add_to_profile<'n>(&'n self, pte: &Pte<'_>, profile: &mut Profile<'n>) {
        let methods = self.by_method(pte);
        for run in &mut profile.runs {
            let Some(names) = run.method.and_then(|method| methods.get(method)) else { continue };
            for event in &mut run.events {
                let place = event.chain.zip(event.instruction);
                let of_instruction = place.and_then(|(chain, instruction)| names.chains.get(chain)?.get(instruction));
                let inside = event.node.as_ref().and_then(|node| match event.runs {
                    Some(EventTarget::Delegate { delegate, .. }) => {
                        names.delegates.get(usize::try_from(delegate).ok()?)?.nodes.get(node.index)
                    }
                    _ => None,
                });
                let from = match event.kind {
                    EventKind::Instruction => of_instruction,
                    EventKind::Delegate => inside,
                    _ => None,
                };
                if let Some(from) = from {
                    (event.label, event.module) = (Some(&*from.label), from.module);
                }
            }
        }
    }

    /// Adds the names to the recorded values of the same program. A value that is not known has the label of its instruction.
    pub fn add_to_debug_values<'n>(&'n self, pte: &Pte<'_>, values: &mut DebugValues<'n>) {
        let methods = self.by_method(pte);
        for run in &mut values.runs {
            let Some(names) = run.method.and_then(|method| methods.get(method)) else { continue };
            let call = |value: &DebugValue<'_>| (value.kind, value.chain, value.instruction, value.repetition);
            let mut outputs: Keyed<_, usize> = Keyed::new();
            for value in run.values.iter().filter(|value| !value.input) {
                *outputs.entry(call(value)) += 1;
            }
            for value in &mut run.values {
                let place = value.chain.zip(value.instruction);
                if let (Some(EventTarget::Delegate { delegate, .. }), false) = (&value.runs, value.input) {
                    let delegate = usize::try_from(*delegate).ok().and_then(|index| names.delegates.get(index));
                    let nodes = delegate.map(|delegate| delegate.nodes.as_slice()).unwrap_or_default();
                    let last = nodes.iter().rev().find_map(|node| node.module);
                    value.last_module = last.filter(|_| outputs.get(&call(value)) == Some(&1));
                }
                let from = place.and_then(|(chain, instruction)| names.chains.get(chain)?.get(instruction));
                let own = value.value.and_then(|value| names.value(value));
                value.module = from.map_or_else(|| own.and_then(|own| own.module), |from| from.module);
                (value.name, value.named_by) = match (own, from) {
                    (Some(own), _) => (Some(&*own.name), Some(own.named_by)),
                    (None, Some(from)) if value.kind == EventKind::Instruction && value.position == 0 => {
                        (Some(&*from.label), Some(NamedBy::Operator))
                    }
                    _ => (None, None),
                };
            }
        }
    }

    /// Adds up the bytes of a file by module: constants and initial states, including those inside delegates. The rest of a payload
    /// is counted for the innermost module that contains the whole delegate. A blob that several modules use is counted for the first.
    pub fn size_by_module<'n>(&'n self, analysis: &Analysis<'_>, report: &SizeReport<'_>) -> Vec<ModuleTotal<'n>> {
        let methods = self.by_method(analysis.pte());
        let mut amounts: Vec<(Option<&'n str>, u64)> = Vec::new();
        let mut inside: Keyed<(&str, usize), u64> = Keyed::new();
        let (constants, mut last) = (analysis.delegate_constants(), None);
        for constant in &constants.constants {
            let user = &constant.user;
            // A constant that several values use is listed several times, and a constant that is named data is a part of its own.
            let (Some(method), Some(delegate), None) = (user.method, user.delegate, &user.key) else { continue };
            let own = Some((method, delegate, user.constant));
            if constant.offset.is_some() && core::mem::replace(&mut last, own) != own {
                amounts.push((constant_name(&methods, user).and_then(|name| name.module), constant.size));
                let sum = inside.entry((method, delegate));
                *sum = sum.saturating_add(constant.size);
            }
        }
        for part in &report.parts {
            let mut bytes = part.size;
            let module = part.users.iter().find_map(|user| match user {
                BlobUser::Delegate { method, index, .. } => methods.get(method)?.delegates.get(*index)?.module,
                user => self.of_user(&methods, user)?.module,
            });
            if let (SizeKind::Delegate, Some(BlobUser::Delegate { method, index, .. })) =
                (part.kind, part.users.first())
            {
                let counted = inside.get_mut(&(*method, *index)).map_or(0, |left| {
                    let counted = bytes.min(*left);
                    *left -= counted;
                    counted
                });
                bytes -= counted;
            }
            amounts.push((module, bytes));
        }
        modules::tree(amounts)
    }

    /// Adds up by module the bytes that tensors in a buffer take at the moment of highest need. Bytes that several tensors share
    /// are counted for the first of them, so that the sum is [`BufferMemory::needed`].
    pub fn memory_by_module<'n>(buffer: &BufferMemory<'n>) -> Vec<ModuleTotal<'n>> {
        let mut tensors: Vec<&PlannedTensor<'n>> =
            buffer.tensors.iter().filter(|tensor| tensor.is_needed_at(buffer.needed_at)).collect();
        sort_by_key(&mut tensors, |tensor| (tensor.offset, tensor.first));
        let mut end = 0;
        modules::tree(tensors.into_iter().map(|tensor| {
            let bytes = tensor.end().saturating_sub(tensor.offset.max(end));
            end = end.max(tensor.end());
            (tensor.module, bytes)
        }))
    }

    /// Adds up by module the ticks that instructions took. A delegate's steps are counted for their modules if these are known, and
    /// the rest of its time for the module that contains the whole delegate. The names must have been added to the profile.
    pub fn time_by_module<'n>(run: &RunProfile<'n>) -> Vec<ModuleTotal<'n>> {
        let is_step =
            |event: &crate::inspect::EventProfile<'_>| event.kind == EventKind::Delegate && event.module.is_some();
        let mut steps: Keyed<_, u64> = Keyed::new();
        for event in run.events.iter().filter(|event| is_step(event)) {
            let sum = steps.entry((event.chain, event.instruction));
            *sum = sum.saturating_add(event.total);
        }
        let mut amounts = Vec::new();
        for event in &run.events {
            if event.kind == EventKind::Instruction {
                let inside = steps.get(&(event.chain, event.instruction)).copied().unwrap_or_default();
                amounts.push((event.module, event.total.saturating_sub(inside)));
            } else if is_step(event) {
                amounts.push((event.module, event.total));
            }
        }
        modules::tree(amounts)
    }

    /// Counts the instructions of each module, and the nodes inside its delegates if these are known.
    pub fn calls_by_module(&self) -> Vec<ModuleTotal<'_>> {
        let instructions = self.methods.iter().flat_map(|method| &method.chains).flatten();
        let nodes = self.methods.iter().flat_map(|method| &method.delegates).flat_map(|delegate| &delegate.nodes);
        modules::tree(instructions.chain(nodes).map(|code| (code.module, 1)))
    }

    /// Adds up the multiply-accumulates of each module, including those of nodes inside delegates. Unknown numbers count as 0.
    pub fn macs_by_module(&self, macs: &Macs<'_>) -> Vec<ModuleTotal<'_>> {
        let mut amounts = Vec::new();
        for method in &macs.methods {
            let Some(names) = self.methods.get(method.index) else { continue };
            for call in &method.calls {
                let of_call = names.chains.get(call.chain).and_then(|chain| chain.get(call.instruction));
                let node = call
                    .node
                    .zip(call.delegate)
                    .and_then(|(node, delegate)| names.delegates.get(delegate)?.nodes.get(node)?.module);
                amounts.push((node.or(of_call.and_then(|call| call.module)), call.macs.unwrap_or_default()));
            }
        }
        modules::tree(amounts)
    }

    fn by_method<'n, 'p>(&'n self, pte: &'p Pte<'_>) -> Keyed<&'p str, &'n MethodNames<'t>> {
        pte.methods().iter().map(|plan| plan.name()).zip(&self.methods).rev().collect()
    }
}

impl<'t> MethodNames<'t> {
    fn value(&self, value: usize) -> Option<&Name<'t>> {
        self.values.get(value)?.as_ref()
    }
}

fn constant_name<'n, 't>(
    methods: &Keyed<&str, &'n MethodNames<'t>>,
    user: &DelegateConstantUser<'_>,
) -> Option<&'n Name<'t>> {
    methods.get(user.method?)?.delegates.get(user.delegate?)?.constant(user.value?)
}

/// Returns the names of constants by their numbers in graphs: see [`GraphArgument::value`].
fn by_id<'n, 't>(xnnpack: &Xnnpack<'_>, constants: &'n DelegateNames<'t>) -> Keyed<i32, &'n Name<'t>> {
    let ids = xnnpack.graph.values_by_id();
    let mut names = Keyed::new();
    for (id, value) in ids.sorted() {
        if let Some(name) = constants.constant(*value) {
            names.insert(-1 - i32::try_from(*id).unwrap_or(i32::MAX - 1), name);
        }
    }
    names
}
