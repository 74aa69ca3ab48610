//! Each flag in a sentence of the documentation, of a help text or of a message is one that the command has. Some are only there with the feature `remote`.

use crate::cli::{pte, text};
use executorch_format_support::crate_root;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The flags of each command, by its name: `ptd create`.
type Commands = BTreeMap<String, BTreeSet<String>>;

fn help(command: &str) -> String {
    let words = command.split_whitespace().chain(["--help"]);
    text(&pte().args(words).output().unwrap().stdout)
}

/// Returns the names of commands in a help text: the first words of lines that are indented by two.
fn listed(help: &str) -> Vec<&str> {
    let lines = help.lines().take_while(|line| !line.starts_with("Options:"));
    let names = lines.filter_map(|line| {
        let (name, about) = line.strip_prefix("  ")?.split_once(' ')?;
        (!name.is_empty()
            && about.starts_with(' ')
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'))
        .then_some(name)
    });
    names.filter(|name| *name != "help").collect()
}

/// Returns the flag at the start of a word, such as `--top` of `--top=3`.
fn flag(word: &str) -> Option<&str> {
    let word = word.trim_start_matches(['`', '(', '[', '"', '\'', '|']);
    let name = word.strip_prefix("--")?;
    let end = name.find(|byte: char| !byte.is_ascii_lowercase() && byte != '-').unwrap_or(name.len());
    let name = name[..end].trim_end_matches('-');
    (name.len() > 1 && name.as_bytes()[0] != b'-').then(|| &word[..name.len() + 2])
}

/// Returns every command with the flags that its help lists.
fn commands() -> Commands {
    let main = help("");
    let mut names: Vec<String> = listed(&main).into_iter().map(str::to_owned).collect();
    names.extend(["completions".to_owned(), "man".to_owned()]);
    let mut commands = Commands::new();
    while let Some(name) = names.pop() {
        let help = help(&name);
        if let Some((_, inside)) = help.split_once("\nCommands:\n") {
            names.extend(listed(inside).into_iter().map(|inner| format!("{name} {inner}")));
        }
        let flags =
            help.lines().filter(|line| line.trim_start().starts_with('-')).flat_map(|line| line.split([' ', ',']));
        commands.insert(name, flags.filter_map(flag).map(str::to_owned).collect());
    }
    for (alias, name) in [("inspect", "info"), ("show", "info"), ("validate", "verify")] {
        commands.insert(alias.into(), commands[name].clone());
    }
    commands
}

/// Other programs in the texts, whose flags are their own.
const OTHERS: &[&str] = &[
    "buildifier",
    "cargo",
    "clang-tidy",
    "curl",
    "docker",
    "duckdb",
    "flatc",
    "fuzz/run",
    "git",
    "jq",
    "maturin",
    "npm",
    "pip",
    "python",
    "python3",
];

/// Flags of Vela in compile specs.
const VELA: &[&str] = &["--output-format", "--accelerator-config", "--system-config", "--memory-mode"];

fn is_other(word: &str) -> bool {
    OTHERS.contains(&word) || word.starts_with(".ci/")
}

/// Returns the flags in a text that a command does not have. A flag belongs to the command before it, or else to one of `default`, or else to
/// any command.
fn unknown(commands: &Commands, text: &str, default: &[String]) -> Vec<String> {
    let bare =
        |word: &str| word.trim_matches(['`', '"', '\'', '(', ')', ',', ';', ':']).trim_end_matches('.').to_owned();
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut current: Option<String> = None;
    let mut unknown = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let next = |ahead: usize| words.get(index + ahead).map(|word| bare(word)).unwrap_or_default();
        let this = bare(word);
        let named = match this.as_str() {
            "pte" => [format!("{} {}", next(1), next(2)), next(1)].into_iter().find(|name| commands.contains_key(name)),
            // `memory --svg`
            _ if flag(&next(1)).is_some() && word.starts_with('`') => {
                Some(this.clone()).filter(|name| commands.contains_key(name))
            }
            _ => None,
        };
        if named.is_some() || is_other(&this) {
            current = named.or(Some(this));
        } else if ["|", "&&", "#"].contains(word) {
            current = None;
        } else if let Some(flag) = flag(word) {
            let has = |name: &String| commands.get(name).is_some_and(|flags| flags.contains(flag));
            let known = match &current {
                Some(other) if is_other(other) => true,
                Some(name) => has(name),
                None if default.is_empty() => commands.keys().any(has),
                None => default.iter().any(has),
            };
            if !known {
                unknown.push(format!("{} has no {flag} ({text})", current.as_deref().unwrap_or("no such command")));
            }
        }
        // A span of code ends, and its command with it.
        if word.trim_end_matches(['.', ',', ';', ':', ')', '…', '|']).ends_with('`') {
            current = None;
        }
    }
    unknown
}

