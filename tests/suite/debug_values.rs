//! The values that runs recorded, and their differences.

use crate::damage::each;
use executorch_format::inspect::{DebugValues, EventKind, GapOutcome, NumericGap};
use executorch_format::naming::NameSource;
use executorch_format::schema::etdump::{Tensor, Value};
use executorch_format::{Analysis, Etdp, Pte};
use executorch_format_support::fixtures::{fixture, stride};
use std::path::Path;

/// A trace with its debug buffer and its program, and an ETRecord if there is one.
struct Recorded {
    trace: Vec<u8>,
    buffer: Vec<u8>,
    program: Vec<u8>,
    record: Option<Vec<u8>>,
}

impl Recorded {
    fn of(name: &str) -> Self {
        Self::with(name, name)
    }

    fn with(name: &str, program: &str) -> Self {
        let file = fixture(&format!("{name}.etdp")).path;
        let read = |path: &Path| std::fs::read(path).unwrap();
        Self {
            trace: read(&file),
            buffer: read(&file.with_extension("debug.bin")),
            program: read(&fixture(&format!("{program}.pte")).path),
            record: std::fs::read(file.with_extension("etrecord")).ok(),
        }
    }

    fn values<R>(&self, call: impl FnOnce(DebugValues<'_>) -> R) -> R {
        self.values_of(&self.buffer, call)
    }

    /// The values with another debug buffer.
    fn values_of<R>(&self, buffer: &[u8], call: impl FnOnce(DebugValues<'_>) -> R) -> R {
        let (etdp, pte) = (Etdp::parse(&self.trace).unwrap(), Pte::parse(&self.program).unwrap());
        let sources: Vec<_> = self.record.iter().map(|record| NameSource::parse(record).unwrap()).collect();
        let analysis = Analysis::new(&pte).with_names(&sources);
        call(etdp.debug_values(Some(buffer), Some(&analysis), None))
    }

    /// The values after a change of the ETDump.
    fn changed<R>(&self, change: impl FnOnce(&mut Etdp<'_>), call: impl FnOnce(DebugValues<'_>) -> R) -> R {
        let mut etdp = Etdp::parse(&self.trace).unwrap();
        change(&mut etdp);
        let pte = Pte::parse(&self.program).unwrap();
        call(etdp.debug_values(Some(&self.buffer), Some(&Analysis::new(&pte)), None))
    }
}

fn titles(values: &DebugValues<'_>) -> Vec<String> {
    values.runs.iter().flat_map(|run| &run.values).map(|value| value.title()).collect()
}

#[test]
fn values_have_the_numbers_that_the_program_computes() {
    Recorded::of("payloads/profile_debug").values(|values| {
        assert_eq!(values.errors, []);
        assert_eq!(titles(&values), ["add.0", "cumsum.0", "argmax.0", "output 0", "output 1"]);
        let run = &values.runs[0];
        assert_eq!((run.index, run.name, run.method), (1, "Execute", Some("forward")));
        let numbers =
            |index: usize| run.values[index].tensor.as_ref().unwrap().view().unwrap().unwrap().to_f64().unwrap();
        // `torch.cumsum(x, 0)` of two rows, and the places of the largest in each row of x.
        let (added, summed) = (numbers(0), numbers(1));
        for column in 0..3 {
            assert_eq!(summed[column], added[column]);
            assert!((summed[3 + column] - added[column] - added[3 + column]).abs() < 1e-6);
        }
        let largest = |row: &[f64]| (0..3).max_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap() as f64;
        assert_eq!(numbers(2), [largest(&added[..3]), largest(&added[3..])]);
        assert_eq!((numbers(3), numbers(4)), (summed, numbers(2)));
    });
}

#[test]
fn lists_of_tensors_and_calls_of_delegates_are_values_of_the_program() {
    Recorded::with("payloads/profile_lists", "1.5.1/tensor_lists/tensor_lists").values(|values| {
        assert_eq!(values.errors, []);
        let found: Vec<_> =
            values.runs[0].values.iter().map(|value| (value.instruction, value.item, value.value)).collect();
        let split = [(Some(1), Some(0), Some(5)), (Some(1), Some(1), Some(6))];
        assert_eq!(found[1..3], split);
        assert_eq!((found[0].2, found[3].2), (Some(2), Some(13)));
        assert!(values.runs[0].values[7..].iter().all(|value| value.kind == EventKind::Method), "{found:?}");
    });
    Recorded::of("etrecord/net_xnnpack").values(|values| {
        assert_eq!(values.errors, []);
        let found: Vec<_> =
            values.runs[0].values.iter().map(|value| (value.title(), value.input, value.last_module)).collect();
        let expected = [
            ("x", true, None),
            ("XnnpackBackend.0", false, Some("layers.1")),
            ("mean.0", false, None),
            ("mean.0", true, None),
            ("XnnpackBackend.1", false, Some("head")),
            ("output 0", false, None),
        ];
        assert_eq!(found, expected.map(|(title, input, module)| (title.to_owned(), input, module)));
    });
}

#[test]
fn empty_tensors_have_no_place_and_are_no_fault() {
    let net = Recorded::of("etrecord/net_portable");
    net.values(|values| {
        assert_eq!(values.errors, []);
        let empty = &values.runs[0].values[3].tensor.as_ref().unwrap();
        assert_eq!((empty.sizes.as_slice(), empty.offset, empty.bytes), (&[0][..], None, Some(&[][..])));
    });
    let findings = Etdp::parse(&net.trace).unwrap().verify(executorch_format::verify::Level::Strict);
    assert_eq!(findings, []);
}

fn gap<'g>(gaps: &'g [NumericGap], name: &str) -> &'g NumericGap {
    gaps.iter().find(|gap| gap.name == name).unwrap_or_else(|| panic!("no {name} in {gaps:?}"))
}

