//! ETDumps: the contents of real ones, and their times.

use crate::damage::each;
use executorch_format::inspect::{EventKind, EventProfile, EventTarget, Profile};
use executorch_format::pictures::TimelineSvg;
use executorch_format::schema::etdump::Event;
use executorch_format::verify::Level;
use executorch_format::{Analysis, Error, ErrorKind, Etdp, Model, Pte};
use executorch_format_support::fixtures::{Fixture, fixture, for_each, stride, with_extension};
use serde_json::Value;

fn traces() -> Vec<Fixture> {
    let traces = with_extension("etdp");
    assert!(traces.len() >= 5);
    traces
}

#[test]
fn events_agree_with_flatc() {
    use executorch_format_support::flatc_json::{compare, quoted};

    let with_json: Vec<_> = traces().into_iter().filter(|file| file.beside("json").is_some()).collect();
    assert!(with_json.len() >= 4);
    for_each(&with_json, |file| {
        let etdp = Etdp::parse(file.bytes()).map_err(|error| error.to_string())?;
        let found = serde_json::to_value(&etdp.etdump).unwrap();
        let expected = serde_json::from_str(&quoted(&file.beside("json").unwrap())).unwrap();
        let mut differences = Vec::new();
        compare(&mut String::new(), &found, &expected, true, &mut differences);
        if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
    });
}

#[test]
fn good_traces_have_no_findings() {
    for_each(&traces(), |file| {
        let findings = Model::parse(file.bytes()).unwrap().verify(Level::Strict);
        if findings.is_empty() { Ok(()) } else { Err(format!("{findings:#?}")) }
    });
}

/// The identity of an event, and its numbers: instruction, name, count, shortest, median, average and longest time in ticks.
type Row = (i64, String, usize, u64, f64, f64, u64);

fn row(event: &EventProfile<'_>) -> Row {
    let EventProfile { name, count, min, median, mean, max, .. } = event;
    let instruction = event.instruction.map_or(0, |instruction| instruction as i64);
    (instruction, (*name).to_owned(), *count, *min, *median, *mean, *max)
}

/// `inspector.json` has the result of `EventBlock._gen_from_etdump` of ExecuTorch 1.5.1, in milliseconds.
fn inspected(event: &Value) -> Row {
    let delegate = event["delegate"].as_str();
    // Without a converter, it returns a delegate's ticks unchanged.
    let unit = if delegate.is_some() { 1.0 } else { 1e6 };
    let ticks = |value: &Value| (value.as_f64().unwrap() * unit * 2.0).round() / 2.0;
    let name = delegate.or(event["name"].as_str()).unwrap().to_owned();
    let count = event["raw"].as_array().unwrap().len();
    let [min, p50, avg, max] = ["min", "p50", "avg", "max"].map(|field| ticks(&event[field]));
    (event["instruction"].as_i64().unwrap_or(0), name, count, min as u64, p50, avg, max as u64)
}

#[test]
fn times_agree_with_the_official_inspector() {
    let expected = std::fs::read(executorch_format_support::data().join("payloads/inspector.json")).unwrap();
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    let mut compared = 0;
    for (name, blocks) in expected.as_object().unwrap() {
        let file = fixture(&format!("payloads/{name}"));
        let etdp = Etdp::parse(file.bytes()).unwrap();
        let profile = etdp.profile(None, None);
        assert_eq!(profile.errors, []);
        let blocks = blocks.as_array().unwrap();
        assert_eq!(profile.runs.len(), blocks.len(), "{name}");
        for (run, block) in profile.runs.iter().zip(blocks) {
            assert_eq!(run.name, block["name"].as_str().unwrap());
            let mut found: Vec<Row> = run.events.iter().map(row).collect();
            let mut expected: Vec<Row> = block["events"].as_array().unwrap().iter().map(inspected).collect();
            for rows in [&mut found, &mut expected] {
                rows.sort_by(|one, other| one.partial_cmp(other).unwrap());
            }
            assert_eq!(found, expected, "{name}");
            compared += found.len();
        }
    }
    assert_eq!(compared, 44);
}

