//! The page in Chromium. Needs a page that was built: `web/build` makes it, and the environment variable `PTE_PAGE` names it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use executorch_format::{NewEntry, Ptd, PtdOptions, Segment};
use executorch_format_support::browser::{Browser, chromium};
use executorch_format_support::fixtures::fixture;
use executorch_format_support::{data, networks};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A browser with the page open; `None`, and a word on it, where there is no page or no Chromium.
fn page() -> Option<Browser> {
    let Some(page) = std::env::var_os("PTE_PAGE").map(PathBuf::from) else {
        eprintln!("the page is not tested: PTE_PAGE does not name one (web/build makes it)");
        return None;
    };
    let Some(chromium) = chromium() else {
        eprintln!("the page is not tested: no Chromium (apt-get install chromium, or name it in CHROMIUM)");
        return None;
    };
    let mut browser = Browser::start(&chromium, 1280, 800).unwrap();
    browser.call("Log.enable", json!({})).unwrap();
    browser.open(&page.canonicalize().unwrap()).unwrap();
    browser.evaluate("page.module.then(() => true)").unwrap();
    Some(browser)
}

/// Gives files to the page, and waits for all that it says about them.
fn give(browser: &mut Browser, files: &[&Path]) {
    browser.evaluate("page.taken = undefined").unwrap();
    let files: Vec<_> = files.iter().map(|file| file.canonicalize().unwrap().display().to_string()).collect();
    browser.give("#input", &files).unwrap();
    browser.wait_for("page.taken").unwrap();
    browser.evaluate("page.taken.then(() => page.rest)").unwrap();
}

fn text(browser: &mut Browser, selector: &str) -> String {
    let text = browser.evaluate(&format!("document.querySelector({selector:?})?.textContent ?? ''")).unwrap();
    text.as_str().unwrap().to_owned()
}

/// Opens every view, and fails for one that is empty. Then says that no script failed, and that nothing was asked for from outside.
fn every_view(browser: &mut Browser) -> Vec<String> {
    let names =
        browser.evaluate("[...document.querySelectorAll('#tabs button')].map((tab) => tab.dataset.name)").unwrap();
    let names: Vec<String> = serde_json::from_value(names).unwrap();
    for name in &names {
        browser.evaluate(&format!("viewer.open({name:?})")).unwrap();
        browser.wait_for("document.getElementById('main').textContent.length > 10").unwrap();
        assert_eq!(
            browser.evaluate("document.querySelectorAll('#main img, #main script').length").unwrap(),
            0,
            "{name}"
        );
    }
    for event in browser.events() {
        assert_ne!(event["method"], "Runtime.exceptionThrown", "{event}");
        let is_error = event["method"] == "Log.entryAdded" && event["params"]["entry"]["level"] == "error";
        assert!(!is_error, "{event}");
        let address = event["params"]["request"]["url"].as_str().unwrap_or("file://");
        assert!(["file://", "blob:", "data:"].iter().any(|start| address.starts_with(start)), "{address}");
    }
    names
}

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("executorch-format-page-{}-{name}", std::process::id()))
}

