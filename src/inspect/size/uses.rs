//! What uses the data of a file: methods, types of elements, operators.

use super::{MethodSize, OperatorSize, SizePart, TypeSize};
use crate::file::pte::Pte;
use crate::inspect::BlobUser;
use crate::schema::ScalarType;
use crate::schema::program::{ExecutionPlan, InstructionArguments};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{format, string::String, vec, vec::Vec};
use core::cmp::Reverse;

/// What each method takes: `programs` has the bytes of their tables.
pub(super) fn methods<'t>(pte: &'t Pte<'_>, parts: &[SizePart<'_>], programs: &[u64]) -> Vec<MethodSize<'t>> {
    let mut data: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for part in parts {
        let methods: BTreeSet<&str> = part.users.iter().filter_map(BlobUser::method).collect();
        for method in &methods {
            let (all, shared) = data.entry(method).or_default();
            *all += part.bytes;
            *shared += if methods.len() > 1 { part.bytes } else { 0 };
        }
    }
    let size = |(plan, program): (&'t ExecutionPlan<'_>, &u64)| {
        let (data, shared) = data.get(plan.name()).copied().unwrap_or_default();
        MethodSize { name: plan.name(), program: *program, data, shared }
    };
    pte.methods().iter().zip(programs).map(size).collect()
}

/// What the weights of each type of elements take.
pub(super) fn scalar_types(parts: &[SizePart<'_>]) -> Vec<TypeSize> {
    let mut types: BTreeMap<ScalarType, (u64, usize)> = BTreeMap::new();
    for part in parts {
        if let Some(shape) = part.users.first().and_then(BlobUser::shape) {
            let (bytes, blobs) = types.entry(shape.scalar_type).or_default();
            *bytes += part.bytes;
            *blobs += 1;
        }
    }
    let size = |(scalar_type, (bytes, blobs))| TypeSize { scalar_type, bytes, blobs };
    let mut types: Vec<TypeSize> = types.into_iter().map(size).collect();
    types.sort_by_key(|size| Reverse(size.bytes));
    types
}

/// An operator's name and overload, or a backend's id.
type Name<'t> = (&'t str, &'t str);

/// The operators and backends of a program, each with a number: a name may be long, and used often.
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

/// What the arguments of each operator, and the payloads of each backend, take.
pub(super) fn operators(pte: &Pte<'_>, parts: &[SizePart<'_>]) -> Vec<OperatorSize> {
    let mut names = Names::default();
    let uses: BTreeMap<&str, Uses> =
        pte.methods().iter().map(|plan| (plan.name(), Uses::of(plan, &mut names))).collect();
    let mut sizes: Vec<(u64, usize)> = vec![(0, 0); names.numbers.len()];
    for part in parts {
        let mut used: BTreeSet<usize> = BTreeSet::new();
        for user in &part.users {
            match *user {
                BlobUser::Tensor { method, value, .. } => {
                    used.extend(uses.get(method).into_iter().flat_map(|uses| uses.of_value(value)));
                }
                BlobUser::Delegate { method, index, .. } => {
                    used.extend(uses.get(method).and_then(|uses| uses.delegates.get(index)));
                }
                _ => {}
            }
        }
        for number in used {
            if let Some((bytes, blobs)) = sizes.get_mut(number) {
                *bytes += part.bytes;
                *blobs += 1;
            }
        }
    }
    let size = |(name, number): (Name<'_>, usize)| {
        let (bytes, blobs) = sizes.get(number).copied().filter(|(_, blobs)| *blobs > 0)?;
        Some(OperatorSize { name: full_name(name), bytes, blobs })
    };
    let mut operators: Vec<OperatorSize> = names.numbers.into_iter().filter_map(size).collect();
    operators.sort_by_key(|operator| Reverse(operator.bytes));
    operators
}

/// Which operators name which values of a method as their arguments, by the operators' numbers.
struct Uses {
    direct: BTreeSet<(usize, usize)>,
    /// The lists that hold a value.
    lists: BTreeSet<(usize, usize)>,
    /// The backend of each delegate.
    delegates: Vec<usize>,
}

impl Uses {
    fn of<'t>(plan: &'t ExecutionPlan<'_>, names: &mut Names<'t>) -> Self {
        let operators = plan.operators().iter().map(|operator| names.number((operator.name(), operator.overload())));
        let operators: Vec<usize> = operators.collect();
        let delegates = plan.delegates().iter().map(|delegate| names.number((delegate.id(), "")));
        let mut uses = Self { direct: BTreeSet::new(), lists: BTreeSet::new(), delegates: delegates.collect() };
        for (_, instruction) in plan.instructions() {
            let InstructionArguments::KernelCall(call) = instruction else {
                continue;
            };
            if let Some(operator) = usize::try_from(call.op_index).ok().and_then(|index| operators.get(index)) {
                let values = call.args().iter().filter_map(|arg| usize::try_from(*arg).ok());
                uses.direct.extend(values.map(|value| (value, *operator)));
            }
        }
        for (list, value) in plan.values().iter().enumerate() {
            let items = value.val.tensors().unwrap_or_default().iter();
            uses.lists.extend(items.filter_map(|item| Some((usize::try_from(*item).ok()?, list))));
        }
        uses
    }

    fn directly(&self, value: usize) -> impl Iterator<Item = usize> {
        self.direct.range((value, 0)..(value.saturating_add(1), 0)).map(|(_, operator)| *operator)
    }

    /// The operators that name a value, or a list that holds it.
    fn of_value(&self, value: usize) -> impl Iterator<Item = usize> {
        /// A list is an argument of one operator or two; a file may hold long ones, and name them in thousands of calls.
        const MOST: usize = 16;
        let lists = self.lists.range((value, 0)..(value.saturating_add(1), 0));
        self.directly(value).chain(lists.take(MOST).flat_map(|(_, list)| self.directly(*list).take(MOST)))
    }
}

fn full_name((name, overload): Name<'_>) -> String {
    if overload.is_empty() { name.into() } else { format!("{name}.{overload}") }
}
