//! Compares the constants inside XNNPACK's payloads, which are identified by their names or by the nodes that take them.

use super::data::{Comparer, Weight};
use super::{Difference, DifferenceKind, DifferenceSubject, Indexed, Which};
use crate::analysis::Name;
use crate::delegate::xnnpack::{ConstantLayout, ConstantPlace, ConstantUse, scales_constant};
use crate::delegate::{DelegateGraph, GraphBudget, NamedBlobs, Payload, Xnnpack};
use crate::file::pte::Pte;
use crate::inspect::weights::numbers::Values;
use crate::quantized::Dequantized;
use crate::schema::program::ExecutionPlan;
use crate::schema::xnnpack::XNNTensorValue;
use crate::tensor::TensorShape;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{format, string::String, string::ToString, vec::Vec};

/// The number of leading bytes by which equal constants are looked up, and the maximum number of candidates to compare.
const MAX_START: usize = 64;
const MAX_ALIKE: usize = 8;

/// The data of a constant inside a payload.
pub(super) struct Inside<'s> {
    method: &'s str,
    delegate: usize,
    /// The node that takes it, and the argument: `XNNConv2d 3 weight`.
    label: String,
    name: Option<&'s Name<'s>>,
    payload: &'s Xnnpack<'s>,
    /// Index of the value in the payload.
    value: usize,
    tensor: &'s XNNTensorValue<'s>,
    bytes: &'s [u8],
    /// The layouts that its nodes require.
    layouts: Vec<ConstantLayout>,
    /// The scales of quantized elements, if they are also a constant.
    scales: Option<&'s [u8]>,
    /// The keys of the elements and of the scales.
    keys: [Option<&'s str>; 2],
}

impl<'s> Inside<'s> {
    fn given_name(&self) -> Option<&'s str> {
        self.name.filter(|name| name.named_by.is_given()).map(|name| &*name.name)
    }

    /// Returns its numbers in PyTorch's layout, or the reason why they are not known. `model` are the sizes of the model's tensor.
    fn numbers(&self, blobs: &NamedBlobs<'s>, model: Option<&[u32]>) -> Result<Dequantized<'s>, String> {
        self.payload.numbers_in_the_model(self.value, &self.layouts, model, blobs)
    }

    fn place(&self) -> String {
        format!("delegate {}", self.delegate)
    }

    fn difference(&self, kind: DifferenceKind) -> Difference {
        let name = format!("delegate {}: {} {}", self.delegate, self.label, self.tensor);
        Difference::new(DifferenceSubject::Weight, kind, Some(self.method), name).named(self.name)
    }
}

impl<'s> Comparer<'s> {
    /// Returns the XNNPACK payload of a delegate, by the indices of the method and the delegate.
    #[expect(clippy::indexing_slicing, reason = "`opened` has indices of payloads")]
    pub(super) fn xnnpack(&self, side: Which, place: (usize, usize)) -> Option<&'s Xnnpack<'s>> {
        let index = side.of(&self.opened).get(&place)?;
        match &side.of(self.payloads)[*index].payload {
            Ok(Payload::Xnnpack(xnnpack)) => Some(xnnpack),
            _ => None,
        }
    }

    /// Returns the graph of a delegate of `pte`, the program of that side, by the indices of the method and the delegate.
    #[expect(clippy::indexing_slicing, reason = "`opened` has indices of payloads")]
    pub(super) fn graph(&self, side: Which, pte: &Pte<'_>, place: (usize, usize)) -> Option<DelegateGraph> {
        let opened = &side.of(self.payloads)[*side.of(&self.opened).get(&place)?];
        let size = pte.bytes(&opened.data).ok()?.len();
        opened.graph(pte, side.of(&self.blobs), &mut GraphBudget::of(size)).ok()?
    }

