//! Payloads whose data is under keys, in the program or in a `.ptd`: weights for CUDA, and blocks for an Ethos-U.

use executorch_format::convert::{Safetensors, Unsupported};
use executorch_format::delegate::{AotInductor, NamedBlobs, Payload, PayloadKind};
use executorch_format::inspect::{BlobCount, DiffOptions, Side, diff};
use executorch_format::schema::ScalarType;
use executorch_format::verify::{Finding, Level};
use executorch_format::{Analysis, ErrorKind, Model, Ptd, Pte};
use executorch_format_support::data;

fn read(name: &str) -> Vec<u8> {
    std::fs::read(data().join("payloads").join(name)).unwrap()
}

fn cuda() -> [Vec<u8>; 2] {
    ["cuda/cuda_fqn.pte", "cuda/cuda_fqn.ptd"].map(read)
}

fn ethos_u() -> [Vec<u8>; 2] {
    ["ethosu_external/ethosu_external_weights.pte", "ethosu_external/ethosu_external_weights.w.ptd"].map(read)
}

fn rules(findings: &[Finding]) -> Vec<&'static str> {
    let mut rules: Vec<_> = findings.iter().map(|finding| finding.rule).collect();
    rules.dedup();
    rules
}

/// Writes a payload with tensors as the exporter does.
fn encoded(library: &str, tensors: &[Entry<'_>]) -> Vec<u8> {
    let mut bytes = b"ETCUDAFQN3".to_vec();
    let text = |bytes: &mut Vec<u8>, text: &str| {
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
    };
    text(&mut bytes, library);
    bytes.extend((tensors.len() as u32).to_le_bytes());
    for (name, storage, offset, dims) in tensors {
        text(&mut bytes, name);
        text(&mut bytes, &format!("cuda_fqn_weight:cuda:{name}"));
        bytes.extend(storage.to_le_bytes());
        bytes.extend(6i32.to_le_bytes());
        bytes.extend(1i32.to_le_bytes());
        bytes.extend(offset.to_le_bytes());
        bytes.extend((dims.len() as u32).to_le_bytes());
        dims.iter().for_each(|(size, _)| bytes.extend(size.to_le_bytes()));
        dims.iter().for_each(|(_, stride)| bytes.extend(stride.to_le_bytes()));
    }
    bytes
}

/// A tensor's name, the size of its storage, its offset, and its sizes and strides.
type Entry<'t> = (&'t str, u64, i64, &'t [(i64, i64)]);

#[test]
fn weights_for_cuda_have_their_names_types_and_keys() {
    let [pte, ptd] = cuda();
    let (pte, ptd) = (Pte::parse(&pte).unwrap(), Ptd::parse(&ptd).unwrap());
    let Payload::AotInductor(aot) = pte.delegate(&pte.methods()[0].delegates()[0]).unwrap() else { panic!("no CUDA") };
    let names: Vec<_> = aot.tensors.iter().map(|tensor| tensor.name).collect();
    assert_eq!(names, ["up.weight", "up.bias", "down.weight", "down.bias"]);
    assert_eq!(aot.tensors[0].shape().to_string(), "f32[6, 4]");
    let blobs = NamedBlobs::new(&pte, [&ptd]);
    for tensor in &aot.tensors {
        let storage = blobs.get(tensor.key).unwrap().unwrap().bytes;
        assert_eq!((storage.len() as u64, &*tensor.elements(storage).unwrap()), (tensor.storage_size, storage));
    }
    // The same names in every answer.
    let analysis = Analysis::new(&pte).with_data([&ptd]);
    let inside: Vec<_> = analysis
        .delegate_constants()
        .constants
        .iter()
        .map(|found| found.user.name.clone().unwrap().to_string())
        .collect();
    assert_eq!(inside, names);
    let weights = analysis.weights();
    let weights: Vec<_> = weights.iter().filter(|weight| weight.name.is_some()).collect();
    assert_eq!(weights.iter().map(|weight| weight.size).collect::<Vec<_>>(), [96, 72, 24, 12]);
    assert!(weights.iter().all(|weight| weight.histogram.is_some() && weight.data == Some(0)));
    assert_eq!(analysis.names().key("cuda_fqn_weight:cuda:up.bias").unwrap().name, "up.bias");
    assert_eq!(analysis.macs().methods[0].parameters, Some(51));
}

#[test]
fn weights_for_cuda_are_converted_with_their_names() {
    let [pte, ptd] = cuda();
    let (mut pte, ptds) = (Pte::parse(&pte).unwrap(), [Ptd::parse(&ptd).unwrap()]);
    let (alone, skipped) = pte.weights().unwrap();
    assert_eq!((alone.entries().count(), skipped.len()), (0, 4 + 1));
    let check = |weights: &Ptd<'_>| {
        let (tensors, _) = Safetensors::of_ptd(weights, Unsupported::Refuse).unwrap();
        let found: Vec<_> = tensors.tensors.iter().map(|tensor| (&*tensor.name, &*tensor.shape)).collect();
        let expected: [(&str, &[u64]); 4] =
            [("down.bias", &[3]), ("down.weight", &[3, 6]), ("up.bias", &[6]), ("up.weight", &[6, 4])];
        assert_eq!(found, expected);
    };
    check(&pte.weights_with(&ptds).unwrap().0);
    // In the program itself.
    pte.internalize(&ptds, |_| true).unwrap();
    check(&pte.weights().unwrap().0);
    assert_eq!(rules(&pte.verify_with([], Level::Strict)), [""; 0]);
    let (data, _) = pte
        .externalize(&Default::default(), |candidate| {
            candidate.key.starts_with("cuda_fqn").then(|| candidate.key.into())
        })
        .unwrap();
    check(&pte.weights_with(&[data]).unwrap().0);
}

