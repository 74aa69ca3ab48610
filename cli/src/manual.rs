//! `pte man`: manual pages.

use crate::context::Context;
use crate::existing::refuse_foreign;
use crate::failure::Failure;
use crate::near::Names;
use crate::save::{make_output_folder, put};
use crate::text;
use clap::CommandFactory;
use clap_mangen::Man;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Print manual pages, or write all of them into a folder
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte man | man -l -
  pte man ptd create | man -l -
  pte man -o ~/.local/share/man/man1   (then: man pte-ptd-create)")]
pub struct Arguments {
    /// A subcommand, such as verify, ptd create or pte-ptd-create
    subcommand: Vec<String>,
    /// Write a page for each subcommand into this folder, which is created if it does not exist
    #[arg(short, long, value_name = "FOLDER", conflicts_with = "subcommand")]
    output: Option<PathBuf>,
}

/// Prints a manual page, or writes all pages.
pub fn run(_: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let mut command = crate::Arguments::command();
    if let Some(folder) = &arguments.output {
        let unwritable = |error| Failure::Unwritable { file: folder.clone(), error };
        make_output_folder(folder)?;
        for entry in fs::read_dir(folder).map_err(unwritable)? {
            let path = entry.map_err(unwritable)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with("pte") && name.ends_with(".1") {
                refuse_foreign(&path, ".TH pte")?;
            }
        }
        command = command.disable_help_subcommand(true);
        command.build();
        return write_pages(&command, folder);
    }
    command.build();
    // `to-c` is the only subcommand with a dash in its name.
    let joined = arguments.subcommand.join("-");
    let mut rest = joined.strip_prefix("pte-").unwrap_or(&joined);
    let mut title = "pte".to_owned();
    let mut found = &command;
    while !rest.is_empty() {
        let after = |name: &str| rest.strip_prefix(name).filter(|more| more.is_empty() || more.starts_with('-'));
        let next = found.get_subcommands().find_map(|next| Some((next, after(next.get_name())?)));
        let Some((next, more)) = next else {
            let there: Names = found.get_subcommands().map(clap::Command::get_name).collect();
            return Err(Failure::Usage(format!("no subcommand {}, {}", text::quoted(rest), there.hint(rest))));
        };
        title += &format!("-{}", next.get_name());
        rest = more.trim_start_matches('-');
        found = next;
    }
    Ok(io::stdout().write_all(&page(Man::new(found.clone()).title(title), found)?)?)
}

/// Writes the pages of a command and its subcommands into a folder.
fn write_pages(command: &clap::Command, folder: &Path) -> Result<(), Failure> {
    for subcommand in command.get_subcommands() {
        write_pages(subcommand, folder)?;
    }
    let man = Man::new(command.clone());
    let (path, page) = (folder.join(man.get_filename()), page(man, command)?);
    put(&path, &|out| out.write_all(&page)).map(drop)
}

/// Returns a page, in which parts of the help after the options are sections of their own.
fn page(man: Man, command: &clap::Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_subcommands().next().is_some() {
        man.render_subcommands_section(&mut page)?;
    }
    man.render_options_section(&mut page)?;
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let parts = |start: &str| help.split("\n\n").filter_map(|part| part.strip_prefix(start)).collect::<Vec<_>>();
    let is_note = |part: &&str| !part.is_empty() && ![EXAMPLES, EXIT_CODES].iter().any(|start| part.starts_with(start));
    let notes: Vec<&str> = help.split("\n\n").filter(is_note).collect();
    let status = parts(EXIT_CODES).first().map_or(EXIT_STATUS, |status| *status);
    for (name, parts) in [("NOTES", notes), ("EXIT STATUS", vec![status]), ("EXAMPLES", parts(EXAMPLES))] {
        if !parts.is_empty() {
            // `.nf` keeps the lines as they are.
            writeln!(page, ".SH {name}\n.nf\n{}\n.fi", escaped(parts.join("\n\n").trim_matches('\n')))?;
        }
    }
    Ok(page)
}

/// Headings of parts of the help.
const EXAMPLES: &str = "Examples:";
const EXIT_CODES: &str = "Exit codes:";

/// The exit codes of commands whose help does not list any.
const EXIT_STATUS: &str = "0 success, 1 a file is invalid, 2 wrong usage, a request that matches nothing, or a file that cannot be read or written;\nfor several files, the highest.";

/// Escapes a text for roff.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let line = |line: &str| match line.starts_with(['.', '\'']) {
        true => format!("\\&{line}"),
        false => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}
