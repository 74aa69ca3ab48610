//! The files on the page, and answers about them.

use crate::export::{Export, Form};
use crate::file::{File, Storage};
use crate::jobs::{Plain, Spread};
use crate::quantized::{Files, Quantized};
use crate::report;
use executorch_format::inspect::{DiffOptions, Drawing, Growth, Side, diff};
use executorch_format::verify::{Finding, Level, Releases, Target, releases_of_error};
use executorch_format::{Analysis, FileKind, Model, Ptd, Segment};
use serde::Serialize;
use std::cell::OnceCell;
use std::iter;

/// Formats an answer as JSON.
pub fn json(value: &(impl Serialize + ?Sized)) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}

/// The files that the page shows.
#[derive(Default)]
pub struct Session {
    files: Vec<File>,
    /// The program that the views show, with everything that was found in it; empty until it is needed.
    main: OnceCell<Option<Analysis<'static>>>,
}

/// The roles of the files, as indices in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Roles {
    /// The file that the views show: the first program, or the first file.
    pub main: usize,
    /// Other files of the same kind, which stand beside the shown one. The first of them is compared with it.
    pub others: Vec<usize>,
    /// The `.ptd` files for the programs.
    pub data: Vec<usize>,
    /// A trace of the program.
    pub trace: Option<usize>,
    /// ETRecords and state dicts, which have names for the program.
    pub names: Vec<usize>,
    /// Files that are not used, such as a second trace.
    pub unused: Vec<usize>,
}

/// A file that was added.
#[derive(Serialize)]
struct Opened<'f> {
    index: usize,
    file: &'f str,
    file_size: u64,
    kind: Option<String>,
    whole: bool,
    error: Option<Finding>,
}

/// The differences between two files.
#[derive(Serialize)]
struct Comparison<'d> {
    files: [&'d str; 2],
    sizes: [u64; 2],
    same: bool,
    diff: &'d executorch_format::inspect::Diff,
    growth: Vec<Growth<'d>>,
    /// `true` if both were read whole. Otherwise the bytes of weights were not compared.
    whole: bool,
}

impl Session {
    /// Adds a file, and returns its kind, or why it cannot be read, as JSON.
    pub fn add(&mut self, name: String, size: u64, storage: &(impl Storage + ?Sized)) -> Result<String, String> {
        self.files.push(File::open(name, size, storage)?);
        // The file may have another role than those before it.
        self.main.take();
        let index = self.files.len() - 1;
        let file = self.file(index)?;
        json(&Opened {
            index,
            file: &file.name,
            file_size: file.size,
            kind: file.kind.map(|kind| kind.to_string()),
            whole: file.whole,
            error: file.model.as_ref().err().map(Finding::from_error),
        })
    }

    pub(crate) fn file(&self, index: usize) -> Result<&File, String> {
        self.files.get(index).ok_or_else(|| format!("there is no file {index}"))
    }

    /// Returns the list of files, with their kinds.
    pub fn roles(&self) -> Roles {
        let program = self.files.iter().position(|file| matches!(file.kind, Some(FileKind::Pte | FileKind::Bpte)));
        let main = program.unwrap_or_default();
        let main_kind = self.files.get(main).and_then(|file| file.kind);
        let mut roles = Roles { main, ..Roles::default() };
        for (index, file) in self.files.iter().enumerate().filter(|(index, _)| *index != main) {
            match file.kind {
                Some(FileKind::Ptd) if program.is_some() => roles.data.push(index),
                Some(FileKind::Etdp) if program.is_some() && roles.trace.is_none() => roles.trace = Some(index),
                Some(FileKind::Pte | FileKind::Bpte) if program.is_some() => roles.others.push(index),
                None if program.is_some() && file.names.is_some() => roles.names.push(index),
                found if found == main_kind && found.is_some() => roles.others.push(index),
                _ => roles.unused.push(index),
            }
        }
        roles
    }

    /// Returns the `.ptd` files of the program that can be read, each with its index.
    fn data_files(&self) -> Vec<(usize, &Ptd<'static>)> {
        let data = self.roles().data.into_iter().filter_map(|index| Some((index, &self.files.get(index)?.model)));
        data.filter_map(|(index, model)| match model {
            Ok(Model::Ptd(ptd)) => Some((index, ptd)),
            _ => None,
        })
        .collect()
    }