#[test]
fn payloads_for_cuda_are_unpacked_with_their_data() {
    let [pte, ptd] = cuda();
    let (model, ptd) = (Model::parse(&pte).unwrap(), Ptd::parse(&ptd).unwrap());
    let error = model.extraction().unwrap().unpack(&model, []).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Reference(_)) && error.to_string().contains("neither the .pte"),
        "{error}"
    );
    let mut extraction = model.extraction().unwrap();
    assert_eq!(extraction.unpack(&model, [&ptd]).unwrap(), 1);
    let unpacked = extraction.files.iter().find_map(|file| file.unpacked.as_ref()).unwrap();
    let files: Vec<_> = unpacked.files.iter().map(|part| (part.name.as_str(), part.size)).collect();
    let expected = [
        ("library.so", 4864),
        ("weights/up.weight.bin", 96),
        ("weights/up.bias.bin", 24),
        ("weights/down.weight.bin", 72),
        ("weights/down.bias.bin", 12),
    ];
    assert_eq!((files, unpacked.kind, unpacked.seen), (expected.to_vec(), PayloadKind::Cuda, true));
}

#[test]
fn changed_weights_for_cuda_differ_by_their_names() {
    let [pte, ptd] = cuda();
    let model = Model::parse(&pte).unwrap();
    let mut changed = ptd.clone();
    // The first element of `up.weight`.
    changed[512..516].copy_from_slice(&0.5f32.to_le_bytes());
    let data = [[Ptd::parse(&ptd).unwrap()], [Ptd::parse(&changed).unwrap()]];
    let found = diff(&Side::new(&model, &data[0]), &Side::new(&model, &data[1]), &DiffOptions::default());
    let lines: Vec<_> = found.differences.iter().map(ToString::to_string).collect();
    assert!(lines.len() == 1 && lines[0].starts_with("key up.weight f32[6, 4]"), "{lines:?}");
    let missing = diff(&Side::new(&model, &data[0]), &Side::new(&model, &[]), &DiffOptions::default());
    assert!(missing.not_compared.iter().any(|text| text.to_string().contains('4')), "{:?}", missing.not_compared);
}

#[test]
fn missing_and_wrong_data_of_payloads_is_found() {
    for [pte, ptd] in [cuda(), ethos_u()] {
        let (pte, own) = (Pte::parse(&pte).unwrap(), Ptd::parse(&ptd).unwrap());
        assert_eq!(rules(&pte.verify_with([&own], Level::Strict)), [""; 0]);
        assert_eq!(rules(&pte.verify_with([], Level::Strict)), ["payload-unchecked"]);
        assert!(pte.missing_data(&[]).is_some() && pte.missing_data(&[&own]).is_none());
        // An older runtime does not look for the data.
        assert_eq!(Analysis::new(&pte).releases(&Default::default()).loads_in.to_string(), "1.5");
    }
    let ([pte, ptd], [other, other_ptd]) = (cuda(), ethos_u());
    let (pte, other) = (Pte::parse(&pte).unwrap(), Pte::parse(&other).unwrap());
    let [of_pte, of_other] = [&ptd, &other_ptd].map(|bytes| Ptd::parse(bytes).unwrap());
    assert_eq!(rules(&pte.verify_with([&of_other], Level::Strict)), ["payload-key"]);
    assert_eq!(rules(&other.verify_with([&of_pte], Level::Strict)), ["payload-key"]);
    // Weights of an Ethos-U are named by their hash.
    let mut changed = other_ptd.clone();
    changed[256] ^= 1;
    assert_eq!(rules(&other.verify_with([&Ptd::parse(&changed).unwrap()], Level::Strict)), ["payload-data"]);
}

