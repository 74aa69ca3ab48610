//! Parts of a program's report, with names from the file itself and from matching ETRecords and state dicts.

use crate::file::File;
use crate::report::Times;
use crate::session::{Session, json};
use executorch_format::inspect::RunProfile;
use executorch_format::naming::NameSource;
use executorch_format::{Analysis, Model};
use serde::Serialize;

/// A part of the report about a program.
pub enum Part {
    /// The files with names, and whether they are used.
    Names,
    Size,
    /// The file's bytes by module.
    Modules,
    Memory,
    Weights,
    Graphs,
    Operators,
    Macs,
    Profile,
}

impl Part {
    /// Returns the part with that name.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "names" => Self::Names,
            "size" => Self::Size,
            "modules" => Self::Modules,
            "memory" => Self::Memory,
            "weights" => Self::Weights,
            "graphs" => Self::Graphs,
            "operators" => Self::Operators,
            "macs" => Self::Macs,
            "profile" => Self::Profile,
            _ => return None,
        })
    }
}

/// A file with names.
#[derive(Serialize)]
pub(crate) struct NameFile<'f> {
    file: &'f str,
    /// The reason why it is not used.
    error: Option<String>,
}

impl Session {
    /// Returns the files with names that match the roles of the files, and the names in them that can be read.
    fn name_sources(&self) -> Vec<(&File, Option<&'static NameSource<'static>>)> {
        let files = self.roles().names.into_iter().filter_map(|index| self.file(index).ok());
        files.map(|file| (file, file.names.as_ref().and_then(|names| names.as_ref().ok().copied()))).collect()
    }

    /// Opens a program of the page, with its `.ptd` files. Answers have names from the file itself and from other files that match it.
    pub(crate) fn open(&self, file: &File) -> Option<Analysis<'static>> {
        let Some(Model::Pte(pte)) = file.fixed else { return None };
        let data = self.roles().data.into_iter().filter_map(|index| match self.file(index).ok()?.fixed {
            Some(Model::Ptd(ptd)) => Some(ptd),
            _ => None,
        });
        let sources = self.name_sources().into_iter().filter_map(|(_, source)| source);
        Some(Analysis::new(pte).with_data(data).with_names(sources))
    }

    /// Returns the state of each file with names.
    fn name_files(&self, analysis: &Analysis<'_>) -> Vec<NameFile<'_>> {
        let (mut files, mut rejected) = (Vec::new(), analysis.names().rejected.iter().peekable());
        let mut used = 0..;
        for (file, source) in self.name_sources() {
            let error = match (&file.names, source) {
                (Some(Err(error)), _) => Some(error.clone()),
                // A file for another program has no names for this one.
                (_, Some(_)) => {
                    let index = used.next();
                    rejected.next_if(|(rejected, _)| Some(*rejected) == index).map(|(_, error)| error.to_string())
                }
                _ => None,
            };
            files.push(NameFile { file: &file.name, error });
        }
        files
    }

    pub(crate) fn named_part(&self, part: Part, analysis: &Analysis<'static>) -> Result<String, String> {
        let size = || analysis.size_report().map_err(|error| error.to_string());
        match part {
            Part::Names => json(&self.name_files(analysis)),
            Part::Size => json(&size()?),
            Part::Modules => {
                let mut modules = analysis.size_by_module(&size()?);
                modules.retain(|module| module.path.is_some());
                json(&modules)
            }
            Part::Memory => json(&analysis.memory()),
            Part::Weights => json(&analysis.weights()),
            Part::Graphs => json(&self.graphs(analysis)?),
            Part::Operators => json(&analysis.operators()),
            Part::Macs => json(&analysis.macs().summary()),
            Part::Profile => {
                let Some(etdp) = self.trace()? else { return Ok("null".into()) };
                let profile = etdp.profile(Some(analysis), None);
                let by_module = profile.runs.iter().map(RunProfile::by_module).collect();
                let mut times = Times::of(profile);
                times.by_module = by_module;
                json(&times)
            }
        }
    }
}
