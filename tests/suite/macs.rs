//! Multiply-accumulates, compared with numbers computed by hand.

use executorch_format::inspect::{EventKind, MethodMacs, ParameterPrecision};
use executorch_format::naming::NameSource;
use executorch_format::schema::ScalarType;
use executorch_format::schema::program::{
    EValue, ExecutionPlan, Instruction, KernelTypes, Null, Operator, Program, Tensor, TensorShapeDynamism,
};
use executorch_format::{Analysis, DataCollector, Etdp, Pte, PteOptions};
use executorch_format_support::data;
use executorch_format_support::fixtures::{fixture, fixtures, for_each};

/// Returns the multiply-accumulates, the parameters, whether they are bounds, and whether they are complete.
fn sums(method: &MethodMacs<'_>) -> (u64, u64, bool, bool) {
    (method.macs.unwrap(), method.parameters.unwrap(), method.is_bound, method.is_complete)
}

#[test]
fn products_are_counted_in_kernels_and_inside_delegates() {
    let (stem, layer, head) = (8 * 6 * 6 * 3 * 9, 8 * 6 * 6 * 8 * 9, 8 * 5);
    let parameters = (3 * 9 * 8 + 8) + 2 * (8 * 9 * 8 + 8) + (8 * 5 + 5);
    // XNNPACK's export folds two normalizations of 8 channels, each with a weight and a bias.
    let folded = 2 * 2 * 8;
    for (name, more, precision) in
        [("net_portable.pte", folded, ParameterPrecision::Exact), ("net_xnnpack.pte", 0, ParameterPrecision::About)]
    {
        let file = std::fs::read(data().join("etrecord").join(name)).unwrap();
        let pte = Pte::parse(&file).unwrap();
        let macs = Analysis::new(&pte).macs();
        assert_eq!(sums(&macs.methods[0]), (stem + 2 * layer + head, parameters + more, false, true), "{name}");
        let first = &macs.methods[0].by_operator()[0];
        assert_eq!((first.calls, first.macs), (3, Some(stem + 2 * layer)), "{name}");
        assert_eq!(macs.methods[0].parameters_are, precision, "{name}");
        let record = std::fs::read(data().join("etrecord").join(name.replace(".pte", ".etrecord"))).unwrap();
        let sources = [NameSource::parse(&record).unwrap()];
        let analysis = Analysis::new(&pte).with_names(&sources);
        let named = &analysis.macs().methods[0];
        assert_eq!(
            (named.parameters, named.parameters_are),
            (Some(parameters + folded), ParameterPrecision::Exact),
            "{name}"
        );
        let modules = analysis.macs_by_module(&macs);
        let of = |path: &str| modules.iter().find(|module| module.path == Some(path)).map(|module| module.total);
        assert_eq!([of("stem"), of("layers.1"), of("head")], [Some(stem), Some(layer), Some(head)], "{name}");
    }
    let file = fixture("payloads/depthwise.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    // 3 by 3 for 4 channels, then 3 by 5 for 8 output channels, each of one input channel.
    let (first, second) = (8 * 8 * 4 * 9, 6 * 2 * 8 * 15);
    assert_eq!(sums(&Analysis::new(&pte).macs().methods[0]), (first + second, 4 * 9 + 4 + 8 * 15 + 8, false, true));
}

/// A state dict has buffers too. Names that PyTorch's modules give to no buffer are those of parameters.
#[test]
fn a_state_dict_tells_parameters_from_buffers_by_their_names() {
    let folder = data().join("etrecord");
    let file = std::fs::read(folder.join("net_portable.pte")).unwrap();
    let pte = Pte::parse(&file).unwrap();
    let state = std::fs::read(folder.join("net.safetensors")).unwrap();
    let expected = (3 * 9 * 8 + 8) + 2 * (8 * 9 * 8 + 8) + (8 * 5 + 5) + 2 * 2 * 8;
    for (name, precision) in [("head.bias", ParameterPrecision::Exact), ("head.grid", ParameterPrecision::About)] {
        let renamed = state.windows(name.len()).position(|bytes| bytes == b"head.bias").unwrap();
        let mut state = state.clone();
        state[renamed..][..name.len()].copy_from_slice(name.as_bytes());
        let sources = [NameSource::parse(&state).unwrap()];
        let method = &Analysis::new(&pte).with_names(&sources).macs().methods[0];
        assert_eq!((method.parameters, method.parameters_are), (Some(expected), precision), "{name}");
    }
}

/// Without a record, running statistics are not counted, and folded normalizations make the number about right. A record of the lowered program
/// alone does not have the parameters that are inside delegates.
#[test]
fn a_record_of_the_lowered_program_does_not_count_its_parameters() {
    let model = (4 * 6 + 2 * 6) + (24 * 3 + 2 * 3);
    let folded = (4 * 6 + 6) + (24 * 3 + 3);
    for (name, parameters, precision) in
        [("norms", model, ParameterPrecision::Exact), ("norms_lowered", folded, ParameterPrecision::About)]
    {
        let read = |extension| std::fs::read(data().join(format!("names/{name}.{extension}"))).unwrap();
        let (file, record) = (read("pte"), read("etrecord"));
        let (pte, sources) = (Pte::parse(&file).unwrap(), [NameSource::parse(&record).unwrap()]);
        for analysis in [Analysis::new(&pte), Analysis::new(&pte).with_names(&sources)] {
            let method = &analysis.macs().methods[0];
            assert_eq!((method.parameters, method.parameters_are), (Some(parameters), precision), "{name}");
        }
    }
}

/// In a transposed convolution, each input element meets the whole filter.
#[test]
fn transposed_convolutions_are_counted_by_their_input() {
    let file = fixture("1.5.1/channels_last/channels_last.pte");
    let mut pte = Pte::parse(file.bytes()).unwrap();
    assert_eq!(Analysis::new(&pte).macs().methods[0].macs, Some(4 * 4 * 4 * 3 * 2 * 2));
    for value in pte.program.execution_plan.as_mut().unwrap()[0].values.as_mut().unwrap() {
        match &mut value.val {
            KernelTypes::Bool(transposed) => transposed.bool_val = true,
            KernelTypes::Tensor(tensor) if tensor.sizes() == [1, 3, 5, 5] => {
                tensor.sizes = Some(vec![1, 4, 5, 5].into());
            }
            _ => {}
        }
    }
    // 4 input channels, 3 output channels, and a filter of 2 by 2.
    assert_eq!(Analysis::new(&pte).macs().methods[0].macs, Some(5 * 5 * 4 * 3 * 2 * 2));
}

#[test]
fn a_dynamic_shape_counts_with_its_upper_bound() {
    for (name, parameters) in [("linear", 8 * 5 + 5), ("linear_xnnpack", 8 * 5 + 5)] {
        let file = fixture(&format!("1.5.1/{name}/{name}.pte"));
        let mut pte = Pte::parse(file.bytes()).unwrap();
        assert_eq!(sums(&Analysis::new(&pte).macs().methods[0]), (8 * 5, parameters, false, true));
        for value in pte.program.execution_plan.as_mut().unwrap()[0].values.as_mut().unwrap() {
            if let KernelTypes::Tensor(tensor) = &mut value.val {
                tensor.shape_dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
            }
        }
        assert_eq!(sums(&Analysis::new(&pte).macs().methods[0]), (8 * 5, parameters, true, true));
    }
}

#[test]
fn unknown_counts_are_not_zero() {
    for (name, precision) in [
        ("payloads/other/tosa.pte", ParameterPrecision::Unknown),
        ("1.5.1/evalue_custom/evalue_custom.pte", ParameterPrecision::About),
    ] {
        let file = fixture(name);
        let pte = Pte::parse(file.bytes()).unwrap();
        let macs = Analysis::new(&pte).macs();
        let method = &macs.methods[0];
        assert_eq!((method.macs, method.parameters_are), (None, precision), "{name}");
        assert_eq!(method.parameters.is_none(), precision == ParameterPrecision::Unknown, "{name}");
        assert!(!method.is_complete && method.calls.iter().any(|call| call.macs.is_none()), "{name}");
        assert!(method.by_operator().iter().any(|operator| operator.unknown > 0), "{name}");
    }
}

#[test]
fn sums_are_those_of_the_calls() {
    let programs: Vec<_> =
        fixtures().into_iter().filter(|file| file.path.extension().is_some_and(|e| e == "pte")).collect();
    for_each(&programs, |file| {
        let Ok(pte) = Pte::parse(file.bytes()) else { return Ok(()) };
        for method in Analysis::new(&pte).macs().methods {
            let sum: u64 = method.calls.iter().filter_map(|call| call.macs).sum();
            let by_operator: u64 = method.by_operator().iter().filter_map(|operator| operator.macs).sum();
            if sum != method.macs.unwrap_or_default() || by_operator != sum {
                return Err(format!("  {}: {sum} and {by_operator}, not {:?}", method.name, method.macs));
            }
        }
        Ok(())
    });
}

/// Returns the sums of a program that calls one operator with these values.
fn called(operator: &'static str, values: Vec<EValue<'static>>) -> (u64, u64, bool, bool) {
    let mut arguments: Vec<i32> = (0..values.len() as i32).collect();
    // The result is repeated.
    arguments.extend(arguments.last().copied());
    let call = Instruction::kernel_call(0, arguments);
    let plan = ExecutionPlan::new("forward", values, vec![Operator::new(operator, "out")], vec![call], 1 << 20);
    let program = Program { execution_plan: Some(vec![plan]), ..Program::default() };
    let pte = DataCollector::new().finish(program, &PteOptions::default()).unwrap();
    sums(&Analysis::new(&pte).macs().methods[0])
}

/// The runtime attends to the keys up to the start position plus the number of queries, at most to all of the cache.
#[test]
fn attention_over_a_cache_counts_with_a_full_one() {
    let tensor = |sizes: [i32; 4]| -> EValue<'static> {
        Tensor::new(ScalarType::FLOAT, sizes.to_vec()).with_planned(1, 0).into()
    };
    // Batch, positions, heads, size of a head; the keys and values have fewer heads.
    let (query, cache, new) = ([1, 3, 8, 16], [1, 64, 2, 16], [1, 3, 2, 16]);
    let none = || EValue::from(KernelTypes::Null(Null::default()));
    let rest = || vec![none(), 0.0f64.into(), true.into(), none(), tensor(query)];
    let expected = (2 * 3 * 8 * 16 * 64, 0, true, true);
    let custom = [vec![tensor(query), tensor(cache), tensor(cache), 0i64.into()], rest()].concat();
    assert_eq!(called("llama::custom_sdpa", custom), expected);
    let start = vec![tensor(query), tensor(new), tensor(new), tensor(cache), tensor(cache), 0i64.into(), 3i64.into()];
    assert_eq!(called("llama::sdpa_with_kv_cache", [start, rest()].concat()), expected);
    // Here, heads come before positions, if the last argument but one says so.
    let (query, cache) = ([1, 8, 3, 16], [1, 2, 64, 16]);
    let mut quantized = vec![tensor(query), tensor(cache), tensor(cache), 0i64.into(), none(), 0.0f64.into()];
    quantized.extend([true.into(), none(), none(), none(), none(), none(), none(), none(), true.into(), tensor(query)]);
    assert_eq!(called("llama::custom_quantized_sdpa", quantized), expected);
}

