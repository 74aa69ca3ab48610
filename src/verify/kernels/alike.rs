//! Values that no kernel can tell apart, so that equal calls, such as those of a model's equal layers, are judged once.

use super::ints::Ints;
use super::sizes::Size;
use crate::schema::ScalarType;
use crate::schema::program::{ExecutionPlan, KernelTypes, Tensor};
use alloc::{collections::BTreeMap, vec::Vec};

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

/// Returns, for each value, the first one that no kernel can tell apart from it.
#[expect(clippy::indexing_slicing, reason = "indices are those of values, and each value has an item")]
pub(super) fn of_values(plan: &ExecutionPlan<'_>, ints: &Ints) -> Vec<u32> {
    let mut firsts: Vec<u32> = (0..plan.values().len()).map(|index| index as u32).collect();
    let mut seen = BTreeMap::new();
    let mut lists = Vec::new();
    for (index, value) in plan.values().iter().enumerate() {
        let is_constant = ints.is_constant(index);
        let content = match &value.val {
            KernelTypes::Null(_) => Content::Null,
            KernelTypes::Int(int) => Content::Int(ints.get(index, int.int_val), is_constant),
            KernelTypes::Bool(value) => Content::Bool(value.bool_val, is_constant),
            KernelTypes::Double(double) => Content::Double(double.double_val.to_bits(), is_constant),
            KernelTypes::Tensor(tensor) => match of_tensor(tensor) {
                Some(content) => content,
                None => continue,
            },
            KernelTypes::IntList(_) | KernelTypes::TensorList(_) | KernelTypes::OptionalTensorList(_) => {
                lists.push(index);
                continue;
            }
            _ => continue,
        };
        firsts[index] = *seen.entry(content).or_insert(index as u32);
    }
    // Lists refer to values before and after them.
    for index in lists {
        let value = &plan.values()[index].val;
        let item = |item: i64| usize::try_from(item).ok().and_then(|item| firsts.get(item).copied());
        let items: Vec<Option<u32>> = match value {
            KernelTypes::IntList(list) if list.items().len() <= MAX_ITEMS => {
                list.items().iter().map(|index| item(*index)).collect()
            }
            other => match other.tensors() {
                Some(items) if items.len() <= MAX_ITEMS => items.iter().map(|index| item((*index).into())).collect(),
                _ => continue,
            },
        };
        firsts[index] = *seen.entry(Content::List(value.tag(), items)).or_insert(index as u32);
    }
    firsts
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
        of_values(&plan, &Ints::new(&plan))
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
