//! A quick proof that no tensor in planned memory overwrites another one that is still needed.

use super::access::{Accesses, Calls, Role};
use super::held::Place;
use super::{has_state, walk::planned};
use crate::schema::program::{ExecutionPlan, InstructionArguments, KernelTypes};
use alloc::vec::Vec;

/// Whether all tensors of a method are apart if each keeps its memory from the instruction that writes it first to the last one that
/// names it, and a tensor that some instruction reads first from the start to the end. One that no instruction writes is a view of what
/// is at its place.
///
/// `false` if they are not, and if the order of the instructions alone does not tell: [`Dataflow`](super::Dataflow) does.
// Compiled into the rule that calls it, it makes strict verification 8 % slower.
#[inline(never)]
pub(crate) fn are_apart(plan: &ExecutionPlan<'_>, calls: &Calls<'_, '_>) -> bool {
    Uses::of(plan, calls).and_then(Uses::hold).is_some()
}

/// After all instructions.
const END: u32 = u32::MAX;

/// How a value uses planned memory.
#[derive(Clone, Copy)]
enum Use {
    /// Not at all.
    None,
    /// It is a list of values.
    List,
    /// It is a view of another value.
    View(u32),
    /// Not yet.
    Never,
    /// It was read, and not written.
    OnlyRead,
    /// From the first time to the last.
    Needed { first: u32, last: u32 },
}

/// From the start to the end.
const ALWAYS: Use = Use::Needed { first: 0, last: END };

struct Uses<'t, 'a> {
    plan: &'t ExecutionPlan<'a>,
    /// By value.
    uses: Vec<Use>,
    /// First writes after the start, and reads of values that were not written before, in order of time.
    order: Vec<(u32, u32)>,
    time: u32,
    /// How many more steps may be taken.
    budget: usize,
}

impl<'t, 'a> Uses<'t, 'a> {
    /// `None` if the order of the instructions does not tell.
    fn of(plan: &'t ExecutionPlan<'a>, calls: &Calls<'_, '_>) -> Option<Self> {
        let mut uses = Vec::with_capacity(plan.values().len());
        for value in plan.values() {
            uses.push(match &value.val {
                KernelTypes::Tensor(tensor) if has_state(tensor) => ALWAYS,
                KernelTypes::Tensor(tensor) if tensor.allocation_info.is_some() => Use::Never,
                KernelTypes::IntList(_) | KernelTypes::TensorList(_) | KernelTypes::OptionalTensorList(_) => Use::List,
                _ => Use::None,
            });
        }
        let instructions: usize = plan.chains().iter().map(|chain| chain.instructions().len()).sum();
        let budget = 32 * (uses.len() + instructions);
        let mut found = Self { plan, uses, order: Vec::new(), time: 0, budget };
        for input in plan.inputs() {
            found.argument(*input, true)?;
        }
        let (mut accesses, mut written) = (Accesses::default(), Vec::new());
        for (_, instruction) in plan.instructions() {
            found.time += 1;
            calls.find(instruction, &mut accesses);
            match (instruction, accesses.unknown) {
                (InstructionArguments::KernelCall(_), _) | (InstructionArguments::DelegateCall(_), None) => {}
                (InstructionArguments::FreeCall(_), _) => {}
                _ => return None,
            }
            // A call may write what it reads.
            for access in &accesses.list {
                match access.role {
                    Role::Write | Role::Scratch => written.push(access.value),
                    Role::View(of) => found.view(access.value, of)?,
                    Role::Again => {}
                    Role::Read | Role::InPlace | Role::Replace | Role::Fill => found.argument(access.value, false)?,
                }
                if access.role.is_in_place() {
                    written.push(access.value);
                }
            }
            for value in written.drain(..) {
                found.argument(value, true)?;
            }
        }
        found.time = END;
        for output in plan.outputs() {
            found.argument(*output, false)?;
        }
        Some(found)
    }

