//! Weights of XNNPACK's graphs as numbers.

use executorch_format::Pte;
use executorch_format::delegate::{NamedBlobs, Payload, Xnnpack};
use executorch_format::schema::xnnpack::{PerChannelQuant, XNNDatatype, XNNQuantParams, XValueUnion};
use executorch_format_support::fixtures::{self};

#[test]
fn a_constant_is_seen_as_numbers() {
    let file = fixtures::fixture("payloads/handmade_xn00.0.xnn");
    let payload = Xnnpack::parse(file.bytes()).unwrap();
    assert!(payload.header.is_none());
    let tensor = payload.graph.xvalues()[1].tensor().unwrap();
    let view = payload.constant_view(tensor, &NamedBlobs::NONE).unwrap().unwrap();
    assert_eq!(view.to_vec::<f32>().unwrap().len(), 5);
    assert_eq!(tensor.to_string(), "f32[5]");
}

#[test]
fn rows_of_four_bit_numbers_start_at_a_byte() {
    use executorch_format::delegate::xnnpack::tensor_bytes;
    assert_eq!(tensor_bytes(XNNDatatype::QBINT4, &[3, 5]), Some(9));
    assert_eq!(tensor_bytes(XNNDatatype::FP32, &[3, 5]), Some(60));
    assert_eq!(tensor_bytes(XNNDatatype::FP16, &[]), Some(2));
    assert_eq!(tensor_bytes(XNNDatatype::FP32, &[u32::MAX, u32::MAX, u32::MAX]), None);
    assert_eq!(tensor_bytes(XNNDatatype(77), &[1]), None);
}

/// Returns the constant tensors of a program's payloads, as numbers.
fn numbers(file: &str) -> Vec<(XNNDatatype, Vec<u32>, Vec<f32>)> {
    let file = fixtures::fixture(file);
    let pte = Pte::parse(file.bytes()).unwrap();
    let blobs = NamedBlobs::new(&pte, []);
    let mut all = Vec::new();
    for opened in pte.open_payloads() {
        let Ok(Payload::Xnnpack(payload)) = opened.payload else { continue };
        for value in 0..payload.graph.xvalues().len() {
            if let Some(numbers) = payload.dequantized(value, &blobs).unwrap() {
                assert_eq!(numbers.elements(), numbers.values().count());
                let histogram = numbers.histogram(10).unwrap();
                assert_eq!(histogram.bins.iter().sum::<u64>(), numbers.elements() as u64);
                let datatype = payload.graph.xvalues()[value].tensor().unwrap().datatype;
                all.push((datatype, numbers.dims().to_vec(), numbers.to_vec()));
            }
        }
    }
    all
}

/// Checks that two lists of tensors have the same shapes, and that numbers differ by at most a fraction of the largest number of each.
fn close(one: &[(XNNDatatype, Vec<u32>, Vec<f32>)], other: &[(XNNDatatype, Vec<u32>, Vec<f32>)], part: f32) {
    assert!(!one.is_empty() && one.len() == other.len());
    for ((_, dims, one), (_, other_dims, other)) in one.iter().zip(other) {
        assert_eq!(dims, other_dims);
        let most = one.iter().fold(0f32, |most, number| most.max(number.abs()));
        for (index, (one, other)) in one.iter().zip(other).enumerate() {
            assert!((one - other).abs() <= most * part, "{dims:?}, element {index}: {one} and {other}");
        }
    }
}

#[test]
fn a_weight_has_the_same_numbers_however_it_is_quantized() {
    // The same network, quantized with a scale for each channel, in the payload, and with one scale, in named data.
    close(&numbers("payloads/v0.4.0_quant_per_channel.pte"), &numbers("payloads/quant_per_tensor.pte"), 1.0 / 127.0);
    // Groups of 4 bits: scales of 32 bits in the FlatBuffer, and of 16 bits in named data.
    let (old, new) = (numbers("payloads/v0.6.0_int4_group_old.pte"), numbers("payloads/int4_group.pte"));
    assert_eq!((new[0].0, &*new[0].1), (XNNDatatype::QBINT4, &[8, 64][..]));
    close(&old, &new, 1.0 / 127.0);
}

#[test]
fn floats_agree_with_their_view() {
    let file = fixtures::fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let blobs = NamedBlobs::new(&pte, []);
    let Payload::Xnnpack(payload) = pte.delegate(&pte.methods()[0].delegates()[0]).unwrap() else { panic!() };
    let views =
        payload.graph.xvalues().iter().filter_map(|value| payload.constant_view(value.tensor()?, &blobs).unwrap());
    let views: Vec<Vec<f32>> = views.map(|view| view.to_vec().unwrap()).collect();
    let numbers: Vec<Vec<f32>> = numbers(file.name().as_str()).into_iter().map(|(_, _, values)| values).collect();
    assert_eq!(numbers, views);
}

#[test]
fn numbers_need_bytes_and_scales_for_their_shape() {
    let file = fixtures::fixture("payloads/v0.4.0_quant_per_channel.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let Payload::Xnnpack(payload) = pte.delegate(&pte.methods()[0].delegates()[0]).unwrap() else { panic!() };
    let numbers = |payload: &Xnnpack<'_>| {
        let values = 0..payload.graph.xvalues().len();
        let results = values.map(|value| payload.dequantized(value, &NamedBlobs::NONE).map(|_| ()));
        results.collect::<Result<(), _>>().map_err(|error| error.to_string())
    };
    numbers(&payload).unwrap();
    let damage = |damage: &dyn Fn(&mut XNNQuantParams<'_>, &mut Vec<u32>)| {
        let mut payload = payload.clone();
        for value in payload.graph.xvalues.iter_mut().flatten() {
            if let XValueUnion::XNNQuantizedTensorValue(value) = &mut value.xvalue_union {
                if let Some(tensor) = value.tensor_value.as_mut().filter(|tensor| tensor.constant_buffer_idx != 0) {
                    let mut dims = tensor.dims().to_vec();
                    damage(&mut value.quant_params, &mut dims);
                    tensor.dims = Some(dims.into());
                }
            }
        }
        numbers(&payload).unwrap_err()
    };
    let channels = |params: &mut XNNQuantParams<'_>, change: &dyn Fn(&mut PerChannelQuant<'_>)| {
        if let XNNQuantParams::PerChannelQuant(params) = params {
            change(params);
        }
    };
    let fewer = damage(&|params, _| channels(params, &|params| params.scale.as_mut().unwrap().to_mut().truncate(1)));
    assert!(fewer.contains("1 scale, expected 4"), "{fewer}");
    let dim = damage(&|params, _| channels(params, &|params| params.channel_dim = 7));
    assert!(dim.contains("has no dimension 7"), "{dim}");
    let more = damage(&|_, dims| dims[0] += 1);
    assert!(more.contains("but the constant has"), "{more}");
}
