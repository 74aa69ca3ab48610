//! A page of Markdown about a rule: for `--explain`, for SARIF, and for `docs/rules.md`.

use executorch_format::validate::{History, Level, Rule, Severity};

/// What the rule protects from, in a sentence.
pub fn sentence(rule: &Rule) -> String {
    format!("Protects from {}.", rule.protects)
}

/// The page about a rule, without a title.
pub fn page(rule: &Rule) -> String {
    let mut page = sentence(rule) + "\n\n";
    let level = match rule.level {
        Level::Structure => "`structure`: no reader can make sense of such a file",
        Level::Runtime => "`runtime`: ExecuTorch 1.5 refuses such a file, or a method of it",
        _ => "`strict`: ExecuTorch 1.5 does not check this",
    };
    let severity = match rule.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    page += &format!("- Checked from level {level}.\n- Severity: {severity}.\n");
    if let Some(cve) = rule.cve {
        page += &format!("- Published as {cve}.\n");
    }
    if let Some(since) = rule.refused_since() {
        page += &format!("- Refused by ExecuTorch since {since}.\n");
    }
    let histories: Vec<&History> = rule.histories().collect();
    if !histories.is_empty() {
        page += "- What releases do with such files:\n";
    }
    for history in histories {
        let since: Vec<String> =
            history.since.iter().map(|(release, behaviour)| format!("{behaviour} since {release}")).collect();
        let field = if history.field.is_empty() { String::new() } else { format!("`{}`: ", history.field) };
        page += &format!("  - {field}{}.\n", since.join(", "));
    }
    let name = rule.name;
    page + &format!("\n`--allow {name}` turns it off, `--deny {name}` makes its findings errors.\n")
}

/// The URL of a rule's page, if the package states its repository.
pub fn uri(rule: &Rule) -> Option<String> {
    let repository = option_env!("CARGO_PKG_REPOSITORY").filter(|repository| !repository.is_empty())?;
    Some(format!("{}/blob/main/docs/rules.md#{}", repository.trim_end_matches('/'), rule.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use executorch_format::validate::RULES;

    #[test]
    fn the_page_of_rules_is_made_of_the_rules() {
        let mut all = "# Rules\n\nWhat `pte verify` checks: made from `validate::RULES` by `BLESS=1 cargo test --workspace --all-features rules`. \
            `pte verify --explain RULE` prints one of these pages, and SARIF has them as help.\n"
            .to_owned();
        for rule in RULES {
            all += &format!("\n## {}\n\n{}", rule.name, page(rule));
        }
        let path = executorch_format_support::crate_root().join("docs/rules.md");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &all).unwrap_or_default();
        }
        assert!(std::fs::read_to_string(&path).is_ok_and(|stated| stated == all), "BLESS=1 writes {}", path.display());
    }
}
