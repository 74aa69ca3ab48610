//! Pages for contributors and users are correct: paths exist, lists are complete, numbers and rows agree with the code.

use executorch_format_support::crate_root;
use executorch_format_support::fixtures::files_below;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

pub fn read(path: impl AsRef<Path>) -> String {
    let path = crate_root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the files in a folder of the repository and below, by their paths in the repository.
pub fn files(folder: &str) -> Vec<String> {
    let name = |path: PathBuf| path.strip_prefix(crate_root()).unwrap().to_str().unwrap().replace(MAIN_SEPARATOR, "/");
    files_below(&crate_root().join(folder)).into_iter().map(name).collect()
}

/// Returns the texts in backquotes, except blocks of code.
pub fn quoted(page: &str) -> impl Iterator<Item = &str> {
    let texts = page.split("```").step_by(2);
    texts.flat_map(|text| text.lines()).flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// Returns the part of a page under a heading.
pub fn section<'p>(page: &'p str, heading: &str) -> &'p str {
    let after = page.split_once(&format!("## {heading}\n")).unwrap_or_else(|| panic!("no heading {heading}")).1;
    after.split("\n## ").next().unwrap()
}

/// Returns the first column of a Markdown table.
fn first_column(section: &str) -> impl Iterator<Item = &str> {
    section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next())
}

#[test]
fn paths_that_pages_name_exist() {
    let root = crate_root();
    let folders: BTreeSet<String> = std::fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| root.join(name).is_dir() && name != "target")
        .collect();
    let mut count = 0;
    for page in
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "docs/library.md", "docs/stability.md"]
    {
        let text = read(page);
        for word in quoted(&text).flat_map(|code| code.split([' ', '…'])) {
            // Paths of the repository, and of the library's sources.
            let Some((folder, rest)) = word.split_once('/') else { continue };
            let is_source = root.join("src").join(folder).is_dir() && !folder.is_empty();
            if !folders.contains(folder) && !is_source || rest.contains(['*', '(', ':', '=']) {
                continue;
            }
            // A word in capitals is a placeholder.
            let is_placeholder = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_uppercase());
            let path = word.split('/').take_while(|part| !is_placeholder(part)).collect::<PathBuf>();
            assert!(root.join(&path).exists() || root.join("src").join(&path).exists(), "{page} names {word}");
            count += 1;
        }
    }
    assert!(count > 50, "only {count} paths were found");
}

#[test]
fn types_that_pages_name_are_public() {
    const MODULES: [&str; 8] = ["convert", "delegate", "edit", "inspect", "json", "naming", "pictures", "verify"];
    let api = read(".ci/public-api.txt");
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let paths: BTreeSet<&str> = api.split(|letter: char| !is_part(letter) && letter != ':').collect();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in files("docs").into_iter().filter(|file| file.ends_with(".md")).chain(["README.md".to_owned()]) {
        for word in quoted(&read(&page)) {
            let Some((module, rest)) = word.split_once("::") else { continue };
            let name = rest.split(|letter| !is_part(letter)).next().unwrap();
            if MODULES.contains(&module) && name.starts_with(char::is_uppercase) {
                count += 1;
                if !paths.contains(format!("executorch_format::{module}::{name}").as_str()) {
                    wrong.push(format!("{page}: {word}"));
                }
            }
        }
    }
    assert!(count > 20 && wrong.is_empty(), "{count} types, not public: {wrong:?}");
}

/// Returns the modules at the top of the library, in the rows of the table.
fn modules() -> Vec<Vec<String>> {
    let page = read("ARCHITECTURE.md");
    let rows = first_column(section(&page, "Modules"));
    rows.map(|row| row.split(", ").map(|name| name.trim_matches('`').trim_end_matches('/').to_owned()).collect())
        .collect()
}

