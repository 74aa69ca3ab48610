//! Edited files: the runtime computes the same results as before, or those that follow by arithmetic.

use executorch_format::edit::{NewData, Selector, Strip, share};
use executorch_format::schema::program::Tensor;
use executorch_format::{Ptd, PtdOptions, Pte};
use executorch_format_support::fixtures::{Fixture, fixture, fixtures};
use executorch_format_support::official::{Official, accepted, for_all, is_pte, same};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

type Made = (Vec<u8>, Option<Vec<u8>>);

/// An operation on a program with its `.ptd` files; `None` if it does not apply.
type Operation = for<'a> fn(Pte<'a>, &[Ptd<'a>]) -> executorch_format::Result<Option<Made>>;

fn program(pte: &Pte<'_>) -> executorch_format::Result<Option<Made>> {
    Ok(Some((pte.image()?.to_vec()?, None)))
}

const OPERATIONS: &[(&str, Operation)] = &[
    ("externalize", |mut pte, data| {
        if !data.is_empty() {
            return Ok(None);
        }
        let (data, _) = pte.externalize(&PtdOptions::default(), |data| Some(data.key.to_owned()))?;
        Ok(Some((pte.image()?.to_vec()?, Some(data.image()?.to_vec()?))))
    }),
    ("internalize", |mut pte, data| {
        if data.is_empty() || pte.internalize(data, |_| true).is_err() {
            return Ok(None);
        }
        program(&pte)
    }),
    ("externalize-internalize", |mut pte, data| {
        if !data.is_empty() {
            return Ok(None);
        }
        let (data, _) = pte.externalize(&PtdOptions::default(), |data| Some(data.key.to_owned()))?;
        if pte.internalize(&[data], |_| true).is_err() {
            return Ok(None);
        }
        program(&pte)
    }),
    // With itself: all data is common, and moves beside that of its `.ptd` files.
    ("share", |pte, data| {
        let shared = share(&[pte.clone(), pte], data, 0, &PtdOptions::default())?;
        if shared.reports[0].changes.is_empty() {
            return Ok(None);
        }
        Ok(Some((shared.programs[0].image()?.to_vec()?, Some(shared.data.image()?.to_vec()?))))
    }),
    ("dedup", |mut pte, _| {
        pte.dedup()?;
        program(&pte)
    }),
    ("strip", |mut pte, _| {
        pte.strip(&Strip::ALL)?;
        program(&pte)
    }),
    ("strip-dedup-metadata", |mut pte, _| {
        pte.strip(&Strip::ALL)?;
        pte.dedup()?;
        pte.set_metadata("metadata.note", executorch_format::edit::MetadataValue::Int(1))?;
        program(&pte)
    }),
];

/// Returns the lines about running methods, without those about how data is stored.
fn computed(told: &str) -> Vec<&str> {
    let of_a_run = |line: &&str| {
        let line = line.trim_start();
        // The memory to load a method depends on where its data is.
        if line.starts_with("method allocator") {
            return false;
        }
        line.contains("sha256=") && line.starts_with("out ")
            || ["method ", "execute", "load_method", "result: "].iter().any(|word| line.starts_with(word))
    };
    told.lines().filter(of_a_run).collect()
}

#[test]
fn edited_programs_compute_the_same() {
    let Some(official) = Official::find("edited") else {
        return;
    };
    // A dropout that trains gives other numbers in each run.
    let is_random = |fixture: &Fixture| fixture.name().contains("dropout_training_mode");
    let programs: Vec<Fixture> =
        fixtures().into_iter().filter(|fixture| fixture.is_pte() && !is_random(fixture)).collect();
    let (judged, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    for_all(&programs, |fixture| {
        let data = fixture.data_files();
        let expected = official.run(&fixture.path, &data, &[]);
        if !accepted(&expected) {
            refused.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        let bytes: Vec<Vec<u8>> = data.iter().map(|path| std::fs::read(path).unwrap()).collect();
        for (name, operation) in OPERATIONS {
            let ptds: Vec<Ptd<'_>> = bytes.iter().map(|bytes| Ptd::parse(bytes).unwrap()).collect();
            let made = operation(Pte::parse(fixture.bytes()).unwrap(), &ptds);
            let made = made.map_err(|error| format!("{}, {name}: {error}", fixture.name()))?;
            let Some((program, new_data)) = made else { continue };
            let put = |ending: &str, bytes: &[u8]| {
                official.put(&Path::new(name).join(fixture.name()).with_extension(ending), bytes)
            };
            let path = put("pte", &program);
            assert!(is_pte(&path));
            let given: Vec<PathBuf> = match (new_data, *name) {
                (Some(new_data), _) => vec![put("ptd", &new_data)],
                (None, "internalize") => Vec::new(),
                (None, _) => data.clone(),
            };
            let told = official.run(&path, &given, &[]);
            same(&computed(&told).join("\n"), &computed(&expected).join("\n"))
                .map_err(|found| format!("{}, {name}:\n{found}", fixture.name()))?;
            judged.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    });
    println!(
        "{} edited programs compute what they did; {} programs the runtime refuses anyway",
        judged.into_inner(),
        refused.into_inner()
    );
}

#[test]
fn a_selected_method_computes_the_same() {
    let Some(official) = Official::find("selected") else {
        return;
    };
    let fixture = fixture("1.5.1/multi_method/multi_method.pte");
    let whole = official.run(&fixture.path, &[], &[]);
    assert!(accepted(&whole), "{whole}");
    for method in ["forward", "encode", "decode"] {
        let mut pte = Pte::parse(fixture.bytes()).unwrap();
        pte.select(|name| name == method).unwrap();
        let path = official.put(Path::new(&format!("{method}.pte")), &pte.image().unwrap().to_vec().unwrap());
        let told = official.run(&path, &[], &[]);
        assert!(accepted(&told), "{told}");
        let hashes =
            |told: &str| told.lines().filter(|line| line.contains("sha256=")).map(str::to_owned).collect::<Vec<_>>();
        let all = hashes(&whole);
        assert!(!hashes(&told).is_empty() && hashes(&told).iter().all(|line| all.contains(line)), "{told}\n{whole}");
    }
}

#[test]
fn doubled_weights_of_linear_double_its_result_without_the_bias() {
    let Some(official) = Official::find("replaced") else {
        return;
    };
    let fixture = fixture("1.5.1/linear/linear.pte");
    let original = Pte::parse(fixture.bytes()).unwrap();
    let plan = &original.methods()[0];
    let constant = |rank: usize| {
        let of_rank = |(_, tensor): &(usize, &Tensor<'_>)| tensor.data_buffer_idx > 0 && tensor.sizes().len() == rank;
        let (value, tensor) = plan.tensors().find(of_rank).unwrap();
        (value, original.tensor_view(tensor).unwrap().unwrap().to_vec::<f32>().unwrap())
    };
    let ((weight, elements), (_, bias)) = (constant(2), constant(1));
    let mut pte = original.clone();
    let doubled: Vec<u8> = elements.iter().flat_map(|element| (element * 2.0).to_le_bytes()).collect();
    pte.replace(&Selector::Value { method: "forward", value: weight }, &NewData::bytes("doubled", doubled)).unwrap();
    let path = official.put(Path::new("linear.pte"), &pte.image().unwrap().to_vec().unwrap());

    let (before, after) = (outputs(&official.run(&fixture.path, &[], &[])), outputs(&official.run(&path, &[], &[])));
    assert_eq!((before.len(), after.len()), (bias.len(), bias.len()));
    for ((before, after), bias) in before.iter().zip(&after).zip(&bias) {
        let expected = 2.0 * before - bias;
        // The runtime prints six digits.
        assert!((after - expected).abs() < 1e-4, "{after}, expected {expected}");
    }
}

/// Returns the numbers of the first output.
fn outputs(told: &str) -> Vec<f32> {
    let line =
        told.lines().find_map(|line| line.split_once("first=[")).unwrap_or_else(|| panic!("no output:\n{told}")).1;
    line.trim_end_matches(']').split(' ').map(|number| number.parse().unwrap()).collect()
}
