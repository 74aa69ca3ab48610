//! Values that no kernel can tell apart, so that equal calls, such as those of a model's equal layers, are judged once.

use super::ints::Ints;
use super::sizes::Size;
use crate::schema::ScalarType;
use crate::schema::program::{ExecutionPlan, KernelTypes, Tensor};
use alloc::{collections::BTreeMap, vec, vec::Vec};

/// The most sizes and items that are compared. Longer lists, which many values of a damaged file may share, are like no other.
const MAX_ITEMS: usize = 16;

/// The properties of a value that rules about calls depend on. A rule that depends on more adds it here.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Content<'t> {
    Null,
    /// An integer that is known, bounded or unknown; `true` for a constant.
    Int(Size, bool),
    /// `true` for a constant.
    Bool(bool, bool),
    /// The bits of a number; `true` for a constant.
    Double(u64, bool),
    /// The type, the dynamism, the sizes, the dim order, and the data of constant integers.
    Tensor(i8, i8, &'t [i32], &'t [u8], u32),
    /// The kind of a list, and the values that its items are like; `None` for an absent one.
    List(u8, Vec<Option<u32>>),
}

/// The values of a method, each with the first asked value that no kernel can tell apart from it.
pub(super) struct Alike<'t> {
    plan: &'t ExecutionPlan<'t>,
    /// `None` for a value that was not asked for.
    firsts: Vec<Option<u32>>,
    seen: BTreeMap<Content<'t>, u32>,
}

impl<'t> Alike<'t> {
    pub(super) fn new(plan: &'t ExecutionPlan<'_>) -> Self {
        Self { plan, firsts: vec![None; plan.values().len()], seen: BTreeMap::new() }
    }

    /// Returns the first asked value that no kernel can tell apart from this one; `None` if there is no such value.
    #[inline]
    pub(super) fn first(&mut self, value: usize, ints: &Ints) -> Option<u32> {
        match *self.firsts.get(value)? {
            Some(first) => Some(first),
            None => self.find(value, ints),
        }
    }

    fn find(&mut self, value: usize, ints: &Ints) -> Option<u32> {
        let content = &self.plan.values().get(value)?.val;
        let content = match is_list(content) {
            true => self.of_list(content, ints),
            false => of_value(value, content, ints),
        };
        let first = content.map_or(value as u32, |content| *self.seen.entry(content).or_insert(value as u32));
        *self.firsts.get_mut(value)? = Some(first);
        Some(first)
    }

    fn of_list(&mut self, list: &KernelTypes<'_>, ints: &Ints) -> Option<Content<'t>> {
        let mut item = |index: i64| {
            let index = usize::try_from(index).ok()?;
            // Only a damaged file has a list in a list.
            let is_list = self.plan.values().get(index).is_some_and(|value| is_list(&value.val));
            if is_list { Some(index as u32) } else { self.first(index, ints) }
        };
        let items = match list {
            KernelTypes::IntList(list) if list.items().len() <= MAX_ITEMS => {
                list.items().iter().map(|index| item(*index)).collect()
            }
            other => {
                let items = other.tensors().filter(|items| items.len() <= MAX_ITEMS)?;
                items.iter().map(|index| item((*index).into())).collect()
            }
        };
        Some(Content::List(list.tag(), items))
    }
}

fn is_list(value: &KernelTypes<'_>) -> bool {
    matches!(value, KernelTypes::IntList(_) | KernelTypes::TensorList(_) | KernelTypes::OptionalTensorList(_))
}

/// Returns the content of a value that is not a list; `None` for one that is like no other.
fn of_value<'t>(index: usize, value: &'t KernelTypes<'_>, ints: &Ints) -> Option<Content<'t>> {
    let is_constant = ints.is_constant(index);
    Some(match value {
        KernelTypes::Null(_) => Content::Null,
        KernelTypes::Int(int) => Content::Int(ints.get(index, int.int_val), is_constant),
        KernelTypes::Bool(value) => Content::Bool(value.bool_val, is_constant),
        KernelTypes::Double(double) => Content::Double(double.double_val.to_bits(), is_constant),
        KernelTypes::Tensor(tensor) => return of_tensor(tensor),
        _ => return None,
    })
}

fn of_tensor<'t>(tensor: &'t Tensor<'_>) -> Option<Content<'t>> {
    let (sizes, dim_order) = (tensor.sizes(), tensor.dim_order());
    let is_short = sizes.len() <= MAX_ITEMS && dim_order.len() <= MAX_ITEMS;
    let is_read = tensor.allocation_info.is_none() && matches!(tensor.scalar_type, ScalarType::INT | ScalarType::LONG);
    let constant = if is_read { tensor.data_buffer_idx } else { 0 };
    is_short.then_some(Content::Tensor(tensor.scalar_type.0, tensor.shape_dynamism.0, sizes, dim_order, constant))
}

#[cfg(test)]
#[allow(clippy::field_reassign_with_default)]
mod tests {
    use super::*;
    use crate::schema::program::{Double, EValue, Int, IntList, Null, TensorList, TensorShapeDynamism};
    use alloc::vec;

