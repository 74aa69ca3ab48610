//! Random changes of calls.

use crate::call::{Call, Shape, Value, scalar_types};
use executorch_format::schema::ScalarType;
use executorch_format_support::random::Random;

/// Changes a call in one to three ways.
pub fn change(call: &mut Call, random: &mut Random) {
    for _ in 0..=random.below(3) {
        match random.below(12) {
            0 => types(call, random),
            1 | 2 => size(call, random),
            3 => rank(call, random),
            4 => order(call, random),
            5 | 6 => number(call, random),
            7 => list(call, random),
            8 => null(call, random),
            9 => kind(call, random),
            10 => dynamic(call, random),
            _ => constant(call, random),
        }
    }
}

fn pick<T: Copy>(random: &mut Random, items: &[T]) -> T {
    items[random.below(items.len())]
}

fn tensors(call: &mut Call) -> Vec<&mut Shape> {
    call.inputs.iter_mut().chain(&mut call.outputs).flat_map(Value::tensors_mut).collect()
}

/// Returns one of the tensors.
fn tensor<'c>(call: &'c mut Call, random: &mut Random) -> Option<&'c mut Shape> {
    let mut all = tensors(call);
    if all.is_empty() { None } else { Some(all.swap_remove(random.below(all.len()))) }
}

/// Changes the type of all tensors, of all inputs, or of one tensor.
fn types(call: &mut Call, random: &mut Random) {
    let all: Vec<ScalarType> = scalar_types().collect();
    let scalar_type = pick(random, &all);
    match random.below(3) {
        0 => tensors(call).into_iter().for_each(|shape| shape.scalar_type = scalar_type),
        1 => {
            let inputs = call.inputs.iter_mut().flat_map(Value::tensors_mut);
            inputs.for_each(|shape| shape.scalar_type = scalar_type);
        }
        _ => tensor(call, random).into_iter().for_each(|shape| shape.scalar_type = scalar_type),
    }
    constants_fit(call);
}

/// Constants have type i64, and a number for each element.
fn constants_fit(call: &mut Call) {
    for shape in tensors(call) {
        let elements: i32 = shape.sizes.iter().product();
        if shape.scalar_type != ScalarType::LONG
            || shape.constant.as_ref().is_some_and(|numbers| numbers.len() != elements as usize)
        {
            shape.constant = None;
        }
    }
}

/// Changes a size of one tensor, or of all with the same sizes.
fn size(call: &mut Call, random: &mut Random) {
    let Some(shape) = tensor(call, random).filter(|shape| !shape.sizes.is_empty()) else { return };
    let (before, dim) = (shape.sizes.clone(), random.below(shape.sizes.len()));
    let own = before[dim];
    let after = pick(random, &[0, 1, 2, own + 1, (own - 1).max(0), own * 2]);
    shape.sizes[dim] = after;
    if random.below(2) == 0 {
        for other in tensors(call).into_iter().filter(|other| other.sizes == before) {
            other.sizes[dim] = after;
        }
    }
    constants_fit(call);
}

/// Adds or removes a dimension.
fn rank(call: &mut Call, random: &mut Random) {
    let Some(shape) = tensor(call, random) else { return };
    if random.below(2) == 0 && !shape.sizes.is_empty() {
        shape.sizes.remove(random.below(shape.sizes.len()));
    } else {
        shape.sizes.insert(random.below(shape.sizes.len() + 1), pick(random, &[1, 1, 2]));
    }
    shape.order = None;
    constants_fit(call);
}

/// Stores one tensor, or all, in another order.
fn order(call: &mut Call, random: &mut Random) {
    let channels_last = random.below(2) == 0;
    let all = random.below(2) == 0;
    let chosen = random.below(tensors(call).len());
    for (_, shape) in tensors(call).into_iter().enumerate().filter(|(at, _)| all || *at == chosen) {
        shape.order = match (shape.sizes.len(), channels_last) {
            (4, true) => Some(vec![0, 2, 3, 1]),
            (5, true) => Some(vec![0, 2, 3, 4, 1]),
            (2.., false) => {
                let mut order: Vec<u8> = (0..shape.sizes.len() as u8).collect();
                order.swap(0, 1);
                Some(order)
            }
            _ => None,
        };
    }
}

