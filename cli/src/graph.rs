//! `pte graph`: what flows from which instruction to which.

use crate::failure::Failure;
use crate::json;
use crate::open::Input;
use crate::text;
use executorch_format::inspect::{Graph, model_explorer};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// The dataflow of a program as a picture (SVG), for Graphviz (DOT), or for Google's Model Explorer (JSON)
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pte graph model.pte --svg > model.svg\n  \
    pte graph model.pte --dot | dot -Tpdf > model.pdf\n  \
    pte graph model.pte --json > model.json && model-explorer model.json")]
pub struct Arguments {
    /// A .pte file, or a .bpte: the program inside it
    file: PathBuf,
    #[command(flatten)]
    form: Form,
    /// Only this method; a picture needs it where there are several
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Form {
    /// Print a picture of one method
    #[arg(long)]
    svg: bool,
    /// Print Graphviz's language: one digraph for each method
    #[arg(long)]
    dot: bool,
    /// Print JSON that Model Explorer opens: a graph for each method
    #[arg(long)]
    json: bool,
}

/// Prints the graphs of a program.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = Input::open(&arguments.file)?;
    let file = text::path(&arguments.file);
    let pte = input.program()?;
    let mut graphs = pte.graphs();
    if let Some(method) = &arguments.method {
        graphs.retain(|graph| graph.method == method);
        if graphs.is_empty() {
            return Err(Failure::Usage(format!("{file}: no method {method:?} that computes something")));
        }
    }
    let Form { svg, dot, .. } = arguments.form;
    if !svg && !dot {
        return json::print_alone(&model_explorer(&file, &graphs));
    }
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    if svg {
        write!(out, "{}", single(arguments, &graphs)?.svg())?;
    } else {
        graphs.iter().try_for_each(|graph| write!(out, "{}", graph.dot()))?;
    }
    Ok(out.flush()?)
}

/// The one graph that a picture shows.
fn single<'g, 't>(arguments: &Arguments, graphs: &'g [Graph<'t>]) -> Result<&'g Graph<'t>, Failure> {
    let file = text::path(&arguments.file);
    match graphs {
        [graph] => Ok(graph),
        [] => Err(Failure::Usage(format!("{file}: no method computes anything, so there is no graph"))),
        several => {
            let names: Vec<String> = several.iter().take(20).map(|graph| format!("{:?}", graph.method)).collect();
            Err(Failure::Usage(format!(
                "{file}: a picture shows one method: choose it with --method ({})",
                names.join(", ")
            )))
        }
    }
}
