//! `pte graph`: the dataflow between instructions.

use crate::context::Context;
use crate::data::each_program;
use crate::failure::Failure;
use crate::files::{self, FileArguments};
use crate::json::{self, JsonArguments};
use crate::names::NamesArguments;
use crate::near::Names;
use crate::open::Input;
use crate::profile::{TIMES, Tick, etdp, time};
use crate::remote::Need;
use crate::save::OutputArguments;
use crate::text;
use clap::ValueEnum;
use executorch_format::Analysis;
use executorch_format::inspect::{Graph, NodeMeasure};
use executorch_format::pictures::{model_explorer, node_data};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Show the dataflow of a program, as a picture or as data
///
/// As SVG, for Graphviz (DOT), for Google's Model Explorer, or as JSON.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pte graph model.pte --svg -o model.svg\n  \
    pte graph model.pte --trace trace.etdp --svg -o times.svg\n  \
    pte graph model.pte --dot | dot -Tpdf > model.pdf\n  \
    pte graph model.pte --model-explorer -o model.json && model-explorer model.json\n  \
    pte graph model.pte --node-data times --trace trace.etdp -o times.json\n  \
    pte graph model.pte --node-data macs -o macs.json")]
#[command(group = clap::ArgGroup::new("any").args(["svg", "dot", "model_explorer", "node_data", "json", "jsonl"]).required(true))]
#[command(mut_arg("files", |argument| argument.help(files::PROGRAMS)))]
pub struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    /// Print a picture of one method
    #[arg(long, group = "form")]
    svg: bool,
    /// Print DOT for Graphviz: one digraph for each method
    #[arg(long, group = "form")]
    dot: bool,
    /// Print JSON for Model Explorer: one graph for each method
    #[arg(long, group = "form")]
    model_explorer: bool,
    /// Print numbers of the nodes as JSON for Model Explorer, which colours the graph of --model-explorer with them; pte debug --node-data prints
    /// errors
    #[arg(long, value_name = "WHAT", group = "form")]
    node_data: Option<NodeData>,
    #[command(flatten)]
    form: JsonArguments,
    /// Only this method; required for a picture if there are several methods
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    #[command(flatten)]
    names: NamesArguments,
    /// Add the time that each node took, from an ETDump of this program
    #[arg(long, value_name = "TRACE.etdp")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

/// The numbers that nodes have.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum NodeData {
    /// The time in a run: needs --trace
    Times,
    /// The multiply-accumulates
    Macs,
    /// The bytes of the weights that the node takes
    Sizes,
}

impl NodeData {
    fn measure(self) -> NodeMeasure {
        match self {
            Self::Times => NodeMeasure::Time,
            Self::Macs => NodeMeasure::Macs,
            Self::Sizes => NodeMeasure::Size,
        }
    }
}

/// The graphs of a file.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FileGraphs<'t> {
    file: String,
    graphs: &'t [Graph<'t>],
    errors: json::None,
}

/// The message about a program without instructions.
const EMPTY: &str = "no method computes anything, so there is no graph";

