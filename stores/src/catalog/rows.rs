//! The rows of a catalogue about one file.

use super::tables::{Rows, Value};
use crate::error::{Error, Result};
use crate::file::{Extent, File};
use crate::hash::Hashes;
use crate::stores::ListedFile;
use executorch_format::delegate::xnnpack::ConstantPlace;
use executorch_format::delegate::{DelegateGraph, OpenPayload, Payload};
use executorch_format::inspect::{
    Blob, BlobKind, BlobUser, CompileSetting, ConstantMethod, Content, Method, PointerSize, Returned, Summary,
    TempAllocator, Value as MethodValue,
};
use executorch_format::schema::program::{ExecutionPlan, KernelTypes};
use executorch_format::verify::{
    Behaviour, Finding, Level, NeededKernels, ReleaseVerdict, Releases, Target, releases_of_error,
};
use executorch_format::{Analysis, FileKind, Model, PROBE_SIZE, Pte, probe};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;

/// The facts that files of all kinds have.
#[derive(Default)]
struct Facts {
    kind: Option<FileKind>,
    metadata: Option<(u64, String)>,
    program: Option<String>,
    methods: Option<usize>,
    releases: Vec<ReleaseVerdict>,
    kernels: Vec<NeededKernels>,
    native_code: bool,
    sha256: Option<String>,
    error: Option<(&'static str, String)>,
}

/// The state of a file in earlier runs into the same folder.
#[derive(Clone, Copy, Debug, Default)]
pub struct History {
    /// The number of the first run that saw this content; `None` outside of runs.
    pub run: Option<u64>,
    /// The size of the file in bytes before it last changed.
    pub size_before: Option<i64>,
}

/// Reads a file, and returns its rows. A file that cannot be read has a row with the error.
pub async fn of(found: ListedFile, hash: bool, step: u64, history: History) -> Rows {
    let mut rows = Rows::default();
    let name = found.place.name.clone();
    let file = match File::open(found.place.clone(), Extent::Graphs, step).await {
        Ok(file) => file,
        Err(error) => {
            let facts = Facts { error: Some(("unreadable", error.to_string())), ..Facts::default() };
            // A file given by name has no facts from a listing.
            let listed = found.modified.is_some() || found.etag.is_some();
            add_file(&mut rows, &name, &found, listed.then_some(found.size), (0, 0), history, facts);
            return rows;
        }
    };
    let spent = file.spent();
    let listed = ListedFile {
        etag: found.etag.or_else(|| file.etag().map(str::to_owned)),
        modified: found.modified.or(file.modified()),
        ..found
    };
    let mut inside = Rows::default();
    let mut facts = match look(&file, &name, hash, &mut inside).await {
        Ok(facts) => facts,
        // The file changed, or its store failed, after its first bytes were read: the rows so far are dropped.
        Err(error) => {
            inside = Rows::default();
            Facts { error: Some(("unreadable", error.to_string())), ..Facts::default() }
        }
    };
    let first = file.bytes();
    facts.kind = probe(first.get(..PROBE_SIZE).unwrap_or(first)).ok().map(|probe| probe.kind);
    add_file(&mut inside, &name, &listed, Some(file.size()), spent, history, facts);
    inside
}

/// Returns the row of a file that does not exist.
pub fn unplaced(name: &str, error: &Error, history: History) -> Rows {
    let mut rows = Rows::default();
    let place = crate::stores::Location { spot: crate::stores::Spot::Folder(name.into()), name: name.into() };
    let found = ListedFile { place, size: 0, etag: None, modified: None };
    let facts = Facts { error: Some(("unreadable", error.to_string())), ..Facts::default() };
    add_file(&mut rows, name, &found, None, (0, 0), history, facts);
    rows
}

fn add_file(
    rows: &mut Rows,
    name: &str,
    found: &ListedFile,
    size: Option<u64>,
    (requests, read): (u64, u64),
    history: History,
    facts: Facts,
) {
    let of = |behaviour| {
        let verdicts = facts.releases.iter().filter(|verdict| verdict.behaviour == behaviour);
        Value::Texts(verdicts.map(|verdict| verdict.release.to_string()).collect())
    };
    let kernels = facts
        .kernels
        .iter()
        .flat_map(|kernels| kernels.operators.iter().map(|operator| format!("{}: {operator}", kernels.library)));
    let kernels = kernels.collect();
    let (metadata_size, metadata_sha256) = facts.metadata.clone().unzip();
    let (error_kind, error) = facts.error.clone().unzip();
    let verdict = facts.releases.last().map(|newest| &newest.verdict);
    let because = verdict.iter().flat_map(|verdict| verdict.because.iter().map(ToString::to_string));
    rows.add(
        "files",
        name,
        [
            facts.kind.map(|kind| kind.extension().trim_start_matches('.')).into(),
            size.into(),
            found.etag.as_deref().map(|etag| etag.trim_matches('"')).into(),
            found.modified.into(),
            metadata_size.into(),
            metadata_sha256.into(),
            facts.program.clone().into(),
            facts.methods.into(),
            of(Behaviour::Loads),
            Value::Texts(kernels),
            of(Behaviour::Refuses),
            of(Behaviour::Dies),
            of(Behaviour::Miscomputes),
            verdict.and_then(|verdict| word(verdict.outcome)).into(),
            Value::Texts(because.collect()),
            facts.native_code.into(),
            read.into(),
            requests.into(),
            facts.sha256.is_some().into(),
            facts.sha256.clone().into(),
            history.run.into(),
            history.size_before.into(),
            error_kind.into(),
            error.into(),
        ],
    );
}

/// Returns all rows of a file. Fails if its bytes cannot be read.
async fn look(file: &File, name: &str, hash: bool, rows: &mut Rows) -> Result<Facts> {
    let whole = 0..file.size();
    let model = match file.parse() {
        Ok(model) => model,
        Err(error) => {
            add_finding(rows, name, Finding::from(&error));
            let releases = releases_of_error(&error).releases;
            let hashes = file.hash(if hash { std::slice::from_ref(&whole) } else { &[] }, |_| ()).await?;
            let sha256 = hashes.get(&whole).map(|hash| hex(hash));
            return Ok(Facts { error: Some(("invalid", error.to_string())), releases, sha256, ..Facts::default() });
        }
    };
    let Releases { loads_in, releases: verdicts, .. } = model.releases(&Target::default(), None);
    let mut facts = Facts { releases: verdicts, kernels: loads_in.kernels, ..Facts::default() };
    facts.metadata = model.source().map(|source| (source.metadata_size, hex(&Sha256::digest(source.metadata()))));
    model.verify(Level::Runtime).into_iter().for_each(|finding| add_finding(rows, name, finding));
    let summary = model.summary();
    let program = match &model {
        Model::Bpte(bpte) => bpte.program().ok(),
        _ => None,
    };
    let analysis = match (&model, &program) {
        (Model::Pte(pte), _) | (_, Some(pte)) => Some(Analysis::new(pte).with_names([])),
        _ => None,
    };
    if let Some(analysis) = &analysis {
        match &model {
            Model::Pte(_) => add_program(rows, name, analysis, &summary, &mut facts),
            _ => add_program(rows, name, analysis, &analysis.summary(), &mut facts),
        }
    }
    let blobs = match (&model, &analysis) {
        (Model::Bpte(bpte), Some(program)) => bpte.blobs_with(program),
        (_, Some(program)) => program.blobs(),
        _ => model.blobs(),
    };
    let ranges: Vec<Range<u64>> =
        if hash { blobs.blobs.iter().filter_map(range).chain([whole.clone()]).collect() } else { Vec::new() };
    let hashes = file.hash(&ranges, |_| ()).await?;
    facts.sha256 = hashes.get(&whole).map(|hash| hex(hash));
    let keys = match (&model, &analysis) {
        (Model::Pte(_), Some(analysis)) => Keys::of(analysis),
        _ => Keys::default(),
    };
    for blob in &blobs.blobs {
        add_blob(rows, name, blob, &hashes, &keys);
    }
    Ok(facts)
}

fn add_finding(rows: &mut Rows, name: &str, finding: Finding) {
    let Finding { rule, severity, path, offset, message, .. } = finding;
    let row = [rule.into(), severity.to_string().into(), path.to_string().into(), offset.into(), message.into()];
    rows.add("findings", name, row);
}

fn add_program(rows: &mut Rows, name: &str, analysis: &Analysis<'_>, summary: &Summary<'_>, facts: &mut Facts) {
    let Content::Program(program) = &summary.content else { return };
    facts.methods = Some(program.methods.len());
    let (pte, opened) = (analysis.pte(), analysis.payloads());
    facts.program = program_hash(pte, opened).ok();
    for method in &program.methods {
        add_method(rows, name, method);
    }
    for ConstantMethod { name: method, value, .. } in &program.metadata {
        let number = match value {
            Returned::Int(number) => Value::Float(*number as f64),
            Returned::Double(number) => Value::Float(*number),
            Returned::Bool(bit) => Value::Float(f64::from(u8::from(*bit))),
            _ => Value::Null,
        };
        rows.add("metadata", name, [(*method).into(), serde_json::to_string(value).ok().into(), number]);
    }
    let graphs = opened.iter().zip(analysis.delegate_graphs());
    let of_delegate = graphs.flat_map(|payload| payload.0.delegates.iter().map(move |place| (*place, payload)));
    let of_delegate: HashMap<(usize, usize), (&OpenPayload<'_>, _)> = of_delegate.collect();
    // The first of several with one name and delegate.
    let known = program.payloads.iter().rev().map(|facts| ((facts.method, facts.delegate), facts));
    let known: HashMap<(&str, usize), _> = known.collect();
    for (at, plan) in pte.methods().iter().enumerate() {
        for (index, delegate) in plan.delegates().iter().enumerate() {
            let (payload, graph) = of_delegate.get(&(at, index)).copied().unzip();
            let owner = payload.and_then(|payload| payload.delegates.first()).copied();
            let owner = owner.and_then(|(method, delegate)| Some((pte.methods().get(method)?.name(), delegate)));
            let known = owner.and_then(|owner| known.get(&owner).copied());
            let graph = graph.and_then(|graph| graph.as_ref().ok()?.as_ref());
            let data = pte.delegate_data(delegate);
            let range = data.as_ref().ok().and_then(|data| pte.range(data));
            let error = match &data {
                Err(error) => Some(error.to_string()),
                Ok(_) => known.and_then(|facts| facts.summary.error.clone()),
            };
            for setting in CompileSetting::all(delegate) {
                let text = setting.text.map(|text| text.into_owned());
                let (method, backend, key) =
                    (plan.name().into(), delegate.id().into(), setting.key.into_owned().into());
                let row = [method, index.into(), backend, key, text.into(), setting.size.into()];
                rows.add("compile_specs", name, row);
            }
            let native_code = known.is_some_and(|facts| facts.summary.native_code);
            facts.native_code |= native_code;
            rows.add(
                "delegates",
                name,
                [
                    plan.name().into(),
                    index.into(),
                    delegate.id().into(),
                    known.and_then(|facts| facts.summary.kind).map(|kind| kind.to_string()).into(),
                    range.map(|range| range.start).into(),
                    data.ok().map(|data| data.size()).into(),
                    known.and_then(|facts| facts.device.accelerator).into(),
                    native_code.into(),
                    graph.map(|graph| graph.nodes.len()).into(),
                    error.into(),
                ],
            );
            if payload.and_then(|payload| payload.delegates.first()) == Some(&(at, index)) {
                let mut nodes = graph.map(DelegateGraph::count_nodes).unwrap_or_default();
                nodes.sort_unstable();
                for (node, count) in nodes {
                    let of = [plan.name().into(), index.into(), delegate.id().into(), node.into(), count.into()];
                    rows.add("nodes", name, of);
                }
            }
        }
    }
}

fn add_method(rows: &mut Rows, name: &str, method: &Method<'_>) {
    let calls = |kind: &str| method.instructions.by_kind.get(kind).copied().unwrap_or_default();
    rows.add(
        "methods",
        name,
        [
            method.name.into(),
            method.inputs.len().into(),
            method.outputs.len().into(),
            method.values.into(),
            method.instructions.total.into(),
            calls("KernelCall").into(),
            calls("DelegateCall").into(),
            method.delegates.iter().map(|backend| backend.delegates).sum::<usize>().into(),
            method.planned_memory.size.into(),
            method.method_allocator.known(PointerSize::Bits64, TempAllocator::Given).into(),
        ],
    );
    for operator in &method.operators {
        rows.add("operators", name, [method.name.into(), operator.name.clone().into(), operator.calls.into()]);
    }
    for (direction, values) in [("input", &method.inputs), ("output", &method.outputs)] {
        for (index, value) in values.iter().enumerate() {
            add_value(rows, name, method.name, direction, index, value);
        }
    }
}

fn add_value(rows: &mut Rows, name: &str, method: &str, direction: &str, index: usize, value: &MethodValue<'_>) {
    let tensor = value.tensor.as_ref();
    let sizes = tensor.map(|tensor| Value::Ints(tensor.sizes.iter().map(|size| i64::from(*size)).collect()));
    let order = tensor.map(|tensor| Value::Ints(tensor.dim_order.iter().map(|dim| i64::from(*dim)).collect()));
    rows.add(
        "inputs_outputs",
        name,
        [
            method.into(),
            direction.into(),
            index.into(),
            value.kind.into(),
            tensor.and_then(|tensor| tensor.name.as_deref()).into(),
            tensor.map(|tensor| tensor.scalar_type.to_string()).into(),
            sizes.unwrap_or(Value::Null),
            order.unwrap_or(Value::Null),
            tensor.map(|tensor| tensor.shape_dynamism.to_string()).into(),
            tensor.and_then(|tensor| tensor.shape().byte_size().ok()).into(),
        ],
    );
}

/// The keys of named data that payloads use, as far as these can be read.
#[derive(Default)]
struct Keys {
    used: HashSet<String>,
    /// `true` if all payloads could be read.
    all: bool,
}

impl Keys {
    fn of(analysis: &Analysis<'_>) -> Self {
        let mut keys = Self { all: true, ..Self::default() };
        if analysis.pte().named_data().is_empty() {
            return keys;
        }
        for opened in analysis.payloads() {
            match &opened.payload {
                Ok(Payload::Xnnpack(xnnpack)) => {
                    let named = xnnpack.constants().into_iter().filter_map(|constant| match constant.place {
                        ConstantPlace::Named { key, .. } => Some(key.to_owned()),
                        _ => None,
                    });
                    keys.used.extend(named);
                }
                _ => keys.all = false,
            }
        }
        keys
    }
}

fn add_blob(rows: &mut Rows, name: &str, blob: &Blob<'_>, hashes: &Hashes, keys: &Keys) {
    let first = blob.users.first();
    let key = blob.users.iter().find_map(|user| match user {
        BlobUser::Key { key, .. } | BlobUser::External { key, .. } => Some(*key),
        _ => None,
    });
    let value = match first {
        Some(BlobUser::Tensor { value, .. } | BlobUser::External { value, .. }) => Some(*value),
        _ => None,
    };
    let used = match (blob.kind, key) {
        (BlobKind::Named, Some(key)) if keys.used.contains(key) => Some(true),
        (BlobKind::Named, Some(_)) if keys.all => Some(false),
        _ => None,
    };
    let shape = blob.users.iter().find_map(BlobUser::shape);
    let named = blob.users.iter().find_map(|user| match user {
        BlobUser::Tensor { name, named_by, .. } | BlobUser::Key { name, named_by, .. } => {
            name.as_deref().zip(*named_by)
        }
        _ => None,
    });
    rows.add(
        "blobs",
        name,
        [
            word(blob.kind).into(),
            blob.offset.into(),
            blob.size.into(),
            range(blob).and_then(|range| hashes.get(&range)).map(|hash| hex(hash)).into(),
            blob.users.len().into(),
            first.and_then(BlobUser::method).into(),
            value.into(),
            key.into(),
            named.map(|(name, _)| name).into(),
            named.and_then(|(_, by)| word(by)).into(),
            shape.as_ref().map(|shape| shape.scalar_type.to_string()).into(),
            shape
                .as_ref()
                .map_or(Value::Null, |shape| Value::Ints(shape.sizes.iter().map(|size| i64::from(*size)).collect())),
            used.into(),
        ],
    );
}

/// Returns the string that a value is in JSON.
fn word(value: impl Serialize) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_owned)
}