#[test]
fn events_of_a_profile_have_the_products_of_what_they_time() {
    let (stem, layer, head) = (8 * 6 * 6 * 3 * 9, 8 * 6 * 6 * 8 * 9, 8 * 5);
    for (name, calls) in [
        ("net_portable", vec![stem, layer, 0, 0, 0, layer, 0, 0, 0, 0, 0, head]),
        ("net_xnnpack", vec![stem + 2 * layer, 0, head]),
    ] {
        let [trace, program] =
            ["etdp", "pte"].map(|end| std::fs::read(data().join(format!("etrecord/{name}.{end}"))).unwrap());
        let (etdp, pte) = (Etdp::parse(&trace).unwrap(), Pte::parse(&program).unwrap());
        let profile = etdp.profile(Some(&Analysis::new(&pte)), None);
        let run = &profile.runs[1];
        let of = |kind: EventKind| run.events.iter().filter(move |event| event.kind == kind);
        assert_eq!(of(EventKind::Instruction).map(|event| event.macs.unwrap()).collect::<Vec<_>>(), calls, "{name}");
        let nodes: Vec<_> = of(EventKind::Delegate).filter_map(|event| event.macs).filter(|macs| *macs > 0).collect();
        let by_operator = run.by_operator();
        let of_operator = |name: &str| by_operator.iter().find(|time| time.name == name).and_then(|time| time.macs);
        match name {
            "net_xnnpack" => {
                assert_eq!(nodes, [stem, layer, layer, head]);
                assert_eq!(of_operator("XnnpackBackend"), Some(stem + 2 * layer + head));
            }
            _ => assert_eq!(of_operator("aten::convolution.out"), Some(stem + 2 * layer)),
        }
        assert!(etdp.profile(None, None).runs[1].events.iter().all(|event| event.macs.is_none()), "{name}");
    }
}

