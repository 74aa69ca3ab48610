//! Target files, which describe a device, and their comparison with the needs of a model.

use crate::context::Context;
use crate::failure::Failure;
use crate::near::Names;
use crate::open::read_settings;
use crate::text;
use executorch_format::schema::ScalarType;
use executorch_format::verify::{Fit, Library, Missing, Release, Target};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

/// Runtimes with a name, and the kernel libraries and backends of each.
const RUNTIMES: [Runtime; 9] = [
    Runtime { name: "official", libraries: None, backends: None, ..Runtime::PLAIN },
    Runtime { name: "portable", libraries: Some(&[Library::Portable]), ..Runtime::PLAIN },
    Runtime {
        name: "xnnpack",
        libraries: Some(&[Library::Portable]),
        backends: Some(&["XnnpackBackend"]),
        ..Runtime::PLAIN
    },
    Runtime {
        name: "optimized",
        libraries: Some(&[Library::Portable, Library::Optimized]),
        backends: Some(&["XnnpackBackend"]),
        ..Runtime::PLAIN
    },
    // `tools/cmake/preset/android.cmake` and `scripts/build_android_library.sh` of 1.5: Vulkan, QNN and Neuron are off by default.
    Runtime {
        name: "android",
        libraries: Some(MOBILE),
        backends: Some(&["XnnpackBackend"]),
        operators: LLM,
        ..Runtime::PLAIN
    },
    // The frameworks of `scripts/build_apple_frameworks.sh` of 1.5.
    Runtime {
        name: "ios",
        libraries: Some(MOBILE),
        backends: Some(&["CoreMLBackend", "MPSBackend", "XnnpackBackend"]),
        operators: LLM,
        ..Runtime::PLAIN
    },
    // `tools/cmake/preset/arm_baremetal.cmake` of 1.5. The runner in `examples/arm` has a temporary allocator.
    Runtime { name: "cortex-m55", libraries: Some(CORTEX_M), bare_metal: true, ..Runtime::PLAIN },
    // The same build links `backends/arm/runtime/EthosUBackend.cpp`.
    Runtime {
        name: "cortex-m85+ethos-u55",
        libraries: Some(CORTEX_M),
        backends: Some(&["EthosUBackend"]),
        accelerator: Some("ethos-u55"),
        bare_metal: true,
        ..Runtime::PLAIN
    },
    // The wheel of 1.5.1 for Linux registers OpenVINO, QNN and XNNPACK; `tools/cmake/preset/pybind.cmake` adds the others on macOS.
    Runtime {
        name: "python",
        libraries: Some(&[Library::PythonWheel]),
        backends: Some(&["CoreMLBackend", "MLXBackend", "OpenvinoBackend", "QnnBackend", "XnnpackBackend"]),
        ..Runtime::PLAIN
    },
];

const MOBILE: &[Library] = &[Library::Portable, Library::Optimized, Library::Quantized];

const CORTEX_M: &[Library] = &[Library::Portable, Library::Quantized, Library::CortexM];

/// The kernels for language models, which are in no [`Library`] (`extension/llm/custom_ops`).
const LLM: &[&str] = &[
    "llama::custom_quantized_sdpa.out",
    "llama::custom_sdpa.out",
    "llama::fast_hadamard_transform.out",
    "llama::sdpa_with_kv_cache.out",
    "llama::update_cache.out",
    "llama::update_cache_with_indices.out",
];

struct Runtime {
    name: &'static str,
    /// `None`: all libraries of ExecuTorch.
    libraries: Option<&'static [Library]>,
    backends: Option<&'static [&'static str]>,
    /// Kernels in no library.
    operators: &'static [&'static str],
    accelerator: Option<&'static str>,
    /// `true` for pointers of 32 bits and a temporary allocator.
    bare_metal: bool,
}

impl Runtime {
    const PLAIN: Self =
        Self { name: "", libraries: None, backends: Some(&[]), operators: &[], accelerator: None, bare_metal: false };

