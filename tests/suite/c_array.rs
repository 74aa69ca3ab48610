//! C arrays, compiled with GCC as C and as C++.

use executorch_format::convert::{CArray, CBytes, COptions, operator_lines};
use executorch_format::naming::NameSource;
use executorch_format::schema::ScalarType;
use executorch_format::schema::program::{EValue, ExecutionPlan, IntList, Program, Tensor};
use executorch_format::{Analysis, DataCollector, Model, Pte, PteOptions};
use executorch_format_support::data;
use executorch_format_support::fixtures::{fixture, fixtures, for_each};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that writes the array to standard output, and exits with 0 if it is aligned.
const MAIN: &str = r#"#include <stdint.h>
#include <stdio.h>
#include "model.h"
#define COUNT(name) + 1
#ifdef MODEL_OPERATORS
static const unsigned operators = 0 MODEL_OPERATORS(COUNT);
static const unsigned expected = MODEL_OPERATORS_COUNT;
#else
static const unsigned operators = 0;
static const unsigned expected = 0;
#endif
int main(void) {
    fwrite(model, 1, MODEL_SIZE, stdout);
    return (uintptr_t)model % MODEL_ALIGNMENT != 0 || operators != expected;
}
"#;

const FLAGS: &[&str] = &["-Wall", "-Wextra", "-pedantic", "-Werror", "-O0"];

fn has_compilers() -> bool {
    let has = |name| Command::new(name).arg("--version").output().is_ok();
    let both = has("gcc") && has("g++");
    if !both {
        println!("gcc or g++ is not there: nothing was compiled");
    }
    both
}