#[test]
fn a_library_that_is_not_that_of_its_key_is_found() {
    let [mut pte, _] = cuda();
    assert!(!rules(&Pte::parse(&pte).unwrap().verify(Level::Strict)).contains(&"payload-data"));
    *pte.last_mut().unwrap() ^= 1;
    assert!(rules(&Pte::parse(&pte).unwrap().verify(Level::Strict)).contains(&"payload-data"));
}

#[test]
fn external_blocks_of_an_ethos_u_have_the_size_of_their_data() {
    let [pte, ptd] = ethos_u();
    let (mut pte, ptd) = (Pte::parse(&pte).unwrap(), Ptd::parse(&ptd).unwrap());
    let sizes = |analysis: Analysis<'_>| {
        let keyed = analysis.payload_facts()[0].summary.keyed[0].clone();
        let listed = analysis.delegate_constants().constants[0].size;
        (keyed.name, keyed.size, keyed.inside, listed)
    };
    assert_eq!(sizes(Analysis::new(&pte)), ("weight_data".to_owned(), None, false, None));
    assert_eq!(sizes(Analysis::new(&pte).with_data([&ptd])), ("weight_data".to_owned(), Some(144), false, Some(144)));
    let run = |analysis: Analysis<'_>| analysis.memory().methods[0].run_memory.clone();
    let (without, with) = (run(Analysis::new(&pte)), run(Analysis::new(&pte).with_data([&ptd])));
    assert_eq!((without.scratch, without.weights_in_place), (Some(1024), 0));
    assert_eq!(without.not_known, ["data of an Ethos-U in .ptd files that were not given"]);
    assert_eq!((with.weights_in_place, with.total - without.total, with.not_known.len()), (144, 144, 0));
    pte.internalize(&[ptd], |_| true).unwrap();
    assert_eq!(sizes(Analysis::new(&pte)), ("weight_data".to_owned(), Some(144), true, Some(144)));
    let model = Model::from(pte.clone());
    let mut extraction = model.extraction().unwrap();
    extraction.unpack(&model, []).unwrap();
    let unpacked = extraction.files.iter().find_map(|file| file.unpacked.as_ref()).unwrap();
    assert!(unpacked.files.iter().any(|part| (part.name.as_str(), part.size) == ("weight_data.bin", 144)));
    let (back, _) = pte.externalize(&Default::default(), |candidate| Some(candidate.key.into())).unwrap();
    assert_eq!(rules(&pte.verify_with([&back], Level::Strict)), [""; 0]);
}

#[test]
fn the_data_of_payloads_is_counted() {
    let [pte, _] = cuda();
    let pte = Pte::parse(&pte).unwrap();
    let executorch_format::inspect::Content::Program(program) = Analysis::new(&pte).summary().content else {
        panic!("a program")
    };
    let BlobCount { count, size, .. } = program.external_delegate_constants;
    assert_eq!((count, size), (4, Some(204)));
    assert_eq!((program.delegate_constants.count, program.delegate_constants.size), (5, Some(204 + 4864)));
    let [pte, _] = ethos_u();
    let pte = Pte::parse(&pte).unwrap();
    let executorch_format::inspect::Content::Program(program) = Analysis::new(&pte).summary().content else {
        panic!("a program")
    };
    let BlobCount { count, size, .. } = program.external_delegate_constants;
    assert_eq!((count, size), (1, None));
}

#[test]
fn tensors_are_views_of_their_storages() {
    let storage: Vec<u8> = (0..12).flat_map(|number| (number as f32).to_le_bytes()).collect();
    let numbers = |entry: Entry<'_>| {
        let payload = encoded("k_so_blob", &[entry]);
        let aot = AotInductor::parse(&payload).unwrap();
        let tensor = &aot.tensors[0];
        assert_eq!(tensor.scalar_type, ScalarType::FLOAT);
        let elements = tensor.elements(&storage).map_err(|error| error.to_string())?;
        let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap());
        Ok::<_, String>((
            elements.chunks(4).map(number).collect::<Vec<_>>(),
            tensor.range(),
            tensor.shape().to_string(),
        ))
    };
    let (found, range, shape) = numbers(("t", 48, 0, &[(3, 1), (4, 3)])).unwrap();
    assert_eq!(found, [0., 3., 6., 9., 1., 4., 7., 10., 2., 5., 8., 11.]);
    assert_eq!((range, &*shape), (Some(0..48), "f32[3, 4] dim order 1,0"));
    let (found, range, _) = numbers(("part", 48, 5, &[(2, 3), (2, 1)])).unwrap();
    assert_eq!((found, range), (vec![5., 6., 8., 9.], None));
    let (found, range, _) = numbers(("row", 48, 8, &[(1, 99), (4, 1)])).unwrap();
    assert_eq!((found, range), (vec![8., 9., 10., 11.], Some(32..48)));
    assert_eq!(numbers(("expanded", 48, 1, &[(3, 0), (2, 1)])).unwrap().0, [1., 2., 1., 2., 1., 2.]);
    assert_eq!(numbers(("scalar", 48, 11, &[])).unwrap().0, [11.]);
    assert!(numbers(("none", 48, 0, &[(0, 1)])).unwrap().0.is_empty());
    assert!(numbers(("outside", 48, 1, &[(3, 4), (4, 1)])).unwrap_err().contains("needs 52 bytes"));
    assert!(numbers(("endless", 48, 0, &[(1 << 30, 0), (1 << 30, 0)])).unwrap_err().contains("share memory"));
}