/// The numbers are those of the formulas in `L1Comparator`, `MSEComparator` and `SNRComparator` of ExecuTorch 1.5.1.
#[test]
fn differences_are_measured_where_the_bytes_differ_and_only_there() {
    let net = Recorded::of("etrecord/net_portable");
    net.values(|before| {
        let same = before.compare(&before);
        assert!(same[0].values.iter().all(|gap| gap.outcome == GapOutcome::Equal), "{same:?}");
        assert_eq!(same[0].values.len(), 17);
        let tensor = before.runs[0].values[11].tensor.clone().unwrap();
        let at = tensor.offset.unwrap() as usize;
        let mut buffer = net.buffer.clone();
        let old = f32::from_le_bytes(*buffer[at..].first_chunk().unwrap());
        let new = old + 0.5;
        buffer[at..at + 4].copy_from_slice(&new.to_le_bytes());
        buffer[at + 4..at + 8].copy_from_slice(&f32::NAN.to_le_bytes());
        net.values_of(&buffer, |after| {
            let gaps = &before.compare(&after)[0].values;
            let different: Vec<_> = gaps.iter().filter(|gap| gap.outcome != GapOutcome::Equal).collect();
            assert_eq!(different.len(), 1, "{different:?}");
            let found = gap(gaps, "add.1");
            let distance = found.distance.unwrap();
            assert_eq!((found.outcome, found.instruction), (GapOutcome::Different, Some((0, 7))));
            assert_eq!(
                (distance.elements, distance.changed, distance.unbounded, distance.not_finite),
                (288, 2, 1, [0, 1])
            );
            let apart = f64::from(new) - f64::from(old);
            let numbers = tensor.view().unwrap().unwrap().to_f64().unwrap();
            let power: f64 =
                numbers.iter().enumerate().filter(|(at, _)| *at != 1).map(|(_, number)| number * number).sum();
            assert_eq!((distance.l1, distance.absolute), (apart, apart));
            assert_eq!(distance.mse, apart * apart / 287.0);
            assert!((distance.snr.unwrap() - 10.0 * (power / (apart * apart)).log10()).abs() < 1e-12);
            let mut runs = before.compare(&after);
            runs[0].sort_by_gap();
            assert_eq!(runs[0].values[0].name, "add.1");
            assert!(!runs[0].inputs_differ);
            let modules = runs[0].by_module();
            let worst = &modules[0];
            assert_eq!((worst.module.as_deref(), worst.worst.as_deref()), (Some("layers.1"), Some("add.1")));
            assert_eq!((worst.different, worst.distance), (1, Some(distance)));
            assert!(modules[1..].iter().all(|module| module.different == 0 && module.worst.is_none()), "{modules:?}");
            assert_eq!(modules.iter().map(|module| module.values).sum::<usize>(), 17);
        });
    });
}

