//! Generates programs as the exporter writes them: branches with moves, loops with counters, views, lists, state.

mod control;

use crate::program::{Arithmetic, At, Block, Effect, Program, Role, Step, TensorValue, Value};
use executorch_format::schema::ScalarType;
use executorch_format_support::random::Random;

/// Generates a program. The same seed gives the same program.
pub fn generate(seed: u64) -> Program {
    let mut random = Random::new(seed);
    let shapes = [[2, 4], [4, 4], [8, 2], [4, 6]];
    let [rows, columns] = shapes[random.below(shapes.len())];
    let dynamic = random.below(6) == 0;
    let caller = [random.below(5) == 0, random.below(6) == 0];
    let mut generator =
        Generator { random, program: Program::default(), rows, columns, dynamic, caller, weight: 0, scalars: [0; 3] };
    generator.program();
    generator.program
}

type Shape = Vec<i32>;

struct Generator {
    random: Random,
    program: Program,
    rows: i32,
    columns: i32,
    /// `true` if shapes are upper bounds.
    dynamic: bool,
    /// `true` if inputs, or outputs, are in the caller's memory.
    caller: [bool; 2],
    /// The constant in products.
    weight: usize,
    /// The constants without dimensions.
    scalars: [usize; 3],
}

/// The tensors that an instruction can read.
#[derive(Clone, Default)]
struct Scope {
    tensors: Vec<usize>,
    /// The tensors that this block created.
    own: Vec<usize>,
    conditions: Vec<usize>,
    states: Vec<usize>,
}

impl Scope {
    fn add(&mut self, value: usize) {
        self.tensors.push(value);
        self.own.push(value);
    }

    fn inner(&self) -> Self {
        Self { own: Vec::new(), ..self.clone() }
    }
}

const UNARY: [&str; 6] = ["aten::neg", "aten::abs", "aten::relu", "aten::tanh", "aten::sigmoid", "aten::neg"];
const BINARY: [&str; 5] = ["aten::add", "aten::sub", "aten::mul", "aten::maximum", "aten::minimum"];

impl Generator {
    fn chance(&mut self, one_in: usize) -> bool {
        self.random.below(one_in) == 0
    }

    fn value(&mut self, value: Value) -> usize {
        self.program.values.push(value);
        self.program.values.len() - 1
    }

    fn int(&mut self, number: i64) -> usize {
        self.value(Value::Int(number))
    }

    fn flag(&mut self, flag: bool) -> usize {
        self.value(Value::Bool(flag))
    }

    fn ints(&mut self, numbers: &[i32]) -> usize {
        let items = numbers.iter().map(|number| self.int((*number).into())).collect();
        self.value(Value::Ints(items))
    }

    fn tensor(&mut self, scalar_type: ScalarType, sizes: &[i32], at: At) -> usize {
        let dynamic = self.dynamic && !sizes.is_empty() && scalar_type == ScalarType::FLOAT;
        self.value(Value::Tensor(TensorValue { scalar_type, sizes: sizes.to_vec(), at, dynamic }))
    }

    fn in_block(&mut self, scalar_type: ScalarType, sizes: &[i32], role: Role) -> usize {
        let block = self.program.blocks.len();
        let value = self.tensor(scalar_type, sizes, At::Block(block, 0));
        let size = self.program.tensor(value).bytes();
        self.program.blocks.push(Block { size, role, initial: None });
        value
    }

    fn temporary(&mut self, sizes: &[i32]) -> usize {
        self.in_block(ScalarType::FLOAT, sizes, Role::Temporary)
    }

    fn constant(&mut self, sizes: &[i32], least: f32, most: f32) -> usize {
        let count = sizes.iter().product::<i32>();
        let bytes = (0..count)
            .flat_map(|_| (least + (most - least) * (self.random.below(1000) as f32 / 1000.0)).to_le_bytes())
            .collect();
        self.program.constants.push(bytes);
        let at = At::Constant(self.program.constants.len() - 1);
        self.value(Value::Tensor(TensorValue {
            scalar_type: ScalarType::FLOAT,
            sizes: sizes.to_vec(),
            at,
            dynamic: false,
        }))
    }

