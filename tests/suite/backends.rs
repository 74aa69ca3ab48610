//! The page `docs/backends.md`: what this crate does with a payload of each backend, found by doing it with one that a real exporter wrote, and what
//! it knows of each release.

use executorch_format::delegate::{NamedBlobs, Payload, PayloadKind, PayloadSummary, unpack};
use executorch_format::inspect::NodeKind;
use executorch_format::verify::{BACKENDS, Behaviour, FEATURES, HISTORIES, RULES, Release};
use executorch_format::{Analysis, Pte};
use executorch_format_support::crate_root;
use executorch_format_support::fixtures::{Fixture, fixtures};

const HEAD: &str = "\
# What `pte` knows of each backend and release

A test asks each question about a payload that a real exporter wrote, and compares the answers with this page.

## Payloads

| column | |
|---|---|
| recognized | by the first bytes, so that a payload under the wrong id is found, or only by the id of its delegate |
| decoded | read into a typed tree, which `pte dump` prints |
| rules | of `pte verify`, for this backend alone; those for all payloads (`payload-kind`, `payload-key`, …) come on top |
| unpacked | `pte extract --unpack` writes the files that the backend's own tools open |
| drawn | `pte graph` shows the nodes inside |
| MACs | `pte info` counts multiply-accumulates inside |
| memory | `pte memory` adds the memory that a run takes inside: it is computed (XNNPACK), or the payload states it (Ethos-U) |
| written | edits change constants inside. All other payloads are kept byte for byte |

";

const NO_SAMPLE: &str = "
Backends marked with * are known from ExecuTorch's source alone: no payload of a real exporter was at hand. The columns from \"decoded\" on are those of `pte` 0.1.0 with files of ExecuTorch 1.5.
";

const RELEASES: &str = "
## Releases

| column | |
|---|---|
| runtime run | real and damaged programs were loaded by the runtime of this release; [releases.md](releases.md) has the results |
| features | features of the format that the release loads |
| faults | kinds of faults with a known behaviour of the release |
| backends | backends in the release's repository, with everything linked |

| release | runtime run | features | faults | backends |
|---|---|---|---|---|
";

/// Returns a payload of a delegate of this kind in a program. Handmade delegates of tests are left out.
fn payload_in(kind: PayloadKind, program: &Fixture) -> Option<Vec<u8>> {
    let pte = Pte::parse(program.bytes()).unwrap();
    let delegate = pte.methods().iter().flat_map(|plan| plan.delegates()).find(|found| found.id() == kind.id())?;
    let payload = pte.bytes(&pte.delegate_data(delegate).unwrap()).unwrap().to_vec();
    (kind.is_in(&payload) != Some(false) && payload.len() > 64).then_some(payload)
}

/// Returns a payload of a kind in the test files.
fn sample(kind: PayloadKind, files: &[Fixture]) -> Option<Vec<u8>> {
    let alone = |name: &str| std::fs::read(crate_root().join("tests/data/payloads/other").join(name)).unwrap();
    match kind {
        PayloadKind::Vgf => Some(alone("model.vgf")),
        PayloadKind::OpenVino => Some(alone("openvino.blob")),
        // A stand-in for the SDK's compiler wrote the one in the test files.
        PayloadKind::Qnn => None,
        _ => files.iter().find_map(|file| payload_in(kind, file)),
    }
}

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "" }
}