fn integer(random: &mut Random, own: i64) -> i64 {
    let large = [127, 128, 255, 256, -129, 32767, 65536, i64::from(i32::MAX), i64::from(i32::MIN), 1 << 40];
    let small = [own + 1, own - 1, 0, 1, -1, 2, 3, -2, -3, 5, 17];
    if random.below(4) == 0 { pick(random, &large) } else { pick(random, &small) }
}

/// Changes a number or a Bool.
fn number(call: &mut Call, random: &mut Random) {
    let is_number = |value: &&mut Value| matches!(value, Value::Int(_) | Value::Double(_) | Value::Bool(_));
    let mut numbers: Vec<&mut Value> = call.inputs.iter_mut().filter(is_number).collect();
    if numbers.is_empty() {
        return size(call, random);
    }
    match numbers.swap_remove(random.below(numbers.len())) {
        Value::Int(int) => *int = integer(random, *int),
        Value::Double(double) => {
            let doubles = [0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 300.0, 70000.0, 1e-300, 1e30, -1e30, 1e300, *double + 1.0];
            *double = pick(random, &doubles);
        }
        Value::Bool(bool) => *bool = !*bool,
        _ => {}
    }
}

/// Changes a list of integers, of Bools or of doubles.
fn list(call: &mut Call, random: &mut Random) {
    let is_list = |value: &&mut Value| matches!(value, Value::Ints(_) | Value::Bools(_) | Value::Doubles(_));
    let mut lists: Vec<&mut Value> = call.inputs.iter_mut().filter(is_list).collect();
    if lists.is_empty() {
        return number(call, random);
    }
    match lists.swap_remove(random.below(lists.len())) {
        Value::Ints(ints) => {
            let at = random.below(ints.len());
            match random.below(6) {
                0 => ints.insert(at, pick(random, &[0, 1, 2, -1])),
                1 if !ints.is_empty() => drop(ints.remove(at)),
                2 | 3 if !ints.is_empty() => ints[at] = integer(random, ints[at]),
                4 => ints.extend(ints.clone()),
                _ => ints.clear(),
            }
        }
        Value::Bools(bools) => bools.iter_mut().for_each(|bool| *bool = random.below(2) == 0),
        Value::Doubles(doubles) => doubles.push(pick(random, &[0.0, -1.0, 2.0])),
        _ => {}
    }
}

fn null(call: &mut Call, random: &mut Random) {
    let at = random.below(call.inputs.len());
    if let Some(value) = call.inputs.get_mut(at) {
        *value = Value::Null;
    }
}

/// Replaces an argument with a value of another kind.
fn kind(call: &mut Call, random: &mut Random) {
    let at = random.below(call.inputs.len());
    if let Some(value) = call.inputs.get_mut(at) {
        *value = match random.below(5) {
            0 => Value::Int(1),
            1 => Value::Double(1.0),
            2 => Value::Bool(true),
            3 => Value::Ints(vec![1]),
            _ => Value::Tensor(Shape::new(ScalarType::FLOAT, vec![2])),
        };
    }
}

/// Makes tensors dynamic: their sizes become upper bounds.
fn dynamic(call: &mut Call, random: &mut Random) {
    for shape in tensors(call).into_iter().filter(|shape| shape.constant.is_none()) {
        shape.is_dynamic |= random.below(2) == 0;
    }
}

/// Makes an input of indices a constant.
fn constant(call: &mut Call, random: &mut Random) {
    let inputs = call.inputs.iter_mut().flat_map(Value::tensors_mut);
    for shape in inputs.filter(|shape| shape.scalar_type == ScalarType::LONG && !shape.is_dynamic) {
        let elements: i32 = shape.sizes.iter().product();
        let numbers = (0..elements).map(|_| pick(random, &[0, 0, 1, 1, 2, 3, -1]));
        shape.constant = Some(numbers.collect::<Vec<i64>>()).filter(|numbers| !numbers.is_empty());
    }
}