    fn target(&self, release: Release) -> Target {
        let owned = |name: &&str| (*name).to_owned();
        let operators = self.operators.iter().map(|name| (owned(name), Vec::new())).collect::<BTreeMap<_, _>>();
        Target::default()
            .with_runtime(Some(release))
            .with_libraries(self.libraries.map(<[Library]>::to_vec))
            .with_backends(self.backends.map(|backends| backends.iter().map(owned).collect()))
            .with_operators((!operators.is_empty()).then_some(operators))
            .with_accelerator(self.accelerator.map(str::to_owned))
            .with_pointer_bits(self.bare_metal.then_some(32))
            .with_temp_allocator(self.bare_metal.then_some(true))
    }
}

/// Returns the target of a runtime's name. Fails for anything else.
pub fn preset(context: &Context, path: &Path) -> Result<Target, Failure> {
    named(context, path).unwrap_or_else(|| Err(unknown(path, "runtime")))
}

/// Returns a runtime by its name and release, such as `portable-1.0`, or `portable` for the newest; `None` if there is no such runtime.
fn named(context: &Context, path: &Path) -> Option<Result<Target, Failure>> {
    let find = |name: &str| RUNTIMES.iter().find(|runtime| runtime.name == name);
    let text = path.to_str()?;
    let (runtime, release) = match (find(text), text.rsplit_once('-')) {
        (Some(runtime), _) => {
            context.say(format_args!("{text} is {text}-{}, the newest release", Release::LATEST));
            (runtime, Ok(Release::LATEST))
        }
        (None, Some((name, release))) => (find(name)?, release.parse::<Release>()),
        (None, None) => return None,
    };
    let release = release.map_err(|error| Failure::Usage(error.to_string()));
    Some(release.map(|release| runtime.target(release)))
}

/// Returns the failure for a name that is not known, with similar names.
fn unknown(path: &Path, expected: &str) -> Failure {
    // If a release was given, only names with that release are suggested.
    let release = path.to_str().and_then(|name| name.rsplit_once('-')?.1.parse().ok()).unwrap_or(Release::LATEST);
    let names = RUNTIMES.iter().map(|Runtime { name, .. }| format!("{name}-{release}")).collect::<Vec<_>>();
    let hint = names.iter().map(String::as_str).collect::<Names>().hint(&path.to_string_lossy());
    Failure::Usage(format!("no {expected} {}, {hint}", text::quoted(&path.to_string_lossy())))
}

/// Returns the names of known runtimes, without a release.
pub fn names() -> impl Iterator<Item = &'static str> {
    RUNTIMES.iter().map(|runtime| runtime.name)
}

/// Reads a target file, as YAML if it has that extension, else as TOML. Also takes the name of a known runtime.
pub fn read(context: &Context, path: &Path) -> Result<Target, Failure> {
    if let Some(target) = named(context, path).filter(|_| !path.exists()) {
        return target;
    }
    let has_ending =
        path.extension().is_some_and(|ending| ["toml", "yaml", "yml"].iter().any(|known| ending == *known));
    if !path.exists() && !has_ending && path.components().count() == 1 {
        return Err(unknown(path, "target file or runtime"));
    }
    let text = read_settings(path)?;
    let mut target = match path.extension().and_then(|ending| ending.to_str()) {
        Some("yaml" | "yml") => selective_build(path, &text)?,
        _ => toml::from_str(&text).map_err(|error| Failure::usage_of(path, &error))?,
    };
    // A target without settings would accept every model.
    if target == Target::default() {
        let expected =
            "the target is empty: expected settings, such as runtime = \"1.5\" (`pte fit --help` lists them)";
        return Err(Failure::usage_of(path, &expected));
    }
    target.check().map_err(|error| Failure::usage_of(path, &error))?;
    if target.runtime.is_some() && target.libraries.is_none() && target.operators.is_none() {
        target.libraries = Some(vec![Library::Portable]);
    }
    Ok(target)
}

/// The file that ExecuTorch's selective build reads, with two additional keys: `scalar_types` and `backends`.
#[derive(Deserialize)]
struct SelectiveBuild {
    #[serde(default)]
    include_all_operators: bool,
    operators: Option<OperatorNames>,
    #[serde(default)]
    et_kernel_metadata: BTreeMap<String, Vec<String>>,
    scalar_types: Option<Vec<String>>,
    backends: Option<BTreeSet<String>>,
}