fn with_program(name: &str, check: impl FnOnce(&Etdp<'_>, &Pte<'_>)) {
    let (trace, program) = (fixture(&format!("payloads/{name}.etdp")), fixture(&format!("payloads/{name}.pte")));
    check(&Etdp::parse(trace.bytes()).unwrap(), &Pte::parse(program.bytes()).unwrap());
}

fn targets(profile: &Profile<'_>, run: usize) -> Vec<String> {
    let events = profile.runs[run].events.iter().filter(|event| event.kind == EventKind::Instruction);
    events.map(|event| event.runs.as_ref().map_or("-".into(), EventTarget::to_string)).collect()
}

#[test]
fn with_the_program_instructions_have_names() {
    with_program("profile_xnnpack", |etdp, pte| {
        let profile = etdp.profile(Some(&Analysis::new(pte)), None);
        assert_eq!(profile.errors, []);
        assert_eq!(profile.runs[1].method, Some("forward"));
        let expected = ["XnnpackBackend (delegate 0)", "aten::cumsum.out", "XnnpackBackend (delegate 1)"];
        assert_eq!(targets(&profile, 1), expected);
        let run = &profile.runs[1];
        // Each instruction comes before its parts.
        let kinds: Vec<_> = run.events.iter().map(|event| event.kind).collect();
        use EventKind::{Delegate, Instruction, Method, Part};
        assert_eq!(kinds, [Method, Instruction, Delegate, Instruction, Part, Instruction, Delegate, Delegate]);
        assert!((run.events[0].share - 1.0).abs() < 1e-9);
        assert_eq!(run.total, 4_793_718 - 4_647_055);
    });
}

#[test]
fn the_method_is_the_only_one_that_fits() {
    with_program("profile_control", |etdp, pte| {
        let profile = etdp.profile(Some(&Analysis::new(pte)), None);
        let methods: Vec<_> = profile.runs.iter().map(|run| run.method).collect();
        assert_eq!(methods, [None, Some("forward"), Some("forward"), Some("other")]);
        assert_eq!(targets(&profile, 3), ["aten::cumsum.out"]);
        // Longest first.
        let mut sorted = profile.clone();
        sorted.sort_by_total();
        assert_eq!(targets(&sorted, 1)[..2], ["aten::add.out", "JumpFalseCall"]);

        // The requested method is used if it fits.
        assert_eq!(etdp.profile(Some(&Analysis::new(pte)), Some("other")), profile);
        let unknown = etdp.profile(Some(&Analysis::new(pte)), Some("backward"));
        assert!(unknown.errors[0].message.contains("no method \"backward\""));
    });
}

#[test]
fn among_similar_methods_the_requested_one_is_used() {
    with_program("profile_control", |etdp, pte| {
        let mut pte = pte.clone();
        let plans = pte.program.execution_plan.as_mut().unwrap();
        let mut same = plans.iter().find(|plan| plan.name() == "other").unwrap().clone();
        same.name = Some("same".into());
        plans.push(same);
        let profile = etdp.profile(Some(&Analysis::new(&pte)), None);
        let methods: Vec<_> = profile.runs.iter().map(|run| run.method).collect();
        assert_eq!(methods, [None, Some("forward"), Some("forward"), None]);
        let message = &profile.errors[0].message;
        assert!(message.contains("fits the methods \"other\" and \"same\" equally well"), "{message}");
        assert_eq!(etdp.profile(Some(&Analysis::new(&pte)), Some("same")).runs[3].method, Some("same"));
    });
}

