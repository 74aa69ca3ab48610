//! Ranges of a file that is fetched in parts.

use executorch_format::{DataRef, Error, Model, PROBE_SIZE, ParseOptions, TensorData, probe};
use executorch_format_support::fixtures::fixture;

/// A program that fetches a file in parts never requests bytes outside it, whatever its header and segments claim.
#[test]
fn no_range_of_metadata_alone_is_outside_the_file() {
    let damage = |at: usize, value: u64, file: &[u8]| {
        let mut bytes = file.to_vec();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        bytes
    };
    for (name, fields) in [
        (
            "1.5.1/linear/linear.pte",
            &[(16, "program_size"), (24, "segment_base_offset"), (32, "segment_data_size")][..],
        ),
        (
            "1.5.1/ptd_names/ptd_names.ptd",
            &[
                (16, "flatbuffer_offset"),
                (24, "flatbuffer_size"),
                (32, "segment_base_offset"),
                (40, "segment_data_size"),
            ],
        ),
    ] {
        let file = fixture(name);
        let size = file.bytes().len() as u64;
        for (at, field) in fields {
            for value in [1 << 46, size + 1, i64::MAX as u64] {
                let bytes = damage(*at, value, file.bytes());
                let probe = probe(&bytes[..PROBE_SIZE]).unwrap();
                let fault = probe.metadata(size).err().or_else(|| probe.data(size).err()).unwrap();
                assert_eq!(fault.offset(), Some(*at as u64), "{name}: {fault}");
                assert!(fault.to_string().contains(&format!("{field} is {value}")), "{name}: {fault}");
                let error = Model::parse_with(&bytes, &ParseOptions::metadata_of(size)).unwrap_err();
                assert_eq!(error.to_string(), fault.to_string());
            }
        }
        let metadata = probe(file.bytes()).unwrap().metadata(size).unwrap().end as usize;
        let (mut found, mut refused) = (0, 0);
        for at in (48..metadata - 8).step_by(4) {
            let bytes = damage(at, 1 << 46, file.bytes());
            let Ok(model) = Model::parse_with(&bytes[..metadata], &ParseOptions::metadata_of(size)) else { continue };
            for (range, is_inside) in ranges(&model).into_iter().zip(ranges_of_unknown_size(&bytes[..metadata])) {
                assert!(range.as_ref().is_none_or(|range| range.start <= range.end && range.end <= size));
                found += usize::from(range.is_some());
                refused += usize::from(range.is_none() && is_inside.is_some());
            }
        }
        assert!(found > 100 && refused > 0, "{name}: {found} inside, {refused} outside");
    }
}

/// Returns the places of the data of constants and keys.
fn ranges(model: &Model<'_>) -> Vec<Option<std::ops::Range<u64>>> {
    let range = |data: Result<DataRef, Error>| {
        data.ok().and_then(|data| match model {
            Model::Pte(pte) => pte.range(&data),
            Model::Ptd(ptd) => ptd.range(&data),
            _ => None,
        })
    };
    match model {
        Model::Pte(pte) => {
            let tensors = pte.methods().iter().flat_map(|plan| plan.tensors());
            let data = tensors.filter_map(|(_, tensor)| match pte.tensor_data(tensor) {
                Ok(TensorData::Constant(data)) => Some(Ok(data)),
                _ => None,
            });
            data.map(range).collect()
        }
        Model::Ptd(ptd) => ptd.entries().map(|entry| range(ptd.entry_data(&entry))).collect(),
        _ => Vec::new(),
    }
}

fn ranges_of_unknown_size(metadata: &[u8]) -> Vec<Option<std::ops::Range<u64>>> {
    ranges(&Model::parse_with(metadata, &ParseOptions::METADATA).unwrap())
}