/// Prints the graphs of each program.
pub fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { files, svg, dot, .. } = arguments;
    arguments.output.only_with(!arguments.form.any(), "--svg, --dot, --model-explorer or --node-data")?;
    if arguments.node_data == Some(NodeData::Times) && arguments.trace.is_none() {
        return Err(Failure::Usage("--node-data times requires --trace".to_owned()));
    }
    let one = [
        (*svg, "--svg"),
        (arguments.model_explorer, "--model-explorer"),
        (arguments.node_data.is_some(), "--node-data"),
    ];
    if let Some((_, option)) = one.into_iter().find(|(is_given, _)| *is_given) {
        files.single(option)?;
    }
    let trace = arguments.trace.as_deref().map(|path| Times::open(context, path)).transpose()?;
    let mut documents = json::Files::start(context, &arguments.form);
    let mut made = Vec::new();
    let outcome = each_program(context, files, Need::All, documents.as_mut(), |path, pte, documents| {
        arguments.names.with(context, path, pte, |analysis| {
            let mut graphs = analysis.graphs();
            if let Some(method) = &arguments.method {
                let there = graphs.iter().map(|graph| graph.method).collect();
                graphs.retain(|graph| graph.method == method);
                if graphs.is_empty() {
                    return Err(Failure::no_match(path, "method that computes something is called", method, there));
                }
            }
            if let Some(graph) = graphs.iter().find(|graph| is_too_large(graph)) {
                return Err(Failure::usage_of(path, &too_large(graph)));
            }
            if let Some(trace) = &trace {
                trace.put_on(analysis, &mut graphs)?;
                if documents.is_none() {
                    graphs.iter_mut().for_each(|graph| graph.label_times(&|ticks| time(ticks, Tick::Ns)));
                }
            }
            if let Some(documents) = documents {
                return documents.add(&FileGraphs { file: path.display().to_string(), graphs: &graphs, errors: [] });
            }
            if graphs.is_empty() && !svg {
                context.say(format_args!("{}: {EMPTY}", text::path(path)));
            }
            let drawn = if *svg { std::slice::from_ref(single(path, &graphs)?) } else { &graphs };
            let numbers = arguments.node_data.map(|what| {
                let measure = what.measure();
                (measure, analysis.node_numbers(drawn, measure))
            });
            let draw = |out: &mut dyn Write| match (svg, dot, numbers) {
                (true, ..) => drawn.iter().try_for_each(|graph| write!(out, "{}", graph.svg())),
                (_, true, _) => drawn.iter().try_for_each(|graph| write!(out, "{}", graph.dot())),
                (.., Some((measure, numbers))) => {
                    json::Form::INDENTED.write_line(out, &node_data(measure, drawn, numbers))
                }
                _ => json::Form::INDENTED.write_line(out, &model_explorer(&text::path(path), drawn)),
            };
            match files.are_several() {
                true => Ok(draw(&mut made)?),
                false => arguments.output.write_with(context, draw),
            }
        })
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    if !made.is_empty() {
        arguments.output.write(context, made)?;
    }
    outcome
}

/// Returns `true` for a graph that has no nodes because there would be too many.
pub fn is_too_large(graph: &Graph<'_>) -> bool {
    graph.nodes.is_empty() && graph.incomplete.is_some()
}

/// Returns a message about a graph that is too large.
pub fn too_large(graph: &Graph<'_>) -> String {
    format!("no graph of the method {}: {}", text::quoted(graph.method), graph.incomplete.unwrap_or_default())
}

/// A trace with times for graphs.
pub struct Times {
    input: Input,
}

impl Times {
    /// Opens a trace.
    pub fn open(context: &Context, path: &Path) -> Result<Self, Failure> {
        Ok(Self { input: Input::open(context, path)? })
    }

    /// Adds times to the nodes of a program's graphs. Fails if the trace belongs to another program.
    pub fn put_on(&self, analysis: &Analysis<'_>, graphs: &mut [Graph<'_>]) -> Result<(), Failure> {
        let etdp = etdp(self.input.path(), self.input.parse()?, TIMES)?;
        let profile = etdp.profile(Some(analysis), None);
        Failure::unless_sound(self.input.path(), &profile.errors)?;
        profile.add_times(graphs);
        Ok(())
    }
}

/// Returns the graph for the picture.
fn single<'g, 't>(path: &Path, graphs: &'g [Graph<'t>]) -> Result<&'g Graph<'t>, Failure> {
    match graphs {
        [graph] => Ok(graph),
        [] => Err(Failure::usage_of(path, &EMPTY)),
        several => {
            let names: Names = several.iter().map(|graph| graph.method).collect();
            let fault = format!("a picture shows one method: choose it with --method; {}", names.hint(""));
            Err(Failure::usage_of(path, &fault))
        }
    }
}