    /// An argument that a call reads or writes: a value, or a list of values.
    fn argument(&mut self, value: i32, writes: bool) -> Option<()> {
        if !matches!(self.uses.get(usize::try_from(value).ok()?)?, Use::List) {
            return self.tensor(value, writes);
        }
        match &self.plan.value(value)?.val {
            KernelTypes::IntList(list) => {
                self.budget = self.budget.checked_sub(list.items().len())?;
                for item in list.items() {
                    self.tensor((*item).try_into().ok()?, writes)?;
                }
            }
            list => {
                let items = list.tensors()?;
                self.budget = self.budget.checked_sub(items.len())?;
                // An item of -1 is none.
                for item in items.iter().filter(|item| **item != -1) {
                    self.tensor(*item, writes)?;
                }
            }
        }
        Some(())
    }

    fn tensor(&mut self, value: i32, writes: bool) -> Option<()> {
        let mut value = u32::try_from(value).ok()?;
        let mut known = self.uses.get_mut(value as usize)?;
        if let Use::View(base) = *known {
            // What is written through a view may be another value's.
            value = base;
            known = self.uses.get_mut(value as usize).filter(|_| !writes)?;
        }
        match (&mut *known, writes) {
            (Use::Needed { last, .. }, _) => *last = self.time.max(*last),
            (Use::Never, true) => {
                *known = Use::Needed { first: self.time, last: self.time };
                self.order.push((self.time, value));
            }
            (Use::OnlyRead, true) => *known = ALWAYS,
            (Use::Never | Use::OnlyRead, false) => {
                *known = Use::OnlyRead;
                self.order.push((self.time, value));
            }
            // A view's base is none.
            (Use::None | Use::List | Use::View(_), _) => {}
        }
        Some(())
    }

    /// A call makes a value a view of one of its arguments.
    fn view(&mut self, value: i32, of: i32) -> Option<()> {
        if value == of || self.plan.tensor(of).is_none() {
            return Some(());
        }
        let place = planned(self.plan.tensor(value)?);
        let base = match self.uses.get(of as usize)? {
            Use::View(base) => *base,
            _ => of as u32,
        };
        let known = self.uses.get_mut(value as usize)?;
        let is_elsewhere = place.is_some() && place != self.plan.tensor(base).and_then(planned);
        if is_elsewhere || !matches!(known, Use::Never | Use::None) {
            return None;
        }
        *known = Use::View(base);
        Some(())
    }

    /// `None` if a value's place is taken while another one needs it, or if a value is read that nothing wrote.
    fn hold(mut self) -> Option<()> {
        // Places that do not overlap, in order, and the last use of each.
        let mut held: Vec<(Place, u32)> = Vec::new();
        let mut order = Vec::new();
        for (used, value) in self.uses.iter().zip(0..) {
            if let Use::Needed { first: 0, .. } = used {
                order.push((0, value));
            }
        }
        let from_start = order.len();
        order.append(&mut self.order);
        for (index, (time, value)) in order.into_iter().enumerate() {
            let used = *self.uses.get(value as usize)?;
            let Some(new) = self.plan.tensor(value).and_then(planned) else { continue };
            let start = position(new.buffer, new.start);
            let at = held.partition_point(|(place, _)| position(place.buffer, place.end) <= start);
            let rest = held.get_mut(at..).unwrap_or_default();
            let Use::Needed { first, last } = used else {
                let (_, last) = rest.first_mut().filter(|(place, _)| place.covers(&new))?;
                *last = time.max(*last);
                continue;
            };
            // Those that are used from the start are there already.
            if first == 0 && index >= from_start {
                continue;
            }
            let count = rest.iter().take_while(|(place, _)| place.overlaps(&new)).count();
            if rest.iter().take(count).any(|(_, needed)| *needed >= first) {
                return None;
            }
            // All after it are moved, unless it takes the place of one.
            self.budget = self.budget.checked_sub(count.abs_diff(1).saturating_mul(rest.len()))?;
            match rest.first_mut().filter(|_| count > 0) {
                Some(old) => *old = (new, last),
                None => held.insert(at, (new, last)),
            }
            for _ in 1..count {
                held.remove(at + 1);
            }
        }
        Some(())
    }
}

