//! Reading the elements of tensors as Rust numbers.

use executorch_format::schema::ScalarType;
use executorch_format::schema::program::{
    EValue, ExecutionPlan, Instruction, KernelTypes, Null, Operator, Program, Tensor,
};
use executorch_format::{Analysis, DataCollector, Element, ErrorKind, Ptd, Pte, PteOptions, TensorShape, TensorView};
use executorch_format_support::fixtures::{fixture, fixtures, for_each};

/// Returns the constants of a program with elements `T`, read both as a slice and as a copy.
fn constants<T: Element + PartialEq + std::fmt::Debug>(pte: &Pte<'_>) -> Vec<Vec<T>> {
    let views = pte.methods().iter().flat_map(|plan| plan.tensors());
    let views = views.filter_map(|(_, tensor)| pte.tensor_view(tensor).unwrap());
    views
        .filter(|view| T::SCALAR_TYPES.contains(&view.shape().scalar_type))
        .map(|view| {
            let copy = view.to_vec::<T>().unwrap();
            assert_eq!(copy.len(), view.elements());
            // The elements are little-endian: a big-endian machine can only borrow elements of one byte.
            match cfg!(target_endian = "little") || size_of::<T>() == 1 {
                true => assert_eq!(view.as_slice::<T>().unwrap(), copy),
                false => assert!(matches!(view.as_slice::<T>().unwrap_err().kind(), ErrorKind::Tensor(_))),
            }
            copy
        })
        .collect()
}

#[test]
fn constants_of_every_type_have_the_exported_values() {
    let file = fixture("1.5.1/const_dtypes/const_dtypes.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    assert_eq!(constants::<f32>(&pte), [[1.0, -2.5, 3.25]]);
    assert_eq!(constants::<f64>(&pte), [[1.0, 1e300]]);
    assert_eq!(constants::<u8>(&pte), [[0, 128, 255]]);
    assert_eq!(constants::<i8>(&pte), [[-128, 0, 127]]);
    assert_eq!(constants::<i16>(&pte), [[i16::MIN, i16::MAX]]);
    assert_eq!(constants::<i32>(&pte), [[i32::MIN, i32::MAX]]);
    assert_eq!(constants::<i64>(&pte), [[i64::MIN, i64::MAX]]);
    assert_eq!(constants::<bool>(&pte), [[true, false, true, true, false]]);
}

#[test]
fn constants_of_every_type_are_numbers_too() {
    let file = fixture("1.5.1/const_dtypes/const_dtypes.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let views = pte.methods()[0].tensors().filter_map(|(_, tensor)| pte.tensor_view(tensor).unwrap());
    let numbers: Vec<(ScalarType, Vec<f64>)> =
        views.map(|view| (view.shape().scalar_type, view.to_f64().unwrap())).collect();
    for (scalar_type, expected) in [
        (ScalarType::FLOAT, vec![1.0, -2.5, 3.25]),
        (ScalarType::DOUBLE, vec![1.0, 1e300]),
        (ScalarType::BYTE, vec![0.0, 128.0, 255.0]),
        (ScalarType::CHAR, vec![-128.0, 0.0, 127.0]),
        (ScalarType::SHORT, vec![-32768.0, 32767.0]),
        (ScalarType::INT, vec![-2_147_483_648.0, 2_147_483_647.0]),
        (ScalarType::LONG, vec![i64::MIN as f64, i64::MAX as f64]),
        (ScalarType::BOOL, vec![1.0, 0.0, 1.0, 1.0, 0.0]),
        (ScalarType::HALF, vec![1.0, -0.5, 65504.0]),
    ] {
        assert!(numbers.contains(&(scalar_type, expected)), "{scalar_type}: {numbers:?}");
    }
    let shape = TensorShape { scalar_type: ScalarType::FLOAT8E5M2, sizes: &[1], dim_order: &[0] };
    let error = TensorView::new(shape, &[0]).unwrap().to_f64().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Tensor(_)), "{error}");
}