    fn sizes(&self, value: usize) -> Shape {
        self.program.tensor(value).sizes.clone()
    }

    /// Picks a float tensor of these sizes, with a preference for late tensors.
    fn pick(&mut self, scope: &Scope, sizes: &[i32]) -> Option<usize> {
        let fits = |value: &usize| {
            let tensor = self.program.tensor(*value);
            tensor.scalar_type == ScalarType::FLOAT && tensor.sizes == sizes
        };
        let all: Vec<usize> = scope.tensors.iter().copied().filter(fits).collect();
        if all.is_empty() {
            return None;
        }
        let recent = all.len().min(3);
        let index =
            if self.chance(3) { self.random.below(all.len()) } else { all.len() - 1 - self.random.below(recent) };
        Some(all[index])
    }

    fn call(&mut self, operator: (&'static str, &'static str), args: Vec<usize>, effect: Effect) {
        self.program.steps.push(Step::Call { operator, args, effect });
    }

    /// Adds a kernel with one result, which is its last argument twice.
    fn compute(
        &mut self,
        operator: (&'static str, &'static str),
        mut args: Vec<usize>,
        reads: Vec<usize>,
        out: usize,
        elementwise: bool,
    ) -> usize {
        args.extend([out, out]);
        self.call(operator, args, Effect::Compute { reads, writes: vec![out], elementwise });
        out
    }

    fn unary(&mut self, of: usize) -> usize {
        let name = UNARY[self.random.below(UNARY.len())];
        let out = self.temporary(&self.sizes(of));
        self.compute((name, "out"), vec![of], vec![of], out, true)
    }

    /// Adds a kernel whose result is like the first operand, with which the second operand must broadcast.
    fn binary(&mut self, left: usize, right: usize) -> usize {
        let name = BINARY[self.random.below(BINARY.len())];
        let out = self.temporary(&self.sizes(left));
        let mut args = vec![left, right];
        if name == "aten::add" || name == "aten::sub" {
            args.push(self.int(1));
        }
        self.compute((name, "out"), args, vec![left, right], out, true)
    }

    fn sum(&mut self, of: usize) -> usize {
        let (dim, keep, kind) = (self.ints(&[]), self.flag(false), self.value(Value::Null));
        let out = self.temporary(&[]);
        self.compute(("aten::sum", "IntList_out"), vec![of, dim, keep, kind], vec![of], out, false)
    }

    fn is_positive(&mut self, of: usize) -> usize {
        let sum = self.sum(of);
        let zero = self.int(0);
        let out = self.in_block(ScalarType::BOOL, &[], Role::Temporary);
        self.compute(("aten::gt", "Scalar_out"), vec![sum, zero], vec![sum], out, false)
    }

    fn copy(&mut self, to: usize, from: usize) {
        let blocking = self.flag(false);
        let effect = Effect::Compute { reads: vec![from], writes: vec![to], elementwise: true };
        self.call(("aten::copy_", ""), vec![to, from, blocking, to], effect);
    }

    fn arithmetic(&mut self, arithmetic: Arithmetic, left: usize, right: usize, out: usize) {
        let name = match arithmetic {
            Arithmetic::Add => "executorch_prim::add",
            Arithmetic::Sub => "executorch_prim::sub",
            Arithmetic::Eq => "executorch_prim::eq",
            Arithmetic::Lt => "executorch_prim::lt",
        };
        self.call((name, "Scalar"), vec![left, right, out], Effect::Arithmetic(arithmetic, [left, right, out]));
    }

    /// Adds a jump whose destination is set later.
    fn jump(&mut self, condition: usize) -> usize {
        self.program.steps.push(Step::Jump { condition, to: usize::MAX });
        self.program.steps.len() - 1
    }

