//! Reading many weights, on all cores with the feature `parallel`, and named data.

use executorch_format::inspect::{DiffOptions, DifferenceSubject, Side, diff};
use executorch_format::{Model, NewEntry, Ptd, PtdOptions, Pte};
use executorch_format_support::fixtures::fixture;

/// Returns 16 tensors of 8,192 × (1 to 16) numbers, with the first number of each increased by `more`.
fn large(more: f32) -> Vec<u8> {
    let tensors = (1..=16).map(|rows| {
        let mut numbers = vec![0.5; 8192 * rows];
        numbers[0] = rows as f32 + more;
        numbers
    });
    let tensors: Vec<Vec<f32>> = tensors.collect();
    let entries = tensors
        .iter()
        .zip(1..)
        .map(|(numbers, rows)| NewEntry::from_slice(format!("t{rows:02}"), vec![rows, 8192], numbers));
    Ptd::build(entries, &PtdOptions::default()).unwrap().image().unwrap().to_vec().unwrap()
}

#[test]
fn weights_read_in_parallel_keep_their_own_numbers() {
    let (one, other) = (large(0.0), large(0.25));
    let (one, other) = (Model::parse(&one).unwrap(), Model::parse(&other).unwrap());
    let options = DiffOptions::default().with_tensors();
    let found = diff(&Side::new(&one, &[]), &Side::new(&other, &[]), &options).differences;
    assert_eq!(found.len(), 16);
    for (found, rows) in found.iter().zip(1u64..) {
        let distance = found.distance.unwrap();
        assert!(found.name.starts_with(&format!("t{rows:02} ")), "{found}");
        assert_eq!((distance.elements, distance.changed, distance.absolute), (8192 * rows, 1, 0.25));
    }
    // Largest first.
    for (weight, rows) in other.weights().iter().zip((1..=16).rev()) {
        let histogram = weight.histogram.as_ref().unwrap();
        assert_eq!((histogram.min, histogram.max), (0.5, f64::from(rows) + 0.25));
    }
}

#[test]
fn a_key_without_readable_data_is_no_key_without_data() {
    let (file, other) = (fixture("1.5.1/named_data/named_data.pte"), fixture("1.5.1/add/add.pte"));
    let mut pte = Pte::parse(file.bytes()).unwrap();
    pte.program.named_data.as_mut().unwrap()[1].segment_index = 99;
    let (model, other) = (Model::Pte(pte), Model::parse(other.bytes()).unwrap());
    let found = diff(&Side::new(&model, &[]), &Side::new(&other, &[]), &DiffOptions::default()).differences;
    let keys = found.iter().filter(|change| change.subject == DifferenceSubject::Key);
    let texts: Vec<&str> = keys.filter_map(|change| change.before.as_deref()).collect();
    assert_eq!(texts.iter().filter(|text| text.contains("segment 99")).count(), 1, "{texts:?}");
}