#[test]
fn a_good_file_has_every_view_of_a_report_and_the_page() {
    let Some(mut browser) = page() else { return };
    give(&mut browser, &[&fixture("1.5.1/quant_xnnpack/quant_xnnpack.pte").path]);
    let names = every_view(&mut browser);
    for name in [
        "overview",
        "size",
        "memory",
        "graph",
        "operators",
        "weights",
        "findings",
        "bytes",
        "payloads",
        "releases",
        "tree",
    ] {
        assert!(names.iter().any(|other| other == name), "{name}: {names:?}");
    }
    browser.evaluate("viewer.open('overview')").unwrap();
    assert!(
        text(&mut browser, "#main > table").starts_with("loads in0.7 to 1.5in 1.5runs"),
        "{}",
        text(&mut browser, "#main > table")
    );
    // Weights of a backend have the names of its nodes.
    browser.evaluate("viewer.open('weights')").unwrap();
    assert!(text(&mut browser, "#main tbody").contains("XNNConv2d 2: weight"));
    // The tree opens at the place that the address asks for.
    browser.evaluate("viewer.open('tree', '0:execution_plan[0].operators[0].name')").unwrap();
    browser.wait_for("document.querySelector('.tree .marked')").unwrap();
    assert!(text(&mut browser, ".tree .marked").contains("aten::mean"));
    assert!(browser.evaluate("location.hash").unwrap().as_str().unwrap().starts_with("#tree="));
    // A hash is computed piece by piece, in the worker.
    let size = fixture("1.5.1/quant_xnnpack/quant_xnnpack.pte").bytes().len();
    let hash = browser.evaluate(&format!("page.ask('hash', [0, 0, {size}])")).unwrap();
    let own = executorch_format_page::Hash::default();
    let mut own = own;
    own.add(fixture("1.5.1/quant_xnnpack/quant_xnnpack.pte").bytes());
    assert_eq!(hash, own.finish());
}

#[test]
fn no_way_leads_to_the_network() {
    let Some(mut browser) = page() else { return };
    let tried = "fetch('https://example.org/').then(() => 'reached', () => 'refused')";
    assert_eq!(browser.evaluate(tried).unwrap(), "refused");
    let blocked = "new Promise((done) => { addEventListener('securitypolicyviolation', (event) => done(event.effectiveDirective), { once: true }); fetch('https://example.org/').catch(() => {}); })";
    assert_eq!(browser.evaluate(blocked).unwrap(), "connect-src");
}

#[test]
fn keys_are_enough() {
    let Some(mut browser) = page() else { return };
    give(&mut browser, &[&fixture("1.5.1/add_mul/add_mul.pte").path]);
    browser.evaluate("document.querySelector('#tabs [aria-selected=true]').focus()").unwrap();
    browser.press("ArrowRight").unwrap();
    assert_eq!(text(&mut browser, "#tabs [aria-selected=true]"), "Size");
    assert_eq!(browser.evaluate("document.activeElement.dataset.name").unwrap(), "size");
    let unnamed = "[...document.querySelectorAll('button, input, select, [role=img]')].filter((one) => !(one.textContent.trim() || one.ariaLabel || one.labels?.length)).length";
    for view in ["memory", "graph", "weights", "bytes", "tree"] {
        browser.evaluate(&format!("viewer.open({view:?})")).unwrap();
        assert_eq!(browser.evaluate(unnamed).unwrap(), 0, "{view}");
    }
    // In the graph, arrow keys follow the values from box to box, and each is said.
    browser.evaluate("viewer.open('graph'), document.querySelector('canvas').focus()").unwrap();
    let expected = ["input 0", "aten::mm", "aten::add", "aten::mm", "aten::mm"];
    for (key, expected) in ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp", "Enter"].into_iter().zip(expected) {
        browser.press(key).unwrap();
        let heard = browser.evaluate("viewer.graph.heard()").unwrap();
        assert!(heard.as_str().unwrap().starts_with(expected), "{key}: {heard}");
    }
    assert!(text(&mut browser, ".side h3").starts_with("aten::mm"));
    assert_eq!(browser.evaluate("document.activeElement.tagName").unwrap(), "CANVAS");
    browser.press("Escape").unwrap();
    assert_eq!(text(&mut browser, ".side h3"), "Method forward");
}