    fn land(&mut self, jump: usize) {
        let here = self.program.steps.len();
        if let Step::Jump { to, .. } = &mut self.program.steps[jump] {
            *to = here;
        }
    }

    fn select(&mut self, of: usize, index: usize) -> usize {
        let dim = self.int(0);
        let out = self.temporary(&self.sizes(of)[1..]);
        self.compute(("aten::select_copy", "int_out"), vec![of, dim, index], vec![of], out, false)
    }

    fn view(&mut self, of: usize, sizes: &[i32]) -> usize {
        let is_moved = self.program.steps.iter().any(|step| matches!(step, Step::Move { to, .. } if *to == of));
        match (&self.program.tensor(of).at.clone(), self.random.below(3)) {
            (At::Block(block, offset), 0) if !is_moved && self.program.blocks[*block].role != Role::State => {
                self.tensor(ScalarType::FLOAT, sizes, At::Block(*block, *offset))
            }
            (_, 1) => {
                let list = self.ints(sizes);
                let out = self.temporary(sizes);
                // A copy onto itself changes nothing.
                self.compute(("aten::view_copy", "out"), vec![of, list], vec![of], out, true)
            }
            _ => {
                let list = self.ints(sizes);
                let out = self.tensor(ScalarType::FLOAT, sizes, At::RunTime);
                self.call(("executorch_prim::et_view", "default"), vec![of, list, out], Effect::View { of, out });
                out
            }
        }
    }

    fn operation(&mut self, scope: &mut Scope, main: &[i32]) {
        let Some(of) = self.pick(scope, main) else { return };
        let is_matrix = main.len() == 2;
        let (rows, columns) = (self.rows, self.columns);
        let made = match self.random.below(if is_matrix { 17 } else { 8 }) {
            0 | 1 => self.unary(of),
            2..=4 => {
                let other = self.pick(scope, main).unwrap_or(of);
                self.binary(of, other)
            }
            5 => {
                let other = self.scalars[self.random.below(3)];
                self.binary(of, other)
            }
            6 => {
                let other = [vec![columns], vec![rows, 1], vec![]][self.random.below(3)].clone();
                let other = if is_matrix { self.pick(scope, &other) } else { self.pick(scope, &[]) };
                match other {
                    Some(other) => self.binary(of, other),
                    None => self.sum(of),
                }
            }
            7 => {
                let limits = [-1.5, 1.5].map(|limit| self.value(Value::Double(limit)));
                let out = self.temporary(main);
                self.compute(("aten::clamp", "out"), vec![of, limits[0], limits[1]], vec![of], out, true)
            }
            8 | 9 => {
                let weight = self.weight;
                let out = self.temporary(main);
                self.compute(("aten::mm", "out"), vec![of, weight], vec![of, weight], out, false)
            }
            10 => {
                let (dim, keep) = (self.int(1), self.flag(true));
                let out = self.temporary(&[rows, 1]);
                let indices = self.in_block(ScalarType::LONG, &[rows, 1], Role::Temporary);
                let list = self.value(Value::Tensors(vec![out, indices]));
                let effect = Effect::Compute { reads: vec![of], writes: vec![out, indices], elementwise: false };
                self.call(("aten::max", "dim_max"), vec![of, dim, keep, out, indices, list], effect);
                out
            }
            11 => {
                let half = columns / 2;
                let (splits, dim) = (self.ints(&[half, half]), self.int(1));
                let out = [0; 2].map(|_| self.temporary(&[rows, half]));
                let lists = [0; 2].map(|_| self.value(Value::Tensors(out.to_vec())));
                let effect = Effect::Compute { reads: vec![of], writes: out.to_vec(), elementwise: false };
                let operator = ("aten::split_with_sizes_copy", "out");
                self.call(operator, vec![of, splits, dim, lists[0], lists[1]], effect);
                out.into_iter().for_each(|item| scope.add(item));
                let changed = if self.chance(2) { self.binary(out[0], out[1]) } else { out[1] };
                scope.add(changed);
                let pair = if self.chance(2) { vec![out[0], changed] } else { vec![changed, out[0]] };
                self.cat(pair, 1, main)
            }
            12 => {
                let (half, step) = (rows / 2, 1);
                let first = self.random.below((rows - half + 1) as usize) as i64;
                let [dim, start, end, step] = [0, first, first + i64::from(half), step].map(|number| self.int(number));
                let out = self.temporary(&[half, columns]);
                let args = vec![of, dim, start, end, step];
                let slice = self.compute(("aten::slice_copy", "Tensor_out"), args, vec![of], out, false);
                scope.add(slice);
                let other = self.pick(scope, &[half, columns]).unwrap_or(slice);
                self.cat(vec![other, slice], 0, main)
            }
            13 => {
                let index = self.random.below(rows as usize) as i64;
                let index = self.int(index);
                self.select(of, index)
            }
            14 => {
                let flat = self.view(of, &[rows * columns]);
                let changed = self.unary(flat);
                self.view(changed, main)
            }
            15 => {
                let flat = self.view(of, &[rows * columns]);
                self.view(flat, main)
            }
            _ => self.sum(of),
        };
        scope.add(made);
    }