/// The times inside delegates identify the delegates that a run called, and a run of all instructions is not the start of a longer one.
#[test]
fn among_methods_with_the_same_instructions_the_best_match_is_used() {
    with_program("shared_methods", |etdp, pte| {
        let methods = |method: Option<&str>| -> Vec<_> {
            etdp.profile(Some(&Analysis::new(pte)), method)
                .runs
                .iter()
                .map(|run| run.method.map(str::to_owned))
                .collect()
        };
        let [base, cat, dog] = ["base", "cat", "dog"].map(|name| Some(name.to_owned()));
        assert_eq!(methods(None), [None, base.clone(), None]);
        assert_eq!(methods(Some("base")), [None, base.clone(), None]);
        assert_eq!(methods(Some("cat")), [None, base.clone(), cat]);
        assert_eq!(methods(Some("dog")), [None, base, dog]);
        let message = &etdp.profile(Some(&Analysis::new(pte)), Some("base")).errors[0].message;
        assert!(message.contains("fits the methods \"cat\" and \"dog\" equally well"), "{message}");
    });
    with_program("start_of_method", |etdp, pte| {
        for method in [None, Some("forward"), Some("encode")] {
            let profile = etdp.profile(Some(&Analysis::new(pte)), method);
            let methods: Vec<_> = profile.runs.iter().map(|run| run.method).collect();
            assert_eq!(methods, [None, Some("decode"), Some("encode"), Some("forward")]);
            assert_eq!(profile.errors, []);
        }
    });
}

/// If thousands of methods have the instructions of thousands of runs, not every pair is compared.
#[test]
fn a_run_that_fits_too_many_methods_is_reported() {
    with_program("profile_control", |etdp, pte| {
        let known = etdp.profile(Some(&Analysis::new(pte)), None);
        let mut pte = pte.clone();
        let plans = pte.program.execution_plan.as_mut().unwrap();
        let forward = plans[0].clone();
        let instructions = forward.chains()[0].instructions().to_vec();
        let place = |target: &str| {
            let is_it = |event: &&EventProfile<'_>| event.runs.as_ref().is_some_and(|runs| runs.to_string() == target);
            known.runs[1].events.iter().find(is_it).unwrap().instruction.unwrap()
        };
        let (add, jump) = (place("aten::add.out"), place("JumpFalseCall"));
        // Each of these has all instructions of the run except one.
        for index in 0..600 {
            let (mut plan, mut instructions) = (forward.clone(), instructions.clone());
            let [to, from] = if index % 2 == 0 { [add, jump] } else { [jump, add] };
            instructions[to] = instructions[from].clone();
            plan.name = Some(format!("forward{index}").into());
            plan.chains.as_mut().unwrap()[0].instructions = Some(instructions);
            plans.push(plan);
        }
        let profile = etdp.profile(Some(&Analysis::new(&pte)), None);
        let message = &profile.errors[0].message;
        assert!(message.contains("may fit more than 256 methods"), "{message}");
        assert_eq!(etdp.profile(Some(&Analysis::new(&pte)), Some("forward")).runs[1].method, Some("forward"));
    });
}

#[test]
fn a_program_that_does_not_fit_is_reported() {
    with_program("profile_portable", |etdp, _| {
        let other = fixture("payloads/profile_xnnpack.pte");
        let pte = Pte::parse(other.bytes()).unwrap();
        let profile = etdp.profile(Some(&Analysis::new(&pte)), None);
        let said: Vec<_> = profile.errors.iter().map(ToString::to_string).collect();
        assert!(said[0].contains("instruction 0, which is a DelegateCall, expected a KernelCall"), "{said:?}");
        let other = fixture("1.5.1/multi_method/multi_method.pte");
        let pte = Pte::parse(other.bytes()).unwrap();
        let profile = etdp.profile(Some(&Analysis::new(&pte)), None);
        assert!(profile.errors[0].message.contains("fits none of the program's methods"));
        assert_eq!(profile.runs[1].method, None);
    });
}