/// A number by which places in all buffers are in order: it is compared without a jump, which half of the searches would guess wrong.
fn position(buffer: u32, byte: u64) -> u128 {
    u128::from(buffer) << 64 | u128::from(byte)
}

#[cfg(test)]
mod tests {
    use super::super::DelegateOutputs;
    use super::*;
    use crate::schema::ScalarType;
    use crate::schema::program::{EValue, Instruction, Operator, Tensor};
    use alloc::vec;

    /// Bytes that are nowhere in planned memory.
    const UNPLANNED: u64 = u64::MAX;

    /// Tensors of 16 bytes at these offsets, of which the first is the input and the last the output. Each call reads the first value and
    /// writes the second; a call of the second operator makes that a view, and one of the third changes the first.
    fn apart(offsets: &[u64], calls: &[(i32, i32, i32)]) -> bool {
        let mut values: Vec<EValue<'_>> = Vec::new();
        for offset in offsets {
            let tensor = Tensor::new(ScalarType::FLOAT, vec![4]);
            values.push(if *offset == UNPLANNED { tensor } else { tensor.with_planned(1, *offset) }.into());
        }
        let size = values.len() as i32;
        values.push(EValue::int_list(vec![]));
        let operators = [("aten::abs", "out"), ("executorch_prim::et_view", "default"), ("aten::copy_", "")];
        let operators = operators.map(|(name, overload)| Operator::new(name, overload)).to_vec();
        let call = |(operator, one, other): &(i32, i32, i32)| {
            let args = if *operator == 0 { vec![*one, *other, *other] } else { vec![*one, size, *other] };
            Instruction::kernel_call(*operator, if *operator == 2 { vec![*one, *other, size] } else { args })
        };
        let plan = ExecutionPlan::new("m", values, operators, calls.iter().map(call).collect(), 0)
            .with_inputs(vec![0])
            .with_outputs(vec![size - 1]);
        are_apart(&plan, &Calls::new(&plan, 0, &DelegateOutputs::default()))
    }

    #[test]
    fn memory_may_be_used_again_after_the_last_call_that_names_it() {
        assert!(apart(&[0, 16, 0, 16], &[(0, 0, 1), (0, 1, 2), (0, 2, 3)]));
        assert!(!apart(&[0, 0, 16], &[(0, 0, 1), (0, 1, 2)]));
        assert!(!apart(&[0, 16, 0, 32], &[(0, 0, 1), (0, 1, 2), (0, 0, 3)]));
        assert!(!apart(&[0, 16, 8, 32], &[(0, 0, 1), (0, 1, 2), (0, 0, 3)]));
    }

    #[test]
    fn a_view_keeps_the_memory_of_its_base() {
        for view in [16, UNPLANNED] {
            assert!(apart(&[0, 16, view, 0], &[(0, 0, 1), (1, 1, 2), (0, 2, 3)]));
            assert!(!apart(&[0, 16, view, 16, 32], &[(0, 0, 1), (1, 1, 2), (0, 0, 3), (0, 2, 4)]));
        }
        assert!(!apart(&[0, 16, 32, 0], &[(0, 0, 1), (1, 1, 2), (0, 2, 3)]));
    }

    #[test]
    fn what_no_call_writes_is_a_view_of_what_is_at_its_place() {
        assert!(apart(&[0, 16, 16, 0], &[(0, 0, 1), (0, 2, 3)]));
        assert!(!apart(&[0, 16, 8, 0], &[(0, 0, 1), (0, 2, 3)]));
        assert!(!apart(&[0, 16, 32, 0], &[(0, 0, 1), (0, 2, 3)]));
    }

    #[test]
    fn what_is_read_first_keeps_its_memory() {
        assert!(apart(&[0, 16, 32], &[(0, 1, 2), (2, 1, 0)]));
        assert!(!apart(&[0, 16, 16], &[(0, 1, 2), (2, 1, 0)]));
    }
}