    fn cat(&mut self, items: Vec<usize>, dim: i64, sizes: &[i32]) -> usize {
        let (list, dim) = (self.value(Value::Tensors(items.clone())), self.int(dim));
        let out = self.temporary(sizes);
        self.compute(("aten::cat", "out"), vec![list, dim], items, out, false)
    }

    /// Picks a tensor that the block created, or rarely any tensor.
    fn result(&mut self, scope: &mut Scope, main: &[i32]) -> usize {
        if self.chance(16) {
            if let Some(any) = self.pick(scope, main) {
                return any;
            }
        }
        let own = Scope { tensors: scope.own.clone(), ..Scope::default() };
        if let Some(made) = self.pick(&own, main) {
            return made;
        }
        let of = self.pick(scope, main).expect("a tensor of the main shape");
        let made = self.unary(of);
        scope.add(made);
        made
    }

    fn update_state(&mut self, scope: &mut Scope, main: &[i32]) {
        if scope.states.is_empty() || main.len() != 2 {
            return;
        }
        let state = scope.states[self.random.below(scope.states.len())];
        let half = self.rows / 2;
        let rows = self.pick(scope, &[half, self.columns]);
        if let (Some(from), false) = (rows, self.chance(3)) {
            // Like a cache of keys and values.
            let first = self.random.below((self.rows - half + 1) as usize) as u64;
            let rows: Vec<u64> = (first..first + half as u64).collect();
            let bytes = rows.iter().flat_map(|row| (*row as i64).to_le_bytes()).collect();
            self.program.constants.push(bytes);
            let at = At::Constant(self.program.constants.len() - 1);
            let indices = self.tensor(ScalarType::LONG, &[half], at);
            let (list, accumulate) = (self.value(Value::OptionalTensors(vec![indices])), self.flag(false));
            let args = vec![state, list, from, accumulate, state];
            return self.call(("aten::index_put_", ""), args, Effect::PutRows { to: state, from, rows });
        }
        if let Some(from) = self.pick(scope, main).filter(|from| *from != state) {
            let from = {
                // The state stays small.
                let out = self.temporary(main);
                self.compute(("aten::tanh", "out"), vec![from], vec![from], out, true)
            };
            self.copy(state, from);
        }
    }

    fn block(&mut self, scope: &mut Scope, main: &[i32], depth: usize, statements: usize) {
        for _ in 0..statements {
            match self.random.below(12) {
                0 | 1 if depth < 3 => self.branches(scope, main, depth),
                2 if depth < 2 && main.len() == 2 => self.rows(scope, depth),
                3 if depth < 2 => self.while_loop(scope, main, depth),
                4 if depth == 0 => self.update_state(scope, main),
                _ => self.operation(scope, main),
            }
        }
    }

