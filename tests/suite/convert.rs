//! safetensors and `.npy`, compared with their own libraries.

use allocation_counter::measure;
use executorch_format::convert::{Dtype, Npy, SafeTensor, Safetensors, ShardIndex, Unsupported};
use executorch_format::edit::NewData;
use executorch_format::schema::ScalarType;
use executorch_format::schema::flat_tensor::TensorLayout;
use executorch_format::verify::Level;
use executorch_format::{ErrorKind, NewEntry, Ptd, PtdOptions, Pte, TensorShape, TensorView};
use executorch_format_support::fixtures::{equal, fixture, fixtures, for_each};
use proptest::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;

fn data(name: &str) -> Vec<u8> {
    std::fs::read(executorch_format_support::data().join("convert").join(name)).unwrap()
}

/// Every type that both formats have, with its size in bytes.
const DTYPES: &[(Dtype, usize)] = &[
    (Dtype::BOOL, 1),
    (Dtype::U8, 1),
    (Dtype::I8, 1),
    (Dtype::F8_E5M2, 1),
    (Dtype::F8_E4M3, 1),
    (Dtype::F8_E4M3FNUZ, 1),
    (Dtype::F8_E5M2FNUZ, 1),
    (Dtype::I16, 2),
    (Dtype::U16, 2),
    (Dtype::F16, 2),
    (Dtype::BF16, 2),
    (Dtype::I32, 4),
    (Dtype::U32, 4),
    (Dtype::F32, 4),
    (Dtype::C64, 8),
    (Dtype::F64, 8),
    (Dtype::I64, 8),
    (Dtype::U64, 8),
];

/// Returns a file with the given header, padded by the caller, and this many bytes of data.
fn file(header: &str, data: usize) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![0; data]].concat()
}

