//! Replacing the weights of a model gives the bytes that the official exporter writes for the model with these weights.

use crate::edit::text;
use executorch_format::convert::{Safetensors, Unsupported};
use executorch_format::delegate::xnnpack::ConstantUse;
use executorch_format::delegate::{NamedBlobs, Payload};
use executorch_format::edit::{Digest, NewData, NewKey, Selector};
use executorch_format::naming::NameSource;
use executorch_format::schema::ScalarType;
use executorch_format::{Analysis, NewEntry, Ptd, PtdOptions, Pte};
use executorch_format_support::data;
use sha2::{Digest as _, Sha256};
use std::fs;

fn read(file: &str) -> Vec<u8> {
    fs::read(data().join("replace").join(file)).unwrap()
}

fn sha256() -> NewKey {
    NewKey::Digest(Digest(|bytes| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()))
}

/// Replaces all weights of a model by their names, and returns the file with the sentences about permutations.
fn replaced(name: &str) -> Result<(Vec<u8>, Vec<String>), String> {
    let (file, record) = (read(&format!("{name}.old.pte")), read(&format!("{name}.etrecord")));
    let weights = read(&format!("{name}.safetensors"));
    let before = Pte::parse(&file).map_err(text)?;
    let sources = [NameSource::parse(&record).map_err(text)?];
    let analysis = Analysis::new(&before).with_names(&sources);
    let names = analysis.names();
    let (mut pte, mut notes) = (before.clone(), Vec::new());
    for weight in Safetensors::parse(&weights).map_err(text)?.tensors {
        let tensor = names.tensor(&weight.name).ok_or_else(|| format!("no {}", weight.name))?;
        let new = NewData::try_from(weight).map_err(text)?.with_key(sha256()).with_permute();
        let report = pte.replace(&Selector::Tensor(&tensor), &new).map_err(text)?;
        notes.extend(report.notes.into_iter().filter(|note| note.contains("permuted")));
    }
    Ok((pte.image().map_err(text)?.to_vec().map_err(text)?, notes))
}

/// Returns the bytes of every constant, in the program and in payloads.
fn constants(file: &[u8]) -> Vec<Vec<u8>> {
    let pte = Pte::parse(file).unwrap();
    let mut found = Vec::new();
    for (_, tensor) in pte.methods()[0].tensors() {
        found.extend(pte.tensor_view(tensor).unwrap().map(|view| view.bytes().to_vec()));
    }
    let blobs = NamedBlobs::new(&pte, []);
    for opened in pte.open_payloads() {
        let Ok(Payload::Xnnpack(xnnpack)) = opened.payload else { continue };
        for value in xnnpack.graph.xvalues().iter().filter_map(|value| value.tensor()) {
            if value.constant_buffer_idx > 0 {
                found.push(xnnpack.constant_bytes(value.constant_buffer_idx, &blobs).unwrap().to_vec());
            }
        }
    }
    found
}

/// The models whose weights the exporter does not combine, with the permutation of `weight`.
const MODELS: &[(&str, &str)] = &[
    ("conv1d", "OIL to OLI"),
    ("conv1d_depthwise", "OIL to ILO"),
    ("conv2d", "OIHW to OHWI"),
    ("conv2d_depthwise", "OIHW to IHWO"),
    ("conv2d_grouped", "OIHW to OHWI"),
    ("conv2d_multiplier", "OIHW to IHWO"),
    ("conv2d_square", "OIHW to OHWI"),
    ("conv2d_stride", "OIHW to OHWI"),
    ("cut", "OIHW to OHWI"),
    ("int4_dynamic", ""),
    ("int8_channel", "OIHW to OHWI"),
    ("int8_dynamic", ""),
    ("int8_linear", ""),
    ("int8_square", "OIHW to OHWI"),
    ("int8_tensor", "OIHW to OHWI"),
    ("layers", "OIHW to OHWI"),
    ("linear", ""),
    ("linear_half", ""),
    ("linear_square", ""),
    ("pointwise", "OIHW to OHWI"),
    ("portable", ""),
    ("portable_channels_last", "dim order [0, 1, 2, 3] to [0, 2, 3, 1]"),
    ("prelu", "OIHW to OHWI"),
    ("shared", ""),
    ("transposed", "IOHW to OHWI"),
    ("transposed_grouped", "IOHW to OHWI"),
    ("transposed_square", "IOHW to OHWI"),
    ("zeros", ""),
];