    fn data(&self) -> Vec<&Ptd<'static>> {
        self.data_files().into_iter().map(|(_, ptd)| ptd).collect()
    }

    /// Returns the file that the views show.
    pub(crate) fn main(&self) -> Result<&File, String> {
        self.file(self.roles().main)
    }

    /// Returns a part of what the views show: `first`, `size`, `memory`, `operators`, `macs`, `findings`, `weights`, `graphs`, `releases`, `models`,
    /// `cases` or `profile`. Programs also have `names` and `modules`.
    pub fn part(&self, name: &str) -> Result<String, String> {
        let file = self.main()?;
        let model = match &file.model {
            Ok(model) => model,
            Err(error) => {
                return match name {
                    "first" => json(&report::Broken::of(file, error)),
                    "findings" => json(&[Finding::from_error(error)]),
                    "releases" => json(&releases_of_error(error)),
                    _ => Ok("null".into()),
                };
            }
        };
        let data = self.data();
        if let (Some(program), Some(part)) = (self.main.get_or_init(|| self.open(file)), crate::names::Part::of(name)) {
            return self.named_part(part, program);
        }
        match name {
            "first" => json(&report::First::of(file, model)),
            "size" => json(&model.size_report().ok()),
            "findings" => json(&self.findings(file, model, &data)),
            "weights" => json(&model.weights()),
            "releases" => json(&self.releases(model, &data)),
            "graphs" => Ok("[]".into()),
            "memory" | "names" | "modules" | "operators" | "macs" => Ok("null".into()),
            "models" => json(&self.models()?),
            "cases" => json(&file.bundle.as_ref().map(Model::summary)),
            "profile" => self.profile(model),
            _ => Err(format!("no part is called {name}")),
        }
    }

    fn findings(&self, file: &File, model: &Model<'static>, data: &[&Ptd<'static>]) -> Vec<report::Found> {
        // Also findings about a program together with its .ptd files, or about missing files.
        let check = file.bundle.as_ref().unwrap_or(model).check(Level::Strict, data);
        let mut found = report::found(check.findings, None);
        for index in self.roles().data {
            let Some(other) = self.files.get(index) else { continue };
            let findings = match &other.model {
                Ok(model) => model.verify(Level::Strict),
                Err(error) => vec![Finding::from_error(error)],
            };
            found.extend(report::found(findings, Some((index, &other.name))));
        }
        found
    }

    fn releases(&self, model: &Model<'static>, data: &[&Ptd<'static>]) -> Releases {
        let given = Some(data).filter(|data| !data.is_empty());
        model.releases(&Target::default(), given)
    }

    /// Returns the facts about each readable file of the shown one's kind, which the viewer shows beside each other.
    fn models(&self) -> Result<Vec<report::Beside<'_>>, String> {
        let (roles, data) = (self.roles(), self.data());
        let mut models = Vec::new();
        for index in iter::once(roles.main).chain(roles.others) {
            let file = self.file(index)?;
            let Ok(model) = &file.model else { continue };
            let other;
            let analysis = if index == roles.main {
                self.main.get_or_init(|| self.open(file)).as_ref()
            } else {
                other = self.open(file);
                other.as_ref()
            };
            let releases = self.releases(model, &data);
            models.push(report::Beside {
                file: &file.name,
                file_size: file.size,
                summary: model.summary(),
                verdict: releases.newest().cloned(),
                releases,
                macs: analysis.map_or_else(Vec::new, |analysis| analysis.macs().summary()),
            });
        }
        Ok(models)
    }

    /// Compares the main program with a device, a `Target` as JSON.
    #[cfg(feature = "fit")]
    pub fn fit(&self, target: &str) -> Result<String, String> {
        let target: Target = serde_json::from_str(target).map_err(|error| format!("target: {error}"))?;
        let program = self.main()?.program().ok_or("only a program can be compared with a device")?;
        let data = self.data();
        json(&Analysis::new(program).with_data(data).fit(&target))
    }

    /// Returns the trace, if there is one.
    pub(crate) fn trace(&self) -> Result<Option<&executorch_format::Etdp<'static>>, String> {
        let Some(index) = self.roles().trace else { return Ok(None) };
        match &self.file(index)?.model {
            Ok(Model::Etdp(etdp)) => Ok(Some(etdp)),
            Ok(other) => Err(format!("a {}, where a trace was expected", other.kind())),
            Err(error) => Err(format!("{}: {error}", self.file(index)?.name)),
        }
    }

    /// Returns the graphs of a program with the times of its trace.
    pub(crate) fn graphs(&self, analysis: &Analysis<'static>) -> Result<Vec<Drawing<'static>>, String> {
        let mut graphs = analysis.graphs();
        if let Some(etdp) = self.trace()? {
            let profile = etdp.profile(Some(analysis), None);
            if profile.errors.is_empty() {
                profile.add_times(&mut graphs);
            }
        }
        Ok(graphs.into_iter().map(Drawing::of).collect())
    }

    fn profile(&self, model: &Model<'static>) -> Result<String, String> {
        match model {
            Model::Etdp(etdp) => json(&report::Times::of(etdp.profile(None, None))),
            _ => Ok("null".into()),
        }
    }

    /// Returns the differences between the main file and the file to compare with.
    pub fn compare(&self) -> Result<String, String> {
        let roles = self.roles();
        let (left, right) =
            (self.main()?, self.file(*roles.others.first().ok_or("there is no second file to compare with")?)?);
        let opened = |file: &'_ File| file.model.clone().map_err(|error| format!("{}: {error}", file.name));
        let models = [opened(left)?, opened(right)?];
        let data: Vec<Ptd<'static>> = self.data().into_iter().cloned().collect();
        let [mut before, mut after] = models.each_ref().map(|model| Side::new(model, &data));
        let other = self.open(right);
        (before.names, after.names) = (
            self.main.get_or_init(|| self.open(left)).as_ref().map(Analysis::names),
            other.as_ref().map(Analysis::names),
        );
        let found = diff(&before, &after, &DiffOptions::default().with_tensors());
        let sizes = models.each_ref().map(|model| model.size_report());
        let growth = match &sizes {
            [Ok(before), Ok(after)] => before.growth(after),
            _ => Vec::new(),
        };
        json(&Comparison {
            files: [&left.name, &right.name],
            sizes: [left.size, right.size],
            same: found.is_same(),
            diff: &found,
            growth,
            whole: left.whole && right.whole,
        })
    }

    /// Returns the node at a path of a file's tree. With `of_bundle`, it is the tree of the bundle instead of the program inside.
    pub fn branch(&self, index: usize, path: &str, first: usize, of_bundle: bool) -> Result<String, String> {
        let file = self.file(index)?;
        let model = match (&file.bundle, &file.model) {
            (Some(bundle), _) if of_bundle => bundle,
            (_, Ok(model)) => model,
            (_, Err(error)) => return Err(error.to_string()),
        };
        json(&model.branch(path, first, 200).map_err(|error| error.to_string())?)
    }

    /// Starts a histogram of the tensor whose bytes start at `offset` of a file.
    pub fn spread(&self, index: usize, offset: u64) -> Result<Spread, String> {
        let file = self.file(index)?;
        let quantized = match self.program() {
            Some(files) => Quantized::of(&files, (index, file.start() + offset))?,
            None => None,
        };
        match quantized {
            Some(quantized) => Ok(Spread::Quantized(quantized)),
            None => Plain::of(file, index, offset).map(Spread::Plain),
        }
    }

    /// Returns the program with its `.ptd` files.
    fn program(&self) -> Option<Files<'_>> {
        let main = self.main().ok()?;
        Some(Files { pte: main.program()?, index: self.roles().main, start: main.start(), data: self.data_files() })
    }

    /// Returns the histogram as JSON, after all its bytes were added, or `null` without values to count.
    pub fn spread_out(&mut self, spread: Spread) -> Result<String, String> {
        let mut quantized = match spread {
            Spread::Plain(plain) => return json(&plain.histogram()),
            Spread::Quantized(quantized) => quantized,
        };
        self.each_segments(|index, segments| quantized.fill(index, segments));
        let histogram = self.program().and_then(|files| quantized.histogram(&files));
        self.each_segments(|index, segments| quantized.clear(index, segments));
        json(&histogram)
    }

    fn each_segments(&mut self, mut act: impl FnMut(usize, &mut [Segment<'static>])) {
        for (index, file) in self.files.iter_mut().enumerate() {
            match &mut file.model {
                Ok(Model::Pte(pte)) => act(index, &mut pte.segments),
                Ok(Model::Ptd(ptd)) => act(index, &mut ptd.segments),
                _ => {}
            }
        }
    }

    /// Starts to export a tensor.
    pub fn export(&self, index: usize, offset: u64, size: u64, form: Form) -> Result<Export, String> {
        Export::of(self.file(index)?, offset, size, form)
    }
}
