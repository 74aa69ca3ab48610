//! Amounts added up by module.

pub(super) mod gaps;

use super::{BlobUser, BufferMemory, EventKind, EventProfile, Macs, PlannedTensor, RunProfile, SizeKind, SizeReport};
use crate::analysis::Analysis;
use crate::analysis::modules::{MAX_DEPTH, modules, outer};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// An amount that belongs to a module: bytes of a file, bytes of memory at a time, ticks, or calls.
///
/// Lists of these are trees: the model itself, with an empty path, comes first, and each module is followed by the modules inside it, the
/// largest first. Modules that are nested more than 15 deep count toward the module that contains them. The amount that is known to belong
/// to no module, if any, comes last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ModuleTotal<'t> {
    /// The path, such as `layers.0.conv`; empty for the model itself; `None` for the sum of everything whose module is not known.
    pub path: Option<&'t str>,
    /// The number of enclosing modules.
    pub depth: usize,
    /// The amount of the module itself, without the modules inside it.
    pub own: u64,
    /// The amount including the modules inside it.
    pub total: u64,
    /// The number of items in the sum: blobs, tensors, events or calls.
    pub count: usize,
    /// The number of these items whose amount is not known: they are not in the sum.
    #[serde(skip_serializing_if = "super::trace::profile::is_zero")]
    pub unknown: usize,
}

impl<'t> Analysis<'t> {
    /// Adds up the bytes of the file by module: constants and initial states, including those inside delegates. The rest of a payload
    /// is counted for the innermost module that contains the whole delegate. A blob that several modules use is counted for the first.
    pub fn size_by_module(&self, report: &SizeReport<'_>) -> Vec<ModuleTotal<'t>> {
        let (names, methods) = (self.names(), self.names().by_method(self.pte()));
        let mut amounts: Vec<(Option<&'t str>, u64)> = Vec::new();
        let mut inside: BTreeMap<(&str, usize), u64> = BTreeMap::new();
        let (constants, mut last) = (self.delegate_constants(), None);
        for constant in &constants.constants {
            let user = &constant.user;
            // A constant that several values use is listed several times, and a constant that is named data is a part of its own.
            let (Some(method), Some(delegate), None) = (user.method, user.delegate, &user.key) else { continue };
            let own = Some((method, delegate, user.constant));
            let Some(size) = constant.size.filter(|_| constant.offset.is_some()) else { continue };
            if core::mem::replace(&mut last, own) != own {
                let names = methods.get(method).and_then(|names| names.delegates.get(delegate));
                let name = user.value.and_then(|value| names?.constant(value));
                amounts.push((name.and_then(|name| name.module), size));
                let sum = inside.entry((method, delegate)).or_default();
                *sum = sum.saturating_add(size);
            }
        }
        for part in &report.parts {
            let mut bytes = part.size;
            let module = part.users.iter().find_map(|user| match user {
                BlobUser::Delegate { method, index, .. } => methods.get(*method)?.delegates.get(*index)?.module,
                BlobUser::Tensor { method, value, .. } => methods.get(*method)?.value(*value)?.module,
                BlobUser::Key { key, .. } => names.key(key)?.module,
                _ => None,
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
        tree(amounts)
    }

    /// Counts the instructions of each module, and the nodes inside its delegates if these are known.
    pub fn calls_by_module(&self) -> Vec<ModuleTotal<'t>> {
        let methods = &self.names().methods;
        let instructions = methods.iter().flat_map(|method| &method.chains).flatten();
        let nodes = methods.iter().flat_map(|method| &method.delegates).flat_map(|delegate| &delegate.nodes);
        let modules = instructions.map(|name| name.as_ref()?.module).chain(nodes.map(|node| node.module));
        tree(modules.map(|module| (module, 1)))
    }

    /// Adds up the multiply-accumulates of each module, including those of nodes inside delegates. [`ModuleTotal::unknown`] counts the calls whose
    /// number is not known.
    pub fn macs_by_module(&self, macs: &Macs<'_>) -> Vec<ModuleTotal<'t>> {
        let mut amounts = Vec::new();
        for method in &macs.methods {
            let Some(names) = self.names().methods.get(method.index) else { continue };
            for call in &method.calls {
                let of_call = names.instruction(call.chain, call.instruction);
                let node = call
                    .node
                    .zip(call.delegate)
                    .and_then(|(node, delegate)| names.delegates.get(delegate)?.nodes.get(node)?.module);
                amounts.push((node.or(of_call.and_then(|call| call.module)), call.macs));
            }
        }
        tree(amounts)
    }
}

impl<'t> BufferMemory<'t> {
    /// Adds up by module the bytes that tensors in the buffer take at the moment of highest need. Bytes that several tensors share
    /// are counted for the first of them, so that the sum is [`needed`](Self::needed).
    pub fn by_module(&self) -> Vec<ModuleTotal<'t>> {
        let mut tensors: Vec<&PlannedTensor<'t>> =
            self.tensors.iter().filter(|tensor| tensor.is_needed_at(self.needed_at)).collect();
        tensors.sort_by_key(|tensor| (tensor.offset, tensor.first));
        let mut end = 0;
        tree(tensors.into_iter().map(|tensor| {
            let bytes = tensor.end().saturating_sub(tensor.offset.max(end));
            end = end.max(tensor.end());
            (tensor.module, bytes)
        }))
    }
}

impl<'t> RunProfile<'t> {
    /// Adds up by module the ticks that instructions took. A delegate's steps are counted for their modules if these are known, and
    /// the rest of its time for the module that contains the whole delegate.
    pub fn by_module(&self) -> Vec<ModuleTotal<'t>> {
        let is_step = |event: &EventProfile<'_>| event.kind == EventKind::Delegate && event.module.is_some();
        let mut steps: BTreeMap<_, u64> = BTreeMap::new();
        for event in self.events.iter().filter(|event| is_step(event)) {
            let sum = steps.entry((event.chain, event.instruction)).or_default();
            *sum = sum.saturating_add(event.total);
        }
        let mut amounts = Vec::new();
        for event in &self.events {
            if event.kind == EventKind::Instruction {
                let inside = steps.get(&(event.chain, event.instruction)).copied().unwrap_or_default();
                amounts.push((event.module, event.total.saturating_sub(inside)));
            } else if is_step(event) {
                amounts.push((event.module, event.total));
            }
        }
        tree(amounts)
    }
}

/// Limits the bytes of a path: a record can contain any path, for any number of instructions.
const MAX_BYTES: usize = 512;

/// Adds up amounts by module. For the order, see [`ModuleTotal`].
fn tree<'t>(amounts: impl IntoIterator<Item = (Option<&'t str>, impl Into<Option<u64>>)>) -> Vec<ModuleTotal<'t>> {
    let mut totals: BTreeMap<&'t str, ModuleTotal<'t>> = BTreeMap::new();
    let mut unknown = ModuleTotal::default();
    for (path, amount) in amounts {
        let amount = amount.into();
        let Some(path) = path.map(bounded) else {
            add(&mut unknown, amount, true);
            continue;
        };
        for (depth, module) in [""].into_iter().chain(modules(path)).enumerate() {
            let total = totals.entry(module).or_insert_with(|| ModuleTotal {
                path: Some(module),
                depth,
                ..ModuleTotal::default()
            });
            add(total, amount, module == path);
        }
    }
    let mut inside: BTreeMap<&'t str, Vec<ModuleTotal<'t>>> = BTreeMap::new();
    let mut next = Vec::new();
    for (path, total) in totals {
        match path {
            "" => next.push(total),
            path => inside.entry(outer(path)).or_default().push(total),
        }
    }
    let mut tree = Vec::new();
    while let Some(module) = next.pop() {
        let mut modules = module.path.and_then(|path| inside.get_mut(path)).map(core::mem::take).unwrap_or_default();
        // Modules are popped from the end.
        modules.sort_by_key(|module| (module.total, Reverse(module.path)));
        next.append(&mut modules);
        tree.push(module);
    }
    tree.extend((unknown.count > 0).then_some(unknown));
    tree
}

