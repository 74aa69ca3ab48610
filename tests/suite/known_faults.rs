//! Calls that some releases compute wrong or refuse, and later ones compute right.

use executorch_format::schema::ScalarType;
use executorch_format::schema::program::{EValue, ExecutionPlan, Instruction, Operator, Tensor};
use executorch_format::verify::{Behaviour, Library, Outcome, Release, ReleaseVerdict, Target};
use executorch_format::{Analysis, Pte};

fn linked(libraries: &[Library]) -> Target {
    Target::default().with_libraries(Some(libraries.to_vec()))
}

/// Returns the outcomes of a known fault in the releases that have it, for a program with one call with all values.
fn faulty(name: &'static str, values: Vec<EValue<'static>>, target: &Target) -> Vec<(&'static str, Outcome)> {
    let count = values.len();
    faulty_call(name, values, count, target)
}

/// Returns the outcomes of a known fault in the releases that have it, for a program with one call with the first values.
fn faulty_call(
    name: &'static str,
    values: Vec<EValue<'static>>,
    count: usize,
    target: &Target,
) -> Vec<(&'static str, Outcome)> {
    let (start, overload) = name.split_once('.').unwrap();
    let args: Vec<i32> = (0..count as i32).collect();
    let call = vec![Instruction::kernel_call(0, args)];
    let plan = ExecutionPlan::new("forward", values, vec![Operator::new(start, overload)], call, 0);
    let mut pte = Pte::default();
    pte.program.execution_plan = Some(vec![plan]);
    let verdicts = Analysis::new(&pte).releases(target).releases;
    let fault = |verdict: ReleaseVerdict| {
        let found = verdict.verdict.because.iter().find(|cause| cause.name == "known-fault")?.outcome;
        let is_wrong = found == Outcome::Miscomputes;
        assert_eq!(verdict.operators.behaviour == Behaviour::Miscomputes, is_wrong, "{name}: {verdict}");
        Some((verdict.release.name(), found))
    };
    verdicts.into_iter().filter_map(fault).collect()
}

