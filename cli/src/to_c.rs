//! `pte to-c`: a file as a C array, for firmware.

use crate::context::Context;
use crate::convert::refused;
use crate::existing::{refuse_foreign, refuse_model};
use crate::failure::Failure;
use crate::names::{NameFiles, NamesArguments};
use crate::open::Input;
use crate::save::{make_folder, make_output_folder, put};
use crate::text;
use executorch_format::convert::{CArray, CBytes, COptions, operator_lines};
use executorch_format::{Error, Model};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Make a C array of a file: a header and a source file, in C11 and C++17
///
/// The header has, as constants: the array's size and alignment, the planned buffers of each method, the bytes of each input
/// and output, with names, the results of constant methods, the operators and backends to register.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte to-c model.pte --name model -o firmware   (firmware/model.h and firmware/model.c)
  pte to-c model.pte --incbin -o firmware   (then: cc -I. -c firmware/model.c)
  pte to-c model.pte --section .rodata.model
  pte to-c model.pte --operators >> CMakeLists.txt")]
pub struct Arguments {
    /// A .pte, .ptd, .bpte or .etdp file
    file: PathBuf,
    /// The name of the array and of the written files [default: the file's name]
    #[arg(long)]
    name: Option<String>,
    /// The folder to write to, which is created if it does not exist
    #[arg(short, long, value_name = "FOLDER", default_value = ".")]
    output: PathBuf,
    /// Start the array at a multiple of this many bytes [default: the alignment that the file's segments need, at least 16]
    #[arg(long, value_name = "BYTES")]
    alignment: Option<u32>,
    /// Put the array into this section, with GCC's attribute
    #[arg(long)]
    section: Option<String>,
    /// Take the bytes from the file when the source is assembled (.incbin; GCC or Clang, ELF): for large files, this takes far less time
    /// and memory
    #[arg(long, conflicts_with_all = ["embed", "operators"])]
    incbin: bool,
    /// Take the bytes from the file when the source is compiled (#embed of C23; GCC 15, Clang 19)
    #[arg(long, conflicts_with = "operators")]
    embed: bool,
    /// Print CMake code for ExecuTorch that registers the operators that a .pte calls, and write nothing
    #[arg(long, conflicts_with_all = ["output", "alignment", "section"])]
    operators: bool,
    #[command(flatten)]
    names: NamesArguments,
}

/// Text at the start of each header and source.
const MARK: &str = "/* Made by executorch-format from ";

/// Writes header and source.
pub fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let input = Input::open(context, &arguments.file)?;
    let name = arguments.name.clone().unwrap_or_else(|| identifier(&arguments.file));
    if arguments.operators {
        let Model::Pte(pte) = input.parse()? else {
            return Err(Failure::Usage(format!("{}: expected a .pte", text::path(input.path()))));
        };
        let lines = operator_lines(&pte, &name).map_err(|error| refused(input.path(), &error))?;
        return Ok(io::stdout().write_all(lines.as_bytes())?);
    }
    let source = arguments.output.join(format!("{name}.c"));
    make_output_folder(&arguments.output)?;
    refuse_foreign(&source, MARK)?;
    let bytes = match (arguments.incbin, arguments.embed) {
        (true, _) => CBytes::Incbin,
        (_, true) => CBytes::Embed,
        _ => CBytes::Numbers,
    };
    let options = COptions::default()
        .with_name(name)
        .with_alignment(arguments.alignment)
        .with_section(arguments.section.clone())
        .with_bytes(bytes);
    save(context, &input, &source, &options, &arguments.names.open(context, input.path())?)
}

/// Writes a source file and the header next to it. The array has their name.
pub fn write(context: &Context, input: &Input, source: &Path) -> Result<(), Failure> {
    let names = NameFiles::of(context, input.path(), &[])?;
    save(context, input, source, &COptions::default().with_name(identifier(source)), &names)
}

fn save(
    context: &Context,
    input: &Input,
    source: &Path,
    options: &COptions,
    names: &NameFiles<'_>,
) -> Result<(), Failure> {
    let bad = |error: Error| refused(input.path(), &error);
    let name = input.path().file_name().unwrap_or_default().to_string_lossy();
    if options.bytes == CBytes::Embed && !name.chars().all(|c| matches!(c, ' '..='~') && !"\"\\?".contains(c)) {
        return Err(Failure::usage_of(input.path(), &"#embed cannot use this name: expected ASCII without quotes"));
    }
    let (model, sources) = (input.parse()?, names.sources()?);
    let mut array = CArray::new(&model, input.bytes(), options).map_err(bad)?;
    if let (Model::Pte(pte), false) = (&model, sources.is_empty()) {
        array = array.with_names_of(&names.analysis(pte, &sources)?);
    }
    let (file, header) = (input.path().file_name().unwrap_or_default(), source.with_extension("h"));
    make_folder(source)?;
    refuse_foreign(&header, MARK)?;
    refuse_model(source)?;
    let (file, header_name) = (file.to_string_lossy(), header.file_name().unwrap_or_default().to_string_lossy());
    let source_text = || array.source(&header_name, &file);
    put(source, &|out| source_text().try_for_each(|piece| out.write_all(piece.as_bytes())))?;
    put(&header, &|out| array.header(&file).try_for_each(|piece| out.write_all(piece.as_bytes())))?;
    let (header, source) = (text::path(&header), text::path(source));
    context.say(format_args!(
        "{header}, {source}: {}, aligned to {}",
        text::count(input.bytes().len(), "byte"),
        array.alignment()
    ));
    Ok(())
}

/// Converts a file's name to an identifier.
fn identifier(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let parts: Vec<&str> = stem.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect();
    let name = parts.join("_");
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("model_{name}") }
}