#[test]
fn the_table_of_modules_and_crates_is_complete() {
    let there: BTreeSet<String> = std::fs::read_dir(crate_root().join("src"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "lib.rs")
        .collect();
    assert_eq!(modules().concat().into_iter().collect::<BTreeSet<_>>(), there);
    let (page, manifest) = (read("ARCHITECTURE.md"), read("Cargo.toml"));
    let members = manifest.split_once("members = [").unwrap().1.split(']').next().unwrap();
    for member in members.split(',').map(|member| member.trim().trim_matches('"')) {
        assert!(section(&page, "Crates").contains(&format!("`{member}")), "the crate {member}");
    }
}

#[test]
fn modules_use_only_modules_above_or_beside_them() {
    let rows = modules();
    let row_of: BTreeMap<&str, usize> = (0..)
        .zip(&rows)
        .flat_map(|(row, names)| names.iter().map(move |name| (name.trim_end_matches(".rs"), row)))
        .collect();
    let mut wrong = Vec::new();
    for file in
        files("src").iter().filter(|file| file.ends_with(".rs") && !file.contains("/tests") && *file != "src/lib.rs")
    {
        let own = row_of[file.split('/').nth(1).unwrap().trim_end_matches(".rs")];
        let text = read(file);
        // Unit tests, which may use anything, and comments are left out.
        let text = text.split("#[cfg(test)]").next().unwrap();
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for used in line.split("crate::").skip(1) {
                let used = used.split(|letter: char| !letter.is_ascii_lowercase() && letter != '_').next().unwrap();
                if row_of.get(used).is_some_and(|row| *row > own) {
                    wrong.push(format!("{file} uses {used}"));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Returns the files that contain nearly all of the names, except tests of single commands and generated files.
fn lists_of(names: &[&str], folders: &[&str]) -> BTreeSet<String> {
    let of_folders = folders.iter().flat_map(|folder| files(folder));
    let files = of_folders.chain(["README.md".to_owned()]).filter(|file| !file.contains("/schema/"));
    files
        .filter(|file| [".rs", ".md", ".tsv", ".py"].iter().any(|ending| file.ends_with(ending)))
        .filter(|file| {
            let text = read(file).to_lowercase().replace('_', "-");
            let words: BTreeSet<&str> =
                text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').collect();
            let contained = names.iter().filter(|name| words.contains(**name)).count();
            contained * 10 >= names.len() * 8
        })
        .collect()
}

fn assert_recipe_names(heading: &str, lists: &BTreeSet<String>) {
    let page = read("CONTRIBUTING.md");
    let recipe = section(&page, heading);
    let missing: Vec<&String> = lists.iter().filter(|list| !recipe.contains(&format!("`{list}`"))).collect();
    assert!(!lists.is_empty() && missing.is_empty(), "{heading} leaves out {missing:?}, which have all of them");
}

#[test]
fn the_recipe_for_a_rule_names_every_list_of_rules() {
    let names: Vec<&str> = executorch_format::verify::RULES.iter().map(|rule| rule.name).collect();
    assert_recipe_names("Adding a rule", &lists_of(&names, &["src", "cli", "docs", "python"]));
}

#[test]
fn the_recipe_for_a_subcommand_names_every_list_of_subcommands() {
    let commands = read("cli/src/lib.rs");
    let commands = commands.split_once("\nsubcommands! {").unwrap().1.split_once("\n}\n").unwrap().0;
    // `(Info, "info", info),`
    let names: Vec<&str> =
        commands.lines().filter_map(|line| line.trim().strip_prefix('(')?.split('"').nth(1)).collect();
    assert!(names.len() > 25, "{names:?}");
    assert_recipe_names("Adding a subcommand", &lists_of(&names, &["cli", "docs"]));
}

#[test]
fn the_readme_states_the_number_of_rules_and_the_releases() {
    use executorch_format::verify::{RULES, Release};
    let page = read("README.md");
    assert!(page.contains(&format!("{} rules", RULES.len())), "there are {} rules", RULES.len());
    let (first, last) = (Release::ALL.first().unwrap(), Release::ALL.last().unwrap());
    assert!(page.contains(&format!("each release from {first} to {last}")), "releases are {first} to {last}");
}

/// Returns the types of one kind in the list of the public API: path, and whether it is `#[non_exhaustive]`.
fn types<'l>(list: &'l str, kind: &str) -> Vec<(&'l str, bool)> {
    let start = format!("pub {kind} ");
    let lines = list.lines().filter_map(|line| line.split_once(&start));
    let lines = lines.filter(|(before, _)| before.is_empty() || before.starts_with("#["));
    lines
        .map(|(before, path)| (path.split(['<', '(', ' ']).next().unwrap(), before.contains("non_exhaustive")))
        .collect()
}

#[test]
fn the_page_of_stability_has_each_type_that_others_build_or_match() {
    let (page, list) = (read("docs/stability.md"), read(".ci/public-api.txt"));
    let row = |start: &str| -> BTreeSet<&str> {
        let row = page.lines().find(|line| line.starts_with(&format!("| {start}"))).unwrap();
        row.split(" | ").next().unwrap().split('`').skip(1).step_by(2).collect()
    };
    let name = |path: &str| path.rsplit("::").next().unwrap().to_owned();

    let complete = row("enums that are complete");
    let enums = types(&list, "enum");
    for (path, is_open) in &enums {
        assert_eq!(complete.contains(&*name(path)), !is_open, "{path}, in the row of complete enums");
    }
    assert!(complete.iter().all(|listed| enums.iter().any(|(path, _)| name(path) == *listed)), "{complete:?}");

    // A struct without private fields can be built, unless it is `#[non_exhaustive]`. The list has only public fields, so a struct that has
    // both must be `#[non_exhaustive]` or in the row.
    let fields: BTreeSet<&str> = list
        .lines()
        .filter_map(|line| line.strip_prefix("pub ")?.split_once(": ")?.0.rsplit_once("::"))
        .map(|(owner, _)| owner)
        .collect();
    let built: BTreeSet<&str> =
        row("tables of a schema").union(&row("other structs that you may build")).copied().collect();
    for (path, is_open) in types(&list, "struct") {
        if !path.contains("::schema::") {
            let is_built = !is_open && fields.contains(path);
            assert_eq!(built.contains(&*name(path)), is_built, "{path}, in the rows of structs that are built");
        }
    }
}

#[test]
fn the_page_of_stability_has_each_trait() {
    let (page, list) = (read("docs/stability.md"), read(".ci/public-api.txt"));
    let traits: Vec<&str> =
        list.lines().filter_map(|line| line.strip_prefix("pub trait executorch_format::")).collect();
    assert!(!traits.is_empty());
    for declared in &traits {
        let (path, bounds) = declared.split_once(": ").unwrap_or((declared, ""));
        let name = path.rsplit("::").next().unwrap();
        let row = page
            .lines()
            .find(|line| quoted(line).any(|words| words.split(['{', ',', ' ', '}']).any(|word| word == name)));
        let row = row.unwrap_or_else(|| panic!("no row has the trait {path}"));
        // Only a supertrait without a public path keeps others from implementing a trait.
        let mut own = bounds.split(" + ").filter_map(|bound| bound.strip_prefix("executorch_format::"));
        let is_sealed = own.any(|bound| traits.iter().all(|other| other.split(": ").next() != Some(bound)));
        assert_eq!(is_sealed, row.contains("Only this crate implements"), "{path}");
    }
}

#[test]
fn summaries_of_functions_begin_with_a_verb() {
    const NO_VERBS: [&str; 4] = ["As", "Bytes", "Its", "This"];
    let mut wrong = Vec::new();
    let folders = ["src", "cli/src", "stores/src", "python/src", "fuzz/src", "web/page/src", "web/viewer/src"];
    for file in folders.iter().flat_map(|folder| files(folder)).filter(|file| file.ends_with(".rs")) {
        let (mut summary, mut is_test) = (None, false);
        for line in read(&file).lines().map(str::trim_start) {
            if let Some(text) = line.strip_prefix("///") {
                summary.get_or_insert_with(|| text.trim().to_owned());
                continue;
            }
            is_test |= line == "#[test]";
            if line.starts_with("#[") || line.starts_with("//") {
                continue;
            }
            let is_function = line.split('(').any(|part| part.starts_with("fn ") || part.contains(" fn "))
                && !line.starts_with("let ");
            if let (true, false, Some(summary)) = (is_function, is_test, &summary) {
                let first = summary.split([' ', '.', ',', ':']).next().unwrap();
                let is_verb =
                    first.starts_with(char::is_uppercase) && first.ends_with('s') && !NO_VERBS.contains(&first);
                if !is_verb && first != "See" {
                    wrong.push(format!("{file}: {summary}"));
                }
            }
            (summary, is_test) = (None, false);
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Returns the words in tests: integration tests, unit tests and examples in documentation.
fn words_of_tests() -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut add = |text: &str| {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        words.extend(text.split(|letter| !is_part(letter)).map(str::to_owned));
    };
    let folders = ["tests", "cli/tests", "stores/tests", "web/page/tests", "examples", "fuzz/src", "benches", "src"];
    for file in folders.iter().flat_map(|folder| files(folder)).filter(|file| file.ends_with(".rs")) {
        let text = read(&file);
        if !file.starts_with("src/") || file.contains("/tests") {
            add(&text);
            continue;
        }
        add(text.split_once("#[cfg(test)]").map_or("", |(_, tests)| tests));
        let documentation = text.lines().filter_map(|line| {
            let line = line.trim_start();
            line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
        });
        documentation.collect::<Vec<_>>().join("\n").split("```").skip(1).step_by(2).for_each(&mut add);
    }
    words
}

#[test]
fn every_public_function_is_named_by_a_test() {
    // Methods of other crates' traits.
    const OF_OTHERS: [&str; 5] = ["arbitrary_with", "deref", "inline_schema", "json_schema", "schema_name"];
    let list = read(".ci/public-api.txt");
    // `table!` defines a method for each optional field.
    let fields: BTreeSet<&str> = list
        .lines()
        .filter_map(|line| line.strip_prefix("pub ")?.split_once(": ")?.0.rsplit_once("::"))
        .map(|(_, field)| field)
        .collect();
    let sources: String = files("src").iter().filter(|file| file.ends_with(".rs")).map(read).collect();
    let tested = words_of_tests();
    let mut missing = BTreeSet::new();
    for line in list.lines() {
        let Some((_, function)) = line.split_once("pub fn ").or_else(|| line.split_once("pub const fn ")) else {
            continue;
        };
        // Without parameters: `executorch_format::Pte<'a>::name<T>(`.
        let mut depth = 0;
        let path: String = function
            .split('(')
            .next()
            .unwrap()
            .chars()
            .filter(|letter| {
                depth += i32::from(*letter == '<');
                let outside = depth == 0;
                depth -= i32::from(*letter == '>');
                outside
            })
            .collect();
        let name = path.rsplit("::").next().unwrap();
        let is_own = name.starts_with(char::is_lowercase) && !fields.contains(name) && !OF_OTHERS.contains(&name);
        // `.ci/api` reports functions that are no longer in the sources.
        if is_own && !tested.contains(name) && sources.contains(name) {
            missing.insert(path.clone());
        }
    }
    assert_eq!(missing, BTreeSet::new(), "no test names these functions: test them, or make them private");
}