#[test]
fn new_weights_give_the_bytes_of_the_official_exporter() {
    // Of these, constants had the same bytes before, and are now in another order.
    let reordered = ["portable", "zeros"];
    for (name, permutation) in MODELS {
        let (found, notes) = replaced(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = read(&format!("{name}.new.pte"));
        assert!(constants(&found) == constants(&expected), "{name}: constants");
        assert!(reordered.contains(name) || found == expected, "{name}: the rest of the file");
        assert!(notes.is_empty() == permutation.is_empty(), "{name}: {notes:?}");
        assert!(notes.first().is_none_or(|note| note.contains(permutation)), "{name}: {notes:?}");
    }
}

#[test]
fn weights_that_the_exporter_computed_from_several_are_refused_with_these() {
    for (name, weight, from) in [
        ("norm_folded", "0.weight", "0.bias, 0.weight, 1.bias, 1.running_mean, 1.running_var, 1.weight"),
        ("norm_folded", "1.running_var", "0.bias, 0.weight, 1.bias, 1.running_mean, 1.running_var, 1.weight"),
        ("norm_alone", "0.weight", "0.bias, 0.running_mean, 0.running_var, 0.weight"),
    ] {
        let (file, record) = (read(&format!("{name}.old.pte")), read(&format!("{name}.etrecord")));
        let mut pte = Pte::parse(&file).unwrap();
        let (before, sources) = (pte.clone(), [NameSource::parse(&record).unwrap()]);
        let analysis = Analysis::new(&before).with_names(&sources);
        let names = analysis.names();
        let tensor = names.tensor(weight).unwrap();
        let new = NewData::from(NewEntry::from_slice("new", vec![4], &[1f32; 4])).with_key(sha256());
        let error = pte.replace(&Selector::Tensor(&tensor), &new).unwrap_err().to_string();
        assert!(error.contains(from) && error.contains("normalization"), "{name}: {error}");
        assert_eq!(pte, before);
    }
}

/// A replacement: the model, the name in it or else a key, new data, and words of the error; without these, it succeeds.
struct Case<'t> {
    model: &'t str,
    name: Option<&'t str>,
    new: NewData<'static>,
    words: &'t [&'t str],
}

fn floats(sizes: &[i32]) -> NewData<'static> {
    let bytes = 0.5f32.to_le_bytes().repeat(sizes.iter().product::<i32>() as usize);
    NewEntry::tensor("new.npy", ScalarType::FLOAT, sizes.to_vec(), bytes).into()
}

fn integers(scalar_type: ScalarType, sizes: &[i32], bytes: Vec<u8>) -> NewData<'static> {
    NewEntry::tensor("new.npy", scalar_type, sizes.to_vec(), bytes).into()
}

