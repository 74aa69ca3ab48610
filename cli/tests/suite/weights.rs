//! The weights of programs as safetensors, and back into the program.

use crate::cli::{Folder, TempFile, pte, run, run_in, text};
use executorch_format::convert::{Dtype, SafeTensor, Safetensors};
use executorch_format_support::data;
use executorch_format_support::fixtures::{files_below, has_extension};
use std::path::Path;

/// Converts a program to safetensors.
fn converted(program: &Path, to: &Path, options: &[&str]) -> Vec<u8> {
    let output = pte().arg("convert").arg(program).arg(to).args(options).output().unwrap();
    assert!(output.status.success(), "{}: {}", program.display(), text(&output.stderr));
    std::fs::read(to).unwrap()
}

fn tensor<'t>(file: &'t Safetensors<'_>, name: &str) -> &'t SafeTensor<'t> {
    let found = file.tensors.iter().find(|tensor| tensor.name == name);
    found.unwrap_or_else(|| {
        panic!("no {name} in {:?}", file.tensors.iter().map(|tensor| &tensor.name).collect::<Vec<_>>())
    })
}

fn numbers(tensor: &SafeTensor<'_>) -> Vec<f32> {
    assert_eq!(tensor.dtype, Dtype::F32, "{}", tensor.name);
    tensor.bytes.chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

#[test]
fn weights_that_were_converted_are_put_back_to_the_same_bytes() {
    let folder = Folder::new("back");
    let folders = ["etrecord", "names", "replace", "1.5.1", "answers"].map(|name| files_below(&data().join(name)));
    let mut same = 0;
    for program in folders.into_iter().flatten().filter(|path| has_extension(path, &["pte"])) {
        let (weights, back) = (folder.0.join("weights.safetensors"), folder.0.join("back.pte"));
        let _ = (std::fs::remove_file(&weights), std::fs::remove_file(&back));
        let options = ["--skip-unsupported", "-q"];
        let output = pte().arg("convert").arg(&program).arg(&weights).args(options).output().unwrap();
        if !output.status.success() {
            assert!(text(&output.stderr).contains("no tensor to convert"), "{}", text(&output.stderr));
            continue;
        }
        let record = program.with_extension("etrecord");
        let mut replace = pte();
        replace.arg("replace").arg(&program).arg(&weights).arg("-q").arg("-o").arg(&back);
        if record.is_file() {
            replace.arg("--names").arg(record);
        }
        let output = replace.output().unwrap();
        assert!(output.status.success(), "{}: {}", program.display(), text(&output.stderr));
        assert!(std::fs::read(&program).unwrap() == std::fs::read(&back).unwrap(), "{}", program.display());
        same += 1;
    }
    assert!(same > 80, "{same}");
}

#[test]
fn weights_have_the_names_and_the_layout_of_the_state_dict() {
    let folder = Folder::new("state");
    let mut compared = 0;
    for program in files_below(&data().join("replace")) {
        let Some(name) = program.file_name().and_then(|name| name.to_str()?.strip_suffix(".new.pte")) else { continue };
        // Quantized weights have another type, and those that the exporter computed other numbers.
        if name.starts_with("int") || name.starts_with("norm") || name.starts_with("external") {
            continue;
        }
        let state = std::fs::read(program.with_file_name(format!("{name}.safetensors"))).unwrap();
        let state = Safetensors::parse(&state).unwrap();
        let record = program.with_file_name(format!("{name}.etrecord"));
        let options = ["--skip-unsupported", "--names", record.to_str().unwrap()];
        let made = converted(&program, &folder.0.join(format!("{name}.safetensors")), &options);
        let made = Safetensors::parse(&made).unwrap();
        for own in made.tensors.iter().filter(|own| state.tensors.iter().any(|other| other.name == own.name)) {
            let other = tensor(&state, &own.name);
            assert_eq!((&own.shape, own.dtype), (&other.shape, other.dtype), "{name}: {}", own.name);
            assert!(own.bytes == other.bytes, "{name}: {}", own.name);
            compared += 1;
        }
    }
    assert!(compared > 30, "{compared}");
}

#[test]
fn quantized_weights_are_integers_or_their_numbers() {
    let folder = Folder::new("quantized");
    let state = std::fs::read(data().join("names/cnn.safetensors")).unwrap();
    let state = Safetensors::parse(&state).unwrap();
    for program in ["names/cnn_channel.pte", "names/cnn_tensor.pte", "names/cnn_channel_portable.pte"] {
        let program = data().join(program);
        let integers = converted(&program, &folder.0.join("integers.safetensors"), &["--skip-unsupported"]);
        let integers = Safetensors::parse(&integers).unwrap();
        let options = ["--skip-unsupported", "--dequantized"];
        let made = converted(&program, &folder.0.join("numbers.safetensors"), &options);
        let made = Safetensors::parse(&made).unwrap();
        for name in ["stem.weight", "dw.weight", "up.weight", "head.weight"] {
            let (integer, own, other) = (tensor(&integers, name), tensor(&made, name), tensor(&state, name));
            assert_eq!((integer.dtype, &integer.shape), (Dtype::I8, &other.shape), "{name}");
            assert_eq!(own.shape, other.shape, "{name}");
            let largest = numbers(other).iter().fold(0f32, |largest, number| largest.max(number.abs()));
            for (own, other) in numbers(own).iter().zip(numbers(other)) {
                assert!((own - other).abs() <= largest / 127.0, "{}: {name}: {own} {other}", program.display());
            }
        }
    }
    let refused = run_in(&data(), &["convert", "payloads/cuda/cuda_fqn.ptd", "x.safetensors", "--dequantized"]);
    assert_eq!(
        (refused.status.code(), text(&refused.stderr).contains("--dequantized applies only to programs")),
        (Some(2), true)
    );
}

#[test]
fn extracted_weights_are_those_that_convert_gives() {
    let folder = Folder::new("extracted");
    let program = data().join("names/cnn.pte");
    let made = converted(&program, &folder.0.join("all.safetensors"), &[]);
    let made = Safetensors::parse(&made).unwrap();
    let blobs = folder.0.join("blobs");
    let extract = ["extract", "--as", "safetensors", "--name", "*.weight", "-o", blobs.to_str().unwrap()];
    let output = run(&extract, &[&program]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut names = Vec::new();
    for path in files_below(&blobs).into_iter().filter(|path| has_extension(path, &["safetensors"])) {
        let bytes = std::fs::read(&path).unwrap();
        let alone = Safetensors::parse(&bytes).unwrap();
        let [own] = &alone.tensors[..] else { panic!("{}", path.display()) };
        assert_eq!(own, tensor(&made, &own.name));
        names.push(own.name.to_string());
    }
    names.sort();
    assert_eq!(names, ["dw.weight", "head.weight", "stem.weight", "up.weight"]);
}

#[test]
fn weights_for_cuda_are_put_back_into_their_ptd() {
    let folder = Folder::new("cuda");
    let [program, weights] = ["payloads/cuda/cuda_fqn.pte", "payloads/cuda/cuda_fqn.ptd"].map(|name| data().join(name));
    let (made, back) = (folder.0.join("made.safetensors"), folder.0.join("back.ptd"));
    let options = ["--skip-unsupported", "--data", weights.to_str().unwrap()];
    let bytes = converted(&program, &made, &options);
    let names: Vec<String> =
        Safetensors::parse(&bytes).unwrap().tensors.iter().map(|tensor| tensor.name.to_string()).collect();
    assert_eq!(names, ["down.bias", "down.weight", "up.bias", "up.weight"]);
    let output = pte()
        .arg("replace")
        .arg(&weights)
        .arg(&made)
        .arg("--program")
        .arg(&program)
        .arg("-o")
        .arg(&back)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(std::fs::read(&weights).unwrap() == std::fs::read(&back).unwrap());
}

#[test]
fn a_checkpoint_is_answered_with_its_conversion_in_python() {
    let checkpoint = TempFile::new("model.pt", &[b"\x80\x02}q\0.".as_slice(), &[b' '; 100]].concat());
    for output in ["out.ptd", "out.safetensors"] {
        let output = run(&["convert"], &[&checkpoint.0, &std::env::temp_dir().join(output)]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(
            told.contains("a PyTorch checkpoint") && told.contains("safetensors.torch.save_file(torch.load("),
            "{told}"
        );
        assert!(!told.contains("externalize"), "{told}");
    }
}

#[test]
fn copies_in_the_files_of_a_folder_are_listed() {
    let output = run(&["dedup", "-r", "--dry-run"], &[&data().join("1.5.1/external_tied")]);
    let told = text(&output.stdout);
    assert!(output.status.success() && told.contains(" stored more than once: "), "{told}{}", text(&output.stderr));
}

#[test]
fn keys_that_are_hashes_come_last_in_a_difference() {
    let output = run_in(&data(), &["diff", "names/cnn.pte", "names/cnn_tensor.pte"]);
    let told = text(&output.stdout);
    let place = |part: &str| told.find(part).unwrap_or_else(|| panic!("no {part} in {told}"));
    let key = place("+ key 1f2f5c7e163ffa2ca5acefa31862565ed750bdce297cb8ca24425f20249116c5");
    assert!(place("method forward\n") < key && place("XNNConvert: none -> 2 nodes") < key, "{told}");
}
