//! The uses of a file's data, by method, type of elements and operator.

use super::weights::PayloadWeights;
use super::{MethodSize, OperatorSize, SizePart, TypeSize};
use crate::file::pte::Pte;
use crate::inspect::BlobUser;
use crate::numbers::Numbers;
use crate::schema::ScalarType;
use crate::schema::program::{EValue, ExecutionPlan, InstructionArguments, KernelTypes};
use crate::sorted::{equal_range, set};
use alloc::collections::BTreeMap;
use alloc::{format, string::String, vec, vec::Vec};

/// Returns the parts with named data, sorted by key.
fn named_parts<'p>(parts: &'p [SizePart<'_>]) -> Vec<(&'p str, usize)> {
    let mut named = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        for user in &part.users {
            if let BlobUser::Key { key, .. } = user {
                named.push((*key, index));
            }
        }
    }
    named.sort();
    named
}

/// Returns the part with the named data of a key.
fn part_of(named: &[(&str, usize)], key: &str) -> Option<usize> {
    named
        .get(named.partition_point(|(other, _)| *other < key))
        .filter(|(other, _)| *other == key)
        .map(|(_, part)| *part)
}

/// Returns the bytes that each method takes: `programs` has the sizes of their tables.
#[expect(clippy::indexing_slicing, reason = "`used` has the indices of parts")]
pub(super) fn methods<'t>(
    pte: &'t Pte<'_>,
    parts: &[SizePart<'_>],
    weights: &[PayloadWeights<'_>],
    programs: &[u64],
) -> Vec<MethodSize<'t>> {
    let named = named_parts(parts);
    let mut names = Numbers::default();
    // The parts and the methods that use them, by the numbers of their names.
    let mut used: Vec<(usize, usize)> = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let methods = part.users.iter().filter_map(BlobUser::method);
        used.extend(methods.map(|method| (index, names.of_text(method))));
    }
    for payload in weights {
        let methods: Vec<usize> = payload.methods.iter().map(|method| names.of_text(method)).collect();
        for part in payload.weights.iter().filter_map(|weight| part_of(&named, weight.key.as_deref()?)) {
            used.extend(methods.iter().map(|method| (part, *method)));
        }
    }
    used.sort();
    used.dedup();
    let mut data: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for users in used.chunk_by(|left, right| left.0 == right.0) {
        for (index, method) in users {
            let bytes = parts[*index].size;
            let (all, shared) = data.entry(*method).or_default();
            *all += bytes;
            *shared += if users.len() > 1 { bytes } else { 0 };
        }
    }
    let size = |(plan, program): (&'t ExecutionPlan<'_>, &u64)| {
        let (data, shared) = data.get(&names.of_text(plan.name())).copied().unwrap_or_default();
        MethodSize { name: plan.name(), program: *program, data, shared }
    };
    pte.methods().iter().zip(programs).map(size).collect()
}

/// Returns the short name of a type, or else its full name.
pub(super) fn type_name(scalar_type: ScalarType) -> String {
    scalar_type.short_name().map_or_else(|| format!("{scalar_type}"), String::from)
}

/// Returns the bytes that the weights of each type of elements take.
#[expect(clippy::indexing_slicing, reason = "`named` has the indices of parts")]
pub(super) fn scalar_types(parts: &[SizePart<'_>], weights: &[PayloadWeights<'_>]) -> Vec<TypeSize> {
    let named = named_parts(parts);
    let mut types: Vec<TypeSize> = Vec::new();
    let mut add = |scalar_type: Option<ScalarType>, name: String, bytes: u64| match types
        .iter_mut()
        .find(|size| size.name == name)
    {
        Some(size) => (size.size, size.blobs) = (size.size.saturating_add(bytes), size.blobs + 1),
        None => types.push(TypeSize { name, scalar_type, size: bytes, blobs: 1 }),
    };
    let mut left: Vec<Option<&SizePart<'_>>> = parts.iter().map(Some).collect();
    for (part, left) in parts.iter().zip(&mut left) {
        if let Some(shape) = part.users.first().and_then(BlobUser::shape) {
            *left = None;
            add(Some(shape.scalar_type), type_name(shape.scalar_type), part.size);
        }
    }
    for weight in weights.iter().flat_map(|payload| &payload.weights) {
        let Some((scalar_type, name)) = weight.of_type.clone() else { continue };
        let bytes = match weight.key.as_deref() {
            None => weight.bytes,
            // Several payloads may refer to the same data.
            Some(key) => match part_of(&named, key).and_then(|part| left[part].take()) {
                Some(part) => part.size,
                None => continue,
            },
        };
        add(scalar_type, name, bytes);
    }
    types.sort_by_key(|part| core::cmp::Reverse(part.size));
    types
}

