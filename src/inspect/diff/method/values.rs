//! Matches the values of two methods, and compares them.

use super::Pair;
use super::text::{arguments, exact};
use crate::inspect::diff::{Difference, DifferenceKind, DifferenceSubject, Which, tree};
use crate::inspect::graph::value_text;
use crate::path::Path;
use crate::schema::program::{ExecutionPlan, KernelTypes, Tensor};
use alloc::collections::BTreeMap;
use alloc::{borrow::ToOwned, format, string::String, string::ToString, vec, vec::Vec};

impl<'s> Pair<'_, 's> {
    /// Matches the values with the same name, if the model's author gave it and it is unique in each method.
    pub(super) fn same_names(&mut self) {
        let [left, right] = self.names.map(|names| {
            let mut by_name: BTreeMap<&'s str, Option<usize>> = BTreeMap::new();
            for (value, name) in names.map(|names| names.values.as_slice()).unwrap_or_default().iter().enumerate() {
                if let Some(name) = name.as_ref().filter(|name| name.named_by.is_given()) {
                    let is_first = !by_name.contains_key(&*name.name);
                    by_name.insert(&name.name, is_first.then_some(value));
                }
            }
            by_name
        });
        let mut pairs = Vec::new();
        for (name, value) in left.iter() {
            if let (Some(value), Some(Some(second))) = (value, right.get(*name)) {
                pairs.push((*value, *second));
            }
        }
        pairs.sort();
        for (first, second) in pairs {
            self.match_values(first as i32, second as i32, false);
        }
    }

    /// Matches two values. Returns `false` if one of them is already matched with a different value. `reported` is `true` if a difference
    /// in their texts was already reported.
    pub(super) fn match_values(&mut self, left: i32, right: i32, reported: bool) -> bool {
        let (Ok(first), Ok(second)) = (usize::try_from(left), usize::try_from(right)) else {
            return left == right;
        };
        let [plan, other_plan] = self.plans;
        let (Some(value), Some(other_value)) = (plan.values().get(first), other_plan.values().get(second)) else {
            return plan.values().get(first).is_none() && other_plan.values().get(second).is_none();
        };
        match (&value.val, &other_value.val) {
            (KernelTypes::Tensor(tensor), KernelTypes::Tensor(other_tensor)) => {
                let has_data = |tensor: &Tensor<'_>| tensor.is_external() || tensor.data_buffer_idx > 0;
                let both_constant = has_data(tensor) && has_data(other_tensor);
                match (self.values.get(&first), self.taken.get(&second)) {
                    (Some(known), Some(_)) if *known == second => return true,
                    (None, None) => {}
                    // A constant may be stored as several tensors.
                    _ if both_constant => {}
                    _ => return false,
                }
                self.values.insert(first, second);
                self.taken.insert(second, first);
                self.renumbered += usize::from(first != second);
                self.tensor(first, (tensor, other_tensor), reported);
                let [pte, other_pte] = self.ptes;
                let [index, other_index] = self.indices;
                self.comparer.tensors((pte, (index, plan), first), (other_pte, (other_index, other_plan), second));
                true
            }
            (KernelTypes::TensorList(left), KernelTypes::TensorList(right)) => {
                self.items(left.items(), right.items(), reported)
            }
            (KernelTypes::OptionalTensorList(left), KernelTypes::OptionalTensorList(right)) => {
                self.items(left.items(), right.items(), reported)
            }
            (left, right) => {
                let same = core::mem::discriminant(left) == core::mem::discriminant(right);
                let [of_first, of_second] = &self.computed;
                let computed = of_first.binary_search(&first).is_ok() || of_second.binary_search(&second).is_ok();
                let known = (self.values.get(&first), self.taken.get(&second));
                if computed && !matches!(known, (None, None)) {
                    return same && known.0 == Some(&second);
                }
                self.values.entry(first).or_insert(second);
                self.taken.entry(second).or_insert(first);
                same
            }
        }
    }

    fn items(&mut self, left: &'s [i32], right: &'s [i32], reported: bool) -> bool {
        let Some(budget) = self.budget.checked_sub(left.len()).filter(|_| left.len() == right.len()) else {
            return false;
        };
        self.budget = budget;
        left.iter().zip(right).fold(true, |fits, (left, right)| self.match_values(*left, *right, reported) && fits)
    }

    fn tensor(&mut self, value: usize, (left, right): (&'s Tensor<'s>, &'s Tensor<'s>), reported: bool) {
        let text = |tensor: &Tensor<'_>| tensor.shape().to_string_with(tensor.shape_dynamism);
        let (shape, other_shape) = (text(left), text(right));
        if !reported {
            self.value_changed(DifferenceSubject::Value, value, "", &shape, &other_shape);
        }
        let place = |tensor: &Tensor<'_>| match tensor.allocation_info {
            Some(place) => format!("buffer {} at {}", place.memory_id, place.memory_offset()),
            None => "not planned".into(),
        };
        if left.allocation_info != right.allocation_info {
            self.replaced.push((value, shape.clone(), place(left), place(right)));
        }
        if left == right {
            return;
        }
        let mut fields = Vec::new();
        tree::compare(left, right, &Path::ROOT, &mut |path, before, after| {
            fields.push((path.to_string(), before, after))
        });
        // Fields that the shape, the place and the data cover. A shape without a dim order has the natural one.
        let in_shape = ["scalar_type", "sizes", "dim_order", "shape_dynamism"];
        let elsewhere = ["data_buffer_idx", "allocation_info", "extra_tensor_info"];
        let starts = |path: &str, names: &[&str]| names.iter().any(|name| path.starts_with(name));
        for (path, before, after) in fields {
            let inside = ["extra_tensor_info.device_type", "extra_tensor_info.device_index"].contains(&path.as_str());
            let seen = starts(&path, &elsewhere) || (shape != other_shape && starts(&path, &in_shape));
            if inside || !seen {
                self.value_changed(DifferenceSubject::Value, value, &format!(" {path}"), &before, &after);
            }
        }
    }

    /// Matches the values that no instruction, input or output refers to, and collects the values without a counterpart.
    pub(super) fn rest(&mut self) {
        let [plan, other_plan] = self.plans;
        let [pte, other_pte] = self.ptes;
        let mentioned = |plan: &ExecutionPlan<'_>| {
            let mut mentioned = vec![false; plan.values().len()];
            let mut mention = |value: i32| {
                let place = usize::try_from(value).ok().and_then(|value| mentioned.get_mut(value));
                if let Some(place) = place {
                    *place = true;
                }
            };
            for (_, instruction) in plan.instructions() {
                arguments(instruction).into_iter().for_each(&mut mention);
            }
            for list in [plan.inputs(), plan.outputs()] {
                list.iter().copied().for_each(&mut mention);
            }
            for value in plan.values() {
                match &value.val {
                    KernelTypes::IntList(list) => {
                        list.items().iter().filter_map(|item| i32::try_from(*item).ok()).for_each(&mut mention)
                    }
                    KernelTypes::TensorList(list) => list.items().iter().copied().for_each(&mut mention),
                    KernelTypes::OptionalTensorList(list) => list.items().iter().copied().for_each(&mut mention),
                    _ => {}
                }
            }
            mentioned
        };
        // Unused values are matched by their content.
        let unused = |plan: &ExecutionPlan<'_>| {
            let mut unused: BTreeMap<(Option<String>, String), Vec<usize>> = BTreeMap::new();
            for (index, _) in mentioned(plan).iter().enumerate().filter(|(_, mentioned)| !**mentioned) {
                let exact = plan.value(index).map(|value| exact(plan, &value.val));
                unused.entry((exact, value_text(plan, index as i32))).or_default().push(index);
            }
            unused
        };
        let (left, mut right) = (unused(plan), unused(other_plan));
        for (key, indices) in left {
            let text = &key.1;
            let mut others = right.get_mut(&key).map(core::mem::take).unwrap_or_default().into_iter();
            for index in indices {
                match others.next() {
                    Some(second) => {
                        self.match_values(index as i32, second as i32, false);
                    }
                    None => self.unused(Which::Before, index, text),
                }
            }
            others.for_each(|second| self.unused(Which::After, second, text));
        }
        for ((_, text), indices) in right {
            for second in indices {
                self.unused(Which::After, second, &text);
            }
        }
        let lonely: Vec<usize> = (0..plan.values().len()).filter(|value| !self.values.contains_key(value)).collect();
        self.comparer.only(Which::Before, pte, (self.indices[0], plan), lonely.into_iter());
        let lonely: Vec<usize> =
            (0..other_plan.values().len()).filter(|value| !self.taken.contains_key(value)).collect();
        self.comparer.only(Which::After, other_pte, (self.indices[1], other_plan), lonely.into_iter());
        if self.renumbered > 0 {
            let name = format!("s with another index: {} of {}", self.renumbered, plan.values().len());
            self.comparer.storage(Difference::new(
                DifferenceSubject::Value,
                DifferenceKind::Moved,
                Some(self.name),
                name,
            ));
        }
    }

    /// Adds a difference of an unused value of one side.
    fn unused(&mut self, side: Which, index: usize, text: &str) {
        let text = Some(text.to_owned());
        let (kind, before, after) = match side {
            Which::Before => (DifferenceKind::Removed, text, None),
            Which::After => (DifferenceKind::Added, None, text),
        };
        let change = Difference::new(DifferenceSubject::UnusedValue, kind, Some(self.name), format!("%{index}"));
        let change = change.named(self.value_name(side, index));
        self.comparer.difference(Difference { before, after, ..change });
    }
}