#[test]
fn a_call_that_a_release_computes_wrong_or_refuses_is_a_known_fault_of_it() {
    use Outcome::{Miscomputes as Wrong, RefusesCall as Refused};
    let any = Target::default();
    let tensor = |sizes: &[i32]| EValue::from(Tensor::new(ScalarType::FLOAT, sizes.to_vec()));
    let ints = |sizes: &[i32]| EValue::from(Tensor::new(ScalarType::INT, sizes.to_vec()));
    let log_softmax =
        |dim: i64| vec![tensor(&[2, 5, 6]), dim.into(), false.into(), tensor(&[2, 5, 6]), tensor(&[2, 5, 6])];
    let name = "aten::_log_softmax.out";
    assert_eq!(faulty(name, log_softmax(1), &any), [("0.2", Wrong), ("0.4", Wrong), ("0.5", Wrong)]);
    assert_eq!(faulty(name, log_softmax(-2), &any).len(), 3);
    assert_eq!(faulty(name, log_softmax(2), &any), []);
    // The two elements are fewer than those of a vector.
    assert_eq!(faulty(name, log_softmax(0), &any), []);
    // The portable kernel does not have it.
    assert_eq!(faulty(name, log_softmax(1), &linked(&[Library::Portable])), []);
    // Wheels have the optimized kernels since 0.5.
    assert_eq!(faulty(name, log_softmax(1), &linked(&[Library::PythonWheel])), [("0.5", Wrong)]);
    let binary = |left: &[i32], right: &[i32], out: &[i32]| vec![tensor(left), tensor(right), tensor(out), tensor(out)];
    let bools = |sizes: &[i32]| EValue::from(Tensor::new(ScalarType::BOOL, sizes.to_vec()));
    let le = |left: &[i32], right: &[i32], out: &[i32]| {
        let values = vec![tensor(left), tensor(right), bools(out), bools(out)];
        faulty("aten::le.Tensor_out", values, &any)
    };
    assert_eq!(le(&[3, 4], &[1], &[3, 4]), [("0.2", Refused), ("0.4", Refused), ("0.5", Refused), ("0.6", Wrong)]);
    assert_eq!(le(&[1], &[1, 1], &[1, 1]), [("0.2", Refused), ("0.4", Refused), ("0.5", Refused), ("0.6", Wrong)]);
    assert_eq!(le(&[1], &[1], &[1]), [("0.6", Wrong)]);
    assert_eq!((le(&[3, 4], &[4], &[3, 4]).len(), le(&[3, 4], &[4], &[3, 4]).last()), (4, Some(&("0.6", Refused))));
    assert_eq!(le(&[3, 4], &[3, 4], &[3, 4]), []);
    let longs = |sizes: &[i32]| EValue::from(Tensor::new(ScalarType::LONG, sizes.to_vec()));
    let of_le = |sizes: &[i32]| {
        faulty("aten::le.Tensor_out", vec![longs(sizes), longs(&[1]), bools(sizes), bools(sizes)], &any)
    };
    assert_eq!((of_le(&[1]), of_le(&[2]).len()), (vec![], 4));
    // A result of the same size as the elements is written as it should be.
    let of_le = faulty("aten::le.Tensor_out", vec![bools(&[1]), bools(&[1]), bools(&[1]), bools(&[1])], &any);
    assert_eq!(of_le, []);
    let of_mul = faulty("aten::mul.out", binary(&[6], &[1, 1, 6], &[1, 1, 6]), &any);
    assert_eq!(of_mul, [("0.2", Refused), ("0.4", Refused), ("0.5", Refused), ("0.6", Refused)]);
    assert_eq!(faulty("aten::mul.out", binary(&[1, 1, 6], &[6], &[1, 1, 6]), &any), []);
    assert_eq!(faulty("aten::mul.out", binary(&[6], &[2, 1, 6], &[2, 1, 6]), &any), []);
    let with_alpha = |mut values: Vec<EValue<'static>>| {
        values.insert(2, 1i64.into());
        values
    };
    let of_add = faulty("aten::add.out", with_alpha(binary(&[6], &[1, 1, 6], &[1, 1, 6])), &any);
    assert_eq!(of_add.last(), Some(&("0.7", Refused)));
    let of_add = faulty("aten::add.out", with_alpha(binary(&[3, 4], &[3, 1], &[3, 4])), &any);
    assert_eq!(of_add, [("0.5", Outcome::Dies)]);
    assert_eq!(faulty("aten::div.out", binary(&[3, 1], &[3, 4], &[3, 4]), &any), [("0.5", Outcome::Dies)]);
    assert_eq!(faulty("aten::add.out", with_alpha(binary(&[3, 4], &[4], &[3, 4])), &any), []);
    assert_eq!(faulty("aten::add.out", with_alpha(binary(&[3, 1], &[1, 4], &[3, 4])), &any), []);
    // The matrix has a lower rank than the result.
    let of_mul = faulty("aten::mul.out", binary(&[2, 3], &[1, 1, 3], &[1, 2, 3]), &any);
    assert_eq!((of_mul.len(), of_mul.first(), of_mul.last()), (8, Some(&("0.5", Refused)), Some(&("1.4", Refused))));
    let of_mul = faulty("aten::mul.out", binary(&[1, 3, 1], &[3, 4], &[1, 3, 4]), &any);
    assert_eq!(of_mul.last(), Some(&("1.4", Refused)));
    assert_eq!(faulty("aten::mul.out", binary(&[1, 2, 3], &[1, 3], &[1, 2, 3]), &any), []);
    assert_eq!(faulty("aten::mul.out", binary(&[3], &[2, 1, 3], &[2, 1, 3]), &any), []);
    let upsample = |size: i32| {
        let sizes = EValue::int_list([3i64, 3].to_vec());
        let out = || tensor(&[1, 2, size, size]);
        vec![tensor(&[1, 2, 6, 6]), sizes, false.into(), EValue::null(), EValue::null(), out(), out()]
    };
    let name = "aten::_upsample_bilinear2d_aa.out";
    assert_eq!(faulty(name, upsample(2), &any).last(), Some(&("1.3", Wrong)));
    assert_eq!(faulty(name, upsample(3), &any), []);
    assert_eq!(faulty(name, upsample(9), &any), []);
    let of_sigmoid = faulty("aten::sigmoid.out", vec![bools(&[2]), tensor(&[2]), tensor(&[2])], &any);
    assert_eq!(of_sigmoid.last(), Some(&("0.7", Refused)));
    assert_eq!(faulty("aten::sigmoid.out", vec![tensor(&[2]), tensor(&[2]), tensor(&[2])], &any), []);
    let elu = |alpha: EValue<'static>| {
        let (one, out) = (|| EValue::from(1i64), || tensor(&[2]));
        faulty("aten::elu.out", vec![tensor(&[2]), alpha, one(), one(), out(), out()], &any)
    };
    assert_eq!(elu(true.into()), [("0.6", Outcome::Dies), ("0.7", Outcome::Dies)]);
    assert_eq!(elu(1e39.into()), [("0.6", Outcome::Dies), ("0.7", Outcome::Dies)]);
    assert_eq!(elu(f64::INFINITY.into()), []);
    assert_eq!(elu(0.5.into()), []);
    let name = "quantized_decomposed::dequantize_per_channel.out";
    let dequantize = |zero_points: EValue<'static>| {
        let [axis, low, high, dtype] = [0i64, -128, 127, 1].map(EValue::from);
        let (input, out) = (ints(&[4, 2]), || tensor(&[4, 2]));
        vec![input, tensor(&[4]), zero_points, axis, low, high, dtype, EValue::null(), out(), out()]
    };
    assert_eq!(faulty(name, dequantize(ints(&[4])), &any).last(), Some(&("1.4", Wrong)));
    assert_eq!(faulty(name, dequantize(longs(&[4])), &any), []);
}

