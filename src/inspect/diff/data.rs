//! Compares weights by their bytes, in whichever file or segment these are.

use super::keys::LonelyKey;
use super::{Diff, DiffOptions, Difference, DifferenceKind, DifferenceSubject, Side};
use crate::error::{Result, counted};
use crate::file::pte::{Pte, TensorData};
use crate::inspect::numbers;
use crate::keyed::{Keyed, sort_by_key};
use crate::parallel::Jobs;
use crate::schema::ScalarType;
use crate::schema::program::{ExecutionPlan, Tensor};
use crate::tensor::TensorShape;
use alloc::borrow::ToOwned;
use alloc::{format, string::String, string::ToString, vec::Vec};
use core::hash::{Hash, Hasher};

/// The differences so far, and what has no counterpart yet.
pub(super) struct Comparer<'s> {
    pub(super) diff: Diff,
    /// Differences after those in `diff`, some with values whose distance is asked for.
    pub(super) differences: Vec<(Difference, Option<Values<'s>>)>,
    pub(super) options: DiffOptions,
    /// The data of external tensors of each side, with its keys, in the order of these.
    pub(super) external: [Vec<(&'s str, &'s [u8])>; 2],
    /// Weights of each side without a counterpart.
    lonely: [Vec<Weight<'s>>; 2],
    /// Keys of each side without a counterpart.
    pub(super) lonely_keys: [Vec<LonelyKey<'s>>; 2],
    /// How many external tensors have no data on either side.
    pub(super) unseen: usize,
    /// Bytes that were compared, by their addresses and lengths.
    compared: Keyed<[(usize, usize); 2], bool>,
    /// The bytes of weights that have a counterpart, by address and length.
    partnered: [Keyed<(usize, usize), ()>; 2],
    /// How many bytes may still be compared: many tensors may share the same ones.
    budget: u64,
}

/// The data of a tensor.
#[derive(Clone, Copy)]
struct Weight<'s> {
    method: &'s str,
    value: usize,
    name: Option<&'s str>,
    shape: TensorShape<'s>,
    bytes: &'s [u8],
    /// Where its data is: among the constants, the initial states or the external data.
    place: &'static str,
    /// A hash of the bytes, if it was needed.
    hash: Option<u64>,
}

/// Values in both files, of the same type and number.
pub(super) type Values<'s> = (ScalarType, [&'s [u8]; 2]);

impl Weight<'_> {
    fn text(&self) -> String {
        let name = self.name.map_or_else(|| format!("%{}", self.value), ToOwned::to_owned);
        format!("{name} {}", self.shape)
    }
}

/// The place of data in a `.ptd` file.
const EXTERNAL: &str = "external";

fn address(bytes: &[u8]) -> (usize, usize) {
    (bytes.as_ptr() as usize, bytes.len())
}