#[test]
fn an_instruction_that_ran_several_times_in_one_run_counts_as_often() {
    let file = fixture("payloads/profile_portable.etdp");
    let mut etdp = Etdp::parse(file.bytes()).unwrap();
    let runs = etdp.etdump.run_data.as_mut().unwrap();
    runs.truncate(2);
    let events = runs[1].events.as_mut().unwrap();
    let mut again = events[1].clone();
    let event = again.profile_event.as_mut().unwrap();
    assert_eq!(event.name(), "OPERATOR_CALL");
    event.end_time = event.start_time + 10;
    events.insert(2, again);
    let profile = etdp.profile(None, None);
    let event = &profile.runs[1].events[1];
    assert_eq!((event.name, event.count, event.min), ("OPERATOR_CALL", 2, 10));
    assert_eq!(event.median, (event.min + event.max) as f64 / 2.0);
    assert_eq!(event.total, event.min + event.max);
}

#[test]
fn a_truncated_trace_is_reported_as_truncated() {
    let file = fixture("1.5.1/etdump/etdump.etdp");
    let bytes = file.bytes();
    let error: Error = Etdp::parse(&bytes[..bytes.len() - 1]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Truncated { .. }));
    let longer = [bytes, &[0; 3]].concat();
    let etdp = Etdp::parse(&longer).unwrap();
    assert_eq!(etdp, Etdp::parse(bytes).unwrap());
    assert_eq!(etdp.verify(Level::Strict).iter().map(|finding| finding.rule).collect::<Vec<_>>(), ["trailing-bytes"]);
}

fn read(bytes: &[u8], program: &Pte<'_>) {
    let parsed = Etdp::parse(bytes);
    assert_eq!(Etdp::verify_structure(bytes).err().as_ref(), parsed.as_ref().err());
    if let Ok(etdp) = parsed {
        etdp.verify(Level::Strict).iter().for_each(|finding| assert!(!finding.to_string().is_empty()));
        let profile = etdp.profile(Some(&Analysis::new(program)), None);
        assert!(profile.runs.iter().flat_map(|run| &run.events).all(|event| event.count > 0 && event.min <= event.max));
        let _ = etdp.summary();
    }
}

#[test]
fn damaged_and_truncated_traces_never_panic() {
    let program = fixture("payloads/profile_debug.pte");
    let program = Pte::parse(program.bytes()).unwrap();
    each(&[fixture("payloads/profile_debug.etdp")], |file| {
        let mut bytes = file.bytes().to_vec();
        for index in (0..bytes.len()).step_by(stride()) {
            let byte = bytes[index];
            for value in [0, 1, 4, byte ^ 1, byte.wrapping_add(4), 0x7f, 0x80, 0xff] {
                bytes[index] = value;
                read(&bytes, &program);
            }
            bytes[index] = byte;
            read(&file.bytes()[..index], &program);
        }
    });
}

#[test]
fn runs_with_the_same_events_are_counted_and_added_up() {
    let file = fixture("payloads/profile_portable.etdp");
    let mut etdp = Etdp::parse(file.bytes()).unwrap();
    let once = etdp.profile(None, None);
    let (counts, totals): (Vec<usize>, Vec<u64>) = once.runs.iter().map(|run| (run.count, run.total)).unzip();
    let runs = etdp.etdump.run_data.as_mut().unwrap();
    let again = runs.clone();
    runs.extend(again);
    let twice = etdp.profile(None, None);
    assert_eq!(twice.runs.len(), counts.len());
    for (run, (count, total)) in twice.runs.iter().zip(counts.iter().zip(&totals)) {
        assert_eq!((run.count, run.total), (2 * count, 2 * total));
    }
    // Loading is not left out.
    let warm = etdp.profile_after(2, None, None);
    let runs: Vec<_> = warm.runs.iter().map(|run| (run.name, run.count, run.warm_up)).collect();
    assert_eq!(runs, [("Default", 2, 0), ("Execute", 2, 2)]);
    assert_eq!(warm.runs[1].total, totals[1]);
    let none = etdp.profile_after(4, None, None);
    assert!(none.errors[0].message.contains("all 4 runs like it are left out"), "{:?}", none.errors);
    assert_eq!(none.runs.len(), 1);
}

