//! `pte completions` and `pte man`: what a shell and `man` want to know about the command.

use crate::Arguments;
use crate::failure::Failure;
use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;
use std::io;

/// Print what makes a shell complete the command's options
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte completions bash > ~/.local/share/bash-completion/completions/pte
  pte completions zsh > ~/.zfunc/_pte")]
pub struct CompletionArguments {
    shell: Shell,
}

/// Print the manual page of the command, or of a subcommand
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte man | man -l -
  pte man verify > pte-verify.1")]
pub struct ManArguments {
    /// A subcommand, such as verify
    subcommand: Option<String>,
}

/// Prints what a shell wants to know.
pub fn complete(arguments: &CompletionArguments) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "pte", &mut script);
    Ok(io::Write::write_all(&mut io::stdout(), &script)?)
}

/// Prints a manual page.
pub fn print(arguments: &ManArguments) -> Result<(), Failure> {
    let mut command = Arguments::command();
    command.build();
    let page = match &arguments.subcommand {
        None => Man::new(command),
        Some(name) => {
            let found = command.find_subcommand(name).cloned();
            let page = Man::new(found.ok_or_else(|| Failure::Usage(format!("{name:?} is no subcommand")))?);
            page.title(format!("pte-{name}"))
        }
    };
    Ok(page.render(&mut io::stdout())?)
}