/// Returns the row of a backend.
fn row(kind: PayloadKind, files: &[Fixture]) -> String {
    let recognized = if kind.is_in(&[0; 64]).is_some() { "bytes" } else { "id" };
    let sample = sample(kind, files);
    let star = if sample.is_some() { "" } else { "\\*" };
    let prefix = match kind {
        PayloadKind::Cuda => "aot-inductor-".to_owned(),
        // The rule `native-code` is about machine code.
        PayloadKind::Native => "native-payload-".to_owned(),
        _ => kind.to_string().to_lowercase().replace(' ', "-") + "-",
    };
    let rules = match RULES.iter().filter(|rule| rule.name.starts_with(&prefix)).count() {
        0 => String::new(),
        count => count.to_string(),
    };
    let payload = sample.as_deref().unwrap_or(&[0; 64]);
    let is_unpacked = !matches!(unpack(kind.id(), payload, &NamedBlobs::NONE), Ok(None));
    let parsed = Payload::parse(payload);
    let is_decoded = matches!(&parsed, Ok(payload) if !matches!(payload, Payload::Opaque(_)));
    let mut has_memory = PayloadSummary::of(kind.id(), &parsed, &NamedBlobs::NONE).scratch_size.is_some();
    let (mut is_drawn, mut is_counted) = (false, false);
    for file in files.iter().filter(|file| payload_in(kind, file).is_some()) {
        let pte = Pte::parse(file.bytes()).unwrap();
        let analysis = Analysis::new(&pte);
        is_drawn |= analysis.graphs().iter().flat_map(|graph| &graph.nodes).any(|node| node.kind == NodeKind::Inside);
        has_memory |= analysis.memory().methods.iter().any(|method| method.run_memory.xnnpack.is_some());
        is_counted |= analysis.macs().methods.iter().any(|method| method.macs.is_some_and(|macs| macs > 0));
    }
    let [decoded, unpacked, drawn, macs, memory] = [is_decoded, is_unpacked, is_drawn, is_counted, has_memory].map(yes);
    let written = if kind == PayloadKind::Xnnpack { "constants" } else { "" };
    let id = kind.id();
    format!(
        "| {kind}{star} | `{id}` | {recognized} | {decoded} | {rules} | {unpacked} | {drawn} | {macs} | {memory} | {written} |\n"
    )
}

/// Returns the behaviour of a release, from a list in which each entry holds until the next one.
fn behaviour(since: &[(Release, Behaviour)], release: Release) -> Option<Behaviour> {
    since.iter().rev().find(|(first, _)| *first <= release).map(|(_, behaviour)| *behaviour)
}

fn page() -> String {
    let files: Vec<_> = fixtures().into_iter().filter(Fixture::is_pte).collect();
    let mut page = HEAD.to_owned();
    page += "| backend | id | recognized | decoded | rules | unpacked | drawn | MACs | memory | written |\n";
    page += "|---|---|---|---|---|---|---|---|---|---|\n";
    page.extend(PayloadKind::all().map(|kind| row(kind, &files)));
    page += NO_SAMPLE;
    page += RELEASES;
    for release in Release::ALL {
        let loads = |since: &[(Release, Behaviour)]| behaviour(since, release) == Some(Behaviour::Loads);
        let features = FEATURES.iter().filter(|feature| loads(feature.since)).count();
        let faults = HISTORIES.iter().filter(|history| history.behaviour(release) != Behaviour::Unknown).count();
        let backends = BACKENDS.iter().filter(|backend| loads(backend.since)).count();
        page += &format!(
            "| {release} | {} | {features} of {} | {faults} of {} | {backends} |\n",
            yes(release.was_seen()),
            FEATURES.len(),
            HISTORIES.len()
        );
    }
    page
}

#[test]
fn the_page_of_backends_is_up_to_date() {
    let path = crate_root().join("docs/backends.md");
    let page = page();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), page, "BLESS=1 writes it");
}

/// The page says so of the others.
#[test]
fn backends_with_a_known_format_have_a_real_payload() {
    let files: Vec<_> = fixtures().into_iter().filter(Fixture::is_pte).collect();
    let without = PayloadKind::all().filter(|kind| sample(*kind, &files).is_none()).map(PayloadKind::id);
    let expected =
        ["QnnBackend", "MLXBackend", "MPSBackend", "NeuropilotBackend", "NeutronBackend", "EnnBackend", "MetalBackend"];
    assert_eq!(without.collect::<Vec<_>>(), expected);
}
