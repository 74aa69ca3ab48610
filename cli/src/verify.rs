//! `pte verify`: checks files, and reports each fault with its place.

pub mod output;
pub mod page;
pub mod runtimes;
mod sarif;

use crate::context::Context;
use crate::data::{Data, folder, is_data};
use crate::failure::Failure;
use crate::files::{FilePath, batches, iter};
use crate::near::Names;
use crate::open::Input;
use crate::remote::{self, Need};
use crate::save::OutputArguments;
use crate::{json, parallel, policy, text};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use executorch_format::verify::{Check, History, Level, Library, Policy, RULES, Release, Rule};
use output::{Form, Output};
use serde::Serialize;
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Check files: their structure, what the official runtime refuses, and what it should check but does not
///
/// The .pte files take external data from the .ptd files that are named with them, or, with --recursive, from those in the same folder.
///
/// Inside delegates, XNNPACK's payloads are checked; payloads of other backends are at most checked for completeness.
#[derive(clap::Args)]
#[command(after_help = "Levels; each includes the levels before it:
  structure  offsets, vtables, vectors, strings, unions and the headers
  runtime    faults for which ExecuTorch 1.5 refuses the file or its methods
  strict     faults that it should check for but does not

Examples:
  pte verify model.pte weights.ptd
  pte verify --level runtime --recursive models/
  pte verify --deny warnings --allow trailing-bytes model.pte
  pte verify --policy policy.toml --format sarif -r models/ -o findings.sarif
  pte verify --runtime 1.2.. --libraries portable,quantized model.pte
  pte verify --explain tensor-rank
  pte verify --explain aten::cat.out
  pte verify --explain CVE-2025-30404

A policy file: level = \"strict\", deny = [\"warnings\"], allow = [\"trailing-bytes\"], each on a line of its own; its table [diff] is for `pte diff`.

Exit codes: 0 no errors (there may be warnings), 1 an error was found, 2 wrong usage, or a file cannot be read.")]
pub struct Arguments {
    /// .pte, .ptd, .bpte and .etdp files, and XNNPACK payloads cut out of a .pte; - is standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["rules", "explain"])]
    files: Vec<PathBuf>,
    /// Take every .pte and .ptd file in folders and the folders in them
    #[arg(short, long)]
    recursive: bool,
    /// A .ptd file that the .pte files take external data from; it is checked too
    #[arg(long, value_name = "X.ptd")]
    data: Vec<PathBuf>,
    /// The level of checks [default: strict]
    #[arg(long, value_parser = levels())]
    level: Option<Level>,
    /// Instead, print what these releases of ExecuTorch do with the files: 0.7, 0.7..1.2, oldest..1.0, all; judged by the format, the
    /// operators of kernel libraries, and the contents of XNNPACK's payloads
    #[arg(long, value_name = "RELEASES", value_delimiter = ',', value_parser = runtimes::span, conflicts_with_all = ["level", "deny", "allow", "policy"])]
    runtime: Vec<runtimes::Span>,
    /// The kernel libraries that are linked: portable, optimized, quantized, cortex_m, llm, cadence, python-wheel [default: those that
    /// the file needs, which are named]
    #[arg(long, value_name = "LIBRARIES", value_delimiter = ',', requires = "runtime")]
    libraries: Vec<Library>,
    /// Report violations of the rule as errors; `warnings` means all rules that are warnings
    #[arg(long, value_name = "RULE")]
    deny: Vec<String>,
    /// Do not report violations of the rule
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,
    /// A TOML file with level, deny and allow, to which the options add
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// The format of the output; sarif is for code scanning
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,
    #[command(flatten)]
    json: json::JsonArguments,
    /// List every rule, with its level and what it protects from
    #[arg(long, conflicts_with_all = ["files", "data", "level", "deny", "allow", "policy", "format"])]
    rules: bool,
    /// Describe a rule, a CVE, a reason that a release does not load a file, or the checks of an operator: aten::cat.out
    #[arg(long, value_name = "RULE", conflicts_with_all = ["files", "rules"])]
    explain: Option<String>,
    #[command(flatten)]
    output: OutputArguments,
}

fn levels() -> impl TypedValueParser<Value = Level> {
    PossibleValuesParser::new(Level::ALL.iter().map(|level| level.name())).try_map(|name| name.parse::<Level>())
}

/// Every rule, as JSON.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Rules {
    rules: Vec<RuleEntry>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct RuleEntry {
    #[serde(flatten)]
    rule: &'static Rule,
    /// The first release of ExecuTorch that refuses a violation.
    refused_since: Option<Release>,
    /// The tested behaviour of each release.
    histories: Vec<&'static History>,
}