#[cfg(feature = "half")]
#[test]
fn half_precision_constants_have_the_exported_values() {
    use half::{bf16, f16};

    let file = fixture("1.5.1/const_dtypes/const_dtypes.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    assert_eq!(constants::<f16>(&pte), [[f16::from_f32(1.0), f16::from_f32(-0.5), f16::MAX]]);
    assert_eq!(constants::<bf16>(&pte), [[bf16::from_f32(1.0), bf16::from_f32(-0.5), bf16::from_bits(0x7f62)]]);
}

#[test]
fn the_strides_of_channels_last_follow_the_dim_order() {
    let file = fixture("1.5.1/channels_last/channels_last.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let views = pte.methods().iter().flat_map(|plan| plan.tensors());
    let mut views = views.filter_map(|(_, tensor)| pte.tensor_view(tensor).unwrap());
    let view = views.find(|view| view.shape().sizes == [4, 3, 2, 2]).unwrap();
    assert_eq!(view.shape().dim_order, [0, 2, 3, 1]);
    assert_eq!(view.shape().strides().unwrap(), [12, 1, 6, 3]);
    assert_eq!(view.to_vec::<f32>().unwrap()[0].to_bits(), 0xbb0d_a3e8);
}

#[test]
fn a_view_that_cannot_be_read_gives_the_reason() {
    let shape = TensorShape { scalar_type: ScalarType::FLOAT, sizes: &[1], dim_order: &[0] };
    let view = TensorView::new(shape, &[0; 4]).unwrap();
    let kind = |error: executorch_format::Error| error.kind().clone();
    assert!(matches!(kind(view.as_slice::<i32>().unwrap_err()), ErrorKind::Tensor(found) if found.contains("FLOAT")));
    assert!(matches!(kind(view.to_vec::<f64>().unwrap_err()), ErrorKind::Tensor(found) if found.contains("FLOAT")));
    let words = [0u64; 2];
    let bytes: &[u8] = bytemuck::cast_slice(&words);
    let unaligned = TensorView::new(shape, &bytes[1..5]).unwrap();
    assert!(matches!(kind(unaligned.as_slice::<f32>().unwrap_err()), ErrorKind::Tensor(_)));
    assert_eq!(unaligned.to_vec::<f32>().unwrap(), [0.0]);
    let not_a_bool = TensorView::new(TensorShape { scalar_type: ScalarType::BOOL, ..shape }, &[2]).unwrap();
    assert!(matches!(kind(not_a_bool.as_slice::<bool>().unwrap_err()), ErrorKind::Tensor(_)));
    assert!(matches!(kind(not_a_bool.to_vec::<bool>().unwrap_err()), ErrorKind::Tensor(_)));
    assert!(matches!(
        kind(TensorShape { sizes: &[2, 2], dim_order: &[0, 0], ..shape }.strides().unwrap_err()),
        ErrorKind::Tensor(_)
    ));
}

#[test]
fn a_view_has_the_size_of_its_shape() {
    let shape = TensorShape { scalar_type: ScalarType::FLOAT, sizes: &[1, 3, 224, 224], dim_order: &[0, 1, 2, 3] };
    let error = TensorView::new(shape, &[0; 3]).unwrap_err().to_string();
    assert!(error.contains("f32[1, 3, 224, 224] takes 602112 bytes, but the data has 3 bytes"), "{error}");
    let unknown = TensorShape { scalar_type: ScalarType(99), sizes: &[1], dim_order: &[0] };
    let error = TensorView::new(unknown, &[0; 3]).unwrap_err().to_string();
    assert!(error.contains("the scalar type 99 is unknown"), "{error}");
}

#[test]
fn a_key_index_finds_the_keys_of_a_program_and_no_others() {
    let file = fixture("1.5.1/named_data/named_data.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let index = pte.named_data_index();
    assert_eq!(index.iter().count(), pte.named_data().len());
    assert!(pte.named_data().len() > 3);
    for (at, named) in pte.named_data().iter().enumerate() {
        let key = named.key.as_deref().unwrap();
        assert_eq!(index.get(key), Some(at));
        assert_eq!(index.get(&format!("{key} ")), None);
        let bytes = pte.bytes(&pte.named_data_ref(named).unwrap()).unwrap();
        assert_eq!(pte.named_data_bytes(key).unwrap(), bytes);
    }
    assert!(matches!(pte.named_data_bytes("no such key").unwrap_err().kind(), ErrorKind::Reference(_)));
}

#[test]
fn tensors_of_the_early_schemas_have_an_offset_in_their_segment() {
    let file = fixture("0.6.0/add_mul_external/_default_external_constant.ptd");
    let ptd = Ptd::parse(file.bytes()).unwrap();
    let values = |key: &str| {
        let entry = ptd.get(key).unwrap();
        ptd.tensor_view(&entry).unwrap().unwrap().to_vec::<f32>().unwrap()
    };
    assert_eq!(values("a"), [0.0, 3.0, 6.0, 9.0]);
    assert_eq!(values("b"), [2.0; 4]);
    assert_eq!(ptd.get("b").unwrap().offset, 16);
}

#[test]
fn every_tensor_of_a_ptd_has_a_view_and_strides() {
    let fixtures: Vec<_> = fixtures().into_iter().filter(|fixture| !fixture.is_pte()).collect();
    for_each(&fixtures, |fixture| {
        let ptd = Ptd::parse(fixture.bytes()).map_err(|error| error.to_string())?;
        for entry in ptd.entries().filter(|_| ptd.header.is_some()) {
            let view = ptd.tensor_view(&entry).map_err(|error| format!("  {:?}: {error}", entry.key))?;
            if view.is_some_and(|view| view.shape().strides().is_err()) {
                return Err(format!("  {:?}: no strides", entry.key));
            }
        }
        Ok(())
    });
}

/// Returns a program with an operator that takes a weight with these sizes, scales and zero points; `rest` are its other arguments.
fn quantized(
    operator: &'static str,
    (scalar_type, sizes, bytes): (ScalarType, [i32; 2], Vec<u8>),
    scales: EValue<'static>,
    zero_points: EValue<'static>,
    rest: impl FnOnce(&mut DataCollector<'static>) -> Vec<EValue<'static>>,
) -> Pte<'static> {
    let mut data = DataCollector::new();
    let mut own = |value: EValue<'static>, bytes: &[f32]| match value.val {
        KernelTypes::Tensor(tensor) => {
            let bytes: Vec<u8> = bytes.iter().flat_map(|number| number.to_le_bytes()).collect();
            tensor.with_data(data.constant(bytes)).into()
        }
        val => EValue { val },
    };
    let (scales, zero_points) = (own(scales, &[0.5, 2.0]), own(zero_points, &[1.0, -1.0]));
    let weight = Tensor::new(scalar_type, sizes.to_vec()).with_data(data.constant(bytes)).into();
    let mut values = vec![weight, scales, zero_points];
    values.extend(rest(&mut data));
    values.push(Tensor::new(ScalarType::FLOAT, vec![2, 2]).with_planned(1, 0).into());
    let arguments: Vec<i32> = (0..values.len() as i32).collect();
    let result = values.len() as i32 - 1;
    let call = Instruction::kernel_call(0, arguments);
    let plan =
        ExecutionPlan::new("forward", values, vec![Operator::new(operator, "out")], vec![call.clone(), call], 16)
            .with_outputs(vec![result]);
    data.finish(Program { execution_plan: Some(vec![plan]), ..Program::default() }, &PteOptions::default()).unwrap()
}

/// Returns the numbers of the only quantized tensor.
fn only(pte: &Pte<'_>) -> Result<Vec<f32>, String> {
    let found = Analysis::new(pte).dequantized();
    assert_eq!(found.len(), 1, "two calls take the same tensor");
    assert_eq!((found[0].method, found[0].value), (0, 0));
    found[0].numbers.as_ref().map(|numbers| numbers.to_vec()).map_err(|error| error.to_string())
}

#[test]
fn a_programs_own_weights_are_dequantized_as_its_operators_do() {
    let floats = |sizes: &[i32]| -> EValue<'static> { Tensor::new(ScalarType::FLOAT, sizes.to_vec()).into() };
    let none = || EValue { val: Null {}.into() };
    let bytes = || (ScalarType::CHAR, [2, 2], vec![1, 3, 0xff, 1]);
    let axis = |axis: i64| move |_: &mut DataCollector<'static>| vec![axis.into()];
    let no_more = |_: &mut DataCollector<'static>| Vec::new();
    let channel = "quantized_decomposed::dequantize_per_channel";
    for (pte, expected) in [
        (
            quantized("quantized_decomposed::dequantize_per_tensor", bytes(), 0.5.into(), 1i64.into(), no_more),
            [0.0, 1.0, -1.0, 0.0],
        ),
        (quantized(channel, bytes(), floats(&[2]), none(), axis(0)), [0.5, 1.5, -2.0, 2.0]),
        (quantized(channel, bytes(), floats(&[2]), floats(&[2]), axis(-1)), [0.0, 8.0, -1.0, 4.0]),
        (
            quantized("quantized_decomposed::dequantize_per_token", bytes(), floats(&[2, 1]), floats(&[2, 1]), no_more),
            [0.0, 1.0, 0.0, 4.0],
        ),
        (
            quantized("quantized_decomposed::embedding_byte", bytes(), floats(&[2]), floats(&[2]), no_more),
            [0.0, 1.0, 0.0, 4.0],
        ),
    ] {
        assert_eq!(only(&pte).unwrap(), expected);
    }
    // Two numbers per byte, the first one in the high half; 8 stands for 0. Each column of bytes is a group.
    let halves = (ScalarType::BYTE, [1, 2], vec![0x8f, 0x09]);
    let pte = quantized("quantized_decomposed::embedding_4bit", halves, floats(&[1, 2]), none(), no_more);
    assert_eq!(only(&pte).unwrap(), [0.0, 3.5, -16.0, 2.0]);
    // Four numbers per byte, the first one in the lowest bits; 2 stands for 0.
    let quarters = (ScalarType::BYTE, [2, 1], vec![0b11_10_01_00, 0b00_00_00_11]);
    let pte = quantized("quantized_decomposed::embedding_2bit", quarters, floats(&[2]), none(), no_more);
    assert_eq!(only(&pte).unwrap(), [-1.0, -0.5, 0.0, 0.5, 2.0, -4.0, -4.0, -4.0]);
}

#[test]
fn scales_that_do_not_fit_a_weight_are_an_error() {
    let floats = |sizes: &[i32]| -> EValue<'static> { Tensor::new(ScalarType::FLOAT, sizes.to_vec()).into() };
    let none = || EValue { val: Null {}.into() };
    let bytes = |rows: i32| (ScalarType::CHAR, [rows, 1], vec![0; rows as usize]);
    let axis = |axis: i64| move |_: &mut DataCollector<'static>| vec![axis.into()];
    let channel = "quantized_decomposed::dequantize_per_channel";
    for (pte, expected) in [
        (quantized(channel, bytes(3), floats(&[2]), none(), axis(0)), "2 scales, expected 3"),
        (quantized(channel, bytes(2), floats(&[2]), none(), axis(2)), "no dimension with that axis"),
        (quantized(channel, bytes(2), floats(&[2]), none(), axis(i64::MIN)), "no dimension with that axis"),
        (quantized(channel, bytes(2), none(), none(), axis(0)), "the scales are not in the program"),
        (
            quantized("quantized_decomposed::embedding_4bit", bytes(2), floats(&[1, 2]), none(), |_| Vec::new()),
            "2 scales, expected 4",
        ),
    ] {
        let found = only(&pte).unwrap_err();
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn a_histogram_has_the_numbers_of_every_type() {
    let cases: [(ScalarType, Vec<u8>, f64, f64); 11] = [
        (ScalarType::BYTE, vec![1, 255], 1.0, 255.0),
        (ScalarType::CHAR, vec![1, 255], -1.0, 1.0),
        (ScalarType::BOOL, vec![0, 1], 0.0, 1.0),
        (ScalarType::SHORT, [-2i16, 3].iter().flat_map(|number| number.to_le_bytes()).collect(), -2.0, 3.0),
        (ScalarType::UINT16, [2u16, 65535].iter().flat_map(|number| number.to_le_bytes()).collect(), 2.0, 65535.0),
        (ScalarType::INT, [-2i32, 3].iter().flat_map(|number| number.to_le_bytes()).collect(), -2.0, 3.0),
        (
            ScalarType::UINT32,
            [2u32, 1 << 31].iter().flat_map(|number| number.to_le_bytes()).collect(),
            2.0,
            2147483648.0,
        ),
        (ScalarType::LONG, [-2i64, 3].iter().flat_map(|number| number.to_le_bytes()).collect(), -2.0, 3.0),
        (
            ScalarType::UINT64,
            [2u64, 1 << 40].iter().flat_map(|number| number.to_le_bytes()).collect(),
            2.0,
            1099511627776.0,
        ),
        (ScalarType::FLOAT, [-0.5f32, 2.0].iter().flat_map(|number| number.to_le_bytes()).collect(), -0.5, 2.0),
        (ScalarType::DOUBLE, [-0.5f64, 2.0].iter().flat_map(|number| number.to_le_bytes()).collect(), -0.5, 2.0),
    ];
    for (scalar_type, bytes, min, max) in cases {
        let shape = TensorShape { scalar_type, sizes: &[2], dim_order: &[0] };
        let histogram = TensorView::new(shape, &bytes).unwrap().histogram(2).unwrap();
        assert_eq!((histogram.min, histogram.max, &*histogram.bins), (min, max, &[1, 1][..]), "{scalar_type}");
    }
}

#[test]
fn short_names_of_types_are_read_back() {
    for number in i8::MIN..=i8::MAX {
        let scalar_type = ScalarType(number);
        if let Some(name) = scalar_type.short_name() {
            assert_eq!(ScalarType::from_short_name(name), Some(scalar_type));
        }
    }
    assert_eq!(ScalarType::from_short_name("FLOAT"), None);
}

#[test]
fn shapes_show_bounds_and_unbounded_sizes() {
    use executorch_format::schema::program::TensorShapeDynamism;
    let shape = TensorShape { scalar_type: ScalarType::FLOAT, sizes: &[2, 8], dim_order: &[0, 1] };
    assert_eq!(shape.to_string_with(TensorShapeDynamism::STATIC), shape.to_string());
    assert_eq!(shape.to_string_with(TensorShapeDynamism::DYNAMIC_BOUND), "f32[<=2, <=8]");
    assert_eq!(shape.to_string_with(TensorShapeDynamism::DYNAMIC_UNBOUND), "f32[?, ?]");
    let mut text = "shape ".to_owned();
    shape.push_to(&mut text, TensorShapeDynamism::DYNAMIC_BOUND);
    assert_eq!(text, "shape f32[<=2, <=8]");
}