/// #7748: `Unsupported Scalar Type 5`. Seen in the wheels of 0.4 to 0.7.
#[test]
fn half_precision_is_a_known_fault_of_releases_without_code_for_it() {
    use Outcome::{Dies, RefusesCall as Refused};
    let any = Target::default();
    let call = |name: &'static str, inputs: usize, scalar_type: ScalarType, target: &Target| {
        let tensor = || EValue::from(Tensor::new(scalar_type, vec![1, 2, 2]));
        faulty(name, (0..inputs + 2).map(|_| tensor()).collect(), target)
    };
    let (half, bfloat16) = (ScalarType::HALF, ScalarType::BFLOAT16);
    assert_eq!(call("aten::relu.out", 1, half, &any), [("0.2", Refused), ("0.4", Refused), ("0.5", Refused)]);
    assert_eq!(call("aten::abs.out", 1, bfloat16, &any), [("0.2", Dies), ("0.4", Dies), ("0.5", Dies)]);
    assert_eq!(call("aten::abs.out", 1, ScalarType::FLOAT, &any), []);
    assert_eq!(call("aten::bmm.out", 2, bfloat16, &any).last(), Some(&("0.7", Dies)));
    assert_eq!(call("aten::bmm.out", 2, half, &any), []);
    // The optimized kernel lost it, the portable one has it since 0.5.
    assert_eq!(call("aten::div.out", 2, half, &any).last(), Some(&("0.7", Dies)));
    let portable = linked(&[Library::Portable]);
    assert_eq!(call("aten::div.out", 2, half, &portable), [("0.2", Refused), ("0.4", Refused)]);
}

#[test]
fn a_reduction_that_strays_from_a_tensor_that_is_not_contiguous_is_a_known_fault() {
    let any = Target::default();
    let channels_last = |scalar_type: ScalarType| {
        let mut tensor = Tensor::new(scalar_type, vec![2, 3, 4, 5]);
        tensor.dim_order = Some(vec![0, 2, 3, 1].into());
        tensor
    };
    let variance = |input: Tensor<'static>, dims: Vec<i64>| {
        let count = dims.len() as i32;
        let (keep, out) = (EValue::from(true), || EValue::from(Tensor::new(ScalarType::FLOAT, vec![1, 1, 1, 1])));
        let mut values = vec![input.into(), EValue::null(), EValue::from(1i64), keep, out(), out()];
        values.extend(dims.into_iter().map(EValue::from));
        *values.get_mut(1).unwrap() = EValue::int_list((6..6 + i64::from(count)).collect::<Vec<_>>());
        faulty_call("aten::var.correction_out", values, 6, &any)
    };
    let of_order = |dims: &[i64]| variance(channels_last(ScalarType::FLOAT), dims.to_vec());
    // As the runtimes of 0.6 to 1.4 computed them.
    for dims in [&[0, 2][..], &[0, 1], &[1, 2], &[-4, -2, -1], &[0, 1, 2, 3]] {
        assert_eq!(of_order(dims).last(), Some(&("1.4", Outcome::Miscomputes)), "{dims:?}");
    }
    for dims in [&[2][..], &[2, 3], &[1, 3], &[0, 3], &[1]] {
        assert_eq!(of_order(dims), [], "{dims:?}");
    }
    assert_eq!(variance(Tensor::new(ScalarType::FLOAT, vec![2, 3, 4, 5]), vec![0, 2]), []);
    let dequantize = |input: Tensor<'static>| {
        let [axis, low, high, dtype] = [1i64, -128, 127, 1].map(EValue::from);
        let parameters = |scalar_type| EValue::from(Tensor::new(scalar_type, vec![3]));
        let out = || EValue::from(channels_last(ScalarType::FLOAT));
        let (scales, zeros) = (parameters(ScalarType::FLOAT), parameters(ScalarType::LONG));
        let values = vec![input.into(), scales, zeros, axis, low, high, dtype, EValue::null(), out(), out()];
        faulty("quantized_decomposed::dequantize_per_channel.out", values, &any)
    };
    assert_eq!(dequantize(channels_last(ScalarType::CHAR)).last(), Some(&("1.4", Outcome::Dies)));
    assert_eq!(dequantize(Tensor::new(ScalarType::CHAR, vec![2, 3, 4, 5])), []);
}