/// The key and its data.
pub(super) fn of_key<'e, 's>(external: &'e [(&'s str, &'s [u8])], key: &str) -> Option<&'e (&'s str, &'s [u8])> {
    external.get(external.binary_search_by_key(&key, |(other, _)| other).ok()?)
}

impl<'s> Comparer<'s> {
    pub(super) fn new(before: &Side<'s>, after: &Side<'s>, options: &DiffOptions) -> Self {
        let external = |side: &Side<'s>| {
            let mut external: Keyed<&'s str, &'s [u8]> = Keyed::new();
            for ptd in side.data {
                for entry in ptd.entries() {
                    if let Ok(bytes) = ptd.entry_bytes(&entry) {
                        external.insert(entry.key(), bytes);
                    }
                }
            }
            external.into_sorted()
        };
        let size = |side: &Side<'_>| {
            let data = side.data.iter().map(|ptd| ptd.source.as_ref().map_or(0, |source| source.bytes.len()));
            let model = side.model.source().map_or(0, |source| source.bytes.len());
            (model + data.sum::<usize>()) as u64
        };
        Self {
            diff: Diff::default(),
            differences: Vec::new(),
            options: *options,
            external: [external(before), external(after)],
            lonely: Default::default(),
            lonely_keys: Default::default(),
            unseen: 0,
            compared: Keyed::new(),
            partnered: Default::default(),
            budget: 16 * (size(before) + size(after)),
        }
    }

    pub(super) fn difference(&mut self, change: Difference) {
        self.differences.push((change, None));
    }

    /// Adds a difference between values, whose distance is computed at the end if that was asked for.
    pub(super) fn apart(&mut self, change: Difference, scalar_type: ScalarType, values: [&'s [u8]; 2]) {
        self.differences.push((change, self.options.tensors.then_some((scalar_type, values))));
    }

    /// Everything that was found.
    pub(super) fn finish(mut self) -> Diff {
        let mut jobs = Jobs::default();
        for (change, values) in &mut self.differences {
            if let Some((scalar_type, [before, after])) = *values {
                let bytes = before.len() as u64 + after.len() as u64;
                jobs.add(bytes, move || change.distance = numbers::distance(scalar_type, before, after));
            }
        }
        jobs.run();
        let mut diff = self.diff;
        for (change, _) in self.differences {
            diff.differences.push(change);
        }
        diff
    }

    pub(super) fn not_compared(&mut self, count: usize, what: &str) {
        if count > 0 {
            let why = match self.external.iter().all(Vec::is_empty) {
                true => "the .ptd files were not given",
                false => "no .ptd file that was given has their data",
            };
            self.diff.not_compared.push(format!("{}: {why}", counted(count, what)));
        }
    }

    pub(super) fn storage(&mut self, change: Difference) {
        self.diff.storage.push(change);
    }

    /// Adds a difference if two texts differ.
    pub(super) fn changed(
        &mut self,
        subject: DifferenceSubject,
        method: Option<&str>,
        name: &str,
        before: &str,
        after: &str,
    ) {
        if before != after {
            let (before, after) = (Some(before.to_owned()), Some(after.to_owned()));
            self.difference(Difference {
                before,
                after,
                ..Difference::new(subject, DifferenceKind::Changed, method, name)
            });
        }
    }

    /// Whether the bytes are equal; `None` if the budget is used up.
    pub(super) fn equal(&mut self, before: &[u8], after: &[u8]) -> Option<bool> {
        if before.len() != after.len() || address(before) == address(after) {
            return Some(before.len() == after.len());
        }
        let pair = [address(before), address(after)];
        if let Some(equal) = self.compared.get(&pair) {
            return Some(*equal);
        }
        self.budget = self.budget.checked_sub(before.len() as u64)?;
        let equal = before == after;
        self.compared.insert(pair, equal);
        Some(equal)
    }

    fn weight(
        &self,
        side: usize,
        pte: &'s Pte<'s>,
        plan: &'s ExecutionPlan<'s>,
        value: usize,
        tensor: &'s Tensor<'s>,
    ) -> Option<Result<Weight<'s>>> {
        let (bytes, place) = match pte.tensor_data(tensor) {
            Ok(TensorData::None | TensorData::Planned(_)) => return None,
            Ok(TensorData::Constant(data)) => (pte.bytes(&data), "constant"),
            Ok(TensorData::Mutable(data)) => (pte.bytes(&data), "initial state"),
            // Without its .ptd it has no bytes to compare.
            Ok(TensorData::External(key)) => (Ok(of_key(self.external.get(side)?, key)?.1), EXTERNAL),
            Err(error) => (Err(error), ""),
        };
        let name = tensor.fully_qualified_name();
        let shape = tensor.shape();
        Some(bytes.map(|bytes| Weight { method: plan.name(), value, name, shape, bytes, place, hash: None }))
    }

    /// Two tensors that are matched with each other: compares their data, if they have any.
    pub(super) fn tensors(
        &mut self,
        before: (&'s Pte<'s>, &'s ExecutionPlan<'s>, usize),
        after: (&'s Pte<'s>, &'s ExecutionPlan<'s>, usize),
    ) {
        let found = |side: usize, (pte, plan, value): (&'s Pte<'s>, &'s ExecutionPlan<'s>, usize)| {
            let tensor = plan.tensor(value)?;
            Some((self.weight(side, pte, plan, value, tensor), tensor))
        };
        let (Some((one, tensor)), Some((other, other_tensor))) = (found(0, before), found(1, after)) else { return };
        match (one, other) {
            (None, None) => {
                self.unseen += usize::from(tensor.is_external() && other_tensor.is_external());
                let key = |tensor: &'s Tensor<'s>| {
                    tensor.fully_qualified_name().filter(|_| tensor.is_external()).unwrap_or("none")
                };
                let (key, other_key) = (key(tensor), key(other_tensor));
                let name = before.2.to_string();
                self.changed(
                    DifferenceSubject::Weight,
                    Some(before.1.name()),
                    &format!("key of %{name}"),
                    key,
                    other_key,
                );
            }
            (Some(Ok(one)), Some(Ok(other))) => {
                // A program does not load with the other's data, even if that has the same bytes.
                if let (EXTERNAL, EXTERNAL, Some(key), Some(other_key)) = (one.place, other.place, one.name, other.name)
                {
                    let name = format!("key of %{}", before.2);
                    self.changed(DifferenceSubject::Weight, Some(before.1.name()), &name, key, other_key);
                }
                self.pair(&one, &other);
            }
            (Some(Err(one)), Some(Err(other))) => {
                let name = format!("data of %{}", before.2);
                self.changed(
                    DifferenceSubject::Weight,
                    Some(before.1.name()),
                    &name,
                    &one.to_string(),
                    &other.to_string(),
                );
            }
            (one, other) => {
                let text = |weight: &Option<Result<Weight<'_>>>, tensor: &Tensor<'_>| match weight {
                    Some(Ok(weight)) => weight.place.to_owned(),
                    Some(Err(error)) => error.to_string(),
                    None if tensor.is_external() => "in a .ptd file that was not given".into(),
                    None => "no data".into(),
                };
                let (text, other_text) = (text(&one, tensor), text(&other, other_tensor));
                self.changed(
                    DifferenceSubject::Weight,
                    Some(before.1.name()),
                    &format!("data of %{}", before.2),
                    &text,
                    &other_text,
                );
            }
        }
    }

    fn pair(&mut self, one: &Weight<'s>, other: &Weight<'s>) {
        let [first, second] = &mut self.partnered;
        let (new, other_new) = (first.add(address(one.bytes)), second.add(address(other.bytes)));
        if !new && !other_new {
            return;
        }
        let equal = self.equal(one.bytes, other.bytes);
        if equal == Some(true) {
            if one.place != other.place {
                let (before, after) = (Some(one.place.to_owned()), Some(other.place.to_owned()));
                self.storage(Difference {
                    before,
                    after,
                    ..Difference::new(DifferenceSubject::Weight, DifferenceKind::Moved, Some(one.method), one.text())
                });
            }
            return;
        }
        let mut change =
            Difference::new(DifferenceSubject::Weight, DifferenceKind::Changed, Some(one.method), one.text());
        if equal.is_none() {
            change.after = Some("not compared: too many tensors share their bytes".into());
        } else if one.shape != other.shape {
            (change.before, change.after) = (Some(one.shape.to_string()), Some(other.shape.to_string()));
        } else {
            return self.apart(change, one.shape.scalar_type, [one.bytes, other.bytes]);
        }
        self.difference(change);
    }

    /// The data of tensors without a counterpart on the other side: of whole methods, or of values.
    pub(super) fn only(
        &mut self,
        side: usize,
        pte: &'s Pte<'s>,
        plan: &'s ExecutionPlan<'s>,
        values: impl Iterator<Item = usize>,
    ) {
        for value in values {
            let weight = plan.tensor(value).and_then(|tensor| self.weight(side, pte, plan, value, tensor));
            if let (Some(Ok(weight)), Some(list)) = (weight, self.lonely.get_mut(side)) {
                list.push(weight);
            }
        }
    }

    /// Matches the weights that have no counterpart yet: by equal bytes, or by name.
    pub(super) fn weights(&mut self) {
        let [mut before, mut after] = core::mem::take(&mut self.lonely);
        for (list, partnered) in [&mut before, &mut after].into_iter().zip(&self.partnered) {
            let mut seen = Keyed::new();
            list.retain(|weight| {
                let address = address(weight.bytes);
                partnered.get(&address).is_none() && seen.add(address)
            });
        }
        let mut alike: Keyed<Option<u64>, Vec<Weight<'s>>> = Keyed::new();
        let mut jobs = Jobs::default();
        for list in [&mut after, &mut before] {
            for weight in list {
                self.hash(&mut jobs, weight.bytes, &mut weight.hash);
            }
        }
        jobs.run();
        for weight in after {
            alike.entry(weight.hash).push(weight);
        }
        let mut rest = Vec::new();
        for weight in before {
            let same = weight.hash.and_then(|hash| {
                let list = alike.get_mut(&Some(hash))?;
                let at = list.iter().position(|other| weight.bytes == other.bytes)?;
                Some(list.swap_remove(at))
            });
            match same {
                Some(other) => {
                    let (before, after) = (Some(weight.text()), Some(other.text()));
                    let name = if before == after { weight.text() } else { String::new() };
                    let change =
                        Difference::new(DifferenceSubject::Weight, DifferenceKind::Moved, Some(weight.method), name);
                    self.storage(Difference { before, after, ..change });
                }
                None => rest.push(weight),
            }
        }
        let mut after: Vec<Weight<'s>> = Vec::new();
        for (_, list) in alike.into_sorted() {
            after.extend(list);
        }
        sort_by_key(&mut after, |weight| (weight.method, weight.value));
        let mut by_name: Keyed<&str, Option<usize>> = Keyed::new();
        for (index, weight) in after.iter().enumerate().rev() {
            if let Some(name) = weight.name {
                by_name.insert(name, Some(index));
            }
        }
        let mut taken = Keyed::new();
        for weight in rest {
            match weight.name.and_then(|name| by_name.get_mut(name)?.take()) {
                Some(index) => {
                    taken.add(index);
                    if let Some(other) = after.get(index) {
                        self.pair(&weight, other);
                    }
                }
                None => self.lonely_weight(&weight, DifferenceKind::Removed),
            }
        }
        for (_, weight) in after.iter().enumerate().filter(|(index, _)| taken.get(index).is_none()) {
            self.lonely_weight(weight, DifferenceKind::Added);
        }
    }

    fn lonely_weight(&mut self, weight: &Weight<'_>, kind: DifferenceKind) {
        self.difference(Difference::new(DifferenceSubject::Weight, kind, Some(weight.method), weight.text()));
    }

    /// Adds the hash of bytes to what is computed; it stays `None` if the budget is used up.
    pub(super) fn hash<'h>(&mut self, jobs: &mut Jobs<'h>, bytes: &'h [u8], hash: &'h mut Option<u64>) {
        let size = bytes.len() as u64;
        let Some(left) = self.budget.checked_sub(size) else { return };
        self.budget = left;
        jobs.add(size, move || {
            let mut hasher = std::hash::DefaultHasher::new();
            bytes.hash(&mut hasher);
            *hash = Some(hasher.finish());
        });
    }
}
