//! A table of many files, with one line for each.

use super::Info;
use crate::context::{Context, NAME};
use crate::failure::Failure;
use crate::table::{Column, Table};
use crate::text;
use executorch_format::inspect::{Content, Method, ProgramSummary, Summary};
use executorch_format::verify::LoadsIn;
use std::io::Write;
use std::path::Path;

/// The lines, which are printed when all are known.
#[derive(Default)]
pub(super) struct Rows(Vec<[String; 8]>);

impl Rows {
    /// Adds a file.
    pub fn add(&mut self, context: &Context, path: &Path, info: &Info<'_>) {
        let summary = info.summary;
        let inside = match &info.program {
            Some(Summary { content: Content::Program(program), .. }) => Some(program),
            _ => None,
        };
        let [methods, operators, memory, backends] = match (&summary.content, inside) {
            (Content::Program(program), _) | (_, Some(program)) => facts(context, program),
            (Content::FlatTensor(facts), _) => ["", "", "", &text::count(facts.keys.len(), "key")].map(str::to_owned),
            (Content::Xnnpack(facts), _) => {
                let nodes: usize = facts.operators.iter().map(|kind| kind.calls).sum();
                ["", &nodes.to_string(), "", "XNNPACK"].map(str::to_owned)
            }
            (Content::Trace(facts), _) => ["", "", "", &text::count(facts.runs.len(), "run")].map(str::to_owned),
            _ => Default::default(),
        };
        let loads = match (&summary.content, inside) {
            (Content::Program(_), _) | (_, Some(_)) => loads_in(&info.releases.loads_in),
            _ => String::new(),
        };
        let (size, kind) = (text::size(info.file_size), summary.kind.to_string());
        self.0.push([kind, size, methods, operators, memory, loads, backends, text::path(path)]);
    }

    /// Prints the table.
    pub fn print(self, context: &Context) -> Result<(), Failure> {
        let mut table = Table::new([
            ("KIND", Column::Left),
            ("SIZE", Column::Right),
            ("METHODS", Column::Detail),
            ("OPS", Column::Detail),
            ("MEMORY", Column::Detail),
            ("LOADS IN", Column::Left),
            ("BACKENDS", Column::Left),
            ("FILE", Column::Path),
        ]);
        self.0.into_iter().for_each(|row| table.row(row));
        let mut out = context.out();
        table.write(&mut out)?;
        Ok(out.flush()?)
    }
}

/// Formats the releases that load the program, and the libraries that it needs for that, as in `1.2 to 1.5 with cortex_m`.
fn loads_in(loads_in: &LoadsIn) -> String {
    let libraries: Vec<&str> = loads_in.kernels.iter().map(|kernels| kernels.library).collect();
    match libraries.is_empty() || loads_in.ranges.is_empty() {
        true => loads_in.to_string(),
        false => format!("{loads_in} with {}", libraries.join(", ")),
    }
}

/// Returns the numbers of methods and operators, the planned memory of the largest method, and the backends.
fn facts(context: &Context, program: &ProgramSummary<'_>) -> [String; 4] {
    let methods = program.methods.len() + program.metadata.len();
    let mut operators: Vec<&str> =
        program.methods.iter().flat_map(|method| &method.operators).map(|operator| operator.name.as_str()).collect();
    operators.sort_unstable();
    operators.dedup();
    let memory = program.methods.iter().map(|method| method.planned_memory.size).max().unwrap_or_default();
    let mut backends: Vec<String> = program
        .methods
        .iter()
        .flat_map(|method| &method.delegates)
        .map(|backend| context.name(backend.id, NAME))
        .collect();
    backends.sort_unstable();
    backends.dedup();
    let is_training = |method: &Method<'_>| method.outputs.iter().any(|output| output.training.is_some());
    let methods = match program.methods.iter().any(is_training) {
        true => format!("{methods}, for training"),
        false => methods.to_string(),
    };
    [methods, operators.len().to_string(), text::size(memory), backends.join(", ")]
}