#[test]
fn different_inputs_of_runs_are_noticed() {
    let net = Recorded::of("etrecord/net_xnnpack");
    net.values(|before| {
        assert!(!before.compare(&before)[0].inputs_differ);
        let input = before.runs[0].values[0].tensor.clone().unwrap();
        let mut buffer = net.buffer.clone();
        buffer[input.offset.unwrap() as usize] ^= 1;
        net.values_of(&buffer, |after| assert!(before.compare(&after)[0].inputs_differ));
    });
    // Portable programs record no inputs: the first value that they compute is only noise.
    let net = Recorded::of("etrecord/net_portable");
    net.values(|before| {
        let first = before.runs[0].values[0].tensor.clone().unwrap();
        let (start, size) = (first.offset.unwrap() as usize, first.size as usize);
        let mut buffer = net.buffer.clone();
        for number in buffer[start..start + size].chunks_mut(4) {
            let negative = -3.0 * f32::from_le_bytes(*number.first_chunk().unwrap());
            number.copy_from_slice(&negative.to_le_bytes());
        }
        net.values_of(&buffer, |after| assert!(before.compare(&after)[0].inputs_differ));
    });
}

#[test]
fn programs_that_were_lowered_differently_are_compared_by_name_and_module() {
    Recorded::of("etrecord/net_portable").values(|before| {
        Recorded::of("etrecord/net_xnnpack").values(|after| {
            let runs = before.compare(&after);
            let gaps = &runs[0].values;
            let matched = |name: &str| {
                let gap = gap(gaps, name);
                // Both compute the same, up to rounding.
                assert!(gap.distance.unwrap().snr.unwrap() > 100.0, "{gap:?}");
                gap.values[0].as_ref().unwrap().reference.clone()
            };
            assert_eq!(matched("XnnpackBackend.0").as_deref(), Some("relu.1"));
            assert_eq!(matched("XnnpackBackend.1").as_deref(), Some("addmm.0"));
            assert_eq!((matched("mean.0"), matched("output 0")), (None, None));
            let rest = gaps.iter().filter(|gap| gap.distance.is_none());
            assert!(rest.clone().all(|gap| gap.outcome == GapOutcome::OnlyBefore), "{gaps:?}");
            assert_eq!((gaps.len(), rest.count()), (17, 13));
        });
    });
}

#[test]
fn references_are_found_by_the_name_of_a_value_a_file_or_a_module() {
    Recorded::of("etrecord/net_portable").values(|values| {
        let of = |index: usize| values.runs[0].values[index].tensor.as_ref().unwrap().view().unwrap().unwrap();
        let files = values.file_names("npy");
        assert_eq!(files[0][8], "008-_native_batch_norm_legit_no_training.1.out0.npy");
        let references = [
            ("relu.0", of(6)),
            ("layers.1", of(12)),
            ("001-convolution.1", of(1)),
            ("output.0", of(16)),
            ("head", of(0)),
            ("no", of(0)),
        ];
        let runs = values.compare_with(&references);
        let found: Vec<_> = runs[0].values.iter().map(|gap| (gap.name.as_str(), gap.outcome)).collect();
        let expected = [
            ("convolution.1", GapOutcome::Equal),
            ("relu.0", GapOutcome::Equal),
            ("relu.1", GapOutcome::Equal),
            ("addmm.0", GapOutcome::Shape),
            ("output 0", GapOutcome::Equal),
            ("no", GapOutcome::OnlyBefore),
        ];
        assert_eq!(found, expected);
    });
}

#[test]
fn repeated_instructions_are_told_apart() {
    let recorded = Recorded::of("payloads/profile_debug");
    let repeat = |etdp: &mut Etdp<'_>| {
        let events = etdp.etdump.run_data.as_mut().unwrap()[1].events.as_mut().unwrap();
        let again: Vec<_> = events[..3].to_vec();
        events.splice(3..3, again);
    };
    recorded.changed(repeat, |values| {
        let found: Vec<_> = values.runs[0].values.iter().map(|value| (value.title(), value.position)).collect();
        assert_eq!(found[..2], [("aten::add.out".into(), 0), ("aten::add.out #2".into(), 0)]);
    });
}

/// The bytes are those of the tensor in memory, in the order of its strides.
#[test]
fn strides_are_the_order_of_the_bytes() {
    let recorded = Recorded::of("payloads/profile_debug");
    for (strides, sizes, order) in [([1, 2], [2, 3], [1, 0]), ([6, 1], [1, 6], [0, 1]), ([1, 1], [1, 6], [0, 1])] {
        let transpose = |etdp: &mut Etdp<'_>| {
            let event = &mut etdp.etdump.run_data.as_mut().unwrap()[1].events.as_mut().unwrap()[0];
            let value = event.debug_event.as_mut().unwrap().debug_entry.as_mut().unwrap();
            let tensor = value.tensor.as_mut().unwrap();
            (tensor.sizes, tensor.strides) = (Some(sizes.to_vec().into()), Some(strides.to_vec().into()));
        };
        recorded.changed(transpose, |values| {
            assert_eq!(values.errors, []);
            assert_eq!(values.runs[0].values[0].tensor.as_ref().unwrap().dim_order, order);
        });
    }
}

