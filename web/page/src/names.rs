//! Parts of a program's report with names: from the file itself, and from matching ETRecords and state dicts.

use crate::report::Times;
use crate::session::{Session, json};
use executorch_format::naming::{NameSource, Names};
use executorch_format::{Analysis, Model, Ptd, Pte};
use serde::Serialize;

/// A part of the report that contains names.
pub enum Part {
    /// The files with names, and whether they are used.
    Names,
    Size,
    /// The file's bytes by module.
    Modules,
    Memory,
    Weights,
    Graphs,
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
    /// Collects the names of a program from the file itself and from other files that match it, and returns the state of each such file.
    pub(crate) fn name_sources(
        &self,
        analysis: &Analysis<'_>,
    ) -> Result<(Vec<NameSource<'static>>, Vec<NameFile<'_>>), String> {
        let (mut sources, mut files) = (Vec::new(), Vec::new());
        for index in self.roles().names {
            let file = self.file(index)?;
            let error = match &file.names {
                // A file for another program has no names for this one.
                Some(Ok(source)) => match Names::new(analysis, std::slice::from_ref(source)) {
                    Ok(_) => {
                        sources.push(source.clone());
                        None
                    }
                    Err(error) => Some(error.to_string()),
                },
                Some(Err(error)) => Some(error.clone()),
                None => None,
            };
            files.push(NameFile { file: &file.name, error });
        }
        Ok((sources, files))
    }

    /// Returns the files with names that match a model.
    pub(crate) fn sources_of(&self, model: &Model<'static>) -> Result<Vec<NameSource<'static>>, String> {
        match model {
            Model::Pte(pte) => Ok(self.name_sources(&Analysis::new(pte))?.0),
            _ => Ok(Vec::new()),
        }
    }

    pub(crate) fn named_part(&self, part: Part, pte: &Pte<'static>, data: &[&Ptd<'static>]) -> Result<String, String> {
        let analysis = Analysis::new(pte).with_data(data.iter().copied());
        let (sources, files) = self.name_sources(&analysis)?;
        let names = Names::new(&analysis, &sources).map_err(|error| error.to_string())?;
        match part {
            Part::Names => json(&files),
            Part::Size => {
                let mut size = analysis.size_report().map_err(|error| error.to_string())?;
                names.add_to_size_report(pte, &mut size);
                json(&size)
            }
            Part::Modules => {
                let size = analysis.size_report().map_err(|error| error.to_string())?;
                let mut modules = names.size_by_module(&analysis, &size);
                modules.retain(|module| module.path.is_some());
                json(&modules)
            }
            Part::Memory => {
                let mut memory = analysis.memory();
                names.add_to_memory(pte, &mut memory);
                json(&memory)
            }
            Part::Weights => {
                let mut weights = analysis.weights();
                names.add_to_weights(pte, &mut weights);
                json(&weights)
            }
            Part::Graphs => json(&self.graphs(&analysis, |graphs| names.add_to_graphs(&analysis, graphs))?),
            Part::Profile => {
                let Some(etdp) = self.trace()? else { return Ok("null".into()) };
                let mut profile = etdp.profile(Some(&analysis), None);
                names.add_to_profile(pte, &mut profile);
                let by_module = profile.runs.iter().map(Names::time_by_module).collect();
                let mut times = Times::of(profile);
                times.by_module = by_module;
                json(&times)
            }
        }
    }
}

/// Returns the names of a program.
pub(crate) fn names_of<'t>(model: &'t Model<'static>, sources: &'t [NameSource<'static>]) -> Option<Names<'t>> {
    match model {
        Model::Pte(pte) => Names::new(&Analysis::new(pte), sources).ok(),
        _ => None,
    }
}