/// Changes the events of each run of a trace.
fn changed(etdp: &Etdp<'_>, change: impl Fn(&mut Vec<Event<'_>>)) -> Etdp<'static> {
    let mut etdp = etdp.clone().into_owned();
    for run in etdp.etdump.run_data.as_mut().unwrap() {
        change(run.events.as_mut().unwrap());
    }
    etdp
}

#[test]
fn a_run_that_may_be_of_another_program_is_a_warning() {
    with_program("profile_xnnpack", |etdp, pte| {
        let analysis = Analysis::new(pte);
        let warnings = |etdp: &Etdp<'_>| {
            let profile = etdp.profile(Some(&analysis), None);
            assert_eq!(profile.errors, []);
            profile.warnings.into_iter().map(|warning| warning.message).collect::<Vec<_>>()
        };
        assert_eq!(warnings(etdp), [""; 0]);
        let is_last = |event: &Event<'_>| {
            event.profile_event.as_ref().is_some_and(|event| event.chain_index == 0 && event.instruction_id == 2)
        };
        let short = warnings(&changed(etdp, |events| events.retain(|event| !is_last(event))));
        assert!(short[0].starts_with("it has events of 2 instructions, but method \"forward\" has 3"), "{short:?}");
        let other = warnings(&changed(etdp, |events| {
            for event in events.iter_mut().filter_map(|event| event.profile_event.as_mut()) {
                if event.delegate_debug_id_str.is_some() {
                    event.delegate_debug_id_str = Some("Softmax (NC, F32) #1".into());
                }
            }
        }));
        assert!(
            other[0].starts_with("the events inside instruction 0 are of none of the delegate's nodes"),
            "{other:?}"
        );
    });
}

#[test]
fn metadata_of_events_is_text() {
    with_program("profile_xnnpack", |etdp, _| {
        let etdp = changed(etdp, |events| {
            let steps = events.iter_mut().filter_map(|event| event.profile_event.as_mut());
            for step in steps.filter(|event| event.delegate_debug_id_str.is_some()) {
                step.delegate_debug_metadata = Some(b"{\"cycles\": 7}\0".to_vec().into());
            }
        });
        let profile = etdp.profile(None, None);
        let found: Vec<_> = profile.runs[1].events.iter().filter_map(|event| event.metadata).collect();
        assert_eq!(found, ["{\"cycles\": 7}"; 3]);
    });
}

#[test]
fn events_of_vulkan_are_linked_to_nodes_by_number() {
    let name = |operator: &str, dispatch: u32| {
        format!("{{{operator}\"kernel_name\": \"shader_{dispatch}\", \"operator_id\": 1, \"dispatch_id\": {dispatch}}}")
    };
    let operator =
        "\"operator\": {\"name\": \"aten.linear.default\", \"delegate_node_id\": 0, \"args\": [{\"id\": 1}]}, ";
    with_program("profile_xnnpack", |etdp, _| {
        let names = std::cell::RefCell::new(vec![name("", 3), name(operator, 2)]);
        let etdp = changed(etdp, |events| {
            events.retain(|event| {
                event.profile_event.as_ref().is_some_and(|event| event.instruction_id == 0 || event.chain_index == -1)
            });
            let inside = events.iter_mut().filter_map(|event| event.profile_event.as_mut());
            let own: Vec<_> = inside.filter(|event| event.delegate_debug_id_str.is_some()).collect();
            let mut more = Vec::new();
            for event in own {
                event.delegate_debug_id_str = names.borrow_mut().pop().map(Into::into);
                more.extend(names.borrow_mut().pop().map(|name| {
                    let mut event = event.clone();
                    event.delegate_debug_id_str = Some(name.into());
                    event
                }));
            }
            events.extend(more.into_iter().map(|event| Event { profile_event: Some(event), ..Event::default() }));
        });
        let program = fixture("payloads/other/vulkan.pte");
        let pte = Pte::parse(program.bytes()).unwrap();
        let profile = etdp.profile(Some(&Analysis::new(&pte)), None);
        assert_eq!(profile.errors, []);
        let shaders: Vec<_> = profile.runs[1].events.iter().filter(|event| event.shader.is_some()).collect();
        let [linear, copy] = &shaders[..] else { panic!("{:?}", profile.runs[1].events) };
        let shader = linear.shader.as_ref().unwrap();
        assert_eq!((&*shader.name, shader.dispatch, shader.node_id), ("shader_2", 2, Some(0)));
        let node = linear.node.as_ref().unwrap();
        assert_eq!((node.index, &*node.operator, linear.macs), (0, "aten.linear.default", Some(24)));
        let shader = copy.shader.as_ref().unwrap();
        assert_eq!((shader.node_id, &shader.operator, &copy.node), (None, &None, &None));
    });
}