/// An operator's name and overload, or a backend's id and an empty text.
type Name<'t> = (&'t str, &'t str);

/// The operators and backends of a program, each with a number, because a name may be long and used often.
#[derive(Default)]
struct Names<'t> {
    numbers: BTreeMap<Name<'t>, usize>,
}

impl<'t> Names<'t> {
    fn number(&mut self, name: Name<'t>) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(name).or_insert(next)
    }
}

/// Returns the bytes that the arguments of each operator, and the payloads of each backend, take.
#[expect(clippy::indexing_slicing, reason = "`sizes` has an item for each number of a name")]
pub(super) fn operators(
    methods: &[ExecutionPlan<'_>],
    parts: &[SizePart<'_>],
    weights: &[PayloadWeights<'_>],
) -> Vec<OperatorSize> {
    let named = named_parts(parts);
    let (mut names, mut method_names) = (Names::default(), Numbers::default());
    let mut uses: BTreeMap<usize, OperatorUses> = BTreeMap::new();
    for plan in methods {
        uses.insert(method_names.of_text(plan.name()), OperatorUses::of(plan, &mut names));
    }
    // The parts of named data and the nodes that use them.
    let mut nodes: Vec<(usize, usize)> = Vec::new();
    // The weights inside payloads that nodes use, and the amounts by which they reduce the size of each backend.
    let (mut inside, mut less) = (Vec::new(), Vec::new());
    for payload in weights {
        // Keyed by the index of the backend, because its name may be long and have many weights.
        let mut inner: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        for weight in &payload.weights {
            let part = weight.key.as_deref().map(|key| part_of(&named, key));
            for (index, id) in payload.ids.iter().enumerate() {
                for node in &weight.nodes {
                    let number = *inner.entry((index, *node)).or_insert_with(|| names.number((*id, *node)));
                    match part {
                        Some(Some(part)) => nodes.push((part, number)),
                        // The weight is in a `.ptd`.
                        Some(None) => {}
                        None => inside.push((number, weight.bytes)),
                    }
                }
            }
            if part.is_none() && !weight.nodes.is_empty() {
                let backends = payload.ids.iter().enumerate();
                less.extend(backends.map(|(index, id)| {
                    (*inner.entry((index, "")).or_insert_with(|| names.number((id, ""))), weight.bytes)
                }));
            }
        }
    }
    nodes.sort();
    nodes.dedup();
    let mut sizes: Vec<(u64, usize)> = vec![(0, 0); names.numbers.len()];
    for (index, part) in parts.iter().enumerate() {
        let mut used: Vec<usize> = Vec::new();
        for user in &part.users {
            match *user {
                BlobUser::Tensor { method, value, .. } => {
                    if let Some(uses) = uses.get(&method_names.of_text(method)) {
                        uses.of_value(value, &mut used);
                    }
                }
                BlobUser::Delegate { method, index, .. } => {
                    let uses = uses.get(&method_names.of_text(method));
                    used.extend(uses.and_then(|uses| uses.delegates.get(index)));
                }
                _ => {}
            }
        }
        used.extend(of_first(&nodes, index).iter().map(|(_, number)| *number));
        used.sort();
        used.dedup();
        for number in used {
            let (bytes, blobs) = &mut sizes[number];
            *bytes += part.size;
            *blobs += 1;
        }
    }
    for (number, bytes) in less {
        let (size, _) = &mut sizes[number];
        *size = size.saturating_sub(bytes);
    }
    for (number, bytes) in inside {
        let (size, blobs) = &mut sizes[number];
        (*size, *blobs) = (size.saturating_add(bytes), *blobs + 1);
    }
    let mut operators: Vec<OperatorSize> = Vec::new();
    for (name, number) in names.numbers.iter() {
        let (size, blobs) = sizes[*number];
        if blobs > 0 {
            operators.push(OperatorSize { name: full_name(*name), size, blobs });
        }
    }
    operators.sort_by_key(|part| core::cmp::Reverse(part.size));
    operators
}

/// Operators whose result is their first argument with another shape, type or order. A weight that they take counts as a weight of
/// the operator that takes their result.
const THROUGH: &[&str] = &[
    "aten::_reshape_alias_copy",
    "aten::_to_copy",
    "aten::alias_copy",
    "aten::clone",
    "aten::detach_copy",
    "aten::expand_copy",
    "aten::lift_fresh_copy",
    "aten::permute_copy",
    "aten::select_copy",
    "aten::slice_copy",
    "aten::squeeze_copy",
    "aten::t_copy",
    "aten::transpose_copy",
    "aten::unsqueeze_copy",
    "aten::view_copy",
    "dim_order_ops::_clone_dim_order",
    "dim_order_ops::_to_dim_order_copy",
    "executorch_prim::et_view",
    "quantized_decomposed::dequantize_per_channel",
    "quantized_decomposed::dequantize_per_tensor",
];

/// The uses of a method's values as arguments of operators, by the operators' numbers.
struct OperatorUses {
    direct: Vec<(usize, usize)>,
    /// Values, and the results that the operators of [`THROUGH`] make from them.
    through: Vec<(usize, usize)>,
    /// The numbers of those operators.
    passing: Vec<usize>,
    /// The lists that contain each value.
    lists: Vec<(usize, usize)>,
    /// The backend of each delegate.
    delegates: Vec<usize>,
}

impl OperatorUses {
    fn of<'t>(plan: &'t ExecutionPlan<'_>, names: &mut Names<'t>) -> Self {
        // The numbers of the operators; `true` if in `THROUGH`.
        let operators = plan
            .operators()
            .iter()
            .map(|operator| (names.number((operator.name(), operator.overload())), THROUGH.contains(&operator.name())));
        let operators: Vec<(usize, bool)> = operators.collect();
        let delegates = plan.delegates().iter().map(|delegate| names.number((delegate.id(), "")));
        let mut uses = Self {
            direct: Vec::new(),
            through: Vec::new(),
            passing: Vec::new(),
            lists: Vec::new(),
            delegates: delegates.collect(),
        };
        let has_tensors =
            |value: &EValue<'_>| matches!(value.val, KernelTypes::Tensor(_)) || value.val.tensors().is_some();
        for (_, instruction) in plan.instructions() {
            let InstructionArguments::KernelCall(call) = instruction else {
                continue;
            };
            let operator = usize::try_from(call.op_index).ok().and_then(|index| operators.get(index));
            if let Some((operator, passes)) = operator {
                let values = call.args().iter().filter(|arg| plan.value(**arg).is_some_and(&has_tensors));
                uses.direct.extend(values.filter_map(|arg| Some((usize::try_from(*arg).ok()?, *operator))));
                if *passes {
                    uses.passing.push(*operator);
                    let ends = call.args().first().zip(call.args().last());
                    let ends =
                        ends.and_then(|(from, to)| Some((usize::try_from(*from).ok()?, usize::try_from(*to).ok()?)));
                    uses.through.extend(ends.filter(|(from, to)| from != to));
                }
            }
        }
        for (list, value) in plan.values().iter().enumerate() {
            let items = value.val.tensors().unwrap_or_default().iter();
            uses.lists.extend(items.filter_map(|item| Some((usize::try_from(*item).ok()?, list))));
        }
        for pairs in [&mut uses.direct, &mut uses.through, &mut uses.lists] {
            *pairs = set(core::mem::take(pairs));
        }
        uses.passing = set(uses.passing);
        uses
    }

    /// Adds the operators that take a value, directly or in another shape; if there are no such operators, those that change its shape.
    fn of_value(&self, value: usize, used: &mut Vec<usize>) {
        /// Chains of such operators are short in real files. A hostile file may have long chains for many weights.
        const MAX_SHOWN: usize = 32;
        let (mut shapes, mut at, start) = (vec![value], 0, used.len());
        while let Some(value) = shapes.get(at).copied() {
            self.named(value, false, used);
            for (_, to) in of_first(&self.through, value) {
                if shapes.len() < MAX_SHOWN && !shapes.contains(to) {
                    shapes.push(*to);
                }
            }
            at += 1;
        }
        if used.len() == start {
            self.named(value, true, used);
        }
    }

    /// Adds the operators that take a value, or a list with it: the operators of [`THROUGH`] if `passing`, otherwise the others.
    fn named(&self, value: usize, passing: bool, used: &mut Vec<usize>) {
        /// A list is an argument of one or two operators in real files. A hostile file may refer to long lists in thousands of calls.
        const MAX_SHOWN: usize = 16;
        let mut add = |operator: usize| {
            if self.passing.binary_search(&operator).is_ok() == passing {
                used.push(operator);
            }
        };
        of_first(&self.direct, value).iter().for_each(|(_, operator)| add(*operator));
        for (_, list) in of_first(&self.lists, value).iter().take(MAX_SHOWN) {
            of_first(&self.direct, *list).iter().take(MAX_SHOWN).for_each(|(_, operator)| add(*operator));
        }
    }
}

/// Returns the pairs with that first item from a sorted list.
fn of_first(pairs: &[(usize, usize)], first: usize) -> &[(usize, usize)] {
    equal_range(pairs, |pair| pair.0.cmp(&first))
}

fn full_name((name, overload): Name<'_>) -> String {
    if overload.is_empty() { name.into() } else { format!("{name}.{overload}") }
}