#[test]
fn a_damaged_file_says_where_it_breaks() {
    let Some(mut browser) = page() else { return };
    let good = fixture("1.5.1/add_mul/add_mul.pte");
    let cut = temporary("cut.pte");
    std::fs::write(&cut, &good.bytes()[..good.bytes().len() / 2]).unwrap();
    give(&mut browser, &[&cut]);
    let names = every_view(&mut browser);
    assert_eq!(names, ["fault", "findings", "releases", "bytes"]);
    browser.evaluate("viewer.open('fault')").unwrap();
    // The cause and a remedy come first.
    assert_eq!(text(&mut browser, "#main .error"), "The file is incomplete: fetch it again, and compare its size.");
    browser.evaluate("[...document.querySelectorAll('#main a')][0].click()").unwrap();
    browser.wait_for("document.querySelector('.hex').textContent").unwrap();
    std::fs::remove_file(cut).unwrap();
}

#[test]
fn a_finding_leads_to_its_place() {
    let Some(mut browser) = page() else { return };
    give(&mut browser, &[&data().join("malformed/argument-index.pte")]);
    browser.evaluate("viewer.open('findings')").unwrap();
    browser.evaluate("document.querySelector('#main td a').click()").unwrap();
    browser.wait_for("document.querySelector('.tree .marked')").unwrap();
}

#[test]
fn a_hostile_name_is_text() {
    let Some(mut browser) = page() else { return };
    let name = "</script><script>window.evil=1</script><img src=x onerror=window.evil=2>\u{202e}\u{1b}[31m";
    let ptd = Ptd::build([NewEntry::from_slice(name, vec![2], &[1f32, 2.0])], &PtdOptions::default()).unwrap();
    let file = temporary("hostile <img src=x onerror=window.evil=3>.ptd");
    std::fs::write(&file, ptd.image().unwrap().to_vec().unwrap()).unwrap();
    give(&mut browser, &[&file]);
    for view in every_view(&mut browser) {
        browser.evaluate(&format!("viewer.open({view:?})")).unwrap();
        assert_eq!(browser.evaluate("window.evil === undefined").unwrap(), true, "{view}");
        let shown = browser.evaluate("document.body.innerText").unwrap();
        assert!(!shown.as_str().unwrap().contains(['\u{202e}', '\u{1b}']), "{view}");
    }
    std::fs::remove_file(file).unwrap();
}

#[test]
fn two_files_are_compared_and_a_pair_is_checked() {
    let Some(mut browser) = page() else { return };
    give(&mut browser, &[&fixture("1.5.1/add/add.pte").path]);
    give(&mut browser, &[&fixture("1.5.1/add_mul/add_mul.pte").path]);
    assert!(every_view(&mut browser).contains(&"compare".to_owned()));
    browser.evaluate("viewer.open('compare')").unwrap();
    assert!(text(&mut browser, "#main").contains("1 operator added"), "{}", text(&mut browser, "#main"));
    // The other one is shown instead, compared with the first.
    assert_eq!(text(&mut browser, "#head h1"), "add.pte");
    browser.evaluate("document.querySelector('#files a').click()").unwrap();
    browser.evaluate("page.taken.then(() => page.rest)").unwrap();
    assert_eq!(text(&mut browser, "#head h1"), "add_mul.pte");
    assert!(every_view(&mut browser).contains(&"compare".to_owned()));
    browser.evaluate("page.over()").unwrap();
    let folder = data().join("1.5.1/add_mul_external");
    give(&mut browser, &[&folder.join("_default_external_constant.ptd"), &folder.join("add_mul_external.pte")]);
    every_view(&mut browser);
    assert!(text(&mut browser, "#files").contains("weights of the program"));
    browser.evaluate("viewer.open('weights')").unwrap();
    assert!(text(&mut browser, "#main .side").contains("_default_external_constant.ptd"));
}