fn range(blob: &Blob<'_>) -> Option<Range<u64>> {
    Some(blob.offset?..blob.offset?.checked_add(blob.size)?)
}

/// Returns a hash of the computations of methods, without weights.
fn program_hash(pte: &Pte<'_>, opened: &[OpenPayload<'_>]) -> Result<String> {
    let mut hash = HashWriter(Sha256::new());
    let failed = |error: serde_json::Error| Error::Failed(error.to_string());
    for plan in pte.methods() {
        serde_json::to_writer(&mut hash, &without_places(plan)).map_err(failed)?;
    }
    for OpenPayload { data, delegates, payload, .. } in opened {
        serde_json::to_writer(&mut hash, delegates).map_err(failed)?;
        match payload {
            Ok(Payload::Xnnpack(xnnpack)) => {
                let mut graph = xnnpack.graph.clone();
                for constant in graph.constant_data.iter_mut().flatten() {
                    (constant.offset, constant.named_key) = (0, None);
                }
                graph.constant_buffer = None;
                serde_json::to_writer(&mut hash, &graph).map_err(failed)?;
            }
            _ => serde_json::to_writer(&mut hash, &data.size()).map_err(failed)?,
        }
    }
    Ok(hex(&hash.0.finalize()))
}

/// Returns a method without the places of its data.
fn without_places<'a>(plan: &ExecutionPlan<'a>) -> ExecutionPlan<'a> {
    let mut plan = plan.clone();
    for value in plan.values.iter_mut().flatten() {
        if let KernelTypes::Tensor(tensor) = &mut value.val {
            tensor.data_buffer_idx = tensor.data_buffer_idx.min(1);
        }
    }
    for delegate in plan.delegates.iter_mut().flatten() {
        delegate.processed = None;
    }
    plan
}

struct HashWriter(Sha256);

impl io::Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