    fn firsts(values: Vec<KernelTypes<'_>>, inputs: &[i32]) -> Vec<u32> {
        let values: Vec<EValue<'_>> = values.into_iter().map(|val| EValue { val }).collect();
        let mut plan = ExecutionPlan::default();
        plan.values = Some(values);
        plan.inputs = Some(inputs.to_vec().into());
        let (mut alike, ints) = (Alike::new(&plan), Ints::new(&plan));
        (0..plan.values().len()).map_while(|value| alike.first(value, &ints)).collect()
    }

    fn tensor(change: impl FnOnce(&mut Tensor<'static>)) -> KernelTypes<'static> {
        let mut tensor = Tensor::default();
        tensor.sizes = Some(vec![2, 3].into());
        tensor.dim_order = Some(vec![0, 1].into());
        change(&mut tensor);
        tensor.into()
    }

    #[test]
    fn tensors_are_told_apart_by_type_sizes_order_and_dynamism() {
        let values = vec![
            tensor(|_| {}),
            tensor(|tensor| tensor.scalar_type = ScalarType::INT),
            tensor(|tensor| tensor.sizes = Some(vec![3, 2].into())),
            tensor(|tensor| tensor.dim_order = Some(vec![1, 0].into())),
            tensor(|tensor| tensor.shape_dynamism = TensorShapeDynamism::DYNAMIC_BOUND),
            // The place of the bytes does not matter.
            tensor(|tensor| tensor.data_buffer_idx = 7),
            tensor(|tensor| tensor.scalar_type = ScalarType::INT),
            // Unless rules look at them.
            tensor(|tensor| (tensor.scalar_type, tensor.data_buffer_idx) = (ScalarType::INT, 7)),
        ];
        assert_eq!(firsts(values, &[]), [0, 1, 2, 3, 4, 0, 1, 7]);
    }

    #[test]
    fn numbers_are_told_apart_by_kind_and_value_and_from_inputs() {
        let int = |int_val| KernelTypes::from(Int { int_val });
        let double = |double_val| KernelTypes::from(Double { double_val });
        let values =
            vec![int(1), int(2), double(1.0), double(-0.0), double(0.0), int(1), Null::default().into(), int(1)];
        assert_eq!(firsts(values, &[7]), [0, 1, 2, 3, 4, 0, 6, 7]);
    }

    #[test]
    fn lists_are_told_apart_by_kind_and_items() {
        let ints = |items: &[i64]| {
            let mut list = IntList::default();
            list.items = Some(items.to_vec().into());
            KernelTypes::from(list)
        };
        let mut tensors = TensorList::default();
        tensors.items = Some(vec![0, 1].into());
        let int = |int_val| KernelTypes::from(Int { int_val });
        let long = [0; MAX_ITEMS + 1];
        let values = vec![
            int(1),
            int(1),
            int(2),
            ints(&[0, 0]),
            ints(&[1, 0]),
            ints(&[0, 2]),
            ints(&[0]),
            tensors.into(),
            ints(&long),
            ints(&long),
        ];
        assert_eq!(firsts(values, &[]), [0, 0, 2, 3, 3, 5, 6, 7, 8, 9]);
    }
}