    #[expect(clippy::indexing_slicing, reason = "nodes and values have their indices in the payload's own lists")]
    fn constants_inside(
        &self,
        side: Which,
        payload: &'s Xnnpack<'s>,
        (method, delegate): (usize, usize),
        plan: &'s ExecutionPlan<'s>,
    ) -> Vec<Inside<'s>> {
        let blobs = side.of(&self.blobs);
        let names = self.method_names(side, method).and_then(|names| names.delegates.get(delegate));
        let (takers, mut layouts) = (payload.graph.takers(), payload.constant_layouts());
        let key = |index: u32| match payload.constant(index) {
            Some(ConstantPlace::Named { key, .. }) => Some(key),
            _ => None,
        };
        let mut found = Vec::new();
        for constant in payload.constants() {
            // Data in a missing `.ptd` is not compared.
            let Ok(bytes) = payload.constant_bytes(constant.index, blobs) else { continue };
            for used in &constant.uses {
                let ConstantUse::Tensor { value, tensor } = *used else { continue };
                let label = takers.get(&value).and_then(|taken| taken.first()).map_or_else(
                    || format!("value {value}"),
                    |(index, role)| format!("{} {index} {role}", payload.graph.xnodes()[*index].name()),
                );
                let quantization = payload.graph.xvalues()[value].quant_params();
                let scales = quantization.and_then(scales_constant).map(|(index, ..)| index);
                found.push(Inside {
                    method: plan.name(),
                    delegate,
                    label,
                    name: names.and_then(|names| names.constant(value)),
                    payload,
                    value,
                    tensor,
                    bytes,
                    layouts: layouts.get_mut(&value).map(core::mem::take).unwrap_or_default(),
                    scales: scales.and_then(|index| payload.constant_bytes(index, blobs).ok()),
                    keys: [key(constant.index), scales.and_then(key)],
                });
            }
        }
        found
    }

    /// Compares the constants of two delegates: those with the same name, and, if the nodes are of the same kinds, those that the same node
    /// takes. Returns `true` if every constant was compared.
    pub(super) fn inside(
        &mut self,
        [place, other_place]: [(usize, usize); 2],
        plans: [&'s ExecutionPlan<'s>; 2],
    ) -> bool {
        let payloads = (self.xnnpack(Which::Before, place), self.xnnpack(Which::After, other_place));
        let (Some(payload), Some(other_payload)) = payloads else { return false };
        // Delegates may share a payload.
        let shared = [self.opened[0].get(&place).copied(), self.opened[1].get(&other_place).copied()];
        if let Some(is_whole) = self.compared_payloads.get(&shared) {
            return *is_whole;
        }
        let before = self.constants_inside(Which::Before, payload, place, plans[0]);
        let after = self.constants_inside(Which::After, other_payload, other_place, plans[1]);
        let kinds = |payload: &'s Xnnpack<'s>| payload.graph.xnodes().iter().map(|node| node.name());
        let same_nodes = kinds(payload).eq(kinds(other_payload));
        let count =
            |payload: &Xnnpack<'_>| payload.constants().iter().map(|constant| constant.uses.len()).sum::<usize>();
        let scales = |list: &[Inside<'_>]| list.iter().filter(|inside| inside.scales.is_some()).count();
        let is_whole =
            count(payload) == before.len() + scales(&before) && count(other_payload) == after.len() + scales(&after);
        let (mut by_name, mut by_label) = (BTreeMap::<&str, _>::new(), BTreeMap::<&str, _>::new());
        for (index, inside) in after.iter().enumerate() {
            if let Some(name) = inside.given_name() {
                by_name.entry(name).or_insert((index, inside));
            }
            by_label.entry(&inside.label).or_insert((index, inside));
        }
        let mut taken: BTreeSet<usize> = BTreeSet::new();
        let mut rest = Vec::new();
        for inside in before {
            let named = inside.given_name().and_then(|name| by_name.get(name));
            let found = named.or_else(|| by_label.get(&*inside.label).filter(|_| same_nodes)).copied();
            match found {
                Some((index, other)) if taken.insert(index) => self.pair_inside(&inside, other),
                _ => rest.push(inside),
            }
        }
        let is_whole = is_whole && rest.is_empty() && taken.len() == after.len();
        let after = after.into_iter().enumerate().filter(|(index, _)| !taken.contains(index));
        let after: Vec<Inside<'s>> = after.map(|(_, inside)| inside).collect();
        for (list, more) in self.lonely_inside.iter_mut().zip([rest, after]) {
            list.extend(more.into_iter().filter(|inside| inside.given_name().is_some()));
        }
        self.compared_payloads.insert(shared, is_whole);
        is_whole
    }

    /// Collects the constants of delegates without a counterpart on the other side.
    pub(super) fn only_inside(
        &mut self,
        side: Which,
        (method, plan): Indexed<'s>,
        delegates: impl Iterator<Item = usize>,
    ) {
        for delegate in delegates {
            let Some(payload) = self.xnnpack(side, (method, delegate)) else { continue };
            let inside = self.constants_inside(side, payload, (method, delegate), plan);
            side.of_mut(&mut self.lonely_inside).extend(inside);
        }
    }

    fn tell_keys(&mut self, side: Which, inside: &Inside<'s>) {
        for key in inside.keys.into_iter().flatten() {
            side.of_mut(&mut self.told_keys).insert(key);
        }
    }

    fn pair_inside(&mut self, before: &Inside<'s>, after: &Inside<'s>) {
        let (text, other_text) = (before.tensor.to_string(), after.tensor.to_string());
        let mut change = before.difference(DifferenceKind::Changed);
        if text != other_text {
            (change.before, change.after) = (Some(text), Some(other_text));
            let model = sizes_of(before.name).or_else(|| sizes_of(after.name));
            let numbers = |side: Which, inside: &Inside<'s>| inside.numbers(side.of(&self.blobs), model.as_deref());
            let numbers = [numbers(Which::Before, before), numbers(Which::After, after)];
            self.forms_apart(change, numbers);
        } else {
            let equal = self.equal(before.bytes, after.bytes);
            let same_scales = match (before.scales, after.scales) {
                (Some(before), Some(after)) => self.equal(before, after),
                (before, after) => Some(before.is_none() && after.is_none()),
            };
            if equal == Some(true) && same_scales == Some(true) {
                return;
            }
            let numbers = |side: Which, inside: &Inside<'s>| {
                let numbers = inside.payload.dequantized(inside.value, side.of(&self.blobs)).ok()??;
                Some(Values::Numbers(numbers))
            };
            match (equal.and(same_scales), numbers(Which::Before, before), numbers(Which::After, after)) {
                (None, ..) => {
                    change.after = Some("not compared: too many tensors share their bytes".into());
                    self.difference(change);
                }
                (_, Some(before), Some(after)) => self.apart(change, [before, after]),
                _ => self.difference(change),
            }
        }
        self.tell_keys(Which::Before, before);
        self.tell_keys(Which::After, after);
    }

    /// Matches constants inside delegates without a counterpart by their names, and then weights of values with the remaining constants.
    pub(super) fn across(&mut self, [removed, added]: [Vec<Weight<'s>>; 2]) {
        let [before, after] = core::mem::take(&mut self.lonely_inside);
        let mut by_name: BTreeMap<String, Option<Inside<'s>>> = BTreeMap::new();
        let mut rest = Vec::new();
        for inside in after {
            match inside.given_name() {
                Some(name) if !by_name.contains_key(name) => _ = by_name.insert(name.into(), Some(inside)),
                _ => rest.push(inside),
            }
        }
        let mut other_rest = Vec::new();
        for inside in before {
            match inside.given_name().and_then(|name| by_name.get_mut(name)?.take()) {
                Some(other) => self.pair_inside(&inside, &other),
                None => other_rest.push(inside),
            }
        }
        rest.extend(by_name.into_values().flatten());
        self.with_inside(Which::After, &removed, &rest);
        self.with_inside(Which::Before, &added, &other_rest);
    }

    /// Matches weights of values with constants inside the delegates of the other side, `side`, by name or by equal bytes.
    fn with_inside(&mut self, side: Which, weights: &[Weight<'s>], inside: &[Inside<'s>]) {
        // Equal bytes have equal starts.
        let start = |bytes: &'s [u8]| (bytes.len(), bytes.get(..MAX_START).unwrap_or(bytes));
        let (mut by_name, mut by_start) = (BTreeMap::<&str, _>::new(), BTreeMap::<(usize, &[u8]), Vec<_>>::new());
        for (index, constant) in inside.iter().enumerate() {
            if let Some(name) = constant.given_name() {
                by_name.entry(name).or_insert((index, constant));
            }
            by_start.entry(start(constant.bytes)).or_default().push((index, constant));
        }
        let mut taken: BTreeMap<usize, &Inside<'s>> = BTreeMap::new();
        let kind = if side == Which::Before { DifferenceKind::Added } else { DifferenceKind::Removed };
        for weight in weights {
            let named = weight.given_name().and_then(|name| by_name.get(name)).copied();
            let found = named.filter(|(index, _)| !taken.contains_key(index)).or_else(|| {
                let alike = by_start.get(&start(weight.bytes))?.iter().copied();
                let mut alike = alike.filter(|(index, _)| !taken.contains_key(index)).take(MAX_ALIKE);
                alike.find(|(_, other)| self.equal(weight.bytes, other.bytes) == Some(true))
            });
            match found {
                Some((index, constant)) => {
                    taken.insert(index, constant);
                    self.entered(weight, constant, side);
                }
                None => self.difference(weight.difference(kind)),
            }
        }
        let mut told: BTreeSet<&str> = BTreeSet::new();
        for name in taken.values().filter_map(|constant| constant.given_name()) {
            told.insert(name);
        }
        let kind = if side == Which::Before { DifferenceKind::Removed } else { DifferenceKind::Added };
        for (_, constant) in inside.iter().enumerate().filter(|(index, _)| !taken.contains_key(index)) {
            let Some(name) = constant.given_name() else { continue };
            self.tell_keys(side, constant);
            // A constant of several delegates is reported once.
            if told.insert(name) {
                self.difference(constant.difference(kind));
            }
        }
    }

    /// Reports a weight of a value whose counterpart is inside a delegate of `side`, the other side.
    fn entered(&mut self, weight: &Weight<'s>, inside: &Inside<'s>, side: Which) {
        self.tell_keys(side, inside);
        let is_same = weight.bytes == inside.bytes || is_reordered(&weight.shape, weight.bytes, inside.bytes);
        let (mut before, mut after) = (weight.place.to_string(), inside.place());
        if !is_same {
            before = format!("{before} {}", weight.shape);
            after = format!("{after} {}", inside.tensor);
        }
        if side == Which::Before {
            core::mem::swap(&mut before, &mut after);
        }
        let kind = if is_same { DifferenceKind::Moved } else { DifferenceKind::Changed };
        let change = if side == Which::Before { inside.difference(kind) } else { weight.difference(kind) };
        let change = Difference { before: Some(before), after: Some(after), ..change };
        if is_same {
            self.storage(change);
            return;
        }
        let of_weight = self.numbers(if side == Which::Before { Which::After } else { Which::Before }, weight);
        let sizes = || of_weight.as_ref().ok().map(|numbers| numbers.dims().to_vec());
        let model = sizes_of(inside.name).or_else(sizes);
        let of_inside = inside.numbers(side.of(&self.blobs), model.as_deref());
        let numbers = if side == Which::Before { [of_inside, of_weight] } else { [of_weight, of_inside] };
        self.forms_apart(change, numbers);
    }
}

