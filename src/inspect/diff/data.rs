//! Compares weights by their bytes, in any file or segment.

use super::inside::Inside;
use super::keys::LonelyKey;
use super::{Diff, DiffOptions, Difference, DifferenceKind, DifferenceSubject, Indexed, Side, Which};
use crate::analysis::Analysis;
use crate::analysis::{MethodNames, Name, Names};
use crate::delegate::{NamedBlobs, OpenPayload};
use crate::error::counted;
use crate::file::pte::{Pte, TensorData};
use crate::inspect::NamedBy;
use crate::inspect::weights::numbers::{self, Values};
use crate::model::Model;
use crate::names::shortened;
use crate::parallel::Jobs;
use crate::quantized::Dequantized;
use crate::schema::program::Tensor;
use crate::tensor::{TensorShape, TensorView};
use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{format, string::String, string::ToString, vec, vec::Vec};
use core::hash::{Hash, Hasher};

/// The differences found so far, and the data without a counterpart.
pub(super) struct Comparer<'s> {
    pub(super) diff: Diff,
    /// Differences after those in `diff`, some with values whose distance is requested.
    pub(super) differences: Vec<(Difference, Option<[Values<'s>; 2]>)>,
    names: [Option<&'s Names<'s>>; 2],
    /// The payloads of each side.
    pub(super) payloads: &'s [Vec<OpenPayload<'s>>; 2],
    /// The data that the payloads look up by key.
    pub(super) blobs: [NamedBlobs<'s>; 2],
    /// The index of a delegate's payload, by the indices of the method and the delegate.
    pub(super) opened: [BTreeMap<(usize, usize), usize>; 2],
    /// The pairs of payloads whose constants were compared, by their positions in `payloads`. `true` if every constant was compared.
    pub(super) compared_payloads: BTreeMap<[Option<usize>; 2], bool>,
    /// The constants inside delegates without a counterpart.
    pub(super) lonely_inside: [Vec<Inside<'s>>; 2],
    /// The keys of constants inside delegates whose data has been compared.
    pub(super) told_keys: [BTreeSet<&'s str>; 2],
    /// The numbers of quantized tensors, by the indices of the method and the value, if distances are requested.
    quantized: [BTreeMap<(usize, usize), Dequantized<'s>>; 2],
    pub(super) options: DiffOptions,
    /// The data of external tensors of each side, with its keys. Sorted by key.
    pub(super) external: [Vec<(&'s str, &'s [u8])>; 2],
    /// The weights of each side without a counterpart.
    lonely: [Vec<Weight<'s>>; 2],
    /// The keys of each side without a counterpart.
    pub(super) lonely_keys: [Vec<LonelyKey<'s>>; 2],
    /// The number of external tensors without data on both sides.
    pub(super) unseen: usize,
    /// The results of comparisons of bytes, by address and length.
    compared: BTreeMap<[(usize, usize); 2], bool>,
    /// The bytes of weights that have a counterpart, by address and length.
    partnered: [BTreeSet<(usize, usize)>; 2],
    /// The number of bytes that may still be compared: many tensors may share the same bytes.
    budget: u64,
}

/// The data of a tensor.
#[derive(Clone, Copy)]
pub(super) struct Weight<'s> {
    pub(super) method: &'s str,
    index: usize,
    value: usize,
    /// The file's own name of the tensor.
    key: Option<&'s str>,
    pub(super) name: Option<&'s Name<'s>>,
    pub(super) shape: TensorShape<'s>,
    pub(super) bytes: &'s [u8],
    /// The place of the data: among the constants, the initial states or the external data.
    pub(super) place: &'static str,
    /// A hash of the bytes, if it was needed.
    hash: Option<u64>,
}

impl<'s> Weight<'s> {
    pub(super) fn text(&self) -> String {
        format!("%{} {}", self.value, self.shape)
    }

    /// Returns the name that the model's author gave it.
    pub(super) fn given_name(&self) -> Option<&'s str> {
        self.name.filter(|name| name.named_by.is_given()).map(|name| &*name.name).or(self.key)
    }

    /// Returns a difference of this weight.
    pub(super) fn difference(&self, kind: DifferenceKind) -> Difference {
        let change = Difference::new(DifferenceSubject::Weight, kind, Some(self.method), self.text());
        match (self.name, self.key) {
            (None, Some(key)) => {
                Difference { tensor_name: Some(shortened(key).into_owned()), named_by: Some(NamedBy::File), ..change }
            }
            (name, _) => change.named(name),
        }
    }
}

/// The place of data in a `.ptd` file.
const EXTERNAL: &str = "external";

fn address(bytes: &[u8]) -> (usize, usize) {
    (bytes.as_ptr() as usize, bytes.len())
}

/// Finds a key and its data.
pub(super) fn of_key<'e, 's>(external: &'e [(&'s str, &'s [u8])], key: &str) -> Option<&'e (&'s str, &'s [u8])> {
    external.get(external.binary_search_by_key(&key, |(other, _)| other).ok()?)
}

impl<'s> Comparer<'s> {
    pub(super) fn new(
        [before, after]: [&Side<'s>; 2],
        payloads: &'s [Vec<OpenPayload<'s>>; 2],
        options: &DiffOptions,
    ) -> Self {
        let external = |side: &Side<'s>| {
            let mut external: BTreeMap<&'s str, &'s [u8]> = BTreeMap::new();
            for ptd in side.data {
                for entry in ptd.entries() {
                    if let Ok(bytes) = ptd.entry_bytes(&entry) {
                        external.insert(entry.key(), bytes);
                    }
                }
            }
            external.into_iter().collect()
        };
        let size = |side: &Side<'_>| {
            let data = side.data.iter().map(|ptd| ptd.source.as_ref().map_or(0, |source| source.bytes.len()));
            let model = side.model.source().map_or(0, |source| source.bytes.len());
            (model + data.sum::<usize>()) as u64
        };
        let quantized = |side: &Side<'s>| {
            let mut quantized = BTreeMap::new();
            if let (Model::Pte(pte), true) = (side.model, options.tensors) {
                for tensor in Analysis::new(pte).dequantized() {
                    if let Ok(numbers) = tensor.numbers {
                        quantized.insert((tensor.method, tensor.value), numbers);
                    }
                }
            }
            quantized
        };
        let blobs = |side: &Side<'s>| match side.model {
            Model::Pte(pte) => NamedBlobs::new(pte, side.data),
            _ => NamedBlobs::NONE,
        };
        let opened = payloads.each_ref().map(|payloads| {
            let mut opened = BTreeMap::new();
            for (index, payload) in payloads.iter().enumerate() {
                for place in &payload.delegates {
                    opened.insert(*place, index);
                }
            }
            opened
        });
        Self {
            diff: Diff::default(),
            differences: Vec::new(),
            names: [before, after].map(|side| side.names),
            payloads,
            blobs: [before, after].map(blobs),
            opened,
            compared_payloads: BTreeMap::new(),
            lonely_inside: Default::default(),
            told_keys: Default::default(),
            quantized: [before, after].map(quantized),
            options: *options,
            external: [external(before), external(after)],
            lonely: Default::default(),
            lonely_keys: Default::default(),
            unseen: 0,
            compared: BTreeMap::new(),
            partnered: Default::default(),
            budget: 16 * (size(before) + size(after)),
        }
    }

    pub(super) fn difference(&mut self, change: Difference) {
        self.differences.push((change, None));
    }

    /// Returns the names in a method.
    pub(super) fn method_names(&self, side: Which, method: usize) -> Option<&'s MethodNames<'s>> {
        side.of(&self.names).as_ref()?.methods.get(method)
    }

    /// Adds a difference between values, whose distance is computed at the end if requested.
    pub(super) fn apart(&mut self, change: Difference, values: [Values<'s>; 2]) {
        self.differences.push((change, self.options.tensors.then_some(values)));
    }

    /// Returns all differences.
    pub(super) fn finish(mut self) -> Diff {
        let mut jobs = Jobs::default();
        for (change, values) in &mut self.differences {
            if let Some([before, after]) = values.as_ref() {
                let bytes = before.bytes() + after.bytes();
                jobs.add(bytes, move || change.distance = numbers::distance(before, after));
            }
        }
        jobs.run();
        // In place: there can be as many as instructions.
        let mut differences: Vec<_> = self.differences.into_iter().map(|(change, _)| change).collect();
        differences.splice(0..0, self.diff.differences);
        Diff { differences, ..self.diff }
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

    /// Compares bytes; returns `None` if the budget is used up.
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
        side: Which,
        pte: &'s Pte<'s>,
        (index, plan): Indexed<'s>,
        value: usize,
        tensor: &'s Tensor<'s>,
    ) -> Option<crate::error::Result<Weight<'s>>> {
        let (bytes, place) = match pte.tensor_data(tensor) {
            Ok(TensorData::None | TensorData::Planned(_)) => return None,
            Ok(TensorData::Constant(data)) => (pte.bytes(&data), "constant"),
            Ok(TensorData::InitialState(data)) => (pte.bytes(&data), "initial state"),
            // An external tensor without its `.ptd` has no bytes to compare.
            Ok(TensorData::External(key)) => {
                let external = side.of(&self.external);
                (Ok(of_key(external, key)?.1), EXTERNAL)
            }
            Err(error) => (Err(error), ""),
        };
        let key = tensor.fully_qualified_name();
        let shape = tensor.shape();
        let name = self.method_names(side, index).and_then(|names| names.values.get(value)?.as_ref());
        Some(bytes.map(|bytes| {
            let method = plan.name();
            Weight { method, index, value, key, name, shape, bytes, place, hash: None }
        }))
    }

    /// Compares the data of two matched tensors, if they have any.
    pub(super) fn tensors(
        &mut self,
        before: (&'s Pte<'s>, Indexed<'s>, usize),
        after: (&'s Pte<'s>, Indexed<'s>, usize),
    ) {
        let found = |side: Which, (pte, plan, value): (&'s Pte<'s>, Indexed<'s>, usize)| {
            let tensor = plan.1.tensor(value)?;
            Some((self.weight(side, pte, plan, value, tensor), tensor))
        };
        let (before_found, after_found) = (found(Which::Before, before), found(Which::After, after));
        let (Some((left, tensor)), Some((right, other_tensor))) = (before_found, after_found) else { return };
        match (left, right) {
            (None, None) => {
                self.unseen += usize::from(tensor.is_external() && other_tensor.is_external());
                let key = |tensor: &'s Tensor<'s>| {
                    tensor.fully_qualified_name().filter(|_| tensor.is_external()).unwrap_or("none")
                };
                let (key, other_key) = (key(tensor), key(other_tensor));
                self.value_changed(before.1, before.2, "key", key, other_key);
            }
            (Some(Ok(left)), Some(Ok(right))) => {
                // A program does not load with data under a different key, even if the bytes are the same.
                if let (EXTERNAL, EXTERNAL, Some(key), Some(other_key)) = (left.place, right.place, left.key, right.key)
                {
                    self.value_changed(before.1, before.2, "key", key, other_key);
                }
                self.pair(&left, &right);
            }
            (Some(Err(left)), Some(Err(right))) => {
                self.value_changed(before.1, before.2, "data", &left.to_string(), &right.to_string());
            }
            (left, right) => {
                let text = |weight: &Option<crate::error::Result<Weight<'_>>>, tensor: &Tensor<'_>| match weight {
                    Some(Ok(weight)) => weight.place.to_owned(),
                    Some(Err(error)) => error.to_string(),
                    None if tensor.is_external() => "in a .ptd file that was not given".into(),
                    None => "no data".into(),
                };
                let (text, other_text) = (text(&left, tensor), text(&right, other_tensor));
                self.value_changed(before.1, before.2, "data", &text, &other_text);
            }
        }
    }

    /// Adds a difference of the key or the data of a value of the first file if two texts differ.
    fn value_changed(&mut self, (index, plan): Indexed<'s>, value: usize, what: &str, before: &str, after: &str) {
        if before != after {
            let name = self.method_names(Which::Before, index).and_then(|names| names.values.get(value)?.as_ref());
            let (kind, which) = (DifferenceKind::Changed, format!("{what} of %{value}"));
            let change = Difference::new(DifferenceSubject::Weight, kind, Some(plan.name()), which).named(name);
            self.difference(Difference { before: Some(before.to_owned()), after: Some(after.to_owned()), ..change });
        }
    }

    fn pair(&mut self, before: &Weight<'s>, after: &Weight<'s>) {
        let [first, second] = &mut self.partnered;
        let (new, other_new) = (first.insert(address(before.bytes)), second.insert(address(after.bytes)));
        if !new && !other_new {
            return;
        }
        let equal = self.equal(before.bytes, after.bytes);
        if equal == Some(true) {
            if before.place != after.place {
                let places = (Some(before.place.to_owned()), Some(after.place.to_owned()));
                let change = before.difference(DifferenceKind::Moved);
                self.storage(Difference { before: places.0, after: places.1, ..change });
            }
            return;
        }
        let mut change = before.difference(DifferenceKind::Changed);
        if equal.is_none() {
            change.after = Some("not compared: too many tensors share their bytes".into());
        } else if before.shape != after.shape {
            (change.before, change.after) = (Some(before.shape.to_string()), Some(after.shape.to_string()));
            return self.forms_apart(change, [self.numbers(Which::Before, before), self.numbers(Which::After, after)]);
        } else {
            let values = |side: Which, weight: &Weight<'s>| {
                let quantized = side.of(&self.quantized).get(&(weight.index, weight.value))?;
                Some(Values::Numbers(quantized.clone()))
            };
            let values = match (values(Which::Before, before), values(Which::After, after)) {
                (Some(before), Some(after)) => [before, after],
                _ => [before.bytes, after.bytes].map(|bytes| Values::Stored(before.shape.scalar_type, bytes)),
            };
            return self.apart(change, values);
        }
        self.difference(change);
    }

    /// Returns the numbers of a weight in PyTorch's layout, or the reason why they are not known.
    pub(super) fn numbers(&self, side: Which, weight: &Weight<'s>) -> Result<Dequantized<'s>, String> {
        if let Some(numbers) = side.of(&self.quantized).get(&(weight.index, weight.value)) {
            return Ok(numbers.clone());
        }
        let view = TensorView::new(weight.shape, weight.bytes).map_err(|error| error.to_string())?;
        let is_transposed = weight.name.is_some_and(|name| name.transposed);
        let numbers = Dequantized::plain(&view).ok_or_else(|| format!("{} has no numbers", weight.shape))?;
        match *numbers.dims() {
            [rows, columns] if is_transposed => {
                numbers.permuted(vec![columns, rows], &[columns, rows], &[1, 0]).ok_or("it is permuted twice".into())
            }
            _ => Ok(numbers),
        }
    }

    /// Adds a difference between constants in two forms, such as floating-point and quantized ones. If distances are requested, their
    /// numbers in PyTorch's layout are compared, or the reason why they cannot be is listed.
    pub(super) fn forms_apart(&mut self, change: Difference, numbers: [Result<Dequantized<'s>, String>; 2]) {
        if !self.options.tensors {
            return self.difference(change);
        }
        let squeezed = |numbers: &Dequantized<'_>| -> Vec<u32> {
            numbers.dims().iter().copied().filter(|size| *size != 1).collect()
        };
        let reason = match numbers {
            [Ok(before), Ok(after)] if squeezed(&before) == squeezed(&after) => {
                return self.apart(change, [before, after].map(Values::Numbers));
            }
            [Ok(before), Ok(after)] => format!("the sizes are {:?} and {:?}", before.dims(), after.dims()),
            [Err(reason), _] => format!("in the first file, {reason}"),
            [_, Err(reason)] => format!("in the second file, {reason}"),
        };
        let name = change.tensor_name.as_ref().unwrap_or(&change.name);
        self.diff.not_compared.push(format!("{name}: {reason}"));
        self.difference(change);
    }

    /// Collects the data of tensors without a counterpart on the other side: of whole methods, or of values.
    pub(super) fn only(
        &mut self,
        side: Which,
        pte: &'s Pte<'s>,
        plan: Indexed<'s>,
        values: impl Iterator<Item = usize>,
    ) {
        for value in values {
            let weight = plan.1.tensor(value).and_then(|tensor| self.weight(side, pte, plan, value, tensor));
            if let Some(Ok(weight)) = weight {
                side.of_mut(&mut self.lonely).push(weight);
            }
        }
    }

    /// Matches the weights without a counterpart, by equal bytes or by name. The counterpart may be inside a delegate.
    pub(super) fn weights(&mut self) {
        let [mut before, mut after] = core::mem::take(&mut self.lonely);
        for (list, partnered) in [&mut before, &mut after].into_iter().zip(&self.partnered) {
            let mut seen = BTreeSet::new();
            list.retain(|weight| {
                let address = address(weight.bytes);
                partnered.get(&address).is_none() && seen.insert(address)
            });
        }
        let mut alike: BTreeMap<Option<u64>, Vec<Weight<'s>>> = BTreeMap::new();
        let mut jobs = Jobs::default();
        for list in [&mut after, &mut before] {
            for weight in list {
                self.hash(&mut jobs, weight.bytes, &mut weight.hash);
            }
        }
        jobs.run();
        for weight in after {
            alike.entry(weight.hash).or_default().push(weight);
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
                    let mut change = weight.difference(DifferenceKind::Moved);
                    if before != after {
                        change.name = String::new();
                    }
                    self.storage(Difference { before, after, ..change });
                }
                None => rest.push(weight),
            }
        }
        let mut after: Vec<Weight<'s>> = Vec::new();
        for (_, list) in alike {
            after.extend(list);
        }
        after.sort_by_key(|weight| (weight.method, weight.value));
        let mut by_name: BTreeMap<&str, Option<(usize, &Weight<'s>)>> = BTreeMap::new();
        for (index, weight) in after.iter().enumerate().rev() {
            if let Some(name) = weight.given_name() {
                by_name.insert(name, Some((index, weight)));
            }
        }
        let (mut removed, mut taken) = (Vec::new(), BTreeSet::new());
        for weight in rest {
            match weight.given_name().and_then(|name| by_name.get_mut(name)?.take()) {
                Some((index, other)) => {
                    taken.insert(index);
                    self.pair(&weight, other);
                }
                None => removed.push(weight),
            }
        }
        let added = after.into_iter().enumerate().filter(|(index, _)| !taken.contains(index));
        let added = added.map(|(_, weight)| weight).collect();
        self.across([removed, added]);
    }

    /// Adds the computation of a hash of bytes to the jobs. The hash stays `None` if the budget is used up.
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
