//! Foreign content in a file is reported, and the normal content of files is not.

use executorch_format::schema::program::{BackendDelegate, ExecutionPlan, Program};
use executorch_format::verify::Level;
use executorch_format::{DataCollector, Model, NewEntry, Ptd, PtdOptions, Pte, PteOptions};
use executorch_format_support::fixtures::{fixture, fixtures, for_each};

const LIBRARY: &[u8] = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0";

const PICKLE: &[u8] =
    b"\x80\x04\x95\x1d\0\0\0\0\0\0\0\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x02id\x94\x85\x94R\x94.";

const RULES: [&str; 5] = ["also-zip", "foreign-format", "native-code", "padding", "trailing-bytes"];

/// Returns which of these rules a file breaks, and where.
fn broken(model: &Model<'_>) -> Vec<(&'static str, Option<u64>, String)> {
    let findings = model.verify(Level::Strict).into_iter().filter(|finding| RULES.contains(&finding.rule));
    findings.map(|finding| (finding.rule, finding.offset, finding.path.to_string())).collect()
}

fn rules(model: &Model<'_>) -> Vec<&'static str> {
    broken(model).into_iter().map(|(rule, ..)| rule).collect()
}

#[test]
fn files_of_real_writers_have_no_foreign_content() {
    for_each(&fixtures(), |file| match broken(&Model::parse(file.bytes()).unwrap()).first() {
        // Machine code is at the reported place.
        None | Some(("native-code", ..)) => Ok(()),
        Some(found) => Err(format!("  {found:?}")),
    });
}

#[test]
fn findings_have_a_place() {
    let file = fixture("1.5.1/linear/linear.pte");
    let mut bytes = file.bytes().to_vec();
    bytes[1536..][..PICKLE.len()].copy_from_slice(PICKLE);
    let found = broken(&Model::parse(&bytes).unwrap());
    assert_eq!(found, [("foreign-format", Some(1536), "execution_plan[0].values[0]".to_owned())]);
}

#[test]
fn a_library_under_the_key_of_aot_inductor_is_native_code() {
    let with_key = |key: &'static str| {
        let ptd = Ptd::build([NewEntry::blob(key, LIBRARY)], &PtdOptions::default()).unwrap();
        rules(&Model::Ptd(ptd))
    };
    assert_eq!(with_key("5e5e_so_blob"), ["native-code"]);
    assert_eq!(with_key("weights"), ["foreign-format"]);
}

/// Returns a program with a delegate, its payload and named data under the keys of AOTInductor.
fn delegated(id: &'static str, payload: &[u8], named: &[u8]) -> Vec<&'static str> {
    let mut data = DataCollector::new();
    let processed = Some(data.delegate(payload.to_vec()));
    data.named("5e_so_blob", named.to_vec(), 16).unwrap();
    let delegate = BackendDelegate { id: Some(id.into()), processed, compile_specs: Some(vec![]) };
    let mut plan = ExecutionPlan::new("forward", vec![], vec![], vec![], 0);
    plan.delegates = Some(vec![delegate]);
    let program = Program { execution_plan: Some(vec![plan]), ..Program::default() };
    rules(&Model::Pte(data.finish(program, &PteOptions::default()).unwrap()))
}

#[test]
fn machine_code_is_allowed_in_payloads_that_may_contain_it() {
    let keys = b"5e_so_blob\n5e_weights_blob";
    assert_eq!(delegated("CudaBackend", keys, LIBRARY), ["native-code"]);
    assert_eq!(delegated("NobodysBackend", keys, LIBRARY), ["foreign-format"]);
    assert_eq!(delegated("OpenvinoBackend", LIBRARY, b"xml"), [""; 0]);
    assert_eq!(delegated("OpenvinoBackend", PICKLE, b"xml"), ["foreign-format"]);
    assert_eq!(delegated("NobodysBackend", LIBRARY, b"xml"), ["foreign-format"]);
}

/// Pickles of many opcodes in overlapping segments are not walked repeatedly.
#[test]
fn work_on_pickles_is_bounded_by_the_size_of_the_file() {
    let file = fixture("1.5.1/const_dtypes/const_dtypes.pte");
    let mut pte = Pte::parse(file.bytes()).unwrap();
    let marks: &[u8] = &[b'('; 1 << 20];
    let mut data = DataCollector::new();
    let entries: Vec<String> = (0..4096).map(|index| format!("key {index}")).collect();
    for key in &entries {
        data.named(&**key, marks, 1).unwrap();
    }
    pte = data.finish(pte.program.clone(), &PteOptions::default()).unwrap();
    // Equal blobs share one segment, which 4,096 keys refer to.
    let bytes = pte.image().unwrap().to_vec().unwrap();
    assert!(bytes.len() < 4 << 20);
    let start = std::time::Instant::now();
    assert_eq!(rules(&Model::parse(&bytes).unwrap()), [""; 0]);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn bytes_after_the_end_are_reported_with_their_format_and_place_unless_they_are_padding() {
    for (name, format) in [
        ("trailing-elf.pte", "an ELF file"),
        ("trailing-mach-o.ptd", "a Mach-O file"),
        ("trailing-script.bpte", "a script"),
        ("trailing-pe.etdp", "a PE file"),
        ("also-zip.pte", "a ZIP archive"),
    ] {
        let path = executorch_format_support::data().join("malformed").join(name);
        let bytes = std::fs::read(path).unwrap();
        let findings = Model::parse(&bytes).unwrap().verify(Level::Strict);
        let found = findings.iter().find(|finding| finding.rule == "trailing-bytes").unwrap();
        assert!(found.message.contains(format), "{found}");
        assert!(found.offset.is_some_and(|offset| offset < bytes.len() as u64), "{found}");
    }
    // This program has no extended header.
    let program = fixture("1.5.1/add/add.pte");
    let after = |more: &[u8]| rules(&Model::parse(&[program.bytes(), more].concat()).unwrap());
    assert_eq!(after(&[0; 16]), [] as [&str; 0]);
    assert_eq!(after(&[0, 0, 0, 1]), ["trailing-bytes"]);
    assert_eq!(after(&[0; (1 << 16) + 1]), ["trailing-bytes"]);
}
