//! Branches and loops of generated programs.

use super::{Generator, Scope};
use crate::program::{Arithmetic, Effect, Step, Value};
use executorch_format::schema::ScalarType;

impl Generator {
    pub(super) fn branches(&mut self, scope: &mut Scope, main: &[i32], depth: usize) {
        let condition = match self.random.below(4) {
            0 if !scope.conditions.is_empty() => scope.conditions[self.random.below(scope.conditions.len())],
            1 => {
                let of = self.pick(scope, main).expect("a tensor of the main shape");
                let condition = self.is_positive(of);
                scope.conditions.push(condition);
                condition
            }
            _ => {
                let inputs = self.program.inputs.iter().copied();
                let mut flags = inputs.filter(|input| self.program.tensor(*input).scalar_type == ScalarType::BOOL);
                let (count, first) = (flags.clone().count(), flags.next());
                match first {
                    Some(first) => {
                        // The flags are the last inputs.
                        first.max(self.program.inputs[self.program.inputs.len() - 1 - self.random.below(count)])
                    }
                    None => {
                        let of = self.pick(scope, main).expect("a tensor of the main shape");
                        self.is_positive(of)
                    }
                }
            }
        };
        let results: Vec<usize> = (0..1 + self.random.below(2)).map(|_| self.temporary(main)).collect();
        let skip = self.jump(condition);
        let mut end = 0;
        for branch in 0..2 {
            if branch == 1 {
                let never = self.flag(false);
                end = self.jump(never);
                self.land(skip);
            }
            let mut inner = scope.inner();
            let count = 1 + self.random.below(3);
            self.block(&mut inner, main, depth + 1, count);
            let from: Vec<usize> = results.iter().map(|_| self.result(&mut inner, main)).collect();
            for (from, to) in from.iter().zip(&results) {
                self.program.steps.push(Step::Move { from: *from, to: *to });
            }
        }
        self.land(end);
        results.into_iter().for_each(|result| scope.add(result));
    }

    /// Adds `torch.map` or `torch.scan`: a body for each row, whose results are the rows of a tensor.
    pub(super) fn rows(&mut self, scope: &mut Scope, depth: usize) {
        let shape = [self.rows, self.columns];
        let Some(of) = self.pick(scope, &shape) else { return };
        let row = vec![self.columns];
        let stacked = self.temporary(&shape);
        if let Value::Tensor(tensor) = &mut self.program.values[stacked] {
            tensor.dynamic = true;
        }
        let carried = self.chance(2).then(|| self.temporary(&row));
        let [index, count, zero, one] = [0, 0, 0, 1].map(|number| self.int(number));
        self.call(("aten::sym_size", "int"), vec![of, zero, count], Effect::Size { of, out: count });
        if let Some(carried) = carried {
            let initial = self.pick(scope, &row).unwrap_or_else(|| {
                let first = self.int(0);
                self.select(of, first)
            });
            self.copy(carried, initial);
        }
        let start = self.program.steps.len();
        let mut inner = scope.inner();
        let item = self.select(of, index);
        inner.add(item);
        inner.tensors.extend(carried);
        let count_of_steps = 1 + self.random.below(3);
        self.block(&mut inner, &row, depth + 1, count_of_steps);
        let result = self.result(&mut inner, &row);
        if let Some(carried) = carried {
            let next = self.result(&mut inner, &row);
            let next = if next == carried { result } else { next };
            self.copy(carried, next);
        }
        let effect = Effect::CopyRow { to: stacked, from: result, index };
        self.call(("executorch_prim::et_copy_index", "tensor"), vec![stacked, result, index], effect);
        self.arithmetic(Arithmetic::Add, index, one, index);
        let done = self.flag(false);
        self.arithmetic(Arithmetic::Eq, index, count, done);
        self.program.steps.push(Step::Jump { condition: done, to: start });
        self.arithmetic(Arithmetic::Sub, index, count, index);
        scope.add(stacked);
        carried.into_iter().for_each(|carried| scope.add(carried));
    }

    /// Adds `torch.while_loop` with a counter.
    pub(super) fn while_loop(&mut self, scope: &mut Scope, main: &[i32], depth: usize) {
        let Some(initial) = self.pick(scope, main) else { return };
        let carried = self.temporary(main);
        let moves = self.chance(3);
        let trips = 1 + self.random.below(3) as i64;
        let [index, count, one] = [0, trips, 1].map(|number| self.int(number));
        let go = self.flag(false);
        if moves {
            self.program.steps.push(Step::Move { from: initial, to: carried });
        } else {
            self.copy(carried, initial);
        }
        let start = self.program.steps.len();
        self.arithmetic(Arithmetic::Lt, index, count, go);
        let leave = self.jump(go);
        let mut inner = scope.inner();
        inner.tensors.push(carried);
        let count_of_steps = 1 + self.random.below(3);
        self.block(&mut inner, main, depth + 1, count_of_steps);
        let result = self.result(&mut inner, main);
        self.arithmetic(Arithmetic::Add, index, one, index);
        if moves {
            self.program.steps.push(Step::Move { from: result, to: carried });
        } else {
            self.copy(carried, result);
        }
        let never = self.flag(false);
        self.program.steps.push(Step::Jump { condition: never, to: start });
        self.land(leave);
        self.arithmetic(Arithmetic::Sub, index, count, index);
        scope.add(carried);
    }
}