#[test]
fn initial_states_that_training_changes_are_parameters() {
    use executorch_format_support::training::constant;

    let file = fixture("1.5.1/mutable_init/mutable_init.pte");
    let mut pte = Pte::parse(file.bytes()).unwrap();
    let before = Analysis::new(&pte).macs().methods[0].parameters.unwrap();
    let plans = pte.program.execution_plan.as_mut().unwrap();
    // The first value is a tensor of five elements with an initial state.
    plans[0].outputs = Some(vec![plans[0].outputs()[0], 0].into());
    plans.push(constant("__et_training_gradients_index_forward", vec![1i64.into()]));
    plans.push(constant("__et_training_parameters_index_forward", vec![1i64.into()]));
    assert_eq!(Analysis::new(&pte).macs().methods[0].parameters, Some(before + 5));
}

/// The arguments of Cortex-M's kernels, with a weight in each kernel's own layout, and the products of every element of the output.
#[test]
fn quantized_kernels_are_counted_in_every_layout() {
    let planned =
        |sizes: &[i32]| -> EValue<'static> { Tensor::new(ScalarType::CHAR, sizes.to_vec()).with_planned(1, 0).into() };
    let none = || EValue::from(KernelTypes::Null(Null::default()));
    let conv = |input: &[i32], weight: &[i32], output: &[i32], depthwise: bool| {
        let mut values = vec![planned(input), planned(weight), none(), none(), none(), none()];
        values.extend(depthwise.then(|| 1i64.into()));
        values.extend([
            0i64.into(),
            0i64.into(),
            planned(&[8]),
            planned(&[8]),
            0i64.into(),
            0i64.into(),
            planned(&[64]),
        ]);
        values.push(planned(output));
        values
    };
    // 3 by 3 for 8 channels at 6 by 5 positions.
    let expected = (6 * 5 * 8 * 9, 0, false, true);
    let depthwise = conv(&[1, 8, 6, 5], &[1, 3, 3, 8], &[1, 8, 6, 5], true);
    assert_eq!(called("cortex_m::quantized_depthwise_conv2d", depthwise), expected);
    let depthwise = conv(&[1, 6, 5, 8], &[1, 3, 3, 8], &[1, 6, 5, 8], true);
    assert_eq!(called("cortex_m::quantized_depthwise_conv2d_nhwc", depthwise), expected);
    let expected = (6 * 5 * 8 * 9 * 4, 0, false, true);
    let full = conv(&[1, 4, 6, 5], &[8, 3, 3, 4], &[1, 8, 6, 5], false);
    assert_eq!(called("cortex_m::quantized_conv2d", full), expected);
    let full = conv(&[1, 6, 5, 4], &[8, 3, 3, 4], &[1, 6, 5, 8], false);
    assert_eq!(called("cortex_m::quantized_conv2d_nhwc", full), expected);
    let mut linear = vec![planned(&[2, 3, 16]), planned(&[5, 16]), planned(&[5]), none()];
    linear.extend([
        0i64.into(),
        0i64.into(),
        0i64.into(),
        none(),
        none(),
        0i64.into(),
        0i64.into(),
        planned(&[2, 3, 5]),
    ]);
    assert_eq!(called("cortex_m::quantized_linear", linear), (2 * 3 * 5 * 16, 0, false, true));
    let mut product = vec![planned(&[2, 3, 16]), 0i64.into(), planned(&[2, 5, 16])];
    product.extend([0i64.into(), 0i64.into(), 0i64.into(), 0i64.into(), planned(&[64]), planned(&[2, 3, 5])]);
    assert_eq!(called("cortex_m::quantized_batch_matmul", product), (2 * 3 * 5 * 16, 0, false, true));
}