fn compile(compiler: &str, standard: &str, folder: &Path, files: &[&str]) -> Result<PathBuf, String> {
    let program = folder.join(compiler);
    let language = if compiler == "g++" { "c++" } else { "c" };
    let output = Command::new(compiler)
        .current_dir(folder)
        .args(FLAGS)
        .args([standard, "-x", language, "-o"])
        .arg(&program)
        .args(files)
        .output()
        .unwrap();
    match output.status.success() {
        true => Ok(program),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Compiles the array as C and as C++, runs it, and compares its bytes.
fn check(bytes: &[u8], options: &COptions, file: &str) -> Result<String, String> {
    let model = Model::parse(bytes).unwrap();
    let array = CArray::new(&model, bytes, options).map_err(|error| error.to_string())?;
    let folder = std::env::temp_dir().join(format!("executorch-format-c-{}-{:p}", std::process::id(), bytes));
    std::fs::create_dir_all(&folder).unwrap();
    array.save(file, folder.join("model.h"), folder.join("model.c")).unwrap();
    std::fs::write(folder.join("main.c"), MAIN).unwrap();
    if options.bytes == CBytes::Incbin {
        std::fs::write(folder.join(file), bytes).unwrap();
    }
    let run = |compiler, standard| {
        let program = compile(compiler, standard, &folder, &["main.c", "model.c"])?;
        let output = Command::new(program).output().unwrap();
        match (output.status.success(), output.stdout == bytes) {
            (true, true) => Ok(()),
            (aligned, same) => Err(format!("{compiler}: aligned {aligned}, same {same}")),
        }
    };
    let result = run("gcc", "-std=c11").and_then(|()| run("g++", "-std=c++17"));
    std::fs::remove_dir_all(&folder).unwrap();
    result.map(|()| array.header(file).collect())
}

fn named(name: &str) -> COptions {
    COptions::default().with_name(name.into())
}

#[test]
fn arrays_compile_and_contain_the_file() {
    if !has_compilers() {
        return;
    }
    let names = [
        "add/add.pte",
        "multi_method/multi_method.pte",
        "align_segment_4096/align_segment_4096.pte",
        "ptd_names/ptd_names.ptd",
    ];
    for name in names {
        let file = fixture(&format!("1.5.1/{name}"));
        check(file.bytes(), &named("model"), name).unwrap();
    }
    let file = fixture("1.5.1/add_mul/add_mul.pte");
    let options = named("model").with_section(Some(".rodata.model".into())).with_alignment(Some(1024));
    let header = check(file.bytes(), &options, "x*/ \u{202e}\n/* ??/ \\ \".pte").unwrap();
    assert!(header.contains("#define MODEL_ALIGNMENT 1024u"), "{header}");
}

#[test]
fn the_assembler_includes_the_file_and_detects_a_changed_one() {
    if !has_compilers() || cfg!(not(target_os = "linux")) {
        return;
    }
    let file = fixture("1.5.1/align_segment_4096/align_segment_4096.pte");
    let options = named("model").with_bytes(CBytes::Incbin);
    check(file.bytes(), &options, "a file.pte").unwrap();
    check(file.bytes(), &options.clone().with_section(Some(".model".into())), "file.pte").unwrap();
    // The size in the header is that of a different file.
    let model = Model::parse(file.bytes()).unwrap();
    let array = CArray::new(&model, file.bytes(), &options).unwrap();
    let folder = std::env::temp_dir().join(format!("executorch-format-incbin-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    array.save("x.pte", folder.join("model.h"), folder.join("model.c")).unwrap();
    std::fs::write(folder.join("main.c"), MAIN).unwrap();
    std::fs::write(folder.join("x.pte"), b"other").unwrap();
    let told = compile("gcc", "-std=c11", &folder, &["main.c", "model.c"]).unwrap_err();
    assert!(told.contains("the file has another size than the header says"), "{told}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The compilers of the test machine do not support `#embed`.
#[test]
fn embed_replaces_the_bytes() {
    let file = fixture("1.5.1/add/add.pte");
    let model = Model::parse(file.bytes()).unwrap();
    let array = CArray::new(&model, file.bytes(), &named("model").with_bytes(CBytes::Embed)).unwrap();
    let source: String = array.source("model.h", "add.pte").collect();
    assert!(source.ends_with("const unsigned char model[MODEL_SIZE] = {\n#embed \"add.pte\"\n};\n"), "{source}");
}

#[test]
fn a_record_names_the_inputs_in_the_header() {
    let file = std::fs::read(data().join("etrecord/net_portable.pte")).unwrap();
    let record = std::fs::read(data().join("etrecord/net_portable.etrecord")).unwrap();
    let (model, pte) = (Model::parse(&file).unwrap(), Pte::parse(&file).unwrap());
    let sources = [NameSource::parse(&record).unwrap()];
    let analysis = Analysis::new(&pte).with_names(&sources);
    let array = CArray::new(&model, &file, &named("model")).unwrap();
    let name = "#define MODEL_FORWARD_INPUT_0_NAME \"x\"";
    assert!(!array.header("x.pte").collect::<String>().contains(name));
    let header: String = array.with_names_of(&analysis).header("x.pte").collect();
    assert!(header.contains(name), "{header}");
}

#[test]
fn names_from_a_file_cannot_inject_c_code() {
    let plan = |name: &'static str| {
        let values = vec![EValue::from(Tensor::new(ScalarType::FLOAT, vec![2]))];
        ExecutionPlan::new(name, values, vec![], vec![], 64).with_inputs(vec![0]).with_outputs(vec![0])
    };
    let names = ["a.b", "a_b", "*/ int x; /*", "\" \\ ??/\n", "日本\u{202e}", ""];
    let program = Program { execution_plan: Some(names.map(plan).into()), ..Program::default() };
    let pte = DataCollector::new().finish(program, &PteOptions::default()).unwrap();
    let bytes = pte.image().unwrap().to_vec().unwrap();
    let model = Model::parse(&bytes).unwrap();
    let array = CArray::new(&model, &bytes, &named("model")).unwrap();
    let header: String = array.header("x.pte").collect();
    assert!(header.contains("#define MODEL_A_B_INPUT_0_SIZE 8u\n"), "{header}");
    assert!(header.contains("#define MODEL_A_B_2_PLANNED_0_SIZE 64u\n"), "{header}");
    assert!(header.is_ascii() && !header.contains("Method */"), "{header}");
    if has_compilers() {
        check(&bytes, &named("model"), "x.pte").unwrap();
    }
}

/// A program that exits with 0 if the macros equal the results of the constant methods.
const CONSTANTS: &str = r#"#include <string.h>
#include "model.h"
static const long long list[] = MODEL_LIST_VALUES;
int main(void) {
    int numbers = MODEL_LOWEST_VALUE < -9223372036854775807LL && MODEL_NEGATIVE_VALUE == 7 - 10 && 5 -MODEL_NEGATIVE_VALUE == 8;
    int others = MODEL_BIT_VALUE == 1 && MODEL_SMALL_VALUE == -1e-7 && MODEL_LIST_COUNT == 2u && list[1] == 4096;
    return !(numbers && others && strcmp(MODEL_TEXT_VALUE, "a\"b\\\n?") == 0 && strcmp(MODEL_TEXT_NAME, "text") == 0);
}
"#;

#[test]
fn constant_methods_become_constants() {
    let plan = |name: &'static str, values: Vec<EValue<'static>>| {
        ExecutionPlan::new(name, values, vec![], vec![], 0).with_outputs(vec![0])
    };
    let list = IntList { items: Some(vec![1, 2].into()) };
    let plans = vec![
        plan("lowest", vec![EValue::from(i64::MIN)]),
        plan("negative", vec![EValue::from(-3i64)]),
        plan("bit", vec![EValue::from(true)]),
        plan("small", vec![EValue::from(-1e-7f64)]),
        plan("text", vec![EValue::from("a\"b\\\n?")]),
        plan("list", vec![EValue { val: list.into() }, EValue::from(-1i64), EValue::from(4096i64)]),
        plan("nan", vec![EValue::from(f64::NAN)]),
    ];
    let program = Program { execution_plan: Some(plans), ..Program::default() };
    let pte = DataCollector::new().finish(program, &PteOptions::default()).unwrap();
    let bytes = pte.image().unwrap().to_vec().unwrap();
    let model = Model::parse(&bytes).unwrap();
    let array = CArray::new(&model, &bytes, &named("model")).unwrap();
    let header: String = array.header("x.pte").collect();
    assert!(
        header.contains("#define MODEL_NAN_NAME \"nan\"\n/* A value for which C has no constant. */\n"),
        "{header}"
    );
    if !has_compilers() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("executorch-format-constants-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    array.save("x.pte", folder.join("model.h"), folder.join("model.c")).unwrap();
    std::fs::write(folder.join("main.c"), CONSTANTS).unwrap();
    for (compiler, standard) in [("gcc", "-std=c11"), ("g++", "-std=c++17")] {
        let program = compile(compiler, standard, &folder, &["main.c", "model.c"]).unwrap();
        assert!(Command::new(program).status().unwrap().success(), "{compiler}");
    }
    let old = compile("gcc", "-std=c99", &folder, &["main.c", "model.c"]).unwrap_err();
    assert!(old.contains("this file needs C11 or later"), "{old}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_array_has_the_largest_alignment_of_its_segments() {
    for_each(&fixtures(), |file| {
        let model = Model::parse(file.bytes()).unwrap();
        let array = CArray::new(&model, file.bytes(), &named("model")).map_err(|error| error.to_string())?;
        match (array.alignment(), array.alignment().is_power_of_two()) {
            (16..=4096, true) => Ok(()),
            (alignment, _) => Err(format!("  {alignment}")),
        }
    });
    for (name, alignment) in [("align_segment_4096", 4096), ("add_mul", 128), ("add", 16)] {
        let file = fixture(&format!("1.5.1/{name}/{name}.pte"));
        let model = Model::parse(file.bytes()).unwrap();
        let array = CArray::new(&model, file.bytes(), &named("model")).unwrap();
        assert_eq!(array.alignment(), alignment, "{name}");
    }
}

#[test]
fn names_that_are_invalid_in_c_are_refused() {
    let file = fixture("1.5.1/add/add.pte");
    let model = Model::parse(file.bytes()).unwrap();
    for name in ["", "1a", "a-b", "int", "class", "main", "_a", "a__b", "é"] {
        assert!(CArray::new(&model, file.bytes(), &named(name)).is_err(), "{name}");
    }
    for section in ["", " ", ".a b", "a\"b", "a\\b", "a\nb"] {
        let options = named("model").with_section(Some(section.into()));
        assert!(CArray::new(&model, file.bytes(), &options).is_err(), "{section:?}");
    }
    let options = named("model").with_alignment(Some(24));
    assert!(CArray::new(&model, file.bytes(), &options).is_err());
}

#[test]
fn operators_agree_with_the_official_tool() {
    for_each(&fixtures(), |file| {
        let Some(expected) = file.is_pte().then(|| file.beside("oplist.yaml")).flatten() else { return Ok(()) };
        let lines = operator_lines(&Pte::parse(file.bytes()).unwrap(), "model").unwrap();
        let found: Vec<&str> = lines.split('"').nth(3).map(|names| names.split(',').collect()).unwrap_or_default();
        for name in found {
            if !expected.contains(name) {
                return Err(format!("  {name} is not in its operators"));
            }
        }
        Ok(())
    });
}