#[test]
fn statistics_of_vgf_are_read() {
    let data = |size: usize| {
        format!(
            "{{\"available\":{},\"is_text\":false,\"vulkan_result\":0,\"size\":{size},\"encoding\":\"base64\",\"reason\":\"\",\"data\":\"\"}}",
            size > 0
        )
    };
    let metadata = format!(
        "{{\"schema\":\"executorch.vgf.neural_statistics\",\"schema_version\":1,\"backend\":\"VgfBackend\",\
         \"available\":true,\"reason\":\"\",\"segments\":[{{\"segment_id\":4,\"debug_database\":{},\
         \"statistics_info\":{},\"statistics_memory\":{}}}]}}",
        data(0),
        data(120),
        data(64)
    );
    let reason =
        "{\"schema\":\"executorch.vgf.neural_statistics\",\"available\":false,\"reason\":\"no API\",\"segments\":[]}";
    for (metadata, expected) in [
        (&*metadata, Some("1 segment; segment 4: statistics_info 120 bytes, statistics_memory 64 bytes")),
        (reason, Some("not available: no API")),
        ("{\"schema\":\"executorch.vgf.neural_statistics\"", None),
        ("{\"cycles\": 7}", None),
    ] {
        with_program("profile_xnnpack", |etdp, _| {
            let etdp = changed(etdp, |events| {
                let steps = events.iter_mut().filter_map(|event| event.profile_event.as_mut());
                for step in steps.filter(|event| event.delegate_debug_id_str.is_some()) {
                    step.delegate_debug_metadata = Some(metadata.as_bytes().to_vec().into());
                }
            });
            let profile = etdp.profile(None, None);
            let found = profile.runs[1].events.iter().find_map(|event| event.statistics.as_ref());
            assert_eq!(found.map(ToString::to_string).as_deref(), expected);
        });
    }
}

#[test]
fn a_trace_is_drawn_with_a_bar_for_each_event() {
    with_program("profile_xnnpack", |etdp, pte| {
        let events = etdp.timeline(Some(&Analysis::new(pte)), None);
        let show = |ticks: f64| format!("{ticks} ns");
        let picture = TimelineSvg::new(&events, "trace<.etdp", &show).to_string();
        assert!(picture.starts_with("<svg ") && picture.contains("Timeline of trace&lt;.etdp"), "{picture}");
        assert_eq!(picture.matches("<title>instruction 1: aten::cumsum.out, 47979 ns</title>").count(), 1, "{picture}");
        assert_eq!(picture.matches("<title>").count(), 7, "{picture}");
    });
}

#[test]
fn a_node_has_the_time_that_it_took_in_one_run() {
    with_program("profile_portable", |etdp, pte| {
        let profile = etdp.profile(Some(&Analysis::new(pte)), None);
        let run = profile.runs.iter().find(|run| run.method == Some("forward")).unwrap();
        assert!(run.count > 1);
        let mut graphs = Analysis::new(pte).graphs();
        profile.add_times(&mut graphs);
        let graph = &graphs[0];
        let found: f64 = graph.nodes.iter().filter_map(|node| node.time).sum();
        let events = run.events.iter().filter(|event| event.kind == EventKind::Instruction);
        let expected = events.map(|event| event.total).sum::<u64>() as f64 / run.count as f64;
        assert!(expected > 0.0 && (found - expected).abs() <= 1e-9 * expected, "{found}, expected {expected}");
    });
}