#[test]
fn a_name_takes_the_layout_of_pytorch_and_a_key_that_of_the_payload() {
    let ints = || integers(ScalarType::INT, &[8, 3, 3, 2], vec![1; 576]);
    let bytes = |size: usize| NewData::bytes("new.bin", vec![1; size]);
    let cases = [
        ("conv2d", Some("weight"), floats(&[8, 3, 3, 2]), &[][..]),
        (
            "conv2d",
            Some("weight"),
            floats(&[8, 3, 2, 3]),
            &["f32[8, 3, 3, 2]", "f32[8, 3, 2, 3]", "only taken for its key"],
        ),
        ("conv2d", Some("weight"), floats(&[144]), &["f32[8, 3, 3, 2]", "f32[144]"]),
        ("conv2d", Some("weight"), floats(&[3, 8, 3, 2]), &["f32[8, 3, 3, 2]", "f32[3, 8, 3, 2]"]),
        ("conv2d", Some("weight"), ints(), &["f32[8, 3, 3, 2]", "i32[8, 3, 3, 2]"]),
        ("conv2d", Some("weight"), bytes(576), &["f32[8, 3, 3, 2]", "576 bytes without a type"]),
        ("conv2d", None, bytes(576), &[]),
        ("conv2d", None, bytes(572), &["576 bytes", "572 bytes"]),
        ("conv2d", None, floats(&[8, 3, 2, 3]), &[]),
        ("conv2d", None, floats(&[8, 3, 3, 2]), &["f32[8, 3, 2, 3]", "f32[8, 3, 3, 2]"]),
        ("conv2d", None, ints(), &["f32[8, 3, 2, 3]", "i32[8, 3, 3, 2]"]),
        ("conv2d", None, floats(&[144]), &["f32[8, 3, 2, 3]", "f32[144]"]),
        ("conv1d", Some("weight"), floats(&[5, 3, 3]), &[]),
        ("conv1d", Some("weight"), floats(&[5, 3, 3, 1]), &["f32[5, 3, 3]", "f32[5, 3, 3, 1]"]),
        ("int8_tensor", Some("weight"), floats(&[4, 3, 3, 2]), &["i8[4, 3, 3, 2]", "1 scale (", "f32[4, 3, 3, 2]"]),
        ("int8_channel", Some("0.weight"), floats(&[4, 3, 3, 3]), &["i8[4, 3, 3, 3]", "4 scales (", "f32[4, 3, 3, 3]"]),
        ("int8_channel", None, floats(&[4, 3, 3, 3]), &["qcint8[4, 3, 3, 3]", "4 scales (", "f32[4, 3, 3, 3]"]),
        ("int4_dynamic", Some("linear.weight"), floats(&[4, 64]), &["i8[4, 64]", "8 scales (", "f32[4, 64]"]),
    ];
    for (model, name, new, words) in cases {
        check(&Case { model, name, new, words });
    }
}

fn check(case: &Case<'_>) {
    let (file, record) = (read(&format!("{}.old.pte", case.model)), read(&format!("{}.etrecord", case.model)));
    let before = Pte::parse(&file).unwrap();
    let sources = [NameSource::parse(&record).unwrap()];
    let analysis = Analysis::new(&before).with_names(&sources);
    let names = analysis.names();
    let (mut pte, new) = (before.clone(), case.new.clone().with_key(sha256()));
    // The first key is that of the weight.
    let result = match case.name {
        Some(name) => pte.replace(&Selector::Tensor(&names.tensor(name).unwrap()), &new),
        None => pte.replace(&Selector::Name(before.named_data()[0].key()), &new),
    };
    let of = format!("{} {:?} {:?}", case.model, case.name, case.new.tensor_layout);
    match result {
        Ok(_) => assert!(case.words.is_empty() && pte != before, "{of}: replaced"),
        Err(error) => {
            let error = error.to_string();
            assert!(!case.words.is_empty() && pte == before, "{of}: {error}");
            assert!(case.words.iter().all(|word| error.contains(word)), "{of}: {error}");
        }
    }
}

#[test]
fn elements_of_4_bits_are_packed_from_small_integers() {
    let name = Some("linear.weight");
    let new = |element: i8| integers(ScalarType::CHAR, &[4, 64], vec![element as u8; 256]);
    check(&Case { model: "int4_dynamic", name, new: new(-8), words: &[] });
    check(&Case { model: "int4_dynamic", name, new: new(8), words: &["new.npy holds 8", "takes -8 to 7"] });
    let packed = integers(ScalarType::BYTE, &[4, 32], vec![0x88; 128]);
    check(&Case { model: "int4_dynamic", name: None, new: packed, words: &[] });
}

