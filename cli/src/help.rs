//! The help of the whole command: subcommands in groups, and examples in the long form only.

use crate::context::Context;
use crate::near::Names;
use crate::{Arguments, GROUPS, Options, subcommand};
use anstyle::Style;
use clap::error::{ContextKind, ContextValue};
use clap::{Args, Command, CommandFactory};
use std::ffi::OsStr;

/// Returns the command with its arguments and help.
pub fn command(context: &Context) -> Command {
    let command = Arguments::command().mut_subcommands(long_after_help);
    let list = list(context, &command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{list}\n{{options}}{{after-help}}"
    ))
}

/// Returns the command with a single subcommand, which is made in less time than all of them; `None` if there is no subcommand of this name.
pub fn single(name: &OsStr) -> Option<Command> {
    let subcommand = long_after_help(subcommand(name.to_str()?)?);
    // The help lists these options after those of the subcommand: as if all subcommands came before them.
    let others = GROUPS.iter().map(|(_, names)| names.len()).sum::<usize>();
    Some(Options::augment_args(Command::new("pte").next_display_order(others)).subcommand(subcommand))
}

/// Suggests a name for an unknown subcommand of `help`, for which clap has no suggestions.
pub fn suggest(error: &mut clap::Error) {
    let Some(ContextValue::String(wanted)) = error.get(ContextKind::InvalidSubcommand).cloned() else { return };
    if error.get(ContextKind::SuggestedSubcommand).is_none() {
        let near = Arguments::command().get_subcommands().map(Command::get_name).collect::<Names>().near(&wanted);
        if !near.is_empty() {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(near));
        }
    }
}

/// Moves the text after the options, mostly examples, to `--help`; `-h` does not show it.
fn long_after_help(command: Command) -> Command {
    let command = command.mut_subcommands(long_after_help);
    match command.get_after_help().cloned() {
        Some(help) => {
            let more = format!("`pte {} --help` shows details and examples.", command.get_name());
            command.after_help(more).after_long_help(help)
        }
        None => command,
    }
}

/// Lists the groups, with a line for each command.
fn list(context: &Context, command: &Command) -> String {
    const HEAD: Style = Style::new().bold().underline();
    const NAME: Style = Style::new().bold();
    let mut list = String::new();
    for (group, names) in GROUPS.iter().filter(|(group, _)| !group.is_empty()) {
        list += &format!("\n{HEAD}{group}:{HEAD:#}\n");
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            // Details follow the colon.
            let about = about.split_once(": ").map_or(&*about, |(start, _)| start).to_owned();
            list += &format!("  {NAME}{name:11}{NAME:#}  {}\n", context.cut(&about, 15));
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_page_lists_the_subcommands_of_groups_with_a_title() {
        let page = command(&Context::default()).render_help().to_string();
        for (group, names) in GROUPS {
            for name in *names {
                assert_eq!(page.contains(&format!("\n  {name} ")), !group.is_empty(), "{name}: {page}");
            }
        }
    }

    #[test]
    fn a_single_subcommand_has_the_help_of_the_same_one_among_all() {
        let mut all = command(&Context::default());
        all.build();
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            let mut single = single(OsStr::new(name)).unwrap_or_default();
            single.build();
            let [single, all] = [&mut single, &mut all].map(|command| {
                let help = command.find_subcommand_mut(name).map(Command::render_long_help);
                help.map(|help| help.to_string())
            });
            assert!(single.is_some() && single == all, "{name}: {single:?}");
        }
        assert!(single(OsStr::new("help")).is_none());
    }
}