/// Every way in which an ETDump and its debug buffer can contradict each other is reported with its place.
#[test]
fn tensors_that_are_not_in_the_debug_buffer_are_errors_with_their_place() {
    let recorded = Recorded::of("payloads/profile_debug");
    let fault = |change: &dyn Fn(&mut Value<'_>)| {
        let edit = |etdp: &mut Etdp<'_>| {
            let event = &mut etdp.etdump.run_data.as_mut().unwrap()[1].events.as_mut().unwrap()[0];
            change(event.debug_event.as_mut().unwrap().debug_entry.as_mut().unwrap());
        };
        recorded.changed(edit, |values| {
            assert!(values.runs[0].values[0].tensor.as_ref().is_none_or(|tensor| tensor.bytes.is_none()));
            values.errors.iter().map(|one| one.to_string()).collect::<Vec<_>>().join("; ")
        })
    };
    let of_tensor = |change: &dyn Fn(&mut Tensor<'_>)| fault(&|value| change(value.tensor.as_mut().unwrap()));
    let place = "run_data[1].events[0].debug_event.debug_entry.";
    let size = recorded.buffer.len();
    for (offset, shown) in [(size as i64 - 20, size as i64 - 20), (i64::MAX, i64::MAX), (-1, -1), (i64::MIN, i64::MIN)]
    {
        let found = of_tensor(&|tensor| tensor.offset = offset);
        assert_eq!(found, format!("{place}tensor: 24 bytes at {shown}, but the debug buffer has {size} bytes"));
    }
    for (sizes, expected) in [
        (vec![2, -3], "dimension 1 has a negative size"),
        (vec![2, 1 << 40], "a size of 1099511627776, expected 0 to 2147483647"),
        (vec![2, 3, 4], "3 sizes and 2 strides"),
        (vec![2, 2], "strides [3, 1] of f32[2, 2], expected those of a tensor without gaps"),
        (vec![i64::from(i32::MAX); 2], "strides [3, 1]"),
    ] {
        let found = of_tensor(&|tensor| tensor.sizes = Some(sizes.clone().into()));
        assert!(found.starts_with(place) && found.contains(expected), "{found}");
    }
    let found =
        of_tensor(&|tensor| (tensor.sizes, tensor.strides) = (Some(vec![1; 17].into()), Some(vec![1; 17].into())));
    assert!(found.contains("17 sizes and 17 strides, expected as many strides as sizes, at most 16"), "{found}");
    let found = of_tensor(&|tensor| tensor.scalar_type.0 = 99);
    assert!(found.contains("99"), "{found}");
    assert!(fault(&|value| value.val.0 = 7).contains("debug_entry.val: String, but the value has no field for it"));
    assert!(fault(&|value| value.val.0 = 1).contains("debug_entry.val: Int, but the value has no field for it"));
    // The same bytes again and again: what they take together is more than there is.
    let many = |etdp: &mut Etdp<'_>| {
        let events = etdp.etdump.run_data.as_mut().unwrap()[1].events.as_mut().unwrap();
        let event = events[0].clone();
        events.extend(vec![event; 300]);
    };
    recorded.changed(many, |values| {
        let taken: usize =
            values.runs[0].values.iter().filter_map(|value| Some(value.tensor.as_ref()?.bytes?.len())).sum();
        assert!(taken <= size && taken > size - 24, "{taken}");
        assert!(values.errors[0].to_string().contains("other values have the same bytes"), "{}", values.errors[0]);
    });
}

#[test]
fn every_byte_of_a_trace_with_values_can_be_wrong() {
    let recorded = Recorded::of("etrecord/net_xnnpack");
    let program = Pte::parse(&recorded.program).unwrap();
    each(&[fixture("etrecord/net_xnnpack.etdp")], |file| {
        let mut bytes = file.bytes().to_vec();
        for index in (0..bytes.len()).step_by(stride()) {
            let byte = bytes[index];
            for value in [0, 1, 5, byte ^ 1, byte.wrapping_add(4), 0x7f, 0x80, 0xff] {
                bytes[index] = value;
                let Ok(etdp) = Etdp::parse(&bytes) else { continue };
                let mut values = etdp.debug_values(Some(&recorded.buffer), Some(&Analysis::new(&program)), None);
                values.count(4);
                assert!(values.compare(&values).iter().all(|run| run.runs[0] == run.runs[1]));
                let names: Vec<_> = values.file_names("npy").into_iter().flatten().collect();
                assert_eq!(names.len(), titles(&values).len());
            }
            bytes[index] = byte;
        }
    });
}