#[test]
fn external_weights_are_replaced_with_the_program_that_uses_them() {
    let (file, record, data) = (read("external.old.pte"), read("external.etrecord"), read("external.old.ptd"));
    let weights = read("external.safetensors");
    let pte = Pte::parse(&file).unwrap();
    let sources = [NameSource::parse(&record).unwrap()];
    let analysis = Analysis::new(&pte).with_names(&sources);
    let names = analysis.names();
    let tensors = Safetensors::parse(&weights).unwrap().tensors;

    // With the keys that they have.
    let mut ptd = Ptd::parse(&data).unwrap();
    for weight in tensors.clone() {
        let tensor = names.tensor(&weight.name).unwrap();
        let new = NewData::try_from(weight).unwrap();
        let refused = pte.clone().replace(&Selector::Tensor(&tensor), &new).unwrap_err().to_string();
        assert!(refused.contains("is in a .ptd"), "{refused}");
        ptd.replace_for(&pte, &Selector::Tensor(&tensor), &new).unwrap();
    }
    let expected = read("external.new.ptd");
    let expected = Ptd::parse(&expected).unwrap();
    let bytes = |ptd: &Ptd<'_>| {
        let mut bytes: Vec<_> = ptd.entries().map(|entry| ptd.entry_bytes(&entry).unwrap().to_vec()).collect();
        bytes.sort();
        bytes
    };
    assert_eq!(bytes(&ptd), bytes(&expected));
    let key = ptd.entries().find(|entry| ptd.entry_bytes(entry).unwrap().len() == 288).unwrap().key().to_owned();
    let alone = ptd.clone().replace(&key, &floats(&[4, 3, 2, 3])).unwrap_err().to_string();
    assert!(alone.contains("has no type in this file, new.npy holds f32[4, 3, 2, 3]"), "{alone}");
    ptd.replace_for(&pte, &Selector::Name(&key), &floats(&[4, 3, 2, 3])).unwrap();
    let other = ptd.replace_for(&pte, &Selector::Name(&key), &floats(&[4, 3, 3, 2])).unwrap_err().to_string();
    assert!(other.contains("f32[4, 3, 2, 3]") && other.contains("f32[4, 3, 3, 2]"), "{other}");

    // With new keys: in the program, and back.
    let mut whole = pte.clone();
    whole.internalize(&[Ptd::parse(&data).unwrap()], |_| true).unwrap();
    for weight in tensors {
        let tensor = names.tensor(&weight.name).unwrap();
        let new = NewData::try_from(weight).unwrap().with_key(sha256());
        whole.replace(&Selector::Tensor(&tensor), &new).unwrap();
    }
    let (ptd, _) = whole.externalize(&PtdOptions::default(), |data| Some(data.key.to_owned())).unwrap();
    assert_eq!(
        constants_with(&whole, &ptd),
        constants_with(&Pte::parse(&read("external.new.pte")).unwrap(), &expected)
    );
}

fn constants_with(pte: &Pte<'_>, ptd: &Ptd<'_>) -> Vec<Vec<u8>> {
    let blobs = NamedBlobs::new(pte, [ptd]);
    let Ok(Payload::Xnnpack(xnnpack)) = &pte.open_payloads()[0].payload else { panic!("not XNNPACK") };
    xnnpack
        .constants()
        .iter()
        .map(|constant| xnnpack.constant_bytes(constant.index, &blobs).unwrap().to_vec())
        .collect()
}

#[test]
fn a_tensor_of_a_ptd_is_moved_under_the_key_of_a_constant_only_in_its_layout() {
    let (file, data) = (read("external.old.pte"), read("external.old.ptd"));
    let (pte, ptd) = (Pte::parse(&file).unwrap(), Ptd::parse(&data).unwrap());
    for (sizes, fits) in [([4, 3, 2, 3], true), ([4, 3, 3, 2], false)] {
        let entries = ptd.entries().map(|entry| {
            let bytes = ptd.entry_bytes(&entry).unwrap();
            match bytes.len() {
                288 => NewEntry::tensor(entry.key().to_owned(), ScalarType::FLOAT, sizes.to_vec(), bytes),
                _ => NewEntry::blob(entry.key().to_owned(), bytes),
            }
        });
        let typed = Ptd::build(entries, &PtdOptions::default()).unwrap();
        match pte.clone().internalize(&[typed], |_| true) {
            Ok(_) => assert!(fits),
            Err(error) => assert!(!fits && error.to_string().contains("f32[4, 3, 2, 3]"), "{error}"),
        }
    }
}

#[test]
fn a_state_dict_names_the_constants_of_xnnpack_by_their_values() {
    // The new weights are those of the new file.
    for name in ["conv2d_depthwise", "transposed_grouped", "layers"] {
        let (file, state) = (read(&format!("{name}.new.pte")), read(&format!("{name}.safetensors")));
        let pte = Pte::parse(&file).unwrap();
        let sources = [NameSource::parse(&state).unwrap()];
        let analysis = Analysis::new(&pte).with_names(&sources);
        let names = analysis.names();
        for tensor in Safetensors::parse(&state).unwrap().tensors {
            let found = names.tensor(&tensor.name).unwrap();
            assert_eq!((found.places.len(), &found.computed), (1, &None), "{name}: {}", tensor.name);
            let same = NewData::try_from(tensor).unwrap().with_key(sha256());
            let mut replaced = pte.clone();
            replaced.replace(&Selector::Tensor(&found), &same).unwrap();
            assert!(replaced.image().unwrap().to_vec().unwrap() == file, "{name}");
        }
    }
}