/// Returns the commands at the start of a row of a table.
fn of_row(commands: &Commands, row: &str) -> Vec<String> {
    let cell = row.trim_start_matches('|').split('|').next().unwrap_or_default();
    let found = cell.split("`pte ").skip(1).filter_map(|rest| {
        let end = rest
            .find(|letter: char| !letter.is_ascii_lowercase() && letter != '-' && letter != ' ')
            .unwrap_or(rest.len());
        let words: Vec<&str> = rest[..end].split_whitespace().collect();
        (1..=words.len()).rev().map(|count| words[..count].join(" ")).find(|name| commands.contains_key(name))
    });
    let mut found: Vec<String> = found.collect();
    // `pte ptd create`, `merge`, `split`
    let inner: Vec<String> = commands
        .keys()
        .filter(|name| found.iter().any(|outer| name.starts_with(&format!("{outer} "))))
        .cloned()
        .collect();
    found.extend(inner);
    found
}

#[test]
fn each_flag_in_the_documentation_is_one_of_its_command() {
    let commands = commands();
    assert!(
        commands.len() > 35
            && commands["ptd create"].contains("--alignment")
            && commands["dedup"].contains("--recursive")
    );
    let mut pages: Vec<_> =
        std::fs::read_dir(crate_root().join("docs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.retain(|page| page.extension().is_some_and(|ending| ending == "md"));
    pages.extend(["README.md", "SECURITY.md", "python/README.md", "action.yml"].map(|page| crate_root().join(page)));
    let mut wrong = Vec::new();
    for page in &pages {
        for line in std::fs::read_to_string(page).unwrap().lines() {
            let default = if line.starts_with('|') { of_row(&commands, line) } else { Vec::new() };
            wrong.extend(
                unknown(&commands, line, &default).into_iter().map(|fault| format!("{}: {fault}", page.display())),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_flag_in_a_help_text_is_one_of_its_command() {
    let commands = commands();
    let of_help = |name: &String| {
        let help = help(name);
        // Sentences continue on the next line.
        let paragraphs: Vec<String> = help.split("\n\n").map(|paragraph| paragraph.replace('\n', " \n ")).collect();
        let (mut wrong, default) = (Vec::new(), [name.clone()]);
        for paragraph in paragraphs.iter().filter(|paragraph| !paragraph.contains("Examples:")) {
            wrong.extend(unknown(&commands, paragraph, &default));
        }
        let examples = help.split_once("Examples:").map(|(_, examples)| examples).unwrap_or_default();
        wrong.extend(examples.lines().flat_map(|line| unknown(&commands, line, &default)));
        wrong.into_iter().map(|fault| format!("{name}: {fault}")).collect::<Vec<String>>()
    };
    let wrong: Vec<String> = commands.keys().flat_map(of_help).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the string literals and documentation of a source file.
fn texts(source: &str) -> Vec<&str> {
    let code =
        source.split("#[cfg(test)]").next().unwrap_or_default().split("#[cfg(all(test").next().unwrap_or_default();
    let docs = code.lines().filter_map(|line| line.trim_start().strip_prefix("/// "));
    let literals = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| line.split('"').skip(1).step_by(2));
    docs.chain(literals).filter(|text| text.contains("--")).collect()
}

fn each_source(folder: &Path, visit: &mut impl FnMut(&Path, &str)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            each_source(&path, visit);
        } else if path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("tests.rs") {
            visit(&path, &std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn each_flag_in_a_message_is_one_of_its_command() {
    let commands = commands();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for folder in ["src", "cli/src"] {
        each_source(&crate_root().join(folder), &mut |path, source| {
            let names = path.iter().map(|part| part.to_string_lossy().trim_end_matches(".rs").replace('_', "-"));
            let of_file: Vec<String> = match folder {
                "src" => Vec::new(),
                _ => names.filter(|name| commands.contains_key(name)).collect(),
            };
            let inner =
                commands.keys().filter(|name| of_file.iter().any(|outer| name.starts_with(&format!("{outer} "))));
            let of_file: Vec<String> = of_file.iter().chain(inner).cloned().collect();
            // Savings are offered with the options of these commands.
            let offered = ["rewrite", "strip"].map(str::to_owned).into_iter().filter(|_| path.ends_with("size.rs"));
            let of_file: Vec<String> = of_file.into_iter().chain(offered).collect();
            for text in texts(source).into_iter().filter(|text| !VELA.iter().any(|flag| text.contains(flag))) {
                count += 1;
                let faults = unknown(&commands, text, &of_file);
                wrong.extend(faults.into_iter().map(|fault| format!("{}: {fault}", path.display())));
            }
        });
    }
    assert!(count > 120, "{count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