#[test]
fn several_files_stand_beside_each_other() {
    let Some(mut browser) = page() else { return };
    let names = [
        "add/add.pte",
        "add_mul/add_mul.pte",
        "bundled/bundled.bpte",
        "add_mul_external/_default_external_constant.ptd",
    ];
    let paths = names.map(|name| data().join("1.5.1").join(name));
    give(&mut browser, &paths.each_ref().map(|path| path.as_path()));
    let list = text(&mut browser, "#files");
    for role in ["shown", "compared with the shown file", "beside the shown file", "weights of the program"] {
        assert!(list.contains(role), "{role}: {list}");
    }
    browser.evaluate("viewer.open('models')").unwrap();
    assert_eq!(text(&mut browser, "#tabs [aria-selected=true]"), "Files (3)");
    let table = text(&mut browser, "#main thead");
    assert!(names[..3].iter().all(|name| table.contains(name.split('/').nth(1).unwrap())), "{table}");
}

#[test]
fn a_bundle_and_a_trace_have_views_of_their_own() {
    let Some(mut browser) = page() else { return };
    give(&mut browser, &[&fixture("1.5.1/bundled/bundled.bpte").path]);
    assert!(every_view(&mut browser).contains(&"cases".to_owned()));
    browser.evaluate("page.over()").unwrap();
    let folder = data().join("payloads");
    give(&mut browser, &[&folder.join("profile_xnnpack.etdp"), &folder.join("profile_xnnpack.pte")]);
    assert!(every_view(&mut browser).contains(&"times".to_owned()));
    browser.evaluate("viewer.open('times')").unwrap();
    let times = text(&mut browser, "#main");
    for (label, at) in [(0, 0), (1, 2)] {
        let row = format!("DELEGATE_CALL XnnpackBackend.{label}{at}XnnpackBackend");
        assert!(times.contains(&row), "{row}: {times}");
    }
    assert_eq!(browser.evaluate("document.querySelectorAll('.run button').length").unwrap(), 3);
}

#[test]
fn names_come_from_a_record_and_lead_from_view_to_view() {
    let Some(mut browser) = page() else { return };
    browser.evaluate("document.getElementById('sample').click()").unwrap();
    browser.evaluate("page.taken.then(() => page.rest)").unwrap();
    assert!(every_view(&mut browser).contains(&"weights".to_owned()));
    assert!(text(&mut browser, "#files").contains("names for the program"));
    let search = |browser: &mut Browser, words: &str| {
        let press = "new KeyboardEvent('keydown', { key: 'Enter', bubbles: true })";
        let set = format!(
            "(() => {{ const box = document.querySelector('#head input'); box.value = {words:?}; box.dispatchEvent({press}); return location.hash; }})()"
        );
        browser.evaluate(&set).unwrap().as_str().unwrap().to_owned()
    };
    assert_eq!(search(&mut browser, "layers.1.conv.weight"), "#weights=layers.1.conv.weight");
    assert_eq!(text(&mut browser, "#main .side h3"), "layers.1.conv.weight");
    assert_eq!(search(&mut browser, "%2"), "#graph=node%202");
    assert_eq!(search(&mut browser, "7040"), "#bytes=0%3A7040");
    browser.wait_for("document.querySelector('#main .note a')").unwrap();
    assert!(text(&mut browser, "#main").contains("It is byte 0 of layers.0.conv.weight."));
    assert_eq!(search(&mut browser, "nothing at all"), "#bytes=0%3A7040");
    assert!(text(&mut browser, "#head").contains("Not found."));
    // The first click on a head of numbers sorts by the largest, the second by the smallest.
    browser.evaluate("viewer.open('weights')").unwrap();
    let click = "(() => { document.querySelectorAll('#main th button')[2].click(); return document.querySelector('#main tbody td').textContent; })()";
    assert_eq!(browser.evaluate(click).unwrap(), "layers.0.conv.weight %2");
    assert_eq!(browser.evaluate(click).unwrap(), "%14");
    // A text is found in the bytes.
    browser.evaluate("viewer.open('bytes')").unwrap();
    let find = "(() => { document.querySelectorAll('#main .tools input')[1].value = 'aten::convolution'; [...document.querySelectorAll('#main .tools button')].at(-1).click(); })()";
    browser.evaluate(find).unwrap();
    browser.wait_for("document.querySelector('#main .hex mark')").unwrap();

    // A record of another program names nothing, and says why.
    browser.evaluate("page.over()").unwrap();
    let record = fixture("etrecord/net_portable.pte").path.with_file_name("net_portable.etrecord");
    give(&mut browser, &[&data().join("payloads/profile_xnnpack.pte"), &record]);
    assert!(text(&mut browser, "#files .error").contains("the ETRecord is not that of this program"));
    every_view(&mut browser);
}