#[test]
fn channels_that_old_kernels_quantize_along_other_dimensions_are_a_known_fault() {
    let quantize = |sizes: &[i32], axis: i64| {
        let tensor = |scalar_type: ScalarType, sizes: &[i32]| EValue::from(Tensor::new(scalar_type, sizes.to_vec()));
        let [low, high, dtype] = [-128i64, 127, 1].map(EValue::from);
        let (scales, zeros) = (tensor(ScalarType::DOUBLE, &[3]), tensor(ScalarType::LONG, &[3]));
        let out = || tensor(ScalarType::CHAR, sizes);
        let values = vec![tensor(ScalarType::FLOAT, sizes), scales, zeros, axis.into(), low, high, dtype, out(), out()];
        faulty("quantized_decomposed::quantize_per_channel.out", values, &Target::default()).pop()
    };
    assert_eq!(quantize(&[3, 4, 5], 0), Some(("0.7", Outcome::Miscomputes)));
    assert_eq!(quantize(&[3], 0), Some(("0.7", Outcome::Miscomputes)));
    assert_eq!(quantize(&[2, 3, 4, 5], 1), Some(("0.7", Outcome::Dies)));
    assert_eq!(quantize(&[3, 4], 0), None);
    assert_eq!(quantize(&[4, 3], 1), None);
    assert_eq!(quantize(&[4, 5, 3], -1), None);
}

#[test]
fn a_sum_whose_factor_the_optimized_kernel_gives_to_the_wrong_tensor_is_reported() {
    let tensor = |sizes: &[i32]| EValue::from(Tensor::new(ScalarType::FLOAT, sizes.to_vec()));
    let outcome = |left: &[i32], right: &[i32], alpha: f64, library| {
        let values = vec![tensor(left), tensor(right), alpha.into(), tensor(&[3, 4]), tensor(&[3, 4])];
        let call = vec![Instruction::kernel_call(0, vec![0, 1, 2, 3, 4])];
        let plan = ExecutionPlan::new("forward", values, vec![Operator::new("aten::add", "out")], call, 0);
        let mut pte = Pte::default();
        pte.program.execution_plan = Some(vec![plan]);
        let verdict = Analysis::new(&pte).verdict(&linked(&[library]).with_runtime(Some(Release::LATEST)));
        verdict.because.into_iter().find(|cause| cause.name == "kernel-wrong-values").map(|cause| cause.outcome)
    };
    assert_eq!(outcome(&[1], &[3, 4], 2.5, Library::Optimized), Some(Outcome::Miscomputes));
    assert_eq!(outcome(&[1], &[3, 4], 2.5, Library::PythonWheel), Some(Outcome::Miscomputes));
    assert_eq!(outcome(&[1], &[3, 4], 2.5, Library::Portable), None);
    assert_eq!(outcome(&[1], &[3, 4], 1.0, Library::Optimized), None);
    assert_eq!(outcome(&[3, 4], &[1], 2.5, Library::Optimized), None);
    assert_eq!(outcome(&[4], &[3, 4], 2.5, Library::Optimized), None);
}
