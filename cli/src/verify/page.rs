//! A page of Markdown about a rule, a feature or a reason: for `--explain`, for SARIF, and for `docs/rules.md`.

use executorch_format::verify::{
    Behaviour, FEATURES, Feature, History, Level, Outcome, REASONS, RULES, Release, Rule, Severity, checked_operators,
    explain_operator,
};

/// Returns every name that can be explained: rules and their CVEs, features of the format, other reasons that a release does not load a file,
/// and operators whose calls are checked.
pub fn names() -> impl Iterator<Item = &'static str> {
    let rules = RULES.iter().map(|rule| rule.name).chain(RULES.iter().flat_map(|rule| cves(rule)));
    let reasons = FEATURES.iter().map(|feature| feature.name).chain(REASONS.iter().map(|reason| reason.name));
    rules.chain(reasons).chain(checked_operators())
}

/// Returns the CVEs whose faults a rule finds.
fn cves(rule: &Rule) -> impl Iterator<Item = &'static str> + use<> {
    rule.cve.into_iter().flat_map(|cves| cves.split(", "))
}

/// Returns the page about a rule, a CVE, a feature, another reason or an operator.
pub fn explain(name: &str) -> Option<String> {
    if name.starts_with("CVE-") {
        let found = RULES.iter().filter(|rule| cves(rule).any(|cve| cve == name));
        let pages: Vec<String> = found.map(|rule| format!("Rule {}\n\n{}", rule.name, page(rule))).collect();
        return (!pages.is_empty()).then(|| pages.join("\n"));
    }
    if let Some(rule) = RULES.iter().find(|rule| rule.name == name) {
        return Some(page(rule));
    }
    if let Some(Feature { what, since, .. }) = FEATURES.iter().find(|feature| feature.name == name) {
        return Some(format!("{}.\n\n- What releases do with such files: {}.\n", capital(what), history(since)));
    }
    if let Some(reason) = REASONS.iter().find(|reason| reason.name == name) {
        return Some(format!("{}.\n", capital(reason.what)));
    }
    explain_operator(name)
}

/// Capitalizes the first letter of a sentence.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Formats a history, as in `loads since 0.2, refuses since 1.3`.
fn history(since: &[(Release, Behaviour)]) -> String {
    let parts: Vec<String> = since.iter().map(|(release, behaviour)| format!("{behaviour} since {release}")).collect();
    parts.join(", ")
}

/// Returns a sentence on the harm that the rule prevents.
pub fn sentence(rule: &Rule) -> String {
    format!("Protects from {}.", rule.protects_from)
}

/// Returns the page about a rule, without a title.
pub fn page(rule: &Rule) -> String {
    let mut page = sentence(rule) + "\n\n";
    let level = match rule.level {
        Level::Structure => "`structure`: no reader can make sense of such a file",
        Level::Runtime if rule.severity < Severity::Error => {
            "`runtime`: ExecuTorch 1.5 loads such a file at most under conditions"
        }
        Level::Runtime => "`runtime`: ExecuTorch 1.5 refuses such a file, or a method of it",
        _ if rule.name.starts_with("kernel-") => {
            "`strict`: ExecuTorch 1.5 does not check this when it loads a file; the effect shows when the call runs"
        }
        _ => "`strict`: ExecuTorch 1.5 does not check this when it loads a file",
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
    if rule.outcome != Outcome::Runs {
        page += &format!("- Verdict on ExecuTorch {}: {}.\n", Release::LATEST, rule.outcome);
    }
    if let Some(since) = rule.refused_since() {
        page += &format!("- Refused by ExecuTorch since {since}.\n");
    }
    let histories: Vec<&History> = rule.histories().collect();
    if !histories.is_empty() {
        page += "- What releases do with such files:\n";
    }
    for history in histories {
        let field = if history.field.is_empty() { String::new() } else { format!("`{}`: ", history.field) };
        page += &format!("  - {field}{}.\n", self::history(history.since));
    }
    let name = rule.name;
    page + &format!("\n`--allow {name}` turns it off, `--deny {name}` makes its findings errors.\n")
}

/// Returns the URL of a rule's page, if the package states its repository.
pub fn uri(rule: &Rule) -> Option<String> {
    let repository = option_env!("CARGO_PKG_REPOSITORY").filter(|repository| !repository.is_empty())?;
    Some(format!("{}/blob/main/docs/rules.md#{}", repository.trim_end_matches('/'), rule.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_an_explanation() {
        for name in names() {
            assert!(explain(name).is_some_and(|page| page.len() > 20 && page.ends_with('\n')), "{name}");
        }
        assert_eq!(explain("no-such-name"), None);
    }

    #[test]
    fn the_page_of_rules_is_up_to_date() {
        let mut all = "# Rules\n\nThe checks of `pte verify`. \
            `pte verify --explain RULE` prints one of these pages, and SARIF has them as help.\n"
            .to_owned();
        for rule in RULES {
            all += &format!("\n## {}\n\n{}", rule.name, page(rule));
        }
        all += "\n# Operators\n\nWhat is checked in the calls of each operator, generated from the table in `src/operators`: \
            `kernel-type` about types, `kernel-rank` about ranks, `kernel-shape` about sizes, `kernel-setting` about the rest.\n";
        for name in checked_operators() {
            all += &format!("\n## {name}\n\n{}", explain_operator(name).unwrap_or_default());
        }
        let path = executorch_format_support::crate_root().join("docs/rules.md");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &all).unwrap_or_default();
        }
        assert!(std::fs::read_to_string(&path).is_ok_and(|stated| stated == all), "BLESS=1 writes {}", path.display());
    }
}