/// Keeps the first bytes that are written, and then takes no more.
struct First(Vec<u8>, usize);

impl Write for First {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let part = &bytes[..bytes.len().min(self.1 - self.0.len())];
        self.0.extend(part);
        if part.is_empty() { Err(std::io::ErrorKind::WriteZero.into()) } else { Ok(part.len()) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A `.ptd` of 4 GB, all data of which is a hole in the file.
fn huge(path: &Path) {
    let keys = ["a", "b", "c", "d"];
    let elements = 250_000_000;
    let entries = keys.map(|key| NewEntry::from_slice(key, vec![1], &[0f32]));
    let mut ptd = Ptd::build(entries, &PtdOptions::default()).unwrap();
    for (index, segment) in ptd.flat_tensor.segments.iter_mut().flatten().enumerate() {
        (segment.offset, segment.size) = (4 * elements * index as u64, 4 * elements);
        // One byte at its end: zeros are before it.
        ptd.segments[index] = Segment::Parts(vec![(4 * elements - 1, vec![0].into())]);
    }
    for named in ptd.flat_tensor.named_data.iter_mut().flatten() {
        named.tensor_layout.as_mut().unwrap().sizes = Some(vec![elements as i32].into());
    }
    ptd.header.as_mut().unwrap().segment_data_size = 4 * elements * keys.len() as u64;
    let image = ptd.image().unwrap();
    let mut first = First(Vec::new(), image.metadata_size() as usize);
    let _ = image.write_to(&mut first);
    let mut file = File::create(path).unwrap();
    file.write_all(&first.0).unwrap();
    file.set_len(image.size()).unwrap();
}

#[test]
fn a_file_of_4_gb_opens_at_once_and_takes_little_memory() {
    let Some(mut browser) = page() else { return };
    let file = temporary("huge.ptd");
    huge(&file);
    give(&mut browser, &[&file]);
    let time = browser.evaluate("page.firstAt").unwrap().as_f64().unwrap();
    assert!(time < 1000.0, "{time} ms");
    let memory = browser.evaluate("page.ask('memory')").unwrap().as_f64().unwrap();
    let heap = browser.call("Runtime.getHeapUsage", json!({})).unwrap()["usedSize"].as_f64().unwrap();
    println!("4 GiB: {time:.0} ms, {:.1} MB in the module, {:.1} MB in the page", memory / 1e6, heap / 1e6);
    assert!(memory + heap < 200e6, "{memory} {heap}");
    every_view(&mut browser);
    // A long computation can be ended.
    let ended = "(() => { const job = page.ask('hash', [0, 0, 4000000000]); setTimeout(() => job.end(), 50); return job.then(() => 'done', (error) => error.message); })()";
    assert_eq!(browser.evaluate(ended).unwrap(), "ended");
    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_large_program_is_there_before_its_graph() {
    let Some(mut browser) = page() else { return };
    let made = temporary("mobilenet.pte");
    std::fs::write(&made, networks::mobilenet()).unwrap();
    let named = std::env::var_os("PTE_LARGE_PROGRAM").map(PathBuf::from);
    give(&mut browser, &[named.as_deref().unwrap_or(&made)]);
    let time = browser.evaluate("page.firstAt").unwrap().as_f64().unwrap();
    println!("first view: {time:.0} ms");
    assert!(time < 1000.0, "{time} ms");
    assert_ne!(browser.evaluate("page.allAt").unwrap(), Value::Null);
    std::fs::remove_file(made).unwrap();
}