/// Returns the sizes of the model's tensor, if the source of a name has them.
fn sizes_of(name: Option<&Name<'_>>) -> Option<Vec<u32>> {
    name?.sizes.as_ref()?.iter().map(|size| u32::try_from(*size).ok()).collect()
}

/// Returns `true` if the elements are the same in XNNPACK's order. Filters have the channels of the input last, or the channels of the
/// output if depthwise. Linear weights are transposed.
#[expect(clippy::indexing_slicing, reason = "a matrix has rows times columns elements")]
fn is_reordered(shape: &TensorShape<'_>, bytes: &[u8], inside: &[u8]) -> bool {
    let sizes: Vec<usize> = shape.sizes.iter().map(|size| usize::try_from(*size).unwrap_or_default()).collect();
    let element = shape.scalar_type.element_size().unwrap_or_default();
    let [first, second, ..] = *sizes else { return false };
    let count = sizes.iter().try_fold(element, |bytes, size| bytes.checked_mul(*size));
    if !shape.is_natural() || count != Some(bytes.len()) || bytes.len() != inside.len() || bytes.is_empty() {
        return false;
    }
    let is_transposed = |matrices: usize, rows: usize| {
        let columns = bytes.len() / element / matrices / rows;
        let size = bytes.len() / matrices;
        bytes.chunks(size).zip(inside.chunks(size)).all(|(matrix, other)| {
            other.chunks(element).enumerate().all(|(index, value)| {
                let start = (index % rows * columns + index / rows) * element;
                matrix[start..start + element] == *value
            })
        })
    };
    is_transposed(first, second) || is_transposed(1, first)
}
