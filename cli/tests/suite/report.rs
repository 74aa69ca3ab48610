//! Pages of `pte report`.

use crate::cli::{TempFile, pte};
use executorch_format::Pte;
use executorch_format::schema::ScalarType;
use executorch_format::schema::program::{EValue, ExecutionPlan, Instruction, Operator, Program, Tensor};
use executorch_format_support::browser::{Browser, chromium};
use executorch_format_support::data;
use executorch_format_support::fixtures::{Fixture, fixture, fixtures, for_each};
use executorch_format_support::networks;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Returns the page about a file.
fn page(file: &Path) -> TempFile {
    let page = TempFile::new("report.html", b"");
    let output = pte().arg("report").arg(file).arg("-o").arg(&page.0).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    page
}

fn json(file: &Path) -> Value {
    let output = pte().args(["report", "--json"]).arg(file).output().unwrap();
    let mut document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["format"], 1);
    document["files"][0].take()
}

/// Returns a method whose names look like markup and script.
fn hostile() -> TempFile {
    let name = "</script><script>window.evil=1</script><img src=x onerror=window.evil=2>\u{202e}\u{1b}[31m{{data}}";
    let tensor = |offset| Tensor::new(ScalarType::FLOAT, vec![4]).with_planned(1, offset);
    let values: Vec<EValue> = vec![tensor(0).into(), name.into(), tensor(16).into()];
    let call = Instruction::kernel_call(0, vec![0, 1, 2, 2]);
    let plan = ExecutionPlan::new(name, values, vec![Operator::new(name, name)], vec![call], 32)
        .with_inputs(vec![0])
        .with_outputs(vec![2]);
    let program = Program { execution_plan: Some(vec![plan]), ..Program::default() };
    TempFile::new("hostile.pte", &Pte { program, ..Pte::default() }.image().unwrap().to_vec().unwrap())
}

#[test]
fn a_page_loads_nothing_and_has_no_name_as_markup() {
    let html = std::fs::read_to_string(&page(&hostile().0).0).unwrap();
    assert!(html.contains("default-src 'none'"));
    assert!(!html.contains("evil"));
    assert!(!html.contains("src=") && !html.contains("href="));
    assert!(!html.contains("{{"), "a part is missing");
    let closed = html.matches("</script>").count();
    assert_eq!((html.matches("<script").count(), closed), (closed, 3));
}

#[test]
fn every_file_that_can_be_read_has_a_report() {
    let readable = |fixture: &Fixture| executorch_format::Model::parse(fixture.bytes()).is_ok();
    let files: Vec<_> = fixtures().into_iter().filter(readable).collect();
    for_each(&files, |fixture| {
        let model = executorch_format::Model::parse(fixture.bytes()).unwrap();
        let report = model.report();
        if report.graphs.iter().any(|drawing| drawing.layout.nodes.len() != drawing.graph.nodes.len()) {
            return Err("  a node without a place".into());
        }
        let counted = |histogram: &executorch_format::inspect::Histogram| {
            histogram.bins.iter().sum::<u64>() + histogram.not_finite
        };
        for weight in &report.weights {
            let shape = weight.users.iter().find_map(|user| user.shape());
            let count = |bytes: u64| match shape {
                // Embeddings have 1, 2 or 4 elements in a byte.
                Some(shape) if shape.scalar_type == ScalarType::BYTE => vec![bytes, bytes * 2, bytes * 4],
                Some(shape) => vec![bytes / shape.scalar_type.element_size().unwrap_or(1) as u64],
                // XNNPACK weights of 4, 8, 16 or 32 bits.
                None => vec![bytes * 2, bytes, bytes / 2, bytes / 4],
            };
            if weight.histogram.as_ref().is_some_and(|histogram| !count(weight.size).contains(&counted(histogram))) {
                return Err(format!("  {:?}: a histogram of other values", weight.users));
            }
        }
        Ok(())
    });
}