/// Up to ExecuTorch 0.5, constants are in the payload.
#[test]
fn a_constant_in_a_payload_is_replaced_in_place() {
    let file = fs::read(data().join("0.4.0/linear_xnnpack/linear_xnnpack.pte")).unwrap();
    let pte = Pte::parse(&file).unwrap();
    let opened = pte.open_payloads();
    let Ok(Payload::Xnnpack(xnnpack)) = &opened[0].payload else { panic!("not XNNPACK") };
    let constants = xnnpack.constants();
    let matrix = |constant: &&executorch_format::delegate::xnnpack::Constant<'_>| match constant.uses[0] {
        ConstantUse::Tensor { tensor, .. } => tensor.dims().len() == 2,
        _ => false,
    };
    let weight = constants.iter().find(matrix).unwrap();
    let ConstantUse::Tensor { tensor, .. } = weight.uses[0] else { panic!("scales") };
    let sizes: Vec<i32> = tensor.dims().iter().map(|size| *size as i32).collect();
    let old = xnnpack.constant_bytes(weight.index, &NamedBlobs::NONE).unwrap();
    let entry = |bytes: Vec<u8>| NewEntry::tensor("fc.weight", ScalarType::FLOAT, sizes.clone(), bytes);
    let state = Ptd::build([entry(old.to_vec())], &PtdOptions::default()).unwrap();
    let (state, _) = Safetensors::of_ptd(&state, Unsupported::Refuse).unwrap();
    let sources = [NameSource::from(state)];
    let analysis = Analysis::new(&pte).with_names(&sources);
    let names = analysis.names();
    let new: Vec<u8> = old.iter().map(|byte| byte ^ 1).collect();
    let mut changed = pte.clone();
    let tensor = names.tensor("fc.weight").unwrap();
    let report = changed.replace(&Selector::Tensor(&tensor), &entry(new.clone()).into()).unwrap();
    assert!(report.changes[0].to_string().contains("forward delegate 0 value"), "{}", report.changes[0]);
    let at = pte.range(&opened[0].data).unwrap().start + xnnpack.constant_range(weight.index).unwrap().start;
    let mut expected = file.clone();
    expected[at as usize..][..new.len()].copy_from_slice(&new);
    assert!(changed.image().unwrap().to_vec().unwrap() == expected);
}

/// Two constants have equal bytes, and so one key.
#[test]
fn a_constant_keeps_its_bytes_when_another_with_equal_bytes_is_replaced() {
    let (file, record) = (read("zeros.old.pte"), read("zeros.etrecord"));
    let before = Pte::parse(&file).unwrap();
    let sources = [NameSource::parse(&record).unwrap()];
    let analysis = Analysis::new(&before).with_names(&sources);
    let names = analysis.names();
    let mut expected = constants(&file);
    let place = expected.iter().position(|bytes| *bytes == [0; 16]).unwrap();
    expected[place] = 0.5f32.to_le_bytes().repeat(4);
    let tensor = ["layers.0.bias", "layers.1.bias"].map(|name| names.tensor(name).unwrap());
    let first = tensor.iter().min_by_key(|tensor| format!("{:?}", tensor.places)).unwrap();
    let mut pte = before.clone();
    let report = pte.replace(&Selector::Tensor(first), &floats(&[4]).with_key(sha256())).unwrap();
    assert_eq!(report.changes[0].others.len(), 1);
    assert_eq!(constants(&pte.image().unwrap().to_vec().unwrap()), expected);
    let mut both = before.clone();
    both.replace(&Selector::Tensor(first), &floats(&[4]).with_key(sha256()).with_shared()).unwrap();
    let changed = constants(&both.image().unwrap().to_vec().unwrap());
    assert_eq!(changed.iter().filter(|bytes| **bytes == expected[place]).count(), 2);
    let kept = floats(&[4]).with_key(NewKey::Same);
    let error = before.clone().replace(&Selector::Tensor(first), &kept).unwrap_err().to_string();
    assert!(error.contains("1 other constants share the key"), "{error}");
}