    fn program(&mut self) {
        let shape = [self.rows, self.columns];
        let mut scope = Scope::default();
        self.weight = self.constant(&[self.columns, self.columns], -0.5, 0.5);
        self.scalars = [0; 3].map(|_| self.constant(&[], 0.5, 1.5));
        for _ in 0..1 + self.random.below(3) {
            let input = self.input(ScalarType::FLOAT, &shape);
            scope.tensors.push(input);
        }
        for _ in 0..self.random.below(4) {
            self.input(ScalarType::BOOL, &[]);
        }
        for _ in 0..self.random.below(3) {
            let state = self.in_block(ScalarType::FLOAT, &shape, Role::State);
            if let Value::Tensor(tensor) = &mut self.program.values[state] {
                tensor.dynamic = false;
            }
            let block = self.program.blocks.len() - 1;
            if self.chance(2) {
                let size = self.program.blocks[block].size;
                let bytes = (0..size / 4).flat_map(|_| (self.random.below(100) as f32 / 50.0).to_le_bytes()).collect();
                self.program.blocks[block].initial = Some(bytes);
            }
            scope.states.push(state);
            scope.tensors.insert(0, state);
        }
        let statements = 2 + self.random.below(7);
        self.block(&mut scope, &shape, 0, statements);
        for state in scope.states.clone() {
            // Like in exported programs, states are read and are updated at the end.
            let of = self.pick(&scope, &shape).expect("an input");
            if !self.chance(4) {
                let read = self.binary(of, state);
                scope.add(read);
            }
            if !self.chance(3) {
                self.update_state(&mut scope, &shape);
            }
            // A state that is never written needs content that can be read.
            let At::Block(block, _) = self.program.tensor(state).at else { continue };
            if self.program.blocks[block].initial.is_none() && !self.program.is_complete() {
                let from = self.unary(of);
                self.copy(state, from);
            }
        }
        for _ in 0..1 + self.random.below(3) {
            let output = self.result(&mut scope, &shape);
            self.program.outputs.push(output);
        }
        self.free_views();
        if self.caller[1] {
            self.give_outputs();
        }
    }

    fn input(&mut self, scalar_type: ScalarType, sizes: &[i32]) -> usize {
        let input = if self.caller[0] {
            self.tensor(scalar_type, sizes, At::Caller)
        } else {
            self.in_block(scalar_type, sizes, Role::Input)
        };
        self.program.inputs.push(input);
        input
    }

    /// Frees the memory of some views after their last use. The next run assigns it again.
    fn free_views(&mut self) {
        let views: Vec<usize> =
            self.program.tensors().filter(|(_, tensor)| tensor.at == At::RunTime).map(|(value, _)| value).collect();
        for view in views {
            let steps = &self.program.steps;
            let is_moved = steps.iter().any(|step| matches!(step, Step::Move { from, .. } if *from == view));
            let is_base = steps
                .iter()
                .any(|step| matches!(step, Step::Call { effect: Effect::View { of, .. }, .. } if *of == view));
            if !is_moved && !is_base && !self.program.outputs.contains(&view) && self.chance(5) {
                self.program.steps.push(Step::Free(view));
            }
        }
    }

    /// Puts outputs that a kernel of the outermost block writes into the caller's memory.
    fn give_outputs(&mut self) {
        for output in self.program.outputs.clone() {
            let At::Block(block, 0) = self.program.tensor(output).at else { continue };
            let sharers =
                self.program.tensors().filter(|(_, tensor)| matches!(tensor.at, At::Block(other, _) if other == block));
            let is_moved = self.program.steps.iter().any(|step| matches!(step, Step::Move { to, .. } if *to == output));
            if sharers.count() > 1 || is_moved || self.program.blocks[block].role != Role::Temporary {
                continue;
            }
            if let Value::Tensor(tensor) = &mut self.program.values[output] {
                tensor.at = At::Caller;
            }
        }
    }
}
