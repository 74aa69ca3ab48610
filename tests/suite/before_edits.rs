//! Questions before and after an edit: its candidates, whether it is worth it, and the errors that it makes.

use executorch_format::edit::{Candidate, Extraction, default_key};
use executorch_format::verify::{Level, Severity};
use executorch_format::{Model, PtdOptions, Pte};
use executorch_format_support::fixtures::{equal, fixture, fixtures, for_each};

#[test]
fn the_candidates_are_those_that_externalize_offers() {
    let files = fixtures();
    for_each(&files, |file| {
        let Ok(mut pte) = Pte::parse(file.bytes()) else { return Ok(()) };
        let (mut listed, mut offered) = (Vec::new(), Vec::new());
        let row = |data: &Candidate<'_>| (data.method.to_owned(), data.index, data.key.to_owned(), data.size);
        let found = pte.candidates(|data| listed.push(row(data)));
        let externalized = pte.externalize(&PtdOptions::default(), |data| {
            offered.push(row(data));
            None
        });
        equal("candidates", (found.is_ok(), &listed), (externalized.is_ok(), &offered))?;
        for (method, index, key, _) in listed {
            let Some(plan) = pte.methods().iter().find(|plan| plan.name() == method) else { continue };
            // A tensor with a name has its name as key.
            if key.starts_with(&format!("{method}.")) {
                // Users of the same data have the key of the first one.
                let is_default = (0..=index).any(|value| default_key(plan, value) == key);
                equal("a default key", (&key, is_default), (&key, true))?;
            }
        }
        Ok(())
    });
}

#[test]
fn a_saving_is_worth_it_from_a_tenth_of_the_file_or_from_a_hundredth_and_1_kib() {
    let file = fixture("1.5.1/stacktrace/stacktrace.pte");
    let savings = Model::parse(file.bytes()).unwrap().savings();
    assert!(!savings.is_empty());
    for saving in savings {
        let size = saving.size;
        assert!(saving.is_worth_it(size * 10));
        assert_eq!(saving.is_worth_it(size * 10 + 1), size >= 1 << 10);
        assert_eq!(saving.is_worth_it(size * 100), size >= 1 << 10);
        assert!(!saving.is_worth_it(size * 101));
    }
}

#[test]
fn errors_of_an_image_are_those_of_its_file() {
    let file = fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let before = Model::parse(file.bytes()).unwrap();
    let mut after = before.clone();
    let Model::Pte(pte) = &mut after else { panic!() };
    pte.program.execution_plan.as_mut().unwrap()[0].name = None;
    let findings = before.verify(Level::Strict);
    let image = after.image().unwrap();
    let found = after.new_errors(&findings, &image).unwrap();
    assert!(!found.is_empty());
    let written = image.to_vec().unwrap();
    let mut expected = Model::parse(&written).unwrap().verify(Level::Strict);
    expected.retain(|finding| finding.severity == Severity::Error);
    assert_eq!(found, expected);
    assert_eq!(before.new_errors(&findings, &before.image().unwrap()).unwrap(), []);
}

#[test]
fn blobs_of_an_earlier_call_are_extracted_alike() {
    let file = fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let model = Model::parse(file.bytes()).unwrap();
    let names = |extraction: Extraction<'_>| {
        extraction.files.iter().map(|file| file.name.as_deref().map(str::to_owned)).collect::<Vec<_>>()
    };
    let found = names(model.extraction_of(model.blobs()).unwrap());
    assert!(!found.is_empty());
    assert_eq!(found, names(model.extraction().unwrap()));
}