#[test]
fn a_file_of_the_python_package_is_written_back_byte_for_byte() {
    let bytes = data("python.safetensors");
    let safetensors = Safetensors::parse(&bytes).unwrap();
    assert_eq!(safetensors.metadata, [("format".into(), "np".into())]);
    assert_eq!(safetensors.image().unwrap().to_vec().unwrap(), bytes);

    let (ptd, skipped) = safetensors.into_ptd(&PtdOptions::default(), Unsupported::Refuse).unwrap();
    assert_eq!(skipped, []);
    let ptd_file = ptd.image().unwrap().to_vec().unwrap();
    let ptd = Ptd::parse(&ptd_file).unwrap();
    let weight = ptd.tensor_view(&ptd.get("layer.weight").unwrap()).unwrap().unwrap();
    assert_eq!(weight.to_vec::<f32>().unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(ptd.entry_bytes(&ptd.get("metadata.format").unwrap()).unwrap(), b"np");

    let (back, skipped) = Safetensors::of_ptd(&ptd, Unsupported::Refuse).unwrap();
    assert_eq!(skipped, []);
    assert_eq!(back.image().unwrap().to_vec().unwrap(), bytes);
}

#[test]
fn a_name_with_nul_is_refused_as_a_key() {
    let header = r#"{"__metadata__":{"x\u0000y":"z"},"a\u0000b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend([0; 8]);
    let parse = || Safetensors::parse(&bytes).unwrap();

    let error = parse().into_ptd(&PtdOptions::default(), Unsupported::Refuse).unwrap_err();
    assert!(error.to_string().contains(r#"tensor "a\0b": its name contains NUL"#), "{error}");
    assert!(parse().tensors.remove(0).into_entry().is_err());
    let (ptd, skipped) = parse().into_ptd(&PtdOptions::default(), Unsupported::Skip).unwrap();
    let names: Vec<_> = skipped.iter().map(|skipped| (skipped.kind, skipped.name.as_str())).collect();
    assert_eq!(names, [("tensor", "a\0b"), ("metadata", "x\0y")]);
    assert_eq!(ptd.entries().count(), 0);

    let mut renamed = parse();
    renamed.metadata.clear();
    renamed.tensors[0].name = "a.b".into();
    let (ptd, _) = renamed.into_ptd(&PtdOptions::default(), Unsupported::Refuse).unwrap();
    assert_eq!(ptd.verify(Level::Strict), []);
}

#[test]
fn weights_of_a_program_are_the_bytes_of_its_tensors() {
    for_each(&fixtures(), |file| {
        if !file.is_pte() {
            return Ok(());
        }
        let pte = Pte::parse(file.bytes()).unwrap();
        let (weights, _) = pte.weights().map_err(|error| error.to_string())?;
        let (safetensors, skipped) =
            Safetensors::of_ptd(&weights, Unsupported::Skip).map_err(|error| error.to_string())?;
        let bytes = safetensors.image().unwrap().to_vec().unwrap();
        let (back, _) =
            Safetensors::parse(&bytes).unwrap().into_ptd(&PtdOptions::default(), Unsupported::Refuse).unwrap();
        for entry in weights.entries().filter(|entry| entry.shape.is_some()) {
            let Some(found) = back.get(entry.key()) else {
                if skipped.iter().all(|skipped| skipped.name != entry.key()) {
                    return Err(format!("  {} is missing", entry.key()));
                }
                continue;
            };
            equal(entry.key(), found.shape, entry.shape)?;
            equal(entry.key(), back.entry_bytes(&found), weights.entry_bytes(&entry))?;
        }
        Ok(())
    });
}

#[test]
fn channels_last_weights_are_permuted_and_restored() {
    let file = fixture("1.5.1/channels_last/channels_last.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let (weights, _) = pte.weights().unwrap();
    let (safetensors, _) = Safetensors::of_ptd(&weights, Unsupported::Refuse).unwrap();
    let permuted: Vec<_> = safetensors.tensors.iter().filter(|tensor| tensor.dim_order.is_some()).collect();
    assert!(!permuted.is_empty());
    for tensor in permuted {
        assert_eq!(tensor.dim_order.as_deref(), Some(&[0, 2, 3, 1][..]));
        let entry = weights.get(&tensor.name).unwrap();
        let [n, c, h, w] = [0, 1, 2, 3].map(|dim| tensor.shape[dim] as usize);
        let stored: Vec<f32> = weights.tensor_view(&entry).unwrap().unwrap().to_vec().unwrap();
        let natural: Vec<f32> =
            tensor.bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect();
        for (index, value) in natural.iter().enumerate() {
            let (a, b, x, y) = (index / (c * h * w), index / (h * w) % c, index / w % h, index % w);
            assert!(a < n);
            assert_eq!(value.to_bits(), stored[((a * h + x) * w + y) * c + b].to_bits());
        }
    }
    // Tools that only copy metadata keep the order; if a tool changes the rank, the order becomes ordinary metadata.
    let bytes = safetensors.image().unwrap().to_vec().unwrap();
    let mut read = Safetensors::parse(&bytes).unwrap();
    assert_eq!(read, safetensors);
    let name = read.tensors.iter().find(|tensor| tensor.dim_order.is_some()).unwrap().name.to_string();
    for tensor in &mut read.tensors {
        tensor.dim_order = None;
        tensor.shape = vec![tensor.shape.iter().product()];
    }
    read.metadata.push((format!("executorch.dim_order.{name}"), "0,2,3,1".into()));
    let bytes = read.image().unwrap().to_vec().unwrap();
    assert_eq!(Safetensors::parse(&bytes).unwrap(), read);
}

#[test]
fn unsupported_entries_are_refused_by_name_or_left_out() {
    let tensor = |key: &'static str, scalar_type| NewEntry::tensor(key, scalar_type, vec![1], vec![0; 1]);
    let entries =
        [tensor("good", ScalarType::CHAR), tensor("quantized", ScalarType::QINT8), NewEntry::blob("blob", &b"x"[..])];
    let ptd = Ptd::build(entries, &PtdOptions::default()).unwrap();
    let error = Safetensors::of_ptd(&ptd, Unsupported::Refuse).unwrap_err();
    assert!(
        error.to_string().contains("tensor \"quantized\": safetensors does not have the scalar type qint8"),
        "{error}"
    );
    let (safetensors, skipped) = Safetensors::of_ptd(&ptd, Unsupported::Skip).unwrap();
    let names: Vec<_> = skipped.iter().map(|skipped| (skipped.kind, skipped.name.as_str())).collect();
    assert_eq!(names, [("tensor", "quantized"), ("blob", "blob")]);
    assert_eq!(safetensors.tensors.len(), 1);

    let small =
        SafeTensor { name: "small".into(), dtype: Dtype::F4, shape: vec![2], dim_order: None, bytes: vec![0].into() };
    let large = SafeTensor {
        name: "large".into(),
        dtype: Dtype::U8,
        shape: vec![1 << 31, 0],
        dim_order: None,
        bytes: vec![].into(),
    };
    let file = Safetensors { metadata: vec![], tensors: vec![small, large] };
    let bytes = file.image().unwrap().to_vec().unwrap();
    let file = Safetensors::parse(&bytes).unwrap();
    let error = file.clone().into_ptd(&PtdOptions::default(), Unsupported::Refuse).unwrap_err();
    assert!(error.to_string().contains("tensor \"small\": a .ptd does not have the type F4"), "{error}");
    let (ptd, skipped) = file.into_ptd(&PtdOptions::default(), Unsupported::Skip).unwrap();
    assert_eq!((ptd.entries().count(), skipped.len()), (0, 2));
    assert!(skipped[1].reason.contains("2147483648"), "{}", skipped[1].reason);
}

#[test]
fn a_bad_header_is_an_error_with_a_position() {
    // JSON's reader gives the position to within a character or two.
    const INSIDE: u64 = u64::MAX;
    let tensor =
        |from: u64, to: u64| format!(r#"{{"dtype":"U8","shape":[{}],"data_offsets":[{from},{to}]}}"#, to - from);
    let two = |one: &str, other: &str| format!(r#"{{"a":{one},"b":{other}}}"#);
    let cases: Vec<(Vec<u8>, u64, &str)> = vec![
        (vec![1, 2, 3], 0, "there are 3 bytes, expected at least 8"),
        (u64::MAX.to_le_bytes().to_vec(), 0, "expected at most 100000000"),
        ([&100u64.to_le_bytes()[..], b"{}"].concat(), 0, "the header should end at byte 108"),
        (file("{\"\u{7f}", 0).iter().map(|byte| if *byte == 0x7f { 0xff } else { *byte }).collect(), 10, "not UTF-8"),
        (file("[]", 0), INSIDE, "expected an object"),
        (file("{} x", 0), INSIDE, "trailing characters"),
        (file(r#"{"a":1}"#, 0), INSIDE, "tensor \"a\": invalid type"),
        (file(r#"{"a":{"dtype":"F128","shape":[],"data_offsets":[0,0]}}"#, 0), INSIDE, "unknown variant `F128`"),
        (file(r#"{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,0]}}"#, 0), INSIDE, "invalid value: integer `-1`"),
        (
            file(&two(&tensor(0, 2), &tensor(1, 3)), 3),
            65,
            "data_offsets 1 to 3, overlap those of \"a\", which end at 2",
        ),
        (file(&two(&tensor(0, 2), &tensor(3, 4)), 4), 65, "leave a gap after those of \"a\", which end at 2"),
        (file(&format!(r#"{{"a":{}}}"#, tensor(1, 2)), 2), 13, "leave a gap after the start of the data"),
        (file(&format!(r#"{{"a":{}}}"#, tensor(0, 9)), 3), 13, "end at 9 of the data, which has 3 bytes"),
        (file(&format!(r#"{{"a":{}}}"#, tensor(0, 2)), 3), 63, "1 byte of data belong to no tensor"),
        (file(&two(&tensor(0, 1), &tensor(1, 2)).replace("\"b\"", "\"a\""), 2), 65, "occurs twice, first at byte 13"),
        (file(&two(&tensor(0, 1), &tensor(1, 2)).replace("\"b\"", r#""\u0061""#), 2), 70, "occurs twice"),
        (file(r#"{"a":{"dtype":"F128"},"a":{}}"#, 0), 34, "occurs twice, first at byte 13"),
        (file(r#"{"__metadata__":{},"__metadata__":{}}"#, 0), INSIDE, "__metadata__ occurs twice"),
        (file(r#"{"__metadata__":{"k":"v","k":"v"}}"#, 0), INSIDE, "\"k\" occurs twice"),
        (file(r#"{"__metadata__":{"k":1}}"#, 0), INSIDE, "invalid type: integer `1`"),
        (
            file(r#"{"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}}"#, 0),
            13,
            "more than 2^64 bits",
        ),
        (file(r#"{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}}"#, 1), 13, "not a number of whole bytes"),
        (
            file(r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[1,0]}}"#, 1),
            13,
            "takes 2 bytes, but its data_offsets are 1 to 0",
        ),
    ];
    for (bytes, offset, message) in cases {
        let error = Safetensors::parse(&bytes).unwrap_err();
        assert!(error.to_string().contains(message), "{error}, expected {message}");
        match offset {
            INSIDE => {
                assert!(error.offset().is_some_and(|offset| (8..bytes.len() as u64).contains(&offset)), "{error}")
            }
            _ => assert_eq!(error.offset(), Some(offset), "{error}"),
        }
        assert!(matches!(error.kind(), ErrorKind::Other { .. } | ErrorKind::Truncated { .. }), "{error:?}");
    }
}

#[test]
fn a_hostile_header_takes_little_memory() {
    const SIZE: usize = 10_000_000;
    let shape = format!(r#"{{"a":{{"dtype":"U8","shape":[0{}],"data_offsets":[0,0]}}}}"#, ",0".repeat(SIZE / 2));
    let nested = format!(r#"{{"a":{}{}}}"#, "[".repeat(SIZE / 2), "]".repeat(SIZE / 2));
    let padding = " ".repeat(SIZE);
    for header in [shape, nested, padding] {
        let bytes = file(&header, 0);
        let info = measure(|| assert!(Safetensors::parse(&bytes).is_err()));
        assert!(info.bytes_max < 2 * SIZE as u64, "{} bytes for {:.20}", info.bytes_max, header);
    }
    let info = measure(|| assert!(Safetensors::parse(&[&100_000_000u64.to_le_bytes()[..], b"{"].concat()).is_err()));
    assert!(info.bytes_max < 4096);
}

#[test]
fn shards_are_joined_as_they_were_split() {
    let names = ["a", "b", "c", "d"];
    let tensor = |name: &&'static str| SafeTensor {
        name: Cow::Borrowed(*name),
        dtype: Dtype::U8,
        shape: vec![4],
        dim_order: None,
        bytes: name.repeat(4).into_bytes().into(),
    };
    let all =
        Safetensors { metadata: vec![("format".into(), "pt".into())], tensors: names.iter().map(tensor).collect() };
    for (most, count) in [(1, 4), (8, 2), (9, 2), (12, 2), (16, 1), (u64::MAX, 1)] {
        let shards = all.clone().split(most);
        assert_eq!(shards.len(), count, "{most}");
        let files: Vec<String> = (0..count).map(|shard| format!("{shard}.safetensors")).collect();
        let index = Safetensors::index(&shards, &files);
        assert_eq!(index.metadata.total_size, 16);
        let read = ShardIndex::parse(index.to_json().unwrap().as_bytes()).unwrap();
        assert_eq!(read.weight_map, index.weight_map);
        let named = || files.iter().map(String::as_str).zip(shards.clone());
        assert_eq!(Safetensors::join(named().collect(), &read, Unsupported::Refuse).unwrap(), (all.clone(), vec![]));
        // A shard given twice, and tensors that are in a shard other than the index states.
        let twice = named().chain([("again", shards[0].clone())]).collect();
        let error = Safetensors::join(twice, &read, Unsupported::Refuse).unwrap_err();
        assert!(error.to_string().contains("tensor \"a\" is in two shards"), "{error}");
        let error = Safetensors::join(named().skip(1).collect(), &read, Unsupported::Refuse).unwrap_err();
        assert!(error.to_string().contains("tensor \"a\" is not in \"0.safetensors\""), "{error}");
    }
}

#[test]
fn an_index_cannot_refer_to_other_folders() {
    for file in ["../x", "/etc/passwd", "a\\\\b", "..", "", "C:x"] {
        let index = format!(r#"{{"weight_map":{{"a":"{file}"}}}}"#);
        let error = ShardIndex::parse(index.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("own folder"), "{error}");
    }
    let error = ShardIndex::parse(br#"{"weight_map":{"a":"x","a":"y"}}"#).unwrap_err();
    assert!(error.to_string().contains("occurs twice"), "{error}");
}

#[test]
fn numpy_arrays_are_read_and_written_byte_for_byte() {
    let types = [
        ("bool", "bool"),
        ("uint8", "u8"),
        ("uint16", "u16"),
        ("uint32", "u32"),
        ("uint64", "u64"),
        ("int8", "i8"),
        ("int16", "i16"),
        ("int32", "i32"),
        ("int64", "i64"),
        ("float16", "f16"),
        ("float32", "f32"),
        ("float64", "f64"),
        ("complex64", "complex64"),
        ("complex128", "complex128"),
    ];
    for (name, scalar_type) in types {
        let bytes = data(&format!("{name}.npy"));
        let array = Npy::parse(&bytes).unwrap();
        assert_eq!(array.tensor_layout.shape().to_string(), format!("{scalar_type}[2, 3]"));
        assert!(matches!(array.bytes, Cow::Borrowed(_)));
        assert_eq!(array.image().unwrap().to_vec().unwrap(), bytes, "{name}");
    }
    for (name, shape) in [
        ("fortran", "f32[2, 3] dim order 1,0"),
        ("scalar", "f32[]"),
        ("empty", "i16[0, 4]"),
        ("one_dimension", "i64[3]"),
    ] {
        let bytes = data(&format!("{name}.npy"));
        let array = Npy::parse(&bytes).unwrap();
        assert_eq!(array.tensor_layout.shape().to_string(), shape);
        assert_eq!(array.image().unwrap().to_vec().unwrap(), bytes, "{name}");
    }
    let bytes = data("big_endian.npy");
    assert_eq!(Npy::parse(&bytes).unwrap().view().unwrap().to_vec::<i32>().unwrap(), [0, 1, 2, 3, 4, 5]);
    let bytes = data("big_endian_complex.npy");
    let numbers: Vec<f32> =
        Npy::parse(&bytes).unwrap().bytes.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(numbers[..6], [0.0, 0.0, 1.0, 2.0, 2.0, 4.0]);
    assert_eq!(Npy::parse(&data("version_2.npy")).unwrap(), Npy::parse(&data("float32.npy")).unwrap());
}

#[test]
fn a_bad_array_is_an_error_with_a_position() {
    let good = data("float32.npy");
    let with = |old: &str, new: &str| {
        let text = String::from_utf8_lossy(&good[10..128]).replace(old, new);
        [&good[..8], &(text.len() as u16).to_le_bytes(), text.as_bytes(), &good[128..]].concat()
    };
    let cases: Vec<(Vec<u8>, u64, &str)> = vec![
        (b"PK".to_vec(), 0, "does not start with"),
        (good[..9].to_vec(), 9, "truncated: the header"),
        (good[..60].to_vec(), 60, "the header should end at byte 128"),
        ([&good[..6], &[9], &good[7..]].concat(), 6, "version 9"),
        ([&good[..6], &[2, 0], &u32::MAX.to_le_bytes(), &good[10..]].concat(), 8, "expected at most 65536"),
        (good[..140].to_vec(), 128, "f32[2, 3] takes 24 bytes, but 12 bytes follow"),
        ([&good[..], &[0]].concat(), 128, "25 bytes follow"),
        (with("<f4", "<U4"), 21, "no scalar type for the type \"<U4\""),
        (with("(2, 3)", "(2, -3)"), 51, "expected a dictionary"),
        (with("(2, 3)", "(4294967296, 0)"), 10, "expected at most 2147483647"),
        (with("'shape'", "'shapes'"), 51, "expected a dictionary"),
        (with("'fortran_order': False, ", ""), 10, "\"fortran_order\" is missing"),
        (with("'fortran_order': False", "'descr': '<f4'"), 10, "\"descr\" occurs twice"),
        (data("object.npy"), 21, "no scalar type for the type \"|O\""),
        (data("structure.npy"), 11, "no list as 'descr'"),
    ];
    for (bytes, offset, message) in cases {
        let error = Npy::parse(&bytes).unwrap_err();
        assert!(error.to_string().contains(message), "{error}, expected {message}");
        assert_eq!(error.offset(), Some(offset), "{error}");
    }
}

#[test]
fn types_that_numpy_does_not_have_are_integers_of_the_same_size() {
    for number in -1..40 {
        let scalar_type = ScalarType(number);
        let Some(size) = scalar_type.element_size() else {
            assert_eq!(scalar_type.numpy_type(), None);
            continue;
        };
        let bytes = vec![1; size];
        let shape = TensorShape { scalar_type, sizes: &[1], dim_order: &[0] };
        let view = TensorView::new(shape, &bytes).unwrap();
        let array = Npy::of(&view).unwrap();
        assert_eq!(array.tensor_layout.shape().scalar_type.element_size(), Some(size));
        assert_eq!(Npy::parse(&array.image().unwrap().to_vec().unwrap()).unwrap().bytes, bytes);
    }
    assert_eq!(ScalarType::BFLOAT16.numpy_type(), Some(ScalarType::UINT16));
}

/// Returns a tensor: type, sizes, dim order, bytes.
/// Returns the same type in the official crate.
fn official_dtype(dtype: Dtype) -> safetensors::Dtype {
    serde_json::from_value(dtype.name().into()).unwrap()
}

#[test]
fn types_have_the_names_sizes_and_order_of_the_official_crate() {
    let official: Vec<_> = Dtype::ALL.iter().map(|dtype| official_dtype(*dtype)).collect();
    assert!(official.is_sorted());
    assert_eq!(official.len(), 22);
    for (ours, official) in Dtype::ALL.iter().zip(official) {
        assert_eq!((ours.to_string(), ours.bits()), (official.to_string(), official.bitsize() as u64));
    }
    let unknown = serde_json::from_value::<safetensors::Dtype>("no type".into()).unwrap_err().to_string();
    assert_eq!(serde_json::from_value::<Dtype>("no type".into()).unwrap_err().to_string(), unknown);
}

#[test]
fn a_safetensors_tensor_is_new_data() {
    let tensor = SafeTensor {
        name: "weight".into(),
        dtype: Dtype::U8,
        shape: vec![2, 2],
        dim_order: Some(vec![1, 0]),
        bytes: vec![1, 2, 3, 4].into(),
    };
    let data = NewData::try_from(tensor.clone()).unwrap();
    assert_eq!((data.source.as_str(), &data.bytes[..]), ("weight", &[1, 3, 2, 4][..]));
    assert_eq!(data.tensor_layout.unwrap().shape().to_string(), "u8[2, 2] dim order 1,0");
    let error = NewData::try_from(SafeTensor { dtype: Dtype::F4, ..tensor }).unwrap_err();
    assert!(error.to_string().contains("does not have the type F4"), "{error}");
}

fn any_tensor() -> impl Strategy<Value = (Dtype, Vec<u64>, Vec<u8>, Vec<u8>)> {
    let shape = prop::collection::vec(0u64..5, 0..5);
    (prop::sample::select(DTYPES), shape).prop_flat_map(|((dtype, element), shape)| {
        let size = shape.iter().product::<u64>() as usize * element;
        let dim_order = Just((0..shape.len() as u8).collect::<Vec<_>>()).prop_shuffle();
        (Just(dtype), Just(shape), dim_order, prop::collection::vec(any::<u8>(), size))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_tensors_come_back(
        tensors in prop::collection::btree_map("\\PC{0,12}", any_tensor(), 0..6),
        metadata in prop::collection::btree_map("\\PC{0,12}", "\\PC{0,12}", 0..4),
    ) {
        let mut file = Safetensors { metadata: metadata.into_iter().collect(), tensors: vec![] };
        for (name, (dtype, shape, dim_order, bytes)) in &tensors {
            let natural = dim_order.is_sorted();
            file.tensors.push(SafeTensor {
                name: name.into(),
                dtype: *dtype,
                shape: shape.clone(),
                dim_order: (!natural).then(|| dim_order.clone()),
                bytes: bytes.into(),
            });
        }
        file.sort();
        let image = file.image().unwrap();
        let bytes = image.to_vec().unwrap();
        prop_assert_eq!(bytes.len() as u64, image.size());
        // The official reader reads the same.
        let official = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        prop_assert_eq!(official.len(), tensors.len());
        for (name, (dtype, shape, _, bytes)) in &tensors {
            let view = official.tensor(name).unwrap();
            let found: Vec<u64> = view.shape().iter().map(|size| *size as u64).collect();
            prop_assert_eq!((view.dtype(), &found, view.data()), (official_dtype(*dtype), shape, bytes.as_slice()));
        }
        let read = Safetensors::parse(&bytes).unwrap();
        prop_assert_eq!(&read, &file);
        let (ptd, _) = read.into_ptd(&PtdOptions::default(), Unsupported::Refuse).unwrap();
        let ptd_file = ptd.image().unwrap().to_vec().unwrap();
        let ptd = Ptd::parse(&ptd_file).unwrap();
        for (name, (_, shape, dim_order, bytes)) in &tensors {
            let view = ptd.tensor_view(&ptd.get(name).unwrap()).unwrap().unwrap();
            let sizes: Vec<i32> = shape.iter().map(|size| *size as i32).collect();
            prop_assert_eq!((view.shape().sizes, view.shape().dim_order), (&sizes[..], &dim_order[..]));
            let natural: Vec<u8> = (0..shape.len() as u8).collect();
            prop_assert_eq!(&view.in_dim_order(&natural).unwrap(), bytes);
        }
        let (back, _) = Safetensors::of_ptd(&ptd, Unsupported::Refuse).unwrap();
        prop_assert_eq!(&back, &file);
        let again = back.image().unwrap().to_vec().unwrap();
        prop_assert_eq!(again, bytes);
    }

    #[test]
    fn a_header_equals_the_official_writers(tensors in prop::collection::btree_map("\\PC{1,12}", any_tensor(), 1..6)) {
        let views: BTreeMap<&str, safetensors::tensor::TensorView<'_>> = tensors
            .iter()
            .map(|(name, (dtype, shape, _, bytes))| {
                let shape = shape.iter().map(|size| *size as usize).collect();
                (name.as_str(), safetensors::tensor::TensorView::new(official_dtype(*dtype), shape, bytes).unwrap())
            })
            .collect();
        let expected = safetensors::serialize(&views, None).unwrap();
        let ours = Safetensors::parse(&expected).unwrap();
        prop_assert_eq!(ours.image().unwrap().to_vec().unwrap(), expected);
    }

    #[test]
    fn any_array_comes_back((_, shape, dim_order, bytes) in any_tensor(), fortran in any::<bool>()) {
        let sizes: Vec<i32> = shape.iter().map(|size| *size as i32).collect();
        let count = sizes.iter().product::<i32>() as usize;
        let bytes = bytes.get(..count).unwrap_or_default();
        let dim_order = if fortran { (0..sizes.len() as u8).rev().collect() } else { dim_order };
        let layout = TensorLayout { scalar_type: ScalarType::CHAR, sizes: Some(sizes.into()), dim_order: Some(dim_order.clone().into()) };
        let view = TensorView::new(layout.shape(), bytes).unwrap();
        let array = Npy::of(&view).unwrap();
        let file = array.image().unwrap().to_vec().unwrap();
        let read = Npy::parse(&file).unwrap();
        prop_assert_eq!(read.view().unwrap().in_dim_order(&dim_order).unwrap(), bytes);
        prop_assert_eq!(file.len() % 64, bytes.len() % 64);
    }

    #[test]
    fn damaged_files_are_read_or_refused(at in any::<prop::sample::Index>(), to in any::<u8>(), end in any::<prop::sample::Index>()) {
        for (name, array) in [("python.safetensors", false), ("float32.npy", true)] {
            let mut bytes = data(name);
            let at = at.index(bytes.len());
            bytes[at] = to;
            bytes.truncate(if end.index(3) == 0 { end.index(bytes.len()) } else { bytes.len() });
            let error = if array { Npy::parse(&bytes).err() } else { Safetensors::parse(&bytes).err() };
            let inside = error.is_none_or(|error| error.offset().is_some_and(|offset| offset <= bytes.len() as u64));
            prop_assert!(inside);
        }
    }
}
