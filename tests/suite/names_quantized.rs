//! Names of quantized weights, from the records and the state dicts of real exports, and the records of each release.

use executorch_format::inspect::NamedBy;
use executorch_format::naming::{EtRecord, NameSource};
use executorch_format::{Analysis, Pte};
use executorch_format_support::data;
use std::collections::BTreeSet;

fn file(name: &str) -> Vec<u8> {
    std::fs::read(data().join("names").join(name)).unwrap()
}

/// Returns the names that the source gives to data of a program: values, constants inside delegates, and their keys.
fn given(program: &str, source: &str) -> Vec<String> {
    let (program, source) = (file(program), file(source));
    let pte = Pte::parse(&program).unwrap();
    let sources = [NameSource::parse(&source).unwrap()];
    let analysis = Analysis::new(&pte).with_names(&sources);
    let names = analysis.names();
    assert!(names.rejected.is_empty(), "{:?}", names.rejected);
    let values = pte.methods().iter().zip(&names.methods).flat_map(|(plan, names)| {
        let has_data =
            |value: usize| plan.tensor(value).is_some_and(|tensor| tensor.is_external() || tensor.data_buffer_idx > 0);
        names.values.iter().enumerate().filter(move |(value, _)| has_data(*value)).filter_map(|(_, name)| name.as_ref())
    });
    let inside = names.methods.iter().flat_map(|method| &method.delegates).flat_map(|delegate| &delegate.constants);
    let keys = names.keys.iter().map(|(_, name)| name);
    let given = values.chain(inside.flatten()).chain(keys).filter(|name| name.named_by.is_given());
    let given: BTreeSet<String> = given.map(|name| name.name.to_string()).collect();
    given.into_iter().collect()
}

/// Returns names, sorted: each module's parts.
fn all(modules: &[&str], parts: &[&str], more: &[&str]) -> Vec<String> {
    let of_modules = modules.iter().flat_map(|module| parts.iter().map(move |part| format!("{module}.{part}")));
    let names: BTreeSet<String> = of_modules.chain(more.iter().map(|name| (*name).to_owned())).collect();
    names.into_iter().collect()
}

const CNN: [&str; 4] = ["dw", "head", "stem", "up"];
const BOTH: [&str; 2] = ["bias", "weight"];
const SCALES: [&str; 4] = ["bias", "bias scales", "weight", "weight scales"];

#[test]
fn an_etrecord_names_quantized_weights_and_their_scales_and_zero_points() {
    let of = |name: &str| given(&format!("{name}.pte"), &format!("{name}.etrecord"));
    assert_eq!(of("cnn"), all(&CNN, &BOTH, &["own"]));
    // The record of a quantized model does not have the name of `own`, which no module has as its weight.
    assert_eq!(of("cnn_tensor"), all(&CNN, &BOTH, &[]));
    assert_eq!(of("cnn_channel"), all(&CNN, &SCALES, &[]));
    let parts = ["bias", "weight", "weight scales", "weight zero points"];
    assert_eq!(of("cnn_channel_portable"), all(&CNN, &parts, &[]));
    let layers = ["layers.0.weight", "layers.0.weight scales", "layers.1.weight", "layers.1.weight scales"];
    assert_eq!(of("language_dynamic"), all(&[], &[], &[&layers[..], &["layers.1.bias", "tok.weight"]].concat()));
    assert_eq!(of("language_8da4w"), all(&[], &[], &[&layers[..], &["layers.1.bias", "tok.weight"]].concat()));
    for bits in [2, 4, 8] {
        // The scales are a buffer of the model's own.
        let more = ["layers.0.weight", "layers.1.bias", "layers.1.weight", "tok.scales", "tok.weight"];
        assert_eq!(of(&format!("language_embedding_{bits}")), all(&[], &[], &more));
    }
}

#[test]
fn a_state_dict_names_quantized_weights_by_their_numbers() {
    let cnn = |name: &str| given(&format!("{name}.pte"), "cnn.safetensors");
    assert_eq!(cnn("cnn"), all(&CNN, &BOTH, &["own"]));
    assert_eq!(cnn("cnn_tensor"), all(&CNN, &BOTH, &["own"]));
    assert_eq!(cnn("cnn_channel"), all(&CNN, &SCALES, &["own", "own scales"]));
    let parts = ["bias", "weight", "weight scales", "weight zero points"];
    assert_eq!(cnn("cnn_channel_portable"), all(&CNN, &parts, &["own", "own scales", "own zero points"]));
    let language = |name: &str| given(&format!("{name}.pte"), "language.safetensors");
    let layers = ["layers.0.weight", "layers.0.weight scales", "layers.1.weight", "layers.1.weight scales"];
    let expected = all(&[], &[], &[&layers[..], &["layers.1.bias", "tok.weight"]].concat());
    assert_eq!(language("language_dynamic"), expected);
    assert_eq!(language("language_8da4w"), expected);
    for bits in [2, 4, 8] {
        let more = ["layers.0.weight", "layers.1.bias", "layers.1.weight", "tok.weight", "tok.weight scales"];
        assert_eq!(language(&format!("language_embedding_{bits}")), all(&[], &[], &more));
    }
    // Numbers of another model are farther than half a scale.
    let other = given("cnn_channel.pte", "language.safetensors");
    assert_eq!(other, [""; 0]);
}

#[test]
fn records_of_each_release_are_read_with_the_numbers_that_json_does_not_have() {
    let mut count = 0;
    for entry in std::fs::read_dir(data().join("names")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let Some(version) = name.strip_prefix("masked_").and_then(|name| name.strip_suffix(".etrecord")) else {
            continue;
        };
        let record = EtRecord::parse(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(record.methods[0].name, "forward", "{version}");
        let program = format!("masked_{version}.pte");
        assert_eq!(given(&program, name), ["mask", "proj.bias", "proj.weight"], "{version}");
        count += 1;
    }
    assert_eq!(count, 10);
}

#[test]
fn names_of_scales_are_known_by_the_source_of_their_weight() {
    let (program, state) = (file("cnn_channel_portable.pte"), file("cnn.safetensors"));
    let pte = Pte::parse(&program).unwrap();
    let sources = [NameSource::parse(&state).unwrap()];
    let analysis = Analysis::new(&pte).with_names(&sources);
    let names = analysis.names();
    assert!(names.rejected.is_empty(), "{:?}", names.rejected);
    let of = |name: &str| names.methods[0].values.iter().flatten().find(|own| *own.name == *name).unwrap();
    let scales = of("stem.weight scales");
    assert_eq!((scales.named_by, scales.module), (NamedBy::StateDict, Some("stem")));
    assert_eq!(of("own zero points").module, Some(""));
}
