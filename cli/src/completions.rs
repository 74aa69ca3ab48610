//! `pte completions`: completions for shells.

use crate::context::Context;
use crate::failure::Failure;
use crate::open::Input;
use crate::save::OutputArguments;
use crate::target;
use crate::verify::page;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use executorch_format::verify::{Library, Release};
use std::io::{self, Write};
use std::path::Path;

/// Print completions of the command and its options for a shell
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte completions bash > ~/.local/share/bash-completion/completions/pte
  pte completions zsh -o ~/.zfunc/_pte")]
pub struct Arguments {
    #[arg(required_unless_present = "words")]
    shell: Option<Shell>,
    /// For the completion script: print the names of a kind, one per line; the words of the command line follow the kind
    #[arg(long, hide = true, num_args = 1.., allow_hyphen_values = true)]
    words: Vec<String>,
    #[command(flatten)]
    output: OutputArguments,
}

/// The part of bash's completion script that clap does not generate: names, and files where its script lists options.
const BASH: &str = r#"
# Names of rules, releases, libraries, targets, methods and pages; files where no option is begun.
_pte_words() {
    local kind= word
    case "$3" in
        --deny|--allow|--explain) kind=rules ;;
        --runtime) kind=releases ;;
        --libraries) kind=libraries ;;
        --target) kind=targets ;;
        --method) kind=methods ;;
    esac
    if [[ ${COMP_WORDS[1]} == man && $2 != -* && $3 != -o && $3 != --output ]]; then
        kind=pages
    fi
    COMPREPLY=()
    if [[ -n $kind ]]; then
        while IFS= read -r word; do
            if [[ $word == "$2"* ]]; then
                COMPREPLY+=("$word")
            fi
        done < <("$1" completions --words "$kind" "${COMP_WORDS[@]:1}" 2>/dev/null)
        return
    fi
    _pte "$@"
    if [[ $2 != -* ]]; then
        local replies=("${COMPREPLY[@]}")
        COMPREPLY=()
        for word in "${replies[@]}"; do
            if [[ $word != -* ]]; then
                COMPREPLY+=("$word")
            fi
        done
    fi
}
complete -F _pte_words -o bashdefault -o default pte
"#;

/// Prints completions for a shell, or names for its script.
pub fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let Some(shell) = arguments.shell else {
        let mut out = io::stdout().lock();
        return Ok(words(context, &arguments.words).into_iter().try_for_each(|word| writeln!(out, "{word}"))?);
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::Arguments::command(), "pte", &mut script);
    if shell == Shell::Bash {
        script.extend_from_slice(BASH.as_bytes());
    }
    arguments.output.write(context, script)
}

/// Returns the names of a kind, except those that a shell could expand.
fn words(context: &Context, line: &[String]) -> Vec<String> {
    let Some((kind, line)) = line.split_first() else { return Vec::new() };
    let releases = || Release::ALL.into_iter().map(|release| release.to_string());
    let mut words: Vec<String> = match kind.as_str() {
        "rules" => page::names().map(str::to_owned).collect(),
        "releases" => releases().chain(["all".to_owned()]).collect(),
        "libraries" => Library::ALL.iter().map(|library| library.name().to_owned()).collect(),
        "targets" => target::names()
            .flat_map(|name| releases().map(move |release| format!("{name}-{release}")).chain([name.to_owned()]))
            .collect(),
        "pages" => pages(&crate::Arguments::command(), ""),
        "methods" => methods(context, line),
        _ => Vec::new(),
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    words.retain(|word| word.bytes().all(is_plain));
    words
}

/// Returns the pages of the subcommands, as `pte man` takes them.
fn pages(command: &Command, before: &str) -> Vec<String> {
    let page = |subcommand: &Command| {
        let name = format!("{before}{}", subcommand.get_name());
        let inside = pages(subcommand, &format!("{name}-"));
        [name].into_iter().chain(inside)
    };
    command.get_subcommands().flat_map(page).collect()
}

/// Returns the methods of the first program in a command line.
fn methods(context: &Context, line: &[String]) -> Vec<String> {
    let inputs =
        line.iter().map(Path::new).filter(|path| path.is_file()).filter_map(|path| Input::open(context, path).ok());
    let methods = |input: Input| -> Option<Vec<String>> {
        Some(input.program().ok()?.methods().iter().map(|plan| plan.name().to_owned()).collect())
    };
    inputs.into_iter().find_map(methods).unwrap_or_default()
}