/// The numbers that PyTorch counts in the models.
#[test]
fn packed_weights_are_counted_by_their_elements() {
    for (name, parameters) in [("emb4", 4096), ("emb8", 4096), ("q4llm", 20_480)] {
        let file = std::fs::read(data().join(format!("answers/{name}.pte"))).unwrap();
        let pte = Pte::parse(&file).unwrap();
        let method = &Analysis::new(&pte).macs().methods[0];
        let found = (method.parameters, method.parameters_are);
        assert_eq!(found, (Some(parameters), ParameterPrecision::Exact), "{name}");
    }
}

#[test]
fn tied_matrices_count_once_and_equal_vectors_twice() {
    for (sizes, parameters) in [(vec![2, 3], 6), (vec![6], 12)] {
        let mut collector = DataCollector::new();
        let index = collector.constant(vec![0u8; 24]);
        let tensor = Tensor::new(ScalarType::FLOAT, sizes);
        let constant = || EValue::from(Tensor { data_buffer_idx: index, ..tensor.clone() });
        let values = vec![constant(), constant(), 1i64.into(), tensor.clone().with_planned(1, 0).into()];
        let call = Instruction::kernel_call(0, vec![0, 1, 2, 3, 3]);
        let plan = ExecutionPlan::new("forward", values, vec![Operator::new("aten::add", "out")], vec![call], 1 << 20);
        let program = Program { execution_plan: Some(vec![plan]), ..Program::default() };
        let pte = collector.finish(program, &PteOptions::default()).unwrap();
        assert_eq!(Analysis::new(&pte).macs().methods[0].parameters, Some(parameters));
    }
}

/// A weight that is passed to a delegate is one of the model, whatever the delegate has inside.
#[test]
fn constants_that_are_passed_to_delegates_are_parameters() {
    let file = fixture("payloads/other/ethosu.pte");
    let mut pte = Pte::parse(file.bytes()).unwrap();
    let plan = &mut pte.program.execution_plan.as_mut().unwrap()[0];
    let input = usize::try_from(plan.inputs()[0]).unwrap();
    let KernelTypes::Tensor(tensor) = &mut plan.values.as_mut().unwrap()[input].val else { panic!("no tensor") };
    let elements: i32 = tensor.sizes().iter().product();
    tensor.allocation_info = None;
    *tensor = tensor.clone().with_external("weight");
    let method = &Analysis::new(&pte).macs().methods[0];
    assert_eq!((method.parameters, method.parameters_are), (Some(elements as u64), ParameterPrecision::AtLeast));
}
