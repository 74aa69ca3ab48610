//! `pte completions` and `pte man`: completions for shells, and manual pages.

use crate::Arguments;
use crate::failure::Failure;
use crate::near::Names;
use crate::save::{OutputArguments, make_output_folder, refuse_foreign};
use crate::text;
use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;
use std::path::PathBuf;
use std::{fs, io};

/// Print completions of the command and its options for a shell
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte completions bash > ~/.local/share/bash-completion/completions/pte
  pte completions zsh -o ~/.zfunc/_pte")]
pub struct CompletionArguments {
    shell: Shell,
    #[command(flatten)]
    output: OutputArguments,
}

/// Print manual pages, or write all of them into a folder
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte man | man -l -
  pte man ptd create | man -l -
  pte man -o ~/.local/share/man/man1   (then: man pte-ptd-create)")]
pub struct ManArguments {
    /// A subcommand, such as verify, ptd create or pte-ptd-create
    subcommand: Vec<String>,
    /// Write a page for each subcommand into this folder, which is created if it does not exist
    #[arg(short, long, value_name = "FOLDER", conflicts_with = "subcommand")]
    output: Option<PathBuf>,
}

/// Prints completions for a shell.
pub fn complete(arguments: &CompletionArguments) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "pte", &mut script);
    arguments.output.write(script)
}

/// Prints a manual page, or writes all.
pub fn print(arguments: &ManArguments) -> Result<(), Failure> {
    let mut command = Arguments::command();
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
        return clap_mangen::generate_to(command, folder).map_err(unwritable);
    }
    command.build();
    // `to-c` is the only subcommand with a dash in its name.
    let joined = arguments.subcommand.join("-");
    let mut rest = joined.strip_prefix("pte-").unwrap_or(&joined);
    let mut title = "pte".to_owned();
    let mut found = &command;
    while !rest.is_empty() {
        let starts = |name: &str| rest == name || rest.strip_prefix(name).is_some_and(|more| more.starts_with('-'));
        let Some(next) = found.get_subcommands().find(|next| starts(next.get_name())) else {
            let there: Names = found.get_subcommands().map(clap::Command::get_name).collect();
            return Err(Failure::Usage(format!("no subcommand {}, {}", text::quoted(rest, 40), there.hint(rest))));
        };
        title += &format!("-{}", next.get_name());
        rest = rest.get(next.get_name().len()..).unwrap_or_default().trim_start_matches('-');
        found = next;
    }
    Ok(Man::new(found.clone()).title(title).render(&mut io::stdout())?)
}
