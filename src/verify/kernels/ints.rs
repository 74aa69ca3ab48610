//! The integers of a method: constants, and those that are known only when it runs.

use super::sizes::Size;
use crate::operators::{self, KnownOperator};
use crate::schema::program::{ExecutionPlan, InstructionArguments, KernelTypes, TensorShapeDynamism};
use alloc::{vec, vec::Vec};

/// What is known about the values that instructions or callers set.
pub(super) struct Ints {
    /// For each value, `None` if it is a constant.
    set: Vec<Option<Size>>,
}

impl Ints {
    pub(super) fn new(plan: &ExecutionPlan<'_>) -> Self {
        let mut ints = Self { set: vec![None; plan.values().len()] };
        let mut branches = false;
        let mut writes = vec![0_u8; plan.values().len()];
        let operators: Vec<_> = plan.operators().iter().map(operators::find).collect();
        let known = |index: i32| usize::try_from(index).ok().and_then(|index| *operators.get(index)?);
        plan.inputs().iter().for_each(|input| ints.lose(*input));
        for (_, instruction) in plan.instructions() {
            let mut write = |value: i32| {
                if let Some(count) = usize::try_from(value).ok().and_then(|value| writes.get_mut(value)) {
                    *count = count.saturating_add(1);
                }
                ints.lose(value);
            };
            match instruction {
                InstructionArguments::KernelCall(call) => {
                    let arguments = known(call.op_index).map_or(&[][..], |row| row.arguments);
                    for (at, value) in call.args().iter().enumerate() {
                        if arguments.get(at).is_none_or(|argument| argument.is_output()) {
                            write(*value);
                        }
                    }
                }
                InstructionArguments::DelegateCall(call) => call.args().iter().copied().for_each(write),
                InstructionArguments::MoveCall(call) => write(call.move_to),
                InstructionArguments::JumpFalseCall(_) => branches = true,
                _ => {}
            }
        }
        if branches {
            return ints;
        }
        let computes =
            |row: &&KnownOperator| row.name.starts_with("executorch_prim::") || row.name.starts_with("aten::sym_");
        let computing: Vec<_> = operators.iter().map(|row| row.filter(computes)).collect();
        for (_, instruction) in plan.instructions() {
            let InstructionArguments::KernelCall(call) = instruction else { continue };
            let row = usize::try_from(call.op_index).ok().and_then(|index| *computing.get(index)?);
            let Some(row) = row else { continue };
            let Some(result) = call.args().last().and_then(|value| usize::try_from(*value).ok()) else { continue };
            if writes.get(result) == Some(&1) {
                let size = ints.compute(row.name, call.args(), plan).unwrap_or(Size::Any);
                if let Some(set) = ints.set.get_mut(result) {
                    *set = Some(size);
                }
            }
        }
        ints
    }

    fn lose(&mut self, value: i32) {
        if let Some(set) = usize::try_from(value).ok().and_then(|value| self.set.get_mut(value)) {
            *set = Some(Size::Any);
        }
    }

    /// Returns the result of an operator of the runtime on integers.
    fn compute(&self, name: &str, args: &[i32], plan: &ExecutionPlan<'_>) -> Option<Size> {
        let int = |at: usize| {
            let index = usize::try_from(*args.get(at)?).ok()?;
            match &plan.values().get(index)?.val {
                KernelTypes::Int(int) => Some(self.get(index, int.int_val)),
                _ => None,
            }
        };
        if name == "aten::sym_size.int" {
            let (tensor, Size::Is(dim)) = (plan.tensor(*args.first()?)?, int(1)?) else { return None };
            let sizes = tensor.sizes();
            let dim = if dim < 0 { dim + sizes.len() as i64 } else { dim };
            let size = i64::from(*sizes.get(usize::try_from(dim).ok()?)?);
            let is_static = tensor.shape_dynamism == TensorShapeDynamism::STATIC;
            return Some(if is_static { Size::Is(size) } else { Size::UpTo(size) });
        }
        if name == "aten::sym_numel" {
            let tensor = plan.tensor(*args.first()?)?;
            let elements =
                tensor.sizes().iter().try_fold(1_i64, |product, size| product.checked_mul(i64::from(*size)))?;
            let is_static = tensor.shape_dynamism == TensorShapeDynamism::STATIC;
            return Some(if is_static { Size::Is(elements) } else { Size::UpTo(elements) });
        }
        if name == "executorch_prim::neg.Scalar" {
            let Size::Is(value) = int(0)? else { return None };
            return value.checked_neg().map(Size::Is);
        }
        let (left, right) = (int(0)?, int(1)?);
        let fixed = |compute: fn(i64, i64) -> Option<i64>| match (left, right) {
            (Size::Is(left), Size::Is(right)) => compute(left, right).map(Size::Is),
            _ => None,
        };
        let is_natural = |size: Size| size.bound().is_some_and(|size| size >= 0);
        match name {
            "executorch_prim::add.Scalar" if is_natural(left) && is_natural(right) => {
                Some(left.with(right, i64::saturating_add))
            }
            "executorch_prim::add.Scalar" => fixed(i64::checked_add),
            "executorch_prim::mul.Scalar" if is_natural(left) && is_natural(right) => Some(left.times(right)),
            "executorch_prim::mul.Scalar" => fixed(i64::checked_mul),
            "executorch_prim::sub.Scalar" => match right {
                Size::Is(right @ 0..) => Some(left.map(|left| left.saturating_sub(right))),
                _ => fixed(i64::checked_sub),
            },
            "executorch_prim::mod.Scalar" | "executorch_prim::mod.int" => fixed(i64::checked_rem),
            "executorch_prim::floordiv.int" => fixed(i64::checked_div),
            "executorch_prim::floordiv.Scalar" => match right {
                Size::Is(right @ 1..) => Some(left.map(|left| left.div_euclid(right))),
                _ => None,
            },
            "executorch_prim::sym_max.Scalar" => Some(left.with(right, i64::max)),
            "executorch_prim::sym_min.Scalar" => Some(left.with(right, i64::min)),
            _ => None,
        }
    }

    /// Returns `true` if nothing sets the value.
    pub(super) fn is_constant(&self, value: usize) -> bool {
        self.set.get(value) == Some(&None)
    }

    /// Returns an integer whose value in the file is `constant`.
    pub(super) fn get(&self, value: usize, constant: i64) -> Size {
        match self.set.get(value) {
            Some(None) => Size::Is(constant),
            Some(Some(size)) => *size,
            None => Size::Any,
        }
    }
}