#[test]
fn a_histogram_counts_values_in_the_right_bins() {
    let file = fixture("1.5.1/const_dtypes/const_dtypes.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let views = pte.methods()[0].tensors().filter_map(|(_, tensor)| pte.tensor_view(tensor).unwrap());
    let floats = views.filter(|view| view.shape().scalar_type == ScalarType::FLOAT);
    let view = floats.max_by_key(|view| view.elements()).unwrap();
    let values = view.to_vec::<f32>().unwrap();
    let histogram = view.histogram(3).unwrap();
    let (min, max) = values.iter().fold((f32::MAX, f32::MIN), |(min, max), value| (min.min(*value), max.max(*value)));
    assert_eq!((histogram.min, histogram.max), (min.into(), max.into()));
    let width = (max - min) / 3.0;
    let below = values.iter().filter(|value| **value < min + width).count() as u64;
    assert_eq!(histogram.bins.iter().sum::<u64>(), values.len() as u64);
    assert!(histogram.bins[0].abs_diff(below) <= 1, "{histogram:?} {values:?}");
}

#[test]
fn the_json_equals_the_data_of_the_page() {
    let report = json(&fixture("1.5.1/add_mul/add_mul.pte").path);
    assert_eq!(report["errors"], Value::Array(Vec::new()));
    assert!(report["file"].as_str().unwrap().ends_with("add_mul.pte"));
    assert_eq!(report["weights"].as_array().unwrap().len(), 2);
    assert_eq!(report["graphs"][0]["layout"]["nodes"].as_array().unwrap().len(), 4);
    assert_eq!(report["findings"], Value::Array(Vec::new()));
}

#[test]
fn a_page_that_cannot_be_written_keeps_the_old_one() {
    let old = TempFile::new("old.html", b"old");
    let bad = TempFile::new("bad.pte", b"not a model");
    let output = pte().arg("report").arg(&bad.0).arg("-o").arg(&old.0).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(std::fs::read(&old.0).unwrap(), b"old");
    let nowhere = old.0.join("report.html");
    let output = pte().arg("report").arg(fixture("1.5.1/add/add.pte").path).arg("-o").arg(nowhere).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

/// Opens Chromium: `apt-get install chromium`, or the environment variable `CHROMIUM`.
fn browser() -> Option<Browser> {
    let found = chromium();
    if found.is_none() {
        eprintln!("not shown in a browser: no Chromium (apt-get install chromium, or name it in CHROMIUM)");
    }
    found.map(|chromium| Browser::start(&chromium, 1280, 800).unwrap())
}

#[test]
fn every_view_is_drawn_in_a_browser_without_errors_or_requests() {
    let Some(mut browser) = browser() else { return };
    let made = TempFile::new("mobilenet.pte", &networks::mobilenet());
    let names = [
        "1.5.1/multi_method/multi_method.pte",
        "1.5.1/quant_xnnpack/quant_xnnpack.pte",
        "1.5.1/ptd_names/ptd_names.ptd",
    ];
    let files: Vec<PathBuf> = names.map(|name| fixture(name).path).into_iter().chain([made.0.clone()]).collect();
    for file in files {
        let page = page(&file);
        browser.open(&page.0).unwrap();
        browser.wait_for("viewer.readyAt").unwrap();
        let views =
            browser.evaluate("[...document.querySelectorAll('#tabs button')].map((tab) => tab.dataset.name)").unwrap();
        assert!(views.as_array().unwrap().len() >= 3, "{views}");
        for view in views.as_array().unwrap() {
            browser.evaluate(&format!("viewer.open({view})")).unwrap();
            let shown = browser.evaluate("document.getElementById('main').textContent.length").unwrap();
            assert!(shown.as_u64().unwrap() > 10, "{view} of {} is empty", file.display());
        }
        for event in browser.events() {
            assert_ne!(event["method"], "Runtime.exceptionThrown", "{event}");
            let address = event["params"]["request"]["url"].as_str().unwrap_or("file://");
            assert!(address.starts_with("file://"), "{address}");
        }
    }
}

#[test]
fn a_click_on_a_node_shows_its_inputs_and_outputs() {
    let Some(mut browser) = browser() else { return };
    let page = page(&fixture("1.5.1/add_mul/add_mul.pte").path);
    browser.open(&page.0).unwrap();
    browser.wait_for("viewer.readyAt").unwrap();
    browser.evaluate("viewer.open('graph')").unwrap();
    let place = browser.evaluate("viewer.graph.box(1)").unwrap();
    browser.click(place[0].as_f64().unwrap(), place[1].as_f64().unwrap()).unwrap();
    browser.wait_for("viewer.graph.chosen() === 1").unwrap();
    let side = browser.evaluate("document.querySelector('.side').textContent").unwrap();
    for part in ["aten::mm.out", "f32[2, 2]", "mat2", "constant", "aten::add.out"] {
        assert!(side.as_str().unwrap().contains(part), "{part}: {side}");
    }
}

#[test]
fn types_have_the_same_names_as_in_the_library() {
    let Some((mut browser, _page)) = opened(&fixture("1.5.1/add/add.pte").path) else { return };
    for scalar_type in (0..=i8::MAX).map(ScalarType) {
        let Some(name) = scalar_type.short_name() else { continue };
        let shown = browser.evaluate(&format!("viewer.type({})", serde_json::to_value(scalar_type).unwrap())).unwrap();
        assert_eq!(shown, name, "{}", scalar_type.0);
    }
}

/// Returns a browser with the page about a file open.
fn opened(file: &Path) -> Option<(Browser, TempFile)> {
    let mut browser = browser()?;
    let page = page(file);
    browser.open(&page.0).unwrap();
    browser.wait_for("viewer.readyAt").unwrap();
    Some((browser, page))
}

/// Returns the texts of the elements that a selector finds, in order.
fn texts(browser: &mut Browser, selector: &str) -> String {
    let texts = format!("[...document.querySelectorAll('{selector}')].map((one) => one.textContent).join('|')");
    browser.evaluate(&texts).unwrap().as_str().unwrap().to_owned()
}

#[test]
fn files_are_shown_beside_each_other() {
    let page = TempFile::new("models.html", b"");
    let files = ["names/cnn.pte", "names/cnn_tensor.pte", "payloads/ethosu_external/ethosu_external_weights.pte"];
    let command = || {
        let mut command = pte();
        command.current_dir(data()).args(["report", "--compare", "-o"]).arg(&page.0);
        command
    };
    let output = command().args(files).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let Some(mut browser) = browser() else { return };
    browser.open(&page.0).unwrap();
    browser.wait_for("viewer.readyAt").unwrap();
    assert_eq!(texts(&mut browser, "thead th"), "cnn.pte|cnn_tensor.pte|ethosu_external_weights.pte");
    let mut row = |name: &str| {
        let cells = format!(
            "[...[...document.querySelectorAll('tbody tr')].find((row) => row.firstChild.textContent === {name:?}).querySelectorAll('td')].map((cell) => cell.innerText).join('|')"
        );
        browser.evaluate(&cells).unwrap().as_str().unwrap().to_owned()
    };
    assert_eq!(row("loads in"), "0.6 to 1.5|0.6 to 1.5|1.5");
    // The same numbers as in `pte info`.
    assert_eq!(row("parameters"), "586|about 586|not known");
    assert_eq!(row("backends"), "XnnpackBackend: 2 delegates|XnnpackBackend: 2 delegates|EthosUBackend: 1 delegate");
    assert!(row("in the newest release").contains("|lacks an operator, a backend or data\nexternal-data: "));
    assert!(row("kernels beyond the portable ones").starts_with("none|none|quantized: "));
    // A file that cannot be read is left out.
    let output = command().args([files[0], "malformed/root-offset-outside.pte"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(std::fs::read_to_string(&page.0).unwrap().contains("<title>ExecuTorch file</title>"));
}

/// An overview begins with the releases that load the file.
#[test]
fn the_overview_says_which_releases_load_the_file() {
    let Some((mut browser, _page)) = opened(&data().join("names/cnn.pte")) else { return };
    let facts = texts(&mut browser, "#main > table:first-of-type td");
    assert_eq!(facts, "0.6 to 1.5|runs");
}

#[test]
fn a_search_shows_its_result_and_goes_there() {
    let made = TempFile::new("mobilenet.pte", &networks::mobilenet());
    let Some((mut browser, _page)) = opened(&made.0) else { return };
    browser.evaluate("viewer.open('graph')").unwrap();
    // The last instruction is far below the visible part.
    browser.evaluate("document.querySelector('#main input').focus()").unwrap();
    browser.type_text("addmm").unwrap();
    assert_eq!(texts(&mut browser, "#main .tools [role=status]"), "1 match; Enter shows the next");
    let found = "viewer.graph.nodes.findIndex((node) => JSON.stringify(node).includes('aten::addmm'))";
    let found = browser.evaluate(found).unwrap();
    let place = browser.evaluate(&format!("viewer.graph.box({found})")).unwrap();
    assert!(place[1].as_f64().unwrap() < 800.0, "{place}");
    browser.press("Enter").unwrap();
    assert_eq!(texts(&mut browser, "#main .tools [role=status]"), "1 of 1 match");
    assert_eq!(browser.evaluate("viewer.graph.chosen()").unwrap(), found);
    browser.type_text("nowhere").unwrap();
    assert_eq!(texts(&mut browser, "#main .tools [role=status]"), "No match");
    // Starts from the list of operators.
    browser.evaluate("viewer.open('operators')").unwrap();
    browser.evaluate("document.querySelector('tr.link').click()").unwrap();
    assert_eq!(texts(&mut browser, "#main .tools [role=status]"), "52 matches; Enter shows the next");
}

#[test]
fn a_graph_starts_at_the_methods_input() {
    let Some((mut browser, _page)) = opened(&fixture("1.5.1/add_mul/add_mul.pte").path) else { return };
    // As in a wide graph, where a node without inputs may be above the input, and far from it.
    let wide = "viewer.unpack(document.getElementById('data').textContent).then((report) => { const { layout } = report.graphs[0]; \
        layout.width = 5000; Object.assign(layout.nodes[0], { x: 4000, y: 7 }); layout.nodes[1].x = 4000; layout.nodes[2].y = 0; \
        viewer.show(report); viewer.open('graph'); return viewer.graph.box(0)[0]; })";
    let x = browser.evaluate(wide).unwrap();
    assert!((0.0..900.0).contains(&x.as_f64().unwrap()), "{x}");
}

#[test]
fn a_large_number_of_the_metadata_has_all_its_digits() {
    let Some((mut browser, _page)) = opened(&fixture("1.5.1/multi_method/multi_method.pte").path) else { return };
    let cells = texts(&mut browser, "td");
    assert!(cells.contains("get_neg|-9223372036854775808|"), "{cells}");
    assert!(cells.contains("get_nested|[1, 2, false, \"x\"]|"), "{cells}");
}

#[test]
fn a_box_of_bytes_opens_and_escape_goes_back() {
    let made = TempFile::new("mobilenet.pte", &networks::mobilenet());
    let Some((mut browser, _page)) = opened(&made.0) else { return };
    browser.evaluate("viewer.open('size')").unwrap();
    assert_eq!(texts(&mut browser, ".crumbs"), "file, 103.8 KiB");
    browser.click(200.0, 300.0).unwrap();
    assert_eq!(texts(&mut browser, ".crumbs"), "file / constant, 65.0 KiB");
    // A tensor has no contents, so its row is not a link.
    assert_eq!(texts(&mut browser, "tr.link"), "");
    browser.press("Escape").unwrap();
    assert_eq!(texts(&mut browser, ".crumbs"), "file, 103.8 KiB");
    browser.evaluate("document.querySelector('tr.link').focus()").unwrap();
    browser.press("Enter").unwrap();
    assert_eq!(texts(&mut browser, ".crumbs"), "file / constant, 65.0 KiB");
    browser.evaluate("document.querySelector('.crumbs a').focus()").unwrap();
    browser.press("Enter").unwrap();
    assert_eq!(texts(&mut browser, ".crumbs"), "file, 103.8 KiB");
}

#[test]
fn an_instruction_has_the_same_number_in_all_views() {
    let file = fixture("1.5.1/multi_method/multi_method.pte");
    let Some((mut browser, _page)) = opened(&file.path) else { return };
    browser.evaluate("viewer.open('memory')").unwrap();
    // In each method of the file, the peak is at a product with a transposed constant.
    assert_eq!(texts(&mut browser, ".side h3"), "Peak: instruction 1");
    browser.evaluate("document.querySelector('.stage canvas').focus()").unwrap();
    browser.press("ArrowLeft").unwrap();
    assert_eq!(texts(&mut browser, ".side h3"), "At instruction 0");
    browser.evaluate("viewer.open('graph'); viewer.graph.go(2)").unwrap();
    let side = texts(&mut browser, ".side");
    assert!(side.contains("aten::addmm.out") && side.contains("operator of the runtime, instruction 1"), "{side}");
    // The link to another node works with keys.
    let way = "[...document.querySelectorAll('.side a')].findLast((way) => way.textContent === 'input 0').focus()";
    browser.evaluate(way).unwrap();
    browser.press("Enter").unwrap();
    assert_eq!(browser.evaluate("viewer.graph.chosen()").unwrap(), 0);
    browser.press("Escape").unwrap();
    assert_eq!(texts(&mut browser, ".side h3"), "Method decode");
}

#[test]
fn findings_are_counted_by_severity() {
    let malformed = |name: &str| executorch_format_support::data().join("malformed").join(name);
    for (name, card) in [("xnnpack-kernel.pte", "2 errors"), ("name-direction.pte", "1 warning")] {
        let Some((mut browser, _page)) = opened(&malformed(name)) else { return };
        browser.evaluate("[...document.querySelectorAll('.card')].at(-1).click()").unwrap();
        let rows = texts(&mut browser, "tbody tr td:first-child");
        assert!(rows.split('|').all(|severity| card.contains(severity)), "{rows}");
        browser.evaluate("viewer.open('overview')").unwrap();
        assert!(texts(&mut browser, ".card").ends_with(&format!("{card}verification")));
    }
}

#[test]
fn hostile_names_are_text_in_the_browser() {
    let Some(mut browser) = browser() else { return };
    let page = page(&hostile().0);
    browser.open(&page.0).unwrap();
    browser.wait_for("viewer.readyAt").unwrap();
    for view in ["overview", "size", "memory", "graph", "operators", "findings"] {
        browser.evaluate(&format!("viewer.open('{view}')")).unwrap();
        assert_eq!(browser.evaluate("window.evil === undefined").unwrap(), true, "{view}");
        assert_eq!(
            browser.evaluate("document.querySelectorAll('#main img, #main script').length").unwrap(),
            0,
            "{view}"
        );
        let text = browser.evaluate("document.body.innerText").unwrap();
        assert!(!text.as_str().unwrap().contains(['\u{202e}', '\u{1b}']), "{view}");
    }
}
