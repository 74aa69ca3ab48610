//! `pte verify --runtime`: the behaviour of releases of ExecuTorch with files.

use super::output::Form;
use crate::context::Context;
use crate::data::{DataFiles, serving};
use crate::failure::{Failure, note};
use crate::files::{FilePath, batches};
use crate::open::Input;
use crate::remote::Need;
use crate::{json, parallel, text};
use executorch_format::verify::{Behaviour, Library, Outcome, Release, ReleaseVerdict, Target, releases_of_error};
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// Some releases: one, or a range.
#[derive(Clone, Copy)]
pub struct Span {
    first: Release,
    last: Release,
}

impl Span {
    fn holds(&self, release: Release) -> bool {
        (self.first..=self.last).contains(&release)
    }
}

/// Reads `0.7`, `0.7..1.2`, `0.7..`, `oldest..1.2`, `all`.
pub fn span(text: &str) -> Result<Span, String> {
    let [oldest, .., newest] = Release::ALL;
    let one = |text: &str| match text {
        "oldest" => Ok(oldest),
        "newest" => Ok(newest),
        _ => text.parse::<Release>().map_err(|error| error.to_string()),
    };
    match (text, text.split_once("..")) {
        ("all", _) => Ok(Span { first: oldest, last: newest }),
        (_, Some((first, last))) => {
            let first = one(if first.is_empty() { "oldest" } else { first })?;
            let last = one(if last.is_empty() { "newest" } else { last })?;
            if first > last { Err(format!("{first} is newer than {last}")) } else { Ok(Span { first, last }) }
        }
        _ => one(text).map(|release| Span { first: release, last: release }),
    }
}

/// The behaviour of releases with a file, as JSON.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FileReleases {
    file: String,
    /// `true` if each of them loads it, and as far as is known runs it.
    ok: bool,
    releases: Vec<ReleaseVerdict>,
    errors: json::None,
}

/// Prints what each release does with each file. Fails if a release does not run a file as it should.
pub fn run<Files: Iterator<Item = Result<FilePath, Failure>>>(
    context: &Context,
    files: impl Fn() -> Files,
    spans: &[Span],
    libraries: &[Library],
    form: Form,
) -> Result<(), Failure> {
    if form == Form::Sarif {
        return Err(Failure::Usage("--runtime prints no SARIF".to_owned()));
    }
    let mut documents = (form != Form::Text).then(|| json::Files::new(context, form == Form::Jsonl));
    let target = Target::default().with_libraries((!libraries.is_empty()).then(|| libraries.to_vec()));
    let opened = DataFiles::open(context, files().flatten());
    let data = opened.parse();
    let mut code = 0;
    let verdicts = |FilePath { path, .. }: &FilePath| -> Result<Vec<ReleaseVerdict>, Failure> {
        let input = Input::open_for(context, path, Need::Scales)?;
        let ptds = serving(&data, path);
        let mut verdicts = match input.model() {
            Ok(model) => model.releases(&target, Some(&ptds)).releases,
            Err(error) => releases_of_error(&error).releases,
        };
        verdicts.retain(|verdict| spans.iter().any(|span| span.holds(verdict.release)));
        Ok(verdicts)
    };
    for (batch, failed) in batches(files()) {
        parallel::in_order(&batch, verdicts, |FilePath { path, .. }, result| match result {
            Ok(chosen) => {
                let fails = |verdict: &ReleaseVerdict| verdict.verdict.outcome.is_bad();
                let loads = |verdict: &ReleaseVerdict| verdict.behaviour == Behaviour::Loads;
                code = code.max(chosen.iter().any(fails).into());
                match &mut documents {
                    Some(documents) => documents.add(&FileReleases {
                        file: path.display().to_string(),
                        ok: chosen.iter().all(|verdict| loads(verdict) && !fails(verdict)),
                        releases: chosen,
                        errors: [],
                    }),
                    None => lines(context, path, &chosen),
                }
            }
            Err(failure) => note(path, Err(failure), documents.as_mut(), &mut code),
        })?;
        if let Some((path, failure)) = failed {
            note(&path, Err(failure), documents.as_mut(), &mut code)?;
        }
    }
    documents.map_or(Ok(()), json::Files::end)?;
    if code == 0 { Ok(()) } else { Err(Failure::Reported(code)) }
}

/// Prints one line for all releases that do the same for the same reason.
fn lines(context: &Context, path: &Path, verdicts: &[ReleaseVerdict]) -> Result<(), Failure> {
    let mut out = context.plain_out();
    let is_plain = |verdict: &ReleaseVerdict| verdict.kernels.is_empty() && verdict.verdict.outcome == Outcome::Runs;
    let said = |verdict: &&ReleaseVerdict| !context.quiet || !is_plain(verdict);
    if verdicts.iter().any(|verdict| said(&verdict)) {
        writeln!(out, "{}:", text::path(path))?;
    }
    let texts = verdicts.iter().filter(said).map(|verdict| {
        let text = verdict.to_string();
        (verdict.release, text.split_once(' ').map(|(_, text)| text.to_owned()).unwrap_or_default())
    });
    for (releases, text) in grouped(texts, verdicts) {
        writeln!(out, "  {releases} {}", text::message(&text))?;
    }
    Ok(out.flush()?)
}

/// Returns the releases of each text, such as `0.2, 0.4..0.7`, in order of first appearance. A range has no release with another text.
fn grouped(texts: impl Iterator<Item = (Release, String)>, all: &[ReleaseVerdict]) -> Vec<(String, String)> {
    let mut groups: Vec<(Vec<[Release; 2]>, String)> = Vec::new();
    let follows = |last: Release, next: Release| {
        all.windows(2).any(|pair| matches!(pair, [before, after] if before.release == last && after.release == next))
    };
    for (release, text) in texts {
        match groups.iter_mut().find(|(_, other)| *other == text) {
            None => groups.push((vec![[release; 2]], text)),
            Some((ranges, _)) => match ranges.last_mut() {
                Some([_, last]) if follows(*last, release) => *last = release,
                _ => ranges.push([release; 2]),
            },
        }
    }
    let range = |[first, last]: &[Release; 2]| match first == last {
        true => first.to_string(),
        false => format!("{first}..{last}"),
    };
    let name = |ranges: Vec<[Release; 2]>| ranges.iter().map(range).collect::<Vec<_>>().join(", ");
    groups.into_iter().map(|(ranges, text)| (name(ranges), text)).collect()
}