/// A list of names, or a map from names to settings.
#[derive(Deserialize)]
#[serde(untagged)]
enum OperatorNames {
    List(Vec<String>),
    Map(BTreeMap<String, yaml_serde::Value>),
}

/// The maximum depth of nested flow collections in YAML, as in its deserializer. The time of its scanner grows with the square of the depth.
const DEEPEST: usize = 128;

/// Fails if flow collections are nested deeper than [`DEEPEST`]. Brackets in strings and comments count, too.
fn check_depth(path: &Path, text: &str) -> Result<(), Failure> {
    let mut depth = 0usize;
    for (line, text) in (1..).zip(text.lines()) {
        for byte in text.bytes() {
            match byte {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > DEEPEST {
                let fault = format!("more than {DEEPEST} brackets are open in line {line}: expected lists of names");
                return Err(Failure::usage_of(path, &fault));
            }
        }
    }
    Ok(())
}

fn selective_build(path: &Path, text: &str) -> Result<Target, Failure> {
    check_depth(path, text)?;
    let file: SelectiveBuild = yaml_serde::from_str(text).map_err(|error| Failure::usage_of(path, &error))?;
    // `f32` and `FLOAT` are the same.
    let long = |name: String| ScalarType::from_short_name(&name).map_or(name, |found| found.to_string());
    let scalar_types = file.scalar_types.map(|names| names.into_iter().map(long).collect());
    let any = file.operators.is_some() || !file.et_kernel_metadata.is_empty();
    let named = match file.operators {
        Some(OperatorNames::List(names)) => names,
        Some(OperatorNames::Map(operators)) => operators.into_keys().collect(),
        None => Vec::new(),
    };
    let mut operators: BTreeMap<_, _> = named.into_iter().map(|name| (name, Vec::new())).collect();
    operators.extend(file.et_kernel_metadata);
    // Without a list, no operator is linked; but a file without any setting is a mistake.
    if !any && !file.include_all_operators && scalar_types.is_none() && file.backends.is_none() {
        return Ok(Target::default());
    }
    let mut target =
        Target::default().with_operators(Some(operators)).with_scalar_types(scalar_types).with_backends(file.backends);
    target.all_operators = file.include_all_operators;
    Ok(target)
}

/// Prints the needs of a model that the target lacks, and those that could not be checked.
pub fn print(context: &Context, path: &Path, target: &Target, check: &Fit) -> Result<(), Failure> {
    let Fit { missing, unknown, kernels, .. } = check;
    if missing.is_empty() && unknown.is_empty() && context.quiet {
        return Ok(());
    }
    let mut out = context.plain_out();
    let mut verdict = match missing.len() {
        0 => "nothing is missing".to_owned(),
        many => format!("{} missing", text::count(many, "thing")),
    };
    if !unknown.is_empty() {
        verdict += &format!(", {} not known", text::count(unknown.len(), "thing"));
    }
    writeln!(out, "{}: {verdict}", text::path(path))?;
    for lack in missing {
        writeln!(out, "  {}{}", text::message(&lack.to_string()), near(lack, target))?;
    }
    for unknown in unknown {
        writeln!(out, "  not known: {}", text::message(&unknown.to_string()))?;
    }
    for kernels in kernels {
        writeln!(out, "  needs kernels of {}", text::message(&kernels.to_string()))?;
    }
    Ok(out.flush()?)
}

/// Returns names of the target that are similar to a missing one, in case the target file has a typing error.
fn near(lack: &Missing, target: &Target) -> String {
    let (wanted, mut there): (_, Names) = match lack {
        Missing::Operator { operator, .. } => {
            (operator, target.operators.iter().flatten().map(|(name, _)| name.as_str()).collect())
        }
        Missing::Backend { backend, .. } => (backend, target.backends.iter().flatten().map(String::as_str).collect()),
        _ => return String::new(),
    };
    // Many operators have similar names: only those that differ by a letter or two are suggested.
    let near = there.near(wanted).into_iter().find(|name| strsim::levenshtein(name, wanted) <= 2);
    near.map(|name| format!("; the target has {}", text::quoted(&name))).unwrap_or_default()
}