#[test]
fn broken_payloads_for_cuda_are_refused_at_their_fault() {
    let whole = encoded("k_so_blob", &[("t", 16, 0, &[(2, 2), (2, 1)])]);
    for end in 10..whole.len() {
        let error = AotInductor::parse(&whole[..end]).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Truncated { .. }), "{end}: {error}");
    }
    let fault = |entry: Entry<'_>| AotInductor::parse(&encoded("k", &[entry])).unwrap_err().to_string();
    assert!(fault(("t", 16, -1, &[])).contains("an offset of -1"));
    assert!(fault(("t", 16, 0, &[(-2, 1)])).contains("a size of -2"));
    assert!(fault(("t", 16, 0, &[(2, -1)])).contains("a stride of -1"));
    let trailing = [&whole[..], b"x"].concat();
    assert!(AotInductor::parse(&trailing).unwrap_err().to_string().contains("1 byte after its last tensor"));
}

#[test]
fn weights_inside_payloads_are_views_in_the_layout_of_the_model() {
    use executorch_format::naming::NameSource;
    let folder = data().join("replace");
    let mut compared = std::collections::BTreeMap::<String, usize>::new();
    for entry in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        let Some(name) = entry.file_name().unwrap().to_str().unwrap().strip_suffix(".new.pte").map(str::to_owned)
        else {
            continue;
        };
        let read = |ending: &str| std::fs::read(folder.join(format!("{name}{ending}")));
        let (Ok(file), Ok(record), Ok(state)) = (read(".new.pte"), read(".etrecord"), read(".safetensors")) else {
            continue;
        };
        let (pte, state) = (Pte::parse(&file).unwrap(), Safetensors::parse(&state).unwrap());
        let sources = [NameSource::parse(&record).unwrap()];
        let analysis = Analysis::new(&pte).with_names(&sources);
        analysis.visit_inside(&mut |tensor| {
            let expected = state.tensors.iter().find(|own| Some(&*own.name) == tensor.name);
            let (Some(expected), Some(model), Some(ScalarType::FLOAT)) = (expected, &tensor.model, tensor.scalar_type)
            else {
                return;
            };
            let sizes: Vec<u64> = model.sizes.iter().map(|size| u64::from(*size)).collect();
            assert_eq!(sizes, expected.shape, "{name}: {}", expected.name);
            let mut places = vec![0usize];
            for (size, stride) in model.sizes.iter().zip(&model.strides) {
                let along = |place: usize| (0..*size as usize).map(move |at| place + at * *stride as usize);
                places = places.into_iter().flat_map(along).collect();
            }
            let found: Vec<u8> = places.iter().flat_map(|place| tensor.bytes[4 * place..][..4].to_vec()).collect();
            assert!(found == *expected.bytes, "{name}: {} has other values", expected.name);
            *compared.entry(name.clone()).or_default() += 1;
        });
    }
    assert!(compared.len() > 10 && compared.values().sum::<usize>() > 20, "{compared:?}");
}

#[test]
fn numbers_for_cuda_have_their_names() {
    let [pte, ptd] = cuda();
    let (pte, ptd) = (Pte::parse(&pte).unwrap(), Ptd::parse(&ptd).unwrap());
    let mut found = Vec::new();
    Analysis::new(&pte).with_data([&ptd]).visit_numbers(&mut |constant| {
        let numbers = constant.numbers.as_ref().unwrap();
        found.push((constant.name.unwrap().to_owned(), numbers.dims().to_vec(), numbers.values().next().unwrap()));
    });
    assert_eq!(found[0], ("up.weight".to_owned(), vec![6, 4], -0.495_736_48));
    assert_eq!(found.len(), 4);
}