/// Checks files. Reports each as soon as it is checked.
pub fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    arguments.output.only_with(arguments.form() == Form::Sarif, "--format sarif")?;
    if arguments.rules {
        return rules(context, &arguments.json);
    }
    if let Some(name) = &arguments.explain {
        let page = page::explain(name).ok_or_else(|| {
            let hint = page::names().collect::<Names>().hint(name);
            let rules = "`pte verify --rules` lists rules, docs/releases.md the other reasons";
            Failure::Usage(format!("no rule, CVE or reason {}, {hint} ({rules})", text::quoted(name)))
        })?;
        return Ok(write!(io::stdout(), "{name}\n\n{page}")?);
    }
    let files = || iter(context, &arguments.data, false).chain(iter(context, &arguments.files, arguments.recursive));
    if !arguments.runtime.is_empty() {
        return runtimes::run(context, files, &arguments.runtime, &arguments.libraries, arguments.form());
    }
    let policy = chosen(arguments)?;
    // Rules of the strict level read the whole file.
    let need = if policy.level >= Level::Strict { Need::All } else { Need::Scales };
    // The files are listed twice, so that only those with data are in memory.
    let kept = files().filter_map(|file| file.map(|file| Some((kept(context, &file.path)?, file))).transpose());
    let kept: Vec<(Opened, FilePath)> = kept.collect::<Result<_, _>>()?;
    // For a file given twice, the first entry is used: a pipe is empty when it is opened again.
    let by_path: HashMap<&Path, &Opened> = kept.iter().rev().map(|(opened, file)| (&*file.path, opened)).collect();
    let data: Vec<_> = kept.iter().filter_map(|(opened, file)| Data::of(file, opened.as_ref().ok()?)).collect();
    let mut output = Output::start(context, arguments.form(), policy.level);
    let mut unreadable = 0;
    let judge = |FilePath { path, found }: &FilePath| -> Result<Check, Arc<Failure>> {
        let late;
        let input = match by_path.get(&**path) {
            Some(kept) => kept.as_ref().map_err(Arc::clone)?,
            None => {
                late = Input::open_for(context, path, need)?;
                &late
            }
        };
        let folder = found.then(|| folder(path));
        let serving = data.iter().filter(|data| data.folder.is_none() || data.folder == folder);
        let serving: Vec<_> = serving.map(|data| &data.ptd).collect();
        let mut check = match input.model() {
            Ok(model) => model.check(policy.level, &serving),
            Err(error) => Check::of_error(&error),
        };
        check.findings = policy.judge(check.findings);
        Ok(check)
    };
    for (batch, failed) in batches(files()) {
        parallel::in_order(&batch, judge, |FilePath { path, .. }, result| match result {
            Ok(check) => {
                let printed = output.file(context, path, &check);
                printed.map_err(|failure| failure.or_found(u8::from(output.errors() > 0).max(unreadable)))
            }
            Err(failure) => {
                failure.report();
                unreadable = unreadable.max(failure.code());
                output.failed(path, &failure)
            }
        })?;
        if let Some((path, failure)) = failed {
            failure.report();
            unreadable = unreadable.max(failure.code());
            output.failed(&path, &failure)?;
        }
    }
    let code = u8::from(output.end(context, &arguments.output)? > 0).max(unreadable);
    if code == 0 { Ok(()) } else { Err(Failure::Reported(code)) }
}

/// A file, or the reason why it cannot be opened.
type Opened = Result<Input, Arc<Failure>>;

/// Opens a file that stays open: one with data for programs, or a pipe, which can be read only once. The others are opened when they are
/// checked, because the number of open files is limited, and because the bytes of a file in a store are in memory.
fn kept(context: &Context, path: &Path) -> Option<Opened> {
    let opens_again = path.is_file() || remote::url(path).is_some();
    (!opens_again || is_data(path)).then(|| Input::open(context, path).map_err(Arc::new))
}

impl Arguments {
    /// Returns the format of the output. `--json` and `--jsonl` are short for two of them.
    fn form(&self) -> Form {
        match (self.json.json, self.json.jsonl) {
            (true, _) => Form::Json,
            (_, true) => Form::Jsonl,
            _ => self.format,
        }
    }
}

/// Returns the settings of the policy file, changed by those of the options.
fn chosen(arguments: &Arguments) -> Result<Policy, Failure> {
    let mut policy = match &arguments.policy {
        Some(path) => policy::read(path)?.0,
        None => Policy::default(),
    };
    policy.level = arguments.level.unwrap_or(policy.level);
    policy.deny.extend_from_slice(&arguments.deny);
    policy.allow.extend_from_slice(&arguments.allow);
    let known = |name: &&String| RULES.iter().any(|rule| rule.name == name.as_str());
    let denied = policy.deny.iter().filter(|name| *name != Policy::WARNINGS);
    if let Some(unknown) = denied.chain(&policy.allow).find(|name| !known(name)) {
        return Err(no_rule(unknown));
    }
    Ok(policy)
}

fn no_rule(name: &str) -> Failure {
    let hint = RULES.iter().map(|rule| rule.name).chain([Policy::WARNINGS]).collect::<Names>().hint(name);
    Failure::Usage(format!("no rule {}, {hint} (`pte verify --rules` lists all)", text::quoted(name)))
}

fn rules(context: &Context, form: &json::JsonArguments) -> Result<(), Failure> {
    if form.any() {
        let entry = |rule: &&'static Rule| RuleEntry {
            rule,
            refused_since: rule.refused_since(),
            histories: rule.histories().collect(),
        };
        return json::print(context, &Rules { rules: RULES.iter().map(entry).collect() }, form);
    }
    let mut out = context.plain_out();
    let width = RULES.iter().map(|rule| rule.name.len()).max().unwrap_or(0);
    for rule in RULES {
        write!(out, "{:9}  {:7}  {:width$}  {}", rule.level, rule.severity, rule.name, rule.protects_from)?;
        match (rule.cve, rule.refused_since()) {
            (Some(cve), Some(since)) => writeln!(out, " ({cve}, refused since ExecuTorch {since})")?,
            (Some(cve), None) => writeln!(out, " ({cve})")?,
            (None, _) => writeln!(out)?,
        }
    }
    Ok(out.flush()?)
}
