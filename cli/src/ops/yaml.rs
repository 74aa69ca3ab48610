//! Operators as ExecuTorch's selective build reads them: `selected_operators.yaml`.

use executorch_format::inspect::Operators;
use executorch_format::text::is_deceptive;
use std::path::PathBuf;

/// Returns the needs of all files, with the keys that `gen_oplist.py` writes. ExecuTorch's reader fails on other keys.
pub(super) fn text(operators: &Operators, files: &[PathBuf]) -> String {
    let called = operators.operators.iter().filter(|(_, operator)| !operator.kernels.is_empty());
    let kernels = called.map(|(name, operator)| {
        let keys = operator.kernels.keys().map(|key| format!("  - {key}\n"));
        format!("  {}:\n{}", key(name), keys.collect::<String>())
    });
    let files: String = files.iter().map(|file| format!("    - {}\n", scalar(&file.display().to_string()))).collect();
    let settings = "    include_all_overloads: false\n    is_root_operator: true\n    is_used_for_training: true\n";
    let names = operators.operators.keys().map(|name| format!("  {}:\n    debug_info:\n{files}{settings}", key(name)));
    let (kernels, names) = (map("et_kernel_metadata", kernels), map("operators", names));
    format!(
        "build_features: []\ncustom_classes: []\n{kernels}include_all_non_op_selectives: false\ninclude_all_operators: false\nkernel_metadata: {{}}\n{names}"
    )
}

fn map(name: &str, entries: impl Iterator<Item = String>) -> String {
    let entries: String = entries.collect();
    if entries.is_empty() { format!("{name}: {{}}\n") } else { format!("{name}:\n{entries}") }
}

/// Formats a name as a key in a map indented by two. YAML's readers look for the colon within 1,024 characters, except after `? `.
fn key(name: &str) -> String {
    const LONGEST: usize = 1000;
    let key = scalar(name);
    if key.chars().nth(LONGEST).is_some() { format!("? {key}\n  ") } else { key }
}

/// Formats a string: plain if it has only characters of operators' names, otherwise in quotes, with escapes for characters that could act
/// on a terminal.
fn scalar(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:".contains(&byte);
    if text.contains("::")
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && !text.ends_with(':')
        && text.bytes().all(plain)
    {
        return text.to_owned();
    }
    let escape = |character: char| match character {
        '"' | '\\' => format!("\\{character}"),
        character if character.is_control() || is_deceptive(character) => format!("\\U{:08x}", u32::from(character)),
        character => character.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}