/// Python's `serialize_to_etdump_flatcc` aligns times from the start of the FlatBuffer, and then prefixes its size.
#[test]
fn a_trace_aligned_from_after_its_size_is_read() {
    let file = fixture("payloads/profile_portable.etdp");
    let good = Etdp::parse(file.bytes()).unwrap();
    // Inserts four bytes after the root's offset and the identifier: all offsets except the root's are relative.
    let bytes = file.bytes();
    let [size, root] = [0, 4].map(|at| u32::from_le_bytes(*bytes[at..].first_chunk().unwrap()) + 4);
    let moved = [&size.to_le_bytes()[..], &root.to_le_bytes(), b"ED00", &[0; 4], &bytes[12..]].concat();
    Etdp::verify_structure(&moved).unwrap();
    let read = Etdp::parse(&moved).unwrap();
    assert_eq!(read, good);
    assert_eq!(read.verify(Level::Strict), []);
    // Aligned from neither start.
    let [size, root] = [size + 2, root + 2];
    let odd = [&size.to_le_bytes()[..], &root.to_le_bytes(), b"ED00", &[0; 6], &bytes[12..]].concat();
    assert!(Etdp::parse(&odd).is_err());
}

#[test]
fn the_time_of_a_run_is_split_into_delegates_and_other_instructions_and_steps_are_below_their_backend() {
    let program = fixture("payloads/profile_xnnpack.pte");
    let pte = Pte::parse(program.bytes()).unwrap();
    let file = fixture("payloads/profile_xnnpack.etdp");
    let etdp = Etdp::parse(file.bytes()).unwrap();
    for program in [Some(&pte), None] {
        let profile = etdp.profile(program.map(Analysis::new).as_ref(), None);
        let run = profile.runs.iter().find(|run| run.name == "Execute").unwrap();
        let of = |instruction: usize| {
            let is = |event: &&EventProfile<'_>| {
                event.kind == EventKind::Instruction && event.instruction == Some(instruction)
            };
            run.events.iter().find(is).unwrap().total
        };
        assert_eq!(run.in_delegates, of(0) + of(2));
        assert_eq!(run.in_other_instructions, of(1));
        assert!(run.in_delegates + run.in_other_instructions <= run.total);
        let times = run.by_operator();
        let names: Vec<_> = times.iter().map(|time| (time.inside, time.name.as_str())).collect();
        let expected = match program {
            Some(_) => [
                (false, "XnnpackBackend"),
                (true, "XnnpackBackend: Fully Connected (NC, F32) GEMM"),
                (true, "XnnpackBackend: TanH (NC)"),
                (false, "aten::cumsum.out"),
            ],
            None => [
                (false, "DELEGATE_CALL"),
                (true, "delegate: Fully Connected (NC, F32) GEMM"),
                (true, "delegate: TanH (NC)"),
                (false, "cumsum.out"),
            ],
        };
        assert_eq!(names, expected);
    }
}

#[test]
fn times_are_appended_to_labels() {
    let (trace, program) = (fixture("payloads/profile_xnnpack.etdp"), fixture("payloads/profile_xnnpack.pte"));
    let (etdp, pte) = (Etdp::parse(trace.bytes()).unwrap(), Pte::parse(program.bytes()).unwrap());
    let profile = etdp.profile(Some(&Analysis::new(&pte)), None);
    let mut graphs = Analysis::new(&pte).graphs();
    profile.add_times(&mut graphs);
    let mut graph = graphs.remove(0);
    let before = graph.clone();
    graph.label_times(&|time| format!("{time} ticks"));
    let timed = before.nodes.iter().filter(|node| node.time.is_some()).count();
    assert!(timed > 0);
    for (node, before) in graph.nodes.iter().zip(&before.nodes) {
        let expected = before.time.map_or(before.label.to_string(), |time| format!("{} ({time} ticks)", before.label));
        assert_eq!(node.label, expected);
    }
}