fn add(module: &mut ModuleTotal<'_>, amount: Option<u64>, is_own: bool) {
    module.unknown += usize::from(amount.is_none());
    let amount = amount.unwrap_or_default();
    module.total = module.total.saturating_add(amount);
    module.own = module.own.saturating_add(if is_own { amount } else { 0 });
    module.count += 1;
}

/// Returns as many of a path's outermost modules as the limits allow.
fn bounded(path: &str) -> &str {
    let last = modules(path).take(MAX_DEPTH - 1).take_while(|module| module.len() <= MAX_BYTES).last();
    last.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(amounts: &[(Option<&'static str>, u64)]) -> Vec<(Option<&'static str>, usize, u64, u64, usize)> {
        let row = |module: ModuleTotal<'static>| (module.path, module.depth, module.own, module.total, module.count);
        tree(amounts.iter().copied()).into_iter().map(row).collect()
    }

    #[test]
    fn each_module_precedes_those_inside_it_and_has_their_sum() {
        let amounts = [
            (Some("layers.0.conv"), 5),
            (Some("head"), 20),
            (Some("layers.1.conv"), 7),
            (None, 100),
            (Some(""), 1),
            (Some("layers.0.conv"), 5),
        ];
        let expected = [
            (Some(""), 0, 1, 38, 5),
            (Some("head"), 1, 20, 20, 1),
            (Some("layers"), 1, 0, 17, 3),
            (Some("layers.0"), 2, 0, 10, 2),
            (Some("layers.0.conv"), 3, 10, 10, 2),
            (Some("layers.1"), 2, 0, 7, 1),
            (Some("layers.1.conv"), 3, 7, 7, 1),
            (None, 0, 100, 100, 1),
        ];
        assert_eq!(rows(&amounts), expected);
        assert_eq!(rows(&[]), []);
    }

    #[test]
    fn long_paths_are_bounded() {
        let deep: &'static str = alloc::vec!["a"; 1000].join(".").leak();
        assert_eq!(rows(&[(Some(deep), 1)]).len(), MAX_DEPTH);
        let long: &'static str = "a".repeat(1000).leak();
        assert_eq!(rows(&[(Some(long), 1)]), [(Some(""), 0, 1, 1, 1)]);
        let odd = rows(&[(Some("."), 1), (Some("a..b"), 2), (Some(".a."), 4)]);
        assert_eq!(odd.first(), Some(&(Some(""), 0, 0, 7, 3)));
        assert_eq!(odd.iter().map(|row| row.2).sum::<u64>(), 7);
    }
}
